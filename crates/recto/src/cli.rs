//! The command line: what can be typed. What it does is in `commands`.

mod approvals;
mod files;
mod items;
mod memory;
mod models;
mod pair;
mod sampling;
mod schedule;
mod serve;
mod sessions;
mod shell;
mod store;
mod token;
mod tools;
mod turns;

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use recto_agent::{UsageQuery, UsageSpan};
use recto_context::ContextMode;

pub use approvals::{AnswerArg, ApprovalCommand};
pub use files::{AttachArgs, ProjectArgs};
pub use items::{IncludeArg, ItemArgs, ItemCommand, KindArg, SearchArgs, SetArgs, WhyArgs};
pub use memory::{AudienceArgs, MarkArgs, MemoryArgs, MemoryCommand, ScopeArgs, WhoArg};
pub use models::ModelCommand;
pub use pair::{PairApproveArgs, PairCommand};
pub use sampling::SamplingArgs;
pub use schedule::{ScheduleAddArgs, ScheduleArgs, ScheduleCommand};
pub use serve::ServeArgs;
pub use sessions::{SessionArgs, SessionCommand, SessionFormat};
pub use shell::{CompletionArgs, ManArgs};
pub use store::{StoreCheckArgs, StoreCommand, StoreCopyArgs, StoreGcArgs, StoreMigrateArgs};
pub use token::{TokenCommand, TokenCreateArgs, TokenLifetime};
pub use tools::{CallArgs, McpCommand, ToolArgs, ToolCommand};
pub use turns::{DiffArgs, ReplayArgs, ShowArgs};

/// Turns what is typed into the domain's own enum, whose variants have the same names.
macro_rules! same_variants {
    ($typed:ident => $meant:ident: $($variant:ident),+) => {
        impl From<$typed> for $meant {
            fn from(typed: $typed) -> Self {
                match typed {
                    $($typed::$variant => $meant::$variant,)+
                }
            }
        }
    };
}
use same_variants;

/// What stands below the list of all commands, for whoever has never typed one.
const FIRST_STEPS: &str = "First time here? `recto init` sets up a home, `recto doctor` says what \
                           is missing, `recto chat` talks.";

/// A local-first agent gateway that shows exactly what its models are sent.
#[derive(Debug, Parser)]
#[command(name = "recto", version, max_term_width = 100, after_help = FIRST_STEPS)]
pub struct Cli {
    /// Recto's home [default: `$RECTO_HOME`, or `~/.recto`]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// This folder is the agent's workspace in this run [default: `agents.NAME.workspace`]
    #[arg(long, global = true, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// The command that was typed.
    #[command(subcommand)]
    pub command: CliCommand,
}

/// The commands of `recto`.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Set up a home with a small workspace to start from; nothing that is there is changed
    Init,
    /// Talk to the agent: in a conversation, or with one message (-m)
    Chat(ChatArgs),
    /// Show what a model would be sent for a message, without calling one
    Context(ContextArgs),
    /// Show what a turn sent to the model and why, and what came back
    Show(ShowArgs),
    /// Compare the requests of two turns: how far they begin alike, and what ended it
    Diff(DiffArgs),
    /// Send a turn's request again, or prove that its record is whole
    Replay(ReplayArgs),
    /// List, show, search, rename, expand, archive, delete, stop, export and import sessions
    Sessions(SessionArgs),
    /// List, show and check agents and their sub-agents, and give a sub-agent a task
    #[command(subcommand)]
    Agents(AgentCommand),
    /// List, pull, check and remove models
    #[command(subcommand)]
    Models(ModelCommand),
    /// Find items that fit a message, whatever their include mode
    Search(SearchArgs),
    /// Answer over HTTP: the web page, the API, and the front doors of OpenAI and Ollama
    Serve(ServeArgs),
    /// Have tasks done at set times: add, list, remove and run them, and see what came of it
    Schedule(ScheduleArgs),
    /// Make, list and revoke the tokens that let programs and people in over the network
    #[command(subcommand)]
    Token(TokenCommand),
    /// List, let in and put out the people and groups of chats
    #[command(subcommand)]
    Pair(PairCommand),
    /// Tell why an item was or was not on the page of a turn
    Why(WhyArgs),
    /// Count how the context was used over time, and list the items that nothing uses
    Stats(StatsArgs),
    /// List, show and check skills, and set how they come into sessions
    Skills(ItemArgs),
    /// List, show and check rules, and set how they come into sessions
    Rules(ItemArgs),
    /// List, show and check references, and set how they come into sessions
    References(ItemArgs),
    /// List, show, check, run and trust tools, and set how they come into sessions
    Tools(ToolArgs),
    /// List and check MCP servers and their tools, or serve Recto's own over MCP
    #[command(subcommand)]
    Mcp(McpCommand),
    /// List, add, search, edit, forget, restore and check memories
    Memory(MemoryArgs),
    /// List, show and answer the questions whether a tool may run
    #[command(subcommand)]
    Approvals(ApprovalCommand),
    /// Check, migrate and copy the database of sessions and records, and salvage what can be read
    /// of a damaged one
    #[command(subcommand)]
    Store(StoreCommand),
    /// Show and check the config
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check this machine: what is there, which model answers and why, and what is missing
    Doctor(JsonArg),
    /// Print what makes a shell complete Recto's commands
    Completions(CompletionArgs),
    /// Print the manual page, or write one for each command
    Man(ManArgs),
    /// Measure on labelled files how turns choose their mode and their items
    #[command(subcommand)]
    Bench(BenchCommand),
}

/// The arguments of `recto chat`.
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// Send this message, print the reply and end; `-` reads standard input to its end
    ///
    /// What is piped in beside a message comes along with it. Without one, messages are typed, or
    /// read from standard input, one a line.
    #[arg(short, long)]
    pub message: Option<String>,
    /// The same as --message, in words
    #[arg(value_name = "MESSAGE", conflicts_with = "message")]
    pub words: Vec<String>,
    /// What is sent along with the message.
    #[command(flatten)]
    pub attach: AttachArgs,
    /// Whether the project that one stands in is used.
    #[command(flatten)]
    pub project: ProjectArgs,
    /// Whom to talk to [default: whose session it is, or whom the config binds to it]
    #[command(flatten)]
    pub agent: AgentArg,
    /// The session to talk in, by name or number; a new name begins a new one [default: default]
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// Go on with a session in a file, as `recto sessions import` reads it
    ///
    /// The same file again goes on with the session that it became, as long as that has
    /// everything in the file.
    #[arg(long, value_name = "FILE", conflicts_with = "session")]
    pub from: Option<PathBuf>,
    /// The model entry that answers [default: the session's, the config's, or one that is found]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Minimal, full or decided by each message [default: the session's, or the model's]
    #[arg(long, value_name = "MODE")]
    pub context_mode: Option<ModeArg>,
    /// How the model is asked.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// Ask nobody: tools that need a person's word are not offered
    #[arg(long)]
    pub unattended: bool,
    /// Print everything that happens as JSON, one event a line
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `recto context`.
#[derive(Debug, Args)]
pub struct ContextArgs {
    /// The message; read from standard input when it is `-` or left out
    ///
    /// What is piped in beside a message comes along with it.
    pub message: Option<String>,
    /// What is sent along with the message.
    #[command(flatten)]
    pub attach: AttachArgs,
    /// For which agent.
    #[command(flatten)]
    pub agent: AgentArg,
    /// Assemble it as the next message of this session, by name or number
    #[arg(long, value_name = "NAME", conflicts_with = "history")]
    pub session: Option<String>,
    /// Take the earlier messages from a file with one JSON message a line
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// The model entry to assemble for [default: the config's, or one that is found]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Minimal, full or decided by the message [default: the model's]
    #[arg(long, value_name = "MODE")]
    pub context_mode: Option<ModeArg>,
    /// How the model would be asked.
    #[command(flatten)]
    pub sampling: SamplingArgs,
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

same_variants!(ModeArg => ContextMode: Full, Minimal, Auto);

/// The commands of `recto agents`.
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// List the agents, the default marked, and the sub-agents of each
    List(JsonArg),
    /// Show an agent: its files, its own settings, its items and where it answers; or a sub-agent
    Show {
        /// The agent's name, or the id of a sub-agent
        name: String,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Report what keeps agents and sub-agents from answering, and bindings that never decide
    Check(JsonArg),
    /// Give a task to a sub-agent and print its answer
    Run(RunAgentArgs),
}

/// The arguments of `recto agents run`.
#[derive(Debug, Args)]
pub struct RunAgentArgs {
    /// The sub-agent, by the name of its folder in `agents/` of the workspace
    pub id: String,
    /// The task; `-` reads it from standard input
    #[arg(required = true)]
    pub task: Vec<String>,
    /// The agent in whose workspace the sub-agent is
    #[command(flatten)]
    pub agent: AgentArg,
    /// How to print it
    #[command(flatten)]
    pub json: JsonArg,
}

/// The agent that a command is about.
#[derive(Debug, Clone, Default, Args)]
pub struct AgentArg {
    /// The agent, by its name in the config
    #[arg(long, global = true, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub agent: Option<String>,
}

/// The arguments of `recto stats`.
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// The time to look at: a number of days up to today, from a date on, or `all`
    #[arg(long, value_name = "DAYSd|DATE|all", default_value = "30d")]
    pub since: UsageSpan,
    /// List items that nothing has used for so many days
    #[arg(long, value_name = "DAYS", default_value_t = UsageQuery::USUAL_UNUSED)]
    pub unused: u16,
    /// The agent whose turns are counted
    #[command(flatten)]
    pub agent: AgentArg,
    /// Print all of it as JSON
    #[arg(long)]
    pub json: bool,
}

/// The commands of `recto bench`.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Decide minimal or full for labelled messages, with the tools that `recto init` brings
    Mode {
        /// A file with a line `{"id", "message", "expect"}` for each message
        #[arg(long, value_name = "FILE")]
        messages: PathBuf,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Rank and pick items for queries as a turn would
    Select {
        /// A file with a line `{"id", "kind", "name", "description", "text"}` for each item
        #[arg(long, value_name = "FILE")]
        items: PathBuf,
        /// A file with a line `{"id", "query"}` for each query, perhaps with `before`
        #[arg(long, value_name = "FILE")]
        queries: PathBuf,
        /// The file to write: a line `{"id", "ranked", "picked", "listed", "tokens", "ms"}` for each query
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Messages of before with what they needed, as lines `{"id", "query", "relevant"}`: what a
        /// person's own record would say. No message speaks for itself
        #[arg(long, value_name = "FILE")]
        uses: Option<PathBuf>,
        /// Search only among the items of the query's `scope`
        #[arg(long)]
        scope: bool,
    },
}

/// The commands of `recto config`.
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
