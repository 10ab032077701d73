//! Messages that lean on another, and those that ask for several things.

use super::*;
use crate::message::{SaidBefore, SearchMessage};

fn best(index: &SearchIndex, message: &str, before: Option<&str>) -> Vec<String> {
    let message = SearchMessage::new(message, before);
    let embeddings: Vec<Embedding> = message.texts().map(embed).collect();
    let picks = index.rank(&message.query(&embeddings), |_| true);
    picks.iter().map(|pick| pick.item.name.to_string()).collect()
}

fn index() -> SearchIndex {
    built(vec![
        rule("leave-germany", "Thirty days of leave a year in Germany."),
        rule("leave-spain", "Twenty-three days of leave a year in Spain."),
        rule("letters-spain", "Letters to Spain begin with the name of the firm."),
        rule("kiln", "How the kiln is fired, slowly."),
        rule("boat", "Where the boat lies, and who has its key."),
    ])
}

/// Promise: `fragments-are-understood`
#[test]
fn what_a_fragment_leans_on_decides_between_those_it_names() {
    let index = index();
    let before = "how many days of leave are there in Germany?";
    assert_eq!(best(&index, "and in Spain?", Some(before))[0], "leave-spain");
    // What stands by itself is not mixed with what was said before.
    let whole =
        "who has the key of the old wooden boat that lies north of the harbour gate this autumn?";
    assert_eq!(best(&index, whole, Some(before))[0], "boat");
    assert_eq!(best(&index, whole, Some(before)), best(&index, whole, None));
}

/// What a message takes back stands behind what it names, where there is an item of that name.
#[test]
fn a_correction_is_read_with_the_new_name_in_place_of_the_old() {
    let index = index();
    let before = "how many days of leave are there in Germany?";
    let read = |message: &str, is_candidate: fn(&ItemId) -> bool| {
        let message = SearchMessage::new(message, Some(before));
        let read = index.read(&message, None, is_candidate)?;
        Some(read.texts().nth(1)?.to_owned())
    };
    for message in ["no, Spain", "sorry, I meant Spain", "and for Spain?"] {
        let expected = "how many days of leave are there in Spain?";
        assert_eq!(read(message, |_| true).as_deref(), Some(expected), "{message}");
    }
    assert_eq!(read("and for Norway?", |_| true), None);
    // Items of others say nothing.
    assert_eq!(read("no, Spain", |id| &*id.name != "leave-spain"), None);
    // What was named since counts as well.
    let since = |message: &str| {
        let since = Some("and for Spain?".to_owned());
        let said = SaidBefore { text: before.to_owned(), since, place: 2 };
        let message = SearchMessage::with_before(message, Some(&said));
        Some(index.read(&message, None, |_| true)?.texts().nth(1)?.to_owned())
    };
    let expected = Some("how many days of leave are there in Spain?".to_owned());
    assert_eq!(since("is it the same for Rozanski?"), expected);
    assert_eq!(since("is it the same there?"), expected);
    assert_eq!(since("and in Germany?").as_deref(), Some(before));
    let alone = SearchMessage::new("fire the kiln slowly and write letters to Spain", Some(before));
    assert_eq!(index.read(&alone, None, |_| true), None);
}

#[test]
fn each_of_several_requests_brings_its_own() {
    let index = index();
    let message = "fire the kiln slowly and write letters to Spain";
    let found = best(&index, message, None);
    assert!(found[..2].contains(&"kiln".to_owned()), "{found:?}");
    assert!(found[..2].contains(&"letters-spain".to_owned()), "{found:?}");
}
