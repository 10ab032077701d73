//! Counts what parts of the page cost, exactly where a tokenizer has counted
//! them, by estimate where none has.
//!
//! An estimate goes by what a part is made of, [`Part::profile`], and is rounded
//! once. The same profiles, added up, are what a [`Calibration`] learns from, so
//! that it corrects the very numbers that the budget is made of.
//!
//! [`Calibration`]: crate::Calibration

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::catalog::{Catalog, CatalogDocument, Skill, ToolSpec};
use crate::compose::item_lead;
use crate::context::{OfferedTool, RequestContext};
use crate::item::ItemKind;
use crate::layer::Layer;
use crate::layout::ToolCalls;
use crate::message::{ContentPart, Message, MessageBody, ToolCall};
use crate::page::{Part, PartContent, PartJoin};
use crate::text::{ContentHash, Text};
use crate::tokens::{TextProfile, TokenClass, TokenRates, Tokens};

/// Templates that explain to the model how it calls tools do so in about as many tokens as they
/// put around this many tools.
const EXPLAINED_AS: u32 = 3;

static LINE_BREAK: LazyLock<TextProfile> = LazyLock::new(|| TextProfile::from_text("\n\n"));

/// Counts a model's tokens, by a table of exact counts or by estimate.
#[derive(Debug, Clone, Default)]
pub struct TokenCounter<'a> {
    rates: TokenRates,
    exact: Option<&'a CountTable>,
    calibrated: bool,
}

/// What the model's own tokenizer counted. It comes into the pure core as a
/// table, because the tokenizer itself lives elsewhere.
#[derive(Debug, Clone, Default)]
pub struct CountTable {
    /// Tokens by the hash of the text.
    pub counts: HashMap<ContentHash, Tokens>,
    /// What the chat template adds to each message.
    pub per_message: Tokens,
}

impl CountTable {
    /// Whether all that a part shows has been counted.
    fn covers(&self, part: &Part) -> bool {
        part.counted_texts().all(|text| text.is_some_and(|text| self.knows(text)))
    }

    fn knows(&self, text: &Text) -> bool {
        text.is_empty() || self.counts.contains_key(&text.hash())
    }
}

impl Catalog {
    /// The texts of its items that `table` has no count of.
    pub fn uncounted(&self, table: &CountTable) -> Vec<Text> {
        let of_kind = |kind, documents: &[CatalogDocument]| -> Vec<Text> {
            let texts = |it: &CatalogDocument| [item_lead(kind, &it.name), it.text.clone()];
            documents.iter().flat_map(texts).collect()
        };
        let mut texts = of_kind(ItemKind::Rule, &self.rules);
        texts.extend(of_kind(ItemKind::Reference, &self.references));
        texts.extend(self.skills.iter().flat_map(|it| [it.heading.clone(), it.body.clone()]));
        texts.extend(self.all_tools().map(|tool| tool.schema.clone()));
        texts.retain(|text| !table.knows(text));
        texts
    }
}

impl RequestContext {
    /// The texts on the page that `table` has no count of, each once: what a
    /// tokenizer has to count before the page is counted exactly.
    pub fn uncounted(&self, table: &CountTable) -> Vec<Text> {
        let mut seen = HashSet::new();
        let of_parts = self.parts.iter().flat_map(Part::counted_texts).flatten();
        let schemas = self.tools.iter().map(|tool| &tool.spec.schema);
        let texts = of_parts.chain(schemas).filter(|text| !table.knows(text));
        texts.filter(|text| seen.insert(text.hash())).cloned().collect()
    }
}

/// The kind of a count: how it was made, and so what it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountKind {
    /// By kinds of characters, with the default rates.
    Estimated,
    /// By kinds of characters, with rates corrected by the server's counts.
    Calibrated,
    /// By the model's own tokenizer where it has counted, by estimate elsewhere.
    Mixed,
    /// By the model's own tokenizer, part by part: what the model reads in the end may differ by
    /// a few tokens, where parts meet and where the template opens the reply.
    #[serde(alias = "exact")]
    Tokenizer,
}

impl CountKind {
    /// It in words.
    pub fn describe(self) -> &'static str {
        match self {
            CountKind::Estimated => "estimated by kinds of characters",
            CountKind::Calibrated => "estimated, corrected by what the server counted before",
            CountKind::Mixed => "by the model's tokenizer, and in part estimated",
            CountKind::Tokenizer => "by the model's tokenizer, part by part",
        }
    }
}

impl<'a> TokenCounter<'a> {
    /// Estimates with the default rates.
    pub fn estimated() -> Self {
        TokenCounter::default()
    }

    /// Estimates with rates that a server's counts have corrected.
    pub fn calibrated(rates: TokenRates) -> Self {
        TokenCounter { rates, exact: None, calibrated: true }
    }

    /// Takes counts from `table`, and estimates what it lacks.
    pub fn exact(table: &'a CountTable, rates: TokenRates) -> Self {
        TokenCounter { rates, exact: Some(table), calibrated: true }
    }

    /// What the counts of these parts and tools are worth.
    pub(crate) fn kind(&self, parts: &[Part], tools: &[OfferedTool]) -> CountKind {
        let counted = |table: &CountTable| {
            parts.iter().all(|part| table.covers(part))
                && tools.iter().all(|tool| table.counts.contains_key(&tool.spec.schema.hash()))
        };
        match (self.exact, self.calibrated) {
            (Some(table), _) if counted(table) => CountKind::Tokenizer,
            (Some(_), _) => CountKind::Mixed,
            (None, true) => CountKind::Calibrated,
            (None, false) => CountKind::Estimated,
        }
    }

    /// What a text costs.
    pub fn text(&self, text: &Text) -> Tokens {
        let counted = self.exact.and_then(|table| table.counts.get(&text.hash()));
        counted.copied().unwrap_or_else(|| self.profile(text.profile()))
    }

    /// What a part costs: its content, its lead, and the line break or the overhead of the message
    /// that it begins with.
    pub(crate) fn part(&self, part: &Part) -> Tokens {
        if self.exact.is_none() {
            return self.profile(&part.profile());
        }
        let join = match part.join {
            PartJoin::NewMessage => self.per_message(),
            PartJoin::Paragraph | PartJoin::Line => self.profile(&LINE_BREAK),
        };
        let content = match &part.content {
            PartContent::Text(text) => self.text(text),
            PartContent::Message(message) => self.message_without_files(message, part.layer),
        };
        join + self.text(&part.lead) + content
    }

    /// What the schema of a tool costs, if these are offered already. The first brings along what
    /// templates say about tools.
    pub(crate) fn tool(&self, schema: &Text, offered: &[OfferedTool]) -> Tokens {
        if self.exact.is_some() {
            return self.text(schema);
        }
        self.profile(&tool_profile(schema, offered.len()))
    }

    /// What a text costs behind a line break and its lead.
    pub(crate) fn line(&self, lead: &Text, text: &Text) -> Tokens {
        if self.exact.is_some() {
            return self.profile(&LINE_BREAK) + self.text(lead) + self.text(text);
        }
        self.profile(&(*LINE_BREAK + *lead.profile() + *text.profile()))
    }

    /// What a rule or reference costs on the page of a session that has it, behind its heading.
    pub fn document(&self, kind: ItemKind, document: &CatalogDocument) -> Tokens {
        self.line(&item_lead(kind, &document.name), &document.text)
    }

    /// What a skill costs on a page that has it in full.
    pub fn skill(&self, skill: &Skill) -> Tokens {
        self.line(&skill.heading, &skill.body)
    }

    /// What a tool costs beside others: what templates say about tools comes with the first, and
    /// is the cost of none.
    pub fn tool_beside_others(&self, tool: &ToolSpec) -> Tokens {
        const LATER_PLACE: usize = 1;
        if self.exact.is_some() {
            return self.text(&tool.schema);
        }
        self.profile(&tool_profile(&tool.schema, LATER_PLACE))
    }

    /// What something made like this costs.
    pub fn profile(&self, profile: &TextProfile) -> Tokens {
        self.rates.estimate(profile)
    }

    /// What a message costs on top of its content.
    pub fn per_message(&self) -> Tokens {
        self.exact.map_or_else(|| self.rates.per_message(), |table| table.per_message)
    }

    /// What a message's content and calls cost in `layer`, without its overhead.
    pub fn message(&self, message: &Message, layer: Layer) -> Tokens {
        if self.exact.is_none() {
            return self.profile(&message.profile(layer));
        }
        let files: Tokens = message.files().map(|file| self.text(file.shown())).sum();
        self.message_without_files(message, layer) + files
    }

    /// The same without the files that came along, which are parts of their own on the page.
    fn message_without_files(&self, message: &Message, layer: Layer) -> Tokens {
        let content: Tokens = message.content_in(layer).map(|part| self.content(part)).sum();
        let calls: Tokens = message.calls().iter().map(|call| self.call(call)).sum();
        let name = match &message.body {
            MessageBody::Tool { name, .. } => self.profile(&TextProfile::from_text(name)),
            _ => Tokens::ZERO,
        };
        content + calls + name
    }

    fn content(&self, part: &ContentPart) -> Tokens {
        match part {
            ContentPart::Text(text) => self.text(text),
            other => self.profile(&other.profile()),
        }
    }

    /// A call costs its name, its arguments and the frame that templates put around them.
    fn call(&self, call: &ToolCall) -> Tokens {
        self.profile(&TextProfile::from_text(&call.name))
            + self.text(&call.arguments)
            + self.per_message()
    }
}

impl Part {
    /// The texts that a tokenizer counts of the part; `None` for what is no text.
    fn counted_texts(&self) -> impl Iterator<Item = Option<&Text>> {
        let (text, message) = match &self.content {
            PartContent::Text(text) => (Some(text), None),
            PartContent::Message(message) => (None, Some(message)),
        };
        let said = message.into_iter().flat_map(|message| {
            let content = message.content_in(self.layer).map(ContentPart::as_text);
            content.chain(message.calls().iter().map(|call| Some(&call.arguments)))
        });
        [Some(&self.lead), text].into_iter().filter(Option::is_some).chain(said)
    }

    /// What the part adds to a prompt; a message that it begins is counted as one.
    pub fn profile(&self) -> TextProfile {
        let join = match self.join {
            PartJoin::NewMessage => TextProfile::default().with_messages(1),
            PartJoin::Paragraph | PartJoin::Line => *LINE_BREAK,
        };
        let content = match &self.content {
            PartContent::Text(text) => *text.profile(),
            PartContent::Message(message) => message.profile_without_files(self.layer),
        };
        join + *self.lead.profile() + content
    }
}

impl RequestContext {
    /// What the whole prompt is made of, and over how many messages it is spread, as
    /// [`Calibration::observe`] wants it: together with what the server counted for this request,
    /// it tells how the model's tokens are to be estimated.
    ///
    /// Calls count as messages, too, because templates frame them alike.
    ///
    /// [`Calibration::observe`]: crate::Calibration::observe
    pub fn profile(&self) -> (TextProfile, u32) {
        let parts = self.parts.iter().map(Part::profile);
        let schemas = match self.tool_calls {
            ToolCalls::Native => self.tools.as_slice(),
            ToolCalls::Text => &[],
        };
        let schemas = schemas.iter().enumerate();
        let schemas = schemas.map(|(place, tool)| tool_profile(&tool.spec.schema, place));
        let profile: TextProfile = parts.chain(schemas).sum();
        (profile, profile.count(TokenClass::Message))
    }
}

/// What the tool at this place, from 0, adds to a prompt.
fn tool_profile(schema: &Text, place: usize) -> TextProfile {
    let explained = if place == 0 { EXPLAINED_AS } else { 0 };
    schema.profile().with_tools(1 + explained)
}
