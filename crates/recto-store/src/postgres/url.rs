//! The address of a database on a PostgreSQL server. Its password is never shown.

use std::fmt;
use std::str::FromStr;

use postgres::Config;
use postgres::config::{Host, SslMode};

/// Where a PostgreSQL server has the store: `postgres://USER@HOST:PORT/DATABASE`.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    text: String,
    password: Option<String>,
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
    /// It wants an encrypted connection.
    #[error("it asks for TLS, which Recto does not speak to a database yet")]
    Tls,
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

    /// What the client needs to connect.
    pub(super) fn config(&self) -> Config {
        // It could be read when it was made.
        let mut config = self.text.parse().unwrap_or_else(|_| Config::new());
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
        // What the parser says could quote the password.
        let config: Config = text.parse().map_err(|_| PostgresUrlError::Form)?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(PostgresUrlError::NoHost);
        }
        if config.get_dbname().is_none_or(str::is_empty) {
            return Err(PostgresUrlError::NoDatabase);
        }
        if config.get_ssl_mode() == SslMode::Require {
            return Err(PostgresUrlError::Tls);
        }
        Ok(PostgresUrl { text: text.to_owned(), password: None })
    }
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
    fn what_is_no_address_is_refused_with_its_reason_and_without_its_text() {
        let refused = |text: &str| text.parse::<PostgresUrl>().unwrap_err();
        assert_eq!(refused("mysql://a/b"), PostgresUrlError::Scheme);
        assert_eq!(refused("postgres:///recto"), PostgresUrlError::NoHost);
        assert_eq!(refused("postgres://ada:zebra@host"), PostgresUrlError::NoDatabase);
        assert_eq!(refused("postgres://host/recto?sslmode=require"), PostgresUrlError::Tls);
        let error = refused("postgres://ada:zebra@host:zebra/recto");
        assert_eq!(error, PostgresUrlError::Form);
        assert!(!error.to_string().contains("zebra"));
    }
}
