//! Servers that Recto starts as programs and talks to over their standard streams.
//!
//! Such a program runs with the rights of the person who set it up: it is not
//! confined, unless the config puts it into the sandbox. But it gets only the few variables that programs need and those
//! that are set for it, and it ends with Recto, together with all that it started.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWriteExt as _, ReadBuf};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::timeout;

use super::error::ServerProblem;
use super::limits::{LimitBreach, MAX_MESSAGE, ServerLimit};
use super::log::{Log, StderrTail, follow_stderr};
use super::names::file_stem;
use super::session::SessionConfig;
use crate::launch::WrittenPrograms;
#[cfg(target_os = "linux")]
use crate::launch::{TEND, pass_on};
use crate::options::{Grants, SandboxPolicy, ServerSandbox, ServerTransport};
use crate::own_folder::{DropLater, FolderOwner, OwnFolder};
use crate::process::{
    CallGroup, ProcessGroup, ProgramCall, RunLimits, StartedProgram, is_executable, spawn_confined,
    watch_resources, watched_resources,
};
use crate::programs::base_environment;
use crate::sandbox::{Bounds, FileChanges, ResourceLimits};

/// How long what a server wrote to stderr is waited for after its end.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The time of a program that runs as long as Recto does: years.
const FOR_GOOD: Duration = Duration::from_secs(1 << 30);

/// Recto's own variables that servers get; those that begin with `XDG_`, too.
const VARIABLES: [&str; 9] =
    ["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TERM", "TMPDIR", "SHELL"];

/// The running program of a server, and its process group.
pub(super) struct ServerProcess {
    child: Child,
    /// Ends all of them when it is dropped.
    group: Option<ProcessGroup>,
    /// The control group of a sandboxed program, where it has one.
    control: Option<CallGroup>,
    /// While it is open, the one who tends the program lets it run.
    tended: Option<PipeWriter>,
    /// What looks at how much a sandboxed program takes.
    watch: Option<AbortHandle>,
    stderr: JoinHandle<()>,
    breach: LimitBreach,
    /// The folder that it was started in, where it has one of its own.
    _folder: Option<DropLater<OwnFolder>>,
}

/// Starts the program of a server.
pub(super) async fn start_server(
    config: &SessionConfig,
    tail: &StderrTail,
    breach: &LimitBreach,
) -> Result<(ServerProcess, BoundedReader<ChildStdout>, ChildStdin), ServerProblem> {
    let ServerTransport::Stdio { program, working_dir, sandbox, .. } = &config.options.transport
    else {
        return Err(ServerProblem::Address { problem: "it is no program".to_owned() });
    };
    let not_started = |cause: io::Error| ServerProblem::NotStarted {
        program: program.clone(),
        cause: cause.to_string(),
    };
    let path = config.search_path.clone().or_else(|| env::var_os("PATH")).unwrap_or_default();
    let found = find(program, &path, working_dir.as_deref())
        .ok_or_else(|| ServerProblem::NoProgram { program: program.clone() })?;
    // Never where Recto happens to be, nor in the workspace: programs look around
    // there for settings, which may be commands.
    let own = match working_dir.is_none() || sandbox.is_some() {
        true => Some(OwnFolder::create(FolderOwner::Server, &config.keeper).map_err(not_started)?),
        false => None,
    };
    let mut tended = None;
    let StartedProgram { mut child, orders, control } = match (sandbox, &own) {
        (Some(sandbox), Some(own)) => {
            spawn_sandboxed(config, sandbox, found, own.path()).await.map_err(not_started)?
        }
        _ => {
            let folder = working_dir.as_deref().or(own.as_ref().map(OwnFolder::path));
            let (child, pipe) = spawn_free(config, &found, &path, folder).map_err(not_started)?;
            tended = pipe;
            StartedProgram { child, orders: Vec::new(), control: None }
        }
    };
    // What tends a program ends it when Recto has ended; the keeper does it for others.
    let group = match tended {
        Some(_) => None,
        None => ProcessGroup::from_child(&child, &config.keeper),
    };
    let watch = sandbox.as_ref().map(|_| {
        let watched = watched_resources(ResourceLimits::default(), control.as_ref());
        tokio::spawn(watch_resources(child.id(), watched)).abort_handle()
    });
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(stdout), Some(stderr)) = streams else {
        return Err(not_started(io::Error::other("its streams are missing")));
    };
    // A program that has ended says on standard error why.
    _ = stdin.write_all(&orders).await;
    let log = config.logs.as_deref();
    let log = log.and_then(|folder| Log::open(folder, &file_stem(&config.options.name)));
    let stderr = tokio::spawn(follow_stderr(stderr, tail.clone(), log, config.redact.clone()));
    let stdout = BoundedReader { inner: stdout, length: 0, breach: breach.clone() };
    let folder = own.map(DropLater::new);
    let breach = breach.clone();
    let process =
        ServerProcess { child, group, control, tended, watch, stderr, breach, _folder: folder };
    Ok((process, stdout, stdin))
}

/// Starts it with the rights of whoever started Recto, and someone who tends it where there is one:
/// it ends, with all that it started, when the pipe is closed.
fn spawn_free(
    config: &SessionConfig,
    found: &Path,
    path: &OsStr,
    folder: Option<&Path>,
) -> io::Result<(Child, Option<PipeWriter>)> {
    let ServerTransport::Stdio { arguments, environment, .. } = &config.options.transport else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (mut command, pipe) = tended_command(config, found)?;
    command.args(arguments).env_clear().envs(own_variables()).env("PATH", path);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(pipe.is_none()).process_group(0);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let child = command.spawn()?;
    Ok((child, pipe.map(|(_, writer)| writer)))
}

/// The command that starts a program by way of Recto itself, where that can be started again.
#[cfg(target_os = "linux")]
fn tended_command(
    config: &SessionConfig,
    found: &Path,
) -> io::Result<(Command, Option<(OwnedFd, PipeWriter)>)> {
    let Some(executable) = config.keeper.executable() else {
        return Ok((Command::new(found), None));
    };
    let (reader, writer) = io::pipe()?;
    let reader = OwnedFd::from(reader);
    let mut command = Command::new(executable);
    command.arg(TEND).arg(pass_on(&reader)?).arg(found);
    Ok((command, Some((reader, writer))))
}

#[cfg(not(target_os = "linux"))]
fn tended_command(
    _: &SessionConfig,
    found: &Path,
) -> io::Result<(Command, Option<(OwnedFd, PipeWriter)>)> {
    Ok((Command::new(found), None))
}

/// Starts it in the sandbox, with the orders that it waits for.
async fn spawn_sandboxed(
    config: &SessionConfig,
    sandbox: &ServerSandbox,
    found: PathBuf,
    own: &Path,
) -> io::Result<StartedProgram> {
    let ServerTransport::Stdio { arguments, environment, working_dir, .. } =
        &config.options.transport
    else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let executable = config.keeper.executable().ok_or(io::ErrorKind::NotFound)?;
    // Interpreters read what their arguments name.
    let scripts: Vec<PathBuf> = arguments
        .iter()
        .map(|argument| working_dir.as_deref().unwrap_or(own).join(argument))
        .filter(|path| path.is_file())
        .collect();
    let read = sandbox.read.iter().chain(&scripts).chain(working_dir).cloned().collect();
    let grants = Grants { read, write: sandbox.write.clone(), ..Grants::default() };
    let confinement = Bounds {
        workspace: own,
        protected: &sandbox.protected,
        private: &[],
        locks: &sandbox.locks,
        grants: &grants,
        network: sandbox.network,
        temp: own,
        program: &found,
        extra_write: &[],
        execute: &[],
        changes: FileChanges::Allowed,
        written: WrittenPrograms::Refused,
    }
    .confinement();
    let environment =
        base_environment(&own.to_string_lossy()).into_iter().chain(environment.clone());
    let call = ProgramCall {
        program: found,
        arguments: arguments.iter().map(OsString::from).collect(),
        stdin: None,
        working_dir: working_dir.clone().unwrap_or_else(|| own.to_owned()),
        environment: environment.map(|(name, value)| (name.into(), value.into())).collect(),
        confinement,
        // Whoever asks for a sandbox does not mean half of one.
        sandbox: SandboxPolicy::Required,
        limits: RunLimits { time: FOR_GOOD, output_bytes: 0 },
    };
    spawn_confined(&executable, &call).await
}

impl ServerProcess {
    /// Waits until the program ends by itself.
    pub(super) async fn exited(&mut self) {
        let _ = self.child.wait().await;
    }

    /// Ends what the program started, and the program if it is still there.
    pub(super) fn kill(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.abort();
        }
        self.group = None;
        self.control = None;
        if self.tended.take().is_none() {
            let _ = self.child.start_kill();
        }
    }

    /// Waits at most so long for the program, then ends it. Says how it ended.
    pub(super) async fn end(mut self, grace: Duration) -> String {
        let by_itself = timeout(grace, self.child.wait()).await;
        let exceeded = self.control.as_ref().and_then(CallGroup::exceeded_memory);
        self.kill();
        if timeout(LAST_WORDS, &mut self.stderr).await.is_err() {
            self.stderr.abort();
        }
        if let Some(limit) = self.breach.limit() {
            return limit.to_string();
        }
        if let Some(bytes) = exceeded {
            let limit = bytes / (1024 * 1024);
            return format!("was ended: it held more than {limit} MiB of memory");
        }
        match by_itself {
            Ok(Ok(status)) => ending(status),
            Ok(Err(error)) => format!("is lost: {error}"),
            Err(_) => {
                let _ = self.child.wait().await;
                "closed the connection".to_owned()
            }
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How a program ended, as what is said of it.
fn ending(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended".to_owned(),
    }
}

/// The variables of Recto's own that every server gets.
fn own_variables() -> impl Iterator<Item = (OsString, OsString)> {
    let is_given = |name: &OsStr| {
        name.to_str().is_some_and(|n| VARIABLES.contains(&n) || n.starts_with("XDG_"))
    };
    env::vars_os().filter(move |(name, _)| is_given(name))
}

/// The program, where a shell would find it.
fn find(program: &str, path: &OsStr, folder: Option<&Path>) -> Option<PathBuf> {
    if program.contains(std::path::is_separator) {
        let base = folder.unwrap_or(Path::new(""));
        return Some(base.join(program)).filter(|program| is_program(program));
    }
    let names = env::split_paths(path).filter(|folder| folder.is_absolute());
    names.map(|folder| folder.join(program)).find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| is_executable(&found))
}

/// What a server writes, in lines of limited length. A longer one breaks the
/// connection: its call would otherwise be waited for in vain.
pub(super) struct BoundedReader<R> {
    inner: R,
    length: usize,
    breach: LimitBreach,
}

/// Bounds the messages of any source.
#[cfg(any(test, fuzzing))]
pub(super) fn bound_messages<R>(inner: R) -> BoundedReader<R> {
    BoundedReader { inner, length: 0, breach: LimitBreach::default() }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        let new = &buffer.filled()[before..];
        self.length = match new.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => new.len() - end - 1,
            None => self.length + new.len(),
        };
        if self.length > MAX_MESSAGE {
            self.breach.record(ServerLimit::MessageLength);
            buffer.set_filled(before);
            return Poll::Ready(Err(io::ErrorKind::FileTooLarge.into()));
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn programs_are_found_where_a_shell_would_find_them() {
        let path = OsStr::new("relative:/nowhere:/usr/bin:/bin");
        assert!(find("sh", path, None).unwrap().is_absolute());
        assert_eq!(find("/bin/sh", path, None).unwrap(), Path::new("/bin/sh"));
        assert_eq!(find("./sh", path, Some(Path::new("/bin"))).unwrap(), Path::new("/bin/./sh"));
        assert_eq!(find("no-such-program", path, None), None);
        assert_eq!(find("/etc/passwd", path, None), None);
        assert_eq!(find("..", path, None), None);
    }

    #[tokio::test]
    async fn a_message_has_a_limit() {
        let read = async |text: Vec<u8>| {
            let breach = LimitBreach::default();
            let mut from = BoundedReader { inner: &*text, length: 0, breach: breach.clone() };
            let read = from.read_to_end(&mut Vec::new()).await;
            let limit = read.is_err().then_some(ServerLimit::MessageLength);
            assert_eq!(breach.limit(), limit);
            read.is_ok()
        };
        let line = vec![b'x'; MAX_MESSAGE - 1];
        let mut two = line.clone();
        two.push(b'\n');
        two.extend(&line);
        assert!(read(two).await);
        assert!(!read(vec![b'x'; MAX_MESSAGE + 1]).await);
    }
}
