//! The record of a request, made small.
//!
//! A request's *document* is one line of JSON (the model, its options, the list
//! of the body's pieces) and the caller's context behind it. It is kept as its
//! difference from an earlier document of the session, its *parent*. Long pieces
//! of the body and the texts that the context refers to are *parts*: kept once,
//! wherever they occur. So a prefix that stays the same is stored once, and a
//! request costs about what is new in it.
//!
//! Parents are chosen so that nothing is read from far away. Documents are
//! counted from one that stands by itself; the parent of most is the one before,
//! and the parent of every 16th the 16th before. The 256th stands by itself
//! again.
//!
//! ```text
//! 0 ← 1 ← 2 … ← 15
//! ↑
//! 16 ← 17 ← … ← 31
//! ↑
//! 32 ← …
//! ```
//!
//! Every part that a stored document refers to is stored. Hence a part that the
//! session's last document has need not be looked for, as long as that document
//! is there. What is remembered of last documents only saves work; without it
//! the same is read from the database.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use crate::sql::{SqlConnection, params};
use recto_context::{ContentHash, Text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::codec;
use crate::error::{DbError, StoreError, StoreResult};
use crate::ids::{Moment, RequestId, SessionId, TurnId};
use crate::rows::{self, DbResult};

/// How many documents are kept each against the one before.
const ROW: i64 = 16;

/// How many documents are kept before one stands by itself again.
const TABLE: i64 = ROW * ROW;

/// From so many rows a document is read at most: one for each step back within
/// its row, and one for each row before.
const FARTHEST: usize = (ROW - 1 + ROW - 1 + 1) as usize;

/// Shorter pieces stand in the document: a part's key and row cost as much.
const SHORTEST_PART: usize = 160;

/// A difference larger than this share of its document may lose against the
/// document by itself.
const DOUBTFUL_SHARE: usize = 4;

/// A request that is about to be sent.
#[derive(Debug, Clone)]
pub struct NewRequest {
    /// Its number within the turn.
    pub number: u32,
    /// When it is sent.
    pub at: Moment,
    /// The model entry of the config.
    pub model: String,
    /// The wire format of the body.
    pub wire: String,
    /// The model's options, as JSON.
    pub options: Value,
    /// What "exact" means for the body.
    pub fidelity: Fidelity,
    /// The request context, with its texts taken out: the caller's own JSON.
    pub context: String,
    /// All texts that `context` refers to by their hashes.
    pub contents: Vec<Text>,
    /// The body as sent, in pieces. A piece that occurs again byte for byte, in
    /// this session or another, is stored once.
    pub body: Vec<String>,
    /// More about it, such as what it shares with the request before.
    pub notes: Value,
}

/// What the stored body is a copy of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fidelity {
    /// The body of the call, byte for byte.
    Wire,
    /// The prompt as the model read it.
    Rendered,
}

/// A part's key: half of its hash, which is plenty to tell texts apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PartKey([u8; 16]);

/// The first line of a document: all but the context.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DocumentHeader {
    pub(crate) model: String,
    pub(crate) wire: String,
    pub(crate) fidelity: Fidelity,
    pub(crate) options: Value,
    pub(crate) notes: Value,
    pub(crate) body: Vec<BodyPiece>,
}

/// A piece of a body.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum BodyPiece {
    /// A short text, kept within the document.
    Inline(String),
    /// A part. In a list of its own, so that no text can pose as one.
    Part([PartKey; 1]),
}

/// A request in the form in which it is written.
pub(crate) struct PackedRequest {
    number: u32,
    at: Moment,
    document: PackedDocument,
    body_hash: ContentHash,
    body_length: i64,
    /// The document whose parts are known to be stored.
    last: Option<RequestId>,
    new_parts: Vec<(PartKey, Vec<u8>)>,
    text: Arc<str>,
    known: Arc<HashSet<PartKey>>,
}

/// A document in the form in which it is written.
struct PackedDocument {
    data: Vec<u8>,
    parent: Option<Anchor>,
    /// Its number since the last one that stands by itself.
    place: i64,
}

/// A session's last document, against which the next one is kept.
pub(crate) struct LastDocument {
    this: Anchor,
    place: i64,
    /// The first document of its row.
    row: Anchor,
    /// Parts that it refers to, as far as is known.
    known: Arc<HashSet<PartKey>>,
}

/// A document that others can be kept against.
#[derive(Clone)]
struct Anchor {
    request: RequestId,
    text: Arc<str>,
}

impl PackedRequest {
    pub(crate) fn new(request: &NewRequest, last: Option<&LastDocument>) -> StoreResult<Self> {
        let mut parts = PartCollector { last, known: HashSet::new(), new: Vec::new() };
        for text in &request.contents {
            parts.refer(text.hash(), text);
        }
        let header = DocumentHeader {
            model: request.model.clone(),
            wire: request.wire.clone(),
            fidelity: request.fidelity,
            options: request.options.clone(),
            notes: request.notes.clone(),
            body: split_body(&request.body, &mut parts),
        };
        let text = format!("{}\n{}", rows::to_json(&header)?, request.context);
        let body_length = request.body.iter().map(String::len).sum::<usize>();
        Ok(PackedRequest {
            number: request.number,
            at: request.at,
            document: PackedDocument::new(&text, last),
            body_hash: ContentHash::of_pieces(request.body.iter().map(String::as_str)),
            body_length: i64::try_from(body_length).unwrap_or(i64::MAX),
            last: last.map(|last| last.this.request),
            new_parts: parts.new,
            text: text.into(),
            known: Arc::new(parts.known),
        })
    }

    /// Whether the document that it builds on is missing.
    pub(crate) fn is_orphaned(&self, db: &SqlConnection) -> DbResult<bool> {
        let Some(last) = self.last else { return Ok(false) };
        Ok(!db.exists("SELECT id FROM requests WHERE id = ?1", [last.0])?)
    }

    /// Writes it with the parts that are new.
    pub(crate) fn insert(&self, db: &SqlConnection, turn: TurnId) -> DbResult<RequestId> {
        let sql = "INSERT INTO parts (key, data) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING";
        for (key, data) in &self.new_parts {
            db.execute(sql, params![key.0, data])?;
        }
        let sql = "INSERT INTO requests
                       (turn, number, parent, place, at, document, body_hash, body_length)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let values = params![
            turn.0,
            self.number,
            self.document.parent.as_ref().map(|parent| parent.request.0),
            self.document.place,
            self.at.microseconds(),
            self.document.data,
            self.body_hash.as_bytes(),
            self.body_length,
        ];
        db.insert(sql, values).map(RequestId)
    }

    /// What to remember once it is written.
    pub(crate) fn written_as(&self, id: RequestId, last: Option<&LastDocument>) -> LastDocument {
        let this = Anchor { request: id, text: self.text.clone() };
        let place = self.document.place;
        let row = last.filter(|_| place % ROW != 0).map(|last| last.row.clone());
        let row = row.unwrap_or_else(|| this.clone());
        LastDocument { this, place, row, known: self.known.clone() }
    }
}

impl PackedDocument {
    fn new(text: &str, last: Option<&LastDocument>) -> Self {
        let by_itself = || PackedDocument { data: codec::pack(text), parent: None, place: 0 };
        let place = last.map_or(TABLE, |last| last.place + 1);
        let Some(last) = last.filter(|_| place < TABLE) else { return by_itself() };
        let parent = if place % ROW == 0 { &last.row } else { &last.this };
        let Some(data) = codec::pack_against(&parent.text, text) else { return by_itself() };
        let against = PackedDocument { data, parent: Some(parent.clone()), place };
        if against.data.len() < text.len() / DOUBTFUL_SHARE {
            return against;
        }
        let by_itself = by_itself();
        if against.data.len() < by_itself.data.len() { against } else { by_itself }
    }
}

/// The parts of a request, as they are found.
struct PartCollector<'a> {
    last: Option<&'a LastDocument>,
    known: HashSet<PartKey>,
    /// Those that the last document does not have.
    new: Vec<(PartKey, Vec<u8>)>,
}

impl PartCollector<'_> {
    fn refer(&mut self, hash: ContentHash, text: &str) -> PartKey {
        let key = PartKey::from_hash(hash);
        let is_first = self.known.insert(key);
        let last_has_it = self.last.is_some_and(|last| last.known.contains(&key));
        if is_first && !last_has_it {
            self.new.push((key, codec::pack(text)));
        }
        key
    }
}

fn split_body(body: &[String], parts: &mut PartCollector<'_>) -> Vec<BodyPiece> {
    let mut pieces = Vec::new();
    for text in body {
        if text.len() >= SHORTEST_PART {
            let hash = ContentHash::of_bytes(text.as_bytes());
            pieces.push(BodyPiece::Part([parts.refer(hash, text)]));
        } else if let Some(BodyPiece::Inline(before)) = pieces.last_mut() {
            before.push_str(text);
        } else {
            pieces.push(BodyPiece::Inline(text.clone()));
        }
    }
    pieces
}

/// The session's last document as the database has it. One that can't be read
/// is no reason to refuse the next: that one stands by itself.
pub(crate) fn last_document(
    db: &SqlConnection,
    session: SessionId,
) -> DbResult<Option<LastDocument>> {
    let sql = "SELECT requests.id FROM turns JOIN requests ON requests.turn = turns.id
               WHERE turns.session = ?1
               ORDER BY turns.number DESC, requests.number DESC LIMIT 1";
    let found = db.first(sql, [session.0], |row| Ok(RequestId(row.get("id")?)))?;
    match found.map(|id| DocumentReader::default().read_last(db, id)) {
        Some(Err(DbError::Store(StoreError::Damaged { .. }))) | None => Ok(None),
        Some(last) => last.map(Some),
    }
}

/// A request's document as it was read: its header, and the context behind that.
pub(crate) struct RequestDocument {
    pub(crate) header: DocumentHeader,
    text: Arc<str>,
}

impl RequestDocument {
    fn new(text: Arc<str>) -> Option<Self> {
        let (line, _) = text.split_once('\n')?;
        Some(RequestDocument { header: serde_json::from_str(line).ok()?, text })
    }

    /// All that can be the key of a part: of the body, or of a text that the context names by
    /// its hash.
    pub(crate) fn mentioned_keys(&self) -> impl Iterator<Item = PartKey> {
        let words = self.text.split(|c: char| !c.is_ascii_hexdigit());
        words.filter_map(|word| PartKey::from_digits(word.get(..PartKey::DIGITS)?))
    }

    /// The caller's context, byte for byte.
    pub(crate) fn context(&self) -> &str {
        self.text.split_once('\n').map_or("", |(_, context)| context)
    }
}

/// Reads documents; those of one chain are worked out once.
#[derive(Default)]
pub(crate) struct DocumentReader {
    read: HashMap<RequestId, Arc<str>>,
}

impl DocumentReader {
    pub(crate) fn read(&mut self, db: &SqlConnection, id: RequestId) -> DbResult<RequestDocument> {
        let damaged = || DbError::damaged(format!("the record of request {id}"));
        let text = self.text(db, id)?.ok_or_else(damaged)?;
        RequestDocument::new(text).ok_or_else(damaged)
    }

    /// A document, and what is needed to keep another one against it.
    fn read_last(&mut self, db: &SqlConnection, id: RequestId) -> DbResult<LastDocument> {
        let document = self.read(db, id)?;
        let place: i64 = db.only("SELECT place FROM requests WHERE id = ?1", [id.0])?;
        let mut row = id;
        for _ in 0..place % ROW {
            let parent: Option<i64> =
                db.only("SELECT parent FROM requests WHERE id = ?1", [row.0])?;
            row = parent.map_or(row, RequestId);
        }
        let row = Anchor { request: row, text: self.read(db, row)?.text };
        let known = Arc::new(document.header.part_keys().collect());
        Ok(LastDocument { this: Anchor { request: id, text: document.text }, place, row, known })
    }

    /// Walks up to a document that is known or stands by itself, and back.
    fn text(&mut self, db: &SqlConnection, id: RequestId) -> DbResult<Option<Arc<str>>> {
        let sql = "SELECT parent, document FROM requests WHERE id = ?1";
        let mut chain: Vec<(RequestId, Vec<u8>)> = Vec::new();
        let mut next = Some(id);
        while let Some(at) = next.filter(|at| !self.read.contains_key(at)) {
            let row: Option<(Option<i64>, Vec<u8>)> =
                db.first(sql, [at.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let Some((parent, packed)) = row.filter(|_| chain.len() < FARTHEST) else {
                return Ok(None);
            };
            chain.push((at, packed));
            next = parent.map(RequestId);
        }
        let mut text = next.and_then(|known| self.read.get(&known).cloned());
        for (at, packed) in chain.into_iter().rev() {
            let unpacked = match &text {
                Some(parent) => codec::unpack_against(parent, &packed),
                None => codec::unpack(&packed),
            };
            let Ok(unpacked) = unpacked else { return Ok(None) };
            let unpacked: Arc<str> = unpacked.into();
            self.read.insert(at, unpacked.clone());
            text = Some(unpacked);
        }
        Ok(text)
    }
}

impl DocumentHeader {
    fn part_keys(&self) -> impl Iterator<Item = PartKey> {
        self.body.iter().filter_map(|piece| match piece {
            BodyPiece::Part([key]) => Some(*key),
            BodyPiece::Inline(_) => None,
        })
    }

    /// Puts the body together again.
    pub(crate) fn body(&self, db: &SqlConnection) -> DbResult<String> {
        let mut body = String::new();
        for piece in &self.body {
            match piece {
                BodyPiece::Inline(text) => body.push_str(text),
                BodyPiece::Part([key]) => body.push_str(&read_part(db, *key)?),
            }
        }
        Ok(body)
    }
}

/// A part's text. Whether it is the right one is for the caller to check.
pub(crate) fn read_part(db: &SqlConnection, key: PartKey) -> DbResult<String> {
    let damaged = || DbError::damaged(format!("the text {key:?}"));
    let sql = "SELECT data FROM parts WHERE key = ?1";
    let data: Option<Vec<u8>> = db.first(sql, [key.0], |row| row.get("data"))?;
    codec::unpack(&data.ok_or_else(damaged)?).map_err(|_| damaged())
}

impl PartKey {
    /// How many hexadecimal digits it is written with.
    const DIGITS: usize = 32;

    fn from_digits(digits: &str) -> Option<Self> {
        let number = u128::from_str_radix(digits, 16).ok()?;
        (digits.len() == Self::DIGITS).then(|| PartKey(number.to_be_bytes()))
    }

    /// The key as it stands in its column.
    pub(crate) fn bytes(&self) -> [u8; 16] {
        self.0
    }

    pub(crate) fn from_hash(hash: ContentHash) -> Self {
        let mut key = [0; 16];
        key.copy_from_slice(&hash.as_bytes()[..16]);
        PartKey(key)
    }
}

impl fmt::Debug for PartKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for PartKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{self:?}"))
    }
}

impl<'de> Deserialize<'de> for PartKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom("a part's key is 32 hexadecimal digits");
        PartKey::from_digits(&digits).ok_or_else(wrong)
    }
}

/// How many sessions' last documents are cached, and how large they may be
/// together.
const REMEMBERED: usize = 512;
const REMEMBERED_BYTES: usize = 8 << 20;

/// The last documents of the sessions that were written last.
#[derive(Default)]
pub(crate) struct DocumentCache {
    documents: HashMap<SessionId, CachedDocument>,
    bytes: usize,
    /// Counts uses, to know which is the oldest.
    uses: u64,
}

struct CachedDocument {
    document: Arc<LastDocument>,
    used: u64,
}

impl DocumentCache {
    pub(crate) fn get(&mut self, session: SessionId) -> Option<Arc<LastDocument>> {
        let cached = self.documents.get_mut(&session)?;
        self.uses += 1;
        cached.used = self.uses;
        Some(cached.document.clone())
    }

    pub(crate) fn insert(&mut self, session: SessionId, document: Arc<LastDocument>) {
        self.forget(session);
        self.uses += 1;
        self.bytes += document.size();
        self.documents.insert(session, CachedDocument { document, used: self.uses });
        while self.documents.len() > REMEMBERED || self.bytes > REMEMBERED_BYTES {
            let oldest = self.documents.iter().min_by_key(|(_, cached)| cached.used);
            let Some(oldest) = oldest.map(|(session, _)| *session) else { return };
            self.forget(oldest);
        }
    }

    pub(crate) fn forget(&mut self, session: SessionId) {
        if let Some(gone) = self.documents.remove(&session) {
            self.bytes -= gone.document.size();
        }
    }
}

impl LastDocument {
    fn size(&self) -> usize {
        self.this.text.len() + self.row.text.len() + self.known.len() * size_of::<PartKey>()
    }
}
