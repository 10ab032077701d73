//! A setting as a layer gives it: which key, which value, from where.

use std::fmt;

use super::keys::KeyKind;
use super::problem::SettingOrigin;
use super::value::{SettingValue, basic_string};

/// One key as one layer sets it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LayerSetting {
    /// Which values the key takes.
    pub(super) kind: KeyKind,
    /// The path with its names filled in.
    pub(super) path: KeyPath,
    /// The path as the person spelled it.
    pub(super) spelled: KeyPath,
    /// `None` when a value was given and refused: the problem is known already,
    /// and nobody should complain about a missing key on top of it.
    pub(super) value: Option<SettingValue>,
    /// Where it is set; `None` for a default.
    pub(super) origin: Option<SettingOrigin>,
}

impl LayerSetting {
    /// A setting of a key that nobody spelled otherwise.
    pub(super) fn new(
        kind: KeyKind,
        path: KeyPath,
        value: Option<SettingValue>,
        origin: Option<SettingOrigin>,
    ) -> Self {
        LayerSetting { kind, spelled: path.clone(), path, value, origin }
    }
}

/// A path of keys, one part each. Names may hold any character, dots included,
/// which is why this is no string.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct KeyPath(Vec<String>);

impl KeyPath {
    /// A path as in the table of keys, its placeholders filled in order.
    pub(super) fn fill(template: &str, names: &[&str]) -> Self {
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

    /// The path without its first parts.
    pub(super) fn below(&self, parts: usize) -> Self {
        KeyPath(self.0.iter().skip(parts).cloned().collect())
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

/// The path as TOML spells it: parts that aren't plain words in quotes.
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
        let path = KeyPath::fill("items.<kind>.<name>.include", &["tool", "files.read"]);
        assert_eq!(path.to_string(), "items.tool.\"files.read\".include");
        assert_eq!(KeyPath::default().join("").to_string(), "\"\"");
    }
}
