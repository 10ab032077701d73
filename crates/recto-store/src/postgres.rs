//! PostgreSQL: a server that keeps the store for any number of processes, on any machines.
//!
//! A connection is used by one thread at a time, which waits for its answers. Statements are
//! prepared once for each connection. Who writes has the row of `recto_store` locked from the
//! first statement to the commit, so that there is one writer at a time, as with a file: what an
//! operation has read stays true until it is committed, and numbers are given in the order in
//! which they are committed. Which processes live, and so whose turns may be taken over, is told by
//! leases (`nodes`).
//!
//! Only plain SQL is spoken, so that other servers of this protocol can stand there.

pub(crate) mod dialect;
pub(crate) mod hints;
pub(crate) mod nodes;
pub(crate) mod schema;
mod tls;
pub(crate) mod url;
mod value;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use postgres::{Client, NoTls, Row, Statement};

use crate::error::{DbError, StoreError};
use crate::rows::DbResult;
use crate::source::Pauses;
use crate::sql::{ConnectionMode, SqlParam, SqlRow, SqlValue};
use hints::ChangeHints;
use tls::TlsConnector;
use url::PostgresUrl;

/// A server that says nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(15);

/// Nobody is at rest in the middle of a transaction for so long but who is stopped. It is shorter
/// than others wait, so that none of them fails for it, and than a lease, so that what a stopped node
/// has locked is free before it is missed.
const LONGEST_REST: Duration = Duration::from_secs(4);
const SHORTEST_REST: Duration = Duration::from_millis(500);

/// The database on a server, and how it is used.
#[derive(Clone)]
pub(crate) struct PostgresServer {
    url: PostgresUrl,
    /// The URL as errors name it, without a password.
    place: PathBuf,
    /// How long to wait for a server that does not answer, or for somebody else who writes.
    patience: Duration,
    /// How long a node counts as alive without a word from it.
    lease: Duration,
    hints: Arc<ChangeHints>,
    /// What encrypts connections, where they are to be; made with the first.
    tls: OnceLock<Option<TlsConnector>>,
}

impl std::fmt::Debug for PostgresServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresServer").field("url", &self.url).finish_non_exhaustive()
    }
}

impl PostgresServer {
    pub(crate) fn new(url: PostgresUrl, patience: Duration, lease: Duration) -> Self {
        let place = PathBuf::from(url.to_string());
        PostgresServer { url, place, patience, lease, hints: Arc::default(), tls: OnceLock::new() }
    }

    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    pub(crate) fn lease(&self) -> Duration {
        self.lease
    }

    pub(crate) fn hints(&self) -> &ChangeHints {
        &self.hints
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// How long a connection may rest in the middle of a transaction.
    fn rest(&self) -> Duration {
        (self.lease / 4).clamp(SHORTEST_REST, LONGEST_REST)
    }

    /// Connects, and waits for a server that is just starting.
    pub(crate) fn connect(&self, mode: ConnectionMode) -> DbResult<PostgresConnection> {
        let mut pauses = Pauses::within(self.patience);
        loop {
            match self.try_connect(mode) {
                Err(error) if error.is_transient() && pauses.wait() => {}
                connected => return connected,
            }
        }
    }

    /// What encrypts connections, where they are to be.
    fn tls(&self) -> DbResult<Option<&TlsConnector>> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls.as_ref());
        }
        let made = tls::connector(self.url.tls(), &self.url.to_string())?;
        Ok(self.tls.get_or_init(|| made).as_ref())
    }

    /// Why no encrypted connection was made.
    fn tls_problem(&self, error: postgres::Error, tls: &TlsConnector) -> DbError {
        // Whom nobody could reach, and who answered with a code, tell their own reasons.
        let is_io = error.source().is_some_and(|cause| cause.is::<io::Error>());
        let is_refused = !tls.is_begun() && !is_io && !error.is_closed() && error.code().is_none();
        match error.source() {
            Some(cause) if is_refused => {
                let why = cause.to_string();
                StoreError::Untrusted { url: self.url.to_string(), why }.into()
            }
            _ => error.into(),
        }
    }

    fn try_connect(&self, mode: ConnectionMode) -> DbResult<PostgresConnection> {
        let mut config = self.url.config();
        config.tcp_user_timeout(SILENCE).notice_callback(|_| {});
        if config.get_application_name().is_none() {
            config.application_name("recto");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(self.patience);
        }
        let mut client = match self.tls()? {
            Some(tls) => {
                let tls = tls.for_connection();
                config.connect(tls.clone()).map_err(|error| self.tls_problem(error, &tls))?
            }
            None => config.connect(NoTls)?,
        };
        if mode == ConnectionMode::Writing {
            // Who is stopped in the middle of writing must not hold up others for good.
            let (wait, idle) = (self.patience.as_millis().max(1), self.rest().as_millis());
            client.batch_execute(&format!(
                "SET lock_timeout = {wait}; SET idle_in_transaction_session_timeout = {idle}"
            ))?;
        }
        Ok(PostgresConnection {
            client: RefCell::new(ClientCell(Some(client))),
            statements: RefCell::default(),
            is_in_transaction: Cell::new(false),
            hints: self.hints.clone(),
        })
    }
}

/// A connection to a server.
pub(crate) struct PostgresConnection {
    client: RefCell<ClientCell>,
    /// By the SQL of the operations.
    statements: RefCell<HashMap<Arc<str>, Statement>>,
    is_in_transaction: Cell<bool>,
    hints: Arc<ChangeHints>,
}

/// How a statement is to be prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatementKind {
    Plain,
    /// It adds a row, and is to give the number of it.
    Insert,
}

impl PostgresConnection {
    pub(crate) fn execute(&self, sql: &str, values: &[&dyn SqlParam]) -> DbResult<usize> {
        let statement = self.prepare(sql, StatementKind::Plain)?;
        let values: Vec<SqlValue<'_>> = values.iter().map(|value| value.to_value()).collect();
        let changed = self.client.borrow_mut().get()?.execute(&statement, &value::lent(&values));
        let changed = changed.inspect_err(|error| self.note(error))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    pub(crate) fn insert(&self, sql: &str, values: &[&dyn SqlParam]) -> DbResult<Option<i64>> {
        let rows = self.query(sql, StatementKind::Insert, values)?;
        rows.first().map(|row| SqlRow::Postgres(row).get(0)).transpose()
    }

    pub(crate) fn first<T>(
        &self,
        sql: &str,
        values: &[&dyn SqlParam],
        read: impl FnOnce(&SqlRow<'_>) -> DbResult<T>,
    ) -> DbResult<Option<T>> {
        let rows = self.query(sql, StatementKind::Plain, values)?;
        rows.first().map(|row| read(&SqlRow::Postgres(row))).transpose()
    }

    pub(crate) fn all<T>(
        &self,
        sql: &str,
        values: &[&dyn SqlParam],
        mut read: impl FnMut(&SqlRow<'_>) -> DbResult<T>,
    ) -> DbResult<Vec<T>> {
        let rows = self.query(sql, StatementKind::Plain, values)?;
        rows.iter().map(|row| read(&SqlRow::Postgres(row))).collect()
    }

    /// Begins a transaction. One that writes waits for whoever writes.
    pub(crate) fn begin(&self, mode: ConnectionMode) -> DbResult<()> {
        match mode {
            ConnectionMode::Reading => {
                self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")?;
                self.is_in_transaction.set(true);
            }
            ConnectionMode::Writing => {
                self.batch("BEGIN ISOLATION LEVEL READ COMMITTED")?;
                self.is_in_transaction.set(true);
                if let Err(error) = nodes::lock_for_writing(self) {
                    let _ = self.end("ROLLBACK");
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Makes what was written last, and lets other nodes know.
    pub(crate) fn commit(&self) -> DbResult<()> {
        self.end(if self.hints.are_available() { hints::COMMIT_AND_NOTIFY } else { "COMMIT" })
    }

    /// Ends a transaction.
    pub(crate) fn end(&self, sql: &str) -> DbResult<()> {
        let ended = self.batch(sql);
        self.is_in_transaction.set(false);
        ended
    }

    /// Statements without values and rows.
    pub(crate) fn batch(&self, sql: &str) -> DbResult<()> {
        let done = self.client.borrow_mut().get()?.batch_execute(sql);
        done.inspect_err(|error| self.note(error))?;
        Ok(())
    }

    /// Whether somebody else can use it.
    pub(crate) fn is_idle(&self) -> bool {
        !self.is_in_transaction.get() && !self.is_closed()
    }

    /// Whether nothing can be had from it any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.borrow().0.as_ref().is_none_or(Client::is_closed)
    }

    fn query(
        &self,
        sql: &str,
        kind: StatementKind,
        values: &[&dyn SqlParam],
    ) -> DbResult<Vec<Row>> {
        let statement = self.prepare(sql, kind)?;
        let values: Vec<SqlValue<'_>> = values.iter().map(|value| value.to_value()).collect();
        let found = self.client.borrow_mut().get()?.query(&statement, &value::lent(&values));
        Ok(found.inspect_err(|error| self.note(error))?)
    }

    fn prepare(&self, sql: &str, kind: StatementKind) -> DbResult<Statement> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let mut translated = dialect::translate(sql);
        if kind == StatementKind::Insert {
            translated.push_str(" RETURNING id");
        }
        let statement = self.client.borrow_mut().get()?.prepare(&translated)?;
        self.statements.borrow_mut().insert(sql.into(), statement.clone());
        Ok(statement)
    }

    /// Lets go of what was prepared where a newer Recto has changed the tables meanwhile.
    fn note(&self, error: &postgres::Error) {
        if error.code() == Some(&postgres::error::SqlState::FEATURE_NOT_SUPPORTED) {
            self.statements.borrow_mut().clear();
        }
    }
}

/// A client, which must not be closed on a thread that serves others.
struct ClientCell(Option<Client>);

impl ClientCell {
    fn get(&mut self) -> DbResult<&mut Client> {
        self.0.as_mut().ok_or_else(|| StoreError::Closed.into())
    }
}

impl Drop for ClientCell {
    fn drop(&mut self) {
        let Some(client) = self.0.take() else { return };
        let close = move || drop(client);
        match tokio::runtime::Handle::try_current() {
            // It waits for the server, which no task may.
            Ok(_) => drop(thread::spawn(close)),
            Err(_) => close(),
        }
    }
}

impl From<postgres::Error> for DbError {
    fn from(error: postgres::Error) -> Self {
        DbError::Postgres(Box::new(error))
    }
}
