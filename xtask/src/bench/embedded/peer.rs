//! llama.cpp in a Python of its own, asked line by line.

use std::env;
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::TokenSpeed;
use crate::Result;
use crate::bench::model::window;

/// What the peer runs.
const SCRIPT: &str = include_str!("peer.py");

/// The package that brings llama.cpp into Python.
const PACKAGE: &str = "llama-cpp-python";

/// Names a Python that has the package.
const VARIABLE: &str = "RECTO_BENCH_PYTHON";

/// A peer that waits for prompts. It ends with its input.
pub(super) struct ModelPeer {
    child: Child,
    asks: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
    /// The version of the package.
    pub(super) version: String,
    /// What the library was built for.
    pub(super) system: String,
}

/// What it says first.
#[derive(Deserialize)]
struct ModelPeerGreeting {
    version: String,
    system: String,
}

/// What it says of a run: tokens, and seconds.
#[derive(Deserialize)]
struct ModelPeerRun {
    prompt: u32,
    first: f64,
    rest: f64,
}

impl ModelPeer {
    /// Starts the peer, or says in a sentence why there is none.
    pub(super) fn start(
        folder: &Path,
        model: &Path,
        threads: usize,
    ) -> std::result::Result<Self, String> {
        let python = match env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            Some(python) => PathBuf::from(python),
            None => install(&folder.join("peers"))?,
        };
        let failed = |what: &str, error: &dyn Display| {
            format!("{} {what}: {error}; {VARIABLE} names another", python.display())
        };
        let mut child = Command::new(&python)
            .args(["-c", SCRIPT])
            .arg(model)
            .args([threads.to_string(), window().tokens.get().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed("can't be started", &error))?;
        let (asks, says) = (child.stdin.take(), child.stdout.take());
        let says = says.ok_or_else(|| failed("has no output", &"no pipe"))?;
        let mut says = BufReader::new(says);
        let hello: ModelPeerGreeting =
            read_json_line(&mut says).map_err(|error| failed("does not run the peer", &error))?;
        Ok(ModelPeer { child, asks, says, version: hello.version, system: hello.system })
    }

    /// Lets it read a prompt of so many tokens and write as many as are wanted.
    pub(super) fn run(&mut self, prompt: &str, length: u32, written: u32) -> Result<TokenSpeed> {
        let asks = self.asks.as_mut().ok_or("the peer takes no more")?;
        writeln!(asks, "{}", json!({ "prompt": prompt, "tokens": written }))?;
        asks.flush()?;
        let took: ModelPeerRun = read_json_line(&mut self.says)?;
        if took.prompt != length {
            let problem = format!("the peer read {} tokens instead of {length}", took.prompt);
            return Err(problem.into());
        }
        let [first, rest] = [took.first, took.rest].map(Duration::from_secs_f64);
        Ok(TokenSpeed::from_times(length, first, written, rest))
    }
}

impl Drop for ModelPeer {
    fn drop(&mut self) {
        // Without input it comes to its end.
        self.asks.take();
        let _ = self.child.wait();
    }
}

fn read_json_line<T: DeserializeOwned>(says: &mut impl BufRead) -> Result<T> {
    let mut line = String::new();
    says.read_line(&mut line)?;
    if line.is_empty() {
        return Err("it ended without a word".into());
    }
    Ok(serde_json::from_str(&line)?)
}

/// A Python under `folder` that has the package. It is made once.
fn install(folder: &Path) -> std::result::Result<PathBuf, String> {
    let home = folder.join(PACKAGE);
    let python = home.join("bin").join("python");
    let has_package = || {
        let mut look = Command::new(&python);
        look.args(["-c", "import llama_cpp"]).stderr(Stdio::null());
        look.status().is_ok_and(|status| status.success())
    };
    if has_package() {
        return Ok(python);
    }
    eprintln!("installing {PACKAGE} into {}: it compiles for about 15 minutes", home.display());
    fs::create_dir_all(folder).map_err(|error| format!("no folder for it: {error}"))?;
    perform(Command::new("python3").args([OsStr::new("-m"), "venv".as_ref(), home.as_ref()]))?;
    perform(Command::new(&python).args(["-m", "pip", "install", "--quiet", PACKAGE]))?;
    Ok(python)
}

fn perform(command: &mut Command) -> std::result::Result<(), String> {
    let shown = format!("{command:?}");
    match command.stdout(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown} failed ({status}); {VARIABLE} names a Python with it")),
        Err(error) => Err(format!("{shown} can't be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_peer_says_is_a_line_of_json() {
        let mut says = "{\"prompt\": 5, \"first\": 0.5, \"rest\": 1.5}\n".as_bytes();
        let took: ModelPeerRun = read_json_line(&mut says).unwrap();
        assert_eq!((took.prompt, took.first, took.rest), (5, 0.5, 1.5));
        assert!(read_json_line::<ModelPeerRun>(&mut says).is_err());
    }

    #[test]
    fn a_command_that_fails_is_named() {
        let error = perform(&mut Command::new("no-such-program-at-all")).unwrap_err();
        assert!(error.contains("no-such-program-at-all"), "{error}");
    }
}
