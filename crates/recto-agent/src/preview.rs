//! What a model would be sent: a turn's first request, without the turn.

use recto_context::{MessageId, RequestContext, TurnNumber};
use recto_store::Moment;

use crate::agent::Inbound;
use crate::error::AgentError;
use crate::known::KnownSession;
use crate::opening::Gathered;
use crate::shared::Shared;
use crate::stock::Purpose;
use crate::turn::{Asked, stamp, visible_text};

/// Assembles the request for a message. Nothing is stored.
pub(crate) async fn preview(
    shared: &Shared,
    memory: &mut KnownSession,
    inbound: &Inbound,
) -> Result<RequestContext, AgentError> {
    let text = visible_text(&inbound.content);
    let mut gathered =
        Gathered::read(shared, memory, &inbound.settings, &text, Purpose::Look).await?;
    let known = memory.known.as_ref().ok_or(AgentError::Ended)?;
    let found = gathered.find(shared, known, &text).await;
    let mode = gathered.mode(known, &found, &text);
    let asked = Asked {
        content: &inbound.content,
        message: MessageId(known.last.0 + 1),
        number: TurnNumber(known.turns + 1),
        mode: &mode,
        found: &found,
        history: &known.messages,
        rounds: &[],
    };
    let entry = gathered.entry.clone();
    let window = gathered.window(shared, known, memory.previous.as_ref()).await;
    let page = gathered.page(shared, known, window, stamp(Moment::now()));
    page.assemble(known, &entry, &asked)
}
