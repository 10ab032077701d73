//! What somebody used before in messages like one, by words alone.

use recto_agent::{Actor, ActorRole, Agent, CommandReply, Conversation, Inbound};
use recto_context::{EarlierUse, ItemId, ItemKind, RequestContext};
use recto_fakes::{FakeAnswer, FakeCall, FakeServer};
use recto_store::{SessionId, UsedTurn};
use recto_tools::{ToolOptions, Toolbox};
use serde_json::json;

use super::{command, items_on, requests};
use crate::support::{Bench, check_sound, finished, holds, model, runtime, say, session};
use crate::support::{owner, submit_inbound, typed};

const ASKED: &str = "How do users authenticate with OAuth to log in?";
const ALIKE: &str = "How do all users authenticate with OAuth to log in?";

/// Rules on one subject: the second has little in common with what is asked.
fn workspace(bench: &Bench) {
    let rule = |include: &str, description: &str, text: &str| {
        format!("---\ninclude: {include}\ndescription: {description}\n---\n{text}\n")
    };
    let text = "Users authenticate with OAuth tokens. A login needs a valid token.";
    bench.write("rules/auth.md", &rule("agent", "How users authenticate and log in", text));
    let text = "A token is thrown away after a day, and users authenticate anew.";
    bench.write("rules/tokens.md", &rule("agent", "How long a token lasts", text));
    let text = "Only people with two keys may authenticate a payment by hand.";
    bench.write("rules/payments.md", &rule("manual", "Payments by hand", text));
}

fn reads(item: &str) -> FakeAnswer {
    FakeAnswer::calls([FakeCall::new("read_item", json!({ "item": item }))]).into()
}

/// A model that reads an item so many times, each time in a turn of its own, and then only talks.
fn reader(item: &str, times: usize) -> FakeServer {
    let mut fake = FakeServer::openai();
    for _ in 0..times {
        fake = fake.answer(reads(item)).answer(FakeAnswer::text("So it is."));
    }
    fake.start()
}

/// An agent whose pages list what may fit.
async fn listing_agent(bench: &Bench, fake: &FakeServer, own_use: bool) -> Agent {
    workspace(bench);
    let mut parts = bench.parts(vec![model("fake", fake)]);
    parts.tools = Toolbox::new(ToolOptions::new(bench.path().join("workspace")));
    parts.search.options.list.opening = 0.0;
    parts.search.options.list.floor = 0.0;
    parts.search.options.own_use = own_use;
    Agent::start(parts).await.unwrap()
}

/// The last page of a session.
async fn page(agent: &Agent, session: SessionId) -> RequestContext {
    requests(agent.store(), session).await.pop().unwrap()
}

/// What the record of a page says of an item's earlier use.
fn earlier(page: &RequestContext, name: &str) -> Option<EarlierUse> {
    let picks = page.found.iter().chain(&page.candidates);
    picks.into_iter().find(|pick| &*pick.item.name == name).unwrap().scores.earlier_use
}

async fn ask(agent: &Agent, name: &str, message: &str) -> (SessionId, RequestContext) {
    let session = session(agent, name).await;
    command(agent, session, "/mode full").await;
    say(agent, session, message).await;
    (session, page(agent, session).await)
}

/// The guest's session, with a message in it.
async fn ask_as_guest(agent: &Agent, message: &str) -> RequestContext {
    let anna = Actor::new("anna", "Anna", ActorRole::Paired);
    let place = Conversation::in_private("telegram", "bot", "7", &anna);
    let session = agent.find_or_begin(&owner(), &place).await.unwrap().id;
    agent.command(&owner(), &place, session, typed("/mode full")).await.unwrap();
    finished(submit_inbound(agent, session, Inbound::text(&anna, message)).await).await;
    page(agent, session).await
}

async fn used_turns(agent: &Agent) -> Vec<UsedTurn> {
    agent.store().used_turns("main", 100).await.unwrap()
}

/// Promise: `own-use-is-told`
#[test]
fn what_was_used_in_like_messages_comes_and_says_why() {
    let (bench, fake) = (Bench::new(), reader("rule:tokens", 2));
    runtime().block_on(async {
        let agent = listing_agent(&bench, &fake, true).await;
        let (first, page) = ask(&agent, "k", ASKED).await;
        assert_eq!((items_on(&page), earlier(&page, "tokens")), (vec!["auth agent".into()], None));
        let (_, page) = ask(&agent, "l", ALIKE).await;
        let once = earlier(&page, "tokens").unwrap();
        assert_eq!((once.messages, once.turn), (1, 1));
        let (third, page) = ask(&agent, "m", ASKED).await;
        let twice = earlier(&page, "tokens").unwrap();
        assert_eq!((twice.messages, twice.turn), (2, 2));
        assert!(twice.without < 0.4, "{twice:?}");
        assert_eq!(items_on(&page), ["tokens agent", "auth agent"]);
        check_sound(agent.store(), third).await;
        let report = page.report().to_string();
        assert!(report.contains("\"earlier_use\":{\"day\":\""), "{report}");
        let CommandReply::Why(why) = command(&agent, third, "/why tokens").await else { panic!() };
        let words = why[0].to_string();
        let told = "used before in 2 messages like this one, last on ";
        assert!(words.contains(told) && words.contains("(turn 2; probability 0."), "{words}");
        let quoted = format!("the last message for which it was used: \"{ALIKE}\"");
        assert!(words.contains(&quoted), "{words}");
        // Nothing was used for the third message, so it is no evidence.
        assert_eq!(used_turns(&agent).await.len(), 2);
        agent.delete_session(&owner(), first).await.unwrap();
        let (_, page) = ask(&agent, "n", ASKED).await;
        assert_eq!(earlier(&page, "tokens").unwrap().messages, 1);
    });
}

/// Promise: `own-use-is-ones-own`
#[test]
fn nobody_s_record_speaks_for_anybody_else() {
    let (bench, fake) = (Bench::new(), reader("rule:tokens", 2));
    runtime().block_on(async {
        let agent = listing_agent(&bench, &fake, true).await;
        ask(&agent, "k", ASKED).await;
        // The guest's own turn uses it, too.
        assert_eq!(earlier(&ask_as_guest(&agent, ASKED).await, "tokens"), None);
        assert_eq!(used_turns(&agent).await.len(), 2);
        let (_, page) = ask(&agent, "l", ASKED).await;
        assert_eq!(earlier(&page, "tokens").unwrap().turn, 1);
        assert_eq!(earlier(&ask_as_guest(&agent, ALIKE).await, "tokens").unwrap().turn, 2);
    });
}

/// Promise: `own-use-goes-with-its-message`
#[test]
fn nothing_is_left_of_a_deleted_session() {
    let (bench, fake) = (Bench::new(), reader("rule:tokens", 1));
    runtime().block_on(async {
        let agent = listing_agent(&bench, &fake, true).await;
        let (first, _) = ask(&agent, "k", ASKED).await;
        let (second, page) = ask(&agent, "l", ASKED).await;
        assert!(earlier(&page, "tokens").is_some());
        agent.delete_session(&owner(), first).await.unwrap();
        let (_, page) = ask(&agent, "m", ASKED).await;
        assert_eq!((items_on(&page), earlier(&page, "tokens")), (vec!["auth agent".into()], None));
        // The record of before says what decided, and quotes nothing that is gone.
        let CommandReply::Why(why) = command(&agent, second, "/why tokens").await else { panic!() };
        let words = why[0].to_string();
        assert!(words.contains("used before in a message like this one, on "), "{words}");
        assert_eq!(why[0].used_for, None);
    });
}

#[test]
fn what_was_added_by_hand_counts_for_the_message_it_was_added_for() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let agent = listing_agent(&bench, &fake, true).await;
        let here = session(&agent, "k").await;
        command(&agent, here, "/mode full").await;
        command(&agent, here, "/add tokens").await;
        say(&agent, here, ASKED).await;
        say(&agent, here, "Which boats carry lamp oil to the island?").await;
        let used = used_turns(&agent).await;
        let items: Vec<&[ItemId]> = used.iter().map(|turn| &*turn.items).collect();
        assert_eq!(items, [[ItemId::new(ItemKind::Rule, "tokens")]]);
        let (_, page) = ask(&agent, "l", ALIKE).await;
        assert_eq!(earlier(&page, "tokens").unwrap().messages, 1);
        // A mention in the message is the same.
        let (_, page) = ask(&agent, "m", "Which boats carry oil? @rule:tokens").await;
        assert!(items_on(&page).contains(&"tokens manual".to_owned()), "{:?}", items_on(&page));
        assert_eq!(used_turns(&agent).await.len(), 2);
        // What only a person brings stays with that, whatever was used.
        assert!(page.found.iter().all(|pick| &*pick.item.name != "payments"));
    });
}

#[test]
fn a_call_counts_when_it_has_succeeded() {
    let (bench, fake) = (Bench::new(), reader("rule:nothing", 1));
    runtime().block_on(async {
        let agent = listing_agent(&bench, &fake, true).await;
        ask(&agent, "k", ASKED).await;
        assert_eq!(used_turns(&agent).await, []);
    });
    let (bench, fake) = (Bench::new(), FakeServer::openai());
    let fake = fake.answer(holds(&["a"])).answer(FakeAnswer::text("Held.")).start();
    bench.held.let_go(1);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        ask(&agent, "k", "hold the rope of the boat").await;
        let used = used_turns(&agent).await;
        let items: Vec<&[ItemId]> = used.iter().map(|turn| &*turn.items).collect();
        assert_eq!(items, [[ItemId::new(ItemKind::Tool, "hold")]]);
    });
}

#[test]
fn it_can_be_switched_off() {
    let (bench, fake) = (Bench::new(), reader("rule:tokens", 1));
    runtime().block_on(async {
        let agent = listing_agent(&bench, &fake, false).await;
        ask(&agent, "k", ASKED).await;
        let (_, page) = ask(&agent, "l", ASKED).await;
        assert_eq!((items_on(&page), earlier(&page, "tokens")), (vec!["auth agent".into()], None));
        assert_eq!(agent.earlier_uses(&owner(), ASKED).await, Default::default());
    });
}
