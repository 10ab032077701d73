//! Turns through HTTP: 64 sessions at once, everything recorded and durable.
//!
//! A turn is measured as its client sees it, from the message going out to the event that it is
//! over. First every session sends its next message as soon as it has its reply: that is what the
//! server can do. Then messages come at a set rate, whether or not the earlier ones are answered:
//! that is how long people wait at that rate.
//!
//! With `--store`, gateways that share a database on a server are measured instead: what all of them
//! can do together, with the sessions spread over them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use futures_util::future::try_join_all;
use tokio::time::{sleep_until, timeout};

use super::BenchName;
use super::http::{Connection, EventReader};
use super::report::{BenchReport, Figure, FigureGoal, FigureRow, FigureUnit};
use super::served::ServedHome;
use super::stats::Samples;
use crate::Result;
use crate::project::build_recto;

const SESSIONS: usize = 64;
/// How long each part takes.
const SPAN: Duration = Duration::from_secs(10);
/// Turns a second that come in the second part, and that are the goal of the first.
const RATE: f64 = 1_500.0;
/// Milliseconds that all but one of a hundred turns may take at that rate.
const SLOWEST: f64 = 20.0;
/// A turn without a model takes milliseconds; one that takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// About as much as a person says.
const MESSAGE: &str =
    r#"{"text": "Which of the lamps at the harbour has to be lit first tonight?"}"#;

/// The gateways that `turns` is measured on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct TurnsArgs {
    /// `turns`: the address of a database on a server that all gateways share, instead of a file.
    #[arg(long)]
    store: Option<String>,
    /// `turns`: how many gateways share it.
    #[arg(long, default_value_t = 1)]
    nodes: usize,
    /// `turns` and `daemon`: the gateway to run, instead of one that is built for it. The client is
    /// then this program as it is.
    #[arg(long)]
    pub(super) binary: Option<PathBuf>,
}

impl TurnsArgs {
    /// Fails where they can't be meant.
    pub(super) fn check(&self, bench: BenchName) -> Result<()> {
        if bench != BenchName::Turns && (self.store.is_some() || self.nodes != 1) {
            return Err("--store and --nodes are for `turns`".into());
        }
        if !matches!(bench, BenchName::Turns | BenchName::Daemon) && self.binary.is_some() {
            return Err("--binary is for `turns` and `daemon`".into());
        }
        match (&self.store, self.nodes) {
            (_, 0) => Err("at least one gateway is needed".into()),
            (None, 2..) => Err("several gateways need a server: --store URL".into()),
            _ => Ok(()),
        }
    }

    /// The gateway that is measured.
    pub(super) fn gateway(&self) -> Result<PathBuf> {
        match &self.binary {
            Some(binary) => Ok(binary.clone()),
            None => build_recto(),
        }
    }

    /// The same for another start of this program.
    pub(super) fn to_args(&self) -> Vec<String> {
        let store = self.store.iter().flat_map(|url| ["--store".to_owned(), url.clone()]);
        let nodes = (self.nodes != 1).then(|| ["--nodes".to_owned(), self.nodes.to_string()]);
        store.chain(nodes.into_iter().flatten()).collect()
    }
}

/// Measures both parts on one server, or what several can do on one database.
pub(super) fn run(args: &TurnsArgs) -> Result<BenchReport> {
    let recto = args.gateway()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match &args.store {
        Some(store) => runtime.block_on(measure_nodes(&recto, store, args.nodes)),
        None => runtime.block_on(measure(&recto)),
    }
}

async fn measure_nodes(recto: &Path, store: &str, count: usize) -> Result<BenchReport> {
    let settings = format!("[store]\nurl = '{store}'\n");
    let mut nodes = Vec::new();
    for _ in 0..count {
        nodes.push(ServedHome::start_with(recto, &settings, &[]).await?);
    }
    let begin = |number: usize| Talker::begin(nodes[number % count].address, number);
    let mut talkers = try_join_all((0..SESSIONS).map(begin)).await?;
    try_join_all(talkers.iter_mut().map(Talker::take_turn)).await?;
    let used = || nodes.iter().map(ServedHome::processor_seconds).sum::<Result<f64>>();
    let before = used()?;
    let (busy, rate) = run_part(&mut talkers, MessagePace::AtOnce).await?;
    let processor = (used()? - before) * 1_000.0 / busy.count() as f64;
    let setup = format!(
        "{SESSIONS} sessions spread over {count} of `recto serve` on one database, with the scripted \
         model, {} s; client and database run on the same machine.",
        SPAN.as_secs()
    );
    let rows = vec![row("each as soon as it has its reply", &busy, rate)];
    let mut report = BenchReport::new(setup, rows, Vec::new());
    report.remarks.push(format!("The gateways' processor time for a turn: {processor:.2} ms."));
    Ok(report)
}

async fn measure(recto: &Path) -> Result<BenchReport> {
    let server = ServedHome::start(recto).await?;
    let mut talkers =
        try_join_all((0..SESSIONS).map(|number| Talker::begin(server.address, number))).await?;
    // What is read once, such as the workspace, is read.
    try_join_all(talkers.iter_mut().map(Talker::take_turn)).await?;
    let mut rows = Vec::new();
    let before = server.processor_seconds()?;
    let (busy, busy_rate) = run_part(&mut talkers, MessagePace::AtOnce).await?;
    let processor = (server.processor_seconds()? - before) * 1_000.0 / busy.count() as f64;
    rows.push(row("each as soon as it has its reply", &busy, busy_rate));
    let (paced, paced_rate) =
        run_part(&mut talkers, MessagePace::Every(SESSIONS as f64 / RATE)).await?;
    rows.push(row("1,500 a second come in", &paced, paced_rate));
    let setup = format!(
        "{SESSIONS} sessions of one `recto serve` with the scripted model, {} s each; the client \
         runs on the same machine. A turn is one post, and \
         the events up to its end.",
        SPAN.as_secs()
    );
    let goals = vec![
        FigureGoal::at_least("turns a second", RATE, busy_rate, FigureUnit::PerSecond),
        FigureGoal::at_most(
            "p99 at 1,500 a second",
            SLOWEST,
            paced.percentile(99),
            FigureUnit::Milliseconds,
        ),
    ];
    let mut report = BenchReport::new(setup, rows, goals);
    report.remarks.push(format!("The server's processor time for a turn: {processor:.2} ms."));
    Ok(report)
}

fn row(name: &'static str, samples: &Samples, rate: f64) -> FigureRow {
    let milliseconds = |name, value| Figure { name, value, unit: FigureUnit::Milliseconds };
    FigureRow::new(
        name,
        vec![
            Figure { name: "turns/s", value: rate, unit: FigureUnit::PerSecond },
            milliseconds("p50", samples.percentile(50)),
            milliseconds("p99", samples.percentile(99)),
            milliseconds("max", samples.max()),
        ],
    )
}

/// When a session sends its next message.
#[derive(Debug, Clone, Copy)]
enum MessagePace {
    /// With the reply to the one before.
    AtOnce,
    /// After so many seconds, counted from the one before.
    Every(f64),
}

/// Lets all sessions talk for the span, and gives the turns' times with how many came a second.
async fn run_part(talkers: &mut [Talker], pace: MessagePace) -> Result<(Samples, f64)> {
    let begun = Instant::now();
    let parts = talkers.iter_mut().enumerate().map(|(index, talker)| {
        // Spread over the first interval, so that they don't come in waves.
        let offset = match pace {
            MessagePace::AtOnce => 0.0,
            MessagePace::Every(seconds) => seconds * index as f64 / SESSIONS as f64,
        };
        talker.talk(begun + Duration::from_secs_f64(offset), begun + SPAN, pace)
    });
    let times = try_join_all(parts).await?.concat();
    let rate = times.len() as f64 / begun.elapsed().as_secs_f64();
    let times = Samples::new(times).ok_or("no turn was taken")?;
    Ok((times, rate))
}

/// A session with its client.
pub(super) struct Talker {
    session: i64,
    posts: Connection,
    events: EventReader,
}

impl Talker {
    /// Begins a session, and follows its events.
    pub(super) async fn begin(address: SocketAddr, number: usize) -> Result<Self> {
        let mut posts = Connection::open(address).await?;
        // A database on a server may have those of an earlier run.
        let named = format!(r#"{{"name": "talk-{}-{number}"}}"#, std::process::id());
        let session = posts.post("/api/sessions", &named).await?;
        let session = session["id"].as_i64().ok_or("a session without a number")?;
        let events = Connection::open(address).await?;
        let events = events.follow(&format!("/api/sessions/{session}/events")).await?;
        Ok(Talker { session, posts, events })
    }

    /// Says something, and waits for the end of the turn.
    pub(super) async fn take_turn(&mut self) -> Result<()> {
        let path = format!("/api/sessions/{}/messages", self.session);
        let accepted = self.posts.post(&path, MESSAGE).await?;
        let turn = format!("\"turn\":{},", accepted["turn"]);
        timeout(PATIENCE, self.events.wait_for(&["\"event\":\"finished\"", &turn])).await?
    }

    /// Talks from `first` to `end`, and gives what each turn took, in milliseconds. At a set pace
    /// a turn counts from when it was due: one that had to wait for the one before has waited.
    async fn talk(&mut self, first: Instant, end: Instant, pace: MessagePace) -> Result<Vec<f64>> {
        let mut times = Vec::new();
        let mut due = first;
        while due < end {
            sleep_until(due.into()).await;
            self.take_turn().await?;
            times.push(due.elapsed().as_secs_f64() * 1_000.0);
            due = match pace {
                MessagePace::AtOnce => Instant::now(),
                MessagePace::Every(seconds) => due + Duration::from_secs_f64(seconds),
            };
        }
        Ok(times)
    }
}
