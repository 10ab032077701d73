//! What has to hold of replies and of model files whatever bytes come, for fuzzing and for the
//! tests that go over its inputs. Built for these alone.

use std::collections::HashSet;

use crate::error::LlmError;
use crate::reply::{FinishReason, ModelReply};
use crate::wire::{ReplyDecoder, ReplyDelta, Wire};

pub use crate::embedded::gguf::fuzzing::check_gguf;
pub use crate::wire::embedded::fuzzing::check_chat_template;

/// What was asked: the embedded model's replies are read by it.
const REQUESTS: [&[u8]; 3] = [
    br#"{"model":"some-model"}"#,
    br#"{"model":"m","prompt":[],"calls":{"style":"tagged"},"window":99,"max_tokens":9}"#,
    br#"{"model":"m","prompt":[{"template":"<think>"}],"calls":{"style":"llama"},"window":99,"max_tokens":9}"#,
];

/// The places of a stream at which it is cut in two, besides into single bytes.
const CUTS: usize = 8;

/// The wires, by the first byte of an input.
const WIRES: [Wire; 4] = [Wire::Ollama, Wire::OpenAi, Wire::Anthropic, Wire::Embedded];

/// Streams of servers: however a stream is cut, the deltas and the reply are the same; the texts
/// add up to the reply's text, no two calls have one id, and calls and their ending agree. The
/// first byte of an input says which wire it is, and what was asked.
pub fn check_wire(data: &[u8]) {
    let Some((first, stream)) = data.split_first() else { return };
    let asked = (WIRES[usize::from(first % 4)], REQUESTS[usize::from(first / 4 % 3)]);
    let whole = decode(asked, [stream]);
    assert_eq!(decode(asked, stream.chunks(1)), whole, "byte by byte");
    for cut in 1..CUTS {
        let (head, tail) = stream.split_at(stream.len() * cut / CUTS);
        assert_eq!(decode(asked, [head, tail]), whole, "cut at {}", head.len());
    }
    let (deltas, Ok(reply)) = whole else { return };
    let texts = deltas.iter().filter_map(|delta| match delta {
        ReplyDelta::Text(text) => Some(text.as_str()),
        ReplyDelta::Thinking(_) => None,
    });
    assert_eq!(texts.collect::<String>(), reply.text(), "the pieces are not the whole");
    let ids: HashSet<&str> = reply.calls.iter().map(|call| &*call.id.0).collect();
    assert_eq!(ids.len(), reply.calls.len(), "two calls have one id");
    assert!(!ids.contains(""), "a call has no id");
    assert!(reply.finish != FinishReason::Stop || reply.calls.is_empty());
    assert!(reply.finish != FinishReason::ToolCalls || !reply.calls.is_empty());
}

/// Decodes as the client does: up to an error, or what the server calls the end.
fn decode<'a>(
    (wire, request): (Wire, &[u8]),
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<ReplyDelta>, Result<ModelReply, LlmError>) {
    let mut decoder = ReplyDecoder::new(wire, request);
    let mut deltas = Vec::new();
    for chunk in chunks {
        if let Err(error) = decoder.push(chunk, &mut deltas) {
            return (deltas, Err(error));
        }
    }
    let closed = decoder.close(&mut deltas);
    (deltas, closed.and_then(|()| decoder.finish()))
}

#[cfg(test)]
mod tests {
    use recto_fakes::fuzz_inputs;

    use super::*;

    #[test]
    fn every_input_that_was_kept_holds() {
        fuzz_inputs("wire").iter().for_each(|(_, input)| check_wire(input));
        fuzz_inputs("gguf").iter().for_each(|(_, input)| check_gguf(input));
        fuzz_inputs("chat_template").iter().for_each(|(_, input)| check_chat_template(input));
    }
}
