//! Text of others in which nothing hides: characters that can't be seen, or that turn the order of
//! what stands around them, are written out.
//!
//! What a person is asked about goes through `show_controls` where it is drawn. Every page goes
//! through `reveal_pages` as it leaves, so that no text is forgotten, whoever draws it: messages,
//! replies, what items say of themselves.

use std::borrow::Cow;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use recto_context::{Reveal, is_unseen, reveal, reveal_char};

/// A text in which characters that can't be seen, or that change how others are seen, are
/// written out: what is read must be what is there.
pub(crate) fn show_controls(text: &str) -> String {
    reveal(text, Reveal::EveryCharacter)
}

/// Writes out what hides in the text of a page as it leaves. One that is sent piece by piece does
/// so itself.
pub(crate) async fn reveal_pages(request: Request, next: Next) -> Response {
    let (mut parts, body) = next.run(request).await.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_page = kind.is_some_and(|kind| kind.starts_with(b"text/html"));
    if !is_page || body.size_hint().exact().is_none() {
        return Response::from_parts(parts, body);
    }
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let shown = match str::from_utf8(&bytes).map(reveal_html) {
        Ok(Cow::Owned(shown)) => Body::from(shown),
        Ok(Cow::Borrowed(_)) | Err(_) => Body::from(bytes),
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, shown)
}

/// Attributes that people read. What others hold is for machines, and stays as it is.
const READ_ATTRIBUTES: [&str; 2] = [" title=\"", " aria-label=\""];

/// What a field holds is sent back as it is.
const FIELD: &str = "<textarea";

/// HTML of ours in which everything that people read can be seen. In it `<`, `>` and `"` stand for
/// tags and attributes alone: as text they are escaped.
pub(crate) fn reveal_html(html: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c == '\n' || c == '\t' || !is_unseen(c);
    if html.chars().all(is_plain) {
        return Cow::Borrowed(html);
    }
    let mut shown = String::with_capacity(html.len() + 64);
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        push_revealed(&rest[..at], &mut shown);
        rest = &rest[at..];
        let end = rest.find('>').map_or(rest.len(), |end| end + 1);
        let field = rest.starts_with(FIELD).then(|| rest.find("</textarea>")).flatten();
        let end = field.unwrap_or(end);
        push_tag(&rest[..end], &mut shown);
        rest = &rest[end..];
    }
    push_revealed(rest, &mut shown);
    Cow::Owned(shown)
}

/// A tag, with the attributes that people read made visible.
fn push_tag(mut tag: &str, shown: &mut String) {
    let next = |tag: &str| {
        let found = READ_ATTRIBUTES.iter().filter_map(|name| Some(tag.find(name)? + name.len()));
        found.min()
    };
    while let Some(begin) = next(tag) {
        let length = tag[begin..].find('"').unwrap_or(tag.len() - begin);
        shown.push_str(&tag[..begin]);
        push_revealed(&tag[begin..begin + length], shown);
        tag = &tag[begin + length..];
    }
    shown.push_str(tag);
}

fn push_revealed(text: &str, shown: &mut String) {
    let mut previous = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        // To a browser both together are one line break.
        match c == '\r' && chars.peek() == Some(&'\n') {
            true => {}
            false => reveal_char(c, previous, Reveal::Lines, shown),
        }
        previous = Some(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_mislead_is_written_out() {
        assert_eq!(show_controls("rm\u{202e}fdp.exe\n\u{1b}[2J"), "rm\\u{202e}fdp.exe\n\\u{1b}[2J");
        assert_eq!(show_controls("größe\t✓"), "größe\t✓");
    }

    #[test]
    fn a_page_hides_nothing_that_is_read_and_keeps_what_is_sent_back() {
        let check = |html: &str, shown: &str| assert_eq!(reveal_html(html), shown);
        check("<p>größe\t✓ 👩\u{200d}🚀</p>", "<p>größe\t✓ 👩\u{200d}🚀</p>");
        check("<p>a\u{202e}b\r\nc</p>", "<p>a\\u{202e}b\nc</p>");
        check(
            "<a class=\"x\" title=\"\u{e0041}\" href=\"/\u{feff}\">\u{200b}</a>",
            "<a class=\"x\" title=\"\\u{e0041}\" href=\"/\u{feff}\">\\u{200b}</a>",
        );
        check(
            "<input value=\"\u{202e}\" aria-label=\"\u{202e}\">",
            "<input value=\"\u{202e}\" aria-label=\"\\u{202e}\">",
        );
        check(
            "<textarea name=\"t\">\u{202e}</textarea>\u{202e}",
            "<textarea name=\"t\">\u{202e}</textarea>\\u{202e}",
        );
        check("<b>cut \u{202e}", "<b>cut \\u{202e}");
    }
}
