//! The log-in: a person shows a token in a form, and their browser gets a cookie for it.

use std::time::Instant;

use axum::extract::{Extension, Form, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{DOCTYPE, Markup, html};
use serde::Deserialize;

use super::arrival::RequestArrival;
use super::browser_sessions::LOGIN_LIFETIME;
use super::forgery::FormBinding;
use super::identity::{cookie_name, read_cookie, refuse_token};
use super::refusal::AccessRefusal;
use super::secret::random_name;
use super::tokens::TokenRefusal;
use crate::access::FormToken;
use crate::gateway::Gateway;
use crate::problem::ApiProblem;

/// Where somebody wants to go once they are logged in.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct LoginQuery {
    #[serde(default)]
    to: String,
}

/// What the form sends.
#[derive(Deserialize)]
pub(crate) struct LoginForm {
    token: String,
    #[serde(default)]
    to: String,
}

/// Shows the form.
pub(crate) async fn show_form(
    State(gateway): State<Gateway>,
    Extension(arrival): Extension<RequestArrival>,
    Query(query): Query<LoginQuery>,
    token: FormToken,
    headers: HeaderMap,
) -> Response {
    let to = local_path(&query.to);
    if token != FormToken::default() {
        return render_form(&token, to, None).into_response();
    }
    // The form of somebody who has no cookie yet is bound to one that says nothing else.
    match random_name() {
        Ok(visit) => {
            let token = gateway.access().form_key().token(FormBinding::Cookie(&visit));
            let cookie = write_cookie(&arrival, &headers, &visit);
            ([(header::SET_COOKIE, cookie)], render_form(&token, to, None)).into_response()
        }
        Err(error) => no_random_numbers(&error).into_response(),
    }
}

/// Logs somebody in who shows a good token.
pub(crate) async fn log_in(
    State(gateway): State<Gateway>,
    Extension(arrival): Extension<RequestArrival>,
    token: FormToken,
    headers: HeaderMap,
    Form(form): Form<LoginForm>,
) -> Response {
    let access = gateway.access();
    let secret = form.token.trim();
    let to = local_path(&form.to);
    let verified = access.verifier().verify(gateway.store(), secret, arrival.peer()).await;
    let shown = match verified {
        Ok(shown) => shown,
        Err(TokenRefusal::Wrong) => {
            let page = render_form(&token, to, Some("This token is wrong, expired or revoked."));
            return (StatusCode::UNAUTHORIZED, page).into_response();
        }
        Err(refusal) => return refuse_token(&gateway, refusal).into_response(),
    };
    // A new name for the log-in, whatever the browser had before.
    if let Some(before) = read_cookie(&headers, &arrival) {
        access.sessions().end(before);
    }
    match access.sessions().begin(shown.id, Instant::now()) {
        Ok(name) => {
            let cookie = write_cookie(&arrival, &headers, &name);
            ([(header::SET_COOKIE, cookie)], Redirect::to(to)).into_response()
        }
        Err(error) => no_random_numbers(&error).into_response(),
    }
}

/// Logs somebody out.
pub(crate) async fn log_out(
    State(gateway): State<Gateway>,
    Extension(arrival): Extension<RequestArrival>,
    headers: HeaderMap,
) -> Response {
    if let Some(cookie) = read_cookie(&headers, &arrival) {
        gateway.access().sessions().end(cookie);
    }
    let gone = format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0", cookie_name(&arrival));
    ([(header::SET_COOKIE, gone)], Redirect::to("/login")).into_response()
}

/// The path that somebody wants to go to, if it is one of this server.
fn local_path(to: &str) -> &str {
    let is_local = to.starts_with('/')
        && !to.starts_with("//")
        && !to.contains('\\')
        && !to.chars().any(char::is_control);
    if is_local { to } else { "/" }
}

/// The cookie with this value. Scripts don't see it, and no other site makes a browser send it.
fn write_cookie(arrival: &RequestArrival, headers: &HeaderMap, value: &str) -> HeaderValue {
    let name = cookie_name(arrival);
    let age = LOGIN_LIFETIME.as_secs();
    let secure = if arrival.is_encrypted(headers) { "; Secure" } else { "" };
    let cookie =
        format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}{secure}");
    HeaderValue::from_str(&cookie).unwrap_or(HeaderValue::from_static(""))
}

fn no_random_numbers(error: &std::io::Error) -> AccessRefusal {
    let what = format!("the system gives no random numbers: {error}");
    ApiProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "no_random_numbers", what).into()
}

fn render_form(token: &FormToken, to: &str, problem: Option<&str>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "Log in · Recto" }
            }
            body {
                main {
                    h1 { "Recto" }
                    @if let Some(problem) = problem {
                        p role="alert" { (problem) }
                    }
                    form method="post" action="/login" {
                        (token.field())
                        input type="hidden" name="to" value=(to);
                        p {
                            label for="token" { "Token" }
                            " "
                            input type="password" id="token" name="token" required
                                autocomplete="current-password" autofocus;
                        }
                        p { button { "Log in" } }
                    }
                    p {
                        "The owner of this Recto makes tokens. If you followed a link and are logged \
                         in already, "
                        a href=(to) { "go on from here" }
                        "."
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_in_leads_nowhere_else() {
        for to in ["/", "/sessions/4?x=1#y"] {
            assert_eq!(local_path(to), to);
        }
        for to in ["", "//evil.example", "/\\evil.example", "https://evil.example", "/a\nb"] {
            assert_eq!(local_path(to), "/", "{to}");
        }
    }

    #[test]
    fn what_is_in_the_address_is_text_in_the_form() {
        let page = render_form(&FormToken::default(), "/\"><script>", None).into_string();
        assert!(!page.contains("<script>"), "{page}");
    }
}
