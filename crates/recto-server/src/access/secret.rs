//! Random names that open something: tokens, and the cookies of those who logged in.
//!
//! Both are 256 random bits, and only their hashes are kept. A slow hash, as passwords need, would
//! add nothing: it makes guessing likely words expensive, and here there are none.

use std::{fmt, io};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use recto_context::ContentHash;

/// What every token begins with, so that people and scanners for secrets know one when they
/// see it.
pub(super) const TOKEN_PREFIX: &str = "recto_";

/// The bytes of a random name.
const RANDOM_BYTES: usize = 32;

/// A token as its holder has it. It is shown once, when it is made.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(String);

impl TokenSecret {
    /// A new token, from the system's random numbers.
    pub fn generate() -> io::Result<Self> {
        Ok(TokenSecret(format!("{TOKEN_PREFIX}{}", random_name()?)))
    }

    /// The token itself, for its holder.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The hash that is kept of it.
    pub fn hash(&self) -> ContentHash {
        hash_secret(&self.0)
    }
}

/// Shows nothing of the token.
impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSecret(…)")
    }
}

/// 256 random bits as text that can stand in a header, an address or a cookie.
pub(super) fn random_name() -> io::Result<String> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Whether a text is one that [`random_name`] could have made.
pub(super) fn is_random_name(text: &str) -> bool {
    URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == RANDOM_BYTES)
}

/// Whether a text has the form of a token.
pub(super) fn is_token_form(text: &str) -> bool {
    text.strip_prefix(TOKEN_PREFIX).is_some_and(is_random_name)
}

/// The hash that is kept of a secret.
pub(super) fn hash_secret(secret: &str) -> ContentHash {
    ContentHash::of_bytes(secret.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Promise: `tokens-stay-secret`
    #[test]
    fn a_token_is_long_random_and_never_shown_by_accident() {
        let (one, other) = (TokenSecret::generate().unwrap(), TokenSecret::generate().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.reveal().len(), TOKEN_PREFIX.len() + 43);
        assert_eq!(format!("{one:?}"), "TokenSecret(…)");
        assert_eq!(one.hash(), hash_secret(one.reveal()));
        assert!(is_token_form(one.reveal()) && !is_token_form(&one.reveal()[1..]));
        assert!(!is_token_form("recto_guess") && !is_token_form(&format!("{}=", one.reveal())));
    }
}
