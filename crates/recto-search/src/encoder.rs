//! Texts to vectors: all-MiniLM-L6-v2, with weights and activations in eight bits.
//!
//! ```text
//! text ─► word pieces                     tokens
//!      ─► rows of 384 numbers             forward, simd, attention
//!      ─► their mean, as a direction      embedding
//! ```
//!
//! A text has the same vector, bit for bit, alone or among others, on one thread
//! or many. Nothing is kept between calls but room to work in.

mod attention;
mod embedding;
mod error;
mod forward;
mod shape;
mod simd;
mod tensors;
mod tokenizer;
mod weights;

use std::cmp::Reverse;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sha2::{Digest, Sha256};

pub use embedding::{DIMENSIONS, Embedding};
pub use error::EncoderError;
use forward::EncoderBuffers;
pub use tokenizer::WordKnowledge;
use tokenizer::WordPieceTokenizer;
use weights::EncoderWeights;

/// The most texts that go through the model together.
const TEXTS_AT_ONCE: usize = 8;

/// About how many word pieces go through the model together: what is between the
/// layers should stay in a core's own cache.
const PIECES_AT_ONCE: usize = 256;

/// The most cores that work on a single text. Its multiplications are too small to
/// be shared among more.
const CORES_A_QUERY: usize = 4;

/// The files of the model.
#[derive(Debug, Clone)]
pub struct EncoderFiles {
    /// The path of `model.safetensors`.
    pub weights: PathBuf,
    /// The path of `tokenizer.json`.
    pub tokenizer: PathBuf,
    /// What weights and tokenizer must have, where that is known.
    pub sha256: Option<[[u8; 32]; 2]>,
}

/// A loaded embedding model. Its clones share it.
#[derive(Clone)]
pub struct Encoder(Arc<LoadedEncoder>);

struct LoadedEncoder {
    tokenizer: WordPieceTokenizer,
    weights: EncoderWeights,
    /// For many texts: one thread for each core, each a pool of its own. In a pool of
    /// many, each multiplication would be split among them, which is slower than
    /// that each has its own texts.
    pools: Vec<ThreadPool>,
    /// For single texts, which don't wait behind many. Here multiplications are split.
    express: Option<ThreadPool>,
    buffers: Mutex<Vec<EncoderBuffers>>,
}

impl Encoder {
    /// The model and this encoder's version. Vectors are alike only under the same
    /// name.
    pub const NAME: &str = "all-MiniLM-L6-v2/int8-1";

    /// The most word pieces of a text that the model reads.
    pub const MOST_PIECES: usize = shape::LONGEST;

    /// Reads and checks the files. Takes about a tenth of a second.
    ///
    /// # Errors
    ///
    /// When a file is missing, can't be read, is damaged, or is another than the one
    /// whose checksum is given.
    pub fn load(files: &EncoderFiles) -> Result<Encoder, EncoderError> {
        let sha256 = files.sha256.as_ref();
        let (weights, tokenizer, sum) = thread::scope(|scope| {
            let sum = sha256.map(|_| scope.spawn(|| sum(&files.weights)));
            let tokenizer = scope
                .spawn(|| WordPieceTokenizer::load(&files.tokenizer, sha256.map(|[_, sum]| sum)));
            let weights = EncoderWeights::load(&files.weights);
            let tokenizer = tokenizer.join().unwrap_or_else(|panic| resume_unwind(panic));
            let sum = sum.map(|sum| sum.join().unwrap_or_else(|panic| resume_unwind(panic)));
            (weights, tokenizer, sum.transpose())
        });
        // What is wrong with a file says more than that its checksum is.
        let (weights, tokenizer, sum) = (weights?, tokenizer?, sum?);
        if sum != sha256.map(|[sum, _]| *sum) {
            return Err(EncoderError::Swapped { path: files.weights.clone() });
        }
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Ok(Encoder(Arc::new(LoadedEncoder {
            tokenizer,
            weights,
            pools: (0..cores).filter_map(|core| pool(&format!("encoder-{core}"), 1)).collect(),
            express: pool("encoder-query", cores.min(CORES_A_QUERY)),
            buffers: Mutex::default(),
        })))
    }

    /// The embeddings of texts, in their order. Uses all cores, and returns when it
    /// is done.
    pub fn encode(&self, texts: &[&str]) -> Vec<Embedding> {
        let loaded = &*self.0;
        let tokens =
            loaded.on_all_cores(texts.len(), |index| loaded.tokenizer.tokenize(texts[index]));
        let batches = batches(&tokens, loaded.pools.len());
        let encoded = loaded.on_all_cores(batches.len(), |index| {
            let batch: Vec<&[u32]> = batches[index].iter().map(|text| &*tokens[*text]).collect();
            loaded.encode(&batch)
        });
        let mut embeddings: Vec<(usize, Embedding)> =
            batches.into_iter().flatten().zip(encoded.into_iter().flatten()).collect();
        embeddings.sort_unstable_by_key(|(text, _)| *text);
        embeddings.into_iter().map(|(_, embedding)| embedding).collect()
    }

    /// How many word pieces of a text the model reads: all of them, or as many as it knows.
    pub fn count_pieces(&self, text: &str) -> usize {
        self.0.tokenizer.tokenize(text).len()
    }

    /// How many words a text has, and how many of them the model knows as words: what it knows
    /// in pieces only, it was hardly trained on.
    pub fn count_words(&self, text: &str) -> WordKnowledge {
        self.0.tokenizer.count_words(text)
    }

    /// The embedding of a single text, as soon as can be.
    pub fn encode_one(&self, text: &str) -> Embedding {
        let loaded = &*self.0;
        let tokens = loaded.tokenizer.tokenize(text);
        let encode = || loaded.encode(&[&tokens]).swap_remove(0);
        match &loaded.express {
            Some(pool) => pool.install(encode),
            None => encode(),
        }
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Encoder").field(&Encoder::NAME).finish()
    }
}

impl LoadedEncoder {
    fn encode(&self, texts: &[&[u32]]) -> Vec<Embedding> {
        let buffers = self.buffers.lock().pop();
        let mut buffers = buffers.unwrap_or_else(EncoderBuffers::new);
        let embeddings = buffers.encode(&self.weights, texts);
        self.buffers.lock().push(buffers);
        embeddings
    }

    /// Calls `work` for each index below `count`, each on whichever core is free.
    fn on_all_cores<T: Send>(&self, count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(count));
        let pools = &self.pools[..self.pools.len().min(count)];
        on_each(pools, &|| {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    return;
                }
                let result = work(index);
                done.lock().push((index, result));
            }
        });
        let mut done = done.into_inner();
        done.sort_unstable_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

/// Works on all pools at once, or here where there are none.
fn on_each(pools: &[ThreadPool], work: &(impl Fn() + Sync)) {
    match pools {
        [] => work(),
        [pool] => pool.install(work),
        [pool, others @ ..] => pool.in_place_scope(|scope| {
            scope.spawn(|_| work());
            on_each(others, work);
        }),
    }
}

/// Threads, where the system has some left.
fn pool(name: &str, threads: usize) -> Option<ThreadPool> {
    let name = name.to_owned();
    ThreadPoolBuilder::new().num_threads(threads).thread_name(move |_| name.clone()).build().ok()
}

/// Which texts go through the model together: those of like length, the longest
/// first, so that in the end no core waits long for another.
fn batches(tokens: &[Vec<u32>], pools: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order.sort_by_key(|text| Reverse(tokens[*text].len()));
    let all: usize = tokens.iter().map(Vec::len).sum();
    let most = PIECES_AT_ONCE.min(all.div_ceil(pools.max(1)));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut pieces = 0;
    for text in order {
        let length = tokens[text].len();
        match batches.last_mut() {
            Some(batch) if batch.len() < TEXTS_AT_ONCE && pieces + length <= most => {
                batch.push(text);
                pieces += length;
            }
            _ => {
                batches.push(vec![text]);
                pieces = length;
            }
        }
    }
    batches
}

/// The checksum of a file.
fn sum(path: &Path) -> Result<[u8; 32], EncoderError> {
    let unread = |why| EncoderError::unreadable(path, why);
    let mut file = File::open(path).map_err(unread)?;
    let mut sum = Sha256::new();
    let mut piece = vec![0; 256 << 10];
    loop {
        match file.read(&mut piece).map_err(unread)? {
            0 => return Ok(sum.finalize().into()),
            read => sum.update(&piece[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_each_text_once_and_the_longest_first() {
        let lengths = [3, 200, 70, 90, 2, 2, 2, 2, 2, 2, 2, 2, 250];
        let tokens: Vec<Vec<u32>> = lengths.iter().map(|length| vec![7; *length]).collect();
        let batches = batches(&tokens, 2);
        assert_eq!(batches[..3], [vec![12], vec![1], vec![3, 2, 0, 4, 5, 6, 7, 8]]);
        let mut all: Vec<usize> = batches.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, Vec::from_iter(0..lengths.len()));
    }

    #[test]
    fn few_texts_are_shared_out_among_all_cores() {
        let tokens = vec![vec![7; 20]; 4];
        assert_eq!(batches(&tokens, 2), [[0, 1], [2, 3]]);
        assert_eq!(batches(&tokens, 8), [[0], [1], [2], [3]]);
        assert_eq!(batches(&[], 2), [[0; 0]; 0]);
    }

    #[test]
    fn lanes_share_the_work() {
        let pools: Vec<ThreadPool> = (0..3).filter_map(|_| pool("test", 1)).collect();
        let count = AtomicUsize::new(0);
        on_each(&pools, &|| {
            assert_eq!(rayon::current_num_threads(), 1);
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(count.into_inner(), 3);
    }
}
