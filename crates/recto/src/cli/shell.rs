//! What a shell is told of Recto: completions and manual pages.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// The arguments of `recto completions`.
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell
    pub shell: Shell,
}

/// The arguments of `recto man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for each command into this folder [default: print that of `recto` itself]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
