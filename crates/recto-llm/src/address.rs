//! Where a server's interface is, from the address that a person gave.
//!
//! People write what they see: the server's address with or without `/v1`, or
//! all of a call's. All of it leads to the same place.

use reqwest::Url;

use crate::error::LlmError;
use crate::wire::Wire;

/// The addresses of a server and of its interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerAddress {
    root: String,
    /// What the addresses of its calls begin with.
    interface: String,
    wire: Wire,
    is_local: bool,
    is_encrypted: bool,
}

impl ServerAddress {
    /// Reads `base_url`. A key in it is refused: addresses are shown and logged.
    pub(crate) fn new(wire: Wire, base_url: &str) -> Result<Self, LlmError> {
        let url = parse(base_url)?;
        let path = path(wire, &url);
        let (root, interface) = match wire {
            Wire::Ollama => (path, format!("{path}/api")),
            Wire::Anthropic => (path, format!("{path}/v1")),
            Wire::OpenAi | Wire::Embedded => openai(path),
        };
        let origin = url.origin().ascii_serialization();
        Ok(ServerAddress {
            root: format!("{origin}{root}"),
            interface: format!("{origin}{interface}"),
            wire,
            is_local: is_loopback(&url),
            is_encrypted: url.scheme() == "https",
        })
    }

    /// The server's own address, as people know it.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    /// Where a request for a reply goes.
    pub(crate) fn chat(&self) -> String {
        let call = match self.wire {
            Wire::Ollama => "chat",
            Wire::OpenAi | Wire::Embedded => "chat/completions",
            Wire::Anthropic => "messages",
        };
        self.api_url(call)
    }

    /// An address within the interface.
    pub(crate) fn api_url(&self, path: &str) -> String {
        format!("{}/{path}", self.interface)
    }

    /// An address beside the interface.
    pub(crate) fn root_url(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }

    /// Whether the server is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local
    }

    /// Whether the way to it is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }
}

fn parse(base_url: &str) -> Result<Url, LlmError> {
    let problem = |problem: &str| LlmError::Options { problem: format!("`base_url` {problem}") };
    let url =
        Url::parse(base_url.trim()).map_err(|error| problem(&format!("is no address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(problem("must begin with `http://` or `https://`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(problem("must not hold a name or password: use `api_key_env` for the key"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(problem("must not hold a query (`?`) or fragment (`#`)"));
    }
    Ok(url)
}

/// The path without what Recto appends itself.
fn path(wire: Wire, url: &Url) -> &str {
    let appended: &[&str] = match wire {
        Wire::Ollama => &["/api/chat", "/api", "/v1"],
        Wire::OpenAi | Wire::Embedded => &["/chat/completions"],
        Wire::Anthropic => &["/v1/messages", "/v1"],
    };
    let path = url.path().trim_end_matches('/');
    let stripped = appended.iter().find_map(|end| path.strip_suffix(end));
    stripped.unwrap_or(path).trim_end_matches('/')
}

/// Root and interface of a server that speaks like OpenAI's. Where the path has
/// a version, it is the interface's: `/openai/v1`, `/v1beta/openai`. Otherwise
/// it is version 1.
fn openai(path: &str) -> (&str, String) {
    let is_version = |segment: &str| {
        let number = segment.strip_prefix('v').unwrap_or_default();
        number.starts_with(|c: char| c.is_ascii_digit())
    };
    if !path.split('/').any(is_version) {
        return (path, format!("{path}/v1"));
    }
    let before = path.rsplit_once('/').filter(|(_, last)| is_version(last));
    (before.map_or(path, |(before, _)| before), path.to_owned())
}

/// Whether the address is one of this machine. `0.0.0.0` is none by the book,
/// but it is what servers print when they listen everywhere.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let address: Option<std::net::IpAddr> = host.parse().ok();
    let by_name = || host == "localhost" || host.ends_with(".localhost");
    address.map_or_else(by_name, |address| address.is_loopback() || address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wire: Wire, base_url: &str, chat: &str, root: &str) {
        let address = ServerAddress::new(wire, base_url).unwrap();
        assert_eq!((address.chat().as_str(), address.root()), (chat, root));
    }

    #[test]
    fn openai_with_or_without_a_version() {
        for base in ["http://h:1234", "http://h:1234/", "http://h:1234/v1", "http://h:1234/v1/"] {
            check(Wire::OpenAi, base, "http://h:1234/v1/chat/completions", "http://h:1234");
        }
        let all = "https://openrouter.ai/api/v1/chat/completions";
        check(Wire::OpenAi, all, all, "https://openrouter.ai/api");
        let gemini = "https://g.example/v1beta/openai";
        check(Wire::OpenAi, gemini, &format!("{gemini}/chat/completions"), gemini);
        let proxied = "http://h/llm/v1/chat/completions";
        check(Wire::OpenAi, "http://h/llm", proxied, "http://h/llm");
    }

    #[test]
    fn ollama_and_anthropic() {
        for base in ["http://h:11434", "http://h:11434/api/", "http://h:11434/v1"] {
            check(Wire::Ollama, base, "http://h:11434/api/chat", "http://h:11434");
        }
        for base in ["https://h", "https://h/v1", "https://h/v1/messages"] {
            check(Wire::Anthropic, base, "https://h/v1/messages", "https://h");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_being_shown() {
        let refused = [
            "localhost:1234",
            "",
            "http://",
            "file:///hunter2",
            "http://me:hunter2@h",
            "http://h?key=hunter2",
            "http://h#hunter2",
        ];
        for base_url in refused {
            let error = ServerAddress::new(Wire::OpenAi, base_url).unwrap_err();
            assert_eq!(error.code(), "options");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn this_machine_is_recognised() {
        let is_local = |base: &str| ServerAddress::new(Wire::Ollama, base).unwrap().is_local();
        for base in ["http://localhost", "http://127.9.9.9:1", "http://[::1]:2", "http://0.0.0.0"] {
            assert!(is_local(base), "{base}");
        }
        for base in ["http://localhost.example", "http://10.0.0.1", "http://[2001:db8::1]"] {
            assert!(!is_local(base), "{base}");
        }
    }
}
