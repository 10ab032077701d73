//! All that an assembly needs, set step by step.

use std::sync::Arc;

use crate::assemble::assemble;
use crate::budget::{OverBudget, Window};
use crate::carry::Carry;
use crate::catalog::Catalog;
use crate::context::RequestContext;
use crate::counter::Counter;
use crate::item::{ItemId, Pick, SessionItem};
use crate::layout::Layout;
use crate::message::{ContentPart, Message, MessageId, Stamp, TurnNumber, UserMessage};
use crate::mode::ModeDecision;
use crate::summary::Summary;
use crate::tokens::Tokens;

/// All that an assembly needs. Everything but the catalog and the message has a
/// default, and is set by chaining:
///
/// ```
/// use recto_context::{Catalog, Inputs, Window, Tokens};
///
/// let catalog = Catalog::default();
/// let request = Inputs::new(&catalog, "hello")
///     .window(Window::from_config(Tokens::new(8_192)))
///     .model("qwen3")
///     .assemble()?;
/// assert_eq!(request.messages.last().unwrap().text(), "hello");
/// # Ok::<(), recto_context::OverBudget>(())
/// ```
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) message_id: MessageId,
    pub(crate) message: UserMessage,
    pub(crate) model: Arc<str>,
    pub(crate) session: &'a [SessionItem],
    pub(crate) summary: Option<&'a Summary>,
    pub(crate) history: &'a [Arc<Message>],
    pub(crate) rounds: &'a [Arc<Message>],
    pub(crate) removed: &'a [ItemId],
    pub(crate) picks: &'a [Pick],
    pub(crate) candidates: &'a [Pick],
    pub(crate) mode: ModeDecision,
    pub(crate) window: Window,
    pub(crate) limits: Limits,
    pub(crate) layout: Layout,
    pub(crate) counter: Counter<'a>,
    pub(crate) bootstrap: Bootstrap,
    pub(crate) carry: Carry,
    pub(crate) turn: TurnNumber,
}

/// Every limit on what a request may hold, in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// `history.max_messages`.
    pub history_messages: usize,
    /// `history.max_tokens`.
    pub history_tokens: Tokens,
    /// The same where several people talk.
    pub channel_messages: usize,
    /// The longest summary of messages that leave; none is made where it is zero.
    pub summary_tokens: Tokens,
    /// Exchanges that minimal mode keeps.
    pub minimal_history: usize,
    /// Entries in the memory snapshot.
    pub memory_entries: usize,
    /// Tokens in the memory snapshot.
    pub memory_tokens: Tokens,
    /// What is kept free for the reply; at most a quarter of the window.
    pub reply: Tokens,
    /// The largest prompt to aim for, if it is to be less than the window allows.
    pub target: Option<Tokens>,
    /// Room to leave on top, after an exact count of the rendered prompt came
    /// out larger than the parts'.
    pub margin: Tokens,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            history_messages: 50,
            history_tokens: Tokens::new(8_192),
            channel_messages: 20,
            summary_tokens: Tokens::ZERO,
            minimal_history: 0,
            memory_entries: 20,
            memory_tokens: Tokens::new(1_000),
            reply: Tokens::new(1_024),
            target: None,
            margin: Tokens::ZERO,
        }
    }
}

impl Limits {
    /// The limits for a place where several people talk.
    pub fn in_channel(self) -> Self {
        Limits { history_messages: self.history_messages.min(self.channel_messages), ..self }
    }
}

/// Where the agent runs, as the page tells it. No clock: a minute that changes
/// here would make the server read the whole prompt again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bootstrap {
    /// The agent's name.
    pub agent: Arc<str>,
    /// Recto's version.
    pub version: Arc<str>,
    /// The workspace folder.
    pub workspace: Arc<str>,
    /// The operating system.
    pub system: Arc<str>,
    /// The day on which the session began.
    pub day: Arc<str>,
    /// Where people talk to it.
    pub surface: Arc<str>,
}

impl<'a> Inputs<'a> {
    /// A fresh session's first message, with nothing but the catalog.
    pub fn new(catalog: &'a Catalog, message: impl Into<crate::text::Text>) -> Self {
        let content = vec![ContentPart::Text(message.into())];
        Inputs {
            catalog,
            message_id: MessageId(u64::MAX),
            message: UserMessage { content, ..UserMessage::default() },
            model: Arc::from("default"),
            session: &[],
            summary: None,
            history: &[],
            rounds: &[],
            removed: &[],
            picks: &[],
            candidates: &[],
            mode: ModeDecision::without_tools(),
            window: Window::ASSUMED,
            limits: Limits::default(),
            layout: Layout::default(),
            counter: Counter::default(),
            bootstrap: Bootstrap::default(),
            carry: Carry::default(),
            turn: TurnNumber(1),
        }
    }

    /// The message with images or other parts.
    pub fn content(mut self, content: Vec<ContentPart>) -> Self {
        self.message.content = content;
        self
    }

    /// The message's number; it must be larger than those of the history.
    pub fn message_id(mut self, id: MessageId) -> Self {
        self.message_id = id;
        self
    }

    /// The date and time that stand in front of the message.
    pub fn stamp(mut self, stamp: Stamp) -> Self {
        self.message.stamp = Some(stamp);
        self
    }

    /// The model entry's name.
    pub fn model(mut self, name: impl Into<Arc<str>>) -> Self {
        self.model = name.into();
        self
    }

    /// The items of the session.
    pub fn session(mut self, items: &'a [SessionItem]) -> Self {
        self.session = items;
        self
    }

    /// What a person took out of the session, for the record.
    pub fn removed(mut self, items: &'a [ItemId]) -> Self {
        self.removed = items;
        self
    }

    /// Earlier messages, oldest first, with growing numbers.
    pub fn history(mut self, messages: &'a [Arc<Message>]) -> Self {
        self.history = messages;
        self
    }

    /// What stands for messages that have left the history.
    pub fn summary(mut self, summary: Option<&'a Summary>) -> Self {
        self.summary = summary;
        self
    }

    /// This turn's calls and results so far.
    pub fn rounds(mut self, messages: &'a [Arc<Message>]) -> Self {
        self.rounds = messages;
        self
    }

    /// What search brought, best first.
    pub fn picks(mut self, picks: &'a [Pick]) -> Self {
        self.picks = picks;
        self
    }

    /// What search looked at and did not take.
    pub fn candidates(mut self, candidates: &'a [Pick]) -> Self {
        self.candidates = candidates;
        self
    }

    /// The mode that was decided for the turn.
    pub fn mode(mut self, decision: ModeDecision) -> Self {
        self.mode = decision;
        self
    }

    /// The model's window.
    pub fn window(mut self, window: Window) -> Self {
        self.window = window;
        self
    }

    /// The limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The layout.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// How tokens are counted.
    pub fn counter(mut self, counter: Counter<'a>) -> Self {
        self.counter = counter;
        self
    }

    /// Where the agent runs.
    pub fn bootstrap(mut self, bootstrap: Bootstrap) -> Self {
        self.bootstrap = bootstrap;
        self
    }

    /// What the request before this one handed on.
    pub fn carry(mut self, carry: Carry) -> Self {
        self.carry = carry;
        self
    }

    /// The number of this turn in its session.
    pub fn turn(mut self, turn: TurnNumber) -> Self {
        self.turn = turn;
        self
    }

    /// Assembles the request.
    pub fn assemble(&self) -> Result<RequestContext, OverBudget> {
        assemble(self)
    }
}
