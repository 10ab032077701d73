//! Values in the form of PostgreSQL's protocol.

use std::error::Error;

use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::sql::SqlValue;

/// What the client wants of the values of a statement.
pub(super) fn lent<'v>(values: &'v [SqlValue<'v>]) -> Vec<&'v (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// A text can't have the character of number 0 there; this one stands in its place.
const INSTEAD_OF_NUL: &str = "\u{FFFD}";

impl ToSql for SqlValue<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (*self, ty) {
            (SqlValue::Null, _) => Ok(IsNull::Yes),
            (SqlValue::Integer(number), &Type::INT8) => number.to_sql(ty, out),
            (SqlValue::Integer(number), &Type::INT4) => i32::try_from(number)?.to_sql(ty, out),
            (SqlValue::Integer(number), &Type::BOOL) => (number != 0).to_sql(ty, out),
            (SqlValue::Text(text), _) if <&str as ToSql>::accepts(ty) => {
                match text.contains('\0') {
                    true => text.replace('\0', INSTEAD_OF_NUL).to_sql(ty, out),
                    false => text.to_sql(ty, out),
                }
            }
            (SqlValue::Blob(bytes), &Type::BYTEA) => bytes.to_sql(ty, out),
            (value, ty) => Err(format!("{ty} can't hold {}", kind(value)).into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// What a value is, without what it says.
fn kind(value: SqlValue<'_>) -> &'static str {
    match value {
        SqlValue::Null => "nothing",
        SqlValue::Integer(_) => "a number",
        SqlValue::Text(_) => "a text",
        SqlValue::Blob(_) => "bytes",
    }
}

impl<'v> FromSql<'v> for SqlValue<'v> {
    fn from_sql(ty: &Type, raw: &'v [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        match *ty {
            Type::INT8 => i64::from_sql(ty, raw).map(SqlValue::Integer),
            Type::INT4 => i32::from_sql(ty, raw).map(|number| SqlValue::Integer(number.into())),
            Type::BOOL => bool::from_sql(ty, raw).map(|is| SqlValue::Integer(is.into())),
            Type::BYTEA => Ok(SqlValue::Blob(raw)),
            _ => <&str>::from_sql(ty, raw).map(SqlValue::Text),
        }
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(SqlValue::Null)
    }

    fn accepts(ty: &Type) -> bool {
        matches!(*ty, Type::INT8 | Type::INT4 | Type::BOOL | Type::BYTEA)
            || <&str as FromSql<'_>>::accepts(ty)
    }
}
