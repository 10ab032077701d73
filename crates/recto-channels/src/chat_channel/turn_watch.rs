//! Watches a turn from its message to its reply: shows that something happens, lets the reply
//! grow, and asks what has to be asked.

use std::collections::HashSet;
use std::time::Duration;

use recto_agent::{
    Actor, Agent, AgentError, ApprovalQuestion, EventCursor, EventKind, EventNumber, Right,
    TurnEvent, TurnNotice, is_allowed,
};
use recto_store::{
    ApprovalAnswer, ApprovalId, Moment, NewChannelDelivery, StoreError, StoreResult,
    StoredApproval, StoredTurn, TurnStatus,
};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::ChatChannel;
use super::posted_messages::{PostEffort, PostFailure, PostedMessages};
use crate::content::DeliveryContent;
use crate::reply::reply_markdown;
use crate::service::{ChatService, ReplyTarget};

/// How often the store is asked whether a turn is over that another process may run.
const LOOK: Duration = Duration::from_secs(2);

/// A turn that is watched.
pub(super) struct TurnWatch<'a, S> {
    pub(super) channel: &'a ChatChannel<S>,
    pub(super) agent: &'a Agent,
    pub(super) actor: Actor,
    pub(super) turn: StoredTurn,
}

/// What is known of a turn while it runs.
#[derive(Debug, Default)]
struct LiveReply {
    text: String,
    /// What was last shown of it.
    shown: String,
    notices: Vec<TurnNotice>,
    /// Whether a person is waited for.
    asks: bool,
    /// The questions whose answer was heard of.
    decided: HashSet<ApprovalId>,
    /// No change before this moment: the service asked to wait.
    wait_until: Option<Instant>,
}

/// Whether a turn goes on.
#[derive(Debug, PartialEq, Eq)]
enum TurnProgress {
    GoesOn,
    Over,
}

impl<S: ChatService> TurnWatch<'_, S> {
    /// What is to be said in the end; nothing where the program ends first.
    pub(super) async fn run(
        &self,
        posted: &mut PostedMessages<'_, S>,
    ) -> Result<Option<DeliveryContent>, PostFailure> {
        let from_start = EventCursor::After(EventNumber(0));
        let mut listener = match self.agent.listen(&self.actor, self.turn.session, from_start).await
        {
            Ok(listener) => listener,
            Err(AgentError::Store(error)) if !matches!(error, StoreError::NotFound(_)) => {
                return Err(error.into());
            }
            Err(_) => return Ok(Some(DeliveryContent::deleted_conversation())),
        };
        let target = &posted.target.clone();
        let mut live = LiveReply::default();
        let (mut typing, mut looks) = (interval(S::TYPING_LASTS), interval(LOOK));
        let mut edits = interval(self.channel.service.edit_pause(target));
        edits.set_missed_tick_behavior(MissedTickBehavior::Delay);
        edits.reset();
        self.ask_open_questions(target).await?;
        loop {
            tokio::select! {
                event = listener.next() => match event {
                    None => return Ok(None),
                    Some(event) => {
                        let progress = self.take_event(event, target, &mut live).await?;
                        // One whose end could not be stored is not over: somebody takes it up.
                        if progress == TurnProgress::Over && self.has_ended().await? {
                            break;
                        }
                    }
                },
                _ = looks.tick() => {
                    if self.has_ended().await? {
                        break;
                    }
                }
                _ = typing.tick(), if live.text.is_empty() && !live.asks => {
                    self.channel.service.show_typing(target);
                }
                _ = edits.tick(), if live.is_due() => live.show(posted).await?,
            }
        }
        self.settle_questions(&live).await?;
        self.final_content(&live).await.map(Some)
    }

    async fn take_event(
        &self,
        event: TurnEvent,
        target: &ReplyTarget,
        live: &mut LiveReply,
    ) -> Result<TurnProgress, PostFailure> {
        if event.turn != Some(self.turn.id) {
            return Ok(TurnProgress::GoesOn);
        }
        match event.event {
            EventKind::Requested { .. } => live.text.clear(),
            EventKind::Text { text } => {
                live.asks = false;
                live.text.push_str(&text);
            }
            EventKind::Snapshot(snapshot) => {
                live.text = snapshot.text;
                for question in &snapshot.questions {
                    live.asks = true;
                    self.ask(question, target).await?;
                }
            }
            EventKind::Asked(question) => {
                live.asks = true;
                self.ask(&question, target).await?;
            }
            EventKind::Decided { approval, answer, by } => {
                live.asks = false;
                live.decided.insert(approval);
                let by = by.map(|actor| actor.name.to_string());
                self.show_decided(approval, answer, by.as_deref()).await?;
            }
            EventKind::Notice(notice) => live.notices.push(notice),
            EventKind::Finished(_) => return Ok(TurnProgress::Over),
            EventKind::Accepted
            | EventKind::Delivered { .. }
            | EventKind::TakenBack(_)
            | EventKind::Retrying { .. }
            | EventKind::Thinking { .. }
            | EventKind::Call(_)
            | EventKind::Result { .. } => {}
        }
        Ok(TurnProgress::GoesOn)
    }

    async fn has_ended(&self) -> StoreResult<bool> {
        let turn = self.channel.host.store.turn(self.turn.id).await?;
        Ok(turn.is_none_or(|turn| matches!(turn.status, TurnStatus::Ended(_))))
    }

    /// What the conversation is told in the end.
    async fn final_content(&self, live: &LiveReply) -> Result<DeliveryContent, PostFailure> {
        let store = &self.channel.host.store;
        let Some(turn) = store.turn(self.turn.id).await? else {
            return Ok(DeliveryContent::deleted_conversation());
        };
        let messages = store.messages_of_turn(&turn).await?;
        Ok(DeliveryContent::text(reply_markdown(&turn, &messages, &live.notices)))
    }

    /// Asks what an earlier process may not have asked.
    async fn ask_open_questions(&self, target: &ReplyTarget) -> StoreResult<()> {
        for approval in self.channel.host.store.approvals_of(self.turn.id).await? {
            if approval.answer.is_none() {
                self.ask(&ApprovalQuestion::from_approval(&approval), target).await?;
            }
        }
        Ok(())
    }

    /// Puts a question into the conversation, with the answers that somebody there may give.
    async fn ask(&self, question: &ApprovalQuestion, target: &ReplyTarget) -> StoreResult<()> {
        // In a group, the owner may be there, too.
        let may = |answer: ApprovalAnswer| {
            target.is_group || is_allowed(self.actor.role, Right::for_answer(answer))
        };
        let content = DeliveryContent::question(question, self.turn.id, may);
        let target = ReplyTarget { quotes: target.is_group, ..target.clone() };
        self.put_question(self.question_key(question.approval), &target, &content).await?;
        if !may(ApprovalAnswer::Once) {
            self.ask_owner(question).await?;
        }
        Ok(())
    }

    /// Asks those who may answer, where they talk to the bot by themselves: whoever waits here
    /// can't.
    async fn ask_owner(&self, question: &ApprovalQuestion) -> StoreResult<()> {
        let content = DeliveryContent::question(question, self.turn.id, |_| true);
        let content = content.asked_for(self.actor.name.as_str(), &self.actor.id);
        for chat in self.owner_chats().await? {
            let key = self.owner_question_key(question.approval, &chat);
            self.put_question(key, &ReplyTarget::in_private(&chat), &content).await?;
        }
        Ok(())
    }

    /// The chats in which the bot talks to its owner alone, as far as it has met them there.
    async fn owner_chats(&self) -> StoreResult<Vec<String>> {
        let ChatChannel { account, host, policy, .. } = self.channel;
        let mut chats = host.store.owner_conversations(account).await?;
        let met = host.store.conversations(self.agent.name(), &account.channel).await?;
        let met = met.into_iter().map(|(key, _)| key).filter(|key| key.account == account.account);
        // Where a chat has the id of the person.
        let is_owner = |chat: &String| policy.access.owners.contains(chat);
        chats.extend(met.map(|key| key.conversation).filter(is_owner));
        chats.sort();
        chats.dedup();
        Ok(chats)
    }

    async fn put_question(
        &self,
        key: String,
        target: &ReplyTarget,
        content: &DeliveryContent,
    ) -> StoreResult<()> {
        let new = NewChannelDelivery {
            key,
            conversation: self.question_order(),
            turn: None,
            target: serde_json::to_value(target).unwrap_or_default(),
            content: Some(content.to_store()),
        };
        let channel = self.channel;
        let asked = channel.host.store.add_delivery(&channel.account, new, Moment::now()).await?;
        channel.queue_delivery(asked);
        Ok(())
    }

    /// The order in which the turn's questions are put.
    fn question_order(&self) -> String {
        format!("turn:{}", self.turn.id)
    }

    /// What the message of a question is for.
    fn question_key(&self, approval: ApprovalId) -> String {
        format!("turn:{}:approval:{approval}", self.turn.id)
    }

    /// The same for the message in a chat of the owner's.
    fn owner_question_key(&self, approval: ApprovalId, chat: &str) -> String {
        format!("{}:owner:{chat}", self.question_key(approval))
    }

    /// Changes a question into what was answered, wherever it was put.
    async fn show_decided(
        &self,
        approval: ApprovalId,
        answer: ApprovalAnswer,
        by: Option<&str>,
    ) -> StoreResult<()> {
        let channel = self.channel;
        let store = &channel.host.store;
        let Some(stored) = store.approval(approval).await? else { return Ok(()) };
        let question = ApprovalQuestion::from_approval(&stored);
        let content = DeliveryContent::decided(&question.tool, &question.title, answer, by);
        let owners = self.owner_chats().await?;
        let owners = owners.iter().map(|chat| self.owner_question_key(approval, chat));
        for key in owners.chain([self.question_key(approval)]) {
            if let Some(asked) = store.find_delivery(&channel.account, &key).await? {
                store.set_delivery_content(asked.id, &content.to_store()).await?;
                channel.queue_delivery(asked);
            }
        }
        Ok(())
    }

    /// Changes questions whose answer was not heard of here.
    async fn settle_questions(&self, live: &LiveReply) -> StoreResult<()> {
        let all = self.channel.host.store.approvals_of(self.turn.id).await?;
        let unheard = |approval: &&StoredApproval| !live.decided.contains(&approval.id);
        for approval in all.iter().filter(unheard) {
            if let Some(decision) = &approval.answer {
                let by = decision.by.as_ref().map(|by| Actor::from_store(by).name.to_string());
                self.show_decided(approval.id, decision.answer, by.as_deref()).await?;
            }
        }
        Ok(())
    }
}

impl LiveReply {
    /// Whether something is to be shown that is not.
    fn is_due(&self) -> bool {
        let may = self.wait_until.is_none_or(|until| until <= Instant::now());
        may && !self.text.trim().is_empty() && self.text != self.shown
    }

    /// Lets the reply grow. What can't be shown now is shown with what comes behind it.
    async fn show<S: ChatService>(
        &mut self,
        posted: &mut PostedMessages<'_, S>,
    ) -> Result<(), PostFailure> {
        let content = DeliveryContent::text(format!("{} …", self.text.trim_end()));
        match posted.show(&content, PostEffort::Once).await {
            Ok(()) => {
                self.shown = self.text.clone();
                Ok(())
            }
            Err(PostFailure::Later(wait)) => {
                self.wait_until = Some(Instant::now() + wait);
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }
}
