//! What a turn counts as in the statistics: what its page showed, and what of it was
//! seen to be used.
//!
//! Items are counted by the turn's first page, because that is where they are chosen;
//! tokens by all of its requests. Use is seen where the model does something: it calls
//! a tool, reads an item by its name, calls a tool of a skill, recalls a memory. Whether a rule
//! or a reference on the page made a difference can't be seen, and is not guessed at. Tools that
//! a client brings along are no items of the agent, and are not counted.
//!
//! A turn that goes on with another counts its own requests and what they use; what
//! stands on its pages was chosen, and is counted, in the turn that began.
//!
//! A turn that another process takes up is counted from its records, so that it counts
//! like one that nobody has interrupted.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use recto_context::{
    CallId, ContentSource, IncludeMode, ItemForm, ItemId, ItemKind, Layer, MessageBody,
    OfferedTool, PartReason, Pick, RequestContext, Tokens, ToolCall, loaded_item, visible_text,
};
use recto_store::{
    ApprovalAnswer, ApprovalId, ItemPlace, RequestRecord, RequestUsage, SearchVerdict, Store,
    StoredApproval, StoredMessage, StoredTurn, TurnTally,
};

use crate::memories::recalled_memories;
use crate::record::{RequestPurpose, restore_request};

/// A turn's tally in the making.
#[derive(Debug, Clone, Default)]
pub(crate) struct TallyBuilder {
    tally: TurnTally,
    /// The items of the turn's first page.
    items: PageItems,
    /// Calls of our own `recall`, by whose results memories are used.
    recalls: HashSet<CallId>,
    /// How often each tool was called, and the skills that are used by that.
    calls: BTreeMap<ItemId, ToolUse>,
    /// What each call uses, if it succeeds.
    called: HashMap<CallId, Vec<ItemId>>,
    /// The tools of calls that nobody allowed, by the question.
    refusals: BTreeMap<ApprovalId, ItemId>,
}

/// How a tool was called in a turn.
#[derive(Debug, Clone, Default)]
struct ToolUse {
    count: usize,
    skills: BTreeSet<ItemId>,
}

/// Whether the items of a turn's page are still to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum PageItems {
    #[default]
    Uncounted,
    /// By a page of this turn, or of the turn that it goes on with.
    Counted,
}

impl TallyBuilder {
    /// The tally of a turn that goes on with another.
    pub(crate) fn of_continuation() -> Self {
        TallyBuilder { items: PageItems::Counted, ..TallyBuilder::default() }
    }

    /// The tally of all that was added.
    pub(crate) fn into_tally(mut self) -> TurnTally {
        for (tool, calls) in std::mem::take(&mut self.calls) {
            let refused = self.refusals.values().filter(|refused| **refused == tool).count();
            if calls.count > refused {
                calls.skills.into_iter().chain([tool]).for_each(|item| self.add_use(item));
            }
        }
        self.tally.refused_calls = self.refusals.len() as u64;
        self.tally
    }

    /// Counts the answer to a question: a call that nobody allowed uses nothing.
    pub(crate) fn add_answer(&mut self, approval: &StoredApproval) {
        let is_refused = approval.answer.as_ref().is_some_and(|decision| match decision.answer {
            ApprovalAnswer::Once | ApprovalAnswer::Session => false,
            ApprovalAnswer::Denied | ApprovalAnswer::Expired | ApprovalAnswer::Withdrawn => true,
        });
        if is_refused {
            self.refusals.insert(approval.id, approval.question.tool.clone());
        }
    }

    /// Counts a request that shows a page. `fresh` are the tokens that don't agree with
    /// the request before; without one, all of them are.
    pub(crate) fn add_page(&mut self, request: &RequestContext, fresh: Option<Tokens>) {
        self.tally.tokens.requests += 1;
        self.count_page(request, fresh);
    }

    /// Counts a request that asks for a summary: it costs tokens, but shows no page.
    pub(crate) fn add_summary_request(&mut self) {
        self.tally.tokens.requests += 1;
    }

    fn count_page(&mut self, request: &RequestContext, fresh: Option<Tokens>) {
        let tokens = &mut self.tally.tokens;
        tokens.pages += 1;
        tokens.fresh += u64::from(fresh.unwrap_or(request.prompt_tokens()).get());
        for layer in Layer::ALL {
            let cost = request.layer_tokens(layer);
            if cost > Tokens::ZERO {
                *tokens.layers.entry(layer).or_default() += u64::from(cost.get());
            }
        }
        if self.items == PageItems::Uncounted {
            self.items = PageItems::Counted;
            self.add_items(request);
            self.add_verdicts(request);
        }
    }

    /// Counts what a server counted.
    pub(crate) fn add_usage(&mut self, usage: &RequestUsage) {
        self.tally.tokens.add_usage(usage);
    }

    /// Counts what the reply to a request calls.
    pub(crate) fn add_calls(&mut self, request: &RequestContext, calls: &[ToolCall]) {
        for call in calls {
            let Some(tool) = agent_tools(request).find(|tool| tool.spec.called == call.name) else {
                continue;
            };
            if is_built_in(tool, "recall") {
                self.recalls.insert(call.id.clone());
            }
            let skill = skill_of(tool);
            let known = self.calls.entry(tool.item.id.clone()).or_default();
            known.count += 1;
            known.skills.extend(skill.clone());
            let used = skill.into_iter().chain([tool.item.id.clone()]);
            self.called.insert(call.id.clone(), used.collect());
        }
    }

    /// Counts what a result gives to read: memories that were recalled, an item that was loaded.
    /// The calls come first. A tool is used when it is called, and not when it is asked for.
    pub(crate) fn add_result(&mut self, message: &MessageBody) {
        if let Some((kind, name)) = loaded_item(message).filter(|it| it.0 != ItemKind::Tool) {
            let item = ItemId::new(kind, name);
            self.tally.uses.used.insert(item.clone());
            self.add_use(item);
        }
        if let MessageBody::Tool { call, content, .. } = message
            && self.recalls.contains(call)
        {
            for memory in recalled_memories(&visible_text(content)) {
                self.add_use(ItemId::new(ItemKind::Memory, memory));
            }
        }
    }

    /// Notes that a call did what it was asked. Of a turn that another process began nobody knows
    /// that any more, and then its calls speak for nothing.
    pub(crate) fn add_success(&mut self, call: &CallId) {
        self.tally.uses.used.extend(self.called.get(call).into_iter().flatten().cloned());
    }

    fn add_items(&mut self, request: &RequestContext) {
        for standing in request.item_standings() {
            let place = match standing.status.form() {
                Some(ItemForm::InFull) => ItemPlace::Taken,
                Some(ItemForm::Offered | ItemForm::Listed) => ItemPlace::Offered,
                None if standing.status.is_passed_over() => ItemPlace::Left,
                None => continue,
            };
            if is_of_client(request, &standing.item) {
                continue;
            }
            let include = standing.status.place().map(|place| place.include);
            if include == Some(IncludeMode::Manual) {
                self.tally.uses.added.insert(standing.item.clone());
            }
            let tally = self.tally.items.entry(standing.item).or_default();
            tally.place = Some(place);
            tally.include = include;
        }
    }

    /// Notes what search decided about items whose use can be seen: a tool that is offered, a
    /// skill that has tools on offer or can be read, whatever is listed to be loaded.
    fn add_verdicts(&mut self, request: &RequestContext) {
        let can_read = request.tools.iter().any(is_skill_reader);
        let skills: Vec<ItemId> = request.tools.iter().filter_map(skill_of).collect();
        for pick in &request.found {
            let is_seen = |place: ItemPlace| match (pick.item.kind, place) {
                (ItemKind::Tool, ItemPlace::Offered) => true,
                (ItemKind::Skill, ItemPlace::Taken) => skills.contains(&pick.item),
                _ => false,
            };
            self.add_verdict(pick, SearchVerdict::Picked, is_seen);
        }
        let possible = request.parts.iter().filter(|part| part.reason == PartReason::Possible);
        let possible: HashSet<&ItemId> =
            possible.filter_map(|part| Some(&part.item.as_ref()?.id)).collect();
        for pick in &request.candidates {
            let is_listed = |place: ItemPlace| {
                let is_readable = can_read && pick.item.kind == ItemKind::Skill;
                place == ItemPlace::Offered && (is_readable || possible.contains(&pick.item))
            };
            self.add_verdict(pick, SearchVerdict::PassedOver, is_listed);
        }
    }

    fn add_verdict(
        &mut self,
        pick: &Pick,
        verdict: fn(f32) -> SearchVerdict,
        is_seen: impl Fn(ItemPlace) -> bool,
    ) {
        let Some(tally) = self.tally.items.get_mut(&pick.item) else { return };
        if tally.place.is_some_and(is_seen) {
            tally.verdict = pick.scores.probability.map(verdict);
        }
    }

    fn add_use(&mut self, item: ItemId) {
        self.tally.items.entry(item).or_default().used = true;
    }
}

/// The tools on the page that are the agent's.
fn agent_tools(request: &RequestContext) -> impl Iterator<Item = &OfferedTool> {
    request.tools.iter().filter(|tool| !tool.spec.is_client_tool())
}

fn is_of_client(request: &RequestContext, item: &ItemId) -> bool {
    request.tools.iter().any(|tool| tool.spec.is_client_tool() && tool.item.id == *item)
}

/// The skill that a tool comes with: its files declare it.
fn skill_of(tool: &OfferedTool) -> Option<ItemId> {
    match (&tool.spec.source, &tool.item.id.server) {
        (ContentSource::File(_), Some(skill)) => Some(ItemId::new(ItemKind::Skill, skill.clone())),
        _ => None,
    }
}

/// Whether a tool reads skills by their names.
fn is_skill_reader(tool: &OfferedTool) -> bool {
    is_built_in(tool, "read_skill") || is_built_in(tool, "read_item")
}

fn is_built_in(tool: &OfferedTool, name: &str) -> bool {
    let ItemId { server, name: own, .. } = &tool.item.id;
    tool.spec.source == ContentSource::BuiltIn && server.is_none() && **own == *name
}

/// The tally of a turn as far as its records go. What can't be read any more is left
/// out: no turn fails for its statistics.
pub(crate) async fn tally_stored_turn(store: &Store, turn: &StoredTurn) -> TallyBuilder {
    let mut tally = match turn.continues {
        Some(_) => TallyBuilder::of_continuation(),
        None => TallyBuilder::default(),
    };
    // What was made and paid for counts, whether or not its page can be read any more.
    tally.tally.tokens = store.turn_tokens(turn.id).await.unwrap_or_default();
    let of_turn = store.messages_of_turn(turn).await.unwrap_or_default();
    for (_, id) in store.request_ids(turn.id).await.unwrap_or_default() {
        if let Ok(Some(record)) = store.request(id).await {
            tally.add_record(store, &record, &of_turn).await;
        }
    }
    of_turn.iter().for_each(|stored| tally.add_result(&stored.message.body));
    let asked = store.approvals_of(turn.id).await.unwrap_or_default();
    asked.iter().for_each(|approval| tally.add_answer(approval));
    tally
}

impl TallyBuilder {
    /// Counts the page of a recorded request, and what its reply calls.
    async fn add_record(
        &mut self,
        store: &Store,
        record: &RequestRecord,
        messages: &[StoredMessage],
    ) {
        let Ok(request) = restore_request(store, record).await else { return };
        if RequestPurpose::from_record(record) == RequestPurpose::Page {
            let fresh = record.notes["prefix"]["fresh_tokens"].as_u64();
            let fresh = fresh.and_then(|fresh| u32::try_from(fresh).ok()).map(Tokens::new);
            self.count_page(&request, fresh);
        }
        let Some(answer) = &record.answer else { return };
        let reply = messages.iter().find(|stored| Some(stored.message.id) == answer.reply);
        if let Some(reply) = reply {
            self.add_calls(&request, reply.message.calls());
        }
    }
}
