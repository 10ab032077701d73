//! Markdown of models and people as HTML that can do nothing.
//!
//! Every tag in the output is one of the few that are written here; everything else is text and
//! is escaped. HTML in the source is text, too. Links lead to `http`, `https` and `mailto` alone,
//! and images become links: a page loads nothing from elsewhere.

use std::fmt::Write as _;

use maud::{Escaper, Markup, PreEscaped};
use pulldown_cmark::{
    Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd, TextMergeStream,
};

/// Renders a text.
pub(crate) fn render_markdown(source: &str) -> Markup {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = MarkdownWriter::default();
    // An address is whole: the parser ends a text at each sign that could have been Markdown.
    for event in TextMergeStream::new(Parser::new_ext(source, options)) {
        writer.write_event(event);
    }
    PreEscaped(writer.html)
}

/// The HTML of what was read so far.
#[derive(Debug, Default)]
struct MarkdownWriter {
    html: String,
    /// For each link that is open, whether it leads somewhere.
    links: Vec<LinkTarget>,
    /// Whether a block of code is open.
    in_code: bool,
    /// How the columns of the table are aligned, and which one is next.
    columns: Vec<Alignment>,
    column: usize,
    /// The tag of the table's cells.
    cell: &'static str,
}

/// Whether a link leads somewhere that a page may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkTarget {
    Safe,
    Unsafe,
}

impl MarkdownWriter {
    fn write_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(tag) => self.close(tag),
            Event::Text(text) if self.links.is_empty() && !self.in_code => self.write_linked(&text),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.escape(&text),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.escape(&text),
            Event::Code(text) => {
                self.html.push_str("<code>");
                self.escape(&text);
                self.html.push_str("</code>");
            }
            Event::FootnoteReference(name) => {
                self.escape("[");
                self.escape(&name);
                self.escape("]");
            }
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>"),
            Event::Rule => self.html.push_str("<hr>"),
            Event::TaskListMarker(done) => {
                let sign = if done { "☑" } else { "☐" };
                let _ = write!(self.html, "<span class=\"task\">{sign}</span> ");
            }
        }
    }

    /// Writes a text in which addresses of the web are links.
    fn write_linked(&mut self, mut text: &str) {
        while let Some((start, address)) = find_address(text) {
            self.escape(&text[..start]);
            self.open_link(address);
            self.escape(address);
            self.close(TagEnd::Link);
            text = &text[start + address.len()..];
        }
        self.escape(text);
    }

    fn escape(&mut self, text: &str) {
        // Writing into a string can't fail.
        let _ = Escaper::new(&mut self.html).write_str(text);
    }

    fn open(&mut self, tag: Tag<'_>) {
        match tag {
            // Each is laid out by its own first letter, in whichever direction that is written.
            Tag::Paragraph | Tag::HtmlBlock => self.html.push_str("<p dir=\"auto\">"),
            Tag::Heading { level, .. } => {
                let _ = write!(self.html, "<{} dir=\"auto\">", heading(level));
            }
            Tag::BlockQuote(_) => self.html.push_str("<blockquote>"),
            Tag::CodeBlock(kind) => self.open_code(&kind),
            Tag::List(Some(1)) => self.html.push_str("<ol dir=\"auto\">"),
            Tag::List(Some(start)) => {
                let _ = write!(self.html, "<ol dir=\"auto\" start=\"{start}\">");
            }
            Tag::List(None) => self.html.push_str("<ul dir=\"auto\">"),
            Tag::Item => self.html.push_str("<li>"),
            Tag::Table(columns) => {
                self.columns = columns;
                self.html.push_str("<div class=\"table\" tabindex=\"0\"><table>");
            }
            Tag::TableHead => self.open_row("th", "<thead><tr>"),
            Tag::TableRow => self.open_row("td", "<tr>"),
            Tag::TableCell => self.open_cell(),
            Tag::Emphasis => self.html.push_str("<em>"),
            Tag::Strong => self.html.push_str("<strong>"),
            Tag::Strikethrough => self.html.push_str("<del>"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.open_link(&dest_url),
            // Everything else is not switched on; its text stands where it would.
            _ => {}
        }
    }

    fn open_code(&mut self, kind: &CodeBlockKind<'_>) {
        self.in_code = true;
        self.html.push_str("<pre class=\"code\" tabindex=\"0\"");
        if let CodeBlockKind::Fenced(language) = kind
            && let Some(word) = language.split_whitespace().next()
        {
            self.html.push_str(" data-language=\"");
            self.escape(word);
            self.html.push('"');
        }
        self.html.push('>');
    }

    fn open_row(&mut self, cell: &'static str, row: &str) {
        self.cell = cell;
        self.column = 0;
        self.html.push_str(row);
    }

    fn open_cell(&mut self) {
        let is_right = self.columns.get(self.column) == Some(&Alignment::Right);
        let class = if is_right { " class=\"n\"" } else { "" };
        let _ = write!(self.html, "<{}{class}>", self.cell);
        self.column += 1;
    }

    fn open_link(&mut self, target: &str) {
        let safety = judge_link(target);
        self.links.push(safety);
        if safety == LinkTarget::Safe {
            self.html.push_str("<a href=\"");
            self.escape(target);
            self.html.push_str("\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">");
        }
    }

    fn close(&mut self, tag: TagEnd) {
        let end = match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => "</p>",
            TagEnd::Heading(level) => {
                let _ = write!(self.html, "</{}>", heading(level));
                ""
            }
            TagEnd::BlockQuote(_) => "</blockquote>",
            TagEnd::CodeBlock => {
                self.in_code = false;
                "</pre>"
            }
            TagEnd::List(true) => "</ol>",
            TagEnd::List(false) => "</ul>",
            TagEnd::Item => "</li>",
            TagEnd::Table => "</tbody></table></div>",
            TagEnd::TableHead => "</tr></thead><tbody>",
            TagEnd::TableRow => "</tr>",
            TagEnd::TableCell => {
                let _ = write!(self.html, "</{}>", self.cell);
                ""
            }
            TagEnd::Emphasis => "</em>",
            TagEnd::Strong => "</strong>",
            TagEnd::Strikethrough => "</del>",
            TagEnd::Link | TagEnd::Image => match self.links.pop() {
                Some(LinkTarget::Safe) => "</a>",
                _ => "",
            },
            _ => "",
        };
        self.html.push_str(end);
    }
}

/// Headings of a reply stand below those of the page.
fn heading(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => "h3",
        _ => "h4",
    }
}

/// The first address of the web in a text, with where it begins. What ends a sentence behind it is
/// none of it, nor is the bracket of one that stands in brackets.
fn find_address(text: &str) -> Option<(usize, &str)> {
    let begins = |(at, _): &(usize, &str)| {
        !text[..*at].chars().next_back().is_some_and(char::is_alphanumeric)
    };
    let mut schemes = text.match_indices("http").filter(begins);
    schemes.find_map(|(at, _)| {
        let rest = &text[at..];
        let host = rest.strip_prefix("https://").or_else(|| rest.strip_prefix("http://"))?;
        let is_end = |c: char| c.is_whitespace() || c.is_control() || "<>\"`|".contains(c);
        let length = rest.find(is_end).unwrap_or(rest.len());
        let has_host = host.starts_with(|c: char| c.is_alphanumeric() || c == '[');
        has_host.then(|| (at, trim_address(&rest[..length])))
    })
}

fn trim_address(mut address: &str) -> &str {
    loop {
        let is_opened = address.matches('(').count() >= address.matches(')').count();
        let is_sign = |c: char| ".,;:!?'*_~".contains(c) || c == ')' && !is_opened;
        match address.strip_suffix(is_sign) {
            Some(shorter) => address = shorter,
            None => return address,
        }
    }
}

/// Whether a page may lead there: to the web, or to a letter.
fn judge_link(target: &str) -> LinkTarget {
    let scheme = target.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        Some("http" | "https" | "mailto") => LinkTarget::Safe,
        _ => LinkTarget::Unsafe,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(source: &str, expected: &Expect) {
        expected.assert_eq(&render_markdown(source).into_string());
    }

    #[test]
    fn what_people_write_becomes_what_they_mean() {
        check(
            "# Title\n\nA *word*, **two**, `code <b>`.\n\n1. one\n2. two\n\n- [x] done\n",
            &expect![[
                r#"<h3 dir="auto">Title</h3><p dir="auto">A <em>word</em>, <strong>two</strong>, <code>code &lt;b&gt;</code>.</p><ol dir="auto"><li>one</li><li>two</li></ol><ul dir="auto"><li><span class="task">☑</span> done</li></ul>"#
            ]],
        );
        check(
            "```rust\nlet x = \"<&>\";\n```",
            &expect![[r#"
            <pre class="code" tabindex="0" data-language="rust">let x = &quot;&lt;&amp;&gt;&quot;;
            </pre>"#]],
        );
        check(
            "| a | b |\n|---|--:|\n| 1 | 2 |\n",
            &expect![[
                r#"<div class="table" tabindex="0"><table><thead><tr><th>a</th><th class="n">b</th></tr></thead><tbody><tr><td>1</td><td class="n">2</td></tr></tbody></table></div>"#
            ]],
        );
    }

    #[test]
    fn an_address_is_a_link_as_it_stands() {
        let link = |address: &str| {
            format!(
                "<a href=\"{address}\" rel=\"noopener noreferrer nofollow\" \
                 target=\"_blank\">{address}</a>"
            )
        };
        let check = |source: &str, expected: &str| {
            let drawn = render_markdown(source).into_string();
            assert_eq!(drawn, format!("<p dir=\"auto\">{expected}</p>"));
        };
        let (plain, wiki) = (link("https://a.example/b_c_d"), link("http://b.example/x_(y)"));
        check("See https://a.example/b_c_d.", &format!("See {plain}."));
        check("(http://b.example/x_(y)), or", &format!("({wiki}), or"));
        check("**https://a.example/b_c_d**!", &format!("<strong>{plain}</strong>!"));
        let none = "xhttps://a.example https:// http";
        check(
            &format!("`https://a.example` {none}"),
            &format!("<code>https://a.example</code> {none}"),
        );
        check("<https://a.example/b_c_d>", &plain);
        check("<b title=https://a.example>", "&lt;b title=https://a.example&gt;");
    }

    /// Promise: `page-text-stays-text`
    #[test]
    fn nothing_of_it_can_run_or_load_anything() {
        check(
            "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>",
            &expect![[r#"
                <p dir="auto">&lt;script&gt;alert(1)&lt;/script&gt;
                </p><p dir="auto">&lt;img src=x onerror=alert(1)&gt;</p>"#]],
        );
        check(
            "[a](javascript:alert(1)) [b](JaVaScRiPt:x) [c](/local) [d](data:text/html,x)",
            &expect![[r#"<p dir="auto">a b c d</p>"#]],
        );
        check(
            "[x](https://a.example/\"onmouseover=alert(1)) ![i](https://b.example/i.png)",
            &expect![[
                r#"<p dir="auto"><a href="https://a.example/&quot;onmouseover=alert(1)" rel="noopener noreferrer nofollow" target="_blank">x</a> <a href="https://b.example/i.png" rel="noopener noreferrer nofollow" target="_blank">i</a></p>"#
            ]],
        );
        check(
            "```\"><script>\nx\n```",
            &expect![[r#"
            <pre class="code" tabindex="0" data-language="&quot;&gt;&lt;script&gt;">x
            </pre>"#]],
        );
        check(
            "[a]: javascript:alert(1)\n\n[a] <javascript:alert(1)> <https://c.example>",
            &expect![[
                r#"<p dir="auto">a javascript:alert(1) <a href="https://c.example" rel="noopener noreferrer nofollow" target="_blank">https://c.example</a></p>"#
            ]],
        );
    }
}
