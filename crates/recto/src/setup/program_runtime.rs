//! The threads on which everything that waits is done.

use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::failure::{CliFailure, CliResult};

/// How long work is waited for that can't be dropped.
const BLOCKING_LIMIT: Duration = Duration::from_millis(500);

/// The threads of the program. When it is dropped, what still computes or waits on one of them
/// (a model that is being loaded, a check that takes long, a folder on a dead disk) is left to
/// the end of the process: no thread can keep the program from ending.
#[derive(Debug)]
pub(crate) struct ProgramRuntime {
    /// There until it is dropped.
    runtime: Option<Runtime>,
    handle: Handle,
}

impl ProgramRuntime {
    /// Starts the threads.
    pub(crate) fn start() -> CliResult<Self> {
        // One thread may be held up by a slow terminal.
        let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build()
            .map_err(|error| CliFailure::new("cannot start threads").because(&error))?;
        Ok(ProgramRuntime { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// Runs a future to its end.
    pub(crate) fn block_on<F: Future>(&self, work: F) -> F::Output {
        self.handle.block_on(work)
    }

    /// Ends the threads without waiting for any of them.
    pub(crate) fn shutdown_background(mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for ProgramRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(BLOCKING_LIMIT);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    /// Promise: `input-never-runs-on`
    #[test]
    fn a_thread_that_never_ends_does_not_keep_the_program() {
        let (begun, has_begun) = mpsc::channel();
        let (ended, has_ended) = mpsc::channel();
        thread::spawn(move || {
            let runtime = ProgramRuntime::start().unwrap();
            runtime.block_on(async {
                tokio::task::spawn_blocking(move || {
                    begun.send(()).unwrap();
                    loop {
                        thread::park();
                    }
                });
            });
            has_begun.recv().unwrap();
            drop(runtime);
            ended.send(()).unwrap();
        });
        has_ended.recv_timeout(Duration::from_secs(60)).expect("the runtime has ended");
    }
}
