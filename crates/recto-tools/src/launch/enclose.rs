//! `recto __enclose`: gives what it starts a view of its own of the system, by name spaces.
//!
//! Whoever asks for name spaces of processes is not in them: only children are. So this
//! process stays outside, starts the first process of the new name space, which clears away
//! what has lost its parent, and then Recto once more, which arranges the mounts and becomes the
//! program. It waits for the program and ends in the same way. When it ends itself, so does the
//! first process, and with that the kernel ends everything inside.
//!
//! Without privileges all that is done in a name space for users, in which the one user there is
//! stays who they are.

use std::env::ArgsOs;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, WaitOptions, getgid, getpid, getuid, kill_process, wait};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, configure_capability_in_ambient_set,
    set_capabilities,
};

use super::peer_mark::leave_peer_mark;
use super::{LaunchFailure, LaunchSpec, NOT_STARTED};

/// The command that makes name spaces and starts Recto in them.
pub(crate) const ENCLOSE: &str = "__enclose";

/// The first process of a name space, which clears away those that lost their parent.
const REAP: &str = "__reap";

/// After [`ENCLOSE`], where the network is not to be seen either.
pub(crate) const WITHOUT_NETWORK: &str = "without-network";

/// After [`ENCLOSE`], where the network is shared with everybody.
pub(crate) const WITH_NETWORK: &str = "with-network";

/// Between two looks for processes that have ended.
const BETWEEN: Duration = Duration::from_millis(20);

/// The code that shells give to the end by a signal, added to its number.
const BY_SIGNAL: i32 = 128;

/// Does what one of the commands here stands for; `None` if it is another command.
pub(super) fn enclose_if_asked(command: &OsStr, arguments: &mut ArgsOs) -> Option<ExitCode> {
    if command == ENCLOSE {
        Some(enclose(arguments))
    } else if command == REAP {
        Some(reap())
    } else {
        None
    }
}

fn enclose(arguments: &mut ArgsOs) -> ExitCode {
    let network = arguments.next().is_some_and(|word| word == WITH_NETWORK);
    match start_enclosed(network, arguments) {
        Ok(status) => end_like(status),
        Err(error) => {
            // The orders are not for this process, but they say how to be believed.
            if let Ok(spec) = LaunchSpec::read_from_stdin() {
                let text = format!("can't give the program a view of its own: {error}");
                let line = spec.failure_line(LaunchFailure::Confinement, &text);
                _ = writeln!(io::stderr(), "{line}");
            }
            ExitCode::from(NOT_STARTED)
        }
    }
}

fn start_enclosed(network: bool, arguments: &mut ArgsOs) -> io::Result<ExitStatus> {
    if network {
        // What stands around the program outlives it for a moment. Whether it may run without the
        // mark is decided inside.
        _ = leave_peer_mark();
    }
    enter_name_spaces(network)?;
    let own = super::own_executable().ok_or(io::ErrorKind::NotFound)?;
    let mut first = Command::new(&own)
        .arg(REAP)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let status = Command::new(&own).args(arguments).status();
    // Everything that is left ends with it.
    first.kill()?;
    first.wait()?;
    status
}

fn enter_name_spaces(network: bool) -> io::Result<()> {
    let mut wanted = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    if !network {
        wanted |= UnshareFlags::NEWNET;
    }
    let (user, group) = (getuid(), getgid());
    if unshare(wanted).is_ok() {
        return Ok(());
    }
    unshare(wanted | UnshareFlags::NEWUSER)?;
    // The kernel wants it so before anybody may say which groups there are.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    // What Recto needs to arrange mounts, once it was started again; it is given up there.
    let mut sets = capabilities(None)?;
    sets.inheritable |= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, sets)?;
    Ok(configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?)
}

#[expect(deprecated, reason = "only a name space of files would need care; none is asked for")]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

/// Ends as another process did, by the same signal where it was one.
pub(super) fn end_like(status: ExitStatus) -> ExitCode {
    let Some(number) = status.signal() else {
        return ExitCode::from(status.code().and_then(|code| code.try_into().ok()).unwrap_or(255));
    };
    if let Some(signal) = Signal::from_named_raw(number) {
        // Twice: for some signals the first one only ends the runtime's own interest in it.
        for _ in 0..2 {
            _ = kill_process(getpid(), signal);
        }
    }
    ExitCode::from((BY_SIGNAL + number).try_into().unwrap_or(255))
}

/// Clears away processes that have ended, until whoever started this has ended.
fn reap() -> ExitCode {
    let clear = || {
        loop {
            // Also where there is nobody to wait for yet.
            if !matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {
                thread::sleep(BETWEEN);
            }
        }
    };
    _ = thread::Builder::new().name("recto-reap".to_owned()).spawn(clear);
    _ = io::stdin().read(&mut [0]);
    ExitCode::SUCCESS
}
