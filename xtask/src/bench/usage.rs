//! What statistics cost: a year of use is made up and written through the store, turn
//! by turn, and then asked for.
//!
//! A turn is what an agent writes: its message and request, then the answer with the
//! outcome and what is counted. Each of a day's turns is in another session, so that
//! they share commits as those of a busy gateway do.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use futures_util::future::try_join_all;
use jiff::{Span, Timestamp};
use recto_agent::{Actor, UsageQuery, UsageSpan, report_usage};
use recto_context::{
    Catalog, ContentPart, IncludeMode, ItemId, ItemKind, Layer, Message, MessageId,
};
use recto_store::{
    BindingKey, Fidelity, ItemPlace, ItemTally, Moment, NewMessage, NewRequest, NewSession,
    NewTurn, RequestAnswer, RequestUsage, SearchVerdict, SessionHolder, SessionId, SettingsMap,
    Store, StoreOptions, TurnCommit, TurnEnding, TurnOutcome, TurnTally,
};
use serde_json::{Value, json};

use super::report::{BenchReport, Figure, FigureGoal, FigureRow, FigureUnit};
use super::stats::Samples;
use crate::Result;
use crate::project::build_recto;

const DAYS: usize = 365;
const TURNS_A_DAY: usize = 20;
const ITEMS: usize = 200;
/// Items that every turn has, and those that come and go.
const ALWAYS: usize = 50;
const CHANGING: usize = 30;
/// How often each question is asked.
const RUNS: usize = 40;
/// Days that are written to measure how fast that goes.
const WRITTEN_DAYS: usize = 100;
const AGENT: &str = "main";
/// Milliseconds that `recto stats` may take, its start included.
const MOST: f64 = 50.0;

/// Writes the year into a temporary folder, and measures.
pub(super) fn run() -> Result<BenchReport> {
    let recto = build_recto()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let plain = runtime.block_on(write_speed(TallyChoice::None))?;
    let tallied = runtime.block_on(write_speed(TallyChoice::Year))?;
    let home = tempfile::tempdir()?;
    let (usage, report) = runtime.block_on(async {
        let store = Store::open(&StoreOptions::new(home.path().join("data/recto.db")))?;
        write_days(&store, DAYS, TallyChoice::Year).await?;
        measure_in_process(&store).await
    })?;
    let command = measure_command(&recto, home.path())?;
    let slowest = command.max();
    let setup = format!(
        "{} turns in {DAYS} days, {ITEMS} items, {} of them in each turn; all of it is asked for, \
         {RUNS} times. The command is a process of its own, from its start to its end.",
        DAYS * TURNS_A_DAY,
        ALWAYS + CHANGING
    );
    let times = |name: &'static str, samples: &Samples| {
        FigureRow::new(
            name,
            vec![milliseconds("p50", samples.percentile(50)), milliseconds("max", samples.max())],
        )
    };
    let mut report = BenchReport::new(
        setup,
        vec![
            times("the store adds up the days", &usage),
            times("the report with it, as JSON", &report),
            times("`recto stats --since all --json`", &command),
        ],
        vec![FigureGoal::at_most(
            "the slowest `recto stats`",
            MOST,
            slowest,
            FigureUnit::Milliseconds,
        )],
    );
    report.remarks.push(format!(
        "Written: {plain:.0} turns a second without items to count, {tallied:.0} with them."
    ));
    Ok(report)
}

/// What the turns that are written count.
#[derive(Clone, Copy)]
enum TallyChoice {
    /// Only that they were.
    None,
    /// The items of the year.
    Year,
}

/// How many turns a second are written to a new store.
async fn write_speed(choice: TallyChoice) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let store = Store::open(&StoreOptions::new(folder.path().join("recto.db")))?;
    let begun = Instant::now();
    write_days(&store, WRITTEN_DAYS, choice).await?;
    Ok((WRITTEN_DAYS * TURNS_A_DAY) as f64 / begun.elapsed().as_secs_f64())
}

/// Writes the turns of so many days up to today.
async fn write_days(store: &Store, days: usize, choice: TallyChoice) -> Result<()> {
    let sessions =
        try_join_all((0..TURNS_A_DAY).map(|number| begin_session(store, number))).await?;
    let now = Timestamp::now();
    for day in 0..days {
        let hours = ((days - 1 - day) * 24) as i64;
        let at = Moment::new(now.checked_sub(Span::new().hours(hours))?);
        let turns = sessions.iter().enumerate().map(|(number, session)| {
            let index = day * TURNS_A_DAY + number;
            write_turn(store, *session, index, (day * 2 + 1) as u64, at, choice)
        });
        try_join_all(turns).await?;
    }
    Ok(())
}

async fn begin_session(store: &Store, number: usize) -> Result<SessionId> {
    let key = BindingKey {
        agent: AGENT.to_owned(),
        surface: "terminal".to_owned(),
        account: "local".to_owned(),
        conversation: format!("talk-{number}"),
        user: None,
        holder: SessionHolder::owner(),
    };
    let new = NewSession {
        agent: AGENT.to_owned(),
        name: None,
        surface: "terminal".to_owned(),
        at: Moment::now(),
        settings: SettingsMap::default(),
    };
    Ok(store.bind(key, new).await?.id)
}

async fn write_turn(
    store: &Store,
    session: SessionId,
    index: usize,
    message: u64,
    at: Moment,
    choice: TallyChoice,
) -> Result<()> {
    let text = format!("What about the matter with the number {index}?");
    let said = |message: Message| NewMessage { message: message.into(), at };
    let first = TurnCommit {
        messages: vec![said(Message::user(message, text.as_str()))],
        state: Some(json!({"version": 1})),
        request: Some(new_request(index, at)),
        ..TurnCommit::default()
    };
    let inbound = NewTurn {
        session,
        at,
        content: vec![ContentPart::Text(text.as_str().into())],
        actor: Actor::owner("bench").to_store(),
        delivery: None,
        client: None,
        retraction: None,
        settings: SettingsMap::default(),
    };
    let begun = store.begin(inbound, first).await?;
    let request = begun.request.ok_or("a turn has no request")?;
    let usage = RequestUsage { prompt: Some(3_000), cached: Some(2_400), completion: Some(120) };
    let answer = RequestAnswer {
        request,
        at,
        reply: Some(MessageId(message + 1)),
        usage,
        result: Value::Null,
    };
    let last = TurnCommit {
        messages: vec![said(Message::assistant(message + 1, "That is settled."))],
        answer: Some(answer),
        outcome: Some(TurnOutcome { ending: TurnEnding::Done, detail: None, at }),
        tally: match choice {
            TallyChoice::None => None,
            TallyChoice::Year => Some(tally(index, &usage)),
        },
        ..TurnCommit::default()
    };
    store.advance(begun.turn, last).await?;
    Ok(())
}

/// A request that repeats the one before it for the most part, as those of a session do.
fn new_request(index: usize, at: Moment) -> NewRequest {
    let parts: Vec<Value> = (0..ALWAYS + CHANGING)
        .map(|number| json!({"layer": "items", "item": item(number), "reason": "always"}))
        .collect();
    NewRequest {
        number: 1,
        at,
        model: "small".to_owned(),
        wire: "openai".to_owned(),
        options: json!({"temperature": 0.5}),
        fidelity: Fidelity::Wire,
        context: json!({"version": 1, "parts": parts, "message": index}).to_string(),
        contents: Vec::new(),
        body: ["{\"messages\": [".to_owned(), format!("{{\"content\": \"{index}\"}}]}}")]
            .iter()
            .collect(),
        notes: json!({}),
    }
}

fn item(number: usize) -> ItemId {
    let name = format!("item-number-{number}");
    match number % 5 {
        0 => ItemId::new(ItemKind::Rule, name),
        1 => ItemId::new(ItemKind::Reference, name),
        2 => ItemId::new(ItemKind::Skill, name),
        3 => ItemId::tool(Some("database".into()), name),
        _ => ItemId::new(ItemKind::Memory, name),
    }
}

/// What a turn of the year counts: most of it the same in every turn, the rest drawn by
/// its number.
fn tally(index: usize, usage: &RequestUsage) -> TurnTally {
    let mut tally = TurnTally::default();
    tally.tokens.requests = 1;
    tally.tokens.pages = 1;
    tally.tokens.fresh = 600;
    tally.tokens.layers = Layer::ALL.map(|layer| (layer, 300)).into();
    tally.tokens.add_usage(usage);
    for number in 0..ALWAYS {
        let used = (index + number).is_multiple_of(40);
        let (place, include) = (Some(ItemPlace::Taken), Some(IncludeMode::Always));
        tally.items.insert(item(number), ItemTally { place, include, used, verdict: None });
    }
    for step in 0..CHANGING {
        let number = ALWAYS + (index * 31 + step * 7) % (ITEMS - ALWAYS);
        let verdict = Some(SearchVerdict::Picked((number % 100) as f32 / 100.0));
        let (place, include) = (Some(ItemPlace::Offered), Some(IncludeMode::Agent));
        tally.items.insert(item(number), ItemTally { place, include, used: step == 0, verdict });
    }
    tally
}

/// Times of the store's answer and of the whole report.
async fn measure_in_process(store: &Store) -> Result<(Samples, Samples)> {
    let (mut usage, mut report) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let since = None;
        let begun = Instant::now();
        let answer = store.usage(AGENT, since).await?;
        usage.push(begun.elapsed().as_secs_f64() * 1_000.0);
        if (answer.endings.all(), answer.items.len()) != ((DAYS * TURNS_A_DAY) as u64, ITEMS) {
            return Err("the year is not whole".into());
        }
        let begun = Instant::now();
        let query = UsageQuery::now(UsageSpan::All);
        let answer = report_usage(store, AGENT, &Catalog::default(), query).await?;
        let _ = answer.json().to_string();
        report.push(begun.elapsed().as_secs_f64() * 1_000.0);
    }
    let samples = |times| Samples::new(times).ok_or("nothing was measured");
    Ok((samples(usage)?, samples(report)?))
}

/// Times of the command on the same store.
fn measure_command(recto: &Path, home: &Path) -> Result<Samples> {
    std::fs::write(home.join("config.toml"), "models.m.provider = 'scripted'\n")?;
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let begun = Instant::now();
        let output = Command::new(recto)
            .arg("--home")
            .arg(home)
            .args(["stats", "--since", "all", "--json"])
            .output()?;
        times.push(begun.elapsed().as_secs_f64() * 1_000.0);
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
    }
    Samples::new(times).ok_or_else(|| "nothing was measured".into())
}

fn milliseconds(name: &'static str, value: f64) -> Figure {
    Figure { name, value, unit: FigureUnit::Milliseconds }
}
