//! What a command answers, as a part of the page.

use maud::{Markup, html};
use recto_agent::{
    AnsweredApproval, COMMANDS, CommandReply, ItemChange, SessionSettings, StopOutcome, StopReport,
    TurnContinues, UndoneExchange,
};
use recto_context::{RequestContext, Tokens, grouped_digits};
use recto_store::{ApprovalAnswer, TokenCounts};

use crate::pages::layer_bar::LayerBar;

/// An answer in words; nothing where what happens shows by itself.
pub(crate) fn describe_reply(reply: &CommandReply) -> Option<Markup> {
    Some(match reply {
        CommandReply::Help => command_list(),
        CommandReply::Context(None) => html! { "Nothing has been sent in this session yet." },
        CommandReply::Context(Some(request)) => context_line(request),
        CommandReply::Item(change) => html! { (item_words(change)) },
        CommandReply::Why(answers) if answers.is_empty() => {
            html! { "Nothing has been sent in this session yet." }
        }
        CommandReply::Why(answers) => {
            html! { @for answer in answers { p { (answer) } } }
        }
        CommandReply::Usage(report) => {
            usage_line(report.totals.endings.all(), &report.totals.tokens)
        }
        CommandReply::SessionUsage(usage) => usage_line(usage.turns, &usage.tokens),
        CommandReply::Remembered(added) => html! {
            (added.memory.name) " is remembered" @if added.was_there { " already" } ": "
            (added.memory.text.as_str())
        },
        CommandReply::Answered(answered) => html! { (answer_words(answered)?) },
        CommandReply::Models { names, current } => html! {
            @if let Some(current) = current { b { (current) } " answers in this session. " }
            "Models: " (names.join(", "))
        },
        CommandReply::Settings(settings) => settings_line(settings),
        CommandReply::Sessions(_) => html! { "The sessions stand at the side." },
        CommandReply::Undone(undone) => undone_words(undone),
        CommandReply::Stopped(report) => html! { (stop_words(report)) },
        CommandReply::Began(_) | CommandReply::Resend(_) | CommandReply::Edit(_) => return None,
    })
}

fn command_list() -> Markup {
    html! {
        dl.facts {
            @for help in COMMANDS { dt { code { (help.usage()) } } dd { (help.about) } }
        }
    }
}

fn context_line(request: &RequestContext) -> Markup {
    let (total, window) = (request.prompt_tokens(), request.budget.window);
    let label = format!("{total} of {window} tokens");
    html! {
        (LayerBar::from_request(request, Tokens::ZERO).render(Some(&label)))
        "The last request: " (total) " of " (window) " tokens, " (request.mode.chosen.name())
        ". View context of its turn shows all of it."
    }
}

fn item_words(change: &ItemChange) -> String {
    format!("{}.", change.change.describe(&change.item.to_string()))
}

fn usage_line(turns: u64, tokens: &TokenCounts) -> Markup {
    let [turns, prompt, cached, completion] =
        [turns, tokens.prompt, tokens.cached, tokens.completion].map(grouped_digits);
    html! {
        (turns) " turns: " (prompt) " prompt tokens (" (cached) " from cache), " (completion)
        " of replies."
    }
}

fn answer_words(answered: &AnsweredApproval) -> Option<String> {
    let id = answered.approval.id;
    let answer = answered.approval.answer.as_ref().map(|decision| decision.answer);
    match (answer, answered.goes_on) {
        (Some(decided @ (ApprovalAnswer::Expired | ApprovalAnswer::Withdrawn)), _) => {
            Some(format!("Question {id} is {} already.", decided.describe()))
        }
        (_, TurnContinues::Here) => None,
        (_, TurnContinues::Elsewhere) => {
            Some("The turn goes on in the process that runs it.".to_owned())
        }
        (_, TurnContinues::WhenAllAreAnswered) => {
            Some("The turn goes on when its other questions are answered, too.".to_owned())
        }
    }
}

fn settings_line(settings: &SessionSettings) -> Markup {
    let own = serde_json::to_value(settings).unwrap_or_default();
    let names: Vec<&str> = recto_agent::session_setting_names().collect();
    let own = own.as_object().into_iter().flatten();
    let own: Vec<_> = own.filter(|(name, _)| names.contains(&name.as_str())).collect();
    html! {
        @if own.is_empty() { "This session has the settings of its agent." }
        @else {
            "Set for this session: "
            @for (at, (name, value)) in own.iter().enumerate() {
                @if at > 0 { ", " } code { (name) " = " (value) }
            }
        }
    }
}

fn undone_words(undone: &UndoneExchange) -> Markup {
    html! {
        "Taken back: " q { (undone.text) }
        @if !undone.stays_done.is_empty() {
            p { "What its tools did stays done:" }
            ul { @for call in &undone.stays_done { li { code { (call.tool) } " " (call.arguments) } } }
        }
    }
}

fn stop_words(report: &StopReport) -> &'static str {
    match report.outcome {
        StopOutcome::Now => "Stopping.",
        StopOutcome::Elsewhere => "The process that runs it was asked to stop.",
        StopOutcome::Closed => "Stopped; the process that had it was gone.",
        StopOutcome::NothingRuns => "Nothing runs in this session.",
    }
}
