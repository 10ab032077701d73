//! The mailboxes of all sessions that are being talked to. Each is started when mail
//! comes for its session, and forgotten when it was idle for long.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use recto_store::SessionId;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle};

use crate::actor::Actor;
use crate::error::{AgentError, AgentResult};
use crate::mailbox::{Mailbox, MailboxItem};
use crate::shared::AgentShared;

/// The mailboxes of an agent.
#[derive(Debug, Default)]
pub(crate) struct MailboxRegistry(Mutex<RegistryState>);

#[derive(Debug, Default)]
struct RegistryState {
    mailboxes: HashMap<SessionId, Mailbox>,
    is_closed: bool,
    /// The task that takes up what other processes left.
    recovery: Option<AbortHandle>,
}

impl MailboxRegistry {
    /// Hands in mail for a session, whose mailbox is started if need be. Mail is
    /// posted under the same lock under which an idle task ends, so that none is lost
    /// between the two.
    pub(crate) fn post(
        self: &Arc<Self>,
        shared: &Arc<AgentShared>,
        session: SessionId,
        mail: MailboxItem,
    ) -> AgentResult {
        let mut state = self.0.lock();
        if state.is_closed {
            return Err(AgentError::ShuttingDown);
        }
        if state.mailboxes.get(&session).is_some_and(Mailbox::is_closed) {
            state.mailboxes.remove(&session);
        }
        let mailbox = state
            .mailboxes
            .entry(session)
            .or_insert_with(|| Mailbox::start(shared.clone(), session, forgetter(self, session)));
        mailbox.post(mail);
        Ok(())
    }

    /// Whether a turn runs in a session.
    pub(crate) fn has_running(&self, session: SessionId) -> bool {
        self.0.lock().mailboxes.get(&session).is_some_and(Mailbox::has_running)
    }

    /// Stops the turn that runs in a session, and says whether one did.
    pub(crate) fn stop(&self, session: SessionId, by: &Actor) -> bool {
        self.0.lock().mailboxes.get(&session).is_some_and(|mailbox| mailbox.stop(by))
    }

    /// Makes a task end with this.
    pub(crate) fn keep_recovery(&self, task: AbortHandle) {
        self.0.lock().recovery = Some(task);
    }

    /// Takes no mail any more, and takes nothing up any more.
    pub(crate) fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        if let Some(recovery) = state.recovery.take() {
            recovery.abort();
        }
    }

    /// Drops all tasks where they stand, and gives what ends when they are gone.
    pub(crate) fn abort_all(&self) -> Vec<JoinHandle<()>> {
        let mailboxes = std::mem::take(&mut self.0.lock().mailboxes);
        mailboxes.into_values().map(Mailbox::abort).collect()
    }

    /// How many sessions have a mailbox.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.0.lock().mailboxes.len()
    }
}

impl Drop for MailboxRegistry {
    fn drop(&mut self) {
        self.close();
    }
}

/// Lets an idle task end, unless mail came in at the last moment.
fn forgetter(
    registry: &Arc<MailboxRegistry>,
    session: SessionId,
) -> impl Fn(&mut mpsc::UnboundedReceiver<MailboxItem>) -> Option<MailboxItem> + Send + use<> {
    let registry = Arc::downgrade(registry);
    move |mail| {
        let registry = registry.upgrade()?;
        let mut state = registry.0.lock();
        let last = mail.try_recv().ok();
        if last.is_none() {
            state.mailboxes.remove(&session);
        }
        last
    }
}
