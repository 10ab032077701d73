//! One pull of a model at a time, over all processes of this machine.
//!
//! The lock is on a file beside the model's folder; the kernel frees it however
//! its process ends. The file goes when the lock does, so that nothing is left
//! of a pull that failed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use recto_fs::try_lock;

use crate::entry::{io_error, make_folder};
use crate::error::ModelsError;

/// How often a lock that another has is asked for.
const PAUSE: Duration = Duration::from_millis(100);

/// The lock of a model, held until it is dropped.
#[derive(Debug)]
pub(crate) struct PullLock {
    path: PathBuf,
    /// Locked as long as it is open.
    _file: File,
}

impl PullLock {
    /// The lock of the model `name` in the library `folder`; `None` while another
    /// has it.
    pub(crate) fn try_take(folder: &Path, name: &str) -> Result<Option<Self>, ModelsError> {
        make_folder(folder)?;
        let path = folder.join(format!(".{name}.lock"));
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(&path);
            let file = file.map_err(io_error("lock", path.clone()))?;
            // Where there are no locks a second pull is not kept from, but each still ends
            // with a rename.
            if !try_lock(&file).map_err(io_error("lock", path.clone()))? {
                return Ok(None);
            }
            // Whoever had it before may have removed the file since we opened it.
            if still_named(&file, &path) {
                return Ok(Some(PullLock { path, _file: file }));
            }
        }
    }

    /// Takes the lock, and waits for it if need be; `waiting` is called once when there is a wait.
    pub(crate) async fn take(
        folder: &Path,
        name: &str,
        waiting: impl FnOnce(),
    ) -> Result<Self, ModelsError> {
        if let Some(lock) = PullLock::try_take(folder, name)? {
            return Ok(lock);
        }
        waiting();
        loop {
            tokio::time::sleep(PAUSE).await;
            if let Some(lock) = PullLock::try_take(folder, name)? {
                return Ok(lock);
            }
        }
    }
}

impl Drop for PullLock {
    fn drop(&mut self) {
        // Only where the next one can tell that it has locked a file without a name.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether the open file is the one of that name.
#[cfg(unix)]
fn still_named(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    matches!((file.metadata().map(id), fs::metadata(path).map(id)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(not(unix))]
fn still_named(_file: &File, _path: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn one_has_it_and_nothing_is_left_of_it() {
        let folder = tempfile::TempDir::new().unwrap();
        let first = PullLock::try_take(folder.path(), "m").unwrap().unwrap();
        assert!(PullLock::try_take(folder.path(), "m").unwrap().is_none());
        assert!(PullLock::try_take(folder.path(), "other").unwrap().is_some());
        drop(first);
        drop(PullLock::try_take(folder.path(), "m").unwrap().unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn many_that_want_it_have_it_one_after_the_other() {
        let folder = tempfile::TempDir::new().unwrap();
        let holders = AtomicUsize::new(0);
        let taken = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while taken.load(Ordering::SeqCst) < 200 {
                        let Some(lock) = PullLock::try_take(folder.path(), "m").unwrap() else {
                            continue;
                        };
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        taken.fetch_add(1, Ordering::SeqCst);
                        holders.fetch_sub(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
    }
}
