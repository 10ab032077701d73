//! `recto __keep`: ends what is left when Recto has ended, and removes it.
//!
//! However Recto ends, by `kill -9` too, its end of the pipe closes. Then all process groups that
//! were entrusted to the keeper and not let go are killed, and all folders are removed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, BufRead as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::own_folder::remove_folder;

/// The command that keeps watch.
pub(crate) const KEEP: &str = "__keep";

/// Before the number of a group, or the path of a folder, that is entrusted to the keeper.
pub(crate) const KEPT: char = '+';

/// Before one that is no longer its concern.
pub(crate) const LET_GO: char = '-';

/// Attempts to remove a folder: those who were killed may write to it a moment longer.
const ATTEMPTS: usize = 20;

/// Between two of them.
const BETWEEN: Duration = Duration::from_millis(50);

/// What was entrusted to the keeper.
#[derive(Debug, PartialEq, Eq, Default)]
struct Kept {
    groups: BTreeSet<i32>,
    folders: BTreeSet<PathBuf>,
}

/// Reads what there is, until Recto ends; then ends and removes it.
pub(super) fn keep() -> ExitCode {
    let mut kept = Kept::default();
    for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
        kept.note(&line);
    }
    for group in kept.groups {
        if let Some(group) = Pid::from_raw(group) {
            // One that has ended by itself is no failure.
            _ = kill_process_group(group, Signal::KILL);
        }
    }
    kept.folders.iter().for_each(|folder| remove(folder));
    ExitCode::SUCCESS
}

fn remove(folder: &Path) {
    for _ in 0..ATTEMPTS {
        if remove_folder(folder).is_ok() {
            return;
        }
        thread::sleep(BETWEEN);
    }
}

impl Kept {
    fn note(&mut self, line: &[u8]) {
        let Some((mark, what)) = line.split_first() else { return };
        let path = Path::new(OsStr::from_bytes(what));
        let group = std::str::from_utf8(what).ok().and_then(|number| number.parse().ok());
        match (char::from(*mark), group) {
            (KEPT, Some(group @ 2..)) => _ = self.groups.insert(group),
            (LET_GO, Some(group)) => _ = self.groups.remove(&group),
            (KEPT, None) if path.is_absolute() => _ = self.folders.insert(path.to_owned()),
            (LET_GO, None) => _ = self.folders.remove(path),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_others_is_kept() {
        let mut kept = Kept::default();
        for line in ["+12", "+13", "-12", "+0", "+1", "+-5", "13", "", "+x", "-99", "-x"]
            .into_iter()
            .chain(["+/tmp/a b", "+/tmp/c", "-/tmp/c", "/tmp/d"])
        {
            kept.note(line.as_bytes());
        }
        kept.note(b"+/tmp/\xff");
        let folders = [Path::new("/tmp/a b"), Path::new(OsStr::from_bytes(b"/tmp/\xff"))];
        let folders = folders.map(Path::to_owned).into();
        assert_eq!(kept, Kept { groups: BTreeSet::from([13]), folders });
    }
}
