//! The trait of tools, the context of a call, and its result.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use recto_context::{
    Audience, CallId, Catalog, ContentHash, ItemId, MessageId, Reveal, SessionItem, ToolSpec,
    WantedCall, reveal,
};
use serde::{Deserialize, Serialize};

use crate::action::{ActionFields, CallFields};
use crate::arguments::CallArguments;
use crate::clip::clip_name;

/// Something that a model can call.
pub trait Tool: Send + Sync {
    /// The identity of the tool. Only calls of an offered tool with this identity reach it.
    fn id(&self) -> &ItemId;

    /// The spec that the model is told; `None` where someone else tells it, as
    /// the assembler does for `read_item` and `read_skill`.
    fn spec(&self) -> Option<&ToolSpec> {
        None
    }

    /// The class that its calls belong to.
    fn class(&self) -> ToolClass {
        ToolClass::Reads
    }

    /// The hash of what the tool is now: whoever allows it for a whole session allows this, and
    /// not what may come under its name later.
    fn identity(&self, _: &CallContext) -> ContentHash {
        ContentHash::of_bytes(self.id().to_string().as_bytes())
    }

    /// The folder of the skill that brings it, if a person has to be shown that before the first
    /// call, whatever is set: the config gives it rights, and nobody has looked at it.
    fn unseen_skill(&self, _: &CallContext) -> Option<PathBuf> {
        None
    }

    /// Describes exactly what a call would do, for a person who is asked to allow it.
    /// Does nothing yet, but may find that the call can't be made.
    fn describe<'a>(
        &'a self,
        arguments: &'a CallArguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolAction, ToolError>>;

    /// Answers one call. The arguments fit the schema of the tool as it was
    /// offered. A tool that waits for a disk or computes for long does so on
    /// another thread, and ends early when the future is dropped.
    ///
    /// With [`Consent::To`] it does what [`Tool::describe`] has described, and
    /// refuses where that has changed.
    fn run<'a>(
        &'a self,
        arguments: CallArguments,
        context: &'a CallContext,
        consent: Consent,
    ) -> BoxFuture<'a, ToolOutput>;
}

/// The class of a tool: what its calls do, and so how careful one is with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolClass {
    /// It looks at something inside the workspace.
    Reads,
    /// It changes something inside the workspace.
    Writes,
    /// It changes what the agent remembers: files that are made to be written by it,
    /// and of which nothing is lost.
    Remembers,
    /// It runs a program that a skill declares.
    Program,
    /// It runs a program that a skill declares to change nothing, and that is held to it.
    ReadingProgram,
    /// It asks an MCP server.
    Server,
    /// It gives a task to a sub-agent, which may do no more than whoever calls it.
    Delegates,
    /// It decides what the agent does later, when nobody is there to be asked.
    Schedules,
}

impl ToolClass {
    /// Whether a person is asked, unless something is set.
    pub fn asks(self) -> bool {
        !matches!(
            self,
            ToolClass::Reads
                | ToolClass::Remembers
                | ToolClass::ReadingProgram
                | ToolClass::Delegates
        )
    }

    /// Whether it can change files that another call might see.
    pub(crate) fn writes(self) -> bool {
        matches!(self, ToolClass::Writes | ToolClass::Remembers | ToolClass::Program)
    }

    /// Whether it ends in time by itself, because its time is set elsewhere.
    pub(crate) fn keeps_time(self) -> bool {
        matches!(
            self,
            ToolClass::Program
                | ToolClass::ReadingProgram
                | ToolClass::Server
                | ToolClass::Delegates
        )
    }
}

/// The action that a call would do, as a person is shown it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAction {
    /// The action in one line, such as the program with its arguments.
    pub title: String,
    /// The whole action: the exact argv and the guards, or a diff, or the arguments.
    pub detail: String,
    /// The same as fields; the words above are made of these.
    pub fields: ActionFields,
    /// Whether settings may allow it, or only a person.
    pub needs: ApprovalNeed,
    /// The hash of everything that the person was shown or that decides what is run.
    pub hash: ContentHash,
}

impl ToolAction {
    /// Makes an action of its fields. The hash is of all that they tell, and of what
    /// else decides what is run. Of the words every character can be seen, and the title is one
    /// line: nothing in it can pass for another question.
    pub fn new(fields: ActionFields, needs: ApprovalNeed, hash: ContentHash) -> Self {
        let title = reveal(&fields.title(), Reveal::EveryCharacterOfLine);
        let detail = reveal(&fields.detail(), Reveal::EveryCharacter);
        ToolAction { title, detail, fields, needs, hash }
    }

    /// Makes an action of which the arguments say everything.
    pub fn from_arguments(title: &str, arguments: &CallArguments) -> Self {
        let arguments = arguments.as_value().clone();
        let hash = ContentHash::of_bytes(arguments.to_string().as_bytes());
        let fields = ActionFields::Call(CallFields { what: title.to_owned(), arguments });
        ToolAction::new(fields, ApprovalNeed::Leave, hash)
    }
}

/// The authority that an action needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalNeed {
    /// A person or a setting may allow it.
    Leave,
    /// Only a person may allow it, whatever is set: it changes what the agent is.
    Person,
}

/// Whether a person was shown what a call does and said yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// No: what needs a person is refused.
    Unasked,
    /// To the action with this hash, and to nothing else.
    To(ContentHash),
    /// To every call of the tool in this session; not to what needs a person.
    ToTool,
}

/// The turn that a call belongs to, as far as tools need to know of it.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    /// The agent's items, as the turn sees them.
    pub catalog: Arc<Catalog>,
    /// Those that the session has.
    pub session_items: Arc<[SessionItem]>,
    /// Those that a person took out of it.
    pub removed: Arc<[ItemId]>,
    /// The skills whose programs may run, by their folders. One that differs is not run.
    pub trusted: Arc<TrustedSkills>,
    /// The session and the people for whom the call is made.
    pub caller: ToolCaller,
    /// The call itself, while it runs.
    pub call: Option<CallId>,
}

/// The skills whose programs may run, by their folders.
pub type TrustedSkills = BTreeMap<PathBuf, TrustedSkill>;

/// A skill whose programs may run, as long as it is this very one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedSkill {
    /// Its name.
    pub name: Arc<str>,
    /// The hash of its declaration and scripts.
    pub files: ContentHash,
    /// Whether a person has looked at it.
    pub look: SkillLook,
}

/// Whether a person has looked at a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillLook {
    /// It was seen by Recto alone. Rights of the config are not its own before a person has
    /// been shown it.
    FirstSeen,
    /// A person has looked at it.
    LookedAt,
}

/// The session and the people for whom a call is made.
#[derive(Debug, Clone, Default)]
pub struct ToolCaller {
    /// All who can read what comes of it.
    pub audience: Audience,
    /// Those for whom a sub-agent does its task, where one makes the call.
    pub on_behalf_of: Option<Audience>,
    /// The number of the session.
    pub session: Option<i64>,
    /// The number of the turn, where there is one.
    pub turn: Option<i64>,
    /// The first message of the session that the model can see.
    pub sees_from: MessageId,
    /// What the person has just asked to have remembered, in their own words, where they did so
    /// plainly.
    pub memory_wish: Option<WantedCall>,
}

/// The output of a tool: a text for the model, or what went wrong.
pub type ToolOutput = Result<String, ToolError>;

/// The failure of a tool, in words that help a model to do better.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(String);

impl ToolError {
    /// Makes an error with these words.
    pub fn new(text: impl Into<String>) -> Self {
        ToolError(text.into())
    }
}

/// The result of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// Which call it answers.
    pub call: CallId,
    /// The name by which the tool was called.
    pub name: Arc<str>,
    /// What the model is told, within the limit for a call's output.
    pub text: String,
    /// Whether the call succeeded, failed, or was not made.
    pub outcome: ToolOutcome,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It did what it was asked.
    Done,
    /// It could not do what it was asked.
    Failed,
    /// No tool was run: none of this name was offered, or the arguments don't fit.
    Refused,
    /// No tool was run: a person said no, or nobody answered.
    Denied,
}

impl ToolOutcome {
    /// The name that events and programs use.
    pub fn name(self) -> &'static str {
        match self {
            ToolOutcome::Done => "done",
            ToolOutcome::Failed => "failed",
            ToolOutcome::Refused => "refused",
            ToolOutcome::Denied => "denied",
        }
    }

    /// The outcome of a call whose result is read again later. A transcript keeps what the model
    /// was told, which says so in words that only Recto writes in front.
    pub fn from_result(name: &str, text: &str) -> Self {
        let told = text.strip_prefix(clip_name(name)).unwrap_or_default();
        let begins = |words: &[&str]| words.iter().any(|words| told.starts_with(words));
        if begins(&[" failed: ", " broke off by a fault", " was stopped: ", " can't be run: "]) {
            ToolOutcome::Failed
        } else if begins(&[" was not run: "])
            || ["not run: ", "there is no tool `"].iter().any(|words| text.starts_with(words))
        {
            ToolOutcome::Refused
        } else {
            ToolOutcome::Done
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_known_by_what_the_model_was_told() {
        let outcome = |text: &str| ToolOutcome::from_result("read_file", text);
        assert_eq!(outcome("read_file failed: no such file"), ToolOutcome::Failed);
        assert_eq!(outcome("read_file was not run: nobody allowed it"), ToolOutcome::Refused);
        assert_eq!(outcome("not run: the turn is over"), ToolOutcome::Refused);
        assert_eq!(outcome("there is no tool `read`; did you mean `x`?"), ToolOutcome::Refused);
        assert_eq!(outcome("it failed: so says the file"), ToolOutcome::Done);
    }
}
