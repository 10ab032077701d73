//! One reader for each bot, over all processes that use the store: two that read what the same bot
//! is sent would take messages from each other, and answer twice.
//!
//! Whoever has the bot's lease reads, for as long as its process lives (`recto-store`'s
//! `leases.rs`). Others stand by, and look again and again. One that was silent for so long that another one
//! took the bot over finds out before it writes anything for it, and within a second by itself.

use std::time::Duration;

use recto_store::{ChannelAccount, LeaseOutcome, Store};
use tokio::time::sleep;

use crate::supervisor::{ChannelBoard, ChannelProblem, ChannelState};

/// How often it is looked whether the bot is this process's to read.
const LOOK: Duration = Duration::from_secs(1);

/// Waits until the bot is this process's to read. `name` is what people call it.
pub(crate) async fn await_turn(
    store: &Store,
    account: &ChannelAccount,
    name: &str,
    board: &ChannelBoard,
    channel: &'static str,
) -> Result<(), ChannelProblem> {
    let lease = account.lease_name();
    loop {
        match store.take_lease(&lease).await {
            Ok(LeaseOutcome::Held) => return Ok(()),
            Ok(LeaseOutcome::Elsewhere) => {}
            Err(error) => return Err(ChannelProblem::passing(error.to_string())),
        }
        board.set(channel, ChannelState::Standby { account: name.to_owned() }).await;
        sleep(LOOK).await;
    }
}

/// Reads for as long as the bot is this process's, and says why it ended.
pub(crate) async fn while_elected(
    store: &Store,
    account: &ChannelAccount,
    read: impl Future<Output = ChannelProblem>,
) -> ChannelProblem {
    let lease = account.lease_name();
    let lost = async {
        loop {
            sleep(LOOK).await;
            // A store that can't be reached says nothing of who has the bot.
            if let Ok(LeaseOutcome::Elsewhere) = store.take_lease(&lease).await {
                return ChannelProblem::passing("another process has taken the bot over");
            }
        }
    };
    tokio::select! {
        problem = read => problem,
        lost = lost => lost,
    }
}
