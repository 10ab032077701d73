//! The header of a GGUF file: what a model is, before llama.cpp is given it.
//!
//! llama.cpp reports a bad file with a bare failure, and ends the whole process over some. So a
//! file is read here first, and what is wrong with it becomes a [`ModelFileProblem`] with a hint.
//! Nothing in a file is believed: lengths and counts are held against its size, and what is kept
//! is small, however large the file.
//!
//! This is no proof that llama.cpp takes the file. The weights are never read; hashes are checked
//! when a model is pulled. Whether the tensors are those of the architecture only llama.cpp
//! knows, and some architectures have assertions of their own, which a file that was made for it
//! can reach.
//!
//! The parts: [`reader`] takes bytes, [`metadata`] keys and values, [`tensors`] the list of
//! tensors; [`purpose`], [`shape`] and [`vocabulary`] say what the values mean.

#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod metadata;
mod problem;
mod purpose;
mod reader;
mod shape;
mod tensors;
#[cfg(test)]
pub(crate) mod tests;
mod vocabulary;

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use metadata::{ARCHITECTURE, CHAT_TEMPLATE, GgufMetadata, NAME};
use problem::{GgufFault, GgufResult};
use reader::GgufReader;
use shape::ModelShape;
use tensors::TensorTotals;
use vocabulary::Vocabulary;

pub use problem::{GuessedFormat, ModelFileProblem};
pub(crate) use shape::CacheLayer;

const MAGIC: &[u8] = b"GGUF";

/// What the header of a model's file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// What its makers call the model.
    pub(crate) name: Option<String>,
    /// What llama.cpp calls its kind, such as `llama` or `qwen3`.
    pub(crate) architecture: String,
    /// The tokens of the longest text that it was trained with.
    pub(crate) trained: Option<u32>,
    /// What each layer keeps for a token.
    pub(crate) layers: Vec<CacheLayer>,
    /// The heads of the layer that has most.
    pub(crate) heads: u32,
    /// The numbers that a token is between layers.
    pub(crate) embedding_length: u32,
    /// The numbers that a token becomes at the widest place of a layer.
    pub(crate) feed_forward: u32,
    /// How many tokens it has.
    pub(crate) vocabulary: u32,
    /// Its chat template, in Jinja.
    pub(crate) chat_template: Option<String>,
    /// The text of the token that begins a text.
    pub(crate) bos: Option<String>,
    /// The text of the token that ends one.
    pub(crate) eos: Option<String>,
    /// How many tokens back some layers look at most.
    pub(crate) sliding_window: Option<u32>,
    /// Whether some layers keep a state, from which nothing can be taken back.
    pub(crate) recurrent: bool,
    /// The bytes of that state, for each sequence.
    pub(crate) state: u64,
    /// The bytes of its weights.
    pub(crate) weights: u64,
}

impl ModelFile {
    /// Fails when the file has become shorter since. It is mapped into memory while
    /// the model runs, and reading behind its end would end the process.
    pub(crate) fn check_length(&self) -> Result<(), ModelFileProblem> {
        let has = fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if has < self.bytes {
            let (path, needs) = (self.path.clone(), self.bytes);
            return Err(ModelFileProblem::Truncated { path, has, needs });
        }
        Ok(())
    }

    /// Reads the header of the file at `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, ModelFileProblem> {
        let (file, size) = open(path).map_err(|error| GgufFault::Io(error).in_file(path, 0))?;
        read_header(path, file, size).map_err(|fault| fault.in_file(path, size))
    }
}

/// Opens what is a file and nothing else: a pipe would wait for somebody to write.
fn open(path: &Path) -> io::Result<(File, u64)> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

/// Reads a header from `source`, which has `size` bytes.
fn read_header<R: Read + Seek>(path: &Path, mut source: R, size: u64) -> GgufResult<ModelFile> {
    let head = head(&mut source)?;
    if !head.starts_with(MAGIC) {
        return Err(GgufFault::NotGguf(GuessedFormat::guess(&head)));
    }
    let mut reader = GgufReader::new(source, size);
    reader.skip(MAGIC.len() as u64)?;
    check_version(reader.u32()?)?;
    let tensors = reader.u64()?;
    let keys = reader.u64()?;
    let metadata = GgufMetadata::read(&mut reader, keys)?;
    // What the file is comes first: another download would not help against that.
    let architecture = check_purpose(&metadata, tensors)?;
    let tensors = TensorTotals::read(&mut reader, tensors, metadata.alignment()?)?;
    if tensors.needs > size {
        return Err(GgufFault::Ends { needs: tensors.needs });
    }
    let shape = ModelShape::read(&metadata, architecture)?;
    let vocabulary = Vocabulary::read(&mut reader, &metadata)?;
    let is_filled = |text: &&str| !text.trim().is_empty();
    Ok(ModelFile {
        path: path.to_owned(),
        bytes: size,
        name: metadata.text(NAME)?.filter(is_filled).map(str::to_owned),
        architecture: architecture.to_owned(),
        trained: shape.trained,
        layers: shape.layers,
        heads: shape.heads,
        embedding_length: shape.embedding_length,
        feed_forward: shape.feed_forward,
        vocabulary: vocabulary.size,
        chat_template: metadata.text(CHAT_TEMPLATE)?.filter(is_filled).map(str::to_owned),
        bos: vocabulary.bos,
        eos: vocabulary.eos,
        sliding_window: shape.sliding_window,
        recurrent: shape.recurrent,
        state: shape.state,
        weights: tensors.weights,
    })
}

/// The beginning of the source, which stands at its beginning afterwards.
fn head(source: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    source.by_ref().take(512).read_to_end(&mut head)?;
    source.seek(SeekFrom::Start(0))?;
    Ok(head)
}

fn check_version(version: u32) -> GgufResult<()> {
    match version {
        2 | 3 => Ok(()),
        other if matches!(other.swap_bytes(), 1..=0xff) => Err(GgufFault::BigEndian),
        other => Err(GgufFault::Version(other)),
    }
}

/// The architecture, if the file holds a whole model to chat with.
fn check_purpose(metadata: &GgufMetadata, tensors: u64) -> GgufResult<&str> {
    let parts = metadata.number("split.count")?.unwrap_or(1);
    if parts > 1 {
        return Err(GgufFault::Split(parts));
    }
    if let Some(what) = purpose::other_than_model(metadata)? {
        return Err(GgufFault::NotAChatModel(what.to_owned()));
    }
    let architecture = metadata.text(ARCHITECTURE)?.filter(|name| !name.is_empty());
    let architecture =
        architecture.ok_or_else(|| GgufFault::damaged("it does not say its architecture"))?;
    if let Some(what) = purpose::other_than_chat(metadata, architecture)? {
        return Err(GgufFault::NotAChatModel(what));
    }
    if tensors == 0 {
        return Err(GgufFault::NotAChatModel("it has a vocabulary and no weights".to_owned()));
    }
    Ok(architecture)
}
