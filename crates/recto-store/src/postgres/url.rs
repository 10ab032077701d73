//! The address of a database on a PostgreSQL server. Its password is never shown.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use postgres::Config;
use postgres::config::{Host, SslMode};

use super::tls::{TlsMode, TlsOptions};

/// Where a PostgreSQL server has the store: `postgres://USER@HOST:PORT/DATABASE`.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    /// What the client reads: all but what it says of certificates.
    text: String,
    password: Option<String>,
    tls: TlsOptions,
}

/// The text can't be the address of a database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostgresUrlError {
    /// It begins in another way.
    #[error("it does not begin with `postgres://`")]
    Scheme,
    /// The rest of it can't be read.
    #[error("it is not of the form `postgres://USER@HOST:PORT/DATABASE`")]
    Form,
    /// It says of no host.
    #[error("it names no host")]
    NoHost,
    /// It says of no database.
    #[error("it names no database")]
    NoDatabase,
    /// It says in an unknown way how the connection is to be encrypted.
    #[error("its `sslmode` is none of `disable`, `require`, `verify-ca` and `verify-full`")]
    TlsMode,
    /// It names certificates that nothing would be checked against.
    #[error("it has an `sslrootcert`, and no `sslmode` with which certificates are checked")]
    UnusedRoots,
    /// It says more of how to encrypt than is understood here.
    #[error("it says more of TLS than `sslmode` and `sslrootcert`")]
    TlsOption,
    /// It wants to encrypt what does not leave the machine.
    #[error("it asks for TLS over a socket of this machine, where there is none")]
    TlsOverSocket,
}

impl PostgresUrl {
    /// The schemes by which it is known.
    pub const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

    /// Whether a text is meant to be one.
    pub fn is_meant(text: &str) -> bool {
        Self::SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    /// Whether a password stands in it.
    pub fn has_password(&self) -> bool {
        self.config().get_password().is_some()
    }

    /// The same with a password that came from elsewhere.
    #[must_use]
    pub fn with_password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// How its connections are encrypted.
    pub(super) fn tls(&self) -> &TlsOptions {
        &self.tls
    }

    /// What the client needs to connect.
    pub(super) fn config(&self) -> Config {
        // It could be read when it was made.
        let mut config = self.text.parse().unwrap_or_else(|_| Config::new());
        config.ssl_mode(match self.tls.mode {
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
        });
        if let Some(password) = &self.password {
            config.password(password);
        }
        config
    }
}

impl FromStr for PostgresUrl {
    type Err = PostgresUrlError;

    fn from_str(text: &str) -> Result<Self, PostgresUrlError> {
        if !Self::is_meant(text) {
            return Err(PostgresUrlError::Scheme);
        }
        let (text, tls) = take_tls(text)?;
        // What the parser says could quote the password.
        let config: Config = text.parse().map_err(|_| PostgresUrlError::Form)?;
        // Whatever the client has read of it was not read here, and would not be followed.
        let defaults = Config::new();
        if config.get_ssl_mode() != defaults.get_ssl_mode()
            || config.get_ssl_negotiation() != defaults.get_ssl_negotiation()
        {
            return Err(PostgresUrlError::TlsOption);
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(PostgresUrlError::NoHost);
        }
        if config.get_dbname().is_none_or(str::is_empty) {
            return Err(PostgresUrlError::NoDatabase);
        }
        let is_remote = |host: &Host| matches!(host, Host::Tcp(_));
        if tls.mode > TlsMode::Disable && !config.get_hosts().iter().all(is_remote) {
            return Err(PostgresUrlError::TlsOverSocket);
        }
        Ok(PostgresUrl { text, password: None, tls })
    }
}

/// Takes out of an address what the client's parser does not know, or not all of: how to encrypt.
/// As that parser does, it takes all before the first `@` for the user and the password, whatever
/// stands in it.
fn take_tls(text: &str) -> Result<(String, TlsOptions), PostgresUrlError> {
    let mut tls = TlsOptions::default();
    let host = text.find('@').unwrap_or(0);
    let Some(mark) = text[host..].find('?') else { return Ok((text.to_owned(), tls)) };
    let (front, query) = (&text[..host + mark], &text[host + mark + 1..]);
    let mut kept = Vec::new();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decode = |text| percent_decode_str(text).decode_utf8();
        let name = decode(name).map_err(|_| PostgresUrlError::Form)?;
        let value = decode(value).map_err(|_| PostgresUrlError::Form)?;
        match name.as_ref() {
            "sslmode" => {
                tls.mode = TlsMode::find(&value).ok_or(PostgresUrlError::TlsMode)?;
            }
            "sslrootcert" => {
                tls.roots = Some(PathBuf::from(value.as_ref())).filter(|_| !value.is_empty());
            }
            _ => kept.push(pair),
        }
    }
    match (tls.mode, &tls.roots) {
        (TlsMode::Disable, Some(_)) => return Err(PostgresUrlError::UnusedRoots),
        // PostgreSQL's own programs read it so, too.
        (TlsMode::Require, Some(_)) => tls.mode = TlsMode::VerifyCa,
        _ => {}
    }
    let kept = kept.join("&");
    let mark = if kept.is_empty() { "" } else { "?" };
    Ok((format!("{front}{mark}{kept}"), tls))
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = self.config();
        f.write_str("postgres://")?;
        if let Some(user) = config.get_user() {
            write!(f, "{user}@")?;
        }
        let mut folder = None;
        for (at, host) in config.get_hosts().iter().enumerate() {
            let ports = config.get_ports();
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
            let comma = if at > 0 { "," } else { "" };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}:{port}")?,
                #[cfg(unix)]
                Host::Unix(path) => folder = folder.or(Some((path.display(), port))),
            }
        }
        write!(f, "/{}", config.get_dbname().unwrap_or_default())?;
        match folder {
            Some((path, port)) => write!(f, "?host={path}&port={port}"),
            None if self.tls.mode > TlsMode::Disable => {
                write!(f, "?sslmode={}", self.tls.mode.name())
            }
            None => Ok(()),
        }
    }
}

/// As it is shown: what is debugged may be logged.
impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let shown = |text: &str| {
            let url: PostgresUrl = text.parse().unwrap();
            assert_eq!(format!("{url:?}"), url.to_string());
            url.with_password("zebra").to_string()
        };
        let plain = "postgres://ada@db.example.org:5433/recto";
        assert_eq!(shown(plain), plain);
        assert_eq!(shown("postgresql://ada:zebra@db.example.org:5433/recto"), plain);
        assert_eq!(
            shown("postgres://db.example.org/recto?user=ada&password=zebra"),
            "postgres://ada@db.example.org:5432/recto"
        );
        assert_eq!(
            shown("postgres:///recto?host=/run/postgresql"),
            "postgres:///recto?host=/run/postgresql&port=5432"
        );
    }

    #[test]
    fn how_to_encrypt_is_read_and_told() {
        let url: PostgresUrl = "postgres://ada@host/recto?sslmode=verify-full\
                                &connect_timeout=7&sslrootcert=/etc/a%20b.pem"
            .parse()
            .unwrap();
        let roots = Some(PathBuf::from("/etc/a b.pem"));
        assert_eq!(*url.tls(), TlsOptions { mode: TlsMode::VerifyFull, roots });
        assert_eq!(url.to_string(), "postgres://ada@host:5432/recto?sslmode=verify-full");
        assert_eq!(url.config().get_ssl_mode(), SslMode::Require);
        assert_eq!(url.config().get_connect_timeout().map(|time| time.as_secs()), Some(7));
        let trusting: PostgresUrl =
            "postgres://host/recto?sslmode=require&sslrootcert=/a.pem".parse().unwrap();
        assert_eq!(trusting.tls().mode, TlsMode::VerifyCa);
        let plain: PostgresUrl = "postgres://host/recto".parse().unwrap();
        assert_eq!(plain.config().get_ssl_mode(), SslMode::Disable);
    }

    /// Promise: `database-by-tls`
    #[test]
    fn no_way_to_write_it_leaves_a_connection_in_the_clear() {
        for text in [
            "postgres://ada:pa?ss@host/recto?sslmode=require",
            "postgres://ada:pa?sslmode=disable&ss@host/recto?sslmode=require",
            "postgres://ada@host/recto?ssl%6dode=require",
            "postgres://ada@host/recto?connect_timeout=7&sslmode=requir%65",
        ] {
            let url: PostgresUrl = text.parse().unwrap();
            assert_eq!(url.config().get_ssl_mode(), SslMode::Require, "{text}");
        }
        let refused = |text: &str| text.parse::<PostgresUrl>().unwrap_err();
        // A name that goes on behind an `&`, as the client reads it.
        let joined = refused("postgres://ada@host/recto?x&sslmode=require");
        assert_eq!(joined, PostgresUrlError::Form);
        let direct = refused("postgres://host/recto?sslmode=require&sslnegotiation=direct");
        assert_eq!(direct, PostgresUrlError::TlsOption);
        for mode in ["", "&sslmode=disable"] {
            let roots = refused(&format!("postgres://host/recto?sslrootcert=/a.pem{mode}"));
            assert_eq!(roots, PostgresUrlError::UnusedRoots);
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_reason_and_without_its_text() {
        let refused = |text: &str| text.parse::<PostgresUrl>().unwrap_err();
        assert_eq!(refused("mysql://a/b"), PostgresUrlError::Scheme);
        assert_eq!(refused("postgres:///recto"), PostgresUrlError::NoHost);
        assert_eq!(refused("postgres://ada:zebra@host"), PostgresUrlError::NoDatabase);
        assert_eq!(refused("postgres://host/recto?sslmode=perhaps"), PostgresUrlError::TlsMode);
        let over_socket = "postgres:///recto?host=/run/postgresql&sslmode=require";
        assert_eq!(refused(over_socket), PostgresUrlError::TlsOverSocket);
        let error = refused("postgres://ada:zebra@host:zebra/recto");
        assert_eq!(error, PostgresUrlError::Form);
        assert!(!error.to_string().contains("zebra"));
    }
}
