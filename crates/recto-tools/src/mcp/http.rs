//! Servers at an address, by Streamable HTTP.
//!
//! The key is in the client's headers, marked as sensitive, and stays with the
//! server: only redirects to the same scheme, host and port are followed.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Certificate, Client, Url};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::FixedInterval;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::bounded_http::BoundedHttpClient;
use super::error::ServerProblem;
use crate::options::ServerKey;

/// How long a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;

/// How often a stream that broke off is taken up again, and after what pause.
const MAX_REJOINS: usize = 3;
const REJOIN_PAUSE: Duration = Duration::from_millis(500);

/// The way to a server.
pub(super) fn transport(
    url: &str,
    key: Option<&ServerKey>,
) -> Result<StreamableHttpClientTransport<BoundedHttpClient>, ServerProblem> {
    let wrong = |problem: String| ServerProblem::Address { problem };
    let url = Url::parse(url).map_err(|error| wrong(format!("its address is none: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong("its address is neither of http nor of https".to_owned()));
    }
    // Someone else may have chosen a provider of cryptography before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("recto/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers(key)?)
        .redirect(Policy::custom(same_origin))
        .connect_timeout(CONNECT_LIMIT);
    if is_local(&url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        // Not even a machine without certificates needs any for this.
        builder = builder.tls_certs_only(std::iter::empty::<Certificate>());
    }
    let client = builder.build().map_err(|error| wrong(error.to_string()))?;
    // Without an end to it, a call would wait for a server that is gone.
    let mut again = FixedInterval::default();
    (again.max_times, again.duration) = (Some(MAX_REJOINS), REJOIN_PAUSE);
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
    config.retry_config = Arc::new(again);
    Ok(StreamableHttpClientTransport::with_client(BoundedHttpClient(client), config))
}

/// An address as it can be shown: keys may stand before the host or behind the path.
pub(super) fn display_url(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return url.to_owned() };
    let _ = url.set_username("");
    let _ = url.set_password(None);
    if url.query().is_some() {
        url.set_query(Some("…"));
    }
    url.set_fragment(None);
    url.to_string().replace("%E2%80%A6", "…")
}

fn headers(key: Option<&ServerKey>) -> Result<HeaderMap, ServerProblem> {
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", key.reveal())).map_err(|_| {
                let problem = "its key holds characters that no key has".to_owned();
                ServerProblem::Address { problem }
            })?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

fn same_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let stays = attempt.previous().iter().all(|url| url.origin() == attempt.url().origin());
    if stays && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_keys() {
        assert_eq!(display_url("https://a.example/mcp"), "https://a.example/mcp");
        assert_eq!(display_url("https://u:p@a.example/mcp?key=k#f"), "https://a.example/mcp?…");
    }

    #[test]
    fn only_this_machine_is_local() {
        let local = |url: &str| is_local(&Url::parse(url).unwrap());
        assert!(local("http://localhost:1/mcp") && local("http://127.0.0.1/"));
        assert!(local("http://[::1]:80/"));
        assert!(!local("http://localhost.example/") && !local("http://10.0.0.1/"));
    }

    #[tokio::test]
    async fn what_is_no_address_is_told() {
        for url in ["", "localhost", "file:///etc/passwd", "ftp://a.example/"] {
            let problem = transport(url, None).err().unwrap();
            assert!(matches!(problem, ServerProblem::Address { .. }), "{problem}");
        }
        let key = ServerKey::new("a\nb");
        assert!(transport("http://localhost/", Some(&key)).is_err());
    }
}
