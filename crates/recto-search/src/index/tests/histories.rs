//! However an index came to hold its entries, it ranks them alike.

use proptest::prelude::*;

use super::*;

const WORDS: [&str; 8] = ["tea", "cake", "rain", "train", "book", "garden", "price", "letter"];

/// One of a few items, in one of several versions.
fn any_entry() -> impl Strategy<Value = SearchEntry> {
    let words = prop::collection::vec(prop::sample::select(&WORDS[..]), 0..6);
    let paragraphs = prop::collection::vec(words.prop_map(|words| words.join(" ")), 0..3);
    let kinds = prop::sample::select(vec![ItemKind::Rule, ItemKind::Memory]);
    let described = prop::sample::select(vec!["", "tea time", "all about trains"]);
    let threads = prop::option::of(prop::sample::select(vec!["x", "y"]));
    (kinds, 0..9_u8, described, paragraphs, threads).prop_map(
        |(kind, name, description, paragraphs, thread)| SearchEntry {
            thread: thread.map(Arc::from),
            ..entry(kind, &format!("item {name}"), description, &paragraphs.join("\n\n"))
        },
    )
}

pub(super) fn any_entries() -> impl Strategy<Value = Vec<SearchEntry>> {
    prop::collection::vec(any_entry(), 0..12)
}

proptest! {
    #[test]
    fn any_history_ranks_as_none(history in prop::collection::vec(any_entries(), 1..6)) {
        let mut index = SearchIndex::default();
        index.correct_by(QueryCorrection::none());
        let mut kept = HashSet::new();
        for entries in &history {
            let updated = index.update(entries.clone());
            kept.extend(index.keys());
            // What is orphaned was there, and is not any more.
            for key in updated.orphaned {
                prop_assert!(kept.remove(&key));
            }
            prop_assert_eq!(&kept, &index.keys().collect::<HashSet<_>>());
            embed_all(&mut index);
        }
        let fresh = built(history.last().cloned().unwrap_or_default());
        prop_assert_eq!(index.len(), fresh.len());
        prop_assert_eq!(index.vector_count(), fresh.vector_count());
        for text in ["tea and cake", "a train in the rain", "item 3", ""] {
            prop_assert_eq!(rank_all(&index, text), rank_all(&fresh, text));
            let lexical = SearchQuery::new(text, None);
            prop_assert_eq!(index.rank(&lexical, |_| true), fresh.rank(&lexical, |_| true));
        }
    }
}
