//! `POST /ollama/api/chat` and `POST /ollama/api/generate`.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_util::StreamExt;
use recto_agent::Actor;
use recto_context::ClientToolChoice;
use serde_json::Value;

use super::reply::{LineHead, ReplyField, SpokenPiece};
use super::request::{LineDelivery, MannerJson, OllamaChatBody, PromptBody};
use crate::access::Caller;
use crate::front_door::{
    AnswerPlaces, ClientList, ConversationIndex, DoorEvent, DoorRequest, DoorTurn, OfferedModel,
    VendorForm, answer_places, find_model, named_mode, named_session, problem_json,
};
use crate::gateway::Gateway;
use crate::problem::ApiResult;

/// Answers a client's messages.
pub(super) async fn answer_chat(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Extension(conversations): Extension<ConversationIndex>,
    headers: HeaderMap,
    body: Bytes,
) -> ApiResult<Response> {
    let mut body = OllamaChatBody::read(body).await?;
    let model = find_model(&gateway, &body.model)?;
    let head = LineHead { field: ReplyField::Message, model: body.model.clone() };
    if body.is_empty() {
        return Ok(Json(head.without_reply(body.manner.load_reason())).into_response());
    }
    let list = body.take_list()?;
    let answers = answer_places(&gateway, &headers);
    let mut request = door_request(actor, model, list, &body.manner, &headers, answers)?;
    request.tools = body.tools();
    let turn = DoorTurn::begin(gateway.store(), &conversations, request).await?;
    Ok(answer(turn, head, &body.manner).await)
}

/// Answers a prompt that stands by itself.
pub(super) async fn answer_prompt(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Extension(conversations): Extension<ConversationIndex>,
    headers: HeaderMap,
    body: Bytes,
) -> ApiResult<Response> {
    let mut body = PromptBody::read(body).await?;
    let model = find_model(&gateway, &body.model)?;
    let head = LineHead { field: ReplyField::Response, model: body.model.clone() };
    if body.is_empty() {
        return Ok(Json(head.without_reply(body.manner.load_reason())).into_response());
    }
    let list = body.take_list()?;
    let answers = answer_places(&gateway, &headers);
    let request = door_request(actor, model, list, &body.manner, &headers, answers)?;
    let turn = DoorTurn::begin(gateway.store(), &conversations, request).await?;
    Ok(answer(turn, head, &body.manner).await)
}

fn door_request(
    actor: Actor,
    model: OfferedModel,
    list: ClientList,
    manner: &MannerJson,
    headers: &HeaderMap,
    answers: AnswerPlaces,
) -> ApiResult<DoorRequest> {
    let mut settings = manner.settings()?;
    settings.model = model.entry;
    settings.context_mode = named_mode(headers, manner.context_mode.as_ref())?;
    Ok(DoorRequest {
        form: VendorForm::Ollama,
        actor,
        agent: model.agent,
        list,
        tools: Vec::new(),
        tool_choice: ClientToolChoice::Free,
        settings,
        session: named_session(headers),
        answers,
        user: None,
    })
}

async fn answer(turn: DoorTurn, head: LineHead, manner: &MannerJson) -> Response {
    let thinking = match manner.hides_thinking() {
        true => ThinkingDisplay::Hidden,
        false => ThinkingDisplay::Shown,
    };
    match manner.delivery() {
        LineDelivery::Whole => send_whole(turn, &head, thinking).await,
        LineDelivery::Streamed => stream_lines(turn, head, thinking).await,
    }
}

/// Whether a client gets the model's reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkingDisplay {
    Shown,
    Hidden,
}

/// Waits for the whole reply. A client that leaves in the middle drops this, and with it the turn.
async fn send_whole(mut turn: DoorTurn, head: &LineHead, thinking: ThinkingDisplay) -> Response {
    let mut said = SpokenPiece::default();
    loop {
        match turn.next().await {
            Ok(DoorEvent::Text(text)) => said.text.push_str(&text),
            Ok(DoorEvent::Thinking(text)) if thinking == ThinkingDisplay::Shown => {
                said.thinking.push_str(&text);
            }
            Ok(DoorEvent::Thinking(_) | DoorEvent::Waiting) => {}
            Ok(DoorEvent::Finished(end)) => {
                said.calls.clone_from(&end.calls);
                said.text = end.formed.clone().unwrap_or(said.text);
                return turn.sign(Json(head.end(&said, &end)).into_response());
            }
            Err(problem) => return turn.refuse(problem),
        }
    }
}

/// Streams the reply. What goes wrong before anything was said is still an answer of its own.
async fn stream_lines(mut turn: DoorTurn, head: LineHead, thinking: ThinkingDisplay) -> Response {
    let first = match turn.next().await {
        Ok(first) => first,
        Err(problem) => return turn.refuse(problem),
    };
    let signed = turn.sign(().into_response());
    let lines = turn.follow_from(first).map(move |event| {
        let lines = write_lines(event, &head, thinking);
        Ok::<_, Infallible>(lines.iter().map(|line| format!("{line}\n")).collect::<String>())
    });
    let mut response = Body::from_stream(lines).into_response();
    response.headers_mut().extend(signed.headers().clone());
    let form = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, form);
    response
}

/// An event of a turn as it goes over the line.
fn write_lines(
    event: ApiResult<DoorEvent>,
    head: &LineHead,
    thinking: ThinkingDisplay,
) -> Vec<Value> {
    let none = SpokenPiece::default();
    match event {
        Ok(DoorEvent::Text(text)) => vec![head.piece(&SpokenPiece { text, ..none })],
        Ok(DoorEvent::Thinking(thought)) if thinking == ThinkingDisplay::Shown => {
            vec![head.piece(&SpokenPiece { thinking: thought, ..none })]
        }
        Ok(DoorEvent::Thinking(_)) => Vec::new(),
        // Its clients read every line as JSON.
        Ok(DoorEvent::Waiting) => vec![head.piece(&none)],
        Ok(DoorEvent::Finished(end)) => {
            let mut lines = Vec::new();
            if !end.calls.is_empty() {
                lines.push(head.piece(&SpokenPiece { calls: end.calls.clone(), ..none }));
            }
            lines.push(head.end(&SpokenPiece::default(), &end));
            lines
        }
        Err(problem) => vec![problem_json(VendorForm::Ollama, &problem)],
    }
}
