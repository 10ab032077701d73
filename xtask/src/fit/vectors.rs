//! Embeddings of all texts of the sets. They take minutes to make, so they are kept
//! beside the build, by the hash of the text.

use std::cell::RefCell;
use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use recto_context::ContentHash;
use recto_search::{
    DIMENSIONS, Embedding, Encoder, EncoderFiles, PackedVector, SearchEntry, SearchIndex,
};

use crate::Result;

/// How many texts are embedded before the next word of progress.
const AT_ONCE: usize = 512;

/// Up to how many texts there is nothing to tell.
const FEW: usize = 16;

/// The encoder, and what it has made so far.
pub(super) struct FitVectors {
    encoder: Encoder,
    known: HashMap<ContentHash, PackedVector>,
    /// Of messages, which are asked for more than once.
    messages: RefCell<HashMap<String, Embedding>>,
    file: PathBuf,
}

impl FitVectors {
    pub(super) fn open(target: &Path) -> Result<FitVectors> {
        let models = env::var_os("RECTO_TEST_MODELS").map(PathBuf::from);
        let folder = models.unwrap_or_else(|| target.join("models")).join("minilm");
        let weights = folder.join("model.safetensors");
        if !weights.is_file() {
            let why = "the encoder is not there; set RECTO_TEST_MODELS to the folder of models";
            return Err(format!("{}: {why}", weights.display()).into());
        }
        let tokenizer = folder.join("tokenizer.json");
        let encoder = Encoder::load(&EncoderFiles { weights, tokenizer, sha256: None })?;
        let file = target.join("fit/vectors.bin");
        let bytes = fs::read(&file).unwrap_or_default();
        let rows = bytes.chunks_exact(32 + PackedVector::BYTES);
        let known = rows.filter_map(|row| {
            let (key, vector) = row.split_at_checked(32)?;
            Some((ContentHash::from_bytes(key.try_into().ok()?), PackedVector::from_bytes(vector)?))
        });
        let known = known.collect();
        Ok(FitVectors { encoder, known, messages: RefCell::default(), file })
    }

    /// Gives an index all vectors that it lacks.
    pub(super) fn supply(&mut self, name: &str, index: &mut SearchIndex) {
        let missing = index.missing(|_| true);
        let new: Vec<_> = missing.iter().filter(|m| !self.known.contains_key(&m.key)).collect();
        for (number, part) in new.chunks(AT_ONCE).enumerate() {
            if new.len() > FEW {
                eprintln!("{name}: {} of {} texts embedded", number * AT_ONCE, new.len());
            }
            let texts: Vec<&str> = part.iter().map(|missing| &*missing.text).collect();
            let vectors = self.encoder.encode(&texts);
            let made =
                part.iter().zip(&vectors).map(|(m, vector)| (m.key, PackedVector::from(vector)));
            self.known.extend(made);
        }
        let known = &self.known;
        index.supply(missing.iter().filter_map(|m| Some((m.key, known.get(&m.key)?.clone()))));
    }

    /// The embedding of a message.
    pub(super) fn message(&self, text: &str) -> Embedding {
        let mut messages = self.messages.borrow_mut();
        let known = messages.entry(text.to_owned());
        known.or_insert_with(|| self.encoder.encode_one(text)).clone()
    }

    /// The vectors of all pieces of an entry.
    pub(super) fn of_entry(&mut self, entry: &SearchEntry) -> Vec<Embedding> {
        let mut index = SearchIndex::default();
        index.update(vec![entry.clone()]);
        self.supply(&entry.item.name, &mut index);
        let packed = index.keys().filter_map(|key| self.known.get(&key));
        packed.map(unpacked).collect()
    }

    pub(super) fn save(&self) -> Result<()> {
        let mut bytes = Vec::new();
        for (key, vector) in &self.known {
            bytes.extend(key.as_bytes());
            bytes.extend(vector.to_bytes());
        }
        fs::create_dir_all(self.file.parent().unwrap_or(Path::new(".")))?;
        Ok(fs::write(&self.file, bytes)?)
    }
}

/// The direction of a packed vector.
fn unpacked(vector: &PackedVector) -> Embedding {
    let mut values = Box::new([0.0; DIMENSIONS]);
    for (value, byte) in values.iter_mut().zip(vector.to_bytes()) {
        *value = f32::from(i8::from_le_bytes([byte]));
    }
    Embedding::new(values)
}
