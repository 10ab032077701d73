//! Messages to a server by HTTP, whose answers have an end.
//!
//! The library's own client reads an answer in plain JSON whatever its length. Here, an answer is
//! given up once it is longer than any message of a server may be; an event of a stream likewise.
//! All else is as the library does it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcError, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse, SseStream};

use super::envelope::{Envelope, is_other_answer, read_message, with_readable_tools};
use super::error::UNREADABLE;
use super::limits::MAX_MESSAGE;

/// A client that gives up answers without end.
#[derive(Debug, Clone)]
pub(super) struct BoundedHttpClient(pub(super) Client);

type HttpResult<T> = Result<T, StreamableHttpError<reqwest::Error>>;
type HeaderTable = HashMap<HeaderName, HeaderValue>;

impl StreamableHttpClient for BoundedHttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HeaderTable,
    ) -> HttpResult<StreamableHttpPostResponse> {
        let mut request =
            self.0.post(&*uri).header(ACCEPT, [EVENT_STREAM_MIME_TYPE, JSON_MIME_TYPE].join(", "));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request = headers.into_iter().fold(request, |it, (name, value)| it.header(name, value));
        let is_in_session = session.is_some();
        if let Some(session) = session {
            request = request.header(HEADER_SESSION_ID, &*session);
        }
        let response = request.json(&message).send().await?;
        read_answer(response, &message, is_in_session).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HeaderTable,
        _max_sse_event_size: usize,
    ) -> HttpResult<StreamableHttpPostResponse> {
        self.post_message(uri, message, session, token, headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HeaderTable,
    ) -> HttpResult<()> {
        self.0.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: HeaderTable,
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
        let limit = MAX_MESSAGE;
        self.0.get_stream_with_max_sse_event_size(uri, session, last, token, headers, limit).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: HeaderTable,
        _max_sse_event_size: usize,
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
        self.get_stream(uri, session, last, token, headers).await
    }
}

async fn read_answer(
    response: Response,
    message: &ClientJsonRpcMessage,
    is_in_session: bool,
) -> HttpResult<StreamableHttpPostResponse> {
    let status = response.status();
    match status {
        StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        StatusCode::NOT_FOUND if is_in_session => return Err(StreamableHttpError::SessionExpired),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            return response
                .error_for_status()
                .map_err(Into::into)
                .and_then(|response| unexpected(&response));
        }
        _ => {}
    }
    let header = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
    let kind = header(CONTENT_TYPE.as_str()).unwrap_or_default();
    let session = header(HEADER_SESSION_ID);
    if !status.is_success() {
        return read_failure(response, message, is_in_session, session).await;
    }
    if kind.starts_with(EVENT_STREAM_MIME_TYPE) {
        let events = SseStream::from_bytes_stream(bounded_events(response.bytes_stream()));
        let asked = SentQuestion::of(message);
        let events = events.map(move |event| match (event, &asked) {
            (Ok(event), Some(asked)) => Ok(asked.readable(event)),
            (Err(error), Some(asked)) => answer_in_place(error, asked.id.clone()),
            (event, None) => event,
        });
        return Ok(StreamableHttpPostResponse::Sse(events.boxed(), session));
    }
    let awaits_answer = matches!(message, ClientJsonRpcMessage::Request(_));
    if !kind.starts_with(JSON_MIME_TYPE) {
        return match awaits_answer || response.content_length() != Some(0) {
            true => Err(StreamableHttpError::UnexpectedContentType(Some(kind))),
            false => Ok(StreamableHttpPostResponse::Accepted),
        };
    }
    let body = match (read_body(response).await, message) {
        (Ok(body), _) => body,
        (
            Err(StreamableHttpError::UnexpectedServerResponse(what)),
            ClientJsonRpcMessage::Request(it),
        ) => {
            return Ok(StreamableHttpPostResponse::Json(no_answer(what, it.id.clone()), session));
        }
        (Err(error), _) => return Err(error),
    };
    let is_tool_list = SentQuestion::of(message).is_some_and(|asked| asked.is_tool_list);
    match parse_answer(&body, is_tool_list) {
        Ok(ServerJsonRpcMessage::Error(error)) => {
            Ok(StreamableHttpPostResponse::Json(answer_with_id(error, message), session))
        }
        Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
        Err(_) if !awaits_answer => Ok(StreamableHttpPostResponse::Accepted),
        Err(why) => Err(no_message(format!("its answer can't be read: {why}"))),
    }
}

/// A question that was sent, as far as its answer is looked at.
struct SentQuestion {
    id: RequestId,
    is_tool_list: bool,
}

impl SentQuestion {
    fn of(message: &ClientJsonRpcMessage) -> Option<Self> {
        let ClientJsonRpcMessage::Request(request) = message else { return None };
        let is_tool_list = matches!(request.request, ClientRequest::ListToolsRequest(_));
        Some(SentQuestion { id: request.id.clone(), is_tool_list })
    }

    /// An event that the library can read, or one that ends the question in its place: the library
    /// passes over what it can't read.
    fn readable(&self, event: Sse) -> Sse {
        let data = event.data.as_deref().unwrap_or_default();
        let envelope = Envelope::scan(data.as_bytes());
        let is_right = |message| !self.is_tool_list || !is_other_answer(&message);
        if !envelope.is_answer() || serde_json::from_str(data).is_ok_and(is_right) {
            return event;
        }
        let answer = parse_answer(data.as_bytes(), self.is_tool_list).unwrap_or_else(|why| {
            let what = format!("it sent an event that can't be read: {why}");
            let error = ErrorData::new(UNREADABLE, what, None);
            ServerJsonRpcMessage::error(error, Some(self.id.clone()))
        });
        match serde_json::to_string(&answer) {
            Ok(answer) => event.data(answer),
            Err(_) => event,
        }
    }
}

fn parse_answer(text: &[u8], is_tool_list: bool) -> Result<ServerJsonRpcMessage, String> {
    match serde_json::from_slice(text) {
        Ok(message) if is_tool_list => Ok(with_readable_tools(message, text)),
        Ok(message) => Ok(message),
        Err(_) => read_message(text, &Envelope::scan(text), is_tool_list),
    }
}

/// The answer in the place of one that was given up. The question gets it, and the connection stays.
fn no_answer(what: Cow<'static, str>, asked: RequestId) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::internal_error(what, None), Some(asked))
}

/// The same in a stream, for an event that is longer than a message may be.
fn answer_in_place(error: SseError, asked: RequestId) -> Result<Sse, SseError> {
    let SseError::Body(cause) = &error else { return Err(error) };
    let cause = cause.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    let Some(StreamableHttpError::UnexpectedServerResponse(what)) = cause else {
        return Err(error);
    };
    let answer = serde_json::to_string(&no_answer(what.clone(), asked));
    answer.map(|answer| Sse::default().data(answer)).map_err(|_| error)
}

/// An answer that says that something went wrong: the error that it tells of, or its status.
async fn read_failure(
    response: Response,
    message: &ClientJsonRpcMessage,
    is_in_session: bool,
    session: Option<String>,
) -> HttpResult<StreamableHttpPostResponse> {
    let (status, failure) = (response.status(), response.error_for_status_ref().map(drop));
    let body = read_body(response).await.unwrap_or_default();
    let told = match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    // A server that does not know how it was greeted may say so without naming the question.
    if let (ClientJsonRpcMessage::Request(request), false, true) =
        (message, is_in_session, status.is_client_error())
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
    {
        let unknown = || ErrorData::invalid_request(format!("HTTP status {status}"), None);
        let error = told.map_or_else(unknown, |told| told.error);
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match (told, failure) {
        (Some(told), _) => {
            Ok(StreamableHttpPostResponse::Json(answer_with_id(told, message), session))
        }
        (None, Err(error)) => Err(StreamableHttpError::Client(error)),
        (None, Ok(())) if status.is_redirection() => Err(no_message(format!(
            "it answers with a redirect (HTTP status {}) to another place, which is not followed; \
             set its `url` to where it leads",
            status.as_u16()
        ))),
        (None, Ok(())) => Err(no_message(format!("HTTP status {}", status.as_u16()))),
    }
}

/// An error as the answer to the question it came for. Without an id nobody would hear of it, and
/// the question would wait until its time is over.
fn answer_with_id(mut error: JsonRpcError, asked: &ClientJsonRpcMessage) -> ServerJsonRpcMessage {
    if let (None, ClientJsonRpcMessage::Request(request)) = (&error.id, asked) {
        error.id = Some(request.id.clone());
    }
    ServerJsonRpcMessage::Error(error)
}

/// The whole body, unless it is longer than a message may be.
async fn read_body(response: Response) -> HttpResult<Vec<u8>> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece?);
        if body.len() > MAX_MESSAGE {
            return Err(too_long());
        }
    }
    Ok(body)
}

/// The bytes of a stream of events, up to one that is longer than a message may be. No piece has
/// more than one event: one that can't be read would take those before it with it.
pub(super) fn bounded_events<B: AsRef<[u8]>>(
    pieces: impl Stream<Item = reqwest::Result<B>>,
) -> impl Stream<Item = HttpResult<Cursor<Vec<u8>>>> {
    let mut bound = EventBound::default();
    let split = pieces.map(move |piece| match piece {
        Ok(piece) => bound.split(piece.as_ref()),
        Err(error) => vec![Err(error.into())],
    });
    split.flat_map(stream::iter)
}

/// How long the event is of which a stream has sent a part, and its last line.
#[derive(Debug, Default)]
struct EventBound {
    event: usize,
    line: usize,
}

impl EventBound {
    /// Splits bytes behind each event that ends in them.
    fn split(&mut self, bytes: &[u8]) -> Vec<HttpResult<Cursor<Vec<u8>>>> {
        let mut pieces = Vec::new();
        let mut start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            self.event += 1;
            match byte {
                b'\n' if self.line == 0 => {
                    self.event = 0;
                    pieces.push(Ok(Cursor::new(bytes[start..=at].to_vec())));
                    start = at + 1;
                }
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
            if self.event > MAX_MESSAGE {
                pieces.push(Err(too_long()));
                return pieces;
            }
        }
        if start < bytes.len() {
            pieces.push(Ok(Cursor::new(bytes[start..].to_vec())));
        }
        pieces
    }
}

fn too_long() -> StreamableHttpError<reqwest::Error> {
    let limit = MAX_MESSAGE / (1024 * 1024);
    no_message(format!("it sent a message of more than {limit} MiB"))
}

fn no_message(what: String) -> StreamableHttpError<reqwest::Error> {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(what))
}

fn unexpected(response: &Response) -> HttpResult<StreamableHttpPostResponse> {
    Err(no_message(format!("HTTP status {}", response.status().as_u16())))
}
