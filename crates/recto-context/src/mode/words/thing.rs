//! Finds the thing in a sentence that tools can look at: "the file", "my calendar", "ticket 4411".
//!
//! A noun alone is not enough: it has to be pointed at, as clearly as the caller says. What is
//! asked of the thing is not looked at here.

use super::grammar::is_question_word;
use super::lex::{TokenGap, TokenKind, WordToken};
use super::lists;

/// How clearly a thing has to be pointed at before it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PointerRule {
    /// With an article, a possessive or a number, and as the last word of its noun phrase: "the
    /// folder", not "the folder paradox".
    Needed,
    /// As above, but a predicate may follow: "did the build pass".
    EvenInCompound,
    /// The sentence has pointed already: "is there a file".
    Anyhow,
}

/// The thing in the sentence that tools can look at, with the word that points at it.
pub(super) fn find_thing<'t>(
    tokens: &'t [WordToken<'t>],
    pointed: PointerRule,
) -> Option<Vec<&'t WordToken<'t>>> {
    // The last determiner before the current word, for as long as its noun phrase lasts.
    let mut pointer: Option<(usize, bool)> = None;
    for (at, token) in tokens.iter().enumerate() {
        if token.kind == TokenKind::Address {
            return Some(vec![token]);
        }
        if token.kind != TokenKind::Word {
            pointer = None;
            continue;
        }
        if token.gap != TokenGap::Space {
            pointer = None;
        }
        if let Some(thing) = thing_at(tokens, at, pointer, pointed) {
            return Some(thing);
        }
        pointer = next_pointer(token, at, pointer);
    }
    None
}

fn next_pointer(
    token: &WordToken,
    at: usize,
    before: Option<(usize, bool)>,
) -> Option<(usize, bool)> {
    let of_someone = token.lower.ends_with("'s") && !lists::FUNCTION_WORDS.has(token.stem());
    let contracted =
        of_someone && (is_question_word(token) || lists::STATEMENT_HEADS.has(token.stem()));
    if lists::POSSESSIVES.has(&token.lower) || (of_someone && !contracted) {
        return Some((at, true));
    }
    if lists::DETERMINERS.has(&token.lower) {
        return Some((at, false));
    }
    let (from, own) = before?;
    let reach = if own { 4 } else { 3 };
    let ends = lists::FUNCTION_WORDS.has(&token.lower) && !(own && at - from <= 2);
    (at - from < reach && !ends).then_some((from, own))
}

fn thing_at<'t>(
    tokens: &'t [WordToken<'t>],
    at: usize,
    pointer: Option<(usize, bool)>,
    pointed: PointerRule,
) -> Option<Vec<&'t WordToken<'t>>> {
    let token = &tokens[at];
    let shared = lists::THINGS.has_noun(&token.lower);
    let personal = lists::PERSONAL_THINGS.has_noun(&token.lower);
    let numbered =
        tokens.get(at + 1).filter(|next| next.is_number() && next.gap == TokenGap::Space);
    if let (true, Some(number)) = (shared, numbered) {
        return Some(vec![token, number]);
    }
    let shouted = shared && is_shouted(tokens, at);
    if shouted || (shared && pointed == PointerRule::Anyhow) {
        return Some(vec![token]);
    }
    let (from, own) = pointer?;
    let is_thing = shared || (personal && own);
    let whole = pointed == PointerRule::EvenInCompound || ends_noun_phrase(tokens, at);
    (is_thing && whole).then(|| vec![&tokens[from], token])
}

/// ROADMAP, MEMORY: files of a workspace, named without an extension. In a message that is shouted
/// as a whole, where the words around are shouted too, capitals say nothing.
fn is_shouted(tokens: &[WordToken], at: usize) -> bool {
    let upper = |token: &WordToken| {
        let longest_word = 40;
        (4..longest_word).contains(&token.typed.len())
            && token.typed.chars().all(|c| c.is_uppercase() || c == '_')
    };
    let has_lower = |token: &WordToken| token.typed.chars().any(char::is_lowercase);
    let quiet_around = tokens[at.saturating_sub(1)..].iter().take(3).any(has_lower);
    upper(&tokens[at]) && quiet_around
}

fn ends_noun_phrase(tokens: &[WordToken], at: usize) -> bool {
    tokens.get(at + 1).is_none_or(|next| {
        next.gap != TokenGap::Space
            || next.kind != TokenKind::Word
            || next.is_number()
            || lists::FUNCTION_WORDS.has(next.stem())
            || lists::THINGS.has_noun(&next.lower)
            || next.lower.ends_with("ly")
    })
}

/// "which tests …", "what port …", "how many unread emails …": the thing stands right behind.
pub(super) fn listed_thing<'t>(tokens: &'t [WordToken<'t>]) -> Option<Vec<&'t WordToken<'t>>> {
    let near = tokens.iter().skip(1).take(3);
    let plain = near.take_while(|token| {
        !lists::FUNCTION_WORDS.has(token.stem()) || token.is("many") || token.is("open")
    });
    let thing = plain.filter(|token| lists::THING_HEADS_IN_A_LIST.has_noun(&token.lower)).last()?;
    Some(vec![&tokens[0], thing])
}

/// Any thing at all: in an imperative, "restart nginx containers" needs no article.
pub(super) fn find_any_thing<'t>(tokens: &'t [WordToken<'t>]) -> Option<&'t WordToken<'t>> {
    let object = || tokens.iter().skip(1);
    let plain = object().find(|token| {
        token.kind == TokenKind::Address
            || (token.kind == TokenKind::Word && lists::THINGS.has_noun(&token.lower))
    });
    plain.or_else(|| find_thing(tokens, PointerRule::Needed)?.pop())
}
