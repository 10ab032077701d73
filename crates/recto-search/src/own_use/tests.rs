//! What earlier use says for items, and that it takes nothing from others.

use proptest::prelude::*;
use recto_context::{ItemKind, Scores};

use super::*;
use crate::choose::{ChoiceOptions, GroupChoice};

const DAY: CivilDay = CivilDay::new(2026, 11, 2);

fn tool(name: &str) -> ItemId {
    ItemId::new(ItemKind::Tool, name)
}

fn past(turn: i64, message: &str, items: &[&str]) -> PastUse {
    let message = SearchMessage::new(message, None);
    PastUse::new(turn, DAY, &message, items.iter().map(|name| tool(name)).collect()).unwrap()
}

fn ranked(probabilities: &[(&str, f32)]) -> Vec<Pick> {
    let pick = |(name, probability): &(&str, f32)| {
        Pick::new(tool(name), Scores { probability: Some(*probability), ..Scores::default() })
    };
    probabilities.iter().map(pick).collect()
}

fn probability(pick: &Pick) -> f32 {
    pick.scores.probability.unwrap()
}

/// By words alone: how alike a message is to each earlier one.
fn by_words<'a>(message: &str, uses: &'a [PastUse]) -> UseEvidence {
    let words = MessageWords::new(message);
    let likeness = |past: &'a PastUse| {
        (past, MessageLikeness { cosine: None, words: past.word_likeness(&words) })
    };
    UseEvidence::weigh(&words, uses.iter().map(likeness))
}

#[test]
fn what_was_used_for_a_like_message_rises_and_all_else_stays() {
    let uses = [
        past(3, "book the van for the trip to Porto", &["van"]),
        past(9, "book the van for the trip to Lisbon", &["van"]),
        past(11, "how warm is the sea in March?", &["sea"]),
    ];
    let mut picks = ranked(&[("sea", 0.3), ("van", 0.2), ("boat", 0.1)]);
    by_words("please book the van for a trip to Faro", &uses).raise(&mut picks);
    assert_eq!((probability(&picks[0]), probability(&picks[2])), (0.3, 0.1));
    assert!(probability(&picks[1]) > 0.5, "{picks:?}");
    let earlier = picks[1].scores.earlier_use.unwrap();
    assert_eq!((earlier.messages, earlier.turn, earlier.day, earlier.without), (2, 9, DAY, 0.2));
    assert_eq!(picks[0].scores.earlier_use, None);
}

#[test]
fn meaning_and_words_count_together() {
    let uses = [past(1, "book the van", &["van"])];
    let raised = |cosine, words| {
        let likeness = MessageLikeness { cosine: Some(cosine), words };
        let mut picks = ranked(&[("van", 0.1)]);
        let message = MessageWords::new("book the van");
        UseEvidence::weigh(&message, [(&uses[0], likeness)]).raise(&mut picks);
        probability(&picks[0])
    };
    assert_eq!(raised(0.6, 0.1), 0.1);
    assert!(raised(0.6, 0.4) > 0.1 && raised(0.6, 0.4) < raised(0.8, 0.4));
    assert!(raised(1.0, 1.0) > 0.8);
}

/// Whether one use for a message speaks for an item in another message that is as near as can be.
fn speaks_for(item: ItemId, used_for: &str, asked: &str) -> bool {
    let message = SearchMessage::new(used_for, None);
    let past = PastUse::new(1, DAY, &message, vec![item]).unwrap();
    let likeness = MessageLikeness { cosine: Some(0.9), words: 0.8 };
    !UseEvidence::weigh(&MessageWords::new(asked), [(&past, likeness)]).is_empty()
}

#[test]
fn a_use_for_one_name_says_nothing_for_another() {
    let rule = |name: &str| ItemId::new(ItemKind::Rule, name);
    let differ = |item: &ItemId, used_for: &str, asked: &str| {
        assert!(!speaks_for(item.clone(), used_for, asked), "{item}: {used_for} / {asked}");
    };
    let france = rule("deposit-france");
    let used_for = "what deposit do customers in France leave with us?";
    for asked in [
        "what deposit do customers in Portugal leave with us?",
        "what deposit do customers in Austria leave with us?",
        "what deposit do customers in porto leave with us?",
    ] {
        differ(&france, used_for, asked);
        differ(&france, &used_for.to_lowercase(), &asked.to_lowercase());
    }
    let dress = "what does the K17 need before the concert?";
    differ(&rule("piano-k17"), dress, "what does the K14 need before the concert?");
    let tool = ItemId::tool(Some("crm-lyon".into()), "find_customer");
    differ(&tool, "find the customer Huber in Lyon", "find the customer Huber in Graz");
    let note = ItemId::new(ItemKind::Memory, "people/anna.md#3fa9c2e1");
    differ(&note, "when is Anna's birthday?", "when is Boris's birthday?");
}

#[test]
fn what_the_item_does_not_name_may_differ() {
    let agree = |item: ItemId, used_for: &str, asked: &str| {
        assert!(speaks_for(item.clone(), used_for, asked), "{item}: {used_for} / {asked}");
    };
    let mail = || ItemId::tool(Some("mail".into()), "send");
    agree(mail(), "send the minutes to Anna", "send the minutes to Ben");
    agree(mail(), "mail Anna the minutes of 3 May", "send Ben the minutes of 9 June");
    let france = || ItemId::new(ItemKind::Rule, "deposit-france");
    let used_for = "what deposit do customers in France leave with us?";
    agree(france(), used_for, "what deposit do customers in France leave with Huber?");
    // Who names nothing else may well mean the same.
    agree(france(), used_for, "what deposit do customers leave with us?");
    agree(france(), "what do customers leave with us?", "what do customers in Portugal leave?");
    let note = ItemId::new(ItemKind::Memory, "notes/2026-11-02.md#3fa9c2e1");
    agree(note, "how long is the ladder for hall 3?", "how long is the ladder for hall 9?");
}

/// The model read the wrong one of two variants: that is no evidence for it against the name.
#[test]
fn a_use_says_nothing_for_an_item_whose_variant_is_named() {
    let used_for = "What VAT do we charge in Spain?";
    let uses = [past(3, used_for, &["vat-portugal", "deploy-live", "invoices"])];
    let raised = |message: &str| -> Vec<String> {
        let names = ["vat-portugal", "vat-spain", "vat-germany", "deploy-live", "deploy-stage"];
        let mut picks = ranked(&names.map(|name| (name, 0.1)));
        picks.extend(ranked(&[("invoices", 0.1)]));
        let words = MessageWords::new(message);
        let likeness = MessageLikeness { cosine: Some(0.9), words: 0.8 };
        UseEvidence::weigh(&words, [(&uses[0], likeness)]).raise(&mut picks);
        let raised = picks.iter().filter(|pick| probability(pick) > 0.1);
        raised.map(|pick| pick.item.name.to_string()).collect()
    };
    assert_eq!(raised("what VAT in Spain?"), ["deploy-live", "invoices"]);
    assert_eq!(raised("What VAT do we charge in Germany?"), ["deploy-live", "invoices"]);
    assert_eq!(raised("what VAT to charge on stage?"), ["vat-portugal", "invoices"]);
    // There is no rule of that name, and this one may be what is wanted.
    let all = ["vat-portugal", "deploy-live", "invoices"];
    assert_eq!(raised("What VAT do we charge in Norway?"), all);
    assert_eq!(raised("What VAT do we charge in Spain and in Portugal?"), all);
}

#[test]
fn what_asks_for_nothing_by_itself_is_like_nothing() {
    let none = |message: &str| {
        let message = SearchMessage::new(message, Some("leave in Germany"));
        PastUse::new(1, DAY, &message, vec![tool("van")])
    };
    for message in ["thanks!", "and for Spain?", "ok", "", "  "] {
        assert_eq!(none(message), None, "{message}");
    }
    assert!(!asks_by_itself(&SearchMessage::new("and for Spain?", Some("leave in Germany"))));
    assert!(asks_by_itself(&SearchMessage::new("how much leave is there in Spain?", None)));
}

#[test]
fn a_pasted_message_is_read_at_its_beginning() {
    let long = past(1, &"häfen und boote ".repeat(100), &[]);
    assert!(long.text.len() <= COMPARED && long.text.starts_with("häfen"));
}

#[test]
fn what_comes_by_use_alone_takes_nobody_s_place() {
    let options = ChoiceOptions { top_k: 2, top_n: 1, include_score: 0.7, floor: 0.4 };
    let mut picks = ranked(&[("a", 0.9), ("b", 0.8), ("c", 0.0), ("d", 0.3)]);
    by_words("book the van now", &[past(1, "book the van now", &["d"])]).raise(&mut picks);
    let names = |picks: &[Pick]| -> Vec<String> {
        picks.iter().map(|pick| pick.item.name.to_string()).collect()
    };
    let choice = GroupChoice::among(picks, &options);
    assert_eq!(names(&choice.taken), ["a", "d"]);
    // The third is beyond those that are looked at.
    assert_eq!(names(&choice.left), ["b"]);
}

fn names() -> impl Strategy<Value = String> {
    "[a-h]"
}

fn messages() -> impl Strategy<Value = Vec<(String, Vec<String>)>> {
    let message = "((book|open|read|the|van|gate|log|list) ){3,6}";
    prop::collection::vec((message, prop::collection::vec(names(), 1..3)), 0..8)
}

proptest! {
    /// Promise: `own-use-only-raises`
    #[test]
    fn earlier_use_only_ever_raises(
        uses in messages(),
        message in "((book|open|read|the|van|gate|log|list) ){3,6}",
        probabilities in prop::collection::vec(0.0f32..=1.0, 8),
        (top_k, top_n, floor) in (1usize..9, 0usize..5, 0.0f32..1.0),
    ) {
        let past = |(turn, (text, items)): (usize, &(String, Vec<String>))| {
            let message = SearchMessage::new(text, None);
            PastUse::new(turn as i64, DAY, &message, items.iter().map(|name| tool(name)).collect())
        };
        let uses: Vec<PastUse> = uses.iter().enumerate().filter_map(past).collect();
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let before = ranked(&names.into_iter().zip(probabilities).collect::<Vec<_>>());
        let with = |uses: &[PastUse]| {
            let mut picks = before.clone();
            by_words(&message, uses).raise(&mut picks);
            picks
        };
        let after = with(&uses);
        for (one, other) in before.iter().zip(&after) {
            prop_assert_eq!(&one.item, &other.item);
            prop_assert!((probability(one)..=1.0).contains(&probability(other)));
            let is_used = uses.iter().any(|past| past.items.contains(&one.item));
            prop_assert!(is_used || one == other);
        }
        // One use more speaks for no less.
        for (one, other) in with(&uses[..uses.len() / 2]).iter().zip(&after) {
            prop_assert!(probability(one) <= probability(other));
        }
        let options = ChoiceOptions { top_k, top_n, include_score: 2.0, floor };
        let taken = |picks: Vec<Pick>| -> HashSet<ItemId> {
            GroupChoice::among(picks, &options).taken.into_iter().map(|pick| pick.item).collect()
        };
        prop_assert!(taken(before.clone()).is_subset(&taken(after)));
    }
}
