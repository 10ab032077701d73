//! A home of its own for each test, and the binary run in it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// An address at which nobody listens.
pub(crate) const NOWHERE: &str = "127.0.0.1:1";

/// A home in a folder that goes away with the test.
pub(crate) struct Home {
    folder: TempDir,
}

/// What a run of the binary left.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    /// An empty home that does not exist yet.
    pub(crate) fn new() -> Self {
        Home { folder: TempDir::new().unwrap() }
    }

    /// A home that `recto init` has set up.
    pub(crate) fn ready() -> Self {
        let home = Home::new();
        assert_eq!(home.run(&["init"]).code, 0);
        home
    }

    /// A home with these files, and nothing else.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let home = Home::new();
        fs::create_dir_all(home.path("workspace")).unwrap();
        for (name, content) in files {
            home.write(name, content);
        }
        home
    }

    /// A home whose only model, `m`, plays these lines.
    pub(crate) fn scripted(lines: &[&str]) -> Self {
        let config =
            "[models.m]\nprovider = \"scripted\"\nscript = \"talk.jsonl\"\nwindow = 16384\n";
        Home::with(&[("config.toml", config), ("talk.jsonl", &lines.join("\n"))])
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("home").join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, "", &[])
    }

    /// The binary with these arguments, in this home, with no variables but `PATH` and
    /// with no Ollama that it could find.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_recto"));
        command
            .arg("--home")
            .arg(self.path(""))
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("OLLAMA_HOST", NOWHERE);
        command
    }

    pub(crate) fn run_with(
        &self,
        arguments: &[&str],
        input: impl AsRef<[u8]>,
        variables: &[(&str, &str)],
    ) -> Run {
        let mut child = self
            .command(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that does not read its input closes it early.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        Run::of(child.wait_with_output().unwrap())
    }

    /// A command that must go well. Gives what it prints.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}{}", run.out, run.err);
        run.out
    }

    /// `recto context MESSAGE --json`, parsed.
    pub(crate) fn context(&self, message: &str, more: &[&str]) -> Value {
        let run = self.run(&[&["context", message, "--json"], more].concat());
        assert_eq!(run.code, 0, "{}", run.err);
        serde_json::from_str(&run.out).unwrap()
    }

    /// Every file below the home, with its content.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut tree = BTreeMap::new();
        collect(self.folder.path(), &mut tree);
        tree
    }
}

/// What a command printed as JSON, parsed.
#[track_caller]
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

impl Run {
    fn of(output: Output) -> Self {
        Run {
            code: output.status.code().expect("it was not killed by a signal"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts a clean failure: a message for people, and no panic.
    pub(crate) fn fails_with(&self, text: &str) {
        assert_eq!(self.code, 1, "{}{}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        assert!(self.err.contains(text) || self.out.contains(text), "{}{}", self.out, self.err);
    }
}

fn collect(folder: &Path, tree: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => collect(&path, tree),
            kind if kind.is_file() => {
                tree.insert(path.clone(), fs::read(&path).unwrap());
            }
            _ => {
                tree.insert(path, Vec::new());
            }
        }
    }
}

/// The folder of a model that tests use as it is, where `make test` puts it.
pub(crate) fn test_model(name: &str) -> PathBuf {
    let folder = match std::env::var_os("RECTO_TEST_MODELS") {
        Some(folder) => folder.into(),
        None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("models"),
    };
    let model = folder.join(name);
    assert!(model.is_dir(), "{} is missing: run `make test`, which pulls it", model.display());
    model
}

/// Puts the embedding model where a pull puts it.
pub(crate) fn with_encoder(home: &Home) {
    fs::create_dir_all(home.path("models")).unwrap();
    std::os::unix::fs::symlink(test_model("minilm"), home.path("models/minilm")).unwrap();
}

/// The layer of that name.
pub(crate) fn layer<'a>(context: &'a Value, name: &str) -> &'a Value {
    let layers = context["layers"].as_array().unwrap();
    layers.iter().find(|layer| layer["layer"] == name).unwrap()
}

/// The names of a layer's items.
pub(crate) fn names(context: &Value, layer_name: &str) -> Vec<String> {
    let items = layer(context, layer_name)["items"].as_array().unwrap();
    items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

/// Waits until something is so; it always is in the end, unless the test fails.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "it never came: {what}");
        sleep(Duration::from_millis(5));
    }
}
