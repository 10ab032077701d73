//! Programs by their names, as `PATH` leads to them.
//!
//! Folders of it that depend on where Recto was started don't count: there may lie what a tool
//! has written.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders where programs are searched.
pub(crate) fn search_path() -> Vec<PathBuf> {
    absolute_folders(&env::var_os("PATH").unwrap_or_default())
}

/// The folders of a variable like `PATH` that are the same wherever Recto was started.
pub(crate) fn absolute_folders(list: &OsStr) -> Vec<PathBuf> {
    env::split_paths(list).filter(|folder| folder.is_absolute()).collect()
}

/// A program by its path, which counts from a folder, or by its name.
pub(crate) fn found_program(name: &OsStr, folder: &Path) -> Option<PathBuf> {
    match name.as_encoded_bytes().contains(&b'/') {
        true => Some(folder.join(name)),
        false => found_in(&search_path(), name),
    }
}

/// A program that is ready to be started as what was found.
pub(crate) fn found_command(name: &OsStr) -> io::Result<Command> {
    // A path counts from where Recto was started: whoever gave it said so.
    let found = found_program(name, Path::new(""));
    let missing = || io::Error::new(io::ErrorKind::NotFound, "no folder of PATH has it");
    found.map(Command::new).ok_or_else(missing)
}

fn found_in(folders: &[PathBuf], name: &OsStr) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_folders_that_are_the_same_everywhere() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("less");
        fs::write(&program, "").unwrap();
        let list = env::join_paths(["", ".", "bin"].map(Path::new)).unwrap();
        assert!(absolute_folders(&list).is_empty());
        let list = env::join_paths([Path::new("."), folder.path()]).unwrap();
        let folders = absolute_folders(&list);
        assert_eq!(folders, [folder.path()]);
        // A file that can't be run is passed over.
        assert_eq!(found_in(&folders, OsStr::new("less")), None);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(found_in(&folders, OsStr::new("less")), Some(program));
    }

    #[test]
    fn a_path_counts_from_its_folder() {
        let found = |name: &str| found_program(OsStr::new(name), Path::new("/x"));
        assert_eq!(found("./a"), Some("/x/./a".into()));
        assert_eq!(found("/b/a"), Some("/b/a".into()));
        assert_eq!(found("no-such-program-anywhere"), None);
    }
}
