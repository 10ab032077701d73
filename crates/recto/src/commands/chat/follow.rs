//! A turn from where it stands to its end: what happens is shown, and a person at
//! the terminal is asked whether a tool may run.

use recto_agent::{AgentError, ApprovalQuestion, EventKind, EventListener, TurnEvent};
use recto_store::{ApprovalAnswer, StoreError, TurnId, TurnStatus};

use super::interrupts::InterruptState;
use super::outcome::MessageOutcome;
use super::questions::QuestionQueue;
use super::{Chat, unreadable_terminal};
use crate::failure::{CliFailure, CliResult};
use crate::output::tell;

/// Who answers when a tool may not run unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerMode {
    /// The person at the terminal, with a key.
    AtOnce,
    /// Whoever types `/approve` or `/deny`, here or elsewhere.
    Later,
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
        self.questions = QuestionQueue::default();
        loop {
            self.show_question()?;
            let event = self.watch(&mut interrupts, events.next()).await?;
            let Some(event) = event else { return Ok(MessageOutcome::Abandoned) };
            let event = event.ok_or_else(|| {
                CliFailure::new("the turn ended unexpectedly")
                    .hint(format!("see what is stored with `recto show {turn}`"))
            })?;
            if interrupts != InterruptState::None {
                // What was stopped may have been an older turn before it.
                self.agent.stop(&self.actor, self.session.id).await?;
            }
            if let Some(outcome) = self.show(turn, &event).await? {
                return Ok(outcome);
            }
        }
    }

    /// Shows the next question, if one waits, and takes keys for it.
    fn show_question(&mut self) -> CliResult {
        if self.questions.has_next() {
            self.typing.start().map_err(|error| {
                unreadable_terminal(&error).hint(
                    "answer with `recto approvals answer`, `recto approvals list` has the number",
                )
            })?;
            self.printer.pause()?;
            self.questions.show_next(self.typing.draft());
        } else if self.questions.is_empty() {
            self.typing.stop_for_questions();
        }
        Ok(())
    }

    /// Shows an event, and says how the turn stands once nothing more is to be followed.
    async fn show(&mut self, turn: TurnId, event: &TurnEvent) -> CliResult<Option<MessageOutcome>> {
        let asked = event.event.questions();
        if !asked.is_empty() && self.answers == AnswerMode::Later {
            return self.show_questions(event).await.map(Some);
        }
        if !asked.is_empty() {
            self.questions.add(asked);
        }
        self.questions.settle(&event.event);
        match &event.event {
            EventKind::Asked(_) => return Ok(None),
            _ if event.turn == Some(turn) => self.printer.event(event)?,
            _ => {
                if let (EventKind::Finished(_), Some(other)) = (&event.event, event.turn) {
                    self.elsewhere.add_own(other);
                }
                self.printer.other(event, turn)?;
            }
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
    async fn show_questions(&mut self, event: &TurnEvent) -> CliResult<MessageOutcome> {
        self.printer.event(event)?;
        if let (EventKind::Asked(shown), Some(turn)) = (&event.event, event.turn) {
            // A round may ask several at once, and nobody follows the turn from here on.
            for other in self.agent.store().approvals_of(turn).await? {
                if other.answer.is_none() && other.id != shown.approval {
                    self.printer.question(&ApprovalQuestion::from_approval(&other))?;
                }
            }
        }
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

    /// Hands in what the person chose.
    pub(super) async fn decide(&mut self, question: &ApprovalQuestion, key: char) -> CliResult {
        let answer = match key {
            'y' => ApprovalAnswer::Once,
            's' => ApprovalAnswer::Session,
            _ => ApprovalAnswer::Denied,
        };
        match self.agent.answer(&self.actor, question.approval, answer).await {
            // Somebody was faster, which holds.
            Ok(_) | Err(AgentError::Store(StoreError::Decided { .. })) => self.show_question(),
            Err(error) => Err(error.into()),
        }
    }
}
