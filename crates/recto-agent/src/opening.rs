//! How a turn begins: what is gathered before its first request, and where a
//! turn goes on that another process left.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Zoned;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use recto_context::mode::{self, ModeSetting, Question};
use recto_context::{
    Audience, Body, Bootstrap, Calibration, CallId, Catalog, ContentHash, ContextMode, ItemId,
    Message, MessageId, ModeDecision, PickPlacement, RequestContext, SessionItem, Snapshot, Stamp,
    SummaryBy, Text, Tokens, TurnNumber, UserMessage, Window, has_tools,
};
use recto_llm::LlmError;
use recto_search::SearchOptions;
use recto_store::{Ending, NewTurn, Session, Turn, TurnCommit, TurnId};
use recto_tools::Approval;
use recto_workspace::{Horizon, View};

use crate::counts::Counts;
use crate::error::AgentError;
use crate::event::{Event, Finished, Totals};
use crate::items::{Mentioned, join_mentioned, without_mentions};
use crate::known::{Known, KnownSession};
use crate::mailbox::Listeners;
use crate::memories::Choosing;
use crate::options::{AgentOptions, ModelEntry, SessionSettings};
use crate::record;
use crate::recover::closing_commit;
use crate::selection::{Found, Wanted};
use crate::shared::{Shared, counter};
use crate::step::{Input, KeptCall, Outcome, TurnState};
use crate::stock::{Purpose, Stock};
use crate::stop::Stop;
use crate::turn::{Page, TurnRun, is_overtaken, stamp, visible_text};

/// Where the turns of a session are worked on.
pub(crate) struct Desk<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) memory: &'a mut KnownSession,
    pub(crate) listeners: &'a Listeners,
    pub(crate) stop: &'a Stop,
}

impl Desk<'_> {
    /// Runs a turn whose message is not stored yet, in one commit with its first
    /// request. Where that must wait (for another turn, or for a server that has
    /// to be asked for its window), the message is stored alone, and its turn
    /// handed back.
    pub(crate) async fn run_at_once(
        &mut self,
        inbound: NewTurn,
    ) -> Result<Option<TurnId>, AgentError> {
        let settings = SessionSettings::of(&inbound.settings);
        let text = visible_text(&inbound.content);
        let mut gathered =
            Gathered::read(self.shared, self.memory, &settings, &text, Purpose::Turn).await?;
        if self.shared.known_window(&gathered.entry).is_some() {
            let state = gathered.fresh_state(self.known()?, self.shared, &text).await;
            match self.run(gathered, &inbound, Place::default(), state, Input::Begin).await {
                // Only while nothing is stored: a message is never stored twice.
                Err(error) if is_overtaken(&error) && self.listeners.wait_for_ack() => {}
                ran => return ran.map(|()| None),
            }
        }
        let turn = self.shared.parts.store.accept(inbound).await?;
        self.listeners.accepted(turn.id);
        Ok(Some(turn.id))
    }

    /// Runs a turn that this process has claimed: from its beginning, or from
    /// where another process left it.
    pub(crate) async fn run_claimed(&mut self, turn: &Turn) -> Result<(), AgentError> {
        let kept = turn.state.as_ref().and_then(TurnState::read);
        let mut settings = SessionSettings::of(&turn.settings);
        if let Some(kept) = &kept {
            // Whatever was chosen since: a turn stays with its model.
            settings.model = Some(kept.model().to_owned());
        }
        let known = self.memory.refresh(&self.shared.parts.store).await?;
        let inbound = inbound_of(turn, known);
        let text = visible_text(&inbound.content);
        // A turn that was begun before has followed its mentions.
        let mentions = if turn.first_message.is_none() { &*text } else { "" };
        let mut gathered =
            Gathered::read(self.shared, self.memory, &settings, mentions, Purpose::Turn).await?;
        let known = self.known()?;
        let made = self.shared.parts.store.request_ids(turn.id).await?;
        let place = Place {
            turn: Some(turn.id),
            number: Some(turn.number),
            message: turn.first_message,
            requests: made.last().map_or(0, |(number, _)| *number),
        };
        let (state, input) = match (kept, turn.first_message) {
            (Some(kept), Some(_)) => (kept, Input::Resume),
            (_, None) => (gathered.fresh_state(known, self.shared, &text).await, Input::Begin),
            (None, Some(first)) => {
                let calls = open_calls(known.split_at(first).1);
                let fresh = gathered.fresh_state(known, self.shared, &text).await;
                (fresh.with_open_calls(calls), Input::Resume)
            }
        };
        self.run(gathered, &inbound, place, state, input).await
    }

    /// Closes a turn that can't be run, and says why. Its message is kept.
    pub(crate) async fn give_up(
        &mut self,
        turn: &Turn,
        error: &AgentError,
    ) -> Result<(), AgentError> {
        let store = &self.shared.parts.store;
        let known = self.memory.refresh(store).await?;
        let trouble = error.trouble();
        let unsaid = turn.first_message.is_none().then(|| {
            let content = inbound_of(turn, known).content;
            Body::User(UserMessage {
                content,
                stamp: Some(stamp(turn.accepted)),
                ..Default::default()
            })
        });
        let of_turn = turn.first_message.map_or(&[][..], |first| known.split_at(first).1);
        let unanswered = open_calls(of_turn);
        let results = unanswered.iter().map(|call| call.answered(Outcome::Failed));
        let told = Body::Error(Text::from(trouble.text()));
        let said = unsaid.into_iter().chain(results).chain([told]);
        let commit = closing_commit(said, known.last, Ending::Failed, Some(trouble.text()));
        store.advance(turn.id, commit).await?;
        self.listeners.emit(
            turn.id,
            Event::Finished(Finished {
                status: Ending::Failed,
                reply: None,
                error: Some(trouble),
                usage: Totals::default(),
            }),
        );
        Ok(())
    }

    fn known(&self) -> Result<&Known, AgentError> {
        self.memory.known.as_ref().ok_or(AgentError::Ended)
    }

    async fn run(
        &mut self,
        gathered: Gathered,
        inbound: &NewTurn,
        place: Place,
        state: TurnState,
        first: Input<'_>,
    ) -> Result<(), AgentError> {
        let carry = self.memory.known.as_ref().map(|known| &known.carry);
        if self.memory.previous.as_ref().map(|previous| &previous.carry) != carry {
            // A record that is damaged can't be compared with; the turn goes on.
            let last = record::last_of_session(&self.shared.parts.store, self.memory.id).await;
            self.memory.previous = last.unwrap_or_default();
        }
        let known = self.memory.known.as_mut().ok_or(AgentError::Ended)?;
        let message = place.message.unwrap_or(MessageId(known.last.0 + 1));
        let said = known.message(message).and_then(stamp_of);
        let stamp = said.unwrap_or_else(|| stamp(inbound.at));
        let (window, first) = tokio::select! {
            biased;
            window = gathered.window(self.shared, known, self.memory.previous.as_ref()) => {
                (window, first)
            }
            // Whoever stops does not want to wait for a server that may be away.
            () = self.stop.wished() => (Ok(Window::ASSUMED), Input::Stop),
        };
        let entry = gathered.entry.clone();
        let page = gathered.page(self.shared, known, window, stamp);
        let mut run = TurnRun {
            shared: self.shared,
            number: place.number.unwrap_or(TurnNumber(known.turns + 1)),
            known,
            previous: &mut self.memory.previous,
            listeners: self.listeners,
            stop: self.stop,
            inbound,
            turn: place.turn,
            state,
            entry,
            page,
            message,
            requests: place.requests,
            pending: TurnCommit::default(),
            calls: Vec::new(),
            permits: None,
            trouble: None,
            said: None,
            totals: Totals::default(),
            never_fits: false,
            fresh: None,
        };
        run.play(first).await
    }
}

/// Where a turn stands in the store.
#[derive(Debug, Default)]
struct Place {
    turn: Option<TurnId>,
    number: Option<TurnNumber>,
    message: Option<MessageId>,
    requests: u32,
}

/// What a turn needs to know before its first request.
pub(crate) struct Gathered {
    /// All that the agent has, with the memories that may be seen here.
    pub(crate) catalog: Arc<Catalog>,
    /// The same without memories: what the search of items goes by.
    items: Arc<Catalog>,
    view: Arc<View>,
    audience: Audience,
    compaction: Option<SummaryBy>,
    /// The memories for the page, once they are chosen.
    snapshot: Option<Snapshot>,
    trusted: Arc<BTreeMap<PathBuf, ContentHash>>,
    approval: Approval,
    pub(crate) entry: ModelEntry,
    pub(crate) settings: SessionSettings,
    pub(crate) calibration: Calibration,
    pub(crate) counts: Option<Arc<Counts>>,
    pub(crate) joining: Vec<SessionItem>,
    removed: Vec<ItemId>,
    notices: Vec<String>,
}

impl Gathered {
    /// Reads the session and the files at once.
    pub(crate) async fn read(
        shared: &Shared,
        memory: &mut KnownSession,
        of_turn: &SessionSettings,
        message: &str,
        purpose: Purpose,
    ) -> Result<Self, AgentError> {
        let (known, stock) =
            tokio::join!(memory.refresh(&shared.parts.store), shared.stock(purpose));
        let known = known?;
        let settings = known.settings.overridden_by(of_turn);
        let approval = settings.approval.map_or(shared.parts.tools.approval(), Approval::from);
        let (stock, approval) = match settings.unattended {
            // What is left runs without a word, or not at all.
            true => (stock.unattended(&shared.parts, approval), Approval::Never),
            false => (stock, approval),
        };
        let Stock { catalog: items, trusted, news } = stock;
        let audience = known.audience();
        let view = shared.memories.files().read(&audience, Horizon::Recent(today())).await;
        let troubles: Vec<String> = view.problems.iter().map(ToString::to_string).collect();
        let catalog = known.catalog(&items, &view);
        let mut joining = known.join(&catalog);
        let Mentioned { new, problems } = join_mentioned(message, &catalog, &mut known.items);
        joining.extend(new);
        let removed = known.removed();
        let mut entry = settings.apply(shared.model(settings.model.as_deref())?);
        let compaction = settings.compaction.map_or(shared.parts.options.compaction, Option::from);
        if compaction.is_none() {
            entry.limits.summary_tokens = Tokens::ZERO;
        }
        let calibration = shared.calibration(&entry).await?;
        let counts = shared.counts(&entry).await;
        Ok(Gathered {
            catalog,
            items,
            view,
            audience,
            compaction,
            snapshot: None,
            trusted,
            approval,
            entry,
            settings,
            calibration,
            counts,
            joining,
            removed,
            notices: match purpose {
                Purpose::Turn => {
                    let told = shared.untold(&news).into_iter();
                    told.chain(shared.untold(&troubles)).chain(problems).collect()
                }
                Purpose::Look => problems,
            },
        })
    }

    /// What search brings for a message: items and memories. The memories for the
    /// page are chosen with it.
    pub(crate) async fn find(&mut self, shared: &Shared, known: &Known, message: &str) -> Found {
        let message = &without_mentions(message);
        let options = self.search_options(shared);
        let wanted = Wanted {
            catalog: &self.items,
            entries: shared.stockroom.entries(&self.items),
            session: &known.items,
            removed: &self.removed,
            decides_mode: self.decides_mode(),
            options,
            message,
        };
        // In the layers of their kinds, memories are ranked anew for each message.
        let stays = self.entry.layout.picks != PickPlacement::InLayer;
        let before = known.carry.snapshot.clone().filter(|_| stays);
        let counter = counter(&self.calibration);
        let by = Choosing {
            limits: &self.entry.limits,
            options: &options,
            counter: &counter,
            history_from: known.carry.history_from.unwrap_or_default(),
        };
        let (mut found, chosen) = tokio::join!(
            shared.searcher.find(&wanted),
            shared.memories.choose(&self.view, message, before, &by)
        );
        self.snapshot = Some(found.add(chosen));
        found
    }

    /// Whether the message decides the mode.
    fn decides_mode(&self) -> bool {
        match self.settings.context_mode {
            Some(mode) => mode == ContextMode::Auto,
            None => self.entry.mode == ModeSetting::Auto,
        }
    }

    fn search_options(&self, shared: &Shared) -> SearchOptions {
        self.settings.search_options(shared.searcher.options())
    }

    /// The mode of a turn: decided once, by its message and what search found.
    pub(crate) fn mode(&self, known: &Known, found: &Found, message: &str) -> ModeDecision {
        mode::decide(&Question {
            setting: self.entry.mode,
            uncertain: self.entry.uncertain,
            mark: self.settings.context_mode,
            has_tools: has_tools(
                &self.catalog,
                &known.items,
                &self.removed,
                &found.picks,
                &self.entry.layout,
            ),
            found: found.for_tools.as_ref(),
            message,
        })
    }

    /// What all requests of the turn share.
    pub(crate) fn page(
        self,
        shared: &Shared,
        known: &Known,
        window: Result<Window, LlmError>,
        stamp: Stamp,
    ) -> Page {
        Page {
            window,
            bootstrap: bootstrap(&shared.parts.options, &known.session),
            stamp,
            catalog: self.catalog,
            snapshot: self.snapshot,
            summary: known.summary.clone(),
            compaction: self.compaction,
            audience: self.audience,
            trusted: self.trusted,
            approval: self.approval,
            calibration: self.calibration,
            counts: self.counts,
            joining: self.joining,
            removed: self.removed,
            notices: self.notices,
        }
    }

    /// The model's window. A server that does not answer for a moment must not
    /// cost a session its history: then the window of the last request holds, and
    /// where there is none, only a session without a history may assume one.
    pub(crate) async fn window(
        &self,
        shared: &Shared,
        known: &Known,
        previous: Option<&RequestContext>,
    ) -> Result<Window, LlmError> {
        let error = match shared.window(&self.entry).await {
            Ok(window) => return Ok(window),
            Err(error) => error,
        };
        let same_model = |request: &&RequestContext| request.model == self.entry.name;
        match previous.filter(same_model) {
            Some(previous) => Ok(previous.window),
            None if known.messages.is_empty() => Ok(Window::ASSUMED),
            None => Err(error),
        }
    }

    async fn fresh_state(&mut self, known: &Known, shared: &Shared, message: &str) -> TurnState {
        let found = self.find(shared, known, message).await;
        let mode = self.mode(known, &found, message);
        let rounds = self.settings.max_rounds.unwrap_or(shared.parts.options.max_rounds);
        TurnState::new(mode, &*self.entry.name, rounds).with_found(found)
    }
}

/// The stamp that a message was sent with: it never changes.
fn stamp_of(message: &Arc<Message>) -> Option<Stamp> {
    match &message.body {
        Body::User(user) => user.stamp.clone(),
        _ => None,
    }
}

/// What was said, as it came in. Once a turn has its message, the transcript has it.
fn inbound_of(turn: &Turn, known: &Known) -> NewTurn {
    let said = || turn.first_message.and_then(|id| known.message(id));
    let content = match &turn.inbound {
        Some(content) => content.clone(),
        None => said().map_or_else(Vec::new, |message| message.content().to_vec()),
    };
    NewTurn {
        session: turn.session,
        at: turn.accepted,
        content,
        sender: turn.sender.clone(),
        settings: turn.settings.clone(),
    }
}

/// The person's day.
pub(crate) fn today() -> Date {
    Zoned::now().date()
}

/// What the page says of where the agent runs.
fn bootstrap(options: &AgentOptions, session: &Session) -> Bootstrap {
    let began = session.created.timestamp().to_zoned(TimeZone::system());
    Bootstrap {
        agent: options.name.clone(),
        version: options.version.clone(),
        workspace: options.workspace.clone(),
        system: std::env::consts::OS.into(),
        day: began.strftime("%Y-%m-%d").to_string().into(),
        surface: session.surface.as_str().into(),
    }
}

/// Calls of a turn that have no result yet.
pub(crate) fn open_calls(messages: &[Arc<Message>]) -> Vec<KeptCall> {
    let answered = |id: &CallId, after: &[Arc<Message>]| {
        after.iter().any(|message| matches!(&message.body, Body::Tool { call, .. } if call == id))
    };
    let mut open = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let after = &messages[index + 1..];
        let unanswered = message.calls().iter().filter(|call| !answered(&call.id, after));
        open.extend(unanswered.map(KeptCall::of));
    }
    open
}
