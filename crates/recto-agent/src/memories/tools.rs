//! `remember`, `recall` and `forget`, for models. They need the files, the search and
//! the store at once, and so stand here and not with the other tools.

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use recto_context::{
    Audience, ItemId, ItemKind, Memory, MemoryMarks, MemoryScope, Remedy, ToolSpec, WantedCall,
    first_chars, may_remember, one_line,
};
use recto_store::SessionId;
use recto_tools::{
    CallArguments, CallContext, Consent, Tool, ToolAction, ToolCaller, ToolClass, ToolError,
    ToolOutput,
};
use recto_workspace::{AddedMemory, MemoryError, NewMemory, TextMarks, is_lasting_statement};
use serde_json::json;

use super::AgentMemories;
use super::one_fact::find_repetition;
use super::past_messages::KnownMessages;
use super::recall::{RecallQuery, RecalledContent, Recollection};
use crate::search::SearchPatience;

/// How much is recalled where nobody says how much.
const USUAL: usize = 8;

/// How much is recalled at most.
const MOST: usize = 30;

/// How much of a past message is shown, in characters.
const SHOWN: usize = 600;

/// The specs of the tools for memory, as models are told of them.
pub fn memory_tools() -> Vec<ToolSpec> {
    MemoryOperation::ALL.map(MemoryOperation::spec).into()
}

/// The tools for memory, to be called.
pub fn runnable_tools(memories: &AgentMemories) -> impl Iterator<Item = Arc<dyn Tool>> {
    let tool = |operation: MemoryOperation| -> Arc<dyn Tool> {
        Arc::new(MemoryTool { operation, spec: operation.spec(), memories: memories.clone() })
    };
    MemoryOperation::ALL.map(tool).into_iter()
}

/// The operation that a tool for memory performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemoryOperation {
    Remember,
    Recall,
    Forget,
}

impl MemoryOperation {
    const ALL: [MemoryOperation; 3] =
        [MemoryOperation::Remember, MemoryOperation::Recall, MemoryOperation::Forget];

    fn spec(self) -> ToolSpec {
        let (name, description, parameters) = match self {
            MemoryOperation::Remember => (
                "remember",
                "Keep a fact or a wish of the user for later conversations.",
                json!({
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "maxLength": WantedCall::LONGEST_FACT},
                        "scope": {
                            "type": "string",
                            "enum": ["global", "person", "conversation", "agent"]
                        },
                        "important": {"type": "boolean"}
                    },
                    "required": ["text"]
                }),
            ),
            MemoryOperation::Recall => (
                "recall",
                "Look up memories and past conversations.",
                json!({
                    "type": "object",
                    "properties": {
                        "query": {"type": "string"},
                        "limit": {"type": "integer"}
                    },
                    "required": ["query"]
                }),
            ),
            MemoryOperation::Forget => (
                "forget",
                "Forget a memory, by its id from recall.",
                json!({
                    "type": "object",
                    "properties": {"id": {"type": "string"}},
                    "required": ["id"]
                }),
            ),
        };
        ToolSpec::new(ItemId::new(ItemKind::Tool, name), description, parameters)
    }
}

struct MemoryTool {
    operation: MemoryOperation,
    spec: ToolSpec,
    memories: AgentMemories,
}

impl Tool for MemoryTool {
    fn id(&self) -> &ItemId {
        &self.spec.id
    }

    fn spec(&self) -> Option<&ToolSpec> {
        Some(&self.spec)
    }

    fn class(&self) -> ToolClass {
        match self.operation {
            MemoryOperation::Recall => ToolClass::Reads,
            MemoryOperation::Remember | MemoryOperation::Forget => ToolClass::Remembers,
        }
    }

    fn describe<'a>(
        &'a self,
        arguments: &'a CallArguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolAction, ToolError>> {
        async { Ok(ToolAction::from_arguments(&self.spec.called, arguments)) }.boxed()
    }

    fn run<'a>(
        &'a self,
        arguments: CallArguments,
        context: &'a CallContext,
        _: Consent,
    ) -> BoxFuture<'a, ToolOutput> {
        let caller = &context.caller;
        async move {
            match self.operation {
                MemoryOperation::Remember => self.remember(&arguments, caller).await,
                MemoryOperation::Recall => Ok(self.recall(&arguments, caller).await),
                MemoryOperation::Forget => self.forget(&arguments, &caller.audience).await,
            }
        }
        .boxed()
    }
}

impl MemoryTool {
    async fn remember(&self, arguments: &CallArguments, caller: &ToolCaller) -> ToolOutput {
        let text = arguments.text("text").unwrap_or_default();
        let request = RememberRequest {
            text,
            // What decides who may see it is not the model's to write.
            marks_in_text: TextMarks::Ignored,
            scope: arguments.text("scope"),
            marks: MemoryMarks {
                important: arguments.flag("important").unwrap_or(false),
                shared: false,
            },
        };
        let mut told = vec![self.keep(&request, caller).await?];
        // What else the person asked for in the same message, each for itself.
        let wish = caller.memory_wish.as_ref().filter(|wish| *wish.fact == *text);
        for more in wish.iter().flat_map(|wish| &wish.more) {
            told.push(self.keep(&RememberRequest { text: more, ..request }, caller).await?);
        }
        Ok(told.join("\n"))
    }

    async fn keep(&self, request: &RememberRequest<'_>, caller: &ToolCaller) -> ToolOutput {
        let remembered = self.memories.remember(request, &caller.audience).await;
        let AddedMemory { memory, was_there } = remembered.map_err(tool_error)?;
        let how = if was_there { "known already" } else { "remembered" };
        Ok(format!("{how} as {}: {}", memory.name, memory.text.as_str()))
    }

    async fn recall(&self, arguments: &CallArguments, caller: &ToolCaller) -> String {
        let limit = arguments.whole_number("limit").map_or(USUAL, |limit| limit as usize);
        let session = caller.session.and_then(|session| session.to_string().parse().ok());
        let recalled = self
            .memories
            .recall(&RecallQuery {
                audience: &caller.audience,
                query: arguments.text("query").unwrap_or_default(),
                limit: limit.clamp(1, MOST),
                patience: SearchPatience::OneSecond,
                now: Timestamp::now(),
                known: session
                    .map(|session: SessionId| KnownMessages { session, from: caller.sees_from }),
            })
            .await;
        match recalled.found.is_empty() {
            true => "nothing that is remembered fits this".to_owned(),
            false => recalled.found.iter().map(line).collect(),
        }
    }

    async fn forget(&self, arguments: &CallArguments, audience: &Audience) -> ToolOutput {
        let id = arguments.text("id").unwrap_or_default();
        let forgotten = self.memories.files().forget(id, audience).await.map_err(tool_error)?;
        Ok(format!("forgotten: {}", forgotten.memory.text.as_str()))
    }
}

/// Something that is to be remembered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RememberRequest<'a> {
    pub(crate) text: &'a str,
    /// By its name; where there is none, the widest that the audience may write.
    pub(crate) scope: Option<&'a str>,
    pub(crate) marks: MemoryMarks,
    pub(crate) marks_in_text: TextMarks,
}

/// An error that keeps something from being remembered.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the fields say it")]
pub enum RememberError {
    /// The scope is another's; these could be written.
    #[error(
        "in this conversation nothing can be remembered for scope `{scope}`; use one of: {may}"
    )]
    Scope { scope: String, may: String },
    /// The file could not be written, or the text is none to be kept.
    #[error(transparent)]
    File(#[from] MemoryError),
    /// It is no single fact, but the same words over and over.
    #[error("this says the same more than once: \"{repeated}\"")]
    Repeats { repeated: String },
}

impl AgentMemories {
    /// Remembers something. A lasting wish is marked as important by itself, where a
    /// person can see the mark and take it off.
    pub(crate) async fn remember(
        &self,
        request: &RememberRequest<'_>,
        audience: &Audience,
    ) -> Result<AddedMemory, RememberError> {
        if let Some(repeated) = find_repetition(request.text) {
            return Err(RememberError::Repeats { repeated });
        }
        let scope = scope(request.scope, audience)?;
        let marks = MemoryMarks {
            important: request.marks.important || is_lasting_statement(request.text),
            shared: request.marks.shared,
        };
        let (text, marks_in_text) = (request.text.to_owned(), request.marks_in_text);
        let new = NewMemory { text, scope, marks, marks_in_text, at: Zoned::now() };
        Ok(self.files().add(new).await?)
    }
}

/// The scope of that name, if the audience may write there.
fn scope(name: Option<&str>, audience: &Audience) -> Result<MemoryScope, RememberError> {
    let own = |kind: fn(Arc<str>) -> MemoryScope, id: &Option<Arc<str>>| id.clone().map(kind);
    let all = [
        ("global", Some(MemoryScope::Global)),
        ("person", own(MemoryScope::Person, &audience.person)),
        ("conversation", own(MemoryScope::Conversation, &audience.conversation)),
        ("agent", own(MemoryScope::Agent, &audience.agent)),
    ];
    let may: Vec<(&str, MemoryScope)> = all
        .into_iter()
        .filter_map(|(name, scope)| Some((name, scope?)))
        .filter(|(_, scope)| may_remember(audience, scope))
        .collect();
    let found = match name {
        Some(name) => may.iter().find(|(known, _)| *known == name),
        // A group's first is its conversation, a guest's is the guest.
        None => may.first(),
    };
    found.map(|(_, scope)| scope.clone()).ok_or_else(|| RememberError::Scope {
        scope: name.unwrap_or("any").to_owned(),
        may: may.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
    })
}

impl RememberError {
    /// What to do about it, where something can be done.
    pub fn hint(&self) -> Option<String> {
        match self {
            RememberError::Scope { .. } => None,
            RememberError::File(error) => error.hint(),
            RememberError::Repeats { .. } => {
                Some("say one fact, once, in one short sentence".to_owned())
            }
        }
    }

    /// What Recto can do about it.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            RememberError::Scope { .. } | RememberError::Repeats { .. } => None,
            RememberError::File(error) => error.remedy(),
        }
    }
}

/// An error as a model reads it, with what to do about it.
fn tool_error(error: impl Into<RememberError>) -> ToolError {
    let error = error.into();
    ToolError::new(match error.hint() {
        Some(hint) => format!("{error} (hint: {hint})"),
        None => error.to_string(),
    })
}

/// A recollection as a model reads it: what, when, and where it comes from.
fn line(found: &Recollection) -> String {
    let mut line = String::from("- ");
    match &found.what {
        RecalledContent::Memory(memory) => {
            let Memory { name, added, .. } = memory;
            let text = memory.shown();
            let day = added.and_then(|added| Timestamp::from_second(added).ok());
            let day = day.map(|day| format!("[{}] ", local(day, "%Y-%m-%d"))).unwrap_or_default();
            let _ = writeln!(line, "{day}{} (memory {name})", text.as_str());
        }
        RecalledContent::Message { name, role, speaker, at, text, message, .. } => {
            let when = local(at.timestamp(), "%Y-%m-%d %H:%M");
            let text = shortened(text);
            let (role, message) = (role.name(), message.0);
            let who =
                speaker.as_ref().map_or(role.to_owned(), |speaker| format!("{role} {speaker}"));
            let _ = writeln!(line, "[{when}] {who}: {text} (session {name}, message {message})");
        }
    }
    line
}

/// The memories that a result of `recall` names, as [`line`] writes them. What was
/// shortened out of it is not among them.
pub(crate) fn recalled_memories(result: &str) -> impl Iterator<Item = &str> {
    let entries = result.lines().filter_map(|line| line.strip_suffix(')'));
    entries.filter_map(|line| line.rsplit_once(" (memory ").map(|(_, name)| name))
}

fn local(at: Timestamp, form: &str) -> String {
    at.to_zoned(TimeZone::system()).strftime(form).to_string()
}

/// A message on one line, as much of it as helps.
fn shortened(text: &str) -> String {
    first_chars(&one_line(text), SHOWN)
}
