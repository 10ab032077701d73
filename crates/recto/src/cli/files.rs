//! What can be typed of files: those that come along with a message, and the folder that a
//! run works in.

use std::path::PathBuf;

use clap::Args;

/// The files that come along with a message.
#[derive(Debug, Clone, Default, Args)]
pub struct AttachArgs {
    /// Send this file along: a text or an image (png, jpeg, gif, webp); can be given again
    ///
    /// In a message, `@file:PATH` does the same, and `@file:"a b.txt"` where the path has spaces.
    /// Paths are relative to the current folder.
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Whether a project is used. The answer is kept for its folder.
#[derive(Debug, Clone, Default, Args)]
pub struct ProjectArgs {
    /// Use the AGENTS.md and `.recto/` of the project that one stands in, now and later
    #[arg(long, conflicts_with = "no_project")]
    pub project: bool,
    /// Leave them alone, now and later
    #[arg(long)]
    pub no_project: bool,
}
