//! Calls of the Bot API: the methods and types of teloxide, sent from here.
//!
//! teloxide's own way of sending sleeps for ten seconds behind every answer of a server that fails,
//! and whoever made the call sleeps with it. Here a failure is told at once, and whoever made the
//! call knows how long to wait.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use teloxide_core::requests::{HasPayload, Payload};
use teloxide_core::types::ResponseParameters;
use teloxide_core::{ApiError, Bot, RequestError};

/// How long a call may take that Telegram answers at once.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(30);

/// What Telegram answers to any call.
#[derive(Debug, Deserialize)]
struct BotApiAnswer {
    ok: bool,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    description: String,
    parameters: Option<ResponseParameters>,
}

/// Makes a call, and gives what Telegram answers.
pub(super) async fn send<C>(
    bot: &Bot,
    call: C,
) -> Result<<C::Payload as Payload>::Output, RequestError>
where
    C: HasPayload,
    C::Payload: Serialize,
    <C::Payload as Payload>::Output: DeserializeOwned,
{
    let result = send_within(bot, call, CALL_LIMIT).await?;
    serde_json::from_value(result).map_err(|error| unreadable(error, ""))
}

/// Makes a call that may take so long, and gives what Telegram answers as it stands there.
pub(super) async fn send_within<C>(
    bot: &Bot,
    call: C,
    limit: Duration,
) -> Result<Value, RequestError>
where
    C: HasPayload,
    C::Payload: Serialize,
{
    let body =
        serde_json::to_vec(call.payload_ref()).map_err(|error| unreadable(error, "the call"))?;
    let mut url = bot.api_url();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().push(&format!("bot{}", bot.token())).push(C::Payload::NAME);
    }
    let request = bot.client().post(url).header("content-type", "application/json").body(body);
    let response = request.timeout(limit).send().await?;
    let status = response.status();
    if status.is_server_error() {
        let failure = io::Error::other(format!("status {}", status.as_u16()));
        return Err(RequestError::Io(Arc::new(failure)));
    }
    let text = response.text().await?;
    read_answer(&text)
}

fn read_answer(text: &str) -> Result<Value, RequestError> {
    let answer: BotApiAnswer =
        serde_json::from_str(text).map_err(|error| unreadable(error, text))?;
    match answer {
        BotApiAnswer { ok: true, result, .. } => Ok(result),
        BotApiAnswer { parameters: Some(ResponseParameters::RetryAfter(wait)), .. } => {
            Err(RequestError::RetryAfter(wait))
        }
        BotApiAnswer { parameters: Some(ResponseParameters::MigrateToChatId(to)), .. } => {
            Err(RequestError::MigrateToChatId(to))
        }
        BotApiAnswer { description, .. } => {
            let known = ApiError::deserialize(Value::from(description.as_str()));
            Err(RequestError::Api(known.unwrap_or(ApiError::Unknown(description))))
        }
    }
}

/// What can't be read. Of the answer no more is told than helps: it may hold what people wrote.
fn unreadable(error: serde_json::Error, text: &str) -> RequestError {
    const SHOWN: usize = 40;
    let raw: String = text.chars().take(SHOWN).collect();
    RequestError::InvalidJson { source: Arc::new(error), raw: raw.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart() {
        let told = |text: &str| read_answer(text).unwrap_err();
        assert_eq!(read_answer(r#"{"ok":true,"result":[1]}"#).unwrap(), serde_json::json!([1]));
        let blocked = r#"{"ok":false,"description":"Forbidden: bot was blocked by the user"}"#;
        assert!(matches!(told(blocked), RequestError::Api(ApiError::BotBlocked)));
        let moved = r#"{"ok":false,"description":"x","parameters":{"migrate_to_chat_id":-100}}"#;
        assert!(matches!(told(moved), RequestError::MigrateToChatId(to) if to.0 == -100));
        let wait = r#"{"ok":false,"description":"x","parameters":{"retry_after":7}}"#;
        assert!(matches!(told(wait), RequestError::RetryAfter(wait) if wait.seconds() == 7));
        let unknown = r#"{"ok":false,"description":"what nobody has seen"}"#;
        assert!(
            matches!(told(unknown), RequestError::Api(ApiError::Unknown(it)) if it == "what nobody has seen")
        );
        assert!(matches!(told("<html>"), RequestError::InvalidJson { .. }));
    }
}
