//! Files that are not what they should be, and files that nobody else may read.

use std::fs;
use std::path::Path;

use recto_context::{Carry, Message};
use recto_store::{
    SessionCursor, SessionFilter, Store, StoreError, StoreOptions, TurnCommit, TurnEnding, TurnId,
    TurnOutcome,
};

use crate::support::{
    StoreBench, at, begin, exchange, id, new_message, new_turn, reply, request, talk, transcript,
};

fn open(path: &Path) -> Result<Store, StoreError> {
    Store::open(&StoreOptions::new(path))
}

#[test]
fn a_file_of_another_kind_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recto.db");
    for content in ["# Notes\n", &"not a database ".repeat(1_000)] {
        fs::write(&path, content).unwrap();
        let error = open(&path).unwrap_err();
        assert_eq!(error, StoreError::NotADatabase { path: path.clone() });
        assert!(error.hint().is_some());
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
    // Nothing yet, as after a process was killed while it made the file.
    fs::write(&path, "").unwrap();
    open(&path).unwrap();
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recto.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    assert_eq!(open(&path).unwrap_err(), StoreError::Foreign { path });
    let tables = "SELECT count(*) FROM sqlite_schema";
    assert_eq!(database.query_row(tables, [], |row| row.get(0)), Ok(1));
}

#[test]
fn a_database_of_a_newer_version_is_left_alone() {
    let bench = StoreBench::in_file();
    bench.database().pragma_update(None, "user_version", 1_000).unwrap();
    let error = open(&bench.path()).unwrap_err();
    assert!(matches!(error, StoreError::Newer { version: 1_000, .. }), "{error}");
    assert_eq!(bench.number("SELECT user_version FROM pragma_user_version"), 1_000);
}

#[test]
fn a_place_that_can_t_be_opened_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let below_a_file = folder.path().join("file/recto.db");
    let error = open(&below_a_file).unwrap_err();
    assert!(matches!(error, StoreError::CannotOpen { .. }), "{error}");
    let a_folder = folder.path().join("folder.db");
    fs::create_dir(&a_folder).unwrap();
    let error = open(&a_folder).unwrap_err();
    assert!(matches!(error, StoreError::CannotOpen { .. }), "{error}");
}

#[tokio::test]
async fn damage_in_the_middle_is_reported_and_the_rest_can_be_read() {
    let bench = StoreBench::in_file();
    let first = bench.session("first").await;
    let second = bench.session("second").await;
    exchange(&bench.store, &first, 1, [&talk(1, 300_000), "kept"]).await;
    exchange(&bench.store, &second, 1, ["hello", "hi"]).await;
    let path = bench.path();
    // Closes the store, which moves everything into the database.
    let bench = bench.reopened();
    let page = bench.number("SELECT rootpage FROM sqlite_schema WHERE name = 'messages'");
    let store = bench.store.clone();
    let mut bytes = fs::read(&path).unwrap();
    let start = usize::try_from(page - 1).unwrap() * 4_096;
    bytes[start..start + 4_096].fill(0xee);
    fs::write(&path, bytes).unwrap();
    let error = store.messages(first.id, None).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.hint().is_some());
    assert_eq!(store.session(second.id).await, Ok(Some(second)));
}

#[tokio::test]
async fn an_open_turn_that_is_damaged_does_not_hide_the_others() {
    let bench = StoreBench::in_file();
    let mut turns: Vec<TurnId> = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let session = bench.session(name).await;
        turns.push(bench.store.accept(new_turn(&session, name)).await.unwrap().id);
    }
    let damage = |turn: TurnId, what: &str| {
        let sql = format!("UPDATE turns SET {what} WHERE id = {turn}");
        assert_eq!(bench.database().execute(&sql, []), Ok(1));
    };
    damage(turns[0], "inbound = x'28b52ffd00'");
    // Not UTF-8, and no status that there is.
    damage(turns[1], "actor = CAST(x'ff' AS TEXT)");
    damage(turns[3], "status = 'asleep'");
    let open = bench.store.open_turns().await.unwrap();
    assert_eq!(open.turns.iter().map(|turn| turn.id).collect::<Vec<_>>(), [turns[2]]);
    let (damaged, errors): (Vec<_>, Vec<_>) = open.damaged.into_iter().unzip();
    assert_eq!(damaged, [turns[0], turns[1], turns[3]]);
    let is_damaged = |error: &StoreError| matches!(error, StoreError::Damaged { .. });
    assert!(errors.iter().all(is_damaged), "{errors:?}");

    // One of a living process is left to it; once that is gone, it can be closed.
    let outcome = || TurnOutcome { ending: TurnEnding::Interrupted, detail: None, at: at(9) };
    let refused = bench.store.end_unread(turns[0], outcome()).await;
    assert!(matches!(refused, Err(StoreError::NotOurs { .. })), "{refused:?}");
    let bench = bench.reopened();
    bench.store.end_unread(turns[0], outcome()).await.unwrap();
    let left = bench.store.open_turns().await.unwrap();
    assert!(left.damaged.iter().all(|(turn, _)| *turn != turns[0]), "{left:?}");
    let again = bench.store.end_unread(turns[0], outcome()).await;
    assert!(matches!(again, Err(StoreError::NotFound(_))), "{again:?}");
    // Also one whose status is none.
    bench.store.end_unread(turns[3], outcome()).await.unwrap();
}

#[tokio::test]
async fn a_list_shows_sessions_whose_first_message_is_damaged_with_its_words() {
    let bench = StoreBench::in_file();
    let (first, second) = (bench.session("first").await, bench.session("second").await);
    exchange(&bench.store, &first, 1, ["hello", "hi"]).await;
    exchange(&bench.store, &second, 3, ["good day", "hi"]).await;
    let sql = "UPDATE messages SET body = x'28b52ffd00' WHERE id = 1";
    assert_eq!(bench.database().execute(sql, []), Ok(1));
    let list = bench.store.sessions(SessionFilter::All).await.unwrap();
    let drawn: Vec<_> = list
        .iter()
        .map(|summary| (summary.session.id, summary.messages, summary.opening.as_deref()))
        .collect();
    assert_eq!(drawn, [(second.id, 2, Some("good day")), (first.id, 2, Some("hello"))]);
}

#[tokio::test]
async fn a_session_goes_on_without_a_carry_that_is_damaged() {
    let bench = StoreBench::in_file();
    let session = bench.session("a").await;
    let turn = begin(&bench.store, &session, 1, "hello").await.unwrap().turn;
    let carry = Some(Carry { history_from: Some(id(2)), trims: 3, ..Carry::default() });
    bench.store.advance(turn, TurnCommit { carry, ..TurnCommit::default() }).await.unwrap();
    reply(&bench.store, turn, 2, "hi").await;
    assert_eq!(
        bench.store.load(session.id, SessionCursor::default()).await.unwrap().carry.trims,
        3
    );
    for damaged in ["'{\"trims\":'", "'[]'", "CAST(x'ff' AS TEXT)"] {
        let sql = format!("UPDATE sessions SET carry = {damaged}");
        assert_eq!(bench.database().execute(&sql, []), Ok(1));
        let state = bench.store.load(session.id, SessionCursor::default()).await.unwrap();
        assert_eq!((state.carry, state.messages.len()), (Carry::default(), 2));
    }
}

#[tokio::test]
async fn what_met_a_locked_database_can_be_written_again() {
    let bench = StoreBench::in_file();
    let (first, second) = (bench.session("first").await, bench.session("second").await);
    let busy_timeout = std::time::Duration::from_millis(1);
    let store = Store::open(&StoreOptions { busy_timeout, ..bench.options.clone() }).unwrap();
    let commit = TurnCommit {
        messages: vec![new_message(Message::user(1, "hello"))],
        request: Some(request(1, &["body"])),
        ..TurnCommit::default()
    };
    let begin = |session| store.begin(new_turn(session, "hello"), commit.clone());

    let other = bench.database();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = tokio::join!(begin(&first), begin(&second));
    let locked = StoreError::Locked { path: bench.path() };
    assert_eq!(refused, (Err(locked.clone()), Err(locked)));
    other.execute_batch("ROLLBACK").unwrap();

    // Nothing of it was written, and the same steps can be.
    let (first_turn, second_turn) = tokio::join!(begin(&first), begin(&second));
    for (session, begun) in [(&first, first_turn.unwrap()), (&second, second_turn.unwrap())] {
        assert_eq!(begun.number.0, 1);
        assert_eq!(transcript(&store, session).await, [(1, "hello".to_owned())]);
        assert_eq!(store.body(begun.request.unwrap()).await.unwrap(), b"body");
    }
}

#[cfg(unix)]
#[test]
fn a_database_without_the_right_to_write_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let bench = StoreBench::in_file();
    let path = bench.path();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    // Root may write everything.
    if fs::OpenOptions::new().write(true).open(&path).is_ok() {
        return;
    }
    assert_eq!(open(&path).unwrap_err(), StoreError::ReadOnly { path });
}

/// Promise: `secrets-for-owner-only`
#[cfg(unix)]
#[tokio::test]
async fn nobody_else_can_read_what_was_said() {
    use std::os::unix::fs::PermissionsExt;
    let bench = StoreBench::in_file();
    let session = bench.session("a").await;
    exchange(&bench.store, &session, 1, ["hello", "hi"]).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = bench.path().parent().unwrap().to_path_buf();
    assert_eq!((mode(&folder), mode(&folder.join("owners"))), (0o700, 0o700));
    let files: Vec<_> = ["recto.db", "recto.db-wal", "recto.db-shm"]
        .iter()
        .map(|name| mode(&folder.join(name)))
        .collect();
    assert_eq!(files, [0o600; 3]);
    for owner in fs::read_dir(folder.join("owners")).unwrap() {
        assert_eq!(mode(&owner.unwrap().path()), 0o600);
    }

    // A copy that others can read is closed to them when it is opened.
    let copy = folder.join("copy.db");
    fs::copy(bench.path(), &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o644)).unwrap();
    let store = open(&copy).unwrap();
    assert_eq!(mode(&copy), 0o600);
    drop(store);
}

#[test]
fn many_can_make_the_same_database_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/recto.db");
    std::thread::scope(|scope| {
        let opened: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&path))).collect();
        for store in opened {
            store.join().unwrap().unwrap();
        }
    });
}
