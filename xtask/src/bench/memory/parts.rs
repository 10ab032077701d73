//! What the parts of the work for memory take by themselves, without the agent around
//! them.

use std::hint::black_box;
use std::time::Instant;

use jiff::Zoned;
use recto_context::{
    ContentPart, Counter, ItemId, ItemKind, Limits, Message, MessageId, Pick, Pool, Snapshot,
    choose_snapshot, fingerprint,
};
use recto_search::{Choice, Encoder, EncoderFiles, Entry, Index, Query, SearchOptions, Vector};
use recto_store::{Embedder, MessagePosition, SessionId, Store};
use recto_workspace::{Horizon, View};

use super::home::Home;
use super::year;
use crate::Result;
use crate::bench::pair::timed;
use crate::bench::report::{Figure, Row, Unit};
use crate::bench::stats::Samples;

const RUNS: usize = 150;

/// Where the agent keeps the vectors of messages.
const SHELF: &str = "messages of main";

/// How many are ranked, how many of them compared, and from which cosine on two say the
/// same: as the agent has it.
const RANKED: usize = 200;
const COMPARED: usize = 40;
const SAME: f32 = 0.92;

/// What the parts of a turn's work for memory take by themselves.
pub(super) async fn of_turn(home: &Home, encoder: Option<&EncoderFiles>) -> Result<Vec<Row>> {
    let agent = home.start(None).await?;
    let (files, audience) = (agent.memories().files(), agent.memories().owner());
    let horizon = Horizon::Recent(Zoned::now().date());
    let view = files.read(&audience, horizon).await;
    let mut reading = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        reading.push(timed(files.read(&audience, horizon)).await.0);
    }
    let mut rows = vec![row("reading, nothing changed", reading)?];
    rows.extend(pure_parts(&view, encoder)?);
    Ok(rows)
}

fn pure_parts(view: &View, encoder: Option<&EncoderFiles>) -> Result<Vec<Row>> {
    let encoder = encoder.map(Encoder::load).transpose()?;
    let index = index(view, encoder.as_ref());
    let messages = year::messages(RUNS);
    let fingerprint = fingerprint(&view.memories);
    let (mut embedding, mut ranking) = (Vec::new(), Vec::new());
    let (mut anew, mut staying) = (Vec::new(), Vec::new());
    let mut before: Option<Snapshot> = None;
    for message in &messages {
        let (time, embedded) =
            spent(|| encoder.as_ref().map(|encoder| encoder.encode_one(message)));
        embedding.push(time);
        let query = Query { text: message, embedding: embedded.as_ref() };
        let (time, ranked) = spent(|| rank(&index, &query));
        ranking.push(time);
        let options = SearchOptions::default().memories;
        let recalled = Choice::among(ranked.iter().cloned(), &options).taken;
        let pool = Pool {
            memories: &view.memories,
            fingerprint,
            ranked: &ranked,
            recalled: &recalled,
            history_from: MessageId::default(),
        };
        let (time, made) = choose(None, &pool);
        anew.push(time);
        // Messages that have nothing to do with each other would have it made anew.
        let kept = before.get_or_insert(made).clone();
        let pool = Pool { recalled: &[], ..pool };
        staying.push(choose(Some(kept), &pool).0);
    }
    let mut rows = Vec::new();
    if encoder.is_some() {
        rows.push(row("embedding the message", embedding)?);
    }
    rows.push(row("ranking", ranking)?);
    rows.push(row("snapshot, chosen anew", anew)?);
    rows.push(row("snapshot, as it was", staying)?);
    Ok(rows)
}

/// What the parts of a recall among past messages take by themselves.
pub(super) async fn of_recall(home: &Home, encoder: Option<&EncoderFiles>) -> Result<Vec<Row>> {
    let agent = home.start(None).await?;
    let (files, audience) = (agent.memories().files(), agent.memories().owner());
    files.read(&audience, Horizon::All).await;
    let past = Past::read(agent.store(), encoder).await?;
    let (mut reading, mut sessions, mut news) = (Vec::new(), Vec::new(), Vec::new());
    let (mut missing, mut ranking, mut looking_up) = (Vec::new(), Vec::new(), Vec::new());
    for text in &year::queries(RUNS) {
        reading.push(timed(files.read(&audience, Horizon::All)).await.0);
        sessions.push(timed(agent.store().sessions_brief()).await.0);
        news.push(timed(agent.store().messages_after(past.last, 2_000)).await.0);
        missing.push(spent(|| past.index.missing(|_| true)).0);
        let embedding = past.encoder.as_ref().map(|encoder| encoder.encode_one(text));
        let query = Query { text, embedding: embedding.as_ref() };
        ranking.push(spent(|| past.rank(&query)).0);
        looking_up.push(timed(past.look_up(agent.store())).await.0);
    }
    Ok(vec![
        row("reading all notes, nothing changed", reading)?,
        row("listing sessions", sessions)?,
        row("asking for new messages", news)?,
        row("looking for texts without a vector", missing)?,
        row("ranking all messages", ranking)?,
        row("looking up 16 messages", looking_up)?,
    ])
}

/// All that was said, in an index as the agent has it.
struct Past {
    index: Index,
    encoder: Option<Encoder>,
    last: Option<MessagePosition>,
    session: Option<SessionId>,
}

impl Past {
    async fn read(store: &Store, encoder: Option<&EncoderFiles>) -> Result<Self> {
        let (mut index, mut last, mut session) = (Index::default(), None, None);
        loop {
            let new = store.messages_after(last, 2_000).await?;
            let Some((position, of, _)) = new.last() else { break };
            (last, session) = (Some(*position), Some(*of));
            index.extend(new.iter().map(|(_, session, stored)| entry(*session, &stored.message)));
        }
        let encoder = encoder.map(Encoder::load).transpose()?;
        if encoder.is_some() {
            let by = Embedder { shelf: SHELF.into(), model: Encoder::NAME.into() };
            let kept = store.embeddings(by).await?.into_iter();
            index.supply(kept.filter_map(|(key, bytes)| Some((key, Vector::from_bytes(&bytes)?))));
            if !index.missing(|_| true).is_empty() {
                return Err(format!("the shelf `{SHELF}` lacks vectors of messages").into());
            }
        }
        Ok(Past { index, encoder, last, session })
    }

    fn rank(&self, query: &Query<'_>) -> Vec<Pick> {
        let ranked = self.index.rank_threads(query, |_| true, RANKED);
        self.index.without_doubles(ranked, SAME, COMPARED).0
    }

    async fn look_up(&self, store: &Store) -> Result<()> {
        let session = self.session.ok_or("there are no messages")?;
        let places = (1..=16).map(|number| (session, MessageId(number * 6)));
        store.messages_at(places.collect()).await?;
        Ok(())
    }
}

/// A message as the agent hands it to search.
fn entry(session: SessionId, message: &Message) -> Entry {
    let texts = message.content().iter().filter_map(|part| match part {
        ContentPart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let speaker = if message.is_user() { "User" } else { "Assistant" };
    let item = ItemId::new(ItemKind::Memory, format!("{session}/{}", message.id.0));
    let text = texts.collect::<Vec<_>>().join("\n");
    Entry::message(item, speaker, &text, session.to_string().into(), None)
}

/// An index of all memories that were read, as a turn has it.
fn index(view: &View, encoder: Option<&Encoder>) -> Index {
    let mut index = Index::default();
    index.update(view.everything.iter().map(Entry::memory).collect());
    if let Some(encoder) = encoder {
        let missing = index.missing(|_| true);
        let texts: Vec<&str> = missing.iter().map(|missing| &*missing.text).collect();
        let vectors: Vec<Vector> = encoder.encode(&texts).iter().map(Vector::from).collect();
        index.supply(missing.iter().map(|missing| missing.key).zip(vectors));
    }
    index
}

fn rank(index: &Index, query: &Query<'_>) -> Vec<Pick> {
    let ranked = index.rank_best(query, |_| true, RANKED);
    index.without_doubles(ranked, SAME, COMPARED).0
}

fn choose(before: Option<Snapshot>, pool: &Pool<'_>) -> (f64, Snapshot) {
    spent(|| choose_snapshot(before, pool, &Limits::default(), &Counter::estimated()))
}

/// Milliseconds that something takes; not those in which its result is thrown away.
fn spent<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = black_box(run());
    (start.elapsed().as_secs_f64() * 1e3, result)
}

fn row(name: &'static str, times: Vec<f64>) -> Result<Row> {
    let times = Samples::new(times).ok_or("nothing was measured")?;
    let time =
        |name, percent| Figure { name, value: times.percentile(percent), unit: Unit::Milliseconds };
    let figures = vec![
        Figure { name: "runs", value: times.count() as f64, unit: Unit::Count },
        time("p50", 50),
        time("p95", 95),
        time("max", 100),
    ];
    Ok(Row::new(name, figures))
}
