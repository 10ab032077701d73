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
#[cfg(target_os = "linux")]
pub(crate) mod system_view;

use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::sync::OnceLock;

pub(crate) use bounds::{Bounds, FileChanges, WHAT_IT_IS, without_links};
use serde::{Deserialize, Serialize};

use crate::launch::WrittenPrograms;
use crate::options::NetworkAccess;
use crate::process::memory_guard;

const MIB: u64 = 1024 * 1024;

/// What is said where there is more to write than can be allowed.
pub(crate) const OMITTED: &str =
    "what is beyond 4096 entries of a folder, or 16384 in all, can only be read";

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
    /// What a program sees of mounts and processes.
    pub view: ViewGuard,
    /// Who counts the memory that a program takes.
    pub memory: MemoryGuard,
}

/// How far programs have a view of the system of their own. Without it nothing is open that would
/// be closed with it, but everyday programs can do less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewGuard {
    /// None: modes, owners and times of files can't be changed at all.
    Missing,
    /// What may not be written is read-only, so modes and times of the rest can be changed.
    Mounts,
    /// The same, and a `/proc` with the program's own processes.
    MountsAndProcesses,
}

impl ViewGuard {
    /// The name that programs read.
    pub fn name(self) -> &'static str {
        match self {
            ViewGuard::Missing => "missing",
            ViewGuard::Mounts => "mounts",
            ViewGuard::MountsAndProcesses => "mounts_and_processes",
        }
    }
}

/// Who holds programs to their limit of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryGuard {
    /// The kernel, by a control group for each call.
    ControlGroup,
    /// Recto, by looking at the processes; with what stands in the kernel's way.
    Counted(NoControlGroup),
}

impl MemoryGuard {
    /// The name that programs read.
    pub fn name(self) -> &'static str {
        match self {
            MemoryGuard::ControlGroup => "control_group",
            MemoryGuard::Counted(_) => "counted",
        }
    }
}

/// Why programs have no control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoControlGroup {
    /// None of version 2 can be seen here.
    NotMounted,
    /// Those of version 2 don't count memory here: version 1 does, or nobody.
    NoMemory,
    /// Recto may make none where it is.
    NotDelegated,
    /// The kernel did not do as it was told.
    Refused,
}

impl fmt::Display for NoControlGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoControlGroup::NotMounted => "no control groups of version 2",
            NoControlGroup::NoMemory => "control groups of version 2 without memory",
            NoControlGroup::NotDelegated => "no control group that Recto may divide",
            NoControlGroup::Refused => "the kernel refused a control group",
        })
    }
}

impl Guards {
    /// What a program is kept from by these guards, whoever counts its memory. That depends on
    /// where Recto was started, and its limit is the same.
    pub(crate) fn what_is_confined(&self) -> String {
        let mut text = String::new();
        // Writing to a string can't fail.
        _ = self.write_confined(&mut text);
        text
    }

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
        return Guards {
            landlock: landlock_rules::probe(),
            seccomp: seccomp_rules::probe(),
            view: match system_view::probe() {
                None => ViewGuard::Missing,
                Some(system_view::OwnProc::Missing) => ViewGuard::Mounts,
                Some(system_view::OwnProc::Mounted) => ViewGuard::MountsAndProcesses,
            },
            memory: memory_guard(),
        };
        #[cfg(not(target_os = "linux"))]
        return Guards {
            landlock: None,
            seccomp: false,
            view: ViewGuard::Missing,
            memory: memory_guard(),
        };
    })
}

impl Guards {
    fn write_confined(&self, f: &mut impl fmt::Write) -> fmt::Result {
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
        f.write_str(match self.view {
            ViewGuard::MountsAndProcesses => "; modes and times of files, /proc: a view of its own",
            ViewGuard::Mounts => "; modes and times of files: a view of its own; /proc: closed",
            ViewGuard::Missing => "; modes and times of files, /proc: closed (no name spaces)",
        })
    }
}

impl fmt::Display for Guards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_confined(f)?;
        match self.memory {
            MemoryGuard::ControlGroup => f.write_str("; memory: a control group of the kernel")?,
            MemoryGuard::Counted(why) => {
                write!(f, "; memory: counted by looking at processes ({why})")?;
            }
        }
        f.write_str("; time, processes, output: limited")
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
    /// Files that are empty for the program where it has a view of its own.
    pub(crate) hidden: Vec<PathBuf>,
    /// Whether what may be written may also be executed.
    pub(crate) written: WrittenPrograms,
    /// Whether there is more that it might write than can be allowed.
    pub(crate) omits_writable: bool,
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
            executes_written: self.written == WrittenPrograms::Executed,
            omits_writable: self.omits_writable,
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
    /// Whether what may be written may also be executed.
    #[serde(default)]
    pub executes_written: bool,
    /// Whether there is more than `writes` in the folders that may be changed: more than can be
    /// allowed, so it can only be read.
    #[serde(default)]
    pub omits_writable: bool,
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
    /// `writes` are the words for what would be written.
    pub(crate) fn describe(&self, writes: &str) -> String {
        let ProgramReach { reads, executes, processes, .. } = self;
        let omitted = if self.omits_writable { format!("; {OMITTED}") } else { String::new() };
        let network = if self.network { "allowed" } else { "none" };
        let (memory, file) = (self.memory_bytes / MIB, self.file_bytes / MIB);
        let reads = join_paths(reads, ", ");
        let mut executes = join_paths(executes, ", ");
        if self.executes_written {
            executes += ", and what it may write";
        }
        format!(
            "reads: the system's programs and libraries{reads}\n\
             writes: {writes}{omitted}\n\
             executes: the system's programs{executes}\n\
             network: {network}\n\
             limits: {processes} processes, {memory} MiB of memory, {file} MiB a file\n"
        )
    }
}

/// Paths in one line, after `before` if there are any.
pub(crate) fn join_paths(paths: &[String], before: &str) -> String {
    let (shown, rest) = paths.split_at(paths.len().min(SHOWN_PATHS));
    let mut text = String::new();
    for path in shown {
        text.push_str(if text.is_empty() { before } else { ", " });
        text.push_str(&escape_path(path));
    }
    if !rest.is_empty() {
        _ = write!(text, " and {} more", rest.len());
    }
    text
}

/// A path that can't pass for more than one, or for a line of its own.
pub(crate) fn escape_path(path: &str) -> String {
    match path.contains(|c: char| c.is_control() || matches!(c, ',' | ';')) {
        true => format!("{path:?}"),
        false => path.to_owned(),
    }
}

fn lossy(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests;
