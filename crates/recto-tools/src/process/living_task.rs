//! Finds where `/proc` shows what a process has.
//!
//! The folder of a process is that of its first thread. It is empty as soon as that thread has
//! ended, though others go on with all the memory and files of the process. Then the folder of any
//! of those shows the same.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::watch::Stat;

/// Where a process is looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProcessView {
    /// The folder of a thread that has not ended.
    Thread(PathBuf),
    /// All its threads have ended, or are about to.
    Ended,
    /// Its threads come and go faster than they can be looked at.
    Hidden,
}

/// So often new threads are looked for where all that there were have ended meanwhile.
const LOOKS: usize = 32;

/// Where the process of that number is looked at, whose first thread has this `stat`.
pub(super) fn process_view(id: u32, first: &Stat) -> ProcessView {
    let folder = PathBuf::from(format!("/proc/{id}"));
    if !first.has_ended {
        return ProcessView::Thread(folder);
    }
    if first.threads < 2 {
        return ProcessView::Ended;
    }
    let tasks = folder.join("task");
    let mut seen = HashSet::new();
    for _ in 0..LOOKS {
        let new: Vec<PathBuf> =
            threads(&tasks).into_iter().filter(|thread| seen.insert(thread.clone())).collect();
        if new.is_empty() {
            return ProcessView::Ended;
        }
        if let Some(thread) = new.into_iter().find(|thread| is_alive(thread)) {
            return ProcessView::Thread(thread);
        }
    }
    ProcessView::Hidden
}

fn threads(tasks: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(tasks).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn is_alive(thread: &Path) -> bool {
    let stat = fs::read(thread.join("stat")).unwrap_or_default();
    Stat::parse(&stat).is_some_and(|stat| !stat.has_ended)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{Command, Stdio};
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    fn stat_of(id: u32) -> Stat {
        Stat::parse(&fs::read(format!("/proc/{id}/stat")).unwrap()).unwrap()
    }

    #[test]
    fn a_process_is_looked_at_by_its_first_thread_while_that_lives() {
        let id = std::process::id();
        let own = ProcessView::Thread(format!("/proc/{id}").into());
        assert_eq!(process_view(id, &stat_of(id)), own);
        let ended = Stat { has_ended: true, threads: 1, ..stat_of(id) };
        assert_eq!(process_view(id, &ended), ProcessView::Ended);
    }

    /// Promise: `memory-is-counted-where-it-is-held`
    #[test]
    fn a_process_whose_first_thread_has_ended_is_looked_at_by_another() {
        // The number of `exit`, which ends the thread that calls it and no other.
        let exit = if cfg!(target_arch = "x86_64") { 60 } else { 93 };
        let code = format!("threads->create(sub {{ sleep 60 }})->detach; syscall({exit}, 0);");
        let mut child = Command::new("perl")
            .args(["-Mthreads", "-e", &code])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let id = child.id();
        for _ in 0..500 {
            if stat_of(id).has_ended {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        let first = stat_of(id);
        let view = process_view(id, &first);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(first.has_ended && first.threads == 2, "{first:?}");
        let ProcessView::Thread(thread) = view else { panic!("{view:?}") };
        assert!(thread.starts_with(format!("/proc/{id}/task")), "{thread:?}");
        assert!(!thread.ends_with(id.to_string()), "{thread:?}");
    }
}
