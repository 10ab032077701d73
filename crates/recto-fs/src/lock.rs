//! Locks on open files, between all processes of the machine. The kernel frees them when the file
//! is closed, however its process ends.

use std::fmt;
use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Locks a file unless another has it, and says whether it is locked.
///
/// Some network file systems have no locks. There it is as if the file were free: two may write
/// at once, and whoever calls has to live with that.
pub fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The same, asking again after every `pause` until `limit` is over. Blocks the thread.
pub fn lock_within(file: &File, limit: Duration, pause: Duration) -> io::Result<bool> {
    let end = Instant::now() + limit;
    while !try_lock(file)? {
        if Instant::now() >= end {
            return Ok(false);
        }
        sleep(pause);
    }
    Ok(true)
}

/// The process that holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHolder {
    /// Its number.
    pub process: u32,
    /// Its name, as it has given it to itself.
    pub name: Option<String>,
}

impl LockHolder {
    /// Looks who holds the lock of an open file. Nothing where the system does not say, as of
    /// processes that this one can't see.
    pub(crate) fn find(file: &File) -> Option<Self> {
        let found = file.metadata().ok()?;
        let process = find_process(&fs::read_to_string("/proc/locks").ok()?, &found)?;
        let name = fs::read_to_string(format!("/proc/{process}/comm")).ok();
        Some(LockHolder { process, name: name.map(|name| name.trim_end().to_owned()) })
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.process)?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, " (`{name}`)"))
    }
}

/// The process that has locked a file as a whole, by the kernel's list of locks: `number: FLOCK
/// ADVISORY WRITE process device:inode start end`, with an arrow behind the number of who waits.
#[cfg(unix)]
fn find_process(locks: &str, file: &Metadata) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
    let place = format!("{major:02x}:{minor:02x}:{}", file.ino());
    let holder = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            [_, "FLOCK", _, _, process, locked, ..] if locked == place => process.parse().ok(),
            _ => None,
        }
    };
    locks.lines().find_map(holder)
}

#[cfg(not(unix))]
fn find_process(_locks: &str, _file: &Metadata) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn who_has_a_lock_can_be_told() {
        use std::os::unix::fs::MetadataExt as _;
        let file = tempfile::tempfile().unwrap();
        assert!(try_lock(&file).unwrap());
        let own = std::process::id();
        // Some sandboxes show no locks at all.
        assert!(LockHolder::find(&file).is_none_or(|holder| holder.process == own));
        let found = file.metadata().unwrap();
        let (major, minor) = (rustix::fs::major(found.dev()), rustix::fs::minor(found.dev()));
        let place = format!("{major:02x}:{minor:02x}:{}", found.ino());
        let locks = format!(
            "1: POSIX  ADVISORY  WRITE 11 {place} 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 12 {place} 0 EOF\n\
             2: FLOCK  ADVISORY  WRITE 13 {place}1 0 EOF\n3: FLOCK  ADVISORY  WRITE 14 {place} 0 EOF\n"
        );
        assert_eq!(find_process(&locks, &found), Some(14));
        assert_eq!(find_process("", &found), None);
        let holder = LockHolder { process: 14, name: Some("vi".to_owned()) };
        assert_eq!(holder.to_string(), "process 14 (`vi`)");
    }

    #[test]
    fn a_lock_is_waited_for_as_long_as_it_is_worth() {
        let folder = tempfile::tempdir().unwrap();
        let open = || File::options().append(true).create(true).open(folder.path().join("lock"));
        let (one, other) = (open().unwrap(), open().unwrap());
        let wait = |limit| lock_within(&other, limit, Duration::from_millis(1)).unwrap();
        assert!(try_lock(&one).unwrap());
        assert!(!try_lock(&other).unwrap());
        assert!(!wait(Duration::from_millis(20)));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sleep(Duration::from_millis(20));
                drop(one);
            });
            assert!(wait(Duration::from_secs(60)));
        });
    }
}
