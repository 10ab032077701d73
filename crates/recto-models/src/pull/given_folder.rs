//! Pulls an encoder that a person has given by the folder that it was saved in.
//!
//! Only files that an encoder is read from are copied: such folders often hold the same weights in
//! other formats, too. Weights that Recto knows go to their model's place.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{PullJob, PulledFile, PulledModel, copy, space};
use crate::checksum::FileDigest;
use crate::entry::LibraryEntry;
use crate::error::{ModelsError, PullError, SourceFailure};
use crate::name::{self, DerivedNames};
use crate::progress::{PullProgress, PullSource};

/// The file that makes a folder that of an encoder.
pub(crate) const WEIGHTS: &str = "model.safetensors";

/// What else has to be there, and what may be.
pub(crate) const NEEDED: [&str; 2] = ["tokenizer.json", "config.json"];
const FURTHER: [&str; 4] = [
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
];

/// Whether a path is the folder of an encoder.
pub(super) fn is_encoder_folder(path: &Path) -> bool {
    path.is_dir() && path.join(WEIGHTS).is_file()
}

impl PullJob<'_> {
    pub(super) async fn pull_folder(&mut self, folder: &Path) -> Result<PulledModel, ModelsError> {
        for file in NEEDED {
            if !folder.join(file).is_file() {
                let problem =
                    format!("it has `{WEIGHTS}` but no `{file}`, so it is no folder of an encoder");
                return Err(ModelsError::BadFile { path: folder.to_owned(), problem });
            }
        }
        if let Some(known) = self.pull_known_folder(folder).await? {
            return Ok(known);
        }
        let name = self.folder_name(folder)?;
        let lock = self.lock(&name).await?;
        let mut files = Vec::new();
        let further = FURTHER.into_iter().filter(|file| folder.join(file).is_file());
        for file in [WEIGHTS].into_iter().chain(NEEDED).chain(further) {
            let entry = self.nested_entry(&name, file);
            let held = Arc::clone(&lock);
            files.push(self.pull_part_of_folder(&name, &folder.join(file), entry, held).await?);
        }
        Ok(PulledModel { name, files })
    }

    /// Pulls the files of a known model out of a folder, if the weights are its.
    async fn pull_known_folder(
        &mut self,
        folder: &Path,
    ) -> Result<Option<PulledModel>, ModelsError> {
        let weights = folder.join(WEIGHTS);
        let size = copy::size_of(&weights)?;
        if self.options.name.is_some() || !self.may_be_known(size) {
            return Ok(None);
        }
        let from = weights.clone();
        let sum = self.run_blocking(move |_| copy::sum_of(&from)).await?;
        if !self.is_known(sum) {
            return Ok(None);
        }
        let mut pulled = self.pull_file(&weights).await?;
        for file in NEEDED {
            let path = folder.join(file);
            let from = path.clone();
            let sum = self.run_blocking(move |_| copy::sum_of(&from)).await?;
            if self.is_known(sum) {
                pulled.files.extend(self.pull_file(&path).await?.files);
            }
        }
        Ok(Some(pulled))
    }

    /// The name that a folder gives its model. No name is that of a known one.
    fn folder_name(&self, folder: &Path) -> Result<String, ModelsError> {
        let is_known = |name: &str| self.library.known_by(name).is_some();
        if let Some(name) = &self.options.name {
            return match name::check(name)? {
                name if is_known(name) => Err(ModelsError::Taken { name: name.to_owned() }),
                name => Ok(name.to_owned()),
            };
        }
        // `.` has a name, too.
        let whole = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let own = whole.file_name().unwrap_or_default().to_string_lossy();
        match DerivedNames::from_file_name(&own) {
            Some(names) if is_known(&names.file) => Ok(format!("{}-folder", names.file)),
            Some(names) => Ok(names.file),
            None => Err(ModelsError::BadFile {
                path: folder.to_owned(),
                problem: "nothing of its name can be the name of a model".to_owned(),
            }),
        }
    }

    /// The place of a file that may stand in a folder of the model's folder.
    fn nested_entry(&self, name: &str, file: &str) -> LibraryEntry {
        let path = PathBuf::from(name).join(file);
        let folder = path.parent().unwrap_or(Path::new(name));
        let file = file.rsplit('/').next().unwrap_or(file);
        LibraryEntry::new(self.library.folder().join(folder), file)
    }

    async fn pull_part_of_folder(
        &mut self,
        name: &str,
        path: &Path,
        entry: LibraryEntry,
        lock: Arc<crate::lock::PullLock>,
    ) -> Result<PulledFile, ModelsError> {
        let size = copy::size_of(path)?;
        let pulled = |entry: &LibraryEntry, sum: FileDigest, was_there| PulledFile {
            path: entry.path(),
            size: sum.size,
            sha256: sum.sha256,
            was_there,
        };
        if entry.path().exists() {
            let (from, at) = (path.to_owned(), entry.clone());
            let sums = self.run_blocking(move |_| Ok((copy::sum_of(&from)?, copy::sum_at(&at)?)));
            let (from, there): (FileDigest, FileDigest) = sums.await?;
            if from != there {
                return Err(ModelsError::Taken { name: name.to_owned() });
            }
            self.report(PullProgress::AlreadyThere { path: entry.path() });
            return Ok(pulled(&entry, there, true));
        }
        let source = PullSource::File { path: path.to_owned() };
        self.report(PullProgress::Trying { source: source.clone() });
        space::check(self.library.folder(), size)?;
        // The checksum that a person gives is that of the model itself.
        let expected = self.options.sha256.filter(|_| entry.file() == WEIGHTS);
        let (from, to) = (path.to_owned(), entry.clone());
        let copied = self.run_blocking(move |progress| {
            let _lock = lock;
            copy::copy(&from, &to, progress)
        });
        let installed = match copied.await {
            Ok(sum) => self.install(&entry, &entry, sum, expected).map(|()| sum),
            Err(error) => Err(error.into()),
        };
        entry.discard_empty_folder();
        let sum = installed.map_err(|error| match error {
            PullError::Fatal(error) => error,
            PullError::Source(error) => ModelsError::Failed {
                what: name.to_owned(),
                failures: vec![SourceFailure { from: source, error }],
                files: vec![entry.file().to_owned()],
            },
        })?;
        Ok(pulled(&entry, sum, false))
    }
}
