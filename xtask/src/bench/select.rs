//! How long a search takes in an index of 100, 10,000 and 100,000 chunks, and what
//! its vectors take in memory.
//!
//! Entries and embeddings are made up: how well a search finds, `recto bench select`
//! measures on real ones. The query's embedding is at hand here; what an encoder
//! takes for it, the bench `embed` shows.

mod corpus;

use std::hint::black_box;
use std::time::Instant;

use recto_search::{PackedVector, SearchEntry, SearchIndex, SearchQuery, VectorBlock};

use super::report::{BenchReport, Figure, FigureGoal, FigureRow, FigureUnit};
use super::stats::Samples;
use crate::Result;
use corpus::{CHUNKS_OF_ITEM, CorpusGenerator};

const SIZES: [usize; 3] = [100, 10_000, 100_000];

/// How often each is measured, by different queries.
const RUNS: usize = 100;

/// How often before that.
const WARM_UP: usize = 10;

/// Measures each size in turn.
pub(super) fn run() -> Result<BenchReport> {
    let measured: Option<Vec<IndexTimes>> = SIZES.into_iter().map(measure).collect();
    let measured = measured.ok_or("nothing was measured")?;
    let setup = format!(
        "One search among all items: a header and {} paragraphs each, of about 300 characters. \
         Scan: the cosines of a query with all chunks. Search: with words, fusion, order and \
         probabilities. Change: one item gets another paragraph. {RUNS} queries.",
        CHUNKS_OF_ITEM - 1
    );
    let goals = measured.last().map(IndexTimes::goals).unwrap_or_default();
    Ok(BenchReport::new(setup, measured.iter().map(IndexTimes::row).collect(), goals))
}

/// What was found for an index of one size.
struct IndexTimes {
    chunks: usize,
    items: usize,
    scan: Samples,
    search: Samples,
    change: Samples,
    bytes: usize,
}

fn measure(chunks: usize) -> Option<IndexTimes> {
    let mut corpus = CorpusGenerator::default();
    let entries: Vec<SearchEntry> =
        (0..chunks / CHUNKS_OF_ITEM).map(|number| corpus.entry(number)).collect();
    let mut index = SearchIndex::default();
    index.update(entries.clone());
    let missing = index.missing(|_| true);
    let vectors: Vec<_> =
        missing.iter().map(|chunk| (chunk.key, PackedVector::from(&corpus.embedding()))).collect();
    let mut block = VectorBlock::default();
    vectors.iter().for_each(|(_, vector)| block.push(vector));
    index.supply(vectors);

    let places: Vec<u32> = (0..block.len() as u32).collect();
    let scan = sample(&mut corpus, |corpus| {
        let query = corpus.embedding();
        timed(|| block.cosines(&query, &places))
    });
    let search = sample(&mut corpus, |corpus| {
        let (text, embedding) = (corpus.question(), corpus.embedding());
        let query = SearchQuery::new(&text, Some(&embedding));
        timed(|| index.rank(&query, |_| true))
    });
    // Before the changes, which leave chunks without a vector.
    let bytes = index.vector_bytes();
    let counted = index.vector_count();
    let change = sample(&mut corpus, |corpus| {
        let mut changed = entries.clone();
        if let Some(entry) = changed.last_mut() {
            entry.text = corpus.paragraph().into();
        }
        timed(|| index.update(changed))
    });
    let (scan, search, change) = (scan?, search?, change?);
    Some(IndexTimes { chunks: counted, items: entries.len(), scan, search, change, bytes })
}

fn sample(
    corpus: &mut CorpusGenerator,
    mut run: impl FnMut(&mut CorpusGenerator) -> f64,
) -> Option<Samples> {
    let all: Vec<f64> = (0..WARM_UP + RUNS).map(|_| run(corpus)).collect();
    Samples::new(all.into_iter().skip(WARM_UP))
}

/// Milliseconds that something takes; not those in which its result is thrown away.
fn timed<T>(run: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    let result = black_box(run());
    let spent = start.elapsed().as_secs_f64() * 1e3;
    drop(result);
    spent
}

impl IndexTimes {
    fn row(&self) -> FigureRow {
        let figure = |name, value, unit| Figure { name, value, unit };
        let time = |name, samples: &Samples, percent| {
            figure(name, samples.percentile(percent), FigureUnit::Milliseconds)
        };
        let figures = vec![
            figure("items", self.items as f64, FigureUnit::Count),
            time("scan p50", &self.scan, 50),
            time("p99", &self.scan, 99),
            time("search p50", &self.search, 50),
            time("p99 ", &self.search, 99),
            time("change p50", &self.change, 50),
            figure("vectors", self.bytes as f64, FigureUnit::Bytes),
            figure("by packed", self.share(), FigureUnit::Ratio),
            figure(
                "by f32",
                self.share() * PackedVector::BYTES as f64 / 1_536.0,
                FigureUnit::Ratio,
            ),
        ];
        FigureRow::new(format!("{} chunks", self.chunks), figures)
    }

    /// What the vectors take, by what they hold.
    fn share(&self) -> f64 {
        self.bytes as f64 / (self.chunks * PackedVector::BYTES) as f64
    }

    fn goals(&self) -> Vec<FigureGoal> {
        let scan = self.scan.percentile(50);
        vec![
            FigureGoal::at_most(
                "scan of 100,000 chunks, p50",
                10.0,
                scan,
                FigureUnit::Milliseconds,
            ),
            FigureGoal::at_most(
                "memory of 100,000 vectors, by packed",
                1.2,
                self.share(),
                FigureUnit::Ratio,
            ),
        ]
    }
}
