//! Whether the store can be written, told without writing each time.
//!
//! Reading works on a full disk, so that a server which only reads to see how it stands would say
//! that all is well. Here it is told by how the last write ended and by the room that is left. Once
//! a write has failed, a small one is tried from time to time: else nobody would ever know that
//! there is room again.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::sql::SqlConnection;
use parking_lot::Mutex;

use crate::error::{StoreError, StoreResult};
use crate::store::Store;

/// With less room than this, the next message may not fit.
pub const LEAST_ROOM: u64 = 256 << 10;

/// A write is tried at most this often.
const TRIAL_INTERVAL: Duration = Duration::from_secs(5);

/// How the last write ended, as far as the disk or the server is concerned.
#[derive(Debug, Default)]
pub(crate) struct WriteHealth(Mutex<WriteFailure>);

#[derive(Debug, Default)]
struct WriteFailure {
    error: Option<StoreError>,
    tried: Option<Instant>,
}

impl WriteHealth {
    /// Notes how a write ended. What was wrong with the write itself says nothing about the store.
    pub(crate) fn note<T>(&self, outcome: &StoreResult<T>) {
        match outcome {
            Ok(_) => self.0.lock().error = None,
            Err(error) if is_about_store(error) => self.0.lock().error = Some(error.clone()),
            Err(_) => {}
        }
    }

    /// The error of the last write, if it failed.
    pub(crate) fn error(&self) -> Option<StoreError> {
        self.0.lock().error.clone()
    }

    /// Whether a write should be tried now.
    fn wants_trial(&self, now: Instant) -> bool {
        let mut failure = self.0.lock();
        let is_recent =
            failure.tried.is_some_and(|tried| now.duration_since(tried) < TRIAL_INTERVAL);
        let wants = failure.error.is_some() && !is_recent;
        if wants {
            failure.tried = Some(now);
        }
        wants
    }
}

impl Store {
    /// Whether the store can be written, as far as can be told. Nothing is written for it unless
    /// the last write failed, and then at most every few seconds.
    pub async fn check_writable(&self) -> StoreResult<()> {
        let health = self.write_health();
        if health.wants_trial(Instant::now()) {
            self.write(SqlConnection::touch).await?;
        }
        match health.error() {
            Some(error) => Err(error),
            None => check_room(self.path(), self.source().free_bytes()),
        }
    }
}

fn is_about_store(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Full { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Io { .. }
            | StoreError::Damaged { .. }
            | StoreError::CannotOpen { .. }
            | StoreError::Unreachable { .. }
    )
}

/// Fails where too little room is left. A system that does not say how much is believed to have
/// enough: the writing will tell.
fn check_room(path: &Path, free: Option<u64>) -> StoreResult<()> {
    match free {
        Some(free) if free < LEAST_ROOM => Err(StoreError::Full { path: PathBuf::from(path) }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> StoreResult<()> {
        Err(StoreError::Full { path: PathBuf::from("x") })
    }

    #[test]
    fn the_last_write_says_how_the_disk_is() {
        let health = WriteHealth::default();
        let now = Instant::now();
        assert!(!health.wants_trial(now));
        health.note(&full());
        // What failed for a reason of its own does not make it better.
        health.note::<()>(&Err(StoreError::NameTaken { name: "a".into() }));
        assert!(matches!(health.error(), Some(StoreError::Full { .. })));
        assert!(health.wants_trial(now));
        assert!(!health.wants_trial(now + Duration::from_secs(1)), "not with every question");
        assert!(health.wants_trial(now + TRIAL_INTERVAL));
        health.note(&Ok(()));
        assert_eq!(health.error(), None);
    }

    #[test]
    fn a_disk_without_room_is_full_before_a_write_fails() {
        let path = Path::new("x");
        assert!(matches!(check_room(path, Some(0)), Err(StoreError::Full { .. })));
        assert_eq!(check_room(path, Some(LEAST_ROOM)), Ok(()));
        assert_eq!(check_room(path, None), Ok(()));
    }

    #[tokio::test]
    async fn a_store_that_can_be_written_says_so_and_finds_out_when_it_can_again() {
        let folder = tempfile::tempdir().unwrap();
        let options = crate::store::StoreOptions::new(folder.path().join("a.db"));
        let store = Store::open(&options).unwrap();
        assert_eq!(store.check_writable().await, Ok(()));
        store.write_health().note(&full());
        // The trial works, and is the last write from then on.
        assert_eq!(store.check_writable().await, Ok(()));
        store.write_health().note(&full());
        assert!(store.check_writable().await.is_err(), "the next trial has to wait");
    }
}
