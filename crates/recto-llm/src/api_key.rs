//! Credentials, wrapped so that printing one is not possible by accident.

use std::fmt;
use std::sync::Arc;

/// What stands where a credential would have stood.
const REDACTED: &str = "[secret]";

/// The key to a model server. It leaves this crate in a request's headers and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Arc<str>);

impl ApiKey {
    /// Wraps `value`. The line end that comes with a key from a file or a
    /// variable is no part of it.
    pub fn new(value: &str) -> Self {
        ApiKey(Arc::from(value.trim()))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// `text` without this key in it.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&*self.0, REDACTED) }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let key = ApiKey::new("sk-123\n");
        assert_eq!(format!("{key:?}"), "[secret]");
        assert_eq!(key.redact("key sk-123, sk-12"), "key [secret], sk-12");
        assert_eq!(ApiKey::new(" ").redact("as it is"), "as it is");
    }
}
