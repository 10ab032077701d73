//! Ctrl-C, and the keys that are pressed while something is waited for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Chat;
use super::typing::KeyEffect;
use crate::failure::CliResult;

/// Whether Ctrl-C was pressed in a turn, and when first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InterruptState {
    None,
    Once(Instant),
}

/// How long the first Ctrl-C has to take effect before a second one counts.
const PATIENCE: Duration = Duration::from_secs(1);

impl Chat {
    /// Waits for something, and does meanwhile what keys mean. The first Ctrl-C stops the turn;
    /// the second does not wait for that, and gives `None`.
    pub(super) async fn watch<T>(
        &mut self,
        interrupts: &mut InterruptState,
        work: impl Future<Output = T>,
    ) -> CliResult<Option<T>> {
        tokio::pin!(work);
        loop {
            let key = tokio::select! {
                done = &mut work => return Ok(Some(done)),
                key = self.typing.next() => key,
                now = reached(self.questions.deadline()) => {
                    self.settle_key(now).await?;
                    continue;
                }
                () = self.interrupt.notified() => {
                    match interrupts {
                        InterruptState::None => {
                            *interrupts = InterruptState::Once(Instant::now());
                            self.stop_turn().await?;
                        }
                        // A key that bounces, or is held down.
                        InterruptState::Once(first) if first.elapsed() < PATIENCE => {}
                        InterruptState::Once(_) => return Ok(None),
                    }
                    continue;
                }
            };
            if self.handle_key(&key).await? == KeyEffect::LeavesNow {
                return Ok(None);
            }
        }
    }
}

/// Tells of every Ctrl-C from now on, also of one that comes while nobody waits
/// for it because something is being printed.
pub(super) fn interrupts() -> Arc<Notify> {
    let interrupt = Arc::new(Notify::new());
    let notify = interrupt.clone();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            notify.notify_one();
        }
    });
    interrupt
}

/// Waits for a time, which it gives; forever without one.
async fn reached(time: Option<Instant>) -> Instant {
    match time {
        Some(time) => {
            tokio::time::sleep_until(time.into()).await;
            time
        }
        None => std::future::pending().await,
    }
}
