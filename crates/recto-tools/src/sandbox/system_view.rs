//! A program's own view of the system: its mounts and its `/proc`.
//!
//! Landlock says who opens a file for what; it says nothing of modes, owners and times, which can
//! be changed by a path or through a file that is open for reading only. So in the program's own
//! name space all mounts are read-only but those of what it may write. Its `/proc` shows its own
//! processes and none else.
//!
//! This is done by a process that is inside already, before Landlock, which forbids all mounting.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount,
};

use super::system_paths;
use crate::launch::{ENCLOSE, LaunchSpec, PROBE, WITHOUT_NETWORK, own_executable};

/// What the processes of a program are shown in.
const PROC: &str = "/proc";

/// What stands in the place of a file that is hidden.
const NOTHING: &str = "/dev/null";

/// What stands in the place of `/dev/zero`: it gives zeros as well, but can't be mapped. Mapped,
/// the other one gives memory that no limit counts.
const ZEROS: &str = "/dev/full";

/// Files of `/proc` that tell of the whole machine what no program needs.
const MASKED: [&str; 14] = [
    "cmdline",
    "kallsyms",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "kpagecount",
    "kpageflags",
    "latency_stats",
    "modules",
    "sched_debug",
    "slabinfo",
    "sysrq-trigger",
    "timer_list",
];

/// What a probe says that could arrange its mounts, without and with a `/proc`.
const ARRANGED: &str = "the view is arranged";
const WITH_PROC: &str = "the view is arranged, with processes";

/// Whether a program's view has a `/proc` of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnProc {
    /// The kernel has none to give, as inside some containers.
    Missing,
    /// With the program's processes only.
    Mounted,
}

/// Arranges the mounts of this process's name space for a program.
pub(crate) fn arrange(spec: &LaunchSpec) -> io::Result<OwnProc> {
    arrange_mounts(&spec.write, &spec.hidden)
}

/// Whether programs can have a view of their own here, found out by arranging one.
pub(super) fn probe() -> Option<OwnProc> {
    let mut probe = Command::new(own_executable()?);
    probe.args([ENCLOSE, WITHOUT_NETWORK, PROBE]).env_clear().current_dir("/");
    let output = probe.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    match std::str::from_utf8(&output.stdout).ok()?.trim_end() {
        ARRANGED => Some(OwnProc::Missing),
        WITH_PROC => Some(OwnProc::Mounted),
        _ => None,
    }
}

/// What the process says that a probe has started.
pub(crate) fn tell_probe() -> ExitCode {
    use std::io::Write as _;
    let text = match arrange_mounts(&[], &[]) {
        Ok(OwnProc::Mounted) => WITH_PROC,
        Ok(OwnProc::Missing) => ARRANGED,
        Err(_) => return ExitCode::FAILURE,
    };
    match writeln!(io::stdout(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn arrange_mounts(write: &[PathBuf], hidden: &[PathBuf]) -> io::Result<OwnProc> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let before = fs::read("/proc/self/mountinfo")?;
    let write = outermost(write);
    for path in &write {
        // A mount of its own, which stays writable. What has gone since gets none.
        if let Some(opened) = open(path) {
            let name = name_of(&opened);
            mount_bind_recursive(&name, &name)?;
        }
    }
    for MountPoint { path, flags } in
        before.split(|byte| *byte == b'\n').filter_map(MountPoint::parse)
    {
        if !write.iter().any(|writable| path.starts_with(writable)) {
            make_read_only(&path, flags)?;
        }
    }
    for path in hidden {
        if let Some(opened) = open(path) {
            mount_bind(NOTHING, name_of(&opened))?;
        }
    }
    mount_bind(ZEROS, system_paths::ZERO)?;
    // The folder that it stands in is another one by now, under what was mounted over it.
    std::env::set_current_dir(std::env::current_dir()?)?;
    Ok(mount_proc())
}

/// The paths that are in none of the others.
fn outermost(paths: &[PathBuf]) -> Vec<&PathBuf> {
    let all: HashSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let is_inside = |path: &Path| path.ancestors().skip(1).any(|above| all.contains(above));
    paths.iter().filter(|path| !is_inside(path)).collect()
}

/// Opens a path that had its links resolved when it was checked.
fn open(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()
}

/// A name for an open file that nobody can give to another one.
fn name_of(opened: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", opened.as_raw_fd()).into()
}

fn make_read_only(path: &Path, flags: MountFlags) -> io::Result<()> {
    match mount_remount(path, flags | MountFlags::BIND | MountFlags::RDONLY, "") {
        // Another mount stands over it, or nobody gets there: neither does the program.
        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::INVAL) => Ok(()),
        Err(error) => {
            let what = format!("{} can't be made read-only: {error}", path.display());
            Err(io::Error::other(what))
        }
    }
}

fn mount_proc() -> OwnProc {
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if mount("proc", PROC, "proc", flags, None).is_err() {
        return OwnProc::Missing;
    }
    for name in MASKED {
        // Not every kernel has all of them.
        _ = mount_bind(NOTHING, Path::new(PROC).join(name));
    }
    OwnProc::Mounted
}

/// A mount, as `/proc/self/mountinfo` tells of it.
#[derive(Debug, PartialEq, Eq)]
struct MountPoint {
    path: PathBuf,
    /// What it has beside its being read-only or not. The kernel lets nobody drop these who did
    /// not mount it.
    flags: MountFlags,
}

impl MountPoint {
    /// The line is `36 35 98:0 /root /place rw,noatime master:1 - ext3 /dev/root rw`.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let path = unescaped(fields.nth(4)?).into();
        let options = std::str::from_utf8(fields.next()?).ok()?;
        let flags = options.split(',').map(|option| match option {
            "nosuid" => MountFlags::NOSUID,
            "nodev" => MountFlags::NODEV,
            "noexec" => MountFlags::NOEXEC,
            "noatime" => MountFlags::NOATIME,
            "nodiratime" => MountFlags::NODIRATIME,
            "relatime" => MountFlags::RELATIME,
            "nosymfollow" => MountFlags::NOSYMFOLLOW,
            _ => MountFlags::empty(),
        });
        Some(MountPoint { path, flags: flags.collect() })
    }
}

/// A name in which blanks and the like are written as `\040`.
fn unescaped(text: &[u8]) -> OsString {
    let mut name = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = (*first == b'\\').then(|| after.get(..3)).flatten();
        let byte = digits
            .and_then(|digits| u8::from_str_radix(OsStr::from_bytes(digits).to_str()?, 8).ok());
        name.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_with_what_they_have() {
        let line = b"36 35 98:0 /mnt1 /a\\040b\\134 ro,nosuid,noatime master:1 - ext3 /dev/root rw";
        let flags = MountFlags::NOSUID | MountFlags::NOATIME;
        assert_eq!(MountPoint::parse(line), Some(MountPoint { path: "/a b\\".into(), flags }));
        assert_eq!(MountPoint::parse(b""), None);
        assert_eq!(MountPoint::parse(b"36 35 98:0 /"), None);
        assert_eq!(unescaped(b"a\\0"), "a\\0");
    }

    #[test]
    fn a_path_inside_another_needs_no_mount() {
        let paths = ["/w/a", "/w/a/b", "/w/ab", "/w"].map(PathBuf::from);
        assert_eq!(outermost(&paths[..3]), [&paths[0], &paths[2]]);
        assert_eq!(outermost(&paths), [&paths[3]]);
    }
}
