//! Whatever happens in a session: `why`, the report that `show` prints, the bytes as sent and
//! the statistics say the same of every item.
//!
//! What really stands on a page is looked for in the stored body, by a word that stands nowhere
//! but in the body, or in the description, of one item.

mod check;
mod world;

use proptest::prelude::*;
use proptest::test_runner::Config;
use recto_context::IncludeMode;

use crate::support::runtime;
use check::{Ledger, check_last_turn};
use world::{ITEMS, LayoutChoice, TOPICS, World};

/// A session that is played: what the agent has, how its pages look, and what happens.
#[derive(Debug, Clone)]
struct SessionPlan {
    layout: LayoutChoice,
    includes: Vec<IncludeMode>,
    steps: Vec<SessionStep>,
}

/// One thing that happens in a session.
#[derive(Debug, Clone)]
enum SessionStep {
    /// A message about a topic.
    Say(usize),
    /// The same, and the model loads an item by its name before it answers.
    Read(usize, usize),
    /// A message that names an item.
    Mention(usize),
    Add(usize),
    Remove(usize),
    Mode(&'static str),
    Search(&'static str),
    Model(&'static str),
    /// The file of an item gets another text.
    Edit(usize),
    /// The file of an item is deleted.
    Delete(usize),
    /// What the skill with a tool runs is changed behind the person's back.
    Distrust,
}

fn steps() -> impl Strategy<Value = Vec<SessionStep>> {
    let step = prop_oneof![
        6 => (0..TOPICS.len()).prop_map(SessionStep::Say),
        3 => (0..TOPICS.len(), 0..ITEMS).prop_map(|(topic, item)| SessionStep::Read(topic, item)),
        1 => (0..ITEMS).prop_map(SessionStep::Mention),
        2 => (0..ITEMS).prop_map(SessionStep::Add),
        2 => (0..ITEMS).prop_map(SessionStep::Remove),
        1 => prop::sample::select(vec!["full", "minimal", "auto"]).prop_map(SessionStep::Mode),
        1 => prop::sample::select(vec!["off", "normal", "aggressive"]).prop_map(SessionStep::Search),
        1 => prop::sample::select(vec!["wide", "narrow"]).prop_map(SessionStep::Model),
        1 => (0..ITEMS).prop_map(SessionStep::Edit),
        1 => (0..ITEMS).prop_map(SessionStep::Delete),
        1 => Just(SessionStep::Distrust),
    ];
    prop::collection::vec(step, 4..14)
}

fn plans() -> impl Strategy<Value = SessionPlan> {
    let include = prop::sample::select(vec![
        IncludeMode::Always,
        IncludeMode::Manual,
        IncludeMode::Agent,
        IncludeMode::Agent,
    ]);
    let includes = prop::collection::vec(include, ITEMS);
    (LayoutChoice::any(), includes, steps()).prop_map(|(layout, includes, steps)| SessionPlan {
        layout,
        includes,
        steps,
    })
}

async fn play(plan: SessionPlan) {
    let mut world = World::new(plan.layout, &plan.includes).await;
    let mut ledger = Ledger::default();
    let end = [SessionStep::Say(0)];
    for step in plan.steps.iter().chain(&end) {
        match step {
            SessionStep::Say(topic) => world.say(TOPICS[*topic].question).await,
            SessionStep::Read(topic, item) => world.read(TOPICS[*topic].question, *item).await,
            SessionStep::Mention(item) => world.mention(*item).await,
            SessionStep::Add(item) => world.change("add", *item).await,
            SessionStep::Remove(item) => world.change("remove", *item).await,
            SessionStep::Mode(mode) => world.command(&format!("/mode {mode}")).await,
            SessionStep::Search(preset) => world.command(&format!("/set search {preset}")).await,
            SessionStep::Model(name) => world.command(&format!("/model {name}")).await,
            SessionStep::Edit(item) => world.edit(*item),
            SessionStep::Delete(item) => world.delete(*item),
            SessionStep::Distrust => world.distrust(),
        }
        if matches!(step, SessionStep::Say(_) | SessionStep::Read(..) | SessionStep::Mention(_)) {
            check_last_turn(&world, &mut ledger).await;
        }
    }
    ledger.check_statistics(&world).await;
}

proptest! {
    #![proptest_config(Config {
        cases: 32,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..Config::default()
    })]

    /// Promise: `views-agree`
    #[test]
    fn why_show_the_bytes_and_the_statistics_agree(plan in plans()) {
        runtime().block_on(play(plan));
    }
}
