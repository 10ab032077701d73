//! A session's file grows with it, whatever others do to the file.

use std::os::unix::fs::PermissionsExt as _;

use recto_store::{
    BindingKey, NewMessage, NewRetraction, NewSession, RetractionReason, SessionHolder,
    StoreOptions,
};
use tempfile::TempDir;

use super::*;

/// A store, and a folder for the files of its sessions.
struct TestFiles {
    folder: TempDir,
    store: Store,
}

impl TestFiles {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = Store::open(&StoreOptions::new(folder.path().join("recto.db"))).unwrap();
        TestFiles { folder, store }
    }

    fn sessions(&self) -> PathBuf {
        self.folder.path().join("home/sessions")
    }

    fn files(&self) -> SessionFiles {
        SessionFiles::new(self.sessions())
    }

    /// A session with these messages, by a person and a model in turn.
    async fn session(&self, texts: &[&str]) -> SessionId {
        let at = Moment::new("2026-11-15T10:03:00.000001Z".parse().unwrap());
        let message = |(number, text): (u64, &&str)| {
            let message = match number % 2 {
                1 => Message::user(number, *text),
                _ => Message::assistant(number, *text),
            };
            NewMessage { message: Arc::new(message), at }
        };
        let key = BindingKey {
            agent: "main".to_owned(),
            surface: "terminal".to_owned(),
            account: "local".to_owned(),
            conversation: texts.concat(),
            user: None,
            holder: SessionHolder::owner(),
        };
        let new = NewSession {
            agent: "main".to_owned(),
            name: None,
            surface: "terminal".to_owned(),
            at,
            settings: Default::default(),
        };
        let messages: Vec<_> = (1..).zip(texts).map(message).collect();
        self.store.import(key, new, messages).await.unwrap().id
    }

    /// The names of the files, sorted, with how many messages each has.
    fn listed(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.sessions()) else { return Vec::new() };
        let mut listed: Vec<String> = entries
            .map(|entry| {
                let path = entry.unwrap().path();
                let count = fs::read_to_string(&path)
                    .ok()
                    .and_then(|text| Some(from_markdown(&text).ok()?.messages.len()));
                format!("{} {count:?}", path.file_name().unwrap().to_str().unwrap())
            })
            .collect();
        listed.sort();
        listed
    }
}

const NAME: &str = "session-memory-one-1-20261115T100300Z.md";

fn stored(number: u64, text: &str) -> StoredMessage {
    let at = Moment::new("2026-11-15T10:04:00Z".parse().unwrap());
    StoredMessage {
        message: Arc::new(Message::user(number, text)),
        at,
        turn: None,
        brought_by: None,
    }
}

/// What a session holds, with further messages: a transcript that has grown.
async fn grown(
    test: &TestFiles,
    session: SessionId,
    texts: &[&str],
) -> (StoredSession, Vec<StoredMessage>) {
    let mut messages = test.store.messages(session, None).await.unwrap();
    messages.extend((messages.len() as u64 + 1..).zip(texts).map(|(id, text)| stored(id, text)));
    (test.store.session(session).await.unwrap().unwrap(), messages)
}

#[tokio::test]
async fn a_session_has_a_file_from_its_fourth_message_on() {
    let test = TestFiles::new();
    let (short, long) = (
        test.session(&["a", "b", "c"]).await,
        test.session(&["One?", "two", "three", "four"]).await,
    );
    let files = test.files();
    files.update(&test.store, short).await.unwrap();
    assert_eq!(test.listed(), Vec::<String>::new());
    for _ in 0..3 {
        files.update(&test.store, long).await.unwrap();
        test.files().update(&test.store, long).await.unwrap();
    }
    assert_eq!(test.listed(), ["session-memory-one-2-20261115T100300Z.md Some(4)"]);
    let path = test.sessions().join("session-memory-one-2-20261115T100300Z.md");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(path).unwrap();
    let found = from_markdown(&text).unwrap();
    let stored = test.store.messages(long, None).await.unwrap();
    for (found, stored) in found.messages.iter().zip(&stored) {
        assert_eq!(found.message, stored.message);
        assert_eq!(found.at, Some(stored.at.to_string()));
    }
}

#[tokio::test]
async fn a_file_grows_by_what_is_new_and_keeps_what_a_person_wrote() {
    let test = TestFiles::new();
    let id = test.session(&["one", "two", "three", "four"]).await;
    let (session, five) = grown(&test, id, &["five"]).await;
    let left = find_or_create(&test.sessions(), &session, &five[..4], &[]).unwrap();
    let path = test.sessions().join(NAME);
    let before = fs::read_to_string(&path).unwrap();
    let left = append_new(&left, &five[4..], &[]).unwrap().unwrap();
    let after = fs::read_to_string(&path).unwrap();
    assert!(after.starts_with(&before) && after.contains("\nfive\n"), "{after}");

    // A person changes a text and adds a note, without a line feed at its end.
    let edited = after.replace("\nthree\n", "\n3\n") + "\n## User\n\nmy note";
    fs::write(&path, &edited).unwrap();
    let (_, seven) = grown(&test, id, &["five", "six", "seven"]).await;
    assert_eq!(append_new(&left, &seven[5..], &[]).unwrap(), None);
    find_or_create(&test.sessions(), &session, &seven, &[]).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(&edited), "{text}");
    let found = from_markdown(&text).unwrap();
    let said: Vec<String> =
        found.messages.iter().map(|found| message_text(&found.message)).collect();
    assert_eq!(said, ["one", "two", "3", "four", "five", "my note", "six", "seven"]);
    assert_eq!(test.listed(), [format!("{NAME} Some(8)")]);
}

#[tokio::test]
async fn what_can_not_be_understood_is_left_alone() {
    let test = TestFiles::new();
    let id = test.session(&["one", "two", "three", "four"]).await;
    let (session, five) = grown(&test, id, &["## User\n"]).await;
    let whole = whole_text(&session, &five[..4], &[]);
    let unreadable = [
        Vec::new(),
        b"my own notes".to_vec(),
        b"\xff\xfe".to_vec(),
        whole.replace("\"role\":", "\"role\"").into_bytes(),
        // What is appended would stand in the fence.
        (whole.clone() + "\n```\nnever closed\n").into_bytes(),
        whole.replace("\"id\":1,\"name\"", "\"id\":7,\"name\"").into_bytes(),
    ];
    for content in unreadable {
        let _ = fs::remove_dir_all(test.sessions());
        fs::create_dir_all(test.sessions()).unwrap();
        let path = test.sessions().join(NAME);
        fs::write(&path, &content).unwrap();
        for _ in 0..2 {
            find_or_create(&test.sessions(), &session, &five, &[]).unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), content);
        let second = NAME.replace(".md", "-2.md");
        assert_eq!(test.listed().len(), 2, "{:?}", test.listed());
        assert!(test.listed().contains(&format!("{second} Some(5)")), "{:?}", test.listed());
    }
    fs::remove_dir_all(test.sessions()).unwrap();
    fs::create_dir_all(test.sessions().join(NAME)).unwrap();
    find_or_create(&test.sessions(), &session, &five, &[]).unwrap();
    assert_eq!(test.listed().len(), 2);
}

#[tokio::test]
async fn a_file_that_was_deleted_is_written_again() {
    let test = TestFiles::new();
    let id = test.session(&["one", "two", "three", "four"]).await;
    let files = test.files();
    files.update(&test.store, id).await.unwrap();
    fs::remove_file(test.sessions().join(NAME)).unwrap();
    files.update(&test.store, id).await.unwrap();
    assert_eq!(test.listed(), [format!("{NAME} Some(4)")]);
}

#[tokio::test]
async fn a_folder_that_is_none_is_told() {
    let test = TestFiles::new();
    let id = test.session(&["one", "two", "three", "four"]).await;
    fs::write(test.folder.path().join("home"), "").unwrap();
    let told = test.files().update(&test.store, id).await.unwrap_err().to_string();
    assert!(told.starts_with("session 1 can't be kept as Markdown in `"), "{told}");
}

#[test]
fn a_topic_is_the_first_words() {
    for (text, expected) in [
        ("What does a.txt say?", "what-does-a-txt-say"),
        ("", "talk"),
        ("../../etc/passwd\0", "etc-passwd"),
        ("?!", "talk"),
        ("Ärger in München", "ärger-in-münchen"),
        (
            "one two three four five six seven eight nine ten",
            "one-two-three-four-five-six-seven-eight",
        ),
        (&"x".repeat(99), &"x".repeat(40)),
    ] {
        assert_eq!(topic(text), expected);
    }
    assert!(topic(&"İ".repeat(99)).chars().count() <= 40);
}

#[tokio::test]
async fn what_is_taken_back_is_marked_once_in_a_file_that_only_grows() {
    let test = TestFiles::new();
    let id = test.session(&["one", "two", "three", "four"]).await;
    let files = test.files();
    files.update(&test.store, id).await.unwrap();
    let path = test.sessions().join(NAME);
    let before = fs::read_to_string(&path).unwrap();
    let undo = |first, last| NewRetraction {
        first: MessageId(first),
        last: MessageId(last),
        reason: RetractionReason::Undo,
        actor: json!({}),
        at: Moment::now(),
    };
    test.store.retract(id, undo(3, 4)).await.unwrap();
    // By whoever wrote it before, and by one who has to read it first.
    files.update(&test.store, id).await.unwrap();
    test.store.retract(id, undo(1, 2)).await.unwrap();
    for _ in 0..2 {
        test.files().update(&test.store, id).await.unwrap();
        files.update(&test.store, id).await.unwrap();
    }
    let after = fs::read_to_string(&path).unwrap();
    let marks = after.strip_prefix(&before).unwrap();
    assert_eq!(marks.matches("> Taken back: messages ").count(), 2, "{marks}");
    let found = from_markdown(&after).unwrap();
    assert_eq!(found.retractions.len(), 2);
    assert!(found.messages.iter().all(|found| found.untouched));
}

/// Promise: `deleted-for-good`
#[tokio::test]
async fn files_go_with_their_session_also_where_a_person_took_the_header_away() {
    let test = TestFiles::new();
    let session = test.session(&["One?", "two", "three", "four"]).await;
    test.files().update(&test.store, session).await.unwrap();
    let folder = test.sessions();
    let text = fs::read_to_string(folder.join(NAME)).unwrap();
    // Nothing is left of the first but what was said; the second begins where it was.
    fs::write(folder.join(NAME), "just what was said\n").unwrap();
    test.files().update(&test.store, session).await.unwrap();
    fs::write(folder.join("my copy.md"), &text).unwrap();
    let others = [
        ("session-memory-one-11-20261115T100300Z.md", "of another session"),
        ("session-memory-one-1-20261115T100301Z.md", "of another beginning"),
        ("notes.md", "of a person"),
    ];
    for (name, text) in others {
        fs::write(folder.join(name), text).unwrap();
    }
    let stored = test.store.session(session).await.unwrap().unwrap();
    assert_eq!(delete_session_files(&folder, &stored).unwrap(), 3, "{:?}", test.listed());
    let left: Vec<String> =
        test.listed().iter().map(|file| file.split(" ").next().unwrap().to_owned()).collect();
    let mut expected: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
    expected.sort_unstable();
    assert_eq!(left, expected);
    // A name counts for nothing where the header says whose it is.
    fs::write(folder.join("session-memory-one-2-20261115T100300Z.md"), &text).unwrap();
    let other = test.session(&["Six?", "seven", "eight", "nine"]).await;
    let other = test.store.session(other).await.unwrap().unwrap();
    assert_eq!(delete_session_files(&folder, &other).unwrap(), 0);
}
