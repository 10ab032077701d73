//! An agent's files, as typed values.
//!
//! Start at [`Workspace`]. It knows where an agent's files are and gives, at
//! each call of [`Workspace::catalog`], a [`WorkspaceSnapshot`]: the
//! [`Catalog`](recto_context::Catalog) of souls, skills, rules and references,
//! what is wrong with them ([`WorkspaceProblem`]), and what was left out on purpose
//! ([`SkippedItem`]). What the agent remembers is apart, because it depends on who
//! asks: [`MemoryFiles`].
//!
//! A call goes through four steps, each in its own module:
//!
//! ```text
//! folder     which files are there          directories, listed when they changed
//! stamp      which of them changed          one stat each, nothing else when warm
//! read       their bytes, parsed            in parallel, only those that changed
//! snapshot   all values, merged             only when some value is new
//! ```
//!
//! As long as nothing changed, every call returns the same `Arc`, so that
//! whoever depends on the catalog can compare pointers.
//!
//! No file can make a call fail. What is broken is reported with its path and
//! line, and left out; the rest goes on. Parsers are lenient: they warn rather
//! than refuse.
//!
//! This crate writes nothing but memories, starts no program, and knows nothing of models,
//! budgets or the config file: its [`WorkspaceOptions`] come in as values.

mod document;
mod fields;
mod folder;
mod frontmatter;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod include;
mod lenient;
mod memories;
mod options;
mod problem;
mod programs;
mod read;
mod skill;
mod snapshot;
mod source_files;
mod stamp;
mod state;
mod sub_agent;
mod tools_json;
mod workspace;

pub use frontmatter::strip_skill_frontmatter;
pub use include::{IncludeSource, LongSkills};
pub use memories::{
    AddedMemory, AllMemories, FindingKind, ForgottenMemory, Horizon, MemoryError, MemoryFiles,
    MemoryFinding, MemoryResult, MemoryView, NewMemory, SecretMatch, TextMarks, find_secret,
    is_lasting_statement, shares_itself,
};
pub use options::{Override, Reload, WorkspaceOptions, folder_hash};
pub use problem::{ProblemEffect, Severity, WorkspaceProblem};
pub use snapshot::{SkipReason, SkippedItem, WorkspaceSnapshot};
pub use sub_agent::{SubAgent, SubAgentConfig};
pub use workspace::Workspace;
