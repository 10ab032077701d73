//! Brings messages in a chat to what they are to say: makes them, changes them, and takes back
//! those that are too many. What the service asks to wait is waited.

use std::future::Future;
use std::time::Duration;

use recto_store::{ChannelDelivery, StoreError};
use serde::Deserialize;

use super::ChatChannel;
use crate::content::DeliveryContent;
use crate::rich_text::RichText;
use crate::service::{ChatService, ChatServiceError, MessagePiece, OutgoingMessage, ReplyTarget};
use crate::split::split_text;

/// What a message says that has nothing to say.
pub(crate) const PLACEHOLDER: &str = "…";

/// What a message says that is too much and can't be taken back.
const TAKEN_BACK: &str = "(taken back)";

/// How long a call may take.
const CALL_LIMIT: Duration = Duration::from_secs(40);

/// How often something is tried whose answer nobody understands.
const UNCLEAR_TRIES: u32 = 8;

/// The first and the longest pause between tries.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

/// How hard something is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PostEffort {
    /// Until it is done, or can't be.
    UntilDone,
    /// Once: it is soon out of date.
    Once,
}

/// Why something does not stand in a chat.
#[derive(Debug, thiserror::Error)]
pub(super) enum PostFailure {
    /// The service does not take it, and never will.
    #[error("{0}")]
    Refused(String),
    /// The message can't be changed any more.
    #[error("{0}")]
    Unchangeable(String),
    /// Not now; it is worth a try after this time.
    #[error("it has to wait")]
    Later(Duration),
    /// The store does not take what is to be kept of it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The messages of a delivery.
pub(super) struct PostedMessages<'a, S> {
    channel: &'a ChatChannel<S>,
    pub(super) delivery: ChannelDelivery,
    pub(super) target: ReplyTarget,
    ids: Vec<String>,
    /// What each of them says, as far as this process has brought it about.
    shown: Vec<Option<MessagePiece>>,
}

impl<'a, S: ChatService> PostedMessages<'a, S> {
    /// The messages that were made for a delivery; nothing where it can't be read.
    pub(super) fn new(channel: &'a ChatChannel<S>, delivery: ChannelDelivery) -> Option<Self> {
        let target = ReplyTarget::deserialize(&delivery.target).ok()?;
        let ids = delivery.sent.clone();
        let shown = vec![None; ids.len()];
        Some(PostedMessages { channel, delivery, target, ids, shown })
    }

    /// Lets the messages say this, and nothing else.
    pub(super) async fn show(
        &mut self,
        content: &DeliveryContent,
        effort: PostEffort,
    ) -> Result<(), PostFailure> {
        let rich = RichText::from_markdown(&content.markdown);
        let rich = if rich.is_blank() { RichText::plain(&content.markdown) } else { rich };
        let mut texts = split_text(&rich, S::MOST_TEXT, S::text_length);
        if texts.is_empty() {
            texts.push(RichText::plain(PLACEHOLDER));
        }
        let last = texts.len() - 1;
        for (at, text) in texts.into_iter().enumerate() {
            // Buttons stand below all of it.
            let buttons = if at == last { content.buttons.clone() } else { Vec::new() };
            self.show_piece(at, MessagePiece { text, buttons }, effort).await?;
        }
        self.delete_from(last + 1, effort).await
    }

    async fn show_piece(
        &mut self,
        at: usize,
        piece: MessagePiece,
        effort: PostEffort,
    ) -> Result<(), PostFailure> {
        if self.shown.get(at).is_some_and(|shown| shown.as_ref() == Some(&piece)) {
            return Ok(());
        }
        let changed = match self.ids.get(at) {
            Some(id) => self.change_message(id, &piece, effort).await,
            None => self.make_message(at, &piece, effort).await,
        };
        match changed {
            // Too old, or deleted: what it was to say is said in another.
            Err(PostFailure::Unchangeable(_)) => self.make_message(at, &piece, effort).await?,
            changed => changed?,
        }
        self.shown[at] = Some(piece);
        Ok(())
    }

    /// Makes a message, in place of the one that stood there, and keeps its id before it is
    /// changed into what it is to say.
    async fn make_message(
        &mut self,
        at: usize,
        piece: &MessagePiece,
        effort: PostEffort,
    ) -> Result<(), PostFailure> {
        let channel = self.channel;
        // While others wait for theirs, a reply could be taken for one of those.
        let quotes = self.target.quotes || channel.replies.has_waiting(&self.delivery.conversation);
        let answers = self.target.answers.as_deref().filter(|_| quotes && at == 0);
        let replaced = self.ids.get(at).map(|id| format!(":{id}")).unwrap_or_default();
        let key = format!("{}:{at}{replaced}", self.delivery.key);
        let draft = OutgoingMessage { piece, key: &key, quotes: answers };
        let made =
            call::<S, _, _>(effort, || channel.service.make_message(&self.target, &draft)).await?;
        match self.ids.get_mut(at) {
            Some(id) => id.clone_from(&made.id),
            None => self.ids.push(made.id.clone()),
        }
        self.shown.resize(self.ids.len(), None);
        self.keep_ids().await?;
        if !made.says_it {
            self.change_message(&made.id, piece, effort).await?;
        }
        Ok(())
    }

    async fn change_message(
        &self,
        id: &str,
        piece: &MessagePiece,
        effort: PostEffort,
    ) -> Result<(), PostFailure> {
        let service = &self.channel.service;
        call::<S, _, _>(effort, || service.change_message(&self.target, id, piece)).await
    }

    /// Takes back messages that are too many: the text has become shorter. One that can't be taken
    /// back must not go on saying what is not said any more.
    async fn delete_from(&mut self, keep: usize, effort: PostEffort) -> Result<(), PostFailure> {
        while let Some(id) = self.ids.get(keep..).and_then(<[String]>::last).cloned() {
            let service = &self.channel.service;
            let deleted = call::<S, _, _>(effort, || service.delete_message(&self.target, &id));
            match deleted.await {
                Err(PostFailure::Refused(why) | PostFailure::Unchangeable(why)) => {
                    self.blank_out(&id, &why, effort).await?;
                }
                deleted => deleted?,
            }
            self.ids.pop();
            self.shown.truncate(self.ids.len());
            self.keep_ids().await?;
        }
        Ok(())
    }

    /// Lets a message that can't be taken back say no more than that it says nothing.
    async fn blank_out(&self, id: &str, why: &str, effort: PostEffort) -> Result<(), PostFailure> {
        tracing::warn!(channel = S::CHANNEL, "a message can't be taken back: {why}");
        let text = RichText::plain(TAKEN_BACK);
        let piece = MessagePiece { text, buttons: Vec::new() };
        match self.change_message(id, &piece, effort).await {
            Err(PostFailure::Refused(why) | PostFailure::Unchangeable(why)) => {
                tracing::warn!(channel = S::CHANNEL, "it can't be changed, either: {why}");
                Ok(())
            }
            changed => changed,
        }
    }

    async fn keep_ids(&self) -> Result<(), StoreError> {
        self.channel.host.store.note_sent(self.delivery.id, &self.ids).await
    }
}

/// Calls the service as often as it takes.
async fn call<S: ChatService, T, F>(
    effort: PostEffort,
    make: impl Fn() -> F,
) -> Result<T, PostFailure>
where
    F: Future<Output = Result<T, ChatServiceError>>,
{
    let (mut pause, mut unclear) = (PAUSES.0, 0);
    loop {
        let late = |_| Err(ChatServiceError::Unavailable(format!("{} does not answer", S::TITLE)));
        let called = tokio::time::timeout(CALL_LIMIT, make()).await.unwrap_or_else(late);
        let wait = match called {
            Ok(answer) => return Ok(answer),
            Err(ChatServiceError::RateLimited(wait)) => wait,
            Err(ChatServiceError::Unavailable(_)) => pause,
            Err(ChatServiceError::Unclear(_)) if unclear < UNCLEAR_TRIES => {
                unclear += 1;
                pause
            }
            Err(ChatServiceError::Unclear(why) | ChatServiceError::Refused(why)) => {
                return Err(PostFailure::Refused(why));
            }
            Err(ChatServiceError::Unchangeable(why)) => {
                return Err(PostFailure::Unchangeable(why));
            }
        };
        if effort == PostEffort::Once {
            return Err(PostFailure::Later(wait));
        }
        tokio::time::sleep(wait).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}
