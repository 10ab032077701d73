//! Answers to questions whether a tool may run, from wherever they come.
//!
//! An answer is written into the store. The process that runs the turn finds it
//! there; where that process is gone, the turn goes on in this one.

use recto_store::{
    ApprovalAnswer, ApprovalId, Moment, RowId, SessionId, StoreError, StoredApproval, StoredTurn,
    TurnOwner,
};

use crate::agent::Agent;
use crate::error::{AgentError, AgentResult};
use crate::mailbox::MailboxItem;

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

impl Agent {
    /// The questions that wait for an answer in a session, or in all, oldest first.
    pub async fn open_approvals(
        &self,
        session: Option<SessionId>,
    ) -> AgentResult<Vec<StoredApproval>> {
        let mut open = self.store().open_approvals().await?;
        let now = Moment::now();
        let is_here = |approval: &StoredApproval| session.is_none_or(|id| id == approval.session);
        open.retain(|approval| is_here(approval) && approval.question.expires >= now);
        Ok(open)
    }

    /// Answers a question, and lets its turn go on.
    pub async fn answer(
        &self,
        id: ApprovalId,
        answer: ApprovalAnswer,
    ) -> AgentResult<AnsweredApproval> {
        let approval = self.shared.answer_approval(id, answer).await?;
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

    /// Lets a turn go on whose process is gone, and then what waits behind it.
    async fn resume_turns(&self, approval: &StoredApproval) -> AgentResult {
        let open = self.store().open_turns().await?.turns;
        let waits = |turn: &&StoredTurn| {
            turn.session == approval.session && turn.owner == Some(TurnOwner::Gone)
        };
        for turn in open.iter().filter(waits).filter(|turn| turn.id >= approval.turn) {
            self.post(approval.session, MailboxItem::Open(turn.id, self.shared.begin_work()))?;
        }
        Ok(())
    }

    /// Answers a question of a session: the one that is named, or the oldest.
    pub async fn answer_in(
        &self,
        session: SessionId,
        id: Option<ApprovalId>,
        answer: ApprovalAnswer,
    ) -> AgentResult<AnsweredApproval> {
        let open = self.open_approvals(Some(session)).await?;
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
        self.answer(asked, answer).await
    }
}
