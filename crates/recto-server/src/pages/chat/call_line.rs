//! The calls of a turn, a line each: what was called, what a person said to it and what came of it.
//! All of it is the model's or a tool's text, and written out where it would mislead.

use maud::{Markup, html};
use recto_agent::HandedResult;
use recto_context::{ToolCall, visible_text};
use recto_store::{
    ApprovalAnswer, StoredApproval, StoredDelegation, StoredMessage, TurnEnding, TurnId, TurnStatus,
};
use recto_tools::ToolOutcome;

use super::talk_page::TurnView;
use crate::pages::visible_text::show_controls;

/// The most characters of a call's arguments in its line; all of them stand below it.
const MOST_ARGUMENTS: usize = 200;

/// The calls of one round of a turn.
pub(crate) fn call_list(view: &TurnView, round: u32, calls: &[ToolCall]) -> Markup {
    let result = |call: &ToolCall| {
        let is_answer = |stored: &&StoredMessage| stored.message.answered_call() == Some(&call.id);
        let found = view.messages.iter().find(is_answer);
        found.map(|stored| visible_text(stored.message.content()))
    };
    let asked = |place: u32| {
        view.approvals
            .iter()
            .find(|approval| (approval.question.round, approval.question.place) == (round, place))
    };
    html! {
        div.calls {
            @for (place, call) in (0..).zip(calls) {
                (call_line(view, call, result(call).as_deref(), asked(place)))
            }
        }
    }
}

fn call_line(
    view: &TurnView,
    call: &ToolCall,
    result: Option<&str>,
    asked: Option<&StoredApproval>,
) -> Markup {
    let answered = asked.and_then(|asked| asked.answer.as_ref()).map(|decision| decision.answer);
    // The question has said which tool it is, by the name that people use.
    let tool = asked.map_or_else(|| call.name.to_string(), |asked| asked.question.tool.key());
    let outcome = result.map(|text| ToolOutcome::from_result(&call.name, text));
    let standing = CallStanding::find(view, outcome, answered);
    let (sign, class, word) = standing.signs();
    // Of one that was not run nothing came back: what stands for that has no size to tell.
    let came_back = result.filter(|_| standing != CallStanding::NotRun);
    html! {
        details.call {
            summary {
                span class=(class) role="img" aria-label=(word) { (sign) }
                code { (show_controls(&tool)) }
                span.args.cut { (show_controls(&short_arguments(call.arguments.as_str()))) }
                span.q {
                    @if let Some(answer) = answered { (answer.describe()) ", " }
                    @if let Some(text) = came_back { (size_words(text)) } @else { (word) }
                }
            }
            @if let Some(task) = find_task(&view.delegations, view.id(), call) { (task_line(task)) }
            @if call.arguments.as_str().len() > 2 {
                pre.code tabindex="0" {
                    (show_controls(&pretty_arguments(call.arguments.as_str())))
                }
            }
            @if let Some(text) = result { pre.code tabindex="0" { (show_controls(text)) } }
        }
    }
}

/// What became of a call so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallStanding {
    Denied,
    HandedOut,
    Done,
    Failed,
    NotRun,
    Waits,
    UnderWay,
}

impl CallStanding {
    fn find(
        view: &TurnView,
        outcome: Option<ToolOutcome>,
        answered: Option<ApprovalAnswer>,
    ) -> Self {
        let status = view.turn.as_ref().map(|turn| turn.status);
        let is_handed_out = status == Some(TurnStatus::Ended(TurnEnding::HandedOut));
        match (outcome, answered) {
            (_, Some(ApprovalAnswer::Denied)) => CallStanding::Denied,
            (None, _) if is_handed_out => CallStanding::HandedOut,
            (Some(ToolOutcome::Done), _) => CallStanding::Done,
            (Some(ToolOutcome::Failed), _) => CallStanding::Failed,
            (Some(_), _) => CallStanding::NotRun,
            (None, _) if view.standing.is_none() => CallStanding::NotRun,
            (None, None) if view.questions().next().is_some() => CallStanding::Waits,
            (None, _) => CallStanding::UnderWay,
        }
    }

    /// Its sign, the sign's class, and the same in words.
    fn signs(self) -> (&'static str, &'static str, &'static str) {
        match self {
            CallStanding::Denied => ("✗", "no-ok", "denied"),
            CallStanding::HandedOut => ("→", "q", "its client runs it"),
            CallStanding::Done => ("✓", "ok", "done"),
            CallStanding::Failed => ("✗", "no-ok", "failed"),
            CallStanding::NotRun => ("✗", "no-ok", "not run"),
            CallStanding::Waits => ("…", "wait", "waits"),
            CallStanding::UnderWay => ("…", "wait", "under way"),
        }
    }
}

/// What a client brings back from a call of the turn before, or that it went on without.
pub(crate) fn client_result(name: &str, text: &str) -> Markup {
    let (label, sign) = match HandedResult::read(text) {
        HandedResult::Brought(_) => ("brought by its client", "←"),
        HandedResult::Missing => ("not brought by its client", "?"),
    };
    html! {
        details.call {
            summary {
                span.q role="img" aria-label=(label) { (sign) }
                code { (show_controls(name)) }
                span.args.cut { (show_controls(text)) }
                span.q { (size_words(text)) }
            }
            pre.code tabindex="0" { (show_controls(text)) }
        }
    }
}

/// The task that a call of a turn gave to a sub-agent, if it did. Servers may give calls of
/// different turns one id.
fn find_task<'a>(
    tasks: &'a [StoredDelegation],
    turn: Option<TurnId>,
    call: &ToolCall,
) -> Option<&'a StoredDelegation> {
    let of_call = |task: &&StoredDelegation| {
        let parent = task.parent.as_ref();
        parent.is_some_and(|parent| Some(parent.turn) == turn && *parent.call == *call.id.0)
    };
    tasks.iter().find(of_call)
}

/// Where a sub-agent did its task.
fn task_line(task: &StoredDelegation) -> Markup {
    let agent = show_controls(&task.agent);
    html! {
        p.q {
            "sub-agent " code { (agent) } ", "
            a href={ "/sessions/" (task.session) } { "its conversation" }
            @if let Some(turn) = task.turn {
                ", " a href={ "/turns/" (turn) } { "what it was sent (turn " (turn) ")" }
            }
        }
    }
}

/// The arguments in a line: the value alone where there is one.
fn short_arguments(arguments: &str) -> String {
    let words = match serde_json::from_str::<serde_json::Value>(arguments) {
        Ok(serde_json::Value::Object(fields)) => {
            let named = fields.len() > 1;
            let words = fields.iter().map(|(name, value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                if named { format!("{name}: {value}") } else { value }
            });
            words.collect::<Vec<_>>().join(", ")
        }
        _ => arguments.to_owned(),
    };
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST_ARGUMENTS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn pretty_arguments(arguments: &str) -> String {
    let parsed = serde_json::from_str::<serde_json::Value>(arguments);
    parsed.map_or_else(|_| arguments.to_owned(), |value| format!("{value:#}"))
}

fn size_words(text: &str) -> String {
    match text.len() {
        bytes @ ..1_000 => format!("{bytes} B"),
        bytes => format!("{:.1} kB", bytes as f64 / 1_000.0),
    }
}

#[cfg(test)]
mod tests {
    use recto_context::CallId;
    use recto_store::ParentCall;

    use super::*;

    #[test]
    fn what_a_client_did_not_bring_is_not_told_as_brought() {
        let line = |text| client_result("look", text).into_string();
        assert!(line("12 lines").contains(r#"aria-label="brought by its client""#));
        let missing = line(HandedResult::MISSING);
        assert!(missing.contains(r#"aria-label="not brought by its client""#), "{missing}");
    }

    #[test]
    fn calls_of_two_turns_with_one_id_lead_to_their_own_tasks() {
        let task = |turn: &str, session: &str| StoredDelegation {
            agent: "pilot".to_owned(),
            parent: Some(ParentCall { turn: turn.parse().unwrap(), call: "call_0".to_owned() }),
            session: session.parse().unwrap(),
            turn: None,
        };
        let tasks = [task("3", "11"), task("5", "12")];
        let call = ToolCall {
            id: CallId("call_0".into()),
            name: "delegate".into(),
            arguments: "{}".into(),
        };
        let found = |turn: &str| find_task(&tasks, turn.parse().ok(), &call);
        assert_eq!(found("5").map(|task| task.session), "12".parse().ok());
        assert_eq!(found("3").map(|task| task.session), "11".parse().ok());
        assert_eq!(found("4"), None);
    }
}
