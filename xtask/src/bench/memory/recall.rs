//! How long a recall takes among the memories and messages of a year: while the agent
//! runs, and for the first time after its start.

use std::time::Duration;

use jiff::Timestamp;
use recto_agent::{Agent, How, Inbound, Patience, Recall, Recalled, WhyWords};
use recto_search::EncoderFiles;

use super::home::{self, Home};
use super::{apart, year};
use crate::Result;
use crate::bench::machine;
use crate::bench::pair::timed;
use crate::bench::report::{Figure, Row, Unit};
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
pub(super) struct Measured {
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
pub(super) async fn embed(home: &Home, encoder: &EncoderFiles) -> Result<()> {
    let agent = home.start(Some(encoder)).await?;
    loop {
        match recall(&agent, "the first thing", Patience::OneSecond).await.how {
            How::Dense => return Ok(()),
            How::Words(WhyWords::NotReady { done, total }) if total > 0 => {
                eprintln!("{done} of {total} texts are embedded");
            }
            How::Words(WhyWords::NotReady { .. }) => eprintln!("messages are read"),
            how @ How::Words(_) => return Err(format!("the encoder is not used: {how}").into()),
        }
        tokio::time::sleep(TELL).await;
    }
}

/// Measures, by meaning and words where there is an encoder, else by words alone.
pub(super) fn measure(home: &Home, encoder: Option<&EncoderFiles>) -> Result<Measured> {
    let queries = year::queries(WARM_UP + QUERIES);
    let (warm_up, queries) = queries.split_at(WARM_UP);
    let started = apart(start(home, encoder, warm_up, queries))?;
    let (mut until_done, mut in_a_second, mut behind_turn) = (vec![started.first], vec![], vec![]);
    let mut how = String::new();
    for query in &queries[..STARTS] {
        until_done.push(apart(first(home, encoder, query, Patience::UntilDone))?.0);
        let (time, rests_on) = apart(first(home, encoder, query, Patience::OneSecond))?;
        in_a_second.push(time);
        how = rests_on.to_string();
        behind_turn.push(apart(first_behind_turn(home, encoder, query))?);
    }
    let samples = |times| Samples::new(times).ok_or("nothing was measured");
    Ok(Measured {
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
struct Started {
    first: f64,
    resident: Option<(f64, f64)>,
    warm: Vec<f64>,
    found: usize,
}

async fn start(
    home: &Home,
    encoder: Option<&EncoderFiles>,
    warm_up: &[String],
    queries: &[String],
) -> Result<Started> {
    let before = machine::resident();
    let agent = home.start(encoder).await?;
    let (first, recalled) = timed(recall(&agent, &warm_up[0], Patience::UntilDone)).await;
    expect(&recalled, encoder)?;
    let resident = before.zip(machine::resident());
    for query in warm_up {
        recall(&agent, query, Patience::OneSecond).await;
    }
    let (mut warm, mut found) = (Vec::new(), 0);
    for query in (0..ROUNDS).flat_map(|_| queries) {
        let (time, recalled) = timed(recall(&agent, query, Patience::OneSecond)).await;
        expect(&recalled, encoder)?;
        warm.push(time);
        found += recalled.found.len();
    }
    Ok(Started { first, resident, warm, found })
}

/// What the first recall after a start takes, and what it rests on.
async fn first(
    home: &Home,
    encoder: Option<&EncoderFiles>,
    query: &str,
    patience: Patience,
) -> Result<(f64, How)> {
    let agent = home.start(encoder).await?;
    let (time, recalled) = timed(recall(&agent, query, patience)).await;
    Ok((time, recalled.how))
}

/// What the first recall takes when there was a turn before, which sees less of the
/// memories than a recall does.
async fn first_behind_turn(
    home: &Home,
    encoder: Option<&EncoderFiles>,
    query: &str,
) -> Result<f64> {
    let agent = home.start(encoder).await?;
    let session = home::session(&agent, "looked-at").await?;
    agent.preview(session, Inbound::text(query)).await?;
    Ok(timed(recall(&agent, query, Patience::UntilDone)).await.0)
}

async fn recall(agent: &Agent, query: &str, patience: Patience) -> Recalled {
    let memories = agent.memories();
    let audience = memories.owner();
    let now = Timestamp::now();
    let wish = Recall { audience: &audience, query, limit: LIMIT, patience, now, besides: None };
    memories.recall(&wish).await
}

/// A benchmark that measured a search by words as one by meaning would flatter.
fn expect(recalled: &Recalled, encoder: Option<&EncoderFiles>) -> Result<()> {
    match (recalled.how == How::Dense) == encoder.is_some() {
        true => Ok(()),
        false => Err(format!("things were recalled {}", recalled.how).into()),
    }
}

impl Measured {
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn percentile(&self, percent: usize) -> f64 {
        self.warm.percentile(percent)
    }

    pub(super) fn warm_row(&self) -> Row {
        let time = |name, percent| Figure {
            name,
            value: self.warm.percentile(percent),
            unit: Unit::Milliseconds,
        };
        let figures = vec![
            Figure { name: "recalls", value: self.warm.count() as f64, unit: Unit::Count },
            time("p50", 50),
            time("p95", 95),
            time("max", 100),
            Figure { name: "found each", value: self.found, unit: Unit::Ratio },
        ];
        Row::new(self.name, figures)
    }

    pub(super) fn first_row(&self) -> Row {
        let time = |name, times: &Samples| Figure {
            name,
            value: times.percentile(50),
            unit: Unit::Milliseconds,
        };
        let (impatient, how) = &self.impatient;
        let figures = vec![
            time("until done", &self.first),
            time("behind a turn", &self.behind_turn),
            time("within a second", impatient),
        ];
        Row { note: Some(format!("the last one {how}")), ..Row::new(self.name, figures) }
    }

    pub(super) fn resident_row(&self) -> Option<Row> {
        let (before, after) = self.resident?;
        let bytes = |name, value| Figure { name, value, unit: Unit::Bytes };
        let figures =
            vec![bytes("before", before), bytes("after", after), bytes("added", after - before)];
        Some(Row::new(self.name, figures))
    }
}
