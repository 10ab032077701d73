//! A turn from where it stands to its end: what happens is shown, and a person at
//! the terminal is asked whether a tool may run.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use recto_agent::{AgentError, ApprovalQuestion, EventKind, EventListener, TurnEvent};
use recto_store::{ApprovalAnswer, StoreError, TurnId, TurnStatus};
use tokio::task::JoinHandle;

use super::{Chat, InterruptState, MessageOutcome, unreadable_terminal};
use crate::draw::{PageWidth, wrap_exactly};
use crate::failure::{CliFailure, CliResult};
use crate::output::{tame_lines, tell};
use crate::terminal::choose::{KeyChoice, choose_key};

/// Who answers when a tool may not run unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerMode {
    /// The person at the terminal, with a key.
    AtOnce,
    /// Whoever types `/approve` or `/deny`, here or elsewhere.
    Later,
}

/// A question that a person is looking at.
struct ApprovalPrompt {
    question: ApprovalQuestion,
    taken_back: Arc<AtomicBool>,
    answer: JoinHandle<io::Result<KeyChoice>>,
}

impl ApprovalPrompt {
    /// Shows one question, so that it is clear what a key is the answer to.
    fn show(question: ApprovalQuestion) -> Self {
        tell(&wants(&question));
        let ApprovalQuestion { approval, tool, .. } = &question;
        tell(&match question.only_once {
            true => format!("{tool} (approval {approval}):  [y] allow   [n] deny"),
            false => format!(
                "{tool} (approval {approval}):  [y] allow   [s] allow every call of it in this \
                 session   [n] deny"
            ),
        });
        let keys = if question.only_once { "yn" } else { "ysn" };
        let taken_back = Arc::new(AtomicBool::new(false));
        let watched = taken_back.clone();
        let answer = tokio::task::spawn_blocking(move || choose_key(keys, &watched));
        ApprovalPrompt { question, taken_back, answer }
    }

    /// Takes the question back, and waits until the terminal is as it was.
    async fn take_back(mut self) {
        self.taken_back.store(true, Ordering::Relaxed);
        let _ = (&mut self.answer).await;
    }
}

/// Nobody need press a key any more, however the following ended.
impl Drop for ApprovalPrompt {
    fn drop(&mut self) {
        self.taken_back.store(true, Ordering::Relaxed);
    }
}

/// The questions of a turn that nobody has answered, of which one is shown at a time.
#[derive(Default)]
struct QuestionQueue {
    waiting: VecDeque<ApprovalQuestion>,
    shown: Option<ApprovalPrompt>,
}

impl QuestionQueue {
    fn show_next(&mut self) {
        if self.shown.is_none() {
            self.shown = self.waiting.pop_front().map(ApprovalPrompt::show);
        }
    }

    /// Adds questions that are not there yet.
    fn add(&mut self, asked: &[ApprovalQuestion]) {
        let is_shown = |question: &ApprovalQuestion| {
            self.shown.as_ref().is_some_and(|shown| shown.question.approval == question.approval)
        };
        let is_new =
            |question: &&ApprovalQuestion| !is_shown(question) && !self.waiting.contains(question);
        let new: Vec<_> = asked.iter().filter(is_new).cloned().collect();
        self.waiting.extend(new);
    }

    /// Waits for the key that answers the question shown; forever, if none is.
    async fn answered(&mut self) -> (ApprovalQuestion, io::Result<KeyChoice>) {
        let Some(prompt) = &mut self.shown else { return std::future::pending().await };
        let chosen = (&mut prompt.answer).await.unwrap_or_else(|error| Err(error.into()));
        let question = prompt.question.clone();
        self.shown = None;
        (question, chosen)
    }

    /// Takes back what an event has settled.
    async fn settle(&mut self, event: &EventKind) {
        let settled = match event {
            EventKind::Decided { approval, .. } => {
                self.waiting.retain(|question| question.approval != *approval);
                self.shown.take_if(|shown| shown.question.approval == *approval)
            }
            EventKind::Finished(_) => self.shown.take(),
            _ => None,
        };
        if let Some(prompt) = settled {
            prompt.take_back().await;
        }
    }
}

/// What would be run, exactly.
pub(super) fn wants(question: &ApprovalQuestion) -> String {
    let ApprovalQuestion { approval, tool, title, detail, .. } = question;
    let text = format!("{tool} wants to run (approval {approval}): {title}");
    if detail.is_empty() {
        return text;
    }
    let detail = wrap_exactly(&tame_lines(detail.trim_end()), 2, PageWidth::of_stderr());
    format!("{text}\n{}", detail.trim_end_matches('\n'))
}

impl Chat {
    /// Shows what happens until the turn is over, or waits for a word that nobody
    /// here can give.
    pub(super) async fn follow(
        &mut self,
        turn: TurnId,
        events: &mut EventListener,
        mut interrupts: InterruptState,
    ) -> CliResult<MessageOutcome> {
        let mut questions = QuestionQueue::default();
        loop {
            questions.show_next();
            let event = tokio::select! {
                biased;
                event = self.watch(&mut interrupts, events.next()) => event,
                (question, chosen) = questions.answered() => {
                    self.decide(&question, chosen).await?;
                    continue;
                }
            };
            let Some(event) = event else { return Ok(MessageOutcome::Abandoned) };
            let event = event.ok_or_else(|| {
                CliFailure::new("the turn ended unexpectedly")
                    .hint(format!("see what is stored with `recto show {turn}`"))
            })?;
            if interrupts != InterruptState::None {
                // What was stopped may have been an older turn before it.
                self.agent.stop(&self.actor, self.session.id).await?;
            }
            if let Some(outcome) = self.show(turn, &event, &mut questions).await? {
                return Ok(outcome);
            }
        }
    }

    /// Shows an event, and says how the turn stands once nothing more is to be followed.
    async fn show(
        &mut self,
        turn: TurnId,
        event: &TurnEvent,
        questions: &mut QuestionQueue,
    ) -> CliResult<Option<MessageOutcome>> {
        let asked = event.event.questions();
        if !asked.is_empty() && self.answers == AnswerMode::Later {
            return self.show_questions(event).map(Some);
        }
        if !asked.is_empty() {
            self.printer.pause()?;
            questions.add(asked);
        }
        questions.settle(&event.event).await;
        match &event.event {
            EventKind::Asked(_) => return Ok(None),
            _ if event.turn == Some(turn) => self.printer.event(event)?,
            _ => self.printer.other(event)?,
        }
        match &event.event {
            EventKind::Snapshot(_) => self.ending_of(turn).await,
            EventKind::Finished(finished) if event.turn == Some(turn) => {
                Ok(Some(finished.status.into()))
            }
            _ => Ok(None),
        }
    }

    /// Shows questions that nobody here can answer with a key.
    fn show_questions(&mut self, event: &TurnEvent) -> CliResult<MessageOutcome> {
        self.printer.event(event)?;
        if let EventKind::Snapshot(snapshot) = &event.event {
            for question in &snapshot.questions {
                self.printer.question(question)?;
            }
        }
        Ok(MessageOutcome::Waiting)
    }

    /// How a turn ended of which events were missed, its end perhaps among them.
    async fn ending_of(&self, turn: TurnId) -> CliResult<Option<MessageOutcome>> {
        let stored = self.agent.store().turn(turn).await?;
        let Some(TurnStatus::Ended(ending)) = stored.map(|turn| turn.status) else {
            return Ok(None);
        };
        let status = ending.name();
        tell(&format_args!("turn {turn} is {status}; `recto show {turn}` has what was missed"));
        Ok(Some(ending.into()))
    }

    /// Hands in what the person chose. Ctrl-C stops the turn, which denies.
    async fn decide(
        &self,
        question: &ApprovalQuestion,
        chosen: io::Result<KeyChoice>,
    ) -> CliResult {
        let answer = match chosen {
            Ok(KeyChoice::Key('y')) => ApprovalAnswer::Once,
            Ok(KeyChoice::Key('s')) => ApprovalAnswer::Session,
            Ok(KeyChoice::Key(_)) => ApprovalAnswer::Denied,
            Ok(KeyChoice::TakenBack) => return Ok(()),
            Ok(KeyChoice::Interrupted) => {
                self.agent.stop(&self.actor, self.session.id).await?;
                return Ok(());
            }
            Err(error) => {
                let id = question.approval;
                return Err(unreadable_terminal(&error)
                    .hint(format!("answer with `recto approvals answer {id} allow`")));
            }
        };
        match self.agent.answer(&self.actor, question.approval, answer).await {
            // Somebody was faster, which holds.
            Ok(_) | Err(AgentError::Store(StoreError::Decided { .. })) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
