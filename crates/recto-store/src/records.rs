//! What was sent and what came back, read again and checked.

use std::collections::HashMap;

use crate::sql::{SqlConnection, SqlRow};
use recto_context::{ContentHash, MessageId, Text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::documents::{self, DocumentReader, Fidelity, PartKey, RequestDocument};
use crate::error::{DbError, RowId, StoreError, StoreResult};
use crate::ids::{Moment, RequestId, SessionId, TurnId};
use crate::rows::{self, DbResult};
use crate::store::Store;

/// What is known of a request, but for its body.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestRecord {
    /// Its number, counted over all sessions.
    pub id: RequestId,
    /// The turn that it belongs to.
    pub turn: TurnId,
    /// The session of that turn.
    pub session: SessionId,
    /// Its number within the turn.
    pub number: u32,
    /// When it was sent.
    pub at: Moment,
    /// The model entry of the config.
    pub model: String,
    /// The wire format of the body.
    pub wire: String,
    /// The model's options, as JSON.
    pub options: Value,
    /// What "exact" means for the body.
    pub fidelity: Fidelity,
    /// The caller's context, byte for byte.
    pub context: String,
    /// More about it, such as what it shares with the request before.
    pub notes: Value,
    /// How many bytes the body has.
    pub body_length: u64,
    /// What came back, if something did.
    pub answer: Option<RequestAnswer>,
    /// When a text was last taken out of it: from then on it is not what was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<Moment>,
}

/// What came back for a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestAnswer {
    /// The request that it answers.
    pub request: RequestId,
    /// When the answer was complete, or the error certain.
    pub at: Moment,
    /// The message that it became.
    pub reply: Option<MessageId>,
    /// What the server counted.
    pub usage: RequestUsage,
    /// More about it: why it finished, when the first token came, the error.
    pub result: Value,
}

/// What a server counted; what it did not say is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RequestUsage {
    /// Tokens of the prompt, with those from the cache.
    pub prompt: Option<u32>,
    /// Tokens of the prompt that came from the cache.
    pub cached: Option<u32>,
    /// Tokens of the reply.
    pub completion: Option<u32>,
}

impl Store {
    /// The requests of a turn, in order.
    pub async fn requests(&self, turn: TurnId) -> StoreResult<Vec<RequestRecord>> {
        self.read(move |db| {
            let mut documents = DocumentReader::default();
            let sql = select("requests.turn = ?1 ORDER BY requests.number");
            db.all(&sql, [turn.0], |row| read(db, row, &mut documents))
        })
        .await
    }

    /// The requests of a turn by their numbers in it, in order. Needs none of
    /// their documents, so that a damaged one does not hide the others.
    pub async fn request_ids(&self, turn: TurnId) -> StoreResult<Vec<(u32, RequestId)>> {
        self.read(move |db| {
            let sql = "SELECT number, id FROM requests WHERE turn = ?1 AND length(document) > 0
                       ORDER BY number";
            db.all(sql, [turn.0], |row| Ok((row.get("number")?, RequestId(row.get("id")?))))
        })
        .await
    }

    /// What the requests of a turn cost, in order; what is not known is absent. Needs none of
    /// their documents.
    pub async fn request_usages(&self, turn: TurnId) -> StoreResult<Vec<RequestUsage>> {
        self.read(move |db| {
            let sql = "SELECT prompt, cached, completion FROM requests
                       WHERE turn = ?1 AND length(document) > 0 ORDER BY number";
            db.all(sql, [turn.0], read_usage)
        })
        .await
    }

    /// The requests of some turns, in order. Documents that they share are read once.
    pub async fn requests_of_turns(
        &self,
        turns: Vec<TurnId>,
    ) -> StoreResult<HashMap<TurnId, Vec<RequestRecord>>> {
        self.read(move |db| {
            let mut documents = DocumentReader::default();
            let sql = select("requests.turn = ?1 ORDER BY requests.number");
            let requests = turns.into_iter().map(|turn| {
                let found = db.all(&sql, [turn.0], |row| read(db, row, &mut documents))?;
                Ok((turn, found))
            });
            requests.collect()
        })
        .await
    }

    /// A request by its number.
    pub async fn request(&self, id: RequestId) -> StoreResult<Option<RequestRecord>> {
        self.read(move |db| read_first(db, "requests.id = ?1", id.0)).await
    }

    /// The last request of a session.
    pub async fn last_request(&self, session: SessionId) -> StoreResult<Option<RequestRecord>> {
        let last = "turns.session = ?1 ORDER BY turns.number DESC, requests.number DESC LIMIT 1";
        self.read(move |db| read_first(db, last, session.0)).await
    }

    /// The request that a session made before one of its requests.
    pub async fn request_before(
        &self,
        request: &RequestRecord,
    ) -> StoreResult<Option<RequestRecord>> {
        let (session, id) = (request.session.0, request.id.0);
        let sql = select(
            "turns.session = ?1 AND requests.id < ?2
             ORDER BY turns.number DESC, requests.number DESC LIMIT 1",
        );
        self.read(move |db| {
            db.first(&sql, [session, id], |row| read(db, row, &mut DocumentReader::default()))
        })
        .await
    }

    /// The exact bytes that were sent, checked against their hash.
    pub async fn body(&self, id: RequestId) -> StoreResult<Vec<u8>> {
        self.read(move |db| body(db, id)).await
    }

    /// Texts that a context refers to, each checked against its hash.
    pub async fn contents(
        &self,
        hashes: Vec<ContentHash>,
    ) -> StoreResult<HashMap<ContentHash, Text>> {
        self.read(move |db| hashes.into_iter().map(|hash| content(db, hash)).collect()).await
    }

    /// What was learned about a model's tokens.
    pub async fn calibration(&self, model: &str) -> StoreResult<Option<Value>> {
        let model = model.to_owned();
        self.read(move |db| {
            let sql = "SELECT state FROM calibrations WHERE model = ?1";
            db.first(sql, [model], |row| rows::json(row, "state"))
        })
        .await
    }
}

/// The query for requests with their sessions, where `condition` holds. Those whose documents were
/// dropped are not among them.
fn select(condition: &str) -> String {
    format!(
        "SELECT requests.*, turns.session FROM requests JOIN turns ON turns.id = requests.turn
         WHERE length(requests.document) > 0 AND {condition}"
    )
}

fn read_first(db: &SqlConnection, condition: &str, id: i64) -> DbResult<Option<RequestRecord>> {
    db.first(&select(condition), [id], |row| read(db, row, &mut DocumentReader::default()))
}

fn read(
    db: &SqlConnection,
    row: &SqlRow<'_>,
    documents: &mut DocumentReader,
) -> DbResult<RequestRecord> {
    let id = RequestId(row.get("id")?);
    let document = documents.read(db, id)?;
    let context = document.context().to_owned();
    let RequestDocument { header, .. } = document;
    let missing = || DbError::damaged(format!("the record of request {id}"));
    Ok(RequestRecord {
        id,
        turn: TurnId(row.get("turn")?),
        session: SessionId(row.get("session")?),
        number: rows::unsigned(row, "number")?.ok_or_else(missing)?,
        at: rows::moment(row, "at")?,
        model: header.model,
        wire: header.wire,
        options: header.options,
        fidelity: header.fidelity,
        context,
        notes: header.notes,
        body_length: rows::unsigned(row, "body_length")?.ok_or_else(missing)?,
        answer: read_answer(row, id)?,
        redacted: rows::optional_moment(row, "redacted")?,
    })
}

fn read_answer(row: &SqlRow<'_>, request: RequestId) -> DbResult<Option<RequestAnswer>> {
    let Some(at) = rows::optional_moment(row, "ended")? else { return Ok(None) };
    Ok(Some(RequestAnswer {
        request,
        at,
        reply: rows::message_id(row, "reply")?,
        usage: read_usage(row)?,
        result: rows::packed_json(row, "result")?.unwrap_or_default(),
    }))
}

fn read_usage(row: &SqlRow<'_>) -> DbResult<RequestUsage> {
    Ok(RequestUsage {
        prompt: rows::unsigned(row, "prompt")?,
        cached: rows::unsigned(row, "cached")?,
        completion: rows::unsigned(row, "completion")?,
    })
}

/// The body of a request, checked against its hash.
pub(crate) fn body(db: &SqlConnection, id: RequestId) -> DbResult<Vec<u8>> {
    let sql = "SELECT body_hash, body_length, turns.session
               FROM requests JOIN turns ON turns.id = requests.turn WHERE requests.id = ?1";
    let expected = db.first(sql, [id.0], |row| {
        let hash: Vec<u8> = row.get("body_hash")?;
        let length = rows::unsigned::<usize>(row, "body_length")?;
        Ok((hash, length, SessionId(row.get("session")?)))
    })?;
    let (hash, length, session) = expected.ok_or(StoreError::NotFound(RowId::Request(id)))?;
    let body = DocumentReader::default().read(db, id)?.body(db, session)?.into_bytes();
    let is_intact =
        Some(body.len()) == length && ContentHash::of_bytes(&body).as_bytes().as_slice() == hash;
    if is_intact { Ok(body) } else { Err(DbError::damaged(format!("the body of request {id}"))) }
}

fn content(db: &SqlConnection, hash: ContentHash) -> DbResult<(ContentHash, Text)> {
    let text = Text::new(documents::read_part(db, PartKey::from_hash(hash))?);
    if text.hash() == hash {
        Ok((hash, text))
    } else {
        Err(DbError::damaged(format!("the text {hash}")))
    }
}
