//! A turn's request sent once more, to the same model or another one, beside what came back when it
//! was recorded. The page is sent while the reply comes, so that it needs no script.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use maud::{Escaper, Markup, html};
use recto_agent::{RecordReader, ReplayTarget, TurnRecord};
use recto_llm::{LlmError, ModelReply, StreamEvent};
use recto_store::RequestRecord;
use serde::Deserialize;
use std::convert::Infallible;
use std::fmt::Write as _;

use super::ContextView;
use crate::extract::{PageFields, PagePath};
use crate::gateway::Gateway;
use crate::pages::layout::{NavPage, PageChrome, PageFrame, PageVisitor};
use crate::pages::page_problem::PageResult;
use crate::pages::visible_text::reveal_html;

/// The place of a page at which the reply is sent.
const PLACE: &str = "\u{1}reply\u{1}";

/// A request to send a recorded one again.
#[derive(Debug, Deserialize)]
pub(crate) struct ReplayForm {
    request: u32,
    model: String,
}

/// The form that has a request sent again.
pub(crate) fn replay_form(
    chrome: &PageChrome,
    view: &ContextView,
    record: &RequestRecord,
) -> Markup {
    let content = html! {
        input type="hidden" name="request" value=(record.number);
        label.vh for="replay-model" { "Model" }
        select id="replay-model" name="model" {
            @for model in &view.models {
                option value=(model) selected[*model == record.model] { (model) }
            }
        }
        button.btn type="submit" { "Replay" }
    };
    html! {
        @if !view.models.is_empty() {
            // It leads to a page of its own, also from the dialog: no script sends it.
            form.again method="post" action={ "/turns/" (view.turn.id) "/replay" } {
                (chrome.form_field)
                (content)
            }
        }
    }
}

/// Sends a recorded request again, and answers with a page that grows as the reply comes.
pub(crate) async fn replay_turn(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PagePath(turn): PagePath<String>,
    PageFields(form): PageFields<ReplayForm>,
) -> PageResult<Response> {
    let reader = RecordReader::new(gateway.store(), &visitor.actor);
    let record = reader.find_turn(&turn).await?;
    let session = reader.session(record.turn().session).await?;
    let (agent, _) = gateway.find_session(&visitor.actor, session.id).await?;
    let request = record.request(form.request).await?;
    let before = recorded_reply(&gateway, &record, &request).await?;
    let target = ReplayTarget::new(&request, agent.model(&form.model)?, agent.window_cap());
    let plan = record.prepare_replay(request.clone(), target).await?;
    let chrome = PageChrome::load(&gateway, &visitor, agent.name()).await?;
    let title = format!("Replay of turn {}", record.id());
    let frame =
        PageFrame { title: &title, page: Some(NavPage::Chat), body_class: "", scripts: &[] };
    let body = replay_page(&title, &request, &form.model, &before);
    let page = chrome.render(frame, &body).into_string();
    // The last one: the recorded reply, which stands before it, may say the same.
    let (top, bottom) = page.rsplit_once(PLACE).unwrap_or((&page, ""));
    let reply = plan.send().map(reply_html);
    let once = |text: &str| stream::iter([text.to_owned()]);
    let parts = once(top).chain(reply).chain(once(bottom));
    Ok(html_stream(parts))
}

/// What came back when the request was recorded.
async fn recorded_reply(
    gateway: &Gateway,
    record: &TurnRecord<'_>,
    request: &RequestRecord,
) -> PageResult<Markup> {
    let Some(answer) = &request.answer else { return Ok(html! { p.q { "nothing came back" } }) };
    let messages = match answer.reply {
        Some(id) => gateway.store().messages_within(record.turn().session, id..=id).await?,
        None => Vec::new(),
    };
    let error = answer.result["error"]["message"].as_str();
    Ok(html! {
        @for stored in &messages {
            pre.reply-text {
                @for part in stored.message.content() {
                    @if let Some(text) = part.as_text() { (text.as_str()) }
                }
            }
            @for call in stored.message.calls() {
                pre.call { b { (call.name) } " " (call.arguments.as_str()) }
            }
        }
        @if let Some(error) = error { p.no-ok { (error) } }
    })
}

fn replay_page(title: &str, request: &RequestRecord, model: &str, before: &Markup) -> Markup {
    let how = match model == request.model {
        true => "the recorded bytes, sent again",
        false => "the same page, written for this model",
    };
    html! {
        main.page id="main" {
            header.head {
                div {
                    p.crumbs {
                        a href={ "/turns/" (request.turn) "?request=" (request.number) } {
                            "turn " (request.turn) ", request " (request.number)
                        }
                    }
                    h1 { (title) }
                    p.q { "What comes back here is kept nowhere: the record says what happened, once." }
                }
            }
            div.duo {
                section {
                    h2 { "As recorded" }
                    p.q { (request.model) }
                    (before)
                }
                section aria-live="polite" {
                    h2 { "Now" }
                    p.q { (model) ": " (how) }
                    pre.reply-text { (PLACE) }
                }
            }
        }
    }
}

/// A piece of the reply as it stands on the page.
fn reply_html(event: Result<StreamEvent, LlmError>) -> String {
    match event {
        Ok(StreamEvent::Text(text)) => escaped(&text),
        Ok(StreamEvent::Thinking(_)) => String::new(),
        Ok(StreamEvent::Retrying { after, error }) => {
            escaped(&format!("[{error}; asking again in {} s]\n", after.as_secs_f32().ceil()))
        }
        Ok(StreamEvent::Done(reply)) => calls_html(&reply),
        Err(error) => html! { b.no-ok { "error: " (error) } }.into_string(),
    }
}

fn calls_html(reply: &ModelReply) -> String {
    html! {
        @for call in &reply.calls {
            "\n" b { (call.name) } " " (call.arguments.as_str())
        }
    }
    .into_string()
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = Escaper::new(&mut out).write_str(text);
    out
}

fn html_stream(parts: impl Stream<Item = String> + Send + 'static) -> Response {
    let shown = parts.map(|part| reveal_html(&part).into_owned());
    let bytes = shown.map(|part| Ok::<_, Infallible>(Bytes::from(part)));
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], Body::from_stream(bytes)).into_response()
}
