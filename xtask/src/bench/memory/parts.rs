//! What the parts of the work for memory take by themselves, without the agent around
//! them.

use std::hint::black_box;
use std::time::Instant;

use jiff::Zoned;
use recto_context::{
    ContentPart, ContextLimits, ItemId, ItemKind, MemoryPool, MemorySnapshot, Message, MessageId,
    Pick, TokenCounter, choose_snapshot, memory_fingerprint,
};
use recto_search::{
    Encoder, EncoderFiles, GroupChoice, PackedVector, SearchEntry, SearchIndex, SearchOptions,
    SearchQuery,
};
use recto_store::{EmbeddingKey, MessagePosition, SessionId, Store};
use recto_workspace::{Horizon, MemoryView};

use super::home::YearHome;
use super::year;
use crate::Result;
use crate::bench::pair::timed;
use crate::bench::report::{Figure, FigureRow, FigureUnit};
use crate::bench::stats::Samples;

const RUNS: usize = 150;

/// Where the agent keeps the vectors of messages.
const SHELF: &str = "messages of main";

/// How many are ranked, how many of them compared, and from which cosine on two say the
/// same: as the agent has it.
const RANKED: usize = 200;
const COMPARED: usize = 40;
const SAME: f32 = 0.92;

/// Measures what the parts of a turn's work for memory take by themselves.
pub(super) async fn measure_turn(
    home: &YearHome,
    encoder: Option<&EncoderFiles>,
) -> Result<Vec<FigureRow>> {
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

fn pure_parts(view: &MemoryView, encoder: Option<&EncoderFiles>) -> Result<Vec<FigureRow>> {
    let encoder = encoder.map(Encoder::load).transpose()?;
    let index = index(view, encoder.as_ref());
    let messages = year::messages(RUNS);
    let fingerprint = memory_fingerprint(&view.memories);
    let (mut embedding, mut ranking) = (Vec::new(), Vec::new());
    let (mut anew, mut staying) = (Vec::new(), Vec::new());
    let mut before: Option<MemorySnapshot> = None;
    for message in &messages {
        let (time, embedded) =
            spent(|| encoder.as_ref().map(|encoder| encoder.encode_one(message)));
        embedding.push(time);
        let query = SearchQuery::new(message, embedded.as_ref());
        let (time, ranked) = spent(|| rank(&index, &query));
        ranking.push(time);
        let options = SearchOptions::default().memories;
        let recalled = GroupChoice::among(ranked.iter().cloned(), &options).taken;
        let pool = MemoryPool {
            memories: &view.memories,
            fingerprint,
            ranked: &ranked,
            recalled: &recalled,
            history_from: MessageId::default(),
        };
        let (time, made) = choose(None, &pool);
        anew.push(time);
        // Messages that have nothing to do with each other would have it made anew.
        let snapshot = before.get_or_insert(made).clone();
        let pool = MemoryPool { recalled: &[], ..pool };
        staying.push(choose(Some(snapshot), &pool).0);
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

/// Measures what the parts of a recall among past messages take by themselves.
pub(super) async fn measure_recall(
    home: &YearHome,
    encoder: Option<&EncoderFiles>,
) -> Result<Vec<FigureRow>> {
    let agent = home.start(None).await?;
    let (files, audience) = (agent.memories().files(), agent.memories().owner());
    files.read(&audience, Horizon::All).await;
    let past = PastIndex::read(agent.store(), encoder).await?;
    let (mut reading, mut sessions, mut news) = (Vec::new(), Vec::new(), Vec::new());
    let (mut missing, mut ranking, mut looking_up) = (Vec::new(), Vec::new(), Vec::new());
    for text in &year::queries(RUNS) {
        reading.push(timed(files.read(&audience, Horizon::All)).await.0);
        sessions.push(timed(agent.store().sessions_brief()).await.0);
        news.push(timed(agent.store().messages_after(past.last, 2_000)).await.0);
        missing.push(spent(|| past.index.missing(|_| true)).0);
        let embedding = past.encoder.as_ref().map(|encoder| encoder.encode_one(text));
        let query = SearchQuery::new(text, embedding.as_ref());
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
struct PastIndex {
    index: SearchIndex,
    encoder: Option<Encoder>,
    last: Option<MessagePosition>,
    session: Option<SessionId>,
}

impl PastIndex {
    async fn read(store: &Store, encoder: Option<&EncoderFiles>) -> Result<Self> {
        let (mut index, mut last, mut session) = (SearchIndex::default(), None, None);
        loop {
            let new = store.messages_after(last, 2_000).await?;
            let Some((position, of, _)) = new.last() else { break };
            (last, session) = (Some(*position), Some(*of));
            index.extend(new.iter().map(|(_, session, stored)| entry(*session, &stored.message)));
        }
        let encoder = encoder.map(Encoder::load).transpose()?;
        if encoder.is_some() {
            let by = EmbeddingKey { shelf: SHELF.into(), model: Encoder::NAME.into() };
            let vectors = store.embeddings(by).await?.into_iter();
            index.supply(
                vectors.filter_map(|(key, bytes)| Some((key, PackedVector::from_bytes(&bytes)?))),
            );
            if !index.missing(|_| true).is_empty() {
                return Err(format!("the shelf `{SHELF}` lacks vectors of messages").into());
            }
        }
        Ok(PastIndex { index, encoder, last, session })
    }

    fn rank(&self, query: &SearchQuery<'_>) -> Vec<Pick> {
        let ranked = self.index.rank_threads(query, |_| true, RANKED);
        self.index.without_duplicates(ranked, SAME, COMPARED).0
    }

    async fn look_up(&self, store: &Store) -> Result<()> {
        let session = self.session.ok_or("there are no messages")?;
        let places = (1..=16).map(|number| (session, MessageId(number * 6)));
        store.messages_at(places.collect()).await?;
        Ok(())
    }
}

/// A message as the agent hands it to search.
fn entry(session: SessionId, message: &Message) -> SearchEntry {
    let texts = message.content().iter().filter_map(|part| match part {
        ContentPart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let speaker = if message.is_user() { "User" } else { "Assistant" };
    let item = ItemId::new(ItemKind::Memory, format!("{session}/{}", message.id.0));
    let text = texts.collect::<Vec<_>>().join("\n");
    SearchEntry::message(item, speaker, &text, session.to_string().into(), None)
}

/// An index of all memories that were read, as a turn has it.
fn index(view: &MemoryView, encoder: Option<&Encoder>) -> SearchIndex {
    let mut index = SearchIndex::default();
    index.update(view.everything.iter().map(SearchEntry::memory).collect());
    if let Some(encoder) = encoder {
        let missing = index.missing(|_| true);
        let texts: Vec<&str> = missing.iter().map(|missing| &*missing.text).collect();
        let vectors: Vec<PackedVector> =
            encoder.encode(&texts).iter().map(PackedVector::from).collect();
        index.supply(missing.iter().map(|missing| missing.key).zip(vectors));
    }
    index
}

fn rank(index: &SearchIndex, query: &SearchQuery<'_>) -> Vec<Pick> {
    let ranked = index.rank_best(query, |_| true, RANKED);
    index.without_duplicates(ranked, SAME, COMPARED).0
}

fn choose(before: Option<MemorySnapshot>, pool: &MemoryPool<'_>) -> (f64, MemorySnapshot) {
    spent(|| choose_snapshot(before, pool, &ContextLimits::default(), &TokenCounter::estimated()))
}

/// Milliseconds that something takes; not those in which its result is thrown away.
fn spent<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = black_box(run());
    (start.elapsed().as_secs_f64() * 1e3, result)
}

fn row(name: &'static str, times: Vec<f64>) -> Result<FigureRow> {
    let times = Samples::new(times).ok_or("nothing was measured")?;
    let time = |name, percent| Figure {
        name,
        value: times.percentile(percent),
        unit: FigureUnit::Milliseconds,
    };
    let figures = vec![
        Figure { name: "runs", value: times.count() as f64, unit: FigureUnit::Count },
        time("p50", 50),
        time("p95", 95),
        time("max", 100),
    ];
    Ok(FigureRow::new(name, figures))
}
