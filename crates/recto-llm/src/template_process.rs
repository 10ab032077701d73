//! A process that renders a chat template, and nothing else.
//!
//! What a template of a model's file does can't be foreseen, and a thread can't be ended. So Recto
//! starts its own executable anew, as `recto __render`: that reads what is to be done from stdin, sets
//! limits to its own memory and time that the kernel holds, and writes what came of it to stdout. It
//! has no variables and opens nothing. Where it is ended, so is the reply that needed it, and nothing
//! else.
//!
//! A program that does not say which executable that is, such as a test, renders by itself.

use std::io::{self, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use crate::wire::do_written_work;

/// The command that renders.
const RENDER: &str = "__render";

/// The memory of the process besides its stack, of which little is ever used.
const MOST_MEMORY: u64 = 768 * 1024 * 1024;

/// The seconds for which it may compute. Templates take milliseconds.
const MOST_SECONDS: u64 = 10;

/// How long it is waited for, also where others have the processor.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most that it may answer: a prompt, in JSON.
const MOST_ANSWER: u64 = 256 * 1024 * 1024;

/// The allocator would set aside more than the process may have.
const ALLOCATOR: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "65536");

static EXECUTABLE: OnceLock<PathBuf> = OnceLock::new();

/// Why a process gave no answer.
#[derive(Debug)]
pub(crate) enum ProcessFailure {
    NotStarted(String),
    OutOfTime,
    /// It ended before its time, as it does without memory.
    Ended,
}

/// Has chat templates rendered by processes of this executable, whose `main` calls
/// [`render_if_asked`] first of all. Without one they are rendered here.
pub fn render_apart(executable: Option<PathBuf>) {
    if let Some(executable) = executable {
        // Whoever says it twice means the same.
        let _ = EXECUTABLE.set(executable);
    }
}

/// Renders a template, if that is what this process was started for.
pub fn render_if_asked() -> Option<ExitCode> {
    if std::env::args_os().nth(1)? != RENDER {
        return None;
    }
    let mut written = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut written);
    let answer = read.ok().and_then(|_| do_written_work(&written, bound_this_process));
    let told = answer.map(|answer| io::stdout().lock().write_all(&answer));
    Some(if matches!(told, Some(Ok(()))) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn executable() -> Option<&'static Path> {
    EXECUTABLE.get().map(PathBuf::as_path)
}

/// Has a process of its own do what is written down.
pub(crate) fn ask(executable: &Path, written: Vec<u8>) -> Result<Vec<u8>, ProcessFailure> {
    let started = Command::new(executable)
        .arg(RENDER)
        .env_clear()
        .env(ALLOCATOR.0, ALLOCATOR.1)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut process = started.map_err(|error| not_started(&error))?;
    let answer = wait_apart(|| talk(&mut process, written));
    // One that has answered is about to end by itself, and its exit code stands.
    _ = process.kill();
    let status = process.wait().map_err(|_| ProcessFailure::Ended)?;
    match (answer, status.signal()) {
        (Err(failure @ ProcessFailure::OutOfTime), _) => Err(failure),
        (_, Some(signal)) if signal == Signal::XCPU.as_raw() => Err(ProcessFailure::OutOfTime),
        (Ok(answer), _) if status.success() => Ok(answer),
        _ => Err(ProcessFailure::Ended),
    }
}

/// Tells it what to do, and reads what came of it, until it is done or out of time.
fn talk(process: &mut Child, written: Vec<u8>) -> Result<Vec<u8>, ProcessFailure> {
    let (Some(mut stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
        return Err(ProcessFailure::Ended);
    };
    let (done, answered) = channel();
    let talk = move || {
        let mut answer = Vec::new();
        let told = stdin.write_all(&written);
        drop(stdin);
        let read = told.and_then(|()| stdout.take(MOST_ANSWER).read_to_end(&mut answer));
        let _ = done.send(read.map(|_| answer));
    };
    thread::Builder::new().spawn(talk).map_err(|error| not_started(&error))?;
    match answered.recv_timeout(PATIENCE) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(ProcessFailure::Ended),
        Err(RecvTimeoutError::Timeout) => Err(ProcessFailure::OutOfTime),
    }
}

fn not_started(error: &io::Error) -> ProcessFailure {
    ProcessFailure::NotStarted(error.to_string())
}

/// Waits for the process. Whoever asks for a prompt may be a task of a runtime, whose other tasks go
/// on meanwhile.
fn wait_apart<T>(wait: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(wait),
        _ => wait(),
    }
}

/// Sets the limits of this process. What it can't have more of ends it.
fn bound_this_process(stack: usize) {
    let memory = MOST_MEMORY.saturating_add(stack as u64);
    for (resource, most) in
        [(Resource::Data, memory), (Resource::Cpu, MOST_SECONDS), (Resource::Core, 0)]
    {
        let maximum = getrlimit(resource).maximum;
        let most = maximum.map_or(most, |maximum| maximum.min(most));
        // Where the kernel knows no such limit, whoever waits still ends it in time.
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// What comes of asking a program of these lines of shell.
    fn ask_shell(lines: &str) -> Result<Vec<u8>, ProcessFailure> {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("recto");
        fs::write(&script, format!("#!/bin/sh\n{lines}\n")).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
        ask(&script, b"what to do".to_vec())
    }

    #[test]
    fn what_became_of_a_process_is_told_apart() {
        assert_eq!(ask_shell("printf '%s: ' $1; cat").unwrap(), b"__render: what to do");
        assert!(matches!(ask_shell("kill -XCPU $$"), Err(ProcessFailure::OutOfTime)));
        assert!(matches!(ask_shell("cat; kill -ABRT $$"), Err(ProcessFailure::Ended)));
        assert!(matches!(ask_shell("cat; exit 1"), Err(ProcessFailure::Ended)));
        assert!(matches!(ask_shell("exec cat /dev/zero"), Err(ProcessFailure::Ended)));
        let missing = ask(Path::new("/nowhere/recto"), Vec::new());
        assert!(matches!(missing, Err(ProcessFailure::NotStarted(_))));
    }

    /// Promise: `input-never-runs-on`
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn tasks_beside_the_one_that_waits_for_a_process_go_on() {
        let (begun, waits) = tokio::sync::oneshot::channel();
        let asked = tokio::spawn(async move {
            begun.send(()).unwrap();
            ask_shell("cat > /dev/null; sleep 5; printf done").unwrap()
        });
        let beside = tokio::spawn(async move {
            waits.await.unwrap();
            // Behind the other task in the only worker's line.
            tokio::time::sleep(Duration::from_millis(50)).await;
        });
        beside.await.unwrap();
        assert!(!asked.is_finished(), "the runtime stood still");
        assert_eq!(asked.await.unwrap(), b"done");
    }

    #[test]
    fn it_has_no_variables_of_recto() {
        let told = String::from_utf8(ask_shell("cat > /dev/null; env").unwrap()).unwrap();
        let names = told.lines().filter_map(|line| line.split('=').next());
        let others = ["PWD", "OLDPWD", "SHLVL", "_", ALLOCATOR.0];
        assert_eq!(names.filter(|name| !others.contains(name)).count(), 0, "{told}");
    }
}
