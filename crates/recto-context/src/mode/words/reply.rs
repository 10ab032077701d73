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
    let mut found = PhrasesFound::default();
    few_words
        && sentences.iter().all(|sentence| reduces_to_nothing(&sentence.tokens, &mut found))
        && found.assent
}

/// Whether a message has no word that stands for something: "hello", "thanks!", "ok, do it". There
/// is nothing in it that could be looked for. A number does stand for something: it may be what was
/// asked for.
pub fn names_nothing(message: &str) -> bool {
    find_phrases_alone(message).is_some()
}

/// Whether a message is a greeting, thanks or a nod and nothing else: "hello", "thanks a lot", "all good".
/// It asks for nothing. "Send it" does, though it does not name what.
pub fn is_courtesy(message: &str) -> bool {
    find_phrases_alone(message).is_some_and(|found| !found.action)
}

/// What phrases a message is made of, if there is nothing else in it.
fn find_phrases_alone(message: &str) -> Option<PhrasesFound> {
    let mut found = PhrasesFound::default();
    let mut is_empty = |tokens: &[WordToken]| {
        !tokens.iter().any(WordToken::is_number) && reduces_to_nothing(tokens, &mut found)
    };
    let is_short = message.len() <= LONGEST_BARE_REPLY;
    let is_all =
        is_short && lex::sentences(message).iter().all(|sentence| is_empty(&sentence.tokens));
    is_all.then_some(found)
}

/// The most bytes of a bare reply, with room for a few words of any script.
const LONGEST_BARE_REPLY: usize = 200;

const NODDING_EMOJI: &[char] = &['👍', '👎', '👌', '✅', '✔', '❌', '🆗', '🙏'];

/// What kinds of phrases a message has.
#[derive(Default)]
struct PhrasesFound {
    /// Assent or a choice: it replies to something. Greetings and thanks make sense by themselves.
    assent: bool,
    /// Something to do with what was named before.
    action: bool,
}

/// Whether the tokens are nothing but phrases of assent, choice and courtesy.
fn reduces_to_nothing(tokens: &[WordToken], found: &mut PhrasesFound) -> bool {
    let mut rest = tokens;
    while let Some(first) = rest.first() {
        let action = action_on_pronoun(rest);
        found.action |= action > 0;
        let assent = lists::ACKNOWLEDGEMENTS
            .covers(rest)
            .max(lists::BARE_CHOICES.covers(rest))
            .max(lists::ACKNOWLEDGEMENTS_WHEN_ALONE.covers(rest))
            .max(action)
            .max(usize::from(first.is_number()));
        let courtesy = lists::GREETINGS
            .covers(rest)
            .max(lists::THANKS.covers(rest))
            .max(lists::REQUEST_FRAMES.covers(rest));
        // "good morning" is a greeting, though "good" alone is assent.
        let is_assent = assent > 0 && assent >= courtesy;
        found.assent |= is_assent;
        // "ok, do it" asks for what was offered, "ok" need not.
        found.action |= is_assent && rest[..assent].iter().any(|token| token.is("do"));
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
        [verb, object, ..] if is_verb(verb, &lists::ACTION_VERBS) && is_pronoun(object) => 2,
        _ => 0,
    }
}
