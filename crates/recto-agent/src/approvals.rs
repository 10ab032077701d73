//! Answers to questions whether a tool may run, from wherever they come.
//!
//! An answer is written into the store. The process that runs the turn finds it
//! there; where that process is gone, the turn goes on in this one.

use recto_store::{
    ApprovalAnswer, ApprovalDecision, ApprovalId, Moment, RowId, SessionId, StoreError,
    StoredApproval, StoredTurn, TurnOwner,
};

use crate::access::must_work_in_its_folder;
use crate::actor::Actor;
use crate::agent::Agent;
use crate::error::{AgentError, AgentResult};
use crate::mailbox::MailboxItem;
use crate::rights::Right;
use crate::shared::WorkKind;

/// A question with its answer, and what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct AnsweredApproval {
    /// The question, with its answer in it.
    pub approval: StoredApproval,
    /// Where the turn goes on.
    pub goes_on: TurnContinues,
}

/// Where a turn goes on once it has its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnContinues {
    /// In the process that took the answer.
    Here,
    /// In the process that runs it.
    Elsewhere,
    /// Nowhere yet: other questions of it are open.
    WhenAllAreAnswered,
}

/// What a transcript says of a question that was answered: the answer, who gave it in the words
/// of whoever tells it (` by ada`), and what was asked. `None` where none was given.
pub fn describe_answered(
    approval: &StoredApproval,
    person_words: impl FnOnce(&Actor) -> String,
) -> Option<String> {
    let ApprovalDecision { answer, by, .. } = approval.answer.as_ref()?;
    let person = by.as_ref().map(|by| person_words(&Actor::from_store(by))).unwrap_or_default();
    let (tool, title) = (approval.question.tool.key(), &approval.question.title);
    Some(format!("{}{person}: {tool}: {title}", answer.describe()))
}

/// The same as it is stored, by the name of whoever answered.
pub fn stored_answer_text(approval: &StoredApproval) -> Option<String> {
    describe_answered(approval, |by| format!(" by {}", by.name))
}

impl Agent {
    /// The questions that wait for an answer in a session, oldest first.
    pub async fn open_approvals(
        &self,
        actor: &Actor,
        session: SessionId,
    ) -> AgentResult<Vec<StoredApproval>> {
        self.must_reach(actor, session).await?;
        let mut open = self.store().open_approvals(Moment::now()).await?;
        open.retain(|approval| approval.session == session);
        Ok(open)
    }

    /// Answers a question, and lets its turn go on. One of another agent's session is
    /// refused: its turn could not go on here.
    pub async fn answer(
        &self,
        actor: &Actor,
        id: ApprovalId,
        answer: ApprovalAnswer,
    ) -> AgentResult<AnsweredApproval> {
        actor.must_have(Right::for_answer(answer))?;
        let not_found = || StoreError::NotFound(RowId::Approval(id));
        let asked = self.store().approval(id).await?.ok_or_else(not_found)?;
        self.must_reach(actor, asked.session).await.map_err(|_| not_found())?;
        self.must_go_on_here(&asked).await?;
        let approval = self.shared.answer_approval(id, answer, Some(actor)).await?;
        let turn = self.store().turn(approval.turn).await?;
        let owner = turn.and_then(|turn| turn.owner);
        let asked = self.store().approvals_of(approval.turn).await?;
        let goes_on = if asked.iter().any(|approval| approval.answer.is_none()) {
            TurnContinues::WhenAllAreAnswered
        } else if owner == Some(TurnOwner::Elsewhere) {
            TurnContinues::Elsewhere
        } else {
            TurnContinues::Here
        };
        if owner == Some(TurnOwner::Gone) && goes_on == TurnContinues::Here {
            self.resume_turns(&approval).await?;
        }
        Ok(AnsweredApproval { approval, goes_on })
    }

    /// Passes a question whose turn may go on in this process, if it does: what was asked for is
    /// meant for the folder of its session.
    async fn must_go_on_here(&self, approval: &StoredApproval) -> AgentResult {
        let turn = self.store().turn(approval.turn).await?;
        let session = self.store().session(approval.session).await?;
        match (turn.and_then(|turn| turn.owner), session) {
            (Some(TurnOwner::Gone), Some(session)) => {
                must_work_in_its_folder(&self.shared, &session)
            }
            _ => Ok(()),
        }
    }

    /// Lets a turn go on whose process is gone, and then what waits behind it.
    async fn resume_turns(&self, approval: &StoredApproval) -> AgentResult {
        let open = self.store().open_turns().await?.turns;
        let waits = |turn: &&StoredTurn| {
            turn.session == approval.session && turn.owner == Some(TurnOwner::Gone)
        };
        for turn in open.iter().filter(waits).filter(|turn| turn.id >= approval.turn) {
            let work = self.shared.begin_work(WorkKind::Asked(turn.session));
            let held = self.shared.streams.hold(turn.id);
            self.post(turn.session, MailboxItem::Open(held, work))?;
        }
        Ok(())
    }

    /// Answers a question of a session: the one that is named, or the oldest.
    pub async fn answer_in(
        &self,
        actor: &Actor,
        session: SessionId,
        id: Option<ApprovalId>,
        answer: ApprovalAnswer,
    ) -> AgentResult<AnsweredApproval> {
        self.must_be_allowed(actor, Right::for_answer(answer), session).await?;
        let open = self.open_approvals(actor, session).await?;
        let asked = match id {
            None => open.first().ok_or(AgentError::NothingAsked)?.id,
            Some(id) if open.iter().any(|approval| approval.id == id) => id,
            Some(id) => match self.store().approval(id).await? {
                // Of another session, which this one may not speak for.
                Some(approval) if approval.session != session => {
                    return Err(StoreError::NotFound(RowId::Approval(id)).into());
                }
                _ => id,
            },
        };
        self.answer(actor, asked, answer).await
    }
}
