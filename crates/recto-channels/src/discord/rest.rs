//! Discord's REST API, as much of it as a bot needs here. What Discord says about its limits is
//! kept to before it has to refuse anything: a call that would be one too many is not made.
//!
//! Made with our own HTTP client: others call again at once where Discord limits all calls
//! together, and here it has to be known how long it asks to wait.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use reqwest::header::{AUTHORIZATION, HeaderMap, RETRY_AFTER};
use reqwest::{Certificate, Client, Method, Response};
use serde::Deserialize;
use serde_json::Value;

/// How long a call may take.
const CALL_LIMIT: Duration = Duration::from_secs(20);

/// The longest that Discord is believed when it asks to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// Who calls, in the form that Discord asks for.
const USER_AGENT: &str =
    concat!("DiscordBot (https://recto.example, ", env!("CARGO_PKG_VERSION"), ")");

/// The way to Discord, for one bot.
pub(super) struct DiscordRest {
    client: Client,
    api_url: String,
    token: String,
    limits: Mutex<RouteLimits>,
}

/// Until when calls are not made.
#[derive(Debug, Default)]
struct RouteLimits {
    /// All of them.
    everything: Option<Instant>,
    /// Those of a route about a channel.
    routes: HashMap<String, Instant>,
}

/// Why a call came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RestFailure {
    #[error("Discord can't be reached")]
    Unreachable,
    #[error("Discord asks to wait {} s", .0.as_secs())]
    Limited(Duration),
    #[error("Discord answered with status {status} ({code}: {message})")]
    Refused { status: u16, code: u32, message: String },
    #[error("Discord's answer can't be read")]
    Unreadable,
}

/// What Discord says when it refuses something.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RefusalBody {
    message: String,
    code: u32,
    retry_after: Option<f64>,
    global: bool,
}

impl DiscordRest {
    /// Connects to nothing yet.
    pub(super) fn new(api_url: &str, token: &str) -> reqwest::Result<Self> {
        // Someone else may have chosen a provider of cryptography before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder().user_agent(USER_AGENT).timeout(CALL_LIMIT);
        if !api_url.starts_with("https:") {
            // A server of one's own; not even a machine without certificates needs any for this.
            builder = builder.no_proxy().tls_certs_only(std::iter::empty::<Certificate>());
        }
        let (client, api_url) = (builder.build()?, api_url.trim_end_matches('/').to_owned());
        Ok(DiscordRest { client, api_url, token: token.to_owned(), limits: Mutex::default() })
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, RestFailure> {
        self.call(Method::GET, path, None).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, RestFailure> {
        self.call(Method::POST, path, Some(body)).await
    }

    pub(super) async fn put(&self, path: &str, body: &Value) -> Result<Value, RestFailure> {
        self.call(Method::PUT, path, Some(body)).await
    }

    pub(super) async fn patch(&self, path: &str, body: &Value) -> Result<Value, RestFailure> {
        self.call(Method::PATCH, path, Some(body)).await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<(), RestFailure> {
        self.call(Method::DELETE, path, None).await.map(drop)
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, RestFailure> {
        let route = route_of(&method, path);
        if let Some(wait) = self.limits.lock().wait_for(&route, Instant::now()) {
            return Err(RestFailure::Limited(wait));
        }
        let mut call = self.client.request(method, format!("{}{path}", self.api_url));
        // Who answers an interaction shows its own token, which stands in the path.
        if !path.starts_with("/interactions/") && !path.starts_with("/webhooks/") {
            call = call.header(AUTHORIZATION, format!("Bot {}", self.token));
        }
        if let Some(body) = body {
            call = call.header(reqwest::header::CONTENT_TYPE, "application/json");
            call = call.body(body.to_string());
        }
        let response = call.send().await.map_err(|_| RestFailure::Unreachable)?;
        self.limits.lock().note(&route, response.headers(), Instant::now());
        self.read(&route, response).await
    }

    async fn read(&self, route: &str, response: Response) -> Result<Value, RestFailure> {
        let status = response.status().as_u16();
        let told = seconds(response.headers(), RETRY_AFTER.as_str());
        let text = response.text().await.map_err(|_| RestFailure::Unreachable)?;
        if (200..300).contains(&status) {
            return match text.trim() {
                "" => Ok(Value::Null),
                text => serde_json::from_str(text).map_err(|_| RestFailure::Unreadable),
            };
        }
        let body: RefusalBody = serde_json::from_str(&text).unwrap_or_default();
        if status != 429 {
            let RefusalBody { code, message, .. } = body;
            return Err(RestFailure::Refused { status, code, message });
        }
        let wait = body.retry_after.and_then(duration).or(told).unwrap_or(Duration::from_secs(5));
        let until = Instant::now() + wait;
        let mut limits = self.limits.lock();
        match body.global {
            true => limits.everything = Some(until),
            false => drop(limits.routes.insert(route.to_owned(), until)),
        }
        Err(RestFailure::Limited(wait))
    }

    /// Fetches a file of at most so many bytes; nothing where that can't be.
    pub(super) async fn fetch(&self, url: &str, most: usize) -> Result<Vec<u8>, FetchError> {
        if !self.is_ours(url) {
            return Err(FetchError::Failed);
        }
        let mut response = self.client.get(url).send().await.map_err(|_| FetchError::Failed)?;
        if !response.status().is_success() {
            return Err(FetchError::Failed);
        }
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|_| FetchError::Failed)? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > most {
                return Err(FetchError::TooLarge);
            }
        }
        Ok(bytes)
    }

    /// Whether an address is one of Discord's own: nothing else is asked for anything.
    fn is_ours(&self, url: &str) -> bool {
        let (Ok(url), Ok(api)) = (url.parse::<reqwest::Url>(), self.api_url.parse()) else {
            return false;
        };
        let api: reqwest::Url = api;
        if url.host_str() == api.host_str() && url.port() == api.port() {
            return true;
        }
        let known = ["discordapp.com", "discordapp.net", "discord.com"];
        let is_known = |host: &str| {
            known.iter().any(|known| host == *known || host.ends_with(&format!(".{known}")))
        };
        url.scheme() == "https" && url.host_str().is_some_and(is_known)
    }
}

/// Why a file was not fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FetchError {
    TooLarge,
    Failed,
}

impl RouteLimits {
    /// How long a call of a route has to wait.
    fn wait_for(&mut self, route: &str, now: Instant) -> Option<Duration> {
        self.routes.retain(|_, until| *until > now);
        let everything = self.everything.filter(|until| *until > now);
        let until = everything.max(self.routes.get(route).copied())?;
        Some(until - now)
    }

    /// Notes what an answer says of the calls that are left.
    fn note(&mut self, route: &str, headers: &HeaderMap, now: Instant) {
        let left = headers.get("x-ratelimit-remaining").and_then(|left| left.to_str().ok());
        let reset = seconds(headers, "x-ratelimit-reset-after");
        if let (Some("0"), Some(reset)) = (left, reset) {
            self.routes.insert(route.to_owned(), now + reset);
        }
    }
}

fn seconds(headers: &HeaderMap, name: &str) -> Option<Duration> {
    duration(headers.get(name)?.to_str().ok()?.parse().ok()?)
}

fn duration(seconds: f64) -> Option<Duration> {
    // A little more: its clock and ours need not agree.
    let duration = Duration::try_from_secs_f64(seconds).ok()?;
    Some(duration.min(LONGEST_WAIT) + Duration::from_millis(50))
}

/// What calls have a limit together: a method, the channel it is about, and what is behind it,
/// without the ids of messages.
fn route_of(method: &Method, path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    let parts = path.split('/').enumerate().map(|(at, part)| match part {
        part if at > 2 && part.bytes().all(|byte| byte.is_ascii_digit()) => "*",
        part => part,
    });
    format!("{method} {}", parts.collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_channel_have_one_limit() {
        let route = |path: &str| route_of(&Method::PATCH, path);
        assert_eq!(route("/channels/7/messages/8"), "PATCH /channels/7/messages/*");
        assert_eq!(route("/channels/7/messages/9?x=1"), route("/channels/7/messages/8"));
        assert_ne!(route("/channels/8/messages/9"), route("/channels/7/messages/9"));
    }

    #[test]
    fn an_exhausted_limit_is_not_tried() {
        let (mut limits, now) = (RouteLimits::default(), Instant::now());
        let mut headers = HeaderMap::new();
        headers.insert("x-ratelimit-remaining", "1".parse().unwrap());
        headers.insert("x-ratelimit-reset-after", "1.5".parse().unwrap());
        limits.note("a", &headers, now);
        assert_eq!(limits.wait_for("a", now), None);
        headers.insert("x-ratelimit-remaining", "0".parse().unwrap());
        limits.note("a", &headers, now);
        assert_eq!(limits.wait_for("a", now), Some(Duration::from_millis(1_550)));
        assert_eq!(limits.wait_for("b", now), None);
        assert_eq!(limits.wait_for("a", now + Duration::from_secs(2)), None);
    }

    #[test]
    fn files_come_from_discord_alone() {
        let rest = DiscordRest::new("https://discord.com/api/v10", "x").unwrap();
        assert!(rest.is_ours("https://cdn.discordapp.com/attachments/1/2/a.txt?ex=1"));
        for foreign in [
            "https://evil.example/a",
            "https://discordapp.com.evil.example/a",
            "http://cdn.discordapp.com/a",
            "file:///etc/passwd",
            "nothing",
        ] {
            assert!(!rest.is_ours(foreign), "{foreign}");
        }
    }
}
