//! The library: which models are on disk, and how they leave it. How they get
//! there is in `pull`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use recto_context::{fold_name, nearest_name};

use crate::entry::{self, LibraryEntry, io_error};
use crate::error::ModelsError;
use crate::known::{KNOWN, KnownFile, KnownModel, ModelPurpose};
use crate::lock::PullLock;
use crate::name;
use crate::pull::{ENCODER_FILES, ENCODER_WEIGHTS};

/// The models on disk: a folder with a folder for each.
#[derive(Debug, Clone)]
pub struct Library {
    folder: PathBuf,
    known: &'static [KnownModel],
}

/// A model that is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledModel {
    /// Its name: that of its folder.
    pub name: String,
    /// What its makers call it, where that is known.
    pub title: String,
    /// What it is for.
    pub purpose: ModelPurpose,
    /// Its files, the model itself first.
    pub files: Vec<InstalledFile>,
    /// The names of files that it should have and has not, or not whole.
    pub missing: Vec<String>,
}

/// A file that is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledFile {
    /// Its place in the library.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
}

impl Library {
    /// The library in this folder, which need not be there yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Library { folder: folder.into(), known: KNOWN }
    }

    /// The same library, with other models that are known by name.
    pub fn with_known(mut self, known: &'static [KnownModel]) -> Self {
        self.known = known;
        self
    }

    /// The folder that was given.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The models that can be pulled by name.
    pub fn known(&self) -> &'static [KnownModel] {
        self.known
    }

    /// The known model that people mean by this name.
    pub fn known_by(&self, name: &str) -> Option<&'static KnownModel> {
        self.known.iter().find(|model| model.answers_to(name))
    }

    /// All models on disk, by name; also those that lack files.
    pub fn list(&self) -> Result<Vec<InstalledModel>, ModelsError> {
        let names = self.names()?;
        Ok(names.iter().filter_map(|name| self.installed(name)).collect())
    }

    /// The model of this name, if it is on disk with all of its files.
    pub fn find(&self, name: &str) -> Option<InstalledModel> {
        let name = self.name_on_disk(name)?;
        self.installed(&name).filter(|model| model.missing.is_empty())
    }

    /// Removes a model with all of its files, also those that are not whole. A
    /// model whose folder is a link loses the link and nothing else.
    pub fn remove(&self, asked: &str) -> Result<(), ModelsError> {
        if self.known_by(asked).is_none() {
            name::check(asked)?;
        }
        let Some(name) = self.name_on_disk(asked) else {
            let installed = self.names()?;
            let nearest =
                nearest_name(asked, installed.iter().map(String::as_str)).map(str::to_owned);
            return Err(ModelsError::NotInstalled { asked: asked.to_owned(), nearest, installed });
        };
        let lock = PullLock::try_take(&self.folder, &name)?;
        let Some(_lock) = lock else { return Err(ModelsError::Busy { name }) };
        let folder = self.folder.join(&name);
        let is_link = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_symlink());
        let removed = if is_link { fs::remove_file(&folder) } else { fs::remove_dir_all(&folder) };
        removed.map_err(io_error("remove", folder))
    }

    /// The entry of a file of the model `name`.
    pub(crate) fn entry(&self, name: &str, file: &str) -> LibraryEntry {
        LibraryEntry::new(self.folder.join(name), file)
    }

    /// The names of all folders of models.
    pub(crate) fn names(&self) -> Result<Vec<String>, ModelsError> {
        let unreadable = || io_error("read", self.folder.clone());
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable()(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(unreadable())?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name::check(&name).is_ok() && entry.path().is_dir() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The folder that is meant by `asked`: a known model's by any of its names,
    /// another by its own, with what people vary taken out if need be.
    fn name_on_disk(&self, asked: &str) -> Option<String> {
        let asked = self.known_by(asked).map_or(asked.trim(), |model| model.name);
        let names = self.names().ok()?;
        let same = |name: &&String| *name == asked;
        let alike = |name: &&String| fold_name(name) == fold_name(asked);
        names.iter().find(same).or_else(|| names.iter().find(alike)).cloned()
    }

    /// What is in the folder of that name; `None` when no file of a model is.
    fn installed(&self, name: &str) -> Option<InstalledModel> {
        let there = entry::files(&self.folder.join(name)).ok()?;
        let file = |file: &str| {
            let path = self.folder.join(name).join(file);
            Some(InstalledFile { size: fs::metadata(&path).ok()?.len(), path })
        };
        let model = match self.known.iter().find(|known| known.name == name) {
            Some(known) => {
                let whole = |expected: &&KnownFile| {
                    file(expected.name).is_some_and(|found| found.size == expected.size)
                };
                let (whole, missing): (Vec<&KnownFile>, Vec<&KnownFile>) =
                    known.files.iter().partition(whole);
                InstalledModel {
                    name: name.to_owned(),
                    title: known.title.to_owned(),
                    purpose: known.purpose,
                    files: whole.iter().filter_map(|known| file(known.name)).collect(),
                    missing: missing.iter().map(|known| known.name.to_owned()).collect(),
                }
            }
            None => InstalledModel {
                name: name.to_owned(),
                title: name.to_owned(),
                purpose: purpose_of(&there),
                files: main_first(there).iter().filter_map(|name| file(name)).collect(),
                missing: Vec::new(),
            },
        };
        (!model.files.is_empty()).then_some(model)
    }
}

impl InstalledModel {
    /// The file that is the model itself.
    pub fn main(&self) -> Option<&Path> {
        self.files.first().map(|file| file.path.as_path())
    }

    /// The file of that name.
    pub fn file(&self, name: &str) -> Option<&Path> {
        let named = |file: &&InstalledFile| file.path.file_name().is_some_and(|own| own == name);
        self.files.iter().find(named).map(|file| file.path.as_path())
    }

    /// The size of all its files in bytes.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// What a model is for that is not known by name: an encoder has certain files.
fn purpose_of(files: &[String]) -> ModelPurpose {
    let has = |name: &str| files.iter().any(|file| file == name);
    match has(ENCODER_WEIGHTS) && ENCODER_FILES.into_iter().all(has) {
        true => ModelPurpose::Embedding,
        false => ModelPurpose::Unknown,
    }
}

/// The files with the model itself in front: a GGUF file where there is one, or an encoder's
/// weights.
fn main_first(mut files: Vec<String>) -> Vec<String> {
    let is_main =
        |file: &String| file.to_ascii_lowercase().ends_with(".gguf") || file == ENCODER_WEIGHTS;
    // The sort is stable, so that the rest stays in order.
    files.sort_by_key(|file| !is_main(file));
    files
}
