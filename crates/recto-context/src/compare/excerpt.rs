//! The text around the place where two prompts part, a few lines of it.

use serde::Serialize;

use super::{common_prefix, first_text};
use crate::context::OfferedTool;
use crate::page::{ChatMessage, ContentPiece};

/// How many characters are shown of what both say.
const AGREED: usize = 80;
/// How many characters are shown of what each goes on with.
const DIFFERING: usize = 160;

/// The text around the place where two prompts part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangeExcerpt {
    /// The end of what both say.
    pub agreed: String,
    /// How the earlier one goes on; empty where it ends.
    pub before: String,
    /// How the later one goes on; empty where it ends.
    pub after: String,
}

/// Around the first byte in which two tools' schemas differ; one of them may be missing.
pub(super) fn around_tool(sides: [Option<&OfferedTool>; 2]) -> ChangeExcerpt {
    let [before, after] = sides.map(|tool| tool.map_or("", |tool| tool.spec.schema.as_str()));
    let byte = common_prefix(before, after);
    let agreed = before.get(..byte).unwrap_or_default();
    let [before, after] = [before, after].map(|text| text.get(byte..).unwrap_or_default());
    excerpt(agreed, before, after)
}

/// Around a byte of the first text of two messages; one of them may be missing.
pub(super) fn around_byte(sides: [Option<&ChatMessage>; 2], byte: usize) -> ChangeExcerpt {
    let agreed = sides[0].and_then(|message| first_text(message).get(..byte)).unwrap_or_default();
    let [before, after] =
        sides.map(|side| side.map(|message| text_behind(message, byte)).unwrap_or_default());
    excerpt(agreed, &before, &after)
}

/// What a message says from a byte of its first text on, its calls included.
fn text_behind(message: &ChatMessage, byte: usize) -> String {
    let first = first_text(message).get(byte..).unwrap_or_default();
    let others = message.content.iter().skip(1).filter_map(ContentPiece::as_text);
    let calls = message.calls.iter().flat_map(|call| [&*call.name, call.arguments.as_str()]);
    let texts = [first].into_iter().chain(others).chain(calls);
    texts.flat_map(str::chars).take(DIFFERING).collect()
}

fn excerpt(agreed: &str, before: &str, after: &str) -> ChangeExcerpt {
    let start = agreed.char_indices().rev().nth(AGREED - 1).map_or(0, |(at, _)| at);
    let [before, after] = [before, after].map(|text| text.chars().take(DIFFERING).collect());
    ChangeExcerpt { agreed: agreed[start..].to_owned(), before, after }
}
