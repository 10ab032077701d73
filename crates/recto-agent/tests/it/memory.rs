//! What is remembered from one session to the next, by whom, and who gets to see it.

use std::fmt::Write as _;

use recto_agent::{
    Agent, CommandReply, Conversation, EventKind, NoticeFacts, RecallQuery, RecalledContent,
    memory_tools, recorded_notices,
};
use recto_context::{
    AudienceKind, ChatMessage, DropReason, ItemId, ItemKind, Layer, Memory, PartReason, Pick,
    RequestContext,
};
use recto_fakes::{FakeAnswer, FakeCall, FakeServer};
use recto_store::SessionId;
use recto_workspace::Horizon;
use serde_json::{Value, json};

use crate::selection::requests;
use crate::support::{
    Bench, check_sound, conversation, events, model, owner, runtime, say, session, submit,
    transcript, typed,
};

/// An agent that has the tools for memory.
async fn agent(bench: &Bench, fake: &FakeServer) -> Agent {
    let mut parts = bench.parts(vec![model("fake", fake)]);
    parts.options.built_in.extend(memory_tools());
    Agent::start(parts).await.unwrap()
}

/// A thousand memories that have nothing to do with each other, some of them newer
/// than today.
fn thousand(bench: &Bench) {
    let mut text = String::new();
    for number in 0..1_000 {
        let day = number % 28 + 1;
        let year = 2024 + number % 12;
        let _ = writeln!(text, "## {year}-03-{day:02}\n- Box {number} holds the spare parts.");
    }
    bench.write("memory/MEMORY.md", &text);
}

fn remember(text: &str) -> recto_fakes::FakeReply {
    FakeAnswer::calls([FakeCall::new("remember", json!({ "text": text }))])
}

/// The texts of a layer.
fn layer(request: &RequestContext, layer: Layer) -> String {
    request.layer(layer).map(|part| part.text().to_owned() + "\n").collect()
}

async fn group(agent: &Agent, name: &str) -> SessionId {
    let place = Conversation {
        surface: "discord".into(),
        account: "bot".into(),
        name: name.into(),
        user: None,
        who: AudienceKind::Group,
        person: None,
    };
    agent.find_or_begin(&owner(), &place).await.unwrap().id
}

async fn guest(agent: &Agent, name: &str, person: &str) -> SessionId {
    let place = Conversation {
        surface: "telegram".into(),
        account: "bot".into(),
        name: name.into(),
        user: None,
        who: AudienceKind::Guest,
        person: Some(person.into()),
    };
    agent.find_or_begin(&owner(), &place).await.unwrap().id
}

/// A message that can't stand by itself recalls with the one before, and everybody who tells of it
/// says so.
#[test]
fn a_memory_that_a_fragment_recalls_says_with_what_it_was_searched() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    let trips = (0..60).map(|trip| format!("- The refund of trip {trip} went to guest {trip}.\n"));
    bench.write("memory/MEMORY.md", &trips.collect::<String>());
    runtime().block_on(async {
        let mut entry = model("fake", &fake);
        entry.limits.memory_entries = 1;
        let agent = Agent::start(bench.parts(vec![entry])).await.unwrap();
        let session = session(&agent, "k").await;
        say(&agent, session, "To which guest did the refund of the trip go?").await;
        say(&agent, session, "and what about the other one?").await;
        let all = requests(agent.store(), session).await;
        let memories = |request: &RequestContext| -> Vec<Pick> {
            let picks = request.found.iter().chain(&request.candidates);
            picks.filter(|pick| pick.item.kind == ItemKind::Memory).cloned().collect()
        };
        let [first, second] = &all[..] else { panic!("{}", all.len()) };
        assert!(memories(first).iter().all(|pick| !pick.scores.with_before));
        let recalled = memories(second);
        assert!(!recalled.is_empty());
        assert!(recalled.iter().all(|pick| pick.scores.with_before), "{recalled:?}");
        // Of a memory that was behind those, too: it is searched for as the turn did.
        let pinned = second.carry.snapshot.iter().flat_map(|snapshot| &snapshot.entries);
        let told: Vec<ItemId> = pinned.map(|entry| entry.item.clone()).collect();
        let view = agent.memories().files().read(&agent.memories().owner(), Horizon::All).await;
        let is_silent = |memory: &&Memory| {
            let id = memory.id();
            !told.contains(&id) && recalled.iter().all(|pick| pick.item != id)
        };
        let silent = view.memories.iter().find(is_silent).unwrap();
        let why = typed(&format!("/why {}", silent.name));
        let reply = agent.command(&owner(), &conversation("k"), session, why).await.unwrap();
        let CommandReply::Why(why) = reply else { panic!("{reply:?}") };
        let words = why[0].to_string();
        assert!(
            words.contains("asked again") && words.contains("with the message before"),
            "{words}"
        );
    });
}

/// Promise: `private-memory-stays-private`
#[test]
fn a_wish_is_known_in_the_next_session_and_not_in_a_group() {
    let bench = Bench::new();
    thousand(&bench);
    let fake = FakeServer::openai()
        .answer(remember("The user prefers brief answers."))
        .answer(FakeAnswer::text("I will."))
        .start();
    runtime().block_on(async {
        let agent = agent(&bench, &fake).await;
        let first = session(&agent, "first").await;
        say(&agent, first, "Remember that I prefer brief answers").await;
        let second = session(&agent, "second").await;
        say(&agent, second, "hello").await;
        let page = requests(agent.store(), second).await.remove(0);
        let memories = layer(&page, Layer::Memory);
        assert!(memories.contains("I prefer brief answers"), "{memories}");
        // "hello" brings a few of the newest, and not a thousand.
        assert!(memories.lines().count() < 10, "{memories}");
        let part = page.layer(Layer::Memory).find(|part| part.text().contains("brief")).unwrap();
        assert!(matches!(part.reason, PartReason::Pinned(_)), "{:?}", part.reason);
        let in_group = group(&agent, "general").await;
        say(&agent, in_group, "hello").await;
        say(&agent, in_group, "Does the user prefer brief answers? Which box holds parts?").await;
        for page in requests(agent.store(), in_group).await {
            assert_eq!(layer(&page, Layer::Memory), "");
            assert_eq!(layer(&page, Layer::Picks), "");
            assert!(page.found.is_empty() && page.candidates.is_empty());
        }
        check_sound(agent.store(), second).await;
    });
}

/// The codes of a turn's notices.
async fn notice_codes(agent: &Agent, session: SessionId, text: &str) -> Vec<String> {
    let told = events(submit(agent, session, text).await).await;
    let code = |event| match event {
        EventKind::Notice(notice) => {
            Some(serde_json::to_value(notice).unwrap()["code"].to_string())
        }
        _ => None,
    };
    told.into_iter().filter_map(code).collect()
}

/// Promise: `a-wish-to-remember-is-met-or-told`
#[test]
fn whoever_asks_to_remember_something_hears_when_nothing_was_stored() {
    let again = "I like jazz. I like jazz. I like jazz.";
    let fake = FakeServer::openai()
        .answer(remember("The user likes jazz."))
        .answer(FakeAnswer::text("Of course, I will never forget it!"))
        .answer(remember(again))
        .answer(FakeAnswer::text("Done."))
        .answer(remember("I am here to help."))
        .answer(remember(&"long ".repeat(100)))
        .answer(FakeAnswer::text("Done."))
        .answer(FakeAnswer::text("You like jazz."))
        .start();
    let (bench, nothing) = (Bench::new(), r#""nothing_remembered""#);
    runtime().block_on(async {
        let agent = agent(&bench, &fake).await;
        let own = session(&agent, "own").await;
        let wish = "Remember that I like jazz";
        assert_eq!(notice_codes(&agent, own, wish).await, [""; 0]);
        assert_eq!(notice_codes(&agent, own, wish).await, [nothing]);
        let record = agent.store().last_request(own).await.unwrap().unwrap();
        let [recorded] = &recorded_notices(&record)[..] else { panic!("{record:?}") };
        assert_eq!(recorded.facts, NoticeFacts::NothingRemembered);
        assert_eq!(notice_codes(&agent, own, "keep a note of my taste").await, [""; 0]);
        // Whatever the model writes down, the person's fact is what is kept.
        let other = "Remember that my cat is called Ada";
        assert_eq!(notice_codes(&agent, own, other).await, [""; 0]);
        assert_eq!(notice_codes(&agent, own, "keep a note of that").await, [""; 0]);
        assert_eq!(notice_codes(&agent, own, "do you remember that I like jazz?").await, [""; 0]);
        let said = transcript(agent.store(), own).await;
        assert!(said.contains("says the same more than once"), "{said}");
        assert!(said.contains("longer than 300 characters"), "{said}");
        let kept = bench.read("memory/MEMORY.md");
        assert!(kept.contains("- I like jazz (added"), "{kept}");
        assert!(kept.contains("- my cat is called Ada (added"), "{kept}");
        assert!(!kept.contains(again) && !kept.contains("help"), "{kept}");
        check_sound(agent.store(), own).await;
    });
    // The wire knows words alone.
    assert_eq!(fake.chats()[0]["tool_choice"], "required");
}

/// Promise: `a-wish-to-remember-is-met-or-told`
#[test]
fn what_a_model_makes_up_beside_a_wish_does_not_count() {
    let call = |arguments: Value| FakeAnswer::calls([FakeCall::new("remember", arguments)]);
    let fake = FakeServer::openai()
        .answer(call(json!({"text": "What is the capital of Italy?"})))
        .answer(FakeAnswer::text("Rome."))
        .answer(call(json!({"text": "Remember", "scope": "conversation", "important": true})))
        .answer(call(json!({"scope": "nonsense"})))
        .answer(call(json!({"text": "my sister is called Anna"})))
        .start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = agent(&bench, &fake).await;
        let own = session(&agent, "own").await;
        let bonn = "Remember that I live in Bonn. What is the capital of Italy?";
        assert_eq!(say(&agent, own, bonn).await.reply.as_deref(), Some("Rome."));
        say(&agent, own, "Hi! Remember that I like jazz.").await;
        say(&agent, own, "Remember that I am allergic to nuts").await;
        let two = "Remember that my sister is called Anna. Remember that my brother is called Tom.";
        let told = say(&agent, own, two).await.reply.unwrap();
        assert!(
            told.contains("Anna\nremembered as ") && told.ends_with(": my brother is called Tom")
        );
        let kept = bench.read("memory/MEMORY.md");
        for fact in
            ["I live in Bonn", "I like jazz", "I am allergic to nuts", "my sister is called Anna"]
        {
            assert!(kept.contains(&format!(" {fact} (added")), "{fact}: {kept}");
        }
        assert!(kept.contains("- my brother is called Tom (added") && !kept.contains("Italy"));
        // The transcript has the calls as the model wrote them.
        assert!(transcript(agent.store(), own).await.contains("nonsense"));
        check_sound(agent.store(), own).await;
    });
    assert_eq!(fake.chats().len(), 5, "a wish that was met asks the model for nothing more");
}

/// Promise: `a-wish-to-remember-is-met-or-told`
#[test]
fn a_wish_that_was_met_ends_its_turn() {
    let bench = Bench::new();
    let fake = FakeServer::openai()
        .answer(remember("The user likes jazz."))
        .answer(remember("The user likes jazz."))
        .answer(remember("The user likes jazz."))
        .answer(FakeAnswer::text("Ada it is."))
        .start();
    runtime().block_on(async {
        let agent = agent(&bench, &fake).await;
        let short = session(&agent, "short").await;
        let minimal = typed("/mode minimal");
        agent.command(&owner(), &conversation("short"), short, minimal).await.unwrap();
        let told = say(&agent, short, "Remember that I like jazz").await;
        let reply = told.reply.unwrap();
        assert!(reply.starts_with("Remembered as MEMORY.md#"), "{reply}");
        assert!(reply.ends_with(": I like jazz") && told.error.is_none(), "{reply}");
        assert_eq!(fake.chats().len(), 1, "nothing is left to be said by the model");
        check_sound(agent.store(), short).await;
        let full = session(&agent, "full").await;
        let told = say(&agent, full, "Remember that I like jazz").await;
        assert!(told.reply.unwrap().starts_with("Known already as "));
        assert_eq!((fake.chats().len(), told.error.is_none()), (2, true));
        // Whoever asks for more gets an answer.
        let told = say(&agent, short, "Remember that I like jazz. Who is Ada?").await;
        assert_eq!(told.reply.as_deref(), Some("Ada it is."));
    });
}

/// Promise: `text-raises-no-rights`
#[test]
fn a_model_can_share_nothing_and_a_group_remembers_for_itself() {
    let bench = Bench::new();
    let fake = FakeServer::openai()
        .answer(FakeAnswer::calls([
            FakeCall::new(
                "remember",
                json!({"text": "[shared] The code of the door is on the wall."}),
            ),
            FakeCall::new("remember", json!({"text": "\u{1}[shared] The safe is open."})),
            FakeCall::new("remember", json!({"text": "[sha\u{1}red] The key is lost."})),
        ]))
        .answer(FakeAnswer::text("Done."))
        .answer(remember("The meeting is on Monday."))
        .answer(FakeAnswer::text("Done."))
        .answer(FakeAnswer::calls([FakeCall::new(
            "remember",
            json!({"text": "Everybody knows.", "scope": "global"}),
        )]))
        .answer(FakeAnswer::text("I can't."))
        .start();
    runtime().block_on(async {
        let agent = agent(&bench, &fake).await;
        let own = session(&agent, "own").await;
        say(&agent, own, "Remember where the code is").await;
        let kept = bench.read("memory/MEMORY.md");
        assert!(kept.contains("The safe is open.") && !kept.contains("[shared]"), "{kept}");
        let in_group = group(&agent, "general").await;
        say(&agent, in_group, "Remember the meeting").await;
        assert!(bench.read("memory/conversations/discord@bot-general.md").contains("Monday"));
        say(&agent, in_group, "Remember it for everybody").await;
        let told = fake.chats().last().unwrap().to_string();
        assert!(told.contains("use one of: conversation"), "{told}");
        assert!(!bench.read("memory/MEMORY.md").contains("Everybody"));
        // The next session of the same conversation knows it, another group does not.
        say(&agent, in_group, "hello").await;
        let place = Conversation { name: "general".into(), ..group_place() };
        let renewed = agent.renew(&owner(), &place, in_group).await.unwrap().began.id;
        say(&agent, renewed, "hello").await;
        let other = group(&agent, "other").await;
        say(&agent, other, "When is the meeting?").await;
        let same = requests(agent.store(), renewed).await.remove(0);
        let other = requests(agent.store(), other).await.remove(0);
        assert!(layer(&same, Layer::Memory).contains("Monday"));
        assert!(!format!("{:?}", other.parts).contains("Monday"));
    });
}

/// Promise: `channel-cap`
#[test]
fn a_channel_is_sent_its_last_twenty_messages_and_a_private_talk_more() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    runtime().block_on(async {
        let agent = agent(&bench, &fake).await;
        let (channel, private) = (group(&agent, "c").await, session(&agent, "s").await);
        for (talk, most) in [(channel, 20), (private, 26)] {
            for number in 0..14 {
                say(&agent, talk, &format!("message {number}")).await;
            }
            let sent = requests(agent.store(), talk).await;
            let history = |request: &RequestContext| {
                let refers = |message: &&ChatMessage| {
                    let first = message.spans.first().map(|span| &request.parts[span.part]);
                    first.is_some_and(|part| part.layer == Layer::History)
                };
                request.messages.iter().filter(refers).count()
            };
            // 13 exchanges came before the last message.
            assert_eq!(sent.iter().map(history).max(), Some(most));
            let cap = DropReason::HistoryMessages { limit: 20 };
            let is_capped = |request: &RequestContext| {
                request.dropped.iter().any(|dropped| dropped.reason == cap)
            };
            assert_eq!(sent.iter().any(is_capped), talk == channel);
            assert!(layer(sent.last().unwrap(), Layer::History).contains("message 12"));
        }
    });
}

fn group_place() -> Conversation {
    Conversation {
        surface: "discord".into(),
        account: "bot".into(),
        name: String::new(),
        user: None,
        who: AudienceKind::Group,
        person: None,
    }
}

// The issue: secrets are refused with a hint.
#[test]
fn a_key_is_not_remembered() {
    let bench = Bench::new();
    let key = format!("My key is {}{}", "sk-proj-", "q7Rz2LmX9vKtB4nWc8YhJ1sDf6GpE3uA");
    let fake =
        FakeServer::openai().answer(remember(&key)).answer(FakeAnswer::text("I won't.")).start();
    runtime().block_on(async {
        let agent = agent(&bench, &fake).await;
        let session = session(&agent, "s").await;
        say(&agent, session, "Remember my key").await;
        let told = fake.chats().last().unwrap().to_string();
        assert!(told.contains("hint: keep it in a password manager"), "{told}");
        let typed = typed(&format!("/remember {key}"));
        let error = agent.command(&owner(), &conversation("s"), session, typed).await.unwrap_err();
        assert!(error.hint().unwrap().contains("password manager"));
        let (files, owner) = (agent.memories().files(), agent.memories().owner());
        assert!(files.read(&owner, Horizon::All).await.memories.is_empty());
    });
}

/// The memories on the page stay as they are.
/// Promise: `prefix-stays-put`
#[test]
fn the_snapshot_stays_and_what_is_remembered_meanwhile_does_not_move_it() {
    let bench = Bench::new();
    thousand(&bench);
    let fake = FakeServer::openai()
        .answer(FakeAnswer::text("Hello."))
        .answer(remember("The cat is called Minka."))
        .answer(FakeAnswer::text("Noted."))
        .start();
    runtime().block_on(async {
        let agent = agent(&bench, &fake).await;
        let session = session(&agent, "s").await;
        for text in ["hello", "Remember that the cat is called Minka", "thanks"] {
            say(&agent, session, text).await;
        }
        let pages = requests(agent.store(), session).await;
        let first = layer(&pages[0], Layer::Memory);
        for page in &pages {
            assert_eq!(layer(page, Layer::Memory), first);
        }
        // A person who edits the file changes it.
        let text = bench.read("memory/MEMORY.md").replace("Box 923 holds", "Box 923 held");
        bench.write("memory/MEMORY.md", &text);
        say(&agent, session, "and now?").await;
        let after = requests(agent.store(), session).await.pop().unwrap();
        assert_ne!(layer(&after, Layer::Memory), first);
        check_sound(agent.store(), session).await;
    });
}

#[test]
fn what_was_said_is_recalled_by_those_who_may() {
    let bench = Bench::new();
    let fake = FakeServer::openai()
        .answer(FakeAnswer::text("Noted: the boat is called Albatross."))
        .answer(FakeAnswer::text("Your secret is safe."))
        .answer(FakeAnswer::calls([FakeCall::new("recall", json!({"query": "name of the boat"}))]))
        .answer(FakeAnswer::text("Albatross."))
        .start();
    runtime().block_on(async {
        let agent = agent(&bench, &fake).await;
        let harbour = session(&agent, "harbour").await;
        say(&agent, harbour, "My boat is called Albatross").await;
        let anna = guest(&agent, "4711", "anna").await;
        say(&agent, anna, "My boat has a secret engine").await;
        let later = session(&agent, "later").await;
        say(&agent, later, "What is my boat called?").await;
        let told = fake.chats().last().unwrap()["messages"].to_string();
        assert!(told.contains("Albatross") && told.contains("session harbour"), "{told}");
        assert!(!told.contains("secret engine"), "{told}");
        // The page itself never has what was said elsewhere.
        let first = requests(agent.store(), later).await.remove(0);
        assert!(!format!("{:?}", first.parts).contains("Albatross"));
        check_sound(agent.store(), later).await;

        let recalled = |who: AudienceKind, person: Option<&str>, conversation: Option<&str>| {
            let audience = recto_context::Audience {
                who,
                person: person.map(Into::into),
                conversation: conversation.map(Into::into),
                agent: Some("main".into()),
            };
            let agent = agent.clone();
            async move {
                let wish = RecallQuery {
                    audience: &audience,
                    query: "boat engine secret Albatross",
                    limit: 20,
                    patience: recto_agent::SearchPatience::UntilDone,
                    now: jiff::Timestamp::now(),
                    known: None,
                };
                let found = agent.memories().recall(&wish).await.found;
                let mut names: Vec<String> = found
                    .into_iter()
                    .map(|found| match found.what {
                        RecalledContent::Memory(memory) => memory.name.to_string(),
                        RecalledContent::Message { name, .. } => name,
                    })
                    .collect();
                names.sort();
                names.dedup();
                names
            }
        };
        assert_eq!(recalled(AudienceKind::Owner, Some("owner"), None).await, ["harbour", "later"]);
        assert_eq!(
            recalled(AudienceKind::Guest, Some("anna"), None).await,
            ["4711"].map(|_| label(&anna))
        );
        assert_eq!(recalled(AudienceKind::Guest, Some("ben"), None).await, [""; 0]);
        assert_eq!(recalled(AudienceKind::Group, None, Some("telegram-4711")).await, [""; 0]);
        assert_eq!(recalled(AudienceKind::SubAgent, Some("anna"), None).await, [""; 0]);
    });
}

/// A session without a name of its own goes by its number.
fn label(session: &SessionId) -> String {
    session.to_string()
}

#[test]
fn what_is_forgotten_is_in_the_archive_and_nowhere_else() {
    let bench = Bench::new();
    bench.write("memory/MEMORY.md", "## 2026-03-01\n- Likes tea.\n- Likes rain.\n");
    let fake = FakeServer::openai().start();
    runtime().block_on(async {
        let agent = agent(&bench, &fake).await;
        let session = session(&agent, "s").await;
        let line = typed("/remember Call me Sam");
        let CommandReply::Remembered(added) =
            agent.command(&owner(), &conversation("s"), session, line).await.unwrap()
        else {
            panic!("it is remembered");
        };
        assert!(added.memory.marks.important);
        let name = added.memory.name.to_string();
        fake.push(FakeAnswer::calls([FakeCall::new("forget", json!({ "id": name }))]));
        fake.push(FakeAnswer::text("Forgotten."));
        say(&agent, session, "Forget my name").await;
        assert!(!bench.read("memory/MEMORY.md").contains("Sam"));
        assert!(bench.read("memory/MEMORY.md").contains("Likes rain."));
        assert!(bench.read("memory/archive/MEMORY.md").contains("Sam"));
    });
}

/// Promise: `one-fault-fails-no-turn`
#[test]
fn nothing_that_is_wrong_with_memories_keeps_a_turn_from_its_answer() {
    let bench = Bench::new();
    let fake = FakeServer::openai().start();
    bench.make_folder("memory/MEMORY.md");
    runtime().block_on(async {
        let agent = agent(&bench, &fake).await;
        let session = session(&agent, "s").await;
        let answered = say(&agent, session, "hello").await;
        assert!(answered.error.is_none(), "{answered:?}");
        let page = requests(agent.store(), session).await.remove(0);
        let told: Vec<&str> = page.notices.iter().map(|notice| &*notice.problem).collect();
        assert!(told.iter().any(|told| told.contains("folder")), "{told:?}");
    });
}
