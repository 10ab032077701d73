//! Removes the folders that a Recto left which could not do it itself.

use std::fs;
use std::path::Path;
use std::sync::Once;
use std::thread;

use super::{FolderLock, FolderOwner, above_own_folders, lock_folder, remove_folder};

/// Removes what is left, beside all else and once in a process. Should that end first, the next
/// one goes on.
pub(crate) fn remove_leftovers() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let clear = || remove_leftovers_in(&above_own_folders());
        // Without another thread it waits for the next start.
        _ = thread::Builder::new().name("recto-leftovers".to_owned()).spawn(clear);
    });
}

fn remove_leftovers_in(above: &Path) {
    let Ok(entries) = fs::read_dir(above) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !FolderOwner::ALL.iter().any(|owner| name.starts_with(owner.prefix())) {
            continue;
        }
        // What nobody can lock tells nothing of its owner, and stays.
        if let FolderLock::Taken(Some(_lock)) = lock_folder(&entry.path()) {
            _ = remove_folder(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_belongs_to_nobody_is_removed() {
        let above = tempfile::tempdir().unwrap();
        let names = ["recto-call-left", "recto-call-used", "recto-mcp-left", "recto-else"];
        let paths = names.map(|name| above.path().join(name));
        paths.iter().for_each(|path| fs::create_dir_all(path.join("home/a")).unwrap());
        std::os::unix::fs::symlink(&paths[3], above.path().join("recto-call-link")).unwrap();
        let lock = lock_folder(&paths[1]);
        assert!(matches!(lock, FolderLock::Taken(Some(_))), "{lock:?}");
        remove_leftovers_in(above.path());
        assert_eq!(paths.each_ref().map(|path| path.exists()), [false, true, false, true]);
        drop(lock);
        remove_leftovers_in(above.path());
        assert!(!paths[1].exists() && paths[3].join("home/a").exists());
    }
}
