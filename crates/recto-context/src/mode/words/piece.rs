//! What a piece of a sentence is by itself: an order, a question, or nothing but the name of
//! something.

use super::grammar::is_verb;
use super::lex::{self, TokenGap, WordToken};
use super::{imperative, lists, question, request};

/// Whether a piece of a sentence tells somebody to do something: "book the van", "and let Anna
/// know". A verb without anything behind it may as well be a noun: "buy eggs, water, …".
pub fn is_order(piece: &str) -> bool {
    let sentences = lex::sentences(piece);
    let Some(first) = sentences.first() else { return false };
    let request = request::peel(&first.tokens);
    let [verb, next, ..] = request.rest else { return false };
    let is_action = is_verb(verb, &lists::ACTION_VERBS)
        && !imperative::is_used_as_noun(request.rest, first.asks, request.frame);
    let is_told = is_verb(verb, &lists::EXPLAIN_VERBS) || is_verb(verb, &lists::TEXT_VERBS);
    let is_order = is_action || is_told || verb.is("ask") || verb.is("let");
    is_order && next.gap == TokenGap::Space
}

/// Whether a piece of a message is a question: "who delivers tyres", "is the van booked?".
pub fn is_question(piece: &str) -> bool {
    let sentences = lex::sentences(piece);
    let Some(first) = sentences.first() else { return false };
    let request = request::peel(&first.tokens);
    question::begins_question(request.rest, request.frame, first.asks)
}

/// Whether a piece of a sentence only names something: "in Lyon", "the blue trailer". It orders
/// and asks nothing, and says nothing of what it names.
pub fn only_names(piece: &str) -> bool {
    let sentences = lex::sentences(piece);
    let tokens = || sentences.iter().flat_map(|sentence| &sentence.tokens);
    let Some(head) = tokens().next() else { return false };
    let may_point = lists::DETERMINERS.has(&head.lower) && !lists::SELVES.has(&head.lower);
    let is_statement = lists::STATEMENT_HEADS.has(head.stem()) && !may_point;
    // "am" is more often German ("am Montag") where no "I" stands before it.
    let says = |token: &WordToken| {
        let stem = token.stem();
        (lists::AUXILIARIES.has(stem) && stem != "am") || lists::QUESTION_WORDS.has(stem)
    };
    !is_statement && !tokens().any(says) && !is_order(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_begins_with_its_verb() {
        for piece in [
            "book the van for Friday",
            "and please mail Heller",
            "then let Arbogast know",
            "tell Piet that I'm late",
            "bitte buche den Transporter",
        ] {
            assert!(is_order(piece), "{piece}");
        }
        for piece in
            ["milk and flour", "the order of wire", "water", "if it rains", "book is out", ""]
        {
            assert!(!is_order(piece), "{piece}");
        }
    }

    #[test]
    fn a_question_begins_with_what_asks() {
        for piece in ["What is our deposit?", "who delivers tyres", "ok, is the van booked?"] {
            assert!(is_question(piece), "{piece}");
        }
        for piece in ["when it rains", "book the van", "the deposit?", "if it rains, call", ""] {
            assert!(!is_question(piece), "{piece}");
        }
    }

    #[test]
    fn what_says_something_does_more_than_name_it() {
        for piece in ["in Lyon", "the blue trailer", "Porto", "am Montag", "il rimorchio"] {
            assert!(only_names(piece), "{piece}");
        }
        for piece in [
            "cancel the order for Huber",
            "the trailer is broken",
            "where the depot list stands",
            "I ordered one",
            "",
        ] {
            assert!(!only_names(piece), "{piece}");
        }
    }
}
