//! What happens to jobs that are written together.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tokio::task::JoinSet;

use rusqlite::Connection;

use super::*;
use crate::sqlite::files::DatabaseAccess;
use crate::sqlite::{SqliteConnection, files, schema};

/// Work that can be sent.
type WriterWork<T> = Box<dyn FnMut(&SqlConnection) -> DbResult<T> + Send>;

/// A writer on a database with one table of numbers.
struct WriterBench {
    writer: Arc<StoreWriter>,
    commits: Arc<AtomicUsize>,
    _folder: TempDir,
}

impl WriterBench {
    fn new() -> Self {
        WriterBench::with(|_| {})
    }

    fn with(set_up: impl FnOnce(&Connection)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        files::private_database(&path).unwrap();
        let mut db =
            schema::connect(&path, ConnectionMode::Writing, Duration::from_millis(50)).unwrap();
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
        db.execute_batch("CREATE TABLE numbers (number INTEGER PRIMARY KEY, filling BLOB)")
            .unwrap();
        set_up(&db);
        let commits = Arc::new(AtomicUsize::new(0));
        let counted = commits.clone();
        let count = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            false
        };
        db.commit_hook(Some(count)).unwrap();
        let db = SqlConnection::Sqlite(SqliteConnection::new(db));
        let source = ConnectionSource::Sqlite {
            path,
            access: DatabaseAccess::Writable,
            busy: Duration::from_millis(50),
        };
        let writer = Arc::new(StoreWriter::start(db, Arc::new(source), Arc::default()));
        WriterBench { writer, commits, _folder: folder }
    }

    /// Keeps the thread busy until the sender is dropped.
    async fn hold(&self) -> Sender<()> {
        let (go_on, wait) = channel();
        let (entered, enters) = oneshot::channel();
        let mut entered = Some(entered);
        let writer = self.writer.clone();
        tokio::spawn(async move {
            let hold = move |_: &SqlConnection| {
                entered.take().map(|entered| entered.send(()));
                let _: Result<(), _> = wait.recv();
                Ok(())
            };
            writer.write(hold).await
        });
        enters.await.unwrap();
        go_on
    }

    /// Sends jobs while the thread is held, so that they are there all at once.
    async fn at_once<T: Send + 'static>(&self, jobs: Vec<WriterWork<T>>) -> Vec<StoreResult<T>> {
        let held = self.hold().await;
        let mut answers = JoinSet::new();
        for (at, job) in jobs.into_iter().enumerate() {
            let writer = self.writer.clone();
            answers.spawn(async move { (at, writer.write(job).await) });
        }
        // Every task has sent its job once it has been polled.
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        drop(held);
        let mut answers = answers.join_all().await;
        answers.sort_by_key(|(at, _)| *at);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    async fn count(&self) -> i64 {
        let count = |db: &SqlConnection| db.only("SELECT count(*) FROM numbers", []);
        self.writer.write(count).await.unwrap()
    }
}

fn insert(number: i64, bytes: i64) -> WriterWork<()> {
    Box::new(move |db| {
        db.execute("INSERT INTO numbers VALUES (?1, zeroblob(?2))", [number, bytes])?;
        Ok(())
    })
}

#[tokio::test]
async fn what_waits_shares_a_commit() {
    let bench = WriterBench::new();
    let answers = bench.at_once((0..100).map(|number| insert(number, 1)).collect()).await;
    assert!(answers.iter().all(Result::is_ok));
    // One for the job that held the thread, one for all others.
    assert_eq!(bench.commits.load(Ordering::Relaxed), 2);
    assert_eq!(bench.count().await, 100);
}

#[tokio::test]
async fn a_job_that_fails_or_panics_leaves_the_others() {
    let bench = WriterBench::new();
    let fails = |db: &SqlConnection| {
        db.execute("INSERT INTO numbers VALUES (50, NULL)", [])?;
        Err(StoreError::NameTaken { name: "x".into() }.into())
    };
    let panics = |db: &SqlConnection| -> DbResult<()> {
        db.execute("INSERT INTO numbers VALUES (60, NULL)", [])?;
        panic!("on purpose")
    };
    let jobs: Vec<WriterWork<()>> =
        vec![insert(1, 1), Box::new(fails), insert(2, 1), Box::new(panics), insert(3, 1)];
    let answers = bench.at_once(jobs).await;
    assert_eq!(answers[1], Err(StoreError::NameTaken { name: "x".into() }));
    assert_eq!(answers[3], Err(StoreError::Failed { what: "a write panicked".into() }));
    assert!([0, 2, 4].iter().all(|at| answers[*at].is_ok()), "{answers:?}");
    assert_eq!(bench.count().await, 3);
}

#[tokio::test]
async fn a_full_disk_fails_what_does_not_fit_and_ends_with_its_cause() {
    let bench = WriterBench::with(|db| db.pragma_update(None, "max_page_count", 30).unwrap());
    let answers =
        bench.at_once(vec![insert(1, 1_000), insert(2, 1_000_000), insert(3, 1_000)]).await;
    assert!(matches!(answers[1], Err(StoreError::Full { .. })), "{answers:?}");
    assert!(answers[0].is_ok() && answers[2].is_ok(), "{answers:?}");
    bench.writer.write(insert(4, 1_000_000)).await.unwrap_err();
    assert!(matches!(bench.writer.health().error(), Some(StoreError::Full { .. })));
    let free = |db: &SqlConnection| {
        let SqlConnection::Sqlite(db) = db else { unreachable!() };
        Ok(db.raw().pragma_update(None, "max_page_count", 10_000)?)
    };
    bench.writer.write(free).await.unwrap();
    bench.writer.write(insert(2, 1_000_000)).await.unwrap();
    assert_eq!(bench.writer.health().error(), None);
    assert_eq!(bench.count().await, 3);
}

#[tokio::test]
async fn a_database_that_can_only_be_read_says_so() {
    let bench = WriterBench::with(|db| db.pragma_update(None, "query_only", true).unwrap());
    let answer = bench.writer.write(insert(1, 1)).await;
    assert!(matches!(answer, Err(StoreError::ReadOnly { .. })), "{answer:?}");
}

#[tokio::test]
async fn a_database_that_another_keeps_locked_says_so_and_can_be_used_afterwards() {
    let bench = WriterBench::new();
    let other = Connection::open(bench.writer.source.place()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = bench.writer.write(insert(1, 1)).await;
    assert!(matches!(answer, Err(StoreError::Locked { .. })), "{answer:?}");
    other.execute_batch("ROLLBACK").unwrap();
    bench.writer.write(insert(1, 1)).await.unwrap();
    assert_eq!(bench.count().await, 1);
}
