//! What a client brings along with its message: system text, a history and tools of its own.
//!
//! A client of the front doors owns its conversation and sends all of it each time. Here is
//! what it sends, and what becomes of its tools' names; `history` finds out what of its list
//! is stored already. Nothing here runs a client's tool: their calls are handed back to it.

mod call_ids;
mod history;
mod json;

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::catalog::{Catalog, ToolSpec};
use crate::item::{ContentSource, ItemId};
use crate::message::{CallId, MessageBody};
use crate::skill_texts::{READ_ITEM, READ_SKILL};
use crate::text::{ContentHash, Text};

use json::ClientMessageJson;

pub use history::{ReconciledHistory, reconcile_history};

/// What stands in the place of a server in the identity of a client's tool.
pub const CLIENT: &str = "client";

/// The longest name that model servers accept.
const LONGEST_NAME: usize = 64;

/// Digits of the hash that tells names apart.
const DIGITS: usize = 8;

/// What a client brings along with its message. All of it may be absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientContext {
    /// Texts that follow Recto's own at the end of System.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Text>,
    /// All earlier messages of the conversation, oldest first; absent where the session's own
    /// transcript is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<ClientMessage>>,
    /// Tools that the client runs itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ClientTool>,
    /// Whether the model must call a tool first.
    #[serde(skip_serializing_if = "ClientToolChoice::is_free")]
    pub tool_choice: ClientToolChoice,
}

/// What a client asks of the model's first reply to its message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientToolChoice {
    /// Nothing: the mode decides.
    #[default]
    Free,
    /// The model must call a tool, whichever fits.
    Required,
    /// The model must call this tool of the client's, by the client's own name.
    Named(Arc<str>),
}

impl ClientToolChoice {
    fn is_free(&self) -> bool {
        *self == ClientToolChoice::Free
    }
}

/// A message of a client's list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "ClientMessageJson", into = "ClientMessageJson")]
pub enum ClientMessage {
    /// A system text. Wherever it stands in the list, it is part of System.
    System(Text),
    /// What a person, the model or a tool said. What is only for people is left out.
    Said(MessageBody),
    /// A reply of which the client has heard the beginning at the most, because its turn then
    /// waited for a person. It stands for all that was said in that turn.
    Unfinished(MessageBody),
}

/// A tool that a client runs itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientTool {
    /// The client's own name for it, under which its calls are handed back.
    pub name: Arc<str>,
    /// What it does, as the model reads it.
    pub description: Arc<str>,
    /// The JSON schema of its parameters; anything but an object stands for no parameters.
    pub parameters: Value,
}

/// The result of a call that was handed to a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientResult {
    /// The call, by the identity under which it was handed out.
    pub call: CallId,
    /// What the model is to read.
    pub text: Text,
}

impl ClientContext {
    /// The client's system texts: those apart, then those of its list; blank ones left out.
    pub fn system_texts(&self) -> Vec<Text> {
        let of_list = self.history.iter().flatten().filter_map(|message| match message {
            ClientMessage::System(text) => Some(text),
            ClientMessage::Said(_) | ClientMessage::Unfinished(_) => None,
        });
        let texts = self.system.iter().chain(of_list);
        texts.filter(|text| !text.trim().is_empty()).cloned().collect()
    }

    /// The client's tools as they are offered: in its order, under names that every model
    /// server accepts and that none of the agent's tools has.
    pub fn tool_specs(&self, catalog: &Catalog) -> Vec<ToolSpec> {
        let ours = catalog.all_tools().map(|tool| &*tool.called);
        let ours = ours.chain([&*READ_ITEM.called, &*READ_SKILL.called]);
        let ours: HashSet<&str> = ours.collect();
        let theirs: HashSet<&str> = self.tools.iter().map(|tool| &*tool.name).collect();
        let spec = |tool: &ClientTool| {
            let id = ItemId::tool(Some(CLIENT.into()), tool.name.clone());
            let parameters = match &tool.parameters {
                Value::Object(_) => tool.parameters.clone(),
                _ => json!({"type": "object", "properties": {}}),
            };
            let spec = ToolSpec::new(id, tool.description.clone(), parameters);
            ToolSpec { source: ContentSource::Client, ..spec }
                .with_called(model_name(&tool.name, &ours, &theirs))
        };
        self.tools.iter().map(spec).collect()
    }
}

impl ToolSpec {
    /// Whether a client runs it, and not Recto.
    pub fn is_client_tool(&self) -> bool {
        self.source == ContentSource::Client
    }
}

/// The name by which models call a client's tool: its own, or else one that none of ours and
/// none of theirs has.
fn model_name(name: &str, ours: &HashSet<&str>, theirs: &HashSet<&str>) -> String {
    if is_safe(name) && !ours.contains(name) {
        return name.to_owned();
    }
    let prefixed = format!("{CLIENT}_{name}");
    if is_safe(&prefixed) && !ours.contains(&*prefixed) && !theirs.contains(&*prefixed) {
        return prefixed;
    }
    let hash = ContentHash::of_bytes(name.as_bytes()).to_string();
    let mut kept = safe_name(name);
    kept.truncate(LONGEST_NAME - DIGITS - 1);
    format!("{kept}_{}", &hash[..DIGITS])
}

fn is_safe(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain)
}

/// The name in letters, digits, `_` and `-`, within the length that servers accept.
fn safe_name(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let safe: String = name.chars().take(LONGEST_NAME).map(keep).collect();
    if safe.is_empty() { "tool".to_owned() } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs(own: &[&str], client: &[&str]) -> Vec<(String, String)> {
        let tool = |name: &&str| ToolSpec::new(ItemId::tool(None, *name), "ours", json!({}));
        let catalog = Catalog { tools: own.iter().map(tool).collect(), ..Catalog::default() };
        let tool = |name: &&str| ClientTool {
            name: (*name).into(),
            description: "theirs".into(),
            parameters: Value::Null,
        };
        let context =
            ClientContext { tools: client.iter().map(tool).collect(), ..ClientContext::default() };
        let specs = context.tool_specs(&catalog).into_iter();
        specs.map(|spec| (spec.id.name.to_string(), spec.called.to_string())).collect()
    }

    fn called(own: &[&str], client: &[&str]) -> Vec<String> {
        specs(own, client).into_iter().map(|(_, called)| called).collect()
    }

    #[test]
    fn a_client_tool_keeps_its_name_and_order_where_it_can() {
        assert_eq!(called(&["time"], &["weather", "alarm"]), ["weather", "alarm"]);
    }

    #[test]
    fn a_client_tool_never_takes_the_name_of_one_of_ours() {
        assert_eq!(called(&["time"], &["time"]), ["client_time"]);
        assert_eq!(called(&[], &["read_skill"]), ["client_read_skill"]);
        assert_eq!(called(&[], &["read_item"]), ["client_read_item"]);
        let twice = called(&["time"], &["time", "client_time"]);
        assert!(twice[0].starts_with("time_") && twice[1] == "client_time", "{twice:?}");
        let taken = called(&["time", "client_time"], &["time"]);
        assert!(taken[0].starts_with("time_"), "{taken:?}");
    }

    #[test]
    fn names_are_safe_and_told_apart_and_the_own_name_is_kept() {
        let long = "t".repeat(300);
        let names = ["a.b", "a b", "ä", "", "x\n", &*long, "a/b"];
        let specs = specs(&["a_b"], &names);
        let called: HashSet<&String> = specs.iter().map(|(_, called)| called).collect();
        assert_eq!(called.len(), names.len());
        for ((own, called), name) in specs.iter().zip(names) {
            assert!(is_safe(called), "{called}");
            assert_eq!(own, name);
        }
    }

    #[test]
    fn parameters_that_are_no_schema_are_none() {
        let tool =
            |parameters: Value| ClientTool { name: "t".into(), description: "".into(), parameters };
        for odd in [Value::Null, json!("x"), json!([1]), json!(7)] {
            let context = ClientContext { tools: vec![tool(odd)], ..ClientContext::default() };
            let specs = context.tool_specs(&Catalog::default());
            assert_eq!(*specs[0].parameters, json!({"type": "object", "properties": {}}));
        }
    }

    #[test]
    fn system_texts_of_the_list_follow_those_apart() {
        let context = ClientContext {
            system: vec!["Be brief.".into(), "  ".into()],
            history: Some(vec![ClientMessage::System("Speak French.".into())]),
            ..ClientContext::default()
        };
        assert_eq!(context.system_texts(), ["Be brief.".into(), Text::from("Speak French.")]);
    }
}
