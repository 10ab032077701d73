//! Credentials, wrapped so that printing one is not possible by accident.

use std::fmt;
use std::sync::Arc;

/// Shorter keys are made up for servers that need none, and are words of many replies.
const SHORTEST_TELLING: usize = 12;

/// What stands where a credential would have stood.
pub(crate) const REDACTED: &str = "[secret]";

/// The key to a model server. It leaves this crate in a request's headers and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Empty where there is none.
    value: Arc<str>,
    /// The environment variable that has it, or should have.
    variable: Option<Arc<str>>,
}

/// What is known of the key when a server wants one, or another one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ApiKeyState {
    /// Nothing says where a key could be.
    #[default]
    Unnamed,
    /// The environment variable of this name is to have it, and is not set.
    NotSet(Arc<str>),
    /// It was sent and refused; it came from this environment variable, if from one.
    Refused(Option<Arc<str>>),
}

impl ApiKey {
    /// Wraps `value`. The line end that comes with a key from a file or a
    /// variable is no part of it.
    pub fn new(value: &str) -> Self {
        ApiKey { value: Arc::from(value.trim()), variable: None }
    }

    /// The key in an environment variable; `value` is what that holds, if it is set.
    pub fn from_variable(name: &str, value: Option<&str>) -> Self {
        ApiKey { variable: Some(name.into()), ..ApiKey::new(value.unwrap_or_default()) }
    }

    /// The key itself, if there is one.
    pub(crate) fn expose(&self) -> Option<&str> {
        (!self.value.is_empty()).then_some(&*self.value)
    }

    /// Whether it is long enough that, where it stands in a reply, it is the key.
    pub(crate) fn is_telling(&self) -> bool {
        self.value.chars().count() >= SHORTEST_TELLING
    }

    /// What can be said of it once a server has refused a request.
    pub(crate) fn state(&self) -> ApiKeyState {
        match (&self.variable, self.expose()) {
            (variable, Some(_)) => ApiKeyState::Refused(variable.clone()),
            (Some(variable), None) => ApiKeyState::NotSet(variable.clone()),
            (None, None) => ApiKeyState::Unnamed,
        }
    }

    /// `text` without this key in it.
    pub(crate) fn redact(&self, text: &str) -> String {
        match self.expose() {
            Some(key) => text.replace(key, REDACTED),
            None => text.to_owned(),
        }
    }
}

impl ApiKeyState {
    /// What happened, in words.
    pub(crate) fn describe(&self) -> String {
        match self {
            ApiKeyState::Unnamed => "the model server wants a key".to_owned(),
            ApiKeyState::NotSet(name) => {
                format!("the model server wants a key, and {name} is not set")
            }
            ApiKeyState::Refused(None) => "the model server does not accept the key".to_owned(),
            ApiKeyState::Refused(Some(name)) => {
                format!("{name} is set, and was refused by the model server")
            }
        }
    }

    /// What a person can do about it.
    pub(crate) fn hint(&self) -> String {
        match self {
            ApiKeyState::Unnamed | ApiKeyState::Refused(None) => {
                "name the environment variable that has the key with `api_key_env` in the model \
                 entry"
                    .to_owned()
            }
            ApiKeyState::NotSet(name) => format!("set the environment variable {name} to the key"),
            ApiKeyState::Refused(Some(name)) => {
                format!("set the environment variable {name} to a key that the server accepts")
            }
        }
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

    #[test]
    fn a_key_that_is_not_set_is_told_from_one_that_is_refused() {
        let described = |key: ApiKey| key.state().describe();
        let missing = ApiKey::from_variable("MY_KEY", None);
        assert_eq!(described(missing), "the model server wants a key, and MY_KEY is not set");
        let wrong = ApiKey::from_variable("MY_KEY", Some("sk-1"));
        assert_eq!(described(wrong), "MY_KEY is set, and was refused by the model server");
    }
}
