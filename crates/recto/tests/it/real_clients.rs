//! Clients that others wrote, against the real binary: `recto serve` with a strict fake of a model
//! behind it. `RECTO_TEST_CLIENTS` is a folder that has them, as `scripts/test-clients` fills it.

mod doors;
mod schemathesis;

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::support::Home;

/// `recto serve` in a home, until it is dropped.
pub(crate) struct ServeProcess {
    child: Child,
    /// Where it answers, with a slash at the end.
    pub(crate) url: String,
}

impl ServeProcess {
    pub(crate) fn start(home: &Home) -> Self {
        Self::start_with(home, &[])
    }

    /// The same with these variables in its environment.
    pub(crate) fn start_with(home: &Home, variables: &[(&str, &str)]) -> Self {
        let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().find(|word| word.starts_with("http://"));
        ServeProcess { child, url: url.unwrap_or_else(|| panic!("{line}")).to_owned() }
    }

    /// Ends it as a person does, and waits for the end.
    pub(crate) fn end(mut self) {
        self.terminate();
        assert!(self.child.wait().unwrap().success());
    }

    fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program of the folder with the clients.
fn client_program(name: &str) -> PathBuf {
    let folder = std::env::var_os("RECTO_TEST_CLIENTS");
    let folder: PathBuf = folder
        .expect("RECTO_TEST_CLIENTS names the folder that scripts/test-clients has filled")
        .into();
    folder.join("venv/bin").join(name)
}

/// Runs a script of Python's with the clients, which fails by itself where something is wrong.
#[track_caller]
fn run_python(script: &str, arguments: &[&str]) -> String {
    let mut child = Command::new(client_program("python"))
        .arg("-")
        .args(arguments)
        .env_remove("OPENAI_API_KEY")
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

/// What `curl` prints.
#[track_caller]
fn curl(arguments: &[&str]) -> String {
    let always = ["--silent", "--show-error", "--max-time", "60", "--noproxy", "*"];
    let output = Command::new("curl").args(always).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
