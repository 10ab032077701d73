//! What stands in a file of memories and is none: front matter, and comments.
//!
//! Whatever is doubtful is text, because what is hidden is not remembered: an opening
//! without its end hides nothing, and a comment within a line of text belongs to that.

use super::{FENCE_LINES, FenceEnd, MemoryLine, end};

const OPENING: &str = "<!--";
const CLOSING: &str = "-->";

/// How many lines the front matter has; 0 for none. It is between two lines of `---`,
/// and holds settings: two rules with memories between them are none.
pub(super) fn front_matter(lines: &[MemoryLine<'_>]) -> usize {
    let is_border = |line: &MemoryLine<'_>| line.text.trim_end() == "---";
    if !lines.first().is_some_and(is_border) {
        return 0;
    }
    let (mut has_setting, mut may_list) = (false, false);
    for (at, line) in lines.iter().enumerate().take(FENCE_LINES).skip(1) {
        let text = line.text.trim_end();
        if is_border(line) {
            return if has_setting { at + 1 } else { 0 };
        }
        let is_item = text == "-" || text.starts_with("- ");
        if end(text) == Some(FenceEnd::Dated) {
            return 0;
        } else if let Some(value) = setting(text) {
            has_setting = true;
            may_list = value.is_empty();
        } else if is_item && may_list || text.is_empty() || text.starts_with('#') {
            // A list may stand right below its name.
        } else if !(has_setting && text.starts_with([' ', '\t'])) {
            return 0;
        }
    }
    0
}

/// The value of `name: value`.
fn setting(text: &str) -> Option<&str> {
    let (name, value) = text.split_once(':')?;
    let belongs = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '"' | '\'');
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '"' | '\''))
        && name.chars().all(belongs)
        && name.split(' ').count() <= 3;
    let is_apart = value.is_empty() || value.starts_with([' ', '\t']);
    (is_name && is_apart).then(|| value.trim())
}

/// Whether a text is nothing but comments.
pub(crate) fn is_comment(text: &str) -> bool {
    kind(text) == CommentLine::Whole
}

/// Where comments can end. Found once for all of them, when the first begins, so that
/// a file of nothing but beginnings is not searched from each of them.
#[derive(Default)]
pub(super) struct Comments {
    ends: Option<Vec<(usize, Edge)>>,
}

/// What a line is to a comment that began above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edge {
    /// It has the end, and nothing but comments behind that.
    Closes,
    /// It begins another, or goes on behind the end: the first one was never closed.
    Breaks,
}

impl Comments {
    /// How many lines the comment has that begins at this line.
    pub(super) fn block(&mut self, lines: &[MemoryLine<'_>], at: usize) -> Option<usize> {
        match kind(lines[at].text) {
            CommentLine::Text => return None,
            CommentLine::Whole => return Some(1),
            CommentLine::Open => {}
        }
        let ends = self.ends.get_or_insert_with(|| {
            let edges = lines.iter().enumerate();
            edges.filter_map(|(index, line)| Some((index, edge(line.text)?))).collect()
        });
        match ends.get(ends.partition_point(|(index, _)| *index <= at)) {
            Some((index, Edge::Closes)) => Some(index + 1 - at),
            Some((_, Edge::Breaks)) | None => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommentLine {
    /// There is something else than comments.
    Text,
    /// There are comments, and nothing else.
    Whole,
    /// The last comment has no end here.
    Open,
}

fn kind(text: &str) -> CommentLine {
    let mut rest = text.trim();
    loop {
        let Some(inner) = rest.strip_prefix(OPENING) else { return CommentLine::Text };
        let Some((_, behind)) = inner.split_once(CLOSING) else { return CommentLine::Open };
        rest = behind.trim_start();
        if rest.is_empty() {
            return CommentLine::Whole;
        }
    }
}

fn edge(text: &str) -> Option<Edge> {
    if text.trim_start().starts_with(OPENING) {
        return Some(Edge::Breaks);
    }
    let (_, behind) = text.split_once(CLOSING)?;
    let ends = behind.trim().is_empty() || is_comment(behind);
    Some(if ends { Edge::Closes } else { Edge::Breaks })
}
