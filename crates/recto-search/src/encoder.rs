//! Texts to vectors: all-MiniLM-L6-v2, or another encoder of the same kind, with weights and
//! activations in eight bits.
//!
//! ```text
//! text ─► word pieces                       tokenizer
//!      ─► rows of 384 numbers, or of others forward, simd, attention
//!      ─► their mean, as a direction        embedding
//! ```
//!
//! Of all-MiniLM-L6-v2 all is known (`shape`), and it has learnt more of requests than its makers
//! taught it (`adapter`); what another encoder is, its own files say (`config`), and what its
//! cosines mean is measured when it is loaded.
//!
//! A text has the same vector, bit for bit, alone or among others, on one thread
//! or many. Nothing is kept between calls but room to work in.

mod adapter;
mod attention;
mod config;
mod embedding;
mod error;
mod forward;
mod knowledge;
mod shape;
mod simd;
mod tensors;
mod tokenizer;
mod weights;

use std::cmp::Reverse;
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;
use rayon::{ThreadPool, ThreadPoolBuilder};
use sha2::{Digest, Sha256};

use crate::space::{CosineScale, VectorSpace};
use adapter::EncoderAdapter;
use config::EncoderConfig;
pub use embedding::{DIMENSIONS, Embedding};
pub use error::EncoderError;
use forward::EncoderBuffers;
pub use knowledge::WordKnowledge;
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

/// The version of this encoder: vectors of two are not alike.
const VERSION: &str = "int8-1";

/// The SHA-256 of the weights of all-MiniLM-L6-v2, by which they are known in any folder.
const MINILM_WEIGHTS: [u8; 32] = [
    0x53, 0xaa, 0x51, 0x17, 0x2d, 0x14, 0x2c, 0x89, 0xd9, 0x01, 0x2c, 0xce, 0x15, 0xae, 0x4d, 0x6c,
    0xc0, 0xca, 0x68, 0x95, 0x89, 0x51, 0x14, 0x37, 0x9c, 0xac, 0xb4, 0xfa, 0xb1, 0x28, 0xd9, 0xdb,
];

/// The SHA-256 of its tokenizer: what cuts texts in another way makes other vectors of them.
const MINILM_TOKENIZER: [u8; 32] = [
    0xbe, 0x50, 0xc3, 0x62, 0x8f, 0x2b, 0xf5, 0xbb, 0x5e, 0x3a, 0x7f, 0x17, 0xb1, 0xf7, 0x46, 0x11,
    0xb2, 0x56, 0x1a, 0x3a, 0x27, 0xee, 0xab, 0x05, 0xe5, 0xaa, 0x30, 0xf4, 0x11, 0x57, 0x20, 0x37,
];

/// The files of a chosen encoder, of which only the first three have to be there.
const CHOSEN_FILES: [&str; 7] = [
    "model.safetensors",
    "tokenizer.json",
    "config.json",
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
];

/// The files of the built-in model.
#[derive(Debug, Clone)]
pub struct EncoderFiles {
    /// The path of `model.safetensors`.
    pub weights: PathBuf,
    /// The path of `tokenizer.json`.
    pub tokenizer: PathBuf,
    /// What weights and tokenizer must have, where that is known.
    pub sha256: Option<[[u8; 32]; 2]>,
}

/// Where an encoder is loaded from.
#[derive(Debug, Clone)]
pub enum EncoderSource {
    /// All-MiniLM-L6-v2 with what it has learnt of requests, from its files.
    BuiltIn(EncoderFiles),
    /// All-MiniLM-L6-v2 as it was published, from its files.
    Published(EncoderFiles),
    /// An encoder that a person has chosen, from the folder that it was saved in.
    Chosen(PathBuf),
}

impl From<EncoderFiles> for EncoderSource {
    fn from(files: EncoderFiles) -> Self {
        EncoderSource::BuiltIn(files)
    }
}

impl EncoderSource {
    /// Loads the encoder.
    ///
    /// # Errors
    ///
    /// As [`Encoder::load`], [`Encoder::load_published`] and [`Encoder::load_folder`].
    pub fn load(&self) -> Result<Encoder, EncoderError> {
        match self {
            EncoderSource::BuiltIn(files) => Encoder::load(files),
            EncoderSource::Published(files) => Encoder::load_published(files),
            EncoderSource::Chosen(folder) => Encoder::load_folder(folder),
        }
    }

    /// The files that it is loaded from, whether or not they are there.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            EncoderSource::BuiltIn(files) | EncoderSource::Published(files) => {
                vec![files.weights.clone(), files.tokenizer.clone()]
            }
            EncoderSource::Chosen(folder) => {
                CHOSEN_FILES.iter().map(|file| folder.join(file)).collect()
            }
        }
    }
}

/// A loaded embedding model. Its clones share it.
#[derive(Clone)]
pub struct Encoder(Arc<LoadedEncoder>);

struct LoadedEncoder {
    name: Arc<str>,
    config: EncoderConfig,
    space: VectorSpace,
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
    /// The name of the built-in encoder.
    pub const NAME: &str = "all-MiniLM-L6-v2/recto-1";

    /// The name of all-MiniLM-L6-v2 as it was published.
    const PUBLISHED: &str = "all-MiniLM-L6-v2/int8-1";

    /// Reads and checks the files of the built-in encoder. Takes about a tenth of a second.
    ///
    /// # Errors
    ///
    /// When a file is missing, can't be read, is damaged, or is another than the one
    /// whose checksum is given.
    pub fn load(files: &EncoderFiles) -> Result<Encoder, EncoderError> {
        let adapter = EncoderAdapter::built_in();
        let loaded = load_minilm(files, Encoder::NAME, Some(&adapter))?;
        Ok(Encoder(Arc::new(loaded)))
    }

    /// The same for the model as it was published, whose vectors other programs know. No search
    /// goes by them.
    ///
    /// # Errors
    ///
    /// As [`Encoder::load`].
    pub fn load_published(files: &EncoderFiles) -> Result<Encoder, EncoderError> {
        let mut loaded = load_minilm(files, Encoder::PUBLISHED, None)?;
        loaded.space = VectorSpace::with_scale(CosineScale::BUILT_IN);
        Ok(Encoder(Arc::new(loaded)))
    }

    /// Reads an encoder from the folder that it was saved in: any sentence encoder of the shape
    /// of BERT, as its own files say. Takes about a second for each 500 MB of weights.
    ///
    /// # Errors
    ///
    /// When a file is missing, can't be read, is damaged, or asks for something that is not done
    /// here.
    pub fn load_folder(folder: &Path) -> Result<Encoder, EncoderError> {
        load_chosen(folder).map_err(|error| error.chosen(folder))
    }

    /// The model and this encoder's version. Vectors are alike only under the same name.
    pub fn name(&self) -> &Arc<str> {
        &self.0.name
    }

    /// Whether it is the encoder that all weights of the search were found with.
    pub fn is_built_in(&self) -> bool {
        &*self.0.name == Encoder::NAME
    }

    /// What its vectors mean.
    pub fn space(&self) -> &VectorSpace {
        &self.0.space
    }

    /// How many numbers its embeddings have.
    pub fn dimensions(&self) -> usize {
        self.0.config.shape.hidden.count()
    }

    /// The most word pieces of a text that the model reads.
    pub fn most_pieces(&self) -> usize {
        self.0.config.shape.longest
    }

    /// The embeddings of texts that are to be found, in their order: with what the encoder wants
    /// before such texts.
    pub fn encode_documents(&self, texts: &[&str]) -> Vec<Embedding> {
        self.0.encode_all(&self.0.config.prefixes.document, texts)
    }

    /// The embedding of a message that is searched for, as soon as can be: with what the encoder
    /// wants before it.
    pub fn encode_query(&self, text: &str) -> Embedding {
        match &*self.0.config.prefixes.query {
            "" => self.encode_one(text),
            prefix => self.encode_one(&format!("{prefix}{text}")),
        }
    }

    /// The embeddings of texts as they are, in their order. Uses all cores, and returns when it
    /// is done.
    pub fn encode(&self, texts: &[&str]) -> Vec<Embedding> {
        self.0.encode_all("", texts)
    }

    /// How many word pieces of a text the model reads: all of them, or as many as it knows.
    pub fn count_pieces(&self, text: &str) -> usize {
        self.0.tokenizer.tokenize(text).len()
    }

    /// How many words a text has, and how many of them the model knows as words: what it knows
    /// in pieces only, it was hardly trained on. Nothing where that does not tell a language: by
    /// the vocabulary of English BERT it does, and other vocabularies are cut otherwise.
    pub fn count_words(&self, text: &str) -> Option<WordKnowledge> {
        let is_english = self.0.config.shape.vocabulary == EncoderConfig::minilm().shape.vocabulary;
        is_english.then(|| self.0.tokenizer.count_words(text))
    }

    /// The embedding of a single text as it is, as soon as can be.
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
        f.debug_tuple("Encoder").field(self.name()).finish()
    }
}

/// Reads all-MiniLM-L6-v2, and adds what an adapter has for it.
fn load_minilm(
    files: &EncoderFiles,
    name: &str,
    adapter: Option<&EncoderAdapter>,
) -> Result<LoadedEncoder, EncoderError> {
    let sha256 = files.sha256.as_ref();
    let tokenizer_sum = sha256.map(|[_, sum]| sum);
    let config = EncoderConfig::minilm();
    let (weights, tokenizer, sum) = thread::scope(|scope| {
        let sum = sha256.map(|_| scope.spawn(|| sum(&files.weights)));
        let tokenizer = scope
            .spawn(|| WordPieceTokenizer::load(&files.tokenizer, &config.shape, tokenizer_sum));
        let weights = EncoderWeights::load(&files.weights, config.shape.clone(), adapter);
        let tokenizer = tokenizer.join().unwrap_or_else(|panic| resume_unwind(panic));
        let sum = sum.map(|sum| sum.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (weights, tokenizer, sum.transpose())
    });
    // What is wrong with a file says more than that its checksum is.
    let (weights, tokenizer, sum) = (weights?, tokenizer?, sum?);
    if sum != sha256.map(|[sum, _]| *sum) {
        return Err(EncoderError::Swapped { path: files.weights.clone() });
    }
    Ok(LoadedEncoder::new(name.into(), config, tokenizer, weights))
}

/// Reads an encoder with all that its own files say of it.
fn load_chosen(folder: &Path) -> Result<Encoder, EncoderError> {
    if folder.is_file() {
        return Err(EncoderError::NoFolder { path: folder.to_owned() });
    }
    let config = EncoderConfig::read(folder)?;
    let (weights_file, tokenizer_file) =
        (folder.join("model.safetensors"), folder.join("tokenizer.json"));
    let is_minilm = config == EncoderConfig::minilm()
        && sum(&tokenizer_file)? == MINILM_TOKENIZER
        && sum(&weights_file)? == MINILM_WEIGHTS;
    if is_minilm {
        let (weights, tokenizer) = (weights_file, tokenizer_file);
        return Encoder::load(&EncoderFiles { weights, tokenizer, sha256: None });
    }
    let (weights, sum) = thread::scope(|scope| {
        let sum = scope.spawn(|| sum(&weights_file));
        let weights = EncoderWeights::load(&weights_file, config.shape.clone(), None);
        (weights, sum.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let (weights, sum) = (weights?, sum?);
    let bytes =
        fs::read(&tokenizer_file).map_err(|why| EncoderError::unreadable(&tokenizer_file, why))?;
    let tokenizer = WordPieceTokenizer::from_bytes(&bytes, &config.shape, config.case)
        .map_err(|why| EncoderError::damaged(&tokenizer_file, why))?;
    let name = chosen_name(folder, &sum, &bytes, &config);
    let mut loaded = LoadedEncoder::new(name, config, tokenizer, weights);
    loaded.space = VectorSpace::with_scale(loaded.measure_scale());
    Ok(Encoder(Arc::new(loaded)))
}

/// The name of a chosen encoder: that of its folder, and what all that its vectors depend on
/// comes down to. When a file is replaced, nothing is compared with vectors of before.
fn chosen_name(
    folder: &Path,
    weights: &[u8; 32],
    tokenizer: &[u8],
    config: &EncoderConfig,
) -> Arc<str> {
    let mut all = Sha256::new();
    all.update(weights);
    all.update(Sha256::digest(tokenizer));
    all.update(format!("{config:?}"));
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let title = folder.file_name().unwrap_or_default().to_string_lossy();
    let digits =
        all.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("{title}/{VERSION}/{digits}").into()
}

impl LoadedEncoder {
    fn new(
        name: Arc<str>,
        config: EncoderConfig,
        tokenizer: WordPieceTokenizer,
        weights: EncoderWeights,
    ) -> LoadedEncoder {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        LoadedEncoder {
            name,
            config,
            space: VectorSpace::default(),
            tokenizer,
            weights,
            pools: (0..cores).filter_map(|core| pool(&format!("encoder-{core}"), 1)).collect(),
            express: pool("encoder-query", cores.min(CORES_A_QUERY)),
            buffers: Mutex::default(),
        }
    }

    /// Measures how large its cosines are.
    fn measure_scale(&self) -> CosineScale {
        let prefixes = &self.config.prefixes;
        let queries: Vec<&str> = CosineScale::queries().collect();
        let documents: Vec<&str> = CosineScale::documents().collect();
        CosineScale::measure(
            &self.encode_all(&prefixes.query, &queries),
            &self.encode_all(&prefixes.document, &documents),
        )
    }

    /// The embeddings of texts with something before each, in their order.
    fn encode_all(&self, prefix: &str, texts: &[&str]) -> Vec<Embedding> {
        let tokens = self.on_all_cores(texts.len(), |index| match prefix {
            "" => self.tokenizer.tokenize(texts[index]),
            prefix => self.tokenizer.tokenize(&format!("{prefix}{}", texts[index])),
        });
        let batches = batches(&tokens, self.pools.len());
        let encoded = self.on_all_cores(batches.len(), |index| {
            let batch: Vec<&[u32]> = batches[index].iter().map(|text| &*tokens[*text]).collect();
            self.encode(&batch)
        });
        let mut embeddings: Vec<(usize, Embedding)> =
            batches.into_iter().flatten().zip(encoded.into_iter().flatten()).collect();
        embeddings.sort_unstable_by_key(|(text, _)| *text);
        embeddings.into_iter().map(|(_, embedding)| embedding).collect()
    }

    fn encode(&self, texts: &[&[u32]]) -> Vec<Embedding> {
        let buffers = self.buffers.lock().pop();
        let mut buffers = buffers.unwrap_or_else(|| EncoderBuffers::new(&self.config.shape));
        let embeddings = buffers.encode(&self.weights, self.config.pooling, texts);
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
