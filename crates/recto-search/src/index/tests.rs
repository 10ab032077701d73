//! The index holds what it was last told to hold, and touches nothing else.

mod coverage;
mod duplicates;
mod growth;
mod histories;
mod messages;

use recto_context::{ItemKind, Scores, Text};

use super::*;
use crate::encoder::DIMENSIONS;

fn entry(kind: ItemKind, name: &str, description: &str, text: &str) -> SearchEntry {
    SearchEntry {
        item: ItemId::new(kind, name),
        description: Some(description.into()).filter(|text: &Arc<str>| !text.is_empty()),
        text: Text::new(text),
        thread: None,
        when: None,
    }
}

fn rule(name: &str, text: &str) -> SearchEntry {
    entry(ItemKind::Rule, name, "", text)
}

fn remembered(thread: &str, name: &str, text: &str) -> SearchEntry {
    let thread = Some(thread.into());
    SearchEntry { thread, ..entry(ItemKind::Memory, name, "", text) }
}

/// Stands for an encoder: texts that share words point the same way, if not as far
/// as with a real one.
fn embed(text: &str) -> Embedding {
    let mut values = Box::new([0.01; DIMENSIONS]);
    for word in text.split_whitespace() {
        let hash = ContentHash::of_bytes(word.to_lowercase().as_bytes());
        for byte in &hash.as_bytes()[..8] {
            values[usize::from(*byte)] += 1.0;
        }
    }
    Embedding::new(values)
}

/// Gives all chunks their vectors, and says how many had none.
fn embed_all(index: &mut SearchIndex) -> usize {
    let missing = index.missing(|_| true);
    let vectors = missing.iter().map(|chunk| (chunk.key, PackedVector::from(&embed(&chunk.text))));
    index.supply(vectors.collect::<Vec<_>>());
    assert_eq!(index.missing(|_| true), []);
    missing.len()
}

fn built(entries: Vec<SearchEntry>) -> SearchIndex {
    let mut index = SearchIndex::default();
    // The vectors here are made up, and nothing is known of what such messages need.
    index.correct_by(QueryCorrection::none());
    index.update(entries);
    embed_all(&mut index);
    index
}

fn rank_all(index: &SearchIndex, text: &str) -> Vec<Pick> {
    index.rank(&SearchQuery::new(text, Some(&embed(text))), |_| true)
}

fn key(text: &str) -> ContentHash {
    ContentHash::of_bytes(text.as_bytes())
}

fn missing_texts(index: &SearchIndex) -> Vec<String> {
    index.missing(|_| true).iter().map(|chunk| chunk.text.to_string()).collect()
}

fn names(picks: &[Pick]) -> Vec<&str> {
    picks.iter().map(|pick| &*pick.item.name).collect()
}

#[test]
fn an_item_is_its_header_and_its_paragraphs() {
    let mut index = SearchIndex::default();
    let described = entry(ItemKind::Reference, "prices", " What things cost ", "Tea: 2\n\nCake: 3");
    index.update(vec![described, rule("tone", "Be kind."), remembered("day", "day:3", "Rain.")]);
    assert_eq!(
        missing_texts(&index),
        ["prices: What things cost", "Tea: 2", "Cake: 3", "tone", "Be kind.", "Rain."]
    );
    assert_eq!((index.len(), index.chunk_count(), index.vector_count()), (3, 6, 0));
    let of_rules = index.missing(|item| item.kind == ItemKind::Rule);
    let expected =
        ["tone", "Be kind."].map(|text| MissingVector { key: key(text), text: text.into() });
    assert_eq!(of_rules, expected);
}

/// Promise: `edit-embeds-one-item`
#[test]
fn editing_a_rule_invalidates_its_own_embedding_and_no_other() {
    let others = || vec![rule("a", "First.\n\nSecond."), rule("c", "Third.")];
    let mut index = built([others(), vec![rule("b", "Old.\n\nKept.")]].concat());
    let updated = index.update([others(), vec![rule("b", "New.\n\nKept.")]].concat());
    assert_eq!(updated, IndexUpdate { changed: 1, orphaned: vec![key("Old.")] });
    assert_eq!(missing_texts(&index), ["New."]);
    // The same again is no change.
    let updated = index.update([others(), vec![rule("b", "New.\n\nKept.")]].concat());
    assert_eq!(updated, IndexUpdate::default());
    assert_eq!(embed_all(&mut index), 1);
}

#[test]
fn what_is_gone_leaves_with_its_chunks() {
    let mut index = built(vec![rule("a", "Apples."), rule("b", "Bread.")]);
    let mut updated = index.update(vec![rule("b", "Bread.")]);
    updated.orphaned.sort();
    let mut gone = vec![key("a"), key("Apples.")];
    gone.sort();
    assert_eq!(updated, IndexUpdate { changed: 1, orphaned: gone });
    assert_eq!(names(&rank_all(&index, "apples")), ["b"]);
    assert_eq!((index.chunk_count(), index.vector_count()), (2, 2));
    let mut keys: Vec<ContentHash> = index.keys().collect();
    keys.sort();
    let mut expected = vec![key("b"), key("Bread.")];
    expected.sort();
    assert_eq!(keys, expected);
    index.update(Vec::new());
    assert!(index.is_empty() && rank_all(&index, "bread").is_empty());
    assert_eq!((index.chunk_count(), index.vector_count()), (0, 0));
}

#[test]
fn equal_texts_share_a_vector_until_the_last_is_gone() {
    let mut index = SearchIndex::default();
    index.update(vec![rule("a", "Shared.\n\nShared."), rule("b", "Shared.")]);
    assert_eq!(missing_texts(&index), ["a", "Shared.", "b"]);
    embed_all(&mut index);
    assert_eq!(index.vector_count(), 3);
    assert_eq!(index.update(vec![rule("b", "Shared.")]).orphaned, [key("a")]);
    assert_eq!(missing_texts(&index), [""; 0]);
    // What moves to another item keeps its vector: a memory on another line.
    assert_eq!(index.update(vec![remembered("day", "day:9", "Shared.")]).orphaned, [key("b")]);
    assert_eq!((missing_texts(&index).len(), index.vector_count()), (0, 1));
}

#[test]
fn of_two_entries_for_one_item_the_first_counts() {
    let mut index = built(vec![rule("a", "One."), rule("b", "Two."), rule("a", "Other.")]);
    assert_eq!((index.len(), index.chunk_count()), (2, 4));
    let again = vec![rule("a", "One."), rule("a", "Other."), rule("b", "Two.")];
    assert_eq!(index.update(again), IndexUpdate::default());
}

#[test]
fn a_thread_is_known_by_what_follows_what() {
    let neighbours = |index: &SearchIndex| -> Vec<(String, Option<String>, Option<String>)> {
        let name = |slot: u32| index.item(slot).map(|item| item.entry.item.name.to_string());
        let found = index.candidates(|_| true);
        let around = |(slot, item): (u32, &IndexedItem)| {
            let summary = index.summaries[slot as usize];
            let (before, after) = (name(summary.previous), name(summary.next));
            (item.entry.item.name.to_string(), before, after)
        };
        found.map(around).collect()
    };
    let row = |name: &str, before: &str, after: &str| {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        (name.to_owned(), some(before), some(after))
    };
    let [a, b, c] = ["a", "b", "c"].map(|name| remembered("x", name, name));
    let (apart, rule) = (remembered("y", "d", "d"), rule("r", "r"));
    let mut index = built(vec![a.clone(), apart.clone(), rule.clone(), b.clone(), c.clone()]);
    assert_eq!(
        neighbours(&index),
        [
            row("a", "", "b"),
            row("d", "", ""),
            row("r", "", ""),
            row("b", "a", "c"),
            row("c", "b", "")
        ]
    );
    index.update(vec![c.clone(), a.clone(), apart]);
    assert_eq!(neighbours(&index), [row("c", "", "a"), row("a", "c", ""), row("d", "", "")]);
    // Another thread is no other content.
    let moved = SearchEntry { thread: Some("y".into()), ..a };
    assert_eq!(index.update(vec![c, moved, remembered("y", "d", "d")]), IndexUpdate::default());
    assert_eq!(neighbours(&index), [row("c", "", ""), row("a", "", "d"), row("d", "a", "")]);
}

#[test]
fn a_memory_is_found_by_its_day_and_not_by_its_place() {
    let note = |day: &str, text: &str| SearchEntry {
        when: Some(day.into()),
        ..remembered("notes", &format!("MEMORY.md#{day}"), text)
    };
    let index = built(vec![note("3 March 2026", "Rain."), note("4 April 2026", "Sun.")]);
    assert_eq!(missing_texts(&index), [""; 0]);
    let lexical = |text: &str| {
        let picks = index.rank(&SearchQuery::new(text, None), |_| true);
        let score = picks[0].scores.lexical.unwrap();
        (picks[0].item.name.to_string(), score > 0.0)
    };
    assert_eq!(lexical("what was in April?"), ("MEMORY.md#4 April 2026".into(), true));
    assert_eq!(lexical("what was on 3 March"), ("MEMORY.md#3 March 2026".into(), true));
    assert!(!lexical("memory").1);
    // Another day is other words, and no other vector.
    let mut index = index;
    let updated = index.update(vec![note("3 March 2026", "Rain."), {
        SearchEntry { when: Some("5 June 2026".into()), ..note("4 April 2026", "Sun.") }
    }]);
    assert_eq!(updated, IndexUpdate { changed: 1, orphaned: Vec::new() });
    assert_eq!(missing_texts(&index), [""; 0]);
}

/// Promise: `long-item-crowds-nobody`
#[test]
fn a_long_item_leaves_the_others_in_the_list() {
    let chapters = (0..1_000).map(|number| format!("Apples and pears, chapter {number}."));
    let long = chapters.collect::<Vec<_>>().join("\n\n");
    let mut entries = vec![entry(ItemKind::Reference, "book", "", &long)];
    entries.extend((0..30).map(|number| rule(&format!("rule {number}"), "Bread and butter.")));
    entries.push(rule("fruit", "Apples and pears."));
    let picks = rank_all(&built(entries), "Apples and pears.");
    assert_eq!(picks.len(), 32);
    assert!(names(&picks)[..2].contains(&"fruit"));
    assert!(picks.iter().all(|pick| pick.scores.cosine.is_some()));
    let ranks: Vec<Option<u32>> = picks.iter().map(|pick| pick.scores.rank).collect();
    assert_eq!(ranks, (1..=32).map(Some).collect::<Vec<_>>());
}

#[test]
fn the_best_chunk_is_shown() {
    let reference = entry(ItemKind::Reference, "r", "", "Boats sail.\n\nCats sleep.\n\nDogs run.");
    let index = built(vec![reference, rule("q", "Other things.")]);
    let picks = rank_all(&index, "cats sleep.");
    assert_eq!(names(&picks), ["r", "q"]);
    assert_eq!(picks[0].best_chunk.as_deref(), Some("Cats sleep."));
}

/// Promise: `no-made-up-score`
#[test]
fn without_all_vectors_no_cosine_is_made_up() {
    let mut index = built(vec![rule("a", "Apples."), rule("b", "Bread.")]);
    let query = SearchQuery::new("bread", None);
    let picks = index.rank(&query, |_| true);
    assert_eq!(names(&picks), ["b", "a"]);
    assert!(picks.iter().all(|pick| pick.scores.cosine.is_none()));

    index.update(vec![rule("a", "Apples."), rule("b", "Bread."), rule("c", "Cherries.")]);
    assert!(rank_all(&index, "bread").iter().all(|pick| pick.scores.cosine.is_none()));
    // Among candidates that have theirs, what others lack does not matter.
    let embedding = embed("bread");
    let query = SearchQuery::new("bread", Some(&embedding));
    let picks = index.rank(&query, |item| &*item.name != "c");
    assert!(picks.len() == 2 && picks.iter().all(|pick| pick.scores.cosine.is_some()));
}

#[test]
fn vectors_of_unknown_chunks_are_left_aside() {
    let mut index = built(vec![rule("a", "Apples.")]);
    index.supply([(key("unknown"), PackedVector::from(&embed("unknown")))]);
    assert_eq!(index.vector_count(), 2);
    // A second one for the same chunk takes the place of the first.
    index.supply([(key("Apples."), PackedVector::from(&embed("bread")))]);
    assert_eq!(index.vector_count(), 2);
    assert!(rank_all(&index, "bread")[0].scores.cosine.is_some_and(|cosine| cosine > 0.99));
}

#[test]
fn empty_and_huge_things_are_items_like_others() {
    let huge = "long text. ".repeat(500_000);
    let entries = vec![
        rule("", ""),
        entry(ItemKind::Memory, "", "", " \n"),
        entry(ItemKind::Skill, "s", &"very long description, ".repeat(300), ""),
        entry(ItemKind::Reference, "huge", "", &huge),
    ];
    let index = built(entries);
    for text in ["", "long", &"long words ".repeat(10_000)] {
        assert_eq!(rank_all(&index, text).len(), 4);
    }
    assert!(index.missing(|_| true).is_empty());
}

#[test]
fn fifty_thousand_items_take_little_more_than_their_vectors() {
    let item = |number: usize| rule(&format!("rule {number}"), &format!("Do thing {number} well."));
    let mut index = built((0..50_000).map(item).collect());
    assert_eq!(index.chunk_count(), 100_000);
    let limit = |chunks: usize| chunks * PackedVector::BYTES * 6 / 5;
    assert!(index.vector_bytes() <= limit(100_000), "{} bytes", index.vector_bytes());
    let picks = rank_all(&index, "do thing 31415 well");
    assert_eq!(picks.len(), 50_000);
    assert_eq!(&*picks[0].item.name, "rule 31415");
    let updated = index.update((0..50_000).filter(|number| *number != 7).map(item).collect());
    assert_eq!((updated.changed, updated.orphaned.len()), (1, 2));
}

#[test]
fn an_item_is_judged_by_what_other_groups_reach_and_a_memory_is_not() {
    let weak = rule("payments", "when customers want their money back");
    let note = remembered("notes", "m1", "customers asked for refunds");
    let strong = entry(ItemKind::Skill, "refunds", "book refunds for customers", "book refunds");
    let text = "book refunds for customers";
    let embedding = embed(text);
    let probabilities = |entries: Vec<SearchEntry>| -> HashMap<ItemGroup, f32> {
        let index = built(entries);
        let query = SearchQuery::new(text, Some(&embedding));
        let ranked = index.rank_groups(&query, |_| true, usize::MAX).into_iter();
        ranked.map(|(group, picks)| (group, picks[0].scores.probability.unwrap())).collect()
    };
    let apart = probabilities(vec![weak.clone(), note.clone()]);
    let together = probabilities(vec![weak, note, strong]);
    assert_eq!(together.len(), 3);
    let (documents, memories) = (ItemGroup::Documents, ItemGroup::Memories);
    assert!(together[&documents] < apart[&documents], "{together:?} and {apart:?}");
    assert_eq!(together[&memories], apart[&memories]);
}

#[test]
fn groups_that_have_no_candidates_are_not_ranked() {
    let index = built(vec![rule("tone", "be kind"), rule("length", "be brief")]);
    let embedding = embed("be brief");
    let query = SearchQuery::new("be brief", Some(&embedding));
    let ranked = index.rank_groups(&query, |id| &*id.name != "tone", usize::MAX);
    assert_eq!(ranked.len(), 1);
    assert_eq!((ranked[0].0, names(&ranked[0].1)), (ItemGroup::Documents, vec!["length"]));
    // Alone, a group is what it is ranked by itself.
    assert_eq!(ranked[0].1, index.rank(&query, |id| &*id.name != "tone"));
}

/// All vectors are looked at once, and nothing else comes of it than of a look for each.
#[test]
fn several_sets_are_ranked_as_each_by_itself() {
    let entries = (0..40).map(|n| {
        let kinds = [ItemKind::Rule, ItemKind::Skill, ItemKind::Tool, ItemKind::Memory];
        entry(kinds[n % 4], &format!("n{n}"), "", &format!("apples and thing {n}"))
    });
    let mut index = built(entries.collect());
    let text = "apples and thing 7";
    let embedding = embed(text);
    let query = SearchQuery::new(text, Some(&embedding));
    let is_first: fn(&ItemId) -> bool = |id| id.name.len() == 2;
    let is_any: fn(&ItemId) -> bool = |_| true;
    let check = |index: &SearchIndex| {
        let each = [is_any, is_first].map(|set| index.rank_groups(&query, set, 3));
        assert_eq!(index.rank_sets(&query, &[is_any, is_first], 3), each);
        // The first of a ranking are the same, however many are wanted.
        let mut all = index.rank_groups(&query, is_any, usize::MAX);
        all.iter_mut().for_each(|(_, picks)| picks.truncate(3));
        assert_eq!(each[0], all);
    };
    check(&index);
    // A group that waits for a vector goes by words, and the others need not.
    index.extend([entry(ItemKind::Skill, "late", "", "apples that came late")]);
    check(&index);
    let ranked = index.rank_groups(&query, is_any, 3);
    let dense = ranked.iter().map(|(group, picks)| (*group, picks[0].scores.cosine.is_some()));
    let by_words: Vec<ItemGroup> =
        dense.filter(|(_, dense)| !dense).map(|(group, _)| group).collect();
    assert_eq!(by_words, [ItemGroup::Skills]);
}
