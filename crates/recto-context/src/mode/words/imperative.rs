//! Sentences that begin with a verb: of doing, which is work, or of talking.
//!
//! Which of the two a verb is stands in [`lists`]; here stands what its object does to that. A poem
//! is written in words, unless it is written into a file; a file is explained only by reading it.

use super::grammar::{before_colon, head_words};
use super::lex::{TokenGap, TokenKind, WordToken};
use super::request::{PeeledRequest, RequestFrame};
use super::thing::{PointerRule, find_any_thing, find_thing};
use super::{MessageReading, MessageSign, TalkKind, lists};

/// Verbs that ask for words. Where one of them is given a thing to look at, it is work.
pub(super) fn read_talking_verb(tokens: &[WordToken]) -> Option<MessageReading> {
    let head = tokens.first()?;
    if lists::TALK_PHRASES.covers(tokens) > 0 || lists::REFINEMENTS.covers(tokens) > 0 {
        return Some(MessageReading::talk(TalkKind::Conversation, &head_words(tokens)));
    }
    let kind = match head.stem() {
        _ if head.kind != TokenKind::Word => return None,
        "tell" if tells_someone_else(tokens) => return None,
        verb if lists::CREATIVE_VERBS.has(verb) => TalkKind::Creative,
        verb if lists::EXPLAIN_VERBS.has(verb) => TalkKind::Explanation,
        verb if lists::TEXT_VERBS.has(verb) => TalkKind::Conversation,
        verb if lists::CONVERSATION_VERBS.has(verb) => TalkKind::Conversation,
        _ => return None,
    };
    let made = if head.stem() == "give" { made_up_noun(tokens) } else { None };
    let told = &tokens[..before_colon(tokens)];
    if made.is_none()
        && let Some(thing) = find_thing(told, PointerRule::Needed)
    {
        let words: Vec<_> = std::iter::once(head).chain(thing).collect();
        return Some(MessageReading::work(MessageSign::Imperative, &words));
    }
    Some(MessageReading::talk(kind, &head_words(tokens)))
}

/// "tell Ana that …" is a message to send.
fn tells_someone_else(tokens: &[WordToken]) -> bool {
    tokens.get(1).is_some_and(|to| !["me", "us", "a", "the", "stories"].contains(&to.stem()))
}

/// "email is dead", "book recommendations", "run or walk?": the word is a noun here.
pub(super) fn is_used_as_noun(tokens: &[WordToken], asks: bool, frame: RequestFrame) -> bool {
    let Some(next) = tokens.get(1).filter(|next| next.gap == TokenGap::Space) else { return false };
    let predicate = ["is", "are", "was", "were", "has", "of", "vs", "or", "shows", "isn't"];
    let chooses = asks && frame == RequestFrame::Bare && tokens.iter().any(|token| token.is("or"));
    predicate.iter().any(|word| next.is(word)) || lists::TALK_NOUNS.has(&next.lower) || chooses
}

/// A verb of doing is work, unless what it makes is a text or an idea.
pub(super) fn read_action(request: &PeeledRequest) -> MessageReading {
    let tokens = request.rest;
    let head = &tokens[0];
    if let Some(noun) = made_up_noun(tokens).filter(|_| lists::MAKER_VERBS.has(&head.lower)) {
        let kept = kept_in_thing(tokens);
        return match kept {
            Some(thing) => MessageReading::work(MessageSign::Imperative, &[head, thing]),
            None => MessageReading::talk(TalkKind::Creative, &[head, noun]),
        };
    }
    if let Some(manner) = lists::MANNERS.find(tokens) {
        return MessageReading::talk(TalkKind::Creative, &manner);
    }
    let particle = tokens.get(1).filter(|next| lists::LOOK_PARTICLES.has(&next.lower));
    let weak = lists::WEAK_ACTION_VERBS.has(&head.lower) && particle.is_none();
    let thing = find_any_thing(tokens);
    match thing {
        Some(thing) => MessageReading::work(MessageSign::Imperative, &[head, thing]),
        None if request.frame == RequestFrame::Tentative => {
            MessageReading::talk(TalkKind::Conversation, &head_words(tokens))
        }
        None if weak => read_weak_action(tokens),
        None => {
            let words: Vec<_> = std::iter::once(head).chain(particle).collect();
            MessageReading::work(MessageSign::Imperative, &words)
        }
    }
}

/// "list three reasons" is talk; "put it back" is left open.
fn read_weak_action(tokens: &[WordToken]) -> MessageReading {
    match tokens[0].lower.as_str() {
        "list" | "count" | "identify" => {
            MessageReading::talk(TalkKind::Explanation, &head_words(tokens))
        }
        _ => MessageReading::unsure(),
    }
}

/// The noun of the verb's object, if it is a text or an idea: "write a short *story* about …".
pub(super) fn made_up_noun<'t>(tokens: &'t [WordToken<'t>]) -> Option<&'t WordToken<'t>> {
    let articles = ["a", "an", "the", "this", "that", "it", "me", "us", "into", "my", "some", "up"];
    let object = tokens.iter().skip(1).take(8).take_while(|token| {
        token.kind == TokenKind::Word
            && token.gap == TokenGap::Space
            && (articles.contains(&token.stem()) || !lists::FUNCTION_WORDS.has(&token.lower))
    });
    // A phrase is about its last noun: a "message queue" is no message.
    let is_text = |token: &&WordToken| lists::CREATIVE_NOUNS.has_noun(&token.lower);
    let is_thing = |token: &WordToken| lists::THINGS.has_noun(&token.lower);
    let object: Vec<_> = object.collect();
    let last_is_thing = object.last().is_some_and(|last| is_thing(last) && !is_text(last));
    object.into_iter().rfind(is_text).filter(|_| !last_is_thing)
}

/// "write a poem *into my notes*": the text is made up, but it has to be put somewhere.
fn kept_in_thing<'t>(tokens: &'t [WordToken<'t>]) -> Option<&'t WordToken<'t>> {
    let keeps = ["to", "into", "in", "from", "of", "on"];
    let at = tokens.iter().position(|token| keeps.iter().any(|word| token.is(word)))?;
    find_thing(&tokens[at..], PointerRule::Needed)?.pop()
}
