//! Texts as vectors, for clients that keep an index of their own: by the encoder with which the
//! agent searches. Nothing of it is kept.

use recto_search::{Embedding, Encoder};

use crate::actor::Actor;
use crate::agent::Agent;
use crate::error::{AgentError, AgentResult};
use crate::rights::Right;

/// A text's vector.
#[derive(Debug, Clone)]
pub struct EmbeddedText {
    /// What it means, as a direction of length 1.
    pub embedding: Embedding,
    /// How many word pieces of it were read: at most [`Encoder::MOST_PIECES`], and what is
    /// behind them does not count.
    pub pieces: usize,
}

impl Agent {
    /// The vectors of texts, in their order.
    pub async fn embed(&self, actor: &Actor, texts: Vec<String>) -> AgentResult<Vec<EmbeddedText>> {
        actor.must_have(Right::Talk)?;
        let encoder = self.searcher().encoder().await.map_err(AgentError::NoEmbedding)?;
        let embedded = tokio::task::spawn_blocking(move || encode_texts(&encoder, &texts)).await;
        embedded.map_err(|error| AgentError::Fault { what: error.to_string() })
    }
}

fn encode_texts(encoder: &Encoder, texts: &[String]) -> Vec<EmbeddedText> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let embeddings = encoder.encode(&texts).into_iter();
    let pieces = texts.iter().map(|text| encoder.count_pieces(text));
    embeddings.zip(pieces).map(|(embedding, pieces)| EmbeddedText { embedding, pieces }).collect()
}
