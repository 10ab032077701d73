//! Control groups of the kernel, version 2: one for each run of a program.
//!
//! The kernel counts all memory that the group takes, whoever of it has it and in whatever form:
//! shared, in sockets and pipes, in files that are kept in memory. What takes more is killed there
//! and then. Where no such group can be had, the watch counts what `/proc` shows; see `watch`.
//!
//! A program joins its group before it is confined (`launch::join`), and can't leave it: it has no
//! way to write where groups are. Groups that a Recto left which was killed are removed by the next.

mod place;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::{Access, access};

use crate::launch::{JOIN, JOINED, own_executable};
use crate::sandbox::{MemoryGuard, NoControlGroup, ResourceLimits};
use place::{GroupTree, own_tree};

/// Begins the name of every group that a program runs in.
const PREFIX: &str = "recto-call-";

/// Tasks of Recto's own in the group of a program, and a few more.
const OWN_TASKS: usize = 8;

/// Looks whether a group is empty, at most, and the time between two.
const LOOKS: usize = 200;
const BETWEEN: Duration = Duration::from_millis(10);

/// Who holds programs to their limit of memory on this machine.
pub(crate) fn memory_guard() -> MemoryGuard {
    match parent() {
        Ok(_) => MemoryGuard::ControlGroup,
        Err(why) => MemoryGuard::Counted(*why),
    }
}

/// The group in which those of calls are made, found out and prepared once.
fn parent() -> Result<&'static Path, &'static NoControlGroup> {
    static PARENT: OnceLock<Result<PathBuf, NoControlGroup>> = OnceLock::new();
    PARENT.get_or_init(find_parent).as_deref()
}

fn find_parent() -> Result<PathBuf, NoControlGroup> {
    let own = own_tree().ok_or(NoControlGroup::NotMounted)?;
    let tree = GroupTree { own: &own.group, mount: &own.mount, is_own: &is_descendant };
    let place = tree.decide(|path| access(path, Access::WRITE_OK).is_ok())?;
    let parent = place.prepare().map_err(|_| NoControlGroup::Refused)?;
    let owner = GroupOwner::this_process().ok_or(NoControlGroup::Refused)?;
    remove_abandoned(&parent, &owner);
    let group = CallGroup::create(&parent, &owner, ResourceLimits::default());
    match group.is_ok_and(|group| can_be_joined(group.path())) {
        true => Ok(parent),
        false => Err(NoControlGroup::Refused),
    }
}

/// Whether a process that is started can move itself into a group; found out by starting one.
fn can_be_joined(group: &Path) -> bool {
    let Some(own) = own_executable() else { return false };
    let mut probe = Command::new(own);
    probe.arg(JOIN).arg(group).env_clear().current_dir("/");
    let output = probe.stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.is_ok_and(|output| output.stdout == JOINED.as_bytes())
}

/// The group of one run of a program. When it is dropped, all that is in it is killed, and it is
/// removed.
#[derive(Debug)]
pub(crate) struct CallGroup {
    path: PathBuf,
    memory: u64,
}

impl CallGroup {
    /// Makes one with these limits; `None` where this machine has none to give.
    pub(super) fn for_call(limits: ResourceLimits) -> io::Result<Option<Self>> {
        let Ok(parent) = parent() else { return Ok(None) };
        let owner = GroupOwner::this_process().ok_or(io::ErrorKind::NotFound)?;
        CallGroup::create(parent, &owner, limits).map(Some)
    }

    fn create(parent: &Path, owner: &GroupOwner, limits: ResourceLimits) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = owner.group_name(NEXT.fetch_add(1, Ordering::Relaxed));
        let group = CallGroup { path: parent.join(name), memory: limits.memory };
        fs::create_dir(&group.path)?;
        group.set("memory.max", &limits.memory.to_string())?;
        // All of it goes at once: what is left of a program is of no use to anybody.
        group.set("memory.oom.group", "1")?;
        group.set("pids.max", &(limits.threads + OWN_TASKS).to_string())?;
        match group.set("memory.swap.max", "0") {
            // A kernel that has no swap has no limit for it.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(group),
        }
    }

    /// Its folder, which a process joins it by.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes that it was allowed, if the kernel has killed it for taking more.
    pub(crate) fn exceeded_memory(&self) -> Option<u64> {
        let events = fs::read_to_string(self.path.join("memory.events")).unwrap_or_default();
        is_killed_for_memory(&events).then_some(self.memory)
    }

    /// The file has to be there: only the kernel makes one.
    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        place::write_setting(&self.path.join(file), value)
    }
}

impl Drop for CallGroup {
    fn drop(&mut self) {
        if end_group(&self.path) {
            return;
        }
        // Processes take a moment to end, and nobody has to wait for that.
        let path = self.path.clone();
        let remove = move || {
            let _ = (0..LOOKS).any(|_| {
                thread::sleep(BETWEEN);
                end_group(&path)
            });
        };
        _ = thread::Builder::new().name("recto-groups".to_owned()).spawn(remove);
    }
}

/// Kills all processes of a group and removes it; whether it is gone.
fn end_group(path: &Path) -> bool {
    if fs::remove_dir(path).is_ok() || !path.exists() {
        return true;
    }
    // Linux 5.14 has it. Before that, a program ends with its process group alone.
    _ = place::write_setting(&path.join("cgroup.kill"), "1");
    fs::remove_dir(path).is_ok()
}

/// The lines are `oom_kill 1`: how many were killed, and under `oom` how often it was because of
/// the group's own limit. When the whole machine has no memory left, there are kills alone.
fn is_killed_for_memory(events: &str) -> bool {
    let has = |name: &str| {
        let count = |line: &str| line.strip_prefix(name)?.trim().parse::<u64>().ok();
        events.lines().find_map(count).is_some_and(|count| count > 0)
    };
    has("oom ") && has("oom_kill ")
}

/// The process whose groups these are, known by what no other has: the number alone comes back
/// after a while, and elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GroupOwner {
    /// The name space in which its number counts.
    space: u64,
    process: u32,
    /// When it began, as the kernel counts.
    begun: u64,
}

impl GroupOwner {
    fn this_process() -> Option<Self> {
        let process = std::process::id();
        let space = fs::metadata("/proc/self/ns/pid").ok()?.ino();
        Some(GroupOwner { space, process, begun: process_stat(process)?.begun })
    }

    fn group_name(&self, number: u64) -> String {
        format!("{PREFIX}{}-{}-{}-{number}", self.space, self.process, self.begun)
    }

    fn from_group_name(name: &str) -> Option<Self> {
        let mut numbers = name.strip_prefix(PREFIX)?.split('-');
        let space = numbers.next()?.parse().ok()?;
        let process = numbers.next()?.parse().ok()?;
        Some(GroupOwner { space, process, begun: numbers.next()?.parse().ok()? })
    }

    fn is_running(&self) -> bool {
        process_stat(self.process).is_some_and(|stat| stat.begun == self.begun)
    }
}

/// Removes the groups of processes that have ended without doing so. Whether one of another name
/// space has ended can't be seen from here.
fn remove_abandoned(parent: &Path, own: &GroupOwner) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let owner = entry.file_name().to_str().and_then(GroupOwner::from_group_name);
        if owner.is_some_and(|owner| owner.space == own.space && !owner.is_running()) {
            // What was left in it ends now; who empties it next removes it.
            _ = (0..LOOKS).any(|look| {
                thread::sleep(BETWEEN * u32::from(look > 0));
                end_group(&entry.path())
            });
        }
    }
}

/// Whether a process is this one, or one that came of it.
fn is_descendant(process: u32) -> bool {
    let own = std::process::id();
    let mut process = process;
    while process != own {
        match process_stat(process) {
            Some(stat) if stat.parent != 0 => process = stat.parent,
            _ => return false,
        }
    }
    true
}

/// What of `/proc/…/stat` tells whose a process is.
#[derive(Debug, PartialEq, Eq)]
struct ProcessStat {
    parent: u32,
    begun: u64,
}

fn process_stat(process: u32) -> Option<ProcessStat> {
    ProcessStat::parse(&fs::read(format!("/proc/{process}/stat")).ok()?)
}

impl ProcessStat {
    /// The line is `42 (name) S 41 …`, and the name may hold anything.
    fn parse(line: &[u8]) -> Option<Self> {
        let end = line.iter().rposition(|byte| *byte == b')')?;
        let fields = std::str::from_utf8(line.get(end + 1..)?).ok()?;
        let mut fields = fields.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        Some(ProcessStat { parent, begun: fields.nth(17)?.parse().ok()? })
    }
}
