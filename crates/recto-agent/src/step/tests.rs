//! Turns played in a small notation: what comes in, separated by ` / `.

use expect_test::{Expect, expect};
use recto_context::{CallId, ModeDecision, ToolCall};

use super::{EndReason, ReplyText, StepEffect, StepInput, TurnState};

/// Plays a turn. `begin`, `model: TEXT`, `model: call NAME{ARGUMENTS} …`,
/// `ask`, `decide`, `results`, `fail`, `stop`, and `crash`: the state is written down, read again
/// and resumed. Tools named `client_…` are the client's; `continue` goes on with a turn that
/// handed calls out, with what was written down of it.
fn check(script: &str, expected: &Expect) {
    let mut state = TurnState::new(ModeDecision::without_tools(), "test", 4);
    let mut shown = String::new();
    for line in script.split(" / ") {
        let effect = play(&mut state, line);
        shown += &format!("{line} -> {}\n", describe(&effect));
    }
    expected.assert_eq(&shown);
}

fn play(state: &mut TurnState, line: &str) -> StepEffect {
    let (calls, client_calls);
    let input = match line.split_once(": ") {
        Some(("model", said)) => {
            let (theirs, ours): (Vec<_>, Vec<_>) =
                read_calls(said).into_iter().partition(|call| call.name.starts_with("client_"));
            (calls, client_calls) = (ours, theirs);
            let blank = said.trim().is_empty() || said.starts_with("call ");
            let text = if blank { ReplyText::Nothing } else { ReplyText::Something };
            StepInput::Reply { calls: &calls, client_calls: &client_calls, text }
        }
        _ => match line {
            "begin" => StepInput::Begin,
            "ask" => StepInput::Asked,
            "decide" => StepInput::Decided,
            "results" => StepInput::Results,
            "fail" => StepInput::CallFailed,
            "stop" => StepInput::Stop,
            "continue" => {
                let kept = serde_json::to_value(&*state).unwrap();
                *state = TurnState::read(&kept).unwrap().continued();
                StepInput::Results
            }
            "crash" => {
                let kept = serde_json::to_value(&*state).unwrap();
                *state = TurnState::read(&kept).unwrap();
                StepInput::Resume
            }
            other => panic!("unknown line {other:?}"),
        },
    };
    state.step(input)
}

fn read_calls(said: &str) -> Vec<ToolCall> {
    let Some(calls) = said.strip_prefix("call ") else { return Vec::new() };
    let call = |(index, call): (usize, &str)| {
        let (name, arguments) = call.split_once('{').unwrap();
        ToolCall {
            id: CallId(format!("c{index}").into()),
            name: name.into(),
            arguments: format!("{{{arguments}").into(),
        }
    };
    calls.split(' ').enumerate().map(call).collect()
}

fn describe(effect: &StepEffect) -> String {
    match effect {
        StepEffect::Call => "call".to_owned(),
        StepEffect::Run => "run".to_owned(),
        StepEffect::Wait => "wait".to_owned(),
        StepEffect::End(closing) => {
            let unanswered: Vec<_> = closing.unanswered.iter().map(|call| &*call.name).collect();
            format!("end {:?} unanswered [{}]", closing.outcome, unanswered.join(" "))
        }
    }
}

#[test]
fn an_answer_ends_the_turn() {
    check(
        "begin / model: noon",
        &expect![[r#"
            begin -> call
            model: noon -> end Answered unanswered []
        "#]],
    );
}

#[test]
fn calls_run_and_their_results_go_to_the_model() {
    check(
        "begin / model: call time{} list{} / results / model: noon",
        &expect![[r#"
            begin -> call
            model: call time{} list{} -> run
            results -> call
            model: noon -> end Answered unanswered []
        "#]],
    );
}

#[test]
fn a_round_waits_for_a_person_and_a_crash_changes_nothing() {
    check(
        "begin / model: call run{} / ask / crash / crash / crash / crash / decide / results / model: ok",
        &expect![[r#"
            begin -> call
            model: call run{} -> run
            ask -> wait
            crash -> wait
            crash -> wait
            crash -> wait
            crash -> wait
            decide -> run
            results -> call
            model: ok -> end Answered unanswered []
        "#]],
    );
    check(
        "begin / model: call run{} / ask / decide / crash",
        &expect![[r#"
            begin -> call
            model: call run{} -> run
            ask -> wait
            decide -> run
            crash -> end Interrupted unanswered [run]
        "#]],
    );
    check(
        "begin / model: call run{} look{} / ask / stop",
        &expect![[r#"
            begin -> call
            model: call run{} look{} -> run
            ask -> wait
            stop -> end Stopped unanswered [run look]
        "#]],
    );
}

#[test]
fn a_blank_answer_is_told() {
    check(
        "begin / model:  ",
        &expect![[r#"
            begin -> call
            model:   -> end Empty unanswered []
        "#]],
    );
}

#[test]
fn rounds_are_limited_and_every_call_is_answered() {
    check(
        "begin / model: call a{\"n\":1} / results / model: call a{\"n\":2} / results / \
         model: call a{\"n\":3} / results / model: call a{\"n\":4} / results / \
         model: call a{\"n\":5} b{}",
        &expect![[r#"
            begin -> call
            model: call a{"n":1} -> run
            results -> call
            model: call a{"n":2} -> run
            results -> call
            model: call a{"n":3} -> run
            results -> call
            model: call a{"n":4} -> run
            results -> call
            model: call a{"n":5} b{} -> end TooManyRounds { limit: 4 } unanswered [a b]
        "#]],
    );
}

#[test]
fn the_same_call_a_third_time_ends_the_turn() {
    check(
        "begin / model: call a{\"x\":1,\"y\":2} / results / model: call a{\"y\":2,\"x\":1} / \
         results / model: call b{} a{\"x\":1,\"y\":2}",
        &expect![[r#"
            begin -> call
            model: call a{"x":1,"y":2} -> run
            results -> call
            model: call a{"y":2,"x":1} -> run
            results -> call
            model: call b{} a{"x":1,"y":2} -> end Repeated unanswered [b a]
        "#]],
    );
}

#[test]
fn a_stutter_within_a_round_is_one_call() {
    check(
        "begin / model: call a{} a{} a{} / results / model: call a{} / results / model: ok",
        &expect![[r#"
            begin -> call
            model: call a{} a{} a{} -> run
            results -> call
            model: call a{} -> run
            results -> call
            model: ok -> end Answered unanswered []
        "#]],
    );
}

#[test]
fn a_stop_while_tools_run_answers_their_calls() {
    check(
        "begin / model: call a{} b{} / stop",
        &expect![[r#"
            begin -> call
            model: call a{} b{} -> run
            stop -> end Stopped unanswered [a b]
        "#]],
    );
    check(
        "begin / stop / results",
        &expect![[r#"
            begin -> call
            stop -> end Stopped unanswered []
            results -> end Interrupted unanswered []
        "#]],
    );
}

#[test]
fn a_failed_call_ends_the_turn() {
    check(
        "begin / model: call a{} / results / fail",
        &expect![[r#"
            begin -> call
            model: call a{} -> run
            results -> call
            fail -> end Failed unanswered []
        "#]],
    );
}

#[test]
fn after_a_crash_a_call_is_made_again_but_a_tool_is_not_run_again() {
    check(
        "begin / crash / model: call a{} / results / crash / model: done",
        &expect![[r#"
            begin -> call
            crash -> call
            model: call a{} -> run
            results -> call
            crash -> call
            model: done -> end Answered unanswered []
        "#]],
    );
    check(
        "begin / model: call a{} b{} / crash",
        &expect![[r#"
            begin -> call
            model: call a{} b{} -> run
            crash -> end Interrupted unanswered [a b]
        "#]],
    );
}

#[test]
fn a_crash_does_not_reset_the_loop_guard() {
    check(
        "begin / model: call a{} / results / crash / model: call a{} / results / crash / \
         model: call a{}",
        &expect![[r#"
            begin -> call
            model: call a{} -> run
            results -> call
            crash -> call
            model: call a{} -> run
            results -> call
            crash -> call
            model: call a{} -> end Repeated unanswered [a]
        "#]],
    );
}

#[test]
fn a_state_of_another_version_is_not_read() {
    let state = TurnState::new(ModeDecision::without_tools(), "test", 4);
    let mut kept = serde_json::to_value(&state).unwrap();
    assert_eq!(TurnState::read(&kept), Some(state));
    kept["version"] = 2.into();
    assert_eq!(TurnState::read(&kept), None);
    assert_eq!(TurnState::read(&serde_json::Value::Null), None);
}

/// Promise: `failed-turn-is-told`
#[test]
fn every_ending_but_an_answer_is_told() {
    for outcome in [
        EndReason::Empty,
        EndReason::Stopped,
        EndReason::Interrupted,
        EndReason::GivenUp,
        EndReason::TooManyRounds { limit: 4 },
        EndReason::Repeated,
    ] {
        assert!(outcome.notice().is_some(), "{outcome:?}");
        assert!(!outcome.result_text().is_empty());
    }
}

#[test]
fn a_call_of_the_clients_ends_the_turn_and_its_result_goes_on() {
    check(
        "begin / model: call client_weather{} / continue / model: sunny",
        &expect![[r#"
            begin -> call
            model: call client_weather{} -> end HandedOut unanswered []
            continue -> call
            model: sunny -> end Answered unanswered []
        "#]],
    );
}

#[test]
fn our_calls_of_the_same_reply_run_first() {
    check(
        "begin / model: call time{} client_weather{} / ask / decide / results / continue",
        &expect![[r#"
            begin -> call
            model: call time{} client_weather{} -> run
            ask -> wait
            decide -> run
            results -> end HandedOut unanswered []
            continue -> call
        "#]],
    );
}

#[test]
fn a_round_that_ends_early_answers_the_clients_calls_too() {
    check(
        "begin / model: call time{} client_weather{} / stop",
        &expect![[r#"
            begin -> call
            model: call time{} client_weather{} -> run
            stop -> end Stopped unanswered [time client_weather]
        "#]],
    );
    check(
        "begin / model: call time{} client_weather{} / crash",
        &expect![[r#"
            begin -> call
            model: call time{} client_weather{} -> run
            crash -> end Interrupted unanswered [time client_weather]
        "#]],
    );
    let same = "model: call time{} / results";
    check(
        &format!("begin / {same} / {same} / model: call time{{}} client_weather{{}}"),
        &expect![[r#"
            begin -> call
            model: call time{} -> run
            results -> call
            model: call time{} -> run
            results -> call
            model: call time{} client_weather{} -> end Repeated unanswered [time client_weather]
        "#]],
    );
}

#[test]
fn a_client_may_go_on_as_long_as_it_likes() {
    let round = "model: call client_weather{} / continue";
    check(
        &format!("begin / {round} / {round} / {round} / {round} / {round} / {round}"),
        &expect![[r#"
            begin -> call
            model: call client_weather{} -> end HandedOut unanswered []
            continue -> call
            model: call client_weather{} -> end HandedOut unanswered []
            continue -> call
            model: call client_weather{} -> end HandedOut unanswered []
            continue -> call
            model: call client_weather{} -> end HandedOut unanswered []
            continue -> call
            model: call client_weather{} -> end HandedOut unanswered []
            continue -> call
            model: call client_weather{} -> end HandedOut unanswered []
            continue -> call
        "#]],
    );
}

#[test]
fn what_a_turn_handed_out_before_is_forgotten_with_the_next_reply() {
    check(
        "begin / model: call client_weather{} / continue / model: call time{} / results / model: noon",
        &expect![[r#"
            begin -> call
            model: call client_weather{} -> end HandedOut unanswered []
            continue -> call
            model: call time{} -> run
            results -> call
            model: noon -> end Answered unanswered []
        "#]],
    );
}
