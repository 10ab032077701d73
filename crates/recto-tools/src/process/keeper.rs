//! The process that ends process groups and removes folders when Recto has ended.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::process::Pid;

use crate::launch::{KEEP, KEPT, LET_GO};

/// Knows the process groups of Recto and the folders of its programs, and the process that ends and
/// removes them if Recto can't. That one is started at the first need; if it can't be, all goes on
/// without it.
#[derive(Debug, Clone)]
pub(crate) struct Keeper(Arc<Mutex<KeeperState>>);

#[derive(Debug)]
struct KeeperState {
    executable: Option<PathBuf>,
    groups: HashSet<Pid>,
    folders: HashSet<PathBuf>,
    process: Option<Child>,
}

impl Keeper {
    /// Makes a keeper that starts this executable of Recto again.
    pub(crate) fn new(executable: Option<PathBuf>) -> Self {
        let (groups, folders, process) = (HashSet::new(), HashSet::new(), None);
        Keeper(Arc::new(Mutex::new(KeeperState { executable, groups, folders, process })))
    }

    /// The executable of Recto that is started again.
    pub(crate) fn executable(&self) -> Option<PathBuf> {
        self.0.lock().executable.clone()
    }

    /// Has the group killed should Recto end before it.
    pub(super) fn entrust_group(&self, group: Pid) {
        let mut state = self.0.lock();
        state.groups.insert(group);
        state.entrust(name_of(group).as_ref());
    }

    /// Forgets a group that has ended.
    pub(super) fn release_group(&self, group: Pid) {
        let mut state = self.0.lock();
        state.groups.remove(&group);
        // If it is gone, the next one will not hear of this group at all.
        _ = state.tell(LET_GO, name_of(group).as_ref());
    }

    /// Has the folder removed should Recto end before that is done.
    pub(crate) fn entrust_folder(&self, folder: &Path) {
        // What can't be told in a line is left to the next start.
        if folder.as_os_str().as_bytes().contains(&b'\n') {
            return;
        }
        let mut state = self.0.lock();
        state.folders.insert(folder.to_owned());
        state.entrust(folder.as_os_str());
    }

    /// Forgets a folder that is gone.
    pub(crate) fn release_folder(&self, folder: &Path) {
        let mut state = self.0.lock();
        if state.folders.remove(folder) {
            _ = state.tell(LET_GO, folder.as_os_str());
        }
    }
}

fn name_of(group: Pid) -> String {
    group.as_raw_nonzero().to_string()
}

impl KeeperState {
    /// Tells the process of something new, which it was given already.
    fn entrust(&mut self, what: &OsStr) {
        let Some(executable) = self.executable.clone() else { return };
        if self.tell(KEPT, what).is_err() {
            // It is not there yet, or somebody has ended it.
            self.restart(&executable);
        }
    }

    fn tell(&mut self, mark: char, what: &OsStr) -> io::Result<()> {
        let stdin = self.process.as_mut().and_then(|process| process.stdin.as_mut());
        let line = [mark.to_string().as_bytes(), what.as_bytes(), b"\n"].concat();
        stdin.ok_or(io::ErrorKind::NotConnected)?.write_all(&line)
    }

    /// Starts the process anew, and tells it of all groups and folders there are.
    fn restart(&mut self, executable: &Path) {
        if let Some(mut before) = self.process.take() {
            _ = before.kill();
            _ = before.wait();
        }
        self.process = start(executable).ok();
        let groups = self.groups.iter().map(|group| name_of(*group).into());
        let all: Vec<OsString> =
            groups.chain(self.folders.iter().map(|folder| folder.clone().into())).collect();
        for what in all {
            if self.tell(KEPT, &what).is_err() {
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
