//! What a session keeps from turn to turn: its items, its settings, and what was
//! learned about its model.

use recto_agent::{Agent, AgentError, Conversation, Inbound, SessionFolder, SessionSettings};
use recto_context::{
    ContextMode, ItemId, ItemKind, ItemOrigin, ModeSource, RequestContext, Tokens, Window,
    WindowSource,
};
use recto_fakes::{FakeAnswer, FakeServer};
use recto_store::{ItemState, Moment, SessionCursor, SessionId, Store};

use crate::support::{
    Bench, check_sound, conversation, holds, model, owner, runtime, say, session, text, transcript,
    typed,
};

const SKILL: &str = "---\nname: knots\ndescription: Ties knots.\ninclude: always\n---\nTie them.\n";
const RULE: &str = "---\ninclude: always\n---\nBe brief.\n";

fn rule(name: &str) -> ItemId {
    ItemId::new(ItemKind::Rule, name)
}

/// How the items stand to the session, without the tools.
async fn items(store: &Store, session: SessionId) -> Vec<(String, ItemState)> {
    let state = store.load(session, SessionCursor::default()).await.unwrap();
    let items = state.items.unwrap().into_iter().filter(|(item, _)| item.kind != ItemKind::Tool);
    items.map(|(item, state)| (item.to_string(), state)).collect()
}

#[test]
fn an_item_that_appears_between_turns_joins_late() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    bench.write("rules/tone.md", RULE);
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "one").await;
        bench.write("rules/late.md", RULE);
        bench.write("skills/knots/SKILL.md", SKILL);
        say(&agent, session, "two").await;
        let late = ItemState::In(ItemOrigin::Late);
        let mut items = items(agent.store(), session).await;
        items.sort_by(|(a, _), (b, _)| a.cmp(b));
        assert_eq!(
            items,
            [
                ("rule late".to_owned(), late),
                ("rule tone".to_owned(), ItemState::In(ItemOrigin::AtStart)),
                ("skill knots".to_owned(), late),
            ]
        );
        check_sound(agent.store(), session).await;
    });
}

/// A first message that has to wait, here until the server told its window, is
/// a first message all the same.
#[test]
fn what_is_there_at_the_first_message_joins_at_the_start() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::ollama().start(), runtime());
    bench.write("rules/tone.md", RULE);
    runtime.block_on(async {
        let agent = bench.agent_without_window(&fake).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "one").await;
        let items = items(agent.store(), session).await;
        assert_eq!(items, [("rule tone".to_owned(), ItemState::In(ItemOrigin::AtStart))]);
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

#[test]
fn a_removed_item_stays_out() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    bench.write("rules/tone.md", RULE);
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "one").await;
        agent.store().set_item(session, rule("tone"), ItemState::Removed).await.unwrap();
        say(&agent, session, "two").await;
        bench.write("rules/tone.md", &RULE.replace("brief", "very brief"));
        say(&agent, session, "three").await;
        assert_eq!(
            items(agent.store(), session).await,
            [("rule tone".to_owned(), ItemState::Removed)]
        );
    });
    let has_rule: Vec<bool> =
        fake.chats().iter().map(|chat| chat["messages"].to_string().contains("brief")).collect();
    assert_eq!(has_rule, [true, false, false]);
}

#[test]
fn settings_are_applied_and_survive_a_restart() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    let parts = || bench.parts(vec![model("fake", &fake), model("other", &fake)]);
    let session = runtime().block_on(async {
        let agent = Agent::start(parts()).await.unwrap();
        let session = session(&agent, "k").await;
        for line in [
            "/model other",
            "/set temperature 0.25",
            "/set top_p 0.5",
            "/set max_output_tokens 77",
            "/set max_rounds 1",
            "/mode minimal",
        ] {
            let command = typed(line);
            agent.command(&owner(), &conversation("k"), session, command).await.unwrap();
        }
        session
    });
    runtime().block_on(async {
        let agent = Agent::start(parts()).await.unwrap();
        fake.push(holds(&["a"]));
        fake.push(holds(&["b"]));
        bench.held.let_go(1);
        let finished = say(&agent, session, "work").await;
        assert_eq!(finished.error.unwrap().code, "too_many_rounds");
        check_sound(agent.store(), session).await;
        let turn = agent.store().last_turn(Some(session)).await.unwrap().unwrap();
        let requests = agent.store().requests(turn.id).await.unwrap();
        assert!(requests.iter().all(|request| request.model == "other"));
    });
    assert_eq!(bench.held.runs(), 1);
    let chat = &fake.chats()[0];
    assert_eq!(chat["temperature"], 0.25);
    assert_eq!(chat["top_p"], 0.5);
    let most = chat.get("max_tokens").or_else(|| chat.get("max_completion_tokens"));
    assert_eq!(most.unwrap(), 77);
    // Minimal: the tools at hand are pointed at.
    assert_eq!(chat["tool_choice"], "required", "{chat:#}");
}

/// Promise: `conversations-stay-apart`
#[test]
fn conversations_of_two_surfaces_with_the_same_id_stay_apart() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let mut sessions = Vec::new();
        for name in ["4711", "general"] {
            for (surface, account) in [("telegram", "bot"), ("discord", "bot"), ("telegram", "b")] {
                let (surface, account) = (surface.to_owned(), account.to_owned());
                let place = Conversation::with_owner(&surface, &account, name);
                let session = agent.find_or_begin(&owner(), &place).await.unwrap().id;
                say(&agent, session, &format!("{place:?}")).await;
                sessions.push((place, session));
            }
        }
        for (place, session) in sessions {
            assert_eq!(agent.find_or_begin(&owner(), &place).await.unwrap().id, session);
            let messages = agent.store().messages(session, None).await.unwrap();
            assert_eq!(messages.len(), 2);
            assert_eq!(text(&messages[0].message), format!("{place:?}"));
        }
    });
}

/// Promise: `views-agree`
#[test]
fn a_preview_stores_nothing_and_shows_what_is_sent() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "one").await;
        let before = transcript(agent.store(), session).await;
        bench.write("rules/tone.md", RULE);
        let previewed =
            agent.preview(session, Inbound::text(&owner(), "two")).await.unwrap().request;
        assert_eq!(transcript(agent.store(), session).await, before);
        assert_eq!(items(agent.store(), session).await, []);
        assert_eq!(agent.store().turns(session).await.unwrap().len(), 1);
        assert_eq!(fake.chats().len(), 1);
        say(&agent, session, "two").await;
        let turn = agent.store().last_turn(Some(session)).await.unwrap().unwrap();
        let requests = agent.store().requests(turn.id).await.unwrap();
        let sent = recto_agent::restore_request(agent.store(), &requests[0]).await.unwrap();
        // All but the message itself, whose stamp has the minute in it.
        let messages = |request: &RequestContext| {
            let entry = model("fake", &fake);
            let body = recto_llm::encode(entry.client.wire(), &entry.call, request);
            let mut messages = body["messages"].as_array().unwrap().clone();
            messages.pop();
            messages
        };
        assert_eq!(messages(&previewed), messages(&sent));
        assert!(format!("{:?}", messages(&sent)).contains("Be brief."));
    });
}

/// The setting that holds is told beside the decision, and a preview says what of it is cached.
#[test]
fn a_preview_says_who_set_the_mode_and_what_it_agrees_with() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let preview = async |mode: Option<ContextMode>| {
            let settings = SessionSettings { context_mode: mode, ..SessionSettings::default() };
            let inbound = Inbound { settings, ..Inbound::text(&owner(), "two") };
            agent.preview(session, inbound).await.unwrap()
        };
        let fresh = preview(None).await;
        assert_eq!(fresh.request.mode.source, Some(ModeSource::Default));
        assert!(fresh.comparison.is_none());
        say(&agent, session, "one").await;
        let next = preview(Some(ContextMode::Auto)).await;
        assert_eq!(next.request.mode.source, Some(ModeSource::Turn(ContextMode::Auto)));
        let comparison = next.comparison.unwrap();
        assert_eq!(
            comparison.agreed_tokens + comparison.fresh_tokens,
            next.request.prompt_tokens()
        );
        let settings = [("context_mode".to_owned(), "minimal".into())].into_iter().collect();
        agent.store().set_settings(session, settings).await.unwrap();
        let next = preview(None).await;
        assert_eq!(next.request.mode.source, Some(ModeSource::Session(ContextMode::Minimal)));
        let next = preview(Some(ContextMode::Full)).await;
        assert_eq!(next.request.mode.source, Some(ModeSource::Turn(ContextMode::Full)));
    });
}

/// A window is told with what the model was trained for, and with the cap that made it smaller.
#[test]
fn a_window_is_recorded_with_its_trained_size_and_the_cap() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::ollama().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent_without_window(&fake).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "one").await;
        let turn = agent.store().last_turn(Some(session)).await.unwrap().unwrap();
        let requests = agent.store().requests(turn.id).await.unwrap();
        let sent = recto_agent::restore_request(agent.store(), &requests[0]).await.unwrap();
        let Window { tokens, source, trained, cap } = sent.window;
        assert_eq!(source, WindowSource::Trained);
        assert_eq!(cap, Some(Tokens::new(16_384)), "as the agent has it");
        assert_eq!(Some(tokens), trained.min(cap));
        assert_eq!(sent.report()["window"]["trained"], serde_json::json!(trained.unwrap()));
    });
}

#[test]
fn what_was_learned_about_a_model_survives_a_restart() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    let long = "The keeper lights the lamp and writes the weather down. ".repeat(40);
    let estimate = |agent: Agent| {
        let long = long.clone();
        async move {
            let session = session(&agent, "measured").await;
            agent
                .preview(session, Inbound::text(&owner(), &long))
                .await
                .unwrap()
                .request
                .prompt_tokens()
        }
    };
    let fresh = runtime().block_on(async { estimate(bench.agent(&fake).await).await });
    let learned = runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        for number in 0..8 {
            fake.push(FakeAnswer::text("noted"));
            say(&agent, session, &format!("{number} {}", &long[..200 * (number + 1)])).await;
        }
        estimate(agent).await
    });
    let after_restart = runtime().block_on(async { estimate(bench.agent(&fake).await).await });
    assert_ne!(fresh, learned);
    assert_eq!(learned, after_restart);
}

/// What is said in the archive takes its session out of it, and what is refused does not.
#[test]
fn a_message_that_is_refused_leaves_its_session_in_the_archive() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let here = session(&agent, "k").await;
        say(&agent, here, "one").await;
        agent.store().archive(here, Moment::now()).await.unwrap();
        let mut parts = bench.parts(vec![model("fake", &fake)]);
        parts.options.folder = Some(SessionFolder::Project("/elsewhere".to_owned()));
        let elsewhere = Agent::start(parts).await.unwrap();
        let sent = elsewhere.submit(here, Inbound::text(&owner(), "two")).await;
        let refused = sent.err();
        assert!(matches!(refused, Some(AgentError::OtherFolder { .. })), "{refused:?}");
        let is_archived =
            async || agent.store().session(here).await.unwrap().unwrap().archived.is_some();
        assert!(is_archived().await);
        say(&agent, here, "three").await;
        assert!(!is_archived().await);
    });
}
