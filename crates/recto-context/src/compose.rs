//! Turns a plan into the parts of the page: headings, leads and joins.
//!
//! All that the presets and rendering settings mean for the look of the page is
//! decided here, layer by layer in the order of [`Layer`], and nowhere else.

mod picks;
mod shorten;
mod system;
mod text_calls;
mod text_images;

use std::sync::{Arc, LazyLock};

use crate::carry::Carry;
use crate::inputs::{AssemblyInputs, HistoryOwner};
use crate::item::{ContentSource, ItemKind};
use crate::layer::Layer;
use crate::layout::{ImageRender, PickPlacement, SystemMessages, ToolCalls};
use crate::message::{
    Framing, KeptPick, LeadingStamp, Message, MessageBody, MessageStamp, PickDisplay, UserMessage,
};
use crate::page::{ChatRole, Part, PartContent, PartJoin, PartReason};
use crate::plan::{Plan, PlannedLine, PlannedPick, shows_kept_picks};
use crate::summary::HistorySummary;
use crate::text::Text;
use crate::tokens::Tokens;

pub(crate) use picks::{line_tokens, pick_tokens};
pub(crate) use shorten::shorten;
use text_calls::{calls_as_text, result_lead};
pub use text_calls::{read_calls, text_before_calls};
use text_images::images_as_text;

/// What minimal mode puts in front of the user's message.
const CALL_TOOLS: &str = "You must respond by calling one or more of the provided tools. \
    Do not answer without calling a tool when the request involves files or workspace.\n\n\
    User request: ";

/// What a person said, out of a user message as a model gets it: without the
/// stamp and the instruction that stand in front of it. Who said it, in a group, stays
/// there. For those who answer in a model's place.
///
/// ```
/// assert_eq!(recto_context::spoken_text("Sent 2026-11-15 08:07:\nhello"), "hello");
/// assert_eq!(recto_context::spoken_text("[draft] hello"), "[draft] hello");
/// ```
pub fn spoken_text(message: &str) -> &str {
    // Nothing may follow the stamp: a message can be a picture alone.
    let unstamped = match LeadingStamp::find(&format!("{message}.")) {
        LeadingStamp::Whole(length) => message.get(length..).unwrap_or_default(),
        LeadingStamp::None | LeadingStamp::Unfinished => message,
    };
    unstamped.strip_prefix(CALL_TOOLS).unwrap_or(unstamped)
}

/// Stands before a summary.
static SUMMARY: LazyLock<Text> =
    LazyLock::new(|| Text::from("[Summary of the earlier conversation]\n"));

static EMPTY: LazyLock<Text> = LazyLock::new(Text::default);

/// The parts of the page that `plan` describes.
pub(crate) fn compose(plan: &Plan<'_>) -> Vec<Part> {
    let composer = Composer::new(plan.inputs, &plan.carry);
    let mut parts = composer.system_side(plan);
    parts.extend(plan.summary.clone());
    parts.extend(plan.history.iter().flat_map(|exchange| exchange.parts.iter().cloned()));
    parts.extend(composer.picks(plan));
    parts.extend(composer.current_message(plan));
    parts.extend(plan.rounds.iter().map(|message| composer.round(message)));
    debug_assert!(parts.is_sorted_by_key(|part| part.layer), "layers stand in their order");
    parts
}

/// Makes parts, and knows what they cost.
pub(crate) struct Composer<'a> {
    inputs: &'a AssemblyInputs<'a>,
    carry: &'a Carry,
}

impl<'a> Composer<'a> {
    pub(crate) fn new(inputs: &'a AssemblyInputs<'a>, carry: &'a Carry) -> Self {
        Composer { inputs, carry }
    }

    /// A part of the system side: joined by an empty line, written by Recto.
    fn part(&self, layer: Layer, text: &Text, reason: PartReason) -> Part {
        Part {
            layer,
            role: ChatRole::System,
            join: PartJoin::Paragraph,
            lead: EMPTY.clone(),
            content: PartContent::Text(text.clone()),
            tokens: Tokens::ZERO,
            source: ContentSource::BuiltIn,
            item: None,
            reason,
        }
    }

    /// Sets what the part costs, now that everything about it is known.
    fn price(&self, mut part: Part) -> Part {
        part.tokens = self.inputs.counter.part(&part);
        part
    }

    /// Layers 1 to 6, joined into one system message or one a layer.
    fn system_side(&self, plan: &Plan<'_>) -> Vec<Part> {
        let mut parts = self.system_layers(plan);
        let per_layer = self.inputs.layout.system_messages == SystemMessages::PerLayer;
        let mut before = None;
        for part in &mut parts {
            if before.is_none() || (per_layer && before != Some(part.layer)) {
                part.join = PartJoin::NewMessage;
            }
            before = Some(part.layer);
        }
        parts.into_iter().map(|part| self.price(part)).collect()
    }

    /// A message of the history, with the picks that stay in front of it.
    pub(crate) fn history_message(&self, message: &Arc<Message>) -> Vec<Part> {
        let shown = self.inputs.layout.picks == PickPlacement::Kept
            && self.inputs.mode.chosen.sends_history()
            && shows_kept_picks(self.carry, message.id);
        let user = message.as_user().filter(|_| shown);
        let mut parts = user.map(|user| self.kept_picks(&user.picks)).unwrap_or_default();
        let join = self.join_behind(!parts.is_empty());
        let reason = match self.inputs.history_owner {
            HistoryOwner::Session => PartReason::Recent,
            HistoryOwner::Client => PartReason::ClientHistory,
        };
        parts.push(Part { join, ..self.message_part(message, Layer::History, reason) });
        parts.extend(self.files(message, Layer::History));
        parts.into_iter().map(|part| self.price(part)).collect()
    }

    /// What stands for messages that have left: the oldest entry of the history.
    pub(crate) fn summary(&self, summary: &HistorySummary) -> Part {
        let HistorySummary { first, last, how, .. } = *summary;
        self.price(Part {
            role: ChatRole::User,
            join: PartJoin::NewMessage,
            lead: SUMMARY.clone(),
            source: ContentSource::Session,
            ..self.part(Layer::History, &summary.text, PartReason::Summary { first, last, how })
        })
    }

    /// A call or result of this turn.
    fn round(&self, message: &Arc<Message>) -> Part {
        self.price(self.message_part(message, Layer::Rounds, PartReason::Round))
    }

    /// The part of a message, shortened if it was decided to be.
    fn message_part(&self, message: &Arc<Message>, layer: Layer, reason: PartReason) -> Part {
        let shortened = self.carry.shortened.contains(&message.id);
        let (content, reason) = match shortened.then(|| shorten(message)).flatten() {
            Some(short) => (Arc::new(short), PartReason::Shortened),
            None => (Arc::clone(message), reason),
        };
        let as_text = self.inputs.layout.tool_calls == ToolCalls::Text;
        let (role, lead) = match &message.body {
            MessageBody::User(user) => (ChatRole::User, self.user_lead(user)),
            MessageBody::Assistant { .. } => (ChatRole::Assistant, EMPTY.clone()),
            MessageBody::Tool { name, .. } if as_text => (ChatRole::User, result_lead(name)),
            _ => (ChatRole::Tool, EMPTY.clone()),
        };
        let content = if as_text { calls_as_text(content) } else { content };
        let content = match self.inputs.layout.images {
            ImageRender::Native => content,
            ImageRender::Text => images_as_text(content),
        };
        Part {
            role,
            join: PartJoin::NewMessage,
            lead,
            content: PartContent::Message(content),
            source: ContentSource::Session,
            ..self.part(layer, &EMPTY, reason)
        }
    }

    /// What stands in front of a user message: its stamp, in minimal mode the
    /// instruction it was sent with, and next to its words who wrote them. Full turns
    /// leave the instruction out: it asks for tool calls, and belongs to the turn that
    /// it opened.
    fn user_lead(&self, user: &UserMessage) -> Text {
        let stamp = user.stamp.as_ref().filter(|_| self.inputs.layout.preset.has_stamps());
        let instructed = user.framing == Framing::CallTools && self.inputs.mode.chosen.is_minimal();
        let stamp = stamp.map_or(&*EMPTY, MessageStamp::lead);
        let instruction = if instructed { CALL_TOOLS } else { "" };
        let speaker = user.speaker.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        if instruction.is_empty() && speaker.is_empty() {
            return stamp.clone();
        }
        [stamp.as_str(), instruction, speaker.as_str()].concat().into()
    }

    /// The files that came along with a message, behind it.
    fn files(&self, message: &Message, layer: Layer) -> impl Iterator<Item = Part> {
        message.files().map(move |file| {
            let (bytes, hash) = (file.text().len() as u64, file.text().hash());
            let part = self.part(layer, file.shown(), PartReason::Attached { bytes, hash });
            let source = ContentSource::Attachment(file.name().clone());
            Part { role: ChatRole::User, source, ..part }
        })
    }

    /// The message of this turn, and the files that came along.
    fn current_message(&self, plan: &Plan<'_>) -> Vec<Part> {
        let behind_history = self.inputs.layout.picks != PickPlacement::InLayer;
        let has_picks = !plan.picks.is_empty() || !plan.list.is_empty();
        let join = self.join_behind(behind_history && has_picks);
        let sent = Arc::new(sent_message(plan));
        let message =
            Part { join, ..self.message_part(&sent, Layer::Message, PartReason::Current) };
        let parts = [message].into_iter().chain(self.files(&sent, Layer::Message));
        parts.map(|part| self.price(part)).collect()
    }
}

/// The message of this turn with all that surrounds it, as it is stored.
pub(crate) fn sent_message(plan: &Plan<'_>) -> Message {
    let inputs = plan.inputs;
    let asks_for_calls = inputs.mode.demands_call() && !plan.tools.is_empty();
    let mut user = inputs.message.clone();
    user.framing = if asks_for_calls { Framing::CallTools } else { Framing::Plain };
    if inputs.layout.picks == PickPlacement::Kept {
        let keep = |pick: &PlannedPick| KeptPick {
            item: pick.item.id.clone(),
            since: pick.since,
            shown: pick.shown.clone(),
        };
        let keep_line = |line: &PlannedLine| KeptPick {
            item: line.item.id.clone(),
            since: inputs.turn,
            shown: PickDisplay::Line(line.line.clone()),
        };
        let lines = plan.list.iter().map(keep_line);
        user.picks = plan.picks.iter().map(keep).chain(lines).collect();
    }
    Message { id: inputs.message_id, body: MessageBody::User(user) }
}

/// Stands before a rule or reference of the session.
pub(crate) fn item_lead(kind: ItemKind, name: &str) -> Text {
    let title = if kind == ItemKind::Rule { "Rule" } else { "Reference" };
    format!("## {title}: {name}\n").into()
}
