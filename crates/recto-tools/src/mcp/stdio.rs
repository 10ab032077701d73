//! Servers that Recto starts as programs and talks to over their standard streams.
//!
//! Such a program runs with the rights of the person who set it up: it is not
//! confined. But it gets only the few variables that programs need and those
//! that are set for it, and it ends with Recto, together with all that it started.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::error::ServerProblem;
use super::log::{Log, StderrTail, follow_stderr};
use super::names::file_stem;
use super::session::SessionConfig;
use crate::options::ServerTransport;
use crate::process::{ProcessGroup, is_executable};

/// The longest message of a server.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// How long what a server wrote to stderr is waited for after its end.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Recto's own variables that servers get; those that begin with `XDG_`, too.
const VARIABLES: [&str; 9] =
    ["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TERM", "TMPDIR", "SHELL"];

/// The running program of a server, and its process group.
pub(super) struct ServerProcess {
    child: Child,
    /// Ends all of them when it is dropped.
    group: Option<ProcessGroup>,
    stderr: JoinHandle<()>,
    too_long: Arc<AtomicBool>,
    /// The folder that it was started in, where it has one of its own.
    _folder: Option<TempDir>,
}

/// Starts the program of a server.
pub(super) fn start_server(
    config: &SessionConfig,
    tail: &StderrTail,
) -> Result<(ServerProcess, BoundedReader<ChildStdout>, ChildStdin), ServerProblem> {
    let ServerTransport::Stdio { program, arguments, environment, working_dir } =
        &config.options.transport
    else {
        return Err(ServerProblem::Address { problem: "it is no program".to_owned() });
    };
    let not_started = |cause: String| ServerProblem::NotStarted { program: program.clone(), cause };
    let path = config.search_path.clone().or_else(|| env::var_os("PATH")).unwrap_or_default();
    let found = find(program, &path, working_dir.as_deref())
        .ok_or_else(|| ServerProblem::NoProgram { program: program.clone() })?;
    let mut command = Command::new(found);
    command.args(arguments).env_clear().envs(own_variables()).env("PATH", &path);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    // Never where Recto happens to be, nor in the workspace: programs look around
    // there for settings, which may be commands.
    let own = match working_dir {
        Some(_) => None,
        None => {
            let folder = tempfile::Builder::new().prefix("recto-mcp-").tempdir();
            Some(folder.map_err(|error| not_started(error.to_string()))?)
        }
    };
    if let Some(folder) = working_dir.as_deref().or(own.as_ref().map(TempDir::path)) {
        command.current_dir(folder);
    }
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| not_started(error.to_string()))?;
    let group = ProcessGroup::from_child(&child, &config.keeper);
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
        return Err(not_started("its streams are missing".to_owned()));
    };
    let log = config.logs.as_deref();
    let log = log.and_then(|folder| Log::open(folder, &file_stem(&config.options.name)));
    let stderr = tokio::spawn(follow_stderr(stderr, tail.clone(), log, config.redact.clone()));
    let too_long = Arc::new(AtomicBool::new(false));
    let stdout = BoundedReader { inner: stdout, length: 0, too_long: too_long.clone() };
    Ok((ServerProcess { child, group, stderr, too_long, _folder: own }, stdout, stdin))
}

impl ServerProcess {
    /// Waits until the program ends by itself. What it started may go on.
    pub(super) async fn exited(&mut self) {
        let _ = self.child.wait().await;
    }

    /// Ends what the program started, and the program if it is still there.
    pub(super) fn kill(&mut self) {
        self.group = None;
        let _ = self.child.start_kill();
    }

    /// Waits at most so long for the program, then ends it. Says how it ended.
    pub(super) async fn end(mut self, grace: Duration) -> String {
        let by_itself = timeout(grace, self.child.wait()).await;
        self.kill();
        if timeout(LAST_WORDS, &mut self.stderr).await.is_err() {
            self.stderr.abort();
        }
        if self.too_long.load(Ordering::Relaxed) {
            let limit = MAX_MESSAGE / (1024 * 1024);
            return format!("was ended: it sent a message of more than {limit} MiB");
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
    too_long: Arc<AtomicBool>,
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
            self.too_long.store(true, Ordering::Relaxed);
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
            let too_long = Arc::new(AtomicBool::new(false));
            let mut from = BoundedReader { inner: &*text, length: 0, too_long: too_long.clone() };
            let read = from.read_to_end(&mut Vec::new()).await;
            assert_eq!(read.is_err(), too_long.load(Ordering::Relaxed));
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
