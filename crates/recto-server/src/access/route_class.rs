//! The kinds of paths that access treats differently, and paths that no route should ever see.

use axum::http::StatusCode;
use percent_encoding::percent_decode_str;

use crate::problem::{ApiProblem, ApiResult};

/// What kind of thing stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteClass {
    /// What everybody may have: whether the server lives, the log-in, scripts and styles.
    Public,
    /// Pages for people.
    Page,
    /// Data for our own pages and for programs.
    Data,
    /// Where clients of other vendors come in.
    Door,
}

/// Paths that need no caller.
const PUBLIC: [&str; 5] = ["/healthz", "/readyz", "/login", "/favicon.ico", "/favicon.svg"];

impl RouteClass {
    /// The class of a path. What nobody has named is a page, which needs a caller.
    pub(super) fn of_path(path: &str) -> Self {
        let is_below = |folder: &str| {
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if PUBLIC.contains(&path) || is_below("/assets") {
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
            Err(ApiProblem::new(StatusCode::BAD_REQUEST, "bad_path", "no path looks like this"))
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
            ("/assets/style.css", RouteClass::Public),
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
