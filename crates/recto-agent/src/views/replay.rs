//! A recorded request once more: proved to be whole, or made ready to be sent again. A reply to
//! one that is sent again is kept nowhere: the record says what happened, once.

use recto_context::{Budget, RequestContext, Tokens, ToolCalls};
use recto_llm::{CallOptions, ReplyStream};
use recto_store::{RequestId, RequestRecord, RowId, Store, StoreError, TurnId};
use serde::Serialize;

use super::turn_record::TurnRecord;
use crate::error::{AgentError, AgentResult};
use crate::options::ModelEntry;
use crate::record::{ReplayVerdict, restore_request, verify_body};
use crate::rights::Right;
use crate::shared::model_window;

/// The result of verifying one request: whether the body made from its parts is the one that was
/// sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayCheck {
    /// The turn of the request.
    pub turn: TurnId,
    /// Its number within the turn.
    pub request: u32,
    /// How long the body is, where it is whole.
    pub bytes: Option<usize>,
    /// Whether it is, byte for byte.
    pub identical: bool,
    /// What is wrong with it, where something is.
    pub problem: Option<String>,
    /// Whether a text was taken out of it: then the body is not the one that was sent.
    pub redacted: bool,
}

/// What is sent to which model when a request is sent again.
#[derive(Debug, Clone, Copy)]
pub enum ReplayTarget<'a> {
    /// The recorded bytes, to the model that had them.
    Recorded(&'a ModelEntry),
    /// The same page, written for a model whose window is at most so large.
    Rewritten(&'a ModelEntry, Tokens),
}

impl<'a> ReplayTarget<'a> {
    /// What is sent to this model: the bytes themselves if it had them, and otherwise the same
    /// page, within a window of at most so many tokens.
    pub fn new(request: &RequestRecord, model: &'a ModelEntry, window_cap: Tokens) -> Self {
        match *model.name == *request.model {
            true => ReplayTarget::Recorded(model),
            false => ReplayTarget::Rewritten(model, window_cap),
        }
    }
}

/// A request that is ready to be sent again.
#[derive(Debug)]
pub struct ReplayPlan {
    /// The request as it was recorded.
    pub request: RequestRecord,
    /// The model that is asked.
    pub model: ModelEntry,
    body: Vec<u8>,
}

impl ReplayPlan {
    /// Sends it, and gives what comes back while it comes.
    pub fn send(self) -> ReplyStream {
        self.model.client.stream(self.body)
    }
}

impl TurnRecord<'_> {
    /// Writes the bodies of the turn's requests, or of one of them, anew from their parts and
    /// compares them with what was sent.
    pub async fn verify(&self, number: Option<u32>) -> AgentResult<Vec<ReplayCheck>> {
        self.reader.actor.must_have(Right::Inspect)?;
        let mut requests = self.request_ids().await?;
        if let Some(number) = number {
            let count = requests.len();
            requests.retain(|(found, _)| *found == number);
            if requests.is_empty() && count == 0 {
                return Err(self.sent_nothing().await?);
            }
            if requests.is_empty() {
                return Err(AgentError::NoSuchRequest { turn: self.id(), number, count });
            }
        }
        let mut checks = Vec::new();
        for (number, id) in requests {
            let verdict = verify_one(self.reader.store, id).await;
            checks.push(ReplayCheck::new(self.id(), number, verdict));
        }
        Ok(checks)
    }

    /// Makes a recorded request ready to be sent again.
    pub async fn prepare_replay(
        &self,
        request: RequestRecord,
        target: ReplayTarget<'_>,
    ) -> AgentResult<ReplayPlan> {
        self.reader.actor.must_have(Right::Replay)?;
        let (model, body) = match target {
            ReplayTarget::Recorded(model) => {
                (model, recorded_body(self.reader.store, &request, model).await?)
            }
            ReplayTarget::Rewritten(model, cap) => {
                let context = restore_request(self.reader.store, &request).await?;
                let call = rewritten_call(&request, model)?;
                (model, rewrite_body(context, model, &call, cap).await?)
            }
        };
        Ok(ReplayPlan { request, model: model.clone(), body })
    }
}

/// The verdict on a request, and whether a text was taken out of it.
async fn verify_one(store: &Store, id: RequestId) -> AgentResult<(ReplayVerdict, bool)> {
    match store.request(id).await? {
        Some(request) => Ok((verify_body(store, &request).await?, request.redacted.is_some())),
        None => Err(StoreError::NotFound(RowId::Request(id)).into()),
    }
}

impl ReplayCheck {
    fn new(turn: TurnId, request: u32, verdict: AgentResult<(ReplayVerdict, bool)>) -> Self {
        let (bytes, problem, redacted) = match verdict {
            Ok((ReplayVerdict::Identical { bytes }, redacted)) => (Some(bytes), None, redacted),
            Ok((ReplayVerdict::Different { at }, redacted)) => {
                let what = "the body made from its parts differs from the one sent";
                (None, Some(format!("{what} at byte {at}")), redacted)
            }
            Err(error) => (None, Some(error.to_string()), false),
        };
        ReplayCheck { turn, request, bytes, identical: problem.is_none(), problem, redacted }
    }
}

/// The bytes that were sent, for a model that is still asked in the same way.
async fn recorded_body(
    store: &Store,
    request: &RequestRecord,
    model: &ModelEntry,
) -> AgentResult<Vec<u8>> {
    let wire = model.client.wire().name();
    if wire != request.wire {
        let (sent, name) = (request.wire.clone(), model.name.to_string());
        return Err(AgentError::OtherWire { sent, model: name, now: wire.to_owned() });
    }
    Ok(store.body(request.id).await?)
}

/// The body of the same page for another model, if it has room for it.
async fn rewrite_body(
    mut context: RequestContext,
    model: &ModelEntry,
    call: &CallOptions,
    cap: Tokens,
) -> AgentResult<Vec<u8>> {
    if hides_tools(&context, model) {
        return Err(AgentError::ToolsAsText { model: model.name.to_string() });
    }
    let window = model_window(model, cap).await?;
    let prompt = context.prompt_tokens();
    let budget = Budget::share(window, model.limits.reply, context.budget.tools, None);
    if prompt > budget.messages + budget.tools {
        return Err(AgentError::NarrowWindow {
            prompt,
            model: model.name.to_string(),
            window: window.tokens,
            reply: budget.reply,
        });
    }
    context.window = window;
    context.budget = Budget { used: context.budget.used, ..budget };
    Ok(recto_llm::encode(model.client.wire(), call, &context).to_string().into_bytes())
}

/// What is said in the call of another model: its own options, with what was asked of the reply.
fn rewritten_call(request: &RequestRecord, model: &ModelEntry) -> AgentResult<CallOptions> {
    let sent: CallOptions = serde_json::from_value(request.options.clone())
        .map_err(|error| AgentError::Record { request: request.id, problem: error.to_string() })?;
    let checked = model.client.check_rules(&sent.reply);
    checked.map_err(|error| AgentError::model(model, error))?;
    Ok(CallOptions { reply: sent.reply, ..model.call.clone() })
}

/// Whether the model's own chat template would leave out the tools of a page.
fn hides_tools(context: &RequestContext, model: &ModelEntry) -> bool {
    let has_schemas = context.tool_calls == ToolCalls::Native && !context.tools.is_empty();
    let template = model.call.template.as_ref();
    has_schemas && template.is_some_and(|template| template.call_style().is_none())
}
