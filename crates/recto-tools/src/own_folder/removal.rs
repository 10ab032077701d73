//! Removes a folder with all that is in it, however deep a program has made that.
//!
//! Nothing goes down into it: each folder that is found inside another one is moved to the top,
//! where it is emptied in its turn. So it takes the same few open files and the same stack for any
//! depth, no path grows long, and nothing that is moved about meanwhile leads elsewhere.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fchmod, openat, renameat, unlinkat};
use rustix::io::{Errno, Result};
use rustix::path::Arg;

/// Removes a folder, if it is there. Whoever may do nothing in a folder inside is given the right.
pub(crate) fn remove_folder(path: &Path) -> Result<()> {
    let top = match open_folder(CWD, path) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened?,
    };
    let mut flattening = Flattening { top, next: 0 };
    until_removed(CWD, path, || flattening.empty_top())
}

/// A folder whose inner ones are moved to its top.
struct Flattening {
    top: OwnedFd,
    /// The next name for a folder that is moved.
    next: u64,
}

impl Flattening {
    /// Removes what is at the top; gives how much that was.
    fn empty_top(&mut self) -> usize {
        let Ok(entries) = Dir::read_from(&self.top) else { return 0 };
        let mut removed = 0;
        for entry in entries.flatten().filter(|entry| !is_dots(entry.file_name())) {
            let name = entry.file_name();
            let is_gone =
                remove_file(&self.top, name, entry.file_type()) || self.remove_inner(name).is_ok();
            removed += usize::from(is_gone);
        }
        removed
    }

    /// Removes a folder at the top; what is in it comes to the top.
    fn remove_inner(&mut self, name: &CStr) -> Result<()> {
        let folder = open_folder(&self.top, name)?;
        let top = self.top.try_clone().map_err(|_| Errno::MFILE)?;
        until_removed(top, name, || {
            let Ok(entries) = Dir::read_from(&folder) else { return 0 };
            let mut removed = 0;
            for entry in entries.flatten().filter(|entry| !is_dots(entry.file_name())) {
                let name = entry.file_name();
                let is_gone = remove_file(&folder, name, entry.file_type())
                    || self.move_to_top(&folder, name).is_ok();
                removed += usize::from(is_gone);
            }
            removed
        })
    }

    fn move_to_top(&mut self, folder: &OwnedFd, name: &CStr) -> Result<()> {
        // It has to be written itself: it holds what is above it.
        drop(open_folder(folder, name)?);
        loop {
            let free = self.next.to_string();
            self.next += 1;
            match renameat(folder, name, &self.top, free) {
                // The program has made something of that name.
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR | Errno::ISDIR) => {}
                moved => return moved,
            }
        }
    }
}

/// Removes a folder that `empty` empties, again and again as long as it finds something: what is
/// removed or comes while a folder is read may hide the rest.
fn until_removed(
    above: impl AsFd,
    name: impl Arg + Copy,
    mut empty: impl FnMut() -> usize,
) -> Result<()> {
    loop {
        let removed = empty();
        match unlinkat(&above, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST) if removed > 0 => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes what is no folder; whether it is gone.
fn remove_file(folder: &OwnedFd, name: &CStr, kind: FileType) -> bool {
    kind != FileType::Directory
        && matches!(unlinkat(folder, name, AtFlags::empty()), Ok(()) | Err(Errno::NOENT))
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// Opens a folder so that everything in it can be done.
fn open_folder(above: impl AsFd, name: impl Arg + Copy) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat(&above, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            open_up(&above, name)?;
            openat(&above, name, flags, Mode::empty())
        }
        opened => opened,
    }?;
    // Where it is somebody else's, or has no rights, nothing is lost.
    _ = fchmod(&opened, Mode::RWXU);
    Ok(opened)
}

/// Gives its owner all rights in a folder that they can't open.
#[cfg(target_os = "linux")]
fn open_up(above: impl AsFd, name: impl Arg) -> Result<()> {
    use std::os::fd::AsRawFd as _;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(above, name, flags, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", opened.as_raw_fd()), Mode::RWXU)
}

/// Gives its owner all rights in a folder that they can't open.
#[cfg(not(target_os = "linux"))]
fn open_up(above: impl AsFd, name: impl Arg) -> Result<()> {
    rustix::fs::chmodat(above, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use rustix::fs::mkdirat;

    use super::*;

    #[test]
    fn a_folder_of_any_depth_is_removed_with_little_stack() {
        const DEPTH: usize = 20_000;
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("deep");
        fs::create_dir(&path).unwrap();
        let mut folder = open_folder(CWD, path.as_path()).unwrap();
        for _ in 0..DEPTH {
            mkdirat(&folder, "d", Mode::RWXU).unwrap();
            folder = open_folder(&folder, "d").unwrap();
        }
        drop(folder);
        let thread = std::thread::Builder::new().stack_size(64 * 1024);
        let removed = path.clone();
        thread.spawn(move || remove_folder(&removed)).unwrap().join().unwrap().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn what_nobody_may_enter_and_what_leads_elsewhere_is_removed() {
        let above = tempfile::tempdir().unwrap();
        let (path, outside) = (above.path().join("top"), above.path().join("outside"));
        fs::create_dir_all(path.join("closed/inner/deep")).unwrap();
        // The names that folders are given when they are moved.
        for taken in ["0", "1"] {
            fs::write(path.join(taken), "").unwrap();
        }
        fs::create_dir_all(path.join("2/full")).unwrap();
        fs::write(path.join("closed/inner/private"), "private").unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        symlink(&outside, path.join("link")).unwrap();
        symlink(&outside, path.join("closed/link")).unwrap();
        for (inner, mode) in [("closed/inner", 0), ("closed", 0o400), ("", 0)] {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(path.join(inner), mode).unwrap();
        }
        remove_folder(&path).unwrap();
        assert!(!path.exists());
        assert!(outside.join("kept").exists());
        remove_folder(&path).unwrap();
    }
}
