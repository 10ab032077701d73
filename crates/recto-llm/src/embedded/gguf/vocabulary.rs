//! The tokens of a model: only the texts of the two that chat templates name are kept.

use std::io::{Read, Seek};

use super::metadata::{GgufMetadata, TokenList};
use super::problem::{GgufResult, damaged};
use super::reader::{GgufReader, SeenNames, shown};

const LONGEST_TOKEN: u64 = 1 << 16;

/// The size of a vocabulary, and the texts of its two tokens that templates name.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    pub(super) size: u32,
    pub(super) bos: Option<String>,
    pub(super) eos: Option<String>,
}

impl Vocabulary {
    /// Goes through the tokens, which the reader has passed before.
    pub(super) fn read<R: Read + Seek>(
        reader: &mut GgufReader<R>,
        metadata: &GgufMetadata,
    ) -> GgufResult<Self> {
        let Some(TokenList { at, count }) = metadata.tokens else {
            return Ok(Vocabulary::default());
        };
        let bos = metadata.id("tokenizer.ggml.bos_token_id");
        let eos = metadata.id("tokenizer.ggml.eos_token_id");
        let mut vocabulary = Vocabulary { size: count, bos: None, eos: None };
        let mut seen = SeenNames::default();
        let mut token = Vec::new();
        reader.go_back(at)?;
        for id in 0..u64::from(count) {
            reader.text(LONGEST_TOKEN, &mut token)?;
            // llama.cpp gives empty ones a name, and ends the process over others.
            if !token.is_empty() && !seen.add(&token) {
                return damaged(format!("the token `{}` stands twice", shown(&token)));
            }
            let text = || Some(String::from_utf8_lossy(&token).into_owned());
            if bos == Some(id) {
                vocabulary.bos = text();
            }
            if eos == Some(id) {
                vocabulary.eos = text();
            }
        }
        Ok(vocabulary)
    }
}
