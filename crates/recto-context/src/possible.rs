//! The list of what may fit a message: items by name and description, of which the model loads
//! what it wants. Ten lines cost what one item costs in full.
//!
//! How a line looks and which of them fit is the same for the page and for benchmarks.

use crate::counter::TokenCounter;
use crate::item::{ItemId, ItemKind, Pick};
use crate::text::{Text, one_line};
use crate::tokens::Tokens;

/// The probability from which on an item may fit a message. What has nothing to do with it
/// stays below by an order of magnitude.
const POSSIBLE: f32 = 0.02;

/// The most lines.
const MOST_LINES: usize = 12;

/// The most tokens of all lines together.
const MOST_TOKENS: Tokens = Tokens::new(200);

/// The longest line, in characters: as much as tells one item from another.
const LONGEST_LINE: usize = 64;

/// Whether an item may fit, as far as search can tell.
pub(crate) fn is_possible(pick: &Pick) -> bool {
    pick.scores.probability.is_some_and(|probability| probability >= POSSIBLE)
}

/// The line of an item in the list: its name as `read_item` takes it, and the beginning of what
/// it says of itself.
pub fn possible_line(item: &ItemId, description: &str) -> Text {
    let name = listed_name(item);
    let description = one_line(description);
    let room = LONGEST_LINE.saturating_sub(name.chars().count() + 4);
    let shown = match description.char_indices().nth(room) {
        None => description.to_string(),
        Some((end, _)) => {
            let cut = &description[..end];
            let cut = cut.rsplit_once(' ').map_or(cut, |(words, _)| words);
            format!("{}…", cut.trim_end_matches([',', ';', ':', '.', ' ']))
        }
    };
    match shown.trim_end_matches('…').is_empty() {
        true => format!("- {name}").into(),
        false => format!("- {name}: {shown}").into(),
    }
}

/// The name under which an item is listed, and loaded: its kind and its name, with the server
/// of a tool between them.
pub fn listed_name(item: &ItemId) -> String {
    match (&item.server, item.kind) {
        (Some(server), ItemKind::Tool) => format!("{}:{server}/{}", item.kind, item.name),
        _ => format!("{}:{}", item.kind, item.name),
    }
}

/// Which of the lines fit into the list, the likeliest first: as many as it may have, in as
/// many tokens. One that is too long leaves its place to those behind it.
pub fn choose_possible<'a, T>(
    candidates: impl IntoIterator<Item = (&'a Pick, Text, T)>,
) -> Vec<(&'a Pick, Text, T)> {
    let counter = TokenCounter::estimated();
    let mut used = Tokens::ZERO;
    let mut listed = Vec::new();
    for (pick, line, of) in candidates {
        if listed.len() == MOST_LINES {
            break;
        }
        let tokens = counter.text(&line);
        if is_possible(pick) && used + tokens <= MOST_TOKENS {
            used += tokens;
            listed.push((pick, line, of));
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Scores;

    #[test]
    fn a_line_names_the_item_and_says_what_it_is_about() {
        let rule = ItemId::new(ItemKind::Rule, "leave-spain");
        assert_eq!(
            &*possible_line(&rule, "Days off in Spain"),
            "- rule:leave-spain: Days off in Spain"
        );
        assert_eq!(&*possible_line(&rule, " "), "- rule:leave-spain");
        let tool = ItemId::tool(Some("crm".into()), "find");
        let long = "Finds a customer by name, number or the town in which they live, newest first";
        let line = possible_line(&tool, long);
        assert_eq!(&*line, "- tool:crm/find: Finds a customer by name, number or the…");
        assert!(line.chars().count() <= LONGEST_LINE + 1);
    }

    /// Promise: `possible-list-is-short`
    #[test]
    fn the_list_has_few_lines_and_few_tokens() {
        let pick = |probability: f32| Pick {
            item: ItemId::new(ItemKind::Rule, "a"),
            scores: Scores { probability: Some(probability), ..Scores::default() },
            best_chunk: None,
        };
        let likely = vec![pick(0.3); 40];
        let short = likely.iter().map(|pick| (pick, Text::from("- rule:a: b"), ()));
        assert_eq!(choose_possible(short).len(), MOST_LINES);
        let long = Text::from("word ".repeat(60));
        let listed = choose_possible(likely.iter().map(|pick| (pick, long.clone(), ())));
        let tokens: Tokens =
            listed.iter().map(|(_, line, ())| TokenCounter::estimated().text(line)).sum();
        assert!(!listed.is_empty() && tokens <= MOST_TOKENS, "{tokens}");
        let unlikely = [pick(0.001)];
        let line = unlikely.iter().map(|pick| (pick, Text::from("- rule:a: b"), ()));
        assert!(choose_possible(line).is_empty());
    }
}
