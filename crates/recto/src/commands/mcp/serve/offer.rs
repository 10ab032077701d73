//! The tools that Recto offers to other agents, and what each of them takes. What
//! is declared here is both what clients are told and what arguments are checked
//! against.

use std::ops::RangeInclusive;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// The kinds of items, by the names that `search` takes.
pub(super) const KINDS: [&str; 5] = ["rule", "reference", "skill", "tool", "memory"];

/// The most that can be asked for at once.
const LIMIT: ParameterForm = ParameterForm::Whole(1..=100);

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OfferedCall {
    Search,
    Recall,
    Context,
    Show,
}

/// Something that a tool takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OfferParameter {
    pub(super) name: &'static str,
    pub(super) form: ParameterForm,
    pub(super) is_required: bool,
    pub(super) about: &'static str,
}

/// What an argument looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ParameterForm {
    Text,
    OneOf(&'static [&'static str]),
    Whole(RangeInclusive<u32>),
    Flag,
}

impl OfferedCall {
    pub(super) const ALL: [OfferedCall; 4] =
        [OfferedCall::Search, OfferedCall::Recall, OfferedCall::Context, OfferedCall::Show];

    pub(super) fn named(name: &str) -> Option<OfferedCall> {
        OfferedCall::ALL.into_iter().find(|offer| offer.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            OfferedCall::Search => "search",
            OfferedCall::Recall => "recall",
            OfferedCall::Context => "context",
            OfferedCall::Show => "show",
        }
    }

    /// The tool as clients are told of it.
    pub(super) fn tool(self) -> Tool {
        let only_looks = ToolAnnotations::new().read_only(true).open_world(false);
        Tool::new(self.name(), self.about(), self.schema())
            .with_title(self.title())
            .with_annotations(only_looks)
    }

    fn title(self) -> &'static str {
        match self {
            OfferedCall::Search => "Search Recto's items",
            OfferedCall::Recall => "Recall what was said",
            OfferedCall::Context => "What a model would be sent",
            OfferedCall::Show => "What was sent in a turn",
        }
    }

    fn about(self) -> &'static str {
        match self {
            OfferedCall::Search => {
                "Finds which of the agent's items (rules, references, skills, tools, memories) fit \
                 a query, by meaning and words. Each comes with the probability that it fits, with \
                 its scores, and with whether a turn would take it. Phrase the query as a message \
                 would be."
            }
            OfferedCall::Recall => {
                "Finds what is remembered, and what was said in past sessions, by meaning and words, \
                 best first. Memories come with their day and source, messages with their session, \
                 time, role and turn. Phrase the query as a message would be."
            }
            OfferedCall::Context => {
                "Shows what a model would be sent for a message: every layer with its items, the \
                 tokens they take, and what was left out and why. No model is called."
            }
            OfferedCall::Show => {
                "Shows the record of a turn: its messages, and every request that was sent to a \
                 model with what it was made of, its body and its answer."
            }
        }
    }

    pub(super) fn parameters(self) -> Vec<OfferParameter> {
        match self {
            OfferedCall::Search => search_parameters(),
            OfferedCall::Recall => recall_parameters(),
            OfferedCall::Context => context_parameters(),
            OfferedCall::Show => show_parameters(),
        }
    }

    fn schema(self) -> JsonObject {
        let parameters = self.parameters();
        let required: Vec<&str> =
            parameters.iter().filter(|one| one.is_required).map(|one| one.name).collect();
        let properties: JsonObject =
            parameters.iter().map(|one| (one.name.to_owned(), one.schema())).collect();
        let mut schema = JsonObject::new();
        schema.insert("type".into(), "object".into());
        schema.insert("properties".into(), properties.into());
        schema.insert("required".into(), required.into());
        schema.insert("additionalProperties".into(), false.into());
        schema
    }
}

fn search_parameters() -> Vec<OfferParameter> {
    vec![
        required(
            "query",
            ParameterForm::Text,
            "What to search for, such as `write a commit message`.",
        ),
        optional("kind", ParameterForm::OneOf(&KINDS), "Items of this kind alone."),
        optional("limit", LIMIT, "The most items of each group; as the config has it by default."),
        optional(
            "text",
            ParameterForm::Flag,
            "Whether to give the items' texts, too; long ones are shortened.",
        ),
    ]
}

fn recall_parameters() -> Vec<OfferParameter> {
    vec![
        required(
            "query",
            ParameterForm::Text,
            "What to look for, such as `what was said about tea`.",
        ),
        optional("limit", LIMIT, "The most messages and memories together; 10 by default."),
    ]
}

fn context_parameters() -> Vec<OfferParameter> {
    vec![
        required("message", ParameterForm::Text, "The message that a person would send."),
        optional(
            "session",
            ParameterForm::Text,
            "The session whose next message it is, by name or number; a new one by default.",
        ),
        optional(
            "model",
            ParameterForm::Text,
            "The model entry, by name, that would answer; the agent's by default.",
        ),
        optional(
            "raw",
            ParameterForm::Flag,
            "Whether to give the request's body, as the model's server would get it, alone.",
        ),
    ]
}

fn show_parameters() -> Vec<OfferParameter> {
    vec![
        optional(
            "turn",
            ParameterForm::Whole(1..=u32::MAX),
            "The turn, by number; the last one by default.",
        ),
        optional(
            "request",
            ParameterForm::Whole(1..=u32::MAX),
            "One of the turn's requests alone, from 1; all by default, the last for `body`.",
        ),
        optional(
            "body",
            ParameterForm::Flag,
            "Whether to give the request's body alone, byte for byte as it was sent.",
        ),
    ]
}

fn required(name: &'static str, form: ParameterForm, about: &'static str) -> OfferParameter {
    OfferParameter { name, form, is_required: true, about }
}

fn optional(name: &'static str, form: ParameterForm, about: &'static str) -> OfferParameter {
    OfferParameter { name, form, is_required: false, about }
}

impl OfferParameter {
    fn schema(&self) -> Value {
        let mut schema = match &self.form {
            ParameterForm::Text => json!({"type": "string", "minLength": 1}),
            ParameterForm::OneOf(names) => json!({"type": "string", "enum": names}),
            ParameterForm::Whole(range) if *range.end() == u32::MAX => {
                json!({"type": "integer", "minimum": range.start()})
            }
            ParameterForm::Whole(range) => {
                json!({"type": "integer", "minimum": range.start(), "maximum": range.end()})
            }
            ParameterForm::Flag => json!({"type": "boolean"}),
        };
        schema["description"] = self.about.into();
        schema
    }
}
