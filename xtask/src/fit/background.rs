//! How common words are in items of all kinds.

use std::collections::{BTreeMap, HashSet};

use super::sets::LabelledSet;

/// A word counts as common from this share of the items on, as mean over the sets.
const COMMON: f64 = 0.01;

/// Common words in order, each with how many of a thousand items it stands in.
pub(super) fn word_frequencies(sets: &[LabelledSet]) -> BTreeMap<String, u16> {
    let mut shares: BTreeMap<String, f64> = BTreeMap::new();
    // What one person has is no measure of what is common.
    let sets: Vec<&LabelledSet> = sets.iter().filter(|set| set.world.is_none()).collect();
    for set in &sets {
        let part = 1.0 / (set.entries.len() * sets.len()) as f64;
        for entry in &set.entries {
            let description = entry.description.as_deref().unwrap_or_default();
            let text = format!("{} {description} {}", entry.item.name, &*entry.text);
            let words: HashSet<String> = recto_search::words(&text).into_iter().collect();
            for word in words {
                *shares.entry(word).or_default() += part;
            }
        }
    }
    let common = shares.into_iter().filter(|(_, share)| *share >= COMMON);
    common.map(|(word, share)| (word, (share * 1000.0).round() as u16)).collect()
}
