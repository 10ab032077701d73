//! Encrypted connections, to a cluster of its own that takes no others over the network.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use recto_store::{Store, StoreError, StoreOptions};
use tempfile::TempDir;

use crate::support::{key, new_session, simple_query};

/// A cluster with a certificate for `localhost`.
struct TlsCluster {
    folder: TempDir,
    port: u16,
}

impl TlsCluster {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Nobody has this port now; that somebody takes it before the server does is unlikely.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let started = Command::new(script())
            .args(["start".as_ref(), folder.path()])
            .args(["ssl=on", "listen_addresses=localhost", &format!("port={port}")])
            .output()
            .unwrap();
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        TlsCluster { folder, port }
    }

    fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    /// Opens the store at a host, with what stands behind the `?` of the address.
    fn open(&self, host: &str, query: &str) -> Result<Store, StoreError> {
        let url = format!("postgres://recto@{host}:{}/postgres?{query}", self.port);
        let options =
            StoreOptions::on_server(url.parse().unwrap(), self.folder.path().join("home"));
        Store::open(&StoreOptions { busy_timeout: Duration::from_millis(500), ..options })
    }

    /// How many connections are encrypted.
    fn encrypted(&self) -> Option<String> {
        let folder = self.folder.path().display();
        let url = format!("postgres://recto@/postgres?host={folder}&port={}", self.port);
        let sql = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                   WHERE ssl AND application_name = 'recto'";
        simple_query(&url, sql).0
    }
}

impl Drop for TlsCluster {
    fn drop(&mut self) {
        let _ = Command::new(script()).args(["stop".as_ref(), self.folder.path()]).status();
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/test-postgres")
}

/// Promise: `database-by-tls`
#[tokio::test]
async fn a_database_is_reached_by_tls_and_only_the_one_that_is_meant() {
    let cluster = TlsCluster::start();
    let trusting = format!("sslrootcert={}", cluster.authority().display());
    let verified = |mode: &str| format!("sslmode={mode}&{trusting}");

    // The name and the one who signed it are right.
    let store = cluster.open("localhost", &verified("verify-full")).unwrap();
    let session = store.bind(key("here"), new_session("here")).await.unwrap();
    assert!(store.session(session.id).await.unwrap().is_some());
    assert_ne!(cluster.encrypted().as_deref(), Some("0"));
    drop(store);

    // Under another name only the one who signed it is.
    let error = cluster.open("127.0.0.1", &verified("verify-full")).unwrap_err();
    assert!(matches!(error, StoreError::Untrusted { .. }), "{error}");
    assert!(error.hint().is_some());
    cluster.open("127.0.0.1", &verified("verify-ca")).unwrap();

    // The system trusts nobody of ours.
    for mode in ["verify-full", "verify-ca"] {
        let error = cluster.open("localhost", &format!("sslmode={mode}")).unwrap_err();
        assert!(matches!(error, StoreError::Untrusted { .. }), "{mode}: {error}");
    }
    cluster.open("127.0.0.1", "sslmode=require").unwrap();
    cluster.open("127.0.0.1", &verified("require")).unwrap();

    // A file that has no certificates is named.
    let empty = cluster.folder.path().join("pg_none.crt");
    let error =
        cluster.open("localhost", &format!("sslmode=verify-ca&sslrootcert={}", empty.display()));
    assert!(error.unwrap_err().to_string().contains("pg_none.crt"));

    // Without TLS this server lets nobody in.
    let error = cluster.open("localhost", "sslmode=disable").unwrap_err();
    assert!(matches!(error, StoreError::LogInRefused { .. }), "{error}");
}

#[test]
fn a_server_without_tls_is_not_trusted_where_it_is_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // The request for TLS has eight bytes; `N` is "no".
            stream.read_exact(&mut [0; 8]).unwrap();
            stream.write_all(b"N").unwrap();
        }
    });
    let home = tempfile::tempdir().unwrap();
    let url = format!("postgres://recto@127.0.0.1:{port}/recto?sslmode=require");
    let options = StoreOptions::on_server(url.parse().unwrap(), home.path().to_path_buf());
    let patience = Duration::from_millis(500);
    let error = Store::open(&StoreOptions { busy_timeout: patience, ..options }).unwrap_err();
    assert!(matches!(error, StoreError::Untrusted { .. }), "{error}");
    assert!(error.hint().is_some());
}
