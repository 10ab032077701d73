//! One run of a schedule: from the time that has come to the answer where it is to go.
//!
//! Each step can be done again by another process: the session is named after the schedule, the
//! task is submitted under the number of the run, and the answer is put into its place together
//! with the end of the run.

use std::time::Duration;

use recto_context::{
    AudienceKind, ContentPart, MessageBody, Reveal, UserMessage, reveal, visible_text,
};
use recto_store::{
    AnswerDelivery, AnswerPlace, AnswerPost, ChannelAccount, Moment, NewChannelDelivery, RowId,
    RunEnding, RunStart, SessionId, StoreError, StoredMessage, StoredRun, StoredSchedule,
    StoredTurn, TurnEnding, TurnId, TurnOwner, TurnStatus, run_post_key,
};
use serde_json::json;
use tokio::time::sleep;

use super::target::{FoundTarget, split_chat_name};
use super::{RunView, ScheduleView, is_taken};
use crate::actor::Actor;
use crate::agent::{Agent, Conversation};
use crate::conversation::SOLE_ACCOUNT;
use crate::error::{AgentError, AgentResult};
use crate::event::EventKind;
use crate::event_stream::{EventCursor, EventListener};
use crate::inbound::{Inbound, SurfaceMessage};
use crate::options::SessionSettings;
use crate::rights::Right;
use crate::shutdown::TakeUpScope;
use crate::turn::stamp;

/// The surface of the sessions in which runs are held.
pub(crate) const SURFACE: &str = "schedule";

/// How often it is looked whether a turn that may run elsewhere has ended.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// After what pauses an answer is offered again to a session in which a turn runs, or waits for
/// a person.
const DELIVERY_PAUSE: Duration = Duration::from_secs(2);

/// How often it is looked whether a run that is to be stopped has its turn.
const TURN_PAUSE: Duration = Duration::from_millis(50);

/// A run that somebody wanted now, once it is over.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedRun {
    /// The run as it ended.
    pub view: RunView,
    /// Whether it is one that another process had left.
    pub is_taken_over: bool,
    /// What it answered, if it did.
    pub reply: Option<String>,
}

impl Agent {
    /// Runs a schedule now, and gives the run once it is over. One that another process left is
    /// finished instead.
    pub async fn run_schedule(&self, actor: &Actor, name: &str) -> AgentResult<RequestedRun> {
        let (schedule, run, is_taken_over) = self.begin_requested(actor, name).await?;
        self.finish_run(&schedule, &run).await?;
        let ended = self.store().schedule_run(run.id).await?;
        let run = ended.ok_or(StoreError::NotFound(RowId::Schedule(schedule.id)))?;
        let turn = match run.turn {
            Some(turn) => self.store().turn(turn).await?,
            None => None,
        };
        let reply = match turn {
            Some(turn) => read_answer(&self.store().messages_of_turn(&turn).await?),
            None => None,
        };
        let view = self.view_run(run, schedule.name).await?;
        Ok(RequestedRun { view, is_taken_over, reply })
    }

    /// Stops the turn of the run of a schedule that is under way, as soon as it has one; the run
    /// ends with it. Says whether there was one.
    pub async fn stop_schedule_run(&self, actor: &Actor, name: &str) -> AgentResult<bool> {
        actor.must_have(Right::ChangeWorkspace)?;
        let schedule = self.find_schedule(name).await?;
        loop {
            let runs = self.store().schedule_runs(Some(schedule.id), 1).await?;
            let open = runs.into_iter().next().filter(|run| run.ended.is_none());
            let Some(run) = open else { return Ok(false) };
            if let (Some(session), Some(turn)) = (run.session, run.turn) {
                return self.stop_turn(actor, session, turn).await;
            }
            sleep(TURN_PAUSE).await;
        }
    }

    /// Begins to run a schedule now. It goes on by itself. Must be called within a tokio runtime.
    pub async fn start_schedule(&self, actor: &Actor, name: &str) -> AgentResult<StoredRun> {
        let (schedule, run, _) = self.begin_requested(actor, name).await?;
        self.spawn_run(schedule, run.clone());
        Ok(run)
    }

    async fn begin_requested(
        &self,
        actor: &Actor,
        name: &str,
    ) -> AgentResult<(StoredSchedule, StoredRun, bool)> {
        actor.must_have(Right::ChangeWorkspace)?;
        let schedule = self.find_schedule(name).await?;
        match self.store().begin_run(schedule.id, Moment::now()).await? {
            RunStart::Begun(run) => Ok((schedule, run, false)),
            RunStart::TakenOver(run) => Ok((schedule, run, true)),
            RunStart::UnderWay(run) => {
                Err(AgentError::ScheduleRuns { name: schedule.name, run: run.id })
            }
        }
    }

    /// Brings a run of this process to its end, from wherever it stands.
    pub(super) async fn finish_run(
        &self,
        schedule: &StoredSchedule,
        run: &StoredRun,
    ) -> AgentResult {
        let view = ScheduleView::read(schedule.clone());
        let ended = match self.complete_turn(&view, run).await {
            Ok(turn) => self.deliver(&view, run, &turn).await,
            // Whoever takes it over goes on with it.
            Err(error) if error.may_pass() || is_taken(&error) => Err(error),
            Err(error) => self.end_without_turn(&view, run, &error).await,
        };
        match ended {
            Err(error) if is_taken(&error) => Ok(()),
            ended => ended,
        }
    }

    /// Has the task of a run done, and gives its turn once that is over.
    async fn complete_turn(&self, view: &ScheduleView, run: &StoredRun) -> AgentResult<StoredTurn> {
        let conversation = self.run_conversation(view).await?;
        let session = match run.session {
            Some(session) => session,
            None => self.begin_run_session(view, run, &conversation).await?,
        };
        let actor = Actor::schedule(&view.stored.name, &conversation);
        let inbound = Inbound {
            settings: SessionSettings {
                model: view.settings.model.clone(),
                context_mode: view.settings.context_mode,
                ..SessionSettings::default()
            },
            delivery: Some(SurfaceMessage { conversation, id: format!("run-{}", run.id) }),
            ..Inbound::text(&actor, &view.stored.task)
        };
        // A run that another process left may have begun its turn.
        let submitted = self.submit(session, inbound).await?;
        self.store().set_run_turn(run.id, submitted.session, Some(submitted.turn)).await?;
        self.wait_for_turn(submitted.session, submitted.turn).await
    }

    /// The conversation in which the runs of a schedule are held: before whoever reads the
    /// answers.
    async fn run_conversation(&self, view: &ScheduleView) -> AgentResult<Conversation> {
        let audience = view.target.audience(self).await?;
        Ok(Conversation {
            who: audience.who,
            person: audience.person,
            ..Conversation::with_owner(SURFACE, SOLE_ACCOUNT, &view.stored.name)
        })
    }

    /// Begins the session of a run, in place of that of the run before.
    async fn begin_run_session(
        &self,
        view: &ScheduleView,
        run: &StoredRun,
        conversation: &Conversation,
    ) -> AgentResult<SessionId> {
        let name = format!("schedule-{}", view.stored.name);
        let before = self.begin_named(conversation, &name).await?;
        let is_fresh = self.store().last_turn(Some(before.id)).await?.is_none();
        let session = match is_fresh {
            true => before,
            false => {
                self.store().archive(before.id, Moment::now()).await?;
                self.begin_named(conversation, &name).await?
            }
        };
        self.store().set_run_turn(run.id, session.id, None).await?;
        Ok(session.id)
    }

    /// Waits until a turn is over, here or in another process. One whose process is gone goes on
    /// here.
    async fn wait_for_turn(&self, session: SessionId, turn: TurnId) -> AgentResult<StoredTurn> {
        let mut events = self.shared.streams.of_session(session).listen(EventCursor::Now);
        loop {
            let stored = self.store().turn(turn).await?;
            let stored = stored.ok_or(StoreError::NotFound(RowId::Turn(turn)))?;
            if matches!(stored.status, TurnStatus::Ended(_)) {
                return Ok(stored);
            }
            if stored.owner == Some(TurnOwner::Gone) {
                let report = self.take_up(TakeUpScope::Session(session)).await?;
                if report.left.iter().any(|left| left.id == turn) {
                    // Its tools would work in another folder.
                    return Err(AgentError::OtherFolder { session });
                }
            }
            tokio::select! {
                is_over = hear_end(&mut events, turn) => if !is_over {
                    return Err(AgentError::ShuttingDown);
                },
                () = sleep(LOOK_AGAIN) => {}
            }
        }
    }

    /// Ends a run that failed without a turn, and says so where the answer was to go. Where there
    /// is no such place, the log says it alone.
    async fn end_without_turn(
        &self,
        view: &ScheduleView,
        run: &StoredRun,
        error: &AgentError,
    ) -> AgentResult {
        let mut ending = RunEnding {
            outcome: TurnEnding::Failed,
            detail: Some(error.to_string()),
            delivery: None,
            at: Moment::now(),
        };
        match view.target.find(self).await {
            Ok(Some(target)) => {
                let answer = failure_words(view, &ending);
                let to = view.target.describe(self).await;
                ending.delivery = Some(AnswerDelivery::Delivered { to });
                self.put_into_place(view, run, ending, (target, answer)).await
            }
            Err(error) if error.may_pass() => Err(error),
            Ok(None) | Err(_) => Ok(self.store().end_run(run.id, ending).await?),
        }
    }

    /// Ends a run whose turn is over, and puts the answer where it is to go.
    async fn deliver(
        &self,
        view: &ScheduleView,
        run: &StoredRun,
        turn: &StoredTurn,
    ) -> AgentResult {
        let outcome = match turn.status {
            TurnStatus::Ended(ending) => ending,
            TurnStatus::Queued | TurnStatus::Running => TurnEnding::Interrupted,
        };
        let (detail, at) = (turn.detail.clone(), Moment::now());
        let mut ending = RunEnding { outcome, detail, delivery: None, at };
        let target = match view.target.find(self).await {
            Ok(Some(target)) => target,
            Ok(None) => return Ok(self.store().end_run(run.id, ending).await?),
            Err(error) if error.may_pass() => return Err(error),
            Err(error) => {
                ending.delivery = Some(AnswerDelivery::Failed { problem: error.to_string() });
                return Ok(self.store().end_run(run.id, ending).await?);
            }
        };
        let answer = read_answer(&self.store().messages_of_turn(turn).await?);
        let answer = answer.filter(|_| outcome == TurnEnding::Done);
        // What went wrong is for whoever waits for the answer, too.
        let answer = answer.unwrap_or_else(|| failure_words(view, &ending));
        let to = view.target.describe(self).await;
        ending.delivery = Some(AnswerDelivery::Delivered { to });
        let run = StoredRun { turn: Some(turn.id), ..run.clone() };
        self.put_into_place(view, &run, ending, (target, answer)).await
    }

    /// Ends a run with its answer in its place, as soon as no turn runs there.
    async fn put_into_place(
        &self,
        view: &ScheduleView,
        run: &StoredRun,
        ending: RunEnding,
        (target, answer): (FoundTarget, String),
    ) -> AgentResult {
        let FoundTarget { session, chat } = target;
        let post = chat.map(|chat| chat_post(&chat, view, run, &answer));
        let place = AnswerPlace { session: session.id, bodies: make_exchange(view, answer), post };
        let message = loop {
            match self.store().end_run_into(run.id, ending.clone(), place.clone()).await {
                Err(StoreError::Busy { .. }) if self.shared.closing.is_requested() => {
                    return Err(AgentError::ShuttingDown);
                }
                Err(StoreError::Busy { .. }) => sleep(DELIVERY_PAUSE).await,
                // Nobody is to read it there any more.
                Err(error @ (StoreError::PutOut { .. } | StoreError::NotOwner { .. })) => {
                    let delivery = Some(AnswerDelivery::Failed { problem: error.to_string() });
                    let ending = RunEnding { delivery, ..ending };
                    return Ok(self.store().end_run(run.id, ending).await?);
                }
                ended => break ended?,
            }
        };
        // Events are of turns; who looks at what no turn said finds it in the session.
        if let Some(turn) = run.turn {
            let schedule = view.stored.name.clone();
            let told = EventKind::Delivered { schedule, message };
            self.shared.streams.of_session(session.id).publish(turn, told);
        }
        Ok(())
    }
}

/// Waits until a turn says that it is over; `false` where nothing is said any more.
async fn hear_end(events: &mut EventListener, turn: TurnId) -> bool {
    while let Some(event) = events.next().await {
        if event.turn == Some(turn) && matches!(event.event, EventKind::Finished(_)) {
            return true;
        }
    }
    false
}

/// What whoever waits for an answer is told where there is none.
fn failure_words(view: &ScheduleView, ending: &RunEnding) -> String {
    let why = ending.detail.as_deref().unwrap_or(ending.outcome.name());
    format!("The scheduled task `{}` did not finish: {why}", view.stored.name)
}

/// What the bot of a chat is to say. It says of its own accord, so it says of what.
fn chat_post(
    chat: &Conversation,
    view: &ScheduleView,
    run: &StoredRun,
    answer: &str,
) -> AnswerPost {
    let Conversation { surface, account, name, who, .. } = chat;
    let (chat, thread) = split_chat_name(name);
    let account = ChannelAccount { channel: surface.clone(), account: account.clone() };
    let answer = reveal(answer, Reveal::Lines);
    let markdown = format!("**schedule {}**\n\n{answer}", view.stored.name);
    let delivery = NewChannelDelivery {
        key: run_post_key(run.id),
        conversation: name.clone(),
        turn: None,
        target: json!({
            "chat": chat, "thread": thread, "is_group": *who == AudienceKind::Group,
        }),
        content: Some(json!({"markdown": markdown})),
    };
    AnswerPost { account, delivery, readers: *who }
}

/// The last words of a turn.
fn read_answer(messages: &[StoredMessage]) -> Option<String> {
    let replies = messages.iter().rev().map(|stored| &stored.message.body);
    let mut texts = replies.filter_map(|body| match body {
        MessageBody::Assistant { content, calls } if calls.is_empty() => {
            Some(visible_text(content))
        }
        _ => None,
    });
    texts.next().filter(|text| !text.trim().is_empty())
}

/// A task and its answer as they stand in another session.
fn make_exchange(view: &ScheduleView, answer: String) -> Vec<MessageBody> {
    let asked = format!("[schedule {}] {}", view.stored.name, view.stored.task);
    let user = UserMessage {
        content: vec![ContentPart::Text(asked.into())],
        stamp: Some(stamp(Moment::now())),
        ..UserMessage::default()
    };
    let content = vec![ContentPart::Text(answer.into())];
    vec![MessageBody::User(user), MessageBody::Assistant { content, calls: Vec::new() }]
}
