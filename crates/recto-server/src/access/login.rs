//! The log-in: a person shows a token in a form, and their browser gets a cookie for it.

use std::time::Instant;

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use recto_context::Remedy;
use serde::Deserialize;

use super::arrival::RequestArrival;
use super::browser_sessions::LOGIN_LIFETIME;
use super::forgery::FormBinding;
use super::identity::{cookie_name, read_cookies};
use super::refusal::AccessRefusal;
use super::secret::random_name;
use super::tokens::TokenRefusal;
use crate::access::FormToken;
use crate::extract::{PageFields, PageQuery};
use crate::gateway::Gateway;
use crate::pages::{render_stranger_page, with_code};
use crate::problem::{ApiProblem, wait_seconds};

/// Where somebody wants to go once they are logged in.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct LoginQuery {
    #[serde(default)]
    to: String,
    /// Why they have to, if they did not come by themselves.
    #[serde(default)]
    reason: Option<LoginReason>,
}

/// Why somebody has to log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LoginReason {
    /// They sent something from a page, and are not logged in any more.
    Ended,
}

impl LoginReason {
    fn words(self) -> &'static str {
        match self {
            LoginReason::Ended => {
                "You are not logged in any more, and what you sent was not taken. A log-in ends \
                 after a day, with its token, and when the server is started anew."
            }
        }
    }
}

/// What the form sends.
#[derive(Deserialize)]
pub(crate) struct LoginForm {
    token: String,
    #[serde(default)]
    to: String,
}

/// What the form says beside its field.
struct LoginWords<'a> {
    /// What is wrong with the token that was shown.
    problem: Option<String>,
    /// How the owner makes tokens.
    command: &'a str,
}

/// Shows the form.
pub(crate) async fn show_form(
    State(gateway): State<Gateway>,
    Extension(arrival): Extension<RequestArrival>,
    PageQuery(query): PageQuery<LoginQuery>,
    token: FormToken,
    headers: HeaderMap,
) -> Response {
    let to = local_path(&query.to);
    let command = gateway.describe_remedy(&Remedy::CreateToken);
    let problem = query.reason.map(|reason| reason.words().to_owned());
    let about = LoginWords { problem, command: &command };
    if token != FormToken::default() {
        return render_form(&token, to, &about).into_response();
    }
    // The form of somebody who has no cookie yet is bound to one that says nothing else.
    match random_name() {
        Ok(visit) => {
            let token = gateway.access().form_key().token(FormBinding::Cookie(&visit));
            let cookie = write_cookie(&arrival, &headers, &visit);
            ([(header::SET_COOKIE, cookie)], render_form(&token, to, &about)).into_response()
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
    PageFields(form): PageFields<LoginForm>,
) -> Response {
    let access = gateway.access();
    let secret = form.token.trim();
    let to = local_path(&form.to);
    let verified = access.verifier().verify(gateway.store(), secret, arrival.stranger_key()).await;
    let shown = match verified {
        Ok(shown) => shown,
        Err(TokenRefusal::Store(error)) => return AccessRefusal::from(error).into_response(),
        Err(TokenRefusal::Wrong) => {
            let problem = "This token is wrong, expired or revoked.".to_owned();
            let page = refusal_page(&gateway, &token, to, problem);
            return (StatusCode::UNAUTHORIZED, page).into_response();
        }
        Err(TokenRefusal::Guessing(wait)) => {
            let seconds = wait_seconds(wait).max(1);
            let problem =
                format!("Too many wrong tokens came from this address. Try again in {seconds} s.");
            let page = refusal_page(&gateway, &token, to, problem);
            let wait = [(header::RETRY_AFTER, HeaderValue::from(seconds))];
            return (StatusCode::TOO_MANY_REQUESTS, wait, page).into_response();
        }
    };
    // A new name for the log-in, whatever the browser had before.
    read_cookies(&headers, &arrival).for_each(|before| access.log_out(before));
    match access.sessions().begin(shown.id, Instant::now()) {
        Ok(name) => {
            let cookie = write_cookie(&arrival, &headers, &name);
            ([(header::SET_COOKIE, cookie)], Redirect::to(to)).into_response()
        }
        Err(error) => no_random_numbers(&error).into_response(),
    }
}

/// The form once more, with why the token that was shown is not good.
fn refusal_page(gateway: &Gateway, token: &FormToken, to: &str, problem: String) -> Markup {
    let command = gateway.describe_remedy(&Remedy::CreateToken);
    render_form(token, to, &LoginWords { problem: Some(problem), command: &command })
}

/// Logs somebody out.
pub(crate) async fn log_out(
    State(gateway): State<Gateway>,
    Extension(arrival): Extension<RequestArrival>,
    headers: HeaderMap,
) -> Response {
    let access = gateway.access();
    read_cookies(&headers, &arrival).for_each(|cookie| access.log_out(cookie));
    let gone = format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0", cookie_name(&arrival));
    // What was being written is in the browser, which others may use.
    let clear = HeaderName::from_static("clear-site-data");
    let changed = [(header::SET_COOKIE, gone), (clear, "\"storage\"".to_owned())];
    (changed, Redirect::to("/login")).into_response()
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

/// The form. What is wrong with a token that was shown stands at its field.
fn render_form(token: &FormToken, to: &str, about: &LoginWords<'_>) -> Markup {
    let problem = about.problem.as_deref();
    let body = html! {
        main.page.login id="main" {
            h1 { "Log in" }
            p.q { "This Recto is somebody's own. A token says who you are to it." }
            form method="post" action="/login" {
                (token.field())
                input type="hidden" name="to" value=(to);
                label for="token" { "Token" }
                input type="password" id="token" name="token" required autofocus
                    autocomplete="current-password" placeholder="recto_…"
                    aria-invalid=[problem.map(|_| "true")]
                    aria-describedby=[problem.map(|_| "token-problem")];
                @if let Some(problem) = problem {
                    p.no-ok id="token-problem" role="alert" { "✗ " (problem) }
                }
                button.btn.first { "Log in" }
            }
            p.q { "No token yet? The owner makes one with " (with_code(about.command)) "." }
            p.q {
                "Followed a link from elsewhere, and logged in already? "
                a href=(to) { "Go on from here" } "."
            }
        }
    };
    render_stranger_page("Log in", &body)
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
        let page = render_form(
            &FormToken::default(),
            "/\"><script>",
            &LoginWords { problem: None, command: "<script>" },
        )
        .into_string();
        assert!(!page.contains("<script>"), "{page}");
    }
}
