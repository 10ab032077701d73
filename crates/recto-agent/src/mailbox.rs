//! A task for each session that is being talked to: one turn at a time, in the
//! order in which the messages came. Other sessions have tasks of their own and
//! wait for none of it.
//!
//! A message that finds the session idle is stored in one commit with its first
//! request. One that comes while a turn runs is stored at once, and waits.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use recto_llm::LlmError;
use recto_store::{
    Moment, SessionId, StoreError, StoreResult, StoredTurn, TurnEnding, TurnId, TurnOwner,
    TurnStatus,
};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::access::admit_message;
use crate::actor::Actor;
use crate::error::{AgentError, AgentResult};
use crate::event::EventKind;
use crate::event_stream::{EventStream, TurnHold};
use crate::inbound::{ArrivedMessage, Inbound};
use crate::notice::NoticeFacts;
use crate::preview::{RequestPreview, preview_request};
use crate::recover::{close_unbegun, reason_to_close};
use crate::session_cache::SessionCache;
use crate::shared::{AgentShared, WorkGuard};
use crate::step::EndReason;
use crate::stop::StopSignal;
use crate::turn::TurnRunner;
use crate::turn_gate::GatePass;
use crate::turn_relay::TurnRelay;

/// How long a task waits for the next message before it ends.
const IDLE: Duration = Duration::from_secs(300);
/// How often the store is looked at for a wish to stop what runs here.
const STOP_INTERVAL: Duration = Duration::from_secs(1);
/// How often those who follow a turn in another process are told how it stands.
const RELAY_INTERVAL: Duration = Duration::from_millis(250);
/// How long a turn waits for a store that can't be had, from one try to the next: at first, and at
/// most. Each time that it is begun in vain the model is asked for what is not kept.
const STORE_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_STORE_PAUSE: Duration = Duration::from_secs(60);
/// How often a turn that another process runs is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The way to a session's task.
#[derive(Debug)]
pub(crate) struct Mailbox {
    post: mpsc::UnboundedSender<MailboxItem>,
    running: RunningTurn,
    task: JoinHandle<()>,
}

/// How to stop the turn that runs, if one does.
type RunningTurn = Arc<Mutex<Option<Arc<StopSignal>>>>;

/// Tells the sender that the message is stored, or why not.
pub(crate) type AckSender = oneshot::Sender<AgentResult<TurnId>>;

/// What a session's task is given to do.
#[derive(Debug)]
pub(crate) enum MailboxItem {
    /// A message that nobody has stored yet.
    Message(Box<ArrivedMessage>, AckSender, WorkGuard),
    /// A turn that is stored already, and that its process left unfinished.
    Open(TurnHold, WorkGuard),
    /// A question what a model would be sent.
    Preview(Box<Inbound>, PreviewSender),
    /// The word that the store has a wish to stop a turn, to be looked for at once.
    LookForStop,
}

/// Takes the answer to the question what a model would be sent.
pub(crate) type PreviewSender = oneshot::Sender<AgentResult<RequestPreview>>;

impl Mailbox {
    /// Starts the session's task. `forget` is called when it has been idle for
    /// long; it says whether the task may end.
    pub(crate) fn start(
        shared: Arc<AgentShared>,
        session: SessionId,
        forget: impl Fn(&mut mpsc::UnboundedReceiver<MailboxItem>) -> Option<MailboxItem>
        + Send
        + 'static,
    ) -> Self {
        let (post, mail) = mpsc::unbounded_channel();
        let running = RunningTurn::default();
        let task = MailboxTask {
            events: shared.streams.of_session(session),
            shared,
            session: SessionCache::new(session),
            queue: VecDeque::new(),
            running: running.clone(),
        };
        let task = tokio::spawn(task.serve(mail, forget));
        Mailbox { post, running, task }
    }

    /// Hands in mail. The task is there as long as the mailbox is.
    pub(crate) fn post(&self, mail: MailboxItem) {
        // A task that is gone drops the mail, and with it the sender of its
        // answer, which tells the one who waits for it.
        let _ = self.post.send(mail);
    }

    /// Whether the task has ended, as it does when something in it panics.
    pub(crate) fn is_closed(&self) -> bool {
        self.post.is_closed()
    }

    /// Whether a turn runs.
    pub(crate) fn has_running(&self) -> bool {
        self.running.lock().is_some()
    }

    /// Stops the turn that runs, and says whether one did.
    pub(crate) fn stop(&self, actor: &Actor) -> bool {
        let running = self.running.lock();
        running.as_ref().inspect(|stop| stop.request_by(actor)).is_some()
    }

    /// Drops the task where it stands, as if the process were killed. What is given
    /// back ends when all of it is gone.
    pub(crate) fn abort(self) -> JoinHandle<()> {
        self.task.abort();
        self.task
    }
}

/// The listeners of a turn: whoever sent its message, and whoever watches.
#[derive(Debug)]
pub(crate) struct TurnListeners {
    session: SessionId,
    events: Arc<EventStream>,
    waiting: Mutex<AwaitedStage>,
    /// The turn, from when it is stored until all is told of it.
    held: Mutex<Option<TurnHold>>,
    /// Rings when the message is stored.
    stored: Notify,
}

/// What the sender of a message waits for.
#[derive(Debug)]
enum AwaitedStage {
    /// The word that the message is stored.
    ForAck(AckSender),
    /// The end of the turn.
    ForEnd(TurnId),
}

impl TurnListeners {
    fn new(events: &Arc<EventStream>, session: SessionId, waiting: AwaitedStage) -> Self {
        let (events, waiting) = (events.clone(), Mutex::new(waiting));
        TurnListeners { session, events, waiting, held: Mutex::default(), stored: Notify::new() }
    }

    /// Tells that the message is stored, unless that was told.
    pub(crate) fn accepted(&self, turn: TurnId, message: &ArrivedMessage) {
        let before = std::mem::replace(&mut *self.waiting.lock(), AwaitedStage::ForEnd(turn));
        if let AwaitedStage::ForAck(ack) = before {
            *self.held.lock() = Some(self.events.hold(turn));
            self.emit(turn, EventKind::Accepted);
            if let Some(exchange) = &message.inbound.replaces {
                self.emit(turn, exchange.event(&message.inbound.actor));
            }
            let _ = ack.send(Ok(turn));
            self.stored.notify_one();
        }
    }

    /// The turn, once its message is stored.
    fn turn(&self) -> Option<TurnId> {
        match *self.waiting.lock() {
            AwaitedStage::ForAck(_) => None,
            AwaitedStage::ForEnd(turn) => Some(turn),
        }
    }

    /// Whether the message is not stored yet.
    pub(crate) fn awaits_ack(&self) -> bool {
        matches!(*self.waiting.lock(), AwaitedStage::ForAck(_))
    }

    /// Tells of what went wrong and could not be stored. Whoever waits hears of
    /// it: as the answer to the message, or as the end of its turn.
    fn failed(self, error: AgentError) {
        let TurnListeners { events, waiting, held: _held, .. } = self;
        match waiting.into_inner() {
            AwaitedStage::ForAck(ack) => {
                let _ = ack.send(Err(error));
            }
            AwaitedStage::ForEnd(turn) => {
                let event = EventKind::without_reply(TurnEnding::Failed, error.to_turn_error());
                events.publish(turn, event);
            }
        }
    }

    /// Sends an event of a turn to whoever listens.
    pub(crate) fn emit(&self, turn: TurnId, event: EventKind) {
        self.events.publish(turn, event);
    }

    /// Whether what is told now is heard.
    pub(crate) fn is_anybody_there(&self) -> bool {
        self.events.is_anybody_there()
    }
}

/// A turn to be run, and who waits for it.
struct QueuedTurn {
    origin: TurnOrigin,
    waiting: AwaitedStage,
    work: WorkGuard,
}

/// Where a turn comes from: a message that is not stored yet, or the store.
enum TurnOrigin {
    Fresh(Box<ArrivedMessage>),
    Open(TurnHold),
    /// A turn that this task has run until the store could not be had, and how long it waits.
    Unwritten(TurnHold, Duration),
}

impl TurnOrigin {
    /// How long the turn waits where the store can't be had now.
    fn store_pause(&self) -> Duration {
        match self {
            TurnOrigin::Fresh(_) | TurnOrigin::Open(_) => STORE_PAUSE,
            TurnOrigin::Unwritten(_, pause) => (*pause * 2).min(LONGEST_STORE_PAUSE),
        }
    }
}

impl QueuedTurn {
    fn fresh(message: Box<ArrivedMessage>, ack: AckSender, guard: WorkGuard) -> Self {
        let (origin, waiting) = (TurnOrigin::Fresh(message), AwaitedStage::ForAck(ack));
        QueuedTurn { origin, waiting, work: guard }
    }

    fn open(turn: TurnHold, guard: WorkGuard) -> Self {
        let waiting = AwaitedStage::ForEnd(turn.turn());
        QueuedTurn { origin: TurnOrigin::Open(turn), waiting, work: guard }
    }

    fn unwritten(turn: TurnHold, pause: Duration, guard: WorkGuard) -> Self {
        let waiting = AwaitedStage::ForEnd(turn.turn());
        QueuedTurn { origin: TurnOrigin::Unwritten(turn, pause), waiting, work: guard }
    }
}

/// The task that runs a session's turns.
struct MailboxTask {
    shared: Arc<AgentShared>,
    session: SessionCache,
    queue: VecDeque<QueuedTurn>,
    events: Arc<EventStream>,
    running: RunningTurn,
}

impl MailboxTask {
    async fn serve(
        mut self,
        mut mail: mpsc::UnboundedReceiver<MailboxItem>,
        forget: impl Fn(&mut mpsc::UnboundedReceiver<MailboxItem>) -> Option<MailboxItem>,
    ) {
        // What has not begun when the agent is shut down stays in the store.
        while !self.shared.closing.is_requested() {
            if let Some(work) = self.queue.pop_front() {
                self.work(work, &mut mail).await;
                continue;
            }
            let arrived = tokio::select! {
                () = self.shared.closing.requested() => return,
                arrived = tokio::time::timeout(IDLE, mail.recv()) => arrived,
            };
            let arrived = match arrived {
                Ok(arrived) => arrived,
                Err(_) => forget(&mut mail),
            };
            match arrived {
                Some(MailboxItem::Message(message, ack, guard)) => {
                    self.work(QueuedTurn::fresh(message, ack, guard), &mut mail).await;
                }
                Some(MailboxItem::Open(turn, guard)) => {
                    self.work(QueuedTurn::open(turn, guard), &mut mail).await;
                }
                Some(MailboxItem::Preview(inbound, answer)) => {
                    let asked = preview_request(&self.shared, &mut self.session, &inbound).await;
                    let _ = answer.send(asked);
                }
                // Nothing runs that it could be about.
                Some(MailboxItem::LookForStop) => {}
                None => return self.give_back(),
            }
        }
    }

    /// Gives back what others hold for a session that has been idle for long.
    fn give_back(&self) {
        self.events.forget_finished();
        if let Some(files) = &self.shared.session_files {
            files.forget(self.session.id);
        }
    }

    /// Runs one turn, and tells whoever waits when it went wrong.
    async fn work(&mut self, work: QueuedTurn, mail: &mut mpsc::UnboundedReceiver<MailboxItem>) {
        let stop = Arc::new(StopSignal::default());
        *self.running.lock() = Some(stop.clone());
        let QueuedTurn { origin, waiting, work } = work;
        let listeners = TurnListeners::new(&self.events, self.session.id, waiting);
        let pause = origin.store_pause();
        let ran = self.run(&listeners, &stop, origin, mail).await;
        *self.running.lock() = None;
        let Err(error) = ran else { return };
        // What is known may not be what is stored any more.
        self.session.forget();
        match listeners.turn() {
            Some(turn) if is_out_of_reach(&error) => {
                tracing::warn!(%turn, %error, "a turn is begun again when the store can be written");
                let unwritten = QueuedTurn::unwritten(self.events.hold(turn), pause, work);
                self.queue.push_front(unwritten);
            }
            // Whoever has it goes on with it, and its end is told from there.
            Some(turn) if is_taken_over(&error) => {
                tracing::warn!(%turn, "another process goes on with a turn of this one");
            }
            _ => listeners.failed(error),
        }
    }

    /// Runs a turn, and meanwhile stores what else comes in. What came behind a
    /// message that is not stored yet waits for that, so that the order stays.
    async fn run(
        &mut self,
        listeners: &TurnListeners,
        stop: &StopSignal,
        origin: TurnOrigin,
        mail: &mut mpsc::UnboundedReceiver<MailboxItem>,
    ) -> AgentResult {
        let shared = &self.shared;
        let mut runner = TurnRunner { shared, session: &mut self.session, listeners, stop };
        let mut stored = !matches!(origin, TurnOrigin::Fresh(_));
        let turn = run(&mut runner, origin);
        tokio::pin!(turn);
        let mut open = true;
        let mut closing = false;
        let mut ended = None;
        let mut looks = interval_at(Instant::now() + STOP_INTERVAL, STOP_INTERVAL);
        let mut relay = TurnRelay::default();
        let mut relays = interval_at(Instant::now() + RELAY_INTERVAL, RELAY_INTERVAL);
        relays.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if let Some(ran) = ended {
                return ran;
            }
            let arrived = tokio::select! {
                ran = &mut turn => return ran,
                () = shared.closing.requested(), if !closing => {
                    closing = true;
                    self.queue.clear();
                    continue;
                }
                () = listeners.stored.notified(), if !stored => {
                    stored = true;
                    continue;
                }
                _ = looks.tick() => Some(MailboxItem::LookForStop),
                _ = relays.tick(), if relay.is_followed() => {
                    let write = relay.write(shared, &self.events);
                    beside(turn.as_mut(), &mut ended, write).await;
                    continue;
                }
                arrived = mail.recv(), if open && stored => arrived,
            };
            match arrived {
                Some(MailboxItem::LookForStop) => {
                    let look = relay.look_for_wishes(shared, listeners.session, stop);
                    beside(turn.as_mut(), &mut ended, look).await;
                }
                // Whoever waits for its answer hears that there will be none.
                Some(_) if closing => {}
                Some(MailboxItem::Message(message, ack, guard)) => {
                    let accept = accept(shared, &self.events, &message, ack);
                    let accepted = beside(turn.as_mut(), &mut ended, accept).await;
                    let hold = |turn| QueuedTurn::open(self.events.hold(turn), guard);
                    self.queue.extend(accepted.map(hold));
                }
                Some(MailboxItem::Open(turn, guard)) => {
                    self.queue.push_back(QueuedTurn::open(turn, guard));
                }
                Some(MailboxItem::Preview(inbound, answer)) => {
                    // What the turn knows of the session is in use, and it goes on meanwhile.
                    let (shared, mut session) =
                        (shared.clone(), SessionCache::new(listeners.session));
                    tokio::spawn(async move {
                        let _ = answer.send(preview_request(&shared, &mut session, &inbound).await);
                    });
                }
                None => open = false,
            }
        }
    }
}

/// Does an errand while the turn goes on; how that ended is kept. A turn that stood still meanwhile
/// would hold what the errand may need.
async fn beside<T>(
    mut turn: Pin<&mut impl Future<Output = AgentResult>>,
    ended: &mut Option<AgentResult>,
    errand: impl Future<Output = T>,
) -> T {
    tokio::pin!(errand);
    loop {
        tokio::select! {
            done = &mut errand => return done,
            ran = turn.as_mut(), if ended.is_none() => *ended = Some(ran),
        }
    }
}

/// Stores a message that has to wait.
async fn accept(
    shared: &AgentShared,
    events: &Arc<EventStream>,
    message: &ArrivedMessage,
    ack: AckSender,
) -> Option<TurnId> {
    let listeners = TurnListeners::new(events, message.session, AwaitedStage::ForAck(ack));
    let accepted = async {
        admit_message(shared, message).await?;
        Ok(shared.parts.store.accept(message.to_store()).await?)
    };
    match accepted.await {
        Ok(turn) => {
            listeners.accepted(turn.id, message);
            Some(turn.id)
        }
        Err(error) => {
            listeners.failed(error);
            None
        }
    }
}

/// Runs a turn to its end. An error means that the store did not take something.
async fn run(runner: &mut TurnRunner<'_>, origin: TurnOrigin) -> AgentResult {
    let mut _held = None;
    let turn = match origin {
        TurnOrigin::Open(turn) => Some(_held.insert(turn).turn()),
        TurnOrigin::Unwritten(turn, pause) => {
            let turn = _held.insert(turn).turn();
            match wait_for_store(runner, pause).await {
                WaitOutcome::Enough | WaitOutcome::Stopped => Some(turn),
                WaitOutcome::Closing => None,
            }
        }
        TurnOrigin::Fresh(message) => {
            admit_message(runner.shared, &message).await?;
            let ran = AssertUnwindSafe(runner.run_fresh(&message)).catch_unwind().await;
            ran.map_err(|panic| fault(&*panic))??
        }
    };
    match turn {
        Some(turn) => run_when_free(runner, turn).await,
        None => Ok(()),
    }
}

/// Waits until the turns before this one are over, then runs it. One that its
/// process left unfinished is finished here.
async fn run_when_free(runner: &mut TurnRunner<'_>, id: TurnId) -> AgentResult {
    let store = runner.shared.parts.store.clone();
    let _held = runner.shared.streams.hold(id);
    loop {
        let turn = match store.take_over(id).await {
            Ok(turn) => turn,
            // Another process has it, or it is over.
            Err(StoreError::NotOurs { .. } | StoreError::WrongStatus { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if let Some(reason) = reason_to_close(&turn) {
            return close_turn(runner, &turn, reason).await;
        }
        if runner.shared.gate.pass(turn.session, runner.stop).await == GatePass::Stopped {
            return close_turn(runner, &turn, EndReason::Stopped).await;
        }
        if turn.status == TurnStatus::Running {
            let turn = store.begin_again(id).await?;
            return run_claimed(runner, &turn).await;
        }
        match store.claim(id, Moment::now()).await {
            Ok(turn) => return run_claimed(runner, &turn).await,
            Err(StoreError::Busy { turn: older, owner: TurnOwner::Elsewhere }) => {
                if wait_for(runner, id, older).await? == WaitOutcome::Stopped {
                    return close_turn(runner, &turn, EndReason::Stopped).await;
                }
            }
            Err(StoreError::Busy { turn: older, .. }) => {
                Box::pin(run_when_free(runner, older)).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Why a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitOutcome {
    /// The way is free, or may be.
    Enough,
    /// The person would not wait any longer.
    Stopped,
    /// The agent is shut down: the next start goes on.
    Closing,
}

/// Waits until the store can be written, as far as can be told.
async fn wait_for_store(runner: &TurnRunner<'_>, pause: Duration) -> WaitOutcome {
    let shared = runner.shared;
    loop {
        tokio::select! {
            () = runner.stop.requested() => return WaitOutcome::Stopped,
            () = shared.closing.requested() => return WaitOutcome::Closing,
            () = tokio::time::sleep(pause) => {}
        }
        if shared.parts.store.check_writable().await.is_ok() {
            return WaitOutcome::Enough;
        }
    }
}

/// Waits until another process is done with an older turn, or has ended.
async fn wait_for(
    runner: &TurnRunner<'_>,
    turn: TurnId,
    older: TurnId,
) -> StoreResult<WaitOutcome> {
    let notice = NoticeFacts::WaitsForProcess { older };
    runner.listeners.emit(turn, EventKind::Notice(notice.into()));
    let store = &runner.shared.parts.store;
    while store.turn(older).await?.is_some_and(|turn| turn.owner == Some(TurnOwner::Elsewhere)) {
        tokio::select! {
            () = runner.stop.requested() => return Ok(WaitOutcome::Stopped),
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
    }
    Ok(WaitOutcome::Enough)
}

/// Closes a turn of this process instead of beginning it.
async fn close_turn(runner: &TurnRunner<'_>, turn: &StoredTurn, reason: EndReason) -> AgentResult {
    let (ending, error) = close_unbegun(&runner.shared.parts.store, turn, reason).await?;
    runner.listeners.emit(turn.id, EventKind::without_reply(ending, error));
    Ok(())
}

/// Runs a turn that is this process's. One that can never be run (the model that
/// it is for is gone, its record is damaged, it makes Recto panic) is closed: it
/// would stand in the way for ever.
async fn run_claimed(runner: &mut TurnRunner<'_>, turn: &StoredTurn) -> AgentResult {
    match AssertUnwindSafe(runner.run_claimed(turn)).catch_unwind().await {
        Ok(Err(error)) if is_hopeless(&error) => runner.give_up(turn, &error).await,
        Ok(ran) => ran,
        Err(panic) => runner.give_up(turn, &fault(&*panic)).await,
    }
}

/// Whether the store could not be had, and may be later. Nothing is known then of how far the turn
/// is in it.
fn is_out_of_reach(error: &AgentError) -> bool {
    matches!(
        error,
        AgentError::Store(
            StoreError::Unreachable { .. } | StoreError::Locked { .. } | StoreError::Full { .. }
        )
    )
}

/// Whether another process has the turn by now, or has ended it.
fn is_taken_over(error: &AgentError) -> bool {
    matches!(
        error,
        AgentError::Store(
            StoreError::NotOurs { .. }
                | StoreError::BegunAgain { .. }
                | StoreError::WrongStatus { .. }
        )
    )
}

/// Whether trying again would end the same way.
fn is_hopeless(error: &AgentError) -> bool {
    matches!(
        error,
        AgentError::NoModel
            | AgentError::NoSuchModel { .. }
            | AgentError::NoImages { .. }
            | AgentError::Model { error: LlmError::ReplyFormat { .. }, .. }
            | AgentError::UnknownCall { .. }
            | AgentError::AnsweredCall { .. }
            | AgentError::MissingResults { .. }
            | AgentError::StateLost { .. }
            | AgentError::SubAgentOff { .. }
            | AgentError::OneTask { .. }
            | AgentError::Store(StoreError::Damaged { .. })
    )
}

fn fault(panic: &(dyn Any + Send)) -> AgentError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    AgentError::Fault { what: text.unwrap_or("a panic without a word").to_owned() }
}
