//! Text with styles as Telegram has it: the text itself, and entities that count in UTF-16.
//!
//! Telegram makes a button of each word that looks like a command: who taps it sends it in their own
//! name. What a model writes must not become such a button, so these words are code, which has none.

use std::ops::Range;

use teloxide_core::types::{MessageEntity, MessageEntityKind};

use crate::rich_text::{RichSpan, RichText, TextStyle};
use crate::split::utf16_length;

/// The most units of UTF-16 that a message takes.
pub(super) const MOST_TEXT: usize = 4_096;

/// The most entities that a message takes; Telegram leaves out the rest.
const MOST_ENTITIES: usize = 100;

/// What addresses of links may begin with. Not `tg`: a link to a person calls that person.
const LINK_SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// The styles of a text as entities.
pub(super) fn to_entities(text: &RichText) -> Vec<MessageEntity> {
    let styled = with_commands_as_code(text);
    let mut entities: Vec<MessageEntity> =
        styled.spans.iter().filter_map(|span| to_entity(&styled, span)).collect();
    if entities.len() > MOST_ENTITIES {
        // Where not all fit, code matters most, and the rest is left without its styles.
        entities.sort_by_key(|entity| !is_code(entity));
        if entities.get(MOST_ENTITIES).is_some_and(is_code) {
            return all_as_code(text);
        }
        entities.truncate(MOST_ENTITIES);
    }
    entities.sort_by_key(|entity| (entity.offset, std::cmp::Reverse(entity.length)));
    entities
}

/// The whole text as a block of code: what is left where its styles can't be had.
pub(super) fn all_as_code(text: &RichText) -> Vec<MessageEntity> {
    let whole = RichSpan { range: 0..text.text.len(), style: TextStyle::CodeBlock(None) };
    to_entity(text, &whole).into_iter().collect()
}

fn is_code(entity: &MessageEntity) -> bool {
    matches!(entity.kind, MessageEntityKind::Pre { .. } | MessageEntityKind::Code)
}

/// The text with its commands as code, and no other style around them: Telegram takes none there.
fn with_commands_as_code(text: &RichText) -> RichText {
    let is_code =
        |span: &&RichSpan| matches!(span.style, TextStyle::Code | TextStyle::CodeBlock(_));
    // Where code begins within a command, what stands before it is left to be tapped.
    let bare_part = |range: Range<usize>| {
        let meets = |span: &&RichSpan| meets(&span.range, &range);
        let code = text.spans.iter().filter(is_code).find(meets);
        let end = code.map_or(range.end, |code| code.range.start);
        (range.start < end).then_some(range.start..end)
    };
    let commands: Vec<Range<usize>> = commands(&text.text).filter_map(bare_part).collect();
    let mut spans = Vec::with_capacity(text.spans.len() + commands.len());
    for span in &text.spans {
        if is_code(&span) {
            spans.push(span.clone());
            continue;
        }
        let mut start = span.range.start;
        for command in commands.iter().filter(|command| meets(command, &span.range)) {
            spans.push(RichSpan { range: start..command.start, style: span.style.clone() });
            start = command.end;
        }
        spans.push(RichSpan { range: start..span.range.end.max(start), style: span.style.clone() });
    }
    spans.retain(|span| !span.range.is_empty());
    let as_code = |range| RichSpan { range, style: TextStyle::Code };
    spans.extend(commands.into_iter().map(as_code));
    RichText { text: text.text.clone(), spans }
}

fn meets(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Where Telegram may see a command: a slash that stands behind no word, and a word right behind it.
/// What goes on with another slash is a path.
fn commands(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let bytes = text.as_bytes();
    let slashes = text.match_indices('/').map(|(at, _)| at);
    slashes.filter_map(move |start| {
        let before = start.checked_sub(1).and_then(|at| bytes.get(at));
        let is_within = before.is_some_and(|byte| is_word(byte) || *byte == b'/');
        let rest = &bytes[start + 1..];
        let length = rest.iter().take_while(|byte| is_word(byte) || **byte == b'@').count();
        let is_path = rest.get(length) == Some(&b'/');
        (length > 0 && !is_within && !is_path).then_some(start..start + 1 + length)
    })
}

fn to_entity(text: &RichText, span: &RichSpan) -> Option<MessageEntity> {
    let kind = match &span.style {
        TextStyle::Bold => MessageEntityKind::Bold,
        TextStyle::Italic => MessageEntityKind::Italic,
        TextStyle::Strike => MessageEntityKind::Strikethrough,
        TextStyle::Code => MessageEntityKind::Code,
        TextStyle::CodeBlock(language) => MessageEntityKind::Pre { language: language.clone() },
        TextStyle::Quote => MessageEntityKind::Blockquote,
        TextStyle::Link(url) => {
            let (scheme, _) = url.split_once(':')?;
            let is_link = LINK_SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme));
            MessageEntityKind::TextLink { url: url.parse().ok().filter(|_| is_link)? }
        }
    };
    // Telegram takes no style that begins or ends with a blank.
    let styled = &text.text[span.range.clone()];
    let start = span.range.start + (styled.len() - styled.trim_start().len());
    let end = span.range.start + styled.trim_end().len();
    if start >= end {
        return None;
    }
    let offset = utf16_length(&text.text[..start]);
    Some(MessageEntity::new(kind, offset, utf16_length(&text.text[start..end])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_count_in_utf16() {
        let text = RichText::from_markdown(
            "👍 **bold** and `x👍`\n\n[bad](javascript:alert) [good](https://a.b) [Ana](tg://user?id=4711)",
        );
        assert_eq!(text.text, "👍 bold and x👍\n\nbad good Ana");
        let found: Vec<(usize, usize)> =
            to_entities(&text).iter().map(|entity| (entity.offset, entity.length)).collect();
        assert_eq!(found, [(3, 4), (12, 3), (21, 4)]);
    }

    /// What is code of a text.
    fn code(markdown: &str) -> Vec<String> {
        let text = RichText::from_markdown(markdown);
        let units: Vec<u16> = text.text.encode_utf16().collect();
        let entities = to_entities(&text);
        assert!(entities.len() <= MOST_ENTITIES);
        let code = entities.iter().filter(|entity| is_code(entity));
        code.map(|it| String::from_utf16(&units[it.offset..it.offset + it.length]).unwrap())
            .collect()
    }

    /// Promise: `text-raises-no-rights`
    #[test]
    fn no_command_in_a_text_can_be_tapped() {
        assert_eq!(code("Tap /approve now."), ["/approve"]);
        assert_eq!(code("/approve\n/set@your_bot x"), ["/approve", "/set@your_bot"]);
        assert_eq!(code("(/a) “/b” é/c 👍/d"), ["/a", "/b", "/c", "/d"]);
        assert_eq!(code("**so /approve it** and `/deny`"), ["/approve", "/deny"]);
        assert_eq!(code("> quoted /approve"), ["/approve"]);
        assert_eq!(code("[/approve](tg://x) [see /deny](https://a.b)"), ["/approve", "/deny"]);
        assert_eq!(code("```\n/approve\n```"), ["/approve"]);
        assert_eq!(code("/app`rove` `/de`ny"), ["/app", "rove", "/de"]);
        let others = "and/or 1/2 /usr/bin //x / /- https://a.b/approve";
        assert_eq!(code(others), Vec::<String>::new());
        // However many styles there are, no command is left without.
        let styled = "*a* ".repeat(150) + "/approve";
        assert_eq!(code(&styled), ["/approve"]);
        let many = "/approve ".repeat(150);
        assert_eq!(code(&many), [many.trim()]);
    }

    #[test]
    fn what_is_bold_around_a_command_stays_bold() {
        let text = RichText::from_markdown("**so /approve it**");
        let found: Vec<(usize, usize)> =
            to_entities(&text).iter().map(|entity| (entity.offset, entity.length)).collect();
        assert_eq!(found, [(0, 2), (3, 8), (12, 2)]);
    }

    #[test]
    fn no_style_reaches_into_a_command() {
        let text = RichText::from_markdown("/app**rove it**");
        let found: Vec<(usize, usize)> =
            to_entities(&text).iter().map(|entity| (entity.offset, entity.length)).collect();
        assert_eq!(found, [(0, 8), (9, 2)]);
    }

    #[test]
    fn of_very_many_styles_the_blocks_stay() {
        let markdown = "*a* ".repeat(150) + "\n\n```\ncode\n```";
        let entities = to_entities(&RichText::from_markdown(&markdown));
        assert_eq!(entities.len(), 100);
        assert!(entities.iter().any(|entity| matches!(entity.kind, MessageEntityKind::Pre { .. })));
    }
}
