//! Values on their way to a statement and out of a row.

use std::fmt::Display;
use std::sync::Arc;

use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::error::DbError;
use crate::rows::DbResult;

/// A value of a column, lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SqlValue<'v> {
    Null,
    Integer(i64),
    Text(&'v str),
    Blob(&'v [u8]),
}

impl<'v> SqlValue<'v> {
    /// The text, if it is one.
    pub(crate) fn as_str(self) -> Option<&'v str> {
        match self {
            SqlValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, if it has some.
    pub(crate) fn as_blob(self) -> Option<&'v [u8]> {
        match self {
            SqlValue::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl rusqlite::ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            SqlValue::Null => ValueRef::Null,
            SqlValue::Integer(number) => ValueRef::Integer(number),
            SqlValue::Text(text) => ValueRef::Text(text.as_bytes()),
            SqlValue::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Something that can be lent to a statement as a value.
pub(crate) trait SqlParam {
    /// The value that stands for it.
    fn to_value(&self) -> SqlValue<'_>;
}

impl SqlParam for i64 {
    fn to_value(&self) -> SqlValue<'_> {
        SqlValue::Integer(*self)
    }
}

impl SqlParam for u32 {
    fn to_value(&self) -> SqlValue<'_> {
        SqlValue::Integer(i64::from(*self))
    }
}

impl SqlParam for bool {
    fn to_value(&self) -> SqlValue<'_> {
        SqlValue::Integer(i64::from(*self))
    }
}

impl SqlParam for str {
    fn to_value(&self) -> SqlValue<'_> {
        SqlValue::Text(self)
    }
}

impl SqlParam for String {
    fn to_value(&self) -> SqlValue<'_> {
        SqlValue::Text(self)
    }
}

impl SqlParam for Arc<str> {
    fn to_value(&self) -> SqlValue<'_> {
        SqlValue::Text(self)
    }
}

impl SqlParam for [u8] {
    fn to_value(&self) -> SqlValue<'_> {
        SqlValue::Blob(self)
    }
}

impl SqlParam for Vec<u8> {
    fn to_value(&self) -> SqlValue<'_> {
        SqlValue::Blob(self)
    }
}

impl<const N: usize> SqlParam for [u8; N] {
    fn to_value(&self) -> SqlValue<'_> {
        SqlValue::Blob(self)
    }
}

impl<T: SqlParam + ?Sized> SqlParam for &T {
    fn to_value(&self) -> SqlValue<'_> {
        (**self).to_value()
    }
}

impl<T: SqlParam> SqlParam for Option<T> {
    fn to_value(&self) -> SqlValue<'_> {
        self.as_ref().map_or(SqlValue::Null, SqlParam::to_value)
    }
}

/// The values of a statement, in the order of their places.
pub(crate) trait SqlParams {
    /// Lends them to `work`.
    fn lend<R>(self, work: impl FnOnce(&[&dyn SqlParam]) -> R) -> R;
}

impl SqlParams for &[&dyn SqlParam] {
    fn lend<R>(self, work: impl FnOnce(&[&dyn SqlParam]) -> R) -> R {
        work(self)
    }
}

impl SqlParams for [&dyn SqlParam; 0] {
    fn lend<R>(self, work: impl FnOnce(&[&dyn SqlParam]) -> R) -> R {
        work(&[])
    }
}

/// One for each length, so that a list of none needs no type.
macro_rules! lend_arrays {
    ($($length:literal)+) => {$(
        impl<T: SqlParam> SqlParams for [T; $length] {
            fn lend<R>(self, work: impl FnOnce(&[&dyn SqlParam]) -> R) -> R {
                work(&self.each_ref().map(|value| value as &dyn SqlParam))
            }
        }
    )+};
}

lend_arrays!(1 2 3 4);

/// The values of a statement, where they are of several types.
macro_rules! params {
    ($($value:expr),+ $(,)?) => {
        &[$(&$value as &dyn $crate::sql::SqlParam),+] as &[&dyn $crate::sql::SqlParam]
    };
}

pub(crate) use params;

/// Something that a column's value can be read as.
pub(crate) trait FromSqlValue: Sized {
    /// `None` where the value is none that was ever written there.
    fn from_value(value: SqlValue<'_>) -> Option<Self>;
}

impl FromSqlValue for i64 {
    fn from_value(value: SqlValue<'_>) -> Option<Self> {
        match value {
            SqlValue::Integer(number) => Some(number),
            _ => None,
        }
    }
}

impl FromSqlValue for u32 {
    fn from_value(value: SqlValue<'_>) -> Option<Self> {
        i64::from_value(value).and_then(|number| u32::try_from(number).ok())
    }
}

impl FromSqlValue for bool {
    fn from_value(value: SqlValue<'_>) -> Option<Self> {
        i64::from_value(value).map(|number| number != 0)
    }
}

impl FromSqlValue for String {
    fn from_value(value: SqlValue<'_>) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl FromSqlValue for Vec<u8> {
    fn from_value(value: SqlValue<'_>) -> Option<Self> {
        value.as_blob().map(<[u8]>::to_vec)
    }
}

impl<const N: usize> FromSqlValue for [u8; N] {
    fn from_value(value: SqlValue<'_>) -> Option<Self> {
        value.as_blob()?.try_into().ok()
    }
}

impl<T: FromSqlValue> FromSqlValue for Option<T> {
    fn from_value(value: SqlValue<'_>) -> Option<Self> {
        match value {
            SqlValue::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

/// A row that a query found, while the query stands at it.
pub(crate) enum SqlRow<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r postgres::Row),
}

/// The name of a column, or its place from 0.
pub(crate) trait SqlColumn:
    rusqlite::RowIndex + postgres::row::RowIndex + Display + Copy
{
}

impl<T: rusqlite::RowIndex + postgres::row::RowIndex + Display + Copy> SqlColumn for T {}

impl SqlRow<'_> {
    /// What a column holds, as the type that was written.
    pub(crate) fn get<C: SqlColumn, T: FromSqlValue>(&self, column: C) -> DbResult<T> {
        let value = T::from_value(self.value(column)?);
        value.ok_or_else(|| DbError::Column { column: column.to_string() })
    }

    /// What a column holds.
    pub(crate) fn value<C: SqlColumn>(&self, column: C) -> DbResult<SqlValue<'_>> {
        let unreadable = || DbError::Column { column: column.to_string() };
        match self {
            SqlRow::Sqlite(row) => Ok(match row.get_ref(column)? {
                ValueRef::Null => SqlValue::Null,
                ValueRef::Integer(number) => SqlValue::Integer(number),
                ValueRef::Text(text) => {
                    SqlValue::Text(str::from_utf8(text).map_err(|_| unreadable())?)
                }
                ValueRef::Blob(bytes) => SqlValue::Blob(bytes),
                ValueRef::Real(_) => return Err(unreadable()),
            }),
            SqlRow::Postgres(row) => row.try_get(column).map_err(|_| unreadable()),
        }
    }
}
