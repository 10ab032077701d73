//! The headers that every answer has: what a browser may do with it, and what not.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// Everything comes from this server, no script or style stands in a page itself, and no other site
/// may put a page of ours into one of theirs.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; \
    base-uri 'none'";

const COMMON: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Puts the headers on an answer. How long it may be kept a handler may say by itself, as that of a
/// script does; what nobody says so of is kept nowhere.
pub(super) fn set_security_headers(headers: &mut HeaderMap) {
    for (name, value) in COMMON {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
