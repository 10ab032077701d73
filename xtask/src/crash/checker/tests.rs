//! Faults that are planted, and have to be found.

use std::time::{Duration, SystemTime};

use super::*;
use crate::crash::clients::{Acknowledgement, ToldEnd};

/// A client that said two things in one session and was told all of it, and the session.
fn whole() -> (Vec<ClientLog>, Vec<HeldSession>) {
    let sent = |turn: i64, token: &str| SentMessage {
        session: 7,
        token: token.to_owned(),
        acknowledged: vec![Acknowledgement { turn, node: 0, at: SystemTime::UNIX_EPOCH }],
        told: vec![ToldEnd { turn, status: "done".into(), reply: Some(reply_to(token)) }],
        took: Duration::ZERO,
    };
    let turn = |id, number| HeldTurn {
        id,
        number,
        status: "done".to_owned(),
        begins: 1,
        requests: Vec::new(),
    };
    let message = |id, turn, role, text: &str| HeldMessage {
        id,
        turn: Some(turn),
        role,
        text: text.to_owned(),
    };
    let log = ClientLog { messages: vec![sent(1, "note-1-1"), sent(2, "note-1-2")] };
    let messages = vec![
        message(1, 1, HeldRole::User, "please take note-1-1 down"),
        message(2, 1, HeldRole::Assistant, &reply_to("note-1-1")),
        message(3, 2, HeldRole::User, "please take note-1-2 down"),
        message(4, 2, HeldRole::Assistant, &reply_to("note-1-2")),
    ];
    let session = HeldSession { id: 7, turns: vec![turn(1, 1), turn(2, 2)], messages };
    (vec![log], vec![session])
}

/// Plants something, and gives what is found.
fn planted(plant: impl FnOnce(&mut ClientLog, &mut HeldSession)) -> Vec<CheckerFault> {
    let (mut logs, mut sessions) = whole();
    plant(&mut logs[0], &mut sessions[0]);
    check(&logs, &sessions)
}

#[track_caller]
fn check_found(found: &[CheckerFault], expected: &CheckerFault) {
    assert!(found.contains(expected), "{expected} is not in {found:?}");
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    assert_eq!(planted(|_, _| {}), []);
    // What was not acknowledged may be there or not.
    assert_eq!(planted(|log, _| log.messages[1].acknowledged.clear()), []);
    let unsaid = |log: &mut ClientLog, session: &mut HeldSession| {
        log.messages[1].acknowledged.clear();
        log.messages[1].told.clear();
        session.messages.truncate(2);
        session.turns.truncate(1);
    };
    assert_eq!(planted(unsaid), []);
    // A turn that was cut short has a word for people instead of a reply.
    let interrupted = |log: &mut ClientLog, session: &mut HeldSession| {
        session.turns[1].status = "interrupted".to_owned();
        session.messages[3].role = HeldRole::Error;
        log.messages[1].told[0].status = "interrupted".to_owned();
    };
    assert_eq!(planted(interrupted), []);
}

#[test]
fn what_was_lost_is_found() {
    let lost = CheckerFault::Lost { token: "note-1-2".to_owned() };
    check_found(
        &planted(|_, session| {
            session.messages.truncate(2);
            session.turns.truncate(1);
        }),
        &lost,
    );
    check_found(&planted(|_, session| session.messages[2].text = "nothing".to_owned()), &lost);
    let unanswered = CheckerFault::Unanswered { turn: 2 };
    check_found(&planted(|_, session| session.messages.truncate(3)), &unanswered);
    let silent = planted(|_, session| {
        session.messages.truncate(3);
        session.turns[1].status = "failed".to_owned();
    });
    check_found(&silent, &unanswered);
    let never = CheckerFault::NeverTold { token: "note-1-2".to_owned() };
    check_found(&planted(|log, _| log.messages[1].told.clear()), &never);
    let open = CheckerFault::LeftOpen { turn: 2, status: "running".to_owned() };
    check_found(&planted(|_, session| session.turns[1].status = "running".to_owned()), &open);
}

#[test]
fn what_was_done_twice_is_found() {
    let doubled = CheckerFault::Doubled { token: "note-1-2".to_owned() };
    let twice = planted(|_, session| {
        let mut again = session.messages[2].clone();
        (again.id, again.turn) = (5, Some(3));
        session.messages.push(again);
    });
    check_found(&twice, &doubled);
    let two_turns = planted(|log, _| {
        let mut other = log.messages[1].acknowledged[0].clone();
        other.turn = 3;
        log.messages[1].acknowledged.push(other);
    });
    check_found(&two_turns, &doubled);
    let answered = planted(|_, session| {
        let mut again = session.messages[3].clone();
        again.id = 5;
        session.messages.push(again);
    });
    check_found(&answered, &CheckerFault::AnsweredTwice { turn: 2 });
}

#[test]
fn gaps_and_disorder_are_found() {
    let gap = |what, at| CheckerFault::Gap { session: 7, what, at };
    check_found(&planted(|_, session| session.messages[3].id = 9), &gap("message", 4));
    check_found(&planted(|_, session| session.turns[1].number = 3), &gap("turn", 2));
    let mixed = planted(|_, session| {
        session.messages[1].turn = Some(2);
        session.messages[2].turn = Some(1);
    });
    check_found(&mixed, &CheckerFault::Disorder { session: 7, message: 3 });
    let turned = planted(|log, _| log.messages.reverse());
    check_found(&turned, &CheckerFault::Disorder { session: 7, message: 1 });
}

#[test]
fn what_nobody_said_and_what_was_told_otherwise_is_found() {
    let foreign = planted(|_, session| session.messages[2].text = "take note-9-9 down".to_owned());
    check_found(&foreign, &CheckerFault::Unsaid { session: 7, message: 3 });
    let wrong = planted(|_, session| session.messages[3].text = reply_to("note-1-1"));
    check_found(&wrong, &CheckerFault::WrongReply { turn: 2 });
    let told = |told: &str| CheckerFault::ToldOtherwise {
        turn: 2,
        told: told.to_owned(),
        stored: "done".to_owned(),
    };
    let failed = planted(|log, _| {
        log.messages[1].told[0] = ToldEnd { turn: 2, status: "failed".into(), reply: None };
    });
    check_found(&failed, &told("failed (None)"));
    let other = planted(|log, _| log.messages[1].told[0].reply = Some("no".to_owned()));
    check_found(&other, &told("done (Some(\"no\"))"));
}
