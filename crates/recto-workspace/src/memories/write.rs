//! Bytes into files, so that whoever else writes them at the same time loses nothing:
//! by appending in one call, or by swapping a new version for the old one and looking
//! at what was swapped out. What the bytes mean is not known here.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;

use recto_fs::{private_options, sync_folder};

use super::error::{MemoryError, MemoryResult, failed};
use super::leftover;
use super::load::{LoadReach, LoadedContent, LoadedFile, QUIET, load, load_when_quiet};
use super::open::open;
use crate::stamp::{FileStamp, PathState, stat_path};

/// How often somebody else may come in between before we give up.
pub(crate) const TRIES: usize = 50;

/// Whether writing waits until the disk has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    Yes,
    /// Only for tests that write thousands of times.
    No,
}

/// What became of an addition.
#[derive(Debug)]
pub(crate) enum AppendOutcome {
    /// It stands behind the content that was expected, and the file looks like this.
    Clean(FileStamp),
    /// It was written, but somebody else wrote at the same moment.
    Disturbed,
    /// Nothing was written, because the file is not as expected.
    NotYet,
}

/// Appends to a file that looks as `expected`; a new one is for its owner alone.
pub(crate) fn append(
    path: &Path,
    expected: &PathState,
    bytes: &[u8],
    durable: Durability,
) -> MemoryResult<AppendOutcome> {
    let mut file = open(path, private_options().append(true).create(true), "write")?;
    let stamp = |file: &File| file.metadata().map(|found| FileStamp::from_metadata(&found));
    let before = stamp(&file).map_err(failed("write", path))?;
    let is_new = !matches!(expected, PathState::Present(_));
    let is_expected = match expected {
        PathState::Present(expected) => *expected == before,
        _ => before.size == 0,
    };
    if !is_expected {
        return Ok(AppendOutcome::NotYet);
    }
    write_at_once(&mut file, bytes, before.size).map_err(failed("write", path))?;
    if durable == Durability::Yes {
        file.sync_data().map_err(failed("write", path))?;
        if is_new {
            sync_folder_of(path);
        }
    }
    let after = stamp(&file).map_err(failed("write", path))?;
    let is_clean = after.size == before.size + bytes.len() as u64
        && matches!(stat_path(path), PathState::Present(now) if now == after);
    Ok(if is_clean { AppendOutcome::Clean(after) } else { AppendOutcome::Disturbed })
}

/// Writes all in one call; of half a line, nothing stays.
fn write_at_once(file: &mut File, bytes: &[u8], size: u64) -> io::Result<()> {
    let written = loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            written => break written?,
        }
    };
    if written == bytes.len() {
        return Ok(());
    }
    if file.metadata().is_ok_and(|found| found.len() == size + written as u64) {
        file.set_len(size)?;
    }
    Err(io::ErrorKind::StorageFull.into())
}

/// Writes a new version of a file, made by `change` of the old one; `false` when there
/// is nothing to change. If somebody else writes meanwhile, theirs is put back and the
/// change is made to it. A link is followed; the file keeps its permissions.
pub(crate) fn replace(
    path: &Path,
    durable: Durability,
    change: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> MemoryResult<bool> {
    replace_with(path, durable, change, || sleep(QUIET))
}

/// Calls `pause` between the two looks at what was swapped out.
fn replace_with(
    path: &Path,
    durable: Durability,
    mut change: impl FnMut(&[u8]) -> Option<Vec<u8>>,
    mut pause: impl FnMut(),
) -> MemoryResult<bool> {
    let target = fs::canonicalize(path).map_err(failed("write", path))?;
    for _ in 0..TRIES {
        let (seen, base) = whole(load_when_quiet(&target, LoadReach::Whole, |_| false), &target)?;
        let Some(new) = change(&base) else { return Ok(false) };
        let mut version = SwapFile::write(&target, &new, &base, durable)?;
        match version.swap_for(&target, &seen).map_err(failed("write", &target))? {
            SwapOutcome::NotYet => continue,
            SwapOutcome::Over => {}
            SwapOutcome::Out => {
                // Who opened the file before the swap may write into it after it.
                let is_theirs = !version.is(&base) || {
                    pause();
                    !version.is(&base)
                };
                if is_theirs {
                    version.swap_back(&target, &new).map_err(failed("write", &target))?;
                    continue;
                }
                version.is_precious = false;
            }
        }
        if durable == Durability::Yes {
            sync_folder_of(&target);
        }
        return Ok(true);
    }
    Err(busy(path))
}

/// Why a file cannot be written that never stays as it is.
pub(crate) fn busy(path: &Path) -> MemoryError {
    let what = "is written by another program all the time".to_owned();
    MemoryError::Unusable { path: path.to_owned(), what }
}

fn whole(loaded: LoadedFile, path: &Path) -> MemoryResult<(PathState, Vec<u8>)> {
    match loaded.content {
        LoadedContent::Bytes { bytes, .. } => Ok((loaded.seen, bytes)),
        LoadedContent::Missing => Err(failed("read", path)(io::ErrorKind::NotFound.into())),
        LoadedContent::Unusable(what) => Err(MemoryError::Unusable { path: path.to_owned(), what }),
    }
}

/// A version of a file beside it, gone when this is.
struct SwapFile {
    path: PathBuf,
    /// It may be the only copy of what somebody else saved, and stays.
    is_precious: bool,
}

enum SwapOutcome {
    /// What was there is now where the new version was.
    Out,
    /// What was there is gone.
    Over,
    /// Nothing happened, because the file is not as it was.
    NotYet,
}

impl SwapFile {
    /// Writes what shall stand in the place of `old`.
    fn write(target: &Path, new: &[u8], old: &[u8], durable: Durability) -> MemoryResult<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let (part, whole) = leftover::names(target, count, new, old);
        let permissions = fs::metadata(target).map_err(failed("write", target))?.permissions();
        let mut options = private_options();
        let options = options.write(true).create(true).truncate(true);
        let mut file = open(&part, options, "write")?;
        let mut version = SwapFile { path: part, is_precious: false };
        let write = || {
            file.write_all(new)?;
            file.set_permissions(permissions)?;
            if durable == Durability::Yes {
                file.sync_all()?;
            }
            fs::rename(&version.path, &whole)
        };
        write().map_err(failed("write", target))?;
        version.path = whole;
        Ok(version)
    }

    /// Puts it in the place of `target`, which looked as `seen`.
    fn swap_for(&mut self, target: &Path, seen: &PathState) -> io::Result<SwapOutcome> {
        match exchange(&self.path, target) {
            Some(done) => {
                done?;
                self.is_precious = true;
                Ok(SwapOutcome::Out)
            }
            None if stat_path(target) == *seen => {
                fs::rename(&self.path, target).map(|()| SwapOutcome::Over)
            }
            None => Ok(SwapOutcome::NotYet),
        }
    }

    /// Puts what was swapped out back, and `ours` out again. If somebody saved over
    /// ours meanwhile, that is the newest and stays; the older one stays beside it.
    fn swap_back(&mut self, target: &Path, ours: &[u8]) -> io::Result<()> {
        let swap = || exchange(&self.path, target).unwrap_or(Ok(()));
        swap()?;
        if self.is(ours) {
            self.is_precious = false;
            return Ok(());
        }
        swap()
    }

    /// Whether this is what it holds. What cannot be read is something else.
    fn is(&self, content: &[u8]) -> bool {
        let loaded = load(&self.path, LoadReach::Whole);
        matches!(loaded.content, LoadedContent::Bytes { bytes, .. } if bytes == content)
    }
}

impl Drop for SwapFile {
    fn drop(&mut self) {
        if !self.is_precious {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Swaps two files, where the system can.
#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> Option<io::Result<()>> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Err(Errno::NOSYS | Errno::INVAL | Errno::NOTSUP) => None,
        done => Some(done.map_err(io::Error::from)),
    }
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> Option<io::Result<()>> {
    None
}

/// Lets the disk have the names in a file's folder, too. Not all systems can.
fn sync_folder_of(path: &Path) {
    path.parent().map(sync_folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_made_to_the_version_of_whoever_came_in_between() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one\ncut\n").unwrap();
        let mut interruptions = vec!["one\ncut\ntwo\n", "one\ncut\nthree\n"];
        let changed = replace(&path, Durability::No, |bytes| {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            if let Some(theirs) = interruptions.pop() {
                // As an editor does it, and, the second time, in place.
                let new = folder.path().join("new");
                fs::write(&new, theirs).unwrap();
                fs::rename(&new, &path).unwrap();
            }
            text.contains("cut\n").then(|| text.replace("cut\n", "").into_bytes())
        });
        assert!(changed.unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn a_file_that_never_rests_is_given_up_with_all_that_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "0").unwrap();
        let mut count = 0;
        let changed = replace(&path, Durability::No, |bytes| {
            count += 1;
            fs::write(&path, count.to_string()).unwrap();
            Some([bytes, b"!"].concat())
        });
        assert!(matches!(changed, Err(MemoryError::Unusable { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), count.to_string());
    }

    /// Takes `cut` out, as long as it is there.
    fn cut(bytes: &[u8]) -> Option<Vec<u8>> {
        let text = str::from_utf8(bytes).unwrap();
        text.contains("cut\n").then(|| text.replace("cut\n", "").into_bytes())
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_save_in_place_that_began_before_the_swap_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one\ncut\n").unwrap();
        let mut open = Some(File::options().append(true).open(&path).unwrap());
        let late =
            || open.take().into_iter().for_each(|mut file| file.write_all(b"two\n").unwrap());
        assert!(replace_with(&path, Durability::No, cut, late).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn of_two_saves_around_the_swap_the_newer_stays_and_the_older_is_left_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one\ncut\n").unwrap();
        let mut open = Some(File::options().append(true).open(&path).unwrap());
        let late = || {
            let Some(mut file) = open.take() else { return };
            file.write_all(b"older\n").unwrap();
            fs::write(folder.path().join("new"), "cut\nnewer\n").unwrap();
            fs::rename(folder.path().join("new"), &path).unwrap();
        };
        assert!(replace_with(&path, Durability::No, cut, late).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "newer\n");
        let others = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let others: Vec<PathBuf> = others.filter(|other| *other != path).collect();
        let [left] = &*others else { panic!("{others:?}") };
        assert!(left.to_string_lossy().contains(leftover::LEFTOVER));
        leftover::remove_leftovers(&path);
        assert_eq!(fs::read_to_string(left).unwrap(), "one\ncut\nolder\n");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_cannot_be_read_after_the_swap_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one\ncut\n").unwrap();
        let changed = replace(&path, Durability::No, |bytes| {
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
            fs::write(path.join("inside"), "kept").unwrap();
            cut(bytes)
        });
        assert!(matches!(changed, Err(MemoryError::Unusable { .. })), "{changed:?}");
        assert_eq!(fs::read_to_string(path.join("inside")).unwrap(), "kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn nothing_is_appended_to_a_file_that_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let outcome = append(&path, &stat_path(&path), b"one\n", Durability::Yes).unwrap();
        let AppendOutcome::Clean(stamp) = outcome else { panic!("{outcome:?}") };
        fs::write(&path, "other\n").unwrap();
        let outcome = append(&path, &PathState::Present(stamp), b"two\n", Durability::No).unwrap();
        assert!(matches!(outcome, AppendOutcome::NotYet));
        assert_eq!(fs::read_to_string(&path).unwrap(), "other\n");
    }
}
