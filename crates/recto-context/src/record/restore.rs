//! Puts the texts back into a request, and checks each.

use std::sync::Arc;

use super::rows::{
    CandidateRow, ContentRow, DroppedRow, PartRow, PickRow, SentRow, TextRef, ToolRow,
};
use super::{ContentRef, ContextRecord, MessageRef, RecordContents, RestoreError, check_version};
use crate::catalog::ToolSpec;
use crate::context::{DroppedEntry, OfferedTool, RequestContext};
use crate::description::ItemDescription;
use crate::item::{ContentSource, ItemId, ItemKind, Pick};
use crate::message::{KeptPick, Message, MessageBody, PickDisplay, UserMessage};
use crate::page::{Part, PartContent, render_messages};
use crate::text::Text;
use crate::tokens::Tokens;

impl ContextRecord {
    /// The request, made again from its parts alone. [`ContextRecord::text_hashes`] and
    /// [`ContextRecord::message_refs`] say what `contents` must hold.
    pub fn restore(&self, contents: &RecordContents) -> Result<RequestContext, RestoreError> {
        check_version(self.version)?;
        self.check_rows()?;
        let sent = contents.sent(&self.sent)?;
        let message = |reference: MessageRef| match reference == self.sent.message {
            // The record holds the message of the turn in full.
            true => Ok(&sent),
            false => contents.message(reference),
        };
        let parts = self.parts.iter().zip(&self.tokens.parts);
        let parts = parts.map(|(row, tokens)| contents.part(row, *tokens, message));
        let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
        let tools = self.tools.iter().zip(&self.tokens.tools);
        let dropped = self.dropped.iter().zip(&self.tokens.dropped);
        Ok(RequestContext {
            model: self.model.clone(),
            day: self.day.clone(),
            mode: self.mode.clone(),
            window: self.window,
            budget: self.budget,
            counted: self.counted,
            messages: render_messages(&parts),
            parts,
            tools: tools
                .map(|(row, tokens)| contents.tool(row, *tokens))
                .collect::<Result<_, _>>()?,
            tool_calls: self.tool_calls,
            tool_choice: self.tool_choice.clone(),
            dropped: dropped.map(|(row, tokens)| restore_dropped(row, *tokens)).collect(),
            available: self.available.clone(),
            removed: self.removed.clone(),
            found: contents.candidates(&self.found)?,
            candidates: contents.candidates(&self.candidates)?,
            alike: self.alike.clone(),
            descriptions: contents.descriptions(&self.descriptions)?,
            notices: self.notices.clone(),
            carry: self.carry.clone(),
            sent,
        })
    }

    /// What no record of Recto's lacks, and a damaged one might.
    fn check_rows(&self) -> Result<(), RestoreError> {
        let tokens = &self.tokens;
        let counted = tokens.parts.len() == self.parts.len()
            && tokens.tools.len() == self.tools.len()
            && tokens.dropped.len() == self.dropped.len();
        if !counted {
            return Err(damaged("it has more rows than counts, or fewer"));
        }
        if !self.parts.is_sorted_by_key(|part| part.at) {
            return Err(damaged("its parts are not in the order of the layers"));
        }
        Ok(())
    }
}

fn damaged(problem: &str) -> RestoreError {
    RestoreError::Unreadable { problem: problem.to_owned() }
}

impl RecordContents {
    fn part<'a>(
        &self,
        row: &PartRow,
        tokens: Tokens,
        message: impl Fn(MessageRef) -> Result<&'a Arc<Message>, RestoreError>,
    ) -> Result<Part, RestoreError> {
        let content = match &row.what {
            ContentRow::Text(text) => PartContent::Text(self.text(text)?),
            ContentRow::Message { message: of } => PartContent::Message(Arc::clone(message(*of)?)),
        };
        let lead = row.lead.as_ref().map(|lead| self.text(lead)).transpose()?;
        Ok(Part {
            layer: row.at,
            role: row.by,
            join: row.join,
            lead: lead.unwrap_or_default(),
            content,
            tokens,
            source: source(&row.from),
            item: row.item.clone(),
            reason: row.why.clone(),
        })
    }

    fn text(&self, text: &TextRef) -> Result<Text, RestoreError> {
        let hash = match text {
            TextRef::Inline(text) => return Ok(text.clone()),
            TextRef::Hash { hash } => *hash,
        };
        let expected = ContentRef::Text(hash);
        let found = self.texts.get(&hash).ok_or(RestoreError::Missing { what: expected })?;
        if found.hash() != hash {
            let found = ContentRef::Text(found.hash());
            return Err(RestoreError::Changed { expected, found });
        }
        Ok(found.clone())
    }

    fn message(&self, reference: MessageRef) -> Result<&Arc<Message>, RestoreError> {
        let expected = ContentRef::Message(reference);
        let found = self.messages.get(&reference);
        let message = found.ok_or(RestoreError::Missing { what: expected })?;
        match MessageRef::to_message(message) {
            found if found == reference => Ok(message),
            other => Err(RestoreError::Changed { expected, found: ContentRef::Message(other) }),
        }
    }

    /// The message of the turn, as it was sent.
    fn sent(&self, row: &SentRow) -> Result<Arc<Message>, RestoreError> {
        let message = self.message(row.message)?;
        let no_user = || damaged("its turn was not opened by a person's message");
        let user = message.as_user().ok_or_else(no_user)?;
        let picks = row.picks.iter().map(|pick| self.kept_pick(pick));
        let body = MessageBody::User(UserMessage {
            content: user.content.clone(),
            stamp: row.stamp.clone(),
            speaker: row.speaker.clone(),
            framing: row.framing,
            picks: picks.collect::<Result<_, _>>()?,
        });
        Ok(Arc::new(Message { id: message.id, body }))
    }

    fn kept_pick(&self, row: &PickRow) -> Result<KeptPick, RestoreError> {
        let text = row.text.as_ref().map(|text| self.text(text)).transpose()?;
        let line = row.line.as_ref().map(|line| self.text(line)).transpose()?;
        let shown = PickDisplay::from_parts(text, line);
        Ok(KeptPick { item: row.item.clone(), since: row.since, shown })
    }

    fn tool(&self, row: &ToolRow, tokens: Tokens) -> Result<OfferedTool, RestoreError> {
        let schema = self.text(&row.schema)?;
        let spec = ToolSpec::from_schema(row.item.id.clone(), schema)
            .ok_or_else(|| damaged("the schema of a tool is none"))?;
        let include = row.include.unwrap_or(row.item.include);
        let spec = ToolSpec { include, source: source(&row.from), ..spec };
        Ok(OfferedTool { spec, item: row.item.clone(), tokens, reason: row.why.clone() })
    }

    fn descriptions(
        &self,
        rows: &[(ItemId, TextRef)],
    ) -> Result<Vec<ItemDescription>, RestoreError> {
        let entry = |(item, text): &(ItemId, TextRef)| {
            Ok(ItemDescription { item: item.clone(), text: self.text(text)? })
        };
        rows.iter().map(entry).collect()
    }

    fn candidates(&self, rows: &[CandidateRow]) -> Result<Vec<Pick>, RestoreError> {
        let candidate = |row: &CandidateRow| {
            let chunk = row.chunk.as_ref().map(|chunk| self.text(chunk)).transpose()?;
            let best_chunk = chunk.map(|chunk| chunk.as_str().into());
            let put_right = row.put_right.clone();
            Ok(Pick { item: row.item.clone(), scores: row.scores, best_chunk, put_right })
        };
        rows.iter().map(candidate).collect()
    }
}

fn restore_dropped(row: &DroppedRow, (before, after): (Tokens, Tokens)) -> DroppedEntry {
    let DroppedRow { what, item, at, why } = row.clone();
    let item = item.or_else(|| named_item(&what));
    DroppedEntry { what, item, layer: at, before, after, reason: why }
}

/// The item that an older record names by its words alone.
fn named_item(what: &str) -> Option<ItemId> {
    let what = what.strip_prefix("body of ").unwrap_or(what);
    let (kind, name) = what.split_once(' ')?;
    let kind = ItemKind::ALL.into_iter().find(|known| known.name() == kind)?;
    match (kind, name.split_once('.')) {
        (ItemKind::Tool, Some((server, name))) => Some(ItemId::tool(Some(server.into()), name)),
        _ => Some(ItemId::new(kind, name)),
    }
}

fn source(from: &Option<ContentSource>) -> ContentSource {
    from.clone().unwrap_or(ContentSource::BuiltIn)
}
