//! The confinement of programs: what they may reach, and which guards of this machine
//! hold them to it.
//!
//! Here it is worked out and told to people; `launch` takes it on. Nothing here
//! looks at what a program does: the kernel does that.

mod bounds;
#[cfg(target_os = "linux")]
pub(crate) mod capabilities;
#[cfg(target_os = "linux")]
pub(crate) mod landlock_rules;
#[cfg(target_os = "linux")]
pub(crate) mod seccomp_rules;
#[cfg(target_os = "linux")]
mod system_paths;

use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::sync::OnceLock;

pub(crate) use bounds::{Bounds, WHAT_IT_IS, without_links};
use serde::{Deserialize, Serialize};

use crate::options::NetworkAccess;

const MIB: u64 = 1024 * 1024;

/// Paths of one kind that a person is shown at most.
const SHOWN_PATHS: usize = 24;

/// Landlock's version that keeps signals inside.
pub(crate) const KNOWS_SIGNALS: u32 = 6;

/// The guards that hold on this machine for the programs of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guards {
    /// The version of Landlock, which confines files.
    pub landlock: Option<u32>,
    /// Whether seccomp closes the network and other ways out.
    pub seccomp: bool,
}

impl Guards {
    /// Whether all hold, as `tools.sandbox = "required"` wants it. An older
    /// Landlock does not: under it a program can end Recto by a signal.
    pub fn all_hold(&self) -> bool {
        self.landlock.is_some_and(|version| version >= KNOWS_SIGNALS) && self.seccomp
    }
}

/// Finds out once which guards hold on this machine.
pub fn guards() -> Guards {
    static GUARDS: OnceLock<Guards> = OnceLock::new();
    *GUARDS.get_or_init(|| {
        #[cfg(target_os = "linux")]
        return Guards { landlock: landlock_rules::probe(), seccomp: seccomp_rules::probe() };
        #[cfg(not(target_os = "linux"))]
        return Guards { landlock: None, seccomp: false };
    })
}

impl fmt::Display for Guards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.landlock {
            Some(version) => write!(f, "files: Landlock {version}")?,
            None => f.write_str("files: not confined (no Landlock)")?,
        }
        f.write_str(match self.seccomp {
            true => "; network and other processes: seccomp",
            false => "; network and other processes: not confined (no seccomp)",
        })?;
        if self.landlock.is_some_and(|version| version < KNOWS_SIGNALS) {
            f.write_str("; signals: not confined (Landlock 6 does it)")?;
        }
        f.write_str("; time, memory, processes, output: limited")
    }
}

/// The paths, network and resources that a program may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Confinement {
    /// May be read with all that is in it, besides the system's own folders. No
    /// path here goes through a link.
    pub(crate) read: Vec<PathBuf>,
    /// May be read and written.
    pub(crate) write: Vec<PathBuf>,
    /// May be read and executed.
    pub(crate) execute: Vec<PathBuf>,
    pub(crate) network: NetworkAccess,
    pub(crate) resources: ResourceLimits,
}

/// The limits on how much of the machine a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResourceLimits {
    /// Processes at a time, the program itself included.
    pub(crate) processes: usize,
    /// Threads at a time, of all its processes.
    pub(crate) threads: usize,
    /// Bytes of memory in use, by all its processes together.
    pub(crate) memory: u64,
    /// Bytes that one process may have of its own, in use or not.
    pub(crate) data: u64,
    /// Bytes that one process may map. Some runtimes map far more than they use.
    pub(crate) address_space: u64,
    /// Bytes of a single file.
    pub(crate) file_size: u64,
    /// Files that one process has open.
    pub(crate) open_files: u64,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        ResourceLimits {
            processes: 64,
            threads: 512,
            memory: 2048 * MIB,
            data: 4096 * MIB,
            address_space: 64 * 1024 * MIB,
            file_size: 1024 * MIB,
            open_files: 1024,
        }
    }
}

impl Confinement {
    /// The same as people and programs are told of it.
    pub(crate) fn reach(&self) -> ProgramReach {
        ProgramReach {
            reads: lossy(&self.read),
            writes: lossy(&self.write),
            executes: lossy(&self.execute),
            network: self.network == NetworkAccess::Granted,
            processes: self.resources.processes,
            memory_bytes: self.resources.memory,
            file_bytes: self.resources.file_size,
        }
    }
}

/// How far a program reaches, as it is told: paths that are no text are shown as
/// near to it as they can be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramReach {
    /// May be read, besides the system's programs and libraries.
    pub reads: Vec<String>,
    /// May be read and written.
    pub writes: Vec<String>,
    /// May be read and executed, besides the system's programs.
    pub executes: Vec<String>,
    /// Whether the network may be used.
    pub network: bool,
    /// Processes at a time.
    pub processes: usize,
    /// Bytes of memory in use, by all its processes together.
    pub memory_bytes: u64,
    /// Bytes of a single file.
    pub file_bytes: u64,
}

impl ProgramReach {
    /// Describes it to a person, with a line for each kind.
    pub(crate) fn describe(&self) -> String {
        let ProgramReach { reads, writes, executes, processes, .. } = self;
        let network = if self.network { "allowed" } else { "none" };
        let (memory, file) = (self.memory_bytes / MIB, self.file_bytes / MIB);
        let writes = if writes.is_empty() { "nothing" } else { &listed(writes, "") };
        let (reads, executes) = (listed(reads, ", "), listed(executes, ", "));
        format!(
            "reads: the system's programs and libraries{reads}\n\
             writes: {writes}\n\
             executes: the system's programs{executes}\n\
             network: {network}\n\
             limits: {processes} processes, {memory} MiB of memory, {file} MiB a file\n"
        )
    }
}

/// Paths in one line, after `before` if there are any.
fn listed(paths: &[String], before: &str) -> String {
    let (shown, rest) = paths.split_at(paths.len().min(SHOWN_PATHS));
    let mut text = String::new();
    for path in shown {
        text.push_str(if text.is_empty() { before } else { ", " });
        text.push_str(&escaped(path));
    }
    if !rest.is_empty() {
        _ = write!(text, " and {} more", rest.len());
    }
    text
}

/// A path that can't pass for more than one, or for a line of its own.
fn escaped(path: &str) -> String {
    match path.contains(|c: char| c.is_control() || c == ',') {
        true => format!("{path:?}"),
        false => path.to_owned(),
    }
}

fn lossy(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests;
