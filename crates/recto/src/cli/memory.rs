//! What can be typed behind `recto memory`.

use clap::builder::{NonEmptyStringValueParser, RangedU64ValueParser};
use clap::{Args, Subcommand, ValueEnum};
use recto_context::AudienceKind;

use super::{AgentArg, JsonArg, same_variants};

/// The arguments of `recto memory`.
#[derive(Debug, Args)]
pub struct MemoryArgs {
    /// Whose memories.
    #[command(flatten)]
    pub agent: AgentArg,
    /// What to do with them.
    #[command(subcommand)]
    pub command: MemoryCommand,
}

/// The commands of `recto memory`.
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// List what is remembered, newest first
    List {
        /// Who would see it
        #[command(flatten)]
        audience: AudienceArgs,
        /// List daily notes of more than 30 days ago, too
        #[arg(long)]
        all: bool,
        /// List what was forgotten, of everybody
        #[arg(long, conflicts_with_all = ["all", "who", "person", "conversation", "sub_agent"])]
        forgotten: bool,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Remember something, and print its id
    Add {
        /// What to remember; `-` reads standard input
        text: String,
        /// Put it on the page of every session that may see it
        #[arg(long)]
        important: bool,
        /// Let guests and groups see it, too
        #[arg(long)]
        shared: bool,
        /// To whom it belongs
        #[command(flatten)]
        scope: ScopeArgs,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Find memories and what was said in past sessions, by meaning and words
    Search {
        /// What is searched for, as a message would say it; `-` reads standard input
        query: String,
        /// The most to list
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = at_least_one())]
        limit: usize,
        /// Who would see it
        #[command(flatten)]
        audience: AudienceArgs,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Change the text or the marks of a memory, whoever it belongs to
    Edit {
        /// The memory's id, or the beginning of what stands behind the `#`
        id: String,
        /// The new text; `-` reads standard input [default: with marks, the old text; otherwise
        /// what an editor makes of it]
        text: Option<String>,
        /// What is said of it beside its text
        #[command(flatten)]
        marks: MarkArgs,
        /// To whom it belongs
        #[command(flatten)]
        scope: ScopeArgs,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Take memories out, whoever they belong to, and keep them in an archive beside the others
    Forget {
        /// The memories' ids, or the beginnings of what stands behind the `#`
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// To whom they belong
        #[command(flatten)]
        scope: ScopeArgs,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Bring back what was forgotten
    Restore {
        /// Their ids, as `recto memory list --forgotten` shows them
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// To whom they belong
        #[command(flatten)]
        scope: ScopeArgs,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Report everything about the files of memories that a person should know
    Check(JsonArg),
}

fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

/// For whom memories are looked at.
#[derive(Debug, Args)]
pub struct AudienceArgs {
    /// Show what these would see: the owner, a guest in private, or a group
    #[arg(long = "as", value_name = "WHO", default_value = "owner")]
    pub who: WhoArg,
    /// With the memories of this person, as far as these may see them
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub person: Option<String>,
    /// With the memories of this conversation, such as `telegram@bot-4711`
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub conversation: Option<String>,
    /// With the memories of this sub-agent in place of the agent's own
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub sub_agent: Option<String>,
}

/// Who can talk to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WhoArg {
    /// Its owner, in private
    Owner,
    /// Another person, in private
    Guest,
    /// Several people
    Group,
}

same_variants!(WhoArg => AudienceKind: Owner, Guest, Group);

/// What is said of a memory beside its text, where that changes.
#[derive(Debug, Clone, Copy, Args)]
pub struct MarkArgs {
    /// Put it on the page of every session that may see it
    #[arg(long, conflicts_with = "not_important")]
    pub important: bool,
    /// Put it on a page only where it fits
    #[arg(long)]
    pub not_important: bool,
    /// Let guests and groups see it, too
    #[arg(long, conflicts_with = "not_shared")]
    pub shared: bool,
    /// Keep it from guests and groups
    #[arg(long)]
    pub not_shared: bool,
}

/// To whom a memory belongs. If nobody is named, what is new is the owner's, and what
/// is there may be anybody's.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct ScopeArgs {
    /// It belongs to this person
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub person: Option<String>,
    /// It belongs to this conversation, such as `telegram@bot-4711`
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub conversation: Option<String>,
    /// It belongs to this sub-agent, or to the agent itself
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub sub_agent: Option<String>,
}
