//! Makes a plan fit: what leaves the page first, and how much of it.
//!
//! Every limit is cut to in a step: when one overflows, history leaves in whole
//! exchanges until three quarters of that limit are left. The page then stays
//! as it is for a while, and so does the prefix that a server has already read.

use crate::budget::{Budget, OverBudget};
use crate::carry::{Carry, Trimmed};
use crate::compose::{can_shorten, compose, shorten};
use crate::context::{DropReason, Dropped};
use crate::inputs::{Inputs, Limits};
use crate::item::{ItemId, ItemKind, Pick};
use crate::layer::Layer;
use crate::message::{Body, MessageId};
use crate::page::{Part, Reason};
use crate::plan::{Exchange, LeftOut, Plan, SkillForm, memory_id, plan, shed_body, skill_id};
use crate::tokens::Tokens;

/// A plan that fits, its parts and its budget.
pub(crate) struct Fitted<'a> {
    pub plan: Plan<'a>,
    pub parts: Vec<Part>,
    pub budget: Budget,
}

/// Plans the page, and cuts it until it fits.
pub(crate) fn fit<'a>(inputs: &'a Inputs<'a>) -> Result<Fitted<'a>, OverBudget> {
    let plan = plan(inputs, inputs.carry.clone());
    if history_is_within(&plan, &inputs.limits) {
        let parts = compose(&plan);
        let budget = share(&plan, &parts);
        if budget.used <= budget.messages {
            return Ok(Fitted { plan, parts, budget });
        }
    }
    trim(inputs)
}

/// Plans anew, as after a trim, and cuts stage by stage. Since the prefix breaks
/// here anyway, what had been left out for room comes back first, and kept picks
/// and found tools of earlier turns leave.
fn trim<'a>(inputs: &'a Inputs<'a>) -> Result<Fitted<'a>, OverBudget> {
    let mut plan = plan(inputs, at_trim(inputs));
    trim_to_limits(&mut plan, &inputs.limits);
    for stage in STAGES {
        loop {
            let parts = compose(&plan);
            let budget = share(&plan, &parts);
            if budget.used <= budget.messages {
                return Ok(Fitted { plan, parts, budget });
            }
            let room = Room { over: budget.used - budget.messages, budget };
            if !stage(&mut plan, &room) {
                break;
            }
        }
    }
    let parts = compose(&plan);
    Err(OverBudget { budget: share(&plan, &parts), layers: by_layer(&parts) })
}

/// What the page lacks.
struct Room {
    over: Tokens,
    budget: Budget,
}

/// Cuts something from the plan, about as much as is missing; `false` when
/// nothing is left to cut.
type Stage = fn(&mut Plan<'_>, &Room) -> bool;

/// The order in which things leave.
const STAGES: [Stage; 5] =
    [cut_history, cut_picks, shorten_results, cut_memories, cut_skill_bodies];

/// The carry to plan with when the prefix breaks anyway. A turn that does not
/// send the history leaves the history's own state alone.
///
/// In the middle of a turn things only leave: bringing a body back, or taking a
/// tool away that the model may be about to call, would break what stands before
/// the history, too.
fn at_trim(inputs: &Inputs<'_>) -> Carry {
    let mut carry = inputs.carry.clone();
    if inputs.mode.chosen.sends_history() {
        carry.picks_from = Some(inputs.message_id);
    }
    if inputs.rounds.is_empty() {
        // Those that search brings again keep their places.
        carry.found_tools.retain(|tool| inputs.picks.iter().any(|pick| brings(pick, tool)));
        if inputs.mode.chosen.sends_history() {
            carry.shed.clear();
        }
    }
    carry
}

fn brings(pick: &Pick, tool: &ItemId) -> bool {
    pick.item == *tool
        || (pick.item.kind == ItemKind::Skill && tool.server.as_ref() == Some(&pick.item.name))
}

fn share(plan: &Plan<'_>, parts: &[Part]) -> Budget {
    let Inputs { window, limits, .. } = plan.inputs;
    let tools = plan.tools.iter().map(|tool| tool.tokens).sum();
    let mut budget = Budget::share(*window, limits.reply, tools, limits.target);
    budget.messages = budget.messages - limits.margin;
    budget.used = total(parts);
    budget
}

fn total(parts: &[Part]) -> Tokens {
    parts.iter().map(|part| part.tokens).sum()
}

fn by_layer(parts: &[Part]) -> Vec<(Layer, Tokens)> {
    let of = |layer| parts.iter().filter(|part| part.layer == layer).map(|part| part.tokens).sum();
    Layer::ALL.into_iter().map(|layer| (layer, of(layer))).collect()
}

fn history_messages(plan: &Plan<'_>) -> usize {
    plan.history.iter().map(message_count).sum()
}

fn history_tokens(plan: &Plan<'_>) -> Tokens {
    plan.history.iter().map(Exchange::tokens).sum()
}

fn history_is_within(plan: &Plan<'_>, limits: &Limits) -> bool {
    history_messages(plan) <= limits.history_messages
        && history_tokens(plan) <= limits.history_tokens
}

fn trim_to_limits(plan: &mut Plan<'_>, limits: &Limits) {
    let limit = limits.history_messages;
    if history_messages(plan) > limit {
        let reason = DropReason::HistoryMessages { limit };
        leave_until(plan, reason, limit * 3 / 4, message_count);
    }
    let limit = limits.history_tokens;
    if history_tokens(plan) > limit {
        let reason = DropReason::HistoryTokens { limit };
        leave_until(plan, reason, step(limit), token_count);
    }
}

fn cut_history(plan: &mut Plan<'_>, room: &Room) -> bool {
    if plan.history.is_empty() {
        return false;
    }
    let others = room.budget.used - history_tokens(plan);
    leave_until(plan, DropReason::NoRoom, step(room.budget.messages - others), token_count);
    true
}

/// Three quarters: far enough below a limit that the next trim is not near.
fn step(limit: Tokens) -> usize {
    limit.get() as usize * 3 / 4
}

fn token_count(exchange: &Exchange) -> usize {
    exchange.tokens().get() as usize
}

fn message_count(exchange: &Exchange) -> usize {
    exchange.messages.len()
}

/// The oldest exchanges leave until at most `target` of what is measured is
/// left. When even the newest would have to, its rounds leave first: a person
/// who goes on after a long piece of work is not met by an agent without a past.
fn leave_until(
    plan: &mut Plan<'_>,
    reason: DropReason,
    target: usize,
    measure: fn(&Exchange) -> usize,
) {
    let mut rest: usize = plan.history.iter().map(measure).sum();
    let leaving = plan.history.iter().take_while(|exchange| {
        let leaves = rest > target;
        rest -= if leaves { measure(exchange) } else { 0 };
        leaves
    });
    let leaving = leaving.count();
    let condensed = plan.history.last().filter(|_| leaving == plan.history.len());
    let condensed = condensed.and_then(|newest| newest.condensed(plan));
    let condensed = condensed.filter(|newest| measure(newest) <= target);

    let mut left_out = LeftOut::default();
    plan.history.drain(..leaving).for_each(|exchange| left_out.add_exchange(&exchange));
    if let Some(exchange) = condensed {
        left_out.take_back(&exchange);
        plan.carry.condensed.extend(exchange.first());
        plan.history.push(exchange);
    }
    plan.dropped.extend(left_out.dropped(Layer::History, ["message", "messages"], reason));
    if plan.inputs.mode.chosen.sends_history() {
        remember_trim(plan, &left_out);
    }
}

/// From now on the history begins at the first message that is left.
fn remember_trim(plan: &mut Plan<'_>, left_out: &LeftOut) {
    let first = plan.history.first().and_then(Exchange::first);
    let first = first.unwrap_or(plan.inputs.message_id);
    let Carry { history_from, trimmed, condensed, shortened, .. } = &mut plan.carry;
    *history_from = Some(first);
    condensed.retain(|id| *id >= first);
    *trimmed = Trimmed {
        messages: trimmed.messages + left_out.count,
        tokens: trimmed.tokens + left_out.tokens,
    };
    shortened.retain(|id| *id >= first);
}

/// The least probable picks leave first.
fn cut_picks(plan: &mut Plan<'_>, room: &Room) -> bool {
    let mut freed = Tokens::ZERO;
    while freed < room.over {
        let probability = |at: &usize| {
            let scores = plan.picks[*at].item.scores.unwrap_or_default();
            scores.probability.or(scores.fused).unwrap_or(f32::MIN)
        };
        // Of equals the last goes, since picks come best first.
        let least =
            (0..plan.picks.len()).rev().min_by(|a, b| probability(a).total_cmp(&probability(b)));
        let Some(least) = least else { break };
        let pick = plan.picks.remove(least);
        let tokens = plan.inputs.counter.text(&pick.text);
        freed += tokens.max(Tokens::new(1));
        let what = pick.item.id.to_string();
        plan.dropped.push(Dropped::whole(what, Layer::Picks, tokens, DropReason::NoRoom));
    }
    freed > Tokens::ZERO
}

/// Older results of this turn are shortened, oldest first. The newest round
/// stays whole: the model has not read it yet.
fn shorten_results(plan: &mut Plan<'_>, room: &Room) -> bool {
    let newest = plan.rounds.iter().rposition(|message| !message.calls().is_empty()).unwrap_or(0);
    let counter = &plan.inputs.counter;
    let mut freed = Tokens::ZERO;
    for message in &plan.rounds[..newest] {
        if freed >= room.over {
            break;
        }
        if !can_shorten(message) || !plan.carry.shortened.insert(message.id) {
            continue;
        }
        let before = counter.message(message);
        let after = shorten(message).map_or(before, |short| counter.message(&short));
        freed += (before - after).max(Tokens::new(1));
        let what = result_name(&message.body, message.id);
        let reason = DropReason::Shortened;
        plan.dropped.push(Dropped { what, layer: Layer::Rounds, before, after, reason });
    }
    freed > Tokens::ZERO
}

fn result_name(body: &Body, id: MessageId) -> String {
    match body {
        Body::Tool { name, .. } => format!("result of {name} in message {}", id.0),
        _ => format!("message {}", id.0),
    }
}

/// The least relevant memories leave first; they come best first.
fn cut_memories(plan: &mut Plan<'_>, room: &Room) -> bool {
    let mut freed = Tokens::ZERO;
    while freed < room.over {
        let Some(memory) = plan.memories.pop() else { break };
        let tokens = plan.inputs.counter.text(&memory.text);
        freed += tokens.max(Tokens::new(1));
        let id = memory_id(memory);
        let what = id.to_string();
        plan.dropped.push(Dropped::whole(what, Layer::Memory, tokens, DropReason::NoRoom));
        plan.carry.shed.insert(id);
    }
    freed > Tokens::ZERO
}

/// Bodies become entries of the list, last in order first.
fn cut_skill_bodies(plan: &mut Plan<'_>, room: &Room) -> bool {
    let counter = &plan.inputs.counter;
    let mut freed = Tokens::ZERO;
    for planned in plan.skills.iter_mut().rev() {
        if freed >= room.over {
            break;
        }
        if planned.form == SkillForm::Listed {
            continue;
        }
        planned.form = SkillForm::Listed;
        planned.reason = Reason::ListedForRoom;
        let dropped = shed_body(planned.skill, counter);
        freed += dropped.tokens().max(Tokens::new(1));
        plan.dropped.push(dropped);
        plan.carry.shed.insert(skill_id(planned.skill));
    }
    freed > Tokens::ZERO
}
