//! Messages that come one by one, and the best of many.

use proptest::prelude::*;

use super::histories::any_entries;
use super::*;

const TEXTS: [&str; 4] = ["tea and cake", "a train in the rain", "item 3", ""];

fn same(a: &SearchIndex, b: &SearchIndex) {
    assert_eq!((a.len(), a.chunk_count()), (b.len(), b.chunk_count()));
    for text in TEXTS {
        assert_eq!(rank_all(a, text), rank_all(b, text), "{text}");
    }
}

#[test]
fn what_comes_later_stands_behind() {
    let chat = |number: usize| remembered("x", &format!("x/{number}"), &format!("Tea {number}."));
    let mut index = built((0..3).map(chat).collect());
    let updated = index.extend([chat(3), chat(1), remembered("y", "y/0", "Cake."), chat(4)]);
    assert_eq!(updated, IndexUpdate { changed: 3, orphaned: Vec::new() });
    assert_eq!(missing_texts(&index), ["Tea 3.", "Cake.", "Tea 4."]);
    embed_all(&mut index);
    let all = [0, 1, 2, 3].map(chat).into_iter();
    let fresh = built(all.chain([remembered("y", "y/0", "Cake."), chat(4)]).collect());
    same(&index, &fresh);
    // Of what is there, the first counts.
    index.extend([remembered("x", "x/1", "Other.")]);
    same(&index, &fresh);
}

#[test]
fn what_is_taken_out_leaves_no_gap_in_its_thread() {
    let chat = |number: usize| remembered("x", &format!("x/{number}"), &format!("Tea {number}."));
    let mut index = built((0..5).map(chat).collect());
    let updated = index.update([0, 1, 3, 4].map(chat).into());
    assert_eq!(updated, IndexUpdate { changed: 1, orphaned: vec![key("Tea 2.")] });
    same(&index, &built([0, 1, 3, 4].map(chat).into()));
    index.extend([chat(2)]);
    embed_all(&mut index);
    same(&index, &built([0, 1, 3, 4, 2].map(chat).into()));
    index.update(Vec::new());
    assert!(index.is_empty() && index.chunk_count() == 0);
}

#[test]
fn a_search_can_be_held_to_threads() {
    let entries = vec![
        remembered("x", "x/1", "Tea."),
        remembered("y", "y/1", "Tea."),
        rule("tea", "Tea."),
        remembered("x", "x/2", "Cake."),
    ];
    let index = built(entries);
    let (embedding, text) = (embed("tea"), "tea");
    let query = SearchQuery::new(text, Some(&embedding));
    let of_x = index.rank_threads(&query, |thread| thread == "x", 9);
    assert_eq!(of_x, index.rank(&query, |item| item.name.starts_with("x/")));
    assert_eq!(names(&of_x), ["x/1", "x/2"]);
    assert_eq!(index.rank_threads(&query, |_| true, 1).len(), 1);
    assert!(index.rank_threads(&query, |_| false, 9).is_empty());
}

proptest! {
    #[test]
    fn the_best_are_the_first_of_all(entries in any_entries(), count in 0..14_usize) {
        let index = built(entries);
        for text in TEXTS {
            let embedding = embed(text);
            for embedding in [None, Some(&embedding)] {
                let query = SearchQuery::new(text, embedding);
                let mut all = index.rank(&query, |_| true);
                let best = index.rank_best(&query, |_| true, count);
                all.truncate(count);
                prop_assert_eq!(best, all);
            }
        }
    }

    #[test]
    fn an_index_that_grew_ranks_as_one_that_was_made_at_once(
        first in any_entries(),
        then in prop::collection::vec(any_entries(), 0..4),
    ) {
        let all: Vec<SearchEntry> = first.iter().chain(then.iter().flatten()).cloned().collect();
        let mut grown = built(first);
        for entries in then {
            grown.extend(entries);
        }
        embed_all(&mut grown);
        same(&grown, &built(all));
    }
}
