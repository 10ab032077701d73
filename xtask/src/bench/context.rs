//! What one turn costs before a model is called: look at the agent's files,
//! and assemble the request.
//!
//! Warm is the turn of a gateway that runs: it has read every file and checks
//! whether they changed. Cold is the first turn after a start; the operating
//! system may still hold the files in memory. The session grows by an exchange
//! a turn, so that trims of the history are among what is measured. Minimal is a
//! session that never sends its history, and so never trims it. The first two
//! rows go through the agent, with the session in a store; the others have it at
//! hand, and show what the stages cost.

mod agent;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use recto_context::{
    Carry, Catalog, Inputs, Message, MessageId, Mode, ModeDecision, ModeReason, RequestContext,
    SessionItem, Tokens, TurnNumber, Window,
};

use super::files::Files;
use super::report::{Figure, Goal, Report, Row, Unit};
use super::stats::Samples;
use super::synthetic::{self, MEMORIES, RULES, RULES_ALWAYS, SKILLS, TOOLS};
use crate::Result;
use crate::alloc::{self, Allocated};

const HISTORY: usize = 10_000;
const WARM_UP: usize = 200;
const WARM_TURNS: usize = 2_000;
/// How many turns the session grows by.
const TURNS: usize = WARM_UP + WARM_TURNS;
const COLD_TURNS: usize = 30;
/// Files written a moment ago are read twice, since a second write might not
/// show in their times. Those of a workspace in use are older than that.
const SETTLE: Duration = Duration::from_secs(3);
const WINDOW: u32 = 200_000;
const MESSAGE: &str = "When does the garden club meet, and what did we send them last week?";

/// Builds the workspace in a temporary folder, and measures.
pub(super) fn run() -> Result<Report> {
    let folder = tempfile::tempdir()?;
    synthetic::write_workspace(folder.path())?;
    sleep(SETTLE);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let data = tempfile::tempdir()?;
    runtime.block_on(measure(folder.path(), data.path()))
}

async fn measure(folder: &Path, data: &Path) -> Result<Report> {
    let files = Files::open(folder);
    let catalog = files.catalog().await;
    expect_all_of_it(&catalog, files.problems().await.len())?;
    let session = Session {
        items: catalog.session_at_start(),
        messages: synthetic::conversation(HISTORY + 2 * TURNS),
    };

    let (warm, last) = session.play(&files, Mode::Full).await?;
    let (minimal, _) = session.play(&files, Mode::Minimal).await?;
    let prompt = last.budget.used;
    let mut carry = last.carry;
    let mut cold = Vec::with_capacity(COLD_TURNS);
    for _ in 0..COLD_TURNS {
        let files = Files::open(folder);
        let (spent, request) = session.take_turn(&files, Mode::Full, TURNS, carry).await?;
        cold.push(spent);
        carry = request.carry;
    }
    let through_agent = agent::measure(folder, data).await?;
    let stages = Stages { warm, minimal, cold };
    report(&through_agent, &stages, prompt).ok_or_else(|| "nothing was measured".into())
}

/// A benchmark that silently measured half a workspace would flatter.
fn expect_all_of_it(catalog: &Catalog, problems: usize) -> Result<()> {
    let Catalog { skills, memories, rules, .. } = catalog;
    let tools = catalog.all_tools().count();
    let found = [skills.len(), tools, memories.len(), rules.len(), problems];
    let expected = [SKILLS, TOOLS, MEMORIES, RULES, 0];
    if found != expected {
        let names = "skills, tools, memories, rules, problems";
        return Err(format!("{names} should be {expected:?} and are {found:?}").into());
    }
    Ok(())
}

/// What a gateway has at hand for a session.
struct Session {
    items: Vec<SessionItem>,
    messages: Vec<Arc<Message>>,
}

impl Session {
    /// All turns of the session with files that are known; gives the costs
    /// after the warm-up, and the last request.
    async fn play(&self, files: &Files, mode: Mode) -> Result<(Vec<Spent>, RequestContext)> {
        let (first, mut last) = self.take_turn(files, mode, 0, Carry::default()).await?;
        let mut spent = vec![first];
        for turn in 1..TURNS {
            let (cost, request) = self.take_turn(files, mode, turn, last.carry).await?;
            spent.push(cost);
            last = request;
        }
        spent.drain(..WARM_UP);
        Ok((spent, last))
    }

    /// The measured part: from the message's arrival to the request.
    async fn take_turn(
        &self,
        files: &Files,
        mode: Mode,
        turn: usize,
        carry: Carry,
    ) -> Result<(Spent, RequestContext)> {
        let history = &self.messages[..HISTORY + 2 * turn];
        let (files, catalog) = spend(files.catalog()).await;
        let (assembly, request) = spend(async {
            Inputs::new(&catalog, MESSAGE)
                .message_id(MessageId(history.len() as u64 + 1))
                .model("bench")
                .session(&self.items)
                .history(history)
                .mode(decided(mode))
                .window(Window::from_config(Tokens::new(WINDOW)))
                .carry(carry)
                .turn(TurnNumber(turn as u32 + 1))
                .assemble()
        })
        .await;
        Ok((Spent { files, assembly }, request?))
    }
}

fn decided(chosen: Mode) -> ModeDecision {
    ModeDecision { chosen, reason: ModeReason::Configured, matched: Vec::new() }
}

/// What a turn cost, by stage.
struct Spent {
    files: Cost,
    assembly: Cost,
}

impl Spent {
    fn sum(&self) -> Cost {
        let (a, b) = (self.files, self.assembly);
        let allocated = Allocated {
            bytes: a.allocated.bytes + b.allocated.bytes,
            count: a.allocated.count + b.allocated.count,
        };
        Cost { time: a.time + b.time, allocated }
    }
}

#[derive(Clone, Copy)]
struct Cost {
    time: Duration,
    allocated: Allocated,
}

/// Awaits `work`, and says what it cost.
async fn spend<T>(work: impl Future<Output = T>) -> (Cost, T) {
    let before = alloc::so_far();
    let start = Instant::now();
    let result = work.await;
    let time = start.elapsed();
    (Cost { time, allocated: alloc::so_far() - before }, result)
}

/// What turns cost with the session at hand.
struct Stages {
    warm: Vec<Spent>,
    minimal: Vec<Spent>,
    cold: Vec<Spent>,
}

fn report(through_agent: &agent::Measured, stages: &Stages, prompt: Tokens) -> Option<Report> {
    let Stages { warm, minimal, cold } = stages;
    let turn = Summary::of(&through_agent.warm, Cost::clone)?;
    let rows = vec![
        turn.row("turn with the store, warm"),
        Summary::of(&through_agent.first, Cost::clone)?.row("turn with the store, first"),
        Summary::of(warm, Spent::sum)?.row("turn, warm"),
        Summary::of(warm, |spent| spent.files)?.row("  file checks and catalog"),
        Summary::of(warm, |spent| spent.assembly)?.row("  assembly"),
        Summary::of(minimal, Spent::sum)?.row("turn, warm, minimal"),
        Summary::of(minimal, |spent| spent.assembly)?.row("  assembly"),
        Summary::of(cold, Spent::sum)?.row("turn, cold"),
        Summary::of(cold, |spent| spent.files)?.row("  files and catalog"),
        Summary::of(cold, |spent| spent.assembly)?.row("  assembly"),
    ];
    let setup = format!(
        "One turn: {SKILLS} skills in full ({TOOLS} with a tool), {MEMORIES} memories, {RULES} \
         rules ({RULES_ALWAYS} always), a session of {HISTORY} messages and more; a window of \
         {WINDOW} tokens, of which the last prompt took {prompt}."
    );
    Some(Report::new(setup, rows, goals(&turn)))
}

fn goals(turn: &Summary) -> Vec<Goal> {
    let time = |name: &'static str, limit, measured| {
        Goal::at_most(name, limit, measured, Unit::Milliseconds)
    };
    vec![
        time("p50, warm", 1.0, turn.time.percentile(50)),
        time("p99, warm", 5.0, turn.time.percentile(99)),
        Goal::at_most("most allocated, warm", 1e6, turn.bytes.max(), Unit::Bytes),
        time("p50, as the older design asked", 50.0, turn.time.percentile(50)),
    ]
}

/// The costs of a stage over all turns.
struct Summary {
    time: Samples,
    bytes: Samples,
    allocations: Samples,
}

impl Summary {
    fn of<T>(turns: &[T], stage: impl Fn(&T) -> Cost) -> Option<Self> {
        let costs: Vec<Cost> = turns.iter().map(stage).collect();
        let samples = |value: fn(&Cost) -> f64| Samples::new(costs.iter().map(value));
        Some(Summary {
            time: samples(|cost| cost.time.as_secs_f64() * 1e3)?,
            bytes: samples(|cost| cost.allocated.bytes as f64)?,
            allocations: samples(|cost| cost.allocated.count as f64)?,
        })
    }

    fn row(&self, name: &'static str) -> Row {
        let figure = |name, value, unit| Figure { name, value, unit };
        let figures = vec![
            figure("turns", self.time.count() as f64, Unit::Count),
            figure("p50", self.time.percentile(50), Unit::Milliseconds),
            figure("p99", self.time.percentile(99), Unit::Milliseconds),
            figure("max", self.time.max(), Unit::Milliseconds),
            figure("allocated", self.bytes.percentile(50), Unit::Bytes),
            figure("most allocated", self.bytes.max(), Unit::Bytes),
            figure("allocations", self.allocations.percentile(50), Unit::Count),
        ];
        Row::new(name, figures)
    }
}
