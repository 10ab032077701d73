//! What can be typed about items: `recto rules` and its like, `recto search` and `recto why`.

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use recto_context::{IncludeMode, ItemKind};

use super::{AgentArg, JsonArg, same_variants};

/// The arguments of `recto search`.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// What is searched for, as a message would say it; `-` reads standard input
    pub query: String,
    /// Whose items.
    #[command(flatten)]
    pub agent: AgentArg,
    /// Find only items of this kind
    #[arg(long)]
    pub kind: Option<KindArg>,
    /// The most items of each group to list [default: `search.top_k`]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Say how the search was made, and where each item fits best
    #[arg(long)]
    pub explain: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// The kinds of items that can be searched.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum KindArg {
    /// Rules
    Rule,
    /// References
    Reference,
    /// Skills
    Skill,
    /// Tools, those of skills included
    Tool,
    /// Memories
    Memory,
}

same_variants!(KindArg => ItemKind: Rule, Reference, Skill, Tool, Memory);

/// The arguments of `recto why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The item's name
    pub name: String,
    /// The turn, by number, or `last`
    #[arg(default_value = "last")]
    pub turn: String,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `recto skills`, `recto rules` and `recto references`.
#[derive(Debug, Args)]
pub struct ItemArgs {
    /// Whose items.
    #[command(flatten)]
    pub agent: AgentArg,
    /// What to do with them.
    #[command(subcommand)]
    pub command: ItemCommand,
}

/// `recto skills`, `recto rules`, `recto references`, and half of `recto tools`.
#[derive(Debug, Subcommand)]
pub enum ItemCommand {
    /// List them, with include mode and token cost
    List(JsonArg),
    /// Show the text of an item
    Show {
        /// The item's name
        name: String,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Report what is wrong with their files
    Check(JsonArg),
    /// Write into the config how an item comes into sessions
    Set(SetArgs),
}

/// `recto rules set` and its like.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("mode").required(true))]
pub struct SetArgs {
    /// The item's name; a skill's tool is `SKILL.TOOL`
    #[arg(required_unless_present = "all")]
    pub name: Option<String>,
    /// Set it for all of the kind of which nothing else is said, in their own files or the config
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
    /// How it comes: into every session, by hand, or for a turn when search finds that it fits
    #[arg(long, value_name = "MODE", group = "mode")]
    pub include: Option<IncludeArg>,
    /// Take the setting out: what its own file says holds, or what is usual for its kind
    #[arg(long, group = "mode")]
    pub default: bool,
}

/// The include modes that can be set.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum IncludeArg {
    /// Joins every session
    Always,
    /// Joins a session when a person adds it
    Manual,
    /// Comes for a turn when search finds that it fits
    Agent,
}

same_variants!(IncludeArg => IncludeMode: Always, Manual, Agent);
