//! Tests of the ranking, with cosines made up. What they come to with real ones, the
//! benchmarks say.

use proptest::prelude::*;

use super::*;
use crate::lexical::EntryFields;

/// An item: name, text, the query's cosines with its chunks.
type Item<'a> = (&'a str, &'a str, &'a [f32]);

fn lexicon(items: &[Item<'_>]) -> Lexicon {
    let mut lexicon = Lexicon::default();
    for (slot, (name, text, _)) in items.iter().enumerate() {
        lexicon.add(slot as u32, &EntryFields { name, description: "", text, when: "" });
    }
    lexicon
}

/// Ranks items of a kind; each stands beside the next in a thread.
fn ranked(kind: ItemKind, query: &str, items: &[Item<'_>]) -> Vec<RankedCandidate> {
    let lexicon = lexicon(items);
    let mut all_cosines = Vec::new();
    let candidates = items.iter().enumerate().map(|(slot, (_, _, cosines))| {
        let start = all_cosines.len();
        all_cosines.extend_from_slice(cosines);
        Candidate {
            slot: slot as u32,
            kind,
            pieces: start..all_cosines.len(),
            previous: slot.checked_sub(1),
            next: Some(slot + 1).filter(|next| *next < items.len()),
        }
    });
    let candidates: Vec<Candidate> = candidates.collect();
    let has_all = items.iter().all(|(_, _, cosines)| !cosines.is_empty());
    let whole = TextEvidence { text: query, cosines: has_all.then_some(&*all_cosines) };
    let evidence = Evidence {
        lexicon: &lexicon,
        embedding: None,
        directions: DirectionUse::Known,
        whole,
        before: None,
        parts: Vec::new(),
        candidates: &candidates,
        name: Box::new(|place| items[place].0),
    };
    alone(evidence, usize::MAX)
}

/// The candidates ranked as the only group that there is.
fn alone(evidence: Evidence<'_>, count: usize) -> Vec<RankedCandidate> {
    let scored = ScoredGroup::new(evidence);
    scored.map(|scored| scored.rank(&scored.rivals(), count)).unwrap_or_default()
}

fn order(ranked: &[RankedCandidate]) -> Vec<usize> {
    ranked.iter().map(|ranked| ranked.candidate).collect()
}

fn probability(ranked: &RankedCandidate) -> f32 {
    ranked.scores.probability.unwrap()
}

#[test]
fn words_and_cosines_count_together() {
    let items: [Item<'_>; 3] = [
        ("kiln", "how to fire the kiln", &[0.3, 0.2]),
        ("oven", "how to bake", &[0.35, 0.3]),
        ("boat", "sails", &[0.0, 0.0]),
    ];
    let ranked = ranked(ItemKind::Rule, "fire the kiln", &items);
    assert_eq!(order(&ranked), [0, 1, 2]);
    assert_eq!(ranked[0].scores.rank, Some(1));
    assert_eq!((ranked[0].scores.cosine, ranked[0].best_chunk), (Some(0.3), Some(0)));
}

#[test]
fn two_candidates_are_enough_to_choose_one() {
    let items: [Item<'_>; 2] = [
        ("authentication", "Users authenticate with tokens.", &[0.55, 0.6]),
        ("error handling", "Errors are logged.", &[0.1, 0.12]),
    ];
    let ranked = ranked(ItemKind::Rule, "How do I authenticate?", &items);
    assert_eq!(order(&ranked), [0, 1]);
    assert!(probability(&ranked[0]) > 3.0 * probability(&ranked[1]));
}

/// Promise: `unrelated-selects-nothing`
#[test]
fn a_message_unrelated_to_every_item_fits_none() {
    let items: [Item<'_>; 2] =
        [("authentication", "tokens", &[0.05, 0.08]), ("errors", "logs", &[0.02, 0.1])];
    for kind in [ItemKind::Rule, ItemKind::Skill, ItemKind::Tool, ItemKind::Memory] {
        for query in ["hi there", "thanks!", "what's the capital of France?"] {
            let ranked = ranked(kind, query, &items);
            assert!(ranked.iter().all(|ranked| probability(ranked) < 0.25), "{kind:?}: {query}");
        }
    }
}

/// Promise: `no-made-up-score`
#[test]
fn without_vectors_words_decide_and_no_cosine_is_made_up() {
    let items: [Item<'_>; 2] = [("boat", "sails", &[]), ("kiln", "how to fire the kiln", &[])];
    let ranked = ranked(ItemKind::Reference, "how is the kiln fired?", &items);
    assert_eq!(order(&ranked), [1, 0]);
    assert!(ranked.iter().all(|r| r.scores.cosine.is_none() && r.best_chunk.is_none()));
    assert!(probability(&ranked[0]) > 0.4 && probability(&ranked[1]) < 0.4);
}

#[test]
fn one_item_without_vectors_takes_the_cosines_from_all() {
    let items: [Item<'_>; 2] = [("boat", "sails", &[0.9, 0.9]), ("kiln", "fire", &[])];
    let ranked = ranked(ItemKind::Reference, "kiln", &items);
    assert_eq!(order(&ranked), [1, 0]);
    assert!(ranked.iter().all(|ranked| ranked.scores.cosine.is_none()));
}

#[test]
fn a_memory_counts_with_what_stands_around_it() {
    let chat: [Item<'_>; 6] = [
        ("1", "x", &[0.1]),
        ("2", "x", &[0.3]),
        ("3", "x", &[0.1]),
        ("4", "x", &[0.29]),
        ("5", "x", &[0.6]),
        ("6", "x", &[0.1]),
    ];
    let place = |kind| {
        let order = order(&ranked(kind, "?", &chat));
        (order[0], order.iter().position(|place| *place == 3) < order.iter().position(|p| *p == 1))
    };
    assert_eq!(place(ItemKind::Memory), (4, true));
    assert_eq!(place(ItemKind::Rule), (4, false));
}

#[test]
fn who_spoke_matters_among_memories() {
    let chat: [Item<'_>; 3] =
        [("1", "Bo: a boat", &[0.3]), ("2", "Cy: it rains", &[0.0]), ("3", "Ada: a boat", &[0.3])];
    assert_eq!(order(&ranked(ItemKind::Memory, "What does Ada sail?", &chat))[0], 2);
}

#[test]
fn an_answer_has_a_part_of_its_question() {
    let order = |question: &str, answer: &str| {
        let chat: [Item<'_>; 4] = [
            ("1", "Bo: a boat", &[0.25]),
            ("2", question, &[0.5]),
            ("3", answer, &[0.2]),
            ("4", "Cy: it rains", &[0.2]),
        ];
        order(&ranked(ItemKind::Memory, "sails", &chat))
    };
    assert_eq!(order("You: what else?", "Cy: nothing."), [1, 2, 0, 3]);
    // What is no question has no answer, and nobody answers themselves.
    assert_eq!(order("You: so it is.", "Cy: nothing."), [1, 0, 2, 3]);
    assert_eq!(order("You: what else?", "you: nothing."), [1, 0, 2, 3]);
    assert_eq!(order("what else?", "nothing."), [1, 0, 2, 3]);
}

#[test]
fn what_an_item_says_it_is_not_for_speaks_against_it() {
    let score = |description: &str| {
        let mut lexicon = Lexicon::default();
        lexicon.add(0, &EntryFields { name: "shots", description, text: "", when: "" });
        let candidate =
            Candidate { slot: 0, kind: ItemKind::Skill, pieces: 0..1, previous: None, next: None };
        let whole = TextEvidence { text: "screenshots of a simulator", cosines: Some(&[0.6]) };
        let candidates = vec![candidate];
        let evidence = Evidence {
            lexicon: &lexicon,
            embedding: None,
            directions: DirectionUse::Known,
            whole,
            before: None,
            parts: Vec::new(),
            candidates: &candidates,
            name: Box::new(|_| "shots"),
        };
        probability(&alone(evidence, 1)[0])
    };
    let plain = score("Screenshots of sites.");
    assert!(score("Screenshots of sites. Not for the simulator.") < plain / 2.0);
}

#[test]
fn equals_stand_in_the_order_of_their_names() {
    let items: [Item<'_>; 3] = [("b", "", &[0.2]), ("c", "", &[0.2]), ("a", "", &[0.2])];
    assert_eq!(order(&ranked(ItemKind::Tool, "?", &items)), [2, 0, 1]);
}

proptest! {
    #[test]
    fn every_candidate_is_ranked_once_with_a_probability(
        items in prop::collection::vec(("[a-c ]{0,6}", prop::collection::vec(-1.0f32..1.0, 1..5)), 0..30),
        query in "[a-c ]{0,8}",
    ) {
        let items: Vec<Item<'_>> =
            items.iter().map(|(text, cosines)| ("n", text.as_str(), cosines.as_slice())).collect();
        let ranked = ranked(ItemKind::Memory, &query, &items);
        let mut places = order(&ranked);
        places.sort_unstable();
        prop_assert_eq!(places, Vec::from_iter(0..items.len()));
        prop_assert!(ranked.iter().all(|ranked| (0.0..=1.0).contains(&probability(ranked))));
        prop_assert!(ranked.is_sorted_by(|a, b| a.scores.fused >= b.scores.fused));
    }
}

#[test]
fn by_words_alone_an_item_without_a_common_word_has_no_chance() {
    let items: [Item<'_>; 2] = [("dates", "write dates in full", &[]), ("tone", "stay calm", &[])];
    for query in ["zyzzyva", "hi there", "dates"] {
        for found in ranked(ItemKind::Rule, query, &items) {
            let probability = found.scores.probability.unwrap();
            assert_eq!(found.scores.lexical == Some(0.0), probability == 0.0, "{query}");
        }
    }
}

#[test]
fn a_common_word_brings_no_rule_that_is_about_something_else() {
    let probability = |cosine: &[f32]| {
        let items: [Item<'_>; 2] =
            [("game", "the rules of the house", cosine), ("tone", "calm", &[0.0])];
        ranked(ItemKind::Rule, "what are the rules of chess?", &items)[0].scores.probability
    };
    assert_eq!(probability(&[0.1]), Some(0.0));
    assert!(probability(&[0.2]) < probability(&[0.3]));
    assert!(probability(&[0.5]) > Some(0.4), "{:?}", probability(&[0.5]));
}
