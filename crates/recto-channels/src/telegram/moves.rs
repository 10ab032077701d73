//! Groups that became supergroups: Telegram gives them another id, and their session goes on under
//! the id that they had at first.

use std::collections::HashMap;

use parking_lot::Mutex;
use recto_store::{ChannelAccount, Store, StoreResult};

/// The chats that have another id now.
pub(super) struct ChatMoves {
    store: Store,
    account: ChannelAccount,
    /// The id of now, by the one that a chat had at first.
    current: Mutex<HashMap<i64, i64>>,
}

impl ChatMoves {
    pub(super) async fn load(store: &Store, account: &ChannelAccount) -> StoreResult<Self> {
        let known = store.channel_moves(account).await?;
        let known =
            known.iter().filter_map(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
        let current = Mutex::new(known.collect());
        Ok(ChatMoves { store: store.clone(), account: account.clone(), current })
    }

    /// The id that a chat has now.
    pub(super) fn current(&self, original: i64) -> i64 {
        self.current.lock().get(&original).copied().unwrap_or(original)
    }

    /// The id that a chat had at first.
    pub(super) fn original(&self, current: i64) -> i64 {
        let moves = self.current.lock();
        moves.iter().find(|(_, to)| **to == current).map_or(current, |(from, _)| *from)
    }

    /// Both ids of a chat, or its only one.
    pub(super) fn all_ids(&self, original: i64) -> Vec<i64> {
        let mut ids = vec![original, self.current(original)];
        ids.dedup();
        ids
    }

    /// Notes that a group has another id now; its session goes on.
    pub(super) async fn note(&self, from: i64, to: i64) -> StoreResult<()> {
        let original = self.original(from);
        if self.current(original) == to || original == to {
            return Ok(());
        }
        self.store.note_channel_move(&self.account, &from.to_string(), &to.to_string()).await?;
        self.current.lock().insert(original, to);
        tracing::info!(
            channel = super::CHANNEL,
            from,
            to,
            "a group became a supergroup; its session goes on"
        );
        Ok(())
    }
}
