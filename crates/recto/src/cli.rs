//! The command line: what can be typed. What it does is in `commands`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use recto_context::ContextMode;

/// A local-first agent gateway that shows exactly what its models are sent.
#[derive(Debug, Parser)]
#[command(name = "recto", version, max_term_width = 100)]
pub struct Cli {
    /// Recto's home [default: `$RECTO_HOME`, or `~/.recto`]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a small workspace to start from; nothing that is there is changed
    Init,
    /// Show what a model would be sent for a message, without calling one
    Context(ContextArgs),
    /// Look at skills
    #[command(subcommand)]
    Skills(ItemCommand),
    /// Look at rules
    #[command(subcommand)]
    Rules(ItemCommand),
    /// Look at references
    #[command(subcommand)]
    References(ItemCommand),
    /// Look at the config
    #[command(subcommand)]
    Config(ConfigCommand),
}

/// `recto context`.
#[derive(Debug, Args)]
pub struct ContextArgs {
    /// The message; read from standard input when it is `-` or left out
    pub message: Option<String>,
    /// Earlier messages: a file with one JSON message a line
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// The model entry to assemble for [default: the config's]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Minimal, full or decided by the message [default: the model's]
    #[arg(long, value_name = "MODE")]
    pub context_mode: Option<ModeArg>,
    /// Print all of it as JSON
    #[arg(long, conflicts_with = "raw")]
    pub json: bool,
    /// Print the request body as the model's wire would carry it
    #[arg(long)]
    pub raw: bool,
}

/// The modes that can be asked for.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ModeArg {
    /// All layers
    Full,
    /// What tool calls need
    Minimal,
    /// Decided by the message
    Auto,
}

impl From<ModeArg> for ContextMode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Full => ContextMode::Full,
            ModeArg::Minimal => ContextMode::Minimal,
            ModeArg::Auto => ContextMode::Auto,
        }
    }
}

/// `recto skills`, `recto rules`, `recto references`.
#[derive(Debug, Subcommand)]
pub enum ItemCommand {
    /// List them, with include mode and token cost
    List(JsonArg),
    /// Show the text of one
    Show {
        /// Its name
        name: String,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Report what is wrong with their files
    Check(JsonArg),
}

/// `recto config`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print every setting that holds, and where it is set
    Show(JsonArg),
    /// Report everything that is wrong with the config
    Check(JsonArg),
}

/// Whether to print for programs.
#[derive(Debug, Clone, Copy, Args)]
pub struct JsonArg {
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
