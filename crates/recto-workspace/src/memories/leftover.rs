//! Versions of a file that a Recto left beside it because it was killed in the middle of
//! a swap. Each has a name that tells what it is:
//!
//! ```text
//! .MEMORY.md.recto-4711-0.part            not written to its end, and never swapped
//! .MEMORY.md.recto-4711-0-NEW-OLD         whole; the hashes of what was to be swapped
//! ```
//!
//! The second is what was to get in, or what got out. If its content has one of the two
//! hashes, all of it is known: the new one was never acknowledged, or the old one is what
//! the change was made from. If it has neither, an editor saved it, and it stays as long
//! as a line of it is not in the file. What nobody can tell stays, too.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use recto_context::ContentHash;

use super::load::{LoadReach, LoadedContent, load};

/// What is in the name of a version that was left behind.
pub(crate) const LEFTOVER: &str = ".recto-";

/// What a version is called while it is written.
const PART: &str = ".part";

/// How old a version is that nobody is about to swap, whoever made it.
const OLD: Duration = Duration::from_secs(10 * 60);

/// How many digits of a hash are in a name.
const DIGITS: usize = 16;

/// The names of a version, while it is written and once it is whole.
pub(crate) fn names(target: &Path, count: u64, new: &[u8], old: &[u8]) -> (PathBuf, PathBuf) {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let name = format!(".{name}{LEFTOVER}{}-{count}", process::id());
    let whole = format!("{name}-{}-{}", digits(new), digits(old));
    (target.with_file_name(name + PART), target.with_file_name(whole))
}

/// Removes what was left of a file and holds nothing that would be lost. Only for who
/// has the lock: nobody else is in the middle of a swap then.
pub(crate) fn remove_leftovers(path: &Path) {
    let Ok(target) = fs::canonicalize(path) else { return };
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else { return };
    let prefix = format!(".{}{LEFTOVER}", name.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(&prefix)) else {
            continue;
        };
        let Ok(found) = entry.metadata() else { continue };
        let leftover = Leftover::from_name(rest).filter(|it| found.is_file() && it.is_left(&found));
        if leftover.is_some_and(|leftover| leftover.is_known(&entry.path(), &target)) {
            // What cannot be removed is there the next time, and `check` names it.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A version, as its name tells it.
#[derive(Debug, PartialEq, Eq)]
struct Leftover<'a> {
    process: u32,
    is_part: bool,
    /// What its content may be.
    hashes: Vec<&'a str>,
}

impl<'a> Leftover<'a> {
    /// Reads what stands behind [`LEFTOVER`]. Names without hashes are from before there
    /// were some.
    fn from_name(rest: &'a str) -> Option<Self> {
        let (rest, is_part) = match rest.strip_suffix(PART) {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let mut parts = rest.split('-');
        let process = parts.next()?.parse().ok()?;
        parts.next()?.parse::<u64>().ok()?;
        let hashes: Vec<&str> = parts.collect();
        let is_right = match &*hashes {
            [] => true,
            [_, _] => !is_part && hashes.iter().all(|hash| hash.len() == DIGITS),
            _ => false,
        };
        is_right.then_some(Leftover { process, is_part, hashes })
    }

    /// Whether its process is gone, or would have swapped it long ago.
    fn is_left(&self, found: &Metadata) -> bool {
        is_gone(self.process) || age(found).is_some_and(|age| age > OLD)
    }

    /// Whether nothing is lost with it.
    fn is_known(&self, path: &Path, target: &Path) -> bool {
        if self.is_part {
            return true;
        }
        let LoadedContent::Bytes { bytes, .. } = load(path, LoadReach::Whole).content else {
            return false;
        };
        if self.hashes.contains(&&*digits(&bytes)) {
            return true;
        }
        let current = load(target, LoadReach::Whole).content;
        matches!(current, LoadedContent::Bytes { bytes: current, .. } if is_within(&bytes, &current))
    }
}

fn digits(content: &[u8]) -> String {
    let mut hash = ContentHash::of_bytes(content).to_string();
    hash.truncate(DIGITS);
    hash
}

/// Whether each line of one text is in the other, as often.
fn is_within(one: &[u8], other: &[u8]) -> bool {
    let lines = |text| <[u8]>::split(text, |byte| matches!(byte, b'\n' | b'\r'));
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    for line in lines(other) {
        *counts.entry(line.trim_ascii_end()).or_default() += 1;
    }
    lines(one).map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty()).all(|line| {
        let count = counts.get_mut(line).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_some()
    })
}

/// Whether there is no such process any more, where that can be told.
fn is_gone(process: u32) -> bool {
    let processes = Path::new("/proc");
    process != process::id()
        && processes.join("self").exists()
        && !processes.join(process.to_string()).exists()
}

/// How long ago it became what it is. The swap counts, where the system notes it.
fn age(found: &Metadata) -> Option<Duration> {
    let modified = found.modified().ok()?.elapsed().ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        use std::time::SystemTime;
        let changed = Duration::from_secs(found.ctime().try_into().ok()?);
        let changed = SystemTime::UNIX_EPOCH.checked_add(changed)?.elapsed().ok()?;
        Some(modified.min(changed))
    }
    #[cfg(not(unix))]
    Some(modified)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURRENT: &str = "# Mine\n- a\n- coffee\n";

    /// No process has such a number.
    const NOBODY: u32 = u32::MAX;

    /// Whether a version of this content is there after a sweep.
    #[track_caller]
    fn check(name: &str, content: &str, stays: bool) {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("MEMORY.md");
        fs::write(&target, CURRENT).unwrap();
        let left = folder.path().join(format!(".MEMORY.md{LEFTOVER}{name}"));
        fs::write(&left, content).unwrap();
        remove_leftovers(&target);
        assert_eq!(left.exists(), stays, "{name}: {content:?}");
        assert_eq!(fs::read_to_string(&target).unwrap(), CURRENT);
    }

    #[test]
    fn what_is_known_goes_and_what_an_editor_saved_stays() {
        let hashes = |new: &str, old: &str| {
            format!("{NOBODY}-0-{}-{}", digits(new.as_bytes()), digits(old.as_bytes()))
        };
        let (new, old) = (CURRENT, "# Mine\n- a\n- tea\n");
        check(&hashes(new, old), old, false);
        check(&hashes(new, old), new, false);
        check(&hashes("# Mine\n- never in\n", CURRENT), "# Mine\n- never in\n", false);
        check(&hashes(new, old), "# Mine\n- a\n- tea\n- an editor's\n", true);
        check(&hashes(new, old), "- coffee\r\n\r\n- a\r\n", false);
        check(&hashes(new, old), "- a\n- a\n", true);
        check(&hashes(new, old), "", false);
        check(&format!("{NOBODY}-0.part"), "- an", false);
        check(&format!("{NOBODY}-0"), CURRENT, false);
        check(&format!("{NOBODY}-0"), "- tea\n", true);
    }

    #[test]
    fn what_is_somebody_elses_stays() {
        check(&format!("{}-0", process::id()), CURRENT, true);
        check(&format!("{}-0.part", process::id()), CURRENT, true);
        for name in ["", "1", "x-1", "1-x", "1-1-", "1-1-a-b", "1-1.part.part", "4711-0~"] {
            check(name, CURRENT, true);
        }
    }

    #[test]
    fn what_a_link_leads_to_is_swept_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("there")).unwrap();
        let target = folder.path().join("there/notes.md");
        fs::write(&target, CURRENT).unwrap();
        let left = folder.path().join(format!("there/.notes.md{LEFTOVER}{NOBODY}-3"));
        fs::write(&left, CURRENT).unwrap();
        remove_leftovers(&folder.path().join("nowhere"));
        assert!(left.exists());
        #[cfg(unix)]
        {
            let link = folder.path().join("MEMORY.md");
            std::os::unix::fs::symlink(&target, &link).unwrap();
            remove_leftovers(&link);
            assert!(!left.exists() && link.exists() && target.exists());
        }
    }
}
