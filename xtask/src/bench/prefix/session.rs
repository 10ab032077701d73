//! Plays a session on the pure core and asks the embedded model each request, as
//! the agent does: replies go into the history with the tokens that they were
//! made of, and what one request hands to the next is handed on.
//!
//! Three things are other than in an agent. Replies are cut short. A small model
//! would rarely call a tool of its own accord, so where the script wants a call
//! it is held to one, as in minimal mode. And what the tool gives back stands in
//! the script.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use recto_context::{
    AssemblyInputs, Bootstrap, CallId, Carry, Catalog, ChangeCause, ContentPart, ContextLimits,
    Message, MessageBody, MessageId, MessageStamp, Mode, ModeDecision, ModeReason, PageLayout,
    PickPlacement, RequestContext, SessionItem, Tokens, ToolCall, ToolCalls, ToolChoice,
    TurnNumber, compare_requests, read_calls,
};
use recto_llm::PromptCacheKey;

use super::script::{FileEdit, ScriptedTurn, result};
use super::workspace::PrefixWorkspace;
use crate::Result;
use crate::bench::model::{BenchModel, TimedReply, window};

/// How long replies may be, in tokens. What is measured is over with the first.
const REPLY: u32 = 24;

/// How long calls may be.
const CALL: u32 = 96;

/// How the page is laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageForm {
    pub(super) picks: PickPlacement,
    pub(super) clock: BootstrapClock,
}

/// What the Bootstrap layer tells of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BootstrapClock {
    /// The day on which the session began.
    Day,
    /// The minute of the turn, as plain prompts do.
    Minute,
}

/// What the replies are.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReplySource<'a> {
    /// Whatever the model says.
    Own,
    /// Those of another session, so that both have the same history.
    Of(&'a PlayedSession),
}

impl<'a> ReplySource<'a> {
    /// The answer to the request with this place in its session, if it is not for the
    /// model to give.
    fn answer(self, request: usize) -> Option<&'a Vec<ContentPart>> {
        match self {
            ReplySource::Own => None,
            ReplySource::Of(other) => other.answers.get(request),
        }
    }
}

/// A session that was played.
#[derive(Debug)]
pub(super) struct PlayedSession {
    /// Every request, in order.
    pub(super) requests: Vec<PlayedRequest>,
    /// What was answered to each of them.
    pub(super) answers: Vec<Vec<ContentPart>>,
    /// Tokens of layers 1 to 6, as the first request had them.
    pub(super) stable: u32,
}

/// A request, and what it took.
#[derive(Debug, Clone)]
pub(super) struct PlayedRequest {
    pub(super) turn: u32,
    /// Its number within the turn, from 1.
    pub(super) step: u32,
    pub(super) mode: Mode,
    pub(super) prompt: u32,
    /// How much of the prompt the engine still had.
    pub(super) cached: u32,
    /// How much of what was read is not new since the last request of this mode.
    pub(super) again: u32,
    /// How often history had been trimmed.
    pub(super) trims: u32,
    /// The time to the first token.
    pub(super) first: Duration,
    /// Where the prompt parts from the request before, as `recto diff` tells it.
    pub(super) cause: Option<ChangeCause>,
}

impl PlayedRequest {
    /// What the engine had to read.
    pub(super) fn read(&self) -> u32 {
        self.prompt - self.cached
    }

    /// Whether the prefix broke, for a cause that is permitted.
    pub(super) fn breaks(&self) -> bool {
        self.cause.is_some_and(ChangeCause::is_break)
    }
}

/// Plays a session on a model that has read nothing yet.
pub(super) async fn play(
    file: &Path,
    form: PageForm,
    turns: &[ScriptedTurn],
    replies: ReplySource<'_>,
) -> Result<PlayedSession> {
    let model = BenchModel::load(file).await?;
    let files = PrefixWorkspace::write()?;
    let mut session = SessionPlayer::begin(&model, &files, form).await?;
    for (number, turn) in (1..).zip(turns) {
        session.turn(number, turn, replies).await?;
        if number % 10 == 0 {
            eprintln!("  turn {number} of {}", turns.len());
        }
    }
    Ok(session.played)
}

/// Plays a session, request by request.
struct SessionPlayer<'a> {
    model: &'a BenchModel,
    files: &'a PrefixWorkspace,
    form: PageForm,
    catalog: Catalog,
    items: Vec<SessionItem>,
    history: Vec<Arc<Message>>,
    carry: Carry,
    last_id: u64,
    calls: usize,
    before: Option<RequestContext>,
    /// Where the last request and its reply ended, in tokens.
    ends: HashMap<PromptCacheKey, u32>,
    played: PlayedSession,
}

impl<'a> SessionPlayer<'a> {
    async fn begin(
        model: &'a BenchModel,
        files: &'a PrefixWorkspace,
        form: PageForm,
    ) -> Result<Self> {
        let catalog = files.catalog().await?;
        Ok(SessionPlayer {
            model,
            files,
            form,
            items: catalog.session_at_start(),
            catalog,
            history: Vec::new(),
            carry: Carry::default(),
            last_id: 0,
            calls: 0,
            before: None,
            ends: HashMap::new(),
            played: PlayedSession { requests: Vec::new(), answers: Vec::new(), stable: 0 },
        })
    }

    /// One request for the message, and one behind each round of calls.
    async fn turn(
        &mut self,
        number: u32,
        turn: &ScriptedTurn,
        replies: ReplySource<'_>,
    ) -> Result<()> {
        if turn.edit == FileEdit::File {
            self.files.edit()?;
            self.catalog = self.files.catalog().await?;
        }
        let message = self.next_id();
        let mut rounds: Vec<Arc<Message>> = Vec::new();
        for step in 1.. {
            let wants_call = (step as usize) <= turn.rounds;
            let mut request = self.assemble(number, turn, message, &rounds)?;
            let given = replies.answer(self.played.requests.len());
            if given.is_some() {
                request.budget.reply = Tokens::new(1);
            } else if wants_call {
                request.tool_choice = ToolChoice::Required;
                request.budget.reply = Tokens::new(CALL);
            }
            let answer = self.ask(number, step, &request).await?;
            let content = given.cloned().unwrap_or(answer.reply.content);
            self.played.answers.push(content.clone());
            let (content, calls) = self.calls_from_text(content);
            let is_last = calls.is_empty() || !wants_call;
            rounds.extend(self.round(content, if is_last { Vec::new() } else { calls }));
            self.carry = request.carry.clone();
            if is_last {
                self.history.push(request.sent.clone());
                self.before = Some(request);
                break;
            }
            self.before = Some(request);
        }
        self.history.extend(rounds);
        Ok(())
    }

    fn next_id(&mut self) -> MessageId {
        self.last_id += 1;
        MessageId(self.last_id)
    }

    fn assemble(
        &mut self,
        number: u32,
        turn: &ScriptedTurn,
        message: MessageId,
        rounds: &[Arc<Message>],
    ) -> Result<RequestContext> {
        let time = format!("2026-11-15 {:02}:{:02}", 9 + number / 60, number % 60);
        let mode = ModeDecision::new(turn.mode, ModeReason::Marked);
        let request = AssemblyInputs::new(&self.catalog, turn.message)
            .message_id(message)
            .turn(TurnNumber(number))
            .stamp(MessageStamp::from_minute(&time))
            .model("bench")
            .layout(PageLayout {
                picks: self.form.picks,
                tool_calls: ToolCalls::Text,
                ..PageLayout::default()
            })
            .bootstrap(bootstrap(self.form.clock, &time))
            .mode(mode)
            .window(window())
            .limits(ContextLimits { reply: Tokens::new(REPLY), ..ContextLimits::default() })
            .session(&self.items)
            .history(&self.history)
            .carry(self.carry.clone())
            .picks(&turn.picks)
            .rounds(rounds)
            .assemble()?;
        if self.played.stable == 0 {
            let system = request.messages.first().map(|message| message.text().to_owned());
            self.played.stable = self.model.count(&system.unwrap_or_default());
        }
        Ok(request)
    }

    async fn ask(&mut self, turn: u32, step: u32, request: &RequestContext) -> Result<TimedReply> {
        let cause =
            self.before.as_ref().and_then(|before| compare_requests(before, request).change);
        let mode = request.mode.chosen;
        // A session's minimal and full turns are two conversations, as in the agent.
        let key = PromptCacheKey(u64::from(mode.is_minimal()));
        let answer = self.model.ask(key, request).await?;
        let usage = answer.reply.usage;
        let counts = usage.prompt.zip(usage.cached).zip(usage.completion);
        let ((prompt, cached), completion) = counts.ok_or("the engine told no counts")?;
        let end = self.ends.insert(key, prompt + completion);
        let new = prompt.saturating_sub(end.unwrap_or(0));
        self.played.requests.push(PlayedRequest {
            turn,
            step,
            mode,
            prompt,
            cached,
            again: (prompt - cached).saturating_sub(new),
            trims: request.carry.trims,
            first: answer.first,
            cause: cause.map(|change| change.cause),
        });
        Ok(answer)
    }

    /// The calls that the model wrote into its text, and what else it said.
    fn calls_from_text(&self, content: Vec<ContentPart>) -> (Vec<ContentPart>, Vec<ToolCall>) {
        let (mut rest, mut calls) = (Vec::new(), Vec::new());
        for part in content {
            let id = |place| CallId(format!("{}-{place}", self.last_id).into());
            match part.as_text().map(|text| read_calls(text, id)) {
                Some((read, words)) if !read.is_empty() => {
                    calls.extend(read);
                    rest.extend((!words.is_empty()).then(|| ContentPart::Text(words.into())));
                }
                _ => rest.push(part),
            }
        }
        (rest, calls)
    }

    /// A reply with its calls, and what the script gives back for them.
    fn round(&mut self, content: Vec<ContentPart>, calls: Vec<ToolCall>) -> Vec<Arc<Message>> {
        let reply = MessageBody::Assistant { content, calls: calls.clone() };
        let mut messages = vec![Message { id: self.next_id(), body: reply }];
        for call in calls {
            let content = vec![ContentPart::Text(result(self.calls).into())];
            self.calls += 1;
            let body = MessageBody::Tool { call: call.id, name: call.name, content };
            messages.push(Message { id: self.next_id(), body });
        }
        messages.into_iter().map(Arc::new).collect()
    }
}

fn bootstrap(clock: BootstrapClock, time: &str) -> Bootstrap {
    let day = match clock {
        BootstrapClock::Day => "2026-11-15",
        BootstrapClock::Minute => time,
    };
    Bootstrap {
        agent: "wren".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        workspace: "~/.recto/workspace".into(),
        system: "linux".into(),
        day: day.into(),
        surface: "terminal".into(),
    }
}
