//! A model's own tokenizer, and how a prompt becomes tokens.
//!
//! What a template wrote may hold special tokens; what anyone else wrote must not
//! be read as one, or a message could end its own turn and begin another. Yet both
//! are read together, because a word that begins right behind the template's line
//! break is to be the same token as anywhere. So special tokens are looked for in
//! the whole text, and where one is not the template's own, its letters are read
//! as letters.
//!
//! A reply's own tokens are taken as they are, but only if they say what the reply
//! says: they may come from another model, or from someone who wants more.

use std::collections::HashMap;
use std::ffi::CStr;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token_type::{LlamaTokenAttr, LlamaTokenAttrs};
use llama_cpp_2::vocab::LlamaVocab;
use serde::Deserialize;
use serde_json::Value;

use super::backend;
use crate::embedded::gguf::ModelFile;
use crate::error::LlmError;
use crate::wire::embedded::{EmbeddedRequest, PromptSegment};

/// A model's own tokenizer. Clones share it.
#[derive(Clone)]
pub struct ModelTokenizer(Arc<LoadedVocabulary>);

struct LoadedVocabulary {
    model: LlamaModel,
    specials: SpecialTokens,
}

impl ModelTokenizer {
    /// Loads the vocabulary of a file, and nothing else of it.
    pub(super) fn load(file: &ModelFile) -> Result<Self, LlmError> {
        let parameters = LlamaModelParams::default().with_vocab_only(true);
        let model = LlamaModel::load_from_file(backend()?, &file.path, &parameters)
            .map_err(|error| LlmError::Engine { problem: error.to_string() })?;
        let specials = SpecialTokens::from_vocab(&model.vocab(), file);
        Ok(ModelTokenizer(Arc::new(LoadedVocabulary { model, specials })))
    }

    /// How many tokens a text is, if nothing stands around it.
    pub fn count(&self, text: &str) -> u32 {
        let prompt = [PromptSegment::Text { text: text.to_owned() }];
        length(&tokenize_prompt(&self.0.model.vocab(), &self.0.specials, &prompt))
    }

    /// How many tokens the prompt in a request's body is. `None` if it is the body
    /// of another wire.
    pub fn count_prompt(&self, body: &Value) -> Option<u32> {
        let request = EmbeddedRequest::deserialize(body).ok()?;
        let vocab = self.0.model.vocab();
        Some(length(&with_beginning(
            &vocab,
            tokenize_prompt(&vocab, &self.0.specials, &request.prompt),
        )))
    }
}

impl fmt::Debug for ModelTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelTokenizer").field("vocabulary", &self.0.model.n_vocab()).finish()
    }
}

fn length(tokens: &[LlamaToken]) -> u32 {
    u32::try_from(tokens.len()).unwrap_or(u32::MAX)
}

/// The texts that stand for special tokens, by their first byte, the longest first.
pub(super) struct SpecialTokens(HashMap<u8, Vec<Vec<u8>>>);

impl SpecialTokens {
    /// Those of a vocabulary, and those that the file's template makes special by
    /// using them: marks of calls, results and thoughts.
    pub(super) fn from_vocab(vocab: &LlamaVocab<'_>, file: &ModelFile) -> Self {
        let template = file.chat_template.as_deref().unwrap_or_default();
        let mut specials = SpecialTokens(HashMap::new());
        for token in vocab.tokens() {
            let attributes = vocab.attr(token);
            let text = vocab.text(token).map(CStr::to_bytes).unwrap_or_default();
            let is_used = || std::str::from_utf8(text).is_ok_and(|text| template.contains(text));
            let is_special = is_never_said(attributes)
                || (attributes.contains(LlamaTokenAttr::UserDefined)
                    && text.iter().any(|byte| !byte.is_ascii_whitespace())
                    && is_used());
            if let Some(first) = text.first().filter(|_| is_special) {
                specials.0.entry(*first).or_default().push(text.to_vec());
            }
        }
        for texts in specials.0.values_mut() {
            texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        }
        specials
    }

    /// The length of the special token that stands at the beginning of `text`.
    fn at(&self, text: &[u8]) -> Option<usize> {
        let texts = self.0.get(text.first()?)?;
        texts.iter().find(|special| text.starts_with(special)).map(Vec::len)
    }
}

/// The tokens of a prompt. Those of the model's own replies are taken as they are.
pub(super) fn tokenize_prompt(
    vocab: &LlamaVocab<'_>,
    specials: &SpecialTokens,
    prompt: &[PromptSegment],
) -> Vec<LlamaToken> {
    let mut tokens = Vec::new();
    let mut run = TextRun::default();
    for segment in prompt {
        match segment {
            PromptSegment::Template { template } => run.push_template(template),
            PromptSegment::Text { text } => run.text.push_str(text),
            PromptSegment::Reply { text, tokens: ids } if tokens_say(vocab, ids, text) => {
                std::mem::take(&mut run).read(vocab, specials, &mut tokens);
                tokens.extend(ids.iter().copied().map(LlamaToken));
            }
            PromptSegment::Reply { text, .. } => run.text.push_str(text),
        }
    }
    run.read(vocab, specials, &mut tokens);
    tokens
}

/// Whether these tokens are this vocabulary's way to say `text`, and nothing else:
/// tokens that steer the model show no text, and could hide between the others.
pub(super) fn tokens_say(vocab: &LlamaVocab<'_>, ids: &[i32], text: &str) -> bool {
    let known = 0..vocab.n_tokens();
    let mut spelled = Vec::with_capacity(text.len());
    for id in ids {
        let token = LlamaToken(*id);
        if !known.contains(id) || is_never_said(vocab.attr(token)) {
            return false;
        }
        vocab.token_to_piece_into(token, &mut spelled, false, None);
    }
    !ids.is_empty() && spelled == text.as_bytes()
}

fn is_never_said(attributes: LlamaTokenAttrs) -> bool {
    attributes.contains(LlamaTokenAttr::Control) || attributes.contains(LlamaTokenAttr::Unknown)
}

/// The tokens with the one in front that begins every text, where the model wants
/// one and its template has not written it.
pub(super) fn with_beginning(
    vocab: &LlamaVocab<'_>,
    mut tokens: Vec<LlamaToken>,
) -> Vec<LlamaToken> {
    let beginning = vocab.bos();
    if vocab.should_add_bos() && tokens.first() != Some(&beginning) {
        tokens.insert(0, beginning);
    }
    tokens
}

/// Text that is read in one go.
#[derive(Default)]
struct TextRun {
    text: String,
    /// What of it the template wrote.
    template: Vec<Range<usize>>,
}

impl TextRun {
    fn push_template(&mut self, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.template.push(start..self.text.len());
    }

    fn read(self, vocab: &LlamaVocab<'_>, specials: &SpecialTokens, tokens: &mut Vec<LlamaToken>) {
        let mut from = 0;
        for place in self.not_meant(specials) {
            self.read_part(vocab, from..place.start, SpecialParsing::AsWritten, tokens);
            // In two parts: some tokens are found even where none is looked for.
            let first = self.text[place.start..].chars().next().map_or(0, char::len_utf8);
            let middle = (place.start + first).min(place.end);
            self.read_part(vocab, place.start..middle, SpecialParsing::AsLetters, tokens);
            self.read_part(vocab, middle..place.end, SpecialParsing::AsLetters, tokens);
            from = place.end;
        }
        self.read_part(vocab, from..self.text.len(), SpecialParsing::AsWritten, tokens);
    }

    fn read_part(
        &self,
        vocab: &LlamaVocab<'_>,
        place: Range<usize>,
        meant: SpecialParsing,
        tokens: &mut Vec<LlamaToken>,
    ) {
        let part = &self.text.as_bytes()[place];
        if !part.is_empty() {
            tokens.extend(vocab.tokenize(part, false, meant == SpecialParsing::AsWritten));
        }
    }

    /// Where something looks like a special token and is not the template's own.
    /// One that begins in a text and would end in the template is cut off where
    /// the template begins.
    fn not_meant(&self, specials: &SpecialTokens) -> Vec<Range<usize>> {
        let bytes = self.text.as_bytes();
        let mut found = Vec::new();
        let mut at = 0;
        let mut template = self.template.iter().peekable();
        while at < bytes.len() {
            while template.next_if(|range| range.end <= at).is_some() {}
            let Some(length) = specials.at(&bytes[at..]) else {
                at += 1;
                continue;
            };
            let own = template.peek();
            let end = match own {
                Some(own) if own.start > at => own.start.min(at + length),
                _ => at + length,
            };
            if own.is_none_or(|own| at < own.start || own.end < end) {
                found.push(at..end);
            }
            at = end;
        }
        found
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SpecialParsing {
    AsWritten,
    AsLetters,
}
