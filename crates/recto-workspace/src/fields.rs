//! The fields of a frontmatter, read as what they should be. A field of the
//! wrong kind is a warning with its line, and counts as absent.

use std::path::Path;
use std::sync::Arc;

use recto_context::{IncludeMode, Priority, nearest_name, nearest_slip};
use serde_json::{Map, Value};

use crate::problem::WorkspaceProblem;

/// The fields of one file.
#[derive(Debug, Default)]
pub(crate) struct FrontmatterFields<'a> {
    block: &'a str,
    /// The line of the file on which the block begins.
    first_line: usize,
    values: Map<String, Value>,
}

/// Collects what is wrong with one file while it is parsed.
#[derive(Debug)]
pub(crate) struct FileReport<'a> {
    path: &'a Arc<Path>,
    pub problems: Vec<WorkspaceProblem>,
}

impl<'a> FrontmatterFields<'a> {
    /// `values` are what was read from `block`, which begins on `first_line`
    /// of its file.
    pub(crate) fn new(block: &'a str, first_line: usize, values: Map<String, Value>) -> Self {
        FrontmatterFields { block, first_line, values }
    }

    /// A field as it is; nothing when it is empty.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key).filter(|value| !value.is_null())
    }

    /// The line of the file on which a field of the top level stands.
    pub(crate) fn line(&self, key: &str) -> Option<usize> {
        self.lines_of(key).first().copied()
    }

    /// A text, trimmed; a blank one counts as absent.
    pub(crate) fn text(&self, key: &str, report: &mut FileReport<'_>) -> Option<String> {
        let text = match self.get(key)? {
            Value::String(text) => text.trim().to_owned(),
            value @ (Value::Number(_) | Value::Bool(_)) => value.to_string(),
            _ => {
                report.warn(self.line(key), format!("`{key}` is not a text"));
                return None;
            }
        };
        (!text.is_empty()).then_some(text)
    }

    /// A text that fits on one line, as names must.
    pub(crate) fn line_of_text(&self, key: &str, report: &mut FileReport<'_>) -> Option<String> {
        let text = self.text(key, report)?;
        Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// True only for `true`.
    pub(crate) fn is_true(&self, key: &str) -> bool {
        match self.get(key) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => text.trim() == "true",
            _ => false,
        }
    }

    /// The include mode, if it is a known one.
    pub(crate) fn include(&self, report: &mut FileReport<'_>) -> Option<IncludeMode> {
        const KNOWN: [IncludeMode; 3] =
            [IncludeMode::Always, IncludeMode::Manual, IncludeMode::Agent];
        let name = self.text("include", report)?;
        let include = KNOWN.into_iter().find(|include| include.name() == name);
        if include.is_none() {
            let names = KNOWN.map(IncludeMode::name);
            let hint = match nearest_name(&name, names) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("known are {}", names.join(", ")),
            };
            let what = format!("unknown include mode `{name}`");
            report.ignore(self.line("include"), what, hint);
        }
        include
    }

    /// Warns of fields that have no effect because their names are slips of known ones. Other
    /// unknown fields are other programs' business.
    pub(crate) fn warn_of_slips(&self, known: &[&str], report: &mut FileReport<'_>) {
        let unknown = self.values.keys().filter(|key| !known.contains(&key.as_str()));
        for key in unknown {
            let meant = nearest_slip(key, known.iter().copied());
            if let Some(meant) = meant.filter(|meant| self.get(meant).is_none()) {
                let what = format!("unknown field `{key}`, which has no effect");
                report.ignore(self.line(key), what, format!("did you mean `{meant}`?"));
            }
        }
    }

    /// Warns of fields that stand there more than once: only the last one has an effect.
    pub(crate) fn warn_of_repeats(&self, report: &mut FileReport<'_>) {
        for key in self.values.keys() {
            if let [_, .., last] = self.lines_of(key)[..] {
                let what = format!("`{key}` stands there twice, and this one counts");
                report.warn_with_hint(Some(last), what, "take one out");
            }
        }
    }

    /// The lines of the file on which a field of the top level stands.
    fn lines_of(&self, key: &str) -> Vec<usize> {
        let has_key = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
        let lines = self.block.lines().enumerate();
        lines.filter(|(_, line)| has_key(line)).map(|(at, _)| self.first_line + at).collect()
    }

    /// The priority, if it is one.
    pub(crate) fn priority(&self, report: &mut FileReport<'_>) -> Option<Priority> {
        let text = self.text("priority", report)?;
        let priority = whole_number(&text).and_then(Priority::new);
        if priority.is_none() {
            let what = format!("`{text}` is not a priority");
            let hint = format!("a whole number from 0 to {} is", Priority::LAST.get());
            report.ignore(self.line("priority"), what, hint);
        }
        priority
    }

    #[cfg(test)]
    pub(crate) fn to_json(&self) -> String {
        Value::Object(self.values.clone()).to_string()
    }
}

/// A number that may be a priority, however it is written: YAML takes `007`,
/// which is how priorities are shown, for the fraction 7.0.
fn whole_number(text: &str) -> Option<u16> {
    let number: f64 = text.parse().ok()?;
    (0..=Priority::LAST.get()).find(|whole| f64::from(*whole) == number)
}

impl<'a> FileReport<'a> {
    pub(crate) fn new(path: &'a Arc<Path>) -> Self {
        FileReport { path, problems: Vec::new() }
    }

    pub(crate) fn path(&self) -> &'a Arc<Path> {
        self.path
    }

    /// Something is odd, but the file is used.
    pub(crate) fn warn(&mut self, line: Option<usize>, what: impl Into<String>) {
        self.add(WorkspaceProblem::warning(self.path, what).at_line(line));
    }

    pub(crate) fn warn_with_hint(
        &mut self,
        line: Option<usize>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(WorkspaceProblem::warning(self.path, what).at_line(line).hint(hint));
    }

    /// Something that was set in the file has no effect, and a default stands in for it.
    pub(crate) fn ignore(
        &mut self,
        line: Option<usize>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let problem = WorkspaceProblem::warning(self.path, what).at_line(line).hint(hint);
        self.add(problem.setting_ignored());
    }

    /// The file, or a part of it, cannot be used.
    pub(crate) fn refuse(&mut self, line: impl Into<Option<usize>>, what: impl Into<String>) {
        self.add(WorkspaceProblem::error(self.path, what).at_line(line));
    }

    pub(crate) fn add(&mut self, problem: WorkspaceProblem) {
        self.problems.push(problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontmatter::split_frontmatter;

    #[track_caller]
    fn problems(
        content: &str,
        read: impl FnOnce(&FrontmatterFields<'_>, &mut FileReport<'_>),
    ) -> Vec<String> {
        let path: Arc<Path> = Arc::from(Path::new("a.md"));
        let mut report = FileReport::new(&path);
        read(&split_frontmatter(content).unwrap().fields, &mut report);
        report.problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_unknown_include_mode_is_named_with_the_known_ones() {
        let found = problems("---\nname: a\ninclude: sometimes\n---\n", |fields, report| {
            assert_eq!(fields.include(report), None);
        });
        assert_eq!(
            found,
            ["a.md:3: unknown include mode `sometimes`; known are always, manual, agent"]
        );
    }

    #[test]
    fn a_slip_in_an_include_mode_is_named_with_what_was_meant() {
        let found = problems("---\ninclude: alwys\n---\n", |fields, report| {
            assert_eq!(fields.include(report), None);
        });
        assert_eq!(found, ["a.md:2: unknown include mode `alwys`; did you mean `always`?"]);
    }

    /// Promise: `typos-are-told`
    #[test]
    fn a_field_that_is_nearly_a_known_one_is_named_and_others_are_left_alone() {
        let known = ["name", "description", "priority", "include", "allowed-tools"];
        let slips = |field: &str| {
            let content = format!("---\nname: a\n{field}: x\n---\n");
            problems(&content, |fields, report| fields.warn_of_slips(&known, report))
        };
        for (slip, meant) in [
            ("inlcude", "include"),
            ("includes", "include"),
            ("Include", "include"),
            ("descripton", "description"),
            ("allowed_tools", "allowed-tools"),
            ("prioritiy", "priority"),
        ] {
            let told = format!(
                "a.md:3: unknown field `{slip}`, which has no effect; did you mean `{meant}`?"
            );
            assert_eq!(slips(slip), [told]);
        }
        for other in [
            "date",
            "time",
            "page",
            "mode",
            "model",
            "tags",
            "title",
            "type",
            "version",
            "author",
            "argument-hint",
            "disable-model-invocation",
            "license",
            "globs",
            "color",
            "tools",
        ] {
            assert_eq!(slips(other), [""; 0], "{other}");
        }
    }

    #[test]
    fn a_slip_beside_the_field_that_was_meant_is_nobodys_loss() {
        let content = "---\ninclude: agent\nIncludes: x\n---\n";
        let found = problems(content, |fields, report| fields.warn_of_slips(&["include"], report));
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn a_bad_priority_is_a_warning() {
        for bad in ["1000", "-1", "1.5", "high"] {
            let content = format!("---\npriority: {bad}\n---\n");
            let found = problems(&content, |fields, report| {
                assert_eq!(fields.priority(report), None);
            });
            assert_eq!(
                found,
                [format!("a.md:2: `{bad}` is not a priority; a whole number from 0 to 999 is")]
            );
        }
    }

    #[test]
    fn a_whole_number_is_a_priority_however_it_is_written() {
        let ways = [
            ("7", 7),
            ("007", 7),
            ("050", 50),
            ("100.0", 100),
            ("1e2", 100),
            ("\"007\"", 7),
            ("000", 0),
            ("999", 999),
        ];
        for (written, number) in ways {
            let content = format!("---\npriority: {written}\n---\n");
            let found = problems(&content, |fields, report| {
                assert_eq!(fields.priority(report), Priority::new(number), "{written}");
            });
            assert!(found.is_empty(), "{found:?}");
        }
    }

    #[test]
    fn lines_are_counted_from_the_top_of_the_file() {
        let found = problems("\n \n---\na: b\ninclude: x\n---\n", |fields, report| {
            fields.include(report);
        });
        assert_eq!(found, ["a.md:5: unknown include mode `x`; known are always, manual, agent"]);
    }

    #[test]
    fn a_list_is_not_a_text() {
        let found = problems("---\nname: [a]\n---\n", |fields, report| {
            assert_eq!(fields.text("name", report), None);
        });
        assert_eq!(found, ["a.md:2: `name` is not a text"]);
    }

    #[test]
    fn a_name_is_one_line() {
        problems("---\nname: |\n  a\n  b\n---\n", |fields, report| {
            assert_eq!(fields.line_of_text("name", report).as_deref(), Some("a b"));
        });
    }
}
