//! All that an assembly needs, set step by step.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::assemble::assemble;
use crate::budget::{OverBudget, Window};
use crate::carry::Carry;
use crate::catalog::{Catalog, ToolSpec};
use crate::client::ClientToolChoice;
use crate::context::{CallDemand, RequestContext};
use crate::counter::TokenCounter;
use crate::item::{ItemId, Pick, SessionItem};
use crate::layout::PageLayout;
use crate::message::{
    ContentPart, Message, MessageId, MessageStamp, SpeakerName, TurnNumber, UserMessage,
};
use crate::mode::ModeDecision;
use crate::standing::AlikeItem;
use crate::summary::HistorySummary;
use crate::text::Text;
use crate::tokens::Tokens;

/// All that an assembly needs. Everything but the catalog and the message has a
/// default, and is set by chaining:
///
/// ```
/// use recto_context::{Catalog, AssemblyInputs, Window, Tokens};
///
/// let catalog = Catalog::default();
/// let request = AssemblyInputs::new(&catalog, "hello")
///     .window(Window::from_config(Tokens::new(8_192)))
///     .model("qwen3")
///     .assemble()?;
/// assert_eq!(request.messages.last().unwrap().text(), "hello");
/// # Ok::<(), recto_context::OverBudget>(())
/// ```
#[derive(Debug, Clone)]
pub struct AssemblyInputs<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) message_id: MessageId,
    pub(crate) message: UserMessage,
    pub(crate) model: Arc<str>,
    pub(crate) session: &'a [SessionItem],
    pub(crate) summary: Option<&'a HistorySummary>,
    pub(crate) history: &'a [Arc<Message>],
    pub(crate) taken_back: &'a [Arc<Message>],
    pub(crate) rounds: &'a [Arc<Message>],
    pub(crate) removed: &'a [ItemId],
    pub(crate) picks: &'a [Pick],
    pub(crate) candidates: &'a [Pick],
    pub(crate) listed: &'a [ItemId],
    pub(crate) alike: &'a [AlikeItem],
    pub(crate) mode: ModeDecision,
    pub(crate) window: Window,
    pub(crate) limits: ContextLimits,
    pub(crate) layout: PageLayout,
    pub(crate) counter: TokenCounter<'a>,
    pub(crate) bootstrap: Bootstrap,
    pub(crate) carry: Carry,
    pub(crate) turn: TurnNumber,
    pub(crate) client_system: &'a [Text],
    pub(crate) client_tools: &'a [ToolSpec],
    pub(crate) client_tool_choice: ClientToolChoice,
    pub(crate) call_demand: CallDemand,
    pub(crate) history_owner: HistoryOwner,
}

/// Who says which earlier messages the conversation has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HistoryOwner {
    /// The session's transcript.
    #[default]
    Session,
    /// The client, which sends all of them each time.
    Client,
}

/// Every limit on what a request may hold, in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextLimits {
    /// The most messages of the history: `history.max_messages`.
    pub history_messages: usize,
    /// The most tokens of the history: `history.max_tokens`.
    pub history_tokens: Tokens,
    /// The most messages of the history where several people talk.
    pub channel_messages: usize,
    /// The most tokens of what was said in a group since the agent was last named, where that comes
    /// along: `history.channel_context_tokens`.
    pub channel_context_tokens: Tokens,
    /// The longest summary of messages that leave; none is made where it is zero.
    pub summary_tokens: Tokens,
    /// Exchanges that minimal mode keeps.
    pub minimal_history: usize,
    /// The most entries of the memory snapshot.
    pub memory_entries: usize,
    /// The most tokens of the memory snapshot.
    pub memory_tokens: Tokens,
    /// The most tokens of the list of skills that come when they fit; at most a sixteenth
    /// of the window.
    pub skill_list_tokens: Tokens,
    /// The most items that are listed because they may fit the message; none are where it is
    /// zero.
    pub list_lines: usize,
    /// The most tokens of that list; at most a sixteenth of the window.
    pub list_tokens: Tokens,
    /// What is kept free for the reply; at most a quarter of the window.
    pub reply: Tokens,
    /// The largest prompt to aim for, if it is to be less than the window allows.
    pub target: Option<Tokens>,
    /// Room to leave on top, after an exact count of the rendered prompt came
    /// out larger than the parts'.
    pub margin: Tokens,
}

impl Default for ContextLimits {
    fn default() -> Self {
        ContextLimits {
            history_messages: 50,
            history_tokens: Tokens::new(8_192),
            channel_messages: 20,
            channel_context_tokens: Tokens::new(1_024),
            summary_tokens: Tokens::ZERO,
            minimal_history: 0,
            memory_entries: 20,
            memory_tokens: Tokens::new(1_000),
            skill_list_tokens: Tokens::new(300),
            list_lines: 12,
            list_tokens: Tokens::new(200),
            reply: Tokens::new(1_024),
            target: None,
            margin: Tokens::ZERO,
        }
    }
}

impl ContextLimits {
    /// The limits for a place where several people talk.
    pub fn in_channel(self) -> Self {
        ContextLimits { history_messages: self.history_messages.min(self.channel_messages), ..self }
    }

    /// The newest of what was said in a group, oldest first, as much of it as may come along. What
    /// is longer than that all by itself is cut.
    pub fn newest_of_channel(&self, said: Vec<String>) -> Vec<String> {
        let counter = TokenCounter::estimated();
        let mut left = self.channel_context_tokens;
        let mut newest = VecDeque::new();
        for line in said.into_iter().rev() {
            let cost = counter.text(&Text::from(line.as_str()));
            if cost <= left {
                left = left - cost;
                newest.push_front(line);
                continue;
            }
            if newest.is_empty() {
                newest.extend(cut_to(&line, left, &counter));
            }
            break;
        }
        newest.into()
    }
}

/// The beginning of a text that costs at most so much; nothing where not even a word does.
fn cut_to(text: &str, most: Tokens, counter: &TokenCounter<'_>) -> Option<String> {
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    let cut = |end: usize| format!("{} …", text[..end].trim_end());
    let fits = |end: &usize| counter.text(&Text::from(cut(*end).as_str())) <= most;
    let fitting = ends.partition_point(fits);
    fitting.checked_sub(1).and_then(|last| ends.get(last)).map(|end| cut(*end))
}

/// Where the agent runs, as the page tells it. No clock: a minute that changes
/// here would make the server read the whole prompt again. Preset `layered` wants
/// one all the same, and takes it from the stamp of the message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bootstrap {
    /// The name of the agent; `main` if empty.
    pub agent: Arc<str>,
    /// The version of Recto that runs.
    pub version: Arc<str>,
    /// The path of the workspace folder.
    pub workspace: Arc<str>,
    /// The name of the operating system.
    pub system: Arc<str>,
    /// The day on which the session began.
    pub day: Arc<str>,
    /// The surface on which people talk to it, such as the terminal.
    pub surface: Arc<str>,
}

impl<'a> AssemblyInputs<'a> {
    /// Begins with a fresh session's first message and nothing but the catalog.
    pub fn new(catalog: &'a Catalog, message: impl Into<Text>) -> Self {
        AssemblyInputs {
            catalog,
            message_id: MessageId(u64::MAX),
            message: UserMessage::text(message),
            model: Arc::from("default"),
            session: &[],
            summary: None,
            history: &[],
            taken_back: &[],
            rounds: &[],
            removed: &[],
            picks: &[],
            candidates: &[],
            listed: &[],
            alike: &[],
            mode: ModeDecision::without_tools(),
            window: Window::ASSUMED,
            limits: ContextLimits::default(),
            layout: PageLayout::default(),
            counter: TokenCounter::default(),
            bootstrap: Bootstrap::default(),
            carry: Carry::default(),
            turn: TurnNumber(1),
            client_system: &[],
            client_tools: &[],
            client_tool_choice: ClientToolChoice::Free,
            call_demand: CallDemand::NamedTool,
            history_owner: HistoryOwner::Session,
        }
    }

    /// Sets the parts of the message, such as images.
    pub fn content(mut self, content: Vec<ContentPart>) -> Self {
        self.message.content = content;
        self
    }

    /// Sets the message's number, which must be larger than those of the history.
    pub fn message_id(mut self, id: MessageId) -> Self {
        self.message_id = id;
        self
    }

    /// Sets the date and time that stand in front of the message.
    pub fn stamp(mut self, stamp: MessageStamp) -> Self {
        self.message.stamp = Some(stamp);
        self
    }

    /// Sets who wrote the message, where several people talk.
    pub fn speaker(mut self, speaker: Option<SpeakerName>) -> Self {
        self.message.speaker = speaker;
        self
    }

    /// Sets the name of the model entry.
    pub fn model(mut self, name: impl Into<Arc<str>>) -> Self {
        self.model = name.into();
        self
    }

    /// Sets the items of the session.
    pub fn session(mut self, items: &'a [SessionItem]) -> Self {
        self.session = items;
        self
    }

    /// Sets the items that a person took out of the session.
    pub fn removed(mut self, items: &'a [ItemId]) -> Self {
        self.removed = items;
        self
    }

    /// Sets the earlier messages, oldest first, with growing numbers.
    pub fn history(mut self, messages: &'a [Arc<Message>]) -> Self {
        self.history = messages;
        self
    }

    /// Sets the messages that a person took back, oldest first. They are no part of the
    /// history.
    pub fn taken_back(mut self, messages: &'a [Arc<Message>]) -> Self {
        self.taken_back = messages;
        self
    }

    /// Sets the summary that stands for messages which have left the history.
    pub fn summary(mut self, summary: Option<&'a HistorySummary>) -> Self {
        self.summary = summary;
        self
    }

    /// Sets this turn's calls and results so far.
    pub fn rounds(mut self, messages: &'a [Arc<Message>]) -> Self {
        self.rounds = messages;
        self
    }

    /// Sets the items that search brought, best first.
    pub fn picks(mut self, picks: &'a [Pick]) -> Self {
        self.picks = picks;
        self
    }

    /// Sets the items that search looked at and did not take.
    pub fn candidates(mut self, candidates: &'a [Pick]) -> Self {
        self.candidates = candidates;
        self
    }

    /// Sets the candidates that may be listed by name, in that order.
    pub fn listed(mut self, items: &'a [ItemId]) -> Self {
        self.listed = items;
        self
    }

    /// Sets the items that search left, because they say what better ones say.
    pub fn alike(mut self, alike: &'a [AlikeItem]) -> Self {
        self.alike = alike;
        self
    }

    /// Sets the mode that was decided for the turn.
    pub fn mode(mut self, decision: ModeDecision) -> Self {
        self.mode = decision;
        self
    }

    /// Sets the model's window.
    pub fn window(mut self, window: Window) -> Self {
        self.window = window;
        self
    }

    /// Sets the limits on what the request may hold.
    pub fn limits(mut self, limits: ContextLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the layout of the page.
    pub fn layout(mut self, layout: PageLayout) -> Self {
        self.layout = layout;
        self
    }

    /// Sets how tokens are counted.
    pub fn counter(mut self, counter: TokenCounter<'a>) -> Self {
        self.counter = counter;
        self
    }

    /// Sets what the page says of where the agent runs.
    pub fn bootstrap(mut self, bootstrap: Bootstrap) -> Self {
        self.bootstrap = bootstrap;
        self
    }

    /// Sets the state that the request before this one handed on.
    pub fn carry(mut self, carry: Carry) -> Self {
        self.carry = carry;
        self
    }

    /// Sets the number of this turn in its session.
    pub fn turn(mut self, turn: TurnNumber) -> Self {
        self.turn = turn;
        self
    }

    /// Sets the system texts of the client, which follow Recto's own.
    pub fn client_system(mut self, texts: &'a [Text]) -> Self {
        self.client_system = texts;
        self
    }

    /// Sets the tools of the client, which are offered behind all others.
    pub fn client_tools(mut self, tools: &'a [ToolSpec]) -> Self {
        self.client_tools = tools;
        self
    }

    /// Sets what the client asks of the first reply.
    pub fn client_tool_choice(mut self, choice: &ClientToolChoice) -> Self {
        self.client_tool_choice = choice.clone();
        self
    }

    /// Sets what the model's wire can demand of a reply.
    pub fn call_demand(mut self, demand: CallDemand) -> Self {
        self.call_demand = demand;
        self
    }

    /// Sets whose list of earlier messages the history is.
    pub fn history_owner(mut self, owner: HistoryOwner) -> Self {
        self.history_owner = owner;
        self
    }

    /// Assembles the request from these inputs.
    pub fn assemble(&self) -> Result<RequestContext, OverBudget> {
        assemble(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(most: u32, said: &[&str], kept: &[&str]) {
        let limits =
            ContextLimits { channel_context_tokens: Tokens::new(most), ..ContextLimits::default() };
        let said: Vec<String> = said.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(limits.newest_of_channel(said), kept, "{most}");
    }

    #[test]
    fn of_what_was_said_in_a_group_the_newest_comes_along_within_its_tokens() {
        let said = ["> Ada: one two three", "> Ben: four five six", "> Ada: seven"];
        check(1_024, &said, &said);
        check(0, &said, &[]);
        let cost = |lines: &[&str]| {
            let counter = TokenCounter::estimated();
            lines.iter().map(|line| counter.text(&Text::from(*line))).sum::<Tokens>().get()
        };
        check(cost(&said), &said, &said);
        check(cost(&said) - 1, &said, &said[1..]);
        check(cost(&said[2..]), &said, &said[2..]);
    }

    #[test]
    fn what_is_too_long_all_by_itself_is_cut_and_stays_within_its_tokens() {
        let long = format!("> Ada: {}", "wörter 👍 ".repeat(2_000));
        let limits =
            ContextLimits { channel_context_tokens: Tokens::new(64), ..ContextLimits::default() };
        let kept = limits.newest_of_channel(vec!["> Ben: before".to_owned(), long.clone()]);
        let [cut] = &kept[..] else { panic!("{kept:?}") };
        let start = cut.strip_suffix(" …").unwrap();
        assert!(long.starts_with(start) && start.len() > 20, "{cut}");
        let cost = TokenCounter::estimated().text(&Text::from(cut.as_str()));
        assert!(cost <= Tokens::new(64), "{cost:?}");
    }
}
