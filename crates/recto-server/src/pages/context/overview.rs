//! The top of *View context*: which turn it is, what can be done with it, the facts of a request
//! and its layers.

use maud::{Markup, html};
use recto_agent::{CacheSource, ReplayCheck, RequestPurpose, recorded_notices, sampling_words};
use recto_context::{RequestContext, Tokens, grouped_digits, visible_text};
use recto_store::{Fidelity, Moment, RequestRecord};

use super::layer_bar::{layer_figure, layer_list, whole_percent};
use super::replay::replay_form;
use super::view::RequestView;
use super::{ContextView, ShownRequest};
use crate::pages::layout::{PageChrome, with_code};
use crate::pages::times::local;

/// Which turn it is, with the ways to its neighbours and what can be done with it.
pub(crate) fn head(view: &ContextView, may_replay: Option<&PageChrome>, prefix: &str) -> Markup {
    let ContextView { turn, session, neighbours: [before, after], .. } = view;
    let message = view.shown.as_ref().map(|shown| visible_text(shown.page.context.sent.content()));
    let close = if prefix.is_empty() { None } else { Some("") };
    html! {
        header.head {
            div {
                p.crumbs {
                    a.cut href={ "/sessions/" (session.id) "?around=" (view.turn.id) } { (view.title) }
                    span aria-hidden="true" { "/" }
                    span { (ordinal(turn.number.0)) " turn, " (local(turn.accepted).strftime("%-d %B %Y at %H:%M")) }
                    @if let Some(before) = before {
                        a href={ "/turns/" (before) } rel="prev" title={ "turn " (before) } {
                            "← " (before)
                        }
                    }
                    @if let Some(after) = after {
                        a href={ "/turns/" (after) } rel="next" title={ "turn " (after) } {
                            (after) " →"
                        }
                    }
                }
                h1.title id={ (prefix) "context-title" } data-dialog-title=[close] {
                    "Context of turn " (turn.id)
                }
            }
            @if let Some(shown) = &view.shown { (actions(view, shown, may_replay)) }
            @if let Some(message) = message { p.msg { (message) } }
            @if let Some(check) = &view.verified { (verdict(check)) }
        }
    }
}

fn actions(view: &ContextView, shown: &ShownRequest, may_replay: Option<&PageChrome>) -> Markup {
    let (turn, request) = (view.turn.id, shown.record.number);
    html! {
        div.acts {
            @if let Some(chrome) = may_replay {
                form method="get" action={ "/turns/" (turn) } data-into-dialog {
                    input type="hidden" name="request" value=(request);
                    button.btn type="submit" name="verify" value="1" { "Verify" }
                }
                (replay_form(chrome, view, &shown.record))
            }
            button.btn type="button" hidden
                data-copy={ "/turns/" (turn) "/body?request=" (request) } {
                "Copy body " kbd { "y" }
            }
            a.btn href={ "/turns/" (turn) "/body?request=" (request) } download { "Download body" }
            a.btn href={ "/turns/" (turn) "/record" } download { "Download record" }
        }
    }
}

/// Whether the body made from the record is the one that was sent.
fn verdict(check: &ReplayCheck) -> Markup {
    html! {
        p.verdict role="status" {
            @match (&check.problem, check.bytes) {
                (None, Some(bytes)) if check.redacted => span.ok {
                    "✓ rebuilt from the record: identical to the "
                    (grouped_digits(bytes as u64)) " bytes kept; a text was redacted since they were sent"
                },
                (None, Some(bytes)) => span.ok {
                    "✓ rebuilt from the record: identical to the "
                    (grouped_digits(bytes as u64)) " bytes sent"
                },
                (Some(problem), _) => span.no-ok { "✗ " (problem) },
                (None, None) => {},
            }
        }
    }
}

/// Mode, window, model, fidelity and counts of a request.
pub(crate) fn facts(view: &ContextView, shown: &ShownRequest) -> Markup {
    let ShownRequest { record, page } = shown;
    let context = &page.context;
    let chosen = record.notes["chosen"].as_str().unwrap_or_default();
    html! {
        dl.grid {
            (mode_fact(context))
            (window_fact(context))
            (fact("Model", &record.model, &html! {
                @if let Some(model) = record.options["model"].as_str() { (model) " " }
                "by the " (record.wire) " wire"
                @if !chosen.is_empty() { "; " (chosen) }
                @if let Some(sampling) = sampling_words(record) { "; " (sampling) }
            }))
            (fact("Fidelity", fidelity_name(record.fidelity), &html! {
                (fidelity_words(record.fidelity)) ", " (grouped_digits(record.body_length)) " bytes"
                @if view.verified.as_ref().is_some_and(|check| check.identical) {
                    "; " span.ok { "✓ verified" }
                }
                @if record.redacted.is_some() { "; redacted since: a text was taken out" }
            }))
            (counted_fact(context, Some(count_words(shown))))
        }
    }
}

/// What is known of a request before it is sent: its mode, the window, and how it was counted.
pub(crate) fn draft_facts(context: &RequestContext) -> Markup {
    html! {
        dl.grid {
            (mode_fact(context))
            (window_fact(context))
            (counted_fact(context, None))
        }
    }
}

/// The mode, and why it was chosen: the words that decided as they were typed.
fn mode_fact(context: &RequestContext) -> Markup {
    fact("Mode", context.mode.chosen.name(), &html! { (context.mode.describe()) })
}

fn window_fact(context: &RequestContext) -> Markup {
    let tokens = format!("{} tokens", context.window.tokens);
    fact("Window", &tokens, &html! { (context.window.describe_source()) })
}

/// How the tokens were counted: the first words say it, what they add stands below.
fn counted_fact(context: &RequestContext, compared: Option<String>) -> Markup {
    let told = context.counted.describe();
    let (value, more) = told.split_once(", ").unwrap_or((told, ""));
    let more = [Some(more.to_owned()).filter(|more| !more.is_empty()), compared];
    let more: Vec<String> = more.into_iter().flatten().collect();
    fact("Counted", value, &html! { (more.join("; ")) })
}

fn fact(title: &str, value: &str, more: &Markup) -> Markup {
    html! { div { dt { (title) } dd { (value) } dd { (more) } } }
}

/// The tabs of the turn's requests, and the layers of the one that is shown.
pub(crate) fn request_section(view: &ContextView, shown: &ShownRequest, prefix: &str) -> Markup {
    let number = shown.record.number;
    html! {
        section.request-shown aria-label={ "Request " (number) } {
            @if view.requests.len() > 1 { (tabs(view, number)) }
            @if RequestPurpose::from_record(&shown.record) == RequestPurpose::Summary {
                p.q { "This request asked for a summary of messages that leave the page." }
            }
            @for notice in recorded_notices(&shown.record) {
                p.wait role="note" { (with_code(&notice.text)) }
            }
            (layers(&shown.page, &answer_words(&shown.record), prefix))
        }
    }
}

/// The layers of a request, under its sums and what came back for it.
pub(crate) fn layers(page: &RequestView, came_back: &[String], prefix: &str) -> Markup {
    html! {
        (sums(page, came_back))
        (layer_figure(page))
        (layer_list(page, prefix))
    }
}

fn tabs(view: &ContextView, current: u32) -> Markup {
    let mut before = None;
    html! {
        nav.tabs aria-label="Requests of this turn" {
            @for (number, tokens) in &view.requests {
                @let is_current = *number == current;
                a href={ "/turns/" (view.turn.id) "?request=" (number) } data-into-dialog
                    aria-current=[is_current.then_some("true")] {
                    "Request " (number)
                    @if let Some(tokens) = *tokens {
                        small { (growth(before.replace(tokens), tokens)) }
                    }
                }
            }
        }
    }
}

/// What a request took, or what it added to the one before.
fn growth(before: Option<Tokens>, now: Tokens) -> String {
    match before {
        Some(before) if now >= before => format!("+{}", now - before),
        _ => now.to_string(),
    }
}

/// The prompt, what of it was cached, and what came back, in a line.
fn sums(page: &RequestView, came_back: &[String]) -> Markup {
    let context = &page.context;
    let (used, room) = (context.prompt_tokens(), context.budget.messages + context.budget.tools);
    html! {
        p.sum {
            span {
                b { (used) } " of " (room) " tokens (" (whole_percent(used, room)) " %), "
                (context.budget.reply) " kept for the reply"
            }
            span {
                (cache_words(page))
                @for words in came_back { " · " (words) }
            }
            @if let Some(words) = context.tool_choice.describe() { span { (with_code(&words)) } }
        }
    }
}

fn cache_words(page: &RequestView) -> Markup {
    let cached = page.cached_tokens();
    let fresh = page.context.prompt_tokens() - cached;
    html! {
        @match page.cache_source {
            CacheSource::Nobody => { b { (fresh) } " fresh: no request came before" },
            source => { b { (cached) } " " (source.cached_word()) ", " b { (fresh) } " fresh" },
        }
    }
}

/// When the first token came, and how many there were.
fn answer_words(record: &RequestRecord) -> Vec<String> {
    let Some(answer) = &record.answer else { return vec!["nothing came back".to_owned()] };
    let first: Option<Moment> = serde_json::from_value(answer.result["first_token"].clone()).ok();
    let waited = first.map(|first| first.timestamp().duration_since(record.at.timestamp()));
    let waited = waited.map(|waited| format!("first token after {:.2} s", waited.as_secs_f64()));
    let written = answer.usage.completion;
    let written = written.map(|count| format!("{} tokens came back", grouped_digits(count.into())));
    let error = answer.result["error"]["message"].as_str().map(|error| format!("error: {error}"));
    [waited, written, error].into_iter().flatten().collect()
}

fn fidelity_name(fidelity: Fidelity) -> &'static str {
    match fidelity {
        Fidelity::Wire => "wire",
        Fidelity::Rendered => "rendered",
    }
}

fn fidelity_words(fidelity: Fidelity) -> &'static str {
    match fidelity {
        Fidelity::Wire => "the HTTP body",
        Fidelity::Rendered => "the prompt as the model read it",
    }
}

/// How far our count is from the server's.
fn count_words(shown: &ShownRequest) -> String {
    let usage = shown.record.answer.as_ref().map(|answer| answer.usage);
    let Some(served) = usage.and_then(|usage| usage.prompt).filter(|served| *served > 0) else {
        return "the server did not say its count".to_owned();
    };
    let ours = f64::from(shown.page.context.prompt_tokens().get());
    let share = (ours / f64::from(served) - 1.0) * 100.0;
    let served = Tokens::new(served);
    match share {
        share if share.abs() < 0.05 => "as the server counted".to_owned(),
        share if share > 0.0 => format!("{share:.1} % above the server's {served}"),
        share => format!("{:.1} % below the server's {served}", -share),
    }
}

/// A number in its order: 1st, 2nd, 11th, 23rd.
fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{}{ending}", grouped_digits(number.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_say_them() {
        let said: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 102, 1_113].map(ordinal).into();
        let expected =
            ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "1,113th"];
        assert_eq!(said, expected);
    }

    #[test]
    fn later_requests_say_what_they_add() {
        let [first, more, less] = [2_529, 2_641, 900].map(Tokens::new);
        assert_eq!(growth(None, first), "2,529");
        assert_eq!(growth(Some(first), more), "+112");
        // A shortened page takes less.
        assert_eq!(growth(Some(first), less), "900");
    }
}
