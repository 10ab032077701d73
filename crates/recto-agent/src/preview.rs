//! What a model would be sent: a turn's first request, without the turn.

use recto_context::{MessageId, RequestContext, SummaryBy, TurnNumber};
use recto_store::{Moment, NewCompaction};

use crate::agent::Inbound;
use crate::error::AgentError;
use crate::known::KnownSession;
use crate::opening::Gathered;
use crate::shared::Shared;
use crate::stock::Purpose;
use crate::turn::{Asked, Compacted, Draft, stamp, visible_text};

/// A turn's first request.
#[derive(Debug)]
pub struct Preview {
    /// What the model would be sent.
    pub request: RequestContext,
    /// The summary that would be made for it.
    pub compaction: Option<NewCompaction>,
    /// How the turn would have it made. No model is called for a preview: an extract
    /// stands where its words would.
    pub summary_by: Option<SummaryBy>,
}

/// Assembles the request for a message. Nothing is stored.
pub(crate) async fn preview(
    shared: &Shared,
    memory: &mut KnownSession,
    inbound: &Inbound,
) -> Result<Preview, AgentError> {
    let text = visible_text(&inbound.content);
    let mut gathered =
        Gathered::read(shared, memory, &inbound.settings, &text, Purpose::Look).await?;
    let known = memory.known.as_ref().ok_or(AgentError::Ended)?;
    let found = gathered.find(shared, known, &text).await;
    let mode = gathered.mode(known, &found, &text);
    let entry = gathered.entry.clone();
    let window = gathered.window(shared, known, memory.previous.as_ref()).await;
    let page = gathered.page(shared, known, window, stamp(Moment::now()));
    let draft = Draft {
        store: &shared.parts.store,
        known,
        entry: &entry,
        page: &page,
        asked: Asked {
            content: &inbound.content,
            message: MessageId(known.last.0 + 1),
            number: TurnNumber(known.turns + 1),
            mode: &mode,
            found: &found,
            history: &known.messages,
            rounds: &[],
        },
    };
    let request = draft.assemble()?;
    let compacted = match page.compaction {
        Some(_) => draft.compact(&request, draft.leaving(&request).await?, None).await?,
        None => None,
    };
    Ok(match compacted {
        Some(Compacted { request, compaction }) => {
            Preview { request, compaction: Some(compaction), summary_by: page.compaction }
        }
        None => Preview { request, compaction: None, summary_by: None },
    })
}
