//! The record of a request, made small.
//!
//! A request's *document* is a line of JSON (the model and its options), a line for
//! each piece of the body, and the caller's context behind them. It is kept as its
//! difference from an earlier document of the session, its *parent*, line by line. Long pieces
//! of the body and the texts that the context refers to are *parts*: kept once,
//! wherever they occur; what the body repeats of them and of the transcript it names
//! (`request_body`). So a prefix that stays the same is stored once, and a
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
use crate::line_diff::LineList;
use crate::request_body::{RequestBody, StoredPiece, join_pieces};
use crate::rows::DbResult;

/// How many documents are kept each against the one before.
const ROW: i64 = 16;

/// How many documents are kept before one stands by itself again.
const TABLE: i64 = ROW * ROW;

/// From so many rows a document is read at most: one for each step back within
/// its row, and one for each row before.
const FARTHEST: usize = (ROW - 1 + ROW - 1 + 1) as usize;

/// A difference larger than this share of its document may lose against the
/// document by itself.
const DOUBTFUL_SHARE: usize = 4;

/// About how many bytes a piece of a body takes as a line.
const TYPICAL_LINE: usize = 64;

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
    /// The request context, with its texts taken out: the caller's own JSON. Where it has a line
    /// for each thing in it, those that stay the same are kept once.
    pub context: String,
    /// All texts that `context` refers to by their hashes.
    pub contents: Vec<Text>,
    /// The body as sent, in pieces.
    pub body: RequestBody,
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

/// The first line of a document: all but the body and the context.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DocumentHeader {
    pub(crate) model: String,
    pub(crate) wire: String,
    pub(crate) fidelity: Fidelity,
    pub(crate) options: Value,
    pub(crate) notes: Value,
    /// How many lines with pieces of the body follow.
    #[serde(default)]
    pieces: usize,
    /// In documents of before the pieces themselves.
    #[serde(default, skip_serializing)]
    body: Vec<StoredPiece>,
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
    text: Arc<DocumentText>,
    known: Arc<HashSet<PartKey>>,
}

/// The text of a document, and where its lines are.
struct DocumentText {
    text: String,
    lines: LineList,
}

impl DocumentText {
    fn new(text: String) -> Self {
        let lines = LineList::new(&text);
        DocumentText { text, lines }
    }

    fn lined(&self) -> codec::LinedText<'_> {
        (&self.text, &self.lines)
    }
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
    text: Arc<DocumentText>,
}

impl PackedRequest {
    pub(crate) fn new(request: &NewRequest, last: Option<&LastDocument>) -> StoreResult<Self> {
        let mut parts = PartCollector { last, known: HashSet::new(), new: Vec::new() };
        for text in &request.contents {
            parts.refer(text.hash(), text);
        }
        let pieces = request.body.to_stored(&mut parts);
        let text = Arc::new(DocumentText::new(write_document(request, &pieces)?));
        let body = request.body.as_str();
        Ok(PackedRequest {
            number: request.number,
            at: request.at,
            document: PackedDocument::new(&text, last),
            body_hash: ContentHash::of_bytes(body.as_bytes()),
            body_length: i64::try_from(body.len()).unwrap_or(i64::MAX),
            last: last.map(|last| last.this.request),
            new_parts: parts.new,
            text,
            known: Arc::new(parts.known),
        })
    }

    /// Whether a document that it builds on is missing.
    pub(crate) fn is_orphaned(&self, db: &SqlConnection) -> DbResult<bool> {
        let parent = self.document.parent.as_ref().map(|parent| parent.request);
        let parent = parent.filter(|parent| Some(*parent) != self.last);
        let sql = "SELECT id FROM requests WHERE id = ?1 AND length(document) > 0";
        for needed in self.last.into_iter().chain(parent) {
            if !db.exists(sql, [needed.0])? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn insert_parts(&self, db: &SqlConnection) -> DbResult<()> {
        let sql = "INSERT INTO parts (key, data) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING";
        for (key, data) in &self.new_parts {
            db.execute(sql, params![key.0, data])?;
        }
        Ok(())
    }

    /// Writes it with the parts that are new.
    pub(crate) fn insert(&self, db: &SqlConnection, turn: TurnId) -> DbResult<RequestId> {
        self.insert_parts(db)?;
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
    fn new(text: &DocumentText, last: Option<&LastDocument>) -> Self {
        let data = || codec::pack(&text.text);
        let by_itself = || PackedDocument { data: data(), parent: None, place: 0 };
        let place = last.map_or(TABLE, |last| last.place + 1);
        let Some(last) = last.filter(|_| place < TABLE) else { return by_itself() };
        let parent = if place % ROW == 0 { &last.row } else { &last.this };
        let Some(data) = codec::pack_against(parent.text.lined(), text.lined()) else {
            return by_itself();
        };
        let against = PackedDocument { data, parent: Some(parent.clone()), place };
        if against.data.len() < text.text.len() / DOUBTFUL_SHARE {
            return against;
        }
        let by_itself = by_itself();
        if against.data.len() < by_itself.data.len() { against } else { by_itself }
    }

    /// Puts it in place of the document of a request.
    fn replace(&self, db: &SqlConnection, id: RequestId) -> DbResult<()> {
        let parent = self.parent.as_ref().map(|parent| parent.request.0);
        let sql = "UPDATE requests SET parent = ?2, place = ?3, document = ?4 WHERE id = ?1";
        db.execute(sql, params![id.0, parent, self.place, self.data]).map(drop)
    }
}

/// Writes a document: its header, the pieces of its body, and its context.
fn write_document(request: &NewRequest, pieces: &[StoredPiece]) -> StoreResult<String> {
    let header = DocumentHeader {
        model: request.model.clone(),
        wire: request.wire.clone(),
        fidelity: request.fidelity,
        options: request.options.clone(),
        notes: request.notes.clone(),
        pieces: pieces.len(),
        body: Vec::new(),
    };
    // Most lines are short, and there is one for each piece: they are written where they stand.
    let mut text = Vec::with_capacity(request.context.len() + (pieces.len() + 4) * TYPICAL_LINE);
    write_json(&mut text, &header)?;
    for piece in pieces {
        text.push(b'\n');
        write_json(&mut text, piece)?;
    }
    text.push(b'\n');
    text.extend_from_slice(request.context.as_bytes());
    String::from_utf8(text).map_err(|error| StoreError::Failed { what: error.to_string() })
}

fn write_json(text: &mut Vec<u8>, value: &impl Serialize) -> StoreResult<()> {
    serde_json::to_writer(text, value)
        .map_err(|error| StoreError::Failed { what: error.to_string() })
}

/// The parts of a request, as they are found.
pub(crate) struct PartCollector<'a> {
    last: Option<&'a LastDocument>,
    known: HashSet<PartKey>,
    /// Those that the last document does not have.
    new: Vec<(PartKey, Vec<u8>)>,
}

impl PartCollector<'_> {
    /// Names a text, which is stored with the request if need be.
    pub(crate) fn refer(&mut self, hash: ContentHash, text: &str) -> PartKey {
        let key = PartKey::from_hash(hash);
        let is_first = self.known.insert(key);
        let last_has_it = self.last.is_some_and(|last| last.known.contains(&key));
        if is_first && !last_has_it {
            self.new.push((key, codec::pack(text)));
        }
        key
    }
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

/// Writes some requests of a session anew, in place of what they were, and with them all that were
/// kept against them. `requests` are all of the session, in order.
pub(crate) fn rewrite(
    db: &SqlConnection,
    requests: &[RequestId],
    changed: &HashMap<RequestId, NewRequest>,
    at: Moment,
) -> DbResult<()> {
    let mut reader = DocumentReader::default();
    let mut last: Option<LastDocument> = None;
    for id in requests {
        // Read while what it was kept against is still known.
        let text = reader.text(db, *id)?;
        if let Some(request) = changed.get(id) {
            let packed = PackedRequest::new(request, last.as_ref())?;
            packed.insert_parts(db)?;
            packed.document.replace(db, *id)?;
            let sql = "UPDATE requests SET body_hash = ?2, body_length = ?3, redacted = ?4
                       WHERE id = ?1";
            let hash = packed.body_hash.as_bytes();
            db.execute(sql, params![id.0, hash, packed.body_length, at.microseconds()])?;
            last = Some(packed.written_as(*id, last.as_ref()));
        } else if let (Some(text), Some(before)) = (text, &last) {
            let document = PackedDocument::new(&text, Some(before));
            document.replace(db, *id)?;
            last = RequestDocument::new(text).map(|read| read.kept_as(*id, &document, before));
        }
    }
    Ok(())
}

/// A request's document as it was read: its header, and the context behind that.
pub(crate) struct RequestDocument {
    pub(crate) header: DocumentHeader,
    text: Arc<DocumentText>,
    /// Where the pieces of the body begin, and the context behind them.
    pieces_at: usize,
    context_at: usize,
}

impl RequestDocument {
    fn new(text: Arc<DocumentText>) -> Option<Self> {
        let (line, rest) = text.text.split_once('\n')?;
        let header: DocumentHeader = serde_json::from_str(line).ok()?;
        let pieces_at = text.text.len() - rest.len();
        let mut context_at = pieces_at;
        for _ in 0..header.pieces {
            context_at += text.text.get(context_at..)?.find('\n')? + 1;
        }
        Some(RequestDocument { header, text, pieces_at, context_at })
    }

    /// All that can be the key of a part: of the body, or of a text that the context names by
    /// its hash.
    pub(crate) fn mentioned_keys(&self) -> impl Iterator<Item = PartKey> {
        let words = self.text.text.split(|c: char| !c.is_ascii_hexdigit());
        words.filter_map(|word| PartKey::from_digits(word.get(..PartKey::DIGITS)?))
    }

    /// The caller's context, byte for byte.
    pub(crate) fn context(&self) -> &str {
        self.text.text.get(self.context_at..).unwrap_or_default()
    }

    /// The pieces of the body, if they can be read.
    fn pieces(&self) -> Option<Vec<StoredPiece>> {
        let lines = self.text.text.get(self.pieces_at..self.context_at)?.lines();
        lines.map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Puts the body of the session's request together again.
    pub(crate) fn body(&self, db: &SqlConnection, session: SessionId) -> DbResult<String> {
        match self.header.pieces {
            0 => join_pieces(db, session, &self.header.body),
            _ => {
                let damaged = || DbError::damaged("the pieces of a body");
                join_pieces(db, session, &self.pieces().ok_or_else(damaged)?)
            }
        }
    }

    /// What to remember once it is written, behind another one.
    fn kept_as(
        &self,
        id: RequestId,
        packed: &PackedDocument,
        before: &LastDocument,
    ) -> LastDocument {
        let this = Anchor { request: id, text: self.text.clone() };
        let row = if packed.place % ROW == 0 { this.clone() } else { before.row.clone() };
        LastDocument { this, place: packed.place, row, known: Arc::new(self.part_keys()) }
    }

    /// The parts that the body refers to.
    fn part_keys(&self) -> HashSet<PartKey> {
        let pieces = self.pieces().unwrap_or_default();
        pieces.iter().chain(&self.header.body).filter_map(StoredPiece::part_key).collect()
    }
}

/// Reads documents; those of one chain are worked out once.
#[derive(Default)]
pub(crate) struct DocumentReader {
    read: HashMap<RequestId, Arc<DocumentText>>,
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
        let known = Arc::new(document.part_keys());
        Ok(LastDocument { this: Anchor { request: id, text: document.text }, place, row, known })
    }

    /// Writes a document anew so that it stands by itself, whatever it was kept against.
    pub(crate) fn detach(&mut self, db: &SqlConnection, id: RequestId) -> DbResult<()> {
        // One that can't be read stays so, and keeps nobody else from being cleared away.
        let text = self.text(db, id)?;
        let document = text.map_or_else(Vec::new, |text| codec::pack(&text.text));
        let sql = "UPDATE requests SET parent = NULL, document = ?2 WHERE id = ?1";
        db.execute(sql, params![id.0, document]).map(drop)
    }

    /// Walks up to a document that is known or stands by itself, and back.
    fn text(&mut self, db: &SqlConnection, id: RequestId) -> DbResult<Option<Arc<DocumentText>>> {
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
                Some(parent) => codec::unpack_against(&parent.text, &packed),
                None => codec::unpack(&packed),
            };
            let Ok(unpacked) = unpacked else { return Ok(None) };
            let unpacked = Arc::new(DocumentText::new(unpacked));
            self.read.insert(at, unpacked.clone());
            text = Some(unpacked);
        }
        Ok(text)
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

    pub(crate) fn from_column(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(PartKey)
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
        self.this.text.text.len()
            + self.row.text.text.len()
            + self.known.len() * size_of::<PartKey>()
    }
}
