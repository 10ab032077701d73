//! Exchanges that are taken back: undone, sent again, or sent otherwise. The transcript keeps
//! them, later pages don't have them, and the record says so.

use expect_test::expect;
use recto_agent::{
    Actor, ActorRole, Agent, AgentError, AgentResult, CommandReply, Conversation, EventCursor,
    EventKind, EventListener, FinishedTurn, Inbound, RecallQuery, RecalledContent, SearchPatience,
    memory_tools,
};
use recto_context::{
    ChangeCause, ClientContext, ContentPart, DropReason, Image, Layer, RequestContext, SummaryBy,
    compare_requests,
};
use recto_fakes::{AnswerGate, FakeAnswer, FakeCall, FakeServer};
use recto_store::{RetractionReason, SessionId, Store, StoreError};
use serde_json::json;

use crate::clients::{history, inbound};
use crate::selection::requests;
use crate::support::{
    Bench, arrival, check_sound, conversation, events, finished, model, next, owner, runtime, say,
    session, submit, submit_inbound, transcript, typed,
};

async fn try_command(agent: &Agent, session: SessionId, line: &str) -> AgentResult<CommandReply> {
    agent.command(&owner(), &conversation("s"), session, typed(line)).await
}

/// A command that sends something again, to the end of its turn.
async fn resend(agent: &Agent, session: SessionId, line: &str) -> FinishedTurn {
    let reply = try_command(agent, session, line).await.unwrap();
    let CommandReply::Resend(inbound) = reply else { panic!("{reply:?}") };
    finished(submit_inbound(agent, session, *inbound).await).await
}

/// What stands in the history of the last page.
fn shown_history(page: &RequestContext) -> Vec<String> {
    let texts = page.layer(Layer::History).map(|part| part.text().to_owned());
    texts.map(|text| text.lines().last().unwrap_or_default().to_owned()).collect()
}

fn taken_back(page: &RequestContext) -> Vec<String> {
    let dropped = page.dropped.iter().filter(|drop| drop.reason == DropReason::TakenBack);
    dropped.map(|drop| drop.what.clone()).collect()
}

async fn last_page(store: &Store, session: SessionId) -> RequestContext {
    requests(store, session).await.pop().unwrap()
}

/// Promise: `turns-elsewhere-are-heard`
#[test]
fn what_is_taken_back_in_one_process_is_heard_once_in_all() {
    let half = FakeAnswer::text("half of").piece(" a word").stall_after(1);
    let (bench, fake) = (Bench::new(), FakeServer::openai().answer(half).start());
    runtime().block_on(async {
        let (ours, theirs) = tokio::join!(bench.agent(&fake), bench.agent(&fake));
        let shared = session(&ours, "s").await;
        let mut listeners = Vec::new();
        for agent in [&ours, &theirs] {
            listeners.push(agent.listen(&owner(), shared, EventCursor::Now).await.unwrap());
        }
        // Once they hear of a turn, they follow.
        let heard = submit(&ours, shared, "zero").await;
        while next(&mut listeners[1]).await.turn != Some(heard.turn) {}
        ours.stop_turn(&owner(), shared, heard.turn).await.unwrap();
        finished(heard).await;
        say(&ours, shared, "one").await;
        try_command(&ours, shared, "/undo").await.unwrap();
        say(&ours, shared, "two").await;
        resend(&ours, shared, "/retry").await;
        assert_eq!(heard_taken_back(&mut listeners[1], 2).await, ["undo", "retry"]);
        // What comes behind it shows that nothing was told twice here.
        try_command(&theirs, shared, "/undo").await.unwrap();
        assert_eq!(heard_taken_back(&mut listeners[0], 3).await, ["undo", "retry", "undo"]);
        assert_eq!(heard_taken_back(&mut listeners[1], 1).await, ["undo"]);
    });
}

/// Why the next exchanges are taken back that somebody hears of.
async fn heard_taken_back(heard: &mut EventListener, count: usize) -> Vec<&'static str> {
    let mut reasons = Vec::new();
    while reasons.len() < count {
        if let EventKind::TakenBack(told) = next(heard).await.event {
            reasons.push(told.reason.name());
        }
    }
    reasons
}

/// Promise: `taken-back-is-off-the-page`
#[test]
fn what_is_undone_stays_in_the_transcript_and_off_the_page() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "s").await;
        for text in ["one", "two", "three"] {
            say(&agent, session, text).await;
        }
        let mut heard = agent.listen(&owner(), session, EventCursor::Now).await.unwrap();
        for (expected, number) in [("three", 3), ("two", 2)] {
            let reply = try_command(&agent, session, "/undo").await.unwrap();
            let CommandReply::Undone(undone) = reply else { panic!("{reply:?}") };
            assert_eq!((undone.text.as_str(), undone.messages), (expected, 2));
            let told = next(&mut heard).await;
            let EventKind::TakenBack(event) = told.event else { panic!("{told:?}") };
            assert_eq!(event.reason, RetractionReason::Undo);
            assert_eq!(event.taken_back.map(|turn| turn.get()), Some(number));
        }
        say(&agent, session, "four").await;
        let store = agent.store();
        expect![[r#"
            1 user: one
            2 assistant: You said: one
            3 user: two
            4 assistant: You said: two
            5 user: three
            6 assistant: You said: three
            7 user: four
            8 assistant: You said: four
        "#]]
        .assert_eq(&transcript(store, session).await);
        let pages = requests(store, session).await;
        assert_eq!(shown_history(&pages[3]), ["one", "one"]);
        assert_eq!(taken_back(&pages[3]), ["4 messages"]);
        let change = compare_requests(&pages[2], &pages[3]).change.unwrap();
        assert_eq!(change.cause, ChangeCause::ExchangeTakenBack);
        // From here on everything agrees again.
        say(&agent, session, "five").await;
        let fifth = last_page(store, session).await;
        assert_eq!(compare_requests(&pages[3], &fifth).change, None);
        check_sound(store, session).await;
        // Another process knows of it, too.
        let other = bench.agent(&fake).await;
        say(&other, session, "six").await;
        let sixth = last_page(store, session).await;
        assert_eq!(shown_history(&sixth), ["one", "one", "four", "four", "five", "five"]);
    });
}

#[test]
fn nothing_is_undone_where_nothing_stands() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "s").await;
        for line in ["/undo", "/retry", "/edit", "/edit other"] {
            let refused = try_command(&agent, session, line).await.map(drop).unwrap_err();
            assert_eq!(
                refused.to_string(),
                "no message stands in this session that could be taken back or sent again"
            );
        }
        say(&agent, session, "one").await;
        try_command(&agent, session, "/undo").await.unwrap();
        let refused = try_command(&agent, session, "/undo").await.map(drop).unwrap_err();
        assert!(matches!(refused, AgentError::NothingToTakeBack), "{refused}");
        say(&agent, session, "two").await;
        let page = last_page(agent.store(), session).await;
        assert_eq!((shown_history(&page).len(), taken_back(&page)), (0, vec!["2 messages".into()]));
    });
}

/// Promise: `taken-back-is-off-the-page`
#[test]
fn a_retry_sends_the_same_message_with_its_image_in_place_of_the_exchange() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "s").await;
        say(&agent, session, "one").await;
        let image: Image =
            serde_json::from_value(json!({"media_type": "image/png", "data": "aGk="})).unwrap();
        let content = vec![ContentPart::Text("look".into()), ContentPart::Image(image)];
        let message = Inbound { content: content.clone(), ..Inbound::text(&owner(), "") };
        finished(submit_inbound(&agent, session, message).await).await;
        let reply = try_command(&agent, session, "/retry").await.unwrap();
        let CommandReply::Resend(again) = reply else { panic!("{reply:?}") };
        assert_eq!(again.content, content);
        // Nothing is taken back before its turn begins.
        assert!(agent.store().retractions(session).await.unwrap().is_empty());
        let told = events(submit_inbound(&agent, session, *again).await).await;
        let taken = told.iter().find_map(|event| match event {
            EventKind::TakenBack(event) => Some((event.reason, event.taken_back.unwrap().get())),
            _ => None,
        });
        assert_eq!(taken, Some((RetractionReason::Retry, 2)));
        let store = agent.store();
        let page = last_page(store, session).await;
        assert_eq!(shown_history(&page), ["one", "one"]);
        assert_eq!(page.sent.content(), content);
        let turns = store.turns(session).await.unwrap();
        let of_second = store.retractions_of_turn(turns[1].id).await.unwrap();
        let of_third = store.retractions_of_turn(turns[2].id).await.unwrap();
        assert_eq!(of_second.taken_back.unwrap().replaced_by, Some(turns[2].id));
        assert_eq!(of_third.replaces.unwrap().turn, Some(turns[1].id));
        check_sound(store, session).await;
        // And again: of what stands now.
        resend(&agent, session, "/edit look closer").await;
        let page = last_page(store, session).await;
        assert_eq!(shown_history(&page), ["one", "one"]);
        assert_eq!(page.sent.content()[1], content[1]);
        let CommandReply::Edit(edited) = try_command(&agent, session, "/edit").await.unwrap()
        else {
            panic!()
        };
        assert_eq!(edited.text, "look closer");
    });
}

#[test]
fn a_turn_that_failed_can_be_sent_again() {
    let (bench, fake) =
        (Bench::new(), FakeServer::openai().answer(FakeAnswer::refusal(400, "{}")).start());
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "s").await;
        let failed = say(&agent, session, "one").await;
        assert!(failed.error.is_some());
        let again = resend(&agent, session, "/retry").await;
        assert_eq!(again.reply.as_deref(), Some("You said: one"));
        let page = last_page(agent.store(), session).await;
        assert_eq!(shown_history(&page), [""; 0]);
        check_sound(agent.store(), session).await;
    });
}

#[test]
fn nothing_is_taken_back_while_a_turn_runs() {
    let gate = AnswerGate::new();
    let (bench, fake) = (
        Bench::new(),
        FakeServer::openai()
            .answer(FakeAnswer::text("one"))
            .answer(FakeAnswer::text("two").held(&gate))
            .start(),
    );
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "s").await;
        say(&agent, session, "one").await;
        let reply = try_command(&agent, session, "/retry").await.unwrap();
        let CommandReply::Resend(late) = reply else { panic!("{reply:?}") };
        let running = submit(&agent, session, "two").await;
        arrival(&gate, 1).await;
        for line in ["/undo", "/retry", "/edit x"] {
            let refused = try_command(&agent, session, line).await.map(drop).unwrap_err();
            assert!(matches!(refused, AgentError::Store(StoreError::Busy { .. })), "{refused}");
            assert!(refused.hint().unwrap().contains("/stop"));
        }
        // What was asked for before the turn began is refused as well.
        let refused = agent.submit(session, *late).await.map(drop).unwrap_err();
        assert!(matches!(refused, AgentError::Store(StoreError::Busy { .. })), "{refused}");
        gate.open();
        finished(running).await;
        assert!(agent.store().retractions(session).await.unwrap().is_empty());
    });
}

#[test]
fn what_tools_did_stays_done_and_is_named() {
    let calls = FakeAnswer::calls([
        FakeCall::new("remember", json!({"text": "The cat is called Minka."})),
        FakeCall::new("recall", json!({"query": "cat"})),
    ]);
    let (bench, fake) =
        (Bench::new(), FakeServer::openai().answer(calls).answer(FakeAnswer::text("ok")).start());
    runtime().block_on(async {
        let mut parts = bench.parts(vec![model("fake", &fake)]);
        parts.options.built_in.extend(memory_tools());
        let agent = Agent::start(parts).await.unwrap();
        let session = session(&agent, "s").await;
        say(&agent, session, "My cat is called Minka.").await;
        let reply = try_command(&agent, session, "/undo").await.unwrap();
        let CommandReply::Undone(undone) = reply else { panic!("{reply:?}") };
        let named: Vec<_> =
            undone.stays_done.iter().map(|call| (&*call.tool, &*call.arguments)).collect();
        assert_eq!(named, [("remember", "The cat is called Minka.")]);
        assert!(bench.read("memory/MEMORY.md").contains("Minka"));
        // It stands nowhere on the page any more but among the memories.
        say(&agent, session, "What is my cat called?").await;
        let page = last_page(agent.store(), session).await;
        assert!(page.layer(Layer::Memory).any(|part| part.text().contains("Minka")));
    });
}

#[test]
fn what_was_taken_back_is_not_recalled() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "s").await;
        say(&agent, session, "The hedgehog lives behind the shed.").await;
        let found = async || {
            let audience = agent.store().session(session).await.unwrap().unwrap();
            let audience = serde_json::from_value(audience.settings["audience"].clone()).unwrap();
            let query = RecallQuery {
                audience: &audience,
                query: "hedgehog shed",
                limit: 5,
                patience: SearchPatience::UntilDone,
                now: jiff::Timestamp::now(),
                known: None,
            };
            let recalled = agent.memories().recall(&query).await;
            let said =
                |content: &RecalledContent| matches!(content, RecalledContent::Message { .. });
            recalled.found.iter().filter(|found| said(&found.what)).count()
        };
        assert!(found().await > 0);
        try_command(&agent, session, "/undo").await.unwrap();
        assert_eq!(found().await, 0);
        let hits = agent.store().search("hedgehog", 5).await.unwrap();
        assert!(hits.iter().all(|hit| hit.taken_back == Some(RetractionReason::Undo)), "{hits:?}");
    });
}

#[test]
fn members_of_a_group_and_clients_are_refused() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let place = Conversation::in_group("discord", "bot", "room");
        let group = agent.find_or_begin(&owner(), &place).await.unwrap().id;
        let scope = Some(place.scope().into());
        let anna = Actor { conversation: scope, ..Actor::new("anna", "Anna", ActorRole::Member) };
        finished(submit_inbound(&agent, group, Inbound::text(&anna, "hello")).await).await;
        let refused = agent.command(&anna, &place, group, typed("/undo")).await.map(drop);
        assert!(matches!(refused, Err(AgentError::NotAllowed { .. })), "{refused:?}");
        // The owner takes it back, and says nothing in somebody else's name.
        let retried = agent.command(&owner(), &place, group, typed("/retry")).await.map(drop);
        assert_eq!(retried.unwrap_err().to_string(), "the last message is Anna's");
        agent.command(&owner(), &place, group, typed("/undo")).await.unwrap();

        let session = session(&agent, "s").await;
        let context = ClientContext { history: history(&["one", "two"]), ..Default::default() };
        finished(submit_inbound(&agent, session, inbound("three", context)).await).await;
        let refused = try_command(&agent, session, "/undo").await.map(drop).unwrap_err();
        assert!(matches!(refused, AgentError::ClientExchange), "{refused}");
    });
}

#[test]
fn what_a_summary_stands_for_can_t_be_taken_back() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let mut entry = model("fake", &fake);
        entry.limits.history_messages = 4;
        entry.limits.summary_tokens = recto_context::Tokens::new(300);
        let mut parts = bench.parts(vec![entry]);
        parts.options.compaction = Some(SummaryBy::Extract);
        let agent = Agent::start(parts).await.unwrap();
        let session = session(&agent, "s").await;
        let long = "We decided to put the invoice into the green box, and that is that. ".repeat(8);
        for number in 1..=4 {
            say(&agent, session, &format!("{number}: {long}")).await;
        }
        assert!(!agent.store().compactions(session).await.unwrap().is_empty());
        let mut refused = None;
        for _ in 0..4 {
            refused = try_command(&agent, session, "/undo").await.err();
            if refused.is_some() {
                break;
            }
        }
        let refused = refused.unwrap();
        assert!(matches!(refused, AgentError::Store(StoreError::Summarised { .. })), "{refused}");
        agent.expand(&owner(), session).await.unwrap().unwrap();
        try_command(&agent, session, "/undo").await.unwrap();
        check_sound(agent.store(), session).await;
    });
}

#[test]
fn a_new_session_can_be_given_a_name() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let here = session(&agent, "s").await;
        let taken = session(&agent, "work").await;
        let refused = try_command(&agent, here, "/new work").await.map(drop).unwrap_err();
        assert_eq!(refused.to_string(), "there is a session `work` already");
        assert!(agent.store().session(here).await.unwrap().unwrap().archived.is_none());
        agent.store().archive(taken, recto_store::Moment::now()).await.unwrap();
        let reply = try_command(&agent, here, "/new work").await.unwrap();
        let CommandReply::Began(begun) = reply else { panic!("{reply:?}") };
        assert_eq!(begun.began.label(), "work");
        assert_eq!(begun.archived.map(|session| session.id), Some(here));
        assert!(agent.store().session(here).await.unwrap().unwrap().archived.is_some());
    });
}

#[test]
fn a_conversation_whose_session_was_deleted_goes_on_with_a_new_one() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        for (line, name) in [("/new", "s"), ("/new work", "work")] {
            let here = session(&agent, "s").await;
            say(&agent, here, "one").await;
            agent.store().delete_session(here, recto_store::Moment::now()).await.unwrap();
            assert!(try_command(&agent, here, "/context").await.is_err());
            let reply = try_command(&agent, here, line).await.unwrap();
            let CommandReply::Began(begun) = reply else { panic!("{reply:?}") };
            assert_eq!((begun.began.label().as_str(), begun.archived), (name, None));
            say(&agent, begun.began.id, "two").await;
            assert!(agent.store().session(here).await.unwrap().is_none());
        }
    });
}
