//! What Discord does in its own way.
//!
//! Against doubles Discord has the nonce: a message that is sent again under the same one, within
//! some minutes, is the message of before. So a message says at once what it is to say.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use recto_store::ApprovalAnswer;
use serde_json::{Value, json};

use super::markdown::{MOST_TEXT, markdown_length, to_markdown};
use super::rest::{DiscordRest, FetchError, RestFailure};
use super::{CHANNEL, DiscordIdentity};
use crate::content::AnswerButton;
use crate::incoming::{IncomingFile, IncomingPress};
use crate::rich_text::RichText;
use crate::service::{
    ChatService, ChatServiceError, FetchFailure, MadeMessage, MessagePiece, OutgoingMessage,
    ReplyTarget,
};

/// Between two changes of a message while it grows: Discord takes five in five seconds.
const EDIT_PAUSES: (Duration, Duration) = (Duration::from_millis(1_500), Duration::from_secs(3));

/// The mark that no previews of links are shown.
const NO_PREVIEWS: u64 = 1 << 2;

/// The mark that only the one who asked sees an answer.
const EPHEMERAL: u64 = 1 << 6;

/// How long Discord waits for a first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(3);

/// How many interactions are remembered that were told to wait.
const MOST_DEFERRED: usize = 1_000;

/// Codes of Discord's errors.
mod codes {
    pub(super) const UNKNOWN_CHANNEL: u32 = 10_003;
    pub(super) const UNKNOWN_MESSAGE: u32 = 10_008;
    pub(super) const MISSING_ACCESS: u32 = 50_001;
    pub(super) const FOREIGN_MESSAGE: u32 = 50_005;
    pub(super) const CANNOT_WRITE_TO_USER: u32 = 50_007;
    pub(super) const MISSING_PERMISSIONS: u32 = 50_013;
}

/// Discord as a service, by one bot. Cheap to clone.
#[derive(Clone)]
pub(super) struct DiscordService {
    pub(super) rest: Arc<DiscordRest>,
    me: DiscordIdentity,
    /// The interactions that were told to wait for their answer.
    deferred: Arc<Mutex<HashSet<String>>>,
}

impl DiscordService {
    pub(super) fn new(rest: Arc<DiscordRest>, me: DiscordIdentity) -> Self {
        DiscordService { rest, me, deferred: Arc::default() }
    }

    /// Tells somebody who pressed a button at once that they will be answered: Discord waits for
    /// three seconds, and what is before it in its conversation may take longer.
    pub(super) async fn defer_press(&self, interaction: &str, token: &str) {
        let body = json!({"type": 5, "data": {"flags": EPHEMERAL}});
        let path = callback(interaction, token);
        let told = tokio::time::timeout(FIRST_ANSWER, self.rest.post(&path, &body)).await;
        if told.is_ok_and(|told| told.is_ok()) {
            let mut deferred = self.deferred.lock();
            if deferred.len() >= MOST_DEFERRED {
                deferred.clear();
            }
            deferred.insert(interaction.to_owned());
        }
    }

    /// Shows everybody which command was used: its answer stands below it, as if it was typed.
    pub(super) async fn show_command(&self, interaction: &str, token: &str, shown: &str) {
        let content = to_markdown(&RichText::plain(shown));
        let content: String = content.chars().take(MOST_TEXT).collect();
        let data = json!({"content": content, "allowed_mentions": nobody()});
        let body = json!({"type": 4, "data": data});
        let _ = self.rest.post(&callback(interaction, token), &body).await;
    }

    /// Tells one person something about what they did.
    pub(super) async fn tell_one(&self, interaction: &str, token: &str, words: &str) {
        let content = to_markdown(&RichText::plain(words));
        let data = json!({"content": content, "flags": EPHEMERAL, "allowed_mentions": nobody()});
        let body = json!({"type": 4, "data": data});
        let _ = self.rest.post(&callback(interaction, token), &body).await;
    }
}

/// Who is called by a message: nobody, whatever it says.
fn nobody() -> Value {
    json!({"parse": []})
}

fn callback(interaction: &str, token: &str) -> String {
    format!("/interactions/{interaction}/{token}/callback")
}

/// The channel that a target is: a thread is one of its own.
fn channel_of(target: &ReplyTarget) -> &str {
    target.thread.as_deref().unwrap_or(&target.chat)
}

impl ChatService for DiscordService {
    const CHANNEL: &'static str = CHANNEL;
    const TITLE: &'static str = "Discord";
    const MOST_TEXT: usize = MOST_TEXT;
    const MOST_PRESS_WORDS: usize = 900;
    const TYPING_LASTS: Duration = Duration::from_secs(9);

    fn text_length(text: &RichText) -> usize {
        markdown_length(text)
    }

    fn edit_pause(&self, target: &ReplyTarget) -> Duration {
        if target.is_group { EDIT_PAUSES.1 } else { EDIT_PAUSES.0 }
    }

    async fn make_message(
        &self,
        target: &ReplyTarget,
        draft: &OutgoingMessage<'_>,
    ) -> Result<MadeMessage, ChatServiceError> {
        let channel = channel_of(target);
        let content = to_markdown(&draft.piece.text);
        let mut body = message_body(&content, &draft.piece.buttons);
        body["nonce"] = json!(nonce(channel, target, draft.key));
        body["enforce_nonce"] = json!(true);
        // What somebody did by a command is no message that could be shown.
        if let Some(answered) = draft.quotes.filter(|id| id.parse::<u64>().is_ok()) {
            body["message_reference"] =
                json!({"message_id": answered, "fail_if_not_exists": false});
        }
        let made = self.rest.post(&format!("/channels/{channel}/messages"), &body).await;
        let made = made.map_err(|failure| service_error(&failure))?;
        let Some(id) = made["id"].as_str() else {
            return Err(ChatServiceError::Unclear("Discord made a message without id".to_owned()));
        };
        // Under the same nonce, an earlier process may have said something else.
        let says_it = made["content"].as_str() == Some(content.as_str());
        Ok(MadeMessage { id: id.to_owned(), says_it })
    }

    async fn change_message(
        &self,
        target: &ReplyTarget,
        id: &str,
        piece: &MessagePiece,
    ) -> Result<(), ChatServiceError> {
        let path = format!("/channels/{}/messages/{id}", channel_of(target));
        let body = message_body(&to_markdown(&piece.text), &piece.buttons);
        match self.rest.patch(&path, &body).await {
            Ok(_) => Ok(()),
            Err(RestFailure::Refused {
                code: codes::UNKNOWN_MESSAGE | codes::FOREIGN_MESSAGE,
                message,
                ..
            }) => Err(ChatServiceError::Unchangeable(message)),
            Err(failure) => Err(service_error(&failure)),
        }
    }

    async fn delete_message(&self, target: &ReplyTarget, id: &str) -> Result<(), ChatServiceError> {
        let path = format!("/channels/{}/messages/{id}", channel_of(target));
        match self.rest.delete(&path).await {
            Ok(()) | Err(RestFailure::Refused { code: codes::UNKNOWN_MESSAGE, .. }) => Ok(()),
            Err(failure) => Err(service_error(&failure)),
        }
    }

    fn show_typing(&self, target: &ReplyTarget) {
        let rest = self.rest.clone();
        let path = format!("/channels/{}/typing", channel_of(target));
        tokio::spawn(async move { rest.post(&path, &json!({})).await });
    }

    async fn answer_press(&self, press: &IncomingPress, words: &str) {
        let Some((interaction, token)) = press.id.split_once(':') else { return };
        if !self.deferred.lock().remove(interaction) {
            return self.tell_one(interaction, token, words).await;
        }
        let content = to_markdown(&RichText::plain(words));
        let path = format!("/webhooks/{}/{token}/messages/@original", self.me.application);
        let body = json!({"content": content, "allowed_mentions": nobody()});
        let _ = self.rest.patch(&path, &body).await;
    }

    async fn fetch_file(
        &self,
        file: &IncomingFile,
        most_bytes: usize,
    ) -> Result<Vec<u8>, FetchFailure> {
        let url = file.handle.as_deref().ok_or(FetchFailure::Failed)?;
        if file.bytes as usize > most_bytes {
            return Err(FetchFailure::TooLarge);
        }
        self.rest.fetch(url, most_bytes).await.map_err(|error| match error {
            FetchError::TooLarge => FetchFailure::TooLarge,
            FetchError::Failed => FetchFailure::Failed,
        })
    }
}

fn message_body(content: &str, buttons: &[AnswerButton]) -> Value {
    let button = |button: &AnswerButton| {
        let style = if button.answer == ApprovalAnswer::Denied { 4 } else { 2 };
        json!({"type": 2, "style": style, "label": button.label(), "custom_id": button.data()})
    };
    let buttons: Vec<Value> = buttons.iter().map(button).collect();
    let rows = match buttons.is_empty() {
        true => json!([]),
        false => json!([{"type": 1, "components": buttons}]),
    };
    json!({
        "content": content, "allowed_mentions": nobody(), "components": rows, "flags": NO_PREVIEWS,
    })
}

/// A name for a try to say something, of at most 25 characters: the same in every process, and
/// another one for everything else.
fn nonce(channel: &str, target: &ReplyTarget, key: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (channel, &target.answers, key).hash(&mut hasher);
    format!("r{:016x}", hasher.finish())
}

/// What can be done about a call that came to nothing.
pub(super) fn service_error(failure: &RestFailure) -> ChatServiceError {
    let RestFailure::Refused { status, code, .. } = failure else {
        return match failure {
            RestFailure::Limited(wait) => ChatServiceError::RateLimited(*wait),
            _ => ChatServiceError::Unavailable(failure.to_string()),
        };
    };
    let refused = |what: &str| ChatServiceError::Refused(what.to_owned());
    match (*code, *status) {
        (codes::UNKNOWN_CHANNEL, _) => refused("the channel is gone"),
        (codes::MISSING_ACCESS, _) => {
            refused("the bot does not see the channel; give it the permission View Channel there")
        }
        (codes::MISSING_PERMISSIONS, _) => refused(
            "the bot may not write there; give it the permissions Send Messages, Send Messages in \
             Threads and Read Message History",
        ),
        (codes::CANNOT_WRITE_TO_USER, _) => refused("the person takes no messages from the bot"),
        // The one who reads finds out, and says so.
        (_, 401 | 500..) => ChatServiceError::Unavailable(failure.to_string()),
        (_, 400 | 403 | 404) => ChatServiceError::Refused(failure.to_string()),
        _ => ChatServiceError::Unclear(failure.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(answers: &str) -> ReplyTarget {
        ReplyTarget {
            chat: "7".into(),
            thread: Some("8".into()),
            answers: Some(answers.into()),
            quotes: false,
            is_group: true,
        }
    }

    #[test]
    fn a_nonce_is_short_and_the_same_for_the_same() {
        let first = nonce("8", &target("1"), "turn:1:0");
        assert!(first.len() <= 25);
        assert_eq!(first, nonce("8", &target("1"), "turn:1:0"));
        assert_ne!(first, nonce("8", &target("2"), "turn:1:0"));
        assert_ne!(first, nonce("8", &target("1"), "turn:1:1"));
    }

    #[test]
    fn errors_say_what_can_be_done() {
        let refused = |status, code| {
            let message = "Missing Permissions".to_owned();
            service_error(&RestFailure::Refused { status, code, message })
        };
        assert!(
            matches!(refused(403, 50_013), ChatServiceError::Refused(why) if why.contains("Send Messages"))
        );
        assert!(matches!(refused(404, 10_003), ChatServiceError::Refused(_)));
        assert!(matches!(refused(502, 0), ChatServiceError::Unavailable(_)));
        assert!(matches!(refused(401, 0), ChatServiceError::Unavailable(_)));
        let wait = Duration::from_secs(3);
        let limited = service_error(&RestFailure::Limited(wait));
        assert_eq!(limited, ChatServiceError::RateLimited(wait));
    }
}
