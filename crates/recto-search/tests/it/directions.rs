//! How much messages are like requests, and what is taken for that where the encoder is another.

use std::fs;
use std::path::Path;

use recto_context::{ItemId, ItemKind, Text};
use recto_search::{
    CosineScale, Embedding, NEED_PLACE, PackedVector, REQUEST_PLACE, RivalEvidence, SearchEntry,
    SearchIndex, SearchQuery, VectorSpace,
};
use serde_json::Value;

use crate::encoder::encoder;

/// How many messages of each world are read: the mean of all is hardly another one.
const MESSAGES: usize = 40;

/// Messages of all worlds that weights were fitted on.
fn messages() -> Vec<String> {
    let worlds = Path::new(env!("CARGO_MANIFEST_DIR")).join("sets/worlds");
    let mut messages = Vec::new();
    for world in fs::read_dir(worlds).unwrap().map(|entry| entry.unwrap().path()) {
        for file in ["queries.jsonl", "none.jsonl"].map(|file| world.join(file)) {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let lines: Vec<&str> = text.lines().collect();
            // Of each tag some: they stand in groups.
            let step = lines.len().div_ceil(MESSAGES).max(1);
            for line in lines.iter().step_by(step) {
                let line: Value = serde_json::from_str(line).unwrap();
                let message = line["query"].as_str().unwrap();
                // Greetings and nods are not compared by meaning.
                if message.split_whitespace().count() >= 4 {
                    messages.push(message.to_owned());
                }
            }
        }
    }
    messages
}

/// An item of a kind, and how far a message goes in the directions that count for it.
fn directions(kind: ItemKind, space: VectorSpace, message: &str, vector: &Embedding) -> [f32; 2] {
    let mut index = SearchIndex::default();
    index.set_space(space);
    index.update(vec![SearchEntry {
        item: ItemId::new(kind, "tea"),
        description: None,
        text: Text::new("tea"),
        thread: None,
        when: None,
    }]);
    let missing = index.missing(|_| true);
    index.supply(missing.iter().map(|chunk| (chunk.key, PackedVector::from(vector))));
    let query = SearchQuery::new(message, Some(vector));
    let (_, signals) = index.signals(&query, |_| true);
    let row = signals.message(&[0.0], &[0], &RivalEvidence::default());
    [row[REQUEST_PLACE], row[NEED_PLACE]]
}

#[test]
fn what_is_usual_is_taken_where_directions_are_unknown() {
    let vectors: Vec<(String, Embedding)> = messages()
        .into_iter()
        .map(|text| {
            let vector = encoder().encode_query(&text);
            (text, vector)
        })
        .collect();
    assert!(vectors.len() > 400, "{}", vectors.len());
    let mut wrong = Vec::new();
    for kind in [ItemKind::Tool, ItemKind::Skill, ItemKind::Rule, ItemKind::Memory] {
        let mut sums = [0.0; 2];
        for (text, vector) in &vectors {
            let found = directions(kind, VectorSpace::default(), text, vector);
            sums.iter_mut().zip(found).for_each(|(sum, one)| *sum += one / vectors.len() as f32);
        }
        let other = VectorSpace::with_scale(CosineScale::BUILT_IN);
        let usual = directions(kind, other, &vectors[0].0, &vectors[0].1);
        if sums.iter().zip(usual).any(|(mean, usual)| (mean - usual).abs() > 0.05) {
            wrong.push(format!("{kind}: {usual:?} in place of {sums:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
