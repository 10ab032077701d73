//! The database that is under fire: a file, a cluster of PostgreSQL that this run has started, or
//! somebody's server.

use std::path::{Path, PathBuf};
use std::process::Command;

use recto_store::StoreOptions;
use tempfile::TempDir;

use super::small_disk::SmallDisk;
use crate::Result;

/// What a cluster is to do other than for tests: what it has acknowledged survives its own crash.
const DURABLE: [&str; 2] = ["synchronous_commit=on", "fsync=on"];

/// The size of a small disk, in megabytes: enough for what a run stores.
pub(super) const SMALL_DISK: u32 = 640;

/// What the database is kept on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiskKind {
    /// The disk of the machine.
    Usual,
    /// One of its own, which can be filled up.
    Small,
}

/// The database of a run.
pub(super) enum TestedDatabase {
    File,
    Cluster(TestCluster),
    Server(String),
}

/// A cluster of its own, which ends with it.
pub(super) struct TestCluster {
    script: PathBuf,
    url: String,
    disk: Option<SmallDisk>,
    folder: TempDir,
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
    pub(super) async fn start(root: &Path, store: &str, disk: DiskKind) -> Result<Self> {
        Ok(match store {
            "sqlite" => TestedDatabase::File,
            "postgres" => TestedDatabase::Cluster(TestCluster::start(root, disk)?),
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

    /// The disk that can be filled up, where the database is a cluster that has one.
    pub(super) fn disk(&self) -> Option<&SmallDisk> {
        match self {
            TestedDatabase::Cluster(cluster) => cluster.disk.as_ref(),
            TestedDatabase::File | TestedDatabase::Server(_) => None,
        }
    }

    /// Starts a cluster that has given up.
    pub(super) fn revive(&self) -> Result<()> {
        match self {
            TestedDatabase::Cluster(cluster) if !cluster.is_running() => {
                cluster.restart(ServerEnd::Immediate)
            }
            _ => Ok(()),
        }
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
    fn start(root: &Path, disk: DiskKind) -> Result<Self> {
        let (script, folder) = (root.join("scripts/test-postgres"), tempfile::tempdir()?);
        let disk = match disk {
            DiskKind::Usual => None,
            DiskKind::Small => Some(SmallDisk::mount(folder.path(), SMALL_DISK)?),
        };
        let started =
            Command::new(&script).arg("start").arg(folder.path()).args(DURABLE).output()?;
        if !started.status.success() {
            return Err(String::from_utf8_lossy(&started.stderr).into_owned().into());
        }
        let url = String::from_utf8(started.stdout)?.trim().to_owned();
        Ok(TestCluster { script, url, disk, folder })
    }

    /// Whether its first process is there. One that finds no room for its log ends.
    fn is_running(&self) -> bool {
        let file = self.folder.path().join("data/postmaster.pid");
        let process = std::fs::read_to_string(file).ok();
        let process = process.as_deref().and_then(|text| text.lines().next()).map(str::trim);
        process.is_some_and(|process| Path::new("/proc").join(process).exists())
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
