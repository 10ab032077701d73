//! JSON values as schemas compare them: `1` and `1.0` are one number, and the order of an
//! object's members means nothing.

use std::fmt::{self, Write as _};

use serde_json::{Number, Value};

/// A type of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub(super) enum JsonKind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl JsonKind {
    /// The types that the value of `type` names.
    pub(super) fn read_list(value: &Value) -> Vec<Self> {
        let read = |name: &Value| name.as_str()?.parse().ok();
        match value {
            Value::Array(list) => list.iter().filter_map(read).collect(),
            single => read(single).into_iter().collect(),
        }
    }

    /// Whether a value is of this type.
    pub(super) fn fits(self, value: &Value) -> bool {
        match value {
            Value::Null => self == JsonKind::Null,
            Value::Bool(_) => self == JsonKind::Boolean,
            Value::Number(number) => {
                self == JsonKind::Number || self == JsonKind::Integer && is_whole(number)
            }
            Value::String(_) => self == JsonKind::String,
            Value::Array(_) => self == JsonKind::Array,
            Value::Object(_) => self == JsonKind::Object,
        }
    }
}

fn is_whole(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Whether two values are the same to a schema.
pub(super) fn same_value(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64() && (one.is_f64() || other.is_f64())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same_value(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(key, value)| other.get(key).is_some_and(|it| same_value(value, it));
            one.len() == other.len() && one.iter().all(same)
        }
        _ => one == other,
    }
}

/// A text that two values share exactly if they are the same to a schema.
pub(super) fn canonical_text(value: &Value) -> String {
    let mut text = String::new();
    // A string takes everything.
    let _ = write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) -> fmt::Result {
    match value {
        Value::Number(number) if number.is_f64() && is_whole(number) => {
            write!(text, "{:.0}", number.as_f64().unwrap_or_default())
        }
        Value::Array(list) => {
            text.push('[');
            for item in list {
                write_canonical(item, text)?;
                text.push(',');
            }
            text.push(']');
            Ok(())
        }
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in members {
                write!(text, "{}:", Value::from(key.as_str()))?;
                write_canonical(value, text)?;
                text.push(',');
            }
            text.push('}');
            Ok(())
        }
        plain => write!(text, "{plain}"),
    }
}

/// Whether a number is a whole multiple of another.
pub(super) fn is_multiple(number: &Number, of: &Number) -> bool {
    let whole = |number: &Number| {
        number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
    };
    match (whole(number), whole(of)) {
        (_, Some(0)) => false,
        (Some(number), Some(of)) => number % of == 0,
        _ => {
            let times = number.as_f64().unwrap_or(f64::NAN) / of.as_f64().unwrap_or(f64::NAN);
            // Decimal fractions are no exact numbers here.
            (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0)
        }
    }
}
