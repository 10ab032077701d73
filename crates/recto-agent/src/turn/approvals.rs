//! A round of calls of which some need a person's word.
//!
//! The questions are stored in one commit with the reply that asks for the calls,
//! and the turn waits. Whoever answers, in this process or another, writes into
//! the store; whoever runs the turn by then finds the answer there. So a question
//! survives the process that asked it.

use std::time::Duration;

use recto_context::{ContentPart, MessageBody, Text, ToolCall};
use recto_store::{
    ApprovalAnswer, ApprovalDecision, ApprovalExtent, ApprovalId, Moment, NewApproval,
    SessionApproval, StoreError, StoredApproval,
};
use recto_tools::{ApprovalNeed, CallPermit, Consent, SessionLeave, ToolAction, ToolCallVerdict};

use super::TurnRun;
use crate::actor::Actor;
use crate::approvals::stored_answer_text;
use crate::error::{AgentError, AgentResult};
use crate::event::{ApprovalQuestion, EventKind};
use crate::step::{STOPPED_UNALLOWED, StepEffect, StepInput};

/// How often the store is looked at for an answer that another process wrote.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// What the policy says of a round.
pub(super) enum RoundVerdict {
    /// Nobody has to be asked.
    Free(Vec<CallPermit>),
    /// Questions were stored; this comes next.
    Asked(StepEffect),
}

impl TurnRun<'_> {
    /// Decides which calls may run at once. Where a person has to be asked, the
    /// questions are stored with the reply.
    pub(super) async fn judge_calls(&mut self) -> AgentResult<RoundVerdict> {
        let verdicts = tokio::select! {
            verdicts = self.verdicts() => verdicts?,
            () = self.stop.requested() => return Ok(RoundVerdict::Asked(self.state.step(StepInput::Stop))),
        };
        if let Some(free) = verdicts.iter().map(free).collect() {
            return Ok(RoundVerdict::Free(free));
        }
        let now = Moment::now();
        let expires = later(now, self.shared.parts.options.approval_expires);
        let round = self.state.round();
        for (place, verdict) in (0..).zip(verdicts) {
            let ToolCallVerdict::Ask(question) = verdict else { continue };
            let ToolAction { title, detail, fields, needs, hash } = question.action;
            self.pending.approvals.push(NewApproval {
                round,
                place,
                tool: question.tool,
                title,
                detail,
                fields: serde_json::to_value(fields).ok(),
                action: hash,
                identity: question.identity,
                extent: match needs {
                    ApprovalNeed::Person => ApprovalExtent::Call,
                    ApprovalNeed::Leave => ApprovalExtent::Tool,
                },
                asked: now,
                expires,
            });
        }
        let effect = self.state.step(StepInput::Asked);
        self.commit().await?;
        Ok(RoundVerdict::Asked(effect))
    }

    async fn verdicts(&self) -> AgentResult<Vec<ToolCallVerdict>> {
        let store = &self.shared.parts.store;
        // What was allowed to one person's turns is not allowed to another's.
        let actor = &self.arrived.inbound.actor;
        let is_theirs =
            |allowed: &SessionApproval| Actor::from_store(&allowed.actor).is_same_person(actor);
        let allowed = store.allowed_in(self.arrived.session).await?.into_iter().filter(is_theirs);
        let tools = allowed.map(|allowed| (allowed.tool, allowed.identity)).collect();
        let leave = SessionLeave { approval: self.inputs.rights.approval, tools };
        let (offered, context) = (self.offered(), self.call_context());
        Ok(self.shared.parts.tools.judge(&self.calls, &offered, &context, &leave).await)
    }

    /// Waits until every question of the round has its answer, or its time is up,
    /// or the person stops the turn.
    pub(super) async fn wait_for_answers(&mut self) -> AgentResult<StepEffect> {
        self.find_calls();
        // Whoever waits until all work is done does not wait for a person.
        let _resting = self.shared.rest(self.arrived.session);
        for approval in self.questions().await?.iter().filter(|asked| asked.answer.is_none()) {
            self.emit(EventKind::Asked(ApprovalQuestion::from_approval(approval)));
        }
        loop {
            let answered = self.shared.answered.notified();
            let asked = self.questions().await?;
            if asked.iter().all(|approval| approval.answer.is_some()) {
                return self.take_answers(&asked).await;
            }
            self.expire(&asked).await?;
            tokio::select! {
                () = answered => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
                () = self.stop.requested() => return self.give_up_asking().await,
            }
        }
    }

    /// Finds the calls of a turn that was taken up: they stand in the transcript.
    fn find_calls(&mut self) {
        if !self.calls.is_empty() {
            return;
        }
        let of_turn = self.session.split_at(self.message_id).1;
        let reply = of_turn.iter().rev().find(|message| !message.calls().is_empty());
        let handed = self.state.handed();
        let is_own = |call: &&ToolCall| handed.iter().all(|handed| *handed.id != *call.id.0);
        let calls = reply.map_or(&[][..], |reply| reply.calls());
        let calls = calls.iter().filter(is_own).cloned().collect();
        self.calls = self.with_wish(calls);
    }

    /// The questions of this round, those that were answered included.
    async fn questions(&self) -> AgentResult<Vec<StoredApproval>> {
        let Some(turn) = self.turn_id else { return Ok(Vec::new()) };
        let mut asked = self.shared.parts.store.approvals_of(turn).await?;
        asked.retain(|approval| approval.question.round == self.state.round());
        Ok(asked)
    }

    /// Closes questions whose time is up.
    async fn expire(&self, asked: &[StoredApproval]) -> AgentResult {
        let now = Moment::now();
        let is_over = |approval: &&StoredApproval| {
            approval.answer.is_none() && approval.question.expires < now
        };
        for approval in asked.iter().filter(is_over) {
            let nobody = None;
            self.close(approval.id, ApprovalAnswer::Expired, nobody).await?;
        }
        Ok(())
    }

    /// Answers a question for the person. One that was answered meanwhile stays so.
    async fn close(
        &self,
        id: ApprovalId,
        answer: ApprovalAnswer,
        by: Option<&Actor>,
    ) -> AgentResult {
        match self.shared.answer_approval(id, answer, by).await {
            Err(AgentError::Store(StoreError::Decided { .. })) => Ok(()),
            other => other.map(drop),
        }
    }

    async fn take_answers(&mut self, asked: &[StoredApproval]) -> AgentResult<StepEffect> {
        // Calls that nobody had to be asked about are judged again: a turn that was
        // taken up has forgotten what was said of them.
        let verdicts = self.verdicts().await?;
        let mut permits = Vec::new();
        for (place, verdict) in (0..).zip(&verdicts) {
            let approval = asked.iter().find(|approval| approval.question.place == place);
            permits.push(match approval {
                Some(approval) => permit(approval),
                None => free(verdict).unwrap_or_else(|| CallPermit::Denied(NOBODY.to_owned())),
            });
        }
        for approval in asked {
            self.tally.add_answer(approval);
            self.tell_answer(approval);
        }
        self.permits = Some(permits);
        Ok(self.state.step(StepInput::Decided))
    }

    /// Tells of an answer, and adds what was asked and answered to the transcript, for people.
    fn tell_answer(&mut self, approval: &StoredApproval) {
        let Some(ApprovalDecision { answer, by, .. }) = &approval.answer else { return };
        let by = by.as_ref().map(Actor::from_store);
        let Some(text) = stored_answer_text(approval) else { return };
        self.emit(EventKind::Decided { approval: approval.id, answer: *answer, by });
        self.push_message(MessageBody::Approval(Text::from(text)));
    }

    /// Closes the questions when nobody wants an answer any more: whoever stops the turn takes
    /// back what is open, and has denied nothing.
    async fn give_up_asking(&mut self) -> AgentResult<StepEffect> {
        for approval in self.questions().await? {
            if approval.answer.is_none() {
                let by = self.stop.requested_by();
                self.close(approval.id, ApprovalAnswer::Withdrawn, by).await?;
            }
        }
        for approval in self.questions().await? {
            self.tally.add_answer(&approval);
        }
        for ToolCall { id, name, .. } in self.calls.clone() {
            let content = vec![ContentPart::Text(STOPPED_UNALLOWED.into())];
            self.push_message(MessageBody::Tool { call: id, name, content });
        }
        self.calls.clear();
        Ok(self.state.step(StepInput::Stop))
    }
}

const NOBODY: &str = "nobody allowed it";

/// The permit of a call that nobody has to be asked about.
fn free(verdict: &ToolCallVerdict) -> Option<CallPermit> {
    match verdict {
        ToolCallVerdict::Go(consent) => Some(CallPermit::Go(*consent)),
        ToolCallVerdict::No(refusal) => Some(CallPermit::No(refusal.clone())),
        ToolCallVerdict::Ask(_) => None,
    }
}

/// What an answer means for its call.
fn permit(approval: &StoredApproval) -> CallPermit {
    match approval.answer.as_ref().map(|decision| decision.answer) {
        Some(ApprovalAnswer::Once | ApprovalAnswer::Session) => {
            CallPermit::Go(Consent::To(approval.question.action))
        }
        Some(ApprovalAnswer::Denied) => CallPermit::Denied(
            "the person was asked and said no; do not try it again unless they ask for it".into(),
        ),
        Some(ApprovalAnswer::Expired) => {
            CallPermit::Denied("the person was asked and did not answer in time".into())
        }
        Some(ApprovalAnswer::Withdrawn) | None => CallPermit::Denied(NOBODY.to_owned()),
    }
}

fn later(now: Moment, by: Duration) -> Moment {
    let later = jiff::SignedDuration::try_from(by).ok();
    let later = later.and_then(|by| now.timestamp().checked_add(by).ok());
    later.map_or(now, Moment::new)
}
