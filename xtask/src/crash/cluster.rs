//! The gateways of a run: real processes, each with a home of its own, that can be killed, stopped and
//! cut off from their database.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use super::database::{DiskKind, SMALL_DISK, SOCKET, TestedDatabase};
use super::proxy::SocketProxy;
use super::shifted_clock::{ClockShifter, set_clock};
use super::small_disk::SmallDisk;
use crate::Result;
use crate::bench::http::Connection;

/// How long a gateway may take to start. It waits for its database if need be.
const START: Duration = Duration::from_secs(60);
const MOST_TRIES: usize = 5;

/// How the gateways are run.
pub(super) struct ClusterSetup {
    pub(super) binary: PathBuf,
    pub(super) model: SocketAddr,
    pub(super) nodes: usize,
    pub(super) lease: u32,
    pub(super) disk: DiskKind,
    /// What stands between them and their clock, if that is to be moved.
    pub(super) clock: Option<ClockShifter>,
}

/// The gateways.
pub(super) struct Cluster {
    binary: PathBuf,
    clock: Option<ClockShifter>,
    /// The disk of a database that is a file, if it can be filled up.
    disk: Option<SmallDisk>,
    folder: Option<TempDir>,
    nodes: Vec<Mutex<ClusterNode>>,
    /// Where each answers now; none while it is dead.
    addresses: Vec<AddressCell>,
}

/// A gateway.
struct ClusterNode {
    number: usize,
    home: PathBuf,
    child: Option<Child>,
    proxy: Option<SocketProxy>,
}

/// An address that others read while it changes.
#[derive(Default)]
struct AddressCell(std::sync::Mutex<Option<SocketAddr>>);

impl AddressCell {
    fn get(&self) -> Option<SocketAddr> {
        self.0.lock().ok().and_then(|address| *address)
    }

    fn set(&self, to: Option<SocketAddr>) {
        if let Ok(mut address) = self.0.lock() {
            *address = to;
        }
    }
}

impl Cluster {
    /// Starts all gateways, and waits until they are ready.
    pub(super) async fn start(setup: ClusterSetup, database: &TestedDatabase) -> Result<Self> {
        let ClusterSetup { binary, model, nodes, lease, disk, clock } = setup;
        let folder = tempfile::tempdir()?;
        let mut cluster = Cluster {
            binary,
            clock,
            disk: None,
            nodes: Vec::new(),
            addresses: (0..nodes).map(|_| AddressCell::default()).collect(),
            folder: None,
        };
        for number in 0..nodes {
            let home = folder.path().join(format!("node-{number}"));
            fs::create_dir_all(home.join("data"))?;
            set_clock(&home, 0)?;
            if disk == DiskKind::Small && database.url().is_none() {
                cluster.disk = Some(SmallDisk::mount(&home.join("data"), SMALL_DISK)?);
            }
            let proxy = match database.socket() {
                Some(socket) => Some(SocketProxy::start(home.join(SOCKET), socket)?),
                None => None,
            };
            fs::write(
                home.join("config.toml"),
                config(database, &home, proxy.is_some(), model, lease),
            )?;
            cluster.nodes.push(Mutex::new(ClusterNode { number, home, child: None, proxy }));
        }
        cluster.folder = Some(folder);
        for number in 0..nodes {
            cluster.revive(number).await?;
        }
        Ok(cluster)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Where one answers, unless it is dead.
    pub(super) fn address(&self, node: usize) -> Option<SocketAddr> {
        self.addresses.get(node).and_then(AddressCell::get)
    }

    /// The home of the first.
    pub(super) fn folder(&self) -> PathBuf {
        let folder = self.folder.as_ref().map_or(Path::new("."), TempDir::path);
        folder.join("node-0")
    }

    /// Starts a gateway that is dead, and waits until it is ready.
    pub(super) async fn revive(&self, node: usize) -> Result<()> {
        let mut state = self.nodes[node].lock().await;
        if state.child.is_some() {
            return Ok(());
        }
        let mut tries = 0;
        let address = loop {
            tries += 1;
            match timeout(START, state.spawn(&self.binary, self.clock.as_ref())).await? {
                // Its database may be away for longer than it waits.
                Err(error) if tries < MOST_TRIES => {
                    eprintln!("{error}; it is tried again");
                }
                started => break started?,
            }
        };
        self.addresses[node].set(Some(address));
        Ok(())
    }

    /// Kills a gateway as nothing else does: no signal is handled, nothing is closed.
    pub(super) async fn kill(&self, node: usize) -> Result<()> {
        let mut state = self.nodes[node].lock().await;
        self.addresses[node].set(None);
        if let Some(mut child) = state.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Stops a gateway for a time: it does nothing, and notices nothing.
    pub(super) async fn pause(&self, node: usize, span: Duration) -> Result<()> {
        let state = self.nodes[node].lock().await;
        if let Some(child) = &state.child {
            signal(child, "-STOP")?;
            sleep(span).await;
            signal(child, "-CONT")?;
        }
        Ok(())
    }

    /// Cuts a gateway off from its database for a time.
    pub(super) async fn cut(&self, node: usize, span: Duration) -> Result<()> {
        let state = self.nodes[node].lock().await;
        if let Some(proxy) = &state.proxy {
            proxy.cut();
            sleep(span).await;
            proxy.mend();
        }
        Ok(())
    }

    /// Sets the clock of a gateway so many seconds forward, or back.
    pub(super) async fn move_clock(&self, node: usize, seconds: i64) -> Result<()> {
        set_clock(&self.nodes[node].lock().await.home, seconds)
    }

    /// The disk of a database that is a file, if it can be filled up.
    pub(super) fn disk(&self) -> Option<&SmallDisk> {
        self.disk.as_ref()
    }

    /// Puts everything right: all gateways run.
    pub(super) async fn mend(&self) -> Result<()> {
        for node in 0..self.count() {
            self.revive(node).await?;
        }
        Ok(())
    }

    /// Leaves the homes with their logs where they are, and says where.
    pub(super) fn keep_logs(&self) {
        if let Some(folder) = &self.folder {
            let kept = std::env::temp_dir().join(format!("recto-crash-{}", std::process::id()));
            let copied = Command::new("cp").arg("-r").arg(folder.path()).arg(&kept).status();
            if copied.is_ok_and(|status| status.success()) {
                eprintln!("what the gateways said is in {}", kept.display());
            }
        }
    }
}

impl ClusterNode {
    async fn spawn(&mut self, binary: &Path, clock: Option<&ClockShifter>) -> Result<SocketAddr> {
        let log = File::options().create(true).append(true).open(self.home.join("stderr.log"))?;
        let mut command = Command::new(binary);
        if let Some(clock) = clock {
            clock.stand_before(&mut command, &self.home);
        }
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("RECTO_HOME", &self.home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let said = child.stdout.take().ok_or("the gateway has no output")?;
        self.child = Some(child);
        // It may wait for a database that is just being restarted.
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(said).read_line(&mut line).map(|_| line)
        });
        let line = line.await??;
        let address = line.split("http://").nth(1).and_then(|rest| rest.trim().strip_suffix('/'));
        match address {
            Some(address) => {
                let address = address.parse()?;
                Connection::open(address).await?.get("/healthz").await?;
                Ok(address)
            }
            None => {
                if let Some(mut child) = self.child.take() {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                Err(format!("gateway {} did not start", self.number).into())
            }
        }
    }
}

impl Drop for ClusterNode {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn signal(child: &Child, signal: &str) -> Result<()> {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status()?;
    match sent.success() {
        true => Ok(()),
        false => Err(format!("the signal {signal} could not be sent").into()),
    }
}

fn config(
    database: &TestedDatabase,
    home: &Path,
    has_proxy: bool,
    model: SocketAddr,
    lease: u32,
) -> String {
    let url = match (database.url(), has_proxy) {
        (Some(_), true) => Some(format!("postgres://recto@/postgres?host={}", home.display())),
        (Some(url), false) => Some(url.to_owned()),
        (None, _) => None,
    };
    let store = url.map(|url| format!("[store]\nurl = '{url}'\nlease_seconds = {lease}\n\n"));
    format!(
        "[models.echo]\nprovider = \"openai\"\nbase_url = \"http://{model}/v1\"\nmodel = \"echo\"\n\
         window = 32768\n\n{}[server]\ngrace = 1\n\n[log]\nlevel = \"warn\"\n",
        store.unwrap_or_default()
    )
}
