//! Tasks for sub-agents: what they see, what they may do, and what is left of them.

use expect_test::expect;
use recto_agent::{
    Actor, ActorRole, Agent, AgentError, Conversation, DelegationContext, DelegationLimits,
    Inbound, ModelEntry, RecordReader, ReplayVerdict, delegate_tool, verify_body,
};
use recto_context::{IncludeMode, ItemId, ItemOrigin};
use recto_fakes::{AnswerGate, FakeAnswer, FakeCall, FakeReply, FakeServer};
use recto_store::{ItemState, SessionFilter, SessionId, Store, StoredDelegation, TurnEnding};
use serde_json::{Value, json};

use crate::support::{
    Bench, arrival, check_sound, ended, finished, holds, model, mortal, owner, runtime, say,
    session, statuses, submit, submit_inbound, transcript, within,
};

/// A bench with a specialist that has all four texts, and one that can hold things.
fn staffed_bench() -> Bench {
    let bench = Bench::new();
    bench.write("AGENTS.md", "Ask the specialists.\n");
    bench.write("agents/pilot/agent.toml", "description = 'Knows the tides.'\nmodel = 'small'\n");
    bench.write("agents/pilot/soul.md", "You are the pilot.\n\n");
    bench.write("agents/pilot/mood.md", "\nCalm.\n");
    bench.write("agents/pilot/memory.md", "- The reef lies north (added at 2026-01-02)\n");
    bench.write("agents/pilot/skill.md", "Read the tide table.\n");
    bench
        .write("agents/mate/agent.toml", "model = 'small'\ntools = ['hold', 'risk', 'delegate']\n");
    bench.write("agents/mate/soul.md", "You are the mate.");
    bench
}

async fn staffed(bench: &Bench, models: Vec<ModelEntry>) -> Agent {
    staffed_with(bench, models, DelegationLimits::default()).await
}

async fn staffed_with(bench: &Bench, models: Vec<ModelEntry>, limits: DelegationLimits) -> Agent {
    let mut parts = bench.parts(models);
    parts.options.built_in.push(delegate_tool());
    parts.options.delegation = limits;
    Agent::start(parts).await.unwrap()
}

/// A reply that gives these tasks, each in a call of its own.
fn delegates(tasks: &[(&str, &str)]) -> FakeReply {
    let call = |(agent, task): &(&str, &str)| {
        FakeCall::new("delegate", json!({"agent": agent, "task": task}))
    };
    FakeAnswer::calls(tasks.iter().map(call))
}

/// The messages of a request as its server got them.
fn messages(chat: &Value) -> &Value {
    &chat["messages"]
}

fn tool_names(chat: &Value) -> Vec<&str> {
    let tools = chat["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
}

async fn children(store: &Store, session: SessionId) -> Vec<StoredDelegation> {
    let turns = store.turns(session).await.unwrap();
    let mut all = Vec::new();
    for turn in turns {
        all.extend(store.delegations_of(turn.id).await.unwrap());
    }
    all
}

/// Promise: `sub-agents-see-their-task-alone`
#[test]
fn a_sub_agent_sees_its_texts_and_the_task_and_nothing_else() {
    let main = FakeServer::openai()
        .answer(FakeAnswer::text("Good morning."))
        .answer(delegates(&[("pilot", "When is high water?\nIn Kiel.")]))
        .answer(FakeAnswer::text("At noon."))
        .start();
    let small = FakeServer::openai().answer(FakeAnswer::text("High water is at noon.")).start();
    let bench = staffed_bench();
    runtime().block_on(async {
        let agent = staffed(&bench, vec![model("main", &main), model("small", &small)]).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "My secret word is gannet.").await;
        assert_eq!(say(&agent, session, "When can we sail?").await.reply.unwrap(), "At noon.");
        let chats = small.chats();
        assert_eq!(chats.len(), 1);
        assert_eq!(
            *messages(&chats[0]),
            json!([
                {
                    "role": "system",
                    "content": "You are the pilot.\n\nCalm.\n\n- The reef lies north (added at \
                                2026-01-02)\n\nRead the tide table."
                },
                {"role": "user", "content": "When is high water?\nIn Kiel."}
            ])
        );
        assert_eq!(tool_names(&chats[0]), [""; 0]);
        expect![[r#"
            1 user: My secret word is gannet.
            2 assistant: Good morning.
            3 user: When can we sail?
            4 assistant:  [delegate{"agent":"pilot","task":"When is high water?\nIn Kiel."}]
            5 delegate: High water is at noon.
            6 assistant: At noon.
        "#]]
        .assert_eq(&transcript(agent.store(), session).await);
        check_sound(agent.store(), session).await;
        assert_eq!((main.rejections(), small.rejections()), (vec![], vec![]));
    });
}

/// Promise: `sub-agents-see-their-task-alone`
#[test]
fn the_last_message_comes_along_where_that_is_set() {
    let main = FakeServer::openai()
        .answer(delegates(&[("pilot", "When is high water?")]))
        .answer(FakeAnswer::text("At noon."))
        .start();
    let small = FakeServer::openai().answer(FakeAnswer::text("Noon.")).start();
    let bench = staffed_bench();
    runtime().block_on(async {
        let models = vec![model("main", &main), model("small", &small)];
        let context = DelegationContext::LastMessage;
        let limits = DelegationLimits { context, ..DelegationLimits::default() };
        let agent = staffed_with(&bench, models, limits).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "When can we sail?").await;
        assert_eq!(
            messages(&small.chats()[0])[1]["content"],
            "When is high water?\nContext: When can we sail?"
        );
    });
}

/// Promise: `delegated-turns-are-recorded`
#[test]
fn a_delegated_turn_is_recorded_like_any_other_and_found_by_its_call() {
    let main = FakeServer::openai()
        .answer(delegates(&[("pilot", "When is high water?")]))
        .answer(FakeAnswer::text("At noon."))
        .start();
    let small = FakeServer::openai().answer(FakeAnswer::text("Noon.")).start();
    let bench = staffed_bench();
    runtime().block_on(async {
        let agent = staffed(&bench, vec![model("main", &main), model("small", &small)]).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "When can we sail?").await;
        let store = agent.store();
        let parent = store.turns(session).await.unwrap()[0].id;
        let [child] = &store.delegations_of(parent).await.unwrap()[..] else { panic!("not one") };
        assert_eq!((child.agent.as_str(), child.parent.as_ref().unwrap().turn), ("pilot", parent));
        let messages = store.messages(session, None).await.unwrap();
        let calls = messages.iter().flat_map(|stored| stored.message.calls());
        let calls: Vec<&str> = calls.map(|call| &*call.id.0).collect();
        assert_eq!(calls, [child.parent.as_ref().unwrap().call.as_str()]);
        // Its record is whole, and says where each part comes from.
        let (owner, turn) = (owner(), child.turn.unwrap());
        let record = RecordReader::new(store, &owner).turn(turn).await.unwrap();
        let page = record.last_page().await.unwrap();
        let verdict = verify_body(store, &page).await.unwrap();
        assert!(matches!(verdict, ReplayVerdict::Identical { .. }), "{verdict:?}");
        assert_eq!(record.json(None).await.unwrap()["turn"]["delegated_by"]["turn"], json!(parent));
        let above = RecordReader::new(store, &owner).turn(parent).await.unwrap();
        let above = above.json(None).await.unwrap();
        assert_eq!(above["turn"]["delegations"][0]["turn"], json!(turn));
        check_sound(store, child.session).await;
        // It is not among what people talk in, and `last` is the turn that they know of.
        let open = store.sessions(SessionFilter::Open).await.unwrap();
        assert_eq!(open.iter().map(|open| open.session.id).collect::<Vec<_>>(), [session]);
        assert_eq!(store.last_turn(None).await.unwrap().unwrap().id, parent);
    });
}

#[test]
fn tasks_of_one_round_are_done_side_by_side() {
    let gate = AnswerGate::new();
    let main = FakeServer::openai()
        .answer(delegates(&[("pilot", "one"), ("pilot", "two"), ("mate", "three")]))
        .answer(FakeAnswer::text("Done."))
        .start();
    let small = FakeServer::openai()
        .answer(FakeAnswer::text("a").held(&gate))
        .answer(FakeAnswer::text("a").held(&gate))
        .answer(FakeAnswer::text("a").held(&gate))
        .start();
    let bench = staffed_bench();
    runtime().block_on(async {
        let agent = staffed(&bench, vec![model("main", &main), model("small", &small)]).await;
        let session = session(&agent, "k").await;
        let asked = submit(&agent, session, "all of it").await;
        // All three are asked before any has answered.
        arrival(&gate, 3).await;
        gate.open();
        assert_eq!(finished(asked).await.reply.unwrap(), "Done.");
        assert_eq!(children(agent.store(), session).await.len(), 3);
        check_sound(agent.store(), session).await;
    });
}

/// Promise: `sub-agents-may-no-more-than-their-caller`
#[test]
fn a_sub_agent_has_the_tools_that_it_names_and_its_caller_may_call_unasked() {
    let main = FakeServer::openai()
        .answer(delegates(&[("mate", "hold it")]))
        .answer(FakeAnswer::text("Done."))
        .answer(delegates(&[("mate", "hold it again")]))
        .answer(FakeAnswer::text("Done."))
        .start();
    let small = FakeServer::openai()
        .answer(holds(&["rope"]))
        .answer(FakeAnswer::text("Held."))
        .answer(FakeAnswer::text("I can't."))
        .start();
    let bench = staffed_bench();
    runtime().block_on(async {
        let agent = staffed(&bench, vec![model("main", &main), model("small", &small)]).await;
        let session = session(&agent, "k").await;
        bench.held.let_go(1);
        say(&agent, session, "hold the rope").await;
        // `risk` needs a person, who is not asked for a sub-agent.
        assert_eq!(tool_names(&small.chats()[0]), ["hold", "delegate"]);
        assert_eq!(bench.held.runs(), 1);
        // What a person took out of the conversation is out for its sub-agents, too.
        let hold = ItemId::tool(None, "hold");
        let removed = ItemState::Removed;
        agent.store().set_item(session, hold, removed).await.unwrap();
        say(&agent, session, "once more").await;
        assert_eq!(tool_names(&small.chats()[2]), ["delegate"]);
    });
}

/// Promise: `sub-agents-see-their-task-alone`
#[test]
fn a_skill_whose_tool_a_sub_agent_has_is_not_on_its_page_and_it_is_not_offered_itself() {
    let main = FakeServer::openai()
        .answer(delegates(&[("mate", "find it")]))
        .answer(FakeAnswer::text("Done."))
        .start();
    let small = FakeServer::openai().answer(FakeAnswer::text("Found.")).start();
    let bench = staffed_bench();
    bench.write(
        "skills/notes/SKILL.md",
        "---\nname: notes\ndescription: Finds notes.\n---\nLook.\n",
    );
    let parameters = json!({"type": "object", "properties": {}});
    let tools = json!({
        "tools": [{"name": "find", "description": "Finds a note.", "parameters": parameters}],
        "allowlist": {"echo": []},
        "execution": [{"tool": "find", "binary": "echo", "args": []}]
    });
    bench.write("skills/notes/tools.json", &tools.to_string());
    bench.write("agents/mate/agent.toml", "model = 'small'\ntools = ['notes.find', 'delegate']\n");
    runtime().block_on(async {
        let agent = staffed(&bench, vec![model("main", &main), model("small", &small)]).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "find it").await;
        let [chat] = &small.chats()[..] else { panic!("not one") };
        assert_eq!(messages(chat)[0]["content"], "You are the mate.");
        let delegate = chat["tools"].as_array().unwrap().last().unwrap();
        assert_eq!(
            delegate["function"]["parameters"]["properties"]["agent"]["enum"],
            json!(["pilot"])
        );
        let given = &children(agent.store(), session).await[0];
        let owner = owner();
        let record = RecordReader::new(agent.store(), &owner).turn(given.turn.unwrap()).await;
        let record = record.unwrap().json(None).await.unwrap().to_string();
        assert!(record.contains("as always for a sub-agent's task"), "{record}");
    });
}

/// Promise: `sub-agents-may-no-more-than-their-caller`
#[test]
fn a_tool_that_only_a_person_brings_is_handed_on_once_a_person_has_brought_it() {
    let main = FakeServer::openai()
        .answer(delegates(&[("mate", "hold it")]))
        .answer(FakeAnswer::text("Done."))
        .answer(delegates(&[("mate", "hold it")]))
        .answer(FakeAnswer::text("Done."))
        .start();
    let small = FakeServer::openai().start();
    let bench = staffed_bench();
    runtime().block_on(async {
        let mut parts = bench.parts(vec![model("main", &main), model("small", &small)]);
        for tool in &mut parts.options.built_in {
            if &*tool.id.name == "hold" {
                tool.include = IncludeMode::Manual;
            }
        }
        parts.options.built_in.push(delegate_tool());
        let agent = Agent::start(parts).await.unwrap();
        let session = session(&agent, "k").await;
        say(&agent, session, "hold the rope").await;
        assert_eq!(tool_names(&small.chats()[0]), ["delegate"]);
        let hold = ItemId::tool(None, "hold");
        let by_hand = ItemState::In(ItemOrigin::ByHand);
        agent.store().set_item(session, hold, by_hand).await.unwrap();
        say(&agent, session, "now hold the rope").await;
        assert_eq!(tool_names(&small.chats()[1]), ["hold", "delegate"]);
    });
}

#[test]
fn a_sub_agent_is_not_offered_itself_and_a_turn_gives_only_so_many_tasks() {
    let main = FakeServer::openai()
        .answer(delegates(&[("mate", "a")]))
        .answer(FakeAnswer::text("Done."))
        .start();
    let small = FakeServer::openai()
        // The mate hands on to itself, then to the pilot, who may not hand on.
        .answer(delegates(&[("mate", "b")]))
        .answer(delegates(&[("pilot", "c"), ("pilot", "d"), ("pilot", "e")]))
        .answer(FakeAnswer::text("From the pilot."))
        .answer(FakeAnswer::text("From the pilot."))
        .answer(FakeAnswer::text("From the mate."))
        .start();
    let bench = staffed_bench();
    runtime().block_on(async {
        let models = vec![model("main", &main), model("small", &small)];
        let limits = DelegationLimits { max_tasks: 2, ..DelegationLimits::default() };
        let agent = staffed_with(&bench, models, limits).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "go").await;
        let [mate] = &children(agent.store(), session).await[..] else { panic!("not one") };
        let said = transcript(agent.store(), mate.session).await;
        // It is not offered itself, so such a call does not fit the tool.
        assert!(said.contains("`agent` must be one of \"pilot\""), "{said}");
        let limit = "delegate failed: this turn has given 2 tasks, which is the most";
        assert_eq!(said.matches(limit).count(), 1, "{said}");
        assert_eq!(children(agent.store(), mate.session).await.len(), 2);
        check_sound(agent.store(), mate.session).await;
    });
}

#[test]
fn nobody_but_the_one_task_is_taken_in_a_sub_agents_session() {
    let main = FakeServer::openai()
        .answer(delegates(&[("pilot", "a")]))
        .answer(FakeAnswer::text("Done."))
        .start();
    let small = FakeServer::openai().answer(FakeAnswer::text("Noon.")).start();
    let bench = staffed_bench();
    runtime().block_on(async {
        let agent = staffed(&bench, vec![model("main", &main), model("small", &small)]).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "go").await;
        let child = children(agent.store(), session).await.remove(0).session;
        let refused = agent.submit(child, Inbound::text(&owner(), "and now?")).await;
        assert!(matches!(refused, Err(AgentError::OneTask { .. })), "{refused:?}");
        assert_eq!(statuses(agent.store(), child).await, ["done"]);
    });
}

#[test]
fn sub_agents_that_cannot_be_used_are_told_of_and_not_offered() {
    let main = FakeServer::openai()
        .answer(delegates(&[("broken", "a"), ("ghost", "b"), ("off", "c"), ("pilot", " ")]))
        .answer(FakeAnswer::text("Done."))
        .start();
    let bench = staffed_bench();
    bench.write("agents/broken/agent.toml", "modle = 'x'\n");
    bench.write("agents/broken/soul.md", "Broken.");
    bench.write("agents/off/agent.toml", "enabled = false\n");
    bench.write("agents/off/soul.md", "Off.");
    runtime().block_on(async {
        let agent = staffed(&bench, vec![model("main", &main), model("small", &main)]).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "go").await;
        let chat = &main.chats()[0];
        let tools = chat["tools"].as_array().unwrap();
        let delegate = tools.iter().find(|tool| tool["function"]["name"] == "delegate").unwrap();
        let delegate = &delegate["function"];
        assert_eq!(delegate["parameters"]["properties"]["agent"]["enum"], json!(["mate", "pilot"]));
        let described = delegate["description"].as_str().unwrap();
        assert!(described.ends_with("- mate: mate\n- pilot: Knows the tides."), "{described}");
        let said = transcript(agent.store(), session).await;
        assert_eq!(said.matches("delegate was not run").count(), 3, "{said}");
        assert!(said.contains("delegate failed: the task is empty"), "{said}");
    });
}

/// Promise: `sub-agents-stop-with-their-caller`
#[test]
fn a_stop_of_the_caller_stops_the_sub_agent() {
    let gate = AnswerGate::new();
    let main = FakeServer::openai().answer(delegates(&[("pilot", "a")])).start();
    let small =
        FakeServer::openai().answer(FakeAnswer::text("never said at all").held(&gate)).start();
    let bench = staffed_bench();
    runtime().block_on(async {
        let agent = staffed(&bench, vec![model("main", &main), model("small", &small)]).await;
        let session = session(&agent, "k").await;
        let mut asked = submit(&agent, session, "go").await;
        arrival(&gate, 1).await;
        assert!(agent.stop(&owner(), session).await.unwrap());
        let over = ended(&mut asked.events, asked.turn).await;
        assert_eq!(over.status, TurnEnding::Stopped);
        within(agent.finished()).await;
        let child = children(agent.store(), session).await.remove(0).session;
        assert_eq!(statuses(agent.store(), child).await, ["stopped"]);
        gate.open();
        check_sound(agent.store(), session).await;
        check_sound(agent.store(), child).await;
    });
}

#[test]
fn a_task_that_takes_too_long_is_stopped_and_the_caller_told() {
    let gate = AnswerGate::new();
    let main = FakeServer::openai()
        .answer(delegates(&[("pilot", "a")]))
        .answer(FakeAnswer::text("No answer came."))
        .start();
    let small = FakeServer::openai().answer(FakeAnswer::text("too late").held(&gate)).start();
    let bench = staffed_bench();
    runtime().block_on(async {
        let models = vec![model("main", &main), model("small", &small)];
        let time_limit = std::time::Duration::from_millis(300);
        let limits = DelegationLimits { time_limit, ..DelegationLimits::default() };
        let agent = staffed_with(&bench, models, limits).await;
        let session = session(&agent, "k").await;
        assert_eq!(say(&agent, session, "go").await.reply.unwrap(), "No answer came.");
        within(agent.finished()).await;
        let child = children(agent.store(), session).await.remove(0).session;
        assert_eq!(statuses(agent.store(), child).await, ["stopped"]);
        let said = transcript(agent.store(), session).await;
        assert!(said.contains("the sub-agent `pilot` took longer than 0 s and was stopped"));
        gate.open();
    });
}

/// Promise: `killed-at-any-instant`
#[test]
fn after_a_kill_the_call_and_the_sub_agent_are_marked_as_interrupted() {
    let gate = AnswerGate::new();
    let main = FakeServer::openai().answer(delegates(&[("pilot", "a")])).start();
    let small = FakeServer::openai().answer(FakeAnswer::text("never said").held(&gate)).start();
    let bench = staffed_bench();
    let killed = mortal();
    let session = killed.block_on(async {
        let agent = staffed(&bench, vec![model("main", &main), model("small", &small)]).await;
        let session = session(&agent, "k").await;
        submit(&agent, session, "go").await;
        arrival(&gate, 1).await;
        session
    });
    drop(killed);
    gate.open();
    runtime().block_on(async {
        let agent = staffed(&bench, vec![model("main", &main), model("small", &small)]).await;
        within(agent.finished()).await;
        let child = children(agent.store(), session).await.remove(0).session;
        assert_eq!(statuses(agent.store(), session).await, ["interrupted"]);
        assert_eq!(statuses(agent.store(), child).await, ["interrupted"]);
        expect![[r#"
            1 user: go
            2 assistant:  [delegate{"agent":"pilot","task":"a"}]
            3 delegate: interrupted: Recto was ended while this ran; whether it took effect is unknown
            4 error: interrupted: Recto was ended while tools ran, so this turn was not finished; ask again to go on
        "#]]
        .assert_eq(&transcript(agent.store(), session).await);
        check_sound(agent.store(), session).await;
        check_sound(agent.store(), child).await;
        // The model of the sub-agent is not asked again for nobody.
        assert_eq!(small.chats().len(), 1);
    });
}

#[test]
fn a_guest_reaches_what_was_done_for_them_and_nobody_else_does() {
    let main = FakeServer::openai()
        .answer(delegates(&[("pilot", "a")]))
        .answer(FakeAnswer::text("Done."))
        .start();
    let small = FakeServer::openai().answer(FakeAnswer::text("Noon.")).start();
    let bench = staffed_bench();
    runtime().block_on(async {
        let agent = staffed(&bench, vec![model("main", &main), model("small", &small)]).await;
        let [anna, ben] = ["anna", "ben"].map(|id| Actor::new(id, id, ActorRole::Paired));
        let place = Conversation::in_private("telegram", "bot", "1", &anna);
        let session = agent.find_or_begin(&anna, &place).await.unwrap().id;
        finished(submit_inbound(&agent, session, Inbound::text(&anna, "go")).await).await;
        let child = children(agent.store(), session).await.remove(0);
        let read = async |actor: &Actor| {
            RecordReader::new(agent.store(), actor).turn(child.turn.unwrap()).await.is_ok()
        };
        assert!(read(&anna).await && read(&owner()).await && !read(&ben).await);
        // What it remembers is from the owner's tasks, and for those alone.
        let page = messages(&small.chats()[0]).to_string();
        assert!(page.contains("You are the pilot.") && !page.contains("The reef"), "{page}");
        let record = RecordReader::new(agent.store(), &anna).turn(child.turn.unwrap()).await;
        let record = record.unwrap().json(None).await.unwrap().to_string();
        assert!(record.contains(r#""what":"memory.md""#), "{record}");
        assert!(record.contains("only for what the owner asks for"), "{record}");
    });
}

#[test]
fn deleting_a_session_takes_what_its_sub_agents_did_along() {
    let main = FakeServer::openai()
        .answer(delegates(&[("mate", "a")]))
        .answer(FakeAnswer::text("Done."))
        .start();
    let small = FakeServer::openai()
        .answer(delegates(&[("pilot", "the word is gannet")]))
        .answer(FakeAnswer::text("Noon."))
        .answer(FakeAnswer::text("Noon."))
        .start();
    let bench = staffed_bench();
    runtime().block_on(async {
        let agent = staffed(&bench, vec![model("main", &main), model("small", &small)]).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "go").await;
        let mate = children(agent.store(), session).await.remove(0).session;
        let pilot = children(agent.store(), mate).await.remove(0).session;
        agent.delete_session(&owner(), session).await.unwrap();
        for gone in [session, mate, pilot] {
            assert!(agent.store().session(gone).await.unwrap().is_none());
        }
    });
}
