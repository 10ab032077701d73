//! What is wrong with a config, where it stands, and what to do about it.
//!
//! A problem is text for people, made once, where it is found. Values of
//! unknown keys and of keys that name secrets never enter it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The longest name or value that a problem repeats.
const MAX_SHOWN: usize = 80;

/// Where a setting or a problem comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingOrigin {
    /// The config file, or a line of it.
    File {
        /// Its name, as people know it.
        name: Arc<str>,
        /// The line, counted from 1; `None` when the file as a whole is meant.
        line: Option<usize>,
    },
    /// An environment variable, by its name.
    Variable(String),
    /// A flag of the command line, with its dashes.
    Flag(String),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingOrigin::File { name, line: Some(line) } => write!(f, "{name}:{line}"),
            SettingOrigin::File { name, line: None } => f.write_str(name),
            SettingOrigin::Variable(name) | SettingOrigin::Flag(name) => f.write_str(name),
        }
    }
}

/// Something that is wrong, or, as a warning, that a person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where it stands, or which variable or flag it is about.
    pub place: SettingOrigin,
    /// What is wrong, in lower case and without a full stop.
    pub what: String,
    /// What a person can do about it.
    pub hint: Option<String>,
}

impl ConfigProblem {
    /// A problem without a hint.
    pub fn new(place: SettingOrigin, what: impl Into<String>) -> Self {
        ConfigProblem { place, what: what.into(), hint: None }
    }

    /// The same problem with a hint.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        ConfigProblem { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// All problems of a config: those of the file by line, then those of
/// variables, then those of flags. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblems(Vec<ConfigProblem>);

impl ConfigProblems {
    /// The problems in order, or `None` when there are none.
    pub(super) fn collect(mut problems: Vec<ConfigProblem>) -> Option<Self> {
        // Stable: what was found first on a line stays first.
        problems.sort_by(|a, b| a.place.cmp(&b.place));
        (!problems.is_empty()).then_some(ConfigProblems(problems))
    }

    /// Each problem, in order.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigProblem> {
        self.0.iter()
    }
}

impl From<ConfigProblem> for ConfigProblems {
    fn from(problem: ConfigProblem) -> Self {
        ConfigProblems(vec![problem])
    }
}

impl fmt::Display for ConfigProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl Error for ConfigProblems {}

/// What a value is instead of what it should be. The reader of a layer knows
/// where it stands and makes a [`ConfigProblem`] of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValueMismatch {
    /// The rest of a sentence that begins with the key: `must be …, not …`.
    pub(super) what: String,
    /// What a person can do about it.
    pub(super) hint: Option<String>,
}

impl ValueMismatch {
    pub(super) fn new(what: impl Into<String>) -> Self {
        ValueMismatch { what: what.into(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        ValueMismatch { hint: Some(hint.into()), ..self }
    }

    /// The problem of the value of that key.
    pub(super) fn at_key(self, key: &impl fmt::Display, place: SettingOrigin) -> ConfigProblem {
        ConfigProblem { place, what: format!("{} {}", quoted(key), self.what), hint: self.hint }
    }
}

/// A name or value between backticks: one line, nothing that moves the cursor,
/// and cut where it gets too long to read.
pub(super) fn quoted(text: &impl fmt::Display) -> String {
    let text = text.to_string();
    let mut shown = String::from("`");
    for (i, c) in text.chars().enumerate() {
        if i == MAX_SHOWN {
            shown.push('…');
            break;
        }
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown.push('`');
    shown
}

/// Names as a person reads them: `` `a`, `b` ``.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| quoted(&name)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(line: usize) -> SettingOrigin {
        SettingOrigin::File { name: "config.toml".into(), line: Some(line) }
    }

    #[test]
    fn problems_read_as_place_what_and_hint() {
        let problem = ConfigProblem::new(line(12), "unknown key `contxt.preset`")
            .hint("did you mean `context.preset`?");
        let expected = "config.toml:12: unknown key `contxt.preset`\n  \
                        hint: did you mean `context.preset`?";
        assert_eq!(problem.to_string(), expected);
    }

    #[test]
    fn problems_are_sorted_by_line_then_variables_then_flags() {
        let places = [
            SettingOrigin::Flag("--model".to_owned()),
            SettingOrigin::Variable("RECTO_MODEL".to_owned()),
            line(10),
            line(9),
        ];
        let problems = places.map(|place| ConfigProblem::new(place, "wrong")).to_vec();
        let shown = ConfigProblems::collect(problems).unwrap().to_string();
        let expected =
            "config.toml:9: wrong\nconfig.toml:10: wrong\nRECTO_MODEL: wrong\n--model: wrong";
        assert_eq!(shown, expected);
        assert_eq!(ConfigProblems::collect(Vec::new()), None);
    }

    #[test]
    fn names_are_shown_on_one_line_and_cut() {
        assert_eq!(quoted(&"a\nb\u{1b}[31m"), "`a\\nb\\u{1b}[31m`");
        let long = quoted(&"ä".repeat(1000));
        assert_eq!(long.chars().count(), MAX_SHOWN + 3);
    }
}
