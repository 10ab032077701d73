//! The promises of the page, over random sessions.
//!
//! Each request is held against the one before it, and against what must be true
//! of every request.

use std::collections::HashSet;

use proptest::prelude::*;
use recto_context::{
    AssemblyInputs, CallId, ChangeCause, ChatMessage, ChatRole, ItemForm, Layer, LayoutPreset,
    OfferedTool, PartReason, RequestContext, Tokens, Window, compare_requests,
};

use crate::play::*;
use crate::support::*;

/// What is true of every step.
fn check_step(step: &Step<'_>) -> Result<(), TestCaseError> {
    let Ok(request) = step.result else {
        prop_assert!(over_budget_is_honest(step.inputs));
        return Ok(());
    };
    prop_assert_eq!(page(request), page(&step.inputs.assemble().unwrap()));
    check_request(request, step.turn)?;
    step.before.map_or(Ok(()), |before| check_prefix(before, request, step.edits))
}

/// An error is only right when what can't be cut really is too large.
fn over_budget_is_honest(inputs: &AssemblyInputs<'_>) -> bool {
    let error = inputs.assemble().unwrap_err();
    let cuttable = [Layer::Memory, Layer::History, Layer::Picks];
    let left = error.layers.iter().filter(|(layer, _)| cuttable.contains(layer));
    error.needed() > error.budget.messages && left.map(|(_, tokens)| tokens.get()).sum::<u32>() == 0
}

/// What is true of every request.
fn check_request(request: &RequestContext, turn: &Turn) -> Result<(), TestCaseError> {
    let budget = request.budget;
    prop_assert!(budget.used <= budget.messages);
    prop_assert!(request.prompt_tokens() + budget.reply <= budget.window);
    prop_assert!(request.parts.is_sorted_by_key(|part| part.layer));
    for layer in [Layer::System, Layer::Bootstrap, Layer::Message] {
        prop_assert!(request.layer(layer).count() > 0, "{} is there", layer);
    }
    let current: Vec<_> = request.layer(Layer::Message).collect();
    prop_assert_eq!(current.len(), 1);
    prop_assert_eq!(current[0].text(), turn.message.as_str());
    let at = request.parts.iter().position(|part| part.layer == Layer::Message).unwrap();
    let shows = |message: &&ChatMessage| message.spans.iter().any(|span| span.part == at);
    let message = request.messages.iter().find(shows).unwrap();
    prop_assert_eq!(message.role, ChatRole::User);
    prop_assert!(message.text().ends_with(turn.message.as_str()));
    check_list(request)?;
    check_calls(request)
}

/// A list names nothing that stands on the page in full, and nothing twice; it stands where the
/// model can load what it names, and stays within its limits.
fn check_list(request: &RequestContext) -> Result<(), TestCaseError> {
    let listed = request.layer(Layer::Picks).filter(|part| part.is_list_entry());
    let listed: Vec<String> = listed.map(|part| part.text().to_owned()).collect();
    let names: HashSet<String> = listed.iter().cloned().collect();
    prop_assert_eq!(names.len(), listed.len());
    prop_assert!(listed.len() <= 12);
    let can_load = request.tools.iter().any(|tool| &*tool.spec.id.name == "read_item");
    prop_assert!(listed.is_empty() || (can_load && !request.mode.chosen.is_minimal()));
    for standing in request.item_standings() {
        let places = standing.status.place().into_iter().chain(&standing.also);
        let is_listed = places.clone().any(|place| place.reason == PartReason::Possible);
        let is_whole = standing.status.form() == Some(ItemForm::InFull);
        prop_assert!(!(is_listed && is_whole), "{:?}", standing);
    }
    Ok(())
}

/// Every call is answered right behind it, and every answer has its call.
fn check_calls(request: &RequestContext) -> Result<(), TestCaseError> {
    let mut open: HashSet<&CallId> = HashSet::new();
    for message in &request.messages {
        if let Some((call, _)) = &message.answers {
            prop_assert!(open.remove(call), "an answer without its call");
            continue;
        }
        prop_assert!(open.is_empty(), "a call without its answer");
        open.extend(message.calls.iter().map(|call| &call.id));
    }
    prop_assert!(open.is_empty());
    Ok(())
}

/// The three promises of the stable prefix.
fn check_prefix(
    before: &RequestContext,
    after: &RequestContext,
    edits: &[Edit],
) -> Result<(), TestCaseError> {
    let comparison = compare_requests(before, after);
    let Some(change) = &comparison.change else { return Ok(()) };
    let same_turn = before.sent.id == after.sent.id;
    let cause = change.cause;
    if cause == ChangeCause::PicksLeft {
        // Between turns, and not before the end of History.
        prop_assert!(!same_turn);
        let history_end =
            before.parts.iter().take_while(|part| part.layer <= Layer::History).count();
        prop_assert!(comparison.agreed_parts >= history_end, "{:?}", comparison);
        return Ok(());
    }
    let edited = |layer: Layer| !same_turn && edits.iter().any(|edit| edit.layer() == layer);
    let right = match cause {
        ChangeCause::ModelChanged => edits.contains(&Edit::Model),
        ChangeCause::ModeFlipped => before.mode.chosen != after.mode.chosen,
        ChangeCause::ItemChanged | ChangeCause::ItemAdded => edited(change.layer),
        ChangeCause::MemoryReplaced => edited(Layer::Memory) && change.layer == Layer::Memory,
        ChangeCause::ToolOffered => {
            let known = |id| before.tools.iter().any(|tool| tool.spec.id == id);
            let is_asked_for = || {
                let asked = |tool: &&OfferedTool| tool.reason == PartReason::AskedFor;
                after
                    .tools
                    .iter()
                    .filter(asked)
                    .any(|tool| Some(&tool.spec.id) == change.item.as_ref())
            };
            change.item.clone().is_some_and(|id| !known(id)) && (!same_turn || is_asked_for())
        }
        ChangeCause::HistoryTrimmed => {
            let chosen_anew = !same_turn && !after.mode.chosen.sends_history();
            trims(before) != trims(after) || (chosen_anew && change.layer == Layer::History)
        }
        ChangeCause::MessageAlone => {
            // Where the message is the same once more, only the rounds behind it left.
            !same_turn && !after.mode.chosen.sends_history() && change.layer >= Layer::Message
        }
        // Once sent shortened, a result stays so in the turns to come.
        ChangeCause::ResultShortened => {
            same_turn && before.carry.shortened != after.carry.shortened
        }
        // What was cut comes back at a trim and with a turn, and not before.
        ChangeCause::LayerCut if same_turn => picked(after).is_subset(&picked(before)),
        ChangeCause::LayerCut => trims(before) != trims(after),
        // No client takes part in these sessions, and nothing is taken back.
        ChangeCause::ClientChanged
        | ChangeCause::ExchangeTakenBack
        | ChangeCause::Unrelated
        | ChangeCause::PicksLeft
        | ChangeCause::SurroundingsChanged => false,
    };
    prop_assert!(right, "{:?} does not explain it: {:#?}", cause, change);
    Ok(())
}

/// How often something had to leave; another number means that it did again.
fn trims(request: &RequestContext) -> u32 {
    request.carry.trims
}

/// The items that search brought and that are shown.
fn picked(request: &RequestContext) -> HashSet<String> {
    let picks = request.layer(Layer::Picks).filter_map(|part| part.item.as_ref());
    picks.map(|item| item.id.to_string()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Promise: `prefix-stays-put`
    #[test]
    fn the_promises_hold_over_random_sessions(play in play()) {
        play_through(play, &check_step)?;
    }

    #[test]
    fn any_preset_fits_the_window_or_says_why(
        message in text(),
        window in 100..3_000u32,
        preset in prop_oneof![
            Just(LayoutPreset::Recto), Just(LayoutPreset::Plain), Just(LayoutPreset::Attached), Just(LayoutPreset::Layered)
        ],
        turn in turn(),
    ) {
        let catalog = agent();
        let items = catalog.session_at_start();
        let picks = picks(&turn);
        let history = talk("user: hi / model: call read_file{} / tool: text / model: hello");
        let inputs = AssemblyInputs::new(&catalog, message.as_str())
            .layout(preset.layout())
            .session(&items)
            .picks(&picks)
            .history(&history)
            .window(Window::from_config(Tokens::new(window)));
        match inputs.assemble() {
            Ok(request) => {
                prop_assert!(request.prompt_tokens() + request.budget.reply <= request.budget.window);
                let parts: Tokens = request.parts.iter().map(|part| part.tokens).sum();
                prop_assert_eq!(parts, request.budget.used);
                prop_assert!(request.messages.last().unwrap().text().ends_with(&message));
                check_calls(&request)?;
            }
            Err(error) => prop_assert!(error.needed() > error.budget.messages),
        }
    }
}
