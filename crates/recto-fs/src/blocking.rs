//! Work that waits for a disk or computes for long, on one of tokio's threads for such work.

use std::future::pending;
use std::panic::resume_unwind;

use tokio::task::{JoinHandle, spawn_blocking};

/// Runs `work` where it keeps no other task waiting. A panic of it goes on in the caller.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    finish(spawn_blocking(work)).await
}

/// Waits for a task that nobody aborts. A panic of it goes on in the caller.
pub async fn finish<T>(task: JoinHandle<T>) -> T {
    match task.await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is ending before the work began, and this future with it.
            Err(_) => pending().await,
        },
    }
}
