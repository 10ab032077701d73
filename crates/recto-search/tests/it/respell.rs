//! Misspelt words of a message are read as words of the items, where the encoder knows none.

use recto_context::{ItemId, ItemKind};
use recto_search::{SearchEntry, SearchIndex, SearchMessage};

use crate::encoder::encoder;

/// A rule on refunds, which anybody may find, and another item that not everybody may.
fn index() -> SearchIndex {
    let entry = |name: &str, text: &str| SearchEntry {
        item: ItemId::new(ItemKind::Rule, name),
        description: None,
        text: text.into(),
        thread: None,
        when: None,
    };
    let mut index = SearchIndex::default();
    index.update(vec![
        entry("refunds", "A refund goes back within 14 days. The warranty of Kuhnert is longer."),
        entry("private", "The quotation for Brzezinka is still open."),
    ]);
    index
}

/// What a message is searched for as, among the items that `is_candidate` says.
fn read_among(text: &str, is_candidate: impl Fn(&ItemId) -> bool) -> Option<String> {
    let message = SearchMessage::new(text, None);
    let read = index().read(&message, Some(encoder()), is_candidate)?;
    Some(read.whole().to_owned())
}

fn read(text: &str) -> Option<String> {
    read_among(text, |_| true)
}

#[test]
fn a_slip_is_read_as_the_word_of_an_item() {
    assert_eq!(read("when is a refnud due?").unwrap(), "when is a refund due?");
    assert_eq!(read("is there warrnaty on it?").unwrap(), "is there warranty on it?");
    assert_eq!(read("what about Kuhnrt then?").unwrap(), "what about kuhnert then?");
}

#[test]
fn words_are_put_right_where_most_are_misspelt() {
    let typed = "wich refnud do I get for my warrnaty, plese?";
    let message = SearchMessage::new(typed, None);
    let read = index().read(&message, Some(encoder()), |_| true).unwrap();
    assert_eq!(read.whole(), "wich refund do I get for my warranty, plese?");
    let words = read.query(&[]).put_right;
    let told: Vec<(&str, &str)> = words.iter().map(|word| (&*word.typed, &*word.read)).collect();
    assert_eq!(told, [("refnud", "refund"), ("warrnaty", "warranty")]);
}

#[test]
fn known_words_stay_as_they_are() {
    // Words of English, however near: `refunded` is no slip, `remind` and `quotient` are words.
    for text in ["a refund", "remind me of it", "the quotient", "a warrant for all", "thanks!"] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn messages_in_another_language_are_left_alone() {
    for text in [
        "Wann bekommt der Kunde sein Geld und den Refnud zurück?",
        "Quand le client reçoit-il son refnud pour la commande annulée ?",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

/// Promise: `private-memory-stays-private`
#[test]
fn words_of_what_one_may_not_find_are_read_into_no_message() {
    let is_open = |id: &ItemId| *id.name == *"refunds";
    assert_eq!(read("is Brzezinkq open?").unwrap(), "is brzezinka open?");
    assert_eq!(read_among("is Brzezinkq open?", is_open), None);
    // Neither is it told that they have a word as it was typed.
    let with_name = "when is the refnud of Brzezinka due this month?";
    let read = read_among(with_name, is_open).unwrap();
    assert_eq!(read, "when is the refund of Brzezinka due this month?");
}
