//! An agent that runs for months: what other processes left is taken up while it
//! runs, and in the end it is shut down without losing anything.

#[cfg(test)]
pub(crate) mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use recto_store::{
    Moment, OwnedTurn, SessionId, SettingsMap, StoreError, StoredSession, StoredTurn, TurnId,
    TurnOwner,
};
use tokio::time::{sleep, timeout};

use crate::access::must_work_in_its_folder;
use crate::agent::Agent;
use crate::error::{AgentError, AgentResult};
use crate::mailbox::MailboxItem;
use crate::options::SessionSettings;
use crate::recover::{ClosedTurn, SettledTurns, settle_own_turns};
use crate::shared::WorkKind;

/// How long the tasks may take that are dropped. They only have to come to their next
/// point of rest; one that does not is left to the end of the process.
const DROP_LIMIT: Duration = Duration::from_secs(2);

/// The sessions whose open turns are taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeUpScope {
    /// All of the agent's.
    All,
    /// All of the agent's, by one that runs while another process ends: whoever has asked that one
    /// a short time ago still waits, and now for this one.
    MissedNow,
    /// This one, in which somebody waits: its turns go before those of others.
    Session(SessionId),
}

impl TakeUpScope {
    /// Whom the turn is finished for: whoever names a session waits there.
    fn work_kind(self, turn: &StoredTurn, session: &StoredSession) -> WorkKind {
        let settings = [&turn.settings, &session.settings];
        match self {
            TakeUpScope::MissedNow if is_awaited(turn.accepted, settings) => {
                WorkKind::Asked(turn.session)
            }
            TakeUpScope::All | TakeUpScope::MissedNow => WorkKind::TakenUp(turn.id),
            TakeUpScope::Session(session) => WorkKind::Asked(session),
        }
    }

    fn has(self, session: SessionId) -> bool {
        match self {
            TakeUpScope::All | TakeUpScope::MissedNow => true,
            TakeUpScope::Session(only) => only == session,
        }
    }
}

/// For so long somebody who has asked is taken to wait for the answer.
const AWAITED: Duration = Duration::from_secs(300);

/// Whether somebody is likely to wait for the answer of a turn that its process left: not of one that a
/// schedule has begun, nor of a sub-agent's, whose caller is told that it was interrupted. The clock of
/// the machine that took the message in may differ from this one's.
fn is_awaited(accepted: Moment, settings: [&SettingsMap; 2]) -> bool {
    let age = Moment::now().timestamp().duration_since(accepted.timestamp());
    let is_unattended = |settings: &SettingsMap| SessionSettings::from_store(settings).unattended;
    age.unsigned_abs() <= AWAITED && !settings.into_iter().any(is_unattended)
}

/// What became of the turns that other processes left in an agent's sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct TakeUpReport {
    /// Those that go on here, oldest first.
    pub taken_up: Vec<StoredTurn>,
    /// Those that can be taken up and were not asked for, or not in this folder.
    pub left: Vec<StoredTurn>,
    /// Those that were closed instead.
    pub closed: Vec<ClosedTurn>,
}

/// How often turns are looked at again that were left and could not be taken up: they wait for a
/// person, or are another agent's.
const SECOND_LOOK: Duration = Duration::from_secs(30);

/// In how many looks a turn of this process has to be one that no task has until it is taken for
/// one that was forgotten: the word that it was stored may be on its way.
const FORGOTTEN_LOOKS: u32 = 3;

/// What was found in earlier looks for turns that nobody has any more.
#[derive(Debug, Default)]
struct LeftTurns {
    /// Those of processes that are gone, when they were last taken up as far as they could be.
    gone: HashSet<TurnId>,
    looked: Option<Instant>,
    /// Those of this process that no task has, and in how many looks.
    forgotten: HashMap<TurnId, u32>,
}

impl LeftTurns {
    /// Whether turns of processes that are gone are worth a look. One that somebody had meanwhile is
    /// a new one.
    fn wants_look(&mut self, gone: &HashSet<TurnId>) -> bool {
        self.gone.retain(|turn| gone.contains(turn));
        let is_due = self.looked.is_none_or(|looked| looked.elapsed() >= SECOND_LOOK);
        !gone.is_subset(&self.gone) || (is_due && !gone.is_empty())
    }

    /// Counts turns that no task has, and gives those that nobody will come back for.
    fn count_forgotten(&mut self, turns: impl Iterator<Item = TurnId>) -> Vec<TurnId> {
        let before = std::mem::take(&mut self.forgotten);
        self.forgotten = turns.map(|turn| (turn, before.get(&turn).unwrap_or(&0) + 1)).collect();
        let is_sure = |(turn, looks): (&TurnId, &u32)| (*looks >= FORGOTTEN_LOOKS).then_some(*turn);
        self.forgotten.iter().filter_map(is_sure).collect()
    }
}

/// The turns of processes that are gone that are next in their sessions: what stands behind another
/// process's turn waits for that one.
fn left_turns(open: &[OwnedTurn]) -> HashSet<TurnId> {
    let mut sessions = HashSet::new();
    let next = open.iter().filter(|turn| sessions.insert(turn.session));
    next.filter(|turn| turn.owner == TurnOwner::Gone).map(|turn| turn.turn).collect()
}

impl Agent {
    /// Shuts the agent down. From now on it takes no messages and begins no turns; those
    /// that run have the grace time to end. The rest is dropped where it stands, as if
    /// the process were killed: nothing is written for it, and the next start goes on with
    /// it. Programs that tools run end with it, and so do all listeners.
    pub async fn shutdown(&self, grace: Duration) {
        self.mailboxes.close();
        self.shared.closing.request();
        // What is not done by then is what the next start is for.
        let _ = timeout(grace, self.shared.wait_for_idle()).await;
        let _ = timeout(DROP_LIMIT, join_all(self.mailboxes.abort_all())).await;
        let _ = timeout(DROP_LIMIT, self.shared.elsewhere.end()).await;
        // A process that goes on must not keep what it left. Where the store does not take
        // it, the end of the process says the same.
        let _ = self.store().release_turns(self.name()).await;
        let _ = self.store().release_runs(self.name()).await;
        self.shared.streams.close();
    }

    /// Closes what other processes left and nobody can finish, and takes up the rest, as far
    /// as it was asked for. A turn is this process's before it is posted, so that nobody else
    /// takes it up, nor this agent a second time.
    pub async fn take_up(&self, scope: TakeUpScope) -> AgentResult<TakeUpReport> {
        let SettledTurns { unfinished, closed } =
            settle_own_turns(self.store(), self.name()).await?;
        let mut report = TakeUpReport { taken_up: Vec::new(), left: Vec::new(), closed };
        for turn in unfinished {
            let session = match scope.has(turn.session) {
                true => self.session_in_its_folder(turn.session).await?,
                false => None,
            };
            let Some(session) = session else {
                report.left.push(turn);
                continue;
            };
            match self.store().take_over(turn.id).await {
                Ok(_) => {}
                // Another process was faster.
                Err(StoreError::NotOurs { .. } | StoreError::WrongStatus { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
            let work = self.shared.begin_work(scope.work_kind(&turn, &session));
            let held = self.shared.streams.hold(turn.id);
            self.post(turn.session, MailboxItem::Open(held, work))?;
            report.taken_up.push(turn);
        }
        Ok(report)
    }

    /// A session, if the agent works in its folder.
    async fn session_in_its_folder(&self, id: SessionId) -> AgentResult<Option<StoredSession>> {
        let session = self.store().session(id).await?;
        Ok(session.filter(|session| must_work_in_its_folder(&self.shared, session).is_ok()))
    }

    /// The turns under way that this agent has taken up. They go on while nobody waits for a
    /// reply in another session.
    pub fn taken_up_turns(&self) -> Vec<TurnId> {
        self.shared.taken_up()
    }

    /// Takes up again and again what other processes left, until the agent is shut down
    /// or nobody has it any more.
    pub fn take_up_regularly(&self) {
        let (shared, mailboxes) = (Arc::downgrade(&self.shared), Arc::downgrade(&self.mailboxes));
        let interval = self.shared.parts.options.recovery_interval;
        let task = tokio::spawn(async move {
            let mut seen = LeftTurns::default();
            loop {
                sleep(interval).await;
                let (Some(shared), Some(mailboxes)) = (shared.upgrade(), mailboxes.upgrade())
                else {
                    return;
                };
                // What the store does not give now, it may give the next time.
                let _ = Agent { shared, mailboxes }.take_up_left(&mut seen).await;
            }
        });
        self.mailboxes.keep_recovery(task.abort_handle());
    }

    /// Looks for turns that nobody has any more, which costs little while there are none.
    async fn take_up_left(&self, seen: &mut LeftTurns) -> AgentResult {
        let open = self.store().open_turn_owners().await?;
        let next = left_turns(&open);
        if seen.wants_look(&next) {
            self.take_up(TakeUpScope::MissedNow).await?;
            seen.gone = next;
            seen.looked = Some(Instant::now());
        }
        let here = open.iter().filter(|turn| turn.owner == TurnOwner::Here);
        let here = here.map(|turn| turn.turn);
        let forgotten = here.filter(|turn| !self.shared.streams.is_held(*turn));
        for turn in seen.count_forgotten(forgotten) {
            self.go_on_with_forgotten(turn).await?;
        }
        Ok(())
    }

    /// Goes on with a turn that is this process's and that none of its tasks has: the store was
    /// lost just when it took the message, and nobody was told that it did.
    async fn go_on_with_forgotten(&self, turn: TurnId) -> AgentResult {
        let Some(turn) = self.store().turn(turn).await? else { return Ok(()) };
        let session = self.store().session(turn.session).await?;
        // Other agents of this process look after theirs.
        if session.is_none_or(|session| session.agent != self.name()) {
            return Ok(());
        }
        let work = self.shared.begin_work(WorkKind::TakenUp(turn.id));
        self.post(turn.session, MailboxItem::Open(self.shared.streams.hold(turn.id), work))
    }

    /// The error of an answer that never came.
    pub(crate) fn missing_answer(&self) -> AgentError {
        match self.shared.closing.is_requested() {
            true => AgentError::ShuttingDown,
            false => AgentError::Ended,
        }
    }
}
