//! Deals with what the bot was sent, one update of a conversation after the other: who is it, may
//! they, and what do they want. An update ends together with what is to be said for it.

use std::time::Duration;

use recto_agent::{
    Actor, Agent, AgentError, ApprovalQuestion, ChatCommand, CommandReply, Conversation, Inbound,
    InboundReading, Submission, SurfaceMessage,
};
use recto_context::{ContentPart, ContextLimits, add_overheard, one_line};
use recto_store::{
    ChannelUpdate, Moment, NewChannelDelivery, OverheardMessage, StoreError, StoreResult,
    StoredApproval, StoredSession,
};
use serde::Deserialize;

use super::ChatChannel;
use super::attachments::answering_model;
use crate::access::{Admission, ChannelPlace, Visitor, admit};
use crate::content::{AnswerButton, DeliveryContent};
use crate::incoming::{
    IncomingEvent, IncomingMessage, IncomingPlace, IncomingPress, Legibility, conversation_name,
};
use crate::lines::indented;
use crate::service::{ChatService, ReplyTarget};
use crate::words::{
    HIDDEN_MESSAGE, NOTHING_SAID, STILL_WAITING, UNKNOWN_KIND, answer_words, error_words, greeting,
    pairing_words, problem_words, question_first, reply_words, too_many_wait, too_many_wait_log,
    welcome,
};

/// The pauses between tries while the store does not take something.
const STORE_PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));

/// All that is to be delivered for an update.
type UpdateReplies = Vec<NewChannelDelivery>;

impl<S: ChatService> ChatChannel<S> {
    /// Deals with an update. What the store does not take now is tried again: nothing that was
    /// confirmed to the service may be lost. What is done is not done again because its end could
    /// not be stored.
    pub(super) async fn handle_update(&self, update: ChannelUpdate) {
        let mut pause = STORE_PAUSES.0;
        let replies = loop {
            match self.perform_update(&update).await {
                Ok(replies) => break replies,
                Err(error) => {
                    if self.wait_after(&error, &mut pause).await == NextTry::AtNextStart {
                        return;
                    }
                }
            }
        };
        while let Err(error) = self.finish_update(&update, replies.clone()).await {
            if self.wait_after(&error.into(), &mut pause).await == NextTry::AtNextStart {
                return;
            }
        }
    }

    /// Waits until something is worth another try.
    async fn wait_after(&self, error: &AgentError, pause: &mut Duration) -> NextTry {
        if self.host.is_ending() || matches!(error, AgentError::ShuttingDown) {
            return NextTry::AtNextStart;
        }
        tracing::warn!(channel = S::CHANNEL, %error, "a message waits");
        tokio::time::sleep(*pause).await;
        *pause = (*pause * 2).min(STORE_PAUSES.1);
        NextTry::Now
    }

    /// Does what an update asks for, and gives what is to be said for it.
    async fn perform_update(&self, update: &ChannelUpdate) -> Result<UpdateReplies, AgentError> {
        match IncomingEvent::deserialize(&update.payload) {
            Ok(IncomingEvent::Message(message)) => self.handle_message(update, &message).await,
            Ok(IncomingEvent::Press(press)) => {
                self.handle_press(&press).await?;
                Ok(Vec::new())
            }
            Ok(IncomingEvent::ShutOut { chat }) => {
                self.log_once(&chat, "the bot was blocked, or put out of the group");
                Ok(Vec::new())
            }
            Err(error) => {
                let key = &update.key;
                tracing::warn!(
                    channel = S::CHANNEL, key, %error,
                    "something that another version of Recto stored can't be read; it is left out"
                );
                Ok(Vec::new())
            }
        }
    }

    /// Ends an update together with what is to be said for it, and has that delivered.
    async fn finish_update(
        &self,
        update: &ChannelUpdate,
        replies: UpdateReplies,
    ) -> StoreResult<()> {
        let store = &self.host.store;
        let added = store.finish_update(&self.account, update.id, replies, Moment::now()).await?;
        added.into_iter().for_each(|delivery| self.queue_delivery(delivery));
        Ok(())
    }

    async fn handle_message(
        &self,
        update: &ChannelUpdate,
        message: &IncomingMessage,
    ) -> Result<UpdateReplies, AgentError> {
        let place = self.place(&message.place);
        if !message.is_addressed {
            self.overhear(message, &place).await?;
            return Ok(Vec::new());
        }
        let welcome = self.welcome(update, message);
        let visitor = Visitor { sender: &message.sender, place: &place, welcome: Some(&welcome) };
        let note = |words: String| Ok(vec![self.note(update, message, words)]);
        let (actor, conversation) = match self.admit(visitor).await? {
            Admission::LetIn(known) => *known,
            Admission::Ignored => return Ok(Vec::new()),
            Admission::StillWaiting => return note(STILL_WAITING.to_owned()),
            Admission::Pairing(kind, code) => {
                return note(pairing_words(kind, &code, self.host.remedy_words));
            }
            Admission::TooManyWait => return Ok(self.turn_away(update, message)),
        };
        let Some(agent) = self.host.agent_for(&self.account, &place.name) else {
            return Ok(Vec::new());
        };
        let actor = self.tell_apart(agent, &place, actor).await?;
        match message.legibility {
            Legibility::Readable => {}
            Legibility::Hidden => return note(HIDDEN_MESSAGE.to_owned()),
            Legibility::UnknownKind => return note(UNKNOWN_KIND.to_owned()),
        }
        if message.text.trim() == "/start" {
            return note(greeting(agent.name()));
        }
        let turn =
            IncomingTurn { agent, actor: &actor, conversation: &conversation, update, message };
        match self.perform_request(turn).await {
            Err(error) if !is_worth_waiting(&error) => note(error_words(&error)),
            performed => performed,
        }
    }

    /// Does what a message asks for, which may be a command.
    async fn perform_request(
        &self,
        incoming: IncomingTurn<'_>,
    ) -> Result<UpdateReplies, AgentError> {
        let IncomingTurn { agent, actor, conversation, update, message } = incoming;
        let session = agent.find_or_begin(actor, conversation).await?;
        match Inbound::text(actor, &message.text).read_command() {
            Err(problem) => Ok(vec![self.note(update, message, problem_words(&problem))]),
            Ok(InboundReading::Command(command)) => {
                self.run_command(incoming, &session, command).await
            }
            Ok(InboundReading::Message(mut inbound)) => {
                let read = IncomingMessage { text: inbound.visible_text(), ..message.clone() };
                inbound.content = self.read_content(agent, &session, &read).await;
                let limits = answering_model(agent, &session).map(|model| model.limits);
                let limits = limits.unwrap_or_default();
                self.add_overheard(&mut inbound, conversation, &limits).await?;
                if inbound.content.len() == 1 && inbound.visible_text().trim().is_empty() {
                    return Ok(vec![self.note(update, message, NOTHING_SAID.to_owned())]);
                }
                let replies = self.submit(incoming, &session, inbound).await?;
                self.host.store.forget_overheard(&self.account, &conversation.name).await?;
                Ok(replies)
            }
        }
    }

    /// Runs a command. What can't be done twice is not: if a process ended in the middle of
    /// it, the person is told.
    async fn run_command(
        &self,
        incoming: IncomingTurn<'_>,
        session: &StoredSession,
        command: ChatCommand,
    ) -> Result<UpdateReplies, AgentError> {
        let IncomingTurn { agent, actor, conversation, update, message } = incoming;
        // What is sent anew is known by its message.
        let is_sent = matches!(command, ChatCommand::Retry | ChatCommand::Edit(Some(_)));
        if update.is_begun && !is_sent {
            let words = format!(
                "Recto was interrupted while it did {}; look whether it is done.",
                command.name()
            );
            return Ok(vec![self.note(update, message, words)]);
        }
        if !is_sent {
            self.host.store.begin_update(update.id, Moment::now()).await?;
        } else if let Some(known) = incoming.find_submission().await? {
            // Its own turn would be the one that has to end first.
            return self.reply_to(incoming, &known).await;
        }
        let command = match command {
            ChatCommand::Edit(Some(text)) if message.place.group.is_some() => {
                ChatCommand::Edit(Some(indented(&text)))
            }
            command => command,
        };
        match agent.command(actor, conversation, session.id, command).await? {
            CommandReply::Resend(inbound) => self.submit(incoming, session, *inbound).await,
            reply => {
                let words = reply_words(&reply).into_iter();
                Ok(words.map(|words| self.note(update, message, words)).collect())
            }
        }
    }

    /// Hands a message to the agent. One that it has already is the same turn.
    async fn submit(
        &self,
        incoming: IncomingTurn<'_>,
        session: &StoredSession,
        mut inbound: Inbound,
    ) -> Result<UpdateReplies, AgentError> {
        inbound.delivery = Some(incoming.surface_message());
        let submission = incoming.agent.submit(session.id, inbound).await?;
        self.reply_to(incoming, &submission).await
    }

    /// What is to be said to a message that the agent has: its turn's reply, and for what that
    /// waits.
    async fn reply_to(
        &self,
        incoming: IncomingTurn<'_>,
        submission: &Submission,
    ) -> Result<UpdateReplies, AgentError> {
        let IncomingTurn { update, message, .. } = incoming;
        // A turn that waits for an answer holds up its own session, and not the one that began
        // in its place.
        let order = format!("session:{}", submission.session);
        let is_shared = message.place.group.is_some() || self.replies.is_busy(&order);
        let target = ReplyTarget { quotes: is_shared, ..self.target(message) };
        let reply = NewChannelDelivery {
            key: format!("turn:{}:{}", submission.turn, message.id),
            conversation: order,
            turn: Some(submission.turn),
            target: serde_json::to_value(target).unwrap_or_default(),
            content: None,
        };
        let open = self.open_question(submission).await?;
        let note = open.map(|tool| self.note(update, message, question_first(&tool)));
        Ok(note.into_iter().chain([reply]).collect())
    }

    /// The tool of a question for which a turn has to wait: another turn of its session asks it.
    async fn open_question(&self, submission: &Submission) -> StoreResult<Option<String>> {
        let open = self.host.store.open_approvals(Moment::now()).await?;
        let is_before = |approval: &&StoredApproval| {
            approval.session == submission.session && approval.turn != submission.turn
        };
        Ok(open.iter().find(is_before).map(|it| ApprovalQuestion::from_approval(it).tool))
    }

    /// Something to be said at once.
    fn note(
        &self,
        update: &ChannelUpdate,
        message: &IncomingMessage,
        words: String,
    ) -> NewChannelDelivery {
        let target = self.target(message);
        let target = ReplyTarget { quotes: target.is_group, ..target };
        NewChannelDelivery {
            key: format!("update:{}", update.key),
            conversation: update.conversation.clone(),
            turn: None,
            target: serde_json::to_value(target).unwrap_or_default(),
            content: Some(DeliveryContent::text(words).to_store()),
        }
    }

    /// What somebody is told who gets no code because too many wait: once. The log has it, too.
    fn turn_away(&self, update: &ChannelUpdate, message: &IncomingMessage) -> UpdateReplies {
        self.log_once("", &too_many_wait_log());
        let chat = match message.place.group {
            Some(_) => &message.place.chat,
            None => &message.sender.id,
        };
        let is_new = self.turned_away.lock().insert_new(chat.clone());
        is_new.then(|| self.note(update, message, too_many_wait())).into_iter().collect()
    }

    /// What somebody is told once they are let in, who has to wait for that.
    fn welcome(&self, update: &ChannelUpdate, message: &IncomingMessage) -> NewChannelDelivery {
        let words = welcome(message.place.group.is_some()).to_owned();
        let key = format!("pairing:{}", update.key);
        NewChannelDelivery { key, ..self.note(update, message, words) }
    }

    fn target(&self, message: &IncomingMessage) -> ReplyTarget {
        ReplyTarget {
            chat: self.service.original_chat(&message.place.chat),
            thread: message.place.thread.clone(),
            answers: Some(message.id.clone()),
            quotes: false,
            is_group: message.place.group.is_some(),
        }
    }

    fn place(&self, place: &IncomingPlace) -> ChannelPlace {
        let original = self.service.original_chat(&place.chat);
        let mut ids = self.service.chat_ids(&original);
        ids.extend(place.within.iter().cloned());
        ChannelPlace {
            name: conversation_name(&original, place.thread.as_deref()),
            id: original,
            ids,
            group: place.group.clone(),
            is_per_user: self.policy.per_user,
        }
    }

    async fn admit(&self, visitor: Visitor<'_>) -> StoreResult<Admission> {
        admit(&self.host.store, &self.account, &self.policy.access, visitor).await
    }

    /// Keeps what was said in a group without meaning the agent, where that is wanted and the
    /// group is let in.
    async fn overhear(&self, message: &IncomingMessage, place: &ChannelPlace) -> StoreResult<()> {
        let most = self.policy.context;
        if most == 0 || message.text.trim().is_empty() {
            return Ok(());
        }
        let visitor = Visitor { sender: &message.sender, place, welcome: None };
        let (Admission::LetIn(known), Some(agent)) =
            (self.admit(visitor).await?, self.host.agent_for(&self.account, &place.name))
        else {
            return Ok(());
        };
        let speaker = self.tell_apart(agent, place, known.0).await?.name_in_group().to_string();
        let said = OverheardMessage { speaker, text: message.text.clone() };
        self.host.store.overhear(&self.account, &place.name, said, most, Moment::now()).await
    }

    /// Puts what was said in a group since the agent was last meant behind a message, as much of it
    /// as may come along. The message's own lines are indented there, so that nobody's words can
    /// pose as these.
    async fn add_overheard(
        &self,
        inbound: &mut Inbound,
        conversation: &Conversation,
        limits: &ContextLimits,
    ) -> StoreResult<()> {
        if self.policy.context == 0 {
            return Ok(());
        }
        let said = self.host.store.overheard(&self.account, &conversation.name).await?;
        let line = |it: &OverheardMessage| format!("> {}: {}", it.speaker, one_line(&it.text));
        let lines = limits.newest_of_channel(said.iter().map(line).collect());
        let (false, Some(ContentPart::Text(text))) = (lines.is_empty(), inbound.content.first())
        else {
            return Ok(());
        };
        inbound.content[0] = ContentPart::Text(add_overheard(text, &lines).into());
        Ok(())
    }

    /// Takes the answer that somebody gave by a press. Who may is decided by the agent.
    async fn handle_press(&self, press: &IncomingPress) -> Result<(), AgentError> {
        let words = match self.answer_question(press).await {
            Ok(words) => words,
            Err(error) if is_worth_waiting(&error) => return Err(error),
            Err(error) => error.to_string(),
        };
        let short: String = words.chars().take(S::MOST_PRESS_WORDS).collect();
        self.service.answer_press(press, &short).await;
        Ok(())
    }

    async fn answer_question(&self, press: &IncomingPress) -> Result<String, AgentError> {
        let Some(AnswerButton { approval, turn, answer, .. }) =
            AnswerButton::from_data(&press.data)
        else {
            return Ok("This button means nothing any more.".to_owned());
        };
        let place = self.place(&press.place);
        let visitor = Visitor { sender: &press.sender, place: &place, welcome: None };
        let Admission::LetIn(known) = self.admit(visitor).await? else {
            return Ok("You are not let in here.".to_owned());
        };
        let (actor, _) = *known;
        let asked = self.host.store.approval(approval).await?;
        let agent = match asked.filter(|asked| asked.turn == turn) {
            Some(asked) => self.host.agent_of(asked.session).await?,
            None => None,
        };
        let Some(agent) = agent else { return Ok("This question is gone.".to_owned()) };
        match agent.answer(&actor, approval, answer).await {
            Ok(answered) => Ok(answer_words(&answered)),
            Err(AgentError::Store(StoreError::Decided { answer, .. })) => {
                Ok(format!("It was {} already.", answer.describe()))
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether something is tried until it can be done, while everything else of its conversation waits:
/// only what has nothing to do with it. A turn that is under way is no reason to wait, because what
/// ends it (an answer, a `/stop`) may come behind.
fn is_worth_waiting(error: &AgentError) -> bool {
    error.may_pass() && !matches!(error, AgentError::Store(StoreError::Busy { .. }))
}

/// When something that failed is tried again.
#[derive(Debug, PartialEq, Eq)]
enum NextTry {
    Now,
    /// The program ends; it is found again then.
    AtNextStart,
}

/// A message with who sent it, where, and whom it is for.
#[derive(Clone, Copy)]
struct IncomingTurn<'a> {
    agent: &'a Agent,
    actor: &'a Actor,
    conversation: &'a Conversation,
    update: &'a ChannelUpdate,
    message: &'a IncomingMessage,
}

impl IncomingTurn<'_> {
    /// The message as the agent knows it again.
    fn surface_message(&self) -> SurfaceMessage {
        let (conversation, id) = (self.conversation.clone(), self.message.id.clone());
        SurfaceMessage { conversation, id }
    }

    /// What the agent made of it, if it has it already.
    async fn find_submission(&self) -> Result<Option<Submission>, AgentError> {
        self.agent.find_submission(self.actor, &self.surface_message()).await
    }
}
