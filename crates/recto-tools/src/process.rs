//! Runs programs behind the launcher, and ends them.
//!
//! A program runs in a process group of its own, behind the launcher, with its
//! three streams as pipes. A call ends when the program does, when its time is
//! up or when it takes more than it may; then the whole group is killed, also
//! when nobody waits for the call any more. What it wrote is kept at both ends
//! and counted in the middle, however much it is.
//!
//! Which program is run with which arguments is decided elsewhere.

mod capture;
mod confined_peers;
mod control_groups;
mod group;
mod keeper;
mod living_task;
mod open_files;
mod watch;

use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::future::{Either, select};
use recto_fs::{blocking, create_private_folder, private_options};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{sleep, timeout};

pub(crate) use capture::CapturedOutput;
use capture::OutputCapture;
pub use confined_peers::{PeerStanding, peer_standing};
pub(crate) use control_groups::{CallGroup, memory_guard};
pub(crate) use group::ProcessGroup;
pub(crate) use keeper::Keeper;
use watch::watch;

use crate::launch::{JOIN, KernelLimits, LAUNCH, LaunchFailure, LaunchSpec, SystemView};
use crate::options::{NetworkAccess, SandboxPolicy};
use crate::sandbox::{Confinement, ResourceLimits, ViewGuard, guards};

/// How long the last of its output is waited for after everything was killed.
/// Only something that left the group, where no guard holds, needs that long.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// How long the end of something killed is waited for. Longer takes only what
/// hangs inside the kernel.
const LAST_BREATH: Duration = Duration::from_secs(5);

/// Read at once from a pipe; as much as one holds.
const CHUNK: usize = 64 * 1024;

/// One run of a program: which it is, and all that it is run with.
#[derive(Debug, Clone)]
pub(crate) struct ProgramCall {
    /// Its absolute path. Programs look at the name that they are started by, so
    /// links are better left in it.
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// What it reads; without it, nothing.
    pub(crate) stdin: Option<Vec<u8>>,
    pub(crate) working_dir: PathBuf,
    /// All variables that it gets; it inherits none.
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) confinement: Confinement,
    pub(crate) sandbox: SandboxPolicy,
    pub(crate) limits: RunLimits,
}

/// The limits of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunLimits {
    pub(crate) time: Duration,
    /// What is kept of its output, and of its errors as much again.
    pub(crate) output_bytes: usize,
}

/// The end of a program, and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramOutcome {
    pub(crate) end: ProgramEnd,
    pub(crate) stdout: CapturedOutput,
    pub(crate) stderr: CapturedOutput,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramEnd {
    /// By itself, with this exit code.
    Exit(i32),
    /// By the signal of this number.
    Signal(i32),
    /// Its time was up.
    TimedOut(Duration),
    /// It had this many processes or threads.
    TooManyProcesses(usize),
    /// It used this many bytes of memory.
    TooMuchMemory(u64),
}

/// Why a program was not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunProblem {
    #[error("no programs can be run here: Recto does not know its own executable")]
    NoLauncher,
    #[error("can't start {}: {cause}", program.display())]
    Spawn { program: PathBuf, cause: io::Error },
    /// The guards could not be put up.
    #[error("the program was not run: {0}")]
    Confinement(String),
    /// The guards were up, but the program could not be executed.
    #[error("{0}")]
    Start(String),
    #[error("can't learn how the program ended: {0}")]
    Wait(io::Error),
}

/// Runs programs, each behind Recto's own executable.
#[derive(Debug)]
pub(crate) struct Launcher {
    executable: Option<PathBuf>,
    keeper: Keeper,
}

impl Launcher {
    /// Makes a launcher that starts this executable of Recto again for every program.
    pub(crate) fn new(executable: Option<PathBuf>) -> Self {
        Launcher { keeper: Keeper::new(executable.clone()), executable }
    }

    /// The keeper that ends process groups when Recto has ended.
    pub(crate) fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// Runs a program to its end. If the future is dropped, the program ends too.
    pub(crate) async fn run(&self, call: &ProgramCall) -> Result<ProgramOutcome, RunProblem> {
        let executable = self.executable.as_deref().ok_or(RunProblem::NoLauncher)?;
        make_locks(&call.confinement).await;
        let spec = launch_spec(call);
        let resources = call.confinement.resources;
        let control = CallGroup::for_call(resources).map_err(|cause| no_control_group(&cause))?;
        let mut child = spawn(executable, call, control.as_ref())
            .map_err(|cause| RunProblem::Spawn { program: call.program.clone(), cause })?;
        // The launcher waits for its orders until the keeper knows of it, so that
        // a program is never without someone who ends it.
        let group = ProcessGroup::from_child(&child, &self.keeper);
        let mut stdout = OutputCapture::new(call.limits.output_bytes);
        let mut stderr = OutputCapture::new(call.limits.output_bytes);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let orders = spec.encode();
        let end = {
            let talk = async {
                let feed = feed(pipes.0, &orders, call.stdin.as_deref().unwrap_or_default());
                tokio::join!(feed, collect(pipes.1, &mut stdout), collect(pipes.2, &mut stderr));
            };
            let mut talk = pin!(talk);
            let (end, talked) = {
                let watched = watched_resources(resources, control.as_ref());
                let end = pin!(ended(&mut child, watched, call.limits.time));
                match select(talk.as_mut(), end).await {
                    Either::Left(((), end)) => (end.await, true),
                    Either::Right((end, _)) => (end, false),
                }
            };
            drop(group);
            if !talked {
                // What is left in the pipes; if that does not end, it is cut off.
                _ = timeout(LAST_OUTPUT, talk).await;
            }
            end
        };
        // It has been killed, if it had not ended before.
        _ = timeout(LAST_BREATH, child.wait()).await;
        let (stdout, stderr) = (stdout.finish(), stderr.finish());
        match spec.read_failure(&stderr.head) {
            Some((LaunchFailure::Confinement, text)) => Err(RunProblem::Confinement(text)),
            Some((LaunchFailure::Start, text)) => Err(RunProblem::Start(text)),
            None => {
                let end = told_end(end.map_err(RunProblem::Wait)?, control.as_ref());
                Ok(ProgramOutcome { end, stdout, stderr })
            }
        }
    }
}

/// A program that was started, and that nobody waits for the end of. In its confinement it ends
/// when its resources are used up and [`watch_resources`] looks at them.
#[derive(Debug)]
pub(crate) struct StartedProgram {
    pub(crate) child: Child,
    /// What it has to be sent before anything else, on its standard input; then it runs.
    pub(crate) orders: Vec<u8>,
    /// Its control group, where it has one.
    pub(crate) control: Option<CallGroup>,
}

/// Starts a program in its confinement.
pub(crate) async fn spawn_confined(
    executable: &Path,
    call: &ProgramCall,
) -> io::Result<StartedProgram> {
    make_locks(&call.confinement).await;
    let orders = launch_spec(call).encode();
    let control = CallGroup::for_call(call.confinement.resources)
        .map_err(|cause| io::Error::other(no_control_group(&cause)))?;
    let child = spawn(executable, call, control.as_ref())?;
    Ok(StartedProgram { child, orders, control })
}

/// Kills the group of a program that takes more than it may, and then ends.
pub(crate) async fn watch_resources(leader: Option<u32>, resources: ResourceLimits) {
    watch(leader, resources).await;
}

/// The limits that are left to the watch: what the kernel counts, it need not.
pub(crate) fn watched_resources(
    resources: ResourceLimits,
    control: Option<&CallGroup>,
) -> ResourceLimits {
    let memory = if control.is_some() { u64::MAX } else { resources.memory };
    ResourceLimits { memory, ..resources }
}

/// A guard that is there and fails is never passed over.
fn no_control_group(cause: &io::Error) -> RunProblem {
    RunProblem::Confinement(format!("can't make a control group for it: {cause}"))
}

/// The end, as it is told: a program that the kernel killed for its memory does not know why.
fn told_end(end: ProgramEnd, control: Option<&CallGroup>) -> ProgramEnd {
    let exceeded = control.and_then(CallGroup::exceeded_memory);
    match (end, exceeded) {
        (ProgramEnd::Exit(_) | ProgramEnd::Signal(_), Some(memory)) => {
            ProgramEnd::TooMuchMemory(memory)
        }
        _ => end,
    }
}

/// Whether this is a file that may be run.
pub(crate) fn is_executable(found: &Metadata) -> bool {
    found.is_file() && found.permissions().mode() & 0o111 != 0
}

fn launch_spec(call: &ProgramCall) -> LaunchSpec {
    let Confinement { read, write, execute, hidden, written, network, resources, .. } =
        &call.confinement;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    LaunchSpec {
        nonce: LaunchSpec::nonce(),
        sandbox: call.sandbox,
        network: *network,
        view: system_view(),
        written: *written,
        limits: KernelLimits {
            address_space: resources.address_space,
            data: resources.data,
            file_size: resources.file_size,
            open_files: resources.open_files,
            // As much as all cores give in its time, and a little more: the time
            // limit is what people know.
            cpu_seconds: (call.limits.time.as_secs() + 1).saturating_mul(cores as u64) + 1,
            // The kernel counts all that the user runs, which is at most all that
            // is run; so much more stops a fork bomb, and nothing else.
            tasks: (watch::tasks() + resources.threads) as u64,
        },
        read: read.clone(),
        write: write.clone(),
        execute: execute.clone(),
        hidden: hidden.clone(),
    }
}

/// Makes the locks that are not there yet: only what is there can be hidden, and a program that runs
/// for long could lock one as soon as it comes.
async fn make_locks(confinement: &Confinement) {
    if system_view() == SystemView::Own && !confinement.hidden.is_empty() {
        let locks = confinement.hidden.clone();
        blocking(move || locks.iter().for_each(|path| make_lock(path))).await;
    }
}

/// Makes a lock with the folder that it is in, where the folder around that is there. What fails, as
/// on a full disk or in a folder of somebody else's, is no reason not to run the program: all that it
/// can do with a lock is to keep who remembers something waiting.
fn make_lock(path: &Path) {
    let Some(folder) = path.parent() else { return };
    let has_place = folder.parent().is_some_and(Path::is_dir);
    if has_place && create_private_folder(folder).is_ok() {
        _ = private_options().write(true).create_new(true).open(path);
    }
}

/// The view of the system that programs have on this machine.
fn system_view() -> SystemView {
    match guards().view {
        ViewGuard::Missing => SystemView::Shared,
        ViewGuard::Mounts | ViewGuard::MountsAndProcesses => SystemView::Own,
    }
}

/// The words before the program: what Recto is started again for.
fn launch_words(network: NetworkAccess) -> Vec<&'static str> {
    #[cfg(target_os = "linux")]
    if system_view() == SystemView::Own {
        use crate::launch::{ENCLOSE, WITH_NETWORK, WITHOUT_NETWORK};
        return match network {
            NetworkAccess::Granted => vec![ENCLOSE, WITH_NETWORK, LAUNCH],
            NetworkAccess::Refused => vec![ENCLOSE, WITHOUT_NETWORK, LAUNCH],
        };
    }
    let _ = network;
    vec![LAUNCH]
}

fn spawn(executable: &Path, call: &ProgramCall, control: Option<&CallGroup>) -> io::Result<Child> {
    let mut command = Command::new(executable);
    if let Some(control) = control {
        command.arg(JOIN).arg(control.path());
    }
    command
        .args(launch_words(call.confinement.network))
        .arg(&call.program)
        .args(&call.arguments)
        .env_clear()
        .envs(call.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&call.working_dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

async fn ended(
    child: &mut Child,
    watched: ResourceLimits,
    time: Duration,
) -> io::Result<ProgramEnd> {
    let id = child.id();
    tokio::select! {
        biased;
        // First: what it ends, it kills.
        end = watch(id, watched) => Ok(end),
        status = child.wait() => status.map(end_of),
        () = sleep(time) => Ok(ProgramEnd::TimedOut(time)),
    }
}

fn end_of(status: ExitStatus) -> ProgramEnd {
    let by_signal = || status.signal().map(ProgramEnd::Signal);
    // There is no third way, but the types don't know.
    status.code().map(ProgramEnd::Exit).or_else(by_signal).unwrap_or(ProgramEnd::Exit(-1))
}

/// A program need not read all that it is given: a closed pipe is no failure.
async fn feed(pipe: Option<ChildStdin>, orders: &[u8], text: &[u8]) {
    if let Some(mut pipe) = pipe
        && pipe.write_all(orders).await.is_ok()
    {
        _ = pipe.write_all(text).await;
    }
}

async fn collect(pipe: Option<impl AsyncRead + Unpin>, capture: &mut OutputCapture) {
    let Some(mut pipe) = pipe else { return };
    let mut chunk = vec![0; CHUNK];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        capture.add(&chunk[..count]);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_lock_is_made_in_a_workspace_that_is_there_and_nowhere_else() {
        let home = tempfile::tempdir().unwrap();
        let lock = |workspace: &str| home.path().join(workspace).join("memory/.lock");
        fs::create_dir(home.path().join("new")).unwrap();
        fs::create_dir_all(home.path().join("used/memory")).unwrap();
        fs::write(lock("used"), "held").unwrap();
        for workspace in ["new", "used", "gone"] {
            make_lock(&lock(workspace));
        }
        assert_eq!(fs::read_to_string(lock("new")).unwrap(), "");
        assert_eq!(fs::read_to_string(lock("used")).unwrap(), "held");
        assert!(!home.path().join("gone").exists(), "no workspace is made");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&lock("new")), mode(lock("new").parent().unwrap())), (0o600, 0o700));
    }
}
