//! Where files stand: the folder of one model, and what lies beside its files.
//!
//! Next to `model.gguf` there can be `model.gguf.sha256`, in the form that
//! `sha256sum --check` reads; `model.gguf.part`, what a pull has so far, with
//! `model.gguf.part.tag`, which tells whether it can go on; and
//! `.model.gguf.origin`, which tells the address that it was pulled from without
//! naming it: addresses can hold secrets.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use recto_fs::{Access, create_private_folder, sync_folder, write_whole};

use crate::checksum::{Checksum, FileDigest};
use crate::error::ModelsError;

/// The place of one file in the library, and of what lies beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LibraryEntry {
    folder: PathBuf,
    file: String,
}

/// What stands at a place where a certain file should be: nothing, that file, or another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryState {
    Absent,
    Sound,
    Damaged,
}

impl LibraryEntry {
    /// The place of the file `file` in the folder of a model.
    pub(crate) fn new(folder: PathBuf, file: &str) -> Self {
        LibraryEntry { folder, file: file.to_owned() }
    }

    /// The library that the folder is in.
    pub(crate) fn library(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.file)
    }

    pub(crate) fn part(&self) -> PathBuf {
        self.folder.join(format!("{}.part", self.file))
    }

    pub(crate) fn tag(&self) -> PathBuf {
        self.folder.join(format!("{}.part.tag", self.file))
    }

    fn sidecar(&self) -> PathBuf {
        self.folder.join(format!("{}.sha256", self.file))
    }

    fn origin(&self) -> PathBuf {
        self.folder.join(format!(".{}.origin", self.file))
    }

    /// Makes the folder, readable by its owner only.
    pub(crate) fn make_folder(&self) -> Result<(), ModelsError> {
        make_folder(&self.folder)
    }

    /// Removes what a pull has so far.
    pub(crate) fn discard_part(&self) {
        // Whatever is not there needs no removing.
        let _ = fs::remove_file(self.part());
        let _ = fs::remove_file(self.tag());
    }

    /// Removes the folder if nothing is in it.
    pub(crate) fn discard_empty_folder(&self) {
        let _ = fs::remove_dir(&self.folder);
    }

    /// Whether the file that should be here is. Its bytes are read only when its
    /// checksum is not known from before.
    pub(crate) fn state(&self, expected: FileDigest) -> Result<EntryState, ModelsError> {
        match fs::metadata(self.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(EntryState::Absent),
            Err(error) => Err(io_error("read", self.path())(error)),
            Ok(found) if !found.is_file() || found.len() != expected.size => {
                Ok(EntryState::Damaged)
            }
            Ok(_) if self.checksum()? == expected.sha256 => Ok(EntryState::Sound),
            Ok(_) => Ok(EntryState::Damaged),
        }
    }

    /// The file's SHA-256: what is noted beside it, unless the file was touched
    /// since, else computed and noted.
    pub(crate) fn checksum(&self) -> Result<Checksum, ModelsError> {
        if let Some(noted) = self.noted() {
            return Ok(noted);
        }
        let sum = Checksum::of_file(&self.path()).map_err(io_error("read", self.path()))?;
        self.note(sum.sha256);
        Ok(sum.sha256)
    }

    fn noted(&self) -> Option<Checksum> {
        let written: fn(&Path) -> Option<SystemTime> =
            |path| fs::metadata(path).and_then(|found| found.modified()).ok();
        if written(&self.sidecar())? < written(&self.path())? {
            return None;
        }
        let text = fs::read_to_string(self.sidecar()).ok()?;
        text.split_whitespace().next()?.parse().ok()
    }

    /// Notes the checksum. Without a note it is only computed again, so a disk
    /// that takes none is no reason to fail.
    fn note(&self, sha256: Checksum) {
        let _ = write_note(&self.sidecar(), &format!("{sha256}  {}\n", self.file));
    }

    /// Whether the file was pulled from this address.
    pub(crate) fn is_from(&self, origin: Checksum) -> bool {
        let noted = fs::read_to_string(self.origin()).ok();
        noted.is_some_and(|noted| noted.trim().parse() == Ok(origin)) && self.path().is_file()
    }

    /// Notes the address that the file was pulled from.
    pub(crate) fn note_origin(&self, origin: Checksum) {
        let _ = write_note(&self.origin(), &format!("{origin}\n"));
    }

    /// Gives a part that is whole its name; `part` may lie at another place. What
    /// lay there before is replaced.
    pub(crate) fn install(&self, part: &Path, sum: FileDigest) -> Result<(), ModelsError> {
        self.make_folder()?;
        fs::rename(part, self.path()).map_err(io_error("write", self.path()))?;
        sync_folder(&self.folder);
        self.note(sum.sha256);
        self.discard_part();
        Ok(())
    }
}

/// The files of a model's folder that are no notes, parts or hidden, by name.
pub(crate) fn files(folder: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_file = fs::metadata(entry.path()).is_ok_and(|found| found.is_file());
        if is_file && is_of_model(&name) {
            files.push(name);
        }
    }
    files.sort();
    Ok(files)
}

fn is_of_model(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(OsStr::to_str).unwrap_or_default();
    !name.starts_with('.') && !matches!(ending, "part" | "tag" | "sha256")
}

/// The names of files in a folder of which an origin is noted.
pub(crate) fn with_origin(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let file = |name: String| Some(name.strip_prefix('.')?.strip_suffix(".origin")?.to_owned());
    names.filter_map(file).collect()
}

/// Makes a folder and those above it, readable by their owner only.
pub(crate) fn make_folder(folder: &Path) -> Result<(), ModelsError> {
    create_private_folder(folder).map_err(io_error("make the folder", folder.to_owned()))
}

/// Writes what is noted of a file. Like the file itself, it is for all who can look into the
/// folder.
pub(crate) fn write_note(path: &Path, text: &str) -> io::Result<()> {
    write_whole(path, text.as_bytes(), Access::Usual)
}

/// An error of the system as one of ours.
pub(crate) fn io_error(
    doing: &'static str,
    path: PathBuf,
) -> impl FnOnce(io::Error) -> ModelsError {
    move |source| ModelsError::Io { doing, path, source }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    fn new_entry() -> (tempfile::TempDir, LibraryEntry) {
        let folder = tempfile::TempDir::new().unwrap();
        let entry = LibraryEntry::new(folder.path().join("m"), "m.gguf");
        entry.make_folder().unwrap();
        (folder, entry)
    }

    fn sum(bytes: &[u8]) -> FileDigest {
        FileDigest { size: bytes.len() as u64, sha256: Checksum::of_bytes(bytes) }
    }

    /// Sets when the file was written, as far as its folder knows.
    fn age(path: &Path, seconds: u64) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    #[test]
    fn a_note_holds_until_its_file_is_touched() {
        let (_folder, entry) = new_entry();
        assert_eq!(entry.state(sum(b"abc")).unwrap(), EntryState::Absent);
        fs::write(entry.part(), b"abc").unwrap();
        entry.install(&entry.part(), sum(b"abc")).unwrap();
        assert_eq!(entry.state(sum(b"abc")).unwrap(), EntryState::Sound);
        assert_eq!(entry.state(sum(b"abd")).unwrap(), EntryState::Damaged);
        assert_eq!(entry.state(sum(b"ab")).unwrap(), EntryState::Damaged);

        // Touched after its note: read again.
        age(&entry.sidecar(), 60);
        fs::write(entry.path(), b"xyz").unwrap();
        assert_eq!(entry.state(sum(b"abc")).unwrap(), EntryState::Damaged);
        assert_eq!(entry.noted(), Some(Checksum::of_bytes(b"xyz")));

        // A note that is no note, and none at all.
        fs::write(entry.sidecar(), "nonsense").unwrap();
        assert_eq!(entry.checksum().unwrap(), Checksum::of_bytes(b"xyz"));
        fs::remove_file(entry.sidecar()).unwrap();
        assert_eq!(entry.state(sum(b"xyz")).unwrap(), EntryState::Sound);
    }

    #[test]
    fn notes_and_parts_are_no_files_of_a_model() {
        let (_folder, entry) = new_entry();
        fs::write(entry.part(), b"abc").unwrap();
        entry.install(&entry.part(), sum(b"abc")).unwrap();
        entry.note_origin(Checksum::of_bytes(b"here"));
        fs::write(entry.part(), b"ab").unwrap();
        fs::write(entry.tag(), b"x").unwrap();
        fs::create_dir(entry.folder.join("sub")).unwrap();
        assert_eq!(files(&entry.folder).unwrap(), ["m.gguf"]);
        assert_eq!(with_origin(&entry.folder), ["m.gguf"]);
        assert!(
            entry.is_from(Checksum::of_bytes(b"here"))
                && !entry.is_from(Checksum::of_bytes(b"there"))
        );
    }

    #[test]
    fn the_note_has_the_form_that_sha256sum_reads() {
        let (_folder, entry) = new_entry();
        fs::write(entry.part(), b"abc").unwrap();
        entry.install(&entry.part(), sum(b"abc")).unwrap();
        let note = fs::read_to_string(entry.sidecar()).unwrap();
        assert_eq!(
            note,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  m.gguf\n"
        );
    }
}
