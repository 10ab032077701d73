//! Which mode a turn gets, as one table.

use recto_context::mode::{
    self, ModeContradiction, ModeMark, ModeQuestion, ModeSetting, OlderPair, ToolTurnContext,
    UncertainMode, speaks_for_tools,
};
use recto_context::{
    AssemblyInputs, Catalog, ContextMode, ItemKind, Mode, ModeReason, ModeSource, Pick,
};

use crate::support::{mode, pick};

fn older(turn: Option<ToolTurnContext>, minimal_system: Option<bool>) -> OlderPair {
    OlderPair { tool_turn_context: turn, minimal_system }
}

#[test]
fn the_older_pair_means_what_it_always_did() {
    use ToolTurnContext::{Full, Minimal};
    let table = [
        (Some(Minimal), Some(true), Mode::Minimal),
        (Some(Minimal), Some(false), Mode::FullWithoutHistory),
        (Some(Minimal), None, Mode::FullWithoutHistory),
        (Some(Full), Some(true), Mode::MinimalWithHistory),
        (None, Some(true), Mode::MinimalWithHistory),
        (Some(Full), Some(false), Mode::Full),
        (Some(Full), None, Mode::Full),
        (None, Some(false), Mode::Full),
        (None, None, Mode::Full),
    ];
    for (turn, system, expected) in table {
        let resolved = mode::resolve(None, older(turn, system)).unwrap();
        let unset = turn.is_none() && system.is_none();
        let setting = if unset { ModeSetting::Unset } else { ModeSetting::Pair(expected) };
        assert_eq!(resolved.setting, setting, "{turn:?} {system:?}");
        for (has_tools, expected) in [(true, expected), (false, Mode::Full)] {
            let question = ModeQuestion {
                setting: resolved.setting,
                uncertain: UncertainMode::Minimal,
                mark: None,
                has_tools,
                found: None,
                message: "edit config.json",
            };
            assert_eq!(mode::decide(&question).chosen, expected, "{turn:?} {system:?} {has_tools}");
        }
    }
}

/// Promise: `explicit-mode-wins`
#[test]
fn explicit_settings_win_and_contradictions_are_errors() {
    use ToolTurnContext::{Full, Minimal};
    let resolve = |context, turn, system| mode::resolve(Some(context), older(turn, system));
    let fixed = |mode| Ok(ModeSetting::Fixed(mode));
    let table = [
        (ContextMode::Minimal, None, None, fixed(Mode::Minimal)),
        (ContextMode::Minimal, Some(Minimal), Some(true), fixed(Mode::Minimal)),
        (ContextMode::Full, Some(Full), Some(false), fixed(Mode::Full)),
        (
            ContextMode::Full,
            Some(Minimal),
            Some(true),
            Err(ModeContradiction { asked: Mode::Full, pair: Mode::Minimal }),
        ),
        (
            ContextMode::Minimal,
            Some(Full),
            None,
            Err(ModeContradiction { asked: Mode::Minimal, pair: Mode::Full }),
        ),
        (ContextMode::Auto, Some(Minimal), Some(true), Ok(ModeSetting::Pair(Mode::Minimal))),
        (ContextMode::Auto, None, None, Ok(ModeSetting::Auto)),
    ];
    for (context, turn, system, expected) in table {
        let resolved = resolve(context, turn, system);
        assert_eq!(resolved.map(|r| r.setting), expected, "{context:?} {turn:?} {system:?}");
    }
    assert!(resolve(ContextMode::Auto, Some(Full), None).unwrap().pair_wins_over_auto);
    assert!(!resolve(ContextMode::Auto, None, None).unwrap().pair_wins_over_auto);
}

/// Promise: `work-told-from-talk`
#[test]
fn auto_tells_work_from_talk() {
    let minimal = [
        "ok, edit config.json",
        "yes, run the tests",
        "make sure to update main.ts",
        "Read README.md and summarize it",
        "fix src/main.rs",
        "check Cargo.toml",
    ];
    let full = [
        "what type of cat is this",
        "thanks!",
        "write a short story about a file clerk",
        "why is the sky blue?",
    ];
    for (messages, expected) in [(&minimal[..], Mode::Minimal), (&full[..], Mode::Full)] {
        for message in messages {
            let decision = mode(ContextMode::Auto, message);
            assert_eq!(decision.chosen, expected, "{message}: {decision:?}");
            assert!(matches!(decision.reason, ModeReason::Words(_)), "{message}");
            assert!(decision.matched.iter().all(|word| message.contains(word.as_str())));
        }
    }
}

#[test]
fn marks_come_before_settings_and_search_before_talk() {
    let found = pick(ItemKind::Tool, "weather", 0.9);
    let auto = ModeSetting::Auto;
    let question = |setting, mark, found, message| {
        let uncertain = UncertainMode::Minimal;
        mode::decide(&ModeQuestion { setting, uncertain, mark, has_tools: true, found, message })
    };
    let fixed = ModeSetting::Fixed(Mode::Full);
    let marked = question(fixed, Some(ModeMark::Turn(ContextMode::Minimal)), None, "thanks!");
    assert_eq!((marked.chosen, marked.reason), (Mode::Minimal, ModeReason::Marked));
    let on_session = Some(ModeMark::Session(ContextMode::Full));
    let marked = question(auto, on_session, None, "edit config.json");
    assert_eq!(marked.chosen, Mode::Full);
    let by_search = question(auto, None, Some(&found), "is it raining?");
    assert_eq!(by_search.reason, ModeReason::Found("tool weather".to_owned()));
    let by_path = question(auto, None, Some(&found), "look at /etc/hosts");
    assert!(matches!(by_path.reason, ModeReason::Words(_)));
    let mark_auto = question(fixed, Some(ModeMark::Turn(ContextMode::Auto)), None, "thanks!");
    assert_eq!(mark_auto.chosen, Mode::Full);
    assert!(matches!(mark_auto.reason, ModeReason::Words(_)));
}

#[test]
fn only_a_tool_that_search_is_sure_of_leaves_no_other_choice() {
    let decide = |setting, found: &Pick| {
        let (uncertain, message) = (UncertainMode::Minimal, "what time is it?");
        let found = Some(found);
        let question =
            ModeQuestion { setting, uncertain, mark: None, has_tools: true, found, message };
        mode::decide(&question)
    };
    let clock = pick(ItemKind::Tool, "clock", 0.95);
    let sure = decide(ModeSetting::Auto, &clock);
    assert_eq!(sure.sure_tool.as_ref(), Some(&clock.item));
    assert!(sure.describe().contains("search found tool clock"), "{sure:?}");
    for doubtful in [pick(ItemKind::Tool, "clock", 0.85), pick(ItemKind::Skill, "clock", 0.95)] {
        let decision = decide(ModeSetting::Auto, &doubtful);
        assert_eq!((decision.chosen, decision.sure_tool), (Mode::Minimal, None));
    }
    // What only sounds like memory is no reason to call anything.
    assert!(speaks_for_tools(&clock.item));
    assert!(!speaks_for_tools(&pick(ItemKind::Tool, "remember", 0.95).item));
    // Where search decides nothing, it chooses nothing, either.
    assert_eq!(decide(ModeSetting::Fixed(Mode::Minimal), &clock).sure_tool, None);
}

#[test]
fn what_nothing_decides_a_setting_decides() {
    for (uncertain, expected) in
        [(UncertainMode::Minimal, Mode::Minimal), (UncertainMode::Full, Mode::Full)]
    {
        // Also when a person asks for auto beside a fixed setting.
        let mark_auto = Some(ModeMark::Turn(ContextMode::Auto));
        for (setting, mark) in
            [(ModeSetting::Auto, None), (ModeSetting::Fixed(Mode::Full), mark_auto)]
        {
            let message = "blorp wib";
            let question =
                ModeQuestion { setting, uncertain, mark, has_tools: true, found: None, message };
            let decision = mode::decide(&question);
            assert_eq!((decision.chosen, decision.reason), (expected, ModeReason::Uncertain));
        }
    }
}

/// A page shows the setting beside the decision, and who set it.
#[test]
fn the_decision_says_which_setting_held() {
    use ModeSource::{Default, Model, Pair, Session, Turn};
    let (auto, full) = (ContextMode::Auto, ContextMode::Full);
    let pair = ModeSetting::Pair(Mode::MinimalWithHistory);
    let table = [
        (ModeSetting::Unset, None, Default, "full", "default"),
        (ModeSetting::Auto, None, Model(auto), "auto", "model"),
        (ModeSetting::Fixed(Mode::Full), None, Model(full), "full", "model"),
        (pair, None, Pair(Mode::MinimalWithHistory), "minimal_with_history", "pair"),
        (pair, Some(ModeMark::Session(auto)), Session(auto), "auto", "session"),
        (ModeSetting::Auto, Some(ModeMark::Turn(full)), Turn(full), "full", "turn"),
    ];
    for (setting, mark, source, asked, from) in table {
        for has_tools in [true, false] {
            let (uncertain, message) = (UncertainMode::Minimal, "fix src/main.rs");
            let question =
                ModeQuestion { setting, uncertain, mark, has_tools, found: None, message };
            let decision = mode::decide(&question);
            assert_eq!(decision.source, Some(source));
            assert_eq!((source.setting(), source.name()), (asked, from));
            let catalog = Catalog::default();
            let request = AssemblyInputs::new(&catalog, message).mode(decision).assemble().unwrap();
            let report = request.report();
            assert_eq!(report["mode"]["setting"], asked);
            assert_eq!(report["mode"]["setting_from"], from);
        }
    }
}
