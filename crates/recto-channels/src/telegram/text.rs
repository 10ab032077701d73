//! Text with styles as Telegram has it: the text itself, and entities that count in UTF-16.

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
    let mut entities: Vec<MessageEntity> =
        text.spans.iter().filter_map(|span| to_entity(text, span)).collect();
    if entities.len() > MOST_ENTITIES {
        // Where not all fit, blocks of code matter most.
        entities.sort_by_key(|entity| !matches!(entity.kind, MessageEntityKind::Pre { .. }));
        entities.truncate(MOST_ENTITIES);
    }
    entities.sort_by_key(|entity| (entity.offset, std::cmp::Reverse(entity.length)));
    entities
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

    #[test]
    fn of_very_many_styles_the_blocks_stay() {
        let markdown = "*a* ".repeat(150) + "\n\n```\ncode\n```";
        let entities = to_entities(&RichText::from_markdown(&markdown));
        assert_eq!(entities.len(), 100);
        assert!(entities.iter().any(|entity| matches!(entity.kind, MessageEntityKind::Pre { .. })));
    }
}
