//! `recto __join GROUP …`: moves itself into a control group, and then does what follows.
//!
//! Whoever moves another process may come too late: it may have started others by then. A process
//! that moves itself first takes all that come of it along.

use std::env::ArgsOs;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use super::{LaunchFailure, LaunchSpec, NOT_STARTED};

/// The command that joins a control group.
pub(crate) const JOIN: &str = "__join";

/// What is said by one that has joined, and was told to do nothing else.
pub(crate) const JOINED: &str = "joined";

/// Joins the group that the first argument names. Gives the command that follows, or the code to
/// end with.
pub(super) fn join(arguments: &mut ArgsOs) -> Result<OsString, ExitCode> {
    let joined = arguments.next().ok_or(io::ErrorKind::InvalidInput.into());
    match (joined.and_then(|group| join_group(Path::new(&group))), arguments.next()) {
        (Ok(()), Some(command)) => Ok(command),
        (Ok(()), None) => match io::stdout().write_all(JOINED.as_bytes()) {
            Ok(()) => Err(ExitCode::SUCCESS),
            Err(_) => Err(ExitCode::FAILURE),
        },
        (Err(error), _) => {
            // The orders are not for this process, but they say how to be believed.
            if let Ok(spec) = LaunchSpec::read_from_stdin() {
                let text = format!("can't join the program's control group: {error}");
                let line = spec.failure_line(LaunchFailure::Confinement, &text);
                _ = writeln!(io::stderr(), "{line}");
            }
            Err(ExitCode::from(NOT_STARTED))
        }
    }
}

/// Zero stands for whoever writes it.
fn join_group(group: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(group.join("cgroup.procs"))?.write_all(b"0")
}
