//! How long a recall takes among the memories and messages of a year: while the agent
//! runs, and for the first time after its start.

use std::time::Duration;

use jiff::Timestamp;
use recto_agent::{
    Actor, Agent, Inbound, RankingBasis, RecallOutcome, RecallQuery, SearchPatience,
    WordsOnlyReason,
};
use recto_search::EncoderFiles;

use super::home::{self, YearHome};
use super::{apart, year};
use crate::Result;
use crate::bench::machine;
use crate::bench::pair::timed;
use crate::bench::report::{Figure, FigureRow, FigureUnit};
use crate::bench::stats::Samples;

/// How many different things are recalled, how often all of them, and how many before
/// that.
const QUERIES: usize = 50;
const ROUNDS: usize = 4;
const WARM_UP: usize = 10;

/// How often an agent is started for its first recall.
const STARTS: usize = 3;

/// How much of it, as the tool has it.
const LIMIT: usize = 8;

/// How often to say how far the embedding is.
const TELL: Duration = Duration::from_secs(10);

/// What recalls took in one way of searching.
pub(super) struct RecallTimes {
    name: &'static str,
    warm: Samples,
    /// How much was found, by query.
    found: f64,
    /// The first after a start, until it is complete.
    first: Samples,
    /// The same as a turn waits for it, and what that rested on.
    impatient: (Samples, String),
    /// The first after a turn.
    behind_turn: Samples,
    /// What the process had in memory before the first, and after it.
    resident: Option<(f64, f64)>,
}

/// Gives every text its vector, and tells how far it is.
pub(super) async fn embed(home: &YearHome, encoder: &EncoderFiles) -> Result<()> {
    let agent = home.start(Some(encoder)).await?;
    loop {
        match recall(&agent, "the first thing", SearchPatience::OneSecond).await.how {
            RankingBasis::Dense | RankingBasis::DenseBy(_) => return Ok(()),
            RankingBasis::Words(WordsOnlyReason::NotReady { done, total }) if total > 0 => {
                eprintln!("{done} of {total} texts are embedded");
            }
            RankingBasis::Words(WordsOnlyReason::NotReady { .. }) => eprintln!("messages are read"),
            how @ RankingBasis::Words(_) => {
                return Err(format!("the encoder is not used: {how}").into());
            }
        }
        tokio::time::sleep(TELL).await;
    }
}

/// Measures, by meaning and words where there is an encoder, else by words alone.
pub(super) fn measure(home: &YearHome, encoder: Option<&EncoderFiles>) -> Result<RecallTimes> {
    let queries = year::queries(WARM_UP + QUERIES);
    let (warm_up, queries) = queries.split_at(WARM_UP);
    let started = apart(start(home, encoder, warm_up, queries))?;
    let (mut until_done, mut in_a_second, mut behind_turn) = (vec![started.first], vec![], vec![]);
    let mut how = String::new();
    for query in &queries[..STARTS] {
        until_done.push(apart(first(home, encoder, query, SearchPatience::UntilDone))?.0);
        let (time, rests_on) = apart(first(home, encoder, query, SearchPatience::OneSecond))?;
        in_a_second.push(time);
        how = rests_on.to_string();
        behind_turn.push(apart(first_behind_turn(home, encoder, query))?);
    }
    let samples = |times| Samples::new(times).ok_or("nothing was measured");
    Ok(RecallTimes {
        name: if encoder.is_some() { "by meaning and words" } else { "by words alone" },
        found: started.found as f64 / started.warm.len() as f64,
        warm: samples(started.warm)?,
        first: samples(until_done)?,
        impatient: (samples(in_a_second)?, how),
        behind_turn: samples(behind_turn)?,
        resident: started.resident,
    })
}

/// An agent from its start on.
struct AgentStart {
    first: f64,
    resident: Option<(f64, f64)>,
    warm: Vec<f64>,
    found: usize,
}

async fn start(
    home: &YearHome,
    encoder: Option<&EncoderFiles>,
    warm_up: &[String],
    queries: &[String],
) -> Result<AgentStart> {
    let before = machine::resident();
    let agent = home.start(encoder).await?;
    let (first, recalled) = timed(recall(&agent, &warm_up[0], SearchPatience::UntilDone)).await;
    expect(&recalled, encoder)?;
    let resident = before.zip(machine::resident());
    for query in warm_up {
        recall(&agent, query, SearchPatience::OneSecond).await;
    }
    let (mut warm, mut found) = (Vec::new(), 0);
    for query in (0..ROUNDS).flat_map(|_| queries) {
        let (time, recalled) = timed(recall(&agent, query, SearchPatience::OneSecond)).await;
        expect(&recalled, encoder)?;
        warm.push(time);
        found += recalled.found.len();
    }
    Ok(AgentStart { first, resident, warm, found })
}

/// What the first recall after a start takes, and what it rests on.
async fn first(
    home: &YearHome,
    encoder: Option<&EncoderFiles>,
    query: &str,
    patience: SearchPatience,
) -> Result<(f64, RankingBasis)> {
    let agent = home.start(encoder).await?;
    let (time, recalled) = timed(recall(&agent, query, patience)).await;
    Ok((time, recalled.how))
}

/// What the first recall takes when there was a turn before, which sees less of the
/// memories than a recall does.
async fn first_behind_turn(
    home: &YearHome,
    encoder: Option<&EncoderFiles>,
    query: &str,
) -> Result<f64> {
    let agent = home.start(encoder).await?;
    let session = home::session(&agent, "looked-at").await?;
    agent.preview(session, Inbound::text(&Actor::owner("bench"), query)).await?;
    Ok(timed(recall(&agent, query, SearchPatience::UntilDone)).await.0)
}

async fn recall(agent: &Agent, query: &str, patience: SearchPatience) -> RecallOutcome {
    let memories = agent.memories();
    let audience = memories.owner();
    let now = Timestamp::now();
    let request =
        RecallQuery { audience: &audience, query, limit: LIMIT, patience, now, known: None };
    memories.recall(&request).await
}

/// A benchmark that measured a search by words as one by meaning would flatter.
fn expect(recalled: &RecallOutcome, encoder: Option<&EncoderFiles>) -> Result<()> {
    match recalled.how.is_dense() == encoder.is_some() {
        true => Ok(()),
        false => Err(format!("things were recalled {}", recalled.how).into()),
    }
}

impl RecallTimes {
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn percentile(&self, percent: usize) -> f64 {
        self.warm.percentile(percent)
    }

    pub(super) fn warm_row(&self) -> FigureRow {
        let time = |name, percent| Figure {
            name,
            value: self.warm.percentile(percent),
            unit: FigureUnit::Milliseconds,
        };
        let figures = vec![
            Figure { name: "recalls", value: self.warm.count() as f64, unit: FigureUnit::Count },
            time("p50", 50),
            time("p95", 95),
            time("max", 100),
            Figure { name: "found each", value: self.found, unit: FigureUnit::Ratio },
        ];
        FigureRow::new(self.name, figures)
    }

    pub(super) fn first_row(&self) -> FigureRow {
        let time = |name, times: &Samples| Figure {
            name,
            value: times.percentile(50),
            unit: FigureUnit::Milliseconds,
        };
        let (impatient, how) = &self.impatient;
        let figures = vec![
            time("until done", &self.first),
            time("behind a turn", &self.behind_turn),
            time("within a second", impatient),
        ];
        FigureRow {
            note: Some(format!("the last one {how}")),
            ..FigureRow::new(self.name, figures)
        }
    }

    pub(super) fn resident_row(&self) -> Option<FigureRow> {
        let (before, after) = self.resident?;
        let bytes = |name, value| Figure { name, value, unit: FigureUnit::Bytes };
        let figures =
            vec![bytes("before", before), bytes("after", after), bytes("added", after - before)];
        Some(FigureRow::new(self.name, figures))
    }
}
