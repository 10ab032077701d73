//! Whoever comes back at whichever number gets each event and each piece of text
//! once, and what is kept stays within its bounds.

use proptest::prelude::*;
use recto_store::TurnEnding;
use recto_tools::ToolOutcome;

use super::*;
use crate::event::{FinishedTurn, RunningCall};
use crate::notice::NoticeFacts;
use crate::turn_usage::UsageTotals;

const START: EventNumber = EventNumber(1_000);

fn session() -> SessionId {
    "1".parse().unwrap()
}

fn turn(number: u64) -> TurnId {
    number.to_string().parse().unwrap()
}

fn text(text: &str) -> EventKind {
    EventKind::Text { text: text.to_owned() }
}

fn thinking(text: &str) -> EventKind {
    EventKind::Thinking { text: text.to_owned() }
}

fn notice(text: &str) -> EventKind {
    EventKind::Notice(NoticeFacts::SessionFileFailed { problem: text.to_owned() }.into())
}

fn call(id: &str) -> EventKind {
    let (id, name, arguments) = (id.to_owned(), "hold".to_owned(), "{}".to_owned());
    EventKind::Call(RunningCall { id, name, arguments })
}

fn result(id: &str) -> EventKind {
    let (id, name, text) = (id.to_owned(), "hold".to_owned(), "held".to_owned());
    EventKind::Result { id, name, outcome: ToolOutcome::Done, text }
}

fn requested() -> EventKind {
    EventKind::Requested {
        request: "1".parse().unwrap(),
        number: 1,
        model: "fake".to_owned(),
        mode: recto_context::Mode::Full,
        prompt_tokens: 1,
        agreed_tokens: 0,
    }
}

fn finished(reply: &str) -> EventKind {
    EventKind::Finished(FinishedTurn {
        status: TurnEnding::Done,
        reply: Some(reply.to_owned()),
        error: None,
        usage: UsageTotals::default(),
        calls: Vec::new(),
    })
}

fn log_of(events: impl IntoIterator<Item = (TurnId, EventKind)>) -> EventLog {
    let mut log = EventLog::starting_after(START, session());
    for (turn, event) in events {
        log.push(turn, event);
    }
    log
}

/// All that a listener gets that has seen this number.
fn read_from(log: &EventLog, mut seen: EventNumber) -> Vec<TurnEvent> {
    let mut read = Vec::new();
    while let Some(event) = log.next_after(seen) {
        seen = event.seq;
        read.push(event);
    }
    read
}

/// What happened, however many pieces its texts came in.
fn joined(events: impl IntoIterator<Item = TurnEvent>) -> Vec<(Option<TurnId>, EventKind)> {
    let mut all: Vec<(Option<TurnId>, EventKind)> = Vec::new();
    for TurnEvent { turn, event, .. } in events {
        match (all.last_mut(), &event) {
            (Some((of, EventKind::Text { text })), EventKind::Text { text: more })
            | (Some((of, EventKind::Thinking { text })), EventKind::Thinking { text: more })
                if *of == turn =>
            {
                text.push_str(more);
            }
            _ => all.push((turn, event)),
        }
    }
    all
}

/// Events of any kind, of two turns that take turns.
fn events() -> impl Strategy<Value = Vec<(TurnId, EventKind)>> {
    let piece = "[a-zäß ]{1,5}";
    let kind = prop_oneof![
        4 => piece.prop_map(|piece| text(&piece)),
        2 => piece.prop_map(|piece| thinking(&piece)),
        1 => piece.prop_map(|piece| notice(&piece)),
        1 => Just(EventKind::Accepted),
        1 => Just(requested()),
        1 => Just(call("a")),
        1 => Just(result("a")),
        1 => Just(finished("done")),
    ];
    let of_turn = prop_oneof![6 => Just(turn(1)), 1 => Just(turn(2))];
    proptest::collection::vec((of_turn, kind), 0..60)
}

proptest! {
    /// Promise: `slow-listener-hears-the-end`
    #[test]
    fn what_was_seen_and_what_comes_after_it_is_everything_once(events in events()) {
        let mut log = EventLog::starting_after(START, session());
        let mut live = Vec::new();
        for (turn, event) in events.clone() {
            log.push(turn, event);
            live.extend(log.next_after(EventNumber(log.last().0 - 1)));
        }
        // One who is always there gets each piece as it came.
        let as_pushed: Vec<_> =
            live.iter().map(|event| (event.turn.unwrap(), event.event.clone())).collect();
        prop_assert_eq!(as_pushed, events);
        for seen in START.0..=log.last().0 {
            let before = live.iter().filter(|event| event.seq.0 <= seen).cloned();
            let after = read_from(&log, EventNumber(seen));
            prop_assert!(after.iter().all(|event| event.seq.0 > seen));
            prop_assert!(after.is_sorted_by(|a, b| a.seq < b.seq));
            prop_assert_eq!(joined(before.chain(after)), joined(live.clone()), "from {}", seen);
        }
    }
}

#[test]
fn text_that_was_missed_comes_in_one_event_numbered_as_its_last_piece() {
    let pieces = ["one ", "two ", "three"].map(|piece| (turn(1), text(piece)));
    let log = log_of([(turn(1), requested())].into_iter().chain(pieces));
    let read = |seen: u64| -> Vec<(u64, EventKind)> {
        let events = read_from(&log, EventNumber(seen)).into_iter();
        events.map(|event| (event.seq.0, event.event)).collect()
    };
    assert_eq!(read(1_000), [(1_001, requested()), (1_004, text("one two three"))]);
    assert_eq!(read(1_001), [(1_004, text("one two three"))]);
    assert_eq!(read(1_002), [(1_004, text("two three"))]);
    assert_eq!(read(1_003), [(1_004, text("three"))]);
    assert_eq!(read(1_004), []);
}

#[test]
fn a_number_that_was_never_given_gets_a_snapshot_and_what_follows() {
    let log = log_of([(turn(1), requested()), (turn(1), text("hello"))]);
    for unknown in [0, 999, 1_003, u64::MAX] {
        let read = read_from(&log, EventNumber(unknown));
        assert_eq!((read[0].seq, read[0].turn), (START, None), "{unknown}");
        assert_eq!(read[0].event, EventKind::Snapshot(TurnSnapshot::default()));
        let rest: Vec<_> = read[1..].iter().map(|event| event.event.clone()).collect();
        assert_eq!(rest, [requested(), text("hello")]);
    }
}

#[test]
fn a_snapshot_has_the_reply_so_far_what_runs_and_nothing_that_is_over() {
    let before = [
        (turn(1), requested()),
        (turn(1), text("an earlier turn")),
        (turn(1), finished("an earlier turn")),
        (turn(2), requested()),
        (turn(2), text("I hold it.")),
        (turn(2), call("a")),
        (turn(2), call("b")),
        (turn(2), result("a")),
        (turn(2), requested()),
        (turn(2), thinking("hm")),
        // Somebody else's message, in the middle of the text.
        (turn(2), text("once ")),
        (turn(3), EventKind::Accepted),
        (turn(2), text("upon")),
    ];
    let filler = (0..MOST_ENTRIES).map(|_| (turn(2), notice("so much")));
    let log = log_of(before.into_iter().chain(filler));
    let snapshot = log.next_after(START).unwrap();
    assert_eq!((snapshot.turn, snapshot.seq), (Some(turn(2)), EventNumber(1_013)));
    let EventKind::Snapshot(state) = snapshot.event else { panic!("{snapshot:?}") };
    assert_eq!((&*state.text, &*state.thinking), ("once upon", "hm"));
    assert_eq!(EventKind::Call(state.calls[0].clone()), call("b"));
    assert_eq!(state.calls.len(), 1);
    assert_eq!(read_from(&log, snapshot.seq).len(), MOST_ENTRIES);
}

#[test]
fn entries_and_bytes_stay_within_their_bounds() {
    let mut log = EventLog::starting_after(START, session());
    for _ in 0..10 * MOST_ENTRIES {
        log.push(turn(1), notice("short"));
        assert!(log.entries.len() <= MOST_ENTRIES);
    }
    for _ in 0..200 {
        log.push(turn(1), notice(&"x".repeat(10_000)));
        assert!(log.bytes <= MOST_BYTES, "{}", log.bytes);
        assert_eq!(log.bytes, log.entries.iter().map(LogEntry::bytes).sum::<usize>());
    }
    // One that is too large for itself is still told, and leaves with the next.
    let seen = log.last();
    log.push(turn(1), notice(&"x".repeat(2 * MOST_BYTES)));
    assert!(matches!(log.next_after(seen).unwrap().event, EventKind::Notice { .. }));
    log.push(turn(1), notice("short"));
    assert_eq!(log.entries.len(), 1);
}

#[test]
fn of_many_turns_that_are_over_the_last_ones_are_kept() {
    let mut log = EventLog::starting_after(START, session());
    for number in 1..=1_000 {
        log.push(turn(number), requested());
        log.push(turn(number), text("hello"));
        log.push(turn(number), finished("hello"));
        assert!(log.entries.len() <= MOST_FINISHED_ENTRIES);
    }
    let ten_turns_ago = EventNumber(log.last().0 - 30);
    assert_eq!(read_from(&log, ten_turns_ago).len(), 30);
    // The turn that has just ended is kept whole.
    let seen = log.last();
    for _ in 0..2 * MOST_FINISHED_ENTRIES {
        log.push(turn(2_000), notice("short"));
    }
    log.push(turn(2_000), finished("hello"));
    assert_eq!(read_from(&log, seen).len(), 2 * MOST_FINISHED_ENTRIES + 1);
}

/// Promise: `slow-listener-hears-the-end`
#[test]
fn no_text_of_the_present_reply_is_lost_however_long_it_is() {
    let mut log = EventLog::starting_after(START, session());
    log.push(turn(1), requested());
    let (mut whole, mut number) = (String::new(), 0);
    while whole.len() < 3 * MOST_BYTES {
        let piece = format!("piece {number} of a long reply; ");
        log.push(turn(1), text(&piece));
        whole += &piece;
        number += 1;
        if number % 5_000 == 0 {
            log.push(turn(2), EventKind::Accepted);
        }
    }
    let mut heard = String::new();
    for event in read_from(&log, START) {
        match event.event {
            EventKind::Snapshot(state) => heard = state.text,
            EventKind::Text { text } => heard += &text,
            _ => {}
        }
    }
    assert!(heard == whole, "{} of {} bytes", heard.len(), whole.len());
    // Once the turn is over and nobody comes back, it is given back.
    log.push(turn(1), finished("a long reply"));
    log.forget_finished();
    assert!(log.base.state.text.is_empty() && log.bytes < 1_000, "{}", log.bytes);
}

#[test]
fn ten_thousand_pieces_of_a_reply_are_one_entry_and_any_of_them_can_be_named() {
    const PIECES: u64 = 10_000;
    let log = log_of((0..PIECES).map(|number| (turn(1), text(&format!("{number:05} ")))));
    assert_eq!(log.entries.len(), 1);
    assert!(log.bytes < MOST_BYTES, "{}", log.bytes);
    let whole: String = (0..PIECES).map(|number| format!("{number:05} ")).collect();
    for seen in 0..PIECES {
        let event = log.next_after(EventNumber(START.0 + seen)).unwrap();
        assert_eq!(event.seq, log.last());
        assert_eq!(event.event, text(&whole[seen as usize * 6..]));
    }
}
