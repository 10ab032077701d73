//! The body of a request as it was sent, and which pieces of it stand elsewhere in the store.
//!
//! A session's requests repeat each other, and what they say stands in the transcript and among the
//! texts of the record, too. So a body is kept as a list of pieces: bytes of its own, the key of a
//! part, or the name of a text or message that it repeats as JSON writes it. Put together they are
//! the body byte for byte, which its hash proves.

use std::collections::HashMap;

use recto_context::{ContentHash, MessageId, Text};
use serde::{Deserialize, Serialize};

use crate::codec::Unpacker;
use crate::documents::{PartCollector, PartKey, read_part};
use crate::error::DbError;
use crate::ids::SessionId;
use crate::rows::{self, DbResult};
use crate::sql::SqlConnection;
use crate::transcript;

/// Shorter pieces stand in the document: a part's key and row cost as much.
const SHORTEST_PART: usize = 160;

/// The bytes of a request, in pieces.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestBody {
    text: String,
    /// Where each piece ends, and where else it stands.
    pieces: Vec<(usize, PieceOrigin)>,
}

/// Where a piece of a body stands beside the body.
#[derive(Debug, Clone, PartialEq)]
enum PieceOrigin {
    /// Nowhere.
    Own,
    /// Among the texts of the record; JSON writes it like this within quotes.
    Text(Text),
    /// As the first text of a message of the session.
    Message(MessageId),
}

impl RequestBody {
    /// Appends bytes that stand nowhere else. A piece that occurs again byte for byte, in this
    /// session or another, is stored once.
    pub fn push(&mut self, bytes: &str) {
        self.push_piece(bytes, PieceOrigin::Own);
    }

    /// Appends a text that the record has. `written` is how JSON writes it within quotes.
    pub fn push_text(&mut self, text: &Text, written: &str) {
        self.push_piece(written, PieceOrigin::Text(text.clone()));
    }

    /// Appends the first text of a message that the session's transcript has, or gets with the
    /// same commit. `written` is how JSON writes it within quotes.
    pub fn push_message(&mut self, message: MessageId, written: &str) {
        self.push_piece(written, PieceOrigin::Message(message));
    }

    fn push_piece(&mut self, bytes: &str, origin: PieceOrigin) {
        if !bytes.is_empty() {
            self.text.push_str(bytes);
            self.pieces.push((self.text.len(), origin));
        }
    }

    /// The body as it is sent.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        let starts = [0].into_iter().chain(self.pieces.iter().map(|(end, _)| *end));
        starts.zip(&self.pieces).map(|(start, (end, _))| &self.text[start..*end])
    }

    /// The body as it is sent, without where its pieces stand.
    pub fn into_text(self) -> String {
        self.text
    }

    /// The pieces in the form in which the document has them.
    pub(crate) fn to_stored(&self, parts: &mut PartCollector<'_>) -> Vec<StoredPiece> {
        let mut stored: Vec<StoredPiece> = Vec::with_capacity(self.pieces.len());
        let mut start = 0;
        for (end, origin) in &self.pieces {
            let bytes = &self.text[start..*end];
            start = *end;
            let piece = match origin {
                PieceOrigin::Message(message) => StoredPiece::Message { m: *message },
                PieceOrigin::Text(text) => StoredPiece::Text { t: parts.refer(text.hash(), text) },
                PieceOrigin::Own if bytes.len() >= SHORTEST_PART => {
                    let hash = ContentHash::of_bytes(bytes.as_bytes());
                    StoredPiece::Part([parts.refer(hash, bytes)])
                }
                PieceOrigin::Own => StoredPiece::Inline(bytes.to_owned()),
            };
            match (stored.last_mut(), piece) {
                (Some(StoredPiece::Inline(before)), StoredPiece::Inline(more)) => {
                    before.push_str(&more);
                }
                (_, piece) => stored.push(piece),
            }
        }
        stored
    }
}

impl<S: AsRef<str>> FromIterator<S> for RequestBody {
    fn from_iter<I: IntoIterator<Item = S>>(pieces: I) -> Self {
        let mut body = RequestBody::default();
        pieces.into_iter().for_each(|piece| body.push(piece.as_ref()));
        body
    }
}

/// A piece of a body as a document has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum StoredPiece {
    /// A short text, kept within the document.
    Inline(String),
    /// A part. In a list of its own, so that no text can pose as one.
    Part([PartKey; 1]),
    /// A part, as JSON writes it within quotes.
    Text { t: PartKey },
    /// The first text of a message of the session, as JSON writes it within quotes.
    Message { m: MessageId },
}

impl StoredPiece {
    /// The part that it refers to, if it does.
    pub(crate) fn part_key(&self) -> Option<PartKey> {
        match self {
            StoredPiece::Part([key]) | StoredPiece::Text { t: key } => Some(*key),
            StoredPiece::Inline(_) | StoredPiece::Message { .. } => None,
        }
    }
}

/// Puts the body of a session's request together again.
pub(crate) fn join_pieces(
    db: &SqlConnection,
    session: SessionId,
    pieces: &[StoredPiece],
) -> DbResult<String> {
    let mut said = SaidTexts { db, session, unpacker: Unpacker::default(), known: HashMap::new() };
    let mut body = String::new();
    for piece in pieces {
        match piece {
            StoredPiece::Inline(text) => body.push_str(text),
            StoredPiece::Part([key]) => body.push_str(&read_part(db, *key)?),
            StoredPiece::Text { t } => push_quoted(&mut body, &read_part(db, *t)?),
            StoredPiece::Message { m } => push_quoted(&mut body, said.read(*m)?),
        }
    }
    Ok(body)
}

/// The texts of a session's messages, each read once.
struct SaidTexts<'a> {
    db: &'a SqlConnection,
    session: SessionId,
    unpacker: Unpacker,
    known: HashMap<MessageId, Text>,
}

impl SaidTexts<'_> {
    fn read(&mut self, id: MessageId) -> DbResult<&Text> {
        if !self.known.contains_key(&id) {
            let text = self.find(id)?;
            self.known.insert(id, text);
        }
        Ok(&self.known[&id])
    }

    fn find(&mut self, id: MessageId) -> DbResult<Text> {
        let sql = "SELECT id, body FROM messages WHERE session = ?1 AND id = ?2";
        let values = [self.session.0, rows::message_column(id)?];
        let message =
            self.db.first(sql, values, |row| transcript::read_message(row, &mut self.unpacker))?;
        let text = message.as_ref().and_then(|it| it.content().first()?.as_text().cloned());
        text.ok_or_else(|| {
            DbError::damaged(format!("message {} of session {}", id.0, self.session))
        })
    }
}

/// Appends a text as JSON writes it within quotes.
fn push_quoted(body: &mut String, text: &str) {
    // A text can always be written.
    let quoted = serde_json::to_string(text).unwrap_or_default();
    body.push_str(quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default());
}
