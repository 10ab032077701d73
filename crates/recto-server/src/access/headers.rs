//! The headers that every answer has: what a browser may do with it, and what not.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use super::arrival::is_trustworthy;

/// Everything comes from this server, no script or style stands in a page itself, and no other site
/// may put a page of ours into one of theirs.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; \
    base-uri 'none'";

const COMMON: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// Whether a page is to be kept apart from the one that opened it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenerPolicy {
    SameOrigin,
    /// Browsers heed no such word where somebody on the way could have changed it, and complain of it.
    Unsaid,
}

impl OpenerPolicy {
    /// The policy for the answer to a request.
    pub(super) fn of_request(request: &Request) -> Self {
        match is_trustworthy(request) {
            true => OpenerPolicy::SameOrigin,
            false => OpenerPolicy::Unsaid,
        }
    }
}

/// Puts the headers on an answer. How long it may be kept a handler may say by itself, as that of a
/// script does; what nobody says so of is kept nowhere.
pub(super) fn set_security_headers(headers: &mut HeaderMap, opener: OpenerPolicy) {
    for (name, value) in COMMON {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if opener == OpenerPolicy::SameOrigin {
        headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
