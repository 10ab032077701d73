//! Pulls a file that a person has given by its address or path.
//!
//! Such a file may be one that Recto knows: brought from another machine, or
//! fetched from a server of one's own. Its checksum tells, and it then goes to
//! that model's place, whatever it was called.

use std::path::Path;
use std::sync::Arc;

use reqwest::Url;

use super::address::DownloadAddress;
use super::download::{Download, ExpectedFile};
use super::{PullJob, PulledFile, PulledModel, copy, space};
use crate::checksum::{Checksum, FileDigest};
use crate::entry::{self, LibraryEntry};
use crate::error::{ModelsError, PullError, SourceFailure};
use crate::known::{KnownFile, KnownModel};
use crate::name::{self, DerivedNames};
use crate::progress::{PullProgress, PullSource};

impl PullJob<'_> {
    pub(super) async fn pull_url(&mut self, url: &Url) -> Result<PulledModel, ModelsError> {
        let address = DownloadAddress::from_url(url.clone());
        let (name, entry) =
            self.choose_entry(&name::last_segment(url.path())).ok_or_else(|| {
                let problem = "it does not end in the name of a file".to_owned();
                ModelsError::BadAddress { url: address.shown().to_owned(), problem }
            })??;
        let origin = Checksum::of_bytes(url.as_str().as_bytes());
        if let Some(pulled) = self.find_pulled(origin, &name, &entry).await? {
            return Ok(pulled);
        }
        let lock = self.lock(&name).await?;
        if let Some(pulled) = self.find_pulled(origin, &name, &entry).await? {
            return Ok(pulled);
        }
        let source = PullSource::Url { url: address.shown().to_owned() };
        self.report(PullProgress::Trying { source: source.clone() });
        let expected = ExpectedFile { size: None, sha256: self.options.sha256 };
        let download = Download::new(&address, &entry, expected, self.options, &lock);
        let downloaded = match download {
            Ok(download) => download.run(self.report).await,
            Err(error) => Err(error.into()),
        };
        let arrived = match downloaded {
            Ok(sum) => self.install_download(&entry, name, sum).await,
            Err(error) => Err(error),
        };
        entry.discard_empty_folder();
        let (pulled, entry) = arrived.map_err(|error| only_failure(error, source, &entry))?;
        entry.note_origin(origin);
        Ok(pulled)
    }

    /// Gives a download its name: at the place of a known model if it is one of
    /// its files, else where it was meant to go.
    async fn install_download(
        &mut self,
        entry: &LibraryEntry,
        name: String,
        sum: FileDigest,
    ) -> Result<(PulledModel, LibraryEntry), PullError> {
        let known = match self.options.name {
            Some(_) => None,
            None => self.known_entry(sum),
        };
        let Some((name, to)) = known else {
            self.install(entry, entry, sum, self.options.sha256)?;
            return Ok((pulled(name, entry, sum, PullOutcome::Pulled), entry.clone()));
        };
        let _lock = self.lock(&name).await?;
        self.install(entry, &to, sum, self.options.sha256)?;
        Ok((pulled(name, &to, sum, PullOutcome::Pulled), to))
    }

    pub(super) async fn pull_file(&mut self, path: &Path) -> Result<PulledModel, ModelsError> {
        let size = copy::size_of(path)?;
        let (name, entry) = self.entry_for_file(path, size).await?;
        let lock = self.lock(&name).await?;
        if entry.path().exists()
            && let Some(pulled) = self.find_same(path, &name, &entry).await?
        {
            return Ok(pulled);
        }
        let source = PullSource::File { path: path.to_owned() };
        self.report(PullProgress::Trying { source: source.clone() });
        space::check(self.library.folder(), size)?;
        let (from, to, held) = (path.to_owned(), entry.clone(), Arc::clone(&lock));
        let copied = self.run_blocking(move |progress| {
            let _lock = held;
            copy::copy(&from, &to, progress)
        });
        let installed = match copied.await {
            Ok(sum) => self.install(&entry, &entry, sum, self.options.sha256).map(|()| sum),
            Err(error) => Err(error.into()),
        };
        entry.discard_empty_folder();
        let sum = installed.map_err(|error| only_failure(error, source, &entry))?;
        Ok(pulled(name, &entry, sum, PullOutcome::Pulled))
    }

    /// The name and place of a file of this machine.
    async fn entry_for_file(
        &mut self,
        path: &Path,
        size: u64,
    ) -> Result<(String, LibraryEntry), ModelsError> {
        if self.options.name.is_none() && self.may_be_known(size) {
            let from = path.to_owned();
            let sum = self.run_blocking(move |_| copy::sum_of(&from)).await?;
            if let Some(known) = self.known_entry(sum) {
                return Ok(known);
            }
        }
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        self.choose_entry(&file_name).ok_or_else(|| ModelsError::BadFile {
            path: path.to_owned(),
            problem: "nothing of its name can be the name of a model".to_owned(),
        })?
    }

    /// The name and place for a file of this name; `None` when nothing of it can
    /// be used. No name is that of a known model: a file called `minilm.gguf`
    /// keeps its ending.
    fn choose_entry(&self, file_name: &str) -> Option<Result<(String, LibraryEntry), ModelsError>> {
        let DerivedNames { model, file } = DerivedNames::from_file_name(file_name)?;
        let is_known = |name: &str| self.library.known_by(name).is_some();
        let name = match &self.options.name {
            Some(name) => match name::check(name) {
                Ok(name) if is_known(name) => {
                    return Some(Err(ModelsError::Taken { name: name.to_owned() }));
                }
                Ok(name) => name.to_owned(),
                Err(error) => return Some(Err(error)),
            },
            None if !is_known(&model) => model,
            None if !is_known(&file) => file.clone(),
            None => format!("{file}-file"),
        };
        let entry = self.library.entry(&name, &file);
        Some(Ok((name, entry)))
    }

    /// Whether a file of this size may be one of a known model.
    pub(super) fn may_be_known(&self, size: u64) -> bool {
        self.known_files().any(|(_, file)| file.size == size)
    }

    /// Whether a file is one of a known model.
    pub(super) fn is_known(&self, sum: FileDigest) -> bool {
        self.known_entry(sum).is_some()
    }

    fn known_entry(&self, sum: FileDigest) -> Option<(String, LibraryEntry)> {
        let (model, file) = self.known_files().find(|(_, file)| file.sum() == sum)?;
        Some((model.name.to_owned(), self.library.entry(model.name, file.name)))
    }

    fn known_files(
        &self,
    ) -> impl Iterator<Item = (&'static KnownModel, &'static KnownFile)> + use<> {
        let models = self.library.known().iter();
        models.flat_map(|model| model.files.iter().map(move |file| (model, file)))
    }

    /// The file, if it is there: pulled from this address before, or the one of
    /// the wanted checksum. Another one in its place is an error.
    async fn find_pulled(
        &mut self,
        origin: Checksum,
        name: &str,
        entry: &LibraryEntry,
    ) -> Result<Option<PulledModel>, ModelsError> {
        let wanted = self.options.sha256;
        let mut candidates = vec![(name.to_owned(), entry.clone())];
        if self.options.name.is_none() {
            candidates.extend(self.entries_with_origin()?);
        }
        for (name, entry) in candidates.into_iter().filter(|(_, entry)| entry.path().is_file()) {
            let is_from = entry.is_from(origin);
            if !is_from && wanted.is_none() {
                continue;
            }
            let at = entry.clone();
            let sum = self.run_blocking(move |_| copy::sum_at(&at)).await?;
            if wanted.map_or(is_from, |wanted| wanted == sum.sha256) {
                self.report(PullProgress::AlreadyThere { path: entry.path() });
                return Ok(Some(pulled(name, &entry, sum, PullOutcome::There)));
            }
        }
        match entry.path().exists() {
            true => Err(ModelsError::Taken { name: name.to_owned() }),
            false => Ok(None),
        }
    }

    fn entries_with_origin(&self) -> Result<Vec<(String, LibraryEntry)>, ModelsError> {
        let mut entries = Vec::new();
        for name in self.library.names()? {
            let files = entry::with_origin(&self.library.folder().join(&name));
            entries
                .extend(files.iter().map(|file| (name.clone(), self.library.entry(&name, file))));
        }
        Ok(entries)
    }

    /// What stands where a file should be copied to, if it is the same. A known
    /// model's file that is damaged may be replaced; another model may not.
    async fn find_same(
        &mut self,
        path: &Path,
        name: &str,
        entry: &LibraryEntry,
    ) -> Result<Option<PulledModel>, ModelsError> {
        let (from, at) = (path.to_owned(), entry.clone());
        let sums = self.run_blocking(move |_| Ok((copy::sum_of(&from)?, copy::sum_at(&at)?)));
        let (from, there): (FileDigest, FileDigest) = sums.await?;
        let is_wanted = self.options.sha256.is_none_or(|wanted| wanted == there.sha256);
        if from == there && is_wanted {
            self.report(PullProgress::AlreadyThere { path: entry.path() });
            return Ok(Some(pulled(name.to_owned(), entry, there, PullOutcome::There)));
        }
        match self.library.known_by(name) {
            Some(_) => {
                self.report(PullProgress::Damaged { path: entry.path() });
                Ok(None)
            }
            None => Err(ModelsError::Taken { name: name.to_owned() }),
        }
    }
}

/// Whether a file has just come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PullOutcome {
    There,
    Pulled,
}

fn pulled(name: String, entry: &LibraryEntry, sum: FileDigest, how: PullOutcome) -> PulledModel {
    let was_there = how == PullOutcome::There;
    let file = PulledFile { path: entry.path(), size: sum.size, sha256: sum.sha256, was_there };
    PulledModel { name, files: vec![file] }
}

/// The failure of the only source that there is.
fn only_failure(error: PullError, source: PullSource, entry: &LibraryEntry) -> ModelsError {
    match error {
        PullError::Fatal(error) => error,
        PullError::Source(error) => {
            let what = entry.file().to_owned();
            let failures = vec![SourceFailure { from: source, error }];
            ModelsError::Failed { files: vec![what.clone()], what, failures }
        }
    }
}
