//! How much memory a model takes, and how much there is.
//!
//! A model that does not fit ends the process, or the machine, without a word; so it is
//! reckoned beforehand, from the file's header alone, rather a little too much than too little.
//! Nothing here loads a model, and nothing is measured while one runs.

mod linux;
#[cfg(test)]
mod tests;

use std::fmt;

use super::gguf::ModelFile;

/// The most tokens of a prompt that the engine reads at once: the memory to compute in grows with
/// it.
pub(crate) const BATCH: u32 = 256;

/// The most conversations that are remembered at the same time.
const MOST_SEQUENCES: u64 = 16;
const LEAST_SEQUENCES: u64 = 2;
/// What the states of all of them may take, where a model has such.
const STATES: u64 = 256 << 20;

/// A context with less is of no use.
const LEAST_TOKENS: u32 = 512;
/// llama.cpp rounds contexts up to this.
const STEP: u32 = 256;
/// A cache that may hold several conversations has at most so many times the window.
const MOST_WINDOWS: u32 = 2;
/// What is left for everything else.
const LEAST_RESERVE: u64 = 512 << 20;
/// What a cache may take beyond one window where nobody knows how much memory there is.
const UNKNOWN_SPARE: u64 = 256 << 20;

/// The memory that can be had without taking it from others, in bytes.
///
/// On Linux this is what the kernel calls available, or what is left under the limit of a
/// control group (a container) if that is less. Elsewhere it is not known.
pub(crate) fn available() -> Option<u64> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    linux::available(&|path| std::fs::read_to_string(path).ok())
}

/// What fits beside the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryFit {
    /// The most tokens that a context may have; it may be more than the model was trained for.
    pub(crate) largest: u32,
}

/// A model that takes more memory than there is, even with a short context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the model needs about {} of memory, and {} are free", MemorySize(*needs), MemorySize(*has))]
pub struct MemoryShortage {
    /// The bytes that it would take, with what is left for everything else.
    pub(crate) needs: u64,
    pub(crate) has: u64,
}

impl MemoryShortage {
    /// What a person can do about it.
    pub(crate) fn hint(&self) -> &'static str {
        "choose a smaller model or a stronger quantisation of it, or close other programs"
    }
}

/// How long a context the memory allows. With an unknown amount of memory everything fits.
///
/// What is available has to be asked before the model is loaded, and kept: loaded weights may
/// take memory of their own, and would be counted twice.
///
/// Weights are mapped from the file, and the kernel could drop what it has of them; but every
/// token needs all of them, so they count in full.
pub(crate) fn fit(file: &ModelFile, available: Option<u64>) -> Result<MemoryFit, MemoryShortage> {
    let Some(has) = available else { return Ok(MemoryFit { largest: u32::MAX / STEP * STEP }) };
    let reserve = reserve(has);
    let least = fixed_bytes(file)
        .saturating_add(bytes_per_cell(file).saturating_mul(u64::from(LEAST_TOKENS)))
        .saturating_add(reserve);
    if least > has {
        return Err(MemoryShortage { needs: least, has });
    }
    // A file may claim more than can be counted.
    let free = has.saturating_sub(reserve).saturating_sub(fixed_bytes(file));
    let tokens = u32::try_from(free / bytes_per_cell(file)).unwrap_or(u32::MAX);
    Ok(MemoryFit { largest: tokens / STEP * STEP })
}

/// How many cells the cache gets for a window of so many tokens: one window at least, and up to
/// two, so that several conversations stay in it. Beyond the first it takes at most a quarter
/// of what is left.
#[cfg_attr(
    not(any(feature = "embedded", test)),
    expect(dead_code, reason = "only the engine has a cache")
)]
pub(crate) fn cells(file: &ModelFile, available: Option<u64>, window: u32) -> u32 {
    let first = window.max(1).checked_next_multiple_of(STEP).unwrap_or(u32::MAX / STEP * STEP);
    let per_cell = bytes_per_cell(file);
    let spare = available.map_or(UNKNOWN_SPARE, |has| {
        let taken = fixed_bytes(file).saturating_add(per_cell.saturating_mul(u64::from(first)));
        has.saturating_sub(reserve(has)).saturating_sub(taken) / 4
    });
    let more = u32::try_from(spare / per_cell).unwrap_or(u32::MAX);
    let more = more.min(first.saturating_mul(MOST_WINDOWS - 1));
    first.saturating_add(more) / STEP * STEP
}

/// How many sequences a context is opened with. Recurrent models keep a state for each, used or
/// not, and some of these are large.
pub(crate) fn sequences(file: &ModelFile) -> u32 {
    let fitting = STATES.checked_div(file.state).unwrap_or(MOST_SEQUENCES);
    fitting.clamp(LEAST_SEQUENCES, MOST_SEQUENCES) as u32
}

/// What the cache takes for a token: a key and a value in each layer, in numbers of two bytes.
///
/// Sliding layers count like the others, since the whole of them is kept; or nothing could be
/// taken up again behind what has slid out.
pub(crate) fn kv_bytes_per_token(file: &ModelFile) -> u64 {
    let numbers = file.layers.iter().map(|layer| {
        let head = u64::from(layer.key_length) + u64::from(layer.value_length);
        u64::from(layer.kv_heads).saturating_mul(head)
    });
    numbers.fold(0_u64, u64::saturating_add).saturating_mul(2)
}

/// What llama.cpp reserves to compute in, for a cache of so many cells and so many tokens at
/// once.
///
/// Measured with models of several shapes, the scores of all tokens for each token of the batch
/// are most of it. Beside them stand the widest activations of one layer (here with room for
/// several that live at the same time), and the mask that says which cells each token may see.
pub(crate) fn compute_bytes(file: &ModelFile, cells: u32, batch: u32) -> u64 {
    activation_bytes(file)
        .saturating_add(u64::from(cells).saturating_mul(mask_bytes(file)))
        .saturating_mul(u64::from(batch))
}

/// The memory for activations, for each token of a batch.
fn activation_bytes(file: &ModelFile) -> u64 {
    let attention = file.layers.iter().map(|layer| {
        u64::from(file.heads.max(layer.kv_heads))
            .saturating_mul(u64::from(layer.key_length.max(layer.value_length)))
    });
    let attention = attention.max().unwrap_or(0).saturating_mul(4);
    let numbers = [
        u64::from(file.vocabulary),
        u64::from(file.feed_forward) * 4,
        u64::from(file.embedding_length) * 8,
        attention,
    ];
    numbers.into_iter().fold(0_u64, u64::saturating_add).saturating_mul(4)
}

/// The memory for the mask, for each token of a batch and each cell of the cache.
fn mask_bytes(file: &ModelFile) -> u64 {
    // One architecture cannot do without the table of how much each token heeds each other.
    if file.architecture == "grok" { 4 + 8 * u64::from(file.heads) } else { 4 }
}

/// What a model takes however long its context is.
fn fixed_bytes(file: &ModelFile) -> u64 {
    // llama.cpp keeps the tokens and their merges in maps of small strings; and for each
    // sequence the scores of its last token. Measured, that is 300 bytes for a token.
    let sequences = u64::from(sequences(file));
    let vocabulary = u64::from(file.vocabulary) * (512 + 4 * sequences);
    [file.weights, file.state.saturating_mul(sequences), vocabulary, compute_bytes(file, 0, BATCH)]
        .into_iter()
        .fold(0_u64, u64::saturating_add)
}

/// What each cell adds: key and value, its place in the mask, and the notes about it.
fn bytes_per_cell(file: &ModelFile) -> u64 {
    const NOTES: u64 = 64;
    kv_bytes_per_token(file)
        .saturating_add(mask_bytes(file).saturating_mul(u64::from(BATCH)))
        .saturating_add(NOTES)
}

/// What is not given to the model.
fn reserve(available: u64) -> u64 {
    LEAST_RESERVE.max(available / 10)
}

/// An amount of memory, as people say it.
struct MemorySize(u64);

impl fmt::Display for MemorySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["MB", "GB", "TB", "PB", "EB"];
        let mut size = self.0 as f64 / 1e6;
        let mut unit = 0;
        // Rounded, 999.5 would be a thousand.
        while size >= 999.5 && unit + 1 < UNITS.len() {
            size /= 1000.0;
            unit += 1;
        }
        let digits = usize::from(size < 9.95 && unit > 0);
        write!(f, "{size:.digits$} {}", UNITS[unit])
    }
}
