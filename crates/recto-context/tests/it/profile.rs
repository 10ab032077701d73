//! What a calibration learns from is what the estimates are made of.

use std::sync::Arc;

use proptest::prelude::*;
use recto_context::{
    AssemblyInputs, Calibration, Catalog, ContentHash, ContentPart, ContextLimits, CountKind,
    CountTable, Image, Layer, LayoutPreset, Message, MessageBody, ObservationOutcome, Opaque,
    OpaqueKind, RequestContext, TextProfile, TokenCounter, TokenRates, Tokens, ToolCalls,
};

use crate::play::*;
use crate::support::*;

/// Rates that a server with other habits would lead to: dearer messages, cheaper words.
fn learned() -> TokenRates {
    let catalog = catalog();
    let items = catalog.session_at_start();
    let request = AssemblyInputs::new(&catalog, "hello").session(&items).assemble().unwrap();
    let (profile, messages) = request.profile();
    let mut calibration = Calibration::new(TokenRates::default());
    let counted = Tokens::new(request.prompt_tokens().get() * 9 / 10);
    assert_eq!(calibration.observe(&profile, messages, counted), ObservationOutcome::Used);
    calibration.rates()
}

/// Each part and each tool is rounded up once, and nothing else differs.
fn agrees(request: &RequestContext, rates: &TokenRates) -> Result<(), TestCaseError> {
    let (profile, messages) = request.profile();
    let whole = rates.estimate(&profile.with_messages(messages)).get();
    let (parts, pieces) =
        (request.prompt_tokens().get(), request.parts.len() + request.tools.len());
    prop_assert!(whole <= parts && parts <= whole + pieces as u32, "{whole} and {parts}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_profile_of_a_request_is_what_was_estimated(play in play()) {
        let learned = learned();
        play_through(play, &|step| {
            let Ok(request) = step.result else { return Ok(()) };
            agrees(request, &TokenRates::default())?;
            let inputs = step.inputs.clone().counter(TokenCounter::calibrated(learned.clone()));
            inputs.assemble().map_or(Ok(()), |request| agrees(&request, &learned))
        })?;
    }
}

#[test]
fn calls_results_images_and_schemas_are_in_the_profile() {
    let history =
        talk("user: time? / model: call time{} zone{} / tool: 12:00 / tool: UTC / model: noon");
    let catalog = catalog();
    let items = catalog.session_at_start();
    let image = Image { media_type: "image/png".into(), data: "aGk=".into(), name: None };
    let content = vec![ContentPart::Text("see".into()), ContentPart::Image(image)];
    let inputs =
        AssemblyInputs::new(&catalog, "").content(content).session(&items).history(&history);
    let request = inputs.assemble().unwrap();
    agrees(&request, &TokenRates::default()).unwrap();
    let (_, messages) = request.profile();
    assert_eq!(messages as usize, request.messages.len() + 2, "two calls are framed as well");
}

#[test]
fn schemas_that_are_not_sent_are_not_in_the_profile() {
    let catalog = catalog();
    let items = catalog.session_at_start();
    let mut layout = recto_context::PageLayout::default();
    layout.tool_calls = ToolCalls::Text;
    let request =
        AssemblyInputs::new(&catalog, "x").session(&items).layout(layout).assemble().unwrap();
    assert!(!request.tools.is_empty());
    agrees(&request, &TokenRates::default()).unwrap();
}

#[test]
fn without_a_catalog_the_message_alone_is_in_the_profile() {
    let catalog = Catalog::default();
    let layout = LayoutPreset::Plain.layout();
    let request = AssemblyInputs::new(&catalog, "hello there").layout(layout).assemble().unwrap();
    assert_eq!(request.profile().0, TextProfile::from_text("hello there").with_messages(1));
}

/// An exchange with a call, in which the model thinks before it calls and before it answers.
fn thoughtful(thought: Option<&str>) -> Vec<Arc<Message>> {
    let opaque = |json: &str| Opaque {
        provider: "anthropic".into(),
        json: json.into(),
        kind: OpaqueKind::Thought,
    };
    let think = |message: Arc<Message>| match (&message.body, thought) {
        (MessageBody::Assistant { content, calls }, Some(thought)) => {
            let thought = ContentPart::Opaque(opaque(thought));
            let content = std::iter::once(thought).chain(content.iter().cloned()).collect();
            let body = MessageBody::Assistant { content, calls: calls.clone() };
            Arc::new(Message { id: message.id, body })
        }
        _ => message,
    };
    let messages = talk("user: time? / model: call time{} / tool: 12:00 / model: noon");
    messages.into_iter().map(think).collect()
}

#[test]
fn reasoning_costs_only_within_its_own_turn() {
    let thought = "{\"thinking\":\"Let me see what the clock says.\"}".repeat(20);
    let (with, without) = (thoughtful(Some(&thought)), thoughtful(None));
    let catalog = Catalog::default();
    let assemble = |history: &[Arc<Message>], rounds: &[Arc<Message>]| {
        let inputs = AssemblyInputs::new(&catalog, "and now?").layout(LayoutPreset::Plain.layout());
        inputs.history(history).rounds(rounds).assemble().unwrap()
    };
    let later = |history: &[Arc<Message>]| assemble(history, &[]);
    assert_eq!(later(&with).profile(), later(&without).profile());
    assert_eq!(later(&with).prompt_tokens(), later(&without).prompt_tokens());
    assert_ne!(later(&with).messages, later(&without).messages, "it stays on the page");

    let now = |rounds: &[Arc<Message>]| assemble(&[], &rounds[1..3]);
    let cost = TokenCounter::estimated().text(&thought.as_str().into()).get();
    let more = now(&with).layer_tokens(Layer::Rounds) - now(&without).layer_tokens(Layer::Rounds);
    assert!(more.get().abs_diff(cost) <= 1, "{more} for {cost}");
    assert_eq!(
        now(&with).profile().0,
        now(&without).profile().0 + TextProfile::from_text(&thought)
    );
    agrees(&now(&with), &TokenRates::default()).unwrap();
}

#[test]
fn reasoning_takes_no_room_from_the_history() {
    let history = thoughtful(Some(&"hm ".repeat(2_000)));
    let catalog = Catalog::default();
    let limits = ContextLimits { history_tokens: Tokens::new(200), ..ContextLimits::default() };
    let inputs = AssemblyInputs::new(&catalog, "and now?").history(&history).limits(limits);
    let request = inputs.assemble().unwrap();
    assert_eq!(request.layer(Layer::History).count(), 4);
    assert_eq!(drops(&request), Vec::<String>::new());
}

#[test]
fn earlier_reasoning_needs_no_exact_count() {
    let history = [thoughtful(Some("hm"))[3].clone()];
    let catalog = Catalog::default();
    let counts =
        ["noon", "and now?"].map(|text| (ContentHash::of_bytes(text.as_bytes()), Tokens::new(1)));
    let table = CountTable { counts: counts.into(), per_message: Tokens::new(3) };
    let inputs = AssemblyInputs::new(&catalog, "and now?").layout(LayoutPreset::Plain.layout());
    let inputs = inputs.counter(TokenCounter::exact(&table, TokenRates::default()));
    let later = inputs.clone().history(&history).assemble().unwrap();
    assert_eq!((later.counted, later.prompt_tokens()), (CountKind::Tokenizer, Tokens::new(8)));
    assert_eq!(inputs.rounds(&history).assemble().unwrap().counted, CountKind::Mixed);
}
