//! A setting as a layer gives it: which key, which value, from where.

use std::fmt;

use super::keys::Key;
use super::problem::{Mismatch, Place, Problem};
use super::value::{self, Value, basic_string};

/// One key as one layer sets it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    /// The key.
    pub(super) key: &'static Key,
    /// The path with its names filled in.
    pub(super) path: KeyPath,
    /// The path as the person spelled it.
    pub(super) spelled: KeyPath,
    /// `None` when a value was given and refused: the problem is known already,
    /// and nobody should complain about a missing key on top of it.
    pub(super) value: Option<Value>,
    /// Where it is set.
    pub(super) place: Place,
}

impl Setting {
    /// Reads a setting that is text: of a variable or a flag.
    pub(super) fn from_text(key: &'static Key, text: &str, place: Place) -> Result<Self, Problem> {
        let path = KeyPath::of(key.path, &[]);
        let value = value::from_text(key.kind, text)
            .map_err(|mismatch: Mismatch| mismatch.of(&path, place.clone()))?;
        Ok(Setting { key, spelled: path.clone(), path, value: Some(value), place })
    }
}

/// A path of keys, one part each. Names may hold any character, dots included,
/// which is why this is no string.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct KeyPath(Vec<String>);

impl KeyPath {
    /// A path as in the table of keys, its placeholders filled in order.
    pub(super) fn of(template: &str, names: &[&str]) -> Self {
        let mut names = names.iter();
        let part = |part: &str| match part.starts_with('<') {
            true => names.next().copied().unwrap_or_default().to_owned(),
            false => part.to_owned(),
        };
        KeyPath(template.split('.').map(part).collect())
    }

    /// The path one level down.
    pub(super) fn join(&self, name: &str) -> Self {
        let mut parts = self.0.clone();
        parts.push(name.to_owned());
        KeyPath(parts)
    }

    /// The parts of the table that the key stands in.
    pub(super) fn table(&self) -> &[String] {
        self.0.split_last().map_or(&[], |(_, table)| table)
    }

    /// The parts, outermost first.
    pub(super) fn parts(&self) -> &[String] {
        &self.0
    }
}

/// As TOML spells it: parts that aren't plain words in quotes.
impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            if !part.is_empty() && part.chars().all(is_bare) {
                f.write_str(part)?;
            } else {
                f.write_str(&basic_string(part))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_as_toml_spells_them() {
        let path = KeyPath::of("items.<kind>.<name>.include", &["tool", "files.read"]);
        assert_eq!(path.to_string(), "items.tool.\"files.read\".include");
        assert_eq!(KeyPath::default().join("").to_string(), "\"\"");
    }
}
