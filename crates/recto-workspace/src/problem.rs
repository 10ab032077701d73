//! What is wrong with a file, for people. Problems are data: nothing here
//! prints, and no problem stops a call.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use recto_context::{Notice, Source};

/// Something wrong with one file or folder.
///
/// Displayed as `rules/tone.md:3: unknown include mode `often`; known are …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which file or folder.
    pub path: Arc<Path>,
    /// The line, from 1, where there is one to point at.
    pub line: Option<usize>,
    /// What is wrong, in a few words.
    pub what: String,
    /// What would be right.
    pub hint: Option<String>,
    /// How bad it is.
    pub severity: Severity,
    /// What became of the file or of the part that is wrong.
    pub effect: Effect,
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
pub enum Effect {
    /// It is used; a default stands in for what is wrong.
    Used,
    /// It is not in the catalog, and a notice there says so.
    LeftOut,
}

impl Problem {
    /// A file that cannot be used.
    pub(crate) fn error(path: &Arc<Path>, what: impl Into<String>) -> Self {
        Problem {
            path: path.clone(),
            line: None,
            what: what.into(),
            hint: None,
            severity: Severity::Error,
            effect: Effect::LeftOut,
        }
    }

    /// A file that is used in spite of it.
    pub(crate) fn warning(path: &Arc<Path>, what: impl Into<String>) -> Self {
        Problem { severity: Severity::Warning, effect: Effect::Used, ..Problem::error(path, what) }
    }

    pub(crate) fn at(self, line: impl Into<Option<usize>>) -> Self {
        Problem { line: line.into(), ..self }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Problem { hint: Some(hint.into()), ..self }
    }

    pub(crate) fn left_out(self) -> Self {
        Problem { effect: Effect::LeftOut, ..self }
    }

    /// The notice for the record of the turn that goes on without the file.
    pub(crate) fn notice(&self) -> Option<Notice> {
        let problem = match self.line {
            Some(line) => format!("line {line}: {}", self.what),
            None => self.what.clone(),
        };
        let source = Source::File(self.path.clone());
        (self.effect == Effect::LeftOut).then(|| Notice { source, problem: problem.into() })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_as_path_line_what_and_hint() {
        let path: Arc<Path> = Arc::from(Path::new("rules/tone.md"));
        let problem = Problem::warning(&path, "unknown include mode `sometimes`")
            .at(3)
            .hint("known are always, manual, agent");
        assert_eq!(
            problem.to_string(),
            "rules/tone.md:3: unknown include mode `sometimes`; known are always, manual, agent"
        );
        assert_eq!(Problem::error(&path, "is empty").to_string(), "rules/tone.md: is empty");
    }

    #[test]
    fn only_what_is_left_out_becomes_a_notice() {
        let path: Arc<Path> = Arc::from(Path::new("a"));
        assert_eq!(Problem::warning(&path, "odd").notice(), None);
        let notice = Problem::warning(&path, "odd").at(2).left_out().notice().unwrap();
        assert_eq!(&*notice.problem, "line 2: odd");
    }
}
