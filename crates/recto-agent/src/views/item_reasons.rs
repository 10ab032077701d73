//! Why items were on the page of a turn, or were not.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use recto_context::{
    ContentSource, Layer, Part, RequestContext, Tokens, TypedMemory, nearest_name,
};
use recto_store::TurnId;
use serde::Serialize;
use serde_json::{Value, json};

use super::turn_record::TurnRecord;
use crate::error::{AgentError, AgentResult};
use crate::items::bare_item_name;
use crate::memories::AgentMemories;
use crate::record::restore_request;
use crate::rights::{Right, is_allowed};
use crate::why::ItemExplanation;

/// What became of all items that answer to a name, in the last page of a turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct TurnExplanation {
    pub turn: TurnId,
    pub request: u32,
    pub items: Vec<ItemExplanation>,
    /// Files of that name that say who answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileExplanation>,
}

/// A file that says who answers, and how it stood on the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct FileExplanation {
    pub path: Arc<Path>,
    pub layer: Layer,
    pub tokens: Tokens,
}

impl fmt::Display for FileExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FileExplanation { path, layer, tokens } = self;
        write!(
            f,
            "file {} was on the page ({layer}, {tokens} tokens): it says who answers, so every \
             page of the agent begins with it",
            path.display()
        )
    }
}

/// The files of a name that say who answers, as they stood on a page. Those of items are told of
/// as items.
fn explain_files(context: &RequestContext, name: &str) -> Vec<FileExplanation> {
    let is_named = |path: &Path| {
        path.ends_with(name) || path.file_name().is_some_and(|file| file.eq_ignore_ascii_case(name))
    };
    let of_file = |part: &Part| match &part.source {
        ContentSource::File(path) if part.item.is_none() && is_named(path) => {
            let path = path.clone();
            Some(FileExplanation { path, layer: part.layer, tokens: part.tokens })
        }
        _ => None,
    };
    context.parts.iter().filter_map(of_file).collect()
}

impl TurnExplanation {
    /// The explanation in JSON; each item also has it in `words`, for people.
    pub fn json(&self) -> Value {
        let mut json = json!(self);
        for (index, item) in self.items.iter().enumerate() {
            json["items"][index]["words"] = item.to_string().into();
        }
        for (index, file) in self.files.iter().enumerate() {
            json["files"][index]["words"] = file.to_string().into();
        }
        json
    }
}

impl TurnRecord<'_> {
    /// Explains what became of every item that answers to a name, with the memories of the turn's
    /// agent. Whoever may see all sessions may know of everybody's memories, too.
    pub async fn explain(
        &self,
        memories: &AgentMemories,
        name: &str,
    ) -> AgentResult<TurnExplanation> {
        let store = self.reader.store;
        let page = self.last_page().await?;
        let context = restore_request(store, &page).await?;
        let sees_all = is_allowed(self.reader.actor.role, Right::SeeSessions);
        let others = match sees_all && TypedMemory::new(name).is_name() {
            true => memories.files().read_everything(&memories.owner()).await.memories,
            false => Arc::default(),
        };
        let items = memories.explain(store, &page, &context, name, &others).await?;
        let files = explain_files(&context, name.trim());
        if !items.is_empty() || !files.is_empty() {
            return Ok(TurnExplanation { turn: self.id(), request: page.number, items, files });
        }
        let known = context.known_items();
        let nearest = nearest_name(bare_item_name(name), known.iter().map(|id| &*id.name));
        let nearest = nearest.map(str::to_owned);
        Err(AgentError::UnknownToTurn { turn: self.id(), name: name.to_owned(), nearest })
    }
}
