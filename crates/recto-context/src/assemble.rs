//! Puts a request together: plan, fit, render.

use std::sync::Arc;

use crate::budget::OverBudget;
use crate::client::ClientToolChoice;
use crate::compose::sent_message;
use crate::context::{OfferedTool, RequestContext, ToolChoice};
use crate::description::collect_descriptions;
use crate::fit::{FittedPlan, fit_plan};
use crate::inputs::AssemblyInputs;
use crate::item::{ItemId, ItemKind};
use crate::page::render_messages;
use crate::plan::Plan;

/// Decides exactly what a model is sent.
///
/// The page is planned from the inputs, layer by layer; cut until it fits the
/// window, in a fixed order; and rendered into messages. The same inputs give
/// the same bytes. When what may not be cut does not fit, nothing is sent and
/// the error says what each layer needs.
pub fn assemble(inputs: &AssemblyInputs<'_>) -> Result<RequestContext, OverBudget> {
    let FittedPlan { mut plan, parts, budget } = fit_plan(inputs)?;
    plan.note_images();
    Ok(RequestContext {
        model: inputs.model.clone(),
        day: inputs.bootstrap.day.clone(),
        mode: inputs.mode.clone(),
        window: inputs.window,
        budget,
        counted: inputs.counter.kind(&parts, &plan.tools),
        messages: render_messages(&parts),
        descriptions: collect_descriptions(inputs, &parts),
        parts,
        tool_calls: inputs.layout.tool_calls,
        tool_choice: tool_choice(&plan).within(inputs.call_demand),
        available: plan.available(),
        removed: inputs.removed.to_vec(),
        found: inputs.picks.to_vec(),
        candidates: inputs.candidates.to_vec(),
        alike: inputs.alike.to_vec(),
        notices: inputs.catalog.notices.clone(),
        sent: Arc::new(sent_message(&plan)),
        tools: plan.tools,
        dropped: plan.dropped,
        carry: plan.carry,
    })
}

/// A message that plainly wants a call gets one, and so does work in minimal mode, or a client
/// that asks for it, but only once: after the first round the model may answer.
fn tool_choice(plan: &Plan<'_>) -> ToolChoice {
    if !plan.rounds.is_empty() {
        return ToolChoice::Auto;
    }
    let chosen = |name: &str| {
        let mut tools = plan.tools.iter().map(|tool| &tool.spec);
        tools.find(|tool| tool.is_client_tool() && *tool.id.name == *name)
    };
    match &plan.inputs.client_tool_choice {
        ClientToolChoice::Required if !plan.tools.is_empty() => return ToolChoice::Required,
        ClientToolChoice::Named(name) => {
            if let Some(tool) = chosen(name) {
                return ToolChoice::Named(tool.called.clone());
            }
        }
        ClientToolChoice::Required | ClientToolChoice::Free => {}
    }
    let mode = &plan.inputs.mode;
    let wanted =
        mode.wanted_call.as_ref().map(|call| ItemId::new(ItemKind::Tool, call.tool.clone()));
    let wanted = wanted.or_else(|| mode.sure_tool.clone());
    let is_wanted =
        |tool: &&OfferedTool| wanted.as_ref() == Some(&tool.spec.id) && !tool.spec.is_client_tool();
    match plan.tools.iter().find(is_wanted) {
        Some(tool) => ToolChoice::Named(tool.spec.called.clone()),
        None if mode.demands_call() && !plan.tools.is_empty() => ToolChoice::Required,
        None => ToolChoice::Auto,
    }
}
