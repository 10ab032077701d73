//! Takes the texts out of a request.

use std::collections::HashSet;
use std::sync::Arc;

use super::rows::{
    CandidateRow, ContentRow, DroppedRow, PartRow, PickRow, RowCounts, SentRow, TextRef, ToolRow,
};
use super::{ContextRecord, MessageRef, RecordBundle, VERSION};
use crate::catalog::FileNotice;
use crate::context::{DroppedEntry, OfferedTool, RequestContext};
use crate::description::ItemDescription;
use crate::item::{ContentSource, ItemId, Pick};
use crate::message::{KeptPick, Message, UserMessage};
use crate::page::{Part, PartContent};
use crate::text::{ContentHash, Text};

/// Shorter texts stand in the record itself: a hash would not be shorter.
const SHORT: usize = 64;
/// The same for leads. They may be longer, because most are made for one part
/// (a stamp and an instruction), and no store finds them twice.
const SHORT_LEAD: usize = 512;

impl RequestContext {
    /// What is to be kept of the request, before it is sent.
    pub fn record(&self) -> RecordBundle {
        let mut writer = RecordWriter::default();
        let record = ContextRecord {
            version: VERSION,
            model: self.model.clone(),
            day: self.day.clone(),
            tool_calls: self.tool_calls,
            notices: self.notices.iter().map(notice).collect(),
            available: self.available.clone(),
            removed: self.removed.clone(),
            tools: self.tools.iter().map(|tool| writer.tool(tool)).collect(),
            parts: self.parts.iter().map(|part| writer.part(part)).collect(),
            dropped: self.dropped.iter().map(dropped).collect(),
            found: self.found.iter().map(|pick| writer.candidate(pick)).collect(),
            candidates: self.candidates.iter().map(|pick| writer.candidate(pick)).collect(),
            alike: self.alike.clone(),
            descriptions: self.descriptions.iter().map(|entry| writer.described(entry)).collect(),
            mode: self.mode.clone(),
            tool_choice: self.tool_choice.clone(),
            sent: writer.sent(&self.sent),
            carry: self.carry.clone(),
            window: self.window,
            counted: self.counted,
            budget: self.budget,
            tokens: counts(self),
        };
        RecordBundle { record, texts: writer.texts, messages: writer.messages }
    }
}

/// Collects what the rows refer to.
#[derive(Default)]
struct RecordWriter {
    texts: Vec<Text>,
    messages: Vec<Arc<Message>>,
    known_texts: HashSet<ContentHash>,
    known_messages: HashSet<MessageRef>,
}

impl RecordWriter {
    fn text(&mut self, text: &Text) -> TextRef {
        if text.len() < SHORT { TextRef::Inline(text.clone()) } else { self.hashed(text) }
    }

    fn lead(&mut self, lead: &Text) -> Option<TextRef> {
        match lead.len() {
            0 => None,
            1..SHORT_LEAD => Some(TextRef::Inline(lead.clone())),
            _ => Some(self.hashed(lead)),
        }
    }

    fn hashed(&mut self, text: &Text) -> TextRef {
        let hash = text.hash();
        if self.known_texts.insert(hash) {
            self.texts.push(text.clone());
        }
        TextRef::Hash { hash }
    }

    fn message(&mut self, message: &Arc<Message>) -> MessageRef {
        let reference = MessageRef::to_message(message);
        if self.known_messages.insert(reference) {
            self.messages.push(Arc::clone(message));
        }
        reference
    }

    fn part(&mut self, part: &Part) -> PartRow {
        let what = match &part.content {
            PartContent::Text(text) => ContentRow::Text(self.text(text)),
            PartContent::Message(message) => ContentRow::Message { message: self.message(message) },
        };
        PartRow {
            at: part.layer,
            by: part.role,
            join: part.join,
            lead: self.lead(&part.lead),
            what,
            from: source(&part.source),
            item: part.item.clone(),
            why: part.reason.clone(),
        }
    }

    fn tool(&mut self, tool: &OfferedTool) -> ToolRow {
        let own = tool.spec.include;
        ToolRow {
            item: tool.item.clone(),
            schema: self.text(&tool.spec.schema),
            include: (own != tool.item.include).then_some(own),
            from: source(&tool.spec.source),
            why: tool.reason.clone(),
        }
    }

    fn candidate(&mut self, pick: &Pick) -> CandidateRow {
        CandidateRow {
            item: pick.item.clone(),
            scores: pick.scores,
            chunk: pick.best_chunk.as_deref().map(|chunk| self.text(&chunk.into())),
            put_right: pick.put_right.clone(),
        }
    }

    fn described(&mut self, entry: &ItemDescription) -> (ItemId, TextRef) {
        (entry.item.clone(), self.text(&entry.text))
    }

    fn sent(&mut self, sent: &Arc<Message>) -> SentRow {
        let nothing = UserMessage::default();
        let user = sent.as_user().unwrap_or(&nothing);
        SentRow {
            message: self.message(sent),
            stamp: user.stamp.clone(),
            speaker: user.speaker.clone(),
            framing: user.framing,
            picks: user.picks.iter().map(|pick| self.kept_pick(pick)).collect(),
        }
    }

    fn kept_pick(&mut self, pick: &KeptPick) -> PickRow {
        let text = pick.shown.text().map(|text| self.text(text));
        let line = pick.shown.line().map(|line| self.text(line));
        PickRow { item: pick.item.clone(), since: pick.since, text, line }
    }
}

/// Where something comes from; `None` for Recto itself. A path that is not
/// Unicode is kept as it is shown, since JSON has no other way to write it.
fn source(source: &ContentSource) -> Option<ContentSource> {
    match source {
        ContentSource::BuiltIn => None,
        ContentSource::File(path) if path.to_str().is_none() => {
            Some(ContentSource::file(path.to_string_lossy().as_ref()))
        }
        known => Some(known.clone()),
    }
}

fn notice(notice: &FileNotice) -> FileNotice {
    let source = source(&notice.source).unwrap_or(ContentSource::BuiltIn);
    FileNotice { source, ..notice.clone() }
}

fn dropped(dropped: &DroppedEntry) -> DroppedRow {
    let DroppedEntry { what, item, layer, reason, .. } = dropped.clone();
    DroppedRow { what, item, at: layer, why: reason }
}

fn counts(context: &RequestContext) -> RowCounts {
    RowCounts {
        parts: context.parts.iter().map(|part| part.tokens).collect(),
        tools: context.tools.iter().map(|tool| tool.tokens).collect(),
        dropped: context.dropped.iter().map(|dropped| (dropped.before, dropped.after)).collect(),
    }
}
