//! How fast the encoder is, beside ONNX Runtime and transformers.js with the same
//! weights in eight bits, in the same run.
//!
//! All are measured from texts to vectors, word pieces included, with one thread
//! for each core; each peer in the fastest way it has. They take turns, so that
//! whatever else the machine does is the same for all.

mod peer;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Instant;

use recto_search::{Embedding, Encoder, EncoderFiles};

use super::machine::cores;
use super::report::{BenchReport, Figure, FigureGoal, FigureRow, FigureUnit};
use super::stats::Samples;
use crate::Result;
use peer::EncoderPeer;

/// How many chunks are encoded.
const CHUNKS: usize = 151;

/// A query of eight word pieces.
const QUERY: &str = "how can I fix my phone";

/// How often all take their turn.
const ROUNDS: usize = 7;

/// How often a query is encoded in each turn, since it takes so little time.
const QUERIES: usize = 50;

/// How alike the vectors of two encoders have to be, if both have the same model.
const ALIKE: f32 = 0.97;

const WORDS: [&str; 48] = [
    "the", "report", "of", "last", "week", "needs", "a", "second", "look", "before", "we", "send",
    "it", "to", "our", "garden", "club", "and", "library", "because", "train", "times", "changed",
    "again", "in", "march", "with", "three", "new", "stations", "north", "bridge", "every",
    "function", "returns", "an", "error", "when", "its", "file", "is", "missing", "so", "tests",
    "run", "on", "each", "commit",
];

/// Measures. Peers are installed under `folder` where the environment names none.
pub(super) fn run(folder: &Path) -> Result<BenchReport> {
    let model = find()?;
    let files = files_in(&model);
    let start = Instant::now();
    // The peers know nothing of what the search has taught the model.
    let encoder = Encoder::load_published(&files)?;
    let loading = start.elapsed().as_secs_f64();

    let chunks: Vec<String> = (0..CHUNKS).map(chunk).collect();
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let starts = [
        ("ONNX Runtime", EncoderPeer::onnx(&model, folder, cores())),
        ("transformers.js", EncoderPeer::transformers(folder, cores())),
    ];
    let mut all = vec![EncoderTimes::new(EncoderUnderTest::Recto(encoder))];
    let mut remarks = Vec::new();
    for (name, peer) in starts {
        match peer {
            Ok(peer) => all.push(EncoderTimes::new(EncoderUnderTest::Peer(peer))),
            Err(absence) => remarks.push(format!("{name} is absent: {absence}")),
        }
    }
    // Whatever is done only once is no part of any figure.
    for one in &mut all {
        one.who.encode(&chunks)?;
        one.who.encode(&[QUERY])?;
    }
    for round in 1..=ROUNDS {
        eprintln!("round {round} of {ROUNDS}");
        for one in &mut all {
            one.take_turn(&chunks)?;
        }
    }
    remarks.extend(ways(&all));
    report(&all, loading, remarks)
}

/// The model's files in its folder.
pub(super) fn files_in(model: &Path) -> EncoderFiles {
    EncoderFiles {
        weights: model.join("model.safetensors"),
        tokenizer: model.join("tokenizer.json"),
        sha256: None,
    }
}

/// The folder of the model: where the tests have theirs, else in Recto's home.
pub(super) fn find() -> Result<PathBuf> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = named("RECTO_HOME").or_else(|| Some(env::home_dir()?.join(".recto")));
    let folders =
        named("RECTO_TEST_MODELS").into_iter().chain(home.map(|home| home.join("models")));
    let mut folders = folders.map(|folder| folder.join("minilm"));
    folders.find(|folder| folder.join("model.safetensors").is_file()).ok_or_else(|| {
        let pull = "run `recto models pull minilm`, or name a folder by RECTO_TEST_MODELS";
        format!("the encoder's model is not there\n\nhint: {pull}").into()
    })
}

/// A chunk of 20 to 164 words, 92 on average.
fn chunk(index: usize) -> String {
    let count = 20 + index * 37 % 145;
    let word = |at: usize| WORDS[(index * 13 + at * (index % 7 + 3)) % WORDS.len()];
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

/// The encoder that is measured: Recto's own, or a peer with the same weights.
enum EncoderUnderTest {
    Recto(Encoder),
    Peer(EncoderPeer),
}

/// What a run gave.
struct EncoderRun {
    seconds: f64,
    /// The vector of the first text.
    first: Embedding,
    way: Option<String>,
}

impl EncoderUnderTest {
    fn name(&self) -> &str {
        match self {
            EncoderUnderTest::Recto(_) => "recto",
            EncoderUnderTest::Peer(peer) => &peer.name,
        }
    }

    /// Encodes texts; a single one as a query.
    fn encode(&mut self, texts: &[&str]) -> Result<EncoderRun> {
        match self {
            EncoderUnderTest::Recto(encoder) => {
                let start = Instant::now();
                let first = match texts {
                    [text] => Some(encoder.encode_one(text)),
                    texts => encoder.encode(texts).into_iter().next(),
                };
                let seconds = start.elapsed().as_secs_f64();
                Ok(EncoderRun { seconds, first: first.ok_or("nothing was encoded")?, way: None })
            }
            EncoderUnderTest::Peer(peer) => {
                let took = peer.run(texts)?;
                let first = Embedding::new(took.vector.into_boxed_slice());
                Ok(EncoderRun { seconds: took.seconds, first, way: Some(took.way) })
            }
        }
    }
}

/// Someone, and what was measured.
struct EncoderTimes {
    who: EncoderUnderTest,
    /// Seconds for all chunks.
    chunks: Vec<f64>,
    /// Seconds for a query.
    queries: Vec<f64>,
    /// The vector of the query.
    vector: Option<Embedding>,
    ways: [Option<String>; 2],
}

impl EncoderTimes {
    fn new(who: EncoderUnderTest) -> Self {
        EncoderTimes { who, chunks: vec![], queries: vec![], vector: None, ways: [None, None] }
    }

    fn take_turn(&mut self, chunks: &[&str]) -> Result<()> {
        let run = self.who.encode(chunks)?;
        self.chunks.push(run.seconds);
        self.ways[0] = run.way;
        for _ in 0..QUERIES {
            let run = self.who.encode(&[QUERY])?;
            self.queries.push(run.seconds);
            self.ways[1] = run.way;
            self.vector = Some(run.first);
        }
        Ok(())
    }
}

/// How the peers did it, and whether they did the same.
fn ways(all: &[EncoderTimes]) -> Vec<String> {
    let own = all.first().and_then(|own| own.vector.as_ref());
    let say = |peer: &EncoderTimes| {
        let [chunks, query] = peer.ways.each_ref().map(|way| way.as_deref().unwrap_or("?"));
        let cosine = own.zip(peer.vector.as_ref()).map(|(own, other)| own.cosine(other));
        let alike = match cosine {
            Some(cosine) if cosine >= ALIKE => format!("its query is like Recto's by {cosine:.4}"),
            Some(cosine) => format!("ITS QUERY IS UNLIKE RECTO'S: {cosine:.4}"),
            None => "its query was not compared".to_owned(),
        };
        format!("{}: chunks {chunks}; query {query}; {alike}.", peer.who.name())
    };
    all.iter().skip(1).map(say).collect()
}

fn report(all: &[EncoderTimes], loading: f64, remarks: Vec<String>) -> Result<BenchReport> {
    let mut rows = Vec::new();
    let mut medians = Vec::new();
    for one in all {
        let none = "nothing was measured";
        let chunks = Samples::new(one.chunks.iter().map(|seconds| seconds * 1e3)).ok_or(none)?;
        let queries = Samples::new(one.queries.iter().map(|seconds| seconds * 1e3)).ok_or(none)?;
        medians.push([chunks.percentile(50), queries.percentile(50)]);
        rows.push(row(one.who.name(), &chunks, &queries));
    }
    let own = medians.remove(0);
    let mut goals = Vec::new();
    for (index, what) in ["chunks", "query"].into_iter().enumerate() {
        if let Some(fastest) = Samples::new(medians.iter().map(|peer| peer[index])) {
            let ratio = own[index] / fastest.percentile(0);
            goals.push(FigureGoal::at_most(
                format!("{what}, to the fastest peer"),
                1.0,
                ratio,
                FigureUnit::Ratio,
            ));
        }
    }
    goals.push(FigureGoal::at_most("loading", 300.0, loading * 1e3, FigureUnit::Milliseconds));
    let setup = format!(
        "{CHUNKS} chunks of 20 to 164 words, and the query \u{201c}{QUERY}\u{201d}, from texts to \
         vectors with {} threads; medians of {ROUNDS} rounds in turn, with {QUERIES} queries each.",
        cores()
    );
    Ok(BenchReport { remarks, ..BenchReport::new(setup, rows, goals) })
}

fn row(name: &str, chunks: &Samples, queries: &Samples) -> FigureRow {
    let figure = |name, value| Figure { name, value, unit: FigureUnit::Milliseconds };
    let figures = vec![
        figure("all chunks", chunks.percentile(50)),
        figure("a chunk", chunks.percentile(50) / CHUNKS as f64),
        figure("fastest", chunks.percentile(0) / CHUNKS as f64),
        figure("slowest", chunks.max() / CHUNKS as f64),
        figure("a query", queries.percentile(50)),
        figure("fastest query", queries.percentile(0)),
        figure("p90 query", queries.percentile(90)),
    ];
    FigureRow::new(name.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_of_mixed_length() {
        let counts: Vec<usize> = (0..CHUNKS).map(|index| chunk(index).split(' ').count()).collect();
        let (least, most) = (counts.iter().min(), counts.iter().max());
        assert_eq!((least, most), (Some(&20), Some(&164)));
        let mean = counts.iter().sum::<usize>() / CHUNKS;
        assert!((90..95).contains(&mean), "{mean}");
    }
}
