//! Why an item is on the page of a request, or is not.
//!
//! What the record says is told as it is. A record does not list every memory that
//! there was, so of those that it does not name `memory` tells what is known otherwise.

mod memory;

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use recto_context::{
    AudienceKind, DropReason, IncludeMode, ItemId, ItemKind, ItemUse, Layer, Part, PartReason,
    Pick, RequestContext, Scores, Tokens, TypedMemory,
};
use serde::Serialize;

use crate::items::ItemName;

/// How much of the best chunk a sentence quotes.
const QUOTED: usize = 120;

/// An item of which somebody asks why, and what became of it in a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct ItemExplanation {
    pub item: ItemId,
    /// What it costs, or would have cost.
    pub tokens: Tokens,
    #[serde(flatten)]
    pub reason: ItemReason,
}

/// The reason why an item was on the page of a request, or was not.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub enum ItemReason {
    /// It stands on the page.
    OnPage {
        layer: Layer,
        /// How it came in.
        include: IncludeMode,
        reason: PartReason,
        /// What search said of it, where search brought it.
        #[serde(skip_serializing_if = "Option::is_none")]
        found: Option<Pick>,
    },
    /// It was meant to stand in this layer, and was left out.
    LeftOut { layer: Layer, reason: DropReason },
    /// Search looked at it and did not take it.
    NotTaken { candidate: Pick },
    /// A person took it out of the session.
    Removed,
    /// Nobody added it, and its include mode is *manual*.
    NotAdded,
    /// Its include mode is *agent*, and search did not get to it.
    NotRanked,
    /// Its include mode is *always*, and it was not there yet.
    NotJoined,
    /// A memory that came after the turn had begun.
    NotYet { added: Timestamp },
    /// A daily note that was too old to come by itself.
    OldNote { day: Date },
    /// A memory, where the page had none for this reason.
    NoMemories { reason: DropReason },
    /// A memory that is not in the session's snapshot, where search was off, or had
    /// nothing to search for.
    NotSearched,
    /// A memory that says what this better one says.
    SaysTheSame { of: ItemId },
    /// A memory that search did not get to, because others fit better.
    Outranked {
        /// At how many memories it looked.
        looked_at: usize,
        /// What search says of it if it is asked again, if it is among the best.
        #[serde(skip_serializing_if = "Option::is_none")]
        now: Option<Pick>,
        /// How many are among the best then.
        best: usize,
        /// How many there are.
        all: usize,
    },
    /// A memory that those for whom the page was made may not see.
    NotSeen { by: AudienceKind },
}

/// Explains by the record of a request every item that answers to a name. A memory answers to the
/// beginning of its digits, too, where nothing has exactly that name.
pub fn explain_item(request: &RequestContext, name: &str) -> Vec<ItemExplanation> {
    match recorded(request, &NamedItem::Name(ItemName::parse(name))) {
        none if none.is_empty() => recorded(request, &NamedItem::Memory(TypedMemory::new(name))),
        exactly => exactly,
    }
}

fn recorded(request: &RequestContext, wanted: &NamedItem<'_>) -> Vec<ItemExplanation> {
    let mut answers = Vec::new();
    on_page(request, wanted, ItemForm::Whole, &mut answers);
    left_out(request, wanted, &mut answers);
    not_taken(request, wanted, &mut answers);
    // That its name is listed says least of an item.
    on_page(request, wanted, ItemForm::ByName, &mut answers);
    not_there(request, wanted, &mut answers);
    answers
}

/// The name that is asked about.
enum NamedItem<'a> {
    Name(ItemName<'a>),
    /// Memories, by what their ids begin with.
    Memory(TypedMemory<'a>),
}

impl NamedItem<'_> {
    fn means(&self, id: &ItemId) -> bool {
        match self {
            NamedItem::Name(name) => name.means(id),
            NamedItem::Memory(name) => id.kind == ItemKind::Memory && name.can_mean(&id.name),
        }
    }
}

/// How much of an item stands on the page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemForm {
    Whole,
    /// A skill in the list of skills.
    ByName,
}

impl ItemForm {
    fn from_part(part: &Part) -> ItemForm {
        if part.is_list_entry() { ItemForm::ByName } else { ItemForm::Whole }
    }
}

fn on_page(
    request: &RequestContext,
    wanted: &NamedItem<'_>,
    shown: ItemForm,
    answers: &mut Vec<ItemExplanation>,
) {
    let parts = request.parts.iter().filter(|part| ItemForm::from_part(part) == shown);
    let parts =
        parts.filter_map(|part| Some((part.item.as_ref()?, part.layer, part.tokens, &part.reason)));
    // Tools that stand on the page as text are parts as well.
    let tools = request.tools.iter().filter(|_| shown == ItemForm::Whole);
    let tools = tools.map(|tool| (&tool.item, Layer::Tools, tool.tokens, &tool.reason));
    for (item, layer, tokens, reason) in parts.chain(tools) {
        if !wanted.means(&item.id) {
            continue;
        }
        let is_told = |why: &ItemExplanation| why.item == item.id && !why.is_at(layer);
        if shown == ItemForm::ByName && answers.iter().any(is_told) {
            continue;
        }
        let found = request.found.iter().find(|pick| pick.item == item.id).cloned();
        let (include, reason) = (item.include, reason.clone());
        let found = found.or_else(|| found_earlier(item, &reason));
        let reason = ItemReason::OnPage { layer, include, reason, found };
        match answers.iter_mut().find(|why| why.item == item.id && why.is_at(layer)) {
            Some(known) => known.tokens += tokens,
            None => answers.push(ItemExplanation { item: item.id.clone(), tokens, reason }),
        }
    }
}

/// What search said of a tool in the turn in which it found it.
fn found_earlier(item: &ItemUse, reason: &PartReason) -> Option<Pick> {
    let is_earlier = matches!(reason, PartReason::FoundInTurn(_));
    let scores = item.scores.filter(|_| is_earlier)?;
    Some(Pick { item: item.id.clone(), scores, best_chunk: None })
}

fn left_out(request: &RequestContext, wanted: &NamedItem<'_>, answers: &mut Vec<ItemExplanation>) {
    for dropped in &request.dropped {
        let Some(item) = item_of(&dropped.what).filter(|item| wanted.means(item)) else { continue };
        // What was left out in one form may stand on the page in another.
        if answers.iter().any(|why| why.item == item) {
            continue;
        }
        let reason = ItemReason::LeftOut { layer: dropped.layer, reason: dropped.reason.clone() };
        answers.push(ItemExplanation { item, tokens: dropped.before, reason });
    }
}

fn not_taken(request: &RequestContext, wanted: &NamedItem<'_>, answers: &mut Vec<ItemExplanation>) {
    for candidate in &request.candidates {
        let reason = ItemReason::NotTaken { candidate: candidate.clone() };
        add(answers, wanted, &candidate.item, reason);
    }
}

fn not_there(request: &RequestContext, wanted: &NamedItem<'_>, answers: &mut Vec<ItemExplanation>) {
    for item in &request.removed {
        add(answers, wanted, item, ItemReason::Removed);
    }
    for (item, include) in &request.available {
        let reason = match include {
            IncludeMode::Always => ItemReason::NotJoined,
            IncludeMode::Manual => ItemReason::NotAdded,
            IncludeMode::Agent => ItemReason::NotRanked,
        };
        add(answers, wanted, item, reason);
    }
}

/// Adds what became of an item that nothing is told of yet.
fn add(
    answers: &mut Vec<ItemExplanation>,
    wanted: &NamedItem<'_>,
    item: &ItemId,
    reason: ItemReason,
) {
    if wanted.means(item) && answers.iter().all(|why| why.item != *item) {
        answers.push(ItemExplanation { item: item.clone(), tokens: Tokens::ZERO, reason });
    }
}

/// The item that a cut names, as [`ItemId`] is displayed.
pub(crate) fn item_of(what: &str) -> Option<ItemId> {
    let (kind, name) = what.split_once(' ')?;
    let kinds =
        [ItemKind::Rule, ItemKind::Reference, ItemKind::Skill, ItemKind::Tool, ItemKind::Memory];
    let kind = kinds.into_iter().find(|known| known.name() == kind)?;
    match (kind, name.split_once('.')) {
        (ItemKind::Tool, Some((server, name))) => Some(ItemId::tool(Some(server.into()), name)),
        _ => Some(ItemId::new(kind, name)),
    }
}

impl ItemExplanation {
    fn is_at(&self, at: Layer) -> bool {
        matches!(self.reason, ItemReason::OnPage { layer, .. } if layer == at)
    }
}

impl fmt::Display for ItemExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ItemExplanation { item, tokens, reason } = self;
        match reason {
            ItemReason::OnPage { layer, include, reason, found } => {
                write!(f, "{item} was on the page ({layer}, {include}, {tokens} tokens): ")?;
                f.write_str(&reason.describe())?;
                found.as_ref().map_or(Ok(()), |pick| write!(f, "; {}", ScoresText(pick)))
            }
            ItemReason::LeftOut { layer, reason } => {
                write!(f, "{item} was left out ({layer}, {tokens} tokens): {}", reason.describe())
            }
            absent => {
                write!(f, "{item} was not on the page: ")?;
                absent.fmt_absence(f)
            }
        }
    }
}

impl ItemReason {
    /// Says why an item was not on the page.
    fn fmt_absence(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            // These say it themselves.
            ItemReason::OnPage { .. } | ItemReason::LeftOut { .. } => return Ok(()),
            ItemReason::NotTaken { candidate } => {
                let refusal = candidate.describe_refusal();
                return write!(f, "not taken: {refusal}; {}", ScoresText(candidate));
            }
            ItemReason::Removed => "a person removed it from the session (/add brings it back)",
            ItemReason::NotAdded => "its include mode is manual, and nobody added it (/add does)",
            ItemReason::NotRanked => {
                "its include mode is agent, and search was off or had others to look at before it"
            }
            ItemReason::NotJoined => "it had not joined the session",
            ItemReason::NotYet { added } => {
                let added = added.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S");
                return write!(f, "it was remembered later, at {added}");
            }
            ItemReason::OldNote { day } => {
                return write!(
                    f,
                    "it is a note of {day}, and after 30 days notes don't come by themselves (the \
                     tool recall finds them)"
                );
            }
            ItemReason::NoMemories { reason } => {
                let reason = reason.describe();
                return write!(f, "no memories were, and search did not bring it; {reason}");
            }
            ItemReason::NotSearched => {
                "it is not in the session's snapshot, and search looked at no memories for this \
                 message"
            }
            ItemReason::SaysTheSame { of } => {
                return write!(f, "it says the same as {of}, which fits the message better");
            }
            ItemReason::Outranked { looked_at, now, best, all } => {
                write!(
                    f,
                    "it is not in the session's snapshot, and was not among the {looked_at} that \
                     search looked at; asked again, "
                )?;
                return match now {
                    Some(pick) => write!(f, "search says of it, among {all}: {}", ScoresText(pick)),
                    None => write!(f, "search has it behind the {best} best of {all}"),
                };
            }
            ItemReason::NotSeen { by } => {
                return write!(f, "it is not for this session, which is {}", whose(*by));
            }
        };
        f.write_str(words)
    }
}

fn whose(session: AudienceKind) -> &'static str {
    match session {
        AudienceKind::Owner => "yours",
        AudienceKind::Guest => "a guest's",
        AudienceKind::Group => "a group's",
        AudienceKind::SubAgent => "another agent's",
    }
}

/// What search said of an item, in words.
struct ScoresText<'a>(&'a Pick);

impl fmt::Display for ScoresText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scores { cosine, lexical, fused, probability, recency, rank, .. } = self.0.scores;
        let number =
            |name: &str, value: Option<f32>| value.map(|value| format!("{name} {value:.2}"));
        let known = [
            number("probability", probability),
            number("cosine", cosine),
            number("words", lexical),
            number("together", fused),
            number("by its age", recency),
            rank.map(|rank| format!("rank {rank}")),
        ];
        f.write_str(&known.into_iter().flatten().collect::<Vec<_>>().join(", "))?;
        let Some(chunk) = &self.0.best_chunk else { return Ok(()) };
        let line = chunk.split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = line.chars().take(QUOTED).collect();
        let more = if short.len() < line.len() { "…" } else { "" };
        write!(f, "; best: \"{short}{more}\"")
    }
}
