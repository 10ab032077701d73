//! A task for each session that is being talked to: one turn at a time, in the
//! order in which the messages came. Other sessions have tasks of their own and
//! wait for none of it.
//!
//! A message that finds the session idle is stored in one commit with its first
//! request. One that comes while a turn runs is stored at once, and waits.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use recto_store::{
    Ending, Moment, Outcome, Owner, SessionId, StoreError, Turn, TurnId, TurnStatus,
};
use tokio::sync::{Notify, broadcast, mpsc, oneshot};

use crate::error::AgentError;
use crate::event::{Event, Trouble, TurnEvent};
use crate::inbound::{ArrivedMessage, Inbound};
use crate::preview::{Preview, preview};
use crate::session_cache::SessionCache;
use crate::shared::{AtWork, Shared};
use crate::stop::Stop;
use crate::turn::TurnRunner;

/// How many events a listener may be behind before it misses some.
const EVENTS_KEPT: usize = 512;
/// How long a task waits for the next message before it ends.
const IDLE: Duration = Duration::from_secs(300);
/// How often a turn that another process runs is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The way to a session's task.
#[derive(Debug)]
pub(crate) struct Mailbox {
    post: mpsc::UnboundedSender<Mail>,
    events: Outlet,
    running: Running,
}

/// How to stop the turn that runs, if one does.
type Running = Arc<Mutex<Option<Arc<Stop>>>>;

/// Tells the sender that the message is stored, or why not.
pub(crate) type Ack = oneshot::Sender<Result<TurnId, AgentError>>;

/// What a session's task is given to do.
#[derive(Debug)]
pub(crate) enum Mail {
    /// A message that nobody has stored yet.
    Message(ArrivedMessage, Ack, AtWork),
    /// A turn that is stored already, and that its process left unfinished.
    Open(TurnId, AtWork),
    /// A question what a model would be sent.
    Preview(Inbound, Look),
}

/// Takes the answer to the question what a model would be sent.
pub(crate) type Look = oneshot::Sender<Result<Preview, AgentError>>;

impl Mailbox {
    /// Starts the session's task. `forget` is called when it has been idle for
    /// long; it says whether the task may end.
    pub(crate) fn start(
        shared: Arc<Shared>,
        session: SessionId,
        forget: impl Fn(&mut mpsc::UnboundedReceiver<Mail>) -> Option<Mail> + Send + 'static,
    ) -> Self {
        let (post, mail) = mpsc::unbounded_channel();
        let events = Outlet::new();
        let running = Running::default();
        let task = Task {
            shared,
            session: SessionCache::new(session),
            waiting: VecDeque::new(),
            events: events.clone(),
            running: running.clone(),
        };
        tokio::spawn(task.serve(mail, forget));
        Mailbox { post, events, running }
    }

    /// Hands in mail. The task is there as long as the mailbox is.
    pub(crate) fn post(&self, mail: Mail) {
        // A task that is gone drops the mail, and with it the sender of its
        // answer, which tells the one who waits for it.
        let _ = self.post.send(mail);
    }

    /// Whether the task has ended, as it does when something in it panics.
    pub(crate) fn is_closed(&self) -> bool {
        self.post.is_closed()
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<TurnEvent> {
        self.events.heard.subscribe()
    }

    /// Like [`Mailbox::subscribe`], for one who must not miss anything. What is
    /// not read is kept until it is, or until the receiver is dropped.
    pub(crate) fn listen(&self) -> mpsc::UnboundedReceiver<TurnEvent> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.events.taps.lock().push(sender);
        receiver
    }

    /// Stops the turn that runs, and says whether one did.
    pub(crate) fn stop(&self) -> bool {
        let running = self.running.lock();
        running.as_ref().inspect(|stop| stop.wish()).is_some()
    }
}

/// The way of a session's events to those who listen.
#[derive(Debug, Clone)]
pub(crate) struct Outlet {
    /// Reaches those who may miss some.
    heard: broadcast::Sender<TurnEvent>,
    /// Reaches those who may miss none.
    taps: Arc<Mutex<Vec<mpsc::UnboundedSender<TurnEvent>>>>,
}

impl Outlet {
    fn new() -> Self {
        let (heard, _) = broadcast::channel(EVENTS_KEPT);
        Outlet { heard, taps: Arc::default() }
    }

    /// Sends an event to whoever listens; nobody may be.
    fn send(&self, event: TurnEvent) {
        self.taps.lock().retain(|tap| tap.send(event.clone()).is_ok());
        let _ = self.heard.send(event);
    }
}

/// Those who hear of a turn: whoever sent its message, and whoever watches.
#[derive(Debug)]
pub(crate) struct Listeners {
    session: SessionId,
    events: Outlet,
    waiting: Mutex<Waiting>,
    /// Rings when the message is stored.
    stored: Notify,
}

/// What the sender of a message waits for.
#[derive(Debug)]
enum Waiting {
    /// The word that the message is stored.
    ForAck(Ack),
    /// The end of the turn.
    ForEnd(TurnId),
}

impl Listeners {
    fn new(events: &Outlet, session: SessionId, waiting: Waiting) -> Self {
        let (events, waiting) = (events.clone(), Mutex::new(waiting));
        Listeners { session, events, waiting, stored: Notify::new() }
    }

    /// Tells that the message is stored, unless that was told.
    pub(crate) fn accepted(&self, turn: TurnId) {
        let before = std::mem::replace(&mut *self.waiting.lock(), Waiting::ForEnd(turn));
        if let Waiting::ForAck(ack) = before {
            self.emit(turn, Event::Accepted);
            let _ = ack.send(Ok(turn));
            self.stored.notify_one();
        }
    }

    /// Whether the message is not stored yet.
    pub(crate) fn wait_for_ack(&self) -> bool {
        matches!(*self.waiting.lock(), Waiting::ForAck(_))
    }

    /// Tells of what went wrong and could not be stored. Whoever waits hears of
    /// it: as the answer to the message, or as the end of its turn.
    fn failed(self, error: AgentError) {
        let Listeners { session, events, waiting, .. } = self;
        match waiting.into_inner() {
            Waiting::ForAck(ack) => {
                let _ = ack.send(Err(error));
            }
            Waiting::ForEnd(turn) => {
                let event = Event::ended_without_reply(Ending::Failed, error.trouble());
                events.send(TurnEvent { session, turn, event });
            }
        }
    }

    /// Sends an event of a turn to whoever listens.
    pub(crate) fn emit(&self, turn: TurnId, event: Event) {
        self.events.send(TurnEvent { session: self.session, turn, event });
    }
}

/// A turn to be run, and who waits for it.
struct Work {
    started: Started,
    waiting: Waiting,
    _at_work: AtWork,
}

enum Started {
    Fresh(Box<ArrivedMessage>),
    Open(TurnId),
}

impl Work {
    fn fresh(message: ArrivedMessage, ack: Ack, at_work: AtWork) -> Self {
        let (started, waiting) = (Started::Fresh(Box::new(message)), Waiting::ForAck(ack));
        Work { started, waiting, _at_work: at_work }
    }

    fn open(turn: TurnId, at_work: AtWork) -> Self {
        let (started, waiting) = (Started::Open(turn), Waiting::ForEnd(turn));
        Work { started, waiting, _at_work: at_work }
    }
}

struct Task {
    shared: Arc<Shared>,
    session: SessionCache,
    waiting: VecDeque<Work>,
    events: Outlet,
    running: Running,
}

impl Task {
    async fn serve(
        mut self,
        mut mail: mpsc::UnboundedReceiver<Mail>,
        forget: impl Fn(&mut mpsc::UnboundedReceiver<Mail>) -> Option<Mail>,
    ) {
        loop {
            if let Some(work) = self.waiting.pop_front() {
                self.work(work, &mut mail).await;
                continue;
            }
            let arrived = match tokio::time::timeout(IDLE, mail.recv()).await {
                Ok(arrived) => arrived,
                Err(_) => forget(&mut mail),
            };
            match arrived {
                Some(Mail::Message(message, ack, at_work)) => {
                    self.work(Work::fresh(message, ack, at_work), &mut mail).await;
                }
                Some(Mail::Open(turn, at_work)) => {
                    self.work(Work::open(turn, at_work), &mut mail).await;
                }
                Some(Mail::Preview(inbound, answer)) => {
                    let asked = preview(&self.shared, &mut self.session, &inbound).await;
                    let _ = answer.send(asked);
                }
                None => return,
            }
        }
    }

    /// Runs one turn, and tells whoever waits when it went wrong.
    async fn work(&mut self, work: Work, mail: &mut mpsc::UnboundedReceiver<Mail>) {
        let stop = Arc::new(Stop::default());
        *self.running.lock() = Some(stop.clone());
        let Work { started, waiting, _at_work } = work;
        let listeners = Listeners::new(&self.events, self.session.id, waiting);
        let ran = self.run(&listeners, &stop, started, mail).await;
        *self.running.lock() = None;
        if let Err(error) = ran {
            // What is known may not be what is stored any more.
            self.session.forget();
            listeners.failed(error);
        }
    }

    /// Runs a turn, and meanwhile stores what else comes in. What came behind a
    /// message that is not stored yet waits for that, so that the order stays.
    async fn run(
        &mut self,
        listeners: &Listeners,
        stop: &Stop,
        started: Started,
        mail: &mut mpsc::UnboundedReceiver<Mail>,
    ) -> Result<(), AgentError> {
        let shared = &self.shared;
        let mut runner = TurnRunner { shared, session: &mut self.session, listeners, stop };
        let mut stored = matches!(started, Started::Open(_));
        let turn = run(&mut runner, started);
        tokio::pin!(turn);
        let mut open = true;
        loop {
            let arrived = tokio::select! {
                ran = &mut turn => return ran,
                () = listeners.stored.notified(), if !stored => {
                    stored = true;
                    continue;
                }
                arrived = mail.recv(), if open && stored => arrived,
            };
            match arrived {
                Some(Mail::Message(message, ack, at_work)) => {
                    let accepted = accept(shared, &self.events, &message, ack).await;
                    self.waiting.extend(accepted.map(|turn| Work::open(turn, at_work)));
                }
                Some(Mail::Open(turn, at_work)) => {
                    self.waiting.push_back(Work::open(turn, at_work));
                }
                Some(Mail::Preview(inbound, answer)) => {
                    // What the turn knows of the session is in use, and it goes on meanwhile.
                    let (shared, mut session) =
                        (shared.clone(), SessionCache::new(listeners.session));
                    tokio::spawn(async move {
                        let _ = answer.send(preview(&shared, &mut session, &inbound).await);
                    });
                }
                None => open = false,
            }
        }
    }
}

/// Stores a message that has to wait.
async fn accept(
    shared: &Shared,
    events: &Outlet,
    message: &ArrivedMessage,
    ack: Ack,
) -> Option<TurnId> {
    let listeners = Listeners::new(events, message.session, Waiting::ForAck(ack));
    match shared.parts.store.accept(message.to_store()).await {
        Ok(turn) => {
            listeners.accepted(turn.id);
            Some(turn.id)
        }
        Err(error) => {
            listeners.failed(error.into());
            None
        }
    }
}

/// Runs a turn to its end. An error means that the store did not take something.
async fn run(runner: &mut TurnRunner<'_>, started: Started) -> Result<(), AgentError> {
    let turn = match started {
        Started::Open(turn) => Some(turn),
        Started::Fresh(message) => {
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
async fn run_when_free(runner: &mut TurnRunner<'_>, id: TurnId) -> Result<(), AgentError> {
    let store = runner.shared.parts.store.clone();
    loop {
        let turn = match store.take_over(id).await {
            Ok(turn) => turn,
            // Another process has it, or it is over.
            Err(StoreError::NotOurs { .. } | StoreError::WrongStatus { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if turn.status == TurnStatus::Running {
            return run_claimed(runner, &turn).await;
        }
        match store.claim(id, Moment::now()).await {
            Ok(turn) => return run_claimed(runner, &turn).await,
            Err(StoreError::Busy { turn: older, owner: Owner::Elsewhere }) => {
                if wait_for(runner, id, older).await? == Waited::Stopped {
                    return withdraw(runner, id).await;
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
enum Waited {
    /// The way is free, or may be.
    Enough,
    /// The person would not wait any longer.
    Stopped,
}

/// Waits until another process is done with an older turn, or has ended.
async fn wait_for(
    runner: &TurnRunner<'_>,
    turn: TurnId,
    older: TurnId,
) -> Result<Waited, StoreError> {
    let text = "another process is talking in this session; this message waits for it";
    runner.listeners.emit(turn, Event::Notice { text: text.to_owned() });
    let store = &runner.shared.parts.store;
    while store.turn(older).await?.is_some_and(|turn| turn.owner == Some(Owner::Elsewhere)) {
        tokio::select! {
            () = runner.stop.wished() => return Ok(Waited::Stopped),
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
    }
    Ok(Waited::Enough)
}

/// Takes a turn back that has not begun. Its message is kept with it, and not in
/// the transcript, where another process is writing.
async fn withdraw(runner: &TurnRunner<'_>, turn: TurnId) -> Result<(), AgentError> {
    let message = "stopped while it waited for another process; the message was not sent";
    let detail = Some(message.to_owned());
    let outcome = Outcome { ending: Ending::Stopped, detail, at: Moment::now() };
    runner.shared.parts.store.withdraw(turn, outcome).await?;
    let error = Trouble { code: "stopped", message: message.to_owned(), hint: None };
    runner.listeners.emit(turn, Event::ended_without_reply(Ending::Stopped, error));
    Ok(())
}

/// Runs a turn that is this process's. One that can never be run (the model that
/// it is for is gone, its record is damaged, it makes Recto panic) is closed: it
/// would stand in the way for ever.
async fn run_claimed(runner: &mut TurnRunner<'_>, turn: &Turn) -> Result<(), AgentError> {
    match AssertUnwindSafe(runner.run_claimed(turn)).catch_unwind().await {
        Ok(Err(error)) if is_hopeless(&error) => runner.give_up(turn, &error).await,
        Ok(ran) => ran,
        Err(panic) => runner.give_up(turn, &fault(&*panic)).await,
    }
}

/// Whether trying again would end the same way.
fn is_hopeless(error: &AgentError) -> bool {
    matches!(
        error,
        AgentError::NoModel
            | AgentError::NoSuchModel { .. }
            | AgentError::Store(StoreError::Damaged { .. })
    )
}

fn fault(panic: &(dyn Any + Send)) -> AgentError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    AgentError::Fault { what: text.unwrap_or("a panic without a word").to_owned() }
}
