//! A channel at a service that is only in memory, and refuses what a test wants refused.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use recto_context::Remedy;
use recto_store::{
    ChannelAccount, ChannelCursor, Moment, NewChannelDelivery, NewChannelUpdate, Store,
    StoreOptions,
};
use tempfile::TempDir;

use super::*;
use crate::content::DeliveryContent;
use crate::incoming::{IncomingFile, IncomingPress};
use crate::rich_text::RichText;
use crate::service::{
    ChatServiceError, FetchFailure, MadeMessage, MessagePiece, OutgoingMessage, ReplyTarget,
};

/// A service whose messages are of at most ten characters.
#[derive(Debug, Default, Clone)]
struct MemoryService {
    /// What each message says; nothing where it was taken back.
    messages: Arc<Mutex<Vec<Option<String>>>>,
    /// Whether nothing can be taken back.
    is_undeletable: bool,
}

impl MemoryService {
    fn texts(&self) -> Vec<String> {
        self.messages.lock().iter().flatten().cloned().collect()
    }

    fn set(&self, id: &str, text: Option<&str>) -> Result<(), ChatServiceError> {
        let gone = || ChatServiceError::Unchangeable("it is gone".to_owned());
        let at: usize = id.parse().map_err(|_| gone())?;
        let mut messages = self.messages.lock();
        *messages.get_mut(at).ok_or_else(gone)? = text.map(str::to_owned);
        Ok(())
    }
}

impl ChatService for MemoryService {
    const CHANNEL: &'static str = "memory";
    const TITLE: &'static str = "Memory";
    const MOST_TEXT: usize = 10;
    const MOST_PRESS_WORDS: usize = 200;
    const TYPING_LASTS: Duration = Duration::from_secs(5);

    fn text_length(text: &RichText) -> usize {
        text.text.chars().count()
    }

    fn edit_pause(&self, _: &ReplyTarget) -> Duration {
        Duration::from_millis(10)
    }

    async fn make_message(
        &self,
        _: &ReplyTarget,
        draft: &OutgoingMessage<'_>,
    ) -> Result<MadeMessage, ChatServiceError> {
        let mut messages = self.messages.lock();
        messages.push(Some(draft.piece.text.text.clone()));
        Ok(MadeMessage { id: (messages.len() - 1).to_string(), says_it: true })
    }

    async fn change_message(
        &self,
        _: &ReplyTarget,
        id: &str,
        piece: &MessagePiece,
    ) -> Result<(), ChatServiceError> {
        self.set(id, Some(&piece.text.text))
    }

    async fn delete_message(&self, _: &ReplyTarget, id: &str) -> Result<(), ChatServiceError> {
        match self.is_undeletable {
            true => Err(ChatServiceError::Refused("it is too old".to_owned())),
            false => self.set(id, None),
        }
    }

    fn show_typing(&self, _: &ReplyTarget) {}

    async fn answer_press(&self, _: &IncomingPress, _: &str) {}

    async fn fetch_file(&self, _: &IncomingFile, _: usize) -> Result<Vec<u8>, FetchFailure> {
        Err(FetchFailure::Failed)
    }
}

/// A store in a folder of its own, and a bot that uses it.
struct ChannelBench {
    store: Store,
    account: ChannelAccount,
    _folder: TempDir,
}

impl ChannelBench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreOptions::new(folder.path().join("recto.db"))).unwrap();
        let account = ChannelAccount { channel: "memory".into(), account: "bot".into() };
        ChannelBench { store, account, _folder: folder }
    }

    async fn start(&self, service: &MemoryService) -> RunningChat<MemoryService> {
        let host = ChannelHost {
            agents: Vec::new(),
            bindings: Vec::new(),
            store: self.store.clone(),
            remedy_words: |_: &Remedy| String::new(),
        };
        let (service, account) = (service.clone(), self.account.clone());
        RunningChat::start(service, account, ChannelPolicy::default(), host).await.unwrap()
    }

    /// Puts something into the outbox as another process does.
    async fn add_note(&self, key: &str, markdown: &str) -> ChannelDelivery {
        let target = ReplyTarget {
            chat: "7".into(),
            thread: None,
            answers: None,
            quotes: false,
            is_group: false,
        };
        let new = NewChannelDelivery {
            key: key.into(),
            conversation: "7".into(),
            turn: None,
            target: serde_json::to_value(target).unwrap(),
            content: Some(DeliveryContent::text(markdown).to_store()),
        };
        self.store.add_delivery(&self.account, new, Moment::now()).await.unwrap()
    }

    /// Waits until nothing is left to deliver.
    async fn drain(&self) {
        for _ in 0..6_000 {
            if self.store.open_deliveries(&self.account).await.unwrap().is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("something is never delivered");
    }
}

#[tokio::test]
async fn what_others_want_said_is_said_while_the_channel_runs() {
    let (bench, service) = (ChannelBench::new(), MemoryService::default());
    let _running = bench.start(&service).await;
    bench.add_note("pairing:1", "let in").await;
    bench.drain().await;
    assert_eq!(service.texts(), ["let in"]);
}

/// Promise: `replies-never-broken`
#[tokio::test]
async fn a_text_that_became_shorter_leaves_nothing_of_before() {
    for is_undeletable in [false, true] {
        let bench = ChannelBench::new();
        let service = MemoryService { is_undeletable, ..MemoryService::default() };
        let running = bench.start(&service).await;
        let note = bench.add_note("note", "one two three four five six").await;
        bench.drain().await;
        assert_eq!(service.texts(), ["one two", "three four", "five six"]);
        let short = DeliveryContent::text("one").to_store();
        bench.store.set_delivery_content(note.id, &short).await.unwrap();
        running.queue_delivery(note);
        bench.drain().await;
        let left: &[&str] = match is_undeletable {
            false => &["one"],
            true => &["one", "(taken back)", "(taken back)"],
        };
        assert_eq!(service.texts(), left);
    }
}

#[tokio::test]
async fn what_is_old_is_forgotten_while_the_channel_runs() {
    let (bench, service) = (ChannelBench::new(), MemoryService::default());
    let running = bench.start(&service).await;
    let short = Duration::from_millis(20);
    let house = tokio::spawn(keep_house(Arc::downgrade(&running.channel), short));
    tokio::time::sleep(3 * short).await;
    let old = Moment::now().timestamp().checked_sub(MEMORY + Duration::from_secs(60)).unwrap();
    let old = Moment::new(old);
    let update = || NewChannelUpdate {
        key: "1".into(),
        conversation: "7".into(),
        payload: serde_json::json!({}),
    };
    let cursor = || ChannelCursor { position: 1, resume: None, at: old };
    let (store, account) = (&bench.store, &bench.account);
    let new = store.receive_updates(account, vec![update()], cursor()).await.unwrap();
    store.finish_update(account, new[0].id, Vec::new(), old).await.unwrap();
    // What is forgotten is new when it comes again.
    let mut again = Vec::new();
    for _ in 0..3_000 {
        again = store.receive_updates(account, vec![update()], cursor()).await.unwrap();
        if !again.is_empty() {
            break;
        }
        tokio::time::sleep(short).await;
    }
    assert_eq!(again.len(), 1);
    house.abort();
}
