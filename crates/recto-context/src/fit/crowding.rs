//! Cuts the tools of MCP servers where they take the room of all else: neither one server nor
//! several can make every turn fail, or leave it without a past, by having too many.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{measure, shed};
use crate::budget::Budget;
use crate::context::{DropReason, OfferedTool};
use crate::inputs::AssemblyInputs;
use crate::item::{ContentSource, IncludeMode};
use crate::layer::Layer;
use crate::plan::Plan;
use crate::tokens::Tokens;

/// The share of the window that the tools of all servers may have before others make way.
const CROWDING: u32 = 4;

/// Tools of servers leave until all of them together have no more than their share: the history
/// needs room as well.
pub(super) fn cut_crowding_tools(plan: &mut Plan<'_>, _over: Tokens) -> bool {
    let share = Tokens::new(plan.inputs.window.tokens.get() / CROWDING);
    let all: Tokens = costs(plan).into_values().sum();
    cut_tools(plan, all - share)
}

/// Tools of servers leave, as many as there is no room for.
pub(super) fn cut_server_tools(plan: &mut Plan<'_>, _over: Tokens) -> bool {
    let missing = missing_room(plan);
    cut_tools(plan, missing)
}

/// Takes tools of servers away until so much is free, of the server first whose tools take most.
fn cut_tools(plan: &mut Plan<'_>, missing: Tokens) -> bool {
    let mut freed = Tokens::ZERO;
    while freed < missing {
        let Some(server) = largest_server(plan) else { break };
        let Some(at) = least_wanted(plan, &server) else { break };
        let tool = plan.tools.remove(at);
        let tokens = cost(plan, &tool);
        freed += tokens.max(Tokens::new(1));
        plan.drop_item(&tool.spec.id, Layer::Tools, tokens, DropReason::ServerTools { server });
        plan.carry.found_tools.retain(|found| found.item != tool.spec.id);
        shed(&mut plan.carry, tool.spec.id);
    }
    freed > Tokens::ZERO
}

/// How much more the page takes than there is, the tools included.
fn missing_room(plan: &Plan<'_>) -> Tokens {
    let AssemblyInputs { window, limits, .. } = plan.inputs;
    let room = Budget::share(*window, limits.reply, Tokens::ZERO, limits.target).messages;
    let tools: Tokens = plan.tools.iter().map(|tool| tool.tokens).sum();
    let (_, budget) = measure(plan);
    (budget.used + tools + limits.margin + Tokens::new(1)) - room
}

/// The server whose tools take most.
fn largest_server(plan: &Plan<'_>) -> Option<Arc<str>> {
    let largest = costs(plan).into_iter().max_by_key(|(_, tokens)| *tokens)?;
    Some(largest.0.clone())
}

/// What the tools of each server take.
fn costs<'p>(plan: &'p Plan<'_>) -> BTreeMap<&'p Arc<str>, Tokens> {
    let mut servers: BTreeMap<&Arc<str>, Tokens> = BTreeMap::new();
    for tool in &plan.tools {
        if let ContentSource::Server(server) = &tool.spec.source {
            *servers.entry(server).or_default() += cost(plan, tool);
        }
    }
    servers
}

/// The tool of a server that fits the message least. One that a person chose goes last; of
/// equals the last goes.
fn least_wanted(plan: &Plan<'_>, server: &Arc<str>) -> Option<usize> {
    let is_its_own = |tool: &OfferedTool| matches!(&tool.spec.source, ContentSource::Server(name) if name == server);
    let ranked = plan.tools.iter().enumerate().filter(|(_, tool)| is_its_own(tool));
    let ranked =
        ranked.map(|(at, tool)| (tool.item.include == IncludeMode::Manual, score(tool), at));
    let least = ranked.min_by(|one, other| {
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)).then(other.2.cmp(&one.2))
    });
    least.map(|(_, _, at)| at)
}

/// How well a tool fits the message, as far as that is known.
fn score(tool: &OfferedTool) -> f32 {
    let Some(scores) = &tool.item.scores else { return f32::MIN };
    match (scores.probability, scores.fused) {
        (Some(probability), _) => probability,
        (None, Some(fused)) => fused,
        (None, None) => f32::MIN,
    }
}

/// What a tool takes, also where it is told as text.
fn cost(plan: &Plan<'_>, tool: &OfferedTool) -> Tokens {
    match tool.tokens {
        Tokens::ZERO => plan.inputs.counter.text(&tool.spec.schema),
        tokens => tokens,
    }
}
