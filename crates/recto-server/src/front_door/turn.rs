//! A turn as the client of a front door follows it: its text in one piece, the calls that are
//! the client's, and one end.
//!
//! A client that goes away stops its turn, as it would at the vendor's: nobody would read the
//! reply. While a person is asked whether a tool may run, the client waits for a while; the answer
//! comes from the terminal or the page. Then its reply ends with a notice, and the turn waits on
//! (`parked.rs`). So does one whose client goes away meanwhile: a question stays until somebody
//! answers it.

use std::time::{Duration, Instant};

use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use recto_agent::{
    Actor, Agent, AgentError, AgentResult, ClientCall, EventCursor, EventKind, EventListener,
    FinishedTurn, Inbound, NoticeFacts, SessionSettings, Submission, TurnError, TurnEvent,
    UsageTotals,
};
use recto_context::{ClientContext, ContentHash};
use recto_store::{Moment, SessionId, Store, StoredApproval, TurnId};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use super::client_list::LastMessage;
use super::conversations::{asked_hash, replied_hash};
use super::parked::{AnswerPlaces, PendingQuestions, without_notices};
use super::{ConversationIndex, DoorRequest, SESSION_HEADER, TURN_HEADER};
use crate::problem::{ApiProblem, ApiResult, turn_status};

/// How long a client hears nothing before it is told that the turn goes on.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// How long is waited before the store is asked again that did not answer.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// What stands between what the model says in two rounds of a turn.
const BETWEEN_ROUNDS: &str = "\n\n";

/// Something that happened in a turn, for its client.
#[derive(Debug)]
pub(crate) enum DoorEvent {
    /// A piece of the reply.
    Text(String),
    /// A piece of the model's reasoning.
    Thinking(String),
    /// Nothing, for a while: a tool runs, a person is asked, or the model reads.
    Waiting,
    /// The end.
    Finished(FinishedReply),
}

/// Why a reply ended where it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyEnd {
    /// Everything was said.
    Whole,
    /// At its limit of tokens.
    Cut,
    /// The model's server held the rest back.
    Withheld,
}

/// How a reply ended.
#[derive(Debug)]
pub(crate) struct FinishedReply {
    /// The calls that the client is to run.
    pub(crate) calls: Vec<ClientCall>,
    /// What the turn cost, as far as the model's server says it.
    pub(crate) usage: UsageTotals,
    /// Why it ended there.
    pub(crate) ended: ReplyEnd,
    /// The reply alone, where it has a form and something was said before it: a client that gets
    /// it whole could not read both.
    pub(crate) formed: Option<String>,
    /// How long the turn took.
    pub(crate) took: Duration,
}

/// What a client asked for that decides how its reply may end.
#[derive(Debug, Clone, Copy)]
struct ReplyWants {
    /// A reply that ends before its first word is one.
    may_be_empty: bool,
    /// Words of Recto's own would be no reply in this form.
    has_form: bool,
}

impl ReplyWants {
    fn new(settings: &SessionSettings) -> Self {
        let rules = settings.reply.as_ref();
        ReplyWants {
            may_be_empty: rules.is_some_and(|rules| !rules.stop.is_empty()),
            has_form: rules.is_some_and(|rules| rules.format.is_some()),
        }
    }
}

/// A turn that a client follows. When it is dropped before its end, the turn is stopped.
#[derive(Debug)]
pub(crate) struct DoorTurn {
    running: RunningDoorTurn,
    events: EventListener,
    began: Instant,
    /// All that was said, and what of it was said in this round.
    reply: String,
    round: String,
    ended: ReplyEnd,
    /// What the client asked for, as far as it decides how its reply may end.
    wants: ReplyWants,
    /// What a person has to answer before the turn goes on.
    questions: PendingQuestions,
    answers: AnswerPlaces,
    /// What comes after the piece that was given last.
    pending: Option<DoorEvent>,
    /// The conversation up to the reply, and where it is noted with it.
    asked: ContentHash,
    conversations: ConversationIndex,
}

impl DoorTurn {
    /// Begins a turn in the session that the request goes on with, or in a new one.
    pub(crate) async fn begin(
        store: &Store,
        conversations: &ConversationIndex,
        mut request: DoorRequest,
    ) -> ApiResult<DoorTurn> {
        let began = Instant::now();
        let asked = asked_hash(&request);
        let session = find_session(store, conversations, &request).await?;
        let goes_on = request.session.is_some() || !request.list.earlier.is_empty();
        request.list.earlier = without_notices(request.list.earlier);
        if request.list.has_made_up_ids() {
            let stored = store.messages(session, None).await?.into_iter();
            let transcript: Vec<_> = stored.map(|stored| stored.message).collect();
            request.list.adopt_ids(&transcript);
        }
        let (wants, answers) = (ReplyWants::new(&request.settings), request.answers.clone());
        let mut questions = PendingQuestions::new(store, session, request.agent.approval_wait());
        let (running, before) = submit(request, session).await?;
        let RunningDoorTurn { agent, actor, .. } = &running;
        let events = agent.listen(actor, session, EventCursor::After(before)).await?;
        if goes_on {
            // A turn before this one may wait for an answer. What can't be read now is at the next
            // look.
            let _ = questions.refresh().await;
        }
        Ok(DoorTurn {
            running,
            events,
            began,
            reply: String::new(),
            round: String::new(),
            ended: ReplyEnd::Whole,
            wants,
            questions,
            answers,
            pending: None,
            asked,
            conversations: conversations.clone(),
        })
    }

    /// The number of the turn.
    pub(crate) fn id(&self) -> TurnId {
        self.running.turn
    }

    /// Says in a reply's headers which turn of which session it is.
    pub(crate) fn sign(&self, mut response: Response) -> Response {
        let RunningDoorTurn { session, turn, .. } = &self.running;
        let signs = [(SESSION_HEADER, session.to_string()), (TURN_HEADER, turn.to_string())];
        for (name, number) in signs {
            if let Ok(number) = HeaderValue::from_str(&number) {
                response.headers_mut().insert(name, number);
            }
        }
        response
    }

    /// The answer that tells of a problem in place of a reply.
    pub(crate) fn refuse(&self, problem: ApiProblem) -> Response {
        self.sign(problem.of_turn().into_response())
    }

    /// What happens next. Nothing comes behind the end, nor behind a problem.
    pub(crate) async fn next(&mut self) -> ApiResult<DoorEvent> {
        if let Some(event) = self.pending.take() {
            return Ok(event);
        }
        loop {
            let left = self.questions.time_left().unwrap_or(KEEP_ALIVE);
            let event = match timeout(left.min(KEEP_ALIVE), self.events.next()).await {
                Ok(Some(event)) => event,
                Ok(None) => {
                    // Another process finishes it: this one is ending.
                    self.running.is_over = true;
                    return Err(self.running.goes_on_later());
                }
                Err(_) => return self.wait_on().await,
            };
            self.questions.follow(&event);
            if let Some(event) = self.follow(event)? {
                return Ok(event);
            }
        }
    }

    /// What the client hears when nothing has happened for a while: that the turn goes on, or, where
    /// a person has been asked for long enough, that it is not waited for any longer.
    async fn wait_on(&mut self) -> ApiResult<DoorEvent> {
        match (self.questions.refresh().await, self.questions.time_left()) {
            (Ok(open), Some(Duration::ZERO)) => self.park(&open),
            (Ok(_), _) => Ok(DoorEvent::Waiting),
            (Err(error), _) => {
                // The turn goes on, whether or not its questions can be read now.
                tracing::warn!(%error, "the questions of a turn can't be read");
                sleep(STORE_PAUSE).await;
                Ok(DoorEvent::Waiting)
            }
        }
    }

    /// Ends the reply, and leaves the turn as it is.
    fn park(&mut self, open: &[StoredApproval]) -> ApiResult<DoorEvent> {
        self.running.is_over = true;
        let notice = self.answers.write_notice(self.running.turn, open);
        if self.wants.has_form {
            return Err(ApiProblem::new(StatusCode::CONFLICT, "approval_pending", notice));
        }
        self.round.clear();
        let said = self.say(notice);
        let conversation = replied_hash(self.asked, &self.reply, &[]);
        self.conversations.note(conversation, self.running.session);
        self.pending = Some(DoorEvent::Finished(FinishedReply {
            calls: Vec::new(),
            usage: UsageTotals::default(),
            ended: ReplyEnd::Whole,
            formed: None,
            took: self.began.elapsed(),
        }));
        Ok(said.unwrap_or(DoorEvent::Waiting))
    }

    /// All events from this one to the end, or to the problem that ends it.
    pub(crate) fn follow_from(
        self,
        first: DoorEvent,
    ) -> impl Stream<Item = ApiResult<DoorEvent>> + Send {
        let state = Some((self, Some(first)));
        stream::unfold(state, async |state| {
            let (mut turn, first) = state?;
            let event = match first {
                Some(event) => Ok(event),
                None => turn.next().await,
            };
            let is_last = matches!(event, Err(_) | Ok(DoorEvent::Finished(_)));
            Some((event, (!is_last).then_some((turn, None))))
        })
    }

    /// What an event of the session means to the client.
    fn follow(&mut self, event: TurnEvent) -> ApiResult<Option<DoorEvent>> {
        let is_own = event.turn == Some(self.running.turn);
        Ok(match event.event {
            EventKind::Snapshot(snapshot) if is_own => {
                let more = snapshot.text.strip_prefix(&self.round).map(str::to_owned);
                more.and_then(|more| self.say(more))
            }
            EventKind::Snapshot(_) => return Err(lost_reply(self.running.turn)),
            _ if !is_own => None,
            EventKind::Requested { .. } => {
                self.round.clear();
                self.ended = ReplyEnd::Whole;
                None
            }
            EventKind::Text { text } => self.say(text),
            EventKind::Thinking { text } => Some(DoorEvent::Thinking(text)),
            EventKind::Notice(notice) => {
                match notice.facts {
                    NoticeFacts::ReplyCutOff { .. } => self.ended = ReplyEnd::Cut,
                    NoticeFacts::ReplyWithheld => self.ended = ReplyEnd::Withheld,
                    _ => {}
                }
                None
            }
            EventKind::Finished(finished) => Some(self.finish(finished)?),
            _ => None,
        })
    }

    fn say(&mut self, text: String) -> Option<DoorEvent> {
        if text.is_empty() {
            return None;
        }
        let begins_round = self.round.is_empty() && !self.reply.is_empty();
        self.round.push_str(&text);
        let text = if begins_round { format!("{BETWEEN_ROUNDS}{text}") } else { text };
        self.reply.push_str(&text);
        Some(DoorEvent::Text(text))
    }

    fn finish(&mut self, finished: FinishedTurn) -> ApiResult<DoorEvent> {
        self.running.is_over = true;
        let is_empty = |error: &TurnError| error.code == "empty_reply";
        match &finished.error {
            Some(error) if !(is_empty(error) && self.wants.may_be_empty) => {
                return Err(turn_problem(error));
            }
            _ => {}
        }
        // A reply that did not stream, or not to its end.
        let rest = finished.reply.as_deref().and_then(|reply| reply.strip_prefix(&*self.round));
        let rest = rest.map(str::to_owned).and_then(|rest| self.say(rest));
        let formed = self.wants.has_form.then(|| self.round.clone());
        let formed = formed.filter(|last| !last.is_empty() && *last != self.reply);
        for reply in [Some(&self.reply), formed.as_ref()].into_iter().flatten() {
            let conversation = replied_hash(self.asked, reply, &finished.calls);
            self.conversations.note(conversation, self.running.session);
        }
        let end = DoorEvent::Finished(FinishedReply {
            calls: finished.calls,
            usage: finished.usage,
            ended: self.ended,
            formed,
            took: self.began.elapsed(),
        });
        match rest {
            Some(text) => {
                self.pending = Some(end);
                Ok(text)
            }
            None => Ok(end),
        }
    }
}

/// A turn that is stopped when nobody follows it any more, unless it waits for an answer.
#[derive(Debug)]
struct RunningDoorTurn {
    agent: Agent,
    actor: Actor,
    session: SessionId,
    turn: TurnId,
    is_over: bool,
}

impl RunningDoorTurn {
    /// The problem of a client whose turn the server leaves to its next start.
    fn goes_on_later(&self) -> ApiProblem {
        let RunningDoorTurn { turn, session, .. } = self;
        let title = format!("turn {turn} goes on after the restart, in session {session}");
        ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "goes_on_later", title)
            .hint("its reply will be there: the same message again would be another turn")
    }
}

impl Drop for RunningDoorTurn {
    fn drop(&mut self) {
        let (false, Ok(runtime)) = (self.is_over, Handle::try_current()) else { return };
        let (agent, actor) = (self.agent.clone(), self.actor.clone());
        let (session, turn) = (self.session, self.turn);
        runtime.spawn(async move {
            let mut questions = PendingQuestions::new(agent.store(), session, Duration::ZERO);
            if questions.refresh().await.is_ok_and(|open| !open.is_empty()) {
                return;
            }
            // One that is over by now, or that can't be stopped, ends by itself.
            if let Err(error) = agent.stop_turn(&actor, session, turn).await {
                tracing::debug!(%error, %turn, "a turn whose client has left was not stopped");
            }
        });
    }
}

/// The session in which a request goes on: the one that it names, the one that holds its
/// conversation, or a new one.
async fn find_session(
    store: &Store,
    conversations: &ConversationIndex,
    request: &DoorRequest,
) -> ApiResult<SessionId> {
    let (agent, actor) = (&request.agent, &request.actor);
    if let Some(name) = &request.session {
        let named = request.conversation(name);
        return Ok(agent.find_named_or_begin(actor, &named).await?.id);
    }
    if let Some(session) = conversations.find(store, request).await? {
        return Ok(session);
    }
    // People know it by its number: a number is no name, and this one no other conversation has.
    let name = format!("{}{:03}", Moment::now().timestamp().as_microsecond(), next_number());
    Ok(agent.find_or_begin(actor, &request.conversation(&name)).await?.id)
}

/// A number that the conversations of a microsecond don't share.
fn next_number() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed) % 1_000
}

/// Hands a request in. It goes on, to be stopped, if whoever waits here leaves in the middle.
async fn submit(
    request: DoorRequest,
    session: SessionId,
) -> ApiResult<(RunningDoorTurn, recto_agent::EventNumber)> {
    let submitting = tokio::spawn(async move {
        let (agent, actor) = (request.agent.clone(), request.actor.clone());
        let Submission { turn, before, .. } = submit_list(request, session).await?;
        Ok((RunningDoorTurn { agent, actor, session, turn, is_over: false }, before))
    });
    let submitted: AgentResult<_> =
        submitting.await.unwrap_or_else(|error| Err(AgentError::Fault { what: error.to_string() }));
    Ok(submitted?)
}

/// Hands in what is new in a list: as a message, or as results that a turn waits for.
async fn submit_list(request: DoorRequest, session: SessionId) -> AgentResult<Submission> {
    let DoorRequest { agent, actor, list, tools, tool_choice, settings, .. } = request;
    if let LastMessage::Results(results) = &list.last {
        let mut inbound = Inbound::results(&actor, results.clone());
        inbound.settings = settings.clone();
        match agent.submit(session, inbound).await {
            // No turn of this session waits for them: the model is shown them all the same.
            Err(
                AgentError::UnknownCall { .. }
                | AgentError::AnsweredCall { .. }
                | AgentError::StateLost { .. }
                | AgentError::EmptyMessage,
            ) => {}
            submitted => return submitted,
        }
    }
    let list = list.with_results_said();
    let LastMessage::Said(content) = list.last else { return Err(AgentError::EmptyMessage) };
    let history = Some(list.earlier);
    let client = ClientContext { system: list.system, history, tools, tool_choice };
    let inbound =
        Inbound { content, settings, client: Some(Box::new(client)), ..Inbound::text(&actor, "") };
    agent.submit(session, inbound).await
}

/// The problem of a turn that failed, with the status that says whose fault it is.
fn turn_problem(error: &TurnError) -> ApiProblem {
    ApiProblem::new(turn_status(&error.code), &error.code, error.message.clone())
        .hint_if(error.hint.clone())
        .retry_after(error.retry_after)
}

/// The problem of a client that read so slowly that its reply is no longer at hand.
fn lost_reply(turn: TurnId) -> ApiProblem {
    let title = format!("the reply of turn {turn} was not read in time");
    ApiProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "reply_lost", title)
        .hint("the whole of it is in its session")
}
