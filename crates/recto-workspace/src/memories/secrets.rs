//! Whether a text gives a secret away: a key, a token, a password, a PIN. What is remembered
//! is read by models and stands in plain files, so secrets are refused before they are
//! written.
//!
//! Known forms are told by their prefix, others by the name that stands before them
//! ("the password is …"), and the rest by looking random. A text that only talks about
//! passwords is none. Nothing here is certain: what has no known form, no name and
//! looks like words is let through, and nothing is ever checked with a service.

mod header;
mod known;
mod lasting;
mod named;
mod phrase;
mod random;

#[cfg(test)]
mod tests;

use std::ops::Range;

pub use lasting::is_lasting;

/// A secret, and where in a text it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// What it is, with its article: `a GitHub token`.
    pub what: &'static str,
    /// Its bytes in the text.
    pub range: Range<usize>,
}

/// The first secret of a text, the surest kinds before the others.
pub fn find_secret(text: &str) -> Option<Secret> {
    known::private_key(text)
        .or_else(|| known::prefixed(text))
        .or_else(|| known::in_parts(text))
        .or_else(|| known::in_address(text))
        .or_else(|| header::find(text))
        .or_else(|| named::find(text))
        .or_else(|| phrase::find(text))
        .or_else(|| random::find(text))
}

/// The longest runs of characters that `belongs` accepts, with their places.
fn runs(text: &str, belongs: impl Fn(char) -> bool) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(&belongs)?;
        let rest = &text[start..];
        let run = &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())];
        at = start + run.len();
        Some((start, run))
    })
}
