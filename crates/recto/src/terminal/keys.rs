//! Keys that are typed while something else has the screen, read on a thread of their own.
//!
//! The terminal must not echo meanwhile: that is `quiet.rs`. While the line editor reads, no
//! reader may run, since both take from one queue.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};
use tokio::sync::mpsc;

/// How often the thread looks whether it is to end.
const A_MOMENT: Duration = Duration::from_millis(50);

/// A key, and when it came.
#[derive(Debug, Clone)]
pub(crate) struct TimedKey {
    pub(crate) at: Instant,
    pub(crate) event: Event,
}

/// Reads keys until it is stopped.
#[derive(Debug)]
pub(crate) struct KeyReader {
    keys: mpsc::UnboundedReceiver<TimedKey>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl KeyReader {
    pub(crate) fn start() -> Self {
        let (sender, keys) = mpsc::unbounded_channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let watched = is_over.clone();
        let thread = thread::spawn(move || {
            // Without a terminal there is nothing to read, and nobody to tell.
            let _ = read_keys(&sender, &watched);
        });
        KeyReader { keys, is_over, thread: Some(thread) }
    }

    /// The next key; never, once the terminal is gone. Nothing is lost when this is not waited
    /// for to its end.
    pub(crate) async fn next(&mut self) -> TimedKey {
        match self.keys.recv().await {
            Some(key) => key,
            None => std::future::pending().await,
        }
    }

    /// Ends the reading, and gives what nobody has taken yet.
    pub(crate) fn stop(mut self) -> Vec<TimedKey> {
        self.end();
        std::iter::from_fn(|| self.keys.try_recv().ok()).collect()
    }

    fn end(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ends by itself within a moment; what it panicked at was told.
            let _ = thread.join();
        }
    }
}

impl Drop for KeyReader {
    fn drop(&mut self) {
        self.end();
    }
}

fn read_keys(sender: &mpsc::UnboundedSender<TimedKey>, is_over: &AtomicBool) -> io::Result<()> {
    while !is_over.load(Ordering::Relaxed) {
        if event::poll(A_MOMENT)? {
            let event = event::read()?;
            if sender.send(TimedKey { at: Instant::now(), event }).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}
