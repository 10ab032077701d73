//! Where Ollama listens on this machine, and what it has.
//!
//! `OLLAMA_HOST` is read as Ollama's own programs read it. The server is asked
//! once, and not for long: whoever has none must not wait for it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use recto_llm::{ClientOptions, FeatureSupport, LlmError, ModelClient, Provider, WaitingFor};
use tokio::time::timeout;

/// The variable that says where Ollama listens.
const VARIABLE: &str = "OLLAMA_HOST";

/// The port when nothing says another.
const PORT: u16 = 11434;

/// The longest that Ollama may take to say what it has.
const PATIENCE: Duration = Duration::from_millis(300);

/// The address where Ollama would be, by the environment of this process.
pub(crate) fn address() -> String {
    let host = std::env::var(VARIABLE).unwrap_or_default();
    address_of(&host)
}

/// The models that an Ollama server has.
#[derive(Debug)]
pub(crate) struct OllamaModels {
    /// The names of all models that it runs itself, those in memory first.
    pub(crate) models: Vec<String>,
    /// The first of them that can hold a conversation.
    pub(crate) to_talk_to: Option<String>,
}

/// Asks the Ollama at this address which models it has.
pub(crate) async fn ask_ollama(url: &str) -> Result<OllamaModels, LlmError> {
    let mut options = ClientOptions::new(Provider::Ollama);
    options.base_url = Some(url.to_owned());
    let client = ModelClient::new(options)?;
    let late = |_| LlmError::TimedOut {
        url: url.to_owned(),
        waiting_for: WaitingFor::FirstByte,
        after: PATIENCE,
    };
    let models = timeout(PATIENCE, client.own_models()).await.map_err(late)??;
    let to_talk_to = timeout(PATIENCE, first_that_talks(&client, &models)).await;
    // One that does not say in time what it can do is taken at its word.
    let to_talk_to = to_talk_to.unwrap_or_else(|_| models.first().cloned());
    Ok(OllamaModels { to_talk_to, models })
}

/// The first that can hold a conversation, or of which nobody says that it can't.
async fn first_that_talks(client: &ModelClient, models: &[String]) -> Option<String> {
    for model in models {
        if !matches!(client.supports_chat(model).await, Ok(FeatureSupport::No)) {
            return Some(model.clone());
        }
    }
    None
}

/// The address that a value of `OLLAMA_HOST` means: a host, a port or both, with
/// or without a scheme. A name or password in it is left out, because addresses
/// are shown.
fn address_of(host: &str) -> String {
    let host = host.trim().trim_matches(['"', '\'']).trim();
    let (scheme, rest, usual) = match host.split_once("://") {
        Some(("https", rest)) => ("https", rest, 443),
        Some((_, rest)) => ("http", rest, 80),
        None => ("http", host, PORT),
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (name, port) = host_and_port(authority);
    let port = port.and_then(|port| port.parse().ok()).unwrap_or(usual);
    let path = path.trim_end_matches('/');
    let slash = if path.is_empty() { "" } else { "/" };
    format!("{scheme}://{}:{port}{slash}{path}", reachable(name))
}

/// Parts `host:port`, `[::1]:port`, and either alone.
fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    if authority.parse::<Ipv6Addr>().is_ok() {
        return (authority, None);
    }
    match authority.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (authority, None),
    }
}

/// The name by which a host is reached: a server that listens everywhere is found at home.
fn reachable(name: &str) -> String {
    let name = name.trim_matches(['[', ']']);
    match name.parse() {
        Ok(IpAddr::V4(address)) if address.is_unspecified() => Ipv4Addr::LOCALHOST.to_string(),
        Ok(IpAddr::V4(address)) => address.to_string(),
        Ok(IpAddr::V6(address)) if address.is_unspecified() => format!("[{}]", Ipv6Addr::LOCALHOST),
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        Err(_) if name.is_empty() => Ipv4Addr::LOCALHOST.to_string(),
        Err(_) => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_read_as_ollama_reads_it() {
        for (host, address) in [
            ("", "http://127.0.0.1:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080"),
            (":8080", "http://127.0.0.1:8080"),
            ("example.com", "http://example.com:11434"),
            ("example.com:1234", "http://example.com:1234"),
            ("http://example.com", "http://example.com:80"),
            ("https://example.com", "https://example.com:443"),
            ("https://example.com:8443/ollama/", "https://example.com:8443/ollama"),
            ("::1", "http://[::1]:11434"),
            ("[::1]", "http://[::1]:11434"),
            ("[::1]:5000", "http://[::1]:5000"),
            ("[::]", "http://[::1]:11434"),
            (" \"10.0.0.7:11434\" ", "http://10.0.0.7:11434"),
            ("host:99999", "http://host:11434"),
            ("host:", "http://host:11434"),
        ] {
            assert_eq!(address_of(host), address, "{host:?}");
        }
    }

    #[test]
    fn what_opens_a_door_is_left_out() {
        for host in ["http://me:hunter2@h:1", "me:hunter2@h:1", "http://h:1?key=hunter2"] {
            assert_eq!(address_of(host), "http://h:1", "{host}");
        }
    }
}
