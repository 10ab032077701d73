//! Failures as people read them: what happened, why, and what to do.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use recto_agent::AgentError;
use recto_context::nearest_name;
use recto_fs::{FolderLocked, LockHolder};
use recto_llm::LlmError;
use recto_store::StoreError;
use serde_json::{Value, json};

use crate::output::tame;
use crate::remedy_words::hint_with_command;

/// The result of a command or a part of it.
pub(crate) type CliResult<T = ()> = Result<T, CliFailure>;

/// The failure of a command: what happened, its causes, and what a person can do about it.
#[derive(Debug)]
pub(crate) struct CliFailure {
    /// What programs tell failures apart by.
    code: Cow<'static, str>,
    what: String,
    causes: Vec<String>,
    hint: Option<String>,
}

impl CliFailure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        CliFailure { code: "failed".into(), what: what.into(), causes: Vec::new(), hint: None }
    }

    /// The failure of a name that nothing of a kind has, such as a rule's or an MCP server's.
    pub(crate) fn no_such(kind: &str, name: &str) -> Self {
        let code = format!("no_such_{}", kind.to_lowercase().replace(' ', "_"));
        let failure = CliFailure::new(format!("there is no {kind} `{}`", tame(name)));
        CliFailure { code: code.into(), ..failure }
    }

    /// The failure that an error is, with the errors behind it as its causes.
    pub(crate) fn from_error(error: &dyn Error) -> Self {
        let failure = CliFailure::new(error.to_string());
        error.source().into_iter().fold(failure, CliFailure::because)
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

    /// The failure of what was not changed because another process has its folder.
    pub(crate) fn folder_locked(what: impl Into<String>, locked: &FolderLocked) -> Self {
        let hint = match &locked.holder {
            Some(LockHolder { process, .. }) => {
                format!("wait until process {process} is done, or end it; then try again")
            }
            None => format!(
                "`fuser -v {}` shows who it is; wait until it is done, or end it; then try again",
                locked.folder.display()
            ),
        };
        CliFailure::new(what).because(locked).hint(hint).code("folder_locked")
    }

    /// The same failure, with more words behind what happened.
    pub(crate) fn add_words(mut self, words: &str) -> Self {
        self.what.push_str(words);
        self
    }

    /// The same failure under another code.
    pub(crate) fn code(self, code: &'static str) -> Self {
        CliFailure { code: code.into(), ..self }
    }

    /// Whether the failure has this code.
    pub(crate) fn is(&self, code: &str) -> bool {
        self.code == code
    }

    /// The failure as data for programs.
    pub(crate) fn json(&self) -> Value {
        json!({"error": self.fields()})
    }

    /// What programs are told of the failure, as it stands under `error`.
    pub(crate) fn fields(&self) -> Value {
        let CliFailure { code, what, causes, hint } = self;
        json!({"code": code, "message": what, "causes": causes, "hint": hint})
    }

    /// Takes the failure apart: what happened with all that led to it, and the hint.
    pub(crate) fn parts(self) -> (String, Option<String>) {
        let what = std::iter::once(self.what).chain(self.causes).collect::<Vec<_>>().join(": ");
        (what, self.hint)
    }

    /// The same failure, with what a person can do about it.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        self.hint_if(Some(hint.into()))
    }

    /// The same failure, with what a person can do about it, where that is known.
    pub(crate) fn hint_if(self, hint: Option<String>) -> Self {
        CliFailure { hint, ..self }
    }

    /// The failure of a name that nothing has: hints at the one that was probably
    /// meant, or else says what is given.
    pub(crate) fn hint_nearest<'a>(
        self,
        typed: &str,
        names: impl IntoIterator<Item = &'a str>,
        otherwise: impl Into<String>,
    ) -> Self {
        match nearest_name(typed, names) {
            Some(meant) => self.hint(format!("did you mean `{}`?", tame(meant))),
            None => self.hint(otherwise),
        }
    }
}

impl From<AgentError> for CliFailure {
    fn from(error: AgentError) -> Self {
        let hint = hint_with_command(error.hint(), error.remedy().as_ref());
        CliFailure::new(error.to_string()).hint_if(hint).code(error.code())
    }
}

impl From<StoreError> for CliFailure {
    fn from(error: StoreError) -> Self {
        AgentError::from(error).into()
    }
}

impl From<LlmError> for CliFailure {
    fn from(error: LlmError) -> Self {
        AgentError::from(error).into()
    }
}

impl fmt::Display for CliFailure {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;

    use super::*;

    #[test]
    fn a_folder_that_is_locked_says_by_whom_and_what_to_do() {
        let mut locked = FolderLocked {
            folder: "/home/ada/.recto".into(),
            waited: Duration::from_secs(10),
            holder: Some(LockHolder { process: 14, name: Some("vi".to_owned()) }),
        };
        let told =
            |locked: &FolderLocked| CliFailure::folder_locked("can't change a", locked).to_string();
        expect![[r#"
            error: can't change a
              caused by: process 14 (`vi`) has locked the folder /home/ada/.recto for over 10 s

            hint: wait until process 14 is done, or end it; then try again"#]]
        .assert_eq(&told(&locked));
        locked.holder = None;
        expect![[r#"
            error: can't change a
              caused by: another process has locked the folder /home/ada/.recto for over 10 s

            hint: `fuser -v /home/ada/.recto` shows who it is; wait until it is done, or end it; then try again"#]]
        .assert_eq(&told(&locked));
    }
}
