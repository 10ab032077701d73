//! A turn as an article of the conversation: what was said, what was called and came of it, the
//! reply, what waits for a person, and at its foot what the model was sent.
//!
//! The same article stands in the page and is fetched alone when a turn has gone on.

use maud::{Markup, html};
use recto_agent::{
    Actor, FILE_MENTION, NoticeFacts, OpenTurnStanding, PromptCost, Right, SessionSettings,
    TurnNotice, mentioned_files, outline_request, recorded_notices,
};
use recto_context::{
    CallId, ContentPart, DropReason, DroppedEntry, Layer, MessageBody, ToolCall, first_chars,
    grouped_digits, visible_text,
};
use recto_store::{
    Moment, RequestRecord, RetractionReason, StoredRetraction, StoredTurn, TurnEnding, TurnId,
    TurnStatus,
};

use super::call_line::{call_list, client_result};
use super::question::question_block;
use super::talk_page::TurnView;
use crate::pages::layer_bar::LayerBar;
use crate::pages::layout::{PageChrome, with_code};
use crate::pages::markdown::render_markdown;
use crate::pages::times;
use crate::pages::visible_text::show_controls;

/// For whom a turn is drawn, and within what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnAudience<'a> {
    pub(crate) chrome: &'a PageChrome,
    pub(crate) actor: &'a Actor,
    /// Whether they can say something in the session, and so take it back.
    pub(crate) may_talk: bool,
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
    let asker = view.turn.as_ref().map(|turn| Actor::from_store(&turn.actor));
    html! {
        article.turn.taken-back[is_taken_back] id=(anchor) aria-labelledby=(said) tabindex="-1"
            data-turn=[view.id()] data-said=[view.said()] data-state=(state) {
            @if let Some(turn) = view.id() {
                a.no href={ "#" (anchor) } title={ "turn " (turn) } { (turn) }
            }
            (said_heading(view, &said))
            (said_below(view))
            (unread_files_line(view))
            @if let Some(retraction) = &view.retraction { (taken_back_line(retraction)) }
            (task_line(view))
            (left_out_line(view))
            (answer_parts(view))
            @if view.standing.is_some() { (live_reply(view)) }
            @if view.turn.is_some() { (notices(view)) }
            @for approval in view.questions() {
                (question_block(audience.chrome, audience.actor, (approval, asker.as_ref())))
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

/// What the person said, as far as it is known.
fn said_content(view: &TurnView) -> &[ContentPart] {
    let first = view.messages.iter().find(|stored| stored.message.is_user());
    let inbound = view.turn.as_ref().and_then(|turn| turn.inbound.as_deref());
    first.map(|stored| stored.message.content()).or(inbound).unwrap_or_default()
}

/// Says of `@file:PATH` that it was text, where nothing came along: a terminal reads the file, no
/// other surface does.
fn unread_files_line(view: &TurnView) -> Markup {
    let content = said_content(view);
    let text = visible_text(content);
    let mentioned: Vec<&str> = match content.iter().any(|part| attachment(part).is_some()) {
        true => Vec::new(),
        false => mentioned_files(&text).collect(),
    };
    html! {
        @if !mentioned.is_empty() {
            p.q {
                @for (at, path) in mentioned.iter().enumerate() {
                    @if at > 0 { ", " } code { (FILE_MENTION) (path) }
                }
                " was sent as words: only " code { "recto chat" } " in a terminal sends files along. Where the "
                "agent has tools that read files, ask it to read the file."
            }
        }
    }
}

/// The longest message that stands there as a heading, and the longest that is not folded.
const MOST_LINES: usize = 12;
const MOST_CHARACTERS: usize = 1_200;

/// The longest first line that stands there as a heading of what is below it, in characters.
const MOST_OPENING: usize = 200;

/// The words of a message: what stands there as a heading, and what below it.
fn split_words(text: &str) -> (String, Option<&str>) {
    let has_code = text.lines().any(|line| fence_language(line).is_some());
    if !has_code && !is_long(text) {
        return (text.to_owned(), None);
    }
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    match first.chars().count() {
        _ if fence_language(first).is_some() || first.trim().is_empty() => {
            let is_spoken = |line: &&str| fence_language(line).is_none() && !line.trim().is_empty();
            let spoken = text.lines().find(is_spoken);
            (first_chars(spoken.unwrap_or_default(), MOST_OPENING), Some(text))
        }
        ..=MOST_OPENING => (first.to_owned(), Some(rest)),
        _ => (first_chars(first, MOST_OPENING), Some(text)),
    }
}

fn is_long(text: &str) -> bool {
    text.lines().count() > MOST_LINES || text.chars().count() > MOST_CHARACTERS
}

/// The longest name of a language behind a fence.
const MOST_LANGUAGE: usize = 20;

/// The language that a fence names, of a line that is one; mostly none. Any other words on a line
/// make it one of the text: a fence is not shown, and nothing that was said may go with it.
fn fence_language(line: &str) -> Option<&str> {
    let language = line.trim_start().strip_prefix("```")?.trim_start_matches('`').trim();
    let is_name = |it: char| it.is_ascii_alphanumeric() || "+-#._".contains(it);
    (language.len() <= MOST_LANGUAGE && language.chars().all(is_name)).then_some(language)
}

/// What of a message does not stand in its heading: folded where it is long.
fn said_below(view: &TurnView) -> Markup {
    let text = visible_text(said_content(view));
    let (_, Some(rest)) = split_words(&text) else { return html! {} };
    if brings_results(view) {
        return html! {};
    }
    let words = html! { div.words.whole { (fenced_words(rest)) } };
    let lines = rest.lines().count() as u64;
    match is_long(rest) {
        false => words,
        true => html! {
            details.fold {
                summary { "Show all" @if lines > 1 { " " (grouped_digits(lines)) " lines" } }
                (words)
            }
        },
    }
}

/// A text with what stands between its fences as code.
fn fenced_words(text: &str) -> Markup {
    let mut blocks: Vec<(bool, String)> = vec![(false, String::new())];
    for line in text.split_inclusive('\n') {
        let in_code = blocks.last().is_some_and(|(in_code, _)| *in_code);
        // Where a language is named, code can only begin.
        let is_fence = fence_language(line).is_some_and(|name| !in_code || name.is_empty());
        match is_fence {
            true => blocks.push((!in_code, String::new())),
            false => blocks.last_mut().into_iter().for_each(|(_, block)| block.push_str(line)),
        }
    }
    html! {
        @for (in_code, block) in blocks.iter().filter(|(_, block)| !block.trim().is_empty()) {
            @if *in_code { pre.code tabindex="0" { (block.trim_end_matches('\n')) } }
            @else { p dir="auto" { (block.trim_matches('\n')) } }
        }
    }
}

fn said_heading(view: &TurnView, id: &str) -> Markup {
    let first = view.messages.iter().find(|stored| stored.message.is_user());
    let at = first.map(|stored| stored.at).or(view.turn.as_ref().map(|turn| turn.accepted));
    let speaker = first.and_then(|stored| match &stored.message.body {
        MessageBody::User(user) => {
            user.speaker.as_ref().map(|name| show_controls(&name.to_string()))
        }
        _ => None,
    });
    let content = said_content(view);
    let attached: Vec<String> = content.iter().filter_map(attachment).collect();
    let text = visible_text(content);
    let (opening, _) = split_words(&text);
    html! {
        h2.said id=(id) {
            @if let Some(speaker) = speaker { span.speaker { (speaker) ": " } }
            @if first.is_none() && brings_results(view) {
                span.q { "Its client has run what was called." }
            } @else {
                span.words dir="auto" { (opening) }
            }
            @for name in attached { " " span.badge { (name) } }
            @if let Some(at) = at { " " (times::said_at(at)) }
        }
    }
}

/// Whether a turn goes on from calls that the turn before handed to its client.
fn brings_results(view: &TurnView) -> bool {
    let first = view.messages.first();
    first.is_some_and(|stored| stored.message.answered_call().is_some())
}

/// What came along with a message, in a few words.
fn attachment(part: &ContentPart) -> Option<String> {
    match part {
        ContentPart::Image(image) => {
            let name = show_controls(image.name.as_deref().unwrap_or("image"));
            Some(format!("{name}, {} B", grouped_digits(image.size() as u64)))
        }
        ContentPart::File(file) => {
            let bytes = grouped_digits(file.text().len() as u64);
            Some(format!("{}, {bytes} B", show_controls(file.name().as_ref())))
        }
        ContentPart::Text(_) | ContentPart::Opaque(_) => None,
    }
}

fn taken_back_line(retraction: &StoredRetraction) -> Markup {
    let words = match retraction.reason {
        RetractionReason::Undo => "taken back",
        RetractionReason::Retry => "asked again",
        RetractionReason::Edit => "said otherwise",
    };
    html! {
        p.q {
            (words)
            @if let Some(turn) = retraction.replaced_by {
                ", see " a href={ "#turn-" (turn) } { "turn " (turn) }
            }
        }
    }
}

/// Whose task the turn does, where it is a sub-agent's.
fn task_line(view: &TurnView) -> Markup {
    let Some(task) = &view.task else { return html! {} };
    html! {
        p.q {
            "task of sub-agent " code { (show_controls(&task.agent)) }
            @if let Some(parent) = &task.parent {
                ", given by " a href={ "/turns/" (parent.turn) } { "turn " (parent.turn) }
            }
        }
    }
}

/// What left the page with this turn: the messages before it that the model did not see any more.
fn left_history(view: &TurnView) -> Option<DroppedEntry> {
    let outline = outline_request(view.pages.first()?).ok()?;
    let is_new = |reason: &DropReason| {
        !matches!(reason, DropReason::TrimmedEarlier | DropReason::TakenBack | DropReason::Mode)
    };
    let mut dropped = outline.dropped.into_iter();
    dropped.find(|left| left.layer == Layer::History && is_new(&left.reason))
}

/// Says what of the history left the page, where the record of the turn does not tell it below.
fn left_out_line(view: &TurnView) -> Markup {
    let mut told = view.pages.iter().flat_map(recorded_notices);
    let (Some(left), Some(turn)) = (left_history(view), view.id()) else { return html! {} };
    if told.any(|notice| is_left_out(&notice)) {
        return html! {};
    }
    html! {
        p.notice role="note" {
            (left.what) " (" (left.before) " tokens) left the page: " (left.reason.describe()) ". "
            (left_out_link(turn))
        }
    }
}

fn is_left_out(notice: &TurnNotice) -> bool {
    matches!(notice.facts, NoticeFacts::LeftOut { .. })
}

fn left_out_link(turn: TurnId) -> Markup {
    html! {
        "What had to leave the page stays in the session. "
        a href={ "/turns/" (turn) "#left-out" } { "What was left out" }
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
                // What a person stopped has not failed: a line below says that they did.
                MessageBody::Error(_) if was_stopped(view) => {}
                MessageBody::Error(text) => (error_block(text.as_str())),
                MessageBody::Approval(text) if view.turn.is_none() => {
                    p.notice { (text.as_str()) }
                }
                MessageBody::Tool { call, name, content } if !is_called_here(view, call) => {
                    (client_result(name, &visible_text(content)))
                }
                MessageBody::Tool { .. } | MessageBody::User(_) | MessageBody::Approval(_) => {}
            }
        }
    }
}

/// Whether a call is of this turn, and its result stands with it.
fn is_called_here(view: &TurnView, call: &CallId) -> bool {
    let calls = view.messages.iter().flat_map(|stored| stored.message.calls());
    calls.into_iter().any(|made| made.id == *call)
}

fn was_stopped(view: &TurnView) -> bool {
    let status = view.turn.as_ref().map(|turn| turn.status);
    status == Some(TurnStatus::Ended(TurnEnding::Stopped))
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
        @if let Some(OpenTurnStanding::RunsHere | OpenTurnStanding::RunsElsewhere) = view.standing {
            details.fold.thinking hidden { summary { "Thinking" } pre.code {} }
            div.reply.live.caret aria-busy="true" { p {} }
        }
        noscript { p.q { "Load the page again to see how it goes on." } }
    }
}

/// What a person should know of the turn, as far as its record tells. Scripts add what they hear,
/// in the same words.
fn notices(view: &TurnView) -> Markup {
    let mut told: Vec<TurnNotice> = Vec::new();
    for notice in view.pages.iter().flat_map(recorded_notices) {
        if told.iter().all(|known| known.text != notice.text) {
            told.push(notice);
        }
    }
    let left = view.id().filter(|_| left_history(view).is_some());
    let told_first = told.iter().position(is_left_out);
    // An empty one has no space in it either: the style sheet hides it.
    html! {
        div.notices role="status" {
            @for (at, notice) in told.iter().enumerate() {
                p.q {
                    span.told { (with_code(&notice.text)) }
                    @if let Some(turn) = left.filter(|_| told_first == Some(at)) {
                        ". " (left_out_link(turn))
                    }
                }
            }
        }
    }
}

/// How a turn ended that has no reply.
fn ending_line(view: &TurnView) -> Markup {
    let Some(StoredTurn { status: TurnStatus::Ended(ending), detail, .. }) = &view.turn else {
        return html! {};
    };
    let words = match ending {
        TurnEnding::Done | TurnEnding::Failed => return html! {},
        TurnEnding::Stopped if is_unsent(detail.as_deref()) => "stopped before it was sent",
        TurnEnding::Stopped => "stopped",
        TurnEnding::Interrupted => "interrupted: the program that ran it was ended",
        TurnEnding::HandedOut => "its client runs the calls",
    };
    let detail = detail.as_deref().filter(|_| *ending == TurnEnding::HandedOut);
    html! { p.q { (words) @if let Some(detail) = detail { ": " (detail) } } }
}

/// Whether the model never saw the message of a turn that was stopped.
fn is_unsent(detail: Option<&str>) -> bool {
    detail.is_some_and(|detail| detail.ends_with("the message was not sent"))
}

fn foot(view: &TurnView, audience: TurnAudience<'_>) -> Markup {
    let Some(turn) = &view.turn else { return html! {} };
    html! {
        footer.foot {
            @if view.standing.is_some() && turn.stop_by.is_none() {
                (stop_button(view, turn, audience))
            }
            @if !view.pages.is_empty() && audience.chrome.may(Right::Inspect) {
                form.view-context method="get" action={ "/turns/" (turn.id) } {
                    button.btn data-turn=(turn.id) { "View context" }
                }
            }
            (request_facts(view))
            @if let Some(standing) = view.standing { (standing_line(view, turn, standing)) }
            @if view.standing.is_none() && view.messages.is_empty() && audience.may_talk {
                (unsent_buttons(turn, audience))
            }
            @if view.is_last && audience.may_talk && audience.chrome.may(Right::TakeBack) {
                (last_exchange_buttons(view, turn, audience))
            }
        }
    }
}

fn stop_button(view: &TurnView, turn: &StoredTurn, audience: TurnAudience<'_>) -> Markup {
    if !audience.chrome.may(Right::Stop) {
        return html! {};
    }
    let action = format!("/sessions/{}/stop", turn.session);
    let waits = turn.status == TurnStatus::Queued;
    // What waits for a person the key does not stop.
    let has_key = matches!(state_name(view), "running" | "elsewhere");
    let button = html! {
        button.btn.stop name="turn" value=(turn.id) {
            @if waits { "Don't send" } @else { "Stop" @if has_key { " " kbd.scripted { "Esc" } } }
        }
    };
    audience.chrome.post_form(&action, "", &button)
}

/// What becomes of a turn that has not ended, and since when; scripts count the seconds.
fn standing_line(view: &TurnView, turn: &StoredTurn, standing: OpenTurnStanding) -> Markup {
    let words = match (&turn.stop_by, &turn.status) {
        (Some(_), TurnStatus::Queued) => "taken out of the queue: it will not be sent",
        (Some(_), _) => "is being stopped",
        (None, _) if standing == OpenTurnStanding::RunsHere => running_words(view),
        (None, _) => standing_words(standing),
    };
    let runs = turn.stop_by.is_none() && standing == OpenTurnStanding::RunsHere;
    let since = turn.started.filter(|_| runs).map(|at| at.timestamp().as_millisecond());
    html! {
        span.stands { (words) }
        @if let Some(since) = since { span.elapsed data-since=(since) {} }
    }
}

/// What a turn does that runs here, before there is any text of its reply.
fn running_words(view: &TurnView) -> &'static str {
    let called = view.messages.iter().rev().find(|stored| !stored.message.calls().is_empty());
    let is_answered = |call: &ToolCall| {
        view.messages.iter().any(|stored| stored.message.answered_call() == Some(&call.id))
    };
    match called.is_some_and(|stored| !stored.message.calls().iter().all(is_answered)) {
        true => "runs tools",
        false => "reading the prompt",
    }
}

fn standing_words(standing: OpenTurnStanding) -> &'static str {
    match standing {
        OpenTurnStanding::Queued | OpenTurnStanding::Left => "queued",
        OpenTurnStanding::RunsHere => "runs",
        OpenTurnStanding::RunsElsewhere => "runs in another process",
        OpenTurnStanding::AwaitsApproval => "waits for an answer",
        OpenTurnStanding::CutShort => "cut short",
    }
}

/// What can be done about a message that was not sent: sending it after all, or writing it anew.
fn unsent_buttons(turn: &StoredTurn, audience: TurnAudience<'_>) -> Markup {
    let text = turn.inbound.as_deref().map(visible_text).unwrap_or_default();
    if text.is_empty() {
        return html! {};
    }
    // What began with a slash was meant for the model all the same.
    let text = if text.starts_with('/') { format!("/{text}") } else { text };
    let content = html! {
        input type="hidden" name="text" value=(text);
        @if let Some(mode) = SessionSettings::from_store(&turn.settings).context_mode {
            input type="hidden" name="mode" value=(mode.name());
        }
        button.btn.plain { "Retry" }
        button.btn.plain name="only" value="draft" { "Edit" }
    };
    let action = format!("/sessions/{}/messages", turn.session);
    html! { span.again.unsent { (audience.chrome.post_form(&action, "", &content)) } }
}

/// What can be done about the last exchange.
fn last_exchange_buttons(view: &TurnView, turn: &StoredTurn, audience: TurnAudience<'_>) -> Markup {
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
            @if !brings_results(view) { (button("/edit", "Edit")) }
            (button("/undo", "Take back"))
        }
    }
}

/// What the turn's page cost, what of it was cached, who answered and how soon.
fn request_facts(view: &TurnView) -> Markup {
    // The same request that View context opens, and that `recto show` draws.
    let Some(last) = view.pages.last() else { return html! {} };
    let Ok(outline) = outline_request(last) else { return html! {} };
    let cost = PromptCost::new(last, &outline);
    let label = format!("{} of a window of {}", cost.describe(), outline.budget.window);
    html! {
        (LayerBar::from_outline(&outline, cost.cached).render(Some(&label)))
        span { (cost.describe()) }
        @if let Some(seconds) = seconds_to_first_token(last) {
            span { "first token " (format!("{seconds:.2}")) " s" }
        }
        span {
            (outline.model) ", " (outline.mode.name())
            @if view.request_count > 1 { ", " (view.request_count) " requests" }
        }
    }
}

fn seconds_to_first_token(request: &RequestRecord) -> Option<f64> {
    let first = request.answer.as_ref()?.result["first_token"].clone();
    let first: Moment = serde_json::from_value(first).ok()?;
    let waited = first.timestamp().duration_since(request.at.timestamp());
    Some(waited.as_secs_f64())
}
