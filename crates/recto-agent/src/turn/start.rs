//! How a turn starts: with a message that nobody has stored yet, or where another
//! process left it. Both go the same way from there: the window, what is gathered,
//! the first step.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use recto_context::{
    Audience, AudienceKind, CallId, Message, MessageBody, MessageId, RequestContext, Text,
    TurnNumber, Window, visible_text,
};
use recto_llm::LlmError;
use recto_store::{NewMessage, StartedTurn, StoredTurn, TurnCommit, TurnEnding, TurnId};
use recto_tools::ToolResult;

use super::client::{
    BroughtMessages, Continuation, TurnClient, check_waiting, read_history, reconcile_client,
};
use super::inputs::{MessageOrigin, TurnInputs, TurnModel, TurnSettings, said_before};
use super::{TurnRun, is_overtaken, stamp};
use crate::agent_catalog::{AgentCatalog, CatalogPurpose};
use crate::error::{AgentError, AgentResult};
use crate::event::EventKind;
use crate::inbound::{ArrivedMessage, Inbound};
use crate::items::without_mentions;
use crate::mailbox::TurnListeners;
use crate::options::ModelEntry;
use crate::recover::{closing_commit, unstored_message};
use crate::session_cache::{LoadedSession, SessionCache};
use crate::shared::AgentShared;
use crate::step::{EndReason, PendingCall, StepInput, TurnOpening, TurnState};
use crate::stop::StopSignal;
use crate::tally::{TallyBuilder, tally_stored_turn};
use crate::turn_usage::UsageTotals;

/// Runs the turns of a session, one at a time.
pub(crate) struct TurnRunner<'a> {
    pub(crate) shared: &'a AgentShared,
    pub(crate) session: &'a mut SessionCache,
    pub(crate) listeners: &'a TurnListeners,
    pub(crate) stop: &'a StopSignal,
}

/// Where a turn stands in the store when it is started.
#[derive(Debug, Default)]
struct StartPoint {
    /// Absent while nothing of the turn is stored.
    turn: Option<TurnId>,
    number: Option<TurnNumber>,
    /// How often it was begun before, by this process or others.
    earlier_begins: u32,
    /// The user's message, once it stands in the transcript.
    message: Option<MessageId>,
    /// How many requests the turn has made.
    requests: u32,
    /// What another process kept of it.
    state: Option<TurnState>,
    /// What the agent has, where it was read beside the session.
    catalog: Option<AgentCatalog>,
    /// What the turn counts as so far.
    tally: TallyBuilder,
    /// The turn that it goes on with, and the results that let it.
    continues: Option<(TurnId, Vec<ToolResult>)>,
}

impl TurnRunner<'_> {
    /// Runs a turn whose message is not stored yet. Where another turn stands in its
    /// way, the message is stored alone, and its turn handed back.
    pub(crate) async fn run_fresh(
        &mut self,
        message: &ArrivedMessage,
    ) -> AgentResult<Option<TurnId>> {
        let mut start = StartPoint::default();
        if self.expects_known_window(message) {
            start.catalog = Some(self.read_session_and_files().await?);
        } else {
            self.session.refresh(self.shared).await?;
        }
        self.session.loaded()?.0.must_take_message()?;
        if let Some(exchange) = &message.inbound.replaces {
            self.session.loaded()?.0.leave_out(&exchange.range());
        }
        match self.run(message, start).await {
            // Only while nothing is stored: a message is never stored twice.
            Err(error) if is_overtaken(&error) && self.listeners.awaits_ack() => {}
            ran => return ran.map(|()| None),
        }
        let turn = self.shared.parts.store.accept(message.to_store()).await?;
        self.listeners.accepted(turn.id, message);
        Ok(Some(turn.id))
    }

    /// Runs a turn that this process has claimed: from its beginning, or from
    /// where another process left it.
    pub(crate) async fn run_claimed(&mut self, turn: &StoredTurn) -> AgentResult {
        let state = turn.state.as_ref().and_then(TurnState::read);
        let catalog = self.read_session_and_files().await?;
        let (session, _) = self.session.loaded()?;
        session.must_be_first_task(turn.number)?;
        let mut message = ArrivedMessage::from_turn(turn, session);
        if let Some(state) = &state {
            // Whatever was chosen since: a turn stays with its model.
            message.inbound.settings.model = Some(state.model().to_owned());
        }
        let made = self.shared.parts.store.request_ids(turn.id).await?;
        let opening = state.as_ref().and_then(TurnState::opening);
        if turn.continues.is_some() && opening.is_none() {
            return Err(AgentError::StateLost { turn: turn.id });
        }
        let start = StartPoint {
            turn: Some(turn.id),
            number: Some(turn.number),
            earlier_begins: turn.attempts.begins.saturating_sub(1),
            message: match turn.continues {
                // Its own first message is a result.
                Some(_) => opening.map(|opening| opening.message),
                None => turn.first_message,
            },
            requests: made.last().map_or(0, |(number, _)| *number),
            state,
            catalog: Some(catalog),
            tally: tally_stored_turn(&self.shared.parts.store, turn).await,
            continues: None,
        };
        self.run(&message, start).await
    }

    /// Whether the model's window is known, by what was last read of the session. Then
    /// nothing need be stored before the files are read.
    fn expects_known_window(&mut self, message: &ArrivedMessage) -> bool {
        let shared = self.shared;
        self.session.loaded().is_ok_and(|(session, _)| {
            let chosen = TurnModel::choose(shared, session, &message.inbound.settings);
            chosen.is_ok_and(|(entry, _)| shared.known_window(&entry).is_some())
        })
    }

    /// Reads what is new of the session, and beside it the agent's files.
    async fn read_session_and_files(&mut self) -> AgentResult<AgentCatalog> {
        let files = self.shared.catalog(CatalogPurpose::Turn);
        let (session, catalog) = tokio::join!(self.session.refresh(self.shared), files);
        session?;
        Ok(catalog)
    }

    /// Closes a turn that can't be run, and says why. Its message is kept.
    pub(crate) async fn give_up(&mut self, turn: &StoredTurn, error: &AgentError) -> AgentResult {
        let session = self.session.refresh(self.shared).await?;
        let error = error.to_turn_error();
        let unstored = unstored_message(turn, &session.audience());
        let of_turn = turn.first_message.map_or(&[][..], |first| session.split_at(first).1);
        let unanswered = open_calls(of_turn);
        let results = unanswered.iter().map(|call| call.closing_result(EndReason::Failed));
        let notice = MessageBody::Error(Text::from(error.text()));
        let messages = unstored.into_iter().chain(results).chain([notice]);
        let mut commit =
            closing_commit(messages, session.last, TurnEnding::Failed, Some(error.text()));
        commit.tally = Some(tally_stored_turn(&self.shared.parts.store, turn).await.into_tally());
        commit.begun = Some(turn.attempts.begins);
        self.shared.parts.store.advance(turn.id, commit).await?;
        self.listeners.emit(turn.id, EventKind::without_reply(TurnEnding::Failed, error));
        Ok(())
    }

    /// Runs a turn of the session that was just read: resolves the window, gathers,
    /// and goes on from there.
    async fn run(&mut self, message: &ArrivedMessage, mut start: StartPoint) -> AgentResult {
        let (session, _) = self.session.loaded()?;
        let history_from = session.carry.history_from;
        start.find_continuation(self.shared, session, message).await?;
        let chosen = start.choose_model(self.shared, session, message)?;
        chosen.0.check_images(&message.inbound.content).await?;
        chosen.0.check_rules()?;
        if start.turn.is_none() && self.shared.known_window(&chosen.0).is_none() {
            // A server is about to be asked, which may take long: no message waits
            // for that to be stored. Otherwise it is stored with the first request.
            let begun = self.store_alone(message).await?;
            (start.turn, start.number) = (Some(begun.turn), Some(begun.number));
        }
        let window = self.wait_for_window(&chosen.0).await?;
        let is_stopped = window.is_none();
        let model =
            TurnModel::prepare(self.shared, chosen, window.unwrap_or(Ok(Window::ASSUMED))).await?;
        let text = visible_text(&message.inbound.content);
        let (mut inputs, brought) = self.gather(message, &text, &mut start, model).await?;
        let (session, previous) = self.session.loaded()?;
        let next = session.last.0 + brought.0.len() as u64 + 1;
        let id = start.message.unwrap_or(MessageId(next));
        let number = start.number.unwrap_or(TurnNumber(session.turns + 1));
        let (state, first) = first_step(self.shared, session, &mut inputs, &mut start, &text).await;
        let state = with_opening(state, &inputs, TurnOpening { message: id, number });
        let (continues, results) = start.continues.unzip();
        let mut run = TurnRun {
            shared: self.shared,
            number,
            session,
            previous,
            listeners: self.listeners,
            stop: self.stop,
            arrived: message,
            turn_id: start.turn,
            begun: start.earlier_begins + 1,
            state,
            inputs,
            message_id: id,
            requests: start.requests,
            pending: pending_start(brought, continues, message),
            calls: Vec::new(),
            permits: None,
            unrecorded: Vec::new(),
            error: None,
            reply_text: None,
            usage: UsageTotals::default(),
            never_fits: false,
            fresh_tokens: None,
            tally: std::mem::take(&mut start.tally),
        };
        run.store_results(results.unwrap_or_default());
        run.run_to_end(if is_stopped { StepInput::Stop } else { first }).await?;
        if session.carry.history_from < history_from {
            // The client has gone back to messages that had left, and were let go.
            self.session.forget();
        }
        Ok(())
    }

    /// Gathers what the turn's requests are made of, and what its client brought along.
    async fn gather(
        &mut self,
        message: &ArrivedMessage,
        text: &str,
        start: &mut StartPoint,
        model: TurnModel,
    ) -> AgentResult<(TurnInputs, BroughtMessages)> {
        let (session, previous) = self.session.loaded()?;
        // A turn that was begun before has followed its mentions.
        let mentions = if start.message.is_none() { text } else { "" };
        let origin = start.origin(session, message, mentions);
        let catalog = catalog_of(self.shared, start.catalog.take());
        let mut inputs = TurnInputs::gather(self.shared, session, model, origin, catalog).await;
        session.must_have_sub_agent(&inputs.catalog)?;
        let brought =
            start.set_client(self.shared, session, message, &mut inputs, previous.as_ref()).await?;
        let history = inputs.client.history.clone();
        inputs.adapt_to_images(history.as_deref().unwrap_or(&session.messages)).await;
        inputs.adapt_to_images(&brought.0).await;
        Ok((inputs, brought))
    }

    /// The model's window. Whoever stops does not want to wait for a server that may be away:
    /// then there is none.
    async fn wait_for_window(
        &mut self,
        entry: &ModelEntry,
    ) -> AgentResult<Option<Result<Window, LlmError>>> {
        self.session.load_previous(self.shared).await;
        let (session, previous) = self.session.loaded()?;
        Ok(tokio::select! {
            biased;
            window = resolve_window(self.shared, entry, session, previous.as_ref()) => Some(window),
            () = self.stop.requested() => None,
        })
    }

    /// Stores a message as a turn that runs, with nothing else in it yet.
    async fn store_alone(&mut self, message: &ArrivedMessage) -> AgentResult<StartedTurn> {
        let (session, _) = self.session.loaded()?;
        let commit = TurnCommit { basis: Some(session.basis()), ..TurnCommit::default() };
        let begun = self.shared.parts.store.begin(message.to_store(), commit).await?;
        self.listeners.accepted(begun.turn, message);
        Ok(begun)
    }
}

impl StartPoint {
    /// Finds the turn that a client's results go on with, where they come alone.
    async fn find_continuation(
        &mut self,
        shared: &AgentShared,
        session: &LoadedSession,
        message: &ArrivedMessage,
    ) -> AgentResult {
        let results = &message.inbound.results;
        if self.message.is_some() || results.is_empty() {
            return Ok(());
        }
        if !message.inbound.continues_turn() {
            return check_waiting(shared, session, results).await;
        }
        let Continuation { turn, state, results } =
            Continuation::find(shared, session, results).await?;
        let opening = state.opening().map(|opening| opening.message);
        self.message = opening.or(turn.first_message);
        self.state = Some(state);
        self.tally = TallyBuilder::of_continuation();
        self.continues = Some((turn.id, results));
        Ok(())
    }

    /// Who says the message, and when: as it was sent once, or else as it comes in.
    fn origin<'a>(
        &self,
        session: &LoadedSession,
        message: &'a ArrivedMessage,
        mentions: &'a str,
    ) -> MessageOrigin<'a> {
        let actor = &message.inbound.actor;
        let sent = self.message.and_then(|id| session.message(id));
        let (sent_stamp, speaker) = match sent.map(|stored| &stored.body) {
            Some(MessageBody::User(user)) => (user.stamp.clone(), user.speaker.clone()),
            _ => (None, actor.speaker(&session.audience())),
        };
        let stamp = sent_stamp.unwrap_or_else(|| stamp(message.at));
        MessageOrigin { mentions, actor, stamp, speaker }
    }

    /// The model that answers: whatever was chosen since, a turn that goes on stays with its
    /// own.
    fn choose_model(
        &self,
        shared: &AgentShared,
        session: &LoadedSession,
        message: &ArrivedMessage,
    ) -> AgentResult<(ModelEntry, TurnSettings)> {
        let mut settings = message.inbound.settings.clone();
        if let (Some(_), Some(state)) = (&self.continues, &self.state) {
            settings.model = Some(state.model().to_owned());
        }
        TurnModel::choose(shared, session, &settings)
    }

    /// Puts what a client brought among the inputs: with its message, or as the last request
    /// showed it. Gives what is to be stored in front of the message.
    async fn set_client(
        &self,
        shared: &AgentShared,
        session: &LoadedSession,
        message: &ArrivedMessage,
        inputs: &mut TurnInputs,
        previous: Option<&RequestContext>,
    ) -> AgentResult<BroughtMessages> {
        let Inbound { client: context, results, .. } = &message.inbound;
        let context = context.as_deref();
        let tools = context.map(|context| context.tool_specs(&inputs.catalog));
        let Some(state) = self.state.as_ref().filter(|_| self.message.is_some()) else {
            let tools = tools.unwrap_or_default();
            let (client, brought) =
                reconcile_client(shared, session, context, results, tools).await?;
            inputs.set_client(client);
            return Ok(brought);
        };
        let mut client = previous.map(TurnClient::from_request).unwrap_or_default();
        if let (Some(context), Some(tools)) = (context, tools) {
            (client.system, client.tools) = (context.system_texts(), tools);
        }
        client.history = read_history(shared, session, state).await?;
        inputs.set_client(client);
        Ok(BroughtMessages::default())
    }
}

/// The state with what it needs for another turn to go on with this one.
fn with_opening(state: TurnState, inputs: &TurnInputs, opening: TurnOpening) -> TurnState {
    if state.opening().is_some() {
        return state;
    }
    let history = inputs.client.history.as_ref();
    let ranges = history.map(|history| history.iter().map(|message| message.id).collect());
    state.with_opening(opening).with_client_history(ranges)
}

/// What the first commit of a turn stores beside its messages.
fn pending_start(
    brought: BroughtMessages,
    continues: Option<TurnId>,
    message: &ArrivedMessage,
) -> TurnCommit {
    let new = |brought| NewMessage { message: brought, at: message.at };
    let brought = brought.0.into_iter().map(new).collect();
    TurnCommit { brought, continues, ..TurnCommit::default() }
}

/// The agent's catalog: as it was read beside the session, or else read now.
async fn catalog_of(shared: &AgentShared, read: Option<AgentCatalog>) -> AgentCatalog {
    match read {
        Some(catalog) => catalog,
        None => shared.catalog(CatalogPurpose::Turn).await,
    }
}

/// The state of the turn and its first input. A turn that nobody has begun is
/// searched for.
async fn first_step(
    shared: &AgentShared,
    session: &LoadedSession,
    inputs: &mut TurnInputs,
    start: &mut StartPoint,
    text: &str,
) -> (TurnState, StepInput<'static>) {
    if let (Some(_), Some(state)) = (start.message, start.state.take()) {
        let goes_on = start.continues.is_some();
        let input = if goes_on { StepInput::Results } else { StepInput::Resume };
        return (state.with_wish_of(text), input);
    }
    let earlier = start.message.map_or(&*session.messages, |first| session.split_at(first).0);
    // What a client brings is all that was said.
    let said = inputs.client.history.as_deref().unwrap_or(earlier);
    let said = said.iter().map(|message| &**message);
    let before = said_before(&without_mentions(text), said, inputs.speaker.as_ref());
    let found = inputs.search(shared, session, text, before.as_ref()).await;
    let mode = inputs.decide_mode(session, &found, text);
    let usual = shared.parts.options.max_rounds;
    let rounds = most_rounds(&inputs.rights.audience, inputs.model.settings.max_rounds, usual);
    let fresh = TurnState::new(mode, &*inputs.model.entry.name, rounds).with_found(found);
    match start.message {
        None => (fresh, StepInput::Begin),
        Some(first) => {
            let calls = open_calls(session.split_at(first).1);
            (fresh.with_open_calls(calls), StepInput::Resume)
        }
    }
}

/// How many rounds of calls a turn has at most: as many as its session says, in a guest's at most as
/// many as the agent usually has.
fn most_rounds(audience: &Audience, set: Option<u32>, usual: u32) -> u32 {
    match (set, audience.who) {
        (Some(set), AudienceKind::Guest) => set.min(usual),
        (set, _) => set.unwrap_or(usual),
    }
}

/// Resolves the model's window. A server that does not answer for a moment must not
/// cost a session its history: then the window of the last request holds, and
/// where there is none, only a session without a history may assume one.
pub(crate) async fn resolve_window(
    shared: &AgentShared,
    entry: &ModelEntry,
    session: &LoadedSession,
    previous: Option<&RequestContext>,
) -> Result<Window, LlmError> {
    let error = match shared.window(entry).await {
        Ok(window) => return Ok(window),
        Err(error) => error,
    };
    match previous.filter(|request| request.model == entry.name) {
        Some(previous) => Ok(previous.window),
        None if session.messages.is_empty() => Ok(Window::ASSUMED),
        None => Err(error),
    }
}

/// Calls of a turn that have no result yet.
pub(crate) fn open_calls(messages: &[Arc<Message>]) -> Vec<PendingCall> {
    let answered = |id: &CallId, after: &[Arc<Message>]| {
        after.iter().any(|message| message.answered_call() == Some(id))
    };
    let mut open = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let after = &messages[index + 1..];
        let unanswered = message.calls().iter().filter(|call| !answered(&call.id, after));
        open.extend(unanswered.map(PendingCall::from_call));
    }
    open
}
