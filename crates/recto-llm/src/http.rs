//! The way to a server over HTTP.
//!
//! One [`reqwest::Client`] for each model entry. It follows no redirects, which
//! could carry the key elsewhere, and uses the system's proxies only for servers
//! on other machines. The key is in its headers from the start, marked as
//! sensitive, so that no request has to know it. What a server says is handed on
//! whole: whoever tells an error to someone else calls [`LlmError::redacted`].

use std::error::Error;
use std::io;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, RequestBuilder, Response};
use serde_json::Value;
use tokio::time::timeout;

use crate::address::ServerAddress;
use crate::api_key::ApiKey;
use crate::error::{LlmError, WaitingFor};
use crate::retry::retry_after;
use crate::wire::Wire;
use crate::wire::failure::{self, ErrorResponse};

/// How much is read of an answer that is no reply.
const LONGEST_ANSWER: usize = 8 * 1024 * 1024;

/// Sends requests to one server.
pub(crate) struct HttpTransport {
    client: Client,
    wire: Wire,
    address: ServerAddress,
    key: Option<ApiKey>,
    connect_limit: Duration,
}

/// A server's answer, its body not read yet.
pub(crate) struct HttpAnswer {
    url: String,
    response: Response,
}

impl HttpTransport {
    pub(crate) fn new(
        wire: Wire,
        address: ServerAddress,
        key: Option<ApiKey>,
        connect_limit: Duration,
    ) -> Result<Self, LlmError> {
        // Someone else may have chosen a provider of cryptography before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("recto/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers(wire, key.as_ref())?)
            .redirect(Policy::none())
            .connect_timeout(connect_limit);
        if address.is_local() {
            builder = builder.no_proxy();
        }
        if !address.is_encrypted() {
            // Not even a machine without certificates needs any for this.
            builder = builder.tls_certs_only(std::iter::empty::<Certificate>());
            // Local servers hang up after five seconds of silence. A request
            // that is on its way by then would be lost.
            builder = builder.pool_idle_timeout(Duration::from_secs(4));
        }
        let client = builder.build().map_err(|error| LlmError::Options {
            problem: format!("cannot set up connections: {}", innermost(&error)),
        })?;
        Ok(HttpTransport { client, wire, address, key, connect_limit })
    }

    pub(crate) fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// Sends a request for a reply.
    pub(crate) async fn chat(&self, body: Vec<u8>) -> Result<HttpAnswer, LlmError> {
        let url = self.address.chat();
        let request = self.client.post(&url).header(CONTENT_TYPE, "application/json").body(body);
        self.send(url, request).await
    }

    /// Asks for something small, which must come within `limit`.
    pub(crate) async fn get(&self, url: String, limit: Duration) -> Result<Value, LlmError> {
        let request = self.client.get(&url);
        self.request_json(url, request, limit).await
    }

    /// Asks in the same way, with something to tell the server.
    pub(crate) async fn post(
        &self,
        url: String,
        body: &Value,
        limit: Duration,
    ) -> Result<Value, LlmError> {
        let request = self.client.post(&url).header(CONTENT_TYPE, "application/json");
        self.request_json(url, request.body(body.to_string()), limit).await
    }

    async fn request_json(
        &self,
        url: String,
        request: RequestBuilder,
        limit: Duration,
    ) -> Result<Value, LlmError> {
        let answer = async {
            let answer = self.send(url, request).await?;
            if !answer.is_success() {
                return Err(self.refusal(answer, "").await);
            }
            answer.into_json().await
        };
        let late = || LlmError::TimedOut {
            url: self.address.root().to_owned(),
            waiting_for: WaitingFor::FirstByte,
            after: limit,
        };
        timeout(limit, answer).await.unwrap_or_else(|_| Err(late()))
    }

    async fn send(&self, url: String, request: RequestBuilder) -> Result<HttpAnswer, LlmError> {
        match request.send().await {
            Ok(response) => Ok(HttpAnswer { url, response }),
            Err(error) => Err(self.not_sent(&error)),
        }
    }

    /// What an answer without success means. A body that breaks off is taken as
    /// far as it came. The key leaves first, before anything is taken apart.
    pub(crate) async fn refusal(&self, mut answer: HttpAnswer, model: &str) -> LlmError {
        let body = answer.body().await.unwrap_or_else(|partial| partial);
        let redact =
            |text: &str| self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.redact(text));
        let header = |name| answer.response.headers().get(name)?.to_str().ok();
        let location = header(LOCATION).map(redact);
        let response = ErrorResponse {
            url: &answer.url,
            status: answer.response.status().as_u16(),
            retry_after: header(RETRY_AFTER).and_then(|text| retry_after(text, Timestamp::now())),
            location: location.as_deref(),
            body: &redact(&String::from_utf8_lossy(&body)),
        };
        failure::error_from_response(self.wire, &response, model)
    }

    /// Why there is no answer.
    fn not_sent(&self, error: &reqwest::Error) -> LlmError {
        let url = self.address.root().to_owned();
        match (error.is_connect(), error.is_timeout()) {
            (true, true) => LlmError::TimedOut {
                url,
                waiting_for: WaitingFor::Connection,
                after: self.connect_limit,
            },
            (true, false) if is_of_handshake(error) => {
                LlmError::Handshake { url, cause: innermost(error) }
            }
            (true, false) => LlmError::Unreachable { url, cause: innermost(error) },
            (false, _) => LlmError::Cut { cause: innermost(error) },
        }
    }
}

impl HttpAnswer {
    pub(crate) fn is_success(&self) -> bool {
        self.response.status().is_success()
    }

    /// The next bytes; `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, LlmError> {
        match self.response.chunk().await {
            Ok(chunk) => Ok(chunk.map(Into::into)),
            Err(error) => Err(LlmError::Cut { cause: innermost(&error) }),
        }
    }

    async fn into_json(mut self) -> Result<Value, LlmError> {
        let cut = |_| LlmError::Cut { cause: "the server stopped in the middle of it".to_owned() };
        let body = self.body().await.map_err(cut)?;
        serde_json::from_slice(&body).map_err(|error| LlmError::Malformed {
            what: format!("what cannot be read ({error})"),
            sample: String::from_utf8_lossy(&body).into_owned(),
        })
    }

    /// The whole body, or what there is of it.
    async fn body(&mut self) -> Result<Vec<u8>, Vec<u8>> {
        let mut body = Vec::new();
        while body.len() < LONGEST_ANSWER {
            match self.chunk().await {
                Ok(Some(chunk)) => body.extend(chunk),
                Ok(None) => return Ok(body),
                Err(_) => break,
            }
        }
        Err(body)
    }
}

fn headers(wire: Wire, key: Option<&ApiKey>) -> Result<HeaderMap, LlmError> {
    let mut headers = HeaderMap::new();
    if wire == Wire::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    if let Some(key) = key.and_then(ApiKey::expose) {
        match wire {
            Wire::Anthropic => headers.insert("x-api-key", sensitive(key)?),
            Wire::Ollama | Wire::OpenAi | Wire::Embedded => {
                headers.insert(AUTHORIZATION, sensitive(&format!("Bearer {key}"))?)
            }
        };
    }
    Ok(headers)
}

fn sensitive(value: &str) -> Result<HeaderValue, LlmError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| LlmError::Options {
        problem: "the key that `api_key_env` names holds characters that no key has".to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// What the system says at the end of a chain of errors. The outer ones repeat
/// what the variant of our own error says.
fn innermost(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// Whether the connection stood, and encrypting it failed. Errors of the system
/// hold others without naming them as their source, so those are looked into.
fn is_of_handshake(error: &(dyn Error + 'static)) -> bool {
    let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is::<rustls::Error>()
        || held.is_some_and(|held| is_of_handshake(held))
        || error.source().is_some_and(is_of_handshake)
}

#[cfg(test)]
mod tests {
    use rustls::CertificateError;

    use super::*;

    #[test]
    fn a_failed_handshake_is_found_within_other_errors() {
        let expired = || rustls::Error::InvalidCertificate(CertificateError::Expired);
        assert!(is_of_handshake(&expired()));
        assert!(is_of_handshake(&io::Error::other(expired())));
        assert!(is_of_handshake(&io::Error::other(io::Error::other(expired()))));
        assert!(!is_of_handshake(&io::Error::from(io::ErrorKind::ConnectionRefused)));
        assert!(!is_of_handshake(&io::Error::other("invalid peer certificate: Expired")));
    }
}
