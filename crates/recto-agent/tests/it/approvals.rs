//! Tools that a person has to allow: asked, answered, restarted, stopped.

use std::time::Duration;

use recto_agent::{
    Agent, AgentError, AgentOptions, AgentParts, ApprovalQuestion, ApprovalSetting, EventCursor,
    EventKind, Inbound, SessionSettings, TurnContinues,
};
use recto_fakes::{FakeAnswer, FakeServer};
use recto_store::{ApprovalAnswer, SessionId, TurnEnding};

use crate::support::{
    Bench, Submitted, check_sound, ended, finished, model, mortal, next, owner, risks, runtime,
    say, session, statuses, submit, submit_inbound, transcript, within,
};

/// Says something, and waits for so many questions of its turn.
async fn ask(
    agent: &Agent,
    session: SessionId,
    message: &str,
    questions: usize,
) -> (Submitted, Vec<ApprovalQuestion>) {
    let mut submission = submit(agent, session, message).await;
    let mut asked = Vec::new();
    while asked.len() < questions {
        if let EventKind::Asked(question) = next(&mut submission.events).await.event {
            asked.push(question);
        }
    }
    (submission, asked)
}

fn with(settings: SessionSettings, text: &str) -> Inbound {
    Inbound { settings, ..Inbound::text(&owner(), text) }
}

#[test]
fn an_allowed_call_runs_and_the_transcript_says_so() {
    let fake = FakeServer::openai().answer(risks(&["it"])).answer(FakeAnswer::text("done")).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let (mut submission, asked) = ask(&agent, session, "risk it", 1).await;
        assert_eq!(asked[0].title, r#"risk {"what":"it"}"#);
        let answered =
            agent.answer(&owner(), asked[0].approval, ApprovalAnswer::Once).await.unwrap();
        assert_eq!(answered.goes_on, TurnContinues::Here);
        let finished = ended(&mut submission.events, submission.turn).await;
        assert_eq!(finished.reply.as_deref(), Some("done"));
        let shown = transcript(agent.store(), session).await;
        assert!(shown.contains("approval: allowed by owner: risk: risk"), "{shown}");
        assert!(shown.contains("risk: allowed it"), "{shown}");
        check_sound(agent.store(), session).await;
        // What people said to each other about it is not for the model.
        let chats = fake.chats();
        assert!(!chats[1].to_string().contains("allowed by owner"), "{}", chats[1]);
    });
}

#[test]
fn a_denied_call_gives_the_model_a_result_that_says_so() {
    let fake =
        FakeServer::openai().answer(risks(&["a", "b"])).answer(FakeAnswer::text("pity")).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let (mut submission, asked) = ask(&agent, session, "risk both", 2).await;
        let first =
            agent.answer(&owner(), asked[0].approval, ApprovalAnswer::Denied).await.unwrap();
        assert_eq!(first.goes_on, TurnContinues::WhenAllAreAnswered);
        agent.answer(&owner(), asked[1].approval, ApprovalAnswer::Once).await.unwrap();
        ended(&mut submission.events, submission.turn).await;
        let shown = transcript(agent.store(), session).await;
        assert!(shown.contains("risk: risk was not run: the person was asked and said no"));
        assert!(shown.contains("risk: allowed b"), "{shown}");
        check_sound(agent.store(), session).await;
    });
}

/// A call that nobody allowed is counted by itself, and is no use of its tool.
#[test]
fn a_refused_call_is_no_use_of_its_tool() {
    let denied = FakeServer::openai().answer(risks(&["a"])).answer(FakeAnswer::text("pity"));
    let fake = denied.answer(risks(&["b"])).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let (mut submission, asked) = ask(&agent, session, "risk it", 1).await;
        agent.answer(&owner(), asked[0].approval, ApprovalAnswer::Denied).await.unwrap();
        ended(&mut submission.events, submission.turn).await;
        let (mut submission, _) = ask(&agent, session, "and now", 1).await;
        assert!(agent.stop(&owner(), session).await.unwrap());
        ended(&mut submission.events, submission.turn).await;
        let usage = agent.store().usage("main", None).await.unwrap();
        let risk = usage.items.iter().find(|usage| *usage.item.name == *"risk").unwrap();
        assert_eq!((usage.refused_calls, risk.counts.used, risk.counts.offered), (2, 0, 2));
    });
}

#[test]
fn what_is_allowed_for_a_session_is_not_asked_again_there() {
    let answers = [risks(&["a"]), FakeAnswer::text("one"), risks(&["b"]), FakeAnswer::text("two")];
    let fake = answers.into_iter().fold(FakeServer::openai(), |fake, answer| fake.answer(answer));
    let fake = fake.answer(risks(&["soul"])).answer(FakeAnswer::text("three")).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let here = session(&agent, "k").await;
        let (mut submission, asked) = ask(&agent, here, "risk", 1).await;
        agent.answer(&owner(), asked[0].approval, ApprovalAnswer::Session).await.unwrap();
        ended(&mut submission.events, submission.turn).await;
        assert_eq!(say(&agent, here, "again").await.reply.as_deref(), Some("two"));
        let shown = transcript(agent.store(), here).await;
        assert!(shown.contains("risk: allowed before b"), "{shown}");
        // What only a person may allow is asked all the same.
        let (mut submission, asked) = ask(&agent, here, "and your soul", 1).await;
        agent.answer(&owner(), asked[0].approval, ApprovalAnswer::Denied).await.unwrap();
        ended(&mut submission.events, submission.turn).await;
        // Another session has to ask for itself.
        fake.push(risks(&["c"]));
        let there = session(&agent, "other").await;
        let (_, asked) = ask(&agent, there, "risk", 1).await;
        assert_eq!(asked.len(), 1);
        assert!(agent.stop(&owner(), there).await.unwrap());
    });
}

#[test]
fn a_question_survives_its_process_and_goes_on_where_it_is_answered() {
    let fake = FakeServer::openai().answer(risks(&["it"])).answer(FakeAnswer::text("done")).start();
    let bench = Bench::new();
    let (here, question) = {
        let mortal = mortal();
        mortal.block_on(async {
            let agent = bench.agent(&fake).await;
            let session = session(&agent, "k").await;
            let (_, asked) = ask(&agent, session, "risk it", 1).await;
            (session, asked[0].clone())
        })
    };
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        // It is not taken up by itself: nobody has answered.
        assert!(!agent.is_at_work());
        let open = agent.open_approvals(&owner(), here).await.unwrap();
        assert_eq!((open.len(), ApprovalQuestion::from_approval(&open[0])), (1, question.clone()));
        let mut events = agent.listen(&owner(), here, EventCursor::Now).await.unwrap();
        let answered =
            agent.answer(&owner(), question.approval, ApprovalAnswer::Once).await.unwrap();
        assert_eq!(answered.goes_on, TurnContinues::Here);
        let finished = ended(&mut events, answered.approval.turn).await;
        assert_eq!(finished.reply.as_deref(), Some("done"));
        check_sound(agent.store(), here).await;
        let shown = transcript(agent.store(), here).await;
        assert!(shown.contains("risk: allowed it"), "{shown}");
    });
}

#[test]
fn an_answer_of_another_process_is_found() {
    let fake = FakeServer::openai().answer(risks(&["it"])).answer(FakeAnswer::text("done")).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let (mut submission, asked) = ask(&agent, session, "risk it", 1).await;
        let other = Agent::idle(bench.parts(vec![model("fake", &fake)]));
        let answered =
            other.answer(&owner(), asked[0].approval, ApprovalAnswer::Once).await.unwrap();
        assert_eq!(answered.goes_on, TurnContinues::Elsewhere);
        let finished = ended(&mut submission.events, submission.turn).await;
        assert_eq!(finished.reply.as_deref(), Some("done"));
    });
}

#[test]
fn a_message_waits_behind_a_question_and_a_stop_takes_it_back() {
    let fake = FakeServer::openai().answer(risks(&["it"])).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let session = session(&agent, "k").await;
        let (mut first, asked) = ask(&agent, session, "risk it", 1).await;
        let second = submit(&agent, session, "and now?").await;
        assert_eq!(statuses(agent.store(), session).await, ["running", "queued"]);
        assert!(agent.stop(&owner(), session).await.unwrap());
        assert_eq!(ended(&mut first.events, first.turn).await.status, TurnEnding::Stopped);
        assert_eq!(finished(second).await.reply.as_deref(), Some("You said: and now?"));
        let approval = agent.store().approval(asked[0].approval).await.unwrap().unwrap();
        let answer = approval.answer.map(|decision| decision.answer);
        assert_eq!(answer, Some(ApprovalAnswer::Withdrawn));
        let shown = transcript(agent.store(), session).await;
        assert!(shown.contains("risk: not run: the person stopped the turn"), "{shown}");
        check_sound(agent.store(), session).await;
        let error =
            agent.answer_in(&owner(), session, None, ApprovalAnswer::Once).await.unwrap_err();
        assert!(matches!(error, AgentError::NothingAsked));
    });
}

#[test]
fn a_question_that_nobody_answers_expires() {
    let fake = FakeServer::openai().answer(risks(&["it"])).answer(FakeAnswer::text("pity")).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let parts = bench.parts(vec![model("fake", &fake)]);
        let options = AgentOptions { approval_expires: Duration::ZERO, ..parts.options };
        let agent = within(Agent::start(AgentParts { options, ..parts })).await.unwrap();
        let session = session(&agent, "k").await;
        assert_eq!(say(&agent, session, "risk it").await.reply.as_deref(), Some("pity"));
        let shown = transcript(agent.store(), session).await;
        assert!(shown.contains("did not answer in time"), "{shown}");
        check_sound(agent.store(), session).await;
    });
}

#[test]
fn settings_say_when_a_person_is_asked() {
    let bench = Bench::new();
    runtime().block_on(async {
        let fake = FakeServer::openai()
            .answer(risks(&["a", "soul"]))
            .answer(FakeAnswer::text("ok"))
            .start();
        let agent = bench.agent(&fake).await;
        let never =
            SessionSettings { approval: Some(ApprovalSetting::Never), ..Default::default() };
        let here = session(&agent, "never").await;
        let submitted = submit_inbound(&agent, here, with(never, "risk")).await;
        assert_eq!(finished(submitted).await.reply.as_deref(), Some("ok"));
        let shown = transcript(agent.store(), here).await;
        assert!(shown.contains("risk: unasked a"), "{shown}");
        // Whatever is set, also tools that only look are asked about.
        fake.push(crate::support::holds(&["x"]));
        let always =
            SessionSettings { approval: Some(ApprovalSetting::Always), ..Default::default() };
        let here = session(&agent, "always").await;
        let mut submitted = submit_inbound(&agent, here, with(always, "hold")).await;
        while !matches!(next(&mut submitted.events).await.event, EventKind::Asked(_)) {}
        assert!(agent.stop(&owner(), here).await.unwrap());
    });
}

#[test]
fn a_turn_without_a_person_never_sees_tools_that_ask() {
    let fake = FakeServer::openai().answer(risks(&["a"])).answer(FakeAnswer::text("ok")).start();
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = bench.agent(&fake).await;
        let here = session(&agent, "k").await;
        let alone = SessionSettings { unattended: true, ..SessionSettings::default() };
        let submitted = submit_inbound(&agent, here, with(alone, "risk")).await;
        assert_eq!(finished(submitted).await.reply.as_deref(), Some("ok"));
        let offered = fake.chats()[0]["tools"].to_string();
        assert!(offered.contains("\"hold\"") && !offered.contains("\"risk\""), "{offered}");
        // One that is called all the same is not run.
        let shown = transcript(agent.store(), here).await;
        assert!(shown.contains("risk: there is no tool `risk`"), "{shown}");
    });
}
