//! Calls as Llama writes them: the whole reply is JSON, or all that stands behind a token of its
//! own, several with semicolons between them.
//!
//! Nothing marks such a reply as a call but its form, and people ask for JSON, too. So it must be
//! objects with a name and an object of parameters from end to end, or it stays text.

use recto_context::{CallId, read_calls};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::wire::decode::DecodedCall;

/// Stands before calls, where the model was given tools of its own.
const PYTHON_TAG: &str = "<|python_tag|>";

/// How much of a text can't become a call any more, in bytes, while the rest is still being
/// written. The first `known` bytes can't.
pub(super) fn before_calls(text: &str, known: usize) -> usize {
    let begun = text.trim_start();
    if begun.is_empty() || begun.starts_with('{') {
        return 0;
    }
    let rest = &text[known..];
    let partly = || (1..PYTHON_TAG.len()).rev().find(|n| rest.ends_with(&PYTHON_TAG[..*n]));
    let end = rest.find(PYTHON_TAG).unwrap_or_else(|| rest.len() - partly().unwrap_or(0));
    let end = known + end;
    // What stands before calls may be nothing but blanks, and leaves with them.
    if text[..end].trim().is_empty() { 0 } else { end }
}

/// The calls in a text, and what stands before them, if there are any.
pub(super) fn parse_calls(text: &str) -> Option<(Vec<DecodedCall>, String)> {
    let (before, written) = text.split_once(PYTHON_TAG).unwrap_or(("", text));
    let mut calls = Vec::new();
    let mut rest = written.trim();
    while calls.is_empty() || !rest.is_empty() {
        let (call, length) = first(rest)?;
        calls.push(call);
        rest = rest[length..].trim_start();
        if !rest.is_empty() {
            rest = rest.strip_prefix(';')?.trim_start();
        }
    }
    let text = if before.trim().is_empty() { "" } else { before };
    Some((calls, text.to_owned()))
}

/// The call that `text` begins with, and its length.
fn first(text: &str) -> Option<(DecodedCall, usize)> {
    #[derive(Deserialize)]
    struct LlamaCall {
        #[serde(rename = "name")]
        _name: String,
        #[serde(rename = "parameters", alias = "arguments")]
        _parameters: Map<String, Value>,
    }
    if !text.starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    let length = values.byte_offset();
    let json = &text[..length];
    serde_json::from_str::<LlamaCall>(json).ok()?;
    // From here on it is a call as others write it between tags, but for the tags.
    let tagged = format!("<tool_call>{json}</tool_call>");
    let (calls, _) = read_calls(&tagged, |_| CallId("".into()));
    calls.into_iter().next().map(|call| (call.into(), length))
}
