//! Why memories were on a page or were not, and to whom that is told.

use recto_agent::{Agent, AgentError, CommandReply, Conversation, ItemReason, restore_request};
use recto_context::{AudienceKind, ItemStatus, Memory};
use recto_fakes::FakeServer;
use recto_store::SessionId;
use recto_workspace::Horizon;

use crate::support::{Bench, model, owner, runtime, say, session, typed};

/// What is known of a name in the last request of a session.
async fn why(agent: &Agent, session: SessionId, name: &str, others: &[Memory]) -> Vec<ItemReason> {
    let record = agent.store().last_request(session).await.unwrap().unwrap();
    let request = restore_request(agent.store(), &record).await.unwrap();
    let answers = agent.memories().explain(agent.store(), &record, &request, name, others).await;
    answers.unwrap().into_iter().map(|why| why.reason).collect()
}

#[test]
fn those_who_may_not_see_a_memory_do_not_hear_of_it() {
    let bench = Bench::new();
    bench.write("memory/MEMORY.md", "- The owner snores.\n- [shared] The wifi is called barn.\n");
    let fake = FakeServer::openai().start();
    runtime().block_on(async {
        let agent = Agent::start(bench.parts(vec![model("fake", &fake)])).await.unwrap();
        let own = session(&agent, "own").await;
        say(&agent, own, "hello").await;
        let place = Conversation {
            surface: "discord".into(),
            account: "bot".into(),
            name: "general".into(),
            user: None,
            who: AudienceKind::Group,
            person: None,
        };
        let group = agent.find_or_begin(&owner(), &place).await.unwrap().id;
        say(&agent, group, "hello").await;
        let all = agent.memories().files().read(&agent.memories().owner(), Horizon::All).await;
        let named = |text: &str| all.memories.iter().find(|one| one.text.contains(text)).unwrap();
        let (snores, wifi) = (named("snores"), named("wifi"));
        for (session, memory) in [(own, snores), (own, wifi), (group, wifi)] {
            let told = why(&agent, session, &memory.name, &[]).await;
            assert!(matches!(told[..], [ItemReason::Recorded(ItemStatus::InFull(_))]), "{told:?}");
        }
        // By whatever name it is asked for.
        let digits = snores.name.rsplit_once('#').unwrap().1;
        for name in [&snores.name, digits, &digits[..4]] {
            assert_eq!(why(&agent, group, name, &[]).await, []);
            let told = why(&agent, group, name, &all.memories).await;
            assert_eq!(told, [ItemReason::NotSeen { by: AudienceKind::Group }], "{name}");
        }
        assert_eq!(why(&agent, own, "MEMORY.md#00000000", &all.memories).await, []);
        // And whoever types it into the conversation.
        let ask = async |session, memory: &Memory| {
            let command = typed(&format!("/why {}", memory.name));
            match agent.command(&owner(), &place, session, command).await {
                Ok(CommandReply::Why(told)) => told.len(),
                // Not even that there is such a memory is told.
                Err(AgentError::UnknownToRequest { .. }) => 0,
                answer => panic!("{answer:?}"),
            }
        };
        assert_eq!((ask(group, snores).await, ask(group, wifi).await), (0, 1));
        assert_eq!(ask(own, snores).await, 1);
    });
}
