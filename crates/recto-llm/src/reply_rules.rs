//! What a client asks of a reply beyond how freely its words are chosen: where it ends, the form
//! that it has, and what a server's choice of words is steered by.
//!
//! The rules are options of a call, and so part of its record.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::{ModelClient, Transport};
use crate::error::LlmError;
use crate::provider::Provider;

/// What is asked of the replies of a turn. Nothing is, unless a client says so.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplyRules {
    /// Texts at which a reply ends; they are no part of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The form of a reply; text where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<ReplyFormat>,
    /// What the choice of words begins with, on servers that can repeat one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// How much less probable a word is that was said before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// The same for each time that it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
}

/// A form that a reply is held to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReplyFormat {
    /// An object in JSON.
    Json,
    /// JSON that a schema allows.
    Schema(ReplySchema),
}

/// The schema of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplySchema {
    /// What the client calls it.
    pub name: String,
    /// What it is for, as the model may read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The schema as the client wrote it.
    pub schema: Arc<Value>,
    /// Whether the client wants its server to hold to it strictly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

impl ReplyRules {
    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        *self == ReplyRules::default()
    }
}

impl ModelClient {
    /// Fails where the model can't keep to the rules. What a server makes of a schema, only the
    /// server knows.
    pub fn check_rules(&self, rules: &ReplyRules) -> Result<(), LlmError> {
        let Some(format) = &rules.format else { return Ok(()) };
        match (&self.shared().transport, self.provider()) {
            (Transport::Embedded(model), _) => model.check_format(format),
            (_, Provider::Anthropic) => Err(LlmError::ReplyFormat {
                problem: "Anthropic's interface holds no reply to a form".to_owned(),
            }),
            (Transport::Http(_) | Transport::Script(_), _) => Ok(()),
        }
    }
}
