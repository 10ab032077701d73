//! What the pipes and sockets of a group of processes hold in the kernel, as `/proc` shows it.
//!
//! Of a connection to another machine, or to oneself by such a way, the kernel says what waits in
//! it. Of pipes and local sockets it does not: they count with the most that they can hold, which a
//! program can't raise (see `seccomp_rules`). So does what is watched by `epoll`.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The open files of a group.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    pipes: HashSet<u64>,
    sockets: HashSet<u64>,
    /// What may be watched by `epoll`: all files of a process by all that watch.
    watched: u64,
    /// Of processes that don't let themselves be looked at.
    unknown: u64,
    /// The folder of one of the processes that have sockets: it sees the group's connections.
    talker: Option<PathBuf>,
}

impl OpenFiles {
    /// So many pipes and local sockets of the group are passed over: what they hold is little.
    const FEW: u64 = 64;

    /// What waits in a pipe at most: no program may make it larger.
    const PIPE: u64 = 64 * 1024;

    /// What the kernel keeps for a file that is watched.
    const WATCHED: u64 = 192;

    /// Adds those of the process with this folder in `/proc`. Each counts once, however many processes have it open; a process
    /// that does not let itself be looked at counts as if it had many.
    pub(super) fn look_at(&mut self, folder: &Path) {
        let names = match open_files(folder) {
            Ok(names) => names,
            // It has just ended.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) => {
                self.add_unknown();
                return;
            }
        };
        let watching = names.iter().filter(|name| *name == "anon_inode:[eventpoll]").count();
        self.watched += (watching * names.len()) as u64;
        for name in names {
            match numbered(&name) {
                Some(("pipe", number)) => _ = self.pipes.insert(number),
                Some(("socket", number)) => {
                    self.sockets.insert(number);
                    self.talker = Some(folder.to_owned());
                }
                _ => {}
            }
        }
    }

    /// Adds those of a process that does not let itself be looked at: more than are passed over.
    fn add_unknown(&mut self) {
        self.unknown += Self::FEW + 1;
    }

    /// The bytes that may wait in all of them together.
    pub(super) fn memory(&self) -> u64 {
        let queues = self.talker.as_deref().map(connection_queues).unwrap_or_default();
        let (mut queued, mut connections) = (0, 0);
        for queue in queues.iter().filter(|queue| self.sockets.contains(&queue.socket)) {
            queued += queue.memory();
            connections += 1;
        }
        let local = (self.sockets.len() as u64).saturating_sub(connections) + self.unknown;
        let pipes = self.pipes.len() as u64;
        let held = match pipes + local > Self::FEW {
            true => pipes * Self::PIPE + local * *LOCAL_SOCKET,
            false => 0,
        };
        held + queued + self.watched * Self::WATCHED
    }
}

/// What waits in a local socket at most, with what the kernel needs around it.
static LOCAL_SOCKET: LazyLock<u64> = LazyLock::new(|| {
    const USUAL: u64 = 212_992;
    let set = fs::read_to_string("/proc/sys/net/core/wmem_default").unwrap_or_default();
    let buffer: u64 = set.trim().parse().unwrap_or(USUAL);
    2 * buffer.max(USUAL) + 96 * 1024
});

/// What the open files of the process with this folder in `/proc` are: paths, or such as
/// `pipe:[42]`.
pub(super) fn open_files(folder: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(folder.join("fd"))?;
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    Ok(links.filter_map(|link| link.into_os_string().into_string().ok()).collect())
}

/// The kind and the number of a file without a path, such as `pipe:[42]`.
pub(super) fn numbered(name: &str) -> Option<(&str, u64)> {
    let (kind, rest) = name.split_once(":[")?;
    Some((kind, rest.strip_suffix(']')?.parse().ok()?))
}

/// The bytes that wait in a connection.
#[derive(Debug, PartialEq, Eq)]
struct ConnectionQueue {
    socket: u64,
    to_send: u64,
    received: u64,
}

impl ConnectionQueue {
    /// The kernel keeps data in pieces that are half full or better.
    fn memory(&self) -> u64 {
        2 * (self.to_send + self.received)
    }

    /// A line of `/proc/…/net/tcp`: the fifth field is `00000A00:00000000`, what is to be sent
    /// and what was received, and the tenth the socket's number.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let (to_send, received) = fields.nth(4)?.split_once(':')?;
        let bytes = |text| u64::from_str_radix(text, 16).ok();
        let socket = fields.nth(4)?.parse().ok()?;
        Some(ConnectionQueue { socket, to_send: bytes(to_send)?, received: bytes(received)? })
    }
}

/// All connections that a process sees.
fn connection_queues(folder: &Path) -> Vec<ConnectionQueue> {
    let tables = ["tcp", "tcp6", "udp", "udp6", "raw", "raw6"];
    let tables = tables.map(|table| fs::read_to_string(folder.join("net").join(table)));
    let lines = tables.iter().flatten().flat_map(|table| table.lines().skip(1));
    lines.filter_map(ConnectionQueue::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_files_are_read() {
        assert_eq!(numbered("socket:[42]"), Some(("socket", 42)));
        assert_eq!(numbered("/tmp/socket:[x]"), None);
        assert_eq!(numbered("anon_inode:[eventpoll]"), None);
    }

    #[test]
    fn the_queues_of_a_connection_are_read() {
        let line = "   1: 0100007F:1F90 0100007F:9C40 01 00000A00:0000000B 01:00000018 00000000  \
                    1000        0 77 2 0000000000000000 20 4 24 10 -1";
        let queue = ConnectionQueue { socket: 77, to_send: 2560, received: 11 };
        assert_eq!(ConnectionQueue::parse(line), Some(queue));
        assert_eq!(ConnectionQueue::parse("   1: 0100007F:1F90"), None);
    }

    #[test]
    fn who_does_not_let_themself_be_looked_at_counts() {
        let mut files = OpenFiles::default();
        assert_eq!(files.memory(), 0);
        files.add_unknown();
        assert!(files.memory() > OpenFiles::FEW * *LOCAL_SOCKET);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pipes_and_sockets_count_once() {
        use std::os::unix::net::UnixStream;
        let pairs: Vec<_> = (0..OpenFiles::FEW).map(|_| UnixStream::pair().unwrap()).collect();
        let mut files = OpenFiles::default();
        let own = Path::new("/proc/self");
        files.look_at(own);
        let once = files.memory();
        assert!(once >= pairs.len() as u64 * 2 * *LOCAL_SOCKET, "{once}");
        files.look_at(own);
        files.look_at(Path::new("/proc/0"));
        assert!(files.memory() < 2 * once);
    }

    /// Promise: `memory-is-counted-where-it-is-held`
    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_watched_counts() {
        let memory = |watching: usize| {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("fd")).unwrap();
            for number in 0..10 {
                let target = if number < watching { "anon_inode:[eventpoll]" } else { "/dev/null" };
                let link = folder.path().join("fd").join(number.to_string());
                std::os::unix::fs::symlink(target, link).unwrap();
            }
            let mut files = OpenFiles::default();
            files.look_at(folder.path());
            files.memory()
        };
        assert_eq!([memory(0), memory(4)], [0, 40 * OpenFiles::WATCHED]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_waits_in_a_connection_counts() {
        use std::io::Write as _;
        use std::net::{TcpListener, TcpStream};
        const SENT: usize = 50_000;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_receiver, _) = listener.accept().unwrap();
        let waiting = || {
            let mut files = OpenFiles::default();
            files.look_at(Path::new("/proc/self"));
            files.memory()
        };
        let before = waiting();
        sender.write_all(&[0; SENT]).unwrap();
        assert!(waiting() >= before + 2 * SENT as u64);
    }
}
