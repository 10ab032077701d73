//! What a model would be sent: a turn's first request, without the turn.

use recto_context::{
    Comparison, MessageId, RequestContext, SummaryBy, TurnNumber, compare_requests, visible_text,
};
use recto_store::{Moment, NewCompaction, SessionState};

use crate::agent_catalog::CatalogPurpose;
use crate::error::AgentResult;
use crate::inbound::Inbound;
use crate::items::without_mentions;
use crate::session_cache::SessionCache;
use crate::shared::AgentShared;
use crate::turn::{
    BroughtMessages, CompactedRequest, MessageOrigin, RequestContent, RequestDraft, TurnInputs,
    TurnModel, reconcile_client, resolve_window, said_before, stamp,
};

/// A turn's first request.
#[derive(Debug)]
pub struct RequestPreview {
    /// What the model would be sent.
    pub request: RequestContext,
    /// The summary that would be made for it.
    pub compaction: Option<NewCompaction>,
    /// How the turn would have it made. No model is called for a preview: an extract
    /// stands where its words would.
    pub summary_by: Option<SummaryBy>,
    /// How far it agrees with the session's last request, if there is one.
    pub comparison: Option<Comparison>,
}

/// Assembles the request for a message. Nothing is stored.
pub(crate) async fn preview_request(
    shared: &AgentShared,
    session: &mut SessionCache,
    inbound: &Inbound,
) -> AgentResult<RequestPreview> {
    session.refresh(shared).await?;
    session.load_previous(shared).await;
    let Some(exchange) = &inbound.replaces else {
        return preview_in(shared, session, inbound).await;
    };
    session.loaded()?.0.leave_out(&exchange.range());
    let preview = preview_in(shared, session, inbound).await;
    // Nothing was taken back by it: the next look has the exchange again.
    session.forget();
    preview
}

/// Assembles the request for the first message of a session that has not begun.
pub(crate) async fn preview_first_request(
    shared: &AgentShared,
    state: SessionState,
    inbound: &Inbound,
) -> AgentResult<RequestPreview> {
    preview_in(shared, &mut SessionCache::unstored(state), inbound).await
}

async fn preview_in(
    shared: &AgentShared,
    session: &mut SessionCache,
    inbound: &Inbound,
) -> AgentResult<RequestPreview> {
    let text = visible_text(&inbound.content);
    let (session, previous) = session.loaded()?;
    let chosen = TurnModel::choose(shared, session, &inbound.settings)?;
    chosen.0.check_images(&inbound.content).await?;
    let window = resolve_window(shared, &chosen.0, session, previous.as_ref()).await;
    let model = TurnModel::prepare(shared, chosen, window).await?;
    let origin = MessageOrigin {
        mentions: &text,
        actor: &inbound.actor,
        stamp: stamp(Moment::now()),
        speaker: inbound.actor.speaker(&session.audience()),
    };
    let catalog = shared.catalog(CatalogPurpose::Look);
    let mut inputs = TurnInputs::gather(shared, session, model, origin, catalog).await;
    let context = inbound.client.as_deref();
    let tools = context.map(|context| context.tool_specs(&inputs.catalog)).unwrap_or_default();
    let (client, BroughtMessages(brought)) =
        reconcile_client(shared, session, context, &inbound.results, tools).await?;
    inputs.set_client(client);
    let history = match &inputs.client.history {
        Some(history) => history.clone(),
        None => session.messages.iter().chain(&brought).cloned().collect(),
    };
    inputs.adapt_to_images(&history).await;
    let said = history.iter().map(|message| &**message);
    let before = said_before(&without_mentions(&text), said, inputs.speaker.as_ref());
    let found = inputs.search(shared, session, &text, before.as_ref()).await;
    let mode = inputs.decide_mode(session, &found, &text);
    let draft = RequestDraft {
        store: &shared.parts.store,
        session,
        inputs: &inputs,
        content: RequestContent {
            content: &inbound.content,
            message: MessageId(session.last.0 + brought.len() as u64 + 1),
            number: TurnNumber(session.turns + 1),
            mode: &mode,
            found: &found,
            history: &history,
            rounds: &[],
        },
    };
    let summary_by = inputs.model.compaction;
    let (request, compaction) = assemble_compacted(&draft, summary_by).await?;
    let comparison = previous.as_ref().map(|previous| compare_requests(previous, &request));
    let summary_by = summary_by.filter(|_| compaction.is_some());
    Ok(RequestPreview { request, compaction, summary_by, comparison })
}

/// The request of a draft, with the summary that would be made for it, if one would.
async fn assemble_compacted(
    draft: &RequestDraft<'_>,
    summary_by: Option<SummaryBy>,
) -> AgentResult<(RequestContext, Option<NewCompaction>)> {
    let request = draft.assemble()?;
    let compacted = match summary_by {
        Some(_) => draft.compact(&request, draft.leaving(&request).await?, None).await?,
        None => None,
    };
    Ok(match compacted {
        Some(CompactedRequest { request, compaction }) => (request, Some(compaction)),
        None => (request, None),
    })
}
