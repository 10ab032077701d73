//! An agent that runs for months: what other processes left is taken up while it
//! runs, and in the end it is shut down without losing anything.

#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use recto_store::{SessionId, StoreError, StoredTurn, TurnId};
use tokio::time::{sleep, timeout};

use crate::access::must_work_in_its_folder;
use crate::agent::Agent;
use crate::error::{AgentError, AgentResult};
use crate::mailbox::MailboxItem;
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
    /// This one, in which somebody waits: its turns go before those of others.
    Session(SessionId),
}

impl TakeUpScope {
    /// Whom the turn is finished for: whoever names a session waits there.
    fn work_kind(self, turn: &StoredTurn) -> WorkKind {
        match self {
            TakeUpScope::All => WorkKind::TakenUp(turn.id),
            TakeUpScope::Session(session) => WorkKind::Asked(session),
        }
    }

    fn has(self, session: SessionId) -> bool {
        match self {
            TakeUpScope::All => true,
            TakeUpScope::Session(only) => only == session,
        }
    }
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
            if !scope.has(turn.session) || !self.works_where(turn.session).await? {
                report.left.push(turn);
                continue;
            }
            match self.store().take_over(turn.id).await {
                Ok(_) => {}
                // Another process was faster.
                Err(StoreError::NotOurs { .. } | StoreError::WrongStatus { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
            let work = self.shared.begin_work(scope.work_kind(&turn));
            self.post(turn.session, MailboxItem::Open(turn.id, work))?;
            report.taken_up.push(turn);
        }
        Ok(report)
    }

    /// Whether the agent works in the folder of a session.
    async fn works_where(&self, session: SessionId) -> AgentResult<bool> {
        let session = self.store().session(session).await?;
        Ok(session.is_some_and(|session| must_work_in_its_folder(&self.shared, &session).is_ok()))
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
            loop {
                sleep(interval).await;
                let (Some(shared), Some(mailboxes)) = (shared.upgrade(), mailboxes.upgrade())
                else {
                    return;
                };
                // What the store does not give now, it may give the next time.
                let _ = Agent { shared, mailboxes }.take_up(TakeUpScope::All).await;
            }
        });
        self.mailboxes.keep_recovery(task.abort_handle());
    }

    /// The error of an answer that never came.
    pub(crate) fn missing_answer(&self) -> AgentError {
        match self.shared.closing.is_requested() {
            true => AgentError::ShuttingDown,
            false => AgentError::Ended,
        }
    }
}
