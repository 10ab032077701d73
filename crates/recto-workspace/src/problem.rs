//! What is wrong with a file, for people. Problems are data: nothing here
//! prints, and no problem stops a call.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use recto_context::{ContentSource, FileNotice, Remedy, Reveal, reveal};

/// Something wrong with one file or folder.
///
/// Displayed as `rules/tone.md:3: unknown include mode `often`; known are …`,
/// always on one line that a terminal can be trusted with. The fields hold the
/// names as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceProblem {
    /// Which file or folder.
    pub path: Arc<Path>,
    /// The line, from 1, where there is one to point at.
    pub line: Option<usize>,
    /// What is wrong, in a few words.
    pub what: String,
    /// What would be right.
    pub hint: Option<String>,
    /// What Recto can do about it.
    pub remedy: Option<Remedy>,
    /// How bad it is.
    pub severity: Severity,
    /// What became of the file or of the part that is wrong.
    pub effect: ProblemEffect,
    /// Whether the file is one of those that say who the agent is.
    pub is_of_system: bool,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Someone should look at it.
    Warning,
    /// It cannot be used as it stands.
    Error,
}

/// What became of the thing that has a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemEffect {
    /// It is used as it is; it is not as it should be.
    Used,
    /// It is used, but something that a person set in it has no effect.
    SettingIgnored,
    /// It is not in the catalog, and a notice there says so.
    LeftOut,
}

impl WorkspaceProblem {
    /// A file that cannot be used.
    pub(crate) fn error(path: &Arc<Path>, what: impl Into<String>) -> Self {
        WorkspaceProblem {
            path: path.clone(),
            line: None,
            what: what.into(),
            hint: None,
            remedy: None,
            severity: Severity::Error,
            effect: ProblemEffect::LeftOut,
            is_of_system: false,
        }
    }

    /// A file that is used in spite of it.
    pub(crate) fn warning(path: &Arc<Path>, what: impl Into<String>) -> Self {
        WorkspaceProblem {
            severity: Severity::Warning,
            effect: ProblemEffect::Used,
            ..WorkspaceProblem::error(path, what)
        }
    }

    /// The same, with the line to point at.
    pub(crate) fn at_line(self, line: impl Into<Option<usize>>) -> Self {
        WorkspaceProblem { line: line.into(), ..self }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        WorkspaceProblem { hint: Some(hint.into()), ..self }
    }

    pub(crate) fn with_remedy(self, remedy: Remedy) -> Self {
        WorkspaceProblem { remedy: Some(remedy), ..self }
    }

    pub(crate) fn setting_ignored(self) -> Self {
        WorkspaceProblem { effect: ProblemEffect::SettingIgnored, ..self }
    }

    pub(crate) fn left_out(self) -> Self {
        WorkspaceProblem { effect: ProblemEffect::LeftOut, ..self }
    }

    /// The notice for the record of the turn that goes on without the file.
    pub fn notice(&self) -> Option<FileNotice> {
        let problem = match self.line {
            Some(line) => format!("line {line}: {}", self.what),
            None => self.what.clone(),
        };
        let source = ContentSource::File(self.path.clone());
        (self.effect == ProblemEffect::LeftOut)
            .then(|| FileNotice::new(source, problem).with_remedy(self.remedy.clone()))
    }
}

impl fmt::Display for WorkspaceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whoever names a file could otherwise forge a second problem with a line break, or
        // hide this one.
        let visible = |text: &str| reveal(text, Reveal::Line);
        f.write_str(&visible(&self.path.to_string_lossy()))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", visible(&self.what))?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {}", visible(hint)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_as_path_line_what_and_hint() {
        let path: Arc<Path> = Arc::from(Path::new("rules/tone.md"));
        let problem = WorkspaceProblem::warning(&path, "unknown include mode `sometimes`")
            .at_line(3)
            .hint("known are always, manual, agent");
        assert_eq!(
            problem.to_string(),
            "rules/tone.md:3: unknown include mode `sometimes`; known are always, manual, agent"
        );
        assert_eq!(
            WorkspaceProblem::error(&path, "is empty").to_string(),
            "rules/tone.md: is empty"
        );
    }

    #[test]
    fn nothing_in_a_problem_acts_on_the_terminal() {
        let forged =
            "a\nwarning: \u{1b}[31mb\r\0\u{7f}\u{85}\u{9b}\u{202a}\u{202e}\u{2066}\u{2069}é🙂";
        let path: Arc<Path> = Arc::from(Path::new(forged));
        let problem = WorkspaceProblem::warning(&path, forged).at_line(1).hint(forged);
        let shown =
            r"a\nwarning: \u{1b}[31mb\r\u{0}\u{7f}\u{85}\u{9b}\u{202a}\u{202e}\u{2066}\u{2069}é🙂";
        assert_eq!(problem.to_string(), format!("{shown}:1: {shown}; {shown}"));
        assert_eq!(problem.what, forged, "the fields stay as they are");
    }

    #[test]
    fn only_what_is_left_out_becomes_a_notice() {
        let path: Arc<Path> = Arc::from(Path::new("a"));
        assert_eq!(WorkspaceProblem::warning(&path, "odd").notice(), None);
        let notice =
            WorkspaceProblem::warning(&path, "odd").at_line(2).left_out().notice().unwrap();
        assert_eq!(&*notice.problem, "line 2: odd");
    }
}
