//! What can be had of a database that is damaged.

use std::fs;
use std::path::{Path, PathBuf};

use recto_store::{
    SalvageReport, SessionFilter, Store, StoreError, StoreOptions, check_store, salvage_store,
};

use crate::support::{StoreBench, exchange, request, sent, talk};

/// The bytes of a page of the database.
const PAGE: usize = 4_096;

/// Sessions with messages and records, and the bytes of their database.
async fn written() -> (StoreBench, Vec<u8>, Vec<Vec<(u64, String)>>) {
    written_with(12).await
}

/// The same with so many exchanges in each session.
async fn written_with(exchanges: u64) -> (StoreBench, Vec<u8>, Vec<Vec<(u64, String)>>) {
    let bench = StoreBench::in_file();
    let mut said = Vec::new();
    for name in ["one", "two", "three"] {
        let session = bench.session(name).await;
        for number in 0..exchanges {
            let text = talk(number * 7 + name.len() as u64, 900);
            exchange(&bench.store, &session, number * 2 + 1, [&text, "so it is"]).await;
        }
        sent(&bench.store, &session, request(1, &[&talk(3, 2_000)])).await;
        said.push(crate::support::transcript(&bench.store, &session).await);
    }
    said.sort();
    let _ = bench.database().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    let bytes = fs::read(bench.path()).unwrap();
    (bench, bytes, said)
}

/// The database with pages overwritten, in a file of its own.
fn damaged(folder: &Path, bytes: &[u8], pages: &[usize]) -> PathBuf {
    let path = folder.join("recto.db");
    let mut bytes = bytes.to_vec();
    for page in pages {
        bytes[page * PAGE..(page + 1) * PAGE].fill(0xaa);
    }
    fs::write(&path, bytes).unwrap();
    path
}

/// All messages that a store has, session by session.
async fn messages(path: &Path) -> Vec<Vec<(u64, String)>> {
    let store = Store::open(&StoreOptions::new(path)).unwrap();
    let mut all = Vec::new();
    for summary in store.sessions(SessionFilter::All).await.unwrap() {
        all.push(crate::support::transcript(&store, &summary.session).await);
    }
    all.sort();
    all
}

fn copied(report: &SalvageReport, table: &str) -> u64 {
    report.tables.iter().find(|found| found.name == table).map_or(0, |found| found.copied)
}

#[tokio::test]
async fn a_whole_store_has_no_problem_and_is_copied_whole() {
    let (bench, bytes, said) = written().await;
    assert_eq!(check_store(&bench.path()), Ok(Vec::new()));
    assert_eq!(check_store(Path::new("/no/such/recto.db")), Ok(Vec::new()));
    let folder = tempfile::tempdir().unwrap();
    let path = damaged(folder.path(), &bytes, &[]);
    let to = folder.path().join("new.db");
    let report = salvage_store(&path, &to).unwrap();
    assert!(report.tables.iter().all(|table| !table.has_losses()), "{report:?}");
    assert_eq!((copied(&report, "sessions"), copied(&report, "messages")), (3, 72));
    assert_eq!(messages(&to).await, said);
    assert!(matches!(salvage_store(&path, &to), Err(StoreError::CannotOpen { .. })));
    assert_eq!(fs::read(&path).unwrap(), bytes, "it is only read");
}

/// Whichever page is lost, the copy is a store, nothing in it is made up, and what is not on
/// that page is there.
#[tokio::test]
async fn one_bad_page_takes_little_with_it() {
    let (_bench, bytes, said) = written().await;
    let said: Vec<(u64, String)> = said.concat();
    let (mut found, mut fewest, mut unreadable) = (0, usize::MAX, 0);
    for page in 1..bytes.len() / PAGE {
        let folder = tempfile::tempdir().unwrap();
        let path = damaged(folder.path(), &bytes, &[page]);
        let problems = check_store(&path).unwrap();
        found += usize::from(!problems.is_empty());
        let to = folder.path().join("new.db");
        // The list of tables leads to all of them.
        let report = match salvage_store(&path, &to) {
            Err(StoreError::Damaged { .. }) => {
                assert!(!to.exists(), "page {page}");
                unreadable += 1;
                continue;
            }
            report => report.unwrap(),
        };
        assert_eq!(check_store(&to), Ok(Vec::new()), "page {page}");
        let kept: Vec<(u64, String)> = messages(&to).await.concat();
        assert!(kept.iter().all(|message| said.contains(message)), "page {page}: {report:?}");
        if kept.len() < said.len() {
            assert!(
                report.tables.iter().any(|table| table.has_losses()),
                "page {page}: {report:?}"
            );
        }
        // The root of a table's tree leads to all of it.
        if !kept.is_empty() {
            fewest = fewest.min(kept.len());
        }
    }
    assert!(found > bytes.len() / PAGE / 2, "only {found} pages were missed");
    assert!(unreadable <= 3, "nothing is left without any of {unreadable} pages");
    assert!(fewest * 10 > said.len() * 8, "of {} messages {fewest} were left", said.len());
}

/// Messages whose session can't be read are worth more than its name.
#[tokio::test]
async fn messages_of_a_lost_session_are_kept() {
    let (bench, _, said) = written().await;
    let database = bench.database();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    database.execute("DELETE FROM sessions WHERE id = 2", []).unwrap();
    assert!(!check_store(&bench.path()).unwrap().is_empty());
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("new.db");
    salvage_store(&bench.path(), &to).unwrap();
    assert_eq!(messages(&to).await, said);
}

#[tokio::test]
async fn what_is_no_database_of_ours_is_told_and_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("recto.db"), folder.path().join("new.db"));
    fs::write(&path, "# Notes\n".repeat(1_000)).unwrap();
    assert!(matches!(check_store(&path), Err(StoreError::NotADatabase { .. })));
    assert!(matches!(salvage_store(&path, &to), Err(StoreError::NotADatabase { .. })));
    fs::remove_file(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    assert!(matches!(salvage_store(&path, &to), Err(StoreError::Foreign { .. })));
    assert!(!to.exists());
}

/// What leads to everything else can be made anew from what it leads to.
#[tokio::test]
async fn a_broken_first_page_loses_nothing() {
    let (_bench, bytes, said) = written().await;
    for (what, broken) in [("header", 0..100), ("magic", 0..16), ("page", 0..PAGE)] {
        for byte in [0x00, 0xaa] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("recto.db");
            let mut bytes = bytes.clone();
            bytes[broken.clone()].fill(byte);
            fs::write(&path, &bytes).unwrap();
            let what = format!("{what} of {byte:#x}");
            assert!(!check_store(&path).unwrap().is_empty(), "{what}");
            let to = folder.path().join("new.db");
            let report = salvage_store(&path, &to).unwrap();
            assert!(report.tables.iter().all(|table| !table.has_losses()), "{what}: {report:?}");
            assert_eq!(check_store(&to), Ok(Vec::new()), "{what}");
            assert_eq!(messages(&to).await, said, "{what}");
            assert_eq!(fs::read(&path).unwrap(), bytes, "{what}: it is only read");
            let left = fs::read_dir(folder.path()).unwrap().flatten();
            let left: Vec<_> = left.map(|file| file.file_name()).collect();
            assert!(left.iter().all(|name| !name.to_string_lossy().contains("pages")), "{left:?}");
        }
    }
}

/// What was not yet worked into the database is there as well.
#[tokio::test]
async fn with_a_broken_first_page_the_last_messages_are_kept() {
    let (bench, _, _) = written().await;
    let session = bench.session("four").await;
    exchange(&bench.store, &session, 1, ["the very last", "so it is"]).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recto.db");
    let beside = |path: &Path| path.with_file_name("recto.db-wal");
    fs::copy(beside(&bench.path()), beside(&path)).unwrap();
    let mut bytes = fs::read(bench.path()).unwrap();
    bytes[..PAGE].fill(0xaa);
    fs::write(&path, bytes).unwrap();
    let to = folder.path().join("new.db");
    salvage_store(&path, &to).unwrap();
    let kept = messages(&to).await.concat();
    assert!(kept.iter().any(|(_, text)| text.contains("the very last")), "{}", kept.len());
}

/// However much of a file is gone, the copy is a store, nothing in it is made up, and what was
/// lost is told.
#[tokio::test]
async fn what_is_left_of_a_cut_file_is_kept() {
    // Enough that what the tables are made of is a small part of it.
    let (_bench, bytes, said) = written_with(100).await;
    let said: Vec<(u64, String)> = said.concat();
    let mut kept_of = Vec::new();
    for sixteenths in (4..16).rev() {
        for more in [0, 1, PAGE / 2] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("recto.db");
            let length = bytes.len() / PAGE * sixteenths / 16 * PAGE + more;
            fs::write(&path, &bytes[..length]).unwrap();
            assert!(!check_store(&path).unwrap().is_empty(), "{length} bytes");
            let to = folder.path().join("new.db");
            let report = match salvage_store(&path, &to) {
                Err(StoreError::Damaged { .. }) => continue,
                report => report.unwrap(),
            };
            assert_eq!(check_store(&to), Ok(Vec::new()), "{length} bytes");
            let kept: Vec<(u64, String)> = messages(&to).await.concat();
            assert!(kept.iter().all(|message| said.contains(message)), "{length} bytes");
            let has_losses = report.tables.iter().any(|table| table.has_losses());
            assert!(has_losses || kept.len() == said.len(), "{length} bytes: {report:?}");
            kept_of.push(kept.len());
        }
    }
    assert!(kept_of.iter().filter(|kept| **kept > 0).count() > 12, "{kept_of:?}");
}

/// A message whose bytes are others is as good as lost, and keeps no other from being read.
#[tokio::test]
async fn a_message_that_is_not_what_was_written_is_left_out() {
    let (bench, _, said) = written().await;
    let sql = "UPDATE messages SET body = zeroblob(length(body)) WHERE position IN (5, 9)";
    assert_eq!(bench.database().execute(sql, []).unwrap(), 2);
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("new.db");
    let report = salvage_store(&bench.path(), &to).unwrap();
    let table = report.tables.iter().find(|table| table.name == "messages").unwrap();
    assert_eq!((table.copied, table.unreadable), (70, 2), "{table:?}");
    let (said, kept) = (said.concat(), messages(&to).await.concat());
    assert_eq!(kept.len() + 2, said.len());
    assert!(kept.iter().all(|message| said.contains(message)));
}

/// Between two bad pages no scan gets on from either end: what is there is looked for row by row.
#[tokio::test]
async fn what_lies_between_two_bad_pages_is_kept() {
    let (bench, bytes, said) = written().await;
    let sql = "SELECT pageno - 1 FROM dbstat
         WHERE name = 'messages' AND pagetype = 'leaf' ORDER BY path";
    let database = bench.database();
    let mut statement = database.prepare(sql).unwrap();
    let leaves = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
    let leaves: Vec<usize> = leaves.map(|page| page.unwrap().try_into().unwrap()).collect();
    assert!(leaves.len() >= 6, "the table has {} pages", leaves.len());
    let folder = tempfile::tempdir().unwrap();
    let path = damaged(folder.path(), &bytes, &[leaves[1], leaves[leaves.len() - 2]]);
    let to = folder.path().join("new.db");
    let report = salvage_store(&path, &to).unwrap();
    let (said, kept) = (said.concat(), messages(&to).await.concat());
    assert!(kept.iter().all(|message| said.contains(message)));
    let lost = said.len() - kept.len();
    // Two of the pages, and not what is between them.
    let most = 3 * said.len() / leaves.len();
    assert!((1..=most).contains(&lost), "{lost} of {} are lost", said.len());
    let table = report.tables.iter().find(|table| table.name == "messages").unwrap();
    assert_eq!((table.copied, table.is_cut), (kept.len() as u64, false), "{table:?}");
    assert!(table.unreadable >= lost as u64, "{table:?}");
}

/// What the new database does not take is told, too.
#[tokio::test]
async fn rows_that_break_a_rule_are_counted() {
    let (bench, _, said) = written().await;
    let database = bench.database();
    database.pragma_update(None, "writable_schema", true).unwrap();
    let sql = "UPDATE sqlite_schema SET sql = replace(sql, 'agent    TEXT NOT NULL', 'agent TEXT')
         WHERE name = 'sessions'";
    assert_eq!(database.execute(sql, []).unwrap(), 1);
    drop(database);
    let sql = "UPDATE sessions SET agent = NULL WHERE id = 2";
    assert_eq!(bench.database().execute(sql, []).unwrap(), 1);
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("new.db");
    let report = salvage_store(&bench.path(), &to).unwrap();
    let table = report.tables.iter().find(|table| table.name == "sessions").unwrap();
    assert_eq!((table.copied, table.conflicting, table.unreadable), (2, 1, 0), "{table:?}");
    assert!(table.has_losses());
    assert_eq!(messages(&to).await, said);
}

/// What belongs to what is lost goes at once, however many rows that are.
#[tokio::test]
async fn all_that_belongs_to_what_is_lost_is_left_out_and_counted() {
    let (bench, _, said) = written().await;
    let database = bench.database();
    let requests = bench.number("SELECT count(*) FROM requests");
    assert!(requests >= 3);
    database.pragma_update(None, "foreign_keys", false).unwrap();
    database.execute("DELETE FROM turns", []).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("new.db");
    let report = salvage_store(&bench.path(), &to).unwrap();
    let table = report.tables.iter().find(|table| table.name == "requests").unwrap();
    assert_eq!((table.copied, table.left_out), (0, requests as u64), "{table:?}");
    assert_eq!(messages(&to).await, said, "messages do without their turns");
}
