//! A task while a sub-agent does it: its turn is begun, waited for, and stopped when nobody
//! waits for it any more.

use std::sync::Arc;
use std::time::Duration;

use recto_context::Audience;
use recto_store::{SessionId, StoredSession, TurnEnding, TurnId};
use tokio::runtime::Handle;
use tokio::time::sleep;

use super::begin::{DelegationParts, callable_tools};
use crate::actor::Actor;
use crate::agent::{Agent, Submission};
use crate::agent_catalog::CatalogPurpose;
use crate::error::{AgentError, AgentResult};
use crate::event::{EventKind, FinishedTurn};
use crate::event_stream::EventCursor;
use crate::inbound::Inbound;
use crate::options::SessionSettings;
use crate::rights::Right;

/// How often, and after what pauses, it is tried to stop a turn that may be about to begin.
const STOP_TRIES: u32 = 100;
const STOP_PAUSE: Duration = Duration::from_millis(20);

/// A task that a sub-agent does. Dropped before its end, it is stopped.
pub(super) struct DelegatedTask {
    agent: Agent,
    session: SessionId,
    actor: Actor,
    /// Its turn, once that is stored.
    turn: Option<TurnId>,
    is_over: bool,
}

/// What became of a task.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the fields say it")]
pub struct TaskOutcome {
    pub session: SessionId,
    pub turn: TurnId,
    pub finished: FinishedTurn,
}

impl Agent {
    /// Gives a person's task to a sub-agent, and waits for its end. It has the tools that it
    /// names and nobody has to allow. Dropped before its end, the task is stopped.
    pub async fn run_sub_agent(
        &self,
        actor: &Actor,
        id: &str,
        task: &str,
    ) -> AgentResult<TaskOutcome> {
        actor.must_have(Right::ChangeWorkspace)?;
        Inbound::text(actor, task).check()?;
        let catalog = self.shared.catalog(CatalogPurpose::Turn).await.catalog;
        let (who, person) = actor.as_audience();
        let agent = Some(self.shared.parts.options.name.clone());
        let caller = SessionSettings::default();
        let session = self.begin_delegation(DelegationParts {
            agent: id,
            parent: None,
            caller: &caller,
            on_behalf_of: Audience { who, person, conversation: None, agent },
            tools: callable_tools(&catalog, &[]),
        });
        let mut given = DelegatedTask::new(self, &session.await?, actor);
        let finished = given.run(task).await?;
        let turn = given.turn.ok_or(AgentError::Ended)?;
        Ok(TaskOutcome { session: given.session, turn, finished })
    }
}

impl DelegatedTask {
    pub(super) fn new(agent: &Agent, session: &StoredSession, actor: &Actor) -> Self {
        let (agent, actor) = (agent.clone(), actor.clone());
        DelegatedTask { agent, session: session.id, actor, turn: None, is_over: false }
    }

    /// Has the task done, and gives how it ended.
    pub(super) async fn run(&mut self, task: &str) -> AgentResult<FinishedTurn> {
        let stream = self.agent.shared.streams.of_session(self.session);
        let mut events = stream.listen(EventCursor::Now);
        let inbound = Inbound::text(&self.actor, task);
        let Submission { turn, .. } = match self.agent.submit(self.session, inbound).await {
            Ok(submission) => submission,
            Err(error) => {
                self.is_over = true;
                return Err(error);
            }
        };
        self.turn = Some(turn);
        while let Some(event) = events.next().await {
            if let (Some(of), EventKind::Finished(finished)) = (event.turn, event.event)
                && of == turn
            {
                self.is_over = true;
                return Ok(finished);
            }
        }
        Err(AgentError::ShuttingDown)
    }
}

impl Drop for DelegatedTask {
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else { return };
        if self.is_over || self.agent.is_shut_down() {
            return;
        }
        let shared = Arc::downgrade(&self.agent.shared);
        let mailboxes = Arc::downgrade(&self.agent.mailboxes);
        let (session, actor) = (self.session, self.actor.clone());
        runtime.spawn(async move {
            // Its message may be on the way to its turn.
            for _ in 0..STOP_TRIES {
                let (Some(shared), Some(mailboxes)) = (shared.upgrade(), mailboxes.upgrade())
                else {
                    return;
                };
                let is_stopped = mailboxes.stop(session, &actor);
                if is_stopped || shared.closing.is_requested() {
                    return;
                }
                drop((shared, mailboxes));
                sleep(STOP_PAUSE).await;
            }
        });
    }
}

/// What whoever gave a task is told of its end: the reply, or why there is none.
pub(super) fn read_outcome(agent: &str, finished: FinishedTurn) -> Result<String, String> {
    let FinishedTurn { status, reply, error, .. } = finished;
    match (status, reply, error) {
        (TurnEnding::Done, Some(reply), _) => Ok(reply),
        (_, _, Some(error)) => {
            Err(format!("the sub-agent `{agent}` did not finish: {}", error.message))
        }
        (_, _, None) => Err(format!("the sub-agent `{agent}` did not finish")),
    }
}
