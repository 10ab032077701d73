//! The process that ends process groups when Recto has ended.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::process::Pid;

use crate::launch::{KEEP, KEPT, LET_GO};

/// Knows the process groups of Recto, and the process that ends them if Recto
/// can't. That one is started at the first need; if it can't be, all goes on
/// without it.
#[derive(Debug, Clone)]
pub(crate) struct Keeper(Arc<Mutex<KeeperState>>);

#[derive(Debug)]
struct KeeperState {
    executable: Option<PathBuf>,
    groups: HashSet<Pid>,
    process: Option<Child>,
}

impl Keeper {
    /// Makes a keeper that starts this executable of Recto again.
    pub(crate) fn new(executable: Option<PathBuf>) -> Self {
        let (groups, process) = (HashSet::new(), None);
        Keeper(Arc::new(Mutex::new(KeeperState { executable, groups, process })))
    }

    /// The executable of Recto that is started again.
    pub(crate) fn executable(&self) -> Option<PathBuf> {
        self.0.lock().executable.clone()
    }

    /// Has the group killed should Recto end before it.
    pub(super) fn entrust_group(&self, group: Pid) {
        let mut state = self.0.lock();
        let Some(executable) = state.executable.clone() else { return };
        state.groups.insert(group);
        if state.tell(KEPT, group).is_err() {
            // It is not there yet, or somebody has ended it.
            state.restart(&executable);
        }
    }

    /// Forgets a group that has ended.
    pub(super) fn release_group(&self, group: Pid) {
        let mut state = self.0.lock();
        state.groups.remove(&group);
        // If it is gone, the next one will not hear of this group at all.
        _ = state.tell(LET_GO, group);
    }
}

impl KeeperState {
    fn tell(&mut self, what: char, group: Pid) -> io::Result<()> {
        let stdin = self.process.as_mut().and_then(|process| process.stdin.as_mut());
        let line = format!("{what}{}\n", group.as_raw_nonzero());
        stdin.ok_or(io::ErrorKind::NotConnected)?.write_all(line.as_bytes())
    }

    /// Starts the process anew, and tells it of all groups there are.
    fn restart(&mut self, executable: &Path) {
        if let Some(mut before) = self.process.take() {
            _ = before.kill();
            _ = before.wait();
        }
        self.process = start(executable).ok();
        for group in self.groups.clone() {
            if self.tell(KEPT, group).is_err() {
                return;
            }
        }
    }
}

impl Drop for KeeperState {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // Without its stdin it does its work and ends.
            process.stdin = None;
            _ = process.wait();
        }
    }
}

/// In a group of its own, so that what a terminal sends does not reach it, and
/// in the root folder, so that it holds no other one.
fn start(executable: &Path) -> io::Result<Child> {
    Command::new(executable)
        .arg(KEEP)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}
