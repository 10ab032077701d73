//! Items that are listed by name, and what a model loads of them.

use recto_agent::{Agent, CommandReply, Conversation};
use recto_context::{
    AudienceKind, IncludeMode, ItemForm, ItemId, ItemKind, ItemReading, Layer, Memory, PartReason,
    RequestContext, ToolSpec,
};
use recto_fakes::{FakeAnswer, FakeCall, FakeServer};
use recto_store::SessionId;
use recto_tools::{ToolOptions, Toolbox};
use serde_json::json;

use super::{command, item, requests};
use crate::support::{Bench, check_sound, conversation, model, owner, runtime, say};

/// Rules on one subject: of some of them a message says little.
fn workspace(bench: &Bench) {
    let text = "Users authenticate with OAuth tokens. A login needs a valid token.";
    item(bench, "rules/auth.md", "agent", "How users authenticate and log in", text);
    let text = "A token is thrown away after a day, and users authenticate anew.";
    item(bench, "rules/tokens.md", "agent", "How long a token lasts", text);
    let text = "Only people with two keys may authenticate a payment by hand.";
    item(bench, "rules/payments.md", "manual", "Payments by hand", text);
    bench.write("memory/MEMORY.md", "- Users of the old desk authenticate by a ring.\n");
}

/// A tool that comes when it fits.
fn clock() -> ToolSpec {
    let id = ItemId::new(ItemKind::Tool, "clock");
    let parameters = json!({"type": "object", "properties": {}});
    let spec = ToolSpec::new(id, "How late it is.", parameters);
    ToolSpec { include: IncludeMode::Agent, ..spec }
}

fn reads(item: &str) -> FakeAnswer {
    FakeAnswer::calls([FakeCall::new("read_item", json!({ "item": item }))]).into()
}

/// Talks with an agent whose model loads these items, one after the other, in its first turn.
fn talk(loads: &[&str], check: impl AsyncFnOnce(Agent, SessionId, Vec<RequestContext>)) {
    talk_in(&conversation("k"), loads, check);
}

/// The same in some conversation.
fn talk_in(
    place: &Conversation,
    loads: &[&str],
    check: impl AsyncFnOnce(Agent, SessionId, Vec<RequestContext>),
) {
    let mut fake = FakeServer::openai();
    for load in loads {
        fake = fake.answer(reads(load));
    }
    let (bench, fake) = (Bench::new(), fake.answer(FakeAnswer::text("So it is.")).start());
    workspace(&bench);
    runtime().block_on(async {
        let mut entry = model("fake", &fake);
        entry.limits.memory_entries = 0;
        let mut parts = bench.parts(vec![entry]);
        parts.search.options.list.opening = 0.0;
        parts.search.options.list.floor = 0.0;
        parts.options.built_in.push(clock());
        parts.tools = Toolbox::new(ToolOptions::new(bench.path().join("workspace")));
        let agent = Agent::start(parts).await.unwrap();
        let session = agent.find_or_begin(&owner(), place).await.unwrap().id;
        command(&agent, session, "/mode full").await;
        say(&agent, session, "How do users authenticate with OAuth when they log in?").await;
        check_sound(agent.store(), session).await;
        let requests = requests(agent.store(), session).await;
        check(agent, session, requests).await;
    });
}

/// The results of the calls on a page, in order.
fn results(request: &RequestContext) -> Vec<String> {
    let rounds = request.messages.iter().filter(|message| message.answers.is_some());
    rounds.map(|message| message.text()).collect()
}

/// Promise: `possible-by-name`
#[test]
fn what_a_message_does_not_bring_can_be_read() {
    talk(&["rule:tokens"], async |agent, session, requests| {
        let [first, second] = &requests[..] else { panic!("{}", requests.len()) };
        let listed = first.layer(Layer::Picks).filter(|part| part.is_list_entry());
        let listed: Vec<&str> = listed.map(|part| part.text()).collect();
        assert!(listed.contains(&"- rule:tokens: How long a token lasts"), "{listed:?}");
        assert!(listed.iter().all(|line| !line.contains("payments")), "{listed:?}");
        let told = &results(second)[0];
        assert!(told.starts_with("[rule: tokens]\nA token is thrown away"), "{told}");
        let CommandReply::Why(why) = command(&agent, session, "/why tokens").await else {
            panic!()
        };
        assert_eq!(why[0].status().unwrap().form(), Some(ItemForm::Listed));
        assert_eq!(why[0].read, Some(ItemReading::ThisTurn));
        let words = why[0].to_string();
        assert!(words.contains("was listed by name (picks, agent, "), "{words}");
        assert!(words.contains("rank ") && words.contains("probability "), "{words}");
        let read = "read by the model in this turn, and what it read stands on the page (rounds)";
        assert!(words.contains("; more than that was not brought: not taken: "), "{words}");
        assert!(words.ends_with(read), "{words}");
        let usage = agent.store().usage("main", None).await.unwrap();
        let rule = ItemId::new(ItemKind::Rule, "tokens");
        let counts = usage.items.iter().find(|usage| usage.item == rule).unwrap().counts;
        assert_eq!((counts.taken, counts.offered, counts.used), (0, 1, 1));
    });
}

/// Promise: `asked-tool-stays`
#[test]
fn a_tool_is_offered_once_it_was_asked_for() {
    talk(&["tool:clock"], async |agent, session, requests| {
        let offers = |request: &RequestContext| {
            let tool = request.tools.iter().find(|tool| &*tool.spec.id.name == "clock");
            tool.map(|tool| tool.reason.clone())
        };
        let [first, second] = &requests[..] else { panic!("{}", requests.len()) };
        assert_eq!(offers(first), None);
        assert_eq!(offers(second), Some(PartReason::AskedFor));
        say(&agent, session, "thanks").await;
        let third = super::requests(agent.store(), session).await.pop().unwrap();
        assert!(matches!(offers(&third), Some(PartReason::AskedForInTurn(_))), "{third:?}");
    });
}

/// Promise: `read-what-the-session-has`
#[test]
fn a_model_reads_nothing_that_the_session_may_not_have() {
    talk(&["rule:payments", "rule:tokenz", "memory:00000000"], async |agent, session, requests| {
        let told = results(requests.last().unwrap());
        let expected = [
            "read_item failed: rule payments is only there where a person adds it to the session",
            "read_item failed: there is no item `rule:tokenz`; did you mean `rule:tokens`?",
            "read_item failed: there is no item `memory:00000000`; use a name from the list",
        ];
        assert_eq!(told, expected);
        let CommandReply::Why(why) = command(&agent, session, "/why payments").await else {
            panic!()
        };
        assert_eq!(why[0].read, None);
    });
}

/// What is remembered for the owner is not there for a guest's model, whatever it calls it by.
///
/// Promise: `read-what-the-session-has`
#[test]
fn what_is_remembered_for_others_is_read_by_nobody_else() {
    let text = "Users of the old desk authenticate by a ring.";
    let memory = Memory::new("MEMORY.md", text, None);
    let digits = memory.name.rsplit_once('#').unwrap().1;
    let names = [format!("memory:{digits}"), format!("memory:{}", memory.name)];
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let told = |request: &RequestContext| results(request).join("\n");
    talk(&names, async |_, _, requests| {
        let told = told(requests.last().unwrap());
        assert_eq!(told.matches(text).count(), 2, "{told}");
    });
    let guest = Conversation {
        who: AudienceKind::Guest,
        person: Some("anna".into()),
        ..conversation("4711")
    };
    talk_in(&guest, &names, async |_, _, requests| {
        let told = told(requests.last().unwrap());
        assert_eq!(told.matches("read_item failed: there is no item").count(), 2, "{told}");
        assert!(!told.contains(text), "{told}");
    });
}
