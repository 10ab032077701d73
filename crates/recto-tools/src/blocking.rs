//! Work that waits for a disk or computes for long, done on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs `work` on one of tokio's blocking threads. A thread can't be ended from
/// outside; so when nobody waits for the result any more, because the time is
/// up or the turn was stopped, the work is told through its [`Stop`].
///
/// A panic of the work goes on in the caller.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&Stop) -> T + Send + 'static,
) -> T {
    let stop = Stop::default();
    let _guard = RaiseOnDrop(stop.clone());
    recto_fs::blocking(move || work(&stop)).await
}

/// Says whether work should end early. What has taken effect before stays, and
/// what the work then gives back is seen by nobody.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Whether nobody waits for the work any more.
    pub(crate) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Makes one that is raised from the start.
    #[cfg(test)]
    pub(crate) fn raised() -> Self {
        Stop(Arc::new(AtomicBool::new(true)))
    }
}

/// Raises the stop sign on the way out.
struct RaiseOnDrop(Stop);

impl Drop for RaiseOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use tokio::task::spawn_blocking;

    use super::*;

    #[tokio::test]
    async fn work_that_nobody_waits_for_is_told() {
        let (begun, has_begun) = mpsc::channel();
        let (ended, has_ended) = mpsc::channel();
        let waiting = tokio::spawn(blocking(move |stop| {
            begun.send(()).unwrap();
            while !stop.is_raised() {
                thread::yield_now();
            }
            ended.send(()).unwrap();
        }));
        spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
        waiting.abort();
        let guard = Duration::from_secs(60);
        spawn_blocking(move || has_ended.recv_timeout(guard).unwrap()).await.unwrap();
    }
}
