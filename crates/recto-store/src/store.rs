//! The door of the crate: a database opened once, and the two ways into it.
//! What can be asked for stands with each concern (`sessions`, `turns`, …).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use recto_fs::{blocking, create_private_folder};
use rusqlite::Connection;

use crate::checkpoint::Checkpointer;
use crate::commit::{PackedCommit, TurnCommit};
use crate::documents::{self, DocumentCache, LastDocument, PackedRequest};
use crate::error::{DbError, StoreError, StoreResult, cannot_open};
use crate::files;
use crate::ids::{RequestId, SessionId};
use crate::owner::OwnerRegistry;
use crate::readers::ReaderPool;
use crate::rows::DbResult;
use crate::schema::{self, ConnectionMode};
use crate::writable::WriteHealth;
use crate::writer::StoreWriter;

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// Commits with more bytes than this are packed on a blocking thread.
const LARGE: usize = 256 << 10;

/// Where the store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreOptions {
    /// The database. Its folder is made if need be; the files beside it are the
    /// store's, too.
    pub path: PathBuf,
    /// How long to wait for another process that is writing.
    pub busy_timeout: Duration,
}

impl StoreOptions {
    /// The database at `path`, and patience for other processes.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        StoreOptions { path: path.into(), busy_timeout: PATIENCE }
    }
}

/// An open store. Clones share it; it closes with the last of them.
#[derive(Clone)]
pub struct Store(Arc<OpenStore>);

/// The threads, connections and caches of a store.
struct OpenStore {
    // Dropped in this order: when this owner's lock is free, nothing of it is
    // at work any more.
    writer: StoreWriter,
    readers: Arc<ReaderPool>,
    _checkpointer: Checkpointer,
    /// A panic leaves nothing behind that could be wrong here: what is remembered was written.
    last_documents: Mutex<DocumentCache>,
    owners: Arc<OwnerRegistry>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store, making or migrating the database as needed. Blocks for
    /// some milliseconds.
    pub fn open(options: &StoreOptions) -> StoreResult<Self> {
        let StoreOptions { path, busy_timeout } = options;
        let folder = path.parent().unwrap_or(Path::new(""));
        create_private_folder(folder).map_err(|error| cannot_open(folder, &error))?;
        files::private_database(path).map_err(|error| cannot_open(path, &error))?;
        let connect = |mode| schema::connect(path, mode, *busy_timeout);
        let open = || {
            let writing = connect(ConnectionMode::Writing)?;
            schema::migrate(&writing, path, *busy_timeout)?;
            Ok((writing, connect(ConnectionMode::Writing)?, connect(ConnectionMode::Reading)?))
        };
        let (writing, checkpointing, reading) =
            open().map_err(|error: DbError| error.at_path(path))?;
        let owners_folder = folder.join("owners");
        let owners = OwnerRegistry::join(owners_folder.clone())
            .map_err(|error| cannot_open(&owners_folder, &error))?;
        let checkpointer = Checkpointer::start(checkpointing);
        Ok(Store(Arc::new(OpenStore {
            writer: StoreWriter::start(writing, path.clone(), checkpointer.signal()),
            readers: Arc::new(ReaderPool::new(path.clone(), *busy_timeout, reading)),
            _checkpointer: checkpointer,
            last_documents: Mutex::default(),
            owners: Arc::new(owners),
        })))
    }

    /// The database.
    pub(crate) fn path(&self) -> &Path {
        self.0.readers.path()
    }

    /// How the last write ended.
    pub(crate) fn write_health(&self) -> &WriteHealth {
        self.0.writer.health()
    }

    pub(crate) fn owners(&self) -> Arc<OwnerRegistry> {
        self.0.owners.clone()
    }

    /// Where the database is, and how long to wait for whoever writes.
    pub(crate) fn reading_options(&self) -> (PathBuf, Duration) {
        (self.0.readers.path().to_owned(), self.0.readers.busy())
    }

    /// Reads as of one instant, without waiting for anybody who writes.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> DbResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        ReaderPool::read(&self.0.readers, work).await
    }

    /// Writes in a transaction. The work may be done more than once, as long as
    /// nothing of it is committed.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> DbResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.0.writer.write(work).await
    }

    /// Writes a step of a turn by `work`, which also gives the request that it wrote.
    /// A commit with a request names its session.
    pub(crate) async fn commit<T, W>(
        &self,
        session: Option<SessionId>,
        commit: Arc<TurnCommit>,
        work: W,
    ) -> StoreResult<T>
    where
        T: Send + 'static,
        W: Fn(&Connection, &PackedCommit) -> DbResult<(T, Option<RequestId>)>,
        W: Send + Sync + 'static,
    {
        let work = Arc::new(work);
        let last = match session.filter(|_| commit.request.is_some()) {
            Some(session) => self.last_document(session).await?,
            None => None,
        };
        if let Some(written) = self.try_commit(session, &commit, last, &work).await? {
            return Ok(written);
        }
        // It was remembered, but is gone from the database.
        let written = self.try_commit(session, &commit, None, &work).await?;
        written.ok_or_else(|| StoreError::Failed { what: "a record lost the one before it".into() })
    }

    /// `None` when the last document is missing.
    async fn try_commit<T, W>(
        &self,
        session: Option<SessionId>,
        commit: &Arc<TurnCommit>,
        last: Option<Arc<LastDocument>>,
        work: &Arc<W>,
    ) -> StoreResult<Option<T>>
    where
        T: Send + 'static,
        W: Fn(&Connection, &PackedCommit) -> DbResult<(T, Option<RequestId>)>,
        W: Send + Sync + 'static,
    {
        let packed = Arc::new(pack(commit.clone(), last.clone()).await?);
        let (to_write, work) = (packed.clone(), work.clone());
        let written = self.write(move |db| match &to_write.request {
            Some(request) if request.is_orphaned(db)? => Ok(None),
            _ => work(db, &to_write).map(Some),
        });
        let written = written.await?;
        if let (Some(session), Some(request)) = (session, &packed.request) {
            let id = written.as_ref().and_then(|(_, id)| *id);
            self.remember(session, id.map(|id| request.written_as(id, last.as_deref())));
        }
        Ok(written.map(|(written, _)| written))
    }

    /// The document that the session's next request is kept against.
    async fn last_document(&self, session: SessionId) -> StoreResult<Option<Arc<LastDocument>>> {
        if let Some(document) = self.0.last_documents.lock().get(session) {
            return Ok(Some(document));
        }
        Ok(self.read(move |db| documents::last_document(db, session)).await?.map(Arc::new))
    }

    /// Lets go of the last document of a session that is gone.
    pub(crate) fn forget_document(&self, session: SessionId) {
        self.remember(session, None);
    }

    fn remember(&self, session: SessionId, document: Option<LastDocument>) {
        let mut documents = self.0.last_documents.lock();
        match document {
            Some(document) => documents.insert(session, Arc::new(document)),
            None => documents.forget(session),
        }
    }
}

async fn pack(
    commit: Arc<TurnCommit>,
    last: Option<Arc<LastDocument>>,
) -> StoreResult<PackedCommit> {
    let is_large = commit.size() > LARGE;
    let pack = move || {
        let request = commit.request.as_ref();
        let request = request.map(|request| PackedRequest::new(request, last.as_deref()));
        PackedCommit::new(&commit, request.transpose()?)
    };
    if is_large { blocking(pack).await } else { pack() }
}
