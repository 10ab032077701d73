//! Requests that another web site made somebody's browser send, and how to tell. Why it is done in
//! this way is said at the top of `access.rs`.

use std::convert::Infallible;
use std::io;

use axum::body::Bytes;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use form_urlencoded::Serializer;
use maud::{Markup, html};
use recto_context::ContentHash;

use super::arrival::{RequestArrival, RequestOrigin, is_from_browser};
use super::identity::{CallerCredential, read_cookie};
use super::secret::{hash_secret, random_name};
use crate::gateway::Gateway;
use crate::problem::{ApiProblem, ApiResult};

/// The field of a form that has the token.
const FIELD: &str = "form_token";

/// The key of this process that the tokens in forms are made with.
pub(super) struct FormKey(String);

/// The token that a page puts into its forms. Empty for those who need none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FormToken(String);

/// What a form's token holds for.
#[derive(Debug, Clone, Copy)]
pub(super) enum FormBinding<'a> {
    /// The browser with this cookie.
    Cookie(&'a str),
    /// Whoever is the owner by place.
    Place,
}

impl std::fmt::Debug for FormKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FormKey(…)")
    }
}

impl FormKey {
    pub(super) fn generate() -> io::Result<Self> {
        random_name().map(FormKey)
    }

    /// The token for the forms of a browser.
    pub(super) fn token(&self, binding: FormBinding<'_>) -> FormToken {
        let (kind, name) = match binding {
            FormBinding::Cookie(cookie) => ("cookie", cookie),
            FormBinding::Place => ("place", ""),
        };
        let keyed = format!("{}\n{kind}\n{name}", self.0);
        FormToken(ContentHash::of_bytes(keyed.as_bytes()).to_string())
    }
}

impl FormToken {
    /// The field with the token, for a form.
    pub(crate) fn field(&self) -> Markup {
        html! { input type="hidden" name=(FIELD) value=(self.0); }
    }

    /// Whether a form has sent this token. Hashes are compared, so that the time that it takes
    /// tells nothing.
    fn was_sent_as(&self, sent: &str) -> bool {
        !self.0.is_empty() && hash_secret(&self.0) == hash_secret(sent)
    }
}

impl FromRequestParts<Gateway> for FormToken {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Gateway) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<FormToken>().cloned().unwrap_or_default())
    }
}

/// What a browser's forms have to be bound to.
pub(super) fn form_binding<'a>(
    headers: &'a HeaderMap,
    arrival: &RequestArrival,
    is_owner_place: bool,
) -> Option<FormBinding<'a>> {
    let cookie = read_cookie(headers, arrival).map(FormBinding::Cookie);
    cookie.or(is_owner_place.then_some(FormBinding::Place))
}

/// Passes a request that its sender meant to send, with the body that its handler sees: of a form,
/// all but its token.
pub(super) fn check_forgery(
    parts: &Parts,
    arrival: &RequestArrival,
    credential: CallerCredential,
    expected: &FormToken,
    body: Bytes,
) -> ApiResult<Bytes> {
    let is_safe = matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
    let is_program = credential == CallerCredential::Place && !is_from_browser(&parts.headers);
    if is_safe || credential == CallerCredential::Token || is_program {
        return Ok(body);
    }
    match body_kind(&parts.headers, &body) {
        BodyKind::Form => {
            let (token, rest) = take_token(&body);
            match token.is_some_and(|sent| expected.was_sent_as(&sent)) {
                true => Ok(rest),
                false => Err(forged("the form is not one that this server has made for you")
                    .hint("load the page again, and send it from there")),
            }
        }
        BodyKind::Json | BodyKind::Nothing if arrival.origin == RequestOrigin::Own => Ok(body),
        BodyKind::Json | BodyKind::Nothing => {
            Err(forged("the request does not say that a page of this server sent it")
                .hint("send `Origin` with the server's own address, or a token"))
        }
        BodyKind::Other => Err(forged("a page of this server sends JSON or a form of its own")
            .hint("send `content-type: application/json`")),
    }
}

enum BodyKind {
    Nothing,
    Json,
    Form,
    Other,
}

fn body_kind(headers: &HeaderMap, body: &Bytes) -> BodyKind {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else {
        return if body.is_empty() { BodyKind::Nothing } else { BodyKind::Other };
    };
    let kind = kind.to_str().unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/json" => BodyKind::Json,
        "application/x-www-form-urlencoded" => BodyKind::Form,
        _ => BodyKind::Other,
    }
}

/// Takes the token out of a form.
fn take_token(form: &Bytes) -> (Option<String>, Bytes) {
    let mut token = None;
    let mut rest = Serializer::new(String::new());
    for (name, value) in form_urlencoded::parse(form) {
        match name == FIELD {
            true => token = Some(value.into_owned()),
            false => drop(rest.append_pair(&name, &value)),
        }
    }
    (token, Bytes::from(rest.finish()))
}

fn forged(what: &str) -> ApiProblem {
    ApiProblem::new(StatusCode::FORBIDDEN, "forged_request", what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forms_token_holds_for_one_browser_and_one_server() {
        let (key, other) = (FormKey::generate().unwrap(), FormKey::generate().unwrap());
        let token = key.token(FormBinding::Cookie("a"));
        assert!(token.was_sent_as(&token.0));
        for wrong in [
            key.token(FormBinding::Cookie("b")),
            key.token(FormBinding::Place),
            other.token(FormBinding::Cookie("a")),
            FormToken::default(),
        ] {
            assert!(!token.was_sent_as(&wrong.0));
        }
        assert!(!FormToken::default().was_sent_as(""));
        let field = token.field().into_string();
        assert!(field.contains(&token.0) && field.contains("name=\"form_token\""), "{field}");
    }

    #[test]
    fn the_token_is_taken_out_of_the_form_and_the_rest_stays() {
        let form = Bytes::from_static(b"text=a%20%26+b&form_token=xyz&empty=");
        let (token, rest) = take_token(&form);
        assert_eq!(token.as_deref(), Some("xyz"));
        assert_eq!(rest, "text=a+%26+b&empty=");
    }
}
