//! Other encoders, each in a process of its own that is asked line by line.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::Result;

/// What ONNX Runtime's process runs.
const ONNX: &str = include_str!("onnx.py");

/// What transformers.js's process runs.
const TRANSFORMERS: &str = include_str!("transformers.mjs");

/// What ONNX Runtime's process takes.
const PYTHON_PACKAGES: [&str; 4] = ["onnxruntime", "onnx", "tokenizers", "numpy"];

/// What transformers.js's process takes.
const NODE_PACKAGE: &str = "@huggingface/transformers";

/// May name a Python that has the packages.
const PYTHON: &str = "RECTO_BENCH_PYTHON";

/// May name a folder whose `node_modules` has the package.
const NODE: &str = "RECTO_BENCH_NODE";

/// Why there is no such peer, in a sentence.
type Absence = String;

/// A peer that waits for texts. It ends with its input.
pub(super) struct EncoderPeer {
    /// What it is, and which version.
    pub(super) name: String,
    child: Child,
    asks: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
}

/// What it says first.
#[derive(Deserialize)]
struct EncoderPeerGreeting {
    version: String,
}

/// What it says of a run.
#[derive(Deserialize)]
pub(super) struct EncoderPeerRun {
    /// From texts to vectors.
    pub(super) seconds: f64,
    /// Which of its ways it took, the fastest.
    pub(super) way: String,
    /// The vector of the first text.
    pub(super) vector: Vec<f32>,
}

impl EncoderPeer {
    /// ONNX Runtime with the weights in `model`. What it makes of them goes into
    /// `folder`, for transformers.js, too.
    pub(super) fn onnx(
        model: &Path,
        folder: &Path,
        threads: usize,
    ) -> std::result::Result<Self, Absence> {
        let named = env::var_os(PYTHON).map(PathBuf::from);
        let python = match named.filter(|python| has_packages(python)) {
            Some(python) => python,
            None => install_python(&folder.join("peers/onnxruntime"))?,
        };
        let mut command = Command::new(python);
        command.args(["-c", ONNX]).args([model, &exported(folder)]).arg(threads.to_string());
        EncoderPeer::start("ONNX Runtime", &mut command)
    }

    /// transformers.js with what ONNX Runtime's process made of the weights.
    pub(super) fn transformers(
        folder: &Path,
        threads: usize,
    ) -> std::result::Result<Self, Absence> {
        let named = env::var_os(NODE).map(PathBuf::from);
        let modules = match named.filter(|modules| has_package(modules)) {
            Some(modules) => modules,
            None => install_node(&folder.join("peers/transformers.js"))?,
        };
        let script = modules.join("peer.mjs");
        fs::write(&script, TRANSFORMERS)
            .map_err(|error| format!("{} can't be written: {error}", script.display()))?;
        let mut command = Command::new("node");
        command.args([&script, &modules, &exported(folder)]).arg(threads.to_string());
        EncoderPeer::start("transformers.js", &mut command)
    }

    fn start(name: &str, command: &mut Command) -> std::result::Result<Self, Absence> {
        let program = Path::new(command.get_program()).display().to_string();
        let failed = |error: &dyn std::fmt::Display| format!("{program} does not run it: {error}");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error))?;
        let (asks, says) = (child.stdin.take(), child.stdout.take());
        let mut says = BufReader::new(says.ok_or_else(|| failed(&"it has no output"))?);
        let hello: EncoderPeerGreeting =
            read_json_line(&mut says).map_err(|error| failed(&error))?;
        Ok(EncoderPeer { name: format!("{name} {}", hello.version), child, asks, says })
    }

    /// Lets it encode texts.
    pub(super) fn run(&mut self, texts: &[&str]) -> Result<EncoderPeerRun> {
        let asks = self.asks.as_mut().ok_or("the peer takes no more")?;
        writeln!(asks, "{}", json!({ "texts": texts }))?;
        asks.flush()?;
        read_json_line(&mut self.says)
    }
}

impl Drop for EncoderPeer {
    fn drop(&mut self) {
        // Without input it comes to its end.
        self.asks.take();
        let _ = self.child.wait();
    }
}

/// Where the exported model goes.
fn exported(folder: &Path) -> PathBuf {
    folder.join("peers/minilm-onnx")
}

/// The next line that is JSON: libraries may have something to say, too.
fn read_json_line<T: DeserializeOwned>(says: &mut impl BufRead) -> Result<T> {
    let mut line = String::new();
    while says.read_line(&mut line)? > 0 {
        if line.starts_with('{') {
            return Ok(serde_json::from_str(&line)?);
        }
        line.clear();
    }
    Err("it ended without a word".into())
}

/// A Python in `home` that has the packages. It is made once.
fn install_python(home: &Path) -> std::result::Result<PathBuf, Absence> {
    let python = home.join("bin").join("python");
    if has_packages(&python) {
        return Ok(python);
    }
    eprintln!("installing {} into {}", PYTHON_PACKAGES.join(", "), home.display());
    perform(Command::new("python3").args([OsStr::new("-m"), "venv".as_ref(), home.as_ref()]))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet"]).args(PYTHON_PACKAGES);
    perform(&mut pip)?;
    Ok(python)
}

fn has_packages(python: &Path) -> bool {
    let imports = format!("import {}", PYTHON_PACKAGES.join(", "));
    let mut look = Command::new(python);
    look.args(["-c", &imports]).stderr(Stdio::null());
    look.status().is_ok_and(|status| status.success())
}

/// A folder with the package. It is made once.
fn install_node(home: &Path) -> std::result::Result<PathBuf, Absence> {
    if has_package(home) {
        return Ok(home.to_owned());
    }
    eprintln!("installing {NODE_PACKAGE} into {}", home.display());
    fs::create_dir_all(home).map_err(|error| format!("no folder for it: {error}"))?;
    let mut npm = Command::new("npm");
    // Its script fetches libraries for graphics cards, which have no part in this.
    npm.args(["install", "--silent", "--ignore-scripts", "--prefix"]).arg(home).arg(NODE_PACKAGE);
    perform(&mut npm)?;
    Ok(home.to_owned())
}

fn has_package(folder: &Path) -> bool {
    folder.join("node_modules").join(NODE_PACKAGE).is_dir()
}

fn perform(command: &mut Command) -> std::result::Result<(), Absence> {
    let shown = format!("{command:?}");
    match command.stdout(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown} failed ({status}); {PYTHON} and {NODE} name others")),
        Err(error) => Err(format!("{shown} can't be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_heard_among_its_libraries() {
        let mut says = "a warning\n{\"version\": \"1.2\"}\n".as_bytes();
        assert_eq!(read_json_line::<EncoderPeerGreeting>(&mut says).unwrap().version, "1.2");
        assert!(read_json_line::<EncoderPeerGreeting>(&mut says).is_err());
    }

    #[test]
    fn a_peer_that_is_not_there_is_named() {
        let error = EncoderPeer::start("a peer", &mut Command::new("no-such-program-at-all"));
        assert!(error.err().unwrap().starts_with("no-such-program-at-all does not run it: "));
    }
}
