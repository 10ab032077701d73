//! JSON that knows its lines: objects are split into their members without
//! losing where each stands in the file, so that a flaw can be pointed at.

use std::collections::HashSet;
use std::fmt;

use recto_context::nearest_name;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Something wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclarationFlaw {
    /// The line that it is on, from 1.
    pub line: usize,
    /// What is wrong, in words for the author.
    pub what: String,
}

/// A file that is being read, and what was found wrong with it so far.
pub(super) struct RawReader<'a> {
    text: &'a str,
    /// Where each line but the first begins.
    starts: Vec<usize>,
    pub(super) flaws: Vec<DeclarationFlaw>,
}

/// A JSON object: its text, and the texts of its members.
pub(super) struct RawObject<'a> {
    pub(super) raw: &'a str,
    pub(super) members: Vec<(String, &'a str)>,
}

impl<'a> RawReader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        RawReader { text, starts: starts.map(|(at, _)| at + 1).collect(), flaws: Vec::new() }
    }

    /// The line on which a part of the file begins.
    pub(super) fn line_of(&self, part: &str) -> usize {
        let offset = part.as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        1 + self.starts.partition_point(|start| *start <= offset)
    }

    /// Notes that something is wrong with this part of the file.
    pub(super) fn flaw(&mut self, part: &str, what: impl Into<String>) {
        self.flaws.push(DeclarationFlaw { line: self.line_of(part), what: what.into() });
    }

    /// A part of the file as an object.
    pub(super) fn object(&mut self, raw: &'a str, what: &str) -> Option<RawObject<'a>> {
        let members = self.parse::<Members<'a>>(raw, what)?.0;
        let mut object = RawObject { raw, members: Vec::with_capacity(members.len()) };
        let mut seen = HashSet::new();
        for (key, value) in members {
            match seen.insert(key.clone()) {
                true => object.members.push((key, value)),
                false => self.flaw(value, format!("{what} has `{}` twice", key.escape_default())),
            }
        }
        Some(object)
    }

    /// A part of the file as a list of parts.
    pub(super) fn list(&mut self, raw: &'a str, what: &str) -> Option<Vec<&'a str>> {
        let list: Vec<&RawValue> = self.parse(raw, what)?;
        Some(list.into_iter().map(RawValue::get).collect())
    }

    /// Notes the members of an object that mean nothing.
    pub(super) fn only(&mut self, object: &RawObject<'a>, what: &str, known: &[&str]) {
        for (key, value) in &object.members {
            if known.contains(&key.as_str()) {
                continue;
            }
            let shown = key.escape_default();
            let hint = hint(key, known.iter().copied());
            self.flaw(value, format!("{what}: `{shown}` is unknown here{hint}"));
        }
    }

    /// A member of an object, unless it is absent, null or of another type.
    pub(super) fn get<T: Deserialize<'a>>(&mut self, from: &RawObject<'a>, key: &str) -> Option<T> {
        let raw = from.get(key)?;
        self.parse(raw, &format!("`{key}`"))
    }

    /// A member that must be there.
    pub(super) fn need<T: Deserialize<'a>>(
        &mut self,
        object: &RawObject<'a>,
        what: &str,
        key: &str,
    ) -> Option<T> {
        if object.get(key).is_none() {
            self.flaw(object.raw, format!("{what} lacks `{key}`"));
        }
        self.get(object, key)
    }

    pub(super) fn parse<T: Deserialize<'a>>(&mut self, raw: &'a str, what: &str) -> Option<T> {
        match serde_json::from_str(raw) {
            Ok(value) => Some(value),
            Err(error) => {
                let line = self.line_of(raw) + error.line().saturating_sub(1);
                self.flaws
                    .push(DeclarationFlaw { line, what: format!("{what}: {}", message(&error)) });
                None
            }
        }
    }
}

impl<'a> RawObject<'a> {
    /// The text of a member; none if it is null.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        let member = self.members.iter().find(|(name, _)| name == key);
        member.map(|(_, raw)| *raw).filter(|raw| *raw != "null")
    }
}

/// The nearest known name, as what follows a flaw.
pub(super) fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest_name(name, known);
    near.map(|near| format!("; perhaps `{near}` is meant")).unwrap_or_default()
}

/// The error without its place, which a flaw has already.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// The members of an object in their order, those that come twice included.
struct Members<'a>(Vec<(String, &'a str)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor).map(Members)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(String, &'de str)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
            members.push((key, value.get()));
        }
        Ok(members)
    }
}
