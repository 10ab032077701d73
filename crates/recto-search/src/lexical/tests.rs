//! Tests of the lexicon.

use proptest::prelude::*;

use super::*;

fn fields<'a>(name: &'a str, description: &'a str, text: &'a str) -> EntryFields<'a> {
    EntryFields { name, description, text, when: "" }
}

fn lexicon(items: &[(&str, &str, &str)]) -> Lexicon {
    let mut lexicon = Lexicon::default();
    for (slot, (name, description, text)) in items.iter().enumerate() {
        lexicon.add(slot as u32, &fields(name, description, text));
    }
    lexicon
}

/// The slots that share words with a query, best first.
fn found(lexicon: &Lexicon, query: &str, slots: &[u32]) -> Vec<u32> {
    let matches = lexicon.search(query, slots).matches;
    let mut found: Vec<(u32, f32)> =
        slots.iter().zip(&matches).map(|(slot, found)| (*slot, found.score)).collect();
    found.retain(|(_, score)| *score > 0.0);
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.into_iter().map(|(slot, _)| slot).collect()
}

/// Promise: `whole-words-match`
#[test]
fn art_does_not_match_start() {
    let lexicon = lexicon(&[("start", "", "start and restart"), ("art", "", "paintings")]);
    assert_eq!(found(&lexicon, "modern art", &[0, 1]), [1]);
}

#[test]
fn a_name_tells_more_than_a_text() {
    let lexicon =
        lexicon(&[("notes", "", "the deploy was late"), ("deploy", "", "how it is done")]);
    assert_eq!(found(&lexicon, "deploying", &[0, 1]), [1, 0]);
}

#[test]
fn rare_words_tell_more_than_common_ones() {
    let texts = ["report on sales", "report on costs", "report on staff", "the kiln"];
    let items = texts.map(|text| ("", "", text));
    assert_eq!(found(&lexicon(&items), "a kiln report", &[0, 1, 2, 3])[0], 3);
}

#[test]
fn words_are_counted_among_the_candidates_alone() {
    let items = [("", "", "kiln"), ("", "", "glaze"), ("", "", "kiln"), ("", "", "kiln")];
    let (all, few) = (lexicon(&items), lexicon(&items[..2]));
    assert_eq!(
        all.search("kiln glaze", &[0, 1]).matches,
        few.search("kiln glaze", &[0, 1]).matches
    );
}

#[test]
fn shares_are_of_the_whole_query() {
    let lexicon = lexicon(&[("kiln", "", "glaze"), ("", "", "nothing of it")]);
    let matches = lexicon.search("kiln glaze", &[0, 1]).matches;
    assert!((matches[0].share - 1.0).abs() < 1e-6 && (matches[0].header_share - 0.5).abs() < 1e-6);
    assert_eq!(matches[1], WordMatch::default());
    assert!(lexicon.search("kiln zzz", &[0]).matches[0].share < 0.6);
}

#[test]
fn words_side_by_side_are_a_pair() {
    let texts = [("", "", "error handling"), ("", "", "handling of an old error")];
    let matches = lexicon(&texts).search("What's the error handling?", &[0, 1]).matches;
    assert!(matches[0].pairs > 0.0);
    assert_eq!(matches[1].pairs, 0.0);
}

#[test]
fn who_speaks_is_known() {
    let texts =
        [("", "", "Ada: the boat leaks"), ("", "", "Bo: Ada has a boat"), ("", "", "note: Ada")];
    let matches = lexicon(&texts).search("What did Ada say?", &[0, 1, 2]).matches;
    assert_eq!(
        matches.iter().map(|found| found.names_speaker).collect::<Vec<_>>(),
        [true, false, false]
    );
}

#[test]
fn nothing_to_look_for_finds_nothing() {
    let lexicon = lexicon(&[("a", "", ""), ("", "", "")]);
    for query in ["", "what is it?", "\u{0}", "🦀"] {
        assert!(
            lexicon
                .search(query, &[0, 1])
                .matches
                .iter()
                .all(|found| *found == WordMatch::default())
        );
    }
    assert!(lexicon.search("kiln", &[]).matches.is_empty());
}

#[test]
fn a_very_long_query_and_a_very_long_item_are_read() {
    let long: String = (0..20_000).map(|number| format!("word{number} kiln ")).collect();
    let lexicon = lexicon(&[("kiln", "", ""), ("", "", &long)]);
    let matches = lexicon.search(&long, &[0, 1]).matches;
    assert!(
        matches.iter().all(|found| found.score.is_finite()) && matches[1].share > matches[0].share
    );
}

proptest! {
    #[test]
    fn what_was_removed_leaves_no_trace(
        texts in prop::collection::vec("[a-d ]{0,12}", 1..6),
        gone in prop::collection::vec(any::<bool>(), 6),
        query in "[a-d ]{0,12}",
    ) {
        let mut changed = Lexicon::default();
        for (slot, text) in texts.iter().enumerate() {
            changed.add(slot as u32, &fields("x", text, text));
        }
        let mut fresh = Lexicon::default();
        let mut slots = Vec::new();
        for (slot, text) in texts.iter().enumerate() {
            if gone[slot] {
                changed.remove(slot as u32);
            } else {
                fresh.add(slot as u32, &fields("x", text, text));
                slots.push(slot as u32);
            }
        }
        prop_assert_eq!(changed.search(&query, &slots).matches, fresh.search(&query, &slots).matches);
        prop_assert_eq!(changed.ids.len(), fresh.ids.len());
    }

    #[test]
    fn any_text_can_be_read(text in any::<String>(), query in any::<String>()) {
        let lexicon = lexicon(&[("", &text, &query), ("", "", &text)]);
        let matches = lexicon.search(&query, &[0, 1]).matches;
        prop_assert!(matches.iter().all(|found| found.score.is_finite() && found.share < 1.001));
    }
}

#[test]
fn the_background_can_be_looked_up() {
    let lines = include_str!("background.txt").lines().filter(|line| !line.starts_with('#'));
    assert_eq!(BACKGROUND.len(), lines.count());
    assert!(BACKGROUND.is_sorted_by(|a, b| a.0 < b.0));
}
