//! How a model gets into the library: by a name that Recto knows, from an
//! address, or from a file or an encoder's folder of this machine.
//!
//! The order of things is the same for all: what is there already is not touched;
//! then the lock, and another look, because whoever had it may have done the
//! work; then the sources, one after the other, each failure kept. Here is what
//! they share; `known_model`, `given_file` and `given_folder` have the ways, and the files beside them how
//! each source works.

mod address;
mod copy;
mod download;
mod given_file;
mod given_folder;
mod known_model;
mod part;
mod pip;
mod space;
mod target;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::checksum::{Checksum, FileDigest};
use crate::entry::LibraryEntry;
use crate::error::{ModelsError, PullError, SourceError};
use crate::library::Library;
use crate::lock::PullLock;
use crate::progress::PullProgress;
pub(crate) use given_folder::{NEEDED as ENCODER_FILES, WEIGHTS as ENCODER_WEIGHTS};
use target::PullTarget;

/// The variables that say from where pip, and the Python that runs it, load code.
pub const PIP_CODE_VARIABLES: [&str; 6] = [
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUSERBASE",
    "PYTHONPYCACHEPREFIX",
    "PIP_PYTHON",
    "PIP_CONFIG_FILE",
];

/// How a pull is made, besides what to pull.
#[derive(Debug, Clone)]
pub struct PullOptions {
    /// The address of the model hub.
    pub hub: String,
    /// The folders in which pip is looked for, in the form of `PATH`.
    pub search_path: OsString,
    /// What [`PIP_CODE_VARIABLES`] are for pip, in their order. It gets none that is empty.
    pub pip_code: [OsString; PIP_CODE_VARIABLES.len()],
    /// The SHA-256 that the file must have; not for models that Recto knows.
    pub sha256: Option<Checksum>,
    /// The name that the model gets; not for models that Recto knows.
    pub name: Option<String>,
    /// How long a connection may take to come about.
    pub connect_limit: Duration,
    /// How long a server may be silent.
    pub silence_limit: Duration,
    /// How long pip may bring nothing.
    pub pip_limit: Duration,
    /// How long to wait before a lost connection is made again.
    pub pause: Duration,
}

impl Default for PullOptions {
    fn default() -> Self {
        PullOptions {
            hub: "https://huggingface.co".to_owned(),
            search_path: OsString::new(),
            pip_code: Default::default(),
            sha256: None,
            name: None,
            // Short: a machine that cannot reach the hub goes on to pip.
            connect_limit: Duration::from_secs(5),
            silence_limit: Duration::from_secs(30),
            pip_limit: Duration::from_secs(300),
            pause: Duration::from_secs(1),
        }
    }
}

/// A model that a pull has brought, or found in the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PulledModel {
    /// The model's name in the library.
    pub name: String,
    /// Its files, the model itself first.
    pub files: Vec<PulledFile>,
}

/// A file that was pulled, or was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PulledFile {
    /// Its place in the library.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// The checksum of its bytes.
    pub sha256: Checksum,
    /// Whether it was there before.
    pub was_there: bool,
}

impl Library {
    /// Brings a model into the library: one that is [known](Library::known) by
    /// this name, the file at this address or path, or the encoder in this folder.
    ///
    /// When the returned future is dropped the pull ends; what has been
    /// downloaded stays, so that the next pull goes on with it.
    pub async fn pull(
        &self,
        target: &str,
        options: &PullOptions,
        progress: &mut (dyn FnMut(PullProgress) + Send),
    ) -> Result<PulledModel, ModelsError> {
        let mut job = PullJob { library: self, options, report: progress };
        match PullTarget::parse(target, self)? {
            PullTarget::Known(model) => job.pull_known(model).await,
            PullTarget::Url(url) => job.pull_url(&url).await,
            PullTarget::Path(path) if given_folder::is_encoder_folder(&path) => {
                job.pull_folder(&path).await
            }
            PullTarget::Path(path) => job.pull_file(&path).await,
        }
    }
}

/// The function that is told what happens in a pull.
type ProgressCallback<'a> = &'a mut (dyn FnMut(PullProgress) + Send);

/// A pull while it goes on.
struct PullJob<'a> {
    library: &'a Library,
    options: &'a PullOptions,
    report: ProgressCallback<'a>,
}

impl PullJob<'_> {
    fn report(&mut self, progress: PullProgress) {
        (self.report)(progress);
    }

    async fn lock(&mut self, name: &str) -> Result<Arc<PullLock>, ModelsError> {
        let waiting = || (self.report)(PullProgress::Waiting { name: name.to_owned() });
        PullLock::take(self.library.folder(), name, waiting).await.map(Arc::new)
    }

    /// Gives the part at `from` its name at `to`, if it is what it must be.
    fn install(
        &mut self,
        from: &LibraryEntry,
        to: &LibraryEntry,
        sum: FileDigest,
        sha256: Option<Checksum>,
    ) -> Result<(), PullError> {
        if let Some(expected) = sha256 {
            if expected != sum.sha256 {
                from.discard_part();
                return Err(SourceError::Mismatch { expected, actual: sum.sha256 }.into());
            }
            self.report(PullProgress::Verified { file: to.file().to_owned(), sha256: expected });
        }
        to.install(&from.part(), sum)?;
        from.discard_part();
        self.report(PullProgress::Done { path: to.path(), size: sum.size });
        Ok(())
    }

    /// Does what takes its time on a thread of its own, and passes on what it
    /// reports.
    async fn run_blocking<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&ProgressSender) -> T + Send + 'static,
    ) -> T {
        let (sender, mut receiver) = mpsc::channel(64);
        let task = spawn_blocking(move || work(&ProgressSender(sender)));
        while let Some(progress) = receiver.recv().await {
            self.report(progress);
        }
        recto_fs::finish(task).await
    }
}

/// Sends the progress of work on another thread.
struct ProgressSender(mpsc::Sender<PullProgress>);

/// The pull was dropped: nobody wants the work any more.
#[derive(Debug)]
struct PullCancelled;

impl ProgressSender {
    fn send(&self, progress: PullProgress) -> Result<(), PullCancelled> {
        self.0.blocking_send(progress).map_err(|_| PullCancelled)
    }
}
