//! What search brings into turns: with words alone, and in `dense` with the real
//! encoder.

use recto_agent::{
    Agent, CommandReply, EventKind, ItemChangeSince, ItemExplanation, ItemReason, restore_request,
};
use recto_context::mode::ModeSetting;
use recto_context::{ItemKind, ItemStatus, Layer, PickPlacement, RequestContext};
use recto_fakes::FakeServer;
use recto_store::{SessionId, Store, TurnId};

use crate::support::{
    Bench, check_sound, conversation, events, holds, model, owner, runtime, say, session, submit,
    typed,
};

mod dense;
mod listed;
mod own_use;

/// A rule or reference with its include mode.
fn item(bench: &Bench, file: &str, include: &str, description: &str, text: &str) {
    let text = format!("---\ninclude: {include}\ndescription: {description}\n---\n{text}\n");
    bench.write(file, &text);
}

/// Rules and references of every include mode, two of which answer the messages that are played.
fn flow_example(bench: &Bench) {
    item(bench, "rules/a.md", "always", "Tone", "Answer in plain words.");
    item(bench, "rules/b.md", "manual", "Length", "Keep answers under ten lines.");
    let text = "Users authenticate with OAuth tokens. A login needs a valid token, which \
                authentication checks before anything else.";
    item(bench, "rules/c.md", "agent", "How users authenticate and log in", text);
    item(bench, "references/x.md", "always", "The product", "We sell maps of the coast.");
    let text = "Errors are handled in one place. Error handling logs the error, tells the \
                user what went wrong, and never swallows an exception.";
    item(bench, "references/y.md", "agent", "Error handling", text);
}

/// Talks with an agent that has the items of the flow example.
fn with_flow_example(talk: impl AsyncFnOnce(&Bench, &FakeServer, Agent, SessionId)) {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    flow_example(&bench);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        talk(&bench, &fake, agent, session).await;
    });
}

/// The requests of a session's turns, in order.
pub(crate) async fn requests(store: &Store, session: SessionId) -> Vec<RequestContext> {
    let mut requests = Vec::new();
    for turn in store.turns(session).await.unwrap() {
        requests.extend(requests_of(store, turn.id).await);
    }
    requests
}

async fn requests_of(store: &Store, turn: TurnId) -> Vec<RequestContext> {
    let mut requests = Vec::new();
    for request in store.requests(turn).await.unwrap() {
        requests.push(restore_request(store, &request).await.unwrap());
    }
    requests
}

/// The rules and references that are on the page in full, in its order, with their include modes.
fn items_on(request: &RequestContext) -> Vec<String> {
    let whole = request.parts.iter().filter(|part| !part.is_list_entry());
    let items = whole.filter_map(|part| part.item.as_ref());
    let documents =
        items.filter(|item| matches!(item.id.kind, ItemKind::Rule | ItemKind::Reference));
    documents.map(|item| format!("{} {}", item.id.name, item.include)).collect()
}

async fn command(agent: &Agent, session: SessionId, line: &str) -> CommandReply {
    let command = typed(line);
    agent.command(&owner(), &conversation("k"), session, command).await.unwrap()
}

fn found(request: &RequestContext) -> Vec<&str> {
    request.found.iter().map(|pick| &*pick.item.name).collect()
}

/// Plays a session in which each message brings the one item that fits it.
async fn play_flow_example(agent: &Agent) {
    let session = session(agent, "k").await;
    command(agent, session, "/add b").await;
    say(agent, session, "How do I authenticate?").await;
    say(agent, session, "What's the error handling?").await;
    check_sound(agent.store(), session).await;
    let requests = requests(agent.store(), session).await;
    assert_eq!(items_on(&requests[0]), ["a always", "b manual", "x always", "c agent"]);
    assert_eq!(items_on(&requests[1]), ["a always", "b manual", "x always", "y agent"]);
    for (request, other) in requests.iter().zip(["y", "c"]) {
        let pick = &request.found[0];
        assert!(pick.scores.probability.unwrap() > 0.4 && pick.scores.lexical.unwrap() > 0.0);
        assert_eq!(pick.scores.rank, Some(1));
        // Which piece fits best is known where meaning was measured.
        assert_eq!(pick.best_chunk.is_some(), pick.scores.cosine.is_some());
        // The other one was looked at, and the record knows how it did.
        let left = &request.candidates[0];
        assert_eq!(&*left.item.name, other);
        assert!(left.scores.probability.unwrap() < 0.4);
    }
}

/// Promise: `nothing-fits-is-an-answer`
#[test]
fn greetings_and_thanks_bring_nothing_whatever_words_they_share() {
    with_flow_example(async |bench, _, agent, session| {
        item(
            bench,
            "rules/lots.md",
            "agent",
            "Thanks for a lot of lamps",
            "Thanks a lot. All good, hello.",
        );
        for message in ["thanks a lot", "hello!", "all good, thanks", "Thanks for a lot of lamps"] {
            say(&agent, session, message).await;
        }
        let requests = requests(agent.store(), session).await;
        let found: Vec<Vec<&str>> = requests.iter().map(found).collect();
        // What names something is looked for.
        assert_eq!(found, [vec![], vec![], vec![], vec!["lots"]]);
        assert!(requests[..3].iter().all(|request| request.candidates.is_empty()));
    });
}

#[test]
fn each_message_brings_what_fits_it_by_words_alone() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    flow_example(&bench);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        play_flow_example(&agent).await;
        let session = session(&agent, "k").await;
        let last = agent.store().last_request(session).await.unwrap().unwrap();
        assert_eq!(last.notes["search"], serde_json::json!({"words": "no_model"}));
        let request = restore_request(agent.store(), &last).await.unwrap();
        // No score is made up.
        assert!(
            request
                .found
                .iter()
                .chain(&request.candidates)
                .all(|pick| { pick.scores.cosine.is_none() && pick.scores.lexical.is_some() })
        );
    });
}

/// Promise: `in-layer-ranks-anew`
#[test]
fn in_their_layers_picks_and_memories_are_ranked_anew_for_each_message() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    flow_example(&bench);
    let ferry = "The ferry to Oslo uses berth seven.";
    let oil = "Lamp oil is ordered from the chandler.";
    let boxes = (0..10).map(|number| format!("- Box {number} holds spare parts.\n"));
    let boxes: String = boxes.collect();
    bench.write("memory/MEMORY.md", &format!("- {ferry}\n- {oil}\n{boxes}"));
    runtime().block_on(async {
        let mut entry = model("fake", &fake);
        entry.layout.picks = PickPlacement::InLayer;
        entry.limits.memory_entries = 1;
        let agent = Agent::start(bench.parts(vec![entry])).await.unwrap();
        let session = session(&agent, "k").await;
        for message in [
            "How do I authenticate?",
            "What's the error handling?",
            "Which berth does the ferry to Oslo use?",
            "Where is the lamp oil ordered?",
        ] {
            say(&agent, session, message).await;
        }
        check_sound(agent.store(), session).await;
        let requests = requests(agent.store(), session).await;
        let text = |request: &RequestContext, layer| {
            request.layer(layer).map(|part| part.text().to_owned()).collect::<String>()
        };
        let items = requests.iter().map(|request| text(request, Layer::Items));
        let items: Vec<String> = items.collect();
        assert!(items[0].contains("OAuth tokens") && !items[0].contains("swallows"));
        assert!(items[1].contains("swallows") && !items[1].contains("OAuth tokens"));
        let memories = requests.iter().map(|request| text(request, Layer::Memory));
        let memories: Vec<String> = memories.collect();
        assert!(memories[2].contains(ferry) && !memories[2].contains(oil), "{}", memories[2]);
        assert!(memories[3].contains(oil) && !memories[3].contains(ferry), "{}", memories[3]);
        assert!(requests.iter().all(|request| text(request, Layer::Picks).is_empty()));
    });
}

/// Promise: `unrelated-selects-nothing`
#[test]
fn a_message_that_fits_nothing_brings_nothing() {
    with_flow_example(async |_, _, agent, session| {
        for message in ["hi there", "thanks!", "What is the capital of France?", "!!!", "start"] {
            say(&agent, session, message).await;
        }
        for request in requests(agent.store(), session).await {
            assert_eq!(found(&request), [""; 0]);
        }
    });
}

/// Promise: `removed-stays-removed`
#[test]
fn what_a_person_removed_is_not_brought_back() {
    with_flow_example(async |_, _, agent, session| {
        say(&agent, session, "How do I authenticate?").await;
        let since = async || {
            let CommandReply::Why(why) = command(&agent, session, "/why c").await else { panic!() };
            (why[0].since, why[0].to_string().contains(" since, and is "))
        };
        assert_eq!(since().await, (None, false));
        command(&agent, session, "/remove rule:c").await;
        assert_eq!(since().await, (Some(ItemChangeSince::Removed), true));
        say(&agent, session, "How do I authenticate?").await;
        assert_eq!(since().await, (None, false));
        let CommandReply::Why(why) = command(&agent, session, "/why c").await else { panic!() };
        assert!(
            matches!(
                &why[..],
                [ItemExplanation { reason: ItemReason::Recorded(ItemStatus::Removed), .. }]
            ),
            "{why:?}"
        );
        command(&agent, session, "/add c").await;
        assert_eq!(since().await, (Some(ItemChangeSince::Added), true));
        say(&agent, session, "And now?").await;
        assert_eq!(since().await, (None, false));
        let requests = requests(agent.store(), session).await;
        let has_c =
            |request: &RequestContext| items_on(request).iter().any(|i| i.starts_with("c "));
        assert_eq!(requests.iter().map(has_c).collect::<Vec<_>>(), [true, false, true]);
        check_sound(agent.store(), session).await;
    });
}

#[test]
fn why_tells_of_every_item() {
    with_flow_example(async |_, _, agent, session| {
        say(&agent, session, "How do I authenticate?").await;
        let mut told = Vec::new();
        for name in ["a", "rule b", "@rule:c", "reference:y", "tool hold"] {
            let CommandReply::Why(why) = command(&agent, session, &format!("/why {name}")).await
            else {
                panic!("no reason for {name}")
            };
            told.extend(why.iter().map(|why| {
                let sentence = why.to_string();
                sentence.split(": ").take(2).collect::<Vec<_>>().join(": ")
            }));
        }
        let [a, b, c, y, hold] = &told[..] else { panic!("{told:#?}") };
        for (name, hint) in [("tool:hodl", "did you mean `hold`?"), ("nothing", "look at those")] {
            let command = typed(&format!("/why {name}"));
            let unknown = agent.command(&owner(), &conversation("k"), session, command).await;
            let unknown = unknown.unwrap_err();
            assert_eq!(unknown.to_string(), format!("the last request knew no item `{name}`"));
            assert!(unknown.hint().unwrap().starts_with(hint), "{:?}", unknown.hint());
        }
        assert!(a.starts_with("rule a was on the page (items, "), "{a}");
        assert!(b.contains("its include mode is manual, and nobody added it"), "{b}");
        assert!(c.starts_with("rule c was on the page (picks, "), "{c}");
        assert!(c.contains("found by search; probability "), "{c}");
        assert!(y.ends_with("was not on the page: not taken"), "{y}");
        assert!(hold.starts_with("tool hold was offered (tools, "), "{hold}");
    });
}

#[test]
fn mentions_add_items_and_the_text_stays_as_typed() {
    with_flow_example(async |_, _, agent, session| {
        let text = "Hello, use @rule:b, @ref:y and @rule:nope please";
        let events = events(submit(&agent, session, text).await).await;
        let told = |event: &EventKind| match event {
            EventKind::Notice(notice) => Some(notice.text.clone()),
            _ => None,
        };
        let told: Vec<String> = events.iter().filter_map(told).collect();
        assert_eq!(told, ["there is no rule `nope`, so nothing was added to the session"]);
        say(&agent, session, "and again").await;
        let requests = requests(agent.store(), session).await;
        for request in &requests {
            assert_eq!(items_on(request), ["a always", "b manual", "x always", "y manual"]);
        }
        assert!(requests[0].messages.last().unwrap().text().ends_with(text));
        check_sound(agent.store(), session).await;
    });
}

/// A turn searches once: all of its requests show the same, and each is the one
/// before with something appended.
#[test]
fn picks_stay_through_the_rounds_of_a_turn() {
    with_flow_example(async |bench, fake, agent, session| {
        fake.push(holds(&["the line"]));
        bench.held.let_go(1);
        say(&agent, session, "How do I authenticate?").await;
        let requests = requests(agent.store(), session).await;
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0].found, requests[1].found);
        let [first, second] = [0, 1].map(|number| fake.chats()[number]["messages"].to_string());
        assert!(second.starts_with(first.trim_end_matches(']')));
        check_sound(agent.store(), session).await;
    });
}

#[test]
fn search_can_be_turned_off_and_made_choosier() {
    with_flow_example(async |_, _, agent, session| {
        for line in ["/set search off", "/set search normal", "/set floor 1", "/set search default"]
        {
            command(&agent, session, line).await;
            say(&agent, session, "How do I authenticate?").await;
        }
        command(&agent, session, "/set floor default").await;
        say(&agent, session, "How do I authenticate?").await;
        let requests = requests(agent.store(), session).await;
        let taken: Vec<usize> = requests.iter().map(|request| request.found.len()).collect();
        assert_eq!(taken, [0, 1, 0, 0, 1]);
        let looked_at = |request: &RequestContext| request.candidates.len();
        assert_eq!(requests.iter().map(looked_at).collect::<Vec<_>>(), [0, 1, 2, 2, 1]);
    });
}

#[test]
fn a_skill_that_clearly_fits_speaks_for_tools() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    let skill = "---\nname: tides\ndescription: Tide tables, high water and low water times\n\
                 include: agent\n---\nLook up the tide table. High water and low water times \
                 are in the tide table.\n";
    bench.write("skills/tides/SKILL.md", skill);
    runtime().block_on(async {
        let mut entry = model("fake", &fake);
        entry.mode = ModeSetting::Auto;
        let agent = Agent::start(bench.parts(vec![entry])).await.unwrap();
        let session = session(&agent, "k").await;
        // By its words alone it is talk.
        say(&agent, session, "Why do high water and low water times change in the tide table?")
            .await;
        say(&agent, session, "Tell me about yourself").await;
        let requests = requests(agent.store(), session).await;
        let modes: Vec<_> = requests.iter().map(|request| &request.mode).collect();
        assert!(modes[0].chosen.is_minimal(), "{modes:?}");
        assert!(modes[0].reason.describe().contains("skill tides"), "{modes:?}");
        assert!(!modes[1].chosen.is_minimal(), "{modes:?}");
    });
}

/// Fifty skills that come when they fit, about nothing in particular but for one.
fn many_skills(bench: &Bench) {
    for number in 0..49 {
        let text = format!(
            "---\ndescription: Chapter {number} of the manual.\ninclude: agent\n---\nRead on.\n"
        );
        bench.write(&format!("skills/chapter-{number}/SKILL.md"), &text);
    }
    let text = "---\ndescription: Crop, resize and colour-correct photos.\ninclude: agent\n---\n\
                Photos are cropped with care, and never enlarged.\n";
    bench.write("skills/photo-edit/SKILL.md", text);
}

/// Talk names no skill, whatever there is; the tool that loads one is there from the start, so
/// that no turn breaks the prefix by offering it.
///
/// Promise: `skill-list-small`
#[test]
fn of_fifty_skills_none_is_named_where_nothing_fits() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    many_skills(&bench);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "hello there").await;
        say(&agent, session, "How are photos cropped and resized?").await;
        say(&agent, session, "thanks, that was kind").await;
        check_sound(agent.store(), session).await;
        let requests = requests(agent.store(), session).await;
        let names = |at: usize| -> Vec<&str> {
            let items = requests[at].parts.iter().filter_map(|part| part.item.as_ref());
            let skills = items.filter(|item| item.id.kind == ItemKind::Skill);
            skills.map(|item| &*item.id.name).collect()
        };
        assert_eq!(names(0), [""; 0]);
        assert_eq!(names(1), ["photo-edit"], "by its body or by its name");
        assert_eq!(names(2), [""; 0]);
        for request in &requests {
            assert_eq!(&*request.tools[0].spec.id.name, "read_item");
            assert_eq!(request.layer(Layer::Skills).count(), 0);
        }
    });
}
