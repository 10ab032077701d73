//! Makes a plan fit: what leaves the page first, and how much of it.
//!
//! Every limit is cut to in a step: when one overflows, history leaves in whole
//! exchanges until three quarters of that limit are left. The page then stays
//! as it is for a while, and so does the prefix that a server has already read.

mod crowding;

use std::collections::BTreeSet;

use crate::budget::{Budget, OverBudget};
use crate::carry::{Carry, TooLongPick, TrimTotals};
use crate::compose::{compose, line_tokens, pick_tokens, shorten};
use crate::context::{DropReason, DroppedEntry, OfferedTool, attached_files};
use crate::inputs::{AssemblyInputs, ContextLimits};
use crate::item::{IncludeMode, ItemId, ItemKind};
use crate::layer::Layer;
use crate::message::{Message, MessageBody};
use crate::page::{Part, PartReason};
use crate::plan::{
    DropTally, Exchange, Plan, PlannedLine, SkillForm, brought_tools, plan_page, shed_body,
    skill_id,
};
use crate::summary::summary_room;
use crate::tokens::Tokens;

/// A plan that fits, its parts and its budget.
pub(crate) struct FittedPlan<'a> {
    pub plan: Plan<'a>,
    pub parts: Vec<Part>,
    pub budget: Budget,
}

/// Plans the page, and cuts it until it fits.
pub(crate) fn fit_plan<'a>(inputs: &'a AssemblyInputs<'a>) -> Result<FittedPlan<'a>, OverBudget> {
    let mut plan = plan_page(inputs, inputs.carry.clone());
    if history_is_within(&plan, &inputs.limits) {
        let (parts, budget) = measure(&plan);
        if budget.fits() {
            note_summary(&mut plan);
            return Ok(FittedPlan { plan, parts, budget });
        }
    }
    trim(inputs)
}

/// Plans anew, as after a trim. Since the prefix breaks here anyway, what had
/// been left out for room comes back first, and kept picks and found tools of
/// earlier turns leave.
///
/// History is the first to leave: the rest is cut only as far as it would not
/// fit without any history. What room is left then is the history's.
fn trim<'a>(inputs: &'a AssemblyInputs<'a>) -> Result<FittedPlan<'a>, OverBudget> {
    let (mut plan, history) = plan_the_rest(inputs)?;
    plan.history = history;
    trim_to_limits(&mut plan, &inputs.limits);
    plan.plan_summary();
    let (mut parts, mut budget) = measure(&plan);
    if !budget.fits() {
        cut_history(&mut plan, budget);
        plan.plan_summary();
        (parts, budget) = measure(&plan);
    }
    if !budget.fits() {
        leave_summary_out(&mut plan);
        (parts, budget) = measure(&plan);
    }
    note_summary(&mut plan);
    Ok(FittedPlan { plan, parts, budget })
}

/// Everything but the history, cut until it fits, and the history apart.
fn plan_the_rest<'a>(
    inputs: &'a AssemblyInputs<'a>,
) -> Result<(Plan<'a>, Vec<Exchange>), OverBudget> {
    let carry = at_trim(inputs);
    let (mut rest, mut history) = plan_without_history(inputs, carry.clone());
    cut_the_rest(&mut rest)?;
    // A body that has to go makes more room than was missing: what else leaves
    // is decided again without it.
    let bodies = rest.carry.shed.iter().filter(|item| item.kind == ItemKind::Skill);
    let bodies: BTreeSet<ItemId> = bodies.cloned().collect();
    if inputs.rounds.is_empty() && !bodies.is_empty() {
        let without = Carry { shed: bodies, made_for: rest.carry.made_for, ..carry };
        (rest, history) = plan_without_history(inputs, without);
        cut_the_rest(&mut rest)?;
    }
    make_room_for_newest(&mut rest, &history);
    Ok((rest, history))
}

/// Tools of servers that take more than their share leave also for the newest exchange: without
/// it, an agent would be met by every message as by the first. Not in the middle of a turn, when
/// the model may be about to call one.
fn make_room_for_newest(rest: &mut Plan<'_>, history: &[Exchange]) {
    let Some(newest) = history.last().filter(|_| rest.inputs.rounds.is_empty()) else { return };
    let (_, budget) = measure(rest);
    let missing = (budget.used + newest.tokens()) - budget.messages;
    if missing > Tokens::ZERO {
        crowding::cut_crowding_tools(rest, missing);
    }
}

/// Plans everything but the history, and the history apart. A pick that would not fit if it came
/// alone leaves before any other: all that search brought would leave for it in vain.
fn plan_without_history<'a>(
    inputs: &'a AssemblyInputs<'a>,
    mut carry: Carry,
) -> (Plan<'a>, Vec<Exchange>) {
    let mut rest = plan_page(inputs, carry.clone());
    let mut history = take_history(&mut rest);
    let too_long = find_too_long(&mut rest);
    if !too_long.is_empty() {
        let Carry { message, cut_picks, too_long: known, .. } = rest.carry;
        let too_long = [known, too_long].concat();
        carry = Carry { message, cut_picks, too_long, ..carry };
        rest = plan_page(inputs, carry);
        history = take_history(&mut rest);
    }
    (rest, history)
}

/// The picks that take more than all the room that there is for picks.
fn find_too_long(plan: &mut Plan<'_>) -> Vec<TooLongPick> {
    if measure(plan).1.fits() {
        return Vec::new();
    }
    let (picks, list) = (std::mem::take(&mut plan.picks), std::mem::take(&mut plan.list));
    let (_, without) = measure(plan);
    let room = without.messages - without.used;
    let (mut all, mut too_long) = (Vec::new(), Vec::new());
    for pick in picks {
        let item = pick.item.id.clone();
        plan.picks = vec![pick];
        let (_, alone) = measure(plan);
        if !alone.fits() {
            too_long.push(TooLongPick { item, room });
        }
        all.append(&mut plan.picks);
    }
    (plan.picks, plan.list) = (all, list);
    too_long
}

fn take_history(plan: &mut Plan<'_>) -> Vec<Exchange> {
    plan.summary = None;
    std::mem::take(&mut plan.history)
}

/// Cuts everything but the history, stage by stage, until it fits.
fn cut_the_rest(plan: &mut Plan<'_>) -> Result<(), OverBudget> {
    let mut stages = STAGES.into_iter().peekable();
    loop {
        let (parts, budget) = measure(plan);
        if budget.fits() {
            return Ok(());
        }
        let over = budget.used - budget.messages;
        while stages.next_if(|stage| !stage(plan, over)).is_some() {}
        if stages.peek().is_none() {
            let (layers, files) = (by_layer(&parts), attached_files(&parts));
            return Err(OverBudget { budget, layers, files });
        }
    }
}

/// Cuts something from the plan, about as much as is missing; `false` when
/// nothing is left to cut.
type Stage = fn(&mut Plan<'_>, Tokens) -> bool;

/// The order in which things leave, behind the history.
const STAGES: [Stage; 7] = [
    cut_picks,
    cut_found_tools,
    crowding::cut_crowding_tools,
    shorten_results,
    cut_memories,
    cut_skill_bodies,
    crowding::cut_server_tools,
];

/// The carry to plan with when the prefix breaks anyway. A turn that does not
/// send the history leaves the history's own state alone.
///
/// In the middle of a turn things only leave: bringing a body back, or taking a
/// tool away that the model may be about to call, would break what stands before
/// the history, too.
fn at_trim(inputs: &AssemblyInputs<'_>) -> Carry {
    let mut carry = inputs.carry.clone();
    carry.trims = carry.trims.saturating_add(1);
    if inputs.mode.chosen.sends_history() {
        carry.picks_from = Some(inputs.message_id);
    }
    if inputs.rounds.is_empty() {
        // Those that search brings again keep their places.
        let again = brought_tools(inputs);
        carry.found_tools.retain(|tool| again.contains(&tool.item));
        // Minimal turns don't show what was shed, so they can't bring it back.
        if !inputs.mode.chosen.is_minimal() {
            carry.shed.clear();
        }
    }
    carry
}

/// The parts of the page as planned, and how they share the window.
fn measure(plan: &Plan<'_>) -> (Vec<Part>, Budget) {
    let AssemblyInputs { window, limits, .. } = plan.inputs;
    let tools = plan.tools.iter().map(|tool| tool.tokens).sum();
    let mut budget = Budget::share(*window, limits.reply, tools, limits.target);
    budget.messages = budget.messages - limits.margin;
    let parts = compose(plan);
    budget.used = parts.iter().map(|part| part.tokens).sum();
    (parts, budget)
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

fn summary_tokens(plan: &Plan<'_>) -> Tokens {
    plan.summary.as_ref().map_or(Tokens::ZERO, |part| part.tokens)
}

/// What a limit leaves for messages: some of it is for the summary of those that
/// leave.
fn without_summary(plan: &Plan<'_>, limit: Tokens) -> usize {
    let shown = plan.inputs.summary.map(|summary| plan.cost_of(summary)).unwrap_or_default();
    (limit - summary_room(&plan.inputs.limits, limit).max(shown)).get() as usize
}

fn history_is_within(plan: &Plan<'_>, limits: &ContextLimits) -> bool {
    history_messages(plan) <= limits.history_messages
        && history_tokens(plan) + summary_tokens(plan) <= limits.history_tokens
}

fn trim_to_limits(plan: &mut Plan<'_>, limits: &ContextLimits) {
    let limit = limits.history_messages;
    if history_messages(plan) > limit {
        let reason = DropReason::HistoryMessages { limit };
        trim_history(plan, reason, limit, message_count);
    }
    let limit = limits.history_tokens;
    if history_tokens(plan) + summary_tokens(plan) > limit {
        let reason = DropReason::HistoryTokens { limit };
        trim_history(plan, reason, without_summary(plan, limit), token_count);
    }
}

fn cut_history(plan: &mut Plan<'_>, budget: Budget) {
    let others = budget.used - history_tokens(plan) - summary_tokens(plan);
    let limit = without_summary(plan, budget.messages - others);
    trim_history(plan, DropReason::NoRoom, limit, token_count);
}

/// A summary was made for a larger window.
fn leave_summary_out(plan: &mut Plan<'_>) {
    let Some(summary) = plan.summary.take() else { return };
    let what = "summary of the history".to_owned();
    plan.drop(what, Layer::History, summary.tokens, DropReason::NoRoom);
}

/// Of what has left, the summary is what is left.
fn note_summary(plan: &mut Plan<'_>) {
    let after = summary_tokens(plan);
    let has_left = |dropped: &&mut DroppedEntry| {
        use DropReason::{HistoryMessages, HistoryTokens, NoRoom, TrimmedEarlier};
        let for_room = matches!(
            dropped.reason,
            HistoryMessages { .. } | HistoryTokens { .. } | NoRoom | TrimmedEarlier
        );
        dropped.layer == Layer::History && for_room
    };
    if let Some(last) = plan.dropped.iter_mut().rev().find(has_left)
        && plan.summary.is_some()
    {
        last.after = after.min(last.before);
    }
}

fn token_count(exchange: &Exchange) -> usize {
    exchange.tokens().get() as usize
}

fn message_count(exchange: &Exchange) -> usize {
    exchange.messages.len()
}

/// The oldest exchanges leave until three quarters of `limit` are left: far
/// enough below it that the next trim is not near.
///
/// The newest stays as long as it is within the limit by itself, if need be
/// without its rounds: a person who goes on after a long piece of work is not
/// met by an agent without a past.
fn trim_history(
    plan: &mut Plan<'_>,
    reason: DropReason,
    limit: usize,
    measure: fn(&Exchange) -> usize,
) {
    let mut rest: usize = plan.history.iter().map(measure).sum();
    let leaving = plan.history.iter().take_while(|exchange| {
        let leaves = rest > limit * 3 / 4;
        rest -= if leaves { measure(exchange) } else { 0 };
        leaves
    });
    let mut leaving = leaving.count();
    let mut condensed = None;
    if let Some(newest) = plan.history.last().filter(|_| leaving == plan.history.len()) {
        if measure(newest) <= limit {
            leaving -= 1;
        } else {
            condensed = newest.condensed(plan).filter(|short| measure(short) <= limit);
        }
    }
    let mut left_out = DropTally::default();
    plan.history.drain(..leaving).for_each(|exchange| left_out.add_exchange(&exchange));
    if let Some(exchange) = condensed {
        left_out.take_back(&exchange);
        remember_condensed(plan, &exchange);
        plan.history.push(exchange);
    }
    plan.dropped.extend(left_out.dropped(Layer::History, ["message", "messages"], reason));
    if plan.inputs.mode.chosen.sends_history() {
        remember_trim(plan, &left_out);
    }
}

/// A turn that does not send the history has condensed only what it shows.
fn remember_condensed(plan: &mut Plan<'_>, exchange: &Exchange) {
    if plan.inputs.mode.chosen.sends_history() {
        plan.carry.condensed.extend(exchange.first());
    }
}

/// Notes that the history begins at the first message that is left from now on.
fn remember_trim(plan: &mut Plan<'_>, left_out: &DropTally) {
    let first = plan.history.first().and_then(Exchange::first);
    let first = first.unwrap_or(plan.inputs.message_id);
    let Carry { history_from, trimmed, condensed, shortened, .. } = &mut plan.carry;
    *history_from = Some(first);
    condensed.retain(|id| *id >= first);
    *trimmed = TrimTotals {
        messages: trimmed.messages + left_out.count,
        tokens: trimmed.tokens + left_out.tokens,
    };
    shortened.retain(|id| *id >= first);
}

/// What is only named leaves first, then the least probable picks.
fn cut_picks(plan: &mut Plan<'_>, over: Tokens) -> bool {
    let mut freed = cut_list(plan, over);
    while freed < over {
        let probability = |at: &usize| {
            let scores = plan.picks[*at].item.scores.unwrap_or_default();
            scores.probability.or(scores.fused).unwrap_or(f32::MIN)
        };
        // Of equals the last goes, since picks come best first.
        let least =
            (0..plan.picks.len()).rev().min_by(|a, b| probability(a).total_cmp(&probability(b)));
        let Some(least) = least else { break };
        let pick = plan.picks.remove(least);
        let tokens = pick_tokens(plan, &pick);
        freed += tokens.max(Tokens::new(1));
        plan.drop_item(&pick.item.id, Layer::Picks, tokens, DropReason::NoRoom);
        plan.carry.cut_picks.insert(pick.item.id);
    }
    freed > Tokens::ZERO
}

/// The list gets shorter from its end.
fn cut_list(plan: &mut Plan<'_>, over: Tokens) -> Tokens {
    let mut freed = Tokens::ZERO;
    while freed < over {
        let Some(PlannedLine { item, line, .. }) = plan.list.pop() else { break };
        let (id, tokens) = (item.id, line_tokens(plan, &line));
        freed += tokens.max(Tokens::new(1));
        plan.drop_line(&id, tokens, DropReason::NoRoom);
        plan.carry.cut_picks.insert(id);
    }
    freed
}

/// Tools that search found leave, the last found first; not in the middle of a
/// turn, when the model may be about to call one.
fn cut_found_tools(plan: &mut Plan<'_>, _over: Tokens) -> bool {
    let found = |tool: &OfferedTool| tool.item.include == IncludeMode::Agent;
    let last = plan.tools.iter().rposition(found).filter(|_| plan.inputs.rounds.is_empty());
    let Some(at) = last else { return false };
    let tool = plan.tools.remove(at);
    plan.carry.found_tools.retain(|found| found.item != tool.spec.id);
    plan.drop_item(&tool.spec.id, Layer::Tools, tool.tokens, DropReason::NoRoom);
    plan.carry.cut_picks.insert(tool.spec.id);
    true
}

/// Older results of this turn are shortened, oldest first. The newest round
/// stays whole: the model has not read it yet.
fn shorten_results(plan: &mut Plan<'_>, over: Tokens) -> bool {
    let newest = plan.rounds.iter().rposition(|message| !message.calls().is_empty()).unwrap_or(0);
    let counter = &plan.inputs.counter;
    let mut freed = Tokens::ZERO;
    for message in &plan.rounds[..newest] {
        if freed >= over {
            break;
        }
        let Some(short) = shorten(message).filter(|_| plan.carry.shortened.insert(message.id))
        else {
            continue;
        };
        let before = counter.message(message, Layer::Rounds);
        let after = counter.message(&short, Layer::Rounds);
        freed += (before - after).max(Tokens::new(1));
        let what = result_name(message);
        let reason = DropReason::Shortened;
        let shortened = DroppedEntry::whole(what, Layer::Rounds, before, reason);
        plan.dropped.push(DroppedEntry { after, ..shortened });
    }
    freed > Tokens::ZERO
}

fn result_name(message: &Message) -> String {
    match &message.body {
        MessageBody::Tool { name, .. } => format!("result of {name} in message {}", message.id.0),
        _ => format!("message {}", message.id.0),
    }
}

/// The least relevant memories leave first; they come best first.
fn cut_memories(plan: &mut Plan<'_>, over: Tokens) -> bool {
    let mut freed = Tokens::ZERO;
    while freed < over {
        let Some(memory) = plan.memories.pop().map(|planned| planned.memory) else { break };
        let tokens = plan.inputs.counter.line(&memory.lead, &memory.text);
        freed += tokens.max(Tokens::new(1));
        plan.drop_item(&memory.id(), Layer::Memory, tokens, DropReason::NoRoom);
        shed(&mut plan.carry, memory.id());
    }
    freed > Tokens::ZERO
}

/// Leaves an item out until the next trim, and for this turn also as a pick.
fn shed(carry: &mut Carry, item: ItemId) {
    carry.cut_picks.insert(item.clone());
    carry.shed.insert(item);
}

/// Bodies become entries of the list, last in order first.
fn cut_skill_bodies(plan: &mut Plan<'_>, over: Tokens) -> bool {
    let counter = &plan.inputs.counter;
    let mut freed = Tokens::ZERO;
    for planned in plan.skills.iter_mut().rev() {
        if freed >= over {
            break;
        }
        if planned.form == SkillForm::Listed {
            continue;
        }
        planned.form = SkillForm::Listed;
        planned.reason = PartReason::ListedForRoom;
        let dropped = shed_body(planned.skill, counter);
        freed += dropped.tokens().max(Tokens::new(1));
        plan.dropped.push(dropped);
        shed(&mut plan.carry, skill_id(planned.skill));
    }
    freed > Tokens::ZERO
}
