//! How a request asked its model to choose words, in words for people.

use recto_llm::{CallOptions, ReplyFormat};
use recto_store::RequestRecord;
use serde::Deserialize;

/// What was set for the choice of words; nothing where all of it was left to the server.
pub fn sampling_words(request: &RequestRecord) -> Option<String> {
    let CallOptions { temperature, top_p, reply, .. } =
        CallOptions::deserialize(&request.options).ok()?;
    let numbers = [
        ("temperature", temperature),
        ("top_p", top_p),
        ("presence_penalty", reply.presence_penalty),
        ("frequency_penalty", reply.frequency_penalty),
    ];
    let numbers = numbers.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let mut words: Vec<String> = numbers.map(|(name, value)| format!("{name} {value}")).collect();
    words.extend(reply.seed.map(|seed| format!("seed {seed}")));
    words.extend(reply.stop.iter().map(|stop| format!("ends at {stop:?}")));
    words.extend(reply.format.map(|format| match format {
        ReplyFormat::Json => "an object in JSON".to_owned(),
        ReplyFormat::Schema(schema) => format!("JSON by the schema `{}`", schema.name),
    }));
    (!words.is_empty()).then(|| words.join(", "))
}
