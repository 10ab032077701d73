//! A message of a client's list as JSON: the form in which it waits in a store until its turn
//! has begun. What was said is written as messages are everywhere else.

use serde::{Deserialize, Serialize};

use super::ClientMessage;
use crate::message::{Message, MessageId};
use crate::text::Text;

/// The written form of a [`ClientMessage`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientMessageJson {
    System(Text),
    Said(Message),
    Unfinished(Message),
}

impl From<ClientMessage> for ClientMessageJson {
    fn from(message: ClientMessage) -> Self {
        match message {
            ClientMessage::System(text) => ClientMessageJson::System(text),
            ClientMessage::Said(body) => {
                ClientMessageJson::Said(Message { id: MessageId::default(), body })
            }
            ClientMessage::Unfinished(body) => {
                ClientMessageJson::Unfinished(Message { id: MessageId::default(), body })
            }
        }
    }
}

impl From<ClientMessageJson> for ClientMessage {
    fn from(message: ClientMessageJson) -> Self {
        match message {
            ClientMessageJson::System(text) => ClientMessage::System(text),
            ClientMessageJson::Said(message) => ClientMessage::Said(message.body),
            ClientMessageJson::Unfinished(message) => ClientMessage::Unfinished(message.body),
        }
    }
}
