//! Whether a text gives a secret away: a key, a token, a password, a PIN. What is remembered
//! is read by models and stands in plain files, so secrets are refused before they are
//! written.
//!
//! What secrets look like stands in one table, `patterns.rs`: known forms, forms that a name
//! announces ("the password is …"), and at last whatever looks random. `shape.rs` tells a
//! made-up value from words. A text that only talks about passwords is none. Nothing here is
//! certain: what has no known form, no name and looks like words is let through, and nothing
//! is ever checked with a service.

mod patterns;
mod phrase;
mod shape;

#[cfg(test)]
mod tests;

use std::ops::Range;

use regex::{Captures, Regex, RegexBuilder};

use patterns::PATTERNS;

/// A secret, and where in a text it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretMatch {
    /// What it is, with its article: `a GitHub token`.
    pub what: &'static str,
    /// Its bytes in the text.
    pub range: Range<usize>,
}

/// The first secret of a text, the surest kinds before the others.
pub fn find_secret(text: &str) -> Option<SecretMatch> {
    PATTERNS.iter().find_map(|kind| {
        let found = kind.iter().filter_map(|pattern| pattern.find(text));
        found.min_by_key(|secret| secret.range.start)
    })
}

/// How one kind of secret looks.
struct Pattern {
    what: &'static str,
    regex: Regex,
    judge: Judge,
}

/// Says which part of a match is the secret, if the match is one at all.
type Judge = fn(&str, &Captures<'_>) -> Option<Range<usize>>;

impl Pattern {
    /// The expression is about ASCII and about capitals as they stand, where it does not say
    /// otherwise.
    fn new(what: &'static str, regex: &str, judge: Judge) -> Self {
        let regex = RegexBuilder::new(regex).unicode(false).build();
        Pattern { what, regex: regex.expect("the table has sound expressions"), judge }
    }

    /// The first match that is a secret.
    fn find(&self, text: &str) -> Option<SecretMatch> {
        let mut from = 0;
        loop {
            let captures = self.regex.captures_at(text, from)?;
            if let Some(range) = (self.judge)(text, &captures) {
                return Some(SecretMatch { what: self.what, range });
            }
            // What stands behind a name may be another name.
            from = captures.name("name").unwrap_or(captures.get_match()).end();
        }
    }
}
