//! The seven acceptance criteria of the older context builder (its story 5.2),
//! each as a test of its name.

use std::sync::Arc;

use recto_context::{
    AssemblyInputs, Catalog, ChatRole, ContentSource, ContextLimits, Layer, Message, PartReason,
    Tokens, Window,
};

use crate::support::*;

fn long_talk(messages: u64) -> Vec<Arc<Message>> {
    let one = |id: u64| match id % 2 {
        1 => Message::user(id, format!("question {id}")),
        _ => Message::assistant(id, format!("answer {id}")),
    };
    (1..=messages).map(one).map(Arc::new).collect()
}

#[test]
fn criterion_1_layer_assembly_keeps_the_order() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let history = talk("user: hi / model: hello");
    let request = AssemblyInputs::new(&catalog, "now")
        .session(&session)
        .history(&history)
        .assemble()
        .unwrap();
    let mut layers: Vec<Layer> = request.parts.iter().map(|part| part.layer).collect();
    layers.dedup();
    assert_eq!(
        layers,
        [
            Layer::System,
            Layer::Bootstrap,
            Layer::Memory,
            Layer::Skills,
            Layer::Tools,
            Layer::Items,
            Layer::History,
            Layer::Message
        ]
    );
}

#[test]
fn criterion_2_system_layer_joins_soul_and_agents() {
    let catalog = catalog();
    let request = AssemblyInputs::new(&catalog, "now").assemble().unwrap();
    assert_eq!(request.messages[0].role, ChatRole::System);
    assert!(request.messages[0].text().starts_with("You are Ada.\n\nBe exact.\n\n"));
}

#[test]
fn criterion_2_missing_files_get_defaults_that_are_recorded() {
    let request = AssemblyInputs::new(&Catalog::default(), "now").assemble().unwrap();
    let defaults: Vec<&PartReason> =
        request.layer(Layer::System).map(|part| &part.reason).collect();
    assert_eq!(
        defaults,
        [
            &PartReason::DefaultForMissing("SOUL.md".into()),
            &PartReason::DefaultForMissing("AGENTS.md".into())
        ]
    );
    assert!(request.layer(Layer::System).all(|part| part.source == ContentSource::BuiltIn));
}

#[test]
fn criterion_3_memories_are_ranked_and_limited() {
    let mut catalog = catalog();
    catalog.memories =
        (0..100).map(|n| memory(&format!("MEMORY.md:{n}"), None, &format!("fact {n}"))).collect();
    let request = AssemblyInputs::new(&catalog, "now").assemble().unwrap();
    let shown: Vec<&str> =
        request.layer(Layer::Memory).filter(|part| part.item.is_some()).map(|p| p.text()).collect();
    assert_eq!(shown.len(), 20);
    assert_eq!((shown[0], shown[19]), ("fact 0", "fact 19"));
    assert!(request.messages[0].text().contains("Relevant memories:\n- fact 0\n- fact 1\n"));
    assert_eq!(drops(&request), ["memory: 80 memories (more than the memory snapshot may hold)"]);
}

/// Promise: `long-item-crowds-nobody`
#[test]
fn criterion_3_one_huge_memory_does_not_crowd_out_the_others() {
    let mut catalog = catalog();
    catalog.memories.insert(0, memory("MEMORY.md:9", None, &"blah ".repeat(4_000)));
    let request = AssemblyInputs::new(&catalog, "now").assemble().unwrap();
    assert_eq!(request.layer(Layer::Memory).filter(|part| part.item.is_some()).count(), 2);
}

#[test]
fn criterion_4_skills_are_shown_as_capabilities() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let request = AssemblyInputs::new(&catalog, "now").session(&session).assemble().unwrap();
    let system = request.messages[0].text();
    assert!(system.contains("## git\nLook at history.\n\nUse `git log`."));
    assert!(system.contains("## notes\nCreate and search notes.\n\nUse `notes add`."));
}

#[test]
fn criterion_5_tools_md_documents_the_tools() {
    let catalog = catalog();
    let request = AssemblyInputs::new(&catalog, "now").assemble().unwrap();
    let tools: Vec<&str> = request.layer(Layer::Tools).map(|part| part.text()).collect();
    assert_eq!(tools, ["Prefer read_file over guessing."]);
}

/// Promise: `parallel-results-kept`
#[test]
fn criterion_6_history_is_the_newest_messages_with_calls_and_results() {
    let catalog = catalog();
    let history = talk(
        "user: weather? / model: call rain{\"at\":\"a\"} rain{\"at\":\"b\"} rain{\"at\":\"c\"} / \
         tool: no / tool: yes / tool: maybe / model: mixed",
    );
    let request = AssemblyInputs::new(&catalog, "now").history(&history).assemble().unwrap();
    let roles: Vec<ChatRole> = request.messages.iter().map(|message| message.role).collect();
    use ChatRole::{Assistant, System, Tool, User};
    assert_eq!(roles, [System, User, Assistant, Tool, Tool, Tool, Assistant, User]);
    // Three parallel calls keep three results.
    assert_eq!(request.messages[2].calls.len(), 3);
    let answered: Vec<_> =
        request.messages[3..6].iter().map(|m| m.answers.as_ref().unwrap().0.clone()).collect();
    let called: Vec<_> = request.messages[2].calls.iter().map(|call| call.id.clone()).collect();
    assert_eq!(answered, called);
}

/// Promise: `history-under-budget-stays`
#[test]
fn criterion_6_thirty_messages_under_budget_are_sent_and_so_are_fifty() {
    let catalog = catalog();
    for count in [30, 50] {
        let history = long_talk(count);
        let request = AssemblyInputs::new(&catalog, "now")
            .history(&history)
            .window(Window::from_config(Tokens::new(16_000)))
            .assemble()
            .unwrap();
        assert_eq!(request.layer(Layer::History).count() as u64, count);
        assert!(request.dropped.is_empty());
    }
}

#[test]
fn criterion_6_of_more_than_fifty_the_newest_stay_and_the_oldest_leave_in_a_step() {
    let catalog = catalog();
    let history = long_talk(60);
    let request = AssemblyInputs::new(&catalog, "now")
        .history(&history)
        .window(Window::from_config(Tokens::new(16_000)))
        .assemble()
        .unwrap();
    // Three quarters of 50, in whole exchanges.
    assert_eq!(request.layer(Layer::History).count(), 36);
    assert_eq!(request.layer(Layer::History).next().unwrap().text(), "question 25");
    assert_eq!(
        drops(&request),
        ["history: 24 messages (more than history.max_messages = 50, so cut to 75% of it)"]
    );
}

#[test]
fn criterion_7_old_messages_leave_first_and_system_and_message_stay() {
    let catalog = catalog();
    let session = catalog.session_at_start();
    let history = long_talk(40);
    let message = "the current message, which must be there";
    let limits = ContextLimits { target: Some(Tokens::new(430)), ..ContextLimits::default() };
    let request = AssemblyInputs::new(&catalog, message)
        .session(&session)
        .history(&history)
        .limits(limits)
        .assemble()
        .unwrap();
    let left = request.layer(Layer::History).count();
    assert!(left > 0 && left < 40, "{left}");
    assert_eq!(request.layer(Layer::History).last().unwrap().text(), "answer 40");
    assert!(request.messages[0].text().starts_with("You are Ada."));
    assert_eq!(request.messages.last().unwrap().text(), message);
    assert!(request.prompt_tokens() <= Tokens::new(430));
}
