//! Locks on open files, between all processes of the machine. The kernel frees them when the file
//! is closed, however its process ends.

use std::fs::{File, TryLockError};
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

#[cfg(test)]
mod tests {
    use super::*;

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
