//! The small questions that the rules ask of tokens: is this a verb, where does the clause end.
//!
//! Nothing here decides anything about a message.

use super::lex::{TokenGap, TokenKind, WordToken};
use super::lists;
use crate::word_list::WordList;

/// Whether the token is a word of this list of verbs, and not a quotation or a path.
pub(super) fn is_verb(token: &WordToken, list: &WordList) -> bool {
    token.kind == TokenKind::Word && list.has(&token.lower)
}

pub(super) fn is_pronoun(token: &WordToken) -> bool {
    ["it", "them", "that", "this", "those", "these"].iter().any(|word| token.is(word))
}

pub(super) fn is_question_word(token: &WordToken) -> bool {
    token.kind == TokenKind::Word && lists::QUESTION_WORDS.has(token.stem())
}

/// The words that show what kind of sentence it is: its first two.
pub(super) fn head_words<'t>(tokens: &'t [WordToken<'t>]) -> Vec<&'t WordToken<'t>> {
    tokens.iter().take(2).collect()
}

/// How many tokens the first clause has: up to a comma, a colon, or the end.
pub(super) fn clause_length(tokens: &[WordToken]) -> usize {
    let next = tokens.iter().skip(1).position(|token| token.gap != TokenGap::Space);
    next.map_or(tokens.len(), |at| at + 1)
}

/// The clauses behind the first one.
pub(super) fn later_clauses<'t>(
    tokens: &'t [WordToken<'t>],
) -> impl Iterator<Item = &'t [WordToken<'t>]> {
    let mut rest = tokens.get(clause_length(tokens)..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (clause, after) = rest.split_at(clause_length(rest));
        rest = after;
        (!clause.is_empty()).then_some(clause)
    })
}

/// Behind a colon stands the material, not the request: "rephrase this: …".
pub(super) fn before_colon(tokens: &[WordToken]) -> usize {
    let colon = tokens.iter().skip(1).position(|token| token.gap == TokenGap::Colon);
    colon.map_or(tokens.len(), |at| at + 1)
}
