//! What can be typed behind `recto store`.

use clap::{Args, Subcommand};

/// The commands of `recto store`.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Look at the whole database of sessions and records, and say what is damaged and what it is
    /// made of
    Check(StoreCheckArgs),
    /// Drop records that are older than `store.retention` and texts that nothing refers to, and
    /// give room back
    Gc(StoreGcArgs),
    /// Bring the database to the form that this Recto needs, as every start does
    Migrate(StoreMigrateArgs),
    /// Copy all of a database into an empty one, and compare the two
    Copy(StoreCopyArgs),
}

/// How the store is checked.
#[derive(Debug, Args)]
pub struct StoreCheckArgs {
    /// Copy what can be read of a damaged database to a new one beside it, and say what is
    /// lost; the damaged one stays as it is; only for a file
    #[arg(long)]
    pub salvage: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// How the store is cleared up.
#[derive(Debug, Args)]
pub struct StoreGcArgs {
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// How the store is migrated.
#[derive(Debug, Args)]
pub struct StoreMigrateArgs {
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// What is copied where.
#[derive(Debug, Args)]
pub struct StoreCopyArgs {
    /// The database to copy: the path of a file, or `postgres://USER@HOST:PORT/DATABASE`
    #[arg(long, value_name = "PLACE")]
    pub from: String,
    /// The empty database to copy it to; a file is made
    #[arg(long, value_name = "PLACE")]
    pub to: String,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
