//! Looks from time to time how much a process group takes, and kills it when
//! that is too much.
//!
//! The kernel's limits count for a single process, or don't count for root; so
//! it is counted here, in `/proc`. Where there is none, nothing is counted.
//!
//! Memory is what processes have in use, in swap and for their page tables, and what may wait in
//! their pipes and sockets. What the kernel shows nowhere (memory that is shared without a name,
//! files in memory, buffers of a size that the program chose) is refused by seccomp instead.
//!
//! A fork bomb takes all the processor that it can get, so the watch is kept by
//! a thread of its own that goes before others, where it may.

use std::collections::HashSet;
use std::fs;
use std::future::pending;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, setpriority_process};
use tokio::sync::oneshot;

use super::ProgramEnd;
use super::living_task::{ProcessView, process_view};
use super::open_files::OpenFiles;
use crate::sandbox::ResourceLimits;

/// Processes of Recto's own in the group of a program, which it does not answer for.
const OWN_PROCESSES: usize = 2;

/// Their threads.
const OWN_THREADS: usize = 3;

/// Between two glances at how many tasks the system has, which cost nearly nothing.
const GLANCES: Duration = Duration::from_millis(4);

/// Before the first real look, if no glance found a reason. Most programs have
/// ended by then.
const FIRST: Duration = Duration::from_millis(20);

/// What a process counts for that keeps itself from being looked at: more than any limit, but the
/// one of those whose memory the kernel counts.
const HIDDEN_MEMORY: u64 = 1 << 40;

/// Between two real looks.
const BETWEEN: Duration = Duration::from_millis(50);

/// Ends when the group took more than it may, and is killed.
pub(super) async fn watch(group: Option<u32>, limits: ResourceLimits) -> ProgramEnd {
    let leader = group.and_then(|group| Pid::from_raw(group.try_into().ok()?));
    let Some(leader) = leader else { return pending().await };
    let (tell, told) = oneshot::channel();
    // Dropped with this future, which ends the thread.
    let (_ends, ended) = mpsc::channel::<()>();
    let watch = move || {
        // Only root may, and only there is it needed: others have a kernel limit.
        _ = setpriority_process(None, HIGHEST);
        if let Some(end) = look_until(leader, limits, &ended) {
            // Told first: whoever sees that the group was killed can then know why.
            _ = tell.send(end);
            _ = kill_process_group(leader, Signal::KILL);
        }
    };
    if thread::Builder::new().name("recto-watch".to_owned()).spawn(watch).is_err() {
        return pending().await;
    }
    match told.await {
        Ok(end) => end,
        Err(_) => pending().await,
    }
}

const HIGHEST: i32 = -20;

fn look_until(leader: Pid, limits: ResourceLimits, ended: &Receiver<()>) -> Option<ProgramEnd> {
    let group = leader.as_raw_nonzero().get().unsigned_abs();
    let before = tasks();
    let mut others = HashSet::new();
    let mut next = Instant::now() + FIRST;
    loop {
        let wait = next.saturating_duration_since(Instant::now()).min(GLANCES);
        if ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            return None;
        }
        let many = tasks().saturating_sub(before) > limits.processes;
        if !many && Instant::now() < next {
            continue;
        }
        let limits = ResourceLimits {
            processes: limits.processes + OWN_PROCESSES,
            threads: limits.threads + OWN_THREADS,
            ..limits
        };
        if let Some(end) = look(group, limits.processes, &mut others).over(limits) {
            return Some(end);
        }
        next = Instant::now() + BETWEEN;
    }
}

/// How many processes and threads the whole system has; zero where it does not say.
pub(super) fn tasks() -> usize {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    tasks_in(&load).unwrap_or_default()
}

/// The line is `0.20 0.18 0.12 1/80 11206`.
fn tasks_in(load: &str) -> Option<usize> {
    load.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// The processes, threads and memory of a whole group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct GroupUsage {
    processes: usize,
    threads: usize,
    memory: u64,
}

impl GroupUsage {
    fn over(self, limits: ResourceLimits) -> Option<ProgramEnd> {
        let many = (self.processes > limits.processes).then_some(self.processes);
        let many = many.or((self.threads > limits.threads).then_some(self.threads));
        let memory = (self.memory > limits.memory).then_some(self.memory);
        many.map(ProgramEnd::TooManyProcesses).or(memory.map(ProgramEnd::TooMuchMemory))
    }
}

/// Counts the group, but not far beyond so many processes. `others` are
/// processes known to be of other groups: none of them can join this one, so
/// they are looked at only once.
fn look(group: u32, enough: usize, others: &mut HashSet<u32>) -> GroupUsage {
    let mut usage = GroupUsage::default();
    let mut seen = HashSet::with_capacity(others.len());
    let Ok(entries) = fs::read_dir("/proc") else { return usage };
    let mut files = OpenFiles::default();
    for entry in entries.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if others.contains(&id) {
            seen.insert(id);
            continue;
        }
        let Ok(stat) = fs::read(format!("/proc/{id}/stat")) else { continue };
        match Stat::parse(&stat) {
            Some(stat) if stat.group == group => {
                usage.processes += 1;
                usage.threads += stat.threads;
                match process_view(id, &stat) {
                    ProcessView::Thread(folder) => {
                        usage.memory += memory_of(&folder, &stat);
                        files.look_at(&folder);
                    }
                    ProcessView::Hidden => usage.memory += HIDDEN_MEMORY,
                    ProcessView::Ended => {}
                }
                if usage.processes > enough {
                    return usage;
                }
            }
            _ => _ = seen.insert(id),
        }
    }
    // A number that is not there any more may come back as another process.
    *others = seen;
    usage.memory += files.memory();
    usage
}

/// The bytes that a process takes: in use, in swap, and of the kernel for its page tables. It is
/// looked at in this folder; `stat` is of its first thread.
fn memory_of(folder: &Path, stat: &Stat) -> u64 {
    let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
    let of_status = memory_in(&status);
    of_status.max(stat.pages * rustix::param::page_size() as u64)
}

/// The lines are `VmRSS:  1234 kB`, with white space between.
fn memory_in(status: &str) -> u64 {
    let amount = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let amount = rest.split_ascii_whitespace().next()?.parse::<u64>().ok()?;
        ["VmRSS", "VmSwap", "VmPTE"].contains(&name).then_some(amount)
    };
    status.lines().filter_map(amount).sum::<u64>() * 1024
}

/// The flag of the kernel (`PF_EXITING`) for a thread that is about to end.
const IS_ENDING: u64 = 0x4;

/// The fields of `/proc/…/stat` that count.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) group: u32,
    pub(super) threads: usize,
    pub(super) pages: u64,
    /// Whether this thread has ended or is about to, and has let go of all it had.
    pub(super) has_ended: bool,
}

impl Stat {
    /// The name in brackets may hold anything, brackets and blanks too; so the
    /// fields are counted from the last bracket on.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let end = line.iter().rposition(|byte| *byte == b')')?;
        let fields = std::str::from_utf8(line.get(end + 1..)?).ok()?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        let group = fields.nth(1)?.parse().ok()?;
        let flags: u64 = fields.nth(3)?.parse().ok()?;
        let threads = fields.nth(10)?.parse().ok()?;
        let pages = fields.nth(3)?.parse().ok()?;
        let has_ended = matches!(state, "Z" | "X") || flags & IS_ENDING != 0;
        Some(Stat { group, threads, pages, has_ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_does_not_confuse() {
        let line = b"42 (a) R 1 (x) S 7 41 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 555 1000 77 18";
        let stat = Stat { group: 41, threads: 9, pages: 77, has_ended: false };
        assert_eq!(Stat::parse(line), Some(stat));
        assert_eq!(Stat::parse(b"42 (a"), None);
        assert_eq!(Stat::parse(b"42 (a) S 1 2"), None);
    }

    #[test]
    fn a_thread_that_has_ended_or_is_about_to_is_told() {
        let ended = |state: &str, flags: u32| {
            let line = format!(
                "42 (a) {state} 7 41 40 0 -1 {flags} 1 2 3 4 5 6 7 8 20 0 9 0 555 1000 0 18"
            );
            Stat::parse(line.as_bytes()).unwrap().has_ended
        };
        assert!(ended("Z", 4_194_560) && ended("X", 0) && ended("R", 4_194_564));
        assert!(!ended("S", 4_194_560));
    }

    #[test]
    fn memory_counts_what_is_in_use_swapped_and_mapped() {
        let status = "Name:\tVmRSS: 7\nVmPeak:\t  900 kB\nVmRSS:\t  100 kB\nVmPTE:\t 20 kB\n\
                      VmSwap:\t 3 kB\nThreads:\t1\n";
        assert_eq!(memory_in(status), 123 * 1024);
        assert_eq!(memory_in(""), 0);
    }

    #[test]
    fn tasks_are_counted() {
        assert_eq!(tasks_in("0.20 0.18 0.12 1/80 11206\n"), Some(80));
        assert_eq!(tasks_in("0.20 0.18 0.12 80\n"), None);
        assert_eq!(tasks_in(""), None);
    }

    #[test]
    fn each_limit_counts() {
        let limits =
            ResourceLimits { processes: 2, threads: 5, memory: 10, ..ResourceLimits::default() };
        let usage =
            |processes, threads, memory| GroupUsage { processes, threads, memory }.over(limits);
        assert_eq!(usage(2, 5, 10), None);
        assert_eq!(usage(3, 3, 0), Some(ProgramEnd::TooManyProcesses(3)));
        assert_eq!(usage(1, 6, 0), Some(ProgramEnd::TooManyProcesses(6)));
        assert_eq!(usage(1, 1, 11), Some(ProgramEnd::TooMuchMemory(11)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_own_group_is_found() {
        let own = rustix::process::getpgrp().as_raw_nonzero().get().unsigned_abs();
        let mut others = HashSet::new();
        let usage = look(own, usize::MAX, &mut others);
        assert!(usage.processes >= 1 && usage.threads >= 1 && usage.memory > 0);
        assert!(!others.contains(&std::process::id()));
        let nobody = look(u32::MAX, usize::MAX, &mut HashSet::new());
        assert_eq!(nobody, GroupUsage::default());
    }
}
