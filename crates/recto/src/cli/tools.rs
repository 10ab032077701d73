//! What can be typed behind `recto tools` and `recto mcp`.

use clap::{Args, Subcommand};

use super::{AgentArg, ItemCommand, JsonArg};

/// The arguments of `recto tools`.
#[derive(Debug, Args)]
pub struct ToolArgs {
    /// Whose tools.
    #[command(flatten)]
    pub agent: AgentArg,
    /// What to do with them.
    #[command(subcommand)]
    pub command: ToolCommand,
}

/// The commands of `recto tools`.
#[derive(Debug, Subcommand)]
pub enum ToolCommand {
    /// What there is for all items.
    #[command(flatten)]
    Items(ItemCommand),
    /// Show what a call would run, and with what rights, without running it
    DryRun(CallArgs),
    /// Call a tool as a turn would, without asking; exits with 1 if it fails, 2 if the call does not fit
    Run(CallArgs),
    /// Trust a skill's tools.json and scripts as they are now
    Trust {
        /// The skill's name
        name: String,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
}

/// A call of a tool by hand.
#[derive(Debug, Args)]
pub struct CallArgs {
    /// The tool's name; one of a skill or an MCP server is `SKILL.TOOL` or `SERVER.TOOL`
    pub name: String,
    /// The arguments as a JSON object; `-` reads standard input
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub args: String,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// The commands of `recto mcp`.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// List the servers of the config, and what is known of their tools; none is started
    List(JsonArg),
    /// Start servers, or reach them, and say how they are
    Check {
        /// The server [default: all]
        name: Option<String>,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// List the tools of servers; those that were never asked for them are started
    Tools {
        /// The server [default: all]
        name: Option<String>,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Serve the index and the record to other agents, over standard input and output
    Serve(AgentArg),
}
