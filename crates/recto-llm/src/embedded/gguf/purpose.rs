//! Tells models to talk to from what else comes in GGUF files.

use super::metadata::{GgufMetadata, KIND, TOKENIZER};
use super::problem::GgufResult;
use super::reader::shown;

const EMBEDS: &str = "it turns texts into vectors";
const DIFFUSES: &str = "it writes all at once, not from left to right";
const SPEAKS: &str = "it makes speech";
const DRAFTS: &str = "it only drafts for another model";

/// Architectures that llama.cpp knows and the embedded engine cannot talk to.
const OTHERWISE: [(&str, &str); 23] = [
    ("bert", EMBEDS),
    ("modern-bert", EMBEDS),
    ("nomic-bert", EMBEDS),
    ("nomic-bert-moe", EMBEDS),
    ("neo-bert", EMBEDS),
    ("jina-bert-v2", EMBEDS),
    ("jina-bert-v3", EMBEDS),
    ("eurobert", EMBEDS),
    ("gemma-embedding", EMBEDS),
    ("llama-embed", EMBEDS),
    ("t5encoder", EMBEDS),
    ("t5", "it rewrites texts, with an encoder of its own"),
    ("clip", "it is the part of another model that sees or hears"),
    ("clef", "it scores texts"),
    ("dream", DIFFUSES),
    ("llada", DIFFUSES),
    ("llada-moe", DIFFUSES),
    ("rnd1", DIFFUSES),
    ("wavtokenizer-dec", SPEAKS),
    ("qwen3tts", SPEAKS),
    ("pockettts", SPEAKS),
    ("eagle3", DRAFTS),
    ("dflash", DRAFTS),
];

/// Why a file with these keys, of this architecture, cannot chat, if it cannot.
pub(super) fn other_than_chat(
    metadata: &GgufMetadata,
    architecture: &str,
) -> GgufResult<Option<String>> {
    let known = OTHERWISE.iter().find(|(name, _)| *name == architecture);
    if let Some((name, what)) = known {
        return Ok(Some(format!("{what} (architecture `{name}`)")));
    }
    // Embedding models of chat architectures say how the vectors of their tokens become one.
    let pools = metadata.number(&format!("{architecture}.pooling_type"))?.unwrap_or(0) > 0;
    let both_ways = metadata.number(&format!("{architecture}.attention.causal"))? == Some(0);
    if pools || both_ways {
        return Ok(Some(EMBEDS.to_owned()));
    }
    let tokenizer = metadata.text(TOKENIZER)?;
    let tokens = metadata.tokens.map_or(0, |tokens| tokens.count);
    if tokens == 0 || matches!(tokenizer, None | Some("no_vocab" | "none")) {
        return Ok(Some(format!(
            "it has no tokenizer (architecture `{}`)",
            shown(architecture.as_bytes())
        )));
    }
    Ok(None)
}

/// What a file is that says itself that it is no model.
pub(super) fn other_than_model(metadata: &GgufMetadata) -> GgufResult<Option<&'static str>> {
    Ok(match metadata.text(KIND)? {
        Some("adapter") => Some("it is an adapter for another model"),
        Some("mmproj") => Some("it is the part of another model that sees or hears"),
        Some("imatrix") => Some("it is a table for making smaller files of a model"),
        _ => None,
    })
}
