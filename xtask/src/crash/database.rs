//! The database that is under fire: a file, a cluster of PostgreSQL that this run has started, or
//! somebody's server.

use std::path::{Path, PathBuf};
use std::process::Command;

use recto_store::StoreOptions;
use tempfile::TempDir;

use crate::Result;

/// What a cluster is to do other than for tests: what it has acknowledged survives its own crash.
const DURABLE: [&str; 2] = ["synchronous_commit=on", "fsync=on"];

/// The database of a run.
pub(super) enum TestedDatabase {
    File,
    Cluster(TestCluster),
    Server(String),
}

/// A cluster of its own, which ends with it.
pub(super) struct TestCluster {
    script: PathBuf,
    folder: TempDir,
    url: String,
}

/// How a server is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerEnd {
    /// Its connections are closed, and all is written.
    Fast,
    /// As by a crash.
    Immediate,
}

impl TestedDatabase {
    pub(super) async fn start(root: &Path, store: &str) -> Result<Self> {
        Ok(match store {
            "sqlite" => TestedDatabase::File,
            "postgres" => TestedDatabase::Cluster(TestCluster::start(root)?),
            url => TestedDatabase::Server(url.to_owned()),
        })
    }

    /// The address of a server.
    pub(super) fn url(&self) -> Option<&str> {
        match self {
            TestedDatabase::File => None,
            TestedDatabase::Cluster(cluster) => Some(&cluster.url),
            TestedDatabase::Server(url) => Some(url),
        }
    }

    /// The socket of a server of this machine, which a gateway can be cut off from.
    pub(super) fn socket(&self) -> Option<PathBuf> {
        match self {
            TestedDatabase::Cluster(cluster) => Some(cluster.folder.path().join(SOCKET)),
            TestedDatabase::File | TestedDatabase::Server(_) => None,
        }
    }

    /// How the checker opens it: as the gateways do. `folder` is the home of the first.
    pub(super) fn options(&self, folder: &Path) -> Result<StoreOptions> {
        Ok(match self.url() {
            Some(url) => StoreOptions::on_server(url.parse()?, folder.join("checker")),
            None => StoreOptions::new(folder.join("data/recto.db")),
        })
    }

    /// Restarts a cluster, and waits until it answers.
    pub(super) fn restart(&self, how: ServerEnd) -> Result<()> {
        match self {
            TestedDatabase::Cluster(cluster) => cluster.restart(how),
            TestedDatabase::File | TestedDatabase::Server(_) => Ok(()),
        }
    }
}

/// The name of the socket of a server on its usual port.
pub(super) const SOCKET: &str = ".s.PGSQL.5432";

impl TestCluster {
    fn start(root: &Path) -> Result<Self> {
        let (script, folder) = (root.join("scripts/test-postgres"), tempfile::tempdir()?);
        let started =
            Command::new(&script).arg("start").arg(folder.path()).args(DURABLE).output()?;
        if !started.status.success() {
            return Err(String::from_utf8_lossy(&started.stderr).into_owned().into());
        }
        let url = String::from_utf8(started.stdout)?.trim().to_owned();
        Ok(TestCluster { script, folder, url })
    }

    fn restart(&self, how: ServerEnd) -> Result<()> {
        let how = match how {
            ServerEnd::Fast => "fast",
            ServerEnd::Immediate => "immediate",
        };
        let done =
            Command::new(&self.script).arg("restart").arg(self.folder.path()).arg(how).output()?;
        match done.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&done.stderr).into_owned().into()),
        }
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        let _ = Command::new(&self.script).arg("stop").arg(self.folder.path()).status();
    }
}
