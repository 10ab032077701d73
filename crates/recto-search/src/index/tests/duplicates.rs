//! What says the same comes once.

use super::*;

/// The names that stay, and the duplicates with what they are duplicates of.
fn without(index: &SearchIndex, picks: Vec<Pick>, most: usize) -> (Vec<String>, Vec<[String; 2]>) {
    let (kept, duplicates) = index.without_duplicates(picks, 0.92, most);
    let pair = |duplicate: &DuplicatePick| {
        [duplicate.pick.item.name.to_string(), duplicate.of.name.to_string()]
    };
    (names(&kept).into_iter().map(Into::into).collect(), duplicates.iter().map(pair).collect())
}

fn pick(name: &str, best_chunk: Option<&str>) -> Pick {
    let best_chunk = best_chunk.map(Arc::from);
    Pick { best_chunk, ..Pick::new(ItemId::new(ItemKind::Memory, name), Scores::default()) }
}

#[test]
fn of_near_equals_the_best_stays() {
    let long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen";
    let near = format!("{long} fourteen");
    let entries = [("a", long), ("b", &near), ("c", "tea and cake"), ("d", &near)];
    let index = built(entries.map(|(name, text)| remembered("x", name, text)).into());
    let picks = || entries.map(|(name, text)| pick(name, Some(text))).to_vec();
    let (kept, duplicates) = index.without_duplicates(picks(), 0.92, 40);
    assert_eq!(names(&kept), ["a", "c"]);
    assert!(
        duplicates.iter().all(|duplicate| duplicate.cosine.is_some_and(|cosine| cosine > 0.92))
    );
    assert_eq!(without(&index, picks(), 40).1, [["b", "a"], ["d", "a"]]);
    // Only the first few are looked at.
    assert_eq!(without(&index, picks(), 2).0, ["a", "c", "d"]);
    assert_eq!(without(&index, picks(), 0).0, ["a", "b", "c", "d"]);
    let other_order = vec![pick("d", Some(&near)), pick("a", Some(long))];
    assert_eq!(without(&index, other_order, 40).1, [["a", "d"]]);
}

#[test]
fn without_vectors_only_equal_words_are_the_same() {
    let mut index = SearchIndex::default();
    let entries =
        [("a", "Likes tea."), ("b", "- likes  TEA!"), ("c", "Likes teas"), ("d", "likes tea")];
    index.update(entries.map(|(name, text)| remembered("x", name, text)).into());
    let picks = index.rank(&SearchQuery::new("tea", None), |_| true);
    assert!(picks.iter().all(|pick| pick.best_chunk.is_none()));
    let picks = ["a", "b", "c", "d"].map(|name| pick(name, None)).to_vec();
    assert_eq!(
        without(&index, picks, 40),
        (
            vec!["a".into(), "c".into()],
            vec![["b", "a"].map(Into::into), ["d", "a"].map(Into::into)]
        )
    );
}

#[test]
fn what_the_index_does_not_know_is_no_double() {
    let index = built(vec![remembered("x", "a", "Tea.")]);
    let picks = vec![pick("gone", None), pick("lost", None), pick("a", Some("Tea."))];
    assert_eq!(without(&index, picks, 40).0, ["gone", "lost", "a"]);
}

/// Promise: `differing-facts-both-come`
#[test]
fn facts_that_sound_alike_all_stay() {
    let runs: Vec<String> = (3..10).map(|km| format!("Ran {km} km")).collect();
    let entries = || runs.iter().map(|text| remembered("x", text, text));
    let index = built(entries().chain([remembered("x", "again", "ran 3 km.")]).collect());
    let mut picks: Vec<Pick> = runs.iter().map(|text| pick(text, Some(text))).collect();
    picks.push(pick("again", Some("ran 3 km.")));
    // However near they are.
    let (kept, duplicates) = index.without_duplicates(picks, -1.0, 40);
    assert_eq!(names(&kept), runs);
    assert_eq!(duplicates.iter().map(|double| &*double.of.name).collect::<Vec<_>>(), ["Ran 3 km"]);
}
