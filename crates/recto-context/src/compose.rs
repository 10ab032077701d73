//! Turns a plan into the parts of the page: headings, leads and joins.
//!
//! All that the presets and rendering settings mean for the look of the page is
//! decided here, layer by layer in the order of [`Layer`], and nowhere else.

mod as_text;
mod shorten;
mod system;

use std::sync::{Arc, LazyLock};

use crate::carry::Carry;
use crate::inputs::Inputs;
use crate::item::{ItemKind, Source};
use crate::layer::Layer;
use crate::layout::{PickMessages, PickPlacement, SystemMessages, ToolCalls};
use crate::message::{Body, Framing, KeptPick, Message, Shown, TurnNumber, UserMessage};
use crate::page::{ChatRole, Content, ItemUse, Join, Part, Reason};
use crate::plan::{Plan, PlannedItem, PlannedPick, shows_kept_picks};
use crate::text::Text;
use crate::tokens::Tokens;

use as_text::{calls_as_text, result_lead};
pub(crate) use shorten::{can_shorten, shorten};

/// What minimal mode puts in front of the user's message.
const CALL_TOOLS: &str = "You must respond by calling one or more of the provided tools. \
    Do not answer without calling a tool when the request involves files or workspace.\n\n\
    User request: ";

static PICKS_BEGIN: LazyLock<Text> = LazyLock::new(|| Text::from("[context for this message]"));
static PICKS_END: LazyLock<Text> = LazyLock::new(|| Text::from("[end of context]"));
static EMPTY: LazyLock<Text> = LazyLock::new(Text::default);

/// The parts of the page that `plan` describes.
pub(crate) fn compose(plan: &Plan<'_>) -> Vec<Part> {
    let composer = Composer::new(plan.inputs, &plan.carry);
    let mut parts = composer.system_side(plan);
    parts.extend(plan.history.iter().flat_map(|exchange| exchange.parts.iter().cloned()));
    parts.extend(composer.picks(plan));
    parts.push(composer.current_message(plan));
    parts.extend(plan.rounds.iter().map(|message| composer.round(message)));
    debug_assert!(parts.is_sorted_by_key(|part| part.layer), "layers stand in their order");
    parts
}

/// Makes parts, and knows what they cost.
pub(crate) struct Composer<'a> {
    inputs: &'a Inputs<'a>,
    carry: &'a Carry,
}

impl<'a> Composer<'a> {
    pub(crate) fn new(inputs: &'a Inputs<'a>, carry: &'a Carry) -> Self {
        Composer { inputs, carry }
    }

    /// A part of the system side: joined by an empty line, written by Recto.
    fn part(&self, layer: Layer, text: &Text, reason: Reason) -> Part {
        Part {
            layer,
            role: ChatRole::System,
            join: Join::Paragraph,
            lead: EMPTY.clone(),
            content: Content::Text(text.clone()),
            tokens: Tokens::ZERO,
            source: Source::BuiltIn,
            item: None,
            reason,
        }
    }

    /// Sets what the part costs, now that everything about it is known.
    fn price(&self, mut part: Part) -> Part {
        let counter = &self.inputs.counter;
        let (text, message) = match &part.content {
            Content::Text(text) => (text, Tokens::ZERO),
            Content::Message(message) => (&*EMPTY, counter.message(message)),
        };
        part.tokens = message
            + match part.join {
                Join::NewMessage => counter.per_message() + counter.led(&part.lead, text),
                Join::Paragraph | Join::Line => counter.line(&part.lead, text),
            };
        part
    }

    /// Layers 1 to 6, joined into one system message or one a layer.
    fn system_side(&self, plan: &Plan<'_>) -> Vec<Part> {
        let mut parts = self.system_layers(plan);
        let per_layer = self.inputs.layout.system_messages == SystemMessages::PerLayer;
        let mut before = None;
        for part in &mut parts {
            if before.is_none() || (per_layer && before != Some(part.layer)) {
                part.join = Join::NewMessage;
            }
            before = Some(part.layer);
        }
        parts.into_iter().map(|part| self.price(part)).collect()
    }

    /// A message of the history, with the picks that stay in front of it.
    pub(crate) fn history_message(&self, message: &Arc<Message>) -> Vec<Part> {
        let mut parts = Vec::new();
        if let Body::User(user) = &message.body {
            let shown = self.inputs.layout.picks == PickPlacement::Kept
                && self.inputs.mode.chosen.sends_history()
                && shows_kept_picks(self.carry, message.id);
            let picks: &[KeptPick] = if shown { &user.picks } else { &[] };
            parts = self.kept_picks(picks);
        }
        let join = self.join_behind(&parts);
        let mut part = self.message_part(message, Layer::History, Reason::Recent);
        part.join = join;
        parts.push(part);
        parts.into_iter().map(|part| self.price(part)).collect()
    }

    /// A call or result of this turn.
    fn round(&self, message: &Arc<Message>) -> Part {
        self.price(self.message_part(message, Layer::Rounds, Reason::Round))
    }

    /// The part of a message, shortened if it was decided to be.
    fn message_part(&self, message: &Arc<Message>, layer: Layer, reason: Reason) -> Part {
        let shortened = self.carry.shortened.contains(&message.id);
        let (content, reason) = match shortened.then(|| shorten(message)).flatten() {
            Some(short) => (Arc::new(short), Reason::Shortened),
            None => (Arc::clone(message), reason),
        };
        let as_text = self.inputs.layout.tool_calls == ToolCalls::Text;
        let (role, lead) = match &message.body {
            Body::User(user) => (ChatRole::User, self.user_lead(user)),
            Body::Assistant { .. } => (ChatRole::Assistant, EMPTY.clone()),
            Body::Tool { name, .. } if as_text => (ChatRole::User, result_lead(name)),
            _ => (ChatRole::Tool, EMPTY.clone()),
        };
        let content = if as_text { calls_as_text(content) } else { content };
        Part {
            role,
            join: Join::NewMessage,
            lead,
            content: Content::Message(content),
            source: Source::Session,
            ..self.part(layer, &EMPTY, reason)
        }
    }

    /// What stands in front of a user message: its stamp, and in minimal mode
    /// the instruction it was sent with. Full turns leave that out: it asks for
    /// tool calls, and belongs to the turn that it opened.
    fn user_lead(&self, user: &UserMessage) -> Text {
        let stamp = user.stamp.as_ref().filter(|_| self.inputs.layout.preset.has_stamps());
        let instructed = user.framing == Framing::CallTools && self.inputs.mode.chosen.is_minimal();
        match (stamp, instructed) {
            (None, false) => EMPTY.clone(),
            (None, true) => CALL_TOOLS.into(),
            (Some(stamp), false) => format!("[{}] ", stamp.as_str()).into(),
            (Some(stamp), true) => format!("[{}] {CALL_TOOLS}", stamp.as_str()).into(),
        }
    }

    /// The picks of this turn, where they stand behind the history.
    fn picks(&self, plan: &Plan<'_>) -> Vec<Part> {
        let mut parts = Vec::new();
        if self.inputs.layout.preset.attaches_items() {
            parts = self.attachments(plan);
        } else if self.inputs.layout.picks != PickPlacement::InLayer {
            let picks = plan.picks.iter().map(|pick| self.pick(pick, Layer::Picks, Reason::Found));
            parts = self.delimit(picks.collect(), Layer::Picks, &Reason::Heading);
        }
        parts.into_iter().map(|part| self.price(part)).collect()
    }

    /// Picks between a line that opens and one that closes them.
    fn delimit(&self, picks: Vec<Part>, layer: Layer, heading: &Reason) -> Vec<Part> {
        if picks.is_empty() {
            return picks;
        }
        let line = |text: &Text, join| Part {
            role: ChatRole::User,
            join,
            ..self.part(layer, text, heading.clone())
        };
        let mut parts = vec![line(&PICKS_BEGIN, Join::NewMessage)];
        parts.extend(picks);
        parts.push(line(&PICKS_END, Join::Paragraph));
        parts
    }

    fn pick(&self, pick: &PlannedPick, layer: Layer, reason: Reason) -> Part {
        let part = self.shown_pick(&pick.item, &pick.shown, pick.since, layer, reason);
        Part { source: pick.source.clone(), ..part }
    }

    fn shown_pick(
        &self,
        item: &ItemUse,
        shown: &Shown,
        since: TurnNumber,
        layer: Layer,
        reason: Reason,
    ) -> Part {
        let label = format!("[{}: {}]", item.id.kind, item.id.name);
        let (lead, text, reason) = match shown {
            Shown::Text(text) => (format!("{label}\n").into(), text.clone(), reason),
            Shown::Above => {
                let note = format!("{label} stands above, since turn {since}.");
                (EMPTY.clone(), Text::from(note), Reason::StandsAbove(since))
            }
        };
        Part {
            role: ChatRole::User,
            lead,
            item: Some(item.clone()),
            ..self.part(layer, &text, reason)
        }
    }

    /// Picks that stay in front of an earlier message, as they were sent.
    fn kept_picks(&self, picks: &[KeptPick]) -> Vec<Part> {
        let kept = picks.iter().map(|pick| {
            let item = ItemUse {
                id: pick.item.clone(),
                include: crate::item::Include::Agent,
                priority: None,
                scores: None,
            };
            let reason = Reason::KeptSince(pick.since);
            self.shown_pick(&item, &pick.shown, pick.since, Layer::History, reason)
        });
        let parts = kept.collect();
        if self.inputs.layout.preset.attaches_items() {
            return self.attach(parts);
        }
        self.delimit(parts, Layer::History, &Reason::Heading)
    }

    /// Preset `attached`: references, then rules, a user message each, first
    /// those of the session, then those that search brought.
    fn attachments(&self, plan: &Plan<'_>) -> Vec<Part> {
        let session = plan.items.iter().map(|item| self.session_item(item, Layer::Picks));
        let mut parts: Vec<Part> = session.collect();
        parts.sort_by_key(system::item_order);
        parts.extend(plan.picks.iter().map(|pick| self.pick(pick, Layer::Picks, Reason::Found)));
        parts.sort_by_key(|part| part.item.as_ref().map(|item| attached_order(item.id.kind)));
        self.attach(parts)
    }

    fn attach(&self, parts: Vec<Part>) -> Vec<Part> {
        let attach = |part: Part| {
            let kind = part.item.as_ref().map(|item| item.id.kind);
            Part {
                role: ChatRole::User,
                join: Join::NewMessage,
                lead: kind.map_or(EMPTY.clone(), attached_lead),
                ..part
            }
        };
        parts.into_iter().map(attach).collect()
    }

    fn session_item(&self, item: &PlannedItem<'_>, layer: Layer) -> Part {
        let document = item.document;
        let id = crate::item::ItemId::new(item.kind, document.name.clone());
        let item_use =
            ItemUse { id, include: item.include, priority: Some(document.priority), scores: None };
        Part {
            lead: item_lead(item.kind, &document.name),
            source: document.source.clone(),
            item: Some(item_use),
            ..self.part(layer, &document.text, item.reason.clone())
        }
    }

    /// How the current message follows what stands before it.
    fn join_behind(&self, picks: &[Part]) -> Join {
        match self.inputs.layout.pick_messages {
            PickMessages::Merged if !picks.is_empty() => Join::Paragraph,
            _ => Join::NewMessage,
        }
    }

    fn current_message(&self, plan: &Plan<'_>) -> Part {
        let sent = Arc::new(sent_message(plan));
        let mut part = self.message_part(&sent, Layer::Message, Reason::Current);
        let in_front = self.picks_in_front(plan);
        part.join = if in_front { Join::Paragraph } else { Join::NewMessage };
        self.price(part)
    }

    fn picks_in_front(&self, plan: &Plan<'_>) -> bool {
        let layout = &self.inputs.layout;
        layout.pick_messages == PickMessages::Merged
            && !layout.preset.attaches_items()
            && layout.picks != PickPlacement::InLayer
            && !plan.picks.is_empty()
    }
}

/// The message of this turn with all that surrounds it, as it is stored.
pub(crate) fn sent_message(plan: &Plan<'_>) -> Message {
    let inputs = plan.inputs;
    let asks_for_calls = inputs.mode.chosen.is_minimal() && !plan.tools.is_empty();
    let mut user = inputs.message.clone();
    user.framing = if asks_for_calls { Framing::CallTools } else { Framing::Plain };
    if inputs.layout.picks == PickPlacement::Kept {
        let keep = |pick: &PlannedPick| KeptPick {
            item: pick.item.id.clone(),
            since: pick.since,
            shown: pick.shown.clone(),
        };
        user.picks = plan.picks.iter().map(keep).collect();
    }
    Message { id: inputs.message_id, body: Body::User(user) }
}

fn attached_order(kind: ItemKind) -> u8 {
    match kind {
        ItemKind::Reference => 0,
        ItemKind::Rule => 1,
        ItemKind::Skill => 2,
        ItemKind::Memory => 3,
        ItemKind::Tool => 4,
    }
}

fn attached_lead(kind: ItemKind) -> Text {
    Text::from(match kind {
        ItemKind::Reference => "Reference: ",
        ItemKind::Rule => "Rule: ",
        ItemKind::Skill => "Skill: ",
        ItemKind::Memory => "Memory: ",
        ItemKind::Tool => "Tool: ",
    })
}

/// Stands before a rule or reference of the session.
pub(crate) fn item_lead(kind: ItemKind, name: &str) -> Text {
    let title = if kind == ItemKind::Rule { "Rule" } else { "Reference" };
    format!("## {title}: {name}\n").into()
}
