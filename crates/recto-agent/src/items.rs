//! Items by the names that people give them: in commands, and as mentions in a
//! message.

use std::borrow::Cow;

use recto_context::{
    Catalog, IncludeMode, ItemId, ItemKind, ItemOrigin, MessageId, SessionItem, nearest_name,
};
use recto_store::{ItemState, SessionCursor, SessionId};
use serde::Serialize;

use crate::agent::Agent;
use crate::error::{AgentError, AgentResult};

/// What can stand in front of a name, with a colon.
const PREFIXES: [(&str, ItemKind); 5] = [
    ("rule", ItemKind::Rule),
    ("ref", ItemKind::Reference),
    ("reference", ItemKind::Reference),
    ("skill", ItemKind::Skill),
    ("tool", ItemKind::Tool),
];

/// How many mentions of a message are followed: each is looked for among all items.
const MOST_MENTIONS: usize = 32;

/// A name as people write it: `tone`, `rule:tone`, `@rule:tone`, `rule tone`, `git.log`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemName<'a> {
    /// The whole of it, where it can be a name by itself.
    whole: Option<&'a str>,
    /// The kind that stands in front, and the rest.
    of_kind: Option<(ItemKind, &'a str)>,
}

impl<'a> ItemName<'a> {
    pub(crate) fn parse(typed: &'a str) -> Self {
        let typed = typed.trim();
        let bare = typed.strip_prefix('@').unwrap_or(typed);
        let of_kind = |(prefix, name): (&str, &'a str)| Some((kind_of(prefix)?, name.trim()));
        if let Some(of_kind) = bare.split_once(':').and_then(of_kind) {
            return ItemName { whole: None, of_kind: Some(of_kind) };
        }
        // Names may have spaces, so both can be meant.
        let of_kind = bare.split_once(char::is_whitespace).and_then(of_kind);
        ItemName { whole: Some(typed), of_kind }
    }

    /// The name without its kind.
    pub(crate) fn bare(&self) -> &'a str {
        self.of_kind.map(|(_, name)| name).or(self.whole).unwrap_or_default()
    }

    /// Whether an item answers to the name.
    pub(crate) fn means(&self, id: &ItemId) -> bool {
        let is_called = |name: &str| {
            *id.name == *name
                || id.server.as_ref().is_some_and(|server| {
                    name.strip_prefix(&**server).and_then(|rest| rest.strip_prefix('.'))
                        == Some(&id.name)
                })
        };
        self.whole.is_some_and(is_called)
            || self.of_kind.is_some_and(|(kind, name)| kind == id.kind && is_called(name))
    }
}

fn kind_of(prefix: &str) -> Option<ItemKind> {
    let known = PREFIXES.iter().find(|(name, _)| name.eq_ignore_ascii_case(prefix))?;
    Some(known.1)
}

/// An item's name without the kind that was typed in front of it.
pub fn bare_item_name(typed: &str) -> &str {
    ItemName::parse(typed).bare()
}

/// Whether a name as people write it, with the kind in front or without it, means this item.
pub fn name_means_item(typed: &str, id: &ItemId) -> bool {
    ItemName::parse(typed).means(id)
}

/// An item's name with its kind, as it can be typed.
pub fn typed_name(id: &ItemId) -> String {
    format!("{}:{}", id.kind, id.key())
}

/// The items that a message mentions, and the mentions that lead nowhere.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MentionedItems {
    /// Items that were not in the session.
    pub new: Vec<SessionItem>,
    /// What is wrong with other mentions, for the person.
    pub problems: Vec<String>,
}

/// Lets items join a session that a message mentions, as in `@rule:name`.
pub fn join_mentioned(
    message: &str,
    catalog: &Catalog,
    session: &mut Vec<SessionItem>,
) -> MentionedItems {
    let MessageMentions { items, problems } = MessageMentions::scan(message, catalog);
    let is_new = |id: &ItemId| session.iter().all(|item| item.item != *id);
    let new = items.into_iter().filter(is_new);
    let new: Vec<_> = new.map(|item| SessionItem { item, joined: ItemOrigin::Mentioned }).collect();
    session.extend(new.iter().cloned());
    MentionedItems { new, problems }
}

/// The mentions of a message, as they are found one by one.
#[derive(Debug, Default, PartialEq, Eq)]
struct MessageMentions {
    /// Items of the catalog, each once.
    items: Vec<ItemId>,
    /// What is wrong with the others, for the person.
    problems: Vec<String>,
}

impl MessageMentions {
    /// Reads the mentions in a message. Names may have spaces: the longest one
    /// that the catalog knows is meant.
    fn scan(message: &str, catalog: &Catalog) -> MessageMentions {
        let mut mentions = MessageMentions::default();
        let mut known: Option<Vec<ItemId>> = None;
        let mut followed = 0;
        for (at, _) in message.match_indices('@') {
            let Some((kind, rest)) = after_prefix(&message[at + 1..]) else { continue };
            if !is_said(&message[..at]) || rest.chars().next().is_none_or(char::is_whitespace) {
                continue;
            }
            followed += 1;
            if followed > MOST_MENTIONS {
                let problem = format!("only the first {MOST_MENTIONS} mentions were followed");
                mentions.problems.push(problem);
                break;
            }
            let known = known.get_or_insert_with(|| catalog.items().map(|(id, _)| id).collect());
            match &longest(rest, known.iter().filter(|id| id.kind == kind))[..] {
                [] => mentions.complain(unknown(kind, rest, known)),
                [id] if mentions.items.contains(id) => {}
                [id] => mentions.items.push((*id).clone()),
                several => {
                    let names: Vec<String> =
                        several.iter().map(|id| format!("@{}", typed_name(id))).collect();
                    mentions.complain(format!("say which is meant: {}", names.join(" or ")));
                }
            }
        }
        mentions
    }

    /// Notes what is wrong with a mention, once.
    fn complain(&mut self, problem: String) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

/// Whether what follows is said to Recto: not the middle of a word, and not code
/// that is quoted between backticks.
fn is_said(before: &str) -> bool {
    let is_inside_a_word = before.chars().next_back().is_some_and(is_of_name);
    !is_inside_a_word && before.bytes().filter(|byte| *byte == b'`').count() % 2 == 0
}

/// A message without its mentions: they name items and files, and say nothing of what the
/// message is about.
pub fn without_mentions(message: &str) -> Cow<'_, str> {
    let mut rest = message;
    let mut kept = String::new();
    while let Some((at, behind)) =
        rest.match_indices('@').find_map(|(at, _)| Some((at, behind_mention(&rest[at + 1..])?)))
    {
        kept.push_str(&rest[..at]);
        rest = behind;
    }
    if kept.is_empty() && rest.len() == message.len() {
        return Cow::Borrowed(message);
    }
    Cow::Owned(kept + rest)
}

/// What follows behind a mention whose `@` was read. The path of a file may be quoted.
fn behind_mention(text: &str) -> Option<&str> {
    let path = text.strip_prefix("file:");
    if let Some((_, behind)) = path.and_then(|path| path.strip_prefix('"')?.split_once('"')) {
        return Some(behind);
    }
    let name = path.or_else(|| Some(after_prefix(text)?.1))?;
    Some(name.trim_start_matches(|c: char| !c.is_whitespace()))
}

fn after_prefix(text: &str) -> Option<(ItemKind, &str)> {
    PREFIXES.iter().find_map(|(prefix, kind)| {
        let rest = text.get(prefix.len()..)?.strip_prefix(':')?;
        text[..prefix.len()].eq_ignore_ascii_case(prefix).then_some((*kind, rest))
    })
}

/// The items with the longest name that the text begins with, as whole words. They
/// are several where tools of different servers share a name.
fn longest<'a>(text: &str, known: impl Iterator<Item = &'a ItemId>) -> Vec<&'a ItemId> {
    let begins = |name: &str| {
        let rest = text.strip_prefix(name)?;
        // Behind a name may stand a full stop, but no more of the name.
        let mut after = rest.chars();
        let ends = match after.next() {
            Some('.') => !after.next().is_some_and(is_of_name),
            Some(next) => !is_of_name(next),
            None => true,
        };
        ends.then_some(name.len())
    };
    let length = |id: &ItemId| {
        let with_server = id.server.as_ref().map(|server| format!("{server}.{}", id.name));
        begins(&id.name).max(with_server.and_then(|name| begins(&name)))
    };
    let found: Vec<_> = known.filter_map(|id| Some((length(id)?, id))).collect();
    let most = found.iter().map(|(length, _)| *length).max();
    found.into_iter().filter(|(length, _)| Some(*length) == most).map(|(_, id)| id).collect()
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

fn unknown(kind: ItemKind, rest: &str, known: &[ItemId]) -> String {
    let is_of_word = |c: char| is_of_name(c) || matches!(c, '.' | '/');
    let word: String = rest.chars().take_while(|c| is_of_word(*c)).take(80).collect();
    let word = word.trim_end_matches('.');
    let names = known.iter().filter(|id| id.kind == kind).map(|id| &*id.name);
    match nearest_name(word, names) {
        Some(meant) => format!("there is no {kind} `{word}`; did you mean `{meant}`?"),
        None => format!("there is no {kind} `{word}`, so nothing was added to the session"),
    }
}

/// An item that a person wanted in a session or out of it, and what became of that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the fields say it")]
pub struct ItemChange {
    pub item: ItemId,
    pub include: IncludeMode,
    pub change: ItemOutcome,
}

/// The outcome of a wish to add or remove an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the other variants say it")]
pub enum ItemOutcome {
    /// It is in the session from the next turn on.
    Added,
    AlreadyThere,
    /// It is not in the session any more, and does not come back by itself.
    Removed,
    NotThere,
}

impl ItemOutcome {
    /// What became of an item that people read as this, without a full stop.
    pub fn describe(self, item: &str) -> String {
        match self {
            ItemOutcome::Added => format!("{item} is in this session from the next turn on"),
            ItemOutcome::AlreadyThere => format!("{item} is in this session already"),
            ItemOutcome::Removed => {
                format!("{item} is out of this session, and does not come back by itself")
            }
            ItemOutcome::NotThere => format!("{item} is not in this session"),
        }
    }
}

impl Agent {
    /// Adds an item to a session by hand.
    pub(crate) async fn add_item(&self, session: SessionId, name: &str) -> AgentResult<ItemChange> {
        let (item, include, state) = self.item_in(session, name).await?;
        let change = match state {
            Some(ItemState::In(_)) => ItemOutcome::AlreadyThere,
            None if include == IncludeMode::Always => ItemOutcome::AlreadyThere,
            Some(ItemState::Removed) | None => {
                let by_hand = ItemState::In(ItemOrigin::ByHand);
                self.store().set_item(session, item.clone(), by_hand).await?;
                ItemOutcome::Added
            }
        };
        Ok(ItemChange { item, include, change })
    }

    /// Takes an item out of a session. What search might bring is kept out, too.
    pub(crate) async fn remove_item(
        &self,
        session: SessionId,
        name: &str,
    ) -> AgentResult<ItemChange> {
        let (item, include, state) = self.item_in(session, name).await?;
        let change = match state {
            Some(ItemState::Removed) => ItemOutcome::NotThere,
            None if include == IncludeMode::Manual => ItemOutcome::NotThere,
            Some(ItemState::In(_)) | None => {
                self.store().set_item(session, item.clone(), ItemState::Removed).await?;
                ItemOutcome::Removed
            }
        };
        Ok(ItemChange { item, include, change })
    }

    /// The item that a name means, and how it stands to the session.
    async fn item_in(
        &self,
        session: SessionId,
        name: &str,
    ) -> AgentResult<(ItemId, IncludeMode, Option<ItemState>)> {
        // The items alone, without what was said.
        let having = SessionCursor { messages_up_to: Some(MessageId(u64::MAX >> 1)), items: None };
        let stored = self.store().load(session, having).await?.items.unwrap_or_default();
        let catalog = self.catalog().await;
        let (item, include) = resolve(name, &catalog, stored.iter().map(|(id, _)| id))?;
        let state = stored.into_iter().find(|(id, _)| *id == item).map(|(_, state)| state);
        Ok((item, include, state))
    }
}

/// The item that a name means. One that only the session knows can be removed,
/// though the workspace has it no more.
fn resolve<'a>(
    name: &str,
    catalog: &Catalog,
    of_session: impl Iterator<Item = &'a ItemId>,
) -> AgentResult<(ItemId, IncludeMode)> {
    let wanted = ItemName::parse(name);
    let mut items: Vec<(ItemId, IncludeMode)> = catalog.items().collect();
    let is_gone = |id: &&ItemId| items.iter().all(|(known, _)| known != *id);
    let gone: Vec<_> =
        of_session.filter(is_gone).map(|id| (id.clone(), IncludeMode::Manual)).collect();
    items.extend(gone);
    let mut meant: Vec<_> = items.iter().filter(|(id, _)| wanted.means(id)).cloned().collect();
    match meant.len() {
        1 => Ok(meant.remove(0)),
        0 => Err(AgentError::NoSuchItem {
            name: name.trim().to_owned(),
            nearest: nearest_name(wanted.bare(), items.iter().map(|(id, _)| &*id.name))
                .map(str::to_owned),
        }),
        _ => Err(AgentError::AmbiguousItem {
            name: name.trim().to_owned(),
            meant: meant.iter().map(|(id, _)| typed_name(id)).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use recto_context::{CatalogDocument, ContentSource, Priority};

    use super::*;

    fn catalog(rules: &[&str]) -> Catalog {
        let rule = |name: &&str| CatalogDocument {
            name: (*name).into(),
            description: None,
            priority: Priority::default(),
            include: IncludeMode::Manual,
            text: "text".into(),
            source: ContentSource::BuiltIn,
        };
        Catalog { rules: rules.iter().map(rule).collect(), ..Catalog::default() }
    }

    fn mentioned(message: &str) -> Vec<String> {
        let catalog = catalog(&["tone", "tone of voice", "v1.2", "größe"]);
        let mentions = MessageMentions::scan(message, &catalog);
        mentions.items.iter().map(|id| id.name.to_string()).collect()
    }

    #[test]
    fn mentions_are_whole_names() {
        assert_eq!(mentioned("@rule:tone"), ["tone"]);
        assert_eq!(mentioned("Use @rule:tone, please."), ["tone"]);
        assert_eq!(mentioned("(@Rule:tone) and @rule:tone."), ["tone"]);
        assert_eq!(mentioned("by @rule:tone of voice now"), ["tone of voice"]);
        assert_eq!(mentioned("by @rule:v1.2. And @rule:größe"), ["v1.2", "größe"]);
        assert_eq!(without_mentions("by @rule:tone, say @ref:x hi"), "by  say  hi");
        assert_eq!(without_mentions("me@home @you"), "me@home @you");
        assert_eq!(without_mentions("read @file:src/a.rs, ok"), "read  ok");
        assert_eq!(without_mentions("read @file:\"my notes.txt\" now"), "read  now");
        for quoted in ["`@rule:tone` is quoted", "```\n@rule:tone\n```"] {
            assert_eq!(mentioned(quoted), [""; 0], "{quoted}");
        }
        for none in
            ["me@rule:tone", "@rule:tones", "@rule: tone", "@rule", "rule:tone", "@ref:tone"]
        {
            assert_eq!(mentioned(none), [""; 0], "{none}");
        }
    }

    #[test]
    fn a_mention_of_what_is_not_there_is_told() {
        let problems = |message: &str| MessageMentions::scan(message, &catalog(&["tone"])).problems;
        assert_eq!(problems("@rule:tine!"), ["there is no rule `tine`; did you mean `tone`?"]);
        assert_eq!(
            problems("@skill:pdf"),
            ["there is no skill `pdf`, so nothing was added to the session"]
        );
    }

    #[test]
    fn a_message_full_of_mentions_is_not_followed_to_its_end() {
        let message = "@rule:nothing ".repeat(10_000);
        let problems = MessageMentions::scan(&message, &catalog(&["tone"])).problems;
        let told = [
            "there is no rule `nothing`, so nothing was added to the session",
            "only the first 32 mentions were followed",
        ];
        assert_eq!(problems, told);
    }

    #[test]
    fn names_may_say_their_kind_and_their_server() {
        let tool = ItemId::tool(Some("git_hub".into()), "log");
        for name in ["log", "tool:log", "@tool:log", "git_hub.log", "tool:git_hub.log"] {
            assert!(ItemName::parse(name).means(&tool), "{name}");
        }
        for name in ["rule:log", "hub.log", "git_hub", "git_hub.", "tool:"] {
            assert!(!ItemName::parse(name).means(&tool), "{name}");
        }
    }

    #[test]
    fn a_name_of_two_items_is_not_guessed_at() {
        let mut both = catalog(&["tone"]);
        both.references = both.rules.clone();
        let error = resolve("tone", &both, [].iter()).unwrap_err();
        assert!(matches!(&error, AgentError::AmbiguousItem { meant, .. }
            if *meant == ["rule:tone", "reference:tone"]));
        assert_eq!(resolve("ref:tone", &both, [].iter()).unwrap().0.kind, ItemKind::Reference);
        let gone = ItemId::new(ItemKind::Skill, "gone");
        assert_eq!(resolve("gone", &both, [&gone].into_iter()).unwrap().0, gone);
    }
}
