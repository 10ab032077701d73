//! `recto serve` as benchmarks run it: a process of its own, with a home of its own and a model
//! that answers at once.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::http::Connection;
use crate::Result;

/// A server that runs until it is dropped.
pub(super) struct ServedHome {
    child: Child,
    /// Where it answers.
    pub(super) address: SocketAddr,
    /// The time from its start to its first answer that it is ready.
    pub(super) ready_after: Duration,
    _home: TempDir,
}

impl ServedHome {
    /// Starts a server, and waits until it is ready.
    pub(super) async fn start(recto: &Path) -> Result<Self> {
        ServedHome::start_with(recto, "", &[]).await
    }

    /// The same with more in its config, and with variables.
    pub(super) async fn start_with(
        recto: &Path,
        settings: &str,
        variables: &[(&str, &str)],
    ) -> Result<Self> {
        let home = tempfile::tempdir()?;
        // What is counted here is the server's own work, not that of its log's reader.
        let config = format!(
            "[models.echo]\nprovider = \"scripted\"\n\n[log]\nlevel = \"warn\"\n\n{settings}"
        );
        fs::write(home.path().join("config.toml"), config)?;
        let begun = Instant::now();
        let mut child = Command::new(recto)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("RECTO_HOME", home.path())
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let said = child.stdout.take().ok_or("the server has no output")?;
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        let address = line.split("http://").nth(1).and_then(|rest| rest.trim().strip_suffix('/'));
        let address: SocketAddr = address.ok_or("the server did not say where it is")?.parse()?;
        let mut connection = Connection::open(address).await?;
        connection.get("/readyz").await?;
        Ok(ServedHome { child, address, ready_after: begun.elapsed(), _home: home })
    }

    /// The memory that it has in use, in bytes.
    pub(super) fn resident_bytes(&self) -> Result<u64> {
        self.memory_bytes("VmRSS:")
    }

    /// The part of it that is not pages of files, such as the program's own.
    pub(super) fn own_bytes(&self) -> Result<u64> {
        self.memory_bytes("RssAnon:")
    }

    fn memory_bytes(&self, kind: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(kind));
        let kilobytes = line.and_then(|line| line.split_whitespace().next());
        Ok(kilobytes.ok_or("the kernel does not say what memory it has")?.parse::<u64>()? << 10)
    }

    /// The processor time that it has used, in seconds.
    pub(super) fn processor_seconds(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // Behind the name, which may have blanks: the 12th and 13th are user and system time.
        let fields = stat.rsplit(") ").next().unwrap_or_default();
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
        // Linux counts a hundredth of a second to programs, whatever it does itself.
        Ok(ticks as f64 / 100.0)
    }
}

impl Drop for ServedHome {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
