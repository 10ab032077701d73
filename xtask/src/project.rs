//! The repository as cargo sees it: where it is, and which crate needs which.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::Result;

/// The repository, as `cargo metadata` tells of it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Project {
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    /// The folder that cargo builds in.
    #[serde(rename = "target_directory")]
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<CratePackage>,
}

/// A crate of the repository.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct CratePackage {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    /// What it asks for.
    pub(crate) dependencies: Vec<CrateDependency>,
}

/// Something a crate asks for.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct CrateDependency {
    /// The name of the crate asked for.
    pub(crate) name: String,
    /// `dev`, `build`, or nothing for a plain dependency.
    pub(crate) kind: Option<String>,
}

/// A text file of the repository.
#[derive(Debug, Clone)]
pub(crate) struct TextFile {
    /// Its path from the repository's folder, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    /// The folder of the crate it belongs to, which bears the crate's name.
    pub(crate) fn crate_name(&self) -> &str {
        let path = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        path.split('/').next().unwrap_or(path)
    }

    /// Whether all of it is test code. Test modules that have a file of their
    /// own are called `tests`.
    pub(crate) fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }
}

impl Project {
    /// Asks cargo. The folder is not taken from the time of compilation: a
    /// target directory shared by two checkouts would point to the wrong one.
    pub(crate) fn load() -> Result<Project> {
        let output = cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(format!("cargo metadata failed: {}", message.trim()).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// `path` as seen from the repository's folder, with `/`.
    pub(crate) fn relative(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        path.to_string_lossy().replace('\\', "/")
    }

    /// Every text file below `folder` whose name ends so, in order of path.
    /// Hidden folders and what cargo built are left out.
    pub(crate) fn files(&self, folder: &str, ending: &str) -> Result<Vec<TextFile>> {
        let mut paths = Vec::new();
        let start = self.root.join(folder);
        if start.is_dir() {
            self.walk(&start, &mut paths)?;
        }
        paths.retain(|path| path.to_string_lossy().ends_with(ending));
        paths.sort();
        paths.iter().map(|path| self.read(path)).collect()
    }

    /// Every file of Rust code, in order of path.
    pub(crate) fn sources(&self) -> Result<Vec<TextFile>> {
        let mut files = self.files("crates", ".rs")?;
        files.extend(self.files("xtask", ".rs")?);
        Ok(files)
    }

    fn walk(&self, folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if hidden || path == self.target || path == self.root.join("target") {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.walk(&path, paths)?;
            } else if kind.is_file() {
                paths.push(path);
            }
        }
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<TextFile> {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(TextFile { path: self.relative(path), text })
    }
}

/// The cargo that runs this program, or the one on the path.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Recto's own executable, built as this one is. The engine makes it larger, and slower
/// to start: it is built in where it is built into this program.
pub(crate) fn build_recto() -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("recto");
    let mut build = cargo();
    build.args(["build", "--quiet", "--package", "recto", "--bin", "recto"]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    if recto_llm::IS_BUILT_IN {
        build.args(["--features", "embedded"]);
    }
    match build.status()?.success() && path.is_file() {
        true => Ok(path),
        false => Err(format!("{} could not be built", path.display()).into()),
    }
}
