//! Turns as they were recorded: what was sent, byte for byte, by which parts, and why.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use recto_agent::{
    RecordReader, RequestPurpose, TurnRecord, message_json, page_text_json, request_json,
    restore_request, turn_json,
};
use recto_store::{Moment, RequestRecord, SessionId, TurnId};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::paging::PageLimit;
use super::shapes::{TurnListShape, TurnRecordShape};
use crate::access::Caller;
use crate::extract::{ApiQuery, PathId};
use crate::gateway::Gateway;
use crate::problem::ApiResult;

/// Which turns are listed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct TurnListQuery {
    /// Those before the turn of this number.
    #[param(value_type = Option<i64>)]
    before: Option<TurnId>,
    /// How many are listed, at most 500; 50 where nothing is said.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: PageLimit,
}

/// Lists turns of a session, the newest first.
#[utoipa::path(
    get, path = "/api/sessions/{session}/turns", tag = "turns",
    params(
        ("session" = i64, Path, minimum = 1, description = "The number of the session"),
        TurnListQuery
    ),
    responses((status = 200, description = "A page of turns", body = TurnListShape))
)]
pub(crate) async fn list_turns(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(session): PathId<SessionId>,
    ApiQuery(query): ApiQuery<TurnListQuery>,
) -> ApiResult<Json<Value>> {
    let limit = query.limit.rows();
    let reader = RecordReader::new(gateway.store(), &actor);
    // One more than is shown tells whether there are more.
    let listed = reader.newest_turns(session, query.before, limit + 1).await?;
    let asked = gateway.store().open_approvals(Moment::now()).await?;
    let limit = limit as usize;
    let describe = |record: &TurnRecord<'_>| {
        let question = asked.iter().find(|approval| approval.turn == record.id());
        turn_json(record.turn(), question)
    };
    let page: Vec<Value> = listed.iter().take(limit).map(describe).collect();
    Ok(Json(json!({"turns": page, "has_more": listed.len() > limit})))
}

/// Shows a turn: what was said, asked and sent in it, without the pages themselves.
#[utoipa::path(
    get, path = "/api/turns/{turn}", tag = "turns",
    params(("turn" = i64, Path, minimum = 1, description = "The number of the turn")),
    responses((status = 200, description = "The turn", body = TurnRecordShape))
)]
pub(crate) async fn show_turn(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(turn): PathId<TurnId>,
) -> ApiResult<Json<Value>> {
    let record = RecordReader::new(gateway.store(), &actor).turn(turn).await?;
    let messages = gateway.store().messages_of_turn(record.turn()).await?;
    let requests = gateway.store().requests(turn).await?;
    Ok(Json(json!({
        "turn": record.turn_json().await?,
        "approvals": record.approvals_json().await?,
        "messages": messages.iter().map(message_json).collect::<Vec<_>>(),
        "requests": requests.iter().map(brief_json).collect::<Vec<_>>(),
    })))
}

fn brief_json(request: &RequestRecord) -> Value {
    json!({
        "id": request.id,
        "number": request.number,
        "at": request.at,
        "model": request.model,
        "wire": request.wire,
        "purpose": RequestPurpose::from_record(request).name(),
        "bytes": request.body_length,
        "answer": request.answer,
    })
}

/// Which request of a turn is meant.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct RequestQuery {
    /// Its number within the turn; the last page where none is named.
    #[param(minimum = 1)]
    request: Option<u32>,
}

impl RequestQuery {
    /// The number of the request, where one is named.
    pub(crate) fn request(&self) -> Option<u32> {
        self.request
    }
}

/// Shows what a request sent, by layer and item, with what was cached, dropped and passed over.
#[utoipa::path(
    get, path = "/api/turns/{turn}/context", tag = "turns",
    params(
        ("turn" = i64, Path, minimum = 1, description = "The number of the turn"), RequestQuery
    ),
    responses((
        status = 200, body = Object,
        description = "The request; `context` is the report that docs/record.md describes"
    ))
)]
pub(crate) async fn show_context(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(turn): PathId<TurnId>,
    ApiQuery(query): ApiQuery<RequestQuery>,
) -> ApiResult<Json<Value>> {
    let record = RecordReader::new(gateway.store(), &actor).turn(turn).await?;
    let request = record.request_or_page(query.request()).await?;
    let mut described = request_json(gateway.store(), &request, Value::Null).await?;
    described["turn"] = json!(turn);
    described["session"] = json!(request.session);
    if let Value::Object(fields) = &mut described {
        // It has an address of its own.
        fields.remove("body");
    }
    Ok(Json(described))
}

/// Gives the bytes that a request sent, exactly.
#[utoipa::path(
    get, path = "/api/turns/{turn}/body", tag = "turns",
    params(
        ("turn" = i64, Path, minimum = 1, description = "The number of the turn"), RequestQuery
    ),
    responses((
        status = 200, description = "The body as it went out",
        body = String, content_type = "application/octet-stream"
    ))
)]
pub(crate) async fn show_body(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(turn): PathId<TurnId>,
    ApiQuery(query): ApiQuery<RequestQuery>,
) -> ApiResult<impl IntoResponse> {
    let record = RecordReader::new(gateway.store(), &actor).turn(turn).await?;
    let request = record.request_or_page(query.request()).await?;
    let body = gateway.store().body(request.id).await?;
    let name = format!("attachment; filename=\"turn-{turn}-request-{}.json\"", request.number);
    let headers = [
        // Whatever is in it, no browser is to read it as anything.
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, body))
}

/// Shows the texts that a request sent as the model reads them, each part with its source.
#[utoipa::path(
    get, path = "/api/turns/{turn}/text", tag = "turns",
    params(
        ("turn" = i64, Path, minimum = 1, description = "The number of the turn"), RequestQuery
    ),
    responses((
        status = 200, body = Object,
        description = "`tools` with their schemas, and `messages` with their `parts`: `layer`, \
                       `kind`, `name`, `source`, `reason`, `tokens`, `text`"
    ))
)]
pub(crate) async fn show_text(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(turn): PathId<TurnId>,
    ApiQuery(query): ApiQuery<RequestQuery>,
) -> ApiResult<Json<Value>> {
    let record = RecordReader::new(gateway.store(), &actor).turn(turn).await?;
    let request = record.request_or_page(query.request()).await?;
    let context = restore_request(gateway.store(), &request).await?;
    let mut text = page_text_json(&context);
    text["turn"] = json!(turn);
    text["request"] = json!(request.number);
    Ok(Json(text))
}

/// The other turn of a comparison.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ComparisonQuery {
    /// The number of the other turn; the one before it where none is named.
    #[param(minimum = 1)]
    with: Option<String>,
}

/// Compares what two turns sent: the first byte that differs, its cause, what was read again.
#[utoipa::path(
    get, path = "/api/turns/{turn}/diff", tag = "turns",
    params(
        ("turn" = i64, Path, minimum = 1, description = "The number of the turn"),
        ComparisonQuery
    ),
    responses((
        status = 200, description = "`before`, `after` and their `comparison`", body = Object
    ))
)]
pub(crate) async fn compare_turns(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(turn): PathId<TurnId>,
    ApiQuery(query): ApiQuery<ComparisonQuery>,
) -> ApiResult<Json<Value>> {
    let reader = RecordReader::new(gateway.store(), &actor);
    let first = reader.turn(turn).await?;
    let second = match &query.with {
        Some(other) => Some(reader.find_turn(other).await?),
        None => None,
    };
    Ok(Json(reader.compare_turns(first, second).await?.json()))
}

/// The item that is asked about.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WhyQuery {
    /// Its name, as it can be typed.
    name: String,
}

/// Says why an item was on the page of a turn, or was not.
#[utoipa::path(
    get, path = "/api/turns/{turn}/why", tag = "turns",
    params(("turn" = i64, Path, minimum = 1, description = "The number of the turn"), WhyQuery),
    responses((
        status = 200, body = Object,
        description = "`items` that answer to the name, each with `status`, and `words` for people"
    ))
)]
pub(crate) async fn explain_item(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PathId(turn): PathId<TurnId>,
    ApiQuery(query): ApiQuery<WhyQuery>,
) -> ApiResult<Json<Value>> {
    let record = RecordReader::new(gateway.store(), &actor).turn(turn).await?;
    let (agent, _) = gateway.find_session(&actor, record.turn().session).await?;
    Ok(Json(record.explain(agent.memories(), &query.name).await?.json()))
}
