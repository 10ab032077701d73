//! `recto __tend`: stands between Recto and a program that is not confined, and ends all that the
//! program started.
//!
//! A process group does not hold a child that begins a session of its own. But one whose parent has
//! ended becomes a child of this process; so when the program ends, or Recto does, whatever is left
//! is found here and killed.
//!
//! The program has the mark by which the gateway knows that it is not the owner (see `peer_mark`).

use std::env::ArgsOs;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};
use rustix::stdio::{dup2_stdin, dup2_stdout};

use super::peer_mark::leave_peer_mark;

/// The command that tends a program.
pub(crate) const TEND: &str = "__tend";

/// Between two looks for what is left, while it is being killed.
const BETWEEN: Duration = Duration::from_millis(2);

/// Looks for what is left, at most.
const LOOKS: usize = 2_000;

/// The exit code of a program that could not be started, as shells have it.
const NOT_FOUND: u8 = 127;

/// The exit code of one that was killed.
const KILLED: i32 = 137;

/// Lets the next processes that are started have an open file, by the number that is given back.
/// All that it is to be used for is to tell them, by its end, that this process has ended.
pub(crate) fn pass_on(opened: &OwnedFd) -> io::Result<String> {
    fcntl_setfd(opened, FdFlags::empty())?;
    Ok(opened.as_raw_fd().to_string())
}

/// Runs a program until it ends, or until the other end of the file that the first argument names
/// is closed.
pub(super) fn tend(mut arguments: ArgsOs) -> ExitCode {
    let control = arguments.next().and_then(|number| number.into_string().ok());
    let control = control.and_then(|number| number.parse::<u32>().ok());
    let (Some(control), Some(program)) = (control, arguments.next()) else {
        return ExitCode::FAILURE;
    };
    let Ok(mut control) = File::open(format!("/proc/self/fd/{control}")) else {
        return ExitCode::FAILURE;
    };
    close_fds::set_fds_cloexec(3, &[]);
    // What it asks at the gateway it may ask on behalf of a model. Where there is no such limit,
    // nobody has the mark.
    _ = leave_peer_mark();
    _ = rustix::process::set_child_subreaper(Some(getpid()));
    let mut child = match Command::new(&program).args(arguments).spawn() {
        Ok(child) => child,
        Err(error) => {
            _ = writeln!(io::stderr(), "can't start {}: {error}", program.display());
            return ExitCode::from(NOT_FOUND);
        }
    };
    _ = leave_streams();
    let until_recto_ends = move || {
        // Nothing is ever written to it.
        _ = control.read(&mut [0]);
        end_children();
        std::process::exit(KILLED);
    };
    if thread::Builder::new().spawn(until_recto_ends).is_err() {
        _ = child.kill();
    }
    let status = child.wait();
    end_children();
    status.map_or(ExitCode::FAILURE, super::end_like)
}

/// Leaves standard input and output to the program alone. Whoever reads what it writes learns by
/// the end of that when the program has closed it, which never came while it was open here.
fn leave_streams() -> io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    Ok(dup2_stdout(&nothing)?)
}

/// Kills the children of this process, and those that become its children by that, until none is
/// left.
fn end_children() {
    for _ in 0..LOOKS {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            _ = kill_process(child, Signal::KILL);
        }
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        thread::sleep(BETWEEN);
    }
}

fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().get();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_own = |id: &i32| {
        let stat = fs::read(format!("/proc/{id}/stat")).unwrap_or_default();
        parent_in(&stat) == Some(own)
    };
    ids.filter(is_own).filter_map(Pid::from_raw).collect()
}

/// The line is `42 (name) S 41 …`, and the name may hold anything.
fn parent_in(stat: &[u8]) -> Option<i32> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_found_whatever_the_name() {
        assert_eq!(parent_in(b"42 (a) S 7 (x) S 41 40 0"), Some(41));
        assert_eq!(parent_in(b"42 (a"), None);
        assert_eq!(parent_in(b"42 (a) S"), None);
    }

    #[test]
    fn children_are_found() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let id = Pid::from_child(&child);
        assert!(children().contains(&id));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children().contains(&id));
    }
}
