//! Where each part stands in the messages, and what of it was cached.

use std::sync::Arc;

use proptest::prelude::*;
use recto_context::{
    AssemblyInputs, AttachedFile, CachedPrefix, ContentPart, Image, ImageRender, IncludeMode,
    ItemKind, LayoutPreset, Message, MessageId, MessageStamp, Mode, ModeDecision, ModeReason,
    PageLayout, Part, PartContent, PickMessages, PickPlacement, RequestContext, ServedTokens,
    SkillRender, SystemMessages, Tokens, ToolCalls, TurnNumber, Window, compare_requests,
};
use serde_json::Value;

use crate::play::{play, play_through};
use crate::support::*;

/// What a part puts into the first text of its message.
fn text_of(part: &Part) -> String {
    let text = match &part.content {
        PartContent::Text(text) => text.as_str(),
        PartContent::Message(message) => {
            message.content().first().and_then(ContentPart::as_text).map_or("", |text| text)
        }
    };
    format!("{}{text}", part.lead)
}

/// The first text of a message, as the report has it.
fn first_text(message: &Value) -> &str {
    let content = &message["content"];
    content.as_str().or_else(|| content[0]["text"].as_str()).unwrap_or_default()
}

/// Slices the report's messages by the ranges of its rows, and expects the parts' texts; the
/// ranges follow each other, with nothing between them but line breaks.
fn check_places(request: &RequestContext) {
    let report = request.report();
    let layers = report["layers"].as_array().unwrap().iter();
    let rows = layers.flat_map(|layer| layer["items"].as_array().unwrap());
    let rows: Vec<&Value> = rows.filter(|row| !row["message"].is_null()).collect();
    assert_eq!(rows.len(), request.parts.len(), "each part has a row");
    let mut ends = vec![0; request.messages.len()];
    for (row, part) in rows.iter().zip(&request.parts) {
        let at = row["message"].as_u64().unwrap() as usize;
        let [start, end] = [0, 1].map(|side| row["bytes"][side].as_u64().unwrap() as usize);
        let text = first_text(&report["messages"][at]);
        assert_eq!(&text[start..end], text_of(part), "{row}");
        assert!(text[ends[at]..start].chars().all(|c| c == '\n'), "{row}");
        ends[at] = end;
    }
    for (end, message) in ends.iter().zip(report["messages"].as_array().unwrap()) {
        assert_eq!(*end, first_text(message).len(), "nothing stands behind the last part");
    }
}

/// Every combination of what lays out a page.
fn layouts() -> Vec<PageLayout> {
    let mut layouts = Vec::new();
    for preset in
        [LayoutPreset::Recto, LayoutPreset::Plain, LayoutPreset::Attached, LayoutPreset::Layered]
    {
        for system_messages in [SystemMessages::Single, SystemMessages::PerLayer] {
            for pick_messages in [PickMessages::Merged, PickMessages::Separate] {
                for picks in [PickPlacement::TurnOnly, PickPlacement::Kept, PickPlacement::InLayer]
                {
                    for tool_calls in [ToolCalls::Native, ToolCalls::Text] {
                        let (skills, images) = match picks {
                            PickPlacement::Kept => (SkillRender::ReadOnDemand, ImageRender::Text),
                            _ => (SkillRender::Full, ImageRender::Native),
                        };
                        layouts.push(PageLayout {
                            preset,
                            system_messages,
                            pick_messages,
                            picks,
                            skills,
                            tool_calls,
                            images,
                        });
                    }
                }
            }
        }
    }
    layouts
}

/// Promise: `ranges-are-exact`
#[test]
fn every_message_is_made_of_its_parts_in_every_layout_and_mode() {
    let mut catalog = catalog();
    catalog.system.soul = file("SOUL.md", "Du heißt Ädä, 名前はアダ、🦀🏳️‍🌈.");
    catalog.rules.push(rule("größe", 1, IncludeMode::Agent, "Größen in Metern: ½ m, 二メートル."));
    catalog.memories.push(memory("m", Some("2026-11-02"), "Кошку зовут\nТьюринг."));
    let items = catalog.session_at_start();
    let picks = [pick(ItemKind::Rule, "größe", 0.9), pick(ItemKind::Skill, "git", 0.8)];
    let image = Image { media_type: "image/png".into(), data: "aGk=".into(), name: None };
    let contents = [
        vec![ContentPart::Text("naïve — 你好\n".into())],
        vec![ContentPart::Text("see ↓".into()), ContentPart::Image(image.clone())],
        vec![ContentPart::Image(image.clone()), ContentPart::Text("é".into())],
        vec![
            ContentPart::Text("ü".into()),
            ContentPart::File(AttachedFile::new("ä.txt", "ö\n```\n")),
            ContentPart::Image(image),
            ContentPart::File(AttachedFile::new(AttachedFile::STANDARD_INPUT, "")),
        ],
    ];
    let modes = [Mode::Full, Mode::Minimal, Mode::FullWithoutHistory, Mode::MinimalWithHistory];
    for layout in layouts() {
        for mode in modes {
            let mut history: Vec<Arc<Message>> = talk(
                "user: große Frage / model: call time{\"z\":\"ü\"} / tool: 12:00 Ühr / model: ½",
            );
            let mut carry = Default::default();
            for (turn, content) in contents.iter().enumerate() {
                let request = AssemblyInputs::new(&catalog, "")
                    .content(content.clone())
                    .message_id(MessageId(10 + turn as u64))
                    .turn(TurnNumber(turn as u32 + 2))
                    .stamp(MessageStamp::new("2026-11-15 08:07"))
                    .mode(ModeDecision::new(mode, ModeReason::Configured))
                    .layout(layout)
                    .session(&items)
                    .history(&history)
                    .picks(&picks)
                    .carry(carry)
                    .bootstrap(bootstrap())
                    .window(Window::from_config(Tokens::new(50_000)))
                    .assemble()
                    .unwrap();
                check_places(&request);
                crate::record::check_comes_back(&request);
                history.push(request.sent.clone());
                carry = request.carry;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn ranges_hold_in_random_sessions(play in play()) {
        play_through(play, &|step| {
            if let Ok(request) = step.result {
                check_places(request);
            }
            Ok(())
        })?;
    }

    /// What is laid over the parts is what the comparison found, whatever changed.
    #[test]
    fn what_is_cached_adds_up_to_the_agreement(play in play()) {
        let before = std::cell::RefCell::new(None::<RequestContext>);
        play_through(play, &|step| {
            let Ok(request) = step.result else { return Ok(()) };
            if let Some(before) = before.borrow().as_ref() {
                let comparison = compare_requests(before, request);
                let agreed_bytes = Some(comparison.agreed_bytes);
                let report = request.report_cached(&CachedPrefix { agreed_bytes, served: None });
                let layers = report["layers"].as_array().unwrap().iter();
                let agreed: u64 =
                    layers.map(|layer| layer["cached"]["agreed"].as_u64().unwrap()).sum();
                // A message without a byte can't be told from one that is not there.
                let is_silent = |text: &str| text.is_empty();
                if request.messages.iter().any(|message| is_silent(&message.text())) {
                    prop_assert!(agreed <= u64::from(comparison.agreed_tokens.get()));
                } else {
                    prop_assert_eq!(agreed, u64::from(comparison.agreed_tokens.get()));
                }
                prop_assert!(comparison.reread_tokens <= comparison.fresh_tokens);
            }
            before.replace(Some(request.clone()));
            Ok(())
        })?;
    }
}

#[test]
fn what_was_cached_is_laid_over_the_parts() {
    let catalog = catalog();
    let items = catalog.session_at_start();
    let turn = |message: &str| {
        let inputs = AssemblyInputs::new(&catalog, message).session(&items);
        inputs.message_id(MessageId(1)).assemble().unwrap()
    };
    let (before, after) = (turn("What is tea?"), turn("What is tar?"));
    let agreed_bytes = Some(compare_requests(&before, &after).agreed_bytes);
    let prompt = after.prompt_tokens().get();
    // The server counts twice as many tokens as we do, and had the half of them.
    let served = ServedTokens { prompt: Tokens::new(prompt * 2), cached: Tokens::new(prompt) };
    let report = after.report_cached(&CachedPrefix { agreed_bytes, served: Some(served) });
    let layer = |name: &str| {
        let layers = report["layers"].as_array().unwrap();
        layers.iter().find(|layer| layer["layer"] == name).unwrap().clone()
    };
    let message = &layer("message")["items"][0];
    assert_eq!(message["cached"]["bytes"], "What is t".len());
    assert_eq!(message["cached"]["agreed"], 0, "not all of it");
    assert_eq!(message["cached"]["served"], 0);
    let items = layer("items");
    assert_eq!(items["cached"]["agreed"], items["tokens"]);
    let tool = &layer("tools")["items"][1];
    assert_eq!((&tool["kind"], &tool["cached"]["agreed"]), (&"tool".into(), &tool["tokens"]));
    let layers = report["layers"].as_array().unwrap().iter();
    let served: u64 = layers.map(|layer| layer["cached"]["served"].as_u64().unwrap()).sum();
    assert_eq!(served, u64::from(prompt / 2));
    // Where nobody says it, nothing is claimed.
    let unknown = &after.report()["layers"][0]["cached"];
    assert!(unknown["bytes"].is_null() && unknown["agreed"].is_null());
    assert!(unknown["served"].is_null());
}
