//! How the fakes count tokens: one for every four bytes, rounded up.
//!
//! In a prompt, every text, number and name of a field in `messages` and
//! `tools` counts, apart from images. The names stand for what a template would
//! add around each message.

use serde_json::{Value, json};

const BYTES_A_TOKEN: usize = 4;

/// Fields that hold pictures: of Ollama's messages, and of OpenAI's parts.
const IMAGES: [&str; 2] = ["images", "image_url"];

/// The tokens of a prompt, from its messages and tools.
pub(crate) fn prompt<'a>(values: impl IntoIterator<Item = &'a Value>) -> u32 {
    tokens(values.into_iter().map(bytes).sum())
}

/// The tokens of so many bytes.
pub(crate) fn tokens(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(BYTES_A_TOKEN)).unwrap_or(u32::MAX)
}

/// How llama.cpp, also behind Ollama, says that a prompt is too long: in a sentence, and
/// as its error object.
pub(crate) fn llama_overflow(prompt: u32, window: u32) -> (String, Value) {
    let why = format!(
        "request ({prompt} tokens) exceeds the available context size ({window} tokens), \
         try increasing it"
    );
    let problem = json!({
        "code": 400,
        "message": why,
        "type": "exceed_context_size_error",
        "n_prompt_tokens": prompt,
        "n_ctx": window,
    });
    (why, problem)
}

fn bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes).sum(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !IMAGES.contains(&name.as_str()))
            .map(|(name, value)| name.len() + bytes(value))
            .sum(),
        other => other.to_string().len(),
    }
}

#[cfg(test)]
mod tests {
    use super::prompt;
    use serde_json::json;

    #[test]
    fn names_and_texts_count_and_images_do_not() {
        let message = json!({ "role": "user", "content": "12345678", "images": ["aGk="] });
        // 4 + 4 and 7 + 8 bytes.
        assert_eq!(prompt([&message]), 6);
        assert_eq!(prompt([&message, &json!({ "n": 10 })]), 7);
    }
}
