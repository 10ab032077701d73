//! What can go wrong, told apart by the codes of SQLite and PostgreSQL and never by their texts.
//!
//! Inside the crate work fails with a [`DbError`], which doesn't know where the
//! database is; at the door it becomes a [`StoreError`], which does.

use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};

use postgres::error::SqlState;
use recto_context::{MessageId, Remedy};
use rusqlite::ErrorCode;

use crate::approvals::ApprovalAnswer;
use crate::ids::{ApprovalId, PairingId, RequestId, RunId, ScheduleId, SessionId, TokenId, TurnId};
use crate::owner::TurnOwner;
use crate::turns::TurnStatus;

/// Why the store did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum StoreError {
    /// Another turn of the session comes first.
    #[error("turn {turn} of this session is not finished ({owner})")]
    Busy { turn: TurnId, owner: TurnOwner },
    /// The turn belongs to another process.
    #[error("turn {turn} belongs to another process ({owner})")]
    NotOurs { turn: TurnId, owner: TurnOwner },
    /// The turn is not at the point that the call needs.
    #[error("turn {turn} is {status}")]
    WrongStatus { turn: TurnId, status: TurnStatus },
    /// Another process has gone on with the turn since.
    #[error("turn {turn} was begun again, in another process perhaps")]
    BegunAgain { turn: TurnId },
    /// Another process does now what one at a time may do.
    #[error("another process has taken over `{name}`")]
    LostLease { name: String },
    /// A message's number does not lie above the last one of its session: some
    /// other writer was faster.
    #[error("message {} can't follow message {}", .message.0, .last.0)]
    OutOfOrder {
        /// The number that was refused.
        message: MessageId,
        /// The last number in the session, 0 if it is empty.
        last: MessageId,
    },
    /// The session is not as it was when it was read: something was said, or a
    /// summary came or went.
    #[error("session {session} has changed since it was read")]
    Changed { session: SessionId },
    /// A summary stands for the message, so it can't be taken back.
    #[error("message {} is part of a summary", .message.0)]
    Summarised { message: MessageId },
    /// What came back for the request is stored already.
    #[error("request {request} has its answer already")]
    Answered { request: RequestId },
    /// The question has its answer already.
    #[error("approval {approval} is settled already: {}", .answer.describe())]
    Decided { approval: ApprovalId, answer: ApprovalAnswer },
    /// The message was delivered before, and has begun this turn.
    #[error("the message has begun turn {turn} already")]
    Delivered { turn: TurnId },
    /// An open session has this name.
    #[error("an open session is named `{name}` already")]
    NameTaken { name: String },
    /// A token that is not revoked has this name.
    #[error("a token is named `{name}` already")]
    TokenNameTaken { name: String },
    /// Nobody who waits to be let in has this code.
    #[error("no request to be let in has the code `{code}`")]
    NoSuchCode { code: String },
    /// Somebody who is let in, was put out, or whose code has ended.
    #[error("pairing {pairing} does not wait to be let in")]
    NotWaiting { pairing: PairingId },
    /// Those in a chat were let in once and are not any more.
    #[error("those in `{channel}:{chat}` were put out")]
    PutOut { channel: String, chat: String },
    /// What is for the owner would be said to somebody else who is let in.
    #[error("those in `{channel}:{chat}` are not the owner")]
    NotOwner { channel: String, chat: String },
    /// Too many codes were tried that are none.
    #[error("too many wrong codes were tried")]
    TooManyGuesses,
    /// A schedule of the agent has this name.
    #[error("a schedule is named `{name}` already")]
    ScheduleNameTaken { name: String },
    /// A run of a schedule that another process has by now, or that is over.
    #[error("run {run} is not this process's any more")]
    RunNotOurs { run: RunId },
    /// There is no such row.
    #[error("there is no {0}")]
    NotFound(RowId),
    /// A later version of Recto has written the database.
    #[error("the database `{}` has version {version}, and this Recto knows {known}", .path.display())]
    Newer {
        path: PathBuf,
        version: i64,
        /// The last version that is known.
        known: i64,
    },
    /// The file holds something else.
    #[error("`{}` is not a database", .path.display())]
    NotADatabase { path: PathBuf },
    /// A database, but some other program's.
    #[error("the database `{}` is not Recto's", .path.display())]
    Foreign { path: PathBuf },
    /// What is stored is not what was written.
    #[error("the store is damaged: {what}")]
    Damaged { what: String },
    /// The database can be read only.
    #[error("the database `{}` can't be written", .path.display())]
    ReadOnly { path: PathBuf },
    /// The database can't be written, and can't be read without that.
    #[error("the database `{}` can't be written, and not be read without: {why}", .path.display())]
    NotReadable {
        path: PathBuf,
        /// What would have to be written.
        why: &'static str,
    },
    /// No room is left.
    #[error("no room is left for the database `{}`", .path.display())]
    Full { path: PathBuf },
    /// Another process held the database longer than we wait.
    #[error("another process keeps the database `{}` locked", .path.display())]
    Locked { path: PathBuf },
    /// A file or folder of the store can't be opened or made.
    #[error("cannot open `{}`: {why}", .path.display())]
    CannotOpen {
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// Reading or writing failed.
    #[error("input or output failed on `{}`: {why}", .path.display())]
    Io {
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The server of the database does not answer.
    #[error("cannot reach the database `{url}`: {why}")]
    Unreachable {
        /// The database, without its password.
        url: String,
        /// What the system said.
        why: String,
    },
    /// The server of the database does not let this user in.
    #[error("the database `{url}` refuses the user or the password")]
    LogInRefused { url: String },
    /// It can't be known whether the server is the one that was meant.
    #[error("the connection to the database `{url}` can't be trusted: {why}")]
    Untrusted { url: String, why: String },
    /// The server has no such database.
    #[error("there is no database `{url}`")]
    NoDatabase { url: String },
    /// Another process has the store open.
    #[error("another process uses the database `{}`", .path.display())]
    InUse { path: PathBuf },
    /// Something is kept there already.
    #[error("the database `{}` is not empty", .path.display())]
    NotEmpty { path: PathBuf },
    /// Something that should not happen, with its text for people.
    #[error("the store failed: {what}")]
    Failed { what: String },
    /// The store is closing.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// A short name that never changes, for records and programs.
    pub fn code(&self) -> &'static str {
        match self {
            StoreError::NotFound(row) => row.missing_code(),
            _ => self.into(),
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StoreError::Busy { .. } => Some("wait for its reply, or send `/stop`"),
            StoreError::NameTaken { .. } => {
                Some("choose another name, or give that session another one")
            }
            StoreError::TokenNameTaken { .. } => Some("choose another name, or revoke that one"),
            StoreError::NoSuchCode { .. } => {
                Some("codes end after an hour; whoever asked can ask for another")
            }
            StoreError::NotWaiting { .. } => {
                Some("the list of those who were let in or wait says who does")
            }
            StoreError::PutOut { .. } => Some("let them in again, or choose another place"),
            StoreError::NotOwner { .. } => {
                Some("choose another place, or try again once they have written there")
            }
            StoreError::TooManyGuesses => {
                Some("wait an hour, or let them in at the terminal by their number in the list")
            }
            StoreError::ScheduleNameTaken { .. } => {
                Some("choose another name, or remove that one first")
            }
            StoreError::Summarised { .. } => {
                Some("bring back the messages that the summary stands for first")
            }
            StoreError::Newer { .. } => Some("use the newer Recto that wrote it"),
            StoreError::Foreign { .. } => {
                Some("move the file away, or choose another home with `--home`")
            }
            StoreError::NotADatabase { .. } => Some(
                "move the file away, or choose another home with `--home`; if it was Recto's, \
                 what can still be read can be copied to a new one",
            ),
            StoreError::Damaged { .. } => {
                Some("restore it from a backup, or copy what can still be read to a new one")
            }
            StoreError::ReadOnly { .. } | StoreError::CannotOpen { .. } => Some(
                "check who owns the file and its folder, and that their file system can be written",
            ),
            StoreError::NotReadable { .. } => {
                Some("copy the whole folder to where it can be written, and look at that")
            }
            StoreError::Full { .. } => Some("free some space; nothing that was stored is lost"),
            StoreError::Io { .. } => {
                Some("look whether its disk has room and works; nothing that was stored is lost")
            }
            StoreError::Locked { .. } => Some("look for another program that has it open"),
            StoreError::Unreachable { .. } => {
                Some("look whether the server runs, and whether the URL in the config is right")
            }
            StoreError::LogInRefused { .. } => Some(
                "check the user in the URL, the variable that `store.password_env` names, and whether the server wants TLS (`sslmode` in the URL)",
            ),
            StoreError::Untrusted { .. } => Some(
                "name the file of the certificates that signed the server's with `sslrootcert` in the URL, and the host as its certificate does; a server without TLS takes `sslmode=disable` alone",
            ),
            StoreError::NoDatabase { .. } => {
                Some("make it with `createdb`, or check its name in the URL")
            }
            StoreError::InUse { .. } => Some("end every Recto that uses it first"),
            StoreError::NotEmpty { .. } => Some("copy to a new one"),
            _ => None,
        }
    }

    /// What Recto can do about it.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            StoreError::NameTaken { .. } => Some(Remedy::RenameSession),
            StoreError::Summarised { .. } => Some(Remedy::UndoSummary),
            StoreError::Damaged { .. } | StoreError::NotADatabase { .. } => {
                Some(Remedy::SalvageStore)
            }
            _ => None,
        }
    }
}

/// The result of a call of the store.
pub type StoreResult<T> = Result<T, StoreError>;

/// Something that is looked up by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowId {
    /// A session by its number.
    Session(SessionId),
    /// A turn by its number.
    Turn(TurnId),
    /// A request by its number.
    Request(RequestId),
    /// A question whether a tool may run.
    Approval(ApprovalId),
    /// A token by its number.
    Token(TokenId),
    /// Somebody who asked to be let in, or was.
    Pairing(PairingId),
    /// A schedule by its number.
    Schedule(ScheduleId),
}

impl RowId {
    /// The code of the error that it is not there.
    fn missing_code(self) -> &'static str {
        match self {
            RowId::Session(_) => "no_such_session",
            RowId::Turn(_) => "no_such_turn",
            RowId::Request(_) => "no_such_request",
            RowId::Approval(_) => "no_such_approval",
            RowId::Token(_) => "no_such_token",
            RowId::Pairing(_) => "no_such_pairing",
            RowId::Schedule(_) => "no_such_schedule",
        }
    }
}

impl std::fmt::Display for RowId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RowId::Session(id) => write!(f, "session {id}"),
            RowId::Turn(id) => write!(f, "turn {id}"),
            RowId::Request(id) => write!(f, "request {id}"),
            RowId::Approval(id) => write!(f, "approval {id}"),
            RowId::Token(id) => write!(f, "token {id}"),
            RowId::Pairing(id) => write!(f, "pairing {id}"),
            RowId::Schedule(id) => write!(f, "schedule {id}"),
        }
    }
}

/// Why a piece of work on a connection failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DbError {
    /// SQLite refused, with its code.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// PostgreSQL refused, with its code, or could not be reached.
    #[error(transparent)]
    Postgres(Box<postgres::Error>),
    /// A column holds what was never written there.
    #[error("`{column}` holds what was never written there")]
    Column {
        /// The column's name, or its place in the query.
        column: String,
    },
    /// The store has its own reason.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl DbError {
    /// Something stored that can't be trusted.
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        DbError::Store(StoreError::Damaged { what: what.into() })
    }

    /// Whether a unique column had the value already.
    pub(crate) fn is_duplicate(&self) -> bool {
        match self {
            DbError::Sqlite(rusqlite::Error::SqliteFailure(error, _)) => {
                error.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE
            }
            DbError::Postgres(error) => error.code() == Some(&SqlState::UNIQUE_VIOLATION),
            _ => false,
        }
    }

    /// Whether the same may well work when it is tried again, in another transaction or over
    /// another connection.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            DbError::Postgres(error) => is_conflict(error) || is_unreachable(error),
            _ => false,
        }
    }

    /// Whether the transaction is lost to another one, and certainly not committed.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, DbError::Postgres(error) if is_conflict(error))
    }

    /// Whether what is stored can't be trusted, as opposed to all other reasons
    /// for which it could not be read just now.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            DbError::Store(error) => matches!(error, StoreError::Damaged { .. }),
            DbError::Column { .. } => true,
            DbError::Postgres(error) => error.code() == Some(&SqlState::DATA_CORRUPTED),
            // What has no code is a column that holds what was never written there.
            DbError::Sqlite(error) => {
                matches!(error.sqlite_error_code(), None | Some(ErrorCode::DatabaseCorrupt))
            }
        }
    }

    /// Converts it to the error that callers see, for the database at `path`.
    pub(crate) fn at_path(self, path: &Path) -> StoreError {
        match self {
            DbError::Store(error) => error,
            DbError::Column { .. } => {
                StoreError::Damaged { what: format!("a row of `{}` ({self})", path.display()) }
            }
            DbError::Sqlite(error) => from_sqlite(&error, path.to_path_buf()),
            DbError::Postgres(error) => from_postgres(&error, path.to_path_buf()),
        }
    }
}

fn from_sqlite(error: &rusqlite::Error, path: PathBuf) -> StoreError {
    let why = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { path },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        Some(ErrorCode::NotADatabase) => StoreError::NotADatabase { path },
        Some(ErrorCode::DatabaseCorrupt) => {
            StoreError::Damaged { what: format!("the database `{}`", path.display()) }
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::CannotOpen { path, why }
        }
        Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => {
            StoreError::Io { path, why }
        }
        Some(_) => StoreError::Failed { what: why },
        // Not from SQLite: a column that holds what was never written there.
        None => StoreError::Damaged { what: format!("a row of `{}` ({why})", path.display()) },
    }
}

/// Whether a server was not reached, has gone, or is not ready.
fn is_unreachable(error: &postgres::Error) -> bool {
    let is_io = || error.source().is_some_and(|cause| cause.is::<io::Error>());
    if certificate_problem(error).is_some() {
        return false;
    }
    match error.code() {
        None => error.is_closed() || is_io(),
        Some(code) => {
            let codes = [
                SqlState::ADMIN_SHUTDOWN,
                SqlState::CRASH_SHUTDOWN,
                SqlState::CANNOT_CONNECT_NOW,
                SqlState::TOO_MANY_CONNECTIONS,
                SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            ];
            codes.contains(code)
        }
    }
}

/// What is wrong with the server's certificate, if that is what ended the connection.
fn certificate_problem(error: &postgres::Error) -> Option<&rustls::Error> {
    let io = error.source()?.downcast_ref::<io::Error>()?;
    let told: &rustls::Error = io.get_ref()?.downcast_ref()?;
    matches!(told, rustls::Error::InvalidCertificate(_)).then_some(told)
}

fn is_conflict(error: &postgres::Error) -> bool {
    let codes = [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| codes.contains(&code))
}

fn from_postgres(error: &postgres::Error, path: PathBuf) -> StoreError {
    let url = path.display().to_string();
    // What the client says of its own is one line for every cause; the cause says more.
    let why = match (error.as_db_error(), error.source()) {
        (Some(told), _) => told.message().to_owned(),
        (None, Some(cause)) => cause.to_string(),
        (None, None) => error.to_string(),
    };
    if let Some(refused) = certificate_problem(error) {
        return StoreError::Untrusted { url, why: refused.to_string() };
    }
    if is_unreachable(error) {
        return StoreError::Unreachable { url, why };
    }
    match error.code() {
        Some(code) if is_conflict(error) || *code == SqlState::LOCK_NOT_AVAILABLE => {
            StoreError::Locked { path }
        }
        Some(&SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
            StoreError::LogInRefused { url }
        }
        Some(&SqlState::INVALID_CATALOG_NAME) => StoreError::NoDatabase { url },
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::INSUFFICIENT_PRIVILEGE) => {
            StoreError::ReadOnly { path }
        }
        Some(&SqlState::DISK_FULL) => StoreError::Full { path },
        Some(&SqlState::DATA_CORRUPTED) => {
            StoreError::Damaged { what: format!("the database `{url}`") }
        }
        Some(code) => StoreError::Failed { what: format!("{why} ({})", code.code()) },
        None => StoreError::Failed { what: format!("{error}: {why}") },
    }
}

/// A file or folder beside the database that can't be opened or made.
pub(crate) fn cannot_open(path: &Path, error: &io::Error) -> StoreError {
    let path = path.to_path_buf();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path },
        io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path },
        _ => StoreError::CannotOpen { path, why: error.to_string() },
    }
}
