//! What Telegram asks of a text, its styles and its buttons.

use std::ops::Range;

use serde_json::Value;

use super::methods::BotApiError;

/// The most units of UTF-16 of a message.
const MOST_TEXT: usize = 4_096;

/// The most styles of a message that are looked at.
const MOST_ENTITIES: usize = 100;

/// The styles that a bot can give.
const STYLES: [&str; 10] = [
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "code",
    "pre",
    "text_link",
    "blockquote",
    "expandable_blockquote",
];

/// Refuses fields that the method does not have: whoever sends one means something by it.
pub(super) fn check_fields(fields: &Value, known: &[&str]) -> Result<(), BotApiError> {
    let Some(fields) = fields.as_object() else {
        return Err(BotApiError::mistake("the parameters must be an object"));
    };
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => Err(BotApiError::mistake(format!("unknown parameter `{unknown}`"))),
        None => Ok(()),
    }
}

/// The text of a message that can be sent.
pub(super) fn check_text(fields: &Value) -> Result<String, BotApiError> {
    let text = fields["text"].as_str().unwrap_or_default();
    if text.trim().is_empty() {
        return Err(BotApiError::mistake("message text is empty"));
    }
    match text.encode_utf16().count() {
        ..=MOST_TEXT => Ok(text.to_owned()),
        _ => Err(BotApiError::mistake("message is too long")),
    }
}

/// Refuses styles that stand outside of the text, cut a character, overlap, or stand where they
/// can't be.
pub(super) fn check_entities(text: &str, entities: &Value) -> Result<(), BotApiError> {
    if entities.is_null() {
        return Ok(());
    }
    let refuse = |why: String| BotApiError::mistake(format!("can't parse entities: {why}"));
    let entities = entities.as_array().ok_or_else(|| refuse("they are no list".to_owned()))?;
    if entities.len() > MOST_ENTITIES {
        return Err(refuse(format!("{} of them", entities.len())));
    }
    let edges = character_edges(text);
    let mut known: Vec<(Range<u64>, &str)> = Vec::new();
    for entity in entities {
        let kind = entity["type"].as_str().unwrap_or_default();
        let (Some(offset), Some(length)) = (entity["offset"].as_u64(), entity["length"].as_u64())
        else {
            return Err(refuse(format!("{entity}")));
        };
        let range = offset..offset + length;
        let is_whole = edges.contains(&range.start) && edges.contains(&range.end);
        if !STYLES.contains(&kind) || length == 0 || !is_whole {
            return Err(refuse(format!("{entity}")));
        }
        if kind == "text_link" && !entity["url"].as_str().is_some_and(|url| url.contains(':')) {
            return Err(refuse(format!("{entity}")));
        }
        if let Some((other, other_kind)) = known
            .iter()
            .find(|(other, other_kind)| !can_stand_together((&range, kind), (other, other_kind)))
        {
            return Err(refuse(format!("{kind} {range:?} and {other_kind} {other:?}")));
        }
        known.push((range, kind));
    }
    Ok(())
}

/// The places between characters, in units of UTF-16.
fn character_edges(text: &str) -> Vec<u64> {
    let mut edges = vec![0];
    let mut at = 0;
    for c in text.chars() {
        at += c.len_utf16() as u64;
        edges.push(at);
    }
    edges
}

fn can_stand_together(a: (&Range<u64>, &str), b: (&Range<u64>, &str)) -> bool {
    let (a_range, b_range) = (a.0, b.0);
    if a_range.end <= b_range.start || b_range.end <= a_range.start {
        return true;
    }
    let holds = |outer: &Range<u64>, inner: &Range<u64>| {
        outer.start <= inner.start && inner.end <= outer.end
    };
    let is_nested = holds(a_range, b_range) || holds(b_range, a_range);
    let is_code = |kind: &str| matches!(kind, "code" | "pre");
    let is_quote = |kind: &str| kind.ends_with("blockquote");
    let both_quotes = is_quote(a.1) && is_quote(b.1);
    is_nested && !is_code(a.1) && !is_code(b.1) && !both_quotes && a.1 != b.1
}

/// What is written on the buttons of a keyboard that can be sent.
pub(super) fn check_keyboard(keyboard: &Value) -> Result<Vec<String>, BotApiError> {
    if keyboard.is_null() {
        return Ok(Vec::new());
    }
    let rows = keyboard["inline_keyboard"].as_array();
    let rows = rows.ok_or_else(|| BotApiError::mistake("BUTTON_INVALID"))?;
    let mut labels = Vec::new();
    for button in rows.iter().filter_map(Value::as_array).flatten() {
        let (text, data) = (button["text"].as_str(), button["callback_data"].as_str());
        match (text, data) {
            (Some(text), Some(data)) if !text.is_empty() && (1..=64).contains(&data.len()) => {
                labels.push(text.to_owned());
            }
            _ => return Err(BotApiError::mistake("BUTTON_DATA_INVALID")),
        }
    }
    Ok(labels)
}
