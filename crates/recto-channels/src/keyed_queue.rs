//! Work that is done in order for each key, and at once for different ones.
//!
//! A key costs something only while there is work for it: its task ends with the last piece.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::task::JoinSet;

/// Queues of work, one for each key. All tasks end when it is stopped.
pub(crate) struct KeyedQueue<T> {
    state: Arc<Mutex<QueueState<T>>>,
    work: Arc<dyn Fn(T) -> BoxFuture<'static, ()> + Send + Sync>,
}

struct QueueState<T> {
    /// What waits; a key is here as long as its task runs.
    waiting: HashMap<String, VecDeque<T>>,
    tasks: JoinSet<()>,
}

impl<T: Send + 'static> KeyedQueue<T> {
    /// Queues whose work is done by this.
    pub(crate) fn new(work: impl Fn(T) -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        let state = QueueState { waiting: HashMap::new(), tasks: JoinSet::new() };
        KeyedQueue { state: Arc::new(Mutex::new(state)), work: Arc::new(work) }
    }

    /// Adds work behind all that waits for the same key. Must be called within a tokio runtime.
    pub(crate) fn push(&self, key: &str, item: T) {
        let mut state = self.state.lock();
        // Of tasks that have ended nothing is kept.
        while state.tasks.try_join_next().is_some() {}
        if let Some(waiting) = state.waiting.get_mut(key) {
            return waiting.push_back(item);
        }
        state.waiting.insert(key.to_owned(), VecDeque::from([item]));
        // The tasks hang on the state: it must not hang on them.
        let queue = Arc::downgrade(&self.state);
        state.tasks.spawn(work_off(queue, self.work.clone(), key.to_owned()));
    }

    /// Whether there is work for a key, behind the piece that is being done.
    pub(crate) fn has_waiting(&self, key: &str) -> bool {
        self.state.lock().waiting.get(key).is_some_and(|waiting| !waiting.is_empty())
    }

    /// Whether something is being done for a key.
    pub(crate) fn is_busy(&self, key: &str) -> bool {
        self.state.lock().waiting.contains_key(key)
    }

    /// Drops all work where it stands.
    pub(crate) fn stop(&self) {
        let mut state = self.state.lock();
        state.waiting.clear();
        state.tasks.abort_all();
    }
}

async fn work_off<T>(
    state: Weak<Mutex<QueueState<T>>>,
    work: Arc<dyn Fn(T) -> BoxFuture<'static, ()> + Send + Sync>,
    key: String,
) {
    while let Some(item) = next_item(&state, &key) {
        // One piece that breaks is no reason to leave the rest undone.
        if AssertUnwindSafe(work(item)).catch_unwind().await.is_err() {
            tracing::error!(conversation = key, "something in a channel broke");
        }
    }
}

/// The next piece for a key; without one, the key is gone.
fn next_item<T>(state: &Weak<Mutex<QueueState<T>>>, key: &str) -> Option<T> {
    let state = state.upgrade()?;
    let mut state = state.lock();
    let item = state.waiting.get_mut(key)?.pop_front();
    if item.is_none() {
        state.waiting.remove(key);
    }
    item
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn wait_until(reached: impl Fn() -> bool) {
        for _ in 0..6_000 {
            if reached() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it never came to be so");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn each_key_has_its_order_and_a_panic_is_its_own() {
        let done: Arc<Mutex<Vec<(u32, u32)>>> = Arc::default();
        let log = done.clone();
        let queue = KeyedQueue::new(move |(key, number): (u32, u32)| {
            let log = log.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(u64::from((number * 7) % 3))).await;
                assert!(number != 4, "broken on purpose");
                log.lock().push((key, number));
            }
            .boxed()
        });
        for number in 0..10 {
            for key in 0..5 {
                queue.push(&key.to_string(), (key, number));
            }
        }
        wait_until(|| done.lock().len() == 45).await;
        for key in 0..5 {
            let of_key: Vec<u32> = done
                .lock()
                .iter()
                .filter(|(of, _)| *of == key)
                .map(|(_, number)| *number)
                .collect();
            assert_eq!(of_key, [0, 1, 2, 3, 5, 6, 7, 8, 9]);
        }
        wait_until(|| queue.state.lock().waiting.is_empty()).await;
    }
}
