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
    AssemblyInputs, Carry, Catalog, Message, MessageId, Mode, ModeDecision, ModeReason,
    RequestContext, SessionItem, Tokens, TurnNumber, Window,
};

use super::files::AgentFiles;
use super::report::{BenchReport, Figure, FigureGoal, FigureRow, FigureUnit};
use super::stats::Samples;
use super::synthetic::{self, MEMORIES, RULES, RULES_ALWAYS, SKILLS, TOOLS};
use crate::Result;
use crate::alloc::{self, AllocationCount};

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
pub(super) fn run() -> Result<BenchReport> {
    let folder = tempfile::tempdir()?;
    synthetic::write_workspace(folder.path())?;
    sleep(SETTLE);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let data = tempfile::tempdir()?;
    runtime.block_on(measure(folder.path(), data.path()))
}

async fn measure(folder: &Path, data: &Path) -> Result<BenchReport> {
    let files = AgentFiles::open(folder);
    let catalog = files.catalog().await;
    expect_all_of_it(&catalog, files.problems().await.len())?;
    let session = LongSession {
        items: catalog.session_at_start(),
        messages: synthetic::conversation(HISTORY + 2 * TURNS),
    };

    let (warm, last) = session.play(&files, Mode::Full).await?;
    let (minimal, _) = session.play(&files, Mode::Minimal).await?;
    let prompt = last.budget.used;
    let mut carry = last.carry;
    let mut cold = Vec::with_capacity(COLD_TURNS);
    for _ in 0..COLD_TURNS {
        let files = AgentFiles::open(folder);
        let (spent, request) = session.take_turn(&files, Mode::Full, TURNS, carry).await?;
        cold.push(spent);
        carry = request.carry;
    }
    let through_agent = agent::measure(folder, data).await?;
    let stages = StageCosts { warm, minimal, cold };
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
struct LongSession {
    items: Vec<SessionItem>,
    messages: Vec<Arc<Message>>,
}

impl LongSession {
    /// All turns of the session with files that are known; gives the costs
    /// after the warm-up, and the last request.
    async fn play(
        &self,
        files: &AgentFiles,
        mode: Mode,
    ) -> Result<(Vec<TurnCost>, RequestContext)> {
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
        files: &AgentFiles,
        mode: Mode,
        turn: usize,
        carry: Carry,
    ) -> Result<(TurnCost, RequestContext)> {
        let history = &self.messages[..HISTORY + 2 * turn];
        let (files, catalog) = spend(files.catalog()).await;
        let (assembly, request) = spend(async {
            AssemblyInputs::new(&catalog, MESSAGE)
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
        Ok((TurnCost { files, assembly }, request?))
    }
}

fn decided(chosen: Mode) -> ModeDecision {
    ModeDecision::new(chosen, ModeReason::Configured)
}

/// What a turn cost, by stage.
struct TurnCost {
    files: StageCost,
    assembly: StageCost,
}

impl TurnCost {
    fn sum(&self) -> StageCost {
        let (a, b) = (self.files, self.assembly);
        let allocated = AllocationCount {
            bytes: a.allocated.bytes + b.allocated.bytes,
            count: a.allocated.count + b.allocated.count,
        };
        StageCost { time: a.time + b.time, allocated }
    }
}

#[derive(Clone, Copy)]
struct StageCost {
    time: Duration,
    allocated: AllocationCount,
}

/// Awaits `work`, and says what it cost.
async fn spend<T>(work: impl Future<Output = T>) -> (StageCost, T) {
    let before = alloc::so_far();
    let start = Instant::now();
    let result = work.await;
    let time = start.elapsed();
    (StageCost { time, allocated: alloc::so_far() - before }, result)
}

/// What turns cost with the session at hand.
struct StageCosts {
    warm: Vec<TurnCost>,
    minimal: Vec<TurnCost>,
    cold: Vec<TurnCost>,
}

fn report(
    through_agent: &agent::AgentCosts,
    stages: &StageCosts,
    prompt: Tokens,
) -> Option<BenchReport> {
    let StageCosts { warm, minimal, cold } = stages;
    let turn = CostSummary::from_turns(&through_agent.warm, StageCost::clone)?;
    let rows = vec![
        turn.row("turn with the store, warm"),
        CostSummary::from_turns(&through_agent.first, StageCost::clone)?
            .row("turn with the store, first"),
        CostSummary::from_turns(warm, TurnCost::sum)?.row("turn, warm"),
        CostSummary::from_turns(warm, |spent| spent.files)?.row("  file checks and catalog"),
        CostSummary::from_turns(warm, |spent| spent.assembly)?.row("  assembly"),
        CostSummary::from_turns(minimal, TurnCost::sum)?.row("turn, warm, minimal"),
        CostSummary::from_turns(minimal, |spent| spent.assembly)?.row("  assembly"),
        CostSummary::from_turns(cold, TurnCost::sum)?.row("turn, cold"),
        CostSummary::from_turns(cold, |spent| spent.files)?.row("  files and catalog"),
        CostSummary::from_turns(cold, |spent| spent.assembly)?.row("  assembly"),
    ];
    let setup = format!(
        "One turn: {SKILLS} skills in full ({TOOLS} with a tool), {MEMORIES} memories, {RULES} \
         rules ({RULES_ALWAYS} always), a session of {HISTORY} messages and more; a window of \
         {WINDOW} tokens, of which the last prompt took {prompt}."
    );
    Some(BenchReport::new(setup, rows, goals(&turn)))
}

fn goals(turn: &CostSummary) -> Vec<FigureGoal> {
    let time = |name: &'static str, limit, measured| {
        FigureGoal::at_most(name, limit, measured, FigureUnit::Milliseconds)
    };
    vec![
        time("p50, warm", 1.0, turn.time.percentile(50)),
        time("p99, warm", 5.0, turn.time.percentile(99)),
        FigureGoal::at_most("most allocated, warm", 1e6, turn.bytes.max(), FigureUnit::Bytes),
        time("p50, as the older design asked", 50.0, turn.time.percentile(50)),
    ]
}

/// The costs of a stage over all turns.
struct CostSummary {
    time: Samples,
    bytes: Samples,
    allocations: Samples,
}

impl CostSummary {
    fn from_turns<T>(turns: &[T], stage: impl Fn(&T) -> StageCost) -> Option<Self> {
        let costs: Vec<StageCost> = turns.iter().map(stage).collect();
        let samples = |value: fn(&StageCost) -> f64| Samples::new(costs.iter().map(value));
        Some(CostSummary {
            time: samples(|cost| cost.time.as_secs_f64() * 1e3)?,
            bytes: samples(|cost| cost.allocated.bytes as f64)?,
            allocations: samples(|cost| cost.allocated.count as f64)?,
        })
    }

    fn row(&self, name: &'static str) -> FigureRow {
        let figure = |name, value, unit| Figure { name, value, unit };
        let figures = vec![
            figure("turns", self.time.count() as f64, FigureUnit::Count),
            figure("p50", self.time.percentile(50), FigureUnit::Milliseconds),
            figure("p99", self.time.percentile(99), FigureUnit::Milliseconds),
            figure("max", self.time.max(), FigureUnit::Milliseconds),
            figure("allocated", self.bytes.percentile(50), FigureUnit::Bytes),
            figure("most allocated", self.bytes.max(), FigureUnit::Bytes),
            figure("allocations", self.allocations.percentile(50), FigureUnit::Count),
        ];
        FigureRow::new(name, figures)
    }
}
