//! Addresses to download from, and how they are shown.
//!
//! An address can hold a password or a token. It is used whole, and shown without
//! what could be one: everything that tells, records or fails shows that form.

use reqwest::Url;

use crate::error::ModelsError;

/// An address to download from.
#[derive(Debug, Clone)]
pub(super) struct DownloadAddress {
    url: Url,
    shown: String,
}

impl DownloadAddress {
    pub(super) fn from_url(url: Url) -> Self {
        let shown = shown(&url);
        DownloadAddress { url, shown }
    }

    pub(super) fn parse(text: &str) -> Result<Self, ModelsError> {
        DownloadAddress::parse_url(text).map(DownloadAddress::from_url)
    }

    /// Reads an address that begins with `http://` or `https://`. What can't be
    /// read is shown without what stands before an `@` or behind a `?`.
    pub(super) fn parse_url(text: &str) -> Result<Url, ModelsError> {
        let bad = |problem: String| ModelsError::BadAddress { url: shown_raw(text), problem };
        let url = Url::parse(text.trim()).map_err(|error| bad(error.to_string()))?;
        match url.scheme() {
            "http" | "https" => Ok(url),
            _ => Err(bad("it begins with neither `http://` nor `https://`".to_owned())),
        }
    }

    /// The address of a file of this server.
    pub(super) fn below(&self, path: &str) -> Self {
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/{path}"));
        DownloadAddress::from_url(url)
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// The address as it may be shown.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// The server, as it may be shown.
    pub(super) fn server(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether the server is on this machine.
    pub(super) fn is_local(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let ip = host.trim_start_matches('[').trim_end_matches(']').parse();
        host == "localhost" || ip.is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    }
}

fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path().trim_end_matches('/'))
}

/// An address that can't be read, without anything that could be secret if it could.
fn shown_raw(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    let rest = rest.rsplit('@').next().unwrap_or_default();
    if scheme.is_empty() { rest.to_owned() } else { format!("{scheme}://{rest}") }
}

/// A text with addresses in it, such as a program's complaint, without what
/// stands before an `@` in them, or behind a `?`.
pub(super) fn without_secrets(text: &str) -> String {
    let mut rest = text;
    let mut clean = String::with_capacity(text.len());
    while let Some(at) = rest.find("://") {
        let (before, address) = rest.split_at(at + 3);
        clean.push_str(before);
        let end = address.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>'));
        let (address, after) = address.split_at(end.unwrap_or(address.len()));
        let address = address.split_once('?').map_or(address, |(address, _)| address);
        let server = address.find('/').unwrap_or(address.len());
        let name_end = address[..server].rfind('@').map_or(0, |at| at + 1);
        clean.push_str(&address[name_end..]);
        rest = after;
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_secret_is_not_shown() {
        let address =
            DownloadAddress::parse("https://me:pass@example.org:8443/a/m.gguf?token=x#y").unwrap();
        assert_eq!(address.shown(), "https://example.org:8443/a/m.gguf");
        assert_eq!(address.server(), "https://example.org:8443");
        assert_eq!(address.url().password(), Some("pass"));
        for text in [
            "https://me:pass@exa mple/x?token=y",
            "https://me:a pass@example:port/x?a token=y",
            "ftp://me:pass@example.org/x?token=y",
            "me:pass@example.org",
        ] {
            let error = format!("{:?}", DownloadAddress::parse(text).unwrap_err());
            assert!(!error.contains("pass") && !error.contains("token"), "{error}");
        }
    }

    #[test]
    fn addresses_in_a_text_lose_their_secrets() {
        let said = "ERROR: no match at https://me:p%40ss@pypi.example/simple?key=1 (\"http://a@b\"), \
                    see https://pip.pypa.io/en/";
        assert_eq!(
            without_secrets(said),
            "ERROR: no match at https://pypi.example/simple (\"http://b\"), \
             see https://pip.pypa.io/en/"
        );
        assert_eq!(without_secrets("://"), "://");
        assert_eq!(without_secrets("é://ü@ß"), "é://ß");
        assert_eq!(without_secrets("x://a@b@c/d@e"), "x://c/d@e");
    }

    #[test]
    fn the_hub_may_have_a_path() {
        for hub in ["http://h.example/hub/", "http://h.example/hub"] {
            let file = DownloadAddress::parse(hub).unwrap().below("org/repo/resolve/main/a b.gguf");
            assert_eq!(
                file.url().as_str(),
                "http://h.example/hub/org/repo/resolve/main/a%20b.gguf"
            );
        }
    }

    #[test]
    fn this_machine_is_known() {
        let is_local = |text: &str| DownloadAddress::parse(text).unwrap().is_local();
        for text in ["http://127.0.0.1:1/", "http://localhost/", "http://[::1]:80/"] {
            assert!(is_local(text), "{text}");
        }
        assert!(!is_local("https://huggingface.co") && !is_local("http://10.0.0.1/"));
    }
}
