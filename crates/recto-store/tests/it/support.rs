//! A store of its own for each test, and short ways to talk to it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use recto_context::{ContentPart, Message, MessageId, Text};
use recto_store::{
    BindingKey, Fidelity, Moment, NewMessage, NewRequest, NewSession, NewTurn, RequestId,
    SessionHolder, SessionName, SettingsMap, StartedTurn, Store, StoreError, StoreLocation,
    StoreOptions, StoredSession, TurnCommit, TurnEnding, TurnId, TurnOutcome,
};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

/// A store of its own, in a folder that goes when this is dropped.
pub(crate) struct StoreBench {
    pub(crate) store: Store,
    pub(crate) options: StoreOptions,
    /// Of a store on a server.
    schema: String,
    folder: TempDir,
}

/// Names the server, and which database the suite is about, if it is not SQLite.
const SERVER: &str = "RECTO_TEST_POSTGRES";
const SUITE: &str = "RECTO_TEST_STORE";

/// Names the store of a bench to another process.
const PASSED: [&str; 2] = ["RECTO_TEST_DATABASE", "RECTO_TEST_FOLDER"];

impl StoreBench {
    /// On the database that this run is about.
    pub(crate) fn new() -> Self {
        match std::env::var(SUITE).as_deref() {
            Ok("postgres") => StoreBench::on_server(),
            _ => StoreBench::in_file(),
        }
    }

    /// On SQLite, for what is about its file.
    pub(crate) fn in_file() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = StoreOptions::new(folder.path().join("data/recto.db"));
        StoreBench::with(options, String::new(), folder)
    }

    /// On PostgreSQL, in a schema of its own.
    pub(crate) fn on_server() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let schema = new_schema();
        let url = server_url(&schema).parse().unwrap();
        let options = StoreOptions::on_server(url, folder.path().join("data"));
        StoreBench::with(options, schema, folder)
    }

    fn with(options: StoreOptions, schema: String, folder: TempDir) -> Self {
        StoreBench { store: Store::open(&options).unwrap(), options, schema, folder }
    }

    /// The file of SQLite.
    pub(crate) fn path(&self) -> PathBuf {
        path_of(&self.options).to_owned()
    }

    /// Another store on the same database, as another process has it.
    pub(crate) fn another(&self) -> Store {
        Store::open(&self.options).unwrap()
    }

    /// The same after a restart.
    pub(crate) fn reopened(self) -> Self {
        let StoreBench { store, options, schema, folder } = self;
        drop(store);
        StoreBench::with(options, schema, folder)
    }

    /// The file itself, past the store.
    pub(crate) fn database(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    /// The address of its schema.
    pub(crate) fn url(&self) -> String {
        server_url(&self.schema)
    }

    /// The schema of a store on a server, which its connections go by, too.
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// Closes the store, and says where it is.
    pub(crate) fn close(self) -> (StoreOptions, TempDir) {
        (self.options, self.folder)
    }

    /// Changes the database past the store, and says how many rows.
    pub(crate) fn change(&self, sql: &str) -> usize {
        match &self.options.location {
            StoreLocation::File(path) => Connection::open(path).unwrap().execute(sql, []).unwrap(),
            StoreLocation::Server { .. } => ask_server(self, &bytes_for_server(sql)).1,
        }
    }

    /// The number that a query gives.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        match &self.options.location {
            StoreLocation::File(_) => self.database().query_row(sql, [], |row| row.get(0)).unwrap(),
            StoreLocation::Server { .. } => ask_server(self, sql).0.unwrap().parse().unwrap(),
        }
    }

    /// Names the store to a process that is about to start.
    pub(crate) fn pass_to(&self, process: &mut Command) {
        match &self.options.location {
            StoreLocation::File(path) => process.env(PASSED[0], path),
            StoreLocation::Server { folder, .. } => {
                process.env(PASSED[0], server_url(&self.schema)).env(PASSED[1], folder)
            }
        };
    }

    pub(crate) async fn session(&self, name: &str) -> StoredSession {
        self.store.bind(key(name), new_session(name)).await.unwrap()
    }
}

/// The file of a store in SQLite.
pub(crate) fn path_of(options: &StoreOptions) -> &Path {
    match &options.location {
        StoreLocation::File(path) => path,
        StoreLocation::Server { .. } => panic!("a store on a server has no file"),
    }
}

/// The store that another process has named, if one has.
pub(crate) fn passed_store() -> Option<StoreOptions> {
    let place = std::env::var(PASSED[0]).ok()?;
    Some(match std::env::var(PASSED[1]) {
        Ok(folder) => StoreOptions::on_server(place.parse().unwrap(), folder),
        Err(_) => StoreOptions::new(place),
    })
}

/// The server for tests, with what is looked for and made in this schema.
pub(crate) fn server_url(schema: &str) -> String {
    let url = std::env::var(SERVER);
    let url = url.expect("RECTO_TEST_POSTGRES names the server that scripts/test-postgres starts");
    let sign = if url.contains('?') { '&' } else { '?' };
    format!("{url}{sign}application_name={schema}&options=-csearch_path%3D{schema}")
}

/// Makes a schema that no other test has.
pub(crate) fn new_schema() -> String {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let schema = format!("t{}_{number}", std::process::id());
    simple_query(&server_url("public"), &format!("CREATE SCHEMA {schema}"));
    schema
}

fn ask_server(bench: &StoreBench, sql: &str) -> (Option<String>, usize) {
    simple_query(&server_url(&bench.schema), sql)
}

/// The first value of the first row, and how many rows there were or were changed.
pub(crate) fn simple_query(url: &str, sql: &str) -> (Option<String>, usize) {
    let ask = || {
        let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
        let mut answer = (None, 0);
        for message in client.simple_query(sql).unwrap() {
            match message {
                postgres::SimpleQueryMessage::Row(row) if answer.0.is_none() => {
                    answer.0 = row.get(0).map(str::to_owned);
                }
                postgres::SimpleQueryMessage::CommandComplete(rows) => {
                    answer.1 = usize::try_from(rows).unwrap();
                }
                _ => {}
            }
        }
        answer
    };
    // The client waits, which no task may.
    std::thread::scope(|scope| scope.spawn(ask).join().unwrap())
}

/// Bytes as PostgreSQL writes them: `x'ff'` is `'\xff'` there.
fn bytes_for_server(sql: &str) -> String {
    sql.replace(" x'", " '\\x").replace("AS BLOB)", "AS BYTEA)")
}

/// A moment, `seconds` after some other.
pub(crate) fn at(seconds: i64) -> Moment {
    Moment::new(Timestamp::from_second(1_763_193_600 + seconds).unwrap())
}

pub(crate) fn key(conversation: &str) -> BindingKey {
    BindingKey {
        agent: "main".into(),
        surface: "terminal".into(),
        account: "local".into(),
        conversation: conversation.into(),
        user: None,
        holder: SessionHolder::owner(),
    }
}

pub(crate) fn new_session(name: &str) -> NewSession {
    NewSession {
        agent: "main".into(),
        name: Some(SessionName::new(name).unwrap()),
        surface: "terminal".into(),
        at: at(0),
        settings: SettingsMap::default(),
    }
}

pub(crate) fn new_turn(session: &StoredSession, text: &str) -> NewTurn {
    NewTurn {
        session: session.id,
        at: at(1),
        content: vec![ContentPart::Text(text.into())],
        actor: json!({"id": "owner"}),
        settings: SettingsMap::default(),
        delivery: None,
        client: None,
        retraction: None,
    }
}

pub(crate) fn new_message(message: Message) -> NewMessage {
    let seconds = i64::try_from(message.id.0).unwrap();
    NewMessage { message: Arc::new(message), at: at(seconds) }
}

/// A request whose body has these pieces.
pub(crate) fn request(number: u32, body: &[&str]) -> NewRequest {
    NewRequest {
        number,
        at: at(2),
        model: "small".into(),
        wire: "openai".into(),
        options: json!({"temperature": 0.5}),
        fidelity: Fidelity::Wire,
        context: r#"{"version":1}"#.into(),
        contents: Vec::new(),
        body: body.iter().collect(),
        notes: json!({}),
    }
}

pub(crate) fn done() -> Option<TurnOutcome> {
    Some(TurnOutcome { ending: TurnEnding::Done, detail: None, at: at(9) })
}

/// Begins a turn whose message has the number `id`.
pub(crate) async fn begin(
    store: &Store,
    session: &StoredSession,
    id: u64,
    text: &str,
) -> Result<StartedTurn, StoreError> {
    let messages = vec![new_message(Message::user(id, text))];
    store.begin(new_turn(session, text), TurnCommit { messages, ..TurnCommit::default() }).await
}

/// Ends a turn with a reply that has the number `id`.
pub(crate) async fn reply(store: &Store, turn: TurnId, id: u64, text: &str) {
    let messages = vec![new_message(Message::assistant(id, text))];
    let commit = TurnCommit { messages, outcome: done(), ..TurnCommit::default() };
    assert_eq!(store.advance(turn, commit).await, Ok(None));
}

/// A whole turn: two messages with the numbers `id` and `id + 1`.
pub(crate) async fn exchange(store: &Store, session: &StoredSession, id: u64, texts: [&str; 2]) {
    let begun = begin(store, session, id, texts[0]).await.unwrap();
    reply(store, begun.turn, id + 1, texts[1]).await;
}

/// A whole turn that is nothing but this request.
pub(crate) async fn sent(store: &Store, session: &StoredSession, request: NewRequest) -> RequestId {
    let commit = TurnCommit { request: Some(request), ..TurnCommit::default() };
    let begun = store.begin(new_turn(session, "hi"), commit).await.unwrap();
    let end = TurnCommit { outcome: done(), ..TurnCommit::default() };
    store.advance(begun.turn, end).await.unwrap();
    begun.request.unwrap()
}

/// The numbers and texts of a session's messages.
pub(crate) async fn transcript(store: &Store, session: &StoredSession) -> Vec<(u64, String)> {
    let messages = store.messages(session.id, None).await.unwrap();
    messages.iter().map(|stored| (stored.message.id.0, text_of(&stored.message))).collect()
}

fn text_of(message: &Message) -> String {
    let texts = message.content().iter().filter_map(ContentPart::as_text);
    texts.map(Text::as_str).collect()
}

pub(crate) fn id(number: u64) -> MessageId {
    MessageId(number)
}

/// Words that look like talk, the same for the same seed.
pub(crate) fn talk(seed: u64, bytes: usize) -> String {
    const WORDS: [&str; 40] = [
        "the", "model", "reads", "a", "page", "and", "answers", "with", "file", "when", "lantern",
        "ladder", "needs", "more", "light", "than", "window", "of", "every", "house", "in",
        "which", "people", "write", "letters", "about", "weather", "before", "they", "go", "to",
        "market", "for", "bread", "honey", "some", "quiet", "morning", "under", "bridge",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    while text.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push_str(WORDS[(state % 40) as usize]);
        // Names and numbers, which are new each time.
        if state.is_multiple_of(7) {
            text.push_str(&format!("{:x}", state >> 40));
        }
        text.push(' ');
    }
    text
}
