//! The door of the crate: a database opened once, and the two ways into it.
//! What can be asked for stands with each concern (`sessions`, `turns`, …).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use recto_fs::{blocking, create_private_folder};

use crate::commit::{PackedCommit, TurnCommit};
use crate::documents::{self, DocumentCache, LastDocument, PackedRequest};
use crate::error::{DbError, StoreError, StoreResult, cannot_open};
use crate::ids::{RequestId, SessionId};
use crate::owner::{OwnerFiles, OwnerId, OwnerRegistry};
use crate::postgres::nodes::NodeLease;
use crate::postgres::url::PostgresUrl;
use crate::postgres::{self, PostgresServer};
use crate::readers::ReaderPool;
use crate::rows::DbResult;
use crate::source::ConnectionSource;
use crate::sql::{ConnectionMode, SqlConnection};
use crate::sqlite::checkpoint::Checkpointer;
use crate::sqlite::files::DatabaseAccess;
use crate::sqlite::{SqliteConnection, files, schema};
use crate::writable::WriteHealth;
use crate::writer::StoreWriter;

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// Commits with more bytes than this are packed on a blocking thread.
const LARGE: usize = 256 << 10;

/// Where the store is, and how patient it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreOptions {
    /// Where the store is.
    pub location: StoreLocation,
    /// How long to wait for another process that is writing, or for a server that does not
    /// answer.
    pub busy_timeout: Duration,
    /// On a server: how long a process counts as alive without a word from it. Then others go on with
    /// what it had begun. The kernel tells at once when one that uses the same file has ended.
    pub lease: Duration,
}

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// A database of SQLite. Its folder is made if need be; the files beside it are the
    /// store's, too.
    File(PathBuf),
    /// A database of PostgreSQL.
    Server {
        /// The address of the database.
        url: PostgresUrl,
        /// A folder of this machine, by which people know one process that uses it from another.
        folder: PathBuf,
    },
}

impl StoreOptions {
    /// Long enough for a machine that is busy, and short enough for who waits for a reply.
    pub const LEASE: Duration = Duration::from_secs(15);

    /// The database at `path`, and patience for other processes.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        StoreOptions::at(StoreLocation::File(path.into()))
    }

    /// The database on a server, with a folder of this machine for what is not in it.
    pub fn on_server(url: PostgresUrl, folder: impl Into<PathBuf>) -> Self {
        StoreOptions::at(StoreLocation::Server { url, folder: folder.into() })
    }

    fn at(location: StoreLocation) -> Self {
        StoreOptions { location, busy_timeout: PATIENCE, lease: StoreOptions::LEASE }
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
    _checkpointer: Option<Checkpointer>,
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
        match &options.location {
            StoreLocation::File(path) => {
                open_file(path, options.busy_timeout).map_err(|error| match error {
                    // SQLite only says that it can't make its files.
                    StoreError::CannotOpen { .. }
                        if path.is_file() && !files::is_writable(path) =>
                    {
                        StoreError::ReadOnly { path: path.clone() }
                    }
                    error => error,
                })
            }
            StoreLocation::Server { url, folder } => {
                let server = PostgresServer::new(url.clone(), options.busy_timeout, options.lease);
                open_on_server(Arc::new(server), folder)
            }
        }
    }

    /// Opens a store to be read that can't be written, as on a disk that can only be read: nothing
    /// is made, migrated or taken over. What is written to it all the same fails. A database on a
    /// server is opened as always.
    pub fn open_to_read(options: &StoreOptions) -> StoreResult<Self> {
        match &options.location {
            StoreLocation::File(path) => open_file_to_read(path, options.busy_timeout),
            StoreLocation::Server { .. } => Store::open(options),
        }
    }

    /// Whether the database is on a server, and no file of this machine.
    pub fn is_on_server(&self) -> bool {
        matches!(*self.source(), ConnectionSource::Postgres(_))
    }

    /// Whether it was opened to be read alone.
    pub fn is_read_only(&self) -> bool {
        let source = self.source();
        matches!(*source, ConnectionSource::Sqlite { access, .. } if access != DatabaseAccess::Writable)
    }

    /// The database, as errors name it.
    pub(crate) fn path(&self) -> &Path {
        self.0.readers.source().place()
    }

    /// Where more connections come from.
    pub(crate) fn source(&self) -> Arc<ConnectionSource> {
        self.0.readers.source().clone()
    }

    /// How the last write ended.
    pub(crate) fn write_health(&self) -> &WriteHealth {
        self.0.writer.health()
    }

    pub(crate) fn owners(&self) -> Arc<OwnerRegistry> {
        self.0.owners.clone()
    }

    /// Reads as of one instant, without waiting for anybody who writes.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SqlConnection) -> DbResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        ReaderPool::read(&self.0.readers, work).await
    }

    /// Writes in a transaction. The work may be done more than once, as long as
    /// nothing of it is committed.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&SqlConnection) -> DbResult<T> + Send + 'static,
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
        W: Fn(&SqlConnection, &PackedCommit) -> DbResult<(T, Option<RequestId>)>,
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
        W: Fn(&SqlConnection, &PackedCommit) -> DbResult<(T, Option<RequestId>)>,
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

fn open_file(path: &Path, busy: Duration) -> StoreResult<Store> {
    let folder = path.parent().unwrap_or(Path::new(""));
    create_private_folder(folder).map_err(|error| cannot_open(folder, &error))?;
    files::private_database(path).map_err(|error| cannot_open(path, &error))?;
    let source =
        ConnectionSource::Sqlite { path: path.to_owned(), access: DatabaseAccess::Writable, busy };
    let open = || {
        let connect = || schema::connect(path, ConnectionMode::Writing, busy);
        let writing = connect()?;
        schema::migrate(&writing, path, busy)?;
        let writing = SqlConnection::Sqlite(SqliteConnection::new(writing));
        Ok((writing, connect()?, source.connect(ConnectionMode::Reading)?))
    };
    let (writing, checkpointing, reading) = open().map_err(|error: DbError| error.at_path(path))?;
    let (source, owners) = (Arc::new(source), join_owners(folder)?);
    let checkpointer = Checkpointer::start(checkpointing);
    Ok(Store(Arc::new(OpenStore {
        writer: StoreWriter::start(writing, source.clone(), checkpointer.signal()),
        readers: Arc::new(ReaderPool::new(source, reading)),
        _checkpointer: Some(checkpointer),
        last_documents: Mutex::default(),
        owners,
    })))
}

fn open_file_to_read(path: &Path, busy: Duration) -> StoreResult<Store> {
    let access = DatabaseAccess::to_read(path);
    let source = ConnectionSource::Sqlite { path: path.to_owned(), access, busy };
    let connect = || {
        let db = source.connect(ConnectionMode::Reading)?;
        if let SqlConnection::Sqlite(db) = &db {
            schema::must_be_present(db.raw(), path)?;
        }
        Ok(db)
    };
    let connect = || connect().map_err(|error: DbError| error.at_path(path));
    let connected = connect().and_then(|reading| Ok((reading, connect()?)));
    let (reading, writing) = connected.map_err(|error| match (error, access) {
        (StoreError::CannotOpen { path, .. }, DatabaseAccess::ReadableWithLog) => {
            let why = "what was last written stands in its log, which can't be read by itself";
            StoreError::NotReadable { path, why }
        }
        (error, _) => error,
    })?;
    let (source, folder) = (Arc::new(source), path.parent().unwrap_or(Path::new("")));
    Ok(Store(Arc::new(OpenStore {
        writer: StoreWriter::start(writing, source.clone(), Arc::default()),
        readers: Arc::new(ReaderPool::new(source, reading)),
        _checkpointer: None,
        last_documents: Mutex::default(),
        owners: Arc::new(OwnerRegistry::Files(OwnerFiles::observe(folder.join("owners")))),
    })))
}

fn open_on_server(server: Arc<PostgresServer>, folder: &Path) -> StoreResult<Store> {
    create_private_folder(folder).map_err(|error| cannot_open(folder, &error))?;
    let open = || {
        let writing = server.connect(ConnectionMode::Writing)?;
        postgres::schema::migrate(&writing, &server)?;
        let renewing = server.connect(ConnectionMode::Writing)?;
        server.hints().try_out(&renewing);
        let lease = NodeLease::start(renewing, server.clone(), OwnerId::random(), folder)?;
        Ok((writing, server.connect(ConnectionMode::Reading)?, lease))
    };
    // The client waits for its server, which it can't on a thread that runs tasks.
    let opened = thread::scope(|scope| scope.spawn(open).join());
    let opened = opened.unwrap_or_else(|_| {
        Err(StoreError::Failed { what: "opening the store panicked".into() }.into())
    });
    let (writing, reading, lease) =
        opened.map_err(|error: DbError| error.at_path(server.place()))?;
    let source = Arc::new(ConnectionSource::Postgres(server));
    let writing = SqlConnection::Postgres(Box::new(writing));
    let reading = SqlConnection::Postgres(Box::new(reading));
    Ok(Store(Arc::new(OpenStore {
        writer: StoreWriter::start(writing, source.clone(), Arc::default()),
        readers: Arc::new(ReaderPool::new(source, reading)),
        _checkpointer: None,
        last_documents: Mutex::default(),
        owners: Arc::new(OwnerRegistry::Leases(lease)),
    })))
}

fn join_owners(folder: &Path) -> StoreResult<Arc<OwnerRegistry>> {
    let folder = folder.join("owners");
    let joined = OwnerFiles::join(folder.clone()).map(OwnerRegistry::Files);
    joined.map(Arc::new).map_err(|error| cannot_open(&folder, &error))
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
