//! Requests that another web site made somebody's browser send, and how to tell. Why it is done in
//! this way is said at the top of `access.rs`.

use std::convert::Infallible;
use std::path::Path;
use std::{fs, io};

use axum::body::Bytes;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use form_urlencoded::Serializer;
use maud::{Markup, html};
use recto_context::ContentHash;
use recto_fs::{Access, create_private_folder, write_whole};
use recto_store::TokenId;

use super::arrival::{RequestArrival, RequestOrigin, is_from_browser};
use super::identity::{CallerCredential, CallerIdentity, read_cookies};
use super::secret::{hash_secret, is_random_name, random_name};
use crate::gateway::Gateway;
use crate::problem::{ApiProblem, ApiResult};

/// The field of a form that has the token.
const FIELD: &str = "form_token";

/// The key that the tokens in forms are made with. It is kept, so that a page which is open goes on
/// to work when the server is started anew.
pub struct FormKey(String);

/// The token that a page puts into its forms. Empty for those who need none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FormToken(String);

/// What a form's token holds for.
#[derive(Debug, Clone, Copy)]
pub(super) enum FormBinding<'a> {
    /// Whoever is logged in with this token, in whichever browser.
    Holder(TokenId),
    /// The browser with this cookie, of whom nothing else is known.
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
    /// A new key, from the system's random numbers.
    pub fn generate() -> io::Result<Self> {
        random_name().map(FormKey)
    }

    /// The key in a file, which is made for its owner alone where there is none. What is no key is
    /// replaced by one: then pages that are open have to be loaded again.
    pub fn load_or_create(path: &Path) -> io::Result<Self> {
        match fs::read_to_string(path) {
            Ok(key) if is_random_name(key.trim()) => return Ok(FormKey(key.trim().to_owned())),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
            Err(error) => return Err(error),
        }
        let key = FormKey::generate()?;
        if let Some(folder) = path.parent() {
            create_private_folder(folder)?;
        }
        write_whole(path, format!("{}\n", key.0).as_bytes(), Access::Owner)?;
        Ok(key)
    }

    /// The token for the forms of a browser.
    pub(super) fn token(&self, binding: FormBinding<'_>) -> FormToken {
        let (kind, name) = match binding {
            FormBinding::Holder(token) => ("holder", token.to_string()),
            FormBinding::Cookie(cookie) => ("cookie", cookie.to_owned()),
            FormBinding::Place => ("place", String::new()),
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

/// What a browser's forms have to be bound to: whoever its page is made for, or, before a log-in,
/// the browser itself.
pub(super) fn form_binding<'a>(
    headers: &'a HeaderMap,
    arrival: &RequestArrival,
    identity: Option<&CallerIdentity>,
) -> Option<FormBinding<'a>> {
    match identity {
        Some(CallerIdentity { lease: Some(lease), .. }) => Some(FormBinding::Holder(lease.token)),
        Some(_) => Some(FormBinding::Place),
        None => read_cookies(headers, arrival).next().map(FormBinding::Cookie),
    }
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
    fn a_forms_token_holds_for_one_person_and_one_server() {
        let (key, other) = (FormKey::generate().unwrap(), FormKey::generate().unwrap());
        let token = key.token(FormBinding::Cookie("a"));
        assert!(token.was_sent_as(&token.0));
        for wrong in [
            key.token(FormBinding::Cookie("b")),
            key.token(FormBinding::Place),
            key.token(FormBinding::Holder("7".parse().unwrap())),
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
    fn the_key_is_kept_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data/form.key");
        let first = FormKey::load_or_create(&path).unwrap();
        assert_eq!(FormKey::load_or_create(&path).unwrap().0, first.0);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        for broken in [b"".as_slice(), b"short", b"\xff\xfe"] {
            fs::write(&path, broken).unwrap();
            let key = FormKey::load_or_create(&path).unwrap();
            assert!(is_random_name(&key.0) && key.0 != first.0);
        }
    }

    #[test]
    fn the_token_is_taken_out_of_the_form_and_the_rest_stays() {
        let form = Bytes::from_static(b"text=a%20%26+b&form_token=xyz&empty=");
        let (token, rest) = take_token(&form);
        assert_eq!(token.as_deref(), Some("xyz"));
        assert_eq!(rest, "text=a+%26+b&empty=");
    }
}
