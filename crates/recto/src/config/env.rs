//! Settings from outside the file: environment variables and flags.
//!
//! Both are text and speak for whole keys, so tables with names can't be set
//! here. The environment comes in as a list; nothing here reads the process's
//! own, and an empty variable counts as one that is not set.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use recto_context::nearest_name;

use super::keys::{ConfigKey, KEYS, find_key};
use super::problem::{ConfigProblem, SettingOrigin, quoted};
use super::setting::{KeyPath, LayerSetting};
use super::value;

/// What all of Recto's variables begin with.
const PREFIX: &str = "RECTO_";

/// Variables that are Recto's and no settings: the caller handles them.
const OTHERS: &[&str] = &["RECTO_HOME"];

/// What the variables of the test suites begin with, which are no settings either.
const TESTS: &str = "RECTO_TEST_";

/// A flag of the command line that sets a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFlag {
    /// The flag with its dashes, such as `--model`.
    pub name: &'static str,
    /// The path of the key that it sets.
    pub key: &'static str,
    /// The value as typed.
    pub value: String,
}

/// What a layer of text says.
#[derive(Debug, Default)]
pub(super) struct TextLayer {
    /// Settings that fit their keys.
    pub(super) settings: Vec<LayerSetting>,
    /// Values that don't fit their keys, with their variables or flags.
    pub(super) problems: Vec<ConfigProblem>,
    /// Variables that look like ours and are not.
    pub(super) warnings: Vec<ConfigProblem>,
}

impl TextLayer {
    fn add(&mut self, key: &ConfigKey, text: &str, place: SettingOrigin) {
        let path = KeyPath::fill(key.path, &[]);
        match value::from_text(key.kind, text) {
            Ok(value) => {
                self.settings.push(LayerSetting::new(key.kind, path, Some(value), Some(place)));
            }
            Err(mismatch) => self.problems.push(mismatch.at_key(&path, place)),
        }
    }
}

/// Reads the variables that begin with `RECTO_`. Those in `spoken_for` are named
/// by the file, such as by `api_key_env`, and belong to someone else.
pub(super) fn variables(
    environment: &[(OsString, OsString)],
    spoken_for: &BTreeSet<String>,
) -> TextLayer {
    let mut layer = TextLayer::default();
    for (name, value) in ours(environment) {
        let place = SettingOrigin::Variable(name.to_owned());
        match (variable_key(name), value.to_str()) {
            (_, Some("")) => {}
            (Some(key), Some(text)) => layer.add(key, text, place),
            (Some(_), None) => {
                layer.problems.push(ConfigProblem::new(place, "is not text in UTF-8"));
            }
            (None, _) if OTHERS.contains(&name) || spoken_for.contains(name) => {}
            (None, _) if name.starts_with(TESTS) => {}
            (None, _) => layer.warnings.push(unknown_variable(name)),
        }
    }
    layer
}

/// Reads the flags of the command line that set keys.
pub(super) fn flags(flags: &[ConfigFlag]) -> TextLayer {
    let mut layer = TextLayer::default();
    for ConfigFlag { name, key, value } in flags {
        let place = SettingOrigin::Flag((*name).to_owned());
        match find_key(key).filter(|key| key.variable().is_some()) {
            Some(key) => layer.add(key, value, place),
            None => {
                let what = format!("sets {}, which is no key", quoted(key));
                layer.problems.push(ConfigProblem::new(place, what));
            }
        }
    }
    layer
}

/// Recto's variables in order of name: the order of an environment means nothing.
fn ours(environment: &[(OsString, OsString)]) -> Vec<(&str, &OsStr)> {
    let mut ours: Vec<_> = environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value.as_os_str())))
        .filter(|(name, _)| name.starts_with(PREFIX))
        .collect();
    ours.sort_unstable();
    ours
}

fn variable_key(name: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.variable().as_deref() == Some(name))
}

/// The value of such a variable is not looked at.
fn unknown_variable(name: &str) -> ConfigProblem {
    let known: Vec<String> = KEYS.iter().filter_map(ConfigKey::variable).collect();
    // Compared without what all of them share, which would make all look near.
    let known = known.iter().map(String::as_str).chain(OTHERS.iter().copied());
    let rest = name.trim_start_matches(PREFIX);
    let meant = nearest_name(rest, known.map(|name| name.trim_start_matches(PREFIX)));
    let problem = ConfigProblem::new(
        SettingOrigin::Variable(name.to_owned()),
        "is no variable that Recto knows",
    );
    match meant {
        Some(meant) => problem.hint(format!("did you mean `{PREFIX}{meant}`?")),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> TextLayer {
        let pairs: Vec<_> = pairs.iter().map(|(n, v)| (n.into(), v.into())).collect();
        variables(&pairs, &BTreeSet::from(["RECTO_OPENAI_KEY".to_owned()]))
    }

    #[test]
    fn only_our_own_variables_are_looked_at() {
        let layer = read(&[
            ("PATH", "/bin"),
            ("RECTO_HOME", "/h"),
            ("RECTO_OPENAI_KEY", "hunter2"),
            ("RECTO_RELOAD", ""),
            ("RECTO_TEST_MODELS", "/models"),
        ]);
        assert!(layer.settings.is_empty() && layer.problems.is_empty());
        assert!(layer.warnings.is_empty());
    }

    #[test]
    fn an_unknown_variable_is_a_warning_without_its_value() {
        let layer = read(&[("RECTO_CONTEXT_PREST", "hunter2"), ("RECTO_XYZ", "hunter2")]);
        let shown: Vec<String> = layer.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "RECTO_CONTEXT_PREST: is no variable that Recto knows\n  \
                 hint: did you mean `RECTO_CONTEXT_PRESET`?",
                "RECTO_XYZ: is no variable that Recto knows",
            ]
        );
    }

    #[test]
    fn values_that_do_not_fit_name_the_variable_and_the_key() {
        let layer = read(&[("RECTO_HISTORY_MAX_MESSAGES", "many")]);
        assert_eq!(
            layer.problems[0].to_string(),
            "RECTO_HISTORY_MAX_MESSAGES: `history.max_messages` must be a whole number from 1 to \
             100000, not `many`"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_not_utf8_is_a_problem() {
        use std::os::unix::ffi::OsStringExt;
        let value = OsString::from_vec(vec![0xff]);
        let layer = variables(&[("RECTO_MODEL".into(), value)], &BTreeSet::new());
        assert_eq!(layer.problems[0].to_string(), "RECTO_MODEL: is not text in UTF-8");
    }

    #[test]
    fn a_flag_for_no_key_is_a_problem_and_no_panic() {
        let flag = ConfigFlag { name: "--x", key: "models.<name>.window", value: "1".to_owned() };
        let shown = flags(&[flag]).problems[0].to_string();
        assert_eq!(shown, "--x: sets `models.<name>.window`, which is no key");
    }
}
