//! Failures as people read them: what happened, why, and what to do.

use std::error::Error;
use std::fmt;

/// Why a command could not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    causes: Vec<String>,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Failure { what: what.into(), causes: Vec::new(), hint: None }
    }

    /// The same failure, with the error that led to it and all behind that one.
    pub(crate) fn because(mut self, error: &dyn Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            self.causes.push(error.to_string());
            next = error.source();
        }
        self
    }

    /// What happened with all that led to it, and what a person can do about it.
    pub(crate) fn parts(self) -> (String, Option<String>) {
        let what = std::iter::once(self.what).chain(self.causes).collect::<Vec<_>>().join(": ");
        (what, self.hint)
    }

    /// The same failure, with what a person can do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        for cause in &self.causes {
            write!(f, "\n  caused by: {}", cause.replace('\n', "\n    "))?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\n\nhint: {hint}"),
            None => Ok(()),
        }
    }
}
