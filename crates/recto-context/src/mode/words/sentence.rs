//! Reads whole sentences: which rule a sentence falls under, and whether a later clause of it asks
//! for work although its beginning doesn't.
//!
//! The rules themselves stand in [`question`], [`imperative`] and [`statement`]. How the sentences
//! of a message weigh against each other is decided in [`super`].

use super::grammar::{before_colon, is_pronoun, is_question_word, is_verb, later_clauses};
use super::lex::{self, Sentence, TokenGap, TokenKind, WordToken};
use super::request::{self, PeeledRequest, RequestFrame};
use super::thing::{PointerRule, find_thing};
use super::{
    MessageReading, MessageSign, MessageVerdict, TalkKind, imperative, lists, question, statement,
};

/// One reading for each sentence. What follows a colon behind a request for talk is material to
/// talk about ("proofread this: …"), and asks for nothing.
pub(super) fn read_sentences(message: &str) -> Vec<MessageReading> {
    let mut readings = Vec::new();
    for sentence in lex::sentences(message) {
        let reading = read_one(&sentence);
        let material_follows = sentence.introduces && reading.verdict == MessageVerdict::Talk;
        readings.push(reading);
        if material_follows {
            break;
        }
    }
    readings
}

/// The reading of one sentence.
pub(super) fn read_one(sentence: &Sentence) -> MessageReading {
    let request = request::peel(&sentence.tokens);
    let reading = read_request(&request, sentence.asks);
    if reading.verdict == MessageVerdict::Tools {
        return reading;
    }
    let told = &request.rest[..before_colon(request.rest)];
    let later = match reading.sign {
        MessageSign::Talk(TalkKind::Statement) | MessageSign::None => {
            later_imperative(request.rest)
        }
        MessageSign::Talk(TalkKind::Conversation) => later_imperative(told),
        _ => None,
    };
    later.or_else(|| later_request(request.rest)).or_else(|| delivery(told)).unwrap_or(reading)
}

/// Hands the request to the rules for what it begins with.
fn read_request(request: &PeeledRequest, asks: bool) -> MessageReading {
    let rest = request.rest;
    let Some(head) = rest.first() else {
        return match request.opener {
            Some((kind, words)) => MessageReading::talk(kind, &words.iter().collect::<Vec<_>>()),
            None => MessageReading::unsure(),
        };
    };
    let reported = lists::REPORT_FRAMES.covers(rest);
    if reported > 0 && rest.get(reported).is_some_and(is_question_word) {
        return question::read_question(&rest[reported..]);
    }
    if question::begins_question(rest, request.frame, asks) {
        return question::read_question(rest);
    }
    if let Some(reading) = imperative::read_talking_verb(rest) {
        return reading;
    }
    if is_verb(head, &lists::ACTION_VERBS)
        && !imperative::is_used_as_noun(rest, asks, request.frame)
    {
        return imperative::read_action(request);
    }
    statement::read_other(request, asks)
}

/// The first imperative or question in a later clause: "the roadmap is outdated, update it".
fn later_imperative(tokens: &[WordToken]) -> Option<MessageReading> {
    later_work(tokens, |_, request| {
        let [verb, object, ..] = request.rest else { return false };
        let has_object = lists::SOFT_OBJECTS.has(&object.lower)
            || object.kind != TokenKind::Word
            || find_thing(request.rest, PointerRule::Needed).is_some();
        let told = is_verb(verb, &lists::ACTION_VERBS) && has_object;
        let asked = question::begins_question(request.rest, request.frame, false);
        told || asked
    })
}

/// A later clause that is put as a request: "…, can you restore it?", "…, please delete it".
fn later_request(tokens: &[WordToken]) -> Option<MessageReading> {
    later_work(tokens, |clause, request| {
        let acts = request.rest.first().is_some_and(|verb| is_verb(verb, &lists::ACTION_VERBS));
        let asked = request.frame == RequestFrame::Asked && request.rest.len() < clause.len();
        let put_politely = clause.iter().take(3).any(|token| token.is("you") || token.is("please"));
        asked && put_politely && acts
    })
}

/// The first later clause that is wanted, if it is read as work.
fn later_work(
    tokens: &[WordToken],
    is_wanted: impl Fn(&[WordToken], &PeeledRequest) -> bool,
) -> Option<MessageReading> {
    later_clauses(tokens).find_map(|clause| {
        let request = request::peel(clause);
        let reading = is_wanted(clause, &request).then(|| read_request(&request, false));
        reading.filter(|reading| reading.verdict == MessageVerdict::Tools)
    })
}

/// "… and save it", "then send them to Ana": whatever came before, this part is for a tool.
fn delivery(tokens: &[WordToken]) -> Option<MessageReading> {
    tokens.windows(3).find_map(|three| {
        let [and, verb, object] = three else { return None };
        let linked = and.is("and") || and.is("then") || verb.gap == TokenGap::Comma;
        let delivers = linked && is_verb(verb, &lists::DELIVERY_VERBS) && is_pronoun(object);
        delivers.then(|| MessageReading::work(MessageSign::Imperative, &[verb, object]))
    })
}
