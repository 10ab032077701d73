//! What can be typed behind `recto sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{AgentArg, JsonArg};

/// The arguments of `recto sessions`.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// Whose sessions.
    #[command(flatten)]
    pub agent: AgentArg,
    /// What to do with them.
    #[command(subcommand)]
    pub command: SessionCommand,
}

/// The commands of `recto sessions`.
#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// List the sessions, newest first
    List {
        /// List those in the archive, too, and those of sub-agents' tasks
        #[arg(long)]
        all: bool,
        /// List those of sub-agents' tasks alone
        #[arg(long, conflicts_with = "all")]
        tasks: bool,
        /// How to print them
        #[command(flatten)]
        json: JsonArg,
    },
    /// Show what was said in a session
    Show {
        /// The session's name or number
        name: String,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Give a session another name
    Rename {
        /// The session's name or number
        name: String,
        /// The new name
        new: String,
    },
    /// Put a session into the archive; nothing is deleted
    Archive {
        /// The session's name or number
        name: String,
    },
    /// Delete a session for good: what was said, what was sent, its file, and what was typed in it
    ///
    /// Its messages also leave the history of what was typed; commands such as `/remember` stay
    /// there. What was counted of it stays in `recto stats`. You are asked twice.
    Delete {
        /// The session's name or number
        name: String,
        /// Ask nothing
        #[arg(long)]
        yes: bool,
    },
    /// Take a text out of every session for good: of what was said, sent and kept, leaving a mark
    ///
    /// `[redacted]` stands in its place, in messages, records, bodies, summaries, questions and what
    /// was typed. Records are told to be redacted from then on. Files of the workspace, such as
    /// memories, are yours: those that have the text are listed. No other Recto may run meanwhile.
    /// You are asked before anything is done.
    Redact {
        /// The text, exactly as it stands there; `-` reads it from standard input, so that it is in
        /// no shell's history
        text: String,
        /// Ask nothing
        #[arg(long)]
        yes: bool,
        /// How to print what was done
        #[command(flatten)]
        json: JsonArg,
    },
    /// Write a session to a file, with all that was said
    Export {
        /// The session's name or number
        name: String,
        /// The file to write [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// How to write it [default: by the file's name; jsonl unless that ends in .md]
        #[arg(long)]
        format: Option<SessionFormat>,
        /// Behind the messages, a line of JSON for each request that was sent: the exact body, all
        /// that was on its page and why, what came back and what it cost; not as Markdown
        #[arg(long)]
        records: bool,
    },
    /// Read a session that was exported, a history of one JSON message a line, or Markdown with a
    /// heading for each message
    Import {
        /// The file; `-` is standard input
        file: PathBuf,
        /// What to call the session [default: the exported name]
        #[arg(long)]
        name: Option<String>,
    },
    /// Put the messages back on the page that a summary stands for
    Expand {
        /// The session's name or number
        name: String,
    },
    /// Stop what runs or waits in a session, in whichever process; what was said stays
    Stop {
        /// The session's name or number
        name: String,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Find messages that have all of these words
    Search {
        /// The words
        query: String,
        /// The most messages to list
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
        /// How to print them
        #[command(flatten)]
        json: JsonArg,
    },
}

/// How a session is written.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SessionFormat {
    /// A line of JSON for the session, and one for each message
    Jsonl,
    /// To be read by people, too
    #[value(alias = "md")]
    Markdown,
}
