//! Replies that make sense only with the exchange before them: "yes, do it", "the second one".
//!
//! It says whether a message is one. What it replies to is the caller's business.

use super::grammar::{is_pronoun, is_verb};
use super::lex::{self, WordToken};
use super::lists;

/// "yes, do it", "ok", "go ahead": a reply that makes sense only with the exchange before it.
pub fn is_bare_reply(message: &str) -> bool {
    if message.len() > LONGEST_BARE_REPLY {
        return false;
    }
    let sentences = lex::sentences(message);
    if sentences.is_empty() {
        return message.contains(NODDING_EMOJI);
    }
    let few_words = sentences.iter().map(|sentence| sentence.tokens.len()).sum::<usize>() <= 10;
    let mut replies = false;
    few_words
        && sentences.iter().all(|sentence| reduces_to_nothing(&sentence.tokens, &mut replies))
        && replies
}

/// Whether a message has no word that stands for something: "hello", "thanks!", "ok, do it". There
/// is nothing in it that could be looked for. A number does stand for something: it may be what was
/// asked for.
pub fn names_nothing(message: &str) -> bool {
    let is_empty = |tokens: &[WordToken]| {
        !tokens.iter().any(WordToken::is_number) && reduces_to_nothing(tokens, &mut false)
    };
    message.len() <= LONGEST_BARE_REPLY
        && lex::sentences(message).iter().all(|sentence| is_empty(&sentence.tokens))
}

/// The most bytes of a bare reply, with room for a few words of any script.
const LONGEST_BARE_REPLY: usize = 200;

const NODDING_EMOJI: &[char] = &['👍', '👎', '👌', '✅', '✔', '❌', '🆗', '🙏'];

/// Whether the tokens are nothing but phrases of assent, choice and courtesy. Greetings and thanks
/// alone make sense by themselves, so they don't set `replies`.
fn reduces_to_nothing(tokens: &[WordToken], replies: &mut bool) -> bool {
    let mut rest = tokens;
    while let Some(first) = rest.first() {
        let assent = lists::ACKNOWLEDGEMENTS
            .covers(rest)
            .max(lists::BARE_CHOICES.covers(rest))
            .max(lists::ACKNOWLEDGEMENTS_WHEN_ALONE.covers(rest))
            .max(action_on_pronoun(rest))
            .max(usize::from(first.is_number()));
        let courtesy = lists::GREETINGS
            .covers(rest)
            .max(lists::THANKS.covers(rest))
            .max(lists::REQUEST_FRAMES.covers(rest));
        // "good morning" is a greeting, though "good" alone is assent.
        *replies |= assent > 0 && assent >= courtesy;
        match assent.max(courtesy) {
            0 => return false,
            covered => rest = &rest[covered..],
        }
    }
    true
}

/// "create it", "send them": the verb is here, what it is done to is not.
fn action_on_pronoun(tokens: &[WordToken]) -> usize {
    match tokens {
        [verb, object] if is_verb(verb, &lists::ACTION_VERBS) && is_pronoun(object) => 2,
        _ => 0,
    }
}
