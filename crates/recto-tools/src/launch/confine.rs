//! Takes on the limits of a program, from inside.
//!
//! On Linux these are resource limits, a view of its own where there is one, no new privileges,
//! fewer powers for root, Landlock and seccomp. Elsewhere there are only resource limits.

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::spec::{KernelLimits, LaunchSpec};

/// The number of the first open file after stdin, stdout and stderr.
const FIRST_BEYOND_STREAMS: i32 = 3;

/// How far a program stands back when the processor is wanted by others.
const MODESTY: i32 = 5;

/// Confines this process and all that come of it. The error says what could not be
/// done.
pub(super) fn confine_process(spec: &LaunchSpec) -> Result<(), String> {
    // Whoever started Recto may have left files open for it; no guard looks at
    // those again. From here on they close when the program begins.
    close_fds::set_fds_cloexec(FIRST_BEYOND_STREAMS, &[]);
    // Recto itself goes first, above all the thread that watches this program.
    _ = rustix::process::nice(MODESTY);
    // Nobody but the owner writes what it makes, whatever Recto itself was started with.
    let before = rustix::process::umask(Mode::empty());
    rustix::process::umask(before | Mode::WGRP | Mode::WOTH);
    set_limits(spec.limits).map_err(|error| format!("can't set limits: {error}"))?;
    system::confine_process(spec)
}

/// Sets the resource limits. Neither the program nor its children can raise them again:
/// as root it takes a capability that is given up.
fn set_limits(limits: KernelLimits) -> rustix::io::Result<()> {
    let wanted = [
        #[cfg(not(target_os = "openbsd"))]
        (Resource::As, limits.address_space),
        (Resource::Data, limits.data),
        (Resource::Fsize, limits.file_size),
        (Resource::Nofile, limits.open_files),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Nproc, limits.tasks),
        (Resource::Core, 0),
    ];
    wanted.into_iter().try_for_each(|(resource, wanted)| lower(resource, wanted))
}

/// Lowers a limit; what was lower before stays so.
fn lower(resource: Resource, wanted: u64) -> rustix::io::Result<()> {
    let limit = getrlimit(resource).maximum.map_or(wanted, |before| before.min(wanted));
    setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::process::Resource;

    use crate::launch::SystemView;
    use crate::launch::peer_mark::leave_peer_mark;
    use crate::options::{NetworkAccess, SandboxPolicy};
    use crate::sandbox::system_view::{self, OwnProc};
    use crate::sandbox::{KNOWS_SIGNALS, capabilities, landlock_rules, seccomp_rules};

    use super::{LaunchSpec, lower};

    /// Signals and timers that wait for a program at most. The kernel counts those of all that the
    /// user runs, so whoever fills them up leaves none to others.
    const WAITING_SIGNALS: u64 = 1024;

    pub(super) fn confine_process(spec: &LaunchSpec) -> Result<(), String> {
        set_limits(spec)?;
        let proc = match spec.view {
            SystemView::Shared => OwnProc::Missing,
            // Before Landlock, under which nothing can be mounted.
            SystemView::Own => system_view::arrange(spec)
                .map_err(|error| format!("can't arrange the program's own view: {error}"))?,
        };
        rustix::thread::set_no_new_privs(true)
            .map_err(|error| format!("can't give up new privileges: {error}"))?;
        capabilities::drop_capabilities();
        // A guard that is there and fails is never passed over; only one that is
        // missing is, where that was allowed.
        let required = spec.sandbox == SandboxPolicy::Required;
        let abi = landlock_rules::restrict(spec, proc)
            .map_err(|error| format!("can't confine files with Landlock: {error}"))?;
        match abi {
            None if required => {
                return Err("this kernel has no Landlock, which confines files".to_owned());
            }
            Some(version) if required && version < KNOWS_SIGNALS => {
                return Err(format!(
                    "this kernel has Landlock {version}, which does not confine signals; \
                     {KNOWS_SIGNALS} does"
                ));
            }
            _ => {}
        }
        let restricted = seccomp_rules::restrict(spec.network, abi, spec.view)
            .map_err(|error| format!("can't restrict system calls with seccomp: {error}"))?;
        match restricted || !required {
            true => Ok(()),
            false => Err("this kernel has no seccomp, which closes the network".to_owned()),
        }
    }

    /// Sets limits that kernels other than Linux's own, which call themselves that, may not know.
    fn set_limits(spec: &LaunchSpec) -> Result<(), String> {
        let signals = lower(Resource::Sigpending, WAITING_SIGNALS);
        let mark = match spec.network {
            NetworkAccess::Granted => leave_peer_mark(),
            NetworkAccess::Refused => Ok(()),
        };
        match (signals.and(mark), spec.sandbox) {
            (Err(error), SandboxPolicy::Required) => Err(format!("can't set limits: {error}")),
            _ => Ok(()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use crate::options::SandboxPolicy;

    use super::LaunchSpec;

    pub(super) fn confine_process(spec: &LaunchSpec) -> Result<(), String> {
        match spec.sandbox {
            SandboxPolicy::BestEffort => Ok(()),
            SandboxPolicy::Required => Err("programs can be confined on Linux only".to_owned()),
        }
    }
}
