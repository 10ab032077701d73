//! Recto started again, to confine itself and become a program.
//!
//! A program is not started by Recto directly. Recto starts its own executable
//! anew as `recto __launch PROGRAM ARGUMENTS…`; that takes on every limit and
//! then becomes the program by `exec`. So nothing has to be done between `fork`
//! and `exec`, where hardly anything is allowed, and no large process is copied.
//!
//! What it shall take on comes first on stdin, where other users don't see it as
//! they would an argument; what follows on stdin is the program's. If Recto
//! ends before it has said all, nothing is started.
//!
//! Where the kernel has name spaces, `recto __enclose` stands around that: see [`enclose`].
//! Where it has control groups, `recto __join` comes before all that: see [`join`].
//! Recto is started again for two more things: `recto __keep` ends what is left when Recto has
//! ended, see [`keep`]; `recto __tend` ends what the program of an MCP server leaves, see [`tend`].

mod confine;
#[cfg(target_os = "linux")]
mod enclose;
mod join;
mod keep;
mod own_executable;
#[cfg(target_os = "linux")]
mod peer_mark;
mod spec;
#[cfg(target_os = "linux")]
mod tend;

use std::env::ArgsOs;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use confine::confine_process;
#[cfg(target_os = "linux")]
use enclose::end_like;
#[cfg(target_os = "linux")]
pub(crate) use enclose::{ENCLOSE, WITH_NETWORK, WITHOUT_NETWORK};
pub(crate) use join::{JOIN, JOINED};
pub(crate) use keep::{KEEP, KEPT, LET_GO};
pub use own_executable::own_executable;
#[cfg(target_os = "linux")]
pub(crate) use peer_mark::has_peer_mark;
pub(crate) use spec::{KernelLimits, LaunchFailure, LaunchSpec, SystemView, WrittenPrograms};
#[cfg(target_os = "linux")]
pub(crate) use tend::{TEND, pass_on};

/// The command that confines itself and becomes a program.
pub(crate) const LAUNCH: &str = "__launch";

/// The command that tries out what a program's own view of the system can be.
#[cfg(target_os = "linux")]
pub(crate) const PROBE: &str = "__probe";

/// The exit code where no program was started. Others may have it as well, so
/// it is the nonce on stderr that counts.
const NOT_STARTED: u8 = 125;

/// Does what Recto was started again for, if it was: becomes a program or keeps
/// watch. Has to come before anything else in `main`, while there is a single
/// thread and nothing was opened.
pub fn launch_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os();
    let mut command = arguments.nth(1)?;
    if command == JOIN {
        command = match join::join(&mut arguments) {
            Ok(command) => command,
            Err(code) => return Some(code),
        };
    }
    #[cfg(target_os = "linux")]
    if let Some(code) = enclose::enclose_if_asked(&command, &mut arguments) {
        return Some(code);
    }
    #[cfg(target_os = "linux")]
    if command == TEND {
        return Some(tend::tend(arguments));
    }
    #[cfg(target_os = "linux")]
    if command == PROBE {
        return Some(crate::sandbox::system_view::tell_probe());
    }
    if command == LAUNCH {
        Some(launch(arguments))
    } else if command == KEEP {
        Some(keep::keep())
    } else {
        None
    }
}

/// Returns only where no program could be started.
fn launch(mut arguments: ArgsOs) -> ExitCode {
    let (Ok(spec), Some(program)) = (LaunchSpec::read_from_stdin(), arguments.next()) else {
        return ExitCode::from(NOT_STARTED);
    };
    let (failure, text) = match confine_process(&spec) {
        Err(text) => (LaunchFailure::Confinement, text),
        Ok(()) => {
            let error = Command::new(&program).args(arguments).exec();
            (LaunchFailure::Start, format!("can't start {}: {error}", program.display()))
        }
    };
    // Without stderr there is nobody to tell.
    _ = writeln!(io::stderr(), "{}", spec.failure_line(failure, &text));
    ExitCode::from(NOT_STARTED)
}
