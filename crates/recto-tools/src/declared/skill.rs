//! A skill's tools.json, read from its folder together with the hash by which a
//! person trusts it. The same bytes are hashed and read, so that nothing can be
//! put between the two.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use recto_context::ContentHash;

use super::json::DeclarationFlaw;
use super::read;
use super::spec::Execution;
use crate::tool::ToolError;

/// The largest tools.json that is read, in bytes.
const MAX_DECLARATION: u64 = 1024 * 1024;
/// The most entries that `scripts/` may have, and the most bytes.
const MAX_ENTRIES: usize = 1_000;
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The tools that a skill declares, and the hash that a person trusts.
#[derive(Debug)]
pub(crate) struct SkillTools {
    path: PathBuf,
    hash: ContentHash,
    executions: BTreeMap<String, Result<Execution, DeclarationFlaw>>,
    broken: Option<DeclarationFlaw>,
}

/// The reason why a skill's tools, or one of them, can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeclarationError {
    #[error("`{}` can't be read: {cause}", .path.display())]
    Io { path: PathBuf, cause: io::Error },
    #[error("`{}` is not in UTF-8", .path.display())]
    NotText { path: PathBuf },
    #[error(
        "the declaration of the tool has a flaw, which a person has to mend: {}:{}: {}",
        .path.display(), .flaw.line, .flaw.what
    )]
    Flawed { path: PathBuf, flaw: DeclarationFlaw },
    #[error("`{}` declares no tool `{tool}`", .path.display())]
    Undeclared { path: PathBuf, tool: String },
}

impl From<DeclarationError> for ToolError {
    fn from(problem: DeclarationError) -> Self {
        ToolError::new(problem.to_string())
    }
}

/// The hash of all that decides what a skill runs: its tools.json, and the names,
/// contents, links and executable bits in its `scripts/`.
pub fn trust_hash(skill_folder: &Path) -> io::Result<ContentHash> {
    hash_with(skill_folder, &read_declaration(&skill_folder.join("tools.json"))?)
}

/// Whether the skill in this folder declares that a tool of its only reads, as far as that can be
/// read. Nothing is hashed here: what is run is held against the hash.
pub(crate) fn declares_reading(skill_folder: &Path, tool: &str) -> bool {
    let Ok(bytes) = read_declaration(&skill_folder.join("tools.json")) else { return false };
    let Ok(text) = String::from_utf8(bytes) else { return false };
    let contents = read::read_tools_json(&text);
    let execution = contents.executions.get(tool).and_then(|execution| execution.as_ref().ok());
    contents.broken.is_none() && execution.is_some_and(Execution::only_reads)
}

impl SkillTools {
    /// Reads what the skill in this folder declares.
    pub(crate) fn read(skill_folder: &Path) -> Result<Self, DeclarationError> {
        let path = skill_folder.join("tools.json");
        let failed = |cause| DeclarationError::Io { path: path.clone(), cause };
        let bytes = read_declaration(&path).map_err(failed)?;
        let hash = hash_with(skill_folder, &bytes).map_err(failed)?;
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(DeclarationError::NotText { path });
        };
        let contents = read::read_tools_json(&text);
        let (executions, broken) = (contents.executions, contents.broken);
        Ok(SkillTools { path, hash, executions, broken })
    }

    /// The hash that a person has to have approved.
    pub(crate) fn hash(&self) -> ContentHash {
        self.hash
    }

    /// The way in which a tool is run.
    pub(crate) fn execution(&self, tool: &str) -> Result<&Execution, DeclarationError> {
        let path = || self.path.clone();
        let flawed =
            |flaw: &DeclarationFlaw| DeclarationError::Flawed { path: path(), flaw: flaw.clone() };
        if let Some(flaw) = &self.broken {
            return Err(flawed(flaw));
        }
        match self.executions.get(tool) {
            Some(execution) => execution.as_ref().map_err(flawed),
            None => Err(DeclarationError::Undeclared { path: path(), tool: tool.to_owned() }),
        }
    }
}

/// The text of a declaration, as it would be run.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read_declaration(path)?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not in UTF-8"))
}

fn read_declaration(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let bytes = read_at_most(file, MAX_DECLARATION)?;
    bytes.ok_or_else(|| io::Error::other(format!("it is larger than {MAX_DECLARATION} bytes")))
}

/// The content of a file, unless it has more than so many bytes.
fn read_at_most(file: File, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Opens a file without waiting, should it be a pipe that nobody writes to.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

fn hash_with(skill_folder: &Path, declaration: &[u8]) -> io::Result<ContentHash> {
    let mut listing = TrustListing { lines: Vec::new(), entries: 0, bytes: 0 };
    listing.add(b"tools.json", "", Path::new(""), ContentHash::of_bytes(declaration));
    let scripts = skill_folder.join("scripts");
    match std::fs::symlink_metadata(&scripts) {
        Ok(found) => listing.visit(&scripts, Path::new("scripts"), &found)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(ContentHash::of_bytes(&listing.lines))
}

/// Everything that is hashed, an entry after the other.
struct TrustListing {
    lines: Vec<u8>,
    entries: usize,
    bytes: u64,
}

impl TrustListing {
    fn visit(&mut self, path: &Path, name: &Path, found: &Metadata) -> io::Result<()> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            let what = format!("`scripts` has more than {MAX_ENTRIES} files and folders");
            return Err(io::Error::other(what));
        }
        if found.is_dir() {
            self.add(b"folder", "", name, ContentHash::of_bytes(b""));
            let entries = std::fs::read_dir(path)?.take(MAX_ENTRIES + 1);
            let mut names =
                entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
            names.sort();
            for entry in names {
                let below = path.join(&entry);
                let found = std::fs::symlink_metadata(&below)?;
                self.visit(&below, &name.join(&entry), &found)?;
            }
        } else if found.is_symlink() {
            let target = std::fs::read_link(path)?;
            let hash = ContentHash::of_bytes(target.as_os_str().as_encoded_bytes());
            self.add(b"link", "", name, hash);
        } else if found.is_file() {
            let too_much =
                || io::Error::other(format!("`scripts` has more than {MAX_BYTES} bytes"));
            let left = MAX_BYTES - self.bytes;
            let content = read_at_most(open(path)?, left)?.ok_or_else(too_much)?;
            self.bytes += content.len() as u64;
            self.add(b"file", mode_of(found), name, ContentHash::of_bytes(&content));
        } else {
            self.add(b"other", "", name, ContentHash::of_bytes(b""));
        }
        Ok(())
    }

    /// Adds an entry. The length of its name is written before it, so that no
    /// name can pass for the entries that follow.
    fn add(&mut self, kind: &[u8], mode: &str, name: &Path, content: ContentHash) {
        let name = name.as_os_str().as_encoded_bytes();
        self.lines.extend_from_slice(kind);
        self.lines.extend_from_slice(format!(" {mode} {} ", name.len()).as_bytes());
        self.lines.extend_from_slice(name);
        self.lines.extend_from_slice(content.as_bytes());
    }
}

fn mode_of(found: &Metadata) -> &'static str {
    if found.permissions().mode() & 0o111 == 0 { "plain" } else { "executable" }
}
