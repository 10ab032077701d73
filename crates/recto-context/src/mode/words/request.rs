//! Peels off what only opens a sentence ("ok,", "hello,", "could you please") and keeps what it
//! said: a courtesy, or how the rest is asked for.
//!
//! It doesn't judge the rest.

use super::grammar::clause_length;
use super::lex::{TokenGap, TokenKind, WordToken};
use super::{TalkKind, lists};

/// A sentence, or a clause of one, without its opening words.
pub(super) struct PeeledRequest<'t> {
    /// What is left, and what the sentence is judged by.
    pub(super) rest: &'t [WordToken<'t>],
    /// The last kind of opener that was peeled off, and its words.
    pub(super) opener: Option<(TalkKind, &'t [WordToken<'t>])>,
    /// How the rest is asked for.
    pub(super) frame: RequestFrame,
}

/// How something is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestFrame {
    /// Nothing was said about how it is asked for.
    Bare,
    /// "could you", "please": someone is asked to do something.
    Asked,
    /// "help me", "I want to": work only if there is a thing to work on.
    Tentative,
}

/// Takes off acknowledgements, greetings, thanks and frames, as many as there are.
pub(super) fn peel<'t>(tokens: &'t [WordToken<'t>]) -> PeeledRequest<'t> {
    let mut request = PeeledRequest { rest: tokens, opener: None, frame: RequestFrame::Bare };
    loop {
        let rest = request.rest;
        if let Some((kind, covered)) = opener(rest) {
            request.opener = Some((kind, &rest[..covered]));
            request.rest = &rest[covered..];
        } else if lists::TALK_PHRASES.covers(rest) > 0 {
            return request;
        } else if let Some((frame, covered)) = frame(rest) {
            request.frame = if request.frame == RequestFrame::Tentative {
                RequestFrame::Tentative
            } else {
                frame
            };
            request.rest = &rest[covered..];
        } else {
            return request;
        }
    }
}

fn opener(tokens: &[WordToken]) -> Option<(TalkKind, usize)> {
    let thanks = lists::THANKS.covers(tokens);
    let greeting = lists::GREETINGS.covers(tokens);
    let assent = lists::ACKNOWLEDGEMENTS.covers(tokens);
    let alone = lists::ACKNOWLEDGEMENTS_WHEN_ALONE.covers(tokens);
    let pauses =
        |covered: usize| tokens.get(covered).is_none_or(|next| next.gap != TokenGap::Space);
    if thanks > 0 && thanks >= assent {
        // "thanks for the file": the rest of the clause says what for.
        return Some((TalkKind::Thanks, clause_length(tokens)));
    }
    if greeting > 0 {
        return Some((TalkKind::Greeting, greeting + name_length(&tokens[greeting..])));
    }
    if assent > 0 {
        return Some((TalkKind::Acknowledgement, assent));
    }
    (alone > 0 && pauses(alone)).then_some((TalkKind::Acknowledgement, alone))
}

/// "hi Recto, …": a single word between a greeting and a pause is a name.
fn name_length(tokens: &[WordToken]) -> usize {
    let pauses = tokens.get(1).is_none_or(|next| next.gap != TokenGap::Space);
    let is_name = tokens.first().is_some_and(|first| {
        first.gap == TokenGap::Space
            && first.kind == TokenKind::Word
            && !lists::ACTION_VERBS.has(&first.lower)
    });
    usize::from(pauses && is_name)
}

fn frame(tokens: &[WordToken]) -> Option<(RequestFrame, usize)> {
    let tentative = lists::TENTATIVE_FRAMES.covers(tokens);
    let asked = lists::REQUEST_FRAMES.covers(tokens);
    match (tentative, asked) {
        (0, 0) => None,
        _ if tentative > asked => Some((RequestFrame::Tentative, tentative)),
        _ => Some((RequestFrame::Asked, asked)),
    }
}
