//! What turns of clients count as: their tools are no items of the agent, and turns that go on
//! with each other have chosen once.

use recto_agent::{Agent, FinishedTurn, Inbound};
use recto_context::{ItemId, ItemKind};
use recto_fakes::{AnswerGate, FakeAnswer, FakeServer};
use recto_store::{ItemCounts, SessionId, UsageSummary};

use crate::clients::{asks, handed, inbound, result_of, send, with_tools};
use crate::support::{
    Bench, arrival, check_sound, mortal, owner, runtime, session, submit_inbound, within,
};

const TIDES: &str = "---\nname: tides\ndescription: Tide tables, high water and low water times\n\
                     include: agent\n---\nLook up the tide table. High water and low water times \
                     are in the tide table.\n";

const TIDE_TOOLS: &str = r#"{"tools": [{"name": "tide_now", "description": "The tide now.",
    "parameters": {"type": "object"}}], "allowlist": {"date": ["-u"]},
    "execution": [{"tool": "tide_now", "binary": "date", "subcommand": "-u"}]}"#;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("rules/tone.md", "---\ninclude: always\n---\nAnswer in plain words.\n");
    bench.write("skills/tides/SKILL.md", TIDES);
    bench.write("skills/tides/tools.json", TIDE_TOOLS);
    bench
}

/// A turn whose calls are all a client's, one of them of a tool that is named like ours.
async fn hand_out(agent: &Agent, session: SessionId) -> FinishedTurn {
    let text = "Why do high water and low water times change in the tide table?";
    let client = with_tools(&["weather", "weather", "recall"]);
    let first = send(agent, session, inbound(text, client)).await;
    assert_eq!(handed(&first).len(), 2);
    first
}

fn results(first: &FinishedTurn) -> Inbound {
    let result = |call| result_of(call, "[2026-01-01] snow (memory MEMORY.md#0badf00d)");
    Inbound::results(&owner(), first.calls.iter().map(result))
}

async fn usage(agent: &Agent) -> UsageSummary {
    agent.store().usage("main", None).await.unwrap()
}

fn counts(usage: &UsageSummary) -> Vec<(ItemId, ItemCounts)> {
    usage.items.iter().map(|usage| (usage.item.clone(), usage.counts)).collect()
}

#[test]
fn a_clients_tools_are_no_items_and_going_on_chooses_nothing_again() {
    let bench = bench();
    let fake = FakeServer::openai().answer(asks(&[("weather", "Oslo"), ("recall", "Rome")]));
    let fake = fake.answer(FakeAnswer::text("Snow.")).start();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let first = hand_out(&agent, session).await;
        let begun = usage(&agent).await;
        send(&agent, session, results(&first)).await;
        let whole = usage(&agent).await;
        check_sound(agent.store(), session).await;

        let items: Vec<String> = whole.items.iter().map(|usage| usage.item.to_string()).collect();
        let expected = [
            "rule tone",
            "skill tides",
            "tool hold",
            "tool read_skill",
            "tool risk",
            "tool tides.tide_now",
        ];
        assert_eq!(items, expected);
        let tone = ItemId::new(ItemKind::Rule, "tone");
        let tone = whole.items.iter().find(|usage| usage.item == tone).unwrap();
        assert_eq!((tone.counts.taken, tone.counts.by_always), (1, 1));
        assert_eq!(counts(&whole), counts(&begun));
        assert_eq!(whole.selection, begun.selection);
        assert!(whole.selection.iter().any(|bin| bin.picked > 0), "{:?}", whole.selection);
        assert_eq!((whole.endings.handed_out, whole.endings.done), (1, 1));
        assert_eq!((begun.tokens.pages, whole.tokens.pages), (1, 2));
    });
}

/// Promise: `counted-once`
#[test]
fn going_on_counts_the_same_when_another_process_does() {
    let (bench, gate) = (bench(), AnswerGate::new());
    let fake = FakeServer::openai()
        .answer(asks(&[("weather", "Oslo"), ("recall", "Rome")]))
        .answer(FakeAnswer::text("lost words").held(&gate))
        .start();
    let killed = mortal();
    let begun = killed.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "c").await;
        let first = hand_out(&agent, session).await;
        submit_inbound(&agent, session, results(&first)).await;
        arrival(&gate, 1).await;
        usage(&agent).await
    });
    drop(killed);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        within(agent.finished()).await;
        let whole = usage(&agent).await;
        assert_eq!((whole.endings.handed_out, whole.endings.done), (1, 1));
        assert_eq!(counts(&whole), counts(&begun));
        assert_eq!(whole.selection, begun.selection);
        assert_eq!((begun.tokens.requests, whole.tokens.requests), (1, 3));
    });
}
