//! What Telegram does in its own way.
//!
//! Telegram has no means against doubles when a message is sent. So a message is made as a
//! placeholder, its id is kept, and only then is it changed into what it is to say: what a process
//! that is killed can leave behind is a placeholder, and never a second reply.
//!
//! It counts messages anew in each chat, and a group that becomes a supergroup is another chat. So
//! the id of a message here is `chat/message`.

use std::future::Future;
use std::time::Duration;

use futures_util::StreamExt;
use recto_store::{ChannelAccount, StoreResult};
use serde_json::Value;
use teloxide_core::net::Download;
use teloxide_core::prelude::*;
use teloxide_core::types::{
    CallbackQueryId, ChatAction, ChatId, FileId, InlineKeyboardButton, InlineKeyboardMarkup,
    LinkPreviewOptions, MessageEntity, MessageId, ReplyParameters, ThreadId,
};
use teloxide_core::{ApiError, Bot, RequestError};

use super::api::{CALL_LIMIT, send, send_within};
use super::moves::ChatMoves;
use super::text::{MOST_TEXT, all_as_code, to_entities};
use crate::content::AnswerButton;
use crate::host::ChannelHost;
use crate::incoming::{IncomingFile, IncomingPress};
use crate::rich_text::RichText;
use crate::service::{
    ChatService, ChatServiceError, FetchFailure, MadeMessage, MessagePiece, OutgoingMessage,
    ReplyTarget,
};
use crate::split::utf16_length;

/// What a message says before it says something.
const PLACEHOLDER: &str = "…";

/// Between two changes of a message while it grows: Telegram takes about one a second in a chat,
/// and twenty a minute in a group.
const EDIT_PAUSES: (Duration, Duration) = (Duration::from_millis(1_500), Duration::from_secs(4));

/// Telegram as a service, by one bot.
pub(super) struct TelegramService {
    pub(super) bot: Bot,
    pub(super) moves: ChatMoves,
}

/// A message of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TelegramMessageId {
    pub(super) chat: i64,
    pub(super) message: i32,
}

impl std::fmt::Display for TelegramMessageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.chat, self.message)
    }
}

impl TelegramMessageId {
    /// The id of a message that was sent. What else Telegram says of it, such as the message that it
    /// answers, may be of a kind that is not known here.
    fn from_sent(message: &Value) -> Option<Self> {
        let number = message["message_id"].as_i64()?;
        Some(TelegramMessageId {
            chat: message["chat"]["id"].as_i64()?,
            message: i32::try_from(number).ok()?,
        })
    }

    fn parse(id: &str) -> Option<Self> {
        let (chat, message) = id.split_once('/')?;
        Some(TelegramMessageId { chat: chat.parse().ok()?, message: message.parse().ok()? })
    }
}

impl TelegramService {
    pub(super) async fn new(
        bot: Bot,
        account: &ChannelAccount,
        host: &ChannelHost,
    ) -> StoreResult<Self> {
        Ok(TelegramService { bot, moves: ChatMoves::load(&host.store, account).await? })
    }

    /// The id that a target's chat has now.
    fn chat(&self, target: &ReplyTarget) -> Result<i64, ChatServiceError> {
        let original = target.chat.parse();
        let original = original
            .map_err(|_| ChatServiceError::Refused(format!("`{}` is no chat", target.chat)))?;
        Ok(self.moves.current(original))
    }

    /// Calls Telegram about a chat, and once more where the chat turns out to have another id.
    async fn call<T, F>(
        &self,
        target: &ReplyTarget,
        make: impl Fn(i64) -> F,
    ) -> Result<T, RequestError>
    where
        F: Future<Output = Result<T, RequestError>>,
    {
        let chat = self.chat(target).unwrap_or_default();
        match make(chat).await {
            Err(RequestError::MigrateToChatId(to)) => {
                // What the store does not take now is told by Telegram again.
                let _ = self.moves.note(chat, to.0).await;
                make(to.0).await
            }
            called => called,
        }
    }

    /// The message of an id in the chat as it is now; one of before its move can't be changed.
    fn find_message(&self, target: &ReplyTarget, id: &str) -> Result<MessageId, ChatServiceError> {
        let chat = self.chat(target)?;
        match TelegramMessageId::parse(id) {
            Some(message) if message.chat == chat => Ok(MessageId(message.message)),
            _ => Err(ChatServiceError::Unchangeable("it stands in another chat".to_owned())),
        }
    }
}

impl ChatService for TelegramService {
    const CHANNEL: &'static str = super::CHANNEL;
    const TITLE: &'static str = "Telegram";
    const MOST_TEXT: usize = MOST_TEXT;
    const MOST_PRESS_WORDS: usize = 200;
    const TYPING_LASTS: Duration = Duration::from_millis(4_500);

    fn text_length(text: &RichText) -> usize {
        utf16_length(&text.text)
    }

    fn edit_pause(&self, target: &ReplyTarget) -> Duration {
        if target.is_group { EDIT_PAUSES.1 } else { EDIT_PAUSES.0 }
    }

    fn original_chat(&self, chat: &str) -> String {
        match chat.parse() {
            Ok(id) => self.moves.original(id).to_string(),
            Err(_) => chat.to_owned(),
        }
    }

    fn chat_ids(&self, original: &str) -> Vec<String> {
        match original.parse() {
            Ok(id) => self.moves.all_ids(id).iter().map(ToString::to_string).collect(),
            Err(_) => vec![original.to_owned()],
        }
    }

    async fn make_message(
        &self,
        target: &ReplyTarget,
        draft: &OutgoingMessage<'_>,
    ) -> Result<MadeMessage, ChatServiceError> {
        self.chat(target)?;
        let quoted = draft.quotes.and_then(TelegramMessageId::parse);
        let sent = self.call(target, |chat| {
            let mut call = self.bot.send_message(ChatId(chat), PLACEHOLDER);
            call.message_thread_id = thread(target);
            // A message of before the chat's move would be another's.
            let quoted = quoted.filter(|quoted| quoted.chat == chat);
            call.reply_parameters = quoted.map(|quoted| {
                ReplyParameters::new(MessageId(quoted.message)).allow_sending_without_reply()
            });
            send_within(&self.bot, call, CALL_LIMIT)
        });
        let sent = sent.await.map_err(|error| service_error(&error))?;
        let id = TelegramMessageId::from_sent(&sent).ok_or_else(|| {
            ChatServiceError::Unavailable("Telegram does not say what it made of it".to_owned())
        })?;
        Ok(MadeMessage { id: id.to_string(), says_it: false })
    }

    async fn change_message(
        &self,
        target: &ReplyTarget,
        id: &str,
        piece: &MessagePiece,
    ) -> Result<(), ChatServiceError> {
        let message = self.find_message(target, id)?;
        let keyboard = (!piece.buttons.is_empty()).then(|| keyboard(&piece.buttons));
        let change = |entities: Vec<MessageEntity>| {
            let keyboard = keyboard.clone();
            self.call(target, move |chat| {
                let chat = ChatId(chat);
                let mut call = self.bot.edit_message_text(chat, message, &piece.text.text);
                call.entities = Some(entities.clone()).filter(|entities| !entities.is_empty());
                call.link_preview_options = Some(NO_PREVIEW);
                call.reply_markup = keyboard.clone();
                send_within(&self.bot, call, CALL_LIMIT)
            })
        };
        let changed = match change(to_entities(&piece.text)).await {
            Err(RequestError::Api(ApiError::CantParseEntities(_))) => {
                change(all_as_code(&piece.text)).await
            }
            changed => changed,
        };
        match changed {
            Ok(_) | Err(RequestError::Api(ApiError::MessageNotModified)) => Ok(()),
            Err(error) => Err(service_error(&error)),
        }
    }

    async fn delete_message(&self, target: &ReplyTarget, id: &str) -> Result<(), ChatServiceError> {
        let message = self.find_message(target, id)?;
        let delete = |chat| send(&self.bot, self.bot.delete_message(ChatId(chat), message));
        match self.call(target, delete).await {
            Ok(_)
            | Err(RequestError::Api(
                ApiError::MessageToDeleteNotFound | ApiError::MessageIdInvalid,
            )) => Ok(()),
            Err(error) => Err(service_error(&error)),
        }
    }

    fn show_typing(&self, target: &ReplyTarget) {
        let Ok(chat) = self.chat(target) else { return };
        let mut call = self.bot.send_chat_action(ChatId(chat), ChatAction::Typing);
        call.message_thread_id = thread(target);
        let bot = self.bot.clone();
        tokio::spawn(async move { send(&bot, call).await });
    }

    async fn answer_press(&self, press: &IncomingPress, words: &str) {
        let answer = self.bot.answer_callback_query(CallbackQueryId(press.id.clone()));
        let _ = send(&self.bot, answer.text(words)).await;
    }

    async fn fetch_file(
        &self,
        file: &IncomingFile,
        most_bytes: usize,
    ) -> Result<Vec<u8>, FetchFailure> {
        let id = FileId(file.handle.clone().ok_or(FetchFailure::Failed)?);
        let found =
            send(&self.bot, self.bot.get_file(id)).await.map_err(|_| FetchFailure::Failed)?;
        // Where it says nothing of its size, the library says the largest that there is.
        let is_told = found.meta.size != u32::MAX;
        if is_told && found.meta.size as usize > most_bytes {
            return Err(FetchFailure::TooLarge);
        }
        let mut bytes = Vec::new();
        let mut pieces = self.bot.download_file_stream(&found.path);
        while let Some(piece) = pieces.next().await {
            bytes.extend_from_slice(&piece.map_err(|_| FetchFailure::Failed)?);
            // What it said of itself need not be true.
            if bytes.len() > most_bytes {
                return Err(FetchFailure::TooLarge);
            }
        }
        Ok(bytes)
    }
}

/// What can be done about an error of Telegram's.
fn service_error(error: &RequestError) -> ChatServiceError {
    let why = failure_words(error);
    let api = match error {
        RequestError::RetryAfter(wait) => return ChatServiceError::RateLimited(wait.duration()),
        RequestError::Api(api) => api,
        RequestError::MigrateToChatId(_)
        | RequestError::Network(_)
        | RequestError::Io(_)
        | RequestError::InvalidJson { .. } => return ChatServiceError::Unavailable(why),
    };
    match api {
        ApiError::MessageCantBeEdited
        | ApiError::MessageToEditNotFound
        | ApiError::MessageIdInvalid => ChatServiceError::Unchangeable(why),
        // The one who reads finds out, and says so.
        ApiError::InvalidToken => ChatServiceError::Unavailable(why),
        ApiError::Unknown(_) => ChatServiceError::Unclear(why),
        _ => ChatServiceError::Refused(why),
    }
}

/// What Telegram says went wrong, without what its protocol and the library put in front of it.
fn failure_words(error: &RequestError) -> String {
    let RequestError::Api(api) = error else { return error.to_string() };
    let words = api.to_string();
    let plain = ["Forbidden: ", "Bad Request: "].iter().find_map(|it| words.strip_prefix(it));
    plain.map(str::to_owned).unwrap_or(words)
}

fn thread(target: &ReplyTarget) -> Option<ThreadId> {
    let thread = target.thread.as_ref()?.parse().ok()?;
    Some(ThreadId(MessageId(thread)))
}

const NO_PREVIEW: LinkPreviewOptions = LinkPreviewOptions {
    is_disabled: true,
    url: None,
    prefer_small_media: false,
    prefer_large_media: false,
    show_above_text: false,
};

fn keyboard(buttons: &[AnswerButton]) -> InlineKeyboardMarkup {
    let button =
        |button: &AnswerButton| InlineKeyboardButton::callback(button.label(), button.data());
    InlineKeyboardMarkup::new(buttons.iter().map(|it| [button(it)]))
}
