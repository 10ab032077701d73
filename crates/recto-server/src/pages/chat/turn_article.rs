//! A turn as an article of the conversation: what was said, what was called and came of it, the
//! reply, what waits for a person, and at its foot what the model was sent.
//!
//! The same article stands in the page and is fetched alone when a turn has gone on.

use maud::{Markup, html};
use recto_agent::{Actor, OpenTurnStanding, outline_request};
use recto_context::{
    ContentPart, DropReason, Layer, MessageBody, RecordOutline, Tokens, ToolCall, grouped_digits,
    visible_text,
};
use recto_store::{
    ApprovalAnswer, Moment, RequestRecord, StoredMessage, StoredRetraction, StoredTurn, TurnEnding,
    TurnStatus,
};
use recto_tools::ToolOutcome;

use super::question::question_block;
use super::talk_page::TurnView;
use crate::pages::layer_bar::LayerBar;
use crate::pages::layout::{PageChrome, with_code};
use crate::pages::markdown::render_markdown;
use crate::pages::times;

/// The most characters of a call's arguments in its line; all of them stand below it.
const MOST_ARGUMENTS: usize = 200;

/// For whom a turn is drawn, and within what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnAudience<'a> {
    pub(crate) chrome: &'a PageChrome,
    pub(crate) actor: &'a Actor,
}

/// A turn as an article.
pub(crate) fn turn_article(view: &TurnView, audience: TurnAudience<'_>) -> Markup {
    let anchor = match (view.id(), view.messages.first()) {
        (Some(turn), _) => format!("turn-{turn}"),
        (None, Some(stored)) => format!("message-{}", stored.message.id.0),
        (None, None) => return html! {},
    };
    let said = format!("{anchor}-said");
    let state = state_name(view);
    let is_taken_back = view.retraction.is_some();
    html! {
        article.turn.taken-back[is_taken_back] id=(anchor) aria-labelledby=(said) tabindex="-1"
            data-turn=[view.id()] data-state=(state) {
            @if let Some(turn) = view.id() {
                a.no href={ "#" (anchor) } title={ "turn " (turn) } { (turn) }
            }
            (said_heading(view, &said))
            @if let Some(retraction) = &view.retraction { (taken_back_line(retraction)) }
            (left_out_line(view))
            (answer_parts(view))
            @if view.standing.is_some() { (live_reply(view)) }
            @for approval in view.questions() {
                (question_block(audience.chrome, audience.actor, approval))
            }
            (ending_line(view))
            (foot(view, audience))
        }
    }
}

/// How a turn stands, in the words that scripts and the style sheet know.
pub(crate) fn state_name(view: &TurnView) -> &'static str {
    match view.standing {
        None => "ended",
        Some(OpenTurnStanding::Queued | OpenTurnStanding::Left) => "queued",
        Some(OpenTurnStanding::AwaitsApproval) => "waiting",
        Some(OpenTurnStanding::RunsHere) => "running",
        Some(OpenTurnStanding::RunsElsewhere | OpenTurnStanding::CutShort) => "elsewhere",
    }
}

fn said_heading(view: &TurnView, id: &str) -> Markup {
    let first = view.messages.iter().find(|stored| stored.message.is_user());
    let inbound = view.turn.as_ref().and_then(|turn| turn.inbound.as_deref());
    let at = first.map(|stored| stored.at).or(view.turn.as_ref().map(|turn| turn.accepted));
    let speaker = first.and_then(|stored| match &stored.message.body {
        MessageBody::User(user) => user.speaker.as_ref().map(ToString::to_string),
        _ => None,
    });
    let content = first.map(|stored| stored.message.content()).or(inbound).unwrap_or_default();
    let attached: Vec<String> = content.iter().filter_map(attachment).collect();
    html! {
        h2.said id=(id) {
            @if let Some(speaker) = speaker { span.speaker { (speaker) ": " } }
            span.words { (visible_text(content)) }
            @for name in attached { " " span.badge { (name) } }
            @if let Some(at) = at { " " (times::said_at(at)) }
        }
    }
}

/// What came along with a message, in a few words.
fn attachment(part: &ContentPart) -> Option<String> {
    match part {
        ContentPart::Image(image) => {
            let name = image.name.as_deref().unwrap_or("image");
            Some(format!("{name}, {} B", grouped_digits(image.size() as u64)))
        }
        ContentPart::File(file) => {
            Some(format!("{}, {} B", file.name(), grouped_digits(file.text().len() as u64)))
        }
        ContentPart::Text(_) | ContentPart::Opaque(_) => None,
    }
}

fn taken_back_line(retraction: &StoredRetraction) -> Markup {
    html! {
        p.q {
            "taken back by /" (retraction.reason.name())
            @if let Some(turn) = retraction.replaced_by {
                ", see " a href={ "#turn-" (turn) } { "turn " (turn) }
            }
        }
    }
}

/// What left the page with this turn: the messages before it that the model did not see any more.
fn left_out_line(view: &TurnView) -> Markup {
    let outline = view.pages.first().and_then(|page| outline_request(page).ok());
    let (Some(outline), Some(turn)) = (outline, view.id()) else { return html! {} };
    let is_new = |reason: &DropReason| {
        !matches!(reason, DropReason::TrimmedEarlier | DropReason::TakenBack | DropReason::Mode)
    };
    let mut dropped = outline.dropped.iter();
    let Some(left) = dropped.find(|left| left.layer == Layer::History && is_new(&left.reason))
    else {
        return html! {};
    };
    html! {
        p.notice role="note" {
            (left.what) " (" (left.tokens()) " tokens) left the page: " (left.reason.describe())
            ". They stay in the session. "
            a href={ "/turns/" (turn) "#left-out" } { "What was left out" }
        }
    }
}

/// What the model said and called, in its order, and what went wrong.
fn answer_parts(view: &TurnView) -> Markup {
    let mut round = 0;
    html! {
        @for stored in &view.messages {
            @match &stored.message.body {
                MessageBody::Assistant { content, calls } => {
                    @let text = visible_text(content);
                    @if !text.trim().is_empty() { div.reply { (render_markdown(&text)) } }
                    @if !calls.is_empty() {
                        (call_list(view, { round += 1; round }, calls))
                    }
                }
                MessageBody::Error(text) => (error_block(text.as_str())),
                MessageBody::Approval(text) if view.turn.is_none() => {
                    p.notice { (text.as_str()) }
                }
                MessageBody::Tool { .. } | MessageBody::User(_) | MessageBody::Approval(_) => {}
            }
        }
    }
}

fn call_list(view: &TurnView, round: u32, calls: &[ToolCall]) -> Markup {
    let result = |call: &ToolCall| {
        let is_answer = |stored: &&StoredMessage| stored.message.answered_call() == Some(&call.id);
        let found = view.messages.iter().find(is_answer);
        found.map(|stored| visible_text(stored.message.content()))
    };
    let answered = |place: u32| {
        let asked = view
            .approvals
            .iter()
            .find(|approval| (approval.question.round, approval.question.place) == (round, place));
        asked.and_then(|approval| approval.answer.as_ref()).map(|decision| decision.answer)
    };
    html! {
        div.calls {
            @for (place, call) in (0..).zip(calls) {
                (call_line(view, call, result(call).as_deref(), answered(place)))
            }
        }
    }
}

fn call_line(
    view: &TurnView,
    call: &ToolCall,
    result: Option<&str>,
    answered: Option<ApprovalAnswer>,
) -> Markup {
    let outcome = result.map(|text| ToolOutcome::from_result(&call.name, text));
    let (sign, class, word) = match (outcome, answered) {
        (_, Some(ApprovalAnswer::Denied)) => ("✗", "no-ok", "denied"),
        (Some(ToolOutcome::Done), _) => ("✓", "ok", "done"),
        (Some(ToolOutcome::Failed), _) => ("✗", "no-ok", "failed"),
        (Some(_), _) => ("✗", "no-ok", "not run"),
        (None, _) if view.standing.is_none() => ("✗", "no-ok", "not run"),
        (None, None) if view.questions().next().is_some() => ("…", "wait", "waits"),
        (None, _) => ("…", "wait", "under way"),
    };
    html! {
        details.call {
            summary {
                span class=(class) role="img" aria-label=(word) { (sign) }
                code { (call.name) }
                span.args.cut { (short_arguments(call.arguments.as_str())) }
                span.q {
                    @if let Some(answer) = answered { (answer.describe()) ", " }
                    @if let Some(text) = result { (size_words(text)) } @else { (word) }
                }
            }
            @if call.arguments.as_str().len() > 2 {
                pre.code tabindex="0" { (pretty_arguments(call.arguments.as_str())) }
            }
            @if let Some(text) = result { pre.code tabindex="0" { (text) } }
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

/// An error as the transcript keeps it: what happened, and behind it what to do.
fn error_block(text: &str) -> Markup {
    let (message, hint) = match text.split_once("\nhint: ") {
        Some((message, hint)) => (message, Some(hint)),
        None => (text, None),
    };
    html! {
        div.block.error role="note" {
            h3 { (with_code(message)) }
            @if let Some(hint) = hint { p { b { "Hint:" } " " (with_code(hint)) } }
        }
    }
}

/// Where the reply grows while it comes; scripts fill it.
fn live_reply(view: &TurnView) -> Markup {
    html! {
        @if view.standing == Some(OpenTurnStanding::RunsHere) {
            details.fold.thinking hidden { summary { "Thinking" } pre.code {} }
            div.reply.live.caret aria-busy="true" { p {} }
        }
        div.notices role="status" {}
    }
}

/// How a turn ended that has no reply.
fn ending_line(view: &TurnView) -> Markup {
    let Some(StoredTurn { status: TurnStatus::Ended(ending), detail, .. }) = &view.turn else {
        return html! {};
    };
    let words = match ending {
        TurnEnding::Done | TurnEnding::Failed => return html! {},
        TurnEnding::Stopped => "stopped",
        TurnEnding::Interrupted => "interrupted: the program that ran it was ended",
        TurnEnding::HandedOut => "its client runs the calls",
    };
    let detail = detail.as_deref().filter(|_| *ending != TurnEnding::Interrupted);
    html! { p.q { (words) @if let Some(detail) = detail { ": " (detail) } } }
}

fn foot(view: &TurnView, audience: TurnAudience<'_>) -> Markup {
    let Some(turn) = &view.turn else { return html! {} };
    html! {
        footer.foot {
            @if view.standing.is_some() { (stop_button(turn, audience)) }
            @if !view.pages.is_empty() {
                form.view-context method="get" action={ "/turns/" (turn.id) } {
                    button.btn data-turn=(turn.id) { "View context" }
                }
            }
            (request_facts(view))
            @if let Some(standing) = view.standing { span.stands { (standing_words(standing)) } }
            @if view.is_last { (second_thoughts(view, turn, audience)) }
        }
    }
}

fn stop_button(turn: &StoredTurn, audience: TurnAudience<'_>) -> Markup {
    let action = format!("/sessions/{}/stop", turn.session);
    let button = html! { button.btn.stop { "Stop " kbd { "Esc" } } };
    audience.chrome.post_form(&action, "", &button)
}

fn standing_words(standing: OpenTurnStanding) -> &'static str {
    match standing {
        OpenTurnStanding::Queued | OpenTurnStanding::Left => "queued",
        OpenTurnStanding::RunsHere => "writing",
        OpenTurnStanding::RunsElsewhere => "runs in another process",
        OpenTurnStanding::AwaitsApproval => "waits for an answer",
        OpenTurnStanding::CutShort => "cut short",
    }
}

/// What can be done about the last exchange.
fn second_thoughts(view: &TurnView, turn: &StoredTurn, audience: TurnAudience<'_>) -> Markup {
    let action = format!("/sessions/{}/messages", turn.session);
    let button = |command: &str, words: &str| {
        let content = html! {
            button.btn.plain name="text" value=(command) { (words) }
        };
        audience.chrome.post_form(&action, "", &content)
    };
    let failed = turn.status == TurnStatus::Ended(TurnEnding::Failed);
    if view.messages.is_empty() {
        return html! {};
    }
    html! {
        span.again {
            (button("/retry", if failed { "Try again" } else { "Retry" }))
            (button("/edit", "Edit"))
            (button("/undo", "Take back"))
        }
    }
}

/// What the turn's page cost, what of it was cached, who answered and how soon.
fn request_facts(view: &TurnView) -> Markup {
    let (Some(first), Some(last)) = (view.pages.first(), view.pages.last()) else {
        return html! {};
    };
    let Ok(outline) = outline_request(last) else { return html! {} };
    let cached = cached_tokens(first, &outline);
    let total = outline.prompt_tokens();
    let fresh = total - cached;
    let label = format!("{total} of {} tokens, {cached} cached", outline.budget.window);
    html! {
        (LayerBar::from_outline(&outline, cached).render(Some(&label)))
        span { (total) " tokens: " (fresh) " fresh, " (cached) " cached" }
        @if let Some(seconds) = seconds_to_first_token(first) {
            span { "first token " (format!("{seconds:.2}")) " s" }
        }
        span {
            (outline.model) ", " (outline.mode.name())
            @if view.request_count > 1 { ", " (view.request_count) " requests" }
        }
    }
}

/// What the server had of the turn's prompt before it: as it counted, or else as far as the prompt
/// agrees with the one before.
fn cached_tokens(first: &RequestRecord, outline: &RecordOutline) -> Tokens {
    let served = first.answer.as_ref().and_then(|answer| answer.usage.cached);
    let agreed = || first.notes["prefix"]["agreed_tokens"].as_u64();
    let cached = served.or_else(|| agreed().and_then(|tokens| u32::try_from(tokens).ok()));
    Tokens::new(cached.unwrap_or_default()).min(outline.prompt_tokens())
}

fn seconds_to_first_token(request: &RequestRecord) -> Option<f64> {
    let first = request.answer.as_ref()?.result["first_token"].clone();
    let first: Moment = serde_json::from_value(first).ok()?;
    let waited = first.timestamp().duration_since(request.at.timestamp());
    Some(waited.as_secs_f64())
}
