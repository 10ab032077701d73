//! What a person is told of files and skills that are not as they should be: once,
//! and when it is told, not when it is found.

use recto_agent::{
    Agent, ConfiguredItem, ConfiguredItems, EventKind, Inbound, ItemSetting, ModelEntry,
    recorded_notices,
};
use recto_context::{ItemKind, Tokens};
use recto_fakes::{FakeAnswer, FakeServer};
use recto_store::{Moment, NewTurn, SessionId, SettingsMap};
use rusqlite::Connection;

use crate::support::{
    Bench, events, model, model_without_window, mortal, owner, runtime, session, submit,
};

const SKILL: &str = "---\nname: clock\ndescription: Tells the time.\n---\nCall utc_time.\n";

/// A skill's declaration with one tool.
fn declaration(subcommand: &str) -> String {
    format!(
        r#"{{"tools": [{{"name": "utc_time", "description": "The time.", "parameters": {{"type": "object"}}}}],
            "allowlist": {{"date": ["{subcommand}"]}},
            "execution": [{{"tool": "utc_time", "binary": "date", "subcommand": "{subcommand}"}}]}}"#
    )
}

/// The notices of a turn.
async fn notices(agent: &Agent, session: SessionId, text: &str) -> Vec<String> {
    let told = events(submit(agent, session, text).await).await;
    let notice = |event| match event {
        EventKind::Notice(notice) => Some(notice.text),
        _ => None,
    };
    told.into_iter().filter_map(notice).collect()
}

/// A home with a skill that changed since it was looked at, and with a memory file
/// that can't be read.
fn troubled_bench() -> Bench {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    bench.write("skills/clock/SKILL.md", SKILL);
    bench.write("skills/clock/tools.json", &declaration("-u"));
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "before").await;
        assert_eq!(notices(&agent, session, "hello").await, [""; 0]);
    });
    bench.write("skills/clock/tools.json", &declaration("-R"));
    bench.make_folder("memory/MEMORY.md");
    bench
}

/// That both are told in these notices, each once.
#[track_caller]
fn assert_both_told(notices: &[String]) {
    let [skill, memory] = notices else { panic!("{notices:#?}") };
    assert!(skill.contains("the tools of skill `clock` are off"), "{skill}");
    assert!(memory.contains("MEMORY.md"), "{memory}");
}

/// An item that has settings.
fn own_settings(kind: ItemKind, name: &str) -> ConfiguredItem {
    ConfiguredItem { kind, name: name.to_owned(), setting: ItemSetting::Own }
}

/// Promise: `notice-once`
#[test]
fn without_a_known_window_every_notice_is_told_once() {
    let (bench, fake, runtime) = (troubled_bench(), FakeServer::ollama().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent_without_window(&fake).await;
        let first = session(&agent, "k").await;
        assert_both_told(&notices(&agent, first, "one").await);
        assert_eq!(notices(&agent, first, "two").await, [""; 0]);
        let second = session(&agent, "other").await;
        assert_eq!(notices(&agent, second, "three").await, [""; 0]);
    });
    assert_eq!(fake.rejections(), [""; 0]);
}

/// Promise: `notice-once`
#[test]
fn a_notice_is_told_also_where_a_turn_fails_before_its_first_request() {
    let (bench, fake, runtime) = (troubled_bench(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let mut entry = model("fake", &fake);
        entry.window = Some(Tokens::new(600));
        let agent = Agent::start(bench.parts(vec![entry])).await.unwrap();
        let session = session(&agent, "k").await;
        assert_both_told(&notices(&agent, session, &"much too long ".repeat(2_000)).await);
    });
    assert_eq!(fake.chats().len(), 0);
}

#[test]
fn a_mention_that_leads_nowhere_is_told_in_each_turn_that_has_it() {
    let fake =
        FakeServer::ollama().answer(FakeAnswer::text("yes")).answer(FakeAnswer::text("no")).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let parts = bench.parts(vec![model_without_window("fake", &fake)]);
        let agent = Agent::start(parts).await.unwrap();
        let session = session(&agent, "k").await;
        for _ in 0..2 {
            let told = notices(&agent, session, "follow @rule:nowhere").await;
            assert!(matches!(&told[..], [one] if one.contains("nowhere")), "{told:#?}");
        }
    });
}

#[test]
fn the_record_of_a_turn_has_what_was_told_of_its_message_and_of_its_reply() {
    let cut = FakeAnswer::text("It is a long").out_of_tokens();
    let fake = FakeServer::openai().answer(cut).answer(FakeAnswer::text("yes")).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let recorded = async || {
            let request = agent.store().last_request(session).await.unwrap().unwrap();
            let texts = recorded_notices(&request).into_iter().map(|notice| notice.text);
            texts.collect::<Vec<String>>()
        };
        let told = notices(&agent, session, "follow @rule:nowhere").await;
        let [mention, cut] = &told[..] else { panic!("{told:#?}") };
        assert!(mention.contains("nowhere") && cut.contains("cut off at its limit"), "{told:#?}");
        assert_eq!(recorded().await, told);
        assert_eq!(notices(&agent, session, "go on").await, [""; 0]);
        assert_eq!(recorded().await, [""; 0]);
    });
}

#[test]
fn the_limit_of_a_small_window_and_a_prompt_that_its_server_cut_are_told_and_recorded() {
    let cut = FakeAnswer::text("It is a long").out_of_tokens();
    let answer = FakeAnswer::text("yes").prompt_tokens(60);
    let fake = FakeServer::openai().answer(cut).answer(answer).start();
    let (bench, runtime) = (Bench::new(), runtime());
    runtime.block_on(async {
        let entry = ModelEntry { window: Some(Tokens::new(4_000)), ..model("fake", &fake) };
        let agent = Agent::start(bench.parts(vec![entry])).await.unwrap();
        let session = session(&agent, "k").await;
        let long = "much to say ".repeat(300);
        for (message, words) in
            [("hi", "at its limit of 1,000 tokens"), (&*long, "counted 60 tokens in a prompt of")]
        {
            let told = notices(&agent, session, message).await;
            let request = agent.store().last_request(session).await.unwrap().unwrap();
            let recorded = recorded_notices(&request).into_iter().map(|notice| notice.text);
            assert_eq!(recorded.collect::<Vec<_>>(), told);
            assert!(matches!(&told[..], [one] if one.contains(words)), "{told:#?}");
        }
    });
}

/// Promise: `notice-once`
#[test]
fn a_skill_that_was_looked_at_and_changed_again_is_told_of_again() {
    let (bench, fake, runtime) = (troubled_bench(), FakeServer::openai().start(), runtime());
    runtime.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        assert_both_told(&notices(&agent, session, "one").await);
        bench.write("skills/clock/tools.json", &declaration("-u"));
        assert_eq!(notices(&agent, session, "two").await, [""; 0]);
        bench.write("skills/clock/tools.json", &declaration("-R"));
        let told = notices(&agent, session, "three").await;
        assert!(matches!(&told[..], [one] if one.contains("`clock` are off")), "{told:#?}");
    });
}

/// Promise: `notice-once`
#[test]
fn what_a_turn_tells_that_nobody_watches_is_told_again() {
    let (bench, fake) = (troubled_bench(), FakeServer::openai().start());
    let killed = mortal();
    killed.block_on(async {
        let agent = bench.agent(&fake).await;
        let left = session(&agent, "left").await;
        agent
            .store()
            .accept(NewTurn {
                session: left,
                at: Moment::now(),
                content: Inbound::text(&owner(), "hello").content,
                actor: owner().to_store(),
                delivery: None,
                settings: SettingsMap::default(),
                client: None,
                retraction: None,
            })
            .await
            .unwrap();
    });
    drop(killed);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        agent.finished().await;
        let session = session(&agent, "k").await;
        assert_both_told(&notices(&agent, session, "one").await);
    });
}

/// Promise: `typos-are-told`
/// Promise: `notice-once`
#[test]
fn files_and_settings_without_effect_are_told_with_the_first_turn() {
    let (bench, fake, runtime) = (Bench::new(), FakeServer::openai().start(), runtime());
    bench.write("rules/broken.md", "---\nname: a\nlist: [1\n---\nText");
    bench.write("rules/slip.md", "---\ninlcude: always\n---\nText");
    bench.write("rules/open.md", "---\ninclude: always\nText");
    bench.write("rules/fine.md", "---\ntags: [x]\n---\nText");
    bench.write("skills/clock/SKILL.md", SKILL);
    bench.write("skills/clock/tools.json", "{\"tools\": [");
    runtime.block_on(async {
        let mut parts = bench.parts(vec![model("fake", &fake)]);
        parts.options.configured_items = ConfiguredItems(vec![
            own_settings(ItemKind::Rule, "fien"),
            own_settings(ItemKind::Rule, "broken"),
            own_settings(ItemKind::Skill, "clock"),
        ]);
        let agent = Agent::start(parts).await.unwrap();
        let session = session(&agent, "k").await;
        let told = notices(&agent, session, "one").await;
        assert_eq!(told.len(), 5, "{told:#?}");
        for (beginning, end) in [
            ("tools.json", "it is left out until that is put right"),
            ("broken.md:3: the frontmatter is not YAML", "it is left out until that is put right"),
            ("slip.md:2: unknown field `inlcude`", "did you mean `include`?"),
            ("open.md:1: the frontmatter has no end", "put a line `---` behind its last field"),
            ("there are settings for the rule `fien`", "did you mean `fine`?"),
        ] {
            let is_it = |text: &&String| text.contains(beginning) && text.ends_with(end);
            assert_eq!(told.iter().filter(is_it).count(), 1, "{beginning}: {told:#?}");
        }
        assert_eq!(notices(&agent, session, "two").await, [""; 0]);
    });
}

/// Promise: `typos-are-told`
/// Promise: `unusable-tools-are-off`
#[test]
fn a_tool_that_cannot_be_run_is_told_with_its_flaw_and_not_sent() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    let always = SKILL.replacen("name: clock\n", "name: clock\ninclude: always\n", 1);
    bench.write("skills/clock/SKILL.md", &always);
    let lonely = r#"{"tools": [{"name": "lonely", "description": "Can't be run."}, "#;
    let declared = declaration("-u").replacen("{\"tools\": [", lonely, 1);
    bench.write("skills/clock/tools.json", &declared);
    runtime().block_on(async {
        let mut parts = bench.parts(vec![model("fake", &fake)]);
        let tool = |name: &str| own_settings(ItemKind::Tool, name);
        parts.options.configured_items =
            ConfiguredItems(vec![tool("clock.lonely"), tool("clock.lonly")]);
        let agent = Agent::start(parts).await.unwrap();
        let session = session(&agent, "k").await;
        let told = notices(&agent, session, "one").await;
        let [flaw, unknown] = &told[..] else { panic!("{told:#?}") };
        assert!(flaw.starts_with("tool `clock.lonely` is off: "), "{flaw}");
        let end = "tools.json:1: tool `lonely` has no execution, so it can't be run";
        assert!(flaw.ends_with(end), "{flaw}");
        assert!(unknown.contains("clock.lonly"), "{unknown}");
        let sent = fake.chats().pop().unwrap()["tools"].to_string();
        assert!(sent.contains("utc_time") && !sent.contains("lonely"), "{sent}");
        assert_eq!(notices(&agent, session, "two").await, [""; 0]);
    });
}

/// Promise: `system-file-told`
#[test]
fn a_file_that_says_who_the_agent_is_and_cannot_be_read_is_told_once_for_each_change() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    let soul = bench.path().join("workspace/SOUL.md");
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        assert_eq!(notices(&agent, session, "hello").await, [""; 0]);
        std::fs::write(&soul, b"You are \xff\xfe.").unwrap();
        let told = notices(&agent, session, "who are you?").await;
        let [told] = &told[..] else { panic!("{told:#?}") };
        assert!(told.contains("SOUL.md") && told.contains("is not UTF-8"), "{told}");
        assert_eq!(notices(&agent, session, "and now?").await, [""; 0]);
        bench.write("SOUL.md", "You are a keeper.\n");
        assert_eq!(notices(&agent, session, "better?").await, [""; 0]);
        std::fs::write(&soul, b"You are \xff.").unwrap();
        assert_eq!(notices(&agent, session, "once more?").await.len(), 1);
    });
}

/// Promise: `trust-follows-content`
#[test]
fn the_tools_of_skills_are_off_while_the_store_cannot_say_what_a_skill_was() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    let always = SKILL.replacen("name: clock\n", "name: clock\ninclude: always\n", 1);
    bench.write("skills/clock/SKILL.md", &always);
    bench.write("skills/clock/tools.json", &declaration("-u"));
    let offers_clock = || {
        let chat = fake.chats().pop().unwrap().to_string();
        chat.contains(r#""name":"clock_utc_time""#) || chat.contains(r#""name":"utc_time""#)
    };
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        assert_eq!(notices(&agent, session, "one").await, [""; 0]);
        assert!(offers_clock());
        let database = Connection::open(bench.database()).unwrap();
        database.execute_batch("ALTER TABLE trusted RENAME TO hidden").unwrap();
        bench.write("skills/clock/tools.json", &declaration("-R"));
        let told = notices(&agent, session, "two").await;
        assert!(matches!(&told[..], [one] if one.contains("`clock` are off")), "{told:#?}");
        assert!(!offers_clock());
        // Nothing of that is kept: what the store says then is what counts.
        database.execute_batch("ALTER TABLE hidden RENAME TO trusted").unwrap();
        assert!(notices(&agent, session, "three").await[0].contains("changed"));
        assert!(!offers_clock());
        bench.write("skills/clock/tools.json", &declaration("-u"));
        assert_eq!(notices(&agent, session, "four").await, [""; 0]);
        assert!(offers_clock());
    });
}
