//! `POST /v1/chat/completions`.

use std::convert::Infallible;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_util::{StreamExt, stream};
use serde_json::Value;

use super::reply::ReplyHead;
use super::request::{OpenAiChatBody, ReplyDelivery};
use crate::access::Caller;
use crate::front_door::{
    ConversationIndex, DoorEvent, DoorRequest, DoorTurn, VendorForm, answer_places, find_model,
    named_mode, named_session, problem_json,
};
use crate::gateway::Gateway;
use crate::problem::ApiResult;

/// Answers a client's messages.
pub(super) async fn complete_chat(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Extension(conversations): Extension<ConversationIndex>,
    headers: HeaderMap,
    body: Bytes,
) -> ApiResult<Response> {
    let mut body = OpenAiChatBody::read(body).await?;
    let model = find_model(&gateway, &body.model)?;
    let mut settings = body.settings()?;
    settings.model = model.entry;
    settings.context_mode = named_mode(&headers, body.context_mode.as_ref())?;
    let request = DoorRequest {
        form: VendorForm::OpenAi,
        actor,
        agent: model.agent,
        tools: body.tools()?,
        tool_choice: body.tool_choice()?,
        list: body.take_list()?,
        settings,
        session: named_session(&headers),
        answers: answer_places(&gateway, &headers),
        user: body.user.take().filter(|user| !user.is_empty()),
    };
    let turn = DoorTurn::begin(gateway.store(), &conversations, request).await?;
    let head = ReplyHead::new(turn.id(), &body.model);
    Ok(match body.delivery() {
        ReplyDelivery::Whole => send_whole(turn, &head).await,
        delivery => stream_chunks(turn, head, delivery).await,
    })
}

/// Waits for the whole reply. A client that leaves in the middle drops this, and with it the turn.
async fn send_whole(mut turn: DoorTurn, head: &ReplyHead) -> Response {
    let mut reply = String::new();
    loop {
        match turn.next().await {
            Ok(DoorEvent::Text(text)) => reply.push_str(&text),
            Ok(DoorEvent::Thinking(_) | DoorEvent::Waiting) => {}
            Ok(DoorEvent::Finished(end)) => {
                let reply = end.formed.as_ref().unwrap_or(&reply);
                return turn.sign(Json(head.completion(reply, &end)).into_response());
            }
            Err(problem) => return turn.refuse(problem),
        }
    }
}

/// Streams the reply. What goes wrong before anything was said is still an answer of its own.
async fn stream_chunks(mut turn: DoorTurn, head: ReplyHead, delivery: ReplyDelivery) -> Response {
    let first = match turn.next().await {
        Ok(first) => first,
        Err(problem) => return turn.refuse(problem),
    };
    let unsigned = ().into_response();
    let signed = turn.sign(unsigned);
    let opening = stream::iter([vec![write_chunk(&head.first_chunk())]]);
    let rest = turn.follow_from(first).map(move |event| write_event(event, &head, delivery));
    let events = opening.chain(rest).flat_map(stream::iter).map(Ok::<Event, Infallible>);
    let mut response = Sse::new(events).into_response();
    response.headers_mut().extend(signed.headers().clone());
    response
}

/// An event of a turn as it goes over the line.
fn write_event(
    event: ApiResult<DoorEvent>,
    head: &ReplyHead,
    delivery: ReplyDelivery,
) -> Vec<Event> {
    match event {
        Ok(DoorEvent::Text(text)) => vec![write_chunk(&head.text_chunk(&text))],
        Ok(DoorEvent::Thinking(_)) => Vec::new(),
        Ok(DoorEvent::Waiting) => vec![Event::default().comment("the turn goes on")],
        Ok(DoorEvent::Finished(end)) => {
            let mut events: Vec<Event> = head.last_chunks(&end).iter().map(write_chunk).collect();
            if delivery == ReplyDelivery::StreamedWithUsage {
                events.extend(head.usage_chunk(&end).iter().map(write_chunk));
            }
            events.push(Event::default().data("[DONE]"));
            events
        }
        Err(problem) => vec![write_chunk(&problem_json(VendorForm::OpenAi, &problem))],
    }
}

fn write_chunk(chunk: &Value) -> Event {
    Event::default().data(chunk.to_string())
}
