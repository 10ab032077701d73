//! Everything that begins with neither a question word nor a known verb: statements, fragments,
//! and requests in verbs that no list has.
//!
//! This is where most messages end up undecided, and that is meant: it makes no guess.

use super::grammar::{head_words, is_verb};
use super::imperative::made_up_noun;
use super::lex::WordToken;
use super::question::read_question;
use super::request::{PeeledRequest, RequestFrame};
use super::thing::{PointerRule, find_thing};
use super::{MessageReading, MessageSign, TalkKind, lists};

/// Judges by the subject, by things that are pointed at, and by whether it is asked.
pub(super) fn read_other(request: &PeeledRequest, asks: bool) -> MessageReading {
    let tokens = request.rest;
    let head = &tokens[0];
    if let Some(words) = lists::LIVE_FACTS.find(tokens) {
        return MessageReading::work(MessageSign::StateQuestion, &words);
    }
    if lists::EXISTENCE.covers(tokens) > 0 {
        return read_question(tokens);
    }
    if lists::STATEMENT_HEADS.has(head.stem()) || lists::POSSESSIVES.has(&head.lower) {
        return read_statement(tokens);
    }
    let pointed = tokens.get(1).is_some_and(|next| lists::DETERMINERS.has(&next.lower));
    let thing = find_thing(tokens, PointerRule::Needed);
    if request.frame == RequestFrame::Tentative && thing.is_none() {
        return MessageReading::talk(TalkKind::Statement, &head_words(tokens));
    }
    if let Some(verb) = closing_verb(request) {
        return MessageReading::work(MessageSign::Imperative, &[verb]);
    }
    if request.frame == RequestFrame::Asked || pointed || head.is("tell") {
        return match thing {
            Some(thing) => MessageReading::work(MessageSign::Imperative, &thing),
            None if head.is("tell") => MessageReading::work(MessageSign::Imperative, &[head]),
            None if asks => MessageReading::talk(TalkKind::Question, &head_words(tokens)),
            None => MessageReading::unsure(),
        };
    }
    let is_idea = |token: &&WordToken| {
        lists::TALK_NOUNS.has(&token.lower) || lists::CREATIVE_NOUNS.has_noun(&token.lower)
    };
    if let Some(idea) = tokens.iter().take(2).find(is_idea) {
        return MessageReading::talk(TalkKind::Creative, &[idea]);
    }
    if lists::CONDITION_HEADS.has(&head.lower) && !asks {
        return MessageReading::unsure();
    }
    read_fragment(tokens, asks)
}

/// German and Dutch put the verb of a request last: "kannst du die Datei *löschen*?".
fn closing_verb<'t>(request: &PeeledRequest<'t>) -> Option<&'t WordToken<'t>> {
    let asked = request.frame == RequestFrame::Asked && request.rest.len() > 1;
    request.rest.last().filter(|last| asked && is_verb(last, &lists::ACTION_VERBS))
}

/// Someone tells something. It is work if it tells what they need, or that a thing is in trouble.
fn read_statement(tokens: &[WordToken]) -> MessageReading {
    let wants = tokens.iter().take(4).find(|token| {
        ["need", "want", "find", "forgot"].iter().any(|word| token.is(word))
            || lists::TROUBLE_WORDS.has(&token.lower)
    });
    let trouble =
        wants.or_else(|| tokens.iter().find(|token| lists::TROUBLE_WORDS.has(&token.lower)));
    match (trouble, find_thing(tokens, PointerRule::EvenInCompound)) {
        (Some(trouble), Some(mut thing)) if made_up_noun(tokens).is_none() => {
            thing.push(trouble);
            MessageReading::work(MessageSign::StateQuestion, &thing)
        }
        _ => MessageReading::talk(TalkKind::Statement, &head_words(tokens)),
    }
}

/// Reads what has no verb to go by: "status of the deploy?", "coffee or tea?", "the movie was
/// great".
fn read_fragment(tokens: &[WordToken], asks: bool) -> MessageReading {
    let head = &tokens[0];
    let thing = find_thing(tokens, PointerRule::EvenInCompound);
    let says =
        |token: &WordToken| ["is", "was", "are", "were", "am"].contains(&token.lower.as_str());
    let stands = |token: &WordToken| {
        lists::TROUBLE_WORDS.has(&token.lower) || lists::STATUS_WORDS.has(&token.lower)
    };
    // "email is overrated" is an opinion, "email is down" is not.
    let is_thing = lists::THINGS.has_noun(&head.lower)
        && (asks || !tokens.iter().any(says) || tokens.iter().any(stands));
    match thing {
        Some(words) if asks || !is_thing => {
            MessageReading::work(MessageSign::StateQuestion, &words)
        }
        None if is_thing && asks => MessageReading::work(MessageSign::StateQuestion, &[head]),
        None if asks => MessageReading::talk(TalkKind::Question, &head_words(tokens)),
        None if !is_thing && tokens.iter().any(says) => {
            MessageReading::talk(TalkKind::Statement, &head_words(tokens))
        }
        _ => MessageReading::unsure(),
    }
}
