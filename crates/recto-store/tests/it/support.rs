//! A store in a folder of its own, and short ways to talk to it.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use recto_context::{ContentPart, Message, MessageId, Text};
use recto_store::{
    BindingKey, Fidelity, Moment, NewMessage, NewRequest, NewSession, NewTurn, RequestId,
    SessionHolder, SessionName, SettingsMap, StartedTurn, Store, StoreError, StoreOptions,
    StoredSession, TurnCommit, TurnEnding, TurnId, TurnOutcome,
};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

/// A store in a folder that goes when this is dropped.
pub(crate) struct StoreBench {
    pub(crate) store: Store,
    folder: TempDir,
}

impl StoreBench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreOptions::new(folder.path().join("data/recto.db"))).unwrap();
        StoreBench { store, folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("data/recto.db")
    }

    /// Another store on the same file, as another process has it.
    pub(crate) fn another(&self) -> Store {
        Store::open(&StoreOptions::new(self.path())).unwrap()
    }

    /// The same after a restart.
    pub(crate) fn reopened(self) -> Self {
        let StoreBench { store, folder } = self;
        drop(store);
        let store = Store::open(&StoreOptions::new(folder.path().join("data/recto.db"))).unwrap();
        StoreBench { store, folder }
    }

    /// The database itself, past the store.
    pub(crate) fn database(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    /// The number that a query gives.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.database().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    pub(crate) async fn session(&self, name: &str) -> StoredSession {
        self.store.bind(key(name), new_session(name)).await.unwrap()
    }
}

/// A moment, `seconds` after some other.
pub(crate) fn at(seconds: i64) -> Moment {
    Moment::new(Timestamp::from_second(1_763_193_600 + seconds).unwrap())
}

pub(crate) fn key(conversation: &str) -> BindingKey {
    BindingKey {
        agent: "main".into(),
        surface: "terminal".into(),
        account: "local".into(),
        conversation: conversation.into(),
        user: None,
        holder: SessionHolder::owner(),
    }
}

pub(crate) fn new_session(name: &str) -> NewSession {
    NewSession {
        agent: "main".into(),
        name: Some(SessionName::new(name).unwrap()),
        surface: "terminal".into(),
        at: at(0),
        settings: SettingsMap::default(),
    }
}

pub(crate) fn new_turn(session: &StoredSession, text: &str) -> NewTurn {
    NewTurn {
        session: session.id,
        at: at(1),
        content: vec![ContentPart::Text(text.into())],
        actor: json!({"id": "owner"}),
        settings: SettingsMap::default(),
        delivery: None,
        client: None,
        retraction: None,
    }
}

pub(crate) fn new_message(message: Message) -> NewMessage {
    let seconds = i64::try_from(message.id.0).unwrap();
    NewMessage { message: Arc::new(message), at: at(seconds) }
}

/// A request whose body has these pieces.
pub(crate) fn request(number: u32, body: &[&str]) -> NewRequest {
    NewRequest {
        number,
        at: at(2),
        model: "small".into(),
        wire: "openai".into(),
        options: json!({"temperature": 0.5}),
        fidelity: Fidelity::Wire,
        context: r#"{"version":1}"#.into(),
        contents: Vec::new(),
        body: body.iter().map(|piece| (*piece).to_owned()).collect(),
        notes: json!({}),
    }
}

pub(crate) fn done() -> Option<TurnOutcome> {
    Some(TurnOutcome { ending: TurnEnding::Done, detail: None, at: at(9) })
}

/// Begins a turn whose message has the number `id`.
pub(crate) async fn begin(
    store: &Store,
    session: &StoredSession,
    id: u64,
    text: &str,
) -> Result<StartedTurn, StoreError> {
    let messages = vec![new_message(Message::user(id, text))];
    store.begin(new_turn(session, text), TurnCommit { messages, ..TurnCommit::default() }).await
}

/// Ends a turn with a reply that has the number `id`.
pub(crate) async fn reply(store: &Store, turn: TurnId, id: u64, text: &str) {
    let messages = vec![new_message(Message::assistant(id, text))];
    let commit = TurnCommit { messages, outcome: done(), ..TurnCommit::default() };
    assert_eq!(store.advance(turn, commit).await, Ok(None));
}

/// A whole turn: two messages with the numbers `id` and `id + 1`.
pub(crate) async fn exchange(store: &Store, session: &StoredSession, id: u64, texts: [&str; 2]) {
    let begun = begin(store, session, id, texts[0]).await.unwrap();
    reply(store, begun.turn, id + 1, texts[1]).await;
}

/// A whole turn that is nothing but this request.
pub(crate) async fn sent(store: &Store, session: &StoredSession, request: NewRequest) -> RequestId {
    let commit = TurnCommit { request: Some(request), ..TurnCommit::default() };
    let begun = store.begin(new_turn(session, "hi"), commit).await.unwrap();
    let end = TurnCommit { outcome: done(), ..TurnCommit::default() };
    store.advance(begun.turn, end).await.unwrap();
    begun.request.unwrap()
}

/// The numbers and texts of a session's messages.
pub(crate) async fn transcript(store: &Store, session: &StoredSession) -> Vec<(u64, String)> {
    let messages = store.messages(session.id, None).await.unwrap();
    messages.iter().map(|stored| (stored.message.id.0, text_of(&stored.message))).collect()
}

fn text_of(message: &Message) -> String {
    let texts = message.content().iter().filter_map(ContentPart::as_text);
    texts.map(Text::as_str).collect()
}

pub(crate) fn id(number: u64) -> MessageId {
    MessageId(number)
}

/// Words that look like talk, the same for the same seed.
pub(crate) fn talk(seed: u64, bytes: usize) -> String {
    const WORDS: [&str; 40] = [
        "the", "model", "reads", "a", "page", "and", "answers", "with", "file", "when", "lantern",
        "ladder", "needs", "more", "light", "than", "window", "of", "every", "house", "in",
        "which", "people", "write", "letters", "about", "weather", "before", "they", "go", "to",
        "market", "for", "bread", "honey", "some", "quiet", "morning", "under", "bridge",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    while text.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push_str(WORDS[(state % 40) as usize]);
        // Names and numbers, which are new each time.
        if state.is_multiple_of(7) {
            text.push_str(&format!("{:x}", state >> 40));
        }
        text.push(' ');
    }
    text
}
