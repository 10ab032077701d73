//! Questions: about the world, which is talk, or about how a thing stands that tools can look at.
//!
//! It judges by the form of the question and the words in it. It knows no answers, and not whether
//! a tool is there that could find one.

use super::grammar::{clause_length, head_words};
use super::lex::{TokenKind, WordToken};
use super::request::RequestFrame;
use super::thing::{PointerRule, find_thing, listed_thing};
use super::{MessageReading, MessageSign, TalkKind, lists};

/// Question words and auxiliaries at the head. "do" and "have" are imperatives as well, and "if"
/// and "when" begin conditions: without a question mark those are left to the other rules.
pub(super) fn begins_question(tokens: &[WordToken], frame: RequestFrame, asks: bool) -> bool {
    let [head, ..] = tokens else { return false };
    if head.kind != TokenKind::Word || frame == RequestFrame::Tentative {
        return false;
    }
    let next_is_object = tokens.get(1).is_some_and(|next| {
        lists::SOFT_OBJECTS.has(&next.lower) && !next.is("that") && !next.is("everything")
    });
    match head.stem() {
        "if" | "when" | "whether" => clause_length(tokens) == tokens.len() && asks,
        "do" | "have" | "don" if next_is_object && !asks => false,
        "don" => false,
        stem => lists::QUESTION_WORDS.has(stem) || lists::AUXILIARIES.has(stem),
    }
}

/// A question about the world is talk. One about a thing that is pointed at, about a number that
/// changes by the hour, or whether something runs, is work.
pub(super) fn read_question(tokens: &[WordToken]) -> MessageReading {
    let talk = || MessageReading::talk(TalkKind::Question, &head_words(tokens));
    let inquiry = &tokens[..question_length(tokens)];
    if lists::ABOUT_THE_WORLD.covers(inquiry) > 0 {
        return talk();
    }
    if let Some(words) = lists::LIVE_FACTS.find(inquiry) {
        return MessageReading::work(MessageSign::StateQuestion, &words);
    }
    if inquiry.iter().any(|token| lists::WORLD_WORDS.has(token.stem())) {
        return talk();
    }
    let thing = match question_form(inquiry) {
        QuestionForm::Existence => {
            find_thing(inquiry, PointerRule::Anyhow).or_else(|| listed_thing(inquiry))
        }
        QuestionForm::OwnDate => Some(inquiry.iter().take(3).collect()),
        QuestionForm::YesOrNo => find_thing(inquiry, PointerRule::EvenInCompound),
        QuestionForm::Which => {
            listed_thing(inquiry).or_else(|| find_thing(inquiry, PointerRule::Needed))
        }
        QuestionForm::Open => find_thing(inquiry, PointerRule::Needed),
    };
    if let Some(words) = thing.or_else(|| status_word(inquiry)) {
        return MessageReading::work(MessageSign::StateQuestion, &words);
    }
    talk()
}

/// How many tokens are asked: the first clause; but "is it X, or my Y" goes on.
fn question_length(tokens: &[WordToken]) -> usize {
    let length = clause_length(tokens);
    if length < 3 { tokens.len() } else { length }
}

enum QuestionForm {
    /// "is there a …", "do I have any …".
    Existence,
    /// "did the …", "is my …", "how did the …".
    YesOrNo,
    /// "when does my … expire": a date of one's own is kept somewhere.
    OwnDate,
    /// "which …", "how many …".
    Which,
    Open,
}

fn question_form(tokens: &[WordToken]) -> QuestionForm {
    let [head, ..] = tokens else { return QuestionForm::Open };
    let counts = tokens.get(1).is_some_and(|next| next.is("many") || next.is("much"));
    // "how did the nightly job go" asks about one job; "how does the file system work" about all.
    let happened = tokens.get(1).is_some_and(|next| next.is("did") || next.is("has"));
    let own = tokens.iter().skip(1).take(2).any(|token| lists::POSSESSIVES.has(&token.lower));
    match head.stem() {
        _ if lists::EXISTENCE.covers(tokens) > 0 => QuestionForm::Existence,
        "how" if counts => QuestionForm::Which,
        "when" if own => QuestionForm::OwnDate,
        _ if happened => QuestionForm::YesOrNo,
        "which" | "what" | "whats" => QuestionForm::Which,
        "if" | "whether" => QuestionForm::YesOrNo,
        stem if lists::AUXILIARIES.has(stem) && !lists::QUESTION_WORDS.has(stem) => {
            QuestionForm::YesOrNo
        }
        _ => QuestionForm::Open,
    }
}

/// "is docker running", "is anything listening on 5432": the question ends in how it stands.
fn status_word<'t>(tokens: &'t [WordToken<'t>]) -> Option<Vec<&'t WordToken<'t>>> {
    let head = tokens.first()?;
    let verb = ["is", "are", "if", "whether", "has", "did", "am"].contains(&head.stem());
    let ends = |at: usize| match tokens.get(at + 1) {
        None => true,
        Some(next) => ["on", "at", "again", "now", "yet"].iter().any(|word| next.is(word)),
    };
    let states = |at: &usize| lists::STATUS_WORDS.has(&tokens[*at].lower) && ends(*at);
    let at = (2..tokens.len()).find(states).filter(|_| verb)?;
    Some(vec![head, &tokens[at]])
}
