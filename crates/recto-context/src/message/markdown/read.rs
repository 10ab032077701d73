//! Markdown into messages.
//!
//! A file is cut into drafts, one for each message: its heading, its comment, and the
//! blocks behind it. A draft becomes the JSON of a message, and the reader of histories
//! does the rest, so that both forms of a file are read with the same leniency.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::lines::{
    Comment, CommentKind, Heading, TranscriptFence, TranscriptLines, comment, heading, name_field,
};
use super::write::{RETRACTED, TextForm, hash};
use super::{FORMAT, MarkdownMessage, MarkdownRetraction, MarkdownSession, VERSION, foreign};
use crate::message::{HistoryProblem, MessageId, read_jsonl};

/// Reads a conversation: one that Recto wrote, one that a person then changed, or one of
/// other programs. All that can't be read is reported at once.
pub fn from_markdown(text: &str) -> Result<MarkdownSession, Vec<HistoryProblem>> {
    let lines = TranscriptLines::split(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut reader = TranscriptReader::new(&lines);
    let marks = marks(&lines, &mut reader.problems);
    if !marks.iter().any(|(_, mark)| matches!(mark, TranscriptMark::Comment(_))) {
        foreign::read_foreign(&mut reader);
    } else {
        let drafts = drafts(&mut reader, marks);
        drafts.into_iter().for_each(|draft| draft.finish(&mut reader));
    }
    reader.finish()
}

/// What has been read so far.
pub(super) struct TranscriptReader<'a> {
    pub(super) lines: &'a TranscriptLines<'a>,
    session: Option<Value>,
    pub(super) messages: Vec<ParsedMessage>,
    retractions: Vec<MarkdownRetraction>,
    notices: Vec<HistoryProblem>,
    problems: Vec<HistoryProblem>,
}

/// A message as JSON, and what JSON does not say of it.
pub(super) struct ParsedMessage {
    /// The line at which it begins.
    pub(super) line: usize,
    pub(super) json: Value,
    pub(super) at: Option<String>,
    pub(super) untouched: bool,
}

impl<'a> TranscriptReader<'a> {
    fn new(lines: &'a TranscriptLines<'a>) -> Self {
        TranscriptReader {
            lines,
            session: None,
            messages: Vec::new(),
            retractions: Vec::new(),
            notices: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Something is left out.
    pub(super) fn notice(&mut self, index: usize, what: &str) {
        self.notices.push(HistoryProblem { line: index + 1, problem: what.to_owned() });
    }

    pub(super) fn problem(&mut self, index: usize, what: &str) {
        self.problems.push(HistoryProblem { line: index + 1, problem: what.to_owned() });
    }

    /// A text that nothing is known of, with the line ends of the text and not of the file.
    pub(super) fn text(&self, text: &str) -> String {
        match self.lines.has_carriage_returns() {
            true => text.trim().replace("\r\n", "\n"),
            false => text.trim().to_owned(),
        }
    }

    fn finish(mut self) -> Result<MarkdownSession, Vec<HistoryProblem>> {
        let history: String =
            self.messages.iter().map(|found| format!("{}\n", found.json)).collect();
        let messages = read_jsonl(&history).unwrap_or_else(|problems| {
            for HistoryProblem { line, problem } in problems {
                let at = self.messages.get(line - 1).map_or(0, |found| found.line);
                self.problem(at, &problem);
            }
            Vec::new()
        });
        if !self.problems.is_empty() {
            self.problems.sort_by_key(|problem| problem.line);
            return Err(self.problems);
        }
        let found = self.messages.into_iter().zip(messages);
        let messages = found.map(|(ParsedMessage { json, at, untouched, .. }, message)| {
            MarkdownMessage { message, written: json["id"].as_u64().map(MessageId), at, untouched }
        });
        let messages = messages.collect();
        Ok(MarkdownSession {
            session: self.session,
            messages,
            retractions: self.retractions,
            notices: self.notices,
        })
    }
}

enum TranscriptMark<'a> {
    Heading(Heading<'a>),
    Comment(Comment),
}

/// The lines that are the file's own.
fn marks<'a>(
    lines: &TranscriptLines<'a>,
    problems: &mut Vec<HistoryProblem>,
) -> Vec<(usize, TranscriptMark<'a>)> {
    let mut marks = Vec::new();
    for (index, line) in lines.outside() {
        match comment(line) {
            Some(Ok(comment)) => marks.push((index, TranscriptMark::Comment(comment))),
            Some(Err(problem)) => problems.push(HistoryProblem { line: index + 1, problem }),
            None => {
                let heading = heading(line).map(TranscriptMark::Heading);
                marks.extend(heading.map(|heading| (index, heading)));
            }
        }
    }
    marks
}

/// A message in the making.
struct MessageDraft<'a> {
    line: usize,
    heading: Option<Heading<'a>>,
    /// What its comment says.
    fields: Option<Map<String, Value>>,
    /// What stands behind the comment, up to the next.
    first: Range<usize>,
    blocks: Vec<CommentedBlock>,
}

/// A part of a message that has a comment of its own.
struct CommentedBlock {
    line: usize,
    comment: Comment,
    /// What stands behind its comment.
    range: Range<usize>,
}

fn drafts<'a>(
    reader: &mut TranscriptReader<'_>,
    marks: Vec<(usize, TranscriptMark<'a>)>,
) -> Vec<MessageDraft<'a>> {
    let lines = reader.lines;
    let mut drafts: Vec<MessageDraft<'a>> = Vec::new();
    let places: Vec<usize> = marks.iter().map(|(index, _)| *index).collect();
    let ends = places.into_iter().skip(1).chain([lines.len()]);
    for ((index, mark), end) in marks.into_iter().zip(ends) {
        let range = index + 1..end;
        let is_blank = |range: &Range<usize>| lines.trimmed(range).is_empty();
        let draft = |heading, fields| MessageDraft {
            line: index,
            heading,
            fields,
            first: range.clone(),
            blocks: Vec::new(),
        };
        match mark {
            TranscriptMark::Heading(heading) => drafts.push(draft(Some(heading), None)),
            TranscriptMark::Comment(Comment { kind: CommentKind::Session, fields }) => {
                session(reader, index, &fields);
            }
            TranscriptMark::Comment(Comment { kind: CommentKind::Retraction, fields }) => {
                retraction(reader, index, &fields, &range);
            }
            TranscriptMark::Comment(Comment { kind: CommentKind::Message, fields }) => {
                let Value::Object(fields) = fields else { continue };
                // The heading right above is this message's own.
                let is_open = |last: &&mut MessageDraft<'_>| {
                    last.fields.is_none() && last.heading.is_some() && is_blank(&last.first)
                };
                match drafts.last_mut().filter(is_open) {
                    Some(last) => (last.fields, last.first) = (Some(fields), range),
                    None => drafts.push(draft(None, Some(fields))),
                }
            }
            TranscriptMark::Comment(comment) => match drafts.last_mut() {
                Some(last) => last.blocks.push(CommentedBlock { line: index, comment, range }),
                None => reader.problem(index, "this part belongs to no message"),
            },
        }
    }
    drafts
}

/// Takes in which messages were taken back. The line behind it is for people.
fn retraction(
    reader: &mut TranscriptReader<'_>,
    index: usize,
    fields: &Value,
    range: &Range<usize>,
) {
    let behind = reader.lines.trimmed(range);
    let is_own = behind.len() == 1 && reader.lines.get(behind.start).starts_with(RETRACTED);
    if !behind.is_empty() && !is_own {
        reader.notice(behind.start, "a text behind what was taken back is left out");
    }
    let number = |field: &str| fields[field].as_u64().map(MessageId);
    let text = |field: &str| fields[field].as_str().unwrap_or_default().to_owned();
    match (number("first"), number("last")) {
        (Some(first), Some(last)) => reader.retractions.push(MarkdownRetraction {
            first,
            last,
            reason: text("reason"),
            at: text("at"),
        }),
        _ => reader.notice(index, "it does not say which messages were taken back"),
    }
}

fn session(reader: &mut TranscriptReader<'_>, index: usize, fields: &Value) {
    if fields["format"] != FORMAT || fields["version"] != VERSION {
        let version = &fields["version"];
        reader.problem(index, &format!("it has version {version}; a newer Recto wrote it"));
    } else if reader.session.is_none() {
        reader.session = Some(fields["session"].clone());
    } else {
        reader.notice(index, "a second session in the same file is taken for more of the first");
    }
}

impl MessageDraft<'_> {
    fn finish(self, reader: &mut TranscriptReader<'_>) {
        let written = self.fields.is_some();
        let mut fields = self.fields.unwrap_or_default();
        let mut content = DraftContent { untouched: written, ..DraftContent::default() };
        let hashes = TextForm::ALL.map(|form| (form, fields.remove(form.name())));
        match hashes.iter().find_map(|(form, hash)| Some((*form, hash.as_ref()?.as_str()?))) {
            Some((form, hash)) => content.text(reader, form, hash, &self.first),
            None => content.more(reader, &self.first),
        }
        self.blocks.iter().for_each(|block| content.block(reader, block));
        if !written && content.is_empty() {
            return reader.notice(self.line, "a message without a text is left out");
        }
        let mut at = fields.remove("at").and_then(|at| at.as_str().map(str::to_owned));
        if let Some(heading) = self.heading {
            // What people see is what holds.
            content.untouched &= fields.get("role").is_some_and(|role| role == heading.role);
            fields.insert("role".to_owned(), heading.role.into());
            at = at.or_else(|| heading.at.map(str::to_owned));
            // Who spoke is told by the comment, where there is one.
            let field = name_field(heading.role).filter(|field| !written || *field == "name");
            if let (Some(field), Some(name)) = (field, heading.name) {
                fields.entry(field).or_insert_with(|| name.into());
            }
        }
        let untouched = content.untouched;
        content.into_fields(&mut fields);
        reader.messages.push(ParsedMessage { line: self.line, json: fields.into(), at, untouched });
    }
}

/// What a message says.
#[derive(Default)]
struct DraftContent {
    parts: Vec<Value>,
    calls: Vec<Value>,
    /// Nobody changed it since Recto wrote it.
    untouched: bool,
}

impl DraftContent {
    fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.calls.is_empty()
    }

    fn push_text(&mut self, text: &str) {
        self.parts.push(json!({"type": "text", "text": text}));
    }

    /// A text that Recto wrote.
    fn text(
        &mut self,
        reader: &TranscriptReader<'_>,
        form: TextForm,
        hash: &str,
        range: &Range<usize>,
    ) {
        let lines = reader.lines;
        let range = lines.trimmed(range);
        let is_whole =
            |fence: &TranscriptFence| fence.open == range.start && fence.close + 1 == range.end;
        let fence = lines.fence_in(&range).filter(is_whole).filter(|_| form == TextForm::Fenced);
        let text = match fence {
            Some(fence) => lines.fenced(fence),
            None => lines.slice(range.clone()).trim(),
        };
        if let Some(original) = original(text, hash) {
            return self.push_text(&original);
        }
        self.untouched = false;
        match fence {
            Some(_) if lines.has_carriage_returns() => self.push_text(&with_line_feeds(text)),
            Some(_) => self.push_text(text),
            // Whoever deletes a text wants it gone.
            None if range.is_empty() => {}
            None => self.push_text(&reader.text(text)),
        }
    }

    /// Lines at a place where Recto wrote nothing.
    fn more(&mut self, reader: &TranscriptReader<'_>, range: &Range<usize>) {
        let text = reader.text(reader.lines.slice(range.clone()));
        if !text.is_empty() {
            self.untouched = false;
            self.push_text(&text);
        }
    }

    fn block(&mut self, reader: &mut TranscriptReader<'_>, block: &CommentedBlock) {
        let Comment { kind, fields } = &block.comment;
        match kind {
            CommentKind::Text => {
                let hash = |form: TextForm| Some((form, fields[form.name()].as_str()?));
                let (form, hash) =
                    TextForm::ALL.into_iter().find_map(hash).unwrap_or((TextForm::Plain, ""));
                self.text(reader, form, hash, &block.range);
            }
            CommentKind::Image => self.image(reader, block),
            CommentKind::File => self.file(reader, block),
            CommentKind::Call => self.call(reader, block),
            _ => {
                let mut part = fields.clone();
                part["type"] = kind.name().into();
                self.parts.push(part);
                self.more(reader, &block.range);
            }
        }
    }

    fn image(&mut self, reader: &mut TranscriptReader<'_>, block: &CommentedBlock) {
        let fields = &block.comment.fields;
        let mut rest = reader.lines.trimmed(&block.range);
        let data = match fields["data"].as_str() {
            Some(data) => Some(data),
            // Whoever deletes an image wants it gone.
            None if rest.is_empty() => {
                self.untouched = false;
                return;
            }
            None => {
                let line = reader.lines.get(rest.start).trim_end();
                rest.start += 1;
                let url = line.split_once("](data:").and_then(|(_, url)| url.strip_suffix(')'));
                url.and_then(|url| url.split_once(";base64,")).map(|(_, data)| data)
            }
        };
        let Some(data) = data else {
            return reader.problem(block.line, "the image behind this comment can't be read");
        };
        let media_type = &fields["media_type"];
        let mut part = json!({"type": "image", "media_type": media_type, "data": data});
        if let Some(name) = fields.get("name") {
            part["name"] = name.clone();
        }
        self.parts.push(part);
        self.more(reader, &rest);
    }

    /// A file is a text with a name.
    fn file(&mut self, reader: &TranscriptReader<'_>, block: &CommentedBlock) {
        let fields = &block.comment.fields;
        let (at, hash) = (self.parts.len(), fields[TextForm::Fenced.name()].as_str());
        self.text(reader, TextForm::Fenced, hash.unwrap_or_default(), &block.range);
        if let Some(part) = self.parts.get_mut(at) {
            part["type"] = CommentKind::File.name().into();
            part["name"] = fields["name"].clone();
        }
    }

    fn call(&mut self, reader: &mut TranscriptReader<'_>, block: &CommentedBlock) {
        let Some(fence) = reader.lines.fence_in(&block.range) else {
            let what = "the arguments of this call are not there: they stand between ``` and ```";
            return reader.problem(block.line, what);
        };
        let mut call = block.comment.fields.clone();
        let arguments = reader.lines.fenced(fence);
        let hash = call["arguments"].as_str().unwrap_or_default();
        let original = original(arguments, hash);
        self.untouched &= original.is_some();
        call["arguments"] = original.unwrap_or_else(|| arguments.to_owned()).into();
        self.calls.push(call);
        let rest = reader.lines.trimmed(&(fence.close + 1..block.range.end));
        if !rest.is_empty() {
            reader.notice(rest.start, "a text behind a call belongs nowhere and is left out");
        }
    }

    fn into_fields(mut self, fields: &mut Map<String, Value>) {
        if !self.untouched {
            // An echo says what the text said, in tokens: it no longer does.
            self.parts.retain(|part| part["type"] != CommentKind::Echo.name());
        }
        fields.insert("content".to_owned(), self.parts.into());
        if !self.calls.is_empty() {
            fields.insert("tool_calls".to_owned(), self.calls.into());
        }
    }
}

/// The text that Recto wrote, also where a program changed nothing but its line ends.
fn original(text: &str, expected: &str) -> Option<String> {
    if hash(text) == expected {
        return Some(text.to_owned());
    }
    let changed = with_line_feeds(text);
    (hash(&changed) == expected).then_some(changed)
}

fn with_line_feeds(text: &str) -> String {
    let text = text.strip_suffix('\r').unwrap_or(text);
    text.replace("\r\n", "\n")
}
