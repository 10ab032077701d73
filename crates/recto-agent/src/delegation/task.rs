//! A task while a sub-agent does it: its turn is begun, waited for, and stopped when nobody
//! waits for it any more.

use recto_context::Audience;
use recto_store::{SessionId, StoredSession, TurnEnding, TurnId};
use tokio::runtime::Handle;
use tokio::task::JoinError;

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

/// A task that a sub-agent is to do in a session.
pub(super) struct DelegatedTask {
    agent: Agent,
    session: SessionId,
    actor: Actor,
}

/// The turn in which a task is done. Dropped before its end, it is stopped.
struct DelegatedTurn {
    agent: Agent,
    session: SessionId,
    actor: Actor,
    turn: TurnId,
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
        DelegatedTask::new(self, &session.await?, actor).run(task).await
    }
}

impl DelegatedTask {
    pub(super) fn new(agent: &Agent, session: &StoredSession, actor: &Actor) -> Self {
        let (agent, actor) = (agent.clone(), actor.clone());
        DelegatedTask { agent, session: session.id, actor }
    }

    /// Has the task done, and gives how it ended. Dropped before that, it is stopped.
    pub(super) async fn run(&self, task: &str) -> AgentResult<TaskOutcome> {
        let stream = self.agent.shared.streams.of_session(self.session);
        let mut events = stream.listen(EventCursor::Now);
        let mut running = self.submit(task).await?;
        while let Some(event) = events.next().await {
            if let (Some(turn), EventKind::Finished(finished)) = (event.turn, event.event)
                && turn == running.turn
            {
                running.is_over = true;
                return Ok(TaskOutcome { session: self.session, turn, finished });
            }
        }
        Err(AgentError::ShuttingDown)
    }

    /// Hands the task in. It goes on, to be stopped, if whoever waits here leaves in the middle.
    async fn submit(&self, task: &str) -> AgentResult<DelegatedTurn> {
        let (agent, session, actor) = (self.agent.clone(), self.session, self.actor.clone());
        let inbound = Inbound::text(&actor, task);
        let submitting = tokio::spawn(async move {
            let Submission { turn, .. } = agent.submit(session, inbound).await?;
            Ok::<_, AgentError>(DelegatedTurn { agent, session, actor, turn, is_over: false })
        });
        let fault = |error: JoinError| AgentError::Fault { what: error.to_string() };
        submitting.await.unwrap_or_else(|error| Err(fault(error)))
    }
}

impl Drop for DelegatedTurn {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let DelegatedTurn { agent, session, actor, turn, .. } = self;
        if agent.shared.closing.is_requested() {
            // What does not end by then is what the next start goes on with.
            agent.mailboxes.stop(*session, actor);
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let (agent, session, actor, turn) = (agent.clone(), *session, actor.clone(), *turn);
        runtime.spawn(async move {
            // One that is over by now ends by itself.
            if let Err(error) = agent.request_turn_stop(&actor, session, turn).await {
                tracing::debug!(%error, %turn, "a turn that nobody waits for was not stopped");
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use recto_fakes::{AnswerGate, FakeAnswer, FakeServer};
    use recto_llm::{ClientOptions, Provider};
    use recto_store::{StoredTurn, TurnStatus};
    use rusqlite::{Connection, Transaction, TransactionBehavior};
    use tempfile::TempDir;
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::shutdown::tests::idle_agent_with;

    /// Waits until the one turn of a session is over.
    async fn ended_turn(agent: &Agent, session: SessionId) -> StoredTurn {
        let ended = async {
            loop {
                let turns = agent.store().turns(session).await.unwrap();
                if let Some(turn) = turns.into_iter().find(|turn| turn.ended.is_some()) {
                    return turn;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(60), ended).await.unwrap()
    }

    /// Promise: `sub-agents-stop-with-their-caller`
    #[tokio::test(flavor = "multi_thread")]
    async fn a_task_that_is_dropped_on_its_way_is_stopped_however_long_that_takes() {
        let gate = AnswerGate::new();
        let fake = FakeServer::openai().answer(FakeAnswer::text("unheard").held(&gate)).start();
        let folder = TempDir::new().unwrap();
        let pilot = folder.path().join("workspace/agents/pilot");
        std::fs::create_dir_all(&pilot).unwrap();
        std::fs::write(pilot.join("soul.md"), "You are the pilot.").unwrap();
        let mut client = ClientOptions::new(Provider::OpenAi);
        client.base_url = Some(fake.url());
        let agent = idle_agent_with(folder.path(), client);
        let caller = SessionSettings::default();
        let session = agent.begin_delegation(DelegationParts {
            agent: "pilot",
            parent: None,
            caller: &caller,
            on_behalf_of: Audience::owner("main"),
            tools: Vec::new(),
        });
        let session = session.await.unwrap();
        let given = DelegatedTask::new(&agent, &session, &Actor::owner("owner"));
        // Nothing can be stored while another process writes, and longer than anybody polls.
        let mut database = Connection::open(folder.path().join("recto.db")).unwrap();
        let lock = Transaction::new(&mut database, TransactionBehavior::Immediate).unwrap();
        let waited = timeout(Duration::from_millis(100), given.run("report")).await;
        assert!(waited.is_err(), "{waited:?}");
        drop(given);
        sleep(Duration::from_millis(2_500)).await;
        drop(lock);
        let turn = ended_turn(&agent, session.id).await;
        assert_eq!(turn.status, TurnStatus::Ended(TurnEnding::Stopped));
        gate.open();
    }
}
