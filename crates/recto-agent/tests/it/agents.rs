//! Several agents in one process, with one store: what is one's is not another's.

use recto_agent::{
    Agent, AgentError, AgentParts, ChatCommand, CommandReply, Conversation, Inbound, memory_tools,
};
use recto_context::{AudienceKind, Layer};
use recto_fakes::{AnswerGate, FakeAnswer, FakeCall, FakeServer};
use recto_store::SessionId;
use serde_json::json;

use crate::selection::requests;
use crate::support::{
    Bench, arrival, check_sound, conversation, holds, model, mortal, owner, runtime, say, session,
    statuses, submit, transcript, within,
};

/// Starts `main` and `work` on one store, each with its own workspace.
async fn two_agents(bench: &Bench, fake: &FakeServer) -> [Agent; 2] {
    bench.write("../work/SOUL.md", "You are a clerk.\n");
    let store = bench.store();
    let main = bench.parts_with(vec![model("fake", fake)], store.clone());
    let work = bench.parts_of("work", vec![model("fake", fake)], store);
    [start(main).await, start(work).await]
}

/// Starts an agent that has the tools for memory, too.
async fn start(mut parts: AgentParts) -> Agent {
    parts.options.built_in.extend(memory_tools());
    Agent::start(parts).await.unwrap()
}

/// The page of a session's first request, as one text.
async fn first_page(agent: &Agent, session: SessionId) -> String {
    let request = requests(agent.store(), session).await.remove(0);
    request.parts.iter().map(|part| part.text().to_owned() + "\n").collect()
}

/// Promise: `agents-stay-apart`
#[test]
fn two_agents_on_one_store_answer_from_their_own_files() {
    let bench = Bench::new();
    bench.write("rules/tone.md", "---\ninclude: always\n---\nSpeak of the sea.\n");
    bench.write("../work/rules/tone.md", "---\ninclude: always\n---\nSpeak of the office.\n");
    let remember = FakeCall::new("remember", json!({"text": "The lamp is green."}));
    let fake = FakeServer::openai()
        .answer(FakeAnswer::calls([remember]))
        .answer(FakeAnswer::text("I will."))
        .start();
    runtime().block_on(async {
        let [main, work] = two_agents(&bench, &fake).await;
        let (of_main, of_work) = (session(&main, "plans").await, session(&work, "plans").await);
        assert_ne!(of_main, of_work);
        // Both have the name that the person gave.
        for (agent, id) in [(&main, of_main), (&work, of_work)] {
            let found = agent.find_named_or_begin(&owner(), &conversation("plans")).await.unwrap();
            assert_eq!((found.id, found.label().as_str()), (id, "plans"));
            assert_eq!(found.agent, agent.name());
        }
        say(&main, of_main, "Remember the lamp").await;
        say(&work, of_work, "Which lamp is green?").await;
        let (page, other) = (first_page(&main, of_main).await, first_page(&work, of_work).await);
        assert!(page.contains("lighthouse keeper") && page.contains("the sea"), "{page}");
        assert!(other.contains("a clerk") && other.contains("the office"), "{other}");
        assert!(!other.contains("lighthouse") && !other.contains("the sea"), "{other}");

        // Neither what is remembered nor what was said comes to the other.
        assert!(bench.read("memory/MEMORY.md").contains("green"));
        assert!(!bench.read("../work/memory/MEMORY.md").contains("green"));
        let later = session(&work, "later").await;
        say(&work, later, "Is the lamp green?").await;
        let request = requests(work.store(), later).await.remove(0);
        assert_eq!(request.layer(Layer::Memory).count(), 0);
        let listed =
            work.command(&owner(), &conversation("plans"), of_work, ChatCommand::Sessions).await;
        let CommandReply::Sessions(listed) = listed.unwrap() else { panic!("they were listed") };
        let mut ids: Vec<SessionId> = listed.iter().map(|summary| summary.session.id).collect();
        ids.sort_unstable();
        assert_eq!(ids, [of_work, later]);
    });
}

/// Promise: `agents-stay-apart`
#[test]
fn the_session_of_another_agent_is_refused_by_name() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let [main, work] = two_agents(&bench, &fake).await;
        let id = session(&work, "plans").await;
        say(&work, id, "hello").await;
        let before = transcript(work.store(), id).await;
        let place = conversation("plans");
        let inbound = || Inbound::text(&owner(), "and now?");
        let errors = [
            main.submit(id, inbound()).await.map(drop).unwrap_err(),
            main.preview(id, inbound()).await.map(drop).unwrap_err(),
            main.command(&owner(), &place, id, ChatCommand::New(None)).await.map(drop).unwrap_err(),
            main.expand(&owner(), id).await.map(drop).unwrap_err(),
            main.find_named_or_begin(&owner(), &conversation(&id.to_string()))
                .await
                .map(drop)
                .unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(&error, AgentError::OtherAgent { agent, .. } if agent == "work"));
            assert_eq!(error.code(), "other_agent");
            assert_eq!(error.to_string(), format!("session {id} belongs to the agent `work`"));
        }
        within(main.finished()).await;
        assert_eq!(transcript(work.store(), id).await, before);
        assert_eq!(statuses(work.store(), id).await, ["done"]);
        // Its own agent goes on as if nothing had been tried.
        assert_eq!(say(&work, id, "more").await.reply.unwrap(), "You said: more");
    });
}

/// Promise: `agents-stay-apart`
#[test]
fn a_turn_that_was_cut_short_waits_for_its_own_agent() {
    let (bench, gate) = (Bench::new(), AnswerGate::new());
    let fake = FakeServer::openai().answer(FakeAnswer::text("lost words").held(&gate)).start();
    let killed = mortal();
    let id = killed.block_on(async {
        let [_, work] = two_agents(&bench, &fake).await;
        let id = session(&work, "plans").await;
        submit(&work, id, "hello").await;
        gate.release(1);
        arrival(&gate, 2).await;
        id
    });
    drop(killed);
    runtime().block_on(async {
        let store = bench.store();
        let main = bench.parts_with(vec![model("fake", &fake)], store.clone());
        let main = start(main).await;
        within(main.finished()).await;
        assert_eq!(statuses(&store, id).await, ["running"]);
        let work = bench.parts_of("work", vec![model("fake", &fake)], store.clone());
        let work = start(work).await;
        within(work.finished()).await;
        assert_eq!(statuses(&store, id).await, ["done"]);
        check_sound(&store, id).await;
    });
}

/// Promise: `agents-stay-apart`
#[test]
fn a_turn_whose_tool_was_cut_short_is_not_closed_by_another_agent() {
    let bench = Bench::new();
    let fake = FakeServer::openai().answer(holds(&["a"])).start();
    let killed = mortal();
    let id = killed.block_on(async {
        let [_, work] = two_agents(&bench, &fake).await;
        let id = session(&work, "plans").await;
        submit(&work, id, "work").await;
        bench.held.has_begun().await;
        id
    });
    drop(killed);
    runtime().block_on(async {
        let store = bench.store();
        let main = start(bench.parts_with(vec![model("fake", &fake)], store.clone())).await;
        within(main.finished()).await;
        assert_eq!(statuses(&store, id).await, ["running"]);
        start(bench.parts_of("work", vec![model("fake", &fake)], store.clone())).await;
        assert_eq!(statuses(&store, id).await, ["interrupted"]);
    });
}

/// Promise: `conversations-stay-apart`
#[test]
fn chats_of_two_bots_with_the_same_id_have_memories_of_their_own() {
    let remember =
        |text: &str| FakeAnswer::calls([FakeCall::new("remember", json!({"text": text}))]);
    let bench = Bench::new();
    let place = |account: &str, user: Option<&str>| Conversation {
        surface: "telegram".into(),
        account: account.into(),
        name: "-4711".into(),
        user: user.map(str::to_owned),
        who: AudienceKind::Group,
        person: None,
    };
    let places = [
        (place("a", None), "telegram@a--4711"),
        (place("b", None), "telegram@b--4711"),
        (place("a", Some("7")), "telegram@a@7--4711"),
        (place("a", Some("8")), "telegram@a@8--4711"),
        (place("local", None), "telegram--4711"),
    ];
    let mut fake = FakeServer::openai();
    for (_, scope) in &places {
        fake = fake.answer(remember(&format!("We are {scope}."))).answer(FakeAnswer::text("Yes."));
    }
    let fake = fake.start();
    runtime().block_on(async {
        let agent = start(bench.parts(vec![model("fake", &fake)])).await;
        let mut sessions = Vec::new();
        for (place, _) in &places {
            let session = agent.find_or_begin(&owner(), place).await.unwrap().id;
            say(&agent, session, "Remember who we are").await;
            sessions.push(agent.renew(&owner(), place, session).await.unwrap().began.id);
        }
        for ((place, scope), session) in places.iter().zip(sessions) {
            assert_eq!(place.scope(), *scope);
            let kept = bench.read(&format!("memory/conversations/{scope}.md"));
            assert_eq!(kept.matches("We are").count(), 1, "{kept}");
            assert_eq!(agent.find_or_begin(&owner(), place).await.unwrap().id, session);
            say(&agent, session, "Who are we?").await;
            let page = first_page(&agent, session).await;
            assert!(page.contains(&format!("We are {scope}.")), "{page}");
            assert_eq!(page.matches("We are").count(), 1, "{page}");
        }
    });
}
