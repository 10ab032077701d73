//! Messages that surfaces have delivered, by the surfaces' own ids.
//!
//! Surfaces deliver a message again when they can't tell whether it arrived. Whether it
//! did is decided in the transaction that would begin its turn, so that no two processes
//! both take it in.

use crate::sql::{SqlConnection, params};

use crate::error::{StoreError, StoreResult};
use crate::ids::TurnId;
use crate::rows::DbResult;
use crate::sessions::{BindingKey, key_column};
use crate::store::Store;

/// A message as its surface knows it. The same id in another conversation is another
/// message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryKey {
    /// The conversation that it was said in, whichever session that has.
    pub conversation: BindingKey,
    /// The surface's own id of the message.
    pub message: String,
}

impl Store {
    /// The turn that a message has begun, if it was taken in.
    pub async fn delivered(&self, delivery: &DeliveryKey) -> StoreResult<Option<TurnId>> {
        let delivery = delivery.clone();
        self.read(move |db| find(db, &delivery)).await
    }
}

/// Passes a message that was not taken in before, or that nobody can tell of.
pub(crate) fn must_be_new(db: &SqlConnection, delivery: Option<&DeliveryKey>) -> DbResult<()> {
    let Some(delivery) = delivery else { return Ok(()) };
    match find(db, delivery)? {
        Some(turn) => Err(StoreError::Delivered { turn }.into()),
        None => Ok(()),
    }
}

/// Notes that a message has begun a turn.
pub(crate) fn insert(db: &SqlConnection, delivery: &DeliveryKey, turn: TurnId) -> DbResult<()> {
    let DeliveryKey { conversation, message } = delivery;
    let sql = "INSERT INTO inbound_messages (conversation, message, turn) VALUES (?1, ?2, ?3)";
    db.execute(sql, params![key_column(conversation)?, message, turn.0]).map(drop)
}

fn find(db: &SqlConnection, delivery: &DeliveryKey) -> DbResult<Option<TurnId>> {
    let DeliveryKey { conversation, message } = delivery;
    let sql = "SELECT turn FROM inbound_messages WHERE conversation = ?1 AND message = ?2";
    let values = params![key_column(conversation)?, message];
    db.first(sql, values, |row| Ok(TurnId(row.get("turn")?)))
}
