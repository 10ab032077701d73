//! Why items were on the page of a turn, or were not.

use std::sync::Arc;

use recto_context::{TypedMemory, nearest_name};
use recto_store::TurnId;
use serde::Serialize;

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
        if !items.is_empty() {
            return Ok(TurnExplanation { turn: self.id(), request: page.number, items });
        }
        let known = context.known_items();
        let nearest = nearest_name(bare_item_name(name), known.iter().map(|id| &*id.name));
        let nearest = nearest.map(str::to_owned);
        Err(AgentError::UnknownToTurn { turn: self.id(), name: name.to_owned(), nearest })
    }
}
