//! Peels off what only opens a sentence ("ok,", "hello,", "could you please") and keeps what it
//! said: a courtesy, or how the rest is asked for.
//!
//! It doesn't judge the rest.

use super::grammar::clause_length;
use super::lex::{Gap, Kind, Token};
use super::{TalkKind, lists};

/// A sentence, or a clause of one, without its opening words.
pub(super) struct Request<'t, 'm> {
    /// What is left, and what the sentence is judged by.
    pub(super) rest: &'t [Token<'m>],
    /// The last kind of opener that was peeled off, and its words.
    pub(super) opener: Option<(TalkKind, &'t [Token<'m>])>,
    /// How the rest is asked for.
    pub(super) frame: Frame,
}

/// How something is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    /// Nothing was said about how it is asked for.
    Bare,
    /// "could you", "please": someone is asked to do something.
    Asked,
    /// "help me", "I want to": work only if there is a thing to work on.
    Tentative,
}

/// Takes off acknowledgements, greetings, thanks and frames, as many as there are.
pub(super) fn peel<'t, 'm>(tokens: &'t [Token<'m>]) -> Request<'t, 'm> {
    let mut request = Request { rest: tokens, opener: None, frame: Frame::Bare };
    loop {
        let rest = request.rest;
        if let Some((kind, covered)) = opener(rest) {
            request.opener = Some((kind, &rest[..covered]));
            request.rest = &rest[covered..];
        } else if lists::TALK_PHRASES.covers(rest) > 0 {
            return request;
        } else if let Some((frame, covered)) = frame(rest) {
            request.frame =
                if request.frame == Frame::Tentative { Frame::Tentative } else { frame };
            request.rest = &rest[covered..];
        } else {
            return request;
        }
    }
}

fn opener(tokens: &[Token]) -> Option<(TalkKind, usize)> {
    let thanks = lists::THANKS.covers(tokens);
    let greeting = lists::GREETINGS.covers(tokens);
    let assent = lists::ACKNOWLEDGEMENTS.covers(tokens);
    let alone = lists::ACKNOWLEDGEMENTS_WHEN_ALONE.covers(tokens);
    let pauses = |covered: usize| tokens.get(covered).is_none_or(|next| next.gap != Gap::Space);
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
fn name_length(tokens: &[Token]) -> usize {
    let pauses = tokens.get(1).is_none_or(|next| next.gap != Gap::Space);
    let is_name = tokens.first().is_some_and(|first| {
        first.gap == Gap::Space
            && first.kind == Kind::Word
            && !lists::ACTION_VERBS.has(&first.lower)
    });
    usize::from(pauses && is_name)
}

fn frame(tokens: &[Token]) -> Option<(Frame, usize)> {
    let tentative = lists::TENTATIVE_FRAMES.covers(tokens);
    let asked = lists::REQUEST_FRAMES.covers(tokens);
    match (tentative, asked) {
        (0, 0) => None,
        _ if tentative > asked => Some((Frame::Tentative, tentative)),
        _ => Some((Frame::Asked, asked)),
    }
}
