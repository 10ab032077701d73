//! A reply as text with styles: what Markdown means, without its marks.
//!
//! Chat services have styles of their own and forms of their own to write them. Between a model's
//! Markdown and those stands this: a plain text, and stretches of it that have a style. Nothing a
//! model writes can break it, and it can be cut anywhere (`split.rs`).
//!
//! Styles nest as services allow it: code has no other style in it, and none around it but a
//! link's; everything else may stand in everything else.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd};

/// The most characters to which the cells of a column are filled up.
const WIDEST_COLUMN: usize = 40;

/// A text with styles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RichText {
    /// The text, without any marks.
    pub(crate) text: String,
    /// The stretches that have a style, in bytes of the text. Where two meet, one holds the other.
    pub(crate) spans: Vec<RichSpan>,
}

/// A stretch of a text that has a style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RichSpan {
    pub(crate) range: Range<usize>,
    pub(crate) style: TextStyle,
}

/// How a stretch of a text looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Bold,
    Italic,
    Strike,
    Code,
    /// Lines of code, with the name of their language.
    CodeBlock(Option<String>),
    Link(String),
    Quote,
}

impl RichText {
    /// A text without styles.
    pub(crate) fn plain(text: &str) -> Self {
        RichText { text: text.trim().to_owned(), spans: Vec::new() }
    }

    /// What a text in Markdown means.
    pub(crate) fn from_markdown(markdown: &str) -> Self {
        let options =
            Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
        let mut writer = RichWriter::default();
        for event in Parser::new_ext(markdown, options) {
            writer.take(event);
        }
        writer.finish()
    }

    /// Whether nothing of it can be seen.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// A stretch of it, with the styles that it has there. Blank edges are left out, except where
    /// they are code.
    pub(crate) fn slice(&self, range: Range<usize>) -> RichText {
        let text = &self.text[range.clone()];
        let is_code = |at: usize| {
            self.spans.iter().any(|span| {
                matches!(span.style, TextStyle::CodeBlock(_)) && span.range.contains(&at)
            })
        };
        let blank = |c: char| c.is_whitespace();
        let skipped = if is_code(range.start) {
            0
        } else {
            text.len() - text.trim_start_matches(blank).len()
        };
        let kept = text.trim_end_matches(blank).len().max(skipped);
        let (start, end) = (range.start + skipped, range.start + kept);
        let part = |span: &RichSpan| {
            let (from, to) = (span.range.start.max(start), span.range.end.min(end));
            (from < to)
                .then(|| RichSpan { range: from - start..to - start, style: span.style.clone() })
        };
        let spans = self.spans.iter().filter_map(part).collect();
        RichText { text: self.text[start..end].to_owned(), spans }
    }
}

/// Writes text with styles while Markdown is read.
#[derive(Debug, Default)]
struct RichWriter {
    out: RichText,
    /// The styles that hold now, the outermost first.
    styles: Vec<TextStyle>,
    /// The styles of what was written last.
    written: Vec<TextStyle>,
    /// The lists that are open: the next number of each, where it has numbers.
    lists: Vec<Option<u64>>,
    /// What stands between what was written and what comes next.
    gap: Gap,
    /// The cells of a table that is being read, row by row.
    table: Option<Vec<Vec<String>>>,
    /// The text of a block of code that is being read, and its language.
    code: Option<(Option<String>, String)>,
}

/// What stands between two blocks.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Line,
    Paragraph,
}

impl RichWriter {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.inline_code(&text),
            // Marks of other languages are shown as they were written.
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            Event::Rule => {
                self.need(Gap::Paragraph);
                self.text("———");
                self.need(Gap::Paragraph);
            }
            Event::TaskListMarker(true) => self.text("☑ "),
            Event::TaskListMarker(false) => self.text("☐ "),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.need(Gap::Paragraph);
                self.styles.push(TextStyle::Bold);
            }
            Tag::BlockQuote(_) => {
                self.need(Gap::Paragraph);
                self.styles.push(TextStyle::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.need(Gap::Paragraph);
                self.code = Some((language(&kind), String::new()));
            }
            Tag::List(first) => {
                self.need(if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line });
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => {
                self.need(Gap::Paragraph);
                self.table = Some(Vec::new());
            }
            Tag::TableHead | Tag::TableRow => {
                self.table.iter_mut().for_each(|rows| rows.push(Vec::new()));
            }
            Tag::TableCell => {
                let row = self.table.as_mut().and_then(|rows| rows.last_mut());
                row.into_iter().for_each(|row| row.push(String::new()));
            }
            Tag::Emphasis => self.styles.push(TextStyle::Italic),
            Tag::Strong => self.styles.push(TextStyle::Bold),
            Tag::Strikethrough => self.styles.push(TextStyle::Strike),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.styles.push(TextStyle::Link(dest_url.into_string()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.need(if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line });
            }
            TagEnd::Heading(_) | TagEnd::BlockQuote(_) => {
                self.styles.pop();
                self.need(Gap::Paragraph);
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.need(if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line });
            }
            TagEnd::Item => self.need(Gap::Line),
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image => drop(self.styles.pop()),
            _ => {}
        }
    }

    /// The beginning of a list's item.
    fn item(&mut self) {
        self.need(Gap::Line);
        let depth = self.lists.len().saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        self.text(&format!("{}{mark}", "  ".repeat(depth)));
    }

    /// Sees to it that what comes next does not stand too close.
    fn need(&mut self, gap: Gap) {
        if !self.out.text.is_empty() {
            self.gap = self.gap.max(gap);
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            return code.push_str(text);
        }
        if let Some(cell) = self.table.as_mut().and_then(|rows| rows.last_mut()?.last_mut()) {
            return cell.push_str(text);
        }
        self.write_gap();
        let styles = self.styles.clone();
        self.write(text, &styles);
    }

    fn inline_code(&mut self, text: &str) {
        if self.table.is_some() || self.code.is_some() {
            return self.text(text);
        }
        self.write_gap();
        // A link is worth more than the look of code.
        let link = self.styles.iter().find(|style| matches!(style, TextStyle::Link(_)));
        let style = link.cloned().unwrap_or(TextStyle::Code);
        self.write(text, &[style]);
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let code = code.trim_end_matches('\n');
        if !code.is_empty() {
            self.write_gap();
            self.write(code, &[TextStyle::CodeBlock(language)]);
        }
        self.need(Gap::Paragraph);
    }

    /// A table as lines of code, its columns one below the other. What is very wide sticks out.
    fn end_table(&mut self) {
        let rows = self.table.take().unwrap_or_default();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let length = |cell: &String| cell.chars().count();
        let widths: Vec<usize> = (0..columns)
            .map(|at| rows.iter().filter_map(|row| row.get(at)).map(length).max().unwrap_or(0))
            .map(|width| width.min(WIDEST_COLUMN))
            .collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths);
            let padded = cells.map(|(cell, width)| format!("{cell:<width$}"));
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let lines: Vec<String> = rows.iter().map(line).collect();
        if !lines.is_empty() {
            self.write_gap();
            self.write(&lines.join("\n"), &[TextStyle::CodeBlock(None)]);
        }
        self.need(Gap::Paragraph);
    }

    fn write_gap(&mut self) {
        let gap = match std::mem::take(&mut self.gap) {
            Gap::None => return,
            Gap::Line => "\n",
            Gap::Paragraph => "\n\n",
        };
        // What stands between the paragraphs of a quote belongs to it.
        let goes_on = [&self.styles, &self.written]
            .iter()
            .all(|styles| styles.first() == Some(&TextStyle::Quote));
        let styles = if goes_on { vec![TextStyle::Quote] } else { Vec::new() };
        self.write(gap, &styles);
    }

    /// Writes text in these styles, the outermost first. A stretch goes on where it stands in the
    /// same styles as before: two that only touch stay two, or they could overlap others.
    fn write(&mut self, text: &str, styles: &[TextStyle]) {
        let start = self.out.text.len();
        self.out.text.push_str(text);
        let end = self.out.text.len();
        for (at, style) in styles.iter().enumerate() {
            if styles[..at].contains(style) {
                continue;
            }
            let is_same = self.written.get(..=at) == styles.get(..=at);
            let goes_on = |span: &&mut RichSpan| span.range.end == start && span.style == *style;
            match self.out.spans.iter_mut().find(goes_on).filter(|_| is_same) {
                Some(span) => span.range.end = end,
                None => {
                    self.out.spans.push(RichSpan { range: start..end, style: style.clone() });
                }
            }
        }
        self.written = styles.to_vec();
    }

    fn finish(mut self) -> RichText {
        // What was cut off in the middle of its block.
        self.end_code();
        if self.table.is_some() {
            self.end_table();
        }
        let whole = 0..self.out.text.len();
        self.out.slice(whole)
    }
}

/// The language of a block of code, where its first word is one.
fn language(kind: &CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(info) = kind else { return None };
    let word = |info: &CowStr<'_>| info.split([' ', ',']).next().map(str::to_owned);
    word(info).filter(|word| !word.is_empty() && word.chars().all(is_language))
}

fn is_language(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+-#._".contains(c)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(markdown: &str, expected: &Expect) {
        let rich = RichText::from_markdown(markdown);
        let mut drawn = format!("{}\n---\n", rich.text);
        for span in &rich.spans {
            drawn.push_str(&format!("{:?} {:?}\n", span.style, &rich.text[span.range.clone()]));
        }
        expected.assert_eq(&drawn);
    }

    #[test]
    fn markdown_becomes_text_with_styles() {
        check(
            "# Title\n\nSome **bold and *both* `code`** text with [a link](https://e.org/a?b=1).\n\n\
             - one\n- two\n  1. deep\n  2. deeper\n\n> quoted\n> lines\n\n~~gone~~",
            &expect![[r#"
                Title

                Some bold and both code text with a link.

                • one
                • two
                  1. deep
                  2. deeper

                quoted
                lines

                gone
                ---
                Bold "Title"
                Bold "bold and both "
                Italic "both"
                Code "code"
                Link("https://e.org/a?b=1") "a link"
                Quote "quoted\nlines"
                Strike "gone"
            "#]],
        );
    }

    #[test]
    fn code_and_tables_are_blocks() {
        check(
            "Look:\n\n```rust ignore\nfn main() {\n    *x\n}\n```\nthen\n\n| a | bcd |\n|---|---|\n| 12 | `3` |\n\n```\nnever closed",
            &expect![[r#"
                Look:

                fn main() {
                    *x
                }

                then

                a   bcd
                12  3

                never closed
                ---
                CodeBlock(Some("rust")) "fn main() {\n    *x\n}"
                CodeBlock(None) "a   bcd\n12  3"
                CodeBlock(None) "never closed"
            "#]],
        );
    }

    #[test]
    fn a_cell_can_be_as_long_as_it_likes() {
        let table = format!("| a | b |\n|---|---|\n| {} | 2 |", "x".repeat(70_000));
        let text = RichText::from_markdown(&table).text;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].len(), WIDEST_COLUMN + 3);
        assert_eq!(lines[1].len(), 70_003);
    }

    #[test]
    fn styles_that_touch_do_not_overlap() {
        check(
            "*x*[*y* z](https://a.b)",
            &expect![[r#"
                xy z
                ---
                Italic "x"
                Link("https://a.b") "y z"
                Italic "y"
            "#]],
        );
    }

    #[test]
    fn stray_marks_are_text() {
        check(
            "a * b_c_d <b>x</b> & 5 < 6 [not a link] **open\n\n<script>alert(1)</script>",
            &expect![[r#"
                a * b_c_d <b>x</b> & 5 < 6 [not a link] **open

                <script>alert(1)</script>
                ---
            "#]],
        );
        for blank in ["", " \n\n "] {
            assert_eq!(RichText::from_markdown(blank), RichText::default());
        }
    }
}
