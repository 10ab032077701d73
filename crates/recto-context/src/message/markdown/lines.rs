//! The lines of a Markdown file, and which of them mean something: fences, headings of
//! messages, comments of Recto's.
//!
//! The writer asks here what a text could be taken for, and the reader takes it for
//! that and nothing else: both see the same lines.

use std::ops::Range;

use serde_json::Value;

use crate::message::json::json_problem;

/// The roles that a heading can name, as `## Role` and as they stand in JSON.
const ROLES: [(&str, &str); 5] = [
    ("User", "user"),
    ("Assistant", "assistant"),
    ("Tool", "tool"),
    ("Error", "error"),
    ("Approval", "approval"),
];

/// What parts the fields of a heading.
pub(super) const BETWEEN: &str = " · ";

/// What a comment of Recto's begins with.
pub(super) const COMMENT: &str = "<!-- recto ";

/// A text in lines, with its fences found.
pub(super) struct TranscriptLines<'a> {
    text: &'a str,
    /// Each without its line feed.
    lines: Vec<Range<usize>>,
    fences: Vec<TranscriptFence>,
    /// A fence that is never closed, which a viewer would draw to the end.
    pub(super) left_open: bool,
}

/// A fence that is closed: the lines that open and close it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TranscriptFence {
    pub(super) open: usize,
    pub(super) close: usize,
}

impl<'a> TranscriptLines<'a> {
    pub(super) fn split(text: &'a str) -> Self {
        let mut end = 0;
        let range = |line: &str| {
            let start = end;
            end = start + line.len() + 1;
            start..end - 1
        };
        let lines: Vec<_> = text.split('\n').map(range).collect();
        let (fences, left_open) = fences(text, &lines);
        TranscriptLines { text, lines, fences, left_open }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// A line, without what ends it.
    pub(super) fn get(&self, index: usize) -> &'a str {
        let line = self.lines.get(index).map_or("", |range| &self.text[range.clone()]);
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// Some lines as they stand there, without the line feed behind the last.
    pub(super) fn slice(&self, range: Range<usize>) -> &'a str {
        match (self.lines.get(range.start), range.end.checked_sub(1)) {
            (Some(first), Some(last)) if !range.is_empty() => {
                let end = self.lines.get(last).map_or(self.text.len(), |line| line.end);
                &self.text[first.start..end]
            }
            _ => "",
        }
    }

    /// The lines that stand in no fence, with their places.
    pub(super) fn outside(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let mut fences = self.fences.iter().peekable();
        (0..self.len()).filter_map(move |index| {
            while fences.next_if(|fence| fence.close < index).is_some() {}
            let inside = fences.peek().is_some_and(|fence| fence.open <= index);
            (!inside).then(|| (index, self.get(index)))
        })
    }

    /// The first fence within some lines.
    pub(super) fn fence_in(&self, range: &Range<usize>) -> Option<TranscriptFence> {
        let from = self.fences.partition_point(|fence| fence.open < range.start);
        self.fences.get(from).copied().filter(|fence| fence.close < range.end)
    }

    /// What stands in a fence.
    pub(super) fn fenced(&self, fence: TranscriptFence) -> &'a str {
        self.slice(fence.open + 1..fence.close)
    }

    /// The lines of a range without the blank ones around them.
    pub(super) fn trimmed(&self, range: &Range<usize>) -> Range<usize> {
        let is_blank = |index: &usize| self.get(*index).trim().is_empty();
        let start = range.clone().find(|index| !is_blank(index)).unwrap_or(range.end);
        let end = (start..range.end).rfind(|index| !is_blank(index)).map_or(start, |last| last + 1);
        start..end
    }

    /// Whether its lines end as they do on Windows.
    pub(super) fn has_carriage_returns(&self) -> bool {
        self.lines.len() > 1 && self.slice(0..1).ends_with('\r')
    }
}

/// Finds fences. What would close one is known for the rest of the text beforehand, so
/// that no number of fences left open makes this slow.
fn fences(text: &str, lines: &[Range<usize>]) -> (Vec<TranscriptFence>, bool) {
    let line = |index: usize| text[lines[index].clone()].trim_end();
    let mut longest = [0, 0];
    let mut longest_from: Vec<[usize; 2]> = (0..lines.len())
        .rev()
        .map(|index| {
            for (kind, longest) in FENCES.into_iter().zip(&mut longest) {
                *longest = (*longest).max(closing(line(index), kind));
            }
            longest
        })
        .collect();
    longest_from.reverse();
    let (mut found, mut left_open) = (Vec::new(), false);
    let mut index = 0;
    while index < lines.len() {
        let open = index;
        index += 1;
        let Some((kind, length)) = opening(line(open)) else { continue };
        let which = usize::from(kind == FENCES[1]);
        if longest_from.get(index).is_none_or(|longest| longest[which] < length) {
            left_open = true;
            continue;
        }
        while closing(line(index), kind) < length {
            index += 1;
        }
        found.push(TranscriptFence { open, close: index });
        index += 1;
    }
    (found, left_open)
}

const FENCES: [char; 2] = ['`', '~'];

/// The character and length of the fence that a line opens.
fn opening(line: &str) -> Option<(char, usize)> {
    let (kind, length, info) = run(line)?;
    (length >= 3 && !(kind == '`' && info.contains('`'))).then_some((kind, length))
}

/// How long a fence of this character a line closes; 0 if none.
fn closing(line: &str, kind: char) -> usize {
    match run(line) {
        Some((found, length, "")) if found == kind && length >= 3 => length,
        _ => 0,
    }
}

fn run(line: &str) -> Option<(char, usize, &str)> {
    let start = line.trim_start_matches(' ');
    let kind = start.chars().next().filter(|first| FENCES.contains(first))?;
    let rest = start.trim_start_matches(kind);
    (line.len() - start.len() <= 3).then(|| (kind, start.len() - rest.len(), rest.trim()))
}

/// The heading of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading<'a> {
    pub(super) role: &'static str,
    /// The tool whose result it is, or the person who speaks.
    pub(super) name: Option<&'a str>,
    pub(super) at: Option<&'a str>,
}

/// Reads `## Role`, with what stands behind it.
pub(super) fn heading(line: &str) -> Option<Heading<'_>> {
    let mut fields = line.strip_prefix("## ")?.trim_end().split(BETWEEN);
    let label = fields.next()?;
    let (_, role) = ROLES.into_iter().find(|(name, _)| *name == label)?;
    let mut heading = Heading { role, name: None, at: None };
    for field in fields {
        match is_time(field) {
            true => heading.at = Some(field),
            false if name_field(role).is_some() => heading.name = Some(field),
            false => {}
        }
    }
    Some(heading)
}

/// The field that the name in a heading of this role is for.
pub(super) fn name_field(role: &str) -> Option<&'static str> {
    match role {
        "tool" => Some("name"),
        "user" => Some("speaker"),
        _ => None,
    }
}

/// How a role is called in a heading.
pub(super) fn role_heading(role: &str) -> &str {
    ROLES.into_iter().find(|(_, name)| *name == role).map_or(role, |(label, _)| label)
}

/// Whether a text can be meant as a time: digits, and little else.
pub(super) fn is_time(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_digit() || " -:/.,+TZtzaAmMpPUC".contains(c);
    text.chars().all(fits) && text.bytes().filter(u8::is_ascii_digit).count() >= 3
}

/// A comment of Recto's.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comment {
    pub(super) kind: CommentKind,
    pub(super) fields: Value,
}

/// What a comment tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommentKind {
    Session,
    Message,
    /// A further text of a message.
    Text,
    Image,
    /// A file that came along.
    File,
    Opaque,
    Echo,
    Call,
    /// An exchange that was taken back.
    Retraction,
}

impl CommentKind {
    /// All kinds with their names, in the order of the variants.
    const NAMES: [(Self, &str); 9] = [
        (Self::Session, "session"),
        (Self::Message, "message"),
        (Self::Text, "text"),
        (Self::Image, "image"),
        (Self::File, "file"),
        (Self::Opaque, "opaque"),
        (Self::Echo, "echo"),
        (Self::Call, "call"),
        (Self::Retraction, "retraction"),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }
}

/// Reads a comment; what only looks a little like one is none, and what was one before
/// somebody broke it is a problem.
pub(super) fn comment(line: &str) -> Option<Result<Comment, String>> {
    let (kind, rest) = line.strip_prefix(COMMENT)?.split_once(' ')?;
    let (kind, _) = CommentKind::NAMES.into_iter().find(|(_, name)| *name == kind)?;
    if !rest.starts_with('{') {
        return None;
    }
    let fields = match rest.trim_end().strip_suffix("-->") {
        Some(json) => serde_json::from_str(json).map_err(|error| json_problem(&error)),
        None => Err("it does not end with `-->`".to_owned()),
    };
    let broken = |why: String| {
        format!(
            "the comment for Recto is broken ({why}); mend it, or delete it to lose what it says"
        )
    };
    Some(fields.map(|fields| Comment { kind, fields }).map_err(broken))
}

/// Whether a text can stand in a file as it is: none of its lines is one of the file's
/// own, all of it survives being trimmed, and no viewer draws into it what follows.
pub(super) fn stands_plainly(text: &str) -> bool {
    if text.is_empty() || text.trim() != text || text.contains('\r') {
        return false;
    }
    let lines = TranscriptLines::split(text);
    !lines.left_open
        && lines.outside().all(|(_, line)| heading(line).is_none() && !may_begin_html(line))
}

/// HTML can go on over empty lines, and a comment for Recto begins as such.
fn may_begin_html(line: &str) -> bool {
    let start = line.trim_start();
    let behind = start.strip_prefix('<').and_then(|rest| rest.chars().next());
    behind.is_some_and(|next| next.is_ascii_alphabetic() || "/!?".contains(next))
}

/// A fence that nothing in the text closes.
pub(in crate::message) fn fence_for(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    "`".repeat(runs.max().unwrap_or_default().max(2) + 1)
}
