//! What is stored, as one actor or another may see it.

use recto_agent::{
    Actor, ActorRole, Agent, AgentError, Conversation, Inbound, RecordReader, SessionExportForm,
};
use recto_store::SessionFilter;

use crate::support::{Bench, finished, owner, runtime, say, scripted, session, submit_inbound};

/// Promise: `records-are-for-their-own`
#[test]
fn a_guest_sees_their_own_turns_and_nobody_elses() {
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = Agent::start(bench.parts(vec![scripted()])).await.unwrap();
        let private = session(&agent, "private").await;
        say(&agent, private, "my pin").await;
        let owners = agent.store().last_turn(Some(private)).await.unwrap().unwrap();
        let anna = Actor::new("anna", "Anna", ActorRole::Paired);
        let place = Conversation::in_private("telegram", "bot", "7", &anna);
        let hers = agent.find_or_begin(&anna, &place).await.unwrap().id;
        let inbound = Inbound::text(&anna, "hello");
        let said = submit_inbound(&agent, hers, inbound).await;
        finished(said).await;

        let store = agent.store();
        let reader = RecordReader::new(store, &anna);
        let last = reader.find_turn("last").await.unwrap();
        assert_eq!(last.turn().session, hers);
        let alone = reader.compare_turns(last.clone(), None).await;
        assert!(matches!(alone, Err(AgentError::NoTurnBefore { .. })), "{alone:?}");
        // Nothing is sent by it.
        let checks = last.verify(None).await.unwrap();
        assert!(checks.iter().all(|check| check.identical), "{checks:?}");
        let named = |result: &Result<_, AgentError>| match result {
            Err(error) => error.code().to_owned(),
            Ok(_) => "seen".to_owned(),
        };
        let others = reader.turn(owners.id).await.map(|_| ());
        assert_eq!(named(&others), "no_such_turn");
        let file = reader.export_session(private, SessionExportForm::Markdown).await;
        assert_eq!(named(&file.map(|_| ())), "no_such_session");
        let seen = reader.sessions(SessionFilter::All).await.unwrap();
        assert_eq!(seen.iter().map(|summary| summary.session.id).collect::<Vec<_>>(), [hers]);

        let owner = owner();
        let reader = RecordReader::new(store, &owner);
        assert_eq!(reader.every_turn().await.unwrap().len(), 2);
        let checks = reader.turn(last.id()).await.unwrap().verify(None).await.unwrap();
        assert!(checks.iter().all(|check| check.identical), "{checks:?}");
    });
}

#[test]
fn somebody_in_a_group_may_not_look_at_what_was_sent() {
    let bench = Bench::new();
    runtime().block_on(async {
        let agent = Agent::start(bench.parts(vec![scripted()])).await.unwrap();
        let place = Conversation::in_group("discord", "bot", "den");
        let ben = Actor::member("ben", "Ben", &place);
        let group = agent.find_or_begin(&owner(), &place).await.unwrap().id;
        say(&agent, group, "hello all").await;
        let turn = agent.store().last_turn(Some(group)).await.unwrap().unwrap();
        let looked = RecordReader::new(agent.store(), &ben).turn(turn.id).await;
        assert!(matches!(looked, Err(AgentError::NotAllowed { .. })), "{looked:?}");
    });
}
