//! Texts as vectors, for clients that keep an index of their own: by the encoder with which the
//! agent searches, as it was published. Nothing of it is kept.

use std::sync::Arc;

use recto_search::{DIMENSIONS, Embedding, Encoder, EncoderSource};

use crate::actor::Actor;
use crate::agent::Agent;
use crate::error::{AgentError, AgentResult};
use crate::rights::Right;

/// So many texts are encoded before others who ask have theirs: enough for all cores.
const AT_ONCE: usize = 32;

/// A text's vector.
#[derive(Debug, Clone)]
pub struct EmbeddedText {
    /// What it means, as a direction of length 1.
    pub embedding: Embedding,
    /// How many word pieces of it were read: at most [`Encoder::most_pieces`], and what is
    /// behind them does not count.
    pub pieces: usize,
    /// Whether it has as many as can be read, or more.
    pub is_cut: bool,
}

impl Agent {
    /// The name of the encoder that the agent searches with, where it is not the built-in one:
    /// that of its folder.
    pub fn chosen_encoder(&self) -> Option<String> {
        match self.searcher().encoder_source()? {
            EncoderSource::BuiltIn(_) | EncoderSource::Published(_) => None,
            EncoderSource::Chosen(folder) => {
                Some(folder.file_name().unwrap_or_default().to_string_lossy().into_owned())
            }
        }
    }

    /// How many numbers a vector of the agent's encoder has.
    pub async fn embedding_dimensions(&self) -> AgentResult<usize> {
        if self.chosen_encoder().is_none() {
            return Ok(DIMENSIONS);
        }
        let encoder = self.searcher().encoder().await.map_err(AgentError::NoEmbedding)?;
        Ok(encoder.dimensions())
    }

    /// The vectors of texts, in their order. Those who ask at once take turns with a few texts each,
    /// so that one text does not wait for a long list; nothing more is encoded once this is dropped.
    pub async fn embed(&self, actor: &Actor, texts: Vec<String>) -> AgentResult<Vec<EmbeddedText>> {
        actor.must_have(Right::Talk)?;
        let encoder = self.searcher().published_encoder().await.map_err(AgentError::NoEmbedding)?;
        let texts: Arc<[String]> = texts.into();
        let mut embedded = Vec::with_capacity(texts.len());
        for start in (0..texts.len()).step_by(AT_ONCE) {
            let _turn = self.shared.embedding_order.lock().await;
            let (encoder, texts) = (encoder.clone(), texts.clone());
            let encode = move || {
                let end = texts.len().min(start + AT_ONCE);
                encode_texts(&encoder, &texts[start..end])
            };
            let some = tokio::task::spawn_blocking(encode).await;
            embedded.extend(some.map_err(|error| AgentError::Fault { what: error.to_string() })?);
        }
        Ok(embedded)
    }
}

fn encode_texts(encoder: &Encoder, texts: &[String]) -> Vec<EmbeddedText> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let embeddings = encoder.encode(&texts).into_iter();
    let pieces = texts.iter().map(|text| encoder.count_pieces(text));
    let embedded = |(embedding, pieces)| {
        let is_cut = pieces >= encoder.most_pieces();
        EmbeddedText { embedding, pieces, is_cut }
    };
    embeddings.zip(pieces).map(embedded).collect()
}
