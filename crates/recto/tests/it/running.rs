//! The binary while it runs: what it has printed so far, more to read, and Ctrl-C.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::*;

/// How long a test may wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that has not ended yet. It is killed when a test fails over it.
pub(crate) struct Running {
    child: Child,
    input: Option<ChildStdin>,
    out: Arc<Heard>,
    err: Arc<Heard>,
}

/// What comes through a pipe.
#[derive(Default)]
struct Heard {
    so_far: Mutex<SoFar>,
    changed: Condvar,
}

#[derive(Default)]
struct SoFar {
    bytes: Vec<u8>,
    /// Whether the other end has closed the pipe.
    ended: bool,
}

impl Home {
    /// Starts the binary, and leaves it running.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        self.start_with(arguments, &[])
    }

    /// The same with variables.
    pub(crate) fn start_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Running {
        let mut child = self
            .command(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = Heard::listen(child.stdout.take().unwrap());
        let err = Heard::listen(child.stderr.take().unwrap());
        Running { input: child.stdin.take(), child, out, err }
    }
}

impl Running {
    /// Hands in a line of standard input.
    pub(crate) fn type_line(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Ends standard input.
    pub(crate) fn end_input(&mut self) {
        self.input = None;
    }

    /// Blocks until standard output holds this text, and gives all of it so far.
    pub(crate) fn wait_for_out(&self, text: &str) -> String {
        self.out.wait_until(|so_far| so_far.text().contains(text))
    }

    /// Blocks until standard error holds this text, and gives all of it so far.
    pub(crate) fn wait_for_err(&self, text: &str) -> String {
        self.err.wait_until(|so_far| so_far.text().contains(text))
    }

    /// The process's number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        self.signal("INT");
    }

    /// What a service manager does.
    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let kill = ["-c", "kill -\"$0\" \"$1\"", name, &id];
        assert!(Command::new("sh").args(kill).status().unwrap().success());
    }

    /// Ends the input and waits for the process to end by itself.
    pub(crate) fn end(mut self) -> Run {
        drop(self.input.take());
        self.wait()
    }

    /// Waits for the process to end, although there could be more input.
    pub(crate) fn wait(mut self) -> Run {
        let [out, err] = [&self.out, &self.err].map(|pipe| pipe.wait_until(|so_far| so_far.ended));
        let code = self.child.wait().unwrap().code().expect("it was not killed by a signal");
        Run { code, out, err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended by itself, unless the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Heard {
    fn listen(mut pipe: impl Read + Send + 'static) -> Arc<Self> {
        let heard = Arc::<Heard>::default();
        let listener = heard.clone();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut bytes) {
                listener.change(|so_far| so_far.bytes.extend_from_slice(&bytes[..count]));
            }
            listener.change(|so_far| so_far.ended = true);
        });
        heard
    }

    fn change(&self, change: impl FnOnce(&mut SoFar)) {
        change(&mut self.so_far.lock().unwrap());
        self.changed.notify_all();
    }

    fn wait_until(&self, reached: impl Fn(&SoFar) -> bool) -> String {
        let so_far = self.so_far.lock().unwrap();
        let waiting = |so_far: &mut SoFar| !reached(so_far);
        let (so_far, timeout) = self.changed.wait_timeout_while(so_far, PATIENCE, waiting).unwrap();
        assert!(!timeout.timed_out(), "it never came to that: {:?}", so_far.text());
        so_far.text()
    }
}

impl SoFar {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
