//! Looks for times that have come, again and again, and for runs that other processes left. What
//! fails is tried again, later each time, and takes nothing else along.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use recto_store::{DueTime, Moment, StoredRun, StoredSchedule};
use serde::Deserialize;
use tokio::time::sleep;

use super::{SchedulePlan, is_taken};
use crate::agent::Agent;
use crate::error::{AgentError, AgentResult};

/// How often it is looked for times that have come.
const INTERVAL: Duration = Duration::from_secs(1);

/// The longest pause behind failures.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Whether an agent's schedules are run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ScheduleHealth {
    /// Nobody looks for times that have come in this process.
    #[default]
    Off,
    /// They are run when their times come.
    Running,
    /// They can't be looked at; it is tried again.
    Failing {
        /// Why, in words.
        problem: String,
    },
}

impl Agent {
    /// Whether this process runs the agent's schedules.
    pub fn schedule_health(&self) -> ScheduleHealth {
        self.shared.schedules.lock().clone()
    }

    /// Runs the agent's schedules when their times come, until it is shut down or nobody has it
    /// any more. Must be called within a tokio runtime.
    pub fn run_schedules_regularly(&self) {
        *self.shared.schedules.lock() = ScheduleHealth::Running;
        let (shared, mailboxes) = (Arc::downgrade(&self.shared), Arc::downgrade(&self.mailboxes));
        tokio::spawn(async move {
            let mut pause = INTERVAL;
            loop {
                sleep(pause).await;
                let (Some(shared), Some(mailboxes)) = (shared.upgrade(), mailboxes.upgrade())
                else {
                    return;
                };
                if shared.closing.is_requested() {
                    return;
                }
                let agent = Agent { shared, mailboxes };
                let ticked = AssertUnwindSafe(agent.tick_schedules()).catch_unwind().await;
                let health = match ticked {
                    Ok(Ok(_)) => ScheduleHealth::Running,
                    Ok(Err(error)) => {
                        tracing::warn!(%error, "schedules could not be looked at");
                        ScheduleHealth::Failing { problem: error.to_string() }
                    }
                    Err(_) => {
                        let problem = "looking at schedules broke off by a fault of Recto's own";
                        tracing::error!("{problem}");
                        ScheduleHealth::Failing { problem: problem.to_owned() }
                    }
                };
                pause = match health {
                    ScheduleHealth::Failing { .. } => (pause * 2).min(LONGEST_PAUSE),
                    ScheduleHealth::Off | ScheduleHealth::Running => INTERVAL,
                };
                *agent.shared.schedules.lock() = health;
            }
        });
    }

    /// Begins the runs whose times have come, and goes on with those that other processes left.
    /// They go on by themselves; says how many there are.
    pub async fn tick_schedules(&self) -> AgentResult<usize> {
        let mut begun = 0;
        for run in self.store().take_over_runs(self.name()).await? {
            match self.store().schedule(run.schedule).await {
                Ok(Some(schedule)) => {
                    self.spawn_run(schedule, run);
                    begun += 1;
                }
                // The others that were taken over with it go on.
                Ok(None) | Err(_) => {
                    tracing::warn!(run = %run.id, "the schedule of a run could not be read");
                    let _ = self.store().release_run(run.id).await;
                }
            }
        }
        let now = Moment::now();
        let mut first_error = None;
        for schedule in self.store().due_schedules(self.name(), now).await? {
            let Some(time) = due_time(&schedule, now) else { continue };
            match self.store().begin_due_run(schedule.id, time, now).await {
                Ok(Some(run)) => {
                    self.spawn_run(schedule, run);
                    begun += 1;
                }
                // Another process was faster.
                Ok(None) => {}
                // The others have their times all the same.
                Err(error) => {
                    tracing::warn!(%error, schedule = %schedule.name, "a run could not be begun");
                    first_error.get_or_insert(error);
                }
            }
        }
        match first_error {
            Some(error) => Err(error.into()),
            None => Ok(begun),
        }
    }

    /// Brings a run of this process to its end by itself.
    pub(super) fn spawn_run(&self, schedule: StoredSchedule, run: StoredRun) {
        let agent = self.clone();
        tokio::spawn(async move {
            let finished = AssertUnwindSafe(agent.finish_run(&schedule, &run)).catch_unwind().await;
            match finished {
                Ok(Ok(())) => return,
                Ok(Err(error)) if is_settled(&error, &agent) => return,
                Ok(Err(error)) => {
                    tracing::warn!(%error, schedule = %schedule.name, "a run could not be finished");
                }
                Err(_) => {
                    tracing::error!(schedule = %schedule.name, "a run broke off by a fault of Recto's own");
                }
            }
            // Whoever looks next goes on with it, a little later.
            sleep(LONGEST_PAUSE).await;
            let _ = agent.store().release_run(run.id).await;
        });
    }
}

/// Whether a run that was not finished needs nothing more of this process: another one has it, or
/// this one shuts down, and lets go of all that it has. An agent that goes on must not keep it.
fn is_settled(error: &AgentError, agent: &Agent) -> bool {
    is_taken(error) || agent.shared.closing.is_requested()
}

/// The time of a schedule that has come, with what lies behind it. Times that have passed since
/// are one run with it.
fn due_time(schedule: &StoredSchedule, now: Moment) -> Option<DueTime> {
    let due = schedule.due?;
    let Ok(plan) = SchedulePlan::deserialize(&schedule.plan) else {
        return Some(DueTime { due, next: None, missed: 0 });
    };
    let missed = plan.count_between(due.timestamp(), now.timestamp());
    let next = plan.next_after(now.timestamp()).map(Moment::new);
    Some(DueTime { due, next, missed })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::shutdown::tests::idle_agent;

    /// An answer can fail to come in an agent that goes on, too. A run that it kept then would
    /// never be run again.
    #[tokio::test]
    async fn a_run_is_kept_by_no_agent_that_lives() {
        let folder = TempDir::new().unwrap();
        let agent = idle_agent(folder.path());
        for error in [AgentError::Ended, AgentError::ShuttingDown, AgentError::NoModel] {
            assert!(!is_settled(&error, &agent), "{error}");
        }
        agent.shutdown(Duration::ZERO).await;
        assert!(is_settled(&AgentError::Ended, &agent));
    }
}
