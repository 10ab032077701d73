//! Whether a prompt fits in the window, and what becomes of one that does not.

use serde_json::Value;

use super::check::FakeOllamaChat;
use super::runner_error;
use crate::count;
use crate::reaction::Rejection;

/// The tokens of the prompt that the model reads. A prompt over the window is
/// refused when the client said `truncate: false`. Otherwise its oldest
/// messages go, without a word: only the count tells.
pub(super) fn fit(chat: &FakeOllamaChat, window: u32) -> Result<u32, Rejection> {
    let whole = tokens(chat, 0);
    if whole <= window {
        return Ok(whole);
    }
    if !chat.truncate {
        let (why, problem) = count::llama_overflow(whole, window);
        return Err(runner_error(&why, &problem));
    }
    let starts = (1..chat.messages.len()).map(|index| block_start(&chat.messages, index));
    let cut = starts.map(|start| tokens(chat, start)).find(|tokens| *tokens <= window);
    // The last message stays in any case, and loses its own front if need be.
    Ok(cut.unwrap_or(window))
}

/// The tokens of the messages from `start` on, and of all system messages.
fn tokens(chat: &FakeOllamaChat, start: usize) -> u32 {
    let (before, kept) = chat.messages.split_at(start);
    let system = before.iter().filter(|message| message["role"] == "system");
    count::prompt(system.chain(kept).chain(&chat.tools))
}

/// Where to cut so that no result is left without its call.
fn block_start(messages: &[Value], index: usize) -> usize {
    let is_result = |message: &Value| message["role"] == "tool";
    if !is_result(&messages[index]) {
        return index;
    }
    let results = messages[..index].iter().rev().take_while(|message| is_result(message)).count();
    let first = index - results;
    let calls = first.checked_sub(1).filter(|caller| messages[*caller]["tool_calls"].is_array());
    calls.unwrap_or(index)
}
