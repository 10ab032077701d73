//! Text with styles as Discord has it: Markdown of its own, in which everything that is not a style
//! is escaped, so that nothing of a name or of code breaks out. Pure.

use std::ops::Range;

use crate::rich_text::{RichSpan, RichText, TextStyle};
use crate::split::utf16_length;

/// The most characters that a message takes.
pub(super) const MOST_TEXT: usize = 2_000;

/// Stands between marks that would else be read as one.
const NOTHING: char = '\u{200b}';

/// Looks like a backtick, and is none.
const NO_BACKTICK: &str = "\u{2cb}";

/// How long a text is at Discord, with its marks. Discord counts characters; where it is stricter
/// somewhere and counts halves of UTF-16, it is right as well.
pub(super) fn markdown_length(text: &RichText) -> usize {
    utf16_length(&to_markdown(text))
}

/// A text as Discord's Markdown.
pub(super) fn to_markdown(text: &RichText) -> String {
    let mut spans: Vec<&RichSpan> = text.spans.iter().collect();
    // The outer ones first; of those that are as long, the one that came first.
    spans.sort_by_key(|span| (span.range.start, std::cmp::Reverse(span.range.end)));
    render(&text.text, 0..text.text.len(), &spans)
}

/// A stretch of a text with the styles that lie within it.
fn render(text: &str, range: Range<usize>, spans: &[&RichSpan]) -> String {
    let mut out = String::new();
    let mut at = range.start;
    let mut rest = spans;
    while let Some((span, behind)) = rest.split_first() {
        let inner = behind.iter().take_while(|other| other.range.start < span.range.end).count();
        let (inner, behind) = behind.split_at(inner);
        rest = behind;
        let (start, end) = (span.range.start.max(at), span.range.end.min(range.end));
        if start >= end {
            continue;
        }
        escape_into(&mut out, text.get(at..start).unwrap_or_default());
        let before = text.get(..start).and_then(|before| before.chars().next_back());
        let after = text.get(end..).and_then(|after| after.chars().next());
        let styled = Styled { text, range: start..end, before, after };
        push_apart(&mut out, &styled.render(&span.style, inner));
        at = end;
    }
    let tail = text.get(at..range.end).unwrap_or_default();
    if out.ends_with("```") && !tail.is_empty() && !tail.starts_with('\n') {
        out.push('\n');
    }
    escape_into(&mut out, tail);
    out
}

/// Adds a styled stretch. Two marks that touch would be read as another one.
fn push_apart(out: &mut String, styled: &str) {
    let is_mark = |c: char| "*_~`".contains(c);
    let last = out.chars().next_back().filter(|c| is_mark(*c));
    let first = styled.chars().next();
    let is_block = styled.starts_with("```") || styled.starts_with("> ");
    if is_block && !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    } else if last.is_some() && first.is_some_and(is_mark) {
        out.push(NOTHING);
    }
    out.push_str(styled);
}

/// A stretch that has a style, and what stands around it.
struct Styled<'a> {
    text: &'a str,
    range: Range<usize>,
    before: Option<char>,
    after: Option<char>,
}

impl Styled<'_> {
    fn raw(&self) -> &str {
        self.text.get(self.range.clone()).unwrap_or_default()
    }

    fn render(&self, style: &TextStyle, inner: &[&RichSpan]) -> String {
        match style {
            TextStyle::Bold => self.marked("**", inner),
            TextStyle::Strike => self.marked("~~", inner),
            TextStyle::Italic => self.marked(self.italic_mark(), inner),
            TextStyle::Code => inline_code(self.raw()),
            TextStyle::CodeBlock(language) => code_block(language.as_deref(), self.raw()),
            TextStyle::Quote => self.quoted(inner),
            TextStyle::Link(url) => self.link(url, inner),
        }
    }

    /// Text between marks, which stand right at what can be seen of it.
    fn marked(&self, mark: &str, inner: &[&RichSpan]) -> String {
        let raw = self.raw();
        let lead = raw.len() - raw.trim_start().len();
        let end = raw.trim_end().len();
        if lead >= end {
            return raw.to_owned();
        }
        let seen = self.range.start + lead..self.range.start + end;
        let mut body = String::new();
        push_body(&mut body, &render(self.text, seen, inner));
        let (before, after) = (&raw[..lead], &raw[end..]);
        format!("{before}{mark}{body}{mark}{after}")
    }

    /// Within a word, only a star makes it slanted.
    fn italic_mark(&self) -> &'static str {
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if is_word(self.before) || is_word(self.after) { "*" } else { "_" }
    }

    fn quoted(&self, inner: &[&RichSpan]) -> String {
        let body = render(self.text, self.range.clone(), inner);
        let lines: Vec<String> = body.trim_end().lines().map(|line| format!("> {line}")).collect();
        lines.join("\n")
    }

    /// A link, where Discord makes one of it: else its words, and where it leads.
    fn link(&self, url: &str, inner: &[&RichSpan]) -> String {
        let Some(url) = link_address(url) else {
            return render(self.text, self.range.clone(), inner);
        };
        if self.raw().trim() == url {
            return format!("<{url}>");
        }
        let label = render(self.text, self.range.clone(), inner);
        match self.raw().contains("://") {
            // Discord makes no link whose words are another one.
            true => format!("{label} (<{url}>)"),
            false => format!("[{label}](<{url}>)"),
        }
    }
}

/// What stands between marks. One that begins or ends with the same marks would be misread.
fn push_body(body: &mut String, inner: &str) {
    let is_mark = |c: Option<char>| c.is_some_and(|c| "*_~".contains(c));
    if is_mark(inner.chars().next()) {
        body.push(NOTHING);
    }
    body.push_str(inner);
    let is_escaped = inner.chars().rev().skip(1).take_while(|c| *c == '\\').count() % 2 == 1;
    if is_mark(inner.chars().next_back()) && !is_escaped {
        body.push(NOTHING);
    }
}

/// An address that Discord makes a link of, with nothing in it that would end it.
fn link_address(url: &str) -> Option<String> {
    let (scheme, _) = url.split_once("://")?;
    let is_known = ["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme));
    let escaped = |c: char| match c {
        '<' | '>' | '(' | ')' | '[' | ']' | '\\' | '"' | '`' | '*' => format!("%{:02X}", c as u32),
        c if c.is_whitespace() || c.is_control() => "%20".to_owned(),
        c => c.to_string(),
    };
    is_known.then(|| url.chars().map(escaped).collect())
}

fn inline_code(code: &str) -> String {
    let code = code.replace('\n', " ");
    if code.trim().is_empty() {
        return code;
    }
    match code.contains('`') {
        false => format!("`{code}`"),
        true if code.contains("``") => format!("`{}`", code.replace('`', NO_BACKTICK)),
        true => format!("`` {code} ``"),
    }
}

fn code_block(language: Option<&str>, code: &str) -> String {
    let code = without_fences(code);
    format!("```{}\n{code}\n```", language.unwrap_or_default())
}

/// Code in which nothing ends its block: never do three backticks stand together, nor one at its
/// end.
fn without_fences(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut together = 0;
    for c in code.chars() {
        if c == '`' && together == 2 {
            out.push(NOTHING);
            together = 0;
        }
        together = if c == '`' { together + 1 } else { 0 };
        out.push(c);
    }
    if together > 0 {
        out.push(NOTHING);
    }
    out
}

/// Adds a text so that it is read as it stands.
fn escape_into(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(url) = address_at(rest, out) {
            out.push_str(url);
            rest = &rest[url.len()..];
            continue;
        }
        // Marks that count at the beginning of a line only.
        let is_first = out.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
        if "\\*_~`|<[]".contains(c) || (is_first && "#->+=".contains(c)) {
            out.push('\\');
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
}

/// The address that a text begins with: Discord reads none of its characters as a mark, and a
/// backslash would become a part of it.
fn address_at<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let is_address = text.starts_with("https://") || text.starts_with("http://");
    if !is_address || before.chars().next_back().is_some_and(char::is_alphanumeric) {
        return None;
    }
    let end = text.find(|c: char| c.is_whitespace() || "<>`|\\*~[]".contains(c));
    text.get(..end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::split::split_text;

    fn rendered(markdown: &str) -> String {
        to_markdown(&RichText::from_markdown(markdown))
    }

    #[test]
    fn styles_have_discords_marks() {
        let cases = [
            ("**bold** and *slanted* ~~gone~~", "**bold** and _slanted_ ~~gone~~"),
            ("in*ner*most", "in*ner*most"),
            ("***both***", "_\u{200b}**both**\u{200b}_"),
            ("`code` and `` a`b ``", "`code` and `` a`b ``"),
            ("```rust\nlet x = 1;\n```", "```rust\nlet x = 1;\n```"),
            ("> one\n> two", "> one\n> two"),
            ("[here](https://a.b/c_d)", "[here](<https://a.b/c_d>)"),
            ("<https://a.b/c_d>", "<https://a.b/c_d>"),
            (
                "[https://bank.example](https://evil.example)",
                "https://bank.example (<https://evil.example>)",
            ),
            ("[x](javascript:alert)", "x"),
            ("# Title\n\ntext", "**Title**\n\ntext"),
        ];
        for (markdown, expected) in cases {
            assert_eq!(rendered(markdown), expected, "{markdown}");
        }
    }

    /// Promise: `replies-never-broken`
    #[test]
    fn nothing_breaks_out() {
        let cases = [
            ("a * b_c_d ~~x", r"a \* b\_c\_d \~\~x"),
            (r"\# no title", r"\# no title"),
            ("||spoiler|| <@123> <t:1:R>", r"\|\|spoiler\|\| \<@123> \<t:1:R>"),
            ("see https://a.b/x_y_z and _b_", "see https://a.b/x_y_z and _b_"),
            ("````\nx\n```\ny\n````", "```\nx\n``\u{200b}`\ny\n```"),
            ("````\na`````b`\n````", "```\na``\u{200b}``\u{200b}`b`\u{200b}\n```"),
            ("x ``` a``b ```", "x `a\u{2cb}\u{2cb}b`"),
        ];
        for (markdown, expected) in cases {
            assert_eq!(rendered(markdown), expected, "{markdown}");
        }
    }

    /// Promise: `replies-never-broken`
    #[test]
    fn long_code_is_closed_and_opened_again() {
        let code: String = (0..300).map(|line| format!("let x{line} = {line};\n")).collect();
        let rich = RichText::from_markdown(&format!("Look:\n\n```rust\n{code}```\n\nDone."));
        let pieces = split_text(&rich, MOST_TEXT, markdown_length);
        assert!(pieces.len() > 1);
        for piece in pieces.iter().map(to_markdown) {
            assert!(piece.chars().count() <= MOST_TEXT);
            assert_eq!(piece.matches("```").count() % 2, 0, "{piece}");
            if piece.contains("let x") {
                assert!(piece.contains("```rust\n"), "{piece}");
            }
        }
    }

    /// What people see of it: marks gone, escapes read.
    fn visible(markdown: &str) -> String {
        let mut seen = String::new();
        let mut rest = markdown;
        while !rest.is_empty() {
            let at_line_start = seen.is_empty() || seen.ends_with('\n');
            if let Some(code) = rest.strip_prefix("```") {
                let (code, behind) = code.split_once("```").unwrap();
                seen.push_str(code.split_once('\n').unwrap().1);
                rest = behind;
            } else if let Some(code) = rest.strip_prefix("`` ") {
                let (code, behind) = code.split_once(" ``").unwrap();
                seen.push_str(code);
                rest = behind;
            } else if let Some(code) = rest.strip_prefix('`') {
                let (code, behind) = code.split_once('`').unwrap();
                seen.push_str(code);
                rest = behind;
            } else if let Some(escaped) = rest.strip_prefix('\\') {
                let c = escaped.chars().next().unwrap();
                assert!(c.is_ascii_punctuation(), "{markdown:?}");
                seen.push(c);
                rest = &escaped[c.len_utf8()..];
            } else if let Some(behind) = rest.strip_prefix("> ").filter(|_| at_line_start) {
                rest = behind;
            } else {
                let c = rest.chars().next().unwrap();
                if !"*_~\u{200b}".contains(c) {
                    seen.push(c);
                }
                rest = &rest[c.len_utf8()..];
            }
        }
        seen
    }

    proptest! {
        /// Promise: `replies-never-broken`
        #[test]
        fn pieces_fit_and_say_what_was_written(
            markdown in "([a-z*_`#>~|<\\-\\\\ .é👍\n]|```\n|\n\n|\\*\\*){0,300}",
            limit in 24usize..120,
        ) {
            let rich = RichText::from_markdown(&markdown);
            let solid = |text: &str| {
                let text = text.replace(NO_BACKTICK, "`").replace(NOTHING, "");
                text.split_whitespace().collect::<String>()
            };
            let pieces = split_text(&rich, limit, markdown_length);
            let mut said = String::new();
            for piece in &pieces {
                let markdown = to_markdown(piece);
                prop_assert!(utf16_length(&markdown) <= limit, "{markdown:?}");
                said.push_str(&solid(&visible(&markdown)));
            }
            prop_assert_eq!(said, solid(&rich.text));
        }

        #[test]
        fn plain_text_is_read_as_it_stands(text in "[ -~é👍\n]{0,200}") {
            let plain = RichText { text: text.clone(), spans: Vec::new() };
            let without_addresses = !text.contains("http");
            if without_addresses {
                prop_assert_eq!(visible(&to_markdown(&plain)), text);
            }
        }
    }
}
