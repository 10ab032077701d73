//! From columns to values. What can't be read was not written by this crate:
//! it is reported as damaged.

use recto_context::{MessageId, TurnNumber};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec;
use crate::error::{DbError, StoreError, StoreResult};
use crate::ids::Moment;
use crate::sql::SqlRow;

/// The result of work on a connection.
pub(crate) type DbResult<T> = Result<T, DbError>;

/// What was read; nothing where that is damaged. For what can be done without.
pub(crate) fn unless_damaged<T>(read: DbResult<Option<T>>) -> DbResult<Option<T>> {
    match read {
        Err(error) if error.is_damage() => Ok(None),
        read => read,
    }
}

/// A moment from its column.
pub(crate) fn moment(row: &SqlRow<'_>, column: &str) -> DbResult<Moment> {
    optional_moment(row, column)?.ok_or_else(|| DbError::damaged(format!("a time in `{column}`")))
}

/// A moment that may be absent.
pub(crate) fn optional_moment(row: &SqlRow<'_>, column: &str) -> DbResult<Option<Moment>> {
    let Some(microseconds) = row.get::<_, Option<i64>>(column)? else { return Ok(None) };
    let moment = Moment::from_microseconds(microseconds);
    moment.map(Some).ok_or_else(|| DbError::damaged(format!("a time in `{column}`")))
}

/// A message's number from its column, where it may be absent.
pub(crate) fn message_id(row: &SqlRow<'_>, column: &str) -> DbResult<Option<MessageId>> {
    let number = unsigned::<u64>(row, column)?;
    Ok(number.map(MessageId))
}

/// A turn's number within its session.
pub(crate) fn turn_number(row: &SqlRow<'_>, column: &str) -> DbResult<TurnNumber> {
    let number = unsigned::<u32>(row, column)?;
    number.map(TurnNumber).ok_or_else(|| DbError::damaged(format!("a number in `{column}`")))
}

/// A number without sign that may be absent.
pub(crate) fn unsigned<T: TryFrom<i64>>(row: &SqlRow<'_>, column: &str) -> DbResult<Option<T>> {
    let Some(number) = row.get::<_, Option<i64>>(column)? else { return Ok(None) };
    let number = T::try_from(number);
    number.map(Some).map_err(|_| DbError::damaged(format!("a number in `{column}`")))
}

/// A value kept as plain JSON.
pub(crate) fn json<T: DeserializeOwned>(row: &SqlRow<'_>, column: &str) -> DbResult<T> {
    from_json(&row.get::<_, String>(column)?, column)
}

/// The same, where it may be absent.
pub(crate) fn optional_json<T: DeserializeOwned>(
    row: &SqlRow<'_>,
    column: &str,
) -> DbResult<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| from_json(&text, column)).transpose()
}

/// A value kept as packed JSON, where it may be absent.
pub(crate) fn packed_json<T: DeserializeOwned>(
    row: &SqlRow<'_>,
    column: &str,
) -> DbResult<Option<T>> {
    let Some(packed) = row.get::<_, Option<Vec<u8>>>(column)? else { return Ok(None) };
    let text = codec::unpack(&packed).map_err(|_| DbError::damaged(format!("`{column}`")))?;
    from_json(&text, column).map(Some)
}

/// A value from JSON that stands in `what`. What serde says about it is left out:
/// it would quote what people wrote.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str, what: &str) -> DbResult<T> {
    serde_json::from_str(text).map_err(|_| DbError::damaged(format!("`{what}`")))
}

/// A value as JSON.
pub(crate) fn to_json(value: &impl Serialize) -> StoreResult<String> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed { what: error.to_string() })
}

/// A message's number as its column has it; the largest numbers have no place.
pub(crate) fn message_column(id: MessageId) -> DbResult<i64> {
    let too_large = StoreError::OutOfOrder { message: id, last: MessageId(i64::MAX as u64) };
    i64::try_from(id.0).map_err(|_| too_large.into())
}
