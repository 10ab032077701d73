//! A memory in the form that programs read.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recto_context::{Memory, MemoryScope};
use serde_json::{Value, json};

/// A memory as data for programs.
pub fn memory_json(memory: &Memory) -> Value {
    json!({
        "name": memory.name,
        "text": memory.text.as_str(),
        "scope": scope_json(&memory.scope),
        "important": memory.marks.important,
        "shared": memory.marks.shared,
        "day": Some(memory_day(memory.added)).filter(|day| !day.is_empty()),
        "added": memory.added.and_then(|at| Timestamp::from_second(at).ok()),
        "source": memory.source.to_string(),
    })
}

fn scope_json(scope: &MemoryScope) -> Value {
    match memory_scope_parts(scope) {
        (kind, None) => json!({"kind": kind}),
        (kind, Some(id)) => json!({"kind": kind, "id": id}),
    }
}

/// To whom a memory belongs: the kind of it, and which one.
pub fn memory_scope_parts(scope: &MemoryScope) -> (&'static str, Option<&str>) {
    match scope {
        MemoryScope::Global => ("global", None),
        MemoryScope::Person(id) => ("person", Some(id)),
        MemoryScope::Conversation(key) => ("conversation", Some(key)),
        MemoryScope::Agent(id) => ("agent", Some(id)),
    }
}

/// The day on which something was added; empty for what nobody dated.
pub fn memory_day(added: Option<i64>) -> String {
    const DAY: i64 = 24 * 60 * 60;
    let Some(at) = added.and_then(|at| Timestamp::from_second(at).ok()) else {
        return String::new();
    };
    // Where only the day is known, its beginning stands for it, wherever one is.
    let zone = if at.as_second() % DAY == 0 { TimeZone::UTC } else { TimeZone::system() };
    at.to_zoned(zone).strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_stays_the_same_wherever_one_is() {
        // The beginning of 2026-03-01 stands for a day whose hour nobody knows.
        assert_eq!(memory_day(Some(1_772_323_200)), "2026-03-01");
        assert_eq!(memory_day(None), "");
        assert_eq!(memory_day(Some(i64::MAX)), "");
    }
}
