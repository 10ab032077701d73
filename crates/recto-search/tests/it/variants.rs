//! Of items that differ in a name, the message's own name decides.

use recto_context::{ItemId, ItemKind};
use recto_search::{Embedding, PackedVector, SearchEntry, SearchIndex, SearchMessage};

use crate::encoder::encoder;

const COUNTRIES: [&str; 4] = ["Germany", "Spain", "Portugal", "Norway"];

/// Rules that say the same of several countries, and others.
fn index() -> SearchIndex {
    let entry = |name: String, text: String| SearchEntry {
        item: ItemId::new(ItemKind::Rule, name),
        description: None,
        text: text.into(),
        thread: None,
        when: None,
    };
    let of_country = |country: &str| {
        let text = format!(
            "Customers in {country} get their money back within 14 days after the parcel came back."
        );
        entry(format!("refunds-{}", country.to_lowercase()), text)
    };
    let mut entries: Vec<SearchEntry> = COUNTRIES.into_iter().map(of_country).collect();
    for (name, text) in [
        ("tone", "Write short sentences, and call people by their first names."),
        ("backups", "Each night the database is copied to the other house."),
        ("kiln", "Fire the kiln slowly, and let it cool down for a day."),
    ] {
        entries.push(entry(name.to_owned(), text.to_owned()));
    }
    let mut index = SearchIndex::default();
    index.update(entries);
    index.set_space(encoder().space().clone());
    let missing = index.missing(|_| true);
    let texts: Vec<&str> = missing.iter().map(|chunk| &*chunk.text).collect();
    let vectors = encoder().encode_documents(&texts);
    let vectors = vectors.iter().map(PackedVector::from);
    index.supply(missing.iter().map(|chunk| chunk.key).zip(vectors));
    index
}

/// The best of all items for a message, by meaning and words or by words alone.
fn best(index: &SearchIndex, message: &str, by_meaning: bool) -> String {
    best_after(index, message, None, by_meaning)
}

fn best_after(
    index: &SearchIndex,
    message: &str,
    before: Option<&str>,
    by_meaning: bool,
) -> String {
    let message = SearchMessage::new(message, before);
    let message = index.read(&message, None, |_| true).unwrap_or(message);
    let embeddings: Vec<Embedding> =
        message.texts().filter(|_| by_meaning).map(|text| encoder().encode_query(text)).collect();
    index.rank(&message.query(&embeddings), |_| true)[0].item.name.to_string()
}

#[test]
fn of_variants_the_one_that_is_named_comes_first() {
    let index = index();
    for country in COUNTRIES {
        let expected = format!("refunds-{}", country.to_lowercase());
        for message in [
            format!("When does a customer in {country} get a refund?"),
            format!("somebody from {} wants the money back", country.to_lowercase()),
        ] {
            for by_meaning in [true, false] {
                assert_eq!(best(&index, &message, by_meaning), expected, "{message} {by_meaning}");
            }
        }
    }
}

/// Promise: `fragments-are-understood`
#[test]
fn what_a_message_names_in_place_of_another_comes_first() {
    let index = index();
    let before = "When does a customer in Germany get a refund?";
    for message in ["sorry, I meant Spain", "no, Spain", "and for Spain?", "Spain please"] {
        for by_meaning in [true, false] {
            let best = best_after(&index, message, Some(before), by_meaning);
            assert_eq!(best, "refunds-spain", "{message} {by_meaning}");
        }
    }
}
