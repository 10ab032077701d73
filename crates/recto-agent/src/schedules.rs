//! What an agent does at set times: when, what, and where the answer goes.
//!
//! A run is a turn of a session of its own, without a history and without anybody who could be
//! asked. Which process runs a time that has come is decided by the store, and so is that it is
//! run once: a run is submitted under its own number, which the store takes in a single time.

mod plan;
mod put_out;
mod run;
mod target;
mod tick;
mod tool;

use jiff::tz::TimeZone;
use recto_context::ContextMode;
use recto_store::{
    AnswerDelivery, Moment, NewSchedule, PostState, StoreError, StoredRun, StoredSchedule,
    StoredSession, TurnStatus,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use plan::show_time;
pub use plan::{PlanError, SchedulePlan};
pub use put_out::{StandingReport, change_standing, put_out};
pub use run::RequestedRun;
pub use target::DeliveryTarget;
pub use tick::ScheduleHealth;
pub(crate) use tool::ScheduleTool;
pub use tool::{SCHEDULE_TOOL, schedule_tool};

use crate::actor::Actor;
use crate::agent::Agent;
use crate::delegation::TASK_SURFACE;
use crate::error::{AgentError, AgentResult};
use crate::rights::Right;

/// Whether people type what is said in a session: in those of schedules and sub-agents they don't.
pub fn is_typed_in(session: &StoredSession) -> bool {
    ![run::SURFACE, TASK_SURFACE].contains(&&*session.surface)
}

/// The longest name of a schedule, in characters.
const LONGEST_NAME: usize = 64;

/// A schedule to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleRequest {
    /// What people call it.
    pub name: String,
    /// When it runs.
    pub plan: SchedulePlan,
    /// What is to be done.
    pub task: String,
    /// What holds for its runs.
    pub settings: ScheduleSettings,
    /// Where the answer goes.
    pub target: DeliveryTarget,
}

/// A schedule as somebody types it: on a command line, in a form, in a call of the API.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScheduleDraft {
    /// What people are to call it.
    pub name: String,
    /// What is to be done.
    pub task: String,
    /// When, again and again: a cron pattern.
    pub cron: Option<String>,
    /// When, once.
    pub at: Option<String>,
    /// The time zone that both are read in; this machine's, where none is named.
    pub zone: Option<String>,
    /// Where the answer goes beside the run's own session: a session by its name or number, or a
    /// chat.
    pub to: Option<String>,
    /// What holds for its runs.
    pub settings: ScheduleSettings,
}

/// What holds for the runs of a schedule.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ScheduleSettings {
    /// The model entry that answers; without one, the agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether its turns are minimal or full, or the task decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_mode: Option<ContextMode>,
}

/// A schedule as people and programs are told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleView {
    /// The row that it was read from.
    pub stored: StoredSchedule,
    /// When it runs; none where that can't be read.
    pub plan: Option<SchedulePlan>,
    /// What holds for its runs.
    pub settings: ScheduleSettings,
    /// Where the answer goes.
    pub target: DeliveryTarget,
    /// The same in words, with the name that a session has now.
    pub answer_to: String,
    /// Its last run.
    pub last_run: Option<RunView>,
}

impl ScheduleView {
    /// Reads a row, without what stands elsewhere. What can't be read any more counts as unset.
    fn read(stored: StoredSchedule) -> Self {
        ScheduleView {
            plan: SchedulePlan::deserialize(&stored.plan).ok(),
            settings: ScheduleSettings::deserialize(&stored.settings).unwrap_or_default(),
            target: DeliveryTarget::deserialize(&stored.target).unwrap_or_default(),
            answer_to: String::new(),
            last_run: None,
            stored,
        }
    }

    /// When it runs, in words.
    pub fn describe_plan(&self) -> String {
        self.plan.as_ref().map_or_else(|| "never".to_owned(), SchedulePlan::describe)
    }

    /// When it runs next, in words: by its own clock, which is named.
    pub fn describe_next(&self) -> String {
        self.stored.due.map_or_else(|| "none".to_owned(), |due| self.show_time(due))
    }

    /// A moment by the clock of the schedule, which is named.
    pub fn show_time(&self, at: Moment) -> String {
        let clock = self.plan.as_ref().map_or_else(TimeZone::system, SchedulePlan::clock);
        show_time(at.timestamp(), clock)
    }

    /// All of it for programs.
    pub fn json(&self) -> Value {
        let StoredSchedule { name, agent, task, created, due, .. } = &self.stored;
        json!({
            "name": name,
            "agent": agent,
            "plan": self.plan,
            "task": task,
            "settings": self.settings,
            "to": self.target,
            "answer_to": self.answer_to,
            "created": created,
            "next": due,
            "last_run": self.last_run.as_ref().map(|last| &last.run),
        })
    }
}

/// A run as people and programs are told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunView {
    /// The row that it was read from.
    pub run: StoredRun,
    /// The name of its schedule.
    pub schedule: String,
    /// Whether its turn is over and only its answer is not in its place yet: somebody is waited
    /// for there.
    pub answer_waits: bool,
    /// What became of its answer in the chat that it is for.
    pub post: Option<PostState>,
}

impl RunView {
    /// How it went, in a word or two.
    pub fn outcome(&self) -> &'static str {
        match self.run.outcome {
            Some(ending) => ending.name(),
            None if self.answer_waits => "done, waits to be said",
            None => "under way",
        }
    }

    /// More about that in words: what it stands for, where the answer went, what went wrong.
    pub fn remarks(&self) -> Vec<String> {
        let StoredRun { missed, delivery, detail, .. } = &self.run;
        let missed = match missed {
            0 => None,
            1 => Some("stands for one missed run".to_owned()),
            missed => Some(format!("stands for {missed} missed runs")),
        };
        let delivery = delivery.as_ref().map(|delivery| match (delivery, &self.post) {
            (AnswerDelivery::Delivered { to }, None | Some(PostState::Posted)) => {
                format!("delivered to {to}")
            }
            (AnswerDelivery::Delivered { to }, Some(PostState::Waiting)) => {
                format!("waits for the bot that posts it to {to}")
            }
            (AnswerDelivery::Delivered { to }, Some(PostState::Refused(problem))) => {
                format!("not delivered to {to}: {problem}")
            }
            (AnswerDelivery::Failed { problem }, _) => format!("not delivered: {problem}"),
        });
        let wait = "the place that its answer is for has an open turn or question; \
                    the answer follows it";
        let wait = self.answer_waits.then(|| wait.to_owned());
        [missed, wait, delivery, detail.clone()].into_iter().flatten().collect()
    }

    /// All of it for programs.
    pub fn json(&self) -> Value {
        let mut shown = json!(self.run);
        shown["schedule"] = json!(self.schedule);
        shown["answer_waits"] = json!(self.answer_waits);
        let (posted, problem) = match &self.post {
            None => (None, None),
            Some(PostState::Waiting) => (Some("waiting"), None),
            Some(PostState::Posted) => (Some("posted"), None),
            Some(PostState::Refused(problem)) => (Some("refused"), Some(problem)),
        };
        shown["post"] = json!(posted);
        shown["post_problem"] = json!(problem);
        shown
    }
}

impl Agent {
    /// Makes a schedule from what somebody typed.
    pub async fn add_typed_schedule(
        &self,
        actor: &Actor,
        draft: ScheduleDraft,
    ) -> AgentResult<ScheduleView> {
        // Who may not is not told which sessions there are, either.
        actor.must_have(Right::ChangeWorkspace)?;
        let ScheduleDraft { name, task, cron, at, zone, to, settings } = draft;
        let plan = SchedulePlan::typed(
            cron.as_deref(),
            at.as_deref(),
            zone.as_deref(),
            Moment::now().timestamp(),
        )?;
        let target = match to.as_deref().filter(|to| !to.trim().is_empty()) {
            None => DeliveryTarget::OwnSession,
            Some(typed) => self.find_delivery_target(typed).await?,
        };
        self.add_schedule(actor, ScheduleRequest { name, plan, task, settings, target }).await
    }

    /// Makes a schedule.
    pub async fn add_schedule(
        &self,
        actor: &Actor,
        request: ScheduleRequest,
    ) -> AgentResult<ScheduleView> {
        actor.must_have(Right::ChangeWorkspace)?;
        self.add_schedule_unchecked(actor, request).await
    }

    /// Makes a schedule for somebody whom a person has allowed it, as one who calls the tool for
    /// it is, whatever their own rights are.
    pub(crate) async fn add_schedule_unchecked(
        &self,
        actor: &Actor,
        request: ScheduleRequest,
    ) -> AgentResult<ScheduleView> {
        let ScheduleRequest { name, plan, task, settings, target } = request;
        let name = checked_name(&name)?;
        if task.trim().is_empty() || task.contains('\0') {
            return Err(AgentError::EmptyMessage);
        }
        if let Some(model) = &settings.model {
            self.shared.model(Some(model))?;
        }
        target.must_be_open(self).await?;
        let now = Moment::now();
        let due = plan.next_after(now.timestamp()).ok_or(PlanError::NeverComes)?;
        let new = NewSchedule {
            agent: self.name().to_owned(),
            name,
            plan: to_json(&plan),
            settings: to_json(&settings),
            target: to_json(&target),
            actor: actor.to_store(),
            task,
            at: now,
            due: Some(Moment::new(due)),
        };
        let stored = self.store().add_schedule(new).await?;
        self.view_schedule(stored).await
    }

    /// The agent's schedules, by name.
    pub async fn schedules(&self, actor: &Actor) -> AgentResult<Vec<ScheduleView>> {
        actor.must_have(Right::SeeWorkspace)?;
        self.schedules_unchecked().await
    }

    /// The same, for those who look at who may know of which.
    pub(crate) async fn schedules_unchecked(&self) -> AgentResult<Vec<ScheduleView>> {
        let mut views = Vec::new();
        for stored in self.store().schedules().await? {
            if stored.agent == self.name() {
                views.push(self.view_schedule(stored).await?);
            }
        }
        Ok(views)
    }

    async fn view_schedule(&self, stored: StoredSchedule) -> AgentResult<ScheduleView> {
        let last_run = match self.store().schedule_runs(Some(stored.id), 1).await?.pop() {
            Some(run) => Some(self.view_run(run, stored.name.clone()).await?),
            None => None,
        };
        let view = ScheduleView::read(stored);
        let answer_to = view.target.describe(self).await;
        Ok(ScheduleView { answer_to, last_run, ..view })
    }

    /// A run with what stands elsewhere of it.
    pub async fn view_run(&self, run: StoredRun, schedule: String) -> AgentResult<RunView> {
        let turn = match run.turn.filter(|_| run.ended.is_none()) {
            Some(turn) => self.store().turn(turn).await?,
            None => None,
        };
        let answer_waits = turn.is_some_and(|turn| matches!(turn.status, TurnStatus::Ended(_)));
        let post = self.store().run_post(run.id).await?;
        Ok(RunView { run, schedule, answer_waits, post })
    }

    /// The schedule of that name, as people and programs are told of it.
    pub async fn schedule(&self, actor: &Actor, name: &str) -> AgentResult<ScheduleView> {
        actor.must_have(Right::SeeWorkspace)?;
        let stored = self.find_schedule(name).await?;
        self.view_schedule(stored).await
    }

    /// The last runs of the schedule of that name, or of all of the agent's, the newest first,
    /// each with the name of its schedule.
    pub async fn schedule_log(
        &self,
        actor: &Actor,
        name: Option<&str>,
        most: u32,
    ) -> AgentResult<Vec<RunView>> {
        actor.must_have(Right::SeeWorkspace)?;
        let runs = match name {
            Some(name) => {
                let schedule = self.find_schedule(name).await?;
                self.store().schedule_runs(Some(schedule.id), most).await?
            }
            None => self.store().runs_of_agent(self.name(), most).await?,
        };
        let mut logged = Vec::new();
        for run in runs {
            let schedule = self.store().schedule(run.schedule).await?;
            let schedule = schedule.map(|schedule| schedule.name).unwrap_or_default();
            logged.push(self.view_run(run, schedule).await?);
        }
        Ok(logged)
    }

    /// Removes a schedule. Its runs stay on record.
    pub async fn remove_schedule(&self, actor: &Actor, name: &str) -> AgentResult<ScheduleView> {
        actor.must_have(Right::ChangeWorkspace)?;
        self.remove_schedule_unchecked(name).await
    }

    /// The same, for somebody whom a person has allowed it.
    pub(crate) async fn remove_schedule_unchecked(&self, name: &str) -> AgentResult<ScheduleView> {
        let removed = self.store().remove_schedule(self.name(), name, Moment::now()).await?;
        match removed {
            Some(stored) => self.view_schedule(stored).await,
            None => Err(self.no_such_schedule(name).await?),
        }
    }

    /// The schedule of that name.
    pub(crate) async fn find_schedule(&self, name: &str) -> AgentResult<StoredSchedule> {
        match self.store().find_schedule(self.name(), name).await? {
            Some(stored) => Ok(stored),
            None => Err(self.no_such_schedule(name).await?),
        }
    }

    async fn no_such_schedule(&self, name: &str) -> AgentResult<AgentError> {
        let all = self.store().schedules().await?;
        let known = all.into_iter().filter(|schedule| schedule.agent == self.name());
        let known: Vec<String> = known.map(|schedule| schedule.name).collect();
        Ok(AgentError::NoSuchSchedule { name: name.to_owned(), known })
    }
}

/// A name that people can type and a session can be named after.
fn checked_name(name: &str) -> AgentResult<String> {
    let name = name.trim();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let length = name.chars().count();
    match (1..=LONGEST_NAME).contains(&length) && name.chars().all(is_plain) {
        true => Ok(name.to_owned()),
        false => Err(AgentError::ScheduleName { name: name.to_owned() }),
    }
}

fn to_json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Whether another process has a run by now, or has ended it.
fn is_taken(error: &AgentError) -> bool {
    matches!(error, AgentError::Store(StoreError::RunNotOurs { .. }))
}
