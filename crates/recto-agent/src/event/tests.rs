//! Events are read back from their JSON as they were.

use recto_llm::TokenUsage;
use recto_store::RetractionReason;
use serde_json::{Value, json};

use super::*;
use crate::notice::NoticeFacts;

fn question() -> ApprovalQuestion {
    ApprovalQuestion {
        approval: "3".parse().unwrap(),
        tool: "write_file".to_owned(),
        title: "write a.txt".to_owned(),
        detail: "a\nb".to_owned(),
        action: Some(json!({"kind": "write_file", "path": "a.txt"})),
        only_once: true,
        expires: Moment::now(),
    }
}

fn finished(error: Option<TurnError>) -> EventKind {
    let mut usage = UsageTotals { requests: 2, ..UsageTotals::default() };
    usage.add(&TokenUsage { prompt: Some(7), cached: None, completion: Some(3) });
    let reply = error.is_none().then(|| "It is done.".to_owned());
    let call = ClientCall { id: "call_2".into(), name: "get".into(), arguments: "{}".into() };
    EventKind::Finished(FinishedTurn {
        status: TurnEnding::HandedOut,
        reply,
        error,
        usage,
        calls: vec![call],
    })
}

/// An event of each kind. A new kind does not compile until it has a place in `kind_of`.
fn one_of_each() -> Vec<EventKind> {
    let text = || "words".to_owned();
    let call = RunningCall { id: "call_1".to_owned(), name: text(), arguments: "{}".to_owned() };
    let error = TurnError {
        code: "unauthorized".into(),
        message: text(),
        hint: Some(text()),
        remedy: Some(Remedy::CheckServer { server: text() }),
        retry_after: None,
    };
    let snapshot = TurnSnapshot {
        text: text(),
        thinking: text(),
        calls: vec![call.clone()],
        questions: vec![question()],
    };
    vec![
        EventKind::Accepted,
        EventKind::TakenBack(TakenBackEvent {
            taken_back: Some("1".parse().unwrap()),
            first: MessageId(3),
            last: MessageId(4),
            reason: RetractionReason::Retry,
            by: Actor::owner("Ada"),
        }),
        EventKind::Requested {
            request: "4".parse().unwrap(),
            number: 1,
            model: text(),
            mode: Mode::MinimalWithHistory,
            prompt_tokens: 900,
            agreed_tokens: 800,
        },
        EventKind::Retrying { after_ms: 500, error: text() },
        EventKind::Text { text: text() },
        EventKind::Thinking { text: text() },
        EventKind::Asked(question()),
        EventKind::Decided {
            approval: "3".parse().unwrap(),
            answer: ApprovalAnswer::Session,
            by: Some(Actor::owner("Ada")),
        },
        EventKind::Call(call),
        EventKind::Result {
            id: "call_1".to_owned(),
            name: text(),
            outcome: ToolOutcome::Denied,
            text: text(),
        },
        EventKind::Delivered { schedule: text(), message: MessageId(7) },
        EventKind::Notice(NoticeFacts::SessionFileFailed { problem: text() }.into()),
        finished(None),
        finished(Some(error)),
        EventKind::Snapshot(snapshot),
        EventKind::Snapshot(TurnSnapshot::default()),
    ]
}

fn kind_of(event: &EventKind) -> &'static str {
    match event {
        EventKind::Accepted => "accepted",
        EventKind::TakenBack(_) => "taken_back",
        EventKind::Requested { .. } => "requested",
        EventKind::Retrying { .. } => "retrying",
        EventKind::Text { .. } => "text",
        EventKind::Thinking { .. } => "thinking",
        EventKind::Asked(_) => "asked",
        EventKind::Decided { .. } => "decided",
        EventKind::Call(_) => "call",
        EventKind::Result { .. } => "result",
        EventKind::Delivered { .. } => "delivered",
        EventKind::Notice { .. } => "notice",
        EventKind::Finished(_) => "finished",
        EventKind::Snapshot(_) => "snapshot",
    }
}

/// Promise: `events-read-back`
#[test]
fn events_of_every_kind_are_read_back_from_their_json() {
    for (number, event) in (1_u64 << 50..).zip(one_of_each()) {
        let turn = Some("2".parse().unwrap());
        let kind = kind_of(&event);
        let event =
            TurnEvent { session: "1".parse().unwrap(), turn, seq: EventNumber(number), event };
        let json = serde_json::to_string(&event).unwrap();
        let value: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["event"], kind, "{json}");
        assert_eq!(value["seq"], number, "{json}");
        assert_eq!(serde_json::from_str::<TurnEvent>(&json).unwrap(), event, "{json}");
        assert_eq!(serde_json::from_value::<TurnEvent>(value).unwrap(), event, "{json}");
    }
}

#[test]
fn the_json_of_an_event_is_flat() {
    let event = TurnEvent {
        session: "1".parse().unwrap(),
        turn: None,
        seq: EventNumber(7),
        event: EventKind::Snapshot(TurnSnapshot::default()),
    };
    let expected = json!({
        "session": 1, "seq": 7, "event": "snapshot",
        "text": "", "thinking": "", "calls": [], "questions": [],
    });
    assert_eq!(serde_json::to_value(&event).unwrap(), expected);
    let event = TurnEvent {
        turn: Some("2".parse().unwrap()),
        event: EventKind::Result {
            id: "call_1".to_owned(),
            name: "hold".to_owned(),
            outcome: ToolOutcome::Refused,
            text: "no".to_owned(),
        },
        ..event
    };
    let expected = json!({
        "session": 1, "turn": 2, "seq": 7, "event": "result",
        "id": "call_1", "name": "hold", "outcome": "refused", "text": "no",
    });
    assert_eq!(serde_json::to_value(&event).unwrap(), expected);
}
