//! Compares what clients were told with what the store holds. Pure: it sees two lists, and gives
//! what is wrong with them.
//!
//! A message that was acknowledged is there, once, in the session that it was said in, and its turn is over: with one
//! reply to it, or with a word to people why there is none. A message that nobody acknowledged may be
//! there, once. A session's messages and turns are numbered without gaps, turn by turn and in the order in
//! which each client spoke. And whatever a client was told of an end is what the store says of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use super::clients::{ClientLog, SentMessage};
use super::model::{find_token, reply_to};
use super::stored::{HeldMessage, HeldRole, HeldSession, HeldTurn};

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CheckerFault {
    /// A message was acknowledged, and is not there.
    Lost { token: String },
    /// A message is there more often than once, or was given two turns.
    Doubled { token: String },
    /// A message is there that nobody said, or in another session.
    Unsaid { session: i64, message: u64 },
    /// A turn has more than one reply.
    AnsweredTwice { turn: i64 },
    /// A turn has a reply to something else.
    WrongReply { turn: i64 },
    /// A turn is over without a reply and without a word why.
    Unanswered { turn: i64 },
    /// A turn is not over.
    LeftOpen { turn: i64, status: String },
    /// A number is missing or not in its place.
    Gap { session: i64, what: &'static str, at: u64 },
    /// Messages of two turns are mixed, or stand in another order than they were said in.
    Disorder { session: i64, message: u64 },
    /// A client was told something else than the store says.
    ToldOtherwise { turn: i64, told: String, stored: String },
    /// A client was never told the end of what it was promised.
    NeverTold { token: String },
}

impl fmt::Display for CheckerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckerFault::Lost { token } => write!(f, "lost: {token} was acknowledged"),
            CheckerFault::Doubled { token } => write!(f, "double: {token}"),
            CheckerFault::Unsaid { session, message } => {
                write!(f, "unsaid: message {message} of session {session}")
            }
            CheckerFault::AnsweredTwice { turn } => write!(f, "double: two replies in turn {turn}"),
            CheckerFault::WrongReply { turn } => write!(f, "wrong: the reply of turn {turn}"),
            CheckerFault::Unanswered { turn } => write!(f, "lost: the reply of turn {turn}"),
            CheckerFault::LeftOpen { turn, status } => write!(f, "open: turn {turn} is {status}"),
            CheckerFault::Gap { session, what, at } => {
                write!(f, "gap: {what} {at} of session {session}")
            }
            CheckerFault::Disorder { session, message } => {
                write!(f, "disorder: message {message} of session {session}")
            }
            CheckerFault::ToldOtherwise { turn, told, stored } => {
                write!(f, "told otherwise: turn {turn} is {stored}, and was told as {told}")
            }
            CheckerFault::NeverTold { token } => write!(f, "never told: the end of {token}"),
        }
    }
}

/// Looks for all faults.
pub(super) fn check(logs: &[ClientLog], sessions: &[HeldSession]) -> Vec<CheckerFault> {
    let mut faults = Vec::new();
    for session in sessions {
        check_numbers(session, &mut faults);
        check_order(session, logs, &mut faults);
        for turn in &session.turns {
            check_turn(session, turn, &mut faults);
        }
    }
    check_unsaid(logs, sessions, &mut faults);
    let places = token_places(sessions);
    for sent in logs.iter().flat_map(|log| &log.messages) {
        check_sent(sent, sessions, &places, &mut faults);
    }
    faults
}

/// Where the user messages with each token stand.
type TokenPlaces = HashMap<String, Vec<(i64, Option<i64>)>>;

fn token_places(sessions: &[HeldSession]) -> TokenPlaces {
    let mut places = TokenPlaces::new();
    for session in sessions {
        for message in session.messages.iter().filter(|message| message.role == HeldRole::User) {
            if let Some(token) = find_token(&message.text) {
                places.entry(token).or_default().push((session.id, message.turn));
            }
        }
    }
    places
}

/// Messages and turns are numbered from 1 on without gaps.
fn check_numbers(session: &HeldSession, faults: &mut Vec<CheckerFault>) {
    let ids = session.messages.iter().map(|message| message.id);
    let numbers = session.turns.iter().map(|turn| turn.number);
    let mut look = |what, mut all: Box<dyn Iterator<Item = u64> + '_>| {
        let wrong = (1..).zip(&mut all).find(|(expected, number)| expected != number);
        if let Some((at, _)) = wrong {
            faults.push(CheckerFault::Gap { session: session.id, what, at });
        }
    };
    look("message", Box::new(ids));
    look("turn", Box::new(numbers));
}

/// Messages stand turn by turn, and those of a client in the order in which it said them.
fn check_order(session: &HeldSession, logs: &[ClientLog], faults: &mut Vec<CheckerFault>) {
    let numbers: HashMap<i64, u64> =
        session.turns.iter().map(|turn| (turn.id, turn.number)).collect();
    let mut last = 0;
    for message in &session.messages {
        let number = message.turn.and_then(|turn| numbers.get(&turn).copied()).unwrap_or(0);
        if number < last {
            faults.push(CheckerFault::Disorder { session: session.id, message: message.id });
        }
        last = last.max(number);
    }
    let said: BTreeMap<String, u64> = session
        .messages
        .iter()
        .filter(|message| message.role == HeldRole::User)
        .filter_map(|message| find_token(&message.text).map(|token| (token, message.id)))
        .collect();
    for log in logs {
        let mut last = 0;
        for sent in log.messages.iter().filter(|sent| sent.session == session.id) {
            let Some(id) = said.get(&sent.token) else { continue };
            if *id < last {
                faults.push(CheckerFault::Disorder { session: session.id, message: *id });
            }
            last = last.max(*id);
        }
    }
}

/// A turn is over, and has one reply to its message or a word why it has none.
fn check_turn(session: &HeldSession, turn: &HeldTurn, faults: &mut Vec<CheckerFault>) {
    let id = turn.id;
    if !turn.is_over() {
        faults.push(CheckerFault::LeftOpen { turn: id, status: turn.status.clone() });
        return;
    }
    let of_turn: Vec<&HeldMessage> =
        session.messages.iter().filter(|message| message.turn == Some(id)).collect();
    let with_role = |role| of_turn.iter().filter(move |message| message.role == role);
    let asked = with_role(HeldRole::User).find_map(|message| find_token(&message.text));
    let replies: Vec<_> = with_role(HeldRole::Assistant).collect();
    if replies.len() > 1 {
        faults.push(CheckerFault::AnsweredTwice { turn: id });
    }
    let is_answer =
        |reply: &&&&HeldMessage| asked.as_ref().is_some_and(|token| reply.text == reply_to(token));
    let (right, is_done) = (replies.iter().filter(is_answer).count(), turn.status == "done");
    if right < replies.len() && is_done {
        faults.push(CheckerFault::WrongReply { turn: id });
    }
    let has_word = with_role(HeldRole::Error).next().is_some();
    // One that was closed before it began has its word with it, and its message, too.
    let is_unbegun = turn.begins == 0;
    if (is_done && replies.is_empty()) || (!is_done && !has_word && !is_unbegun) {
        faults.push(CheckerFault::Unanswered { turn: id });
    }
}

/// Nothing stands in a session that nobody has said there.
fn check_unsaid(logs: &[ClientLog], sessions: &[HeldSession], faults: &mut Vec<CheckerFault>) {
    let sent = logs.iter().flat_map(|log| &log.messages);
    let said: BTreeSet<(i64, &str)> = sent.map(|sent| (sent.session, &*sent.token)).collect();
    for session in sessions {
        for message in session.messages.iter().filter(|message| message.role == HeldRole::User) {
            let token = find_token(&message.text);
            if token.is_none_or(|token| !said.contains(&(session.id, token.as_str()))) {
                faults.push(CheckerFault::Unsaid { session: session.id, message: message.id });
            }
        }
    }
}

/// What a client was told of a message is so.
fn check_sent(
    sent: &SentMessage,
    sessions: &[HeldSession],
    places: &TokenPlaces,
    faults: &mut Vec<CheckerFault>,
) {
    let token = sent.token.clone();
    let found = places.get(&token).map_or(&[][..], Vec::as_slice);
    let turns: BTreeSet<i64> = sent.acknowledged.iter().map(|word| word.turn).collect();
    if found.len() > 1 || turns.len() > 1 {
        faults.push(CheckerFault::Doubled { token: token.clone() });
    }
    let Some(turn) = turns.first().copied() else { return };
    let all = sessions.iter().filter(|session| session.id == sent.session);
    let stored = all.flat_map(|session| &session.turns).find(|stored| stored.id == turn);
    let is_there = found.contains(&(sent.session, Some(turn)));
    let Some(stored) = stored.filter(|stored| is_there || stored.begins == 0) else {
        faults.push(CheckerFault::Lost { token });
        return;
    };
    if sent.told.is_empty() {
        faults.push(CheckerFault::NeverTold { token: token.clone() });
    }
    for told in &sent.told {
        let is_so = told.turn == turn && told.status == stored.status;
        let is_reply = told.status != "done" || told.reply == Some(reply_to(&token));
        if !is_so || !is_reply {
            let told = format!("{} ({:?})", told.status, told.reply);
            let stored = stored.status.clone();
            faults.push(CheckerFault::ToldOtherwise { turn, told, stored });
        }
    }
}

#[cfg(test)]
mod tests;
