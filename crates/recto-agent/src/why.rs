//! Why an item is on the page of a request, or is not.
//!
//! What the record says is told as it is: by [`RequestContext::item_standings`], as every other
//! view does. A record does not list every memory that there was, so of those that it does not
//! name `memory` tells what is known otherwise.

mod memory;

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use recto_context::{
    AudienceKind, DropReason, EarlierUse, ItemId, ItemKind, ItemOrigin, ItemPlacement, ItemReading,
    ItemStanding, ItemStatus, MessageId, Pick, RequestContext, Scores, Tokens, TypedMemory,
    visible_text,
};
use recto_store::{ItemState, Store};
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
    /// Where else it stands on the page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<ItemPlacement>,
    /// When the model loaded it by its name, if it did and the page shows that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<ItemReading>,
    /// What a person has changed about it since that page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<ItemChangeSince>,
    /// The last message like this one for which it was used, where that still stands and may be
    /// seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_for: Option<String>,
}

/// A change that the next page shows, and the last one does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemChangeSince {
    /// It was added to the session.
    Added,
    /// It was taken out of it.
    Removed,
}

/// The reason why an item was on the page of a request, or was not.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub enum ItemReason {
    /// A memory that came after the turn had begun.
    NotYet { added: Timestamp },
    /// A daily note that was too old to come by itself.
    OldNote { day: Date },
    /// A memory, where the page had none for this reason.
    NoMemories { reason: DropReason },
    /// A memory that was remembered in this very session: what was said then is in the history,
    /// and it is not recalled once more.
    RememberedHere {
        /// The message of the exchange in which it was remembered.
        message: MessageId,
    },
    /// A memory that is not in the session's snapshot, where search was off, or had
    /// nothing to search for.
    NotSearched,
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
    /// What the record says.
    #[serde(untagged)]
    Recorded(ItemStatus),
}

/// Explains by the record of a request every item that answers to a name. A memory answers to the
/// beginning of its digits, too, where nothing has exactly that name.
pub fn explain_item(request: &RequestContext, name: &str) -> Vec<ItemExplanation> {
    let standings = request.item_standings();
    let named = |wanted: &NamedItem<'_>| {
        let answering = standings.iter().filter(|standing| wanted.means(&standing.item));
        answering.cloned().map(ItemExplanation::from).collect::<Vec<_>>()
    };
    match named(&NamedItem::Name(ItemName::parse(name))) {
        none if none.is_empty() => named(&NamedItem::Memory(TypedMemory::new(name))),
        exactly => exactly,
    }
}

impl From<ItemStanding> for ItemExplanation {
    fn from(standing: ItemStanding) -> Self {
        let ItemStanding { item, tokens, status, also, read } = standing;
        let reason = ItemReason::Recorded(status);
        ItemExplanation { item, tokens, reason, also, read, since: None, used_for: None }
    }
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

impl ItemExplanation {
    /// What the record says of the item, where it names it.
    pub fn status(&self) -> Option<&ItemStatus> {
        match &self.reason {
            ItemReason::Recorded(status) => Some(status),
            _ => None,
        }
    }

    /// What the person's own record said for it, if it said something.
    fn earlier_use(&self) -> Option<EarlierUse> {
        let scores = |status: &ItemStatus| match status {
            ItemStatus::NotTaken { candidate } => Some(candidate.scores),
            ItemStatus::LeftOut { candidate, .. } => candidate.as_ref().map(|pick| pick.scores),
            other => other.place()?.found.as_ref().map(|pick| pick.scores),
        };
        let status = self.status()?;
        let body = match status {
            ItemStatus::Listed { body, .. } => body.as_deref(),
            _ => None,
        };
        [Some(status), body].into_iter().flatten().find_map(|status| scores(status)?.earlier_use)
    }

    /// Adds what the last message said for which it was used. Whoever may see this page may see
    /// that message, which was said before the same people; it may be gone by now.
    async fn quote_use(&mut self, store: &Store) {
        let Some(turn) = self.earlier_use().and_then(|it| it.turn.to_string().parse().ok()) else {
            return;
        };
        let Ok(Some(turn)) = store.turn(turn).await else { return };
        let Some(message) = turn.first_message else { return };
        let found = store.messages_at(vec![(turn.session, message)]).await.unwrap_or_default();
        let text = found.first().map(|(_, stored)| visible_text(stored.message.content()));
        self.used_for = text.filter(|text| !text.trim().is_empty());
    }

    /// Tells what has changed since, by how the item stands to the session now.
    pub(crate) fn note_change(&mut self, now: &ItemState) {
        self.since = match (self.status(), now) {
            (
                Some(
                    ItemStatus::NotTaken { .. }
                    | ItemStatus::SaysTheSame { .. }
                    | ItemStatus::Removed
                    | ItemStatus::NotAdded
                    | ItemStatus::NotRanked { .. }
                    | ItemStatus::NotJoined,
                ),
                ItemState::In(ItemOrigin::ByHand),
            ) => Some(ItemChangeSince::Added),
            (
                Some(ItemStatus::InFull(_) | ItemStatus::Offered(_) | ItemStatus::Listed { .. }),
                ItemState::Removed,
            ) => Some(ItemChangeSince::Removed),
            _ => None,
        };
    }

    /// How a place on the page is told: `was listed by name (skills, always, 12 tokens): …`.
    fn fmt_place(
        &self,
        f: &mut fmt::Formatter<'_>,
        verb: &str,
        place: &ItemPlacement,
    ) -> fmt::Result {
        let ItemPlacement { layer, include, reason, found } = place;
        let tokens = self.tokens;
        write!(f, "{} {verb} ({layer}, {include}, {tokens} tokens): ", self.item)?;
        let why = reason.describe();
        // The verb has said already that it stands there by its name alone.
        let told = verb.strip_prefix("was ").and_then(|told| why.strip_prefix(told));
        f.write_str(told.and_then(|rest| rest.strip_prefix("; ")).unwrap_or(&why))?;
        found.as_ref().map_or(Ok(()), |pick| write!(f, "; {}", ScoresText(pick)))
    }
}

impl fmt::Display for ItemExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_page(f)?;
        if let Some(message) = &self.used_for {
            write!(f, "; the last message for which it was used: \"{}\"", quote(message))?;
        }
        if let Some(read) = self.read {
            write!(f, "; {}", read.describe())?;
        }
        f.write_str(match self.since {
            Some(ItemChangeSince::Added) => {
                "; it was added since, and is in this session from the next turn on"
            }
            Some(ItemChangeSince::Removed) => {
                "; it was removed since, and is out of this session from the next turn on"
            }
            None => "",
        })
    }
}

impl ItemExplanation {
    /// What became of it in the request.
    fn fmt_page(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ItemExplanation { item, tokens, reason, .. } = self;
        match reason {
            ItemReason::Recorded(ItemStatus::InFull(place)) => {
                self.fmt_place(f, "was on the page", place)
            }
            ItemReason::Recorded(ItemStatus::Offered(place)) => {
                self.fmt_place(f, "was offered", place)
            }
            ItemReason::Recorded(ItemStatus::Listed { place, body }) => {
                self.fmt_place(f, "was listed by name", place)?;
                let Some(body) = body else { return Ok(()) };
                write!(f, "; more than that was not brought: {}", self.status_text(body))
            }
            ItemReason::Recorded(ItemStatus::LeftOut { layer, reason, candidate }) => {
                write!(f, "{item} was left out ({layer}, {tokens} tokens): {}", reason.describe())?;
                candidate.as_ref().map_or(Ok(()), |pick| write!(f, "; {}", ScoresText(pick)))
            }
            absent => {
                // What the model read by its name is there, in the result of its call.
                let what = if self.read.is_some() { "not brought" } else { "not on the page" };
                write!(f, "{item} was {what}: {}", AbsenceText { kind: item.kind, reason: absent })
            }
        }
    }

    fn status_text<'a>(&self, status: &'a ItemStatus) -> StatusText<'a> {
        StatusText { kind: self.item.kind, status }
    }
}

/// Why an item was not on the page, in words.
struct AbsenceText<'a> {
    kind: ItemKind,
    reason: &'a ItemReason,
}

impl fmt::Display for AbsenceText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            ItemReason::Recorded(status) => StatusText { kind: self.kind, status }.fmt(f),
            ItemReason::NotYet { added } => {
                let added = added.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S");
                write!(f, "it was remembered later, at {added}")
            }
            ItemReason::OldNote { day } => write!(
                f,
                "it is a note of {day}, and after 30 days notes don't come by themselves (the \
                 tool recall finds them)"
            ),
            ItemReason::NoMemories { reason } => {
                let reason = reason.describe();
                write!(f, "no memories were, and search did not bring it; {reason}")
            }
            ItemReason::RememberedHere { message } => write!(
                f,
                "it was remembered in this session, so it stands in the history (message {}) and \
                 is not recalled once more",
                message.0
            ),
            ItemReason::NotSearched => f.write_str(
                "it is not in the session's snapshot, and search looked at no memories for this \
                 message",
            ),
            ItemReason::Outranked { looked_at, now, best, all } => {
                write!(
                    f,
                    "it is not in the session's snapshot, and was not among the {looked_at} that \
                     search looked at; asked again, "
                )?;
                match now {
                    Some(pick) => write!(f, "search says of it, among {all}: {}", ScoresText(pick)),
                    None => write!(f, "search has it behind the {best} best of {all}"),
                }
            }
            ItemReason::NotSeen { by } => {
                write!(f, "it is not for this session, which is {}", whose(*by))
            }
        }
    }
}

/// Why an item, or the rest of it, was not on the page by the record, in words.
struct StatusText<'a> {
    kind: ItemKind,
    status: &'a ItemStatus,
}

impl fmt::Display for StatusText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.status {
            // These are told with their places.
            ItemStatus::InFull(_) | ItemStatus::Offered(_) | ItemStatus::Listed { .. } => "",
            ItemStatus::LeftOut { reason, .. } => return f.write_str(&reason.describe()),
            ItemStatus::ToolsOffered { tools } => {
                let names: Vec<String> = tools.iter().map(|tool| tool.name.to_string()).collect();
                return write!(f, "only its tools were offered: {}", names.join(", "));
            }
            ItemStatus::NotTaken { candidate } => {
                // The refusal names the probability already, with as many digits as it needs.
                let rest = Scores { probability: None, ..candidate.scores };
                let rest = Pick { scores: rest, ..candidate.clone() };
                let refusal = candidate.describe_refusal();
                return write!(f, "not taken: {refusal}; {}", ScoresText(&rest));
            }
            ItemStatus::SaysTheSame { of, cosine } => {
                write!(f, "it says the same as {of}, which fits the message better")?;
                return cosine.map_or(Ok(()), |cosine| write!(f, " (cosine {cosine:.2})"));
            }
            ItemStatus::Removed => "a person removed it from the session (/add brings it back)",
            ItemStatus::RemovedWithSkill { skill } => {
                return write!(f, "it comes with {skill}, which a person removed from the session");
            }
            ItemStatus::NotAdded => "its include mode is manual, and nobody added it (/add does)",
            ItemStatus::NotRanked { looked_at } => {
                f.write_str("its include mode is agent, and ")?;
                let kinds = ranked_together(self.kind);
                return match looked_at {
                    0 => write!(f, "search looked at no {kinds} for this message"),
                    count => write!(
                        f,
                        "of the {kinds} it was not among the first {count}, at which search looked"
                    ),
                };
            }
            ItemStatus::NotJoined => "it had not joined the session",
        };
        f.write_str(words)
    }
}

/// The kinds that search ranks together, in words.
fn ranked_together(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Rule | ItemKind::Reference => "rules and references",
        ItemKind::Skill => "skills",
        ItemKind::Tool => "tools",
        ItemKind::Memory => "memories",
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
            self.0.describe_query(),
            self.0.scores.describe_use(),
        ];
        f.write_str(&known.into_iter().flatten().collect::<Vec<_>>().join(", "))?;
        let Some(chunk) = &self.0.best_chunk else { return Ok(()) };
        write!(f, "; best: \"{}\"", quote(chunk))
    }
}

/// The beginning of a text on one line.
fn quote(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(QUOTED).collect();
    let more = if short.len() < line.len() { "…" } else { "" };
    format!("{short}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(kind: ItemKind, status: ItemStatus, read: Option<ItemReading>) -> String {
        let item = ItemId::new(kind, "refund");
        let standing = ItemStanding { item, tokens: Tokens::ZERO, status, also: Vec::new(), read };
        ItemExplanation::from(standing).to_string()
    }

    #[test]
    fn what_the_model_read_is_not_said_to_be_off_the_page() {
        assert_eq!(
            words(ItemKind::Rule, ItemStatus::Removed, Some(ItemReading::EarlierTurn)),
            "rule refund was not brought: a person removed it from the session (/add brings it \
             back); read by the model in an earlier turn, and what it read stands in the history"
        );
        assert_eq!(
            words(ItemKind::Rule, ItemStatus::Removed, None),
            "rule refund was not on the page: a person removed it from the session (/add brings \
             it back)"
        );
    }

    #[test]
    fn what_search_did_not_get_to_is_counted_among_its_like() {
        let told = |kind, looked_at| words(kind, ItemStatus::NotRanked { looked_at }, None);
        assert_eq!(
            told(ItemKind::Reference, 20),
            "reference refund was not on the page: its include mode is agent, and of the rules \
             and references it was not among the first 20, at which search looked"
        );
        assert!(told(ItemKind::Tool, 0).ends_with("search looked at no tools for this message"));
    }
}
