//! What can be typed behind `recto store`.

use clap::{Args, Subcommand};

/// The commands of `recto store`.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Look at every page of the database of sessions and records, and say what is damaged
    Check(StoreCheckArgs),
}

/// How the store is checked.
#[derive(Debug, Args)]
pub struct StoreCheckArgs {
    /// Copy what can be read of a damaged database to a new one beside it, and say what is
    /// lost; the damaged one stays as it is
    #[arg(long)]
    pub salvage: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
