//! The kinds of paths that access treats differently, and paths that no route should ever see.

use axum::http::{Method, StatusCode};
use percent_encoding::percent_decode_str;

use crate::problem::{ApiProblem, ApiResult};

/// What kind of thing stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteClass {
    /// What everybody may look at, and as often as they like: whether the server lives, scripts
    /// and styles. Nothing is taken from those who do.
    Open,
    /// What everybody may have within limits: the log-in.
    Public,
    /// Pages for people.
    Page,
    /// Data for our own pages and for programs.
    Data,
    /// Where clients of other vendors come in.
    Door,
}

/// Where the text of a reply that comes is made into a page's.
const DRAWN: &str = "/drawn";

/// Paths that take nothing from anybody.
const OPEN: [&str; 4] = ["/healthz", "/readyz", "/favicon.ico", "/favicon.svg"];

impl RouteClass {
    /// The class of a path. What nobody has named is a page, which needs a caller.
    pub(super) fn of_path(path: &str) -> Self {
        let is_below = |folder: &str| {
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if OPEN.contains(&path) || is_below("/assets") {
            RouteClass::Open
        } else if path == "/login" {
            RouteClass::Public
        } else if is_below("/v1") || is_below("/ollama") {
            RouteClass::Door
        } else if is_below("/api") || is_below("/metrics") {
            RouteClass::Data
        } else {
            RouteClass::Page
        }
    }
}

/// Whether a request could begin something new, which a server that ends has no time for. What runs
/// can still be seen as it comes, be answered and stopped, and people can log out.
pub(super) fn begins_work(method: &Method, path: &str) -> bool {
    let looks = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    let is_answer = ["/approvals/", "/api/approvals/"].iter().any(|it| path.starts_with(it));
    let is_end = path.ends_with("/stop") || matches!(path, "/login" | "/logout");
    !looks && !is_answer && !is_end && path != DRAWN
}

/// Refuses a path that tries to climb, plainly or encoded, and one with control characters.
/// Browsers and other clients never send one.
pub(super) fn check_path(path: &str) -> ApiResult<()> {
    let decoded = percent_decode_str(path).decode_utf8();
    let is_bad = decoded.is_err()
        || decoded.is_ok_and(|decoded| {
            let mut segments = decoded.split(['/', '\\']);
            segments.any(|segment| matches!(segment, "." | ".."))
                || decoded.chars().any(char::is_control)
        });
    match is_bad {
        true => {
            Err(ApiProblem::new(StatusCode::BAD_REQUEST, "bad_path", "no path looks like this")
                .hint("leave out `.` and `..` as parts of it, and control characters"))
        }
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_their_class_and_the_unknown_needs_a_caller() {
        for (path, class) in [
            ("/", RouteClass::Page),
            ("/sessions/4", RouteClass::Page),
            ("/assets/style.css", RouteClass::Open),
            ("/healthz", RouteClass::Open),
            ("/assetsx", RouteClass::Page),
            ("/login", RouteClass::Public),
            ("/login/", RouteClass::Page),
            ("/api", RouteClass::Data),
            ("/api/sessions", RouteClass::Data),
            ("/metrics", RouteClass::Data),
            ("/v1/models", RouteClass::Door),
            ("/v1beta", RouteClass::Page),
            ("/ollama/api/chat", RouteClass::Door),
        ] {
            assert_eq!(RouteClass::of_path(path), class, "{path}");
        }
    }

    #[test]
    fn what_runs_can_be_answered_and_stopped_to_the_last() {
        for path in ["/v1/chat/completions", "/api/sessions", "/sessions/4/messages"] {
            assert!(begins_work(&Method::POST, path), "{path}");
            assert!(!begins_work(&Method::GET, path), "{path}");
        }
        for path in
            ["/approvals/3", "/api/approvals/3", "/api/sessions/4/stop", "/logout", "/drawn"]
        {
            assert!(!begins_work(&Method::POST, path), "{path}");
        }
    }

    #[test]
    fn no_path_climbs() {
        for path in
            ["/api/../x", "/api/%2e%2E/x", "/a/..%2fb", "/a/..%5cb", "/a/.", "/a%00b", "/%ff"]
        {
            assert!(check_path(path).is_err(), "{path}");
        }
        for path in ["/", "/api/items/tool:files.read", "/a..b/...", "/s/%C3%A4%20b", "/x%2Fy"] {
            assert!(check_path(path).is_ok(), "{path}");
        }
    }
}
