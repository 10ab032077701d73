//! What a database is made of: how many bytes each kind of content takes on the disk.
//!
//! Bytes are those of whole tables, with what a row costs beside its content. A file of SQLite also
//! knows what of it is free; on a server that is for the server to say.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::error::StoreResult;
use crate::rows::DbResult;
use crate::sql::{ConnectionMode, SqlConnection};
use crate::sqlite::{SqliteConnection, schema};
use crate::store::Store;

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a database is made of, the largest kind first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreComposition {
    /// Each kind that takes anything.
    pub kinds: Vec<ContentSize>,
}

/// How much one kind of content takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ContentSize {
    /// The kind.
    pub kind: ContentKind,
    /// How many rows there are of it; none where it is no table.
    pub rows: Option<u64>,
    /// The bytes that it takes.
    pub bytes: u64,
}

/// A kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentKind {
    /// What was said.
    Messages,
    /// Turns, without what was said in them.
    Turns,
    /// The documents of requests, as differences from each other, and what servers counted.
    Documents,
    /// Texts and pieces of bodies that documents refer to, each once.
    Parts,
    /// Summaries of what has left the page.
    Summaries,
    /// Vectors of texts, for search.
    Embeddings,
    /// What chats are to be told and have told.
    Chats,
    /// Sessions, items, questions, schedules, statistics and all else.
    Others,
    /// The indexes of all tables.
    Indexes,
    /// What is free within the file.
    Free,
}

impl ContentKind {
    /// The kind that a table belongs to.
    fn of_table(name: &str) -> Self {
        match name {
            "messages" => ContentKind::Messages,
            "turns" => ContentKind::Turns,
            "requests" => ContentKind::Documents,
            "parts" => ContentKind::Parts,
            "compactions" => ContentKind::Summaries,
            "embeddings" => ContentKind::Embeddings,
            name if name.starts_with("channel_") => ContentKind::Chats,
            _ => ContentKind::Others,
        }
    }

    /// The one table that holds the kind.
    fn table(self) -> Option<&'static str> {
        match self {
            ContentKind::Messages => Some("messages"),
            ContentKind::Turns => Some("turns"),
            ContentKind::Documents => Some("requests"),
            ContentKind::Parts => Some("parts"),
            ContentKind::Summaries => Some("compactions"),
            ContentKind::Embeddings => Some("embeddings"),
            ContentKind::Chats | ContentKind::Others | ContentKind::Indexes | ContentKind::Free => {
                None
            }
        }
    }

    /// What it is, in words.
    pub fn describe(self) -> &'static str {
        match self {
            ContentKind::Messages => "messages",
            ContentKind::Turns => "turns",
            ContentKind::Documents => "records of requests",
            ContentKind::Parts => "texts and pieces of bodies",
            ContentKind::Summaries => "summaries",
            ContentKind::Embeddings => "embeddings",
            ContentKind::Chats => "chats",
            ContentKind::Others => "everything else",
            ContentKind::Indexes => "indexes",
            ContentKind::Free => "free",
        }
    }
}

/// A table or an index, as the database counts its pages.
pub(crate) struct RelationSize {
    pub(crate) name: String,
    pub(crate) is_index: bool,
    pub(crate) bytes: i64,
}

impl StoreComposition {
    /// All bytes together.
    pub fn bytes(&self) -> u64 {
        self.kinds.iter().map(|size| size.bytes).sum()
    }

    fn read(db: &SqlConnection) -> DbResult<Self> {
        let relations = db.relation_sizes()?;
        let mut kinds: Vec<ContentSize> = Vec::new();
        let mut add = |kind: ContentKind, bytes: i64| {
            let bytes = bytes.unsigned_abs();
            match kinds.iter_mut().find(|size| size.kind == kind) {
                Some(size) => size.bytes += bytes,
                None => kinds.push(ContentSize { kind, rows: None, bytes }),
            }
        };
        for relation in &relations {
            let kind = match relation.is_index {
                true => ContentKind::Indexes,
                false => ContentKind::of_table(&relation.name),
            };
            add(kind, relation.bytes);
        }
        if let Some(free) = db.unused_bytes()? {
            add(ContentKind::Free, free);
        }
        for size in &mut kinds {
            if let Some(table) = size.kind.table() {
                let rows: i64 = db.only(&format!("SELECT count(*) FROM {table}"), [])?;
                size.rows = Some(rows.unsigned_abs());
            }
        }
        kinds.sort_by_key(|size| (std::cmp::Reverse(size.bytes), size.kind));
        Ok(StoreComposition { kinds })
    }
}

impl Store {
    /// What the database is made of.
    pub async fn composition(&self) -> StoreResult<StoreComposition> {
        self.read(StoreComposition::read).await
    }
}

/// What the database in a file is made of, of whichever version it is. Nothing is changed.
pub fn measure_store(path: &Path) -> StoreResult<StoreComposition> {
    let measure = || {
        let db = schema::connect(path, ConnectionMode::Reading, PATIENCE)?;
        StoreComposition::read(&SqlConnection::Sqlite(SqliteConnection::new(db)))
    };
    measure().map_err(|error: crate::error::DbError| error.at_path(path))
}
