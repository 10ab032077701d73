//! The short list of items that may fit a message: a line each, with name and description.
//!
//! A line is all that a model sees of an item before it loads it, so as many items as may be
//! listed are, and descriptions are cut until all of them have room. One or two words of a
//! description tell nothing: where there is room for no more, the likelier items have a few words
//! each, and the others their names alone. Which items these are is decided elsewhere.

use std::borrow::Cow;

use crate::counter::TokenCounter;
use crate::item::{ItemId, ItemKind};
use crate::text::{Text, first_chars, one_line};
use crate::tokens::Tokens;

/// The lengths that lines are tried with, in characters, the longest first.
const LENGTHS: [usize; 9] = [160, 120, 90, 72, 60, 50, 42, 36, 30];

/// The digits of a memory's name that a line shows: enough to tell it from all others.
const DIGITS: usize = 6;

/// The fewest words of a description that a line has, and of a memory: nothing else tells what that
/// is about.
const LEAST_WORDS: usize = 4;
const LEAST_MEMORY_WORDS: usize = 6;

/// What a list may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListLimits {
    /// The most items.
    pub lines: usize,
    /// The most tokens, with the heading.
    pub tokens: Tokens,
}

/// An item that is to be listed, with what it says of itself.
#[derive(Debug, Clone, Copy)]
pub struct ListEntry<'a> {
    /// The item that the line is about.
    pub item: &'a ItemId,
    /// Its description, or of a memory its text.
    pub description: &'a str,
}

/// Writes the lines of a list, in the order of the entries. What has no room even with the
/// shortest lines is left out from the end. Estimates decide, so that the same entries give the
/// same lines whatever else is known of a model's tokens.
pub fn write_list(heading: &Text, entries: &[ListEntry<'_>], limits: ListLimits) -> Vec<Text> {
    let entries = &entries[..entries.len().min(limits.lines)];
    let counter = TokenCounter::estimated();
    let room = limits.tokens - counter.line(&Text::default(), heading);
    for length in LENGTHS {
        let lines: Vec<Text> = entries.iter().map(|entry| entry.line(length)).collect();
        if cost(&lines, &counter) <= room {
            return lines;
        }
    }
    write_short_list(entries, room, &counter)
}

/// The same where not all descriptions have room: as many entries as their names have room for, and
/// of these as many descriptions as go with them, from the first on.
fn write_short_list(
    entries: &[ListEntry<'_>],
    room: Tokens,
    counter: &TokenCounter<'_>,
) -> Vec<Text> {
    let described: Vec<Text> = entries.iter().map(ListEntry::short_line).collect();
    let named: Vec<Text> = entries.iter().map(ListEntry::shortest_line).collect();
    let fits = |told: usize, count: usize| {
        cost(&described[..told], counter) + cost(&named[told..count], counter) <= room
    };
    let Some(count) = (1..=entries.len()).rev().find(|count| fits(0, *count)) else {
        return Vec::new();
    };
    let told = (0..=count).rev().find(|told| fits(*told, count)).unwrap_or_default();
    [&described[..told], &named[told..count]].concat()
}

fn cost(lines: &[Text], counter: &TokenCounter<'_>) -> Tokens {
    lines.iter().map(|line| counter.line(&Text::default(), line)).sum()
}

impl ListEntry<'_> {
    /// The line of an item, at most so many characters long. Its name is never cut, and its
    /// description has a few words in any case.
    fn line(&self, length: usize) -> Text {
        let name = self.name();
        let description = one_line(own_words(self.item, self.description));
        let room = length.saturating_sub(name.chars().count() + 2);
        let least = first_words(&description, self.least_words());
        let cut = cut_at_word(&description, room);
        let words = if cut.len() > least.len() { cut } else { least };
        match words.as_str() {
            "" => name.into(),
            words => format!("{name}: {words}").into(),
        }
    }

    /// The line with as few words of the description as tell something.
    fn short_line(&self) -> Text {
        self.line(0)
    }

    /// The name alone, where that tells what the item is.
    pub(crate) fn shortest_line(&self) -> Text {
        match self.item.kind {
            ItemKind::Memory => self.short_line(),
            _ => self.name().into(),
        }
    }

    fn name(&self) -> String {
        format!("- {}", listed_name(self.item))
    }

    fn least_words(&self) -> usize {
        match self.item.kind {
            ItemKind::Memory => LEAST_MEMORY_WORDS,
            _ => LEAST_WORDS,
        }
    }
}

/// The name under which a list has an item, and a model asks for it: `rule:tone`,
/// `tool:calendar.add`, `memory:3fa9c2`.
pub fn listed_name(item: &ItemId) -> String {
    let name = match (item.kind, item.name.rsplit_once('#')) {
        (ItemKind::Memory, Some((_, digits))) => {
            Cow::Borrowed(digits.get(..DIGITS).unwrap_or(digits))
        }
        _ => Cow::Owned(one_line(&item.key())),
    };
    format!("{}:{name}", item.kind)
}

/// The beginning of a text, up to the end of a word; nothing where not even a word has room.
fn cut_at_word(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut = first_chars(text, most.saturating_sub(1));
    let whole = cut.trim_end_matches('…').rsplit_once(' ');
    whole.map_or(String::new(), |(whole, _)| leave_off(whole))
}

/// The first words of a text that stands on one line.
fn first_words(text: &str, count: usize) -> String {
    match text.match_indices(' ').nth(count - 1) {
        Some((end, _)) => leave_off(&text[..end]),
        None => text.to_owned(),
    }
}

/// The beginning of a text, with the mark that it goes on.
fn leave_off(beginning: &str) -> String {
    format!("{}…", beginning.trim_end_matches([',', ';', ':', '.', ' ']))
}

/// What a tool says of itself beyond whose it is, which its name says already.
pub fn own_words<'a>(item: &ItemId, description: &'a str) -> &'a str {
    let server = item.server.as_deref().filter(|_| item.kind == ItemKind::Tool);
    let rest = server.and_then(|server| {
        description.strip_prefix("[server ")?.strip_prefix(server)?.strip_prefix("] ")
    });
    rest.unwrap_or(description)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(entries: &[(ItemId, &str)], lines: usize, tokens: u32) -> Vec<String> {
        let limits = ListLimits { lines, tokens: Tokens::new(tokens) };
        let entries: Vec<ListEntry<'_>> =
            entries.iter().map(|(item, description)| ListEntry { item, description }).collect();
        let written = write_list(&Text::from("May fit:"), &entries, limits);
        written.iter().map(|line| line.to_string()).collect()
    }

    fn rules(count: usize) -> Vec<(ItemId, &'static str)> {
        let about = "How refunds are booked, who has to agree to one and what a customer is told";
        let rule = |number| (ItemId::new(ItemKind::Rule, format!("refunds-{number}")), about);
        (0..count).map(rule).collect()
    }

    #[test]
    fn a_line_has_the_name_by_which_the_item_is_asked_for() {
        let memory = ItemId::new(ItemKind::Memory, "people/anna.md#3fa9c2e1");
        let tool = ItemId::tool(Some("calendar".into()), "add");
        let entries = [
            (memory, "Likes tea.\nIn the\tmorning."),
            (tool, "[server calendar] Add an entry."),
            (ItemId::new(ItemKind::Skill, "notes"), ""),
        ];
        let expected = [
            "- memory:3fa9c2: Likes tea. In the morning.",
            "- tool:calendar.add: Add an entry.",
            "- skill:notes",
        ];
        assert_eq!(lines(&entries, 12, 200), expected);
    }

    #[test]
    fn descriptions_are_cut_at_a_word_until_all_items_have_room() {
        let few = lines(&rules(2), 12, 200);
        assert!(few.iter().all(|line| line.ends_with("what a customer is told")), "{few:?}");
        let many = lines(&rules(12), 12, 200);
        assert_eq!(many.len(), 12);
        assert!(many.iter().all(|line| line.starts_with("- rule:refunds-")), "{many:?}");
        assert!(many[0].ends_with('…') && !many[0].ends_with(" …"), "{many:?}");
        assert!(tokens(&many) <= Tokens::new(200));
    }

    fn tokens(lines: &[String]) -> Tokens {
        let lines: Vec<Text> = lines.iter().map(|line| Text::from(line.as_str())).collect();
        cost(&lines, &TokenCounter::estimated())
    }

    #[test]
    fn a_description_says_something_or_is_left_out() {
        let about = "The dates, rooms and people of each of our courses, term by term";
        let item = |number| ItemId::new(ItemKind::Reference, format!("courses-of-term-{number}"));
        let mut entries: Vec<(ItemId, &str)> =
            (0..11).map(|number| (item(number), about)).collect();
        entries.push((ItemId::new(ItemKind::Memory, "people/anna.md#3fa9c2e1"), about));
        let written = lines(&entries, 12, 180);
        assert!(tokens(&written) <= Tokens::new(180));
        assert_eq!(written.len(), 12);
        assert_eq!(written[0], "- reference:courses-of-term-0: The dates, rooms and…");
        assert_eq!(written[10], "- reference:courses-of-term-10");
        // The name of a memory tells nothing.
        assert_eq!(written[11], "- memory:3fa9c2: The dates, rooms and people of…");
    }

    #[test]
    fn what_has_no_room_at_all_leaves_from_the_end() {
        assert_eq!(lines(&rules(20), 3, 10_000).len(), 3);
        let short = lines(&rules(12), 12, 60);
        assert!((1..12).contains(&short.len()), "{short:?}");
        assert!(short[0].starts_with("- rule:refunds-0"));
        assert_eq!(lines(&rules(12), 12, 0), [""; 0]);
        assert_eq!(lines(&rules(12), 0, 200), [""; 0]);
    }
}
