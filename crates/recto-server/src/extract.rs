//! What handlers take of a request. Whatever can't be read is a problem in the one form that all
//! have: what was wrong, and where.

use std::fmt::Display;
use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::rejection::{FormRejection, JsonRejection, QueryRejection};
use axum::extract::{
    Form, FromRequest, FromRequestParts, Json, Path, Query, RawPathParams, Request,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use recto_fs::blocking;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::gateway::Gateway;
use crate::pages::PageProblem;
use crate::problem::ApiProblem;

/// Bodies with more bytes than this are read on a thread that keeps nobody else waiting.
const LARGE_BODY: usize = 128 << 10;

/// The body of a request, as JSON.
#[derive(Debug, Clone)]
pub(crate) struct ApiJson<T>(pub(crate) T);

/// The query of a request.
#[derive(Debug, Clone)]
pub(crate) struct ApiQuery<T>(pub(crate) T);

/// The number or name in a path that says what a request is about: its first parameter.
#[derive(Debug, Clone)]
pub(crate) struct PathId<T>(pub(crate) T);

/// The name at the end of a path: its last parameter.
#[derive(Debug, Clone)]
pub(crate) struct PathName(pub(crate) String);

/// What the path of a page says.
#[derive(Debug, Clone)]
pub(crate) struct PagePath<T>(pub(crate) T);

/// The query of a page.
#[derive(Debug, Clone)]
pub(crate) struct PageQuery<T>(pub(crate) T);

/// The fields of a form on a page.
#[derive(Debug, Clone)]
pub(crate) struct PageFields<T>(pub(crate) T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<Gateway> for ApiJson<T> {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, gateway: &Gateway) -> Result<Self, ApiProblem> {
        if !has_json(request.headers()) {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(ApiProblem::new(status, "content_type", "the body must be JSON")
                .hint("send it with `content-type: application/json`"));
        }
        let body = Bytes::from_request(request, gateway).await.map_err(|rejection| {
            let title = "the body can't be read";
            ApiProblem::new(rejection.status(), "bad_body", title).detail(rejection.body_text())
        })?;
        // Of an array, serde would take the fields in their order.
        if !body.trim_ascii_start().starts_with(b"{") {
            let title = "the body is no JSON object";
            return Err(ApiProblem::new(StatusCode::BAD_REQUEST, "bad_json", title));
        }
        let parse = |body: &[u8]| match Json::<T>::from_bytes(body) {
            Ok(Json(body)) => Ok(ApiJson(body)),
            Err(rejection) => Err(refuse_body(&rejection, body)),
        };
        parse_body(body, parse).await
    }
}

/// Parses a body, a large one on a thread that keeps nobody else waiting.
pub(crate) async fn parse_body<T: Send + 'static>(
    body: Bytes,
    parse: impl FnOnce(&[u8]) -> T + Send + 'static,
) -> T {
    if body.len() > LARGE_BODY { blocking(move || parse(&body)).await } else { parse(&body) }
}

/// Whether a body is said to be JSON.
fn has_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = given.and_then(|given| given.split(';').next()).unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}

/// The problem of a body that is not what is expected.
fn refuse_body(rejection: &JsonRejection, body: &[u8]) -> ApiProblem {
    // Null where a word should be counts as an error of its form, too.
    let (code, title) = match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) => ("bad_field", "the body is not what is expected here"),
        Err(_) => ("bad_json", "the body is no JSON"),
    };
    let text = rejection.body_text();
    ApiProblem::new(StatusCode::BAD_REQUEST, code, title).detail(reason(&text))
}

/// What serde says, without what axum puts in front of it: with the place in a body, where there is
/// one.
pub(crate) fn reason(text: &str) -> String {
    in_words(text.split_once(": ").map_or(text, |(_, reason)| reason))
}

/// What serde says of a value, without the names of Rust's types.
fn in_words(reason: &str) -> String {
    const TYPES: [(&str, &str); 11] = [
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number, not below 0"),
        ("expected usize", "expected a whole number, not below 0"),
        ("expected i32", "expected a whole number"),
        ("expected i64", "expected a whole number"),
        ("expected f32", "expected a number"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected an object"),
    ];
    if let Some((before, named)) = reason.split_once("expected struct ") {
        let behind = named.split_once(' ').map_or("", |(_, behind)| behind);
        return format!("{before}expected an object {behind}").trim_end().to_owned();
    }
    let named = TYPES.iter().find(|(name, _)| reason.contains(name));
    named.map_or_else(|| reason.to_owned(), |(name, words)| reason.replacen(name, words, 1))
}

impl<T: DeserializeOwned> FromRequestParts<Gateway> for ApiQuery<T> {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, ApiProblem> {
        match Query::<T>::from_request_parts(parts, gateway).await {
            Ok(Query(query)) => Ok(ApiQuery(query)),
            Err(rejection) => Err(refuse_query(&rejection)),
        }
    }
}

fn refuse_query(rejection: &QueryRejection) -> ApiProblem {
    let title = "the query is not what is expected here";
    let text = rejection.body_text();
    ApiProblem::new(StatusCode::BAD_REQUEST, "bad_query", title).detail(reason(&text))
}

impl<T> FromRequestParts<Gateway> for PathId<T>
where
    T: FromStr<Err: Display>,
{
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, ApiProblem> {
        let params = read_params(parts, gateway).await?;
        let (name, text) = params.iter().next().unwrap_or_default();
        let refuse = |error: T::Err| {
            let title = format!("`{text}` names no {name}");
            ApiProblem::new(StatusCode::BAD_REQUEST, "bad_id", title).detail(error.to_string())
        };
        text.parse().map(PathId).map_err(refuse)
    }
}

impl FromRequestParts<Gateway> for PathName {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, ApiProblem> {
        let params = read_params(parts, gateway).await?;
        let (_, text) = params.iter().last().unwrap_or_default();
        Ok(PathName(text.to_owned()))
    }
}

async fn read_params(parts: &mut Parts, gateway: &Gateway) -> Result<RawPathParams, ApiProblem> {
    RawPathParams::from_request_parts(parts, gateway).await.map_err(|rejection| {
        let title = "the path can't be read";
        ApiProblem::new(StatusCode::BAD_REQUEST, "bad_path", title)
            .detail(rejection.body_text())
            .hint("percent-encode names as UTF-8")
    })
}

impl<T: DeserializeOwned + Send> FromRequestParts<Gateway> for PagePath<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Response> {
        match Path::<T>::from_request_parts(parts, gateway).await {
            Ok(Path(path)) => Ok(PagePath(path)),
            Err(_) => Err(refuse_page(&parts.headers, no_such_page(&parts.uri))),
        }
    }
}

impl<T: DeserializeOwned> FromRequestParts<Gateway> for PageQuery<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Response> {
        match Query::<T>::from_request_parts(parts, gateway).await {
            Ok(Query(query)) => Ok(PageQuery(query)),
            Err(rejection) => Err(refuse_page(&parts.headers, refuse_query(&rejection))),
        }
    }
}

impl<T: DeserializeOwned> FromRequest<Gateway> for PageFields<T> {
    type Rejection = Response;

    async fn from_request(request: Request, gateway: &Gateway) -> Result<Self, Response> {
        let headers = request.headers().clone();
        match Form::<T>::from_request(request, gateway).await {
            Ok(Form(form)) => Ok(PageFields(form)),
            Err(rejection) => Err(refuse_page(&headers, refuse_form(&rejection))),
        }
    }
}

/// The problem of a form whose fields are not what is expected.
fn refuse_form(rejection: &FormRejection) -> ApiProblem {
    let (status, code) = match rejection {
        FormRejection::InvalidFormContentType(_) => {
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "content_type")
        }
        _ => (StatusCode::BAD_REQUEST, "bad_form"),
    };
    let text = rejection.body_text();
    ApiProblem::new(status, code, "the form is not what is expected here")
        .detail(reason(&text))
        .hint("load the page again, and send it from there")
}

/// The problem of a path that no page has.
pub(crate) fn no_such_page(uri: &Uri) -> ApiProblem {
    let title = format!("there is nothing at `{}`", uri.path());
    ApiProblem::new(StatusCode::NOT_FOUND, "no_such_path", title)
}

/// A problem as a page for people, and as data for scripts and programs.
pub(crate) fn refuse_page(headers: &HeaderMap, problem: ApiProblem) -> Response {
    ProblemForm::of_page(headers).write(problem)
}

/// The form in which a problem is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProblemForm {
    /// A page for people.
    Page,
    /// Data for scripts and programs.
    Data,
}

impl ProblemForm {
    /// The form that whoever asks for a page takes: a browser itself, or a script in it.
    pub(crate) fn of_page(headers: &HeaderMap) -> Self {
        let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
        let wants_page = accepted.is_some_and(|accepted| accepted.contains("text/html"));
        match wants_page && !headers.contains_key("x-recto-live") {
            true => ProblemForm::Page,
            false => ProblemForm::Data,
        }
    }

    /// A problem in this form.
    pub(crate) fn write(self, problem: ApiProblem) -> Response {
        match self {
            ProblemForm::Page => PageProblem(problem).into_response(),
            ProblemForm::Data => problem.into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_value_is_told_without_the_names_of_types() {
        let told = reason("n: invalid value: integer `-1`, expected u32 at line 1 column 76");
        let words = "invalid value: integer `-1`, expected a whole number from 0 to 4294967295";
        assert_eq!(told, format!("{words} at line 1 column 76"));
        let told = reason("n: invalid type: integer `1`, expected struct ChatBody at line 1");
        assert_eq!(told, "invalid type: integer `1`, expected an object at line 1");
        assert_eq!(reason("x: missing field `model`"), "missing field `model`");
    }
}
