//! Landlock and seccomp hold for a thread as they do for a process; so a thread
//! takes them on here and tries what it must not.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::net::UdpSocket;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::thread;

use super::super::system_view::OwnProc;
use super::super::{Bounds, FileChanges, guards, landlock_rules, seccomp_rules};
use crate::launch::{KernelLimits, LaunchSpec, SystemView, WrittenPrograms};
use crate::options::{Grants, NetworkAccess, SandboxPolicy};

/// A workspace with something of everything, and something beside it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        let folders = ["notes", "skills/x", "memory"].map(|name| format!("workspace/{name}"));
        for folder in folders.iter().map(String::as_str).chain(["outside", "temp"]) {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        for file in ["SOUL.md", "list.txt", "memory/MEMORY.md", "../outside/secret"] {
            fs::write(place.path("workspace").join(file), "before").unwrap();
        }
        place
    }

    fn path(&self, below: &str) -> std::path::PathBuf {
        self.0.path().canonicalize().unwrap().join(below)
    }

    fn spec(&self, network: NetworkAccess) -> LaunchSpec {
        let bounds = Bounds {
            workspace: &self.path("workspace"),
            protected: &[],
            private: &[],
            locks: &[],
            grants: &Grants::default(),
            network,
            temp: &self.path("temp"),
            program: Path::new("/bin/true"),
            extra_write: &[],
            execute: &[],
            changes: FileChanges::Allowed,
            written: WrittenPrograms::Refused,
        };
        let confinement = bounds.confinement();
        LaunchSpec {
            nonce: LaunchSpec::nonce(),
            sandbox: SandboxPolicy::Required,
            network,
            view: SystemView::Shared,
            written: WrittenPrograms::Refused,
            limits: KernelLimits {
                address_space: 0,
                data: 0,
                file_size: 0,
                open_files: 0,
                cpu_seconds: 0,
                tasks: 0,
            },
            read: confinement.read,
            write: confinement.write,
            execute: confinement.execute,
            hidden: Vec::new(),
        }
    }
}

/// Does something in a thread that is confined like a program. Where the kernel
/// has no guards, nothing can be held.
fn confined(spec: LaunchSpec, act: impl FnOnce() + Send + 'static) {
    if !guards().all_hold() {
        return;
    }
    let confined = thread::spawn(move || {
        let version = landlock_rules::restrict(&spec, OwnProc::Missing).unwrap();
        assert!(seccomp_rules::restrict(spec.network, version, spec.view).unwrap());
        act();
    });
    confined.join().unwrap();
}

#[track_caller]
fn denied<T>(result: io::Result<T>) {
    let kind = result.err().map(|error| error.kind());
    assert_eq!(kind, Some(io::ErrorKind::PermissionDenied));
}

#[test]
fn files_outside_are_out_of_reach() {
    let place = Place::new();
    let secret = place.path("outside/secret");
    let link = place.path("workspace/notes/link");
    confined(place.spec(NetworkAccess::Refused), move || {
        denied(fs::read(&secret));
        denied(fs::write(&secret, "after"));
        symlink(&secret, &link).unwrap();
        denied(fs::read(&link));
        denied(fs::read_dir("/tmp"));
        denied(fs::read("/proc/self/environ"));
        denied(fs::read("/etc/shadow"));
        denied(fs::set_permissions(&secret, Permissions::from_mode(0o666)));
        fs::read("/etc/passwd").unwrap();
        fs::write("/dev/null", "x").unwrap();
    });
    assert_eq!(fs::read_to_string(place.path("outside/secret")).unwrap(), "before");
}

#[test]
fn what_the_agent_is_stays() {
    let place = Place::new();
    let workspace = place.path("workspace");
    confined(place.spec(NetworkAccess::Refused), move || {
        fs::read(workspace.join("SOUL.md")).unwrap();
        denied(fs::write(workspace.join("SOUL.md"), "after"));
        denied(fs::write(workspace.join("skills/x/tools.json"), "{}"));
        denied(fs::write(workspace.join("new.txt"), "new"));
        denied(fs::remove_file(workspace.join("list.txt")));
        denied(fs::rename(workspace.join("notes"), workspace.join("agents")));
        assert!(fs::hard_link(workspace.join("SOUL.md"), workspace.join("notes/s")).is_err());
        fs::write(workspace.join("list.txt"), "after").unwrap();
        fs::write(workspace.join("notes/new.txt"), "new").unwrap();
        fs::rename(workspace.join("notes/new.txt"), workspace.join("notes/b.txt")).unwrap();
    });
    assert_eq!(fs::read_to_string(place.path("workspace/SOUL.md")).unwrap(), "before");
}

#[test]
fn what_the_agent_remembers_does_not_become_a_link() {
    let place = Place::new();
    let (workspace, secret) = (place.path("workspace"), place.path("outside/secret"));
    confined(place.spec(NetworkAccess::Refused), move || {
        let memory = workspace.join("memory/MEMORY.md");
        denied(fs::write(&memory, "after"));
        denied(fs::remove_file(&memory));
        denied(symlink(&secret, workspace.join("memory/2026-01-02.md")));
        symlink(&secret, workspace.join("notes/link")).unwrap();
        assert!(fs::rename(workspace.join("notes/link"), &memory).is_err());
        assert!(fs::rename(workspace.join("memory"), workspace.join("notes/m")).is_err());
    });
    assert_eq!(fs::read_to_string(place.path("workspace/memory/MEMORY.md")).unwrap(), "before");
}

#[test]
fn without_a_view_of_its_own_modes_owners_and_times_stay() {
    use rustix::fs::{Timestamps, fchown, futimens};
    let place = Place::new();
    let paths = [place.path("outside/secret"), place.path("workspace/list.txt")];
    let soul = place.path("workspace/SOUL.md");
    confined(place.spec(NetworkAccess::Refused), move || {
        let refused = Some(rustix::io::Errno::PERM);
        let file = File::open(&soul).unwrap();
        let times = Timestamps { last_access: ZERO, last_modification: ZERO };
        denied(file.set_permissions(Permissions::from_mode(0o640)));
        assert_eq!(futimens(&file, &times).err(), refused);
        assert_eq!(fchown(&file, None, Some(rustix::process::getgid())).err(), refused);
        for path in paths {
            denied(fs::set_permissions(&path, Permissions::from_mode(0o640)));
            denied(std::os::unix::fs::chown(&path, None, Some(0)));
        }
        // Whoever can read a file could lock it, and keep others waiting.
        assert!(file.try_lock().is_err());
    });
}

/// Promise: `no-file-for-everybody`
#[test]
fn no_file_is_made_that_everybody_writes_or_that_runs_as_its_owner() {
    use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, mkdirat, mknodat, open, openat2};
    let place = Place::new();
    let notes = place.path("workspace/notes");
    rustix::process::umask(Mode::WGRP | Mode::WOTH);
    confined(place.spec(NetworkAccess::Refused), move || {
        // It is as if that had been done.
        assert_eq!(rustix::process::umask(Mode::empty()), Mode::empty());
        let mode =
            |name: &str| fs::metadata(notes.join(name)).unwrap().permissions().mode() & 0o7777;
        let flags = OFlags::CREATE | OFlags::WRONLY;
        open(notes.join("file"), flags, Mode::from_raw_mode(0o666)).unwrap();
        mkdirat(CWD, notes.join("folder"), Mode::from_raw_mode(0o777)).unwrap();
        assert_eq!((mode("file"), mode("folder")), (0o644, 0o755));
        let refused = Some(rustix::io::Errno::PERM);
        let new = notes.join("new");
        for bits in [0o4755, 0o2755, 0o6777] {
            let bits = Mode::from_raw_mode(bits);
            assert_eq!(open(&new, flags, bits).err(), refused);
            assert_eq!(open(&notes, OFlags::TMPFILE | OFlags::RDWR, bits).err(), refused);
            assert_eq!(mkdirat(CWD, &new, bits).err(), refused);
            assert_eq!(mknodat(CWD, &new, FileType::RegularFile, bits, 0).err(), refused);
        }
        // Nobody could see what it is to make.
        let hidden = openat2(CWD, &new, flags, Mode::RUSR, ResolveFlags::empty());
        assert_eq!(hidden.err(), Some(rustix::io::Errno::NOSYS));
        // Where nothing is made, what stands in the place of the mode says nothing.
        open(notes.join("file"), OFlags::RDONLY, Mode::from_raw_mode(0o6777)).unwrap();
        // A stricter mask is the program's own affair.
        rustix::process::umask(Mode::RWXG | Mode::RWXO);
        open(notes.join("own"), flags, Mode::from_raw_mode(0o666)).unwrap();
        assert_eq!(mode("own"), 0o600);
    });
}

const ZERO: rustix::fs::Timespec = rustix::fs::Timespec { tv_sec: 0, tv_nsec: 0 };

#[test]
fn attributes_stay_as_they_are() {
    use rustix::fs::{XattrFlags, fremovexattr, fsetxattr, lremovexattr, removexattr};
    let place = Place::new();
    let soul = place.path("workspace/SOUL.md");
    confined(place.spec(NetworkAccess::Refused), move || {
        let refused = Some(rustix::io::Errno::OPNOTSUPP);
        let file = File::open(&soul).unwrap();
        assert_eq!(fsetxattr(&file, "user.a", b"b", XattrFlags::empty()).err(), refused);
        assert_eq!(fremovexattr(&file, "user.a").err(), refused);
        assert_eq!(removexattr(&soul, "user.a").err(), refused);
        assert_eq!(lremovexattr(&soul, "user.a").err(), refused);
    });
}

/// Promise: `planted-programs-never-run`
#[test]
fn nothing_written_is_executed() {
    let place = Place::new();
    let (planted, temp) = (place.path("workspace/notes/ls"), place.path("temp/ls"));
    fs::copy("/bin/true", &planted).unwrap();
    fs::copy("/bin/true", &temp).unwrap();
    confined(place.spec(NetworkAccess::Refused), move || {
        for program in [planted, temp] {
            denied(std::process::Command::new(program).status());
        }
        assert!(std::process::Command::new("/bin/true").status().unwrap().success());
    });
}

#[test]
fn a_link_that_comes_after_the_check_gains_nothing() {
    let place = Place::new();
    let spec = place.spec(NetworkAccess::Refused);
    fs::remove_dir(place.path("workspace/notes")).unwrap();
    symlink(place.path("outside"), place.path("workspace/notes")).unwrap();
    fs::remove_file(place.path("workspace/list.txt")).unwrap();
    symlink("SOUL.md", place.path("workspace/list.txt")).unwrap();
    let workspace = place.path("workspace");
    confined(spec, move || {
        denied(fs::read(workspace.join("notes/secret")));
        denied(File::create(workspace.join("notes/new")));
        denied(OpenOptions::new().append(true).open(workspace.join("list.txt")));
    });
}

#[test]
fn there_is_no_network_unless_granted() {
    let place = Place::new();
    confined(place.spec(NetworkAccess::Refused), || {
        denied(UdpSocket::bind("127.0.0.1:0"));
        denied(UnixDatagram::unbound());
        denied(UnixDatagram::pair());
        UnixStream::pair().unwrap();
    });
    confined(place.spec(NetworkAccess::Granted), || {
        UdpSocket::bind("127.0.0.1:0").unwrap();
    });
}

#[test]
fn there_is_no_way_out_of_the_group() {
    let place = Place::new();
    confined(place.spec(NetworkAccess::Granted), || {
        let refused = Some(rustix::io::Errno::PERM);
        assert_eq!(rustix::process::setsid().err(), refused);
        assert_eq!(rustix::process::setpgid(None, None).err(), refused);
        let parent = rustix::process::getppid().unwrap();
        assert_eq!(rustix::process::test_kill_process(parent).err(), refused);
    });
}
