//! Tasks at set times: run once, by one process, without a history, and the answer in its place.

use std::time::Duration;

use expect_test::expect;
use jiff::{SignedDuration, Timestamp};
use recto_agent::{
    Actor, ActorRole, Agent, AgentError, Conversation, DeliveryTarget, EventCursor, EventKind,
    Inbound, PlanError, ScheduleHealth, SchedulePlan, ScheduleRequest, ScheduleSettings,
    change_standing, put_out, schedule_tool,
};
use recto_context::{ContextMode, MessageId};
use recto_fakes::{AnswerGate, FakeAnswer, FakeCall, FakeServer};
use recto_store::{
    AnswerDelivery, ApprovalAnswer, ChannelAccount, Moment, NewChannelDelivery, NewPairing,
    NewSchedule, PairingGrant, PairingId, PairingSubject, RunStart, SessionFilter, SessionId,
    SessionName, Store, StoredApproval, StoredRun, TurnEnding,
};
use rusqlite::Connection;
use serde_json::json;

use crate::support::{
    Bench, arrival, check_sound, model, mortal, owner, runtime, say, session, transcript, within,
};

/// A schedule whose time came so many minutes ago, of those that come every hour.
fn due_since(minutes: i64, target: &DeliveryTarget) -> NewSchedule {
    let now = Timestamp::now();
    let due = now - SignedDuration::from_mins(minutes);
    NewSchedule {
        agent: "main".to_owned(),
        name: "tide".to_owned(),
        plan: json!(SchedulePlan::cron("0 * * * *", Some("UTC")).unwrap()),
        settings: json!({}),
        target: json!(target),
        actor: owner().to_store(),
        task: "report the tide".to_owned(),
        at: Moment::new(now),
        due: Some(Moment::new(due)),
    }
}

fn every_hour(target: DeliveryTarget) -> ScheduleRequest {
    ScheduleRequest {
        name: "tide".to_owned(),
        plan: SchedulePlan::cron("0 * * * *", Some("UTC")).unwrap(),
        task: "report the tide".to_owned(),
        settings: ScheduleSettings::default(),
        target,
    }
}

fn delivered_to(place: &str) -> Option<AnswerDelivery> {
    Some(AnswerDelivery::Delivered { to: place.to_owned() })
}

/// Waits until so many runs are over, and gives them, the newest first.
async fn runs_over(store: &Store, count: usize) -> Vec<StoredRun> {
    within(async {
        loop {
            let runs = store.schedule_runs(None, 100).await.unwrap();
            if runs.len() >= count && runs.iter().all(|run| run.ended.is_some()) {
                return runs;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
}

/// Promise: `schedules-run-once`
#[test]
fn what_was_missed_runs_once_and_the_next_time_is_to_come() {
    let fake = FakeServer::openai().answer(FakeAnswer::text("High.")).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let new = due_since(60 * 5, &DeliveryTarget::OwnSession);
        agent.store().add_schedule(new).await.unwrap();
        assert_eq!(agent.tick_schedules().await.unwrap(), 1);
        let runs = runs_over(agent.store(), 1).await;
        assert_eq!(agent.tick_schedules().await.unwrap(), 0);
        assert_eq!((runs[0].outcome, runs[0].missed), (Some(TurnEnding::Done), 5));
        let next = agent.schedule(&owner(), "tide").await.unwrap().stored.due.unwrap();
        assert!(next > Moment::now());
        expect![[r#"
            1 user: report the tide
            2 assistant: High.
        "#]]
        .assert_eq(&transcript(agent.store(), runs[0].session.unwrap()).await);
        check_sound(agent.store(), runs[0].session.unwrap()).await;
    });
}

/// Promise: `schedules-run-once`
#[test]
fn of_two_processes_one_runs_a_time_that_has_come() {
    let fake = FakeServer::openai().start();
    let bench = Bench::new();
    runtime().block_on(async {
        let [one, two] = [bench.agent(&fake).await, bench.agent(&fake).await];
        for _ in 0..5 {
            let mut new = due_since(1, &DeliveryTarget::OwnSession);
            new.name = format!("tide-{}", Timestamp::now().as_nanosecond());
            one.store().add_schedule(new).await.unwrap();
            let ticks = tokio::join!(one.tick_schedules(), two.tick_schedules());
            assert_eq!(ticks.0.unwrap() + ticks.1.unwrap(), 1);
        }
        let runs = runs_over(one.store(), 5).await;
        assert_eq!((runs.len(), fake.chats().len()), (5, 5));
    });
}

/// Promise: `schedules-run-once`
/// Promise: `killed-at-any-instant`
#[test]
fn a_run_whose_process_was_killed_is_finished_by_the_next_and_asked_once() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai()
        .answer(FakeAnswer::text("lost words").held(&gate))
        .answer(FakeAnswer::text("High."))
        .start();
    let bench = Bench::new();
    let killed = mortal();
    killed.block_on(async {
        let agent = bench.agent(&fake).await;
        let new = due_since(1, &DeliveryTarget::OwnSession);
        agent.store().add_schedule(new).await.unwrap();
        agent.tick_schedules().await.unwrap();
        arrival(&gate, 1).await;
    });
    drop(killed);
    gate.open();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        agent.tick_schedules().await.unwrap();
        let runs = runs_over(agent.store(), 1).await;
        assert_eq!((runs.len(), runs[0].outcome), (1, Some(TurnEnding::Done)));
        expect![[r#"
            1 user: report the tide
            2 assistant: High.
        "#]]
        .assert_eq(&transcript(agent.store(), runs[0].session.unwrap()).await);
        check_sound(agent.store(), runs[0].session.unwrap()).await;
    });
}

/// Promise: `schedules-run-once`
/// Promise: `killed-at-any-instant`
#[test]
fn a_run_that_was_begun_and_no_more_is_taken_over() {
    let fake = FakeServer::openai().answer(FakeAnswer::text("High.")).start();
    let bench = Bench::new();
    let killed = mortal();
    killed.block_on(async {
        // As far as the first commit of a run, and not a step further.
        let store = bench.store();
        let new = due_since(1, &DeliveryTarget::OwnSession);
        let schedule = store.add_schedule(new).await.unwrap();
        let begun = store.begin_run(schedule.id, Moment::now()).await.unwrap();
        assert!(matches!(begun, RunStart::Begun(_)), "{begun:?}");
        let again = store.begin_run(schedule.id, Moment::now()).await.unwrap();
        assert!(matches!(again, RunStart::UnderWay(_)), "{again:?}");
    });
    drop(killed);
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        // The time that has come as well waits until that run is over.
        assert_eq!(agent.tick_schedules().await.unwrap(), 1);
        let runs = runs_over(agent.store(), 1).await;
        assert_eq!((runs.len(), runs[0].outcome), (1, Some(TurnEnding::Done)));
    });
}

#[test]
fn each_run_is_a_session_of_its_own_without_a_history_and_without_tools_that_ask() {
    let fake = FakeServer::openai().start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let context_mode = Some(ContextMode::Full);
        let settings = ScheduleSettings { model: None, context_mode };
        let request = ScheduleRequest { settings, ..every_hour(DeliveryTarget::OwnSession) };
        agent.add_schedule(&owner(), request).await.unwrap();
        let first = within(agent.run_schedule(&owner(), "tide")).await.unwrap().view.run;
        let second = within(agent.run_schedule(&owner(), "tide")).await.unwrap().view.run;
        assert_ne!(first.session, second.session);
        let chats = fake.chats();
        for chat in &chats {
            let messages = chat["messages"].as_array().unwrap();
            let roles: Vec<_> = messages.iter().map(|message| &message["role"]).collect();
            assert_eq!(roles, ["system", "user"]);
            let tools = chat["tools"].as_array().unwrap().iter();
            let tools: Vec<_> = tools.map(|tool| &tool["function"]["name"]).collect();
            assert_eq!(tools, ["hold"]);
        }
        // One of them is open; those before are kept, and can be shown.
        let open = agent.store().sessions(SessionFilter::Open).await.unwrap();
        let open: Vec<_> = open.iter().map(|open| Some(open.session.id)).collect();
        assert_eq!(open, [second.session]);
        let next = agent.schedule(&owner(), "tide").await.unwrap().stored.due.unwrap();
        assert!(next > Moment::now(), "a run by hand moves nothing");
    });
}

#[test]
fn the_answer_comes_into_the_session_that_it_is_for_and_stays_in_its_history() {
    let fake = FakeServer::openai()
        .answer(FakeAnswer::text("Hello."))
        .answer(FakeAnswer::text("High."))
        .start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let talk = session(&agent, "k").await;
        say(&agent, talk, "hello").await;
        let target = agent.find_delivery_target("k").await.unwrap();
        agent.add_schedule(&owner(), every_hour(target)).await.unwrap();
        let mut listener = agent.listen(&owner(), talk, EventCursor::Now).await.unwrap();
        let run = within(agent.run_schedule(&owner(), "tide")).await.unwrap().view.run;
        assert_eq!(run.delivery, delivered_to("session k"));
        // Whoever looks at the session hears of it.
        let heard = within(listener.next()).await.unwrap();
        let (schedule, message) = ("tide".to_owned(), MessageId(3));
        assert_eq!(heard.event, EventKind::Delivered { schedule, message });
        assert_eq!(heard.turn, run.turn);
        assert_eq!(say(&agent, talk, "and now?").await.reply.unwrap(), "You said: and now?");
        expect![[r#"
            1 user: hello
            2 assistant: Hello.
            3 user: [schedule tide] report the tide
            4 assistant: High.
            5 user: and now?
            6 assistant: You said: and now?
        "#]]
        .assert_eq(&transcript(agent.store(), talk).await);
        let last = fake.chats().pop().unwrap();
        assert_eq!(last["messages"].as_array().unwrap().len(), 6);
        check_sound(agent.store(), talk).await;
    });
}

#[test]
fn a_session_keeps_its_schedules_whatever_it_is_called_and_so_does_the_one_in_its_place() {
    let fake = FakeServer::openai().start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let talk = session(&agent, "k").await;
        let target = agent.find_delivery_target("k").await.unwrap();
        agent.add_schedule(&owner(), every_hour(target)).await.unwrap();
        agent.store().rename(talk, SessionName::new("tides").unwrap()).await.unwrap();
        let run = within(agent.run_schedule(&owner(), "tide")).await.unwrap().view.run;
        assert_eq!(
            (run.outcome, run.delivery),
            (Some(TurnEnding::Done), delivered_to("session tides"))
        );
        assert_eq!(agent.schedules(&owner()).await.unwrap()[0].answer_to, "session tides");
        // What `/new` begins in its place has its answers from then on.
        let conversation = crate::support::conversation("tides");
        let renewed = agent.renew(&owner(), &conversation, talk).await.unwrap();
        let run = within(agent.run_schedule(&owner(), "tide")).await.unwrap().view.run;
        assert_eq!(run.delivery, delivered_to("session tides"));
        expect![[r#"
            1 user: [schedule tide] report the tide
            2 assistant: You said: report the tide
        "#]]
        .assert_eq(&transcript(agent.store(), renewed.began.id).await);
    });
}

#[test]
fn the_answer_of_what_was_asked_in_a_chat_goes_into_its_outbox_and_its_session() {
    let fake = FakeServer::openai().answer(FakeAnswer::text("**High** at noon.")).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let ann = Actor::new("telegram:7", "Ann", ActorRole::Paired);
        let chat = Conversation::in_private("telegram", "bot", "4711", &ann);
        let held = agent.find_or_begin(&ann, &chat).await.unwrap();
        let missing = agent.find_delivery_target("telegram:4712").await.unwrap_err();
        expect!["nobody talks with the agent in `telegram:4712`"].assert_eq(&missing.to_string());
        expect!["write to the bot there first; it talks in telegram:4711"]
            .assert_eq(&missing.hint().unwrap());
        let target = agent.find_delivery_target("telegram:@bot:4711").await.unwrap();
        assert_eq!(target, agent.find_delivery_target("telegram:4711").await.unwrap());
        assert_eq!(target, DeliveryTarget::Chat(chat));
        agent.add_schedule(&owner(), every_hour(target)).await.unwrap();
        let run = within(agent.run_schedule(&owner(), "tide")).await.unwrap().view.run;
        assert_eq!(run.delivery, delivered_to("telegram:4711"));
        // The run is held before the one who reads it, and not before the owner.
        let session = agent.store().session(run.session.unwrap()).await.unwrap().unwrap();
        assert_eq!(session.settings["audience"]["who"], "guest");
        let bot = ChannelAccount { channel: "telegram".to_owned(), account: "bot".to_owned() };
        let [post] = &agent.store().open_deliveries(&bot).await.unwrap()[..] else { panic!() };
        assert_eq!(post.conversation, "4711");
        assert_eq!(
            post.content,
            Some(json!({"markdown": "**schedule tide**\n\n**High** at noon."}))
        );
        expect![[r#"
            1 user: [schedule tide] report the tide
            2 assistant: **High** at noon.
        "#]]
        .assert_eq(&transcript(agent.store(), held.id).await);
    });
}

/// Promise: `schedules-run-once`
#[test]
fn a_run_that_broke_off_is_finished_by_whoever_runs_it_by_hand() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai()
        .answer(FakeAnswer::text("lost words").held(&gate))
        .answer(FakeAnswer::text("High."))
        .start();
    let bench = Bench::new();
    let killed = mortal();
    killed.block_on(async {
        let agent = bench.agent(&fake).await;
        agent.add_schedule(&owner(), every_hour(DeliveryTarget::OwnSession)).await.unwrap();
        let begun = agent.start_schedule(&owner(), "tide").await.unwrap();
        arrival(&gate, 1).await;
        let again = agent.run_schedule(&owner(), "tide").await.unwrap_err();
        assert!(matches!(again, AgentError::ScheduleRuns { run, .. } if run == begun.id));
    });
    drop(killed);
    gate.open();
    runtime().block_on(async {
        // One that takes up nothing by itself, as the command line has.
        let agent = Agent::idle(bench.parts(vec![model("fake", &fake)]));
        let ran = within(agent.run_schedule(&owner(), "tide")).await.unwrap();
        assert!(ran.is_taken_over);
        assert_eq!(ran.view.run.outcome, Some(TurnEnding::Done));
        let runs = agent.store().schedule_runs(None, 10).await.unwrap();
        assert_eq!(runs, std::slice::from_ref(&ran.view.run));
        expect![[r#"
            1 user: report the tide
            2 assistant: High.
        "#]]
        .assert_eq(&transcript(agent.store(), ran.view.run.session.unwrap()).await);
    });
}

#[test]
fn whether_schedules_are_run_here_can_be_asked() {
    let fake = FakeServer::openai().start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        assert_eq!(agent.schedule_health(), ScheduleHealth::Off);
        let new = due_since(1, &DeliveryTarget::OwnSession);
        agent.store().add_schedule(new).await.unwrap();
        agent.run_schedules_regularly();
        assert_eq!(agent.schedule_health(), ScheduleHealth::Running);
        // Nobody ticks here.
        let runs = runs_over(agent.store(), 1).await;
        assert_eq!(runs[0].outcome, Some(TurnEnding::Done));
        assert_eq!(agent.schedule_health(), ScheduleHealth::Running);
    });
}

#[test]
fn a_target_that_is_gone_is_told_in_the_log() {
    let fake = FakeServer::openai().start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let talk = session(&agent, "k").await;
        let target = DeliveryTarget::Session(talk);
        agent.add_schedule(&owner(), every_hour(target)).await.unwrap();
        agent.delete_session(&owner(), talk).await.unwrap();
        let run = within(agent.run_schedule(&owner(), "tide")).await.unwrap().view.run;
        assert_eq!(run.outcome, Some(TurnEnding::Failed));
        assert!(run.detail.unwrap().contains("there is no session"));
    });
}

#[test]
fn bad_schedules_are_refused_in_words() {
    let fake = FakeServer::openai().start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let add = async |request: ScheduleRequest| agent.add_schedule(&owner(), request).await;
        let base = || every_hour(DeliveryTarget::OwnSession);
        let named = ScheduleRequest { name: "a b".to_owned(), ..base() };
        assert!(matches!(add(named).await, Err(AgentError::ScheduleName { .. })));
        let empty = ScheduleRequest { task: " ".to_owned(), ..base() };
        assert!(matches!(add(empty).await, Err(AgentError::EmptyMessage)));
        let plan = SchedulePlan::cron("0 9 30 2 *", None).unwrap();
        let never = ScheduleRequest { plan, ..base() };
        assert!(matches!(add(never).await, Err(AgentError::Plan(PlanError::NeverComes))));
        let nowhere = agent.find_delivery_target("nowhere").await;
        assert!(matches!(nowhere, Err(AgentError::NoSuchSession { .. })));
        let target = DeliveryTarget::Session("99".parse().unwrap());
        let nowhere = ScheduleRequest { target, ..base() };
        assert!(matches!(add(nowhere).await, Err(AgentError::NoSuchSession { .. })));
        add(base()).await.unwrap();
        let told = add(base()).await.unwrap_err();
        expect!["a schedule is named `tide` already"].assert_eq(&told.to_string());
        let told = agent.remove_schedule(&owner(), "tied").await.unwrap_err();
        expect!["did you mean `tide`?"].assert_eq(&told.hint().unwrap());
        agent.remove_schedule(&owner(), "tide").await.unwrap();
        assert_eq!(agent.schedules(&owner()).await.unwrap().len(), 0);
    });
}

/// A model entry that a schedule names and the config has no more.
#[test]
fn a_run_that_fails_before_its_turn_is_told_where_its_answer_was_to_go() {
    let fake = FakeServer::openai().start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let talk = session(&agent, "k").await;
        let mut new = due_since(1, &DeliveryTarget::Session(talk));
        new.settings = json!({"model": "gone"});
        agent.store().add_schedule(new).await.unwrap();
        agent.tick_schedules().await.unwrap();
        let runs = runs_over(agent.store(), 1).await;
        assert_eq!((runs[0].outcome, runs[0].turn), (Some(TurnEnding::Failed), None));
        assert_eq!(runs[0].delivery, delivered_to("session k"));
        let told = transcript(agent.store(), talk).await;
        let words = "2 assistant: The scheduled task `tide` did not finish: ";
        assert!(told.contains(words) && told.contains("`gone`"), "{told}");
    });
    assert_eq!(fake.chats().len(), 0);
}

#[test]
fn a_schedule_that_cannot_be_begun_takes_no_other_along() {
    let fake = FakeServer::openai().start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        for (name, minutes) in [("stuck", 2), ("tide", 1)] {
            let new = due_since(minutes, &DeliveryTarget::OwnSession);
            let new = NewSchedule { name: name.to_owned(), ..new };
            agent.store().add_schedule(new).await.unwrap();
        }
        let database = Connection::open(bench.database()).unwrap();
        let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON schedule_runs
                      WHEN NEW.schedule = (SELECT id FROM schedules WHERE name = 'stuck')
                      BEGIN SELECT RAISE(ABORT, 'refused'); END";
        database.execute_batch(refuse).unwrap();
        let told = agent.tick_schedules().await.unwrap_err();
        assert!(matches!(told, AgentError::Store(_)), "{told}");
        let runs = runs_over(agent.store(), 1).await;
        let ran = agent.store().schedule(runs[0].schedule).await.unwrap().unwrap();
        assert_eq!((runs.len(), &*ran.name), (1, "tide"));
    });
}

#[test]
fn a_run_that_is_stopped_ends_with_its_turn() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai().answer(FakeAnswer::text("unheard").held(&gate)).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        agent.add_schedule(&owner(), every_hour(DeliveryTarget::OwnSession)).await.unwrap();
        assert!(!agent.stop_schedule_run(&owner(), "tide").await.unwrap());
        agent.start_schedule(&owner(), "tide").await.unwrap();
        assert!(within(agent.stop_schedule_run(&owner(), "tide")).await.unwrap());
        let runs = runs_over(agent.store(), 1).await;
        assert_eq!(runs[0].outcome, Some(TurnEnding::Stopped));
        gate.open();
    });
}

/// Where each person has a session of their own in a channel, none of these is that of all.
#[test]
fn an_answer_for_a_channel_is_in_the_session_of_no_single_member() {
    let fake = FakeServer::openai().start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let channel = Conversation::in_group("discord", "bot", "7");
        for user in ["1", "2"] {
            let own = Conversation { user: Some(user.to_owned()), ..channel.clone() };
            let member = Actor::member(&format!("discord-{user}"), "Ann", &own);
            agent.find_or_begin(&member, &own).await.unwrap();
        }
        let target = agent.find_delivery_target("discord:7").await.unwrap();
        assert_eq!(target, DeliveryTarget::Chat(channel));
    });
}

/// Lets somebody in who wrote to a bot in this conversation.
async fn let_in(store: &Store, subject: &str, conversation: &str) -> PairingId {
    let bot = ChannelAccount { channel: "discord".to_owned(), account: "bot".to_owned() };
    let welcome = NewChannelDelivery {
        key: format!("welcome:{subject}"),
        conversation: conversation.to_owned(),
        turn: None,
        target: json!({"chat": conversation}),
        content: None,
    };
    let new = NewPairing {
        kind: PairingSubject::Person,
        subject: subject.to_owned(),
        name: "Ann".to_owned(),
        code: format!("CODE000{subject}"),
        request: welcome.key.clone(),
        welcome,
        at: Moment::now(),
    };
    let code = new.code.clone();
    store.request_pairing(&bot, new).await.unwrap();
    let grant = PairingGrant::Guest(Some("ann".to_owned()));
    store.approve_pairing(&code, grant, Moment::now()).await.unwrap().id
}

#[test]
fn nothing_is_answered_any_more_to_who_is_put_out() {
    let fake = FakeServer::openai().start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        // One person with two accounts, whose chats have ids of their own.
        let first = let_in(agent.store(), "1", "71").await;
        let_in(agent.store(), "2", "72").await;
        let ann = Actor::new("ann", "Ann", ActorRole::Paired);
        for chat in ["71", "72"] {
            let target = Conversation::in_private("discord", "bot", chat, &ann);
            let request = every_hour(DeliveryTarget::Chat(target));
            let request = ScheduleRequest { name: format!("to-{chat}"), ..request };
            agent.add_schedule(&owner(), request).await.unwrap();
        }
        let refused = put_out(agent.store(), &ann, first).await;
        assert!(matches!(refused, Err(AgentError::NotAllowed { .. })), "{refused:?}");
        let report = put_out(agent.store(), &owner(), first).await.unwrap();
        assert!(report.pairing.revoked.is_some());
        let removed: Vec<_> = report.removed.iter().map(|schedule| &*schedule.name).collect();
        assert_eq!(removed, ["to-71"]);
        let [left] = &agent.schedules(&owner()).await.unwrap()[..] else { panic!("not one") };
        assert_eq!(left.stored.name, "to-72");
        let target = Conversation::in_private("discord", "bot", "71", &ann);
        let refused = agent.add_schedule(&owner(), every_hour(DeliveryTarget::Chat(target))).await;
        expect!["those in `discord:71` were put out"].assert_eq(&refused.unwrap_err().to_string());
    });
}

#[test]
fn who_is_put_out_hears_nothing_that_was_under_way() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai().answer(FakeAnswer::text("High.").held(&gate)).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let pairing = let_in(agent.store(), "1", "71").await;
        let bot = ChannelAccount { channel: "discord".to_owned(), account: "bot".to_owned() };
        let waiting = || async { agent.store().open_deliveries(&bot).await.unwrap() };
        assert_eq!(waiting().await.len(), 1, "the welcome");
        let ann = Actor::new("ann", "Ann", ActorRole::Paired);
        let target = Conversation::in_private("discord", "bot", "71", &ann);
        agent.add_schedule(&owner(), every_hour(DeliveryTarget::Chat(target))).await.unwrap();
        let begun = agent.start_schedule(&owner(), "tide").await.unwrap();
        arrival(&gate, 1).await;
        put_out(agent.store(), &owner(), pairing).await.unwrap();
        assert_eq!(waiting().await, []);
        gate.open();
        let [run] = &runs_over(agent.store(), 1).await[..] else { panic!("not one") };
        assert_eq!((run.id, run.outcome), (begun.id, Some(TurnEnding::Done)));
        let problem = "those in `discord:71` were put out".to_owned();
        assert_eq!(run.delivery, Some(AnswerDelivery::Failed { problem }));
        assert_eq!(waiting().await, []);
        // Who is let in again is written to again.
        let_in(agent.store(), "1", "71").await;
        assert!(!agent.store().is_put_out(&bot, "71").await.unwrap());
    });
}

#[test]
fn who_is_the_owner_no_longer_hears_nothing_that_was_for_the_owner() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai().answer(FakeAnswer::text("High.").held(&gate)).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let store = agent.store();
        let pairing = let_in(store, "1", "71").await;
        let guest = || PairingGrant::Guest(Some("ann".to_owned()));
        let report = change_standing(store, &owner(), pairing, PairingGrant::Owner).await.unwrap();
        assert_eq!(report.removed, []);
        let bot = ChannelAccount { channel: "discord".to_owned(), account: "bot".to_owned() };
        let target = Conversation::in_private("discord", "bot", "71", &owner());
        let request = || every_hour(DeliveryTarget::Chat(target.clone()));
        agent.add_schedule(&owner(), request()).await.unwrap();
        let begun = agent.start_schedule(&owner(), "tide").await.unwrap();
        arrival(&gate, 1).await;
        let ann = Actor::new("ann", "Ann", ActorRole::Paired);
        let refused = change_standing(store, &ann, pairing, guest()).await;
        assert!(matches!(refused, Err(AgentError::NotAllowed { .. })), "{refused:?}");
        let report = change_standing(store, &owner(), pairing, guest()).await.unwrap();
        let removed: Vec<_> = report.removed.iter().map(|schedule| &*schedule.name).collect();
        assert_eq!(removed, ["tide"]);
        gate.open();
        // What ran by then is not said there, and nothing of the kind can be asked for again.
        let [run] = &runs_over(store, 1).await[..] else { panic!("not one") };
        let problem = "those in `discord:71` are not the owner".to_owned();
        assert_eq!(run.id, begun.id);
        assert_eq!(run.delivery, Some(AnswerDelivery::Failed { problem: problem.clone() }));
        assert_eq!(store.open_deliveries(&bot).await.unwrap(), []);
        let refused = agent.add_schedule(&owner(), request()).await.unwrap_err();
        assert_eq!(refused.to_string(), problem);
        // The same again changes nothing.
        let target = Conversation::in_private("discord", "bot", "71", &ann);
        agent.add_schedule(&owner(), every_hour(DeliveryTarget::Chat(target))).await.unwrap();
        let report = change_standing(store, &owner(), pairing, guest()).await.unwrap();
        assert_eq!(report.removed, []);
    });
}

#[test]
fn turns_of_who_is_the_owner_no_longer_are_stopped() {
    let gate = AnswerGate::new();
    let fake = FakeServer::openai().answer(FakeAnswer::text("High.").held(&gate)).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let store = agent.store();
        let pairing = let_in(store, "1", "71").await;
        change_standing(store, &owner(), pairing, PairingGrant::Owner).await.unwrap();
        let chat = Conversation::in_private("discord", "bot", "71", &owner());
        let session = agent.find_or_begin(&owner(), &chat).await.unwrap().id;
        let inbound = Inbound::text(&owner(), "the tide?");
        let _asked = crate::support::submit_inbound(&agent, session, inbound).await;
        arrival(&gate, 1).await;
        let [turn] = &store.open_turns().await.unwrap().turns[..] else { panic!("not one") };
        let guest = PairingGrant::Guest(Some("ann".to_owned()));
        change_standing(store, &owner(), pairing, guest).await.unwrap();
        let stopped = store.turn(turn.id).await.unwrap().unwrap();
        assert!(stopped.stop_by.is_some() || stopped.ended.is_some());
        gate.open();
    });
}

/// Waits until something is asked in a session.
async fn next_question(agent: &Agent, talk: SessionId) -> StoredApproval {
    within(async {
        loop {
            let open = agent.open_approvals(&owner(), talk).await.unwrap();
            if let Some(question) = open.into_iter().next() {
                return question;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
}

#[test]
fn people_see_and_remove_their_own_schedules_also_under_another_name() {
    let calls = |call| FakeAnswer::calls([FakeCall::new("schedule", call)]);
    let fake = FakeServer::openai()
        .answer(calls(json!({"action": "list"})))
        .answer(FakeAnswer::text("Listed."))
        .answer(calls(json!({"action": "remove", "name": "owners"})))
        .answer(FakeAnswer::text("Refused."))
        .answer(calls(json!({"action": "remove", "name": "anns"})))
        .answer(FakeAnswer::text("Removed."))
        .start();
    let bench = Bench::new();
    runtime().block_on(async {
        let mut parts = bench.parts(vec![model("fake", &fake)]);
        parts.options.built_in.push(schedule_tool());
        let agent = Agent::start(parts).await.unwrap();
        let [ann, renamed] =
            ["Ann", "Anna"].map(|name| Actor::new("telegram-7", name, ActorRole::Paired));
        for (name, actor) in [("anns", &ann), ("owners", &owner())] {
            let new = due_since(-60, &DeliveryTarget::OwnSession);
            let new = NewSchedule { name: name.to_owned(), actor: actor.to_store(), ..new };
            agent.store().add_schedule(new).await.unwrap();
        }
        let chat = Conversation::in_private("telegram", "bot", "7", &renamed);
        let talk = agent.find_or_begin(&renamed, &chat).await.unwrap().id;
        for said in ["what is planned?", "remove that of the owner", "remove mine"] {
            let inbound = Inbound::text(&renamed, said);
            let asked = crate::support::submit_inbound(&agent, talk, inbound).await;
            let open = next_question(&agent, talk).await;
            agent.answer(&owner(), open.id, ApprovalAnswer::Once).await.unwrap();
            crate::support::finished(asked).await;
        }
        let told = transcript(agent.store(), talk).await;
        assert!(told.contains("schedule: - anns: 0 * * * * (UTC)"), "{told}");
        assert!(!told.contains("- owners:"), "{told}");
        assert!(told.contains("schedule failed: there is no schedule `owners`"), "{told}");
        assert!(told.contains("schedule: removed: anns"), "{told}");
        let [left] = &agent.schedules(&owner()).await.unwrap()[..] else { panic!("not one") };
        assert_eq!(left.stored.name, "owners");
    });
}

#[test]
fn the_names_of_a_guests_schedules_tell_nothing_of_others() {
    let calls = |call| FakeAnswer::calls([FakeCall::new("schedule", call)]);
    let add =
        |name| calls(json!({"action": "add", "name": name, "task": "report", "cron": "0 9 * * *"}));
    let fake = FakeServer::openai()
        .answer(add("own"))
        .answer(FakeAnswer::text("Set."))
        .answer(add("free"))
        .answer(FakeAnswer::text("Set."))
        .answer(add("telegram-7-free"))
        .answer(FakeAnswer::text("It was there."))
        .answer(calls(json!({"action": "remove", "name": "free"})))
        .answer(FakeAnswer::text("Removed."))
        .start();
    let bench = Bench::new();
    runtime().block_on(async {
        let mut parts = bench.parts(vec![model("fake", &fake)]);
        parts.options.built_in.push(schedule_tool());
        let agent = Agent::start(parts).await.unwrap();
        let new = due_since(-60, &DeliveryTarget::OwnSession);
        let new = NewSchedule { name: "own".to_owned(), actor: owner().to_store(), ..new };
        agent.store().add_schedule(new).await.unwrap();
        let guest = Actor::new("telegram-7", "Eve", ActorRole::Paired);
        let chat = Conversation::in_private("telegram", "bot", "7", &guest);
        let talk = agent.find_or_begin(&guest, &chat).await.unwrap().id;
        for said in ["one", "two", "three", "four"] {
            let asked =
                crate::support::submit_inbound(&agent, talk, Inbound::text(&guest, said)).await;
            let open = next_question(&agent, talk).await;
            agent.answer(&owner(), open.id, ApprovalAnswer::Once).await.unwrap();
            crate::support::finished(asked).await;
        }
        let told = transcript(agent.store(), talk).await;
        for line in [
            "schedule: scheduled `telegram-7-own`",
            "schedule: scheduled `telegram-7-free`",
            "schedule failed: a schedule is named `telegram-7-free` already",
            "schedule: removed: telegram-7-free",
        ] {
            assert!(told.contains(line), "{line}: {told}");
        }
        let left = agent.schedules(&owner()).await.unwrap();
        let left: Vec<&str> = left.iter().map(|view| view.stored.name.as_str()).collect();
        assert_eq!(left, ["own", "telegram-7-own"]);
    });
}

/// Promise: `schedules-are-asked-about`
#[test]
fn a_model_makes_a_schedule_only_when_a_person_allows_it() {
    let call = json!({"action": "add", "name": "tide", "task": "report", "cron": "0 9 * * *"});
    let fake = FakeServer::openai()
        .answer(FakeAnswer::calls([FakeCall::new("schedule", call)]))
        .answer(FakeAnswer::text("It is set."))
        .start();
    let bench = Bench::new();
    runtime().block_on(async {
        let mut parts = bench.parts(vec![model("fake", &fake)]);
        parts.options.built_in.push(schedule_tool());
        let agent = Agent::start(parts).await.unwrap();
        let talk = session(&agent, "k").await;
        let asked = crate::support::submit(&agent, talk, "report the tide each day").await;
        let open = next_question(&agent, talk).await;
        assert_eq!(agent.schedules(&owner()).await.unwrap().len(), 0);
        agent.answer(&owner(), open.id, ApprovalAnswer::Once).await.unwrap();
        assert_eq!(crate::support::finished(asked).await.reply.unwrap(), "It is set.");
        let [made] = &agent.schedules(&owner()).await.unwrap()[..] else { panic!("not one") };
        assert_eq!(made.target, DeliveryTarget::Session(talk));
        assert_eq!(made.answer_to, "session k");
        assert_eq!(made.stored.task, "report");
    });
}
