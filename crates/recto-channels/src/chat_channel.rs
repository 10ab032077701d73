//! A bot of a chat service while it runs, whichever service it is.
//!
//! ```text
//! receive     what came is stored with how far was read, before the service hears that it came
//! updates     one update of a conversation after the other: who is it, what do they want; presses
//!             in an order of their own
//! replies     one turn of a session after the other: typing, edits while it streams, the reply
//! notes       everything else that is said: answers to commands, questions with their buttons
//! ```
//!
//! What a service does in its own way is behind [`ChatService`].

mod attachments;
mod deliveries;
mod posted_messages;
mod speakers;
#[cfg(test)]
mod tests;
mod turn_watch;
mod updates;

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use recto_store::{
    ChannelAccount, ChannelCursor, ChannelDelivery, ChannelDeliveryId, ChannelUpdate, Moment,
    NewChannelUpdate, StoreResult,
};
use tokio::task::JoinHandle;
use tokio::time::interval;

use self::speakers::SpeakerNumbers;
use crate::access::AccessLists;
use crate::host::ChannelHost;
use crate::incoming::{IncomingEvent, conversation_name, is_press};
use crate::keyed_queue::KeyedQueue;
use crate::service::ChatService;

/// How long what has ended is remembered: longer than any service delivers something again.
const MEMORY: Duration = Duration::from_secs(8 * 24 * 3600);

/// How often the store is asked whether others want to have something said.
const LOOK: Duration = Duration::from_secs(2);

/// How often what ended long ago is forgotten.
const PRUNE: Duration = Duration::from_secs(6 * 3600);

/// How much is remembered of what was said once.
const MOST_REMEMBERED: usize = 10_000;

/// What is set for a bot, whichever service it is at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChannelPolicy {
    /// Who is let in.
    pub access: AccessLists,
    /// How many messages of a group between two that are meant for the agent come along.
    pub context: u32,
    /// The most bytes of a text file that is read to the model.
    pub max_file_bytes: u32,
    /// Whether each person has a session of their own in a group.
    pub per_user: bool,
}

/// A bot, and its work.
pub(crate) struct ChatChannel<S> {
    pub(crate) service: S,
    pub(crate) account: ChannelAccount,
    policy: ChannelPolicy,
    pub(crate) host: ChannelHost,
    /// What was said of which chat in the log, to say it once.
    logged: Mutex<OnceSet<(String, String)>>,
    /// The strangers who were told that there is no code for them. A set of its own: however many
    /// there are, they leave room for what else is logged.
    turned_away: Mutex<OnceSet<String>>,
    /// The deliveries that this process sees to.
    queued: Mutex<HashSet<ChannelDeliveryId>>,
    /// The people of groups who have a name in common.
    speakers: tokio::sync::Mutex<SpeakerNumbers>,
    updates: KeyedQueue<ChannelUpdate>,
    replies: KeyedQueue<ChannelDelivery>,
    notes: KeyedQueue<ChannelDelivery>,
}

/// Something that came, under the service's own name of it: the same name is the same event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReceivedEvent {
    pub(crate) key: String,
    pub(crate) event: IncomingEvent,
}

/// A bot that runs. Its work is dropped where it stands when this is.
pub(crate) struct RunningChat<S: ChatService> {
    channel: Arc<ChatChannel<S>>,
    housekeeping: JoinHandle<()>,
}

impl<S: ChatService> RunningChat<S> {
    /// Starts, and goes on with what an earlier process left.
    pub(crate) async fn start(
        service: S,
        account: ChannelAccount,
        policy: ChannelPolicy,
        host: ChannelHost,
    ) -> StoreResult<Self> {
        let channel = Arc::new_cyclic(|own: &Weak<ChatChannel<S>>| ChatChannel {
            service,
            account,
            policy,
            host,
            logged: Mutex::default(),
            turned_away: Mutex::default(),
            queued: Mutex::default(),
            speakers: tokio::sync::Mutex::default(),
            updates: queue(own, |channel, update| {
                async move { channel.handle_update(update).await }.boxed()
            }),
            replies: queue(own, |channel, delivery| {
                async move { channel.deliver(delivery).await }.boxed()
            }),
            notes: queue(own, |channel, delivery| {
                async move { channel.deliver(delivery).await }.boxed()
            }),
        });
        channel.resume_open_work().await?;
        let housekeeping = tokio::spawn(keep_house(Arc::downgrade(&channel), PRUNE));
        Ok(RunningChat { channel, housekeeping })
    }
}

impl<S: ChatService> std::ops::Deref for RunningChat<S> {
    type Target = ChatChannel<S>;

    fn deref(&self) -> &Self::Target {
        &self.channel
    }
}

impl<S: ChatService> Drop for RunningChat<S> {
    fn drop(&mut self) {
        self.housekeeping.abort();
        self.updates.stop();
        self.replies.stop();
        self.notes.stop();
    }
}

impl<S: ChatService> ChatChannel<S> {
    /// Stores what came with how far was read, and has dealt with what is new. Once this is done,
    /// the service may forget it.
    pub(crate) async fn receive(
        &self,
        events: Vec<ReceivedEvent>,
        cursor: ChannelCursor,
    ) -> StoreResult<()> {
        let new = events.iter().map(|received| self.to_store(received)).collect();
        for update in self.host.store.receive_updates(&self.account, new, cursor).await? {
            self.queue_update(update);
        }
        Ok(())
    }

    fn to_store(&self, received: &ReceivedEvent) -> NewChannelUpdate {
        let (chat, thread) = received.event.chat_and_thread();
        NewChannelUpdate {
            key: received.key.clone(),
            conversation: conversation_name(&self.service.original_chat(chat), thread),
            payload: serde_json::to_value(&received.event).unwrap_or_default(),
        }
    }

    /// Has an update dealt with behind what else came in its conversation. A press waits for nothing
    /// but presses: it answers a question that stands there, whatever was said since.
    fn queue_update(&self, update: ChannelUpdate) {
        let order = match is_press(&update.payload) {
            true => format!("press:{}", update.conversation),
            false => update.conversation.clone(),
        };
        self.updates.push(&order, update);
    }

    /// Goes on with what an earlier process left.
    async fn resume_open_work(&self) -> StoreResult<()> {
        self.queue_open_deliveries().await?;
        for update in self.host.store.open_updates(&self.account).await? {
            self.queue_update(update);
        }
        Ok(())
    }

    /// Has delivered what others have put into the outbox.
    async fn queue_open_deliveries(&self) -> StoreResult<()> {
        for delivery in self.host.store.open_deliveries(&self.account).await? {
            let is_new = self.queued.lock().insert(delivery.id);
            if is_new {
                self.queue_delivery(delivery);
            }
        }
        Ok(())
    }

    /// Forgets what ended long ago.
    async fn prune(&self) -> StoreResult<()> {
        match Moment::now().timestamp().checked_sub(MEMORY) {
            Ok(before) => self.host.store.prune_channels(Moment::new(before)).await,
            Err(_) => Ok(()),
        }
    }

    /// Has something delivered, behind what else of its kind goes to the same conversation.
    fn queue_delivery(&self, delivery: ChannelDelivery) {
        self.queued.lock().insert(delivery.id);
        let queue = if delivery.turn.is_some() { &self.replies } else { &self.notes };
        queue.push(&delivery.conversation.clone(), delivery);
    }

    /// Says something about a chat in the log, unless it was said before.
    fn log_once(&self, chat: &str, what: &str) {
        if self.logged.lock().insert_new((chat.to_owned(), what.to_owned())) {
            tracing::warn!(channel = S::CHANNEL, chat, "{what}");
        }
    }
}

/// What was said once, as much of it as is remembered.
#[derive(Debug)]
struct OnceSet<T>(HashSet<T>);

impl<T> Default for OnceSet<T> {
    fn default() -> Self {
        OnceSet(HashSet::new())
    }
}

impl<T: Eq + Hash> OnceSet<T> {
    /// Whether something was not said before. Once very much was, nothing is new.
    fn insert_new(&mut self, said: T) -> bool {
        self.0.len() < MOST_REMEMBERED && self.0.insert(said)
    }
}

/// Looks now and then for what others want to have said, and forgets what is old.
async fn keep_house<S: ChatService>(channel: Weak<ChatChannel<S>>, prune: Duration) {
    let (mut looks, mut prunes) = (interval(LOOK), interval(prune));
    loop {
        let is_prune = tokio::select! {
            _ = looks.tick() => false,
            _ = prunes.tick() => true,
        };
        let Some(channel) = channel.upgrade() else { return };
        let kept = match is_prune {
            true => channel.prune().await,
            false => channel.queue_open_deliveries().await,
        };
        if let Err(error) = kept {
            channel.log_once("", &format!("the store can't be looked after: {error}"));
        }
    }
}

/// A queue whose work is the channel's, for as long as there is one.
fn queue<S: ChatService, T: Send + 'static>(
    channel: &Weak<ChatChannel<S>>,
    work: impl Fn(Arc<ChatChannel<S>>, T) -> BoxFuture<'static, ()> + Send + Sync + 'static,
) -> KeyedQueue<T> {
    let channel = channel.clone();
    KeyedQueue::new(move |item| match channel.upgrade() {
        Some(channel) => work(channel, item),
        None => futures_util::future::ready(()).boxed(),
    })
}
