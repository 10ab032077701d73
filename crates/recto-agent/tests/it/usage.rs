//! What turns count as: by what they put on the page, by what was seen to be used, and
//! the same for turns that were interrupted.

mod clients;

use recto_agent::{
    Actor, ActorRole, Agent, CommandReply, Conversation, ModelEntry, TokenAccess, TokenHolder,
    TokenRights, UsageReport, explain_item, memory_tools, restore_request,
};
use recto_context::{ItemId, ItemKind, PageLayout, SkillRender};
use recto_fakes::{AnswerGate, FakeAnswer, FakeBuilder, FakeCall, FakeServer};
use recto_store::{ItemCounts, SessionId, UsageSummary};
use recto_tools::{ToolOptions, Toolbox};
use serde_json::json;

use crate::support::{
    Bench, arrival, check_sound, conversation, holds, model, mortal, owner, runtime, say, session,
    submit, typed, within,
};

/// Rules of every include mode, and two skills: one on the page, one in the list.
fn workspace(bench: &Bench) {
    let file = |include: &str, text: &str| format!("---\ninclude: {include}\n---\n{text}\n");
    bench.write("rules/tone.md", &file("always", "Answer in plain words."));
    bench.write("rules/units.md", &file("manual", "Use metric units."));
    let about = "Users authenticate with OAuth tokens; a login needs a valid token.";
    bench.write("rules/login.md", &file("agent", about));
    bench.write("rules/soup.md", &file("agent", "Soup is served hot, with bread."));
    let skill = |name: &str, include: &str| {
        format!("---\nname: {name}\ndescription: About {name}\ninclude: {include}\n---\nAll of it.")
    };
    bench.write("skills/maps/SKILL.md", &skill("maps", "always"));
    bench.write("skills/tides/SKILL.md", &skill("tides", "manual"));
}

async fn report(agent: &Agent, session: SessionId, line: &str) -> UsageReport {
    match agent.command(&owner(), &conversation("k"), session, typed(line)).await.unwrap() {
        CommandReply::Usage(report) => *report,
        other => panic!("{other:?}"),
    }
}

fn counts(usage: &UsageReport, kind: ItemKind, name: &str) -> ItemCounts {
    let id = ItemId::new(kind, name);
    let found = usage.items.iter().find(|item| item.usage.item == id);
    found.map(|item| item.usage.counts).unwrap_or_default()
}

fn is_unused(usage: &UsageReport, kind: ItemKind, name: &str) -> bool {
    usage.unused.iter().any(|item| item.usage.item == ItemId::new(kind, name))
}

#[test]
fn items_count_by_where_they_stood_and_what_was_called() {
    let bench = Bench::new();
    workspace(&bench);
    let fake = FakeServer::openai()
        .answer(FakeAnswer::text("With a token."))
        .answer(holds(&["a", "b"]))
        .answer(FakeAnswer::text("Held."))
        .start();
    bench.held.let_go(2);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "How do users authenticate to log in?").await;
        agent.command(&owner(), &conversation("k"), session, typed("/add units")).await.unwrap();
        say(&agent, session, "hold them").await;
        check_sound(agent.store(), session).await;
        let usage = report(&agent, session, "/stats").await;
        let taken = |taken| ItemCounts { taken, ..ItemCounts::default() };
        let tone = ItemCounts { by_always: 2, ..taken(2) };
        assert_eq!(counts(&usage, ItemKind::Rule, "tone"), tone);
        let units = ItemCounts { by_hand: 1, ..taken(1) };
        assert_eq!(counts(&usage, ItemKind::Rule, "units"), units);
        let login = counts(&usage, ItemKind::Rule, "login");
        assert_eq!((login.taken, login.by_search), (1, 1), "{login:?}");
        // Two calls in one turn are one turn that used it.
        let hold = ItemCounts { offered: 2, used: 1, by_always: 2, ..ItemCounts::default() };
        assert_eq!(counts(&usage, ItemKind::Tool, "hold"), hold);
        let risk = ItemCounts { used: 0, ..hold };
        assert_eq!(counts(&usage, ItemKind::Tool, "risk"), risk);
        assert_eq!(usage.session.as_ref().unwrap().turns, 2);
        assert_eq!(usage.totals.endings.done, 2);
        assert_eq!(usage.totals.tokens.pages, 3);

        assert!(is_unused(&usage, ItemKind::Tool, "risk"));
        assert!(is_unused(&usage, ItemKind::Rule, "soup"));
        assert!(!is_unused(&usage, ItemKind::Tool, "hold"));
        assert!(!is_unused(&usage, ItemKind::Rule, "tone"));
        let others = report(&agent, session, "/stats 2100-01-01").await;
        assert!(others.items.is_empty() && others.totals.endings.all() == 0);
        assert!(!is_unused(&others, ItemKind::Rule, "tone"), "its last use is known all the same");
    });
}

/// Promise: `views-agree`
#[test]
fn tokens_by_layer_are_those_of_the_recorded_requests() {
    let bench = Bench::new();
    workspace(&bench);
    let fake = FakeServer::openai().answer(holds(&["a"])).start();
    bench.held.let_go(1);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        say(&agent, session, "hold it").await;
        say(&agent, session, "and now?").await;
        let store = agent.store();
        let counted = store.usage("main", None).await.unwrap().tokens;
        let mut layers = std::collections::BTreeMap::new();
        let mut fresh = 0;
        for turn in store.turns(session).await.unwrap() {
            for record in store.requests(turn.id).await.unwrap() {
                let request = restore_request(store, &record).await.unwrap();
                for layer in recto_context::Layer::ALL {
                    *layers.entry(layer).or_default() +=
                        u64::from(request.layer_tokens(layer).get());
                }
                let told = record.notes["prefix"]["fresh_tokens"].as_u64();
                fresh += told.unwrap_or(u64::from(request.prompt_tokens().get()));
            }
        }
        layers.retain(|_, tokens| *tokens > 0);
        assert_eq!((counted.pages, counted.layers, counted.fresh), (3, layers, fresh));
    });
}

/// Plays a turn of two requests, in a process that is killed in the middle or not, and
/// gives what it counts as.
fn usage_of(fake: FakeBuilder, killed: Option<&AnswerGate>) -> UsageSummary {
    let bench = Bench::new();
    workspace(&bench);
    bench.held.let_go(1);
    let fake = fake.start();
    if let Some(gate) = killed {
        let mortal = mortal();
        mortal.block_on(async {
            let agent = bench.agent(&fake).await;
            let session = session(&agent, "k").await;
            submit(&agent, session, "hold it").await;
            arrival(gate, 1).await;
        });
        drop(mortal);
    }
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        within(agent.finished()).await;
        let session = session(&agent, "k").await;
        if killed.is_none() {
            say(&agent, session, "hold it").await;
        }
        check_sound(agent.store(), session).await;
        agent.store().usage("main", None).await.unwrap()
    })
}

/// Promise: `counted-once`
#[test]
fn a_turn_that_was_killed_and_taken_up_counts_like_another() {
    let whole = usage_of(FakeServer::openai().answer(holds(&["a"])), None);
    let gate = AnswerGate::new();
    let cut = FakeAnswer::text("lost words").held(&gate);
    let resumed = usage_of(FakeServer::openai().answer(holds(&["a"])).answer(cut), Some(&gate));
    assert_eq!((whole.endings.all(), resumed.endings.all()), (1, 1));
    let items = |usage: &UsageSummary| -> Vec<(ItemId, ItemCounts)> {
        usage.items.iter().map(|usage| (usage.item.clone(), usage.counts)).collect()
    };
    assert_eq!(items(&resumed), items(&whole));
    // The request whose answer was lost was made all the same.
    assert_eq!((whole.tokens.requests, resumed.tokens.requests), (2, 3));
}

/// The usage after a turn was killed while a tool ran, and closed by another process.
fn usage_of_interrupted(between: impl FnOnce(&Bench)) -> UsageSummary {
    let bench = Bench::new();
    workspace(&bench);
    let fake = FakeServer::openai().answer(holds(&["a"])).start();
    let mortal = mortal();
    mortal.block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        submit(&agent, session, "hold it").await;
        bench.held.has_begun().await;
    });
    drop(mortal);
    between(&bench);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        within(agent.finished()).await;
        agent.store().usage("main", None).await.unwrap()
    })
}

/// Promise: `counted-once`
#[test]
fn a_turn_that_can_not_be_taken_up_counts_with_what_it_used() {
    let usage = usage_of_interrupted(|_| {});
    assert_eq!((usage.endings.interrupted, usage.endings.all()), (1, 1));
    assert_eq!((usage.tokens.requests, usage.tokens.prompt > 0), (1, true));
    let hold = ItemId::tool(None, "hold");
    let hold = usage.items.iter().find(|usage| usage.item == hold).unwrap();
    assert_eq!((hold.counts.offered, hold.counts.used), (1, 1));
}

/// Promise: `counted-once`
#[test]
fn a_request_whose_record_is_damaged_counts_with_its_tokens() {
    let whole = usage_of_interrupted(|_| {});
    for damage in [
        "UPDATE requests SET document = x'28b52ffd00'",
        "UPDATE parts SET data = CAST('other words' AS BLOB)",
    ] {
        let usage = usage_of_interrupted(|bench| {
            let database = rusqlite::Connection::open(bench.database()).unwrap();
            assert!(database.execute(damage, []).unwrap() > 0);
        });
        assert_eq!((usage.endings.interrupted, usage.endings.all()), (1, 1), "{damage}");
        let counted = |usage: &UsageSummary| (usage.tokens.requests, usage.tokens.prompt);
        assert_eq!(counted(&usage), counted(&whole), "{damage}");
        assert_eq!((usage.tokens.requests, usage.tokens.prompt > 0), (1, true), "{damage}");
        assert_eq!((usage.tokens.pages, usage.items.len()), (0, 0), "{damage}");
    }
}

#[test]
fn a_skill_that_is_read_and_a_memory_that_is_recalled_are_used() {
    let bench = Bench::new();
    workspace(&bench);
    bench.write(
        "memory/MEMORY.md",
        "# Memory\n\n- The lighthouse lamp needs a new wick every spring.\n",
    );
    let call = |name: &str, arguments| FakeCall::new(name, arguments);
    let fake = FakeServer::openai()
        .answer(FakeAnswer::calls([
            call("read_skill", json!({"skill_name": "maps"})),
            call("read_skill", json!({"skill_name": "made up"})),
            call("recall", json!({"query": "lighthouse lamp wick"})),
        ]))
        .start();
    runtime().block_on(async {
        let layout = PageLayout { skills: SkillRender::ReadOnDemand, ..PageLayout::default() };
        let mut parts = bench.parts(vec![ModelEntry { layout, ..model("fake", &fake) }]);
        parts.options.built_in.extend(memory_tools());
        parts.tools = Toolbox::new(ToolOptions::new(bench.path().join("workspace")));
        let agent = Agent::start(parts).await.unwrap();
        let session = session(&agent, "k").await;
        say(&agent, session, "look it up").await;
        let usage = report(&agent, session, "/stats all").await;
        let seen = |kind, name: &str| {
            let ItemCounts { taken, offered, used, .. } = counts(&usage, kind, name);
            (taken, offered, used)
        };
        assert_eq!(seen(ItemKind::Skill, "maps"), (0, 1, 1));
        assert_eq!(seen(ItemKind::Skill, "made up"), (0, 0, 0));
        assert_eq!(seen(ItemKind::Tool, "recall"), (0, 1, 1));
        let memories = usage.items.iter().filter(|item| item.usage.item.kind == ItemKind::Memory);
        let used: Vec<u64> = memories.map(|item| item.usage.counts.used).collect();
        assert_eq!(used, [1]);
        assert!(!is_unused(&usage, ItemKind::Skill, "maps"));
        assert!(is_unused(&usage, ItemKind::Skill, "tides"));
    });
}

/// Promise: `views-agree`
#[test]
fn a_skill_of_which_only_the_name_stands_there_is_offered_and_another_taken() {
    for (skills, maps_is_listed) in [(SkillRender::Full, false), (SkillRender::ReadOnDemand, true)]
    {
        let (bench, fake) = (Bench::new(), FakeServer::openai().start());
        workspace(&bench);
        let tides = "---\nname: tides\ndescription: About tides\ninclude: agent\n---\nAll of it.";
        bench.write("skills/tides/SKILL.md", tides);
        runtime().block_on(async {
            let layout = PageLayout { skills, ..PageLayout::default() };
            let parts = bench.parts(vec![ModelEntry { layout, ..model("fake", &fake) }]);
            let agent = Agent::start(parts).await.unwrap();
            let session = session(&agent, "k").await;
            say(&agent, session, "hello").await;
            let record = agent.store().last_request(session).await.unwrap().unwrap();
            let request = restore_request(agent.store(), &record).await.unwrap();
            let usage = report(&agent, session, "/stats").await;
            for (name, is_listed) in [("maps", maps_is_listed), ("tides", true)] {
                let id = ItemId::new(ItemKind::Skill, name);
                let is_of = |part: &&recto_context::Part| {
                    part.item.as_ref().is_some_and(|item| item.id == id)
                };
                let part = request.parts.iter().find(is_of).unwrap();
                assert_eq!(part.is_list_entry(), is_listed, "{name}");
                let ItemCounts { taken, offered, .. } = counts(&usage, ItemKind::Skill, name);
                assert_eq!((taken, offered), if is_listed { (0, 1) } else { (1, 0) }, "{name}");
                assert_eq!(explain_item(&request, name).len(), 1, "{name}");
            }
        });
    }
}

/// Promise: `rights-are-one-table`
#[test]
fn whoever_may_not_see_other_sessions_is_told_of_this_one_alone() {
    let (bench, fake) = (Bench::new(), FakeServer::openai().start());
    workspace(&bench);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let own = session(&agent, "k").await;
        say(&agent, own, "hello").await;
        say(&agent, own, "and now?").await;
        let token = |holder, access| ActorRole::Token(TokenRights { holder, access });
        for role in [
            ActorRole::Paired,
            token(TokenHolder::Guest, TokenAccess::Write),
            token(TokenHolder::Guest, TokenAccess::Read),
        ] {
            let anna = Actor::new("anna", "Anna", role);
            let place = Conversation::in_private("telegram", "bot", &role.to_string(), &anna);
            let session = agent.find_or_begin(&owner(), &place).await.unwrap().id;
            say(&agent, session, "hi").await;
            let reply = agent.command(&anna, &place, session, typed("/stats all")).await.unwrap();
            let CommandReply::SessionUsage(usage) = reply else { panic!("{role}: {reply:?}") };
            assert_eq!((usage.turns, usage.tokens.requests), (1, 1), "{role}");
            let refused = agent.command(&anna, &place, own, typed("/stats")).await;
            assert!(refused.is_err(), "{role}");
        }
        let reader = token(TokenHolder::Owner, TokenAccess::Read);
        let reader = Actor::new("reader", "Reader", reader);
        let reply = agent.command(&reader, &conversation("k"), own, typed("/stats")).await.unwrap();
        assert!(matches!(reply, CommandReply::Usage(_)), "{reply:?}");
        // The owner is told no more than that where others read along.
        let group = Conversation::in_group("discord", "bot", "general");
        let shared = agent.find_or_begin(&owner(), &group).await.unwrap().id;
        let reply = agent.command(&owner(), &group, shared, typed("/stats")).await.unwrap();
        assert!(matches!(reply, CommandReply::SessionUsage(_)), "{reply:?}");
    });
}
