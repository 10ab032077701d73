//! The command line: what can be typed. What it does is in `commands`.

mod files;
mod sampling;
mod serve;
mod shell;
mod token;

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, RangedU64ValueParser};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use recto_agent::{UsageQuery, UsageSpan};
use recto_context::{AudienceKind, ContextMode, IncludeMode, ItemKind};
use recto_models::Checksum;
use recto_store::ApprovalId;

pub use files::{AttachArgs, ProjectArgs};
pub use sampling::SamplingArgs;
pub use serve::ServeArgs;
pub use shell::{CompletionArgs, ManArgs};
pub use token::{TokenCommand, TokenCreateArgs, TokenLifetime};

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

/// A local-first agent gateway that shows exactly what its models are sent.
#[derive(Debug, Parser)]
#[command(name = "recto", version, max_term_width = 100)]
pub struct Cli {
    /// Recto's home [default: `$RECTO_HOME`, or `~/.recto`]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// This folder is the agent's workspace in this run [default: `agent.workspace`]
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
    /// List, show and check the agents of the config, and where each of them answers
    #[command(subcommand)]
    Agents(AgentCommand),
    /// List, pull, check and remove models
    #[command(subcommand)]
    Models(ModelCommand),
    /// Find items that fit a message, whatever their include mode
    Search(SearchArgs),
    /// Answer over HTTP: the web page, the API, and the front doors of OpenAI and Ollama
    Serve(ServeArgs),
    /// Make, list and revoke the tokens that let programs and people in over the network
    #[command(subcommand)]
    Token(TokenCommand),
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

/// The arguments of `recto show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The turn, by number, or `last`
    #[arg(default_value = "last")]
    pub turn: String,
    /// Which of the turn's requests, from 1 [default: its last page; with --text all of them]
    #[arg(long, value_name = "N")]
    pub request: Option<u32>,
    /// Print the page as the model reads it, with the source of each part in the margin
    #[arg(long, conflicts_with_all = ["body", "json"])]
    pub text: bool,
    /// Print to the terminal even what is longer than the screen, instead of opening a pager
    #[arg(long, requires = "text")]
    pub no_pager: bool,
    /// Print the request's body, the exact bytes that were sent
    #[arg(long, conflicts_with = "json")]
    pub body: bool,
    /// Print all of it as JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `recto diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// A turn, by number, or `last`
    #[arg(default_value = "last")]
    pub first: String,
    /// Another turn [default: the one before it in its session]
    pub second: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `recto replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The turn, by number, or `last`; with --verify alone, every turn
    pub turn: Option<String>,
    /// Which of the turn's requests, from 1 [default: its last page; with --verify all]
    #[arg(long, value_name = "N")]
    pub request: Option<u32>,
    /// Ask another model entry than the one that was asked
    #[arg(long, value_name = "NAME", conflicts_with = "verify")]
    pub model: Option<String>,
    /// Write the body anew from its parts and options, and fail unless it is the one sent
    #[arg(long)]
    pub verify: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

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

/// The commands of `recto agents`.
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// List the agents, the default marked
    List(JsonArg),
    /// Show an agent: its files, its own settings, its items and where it answers
    Show {
        /// The agent's name
        name: String,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Report what keeps agents from answering, and bindings that never decide
    Check(JsonArg),
}

/// The agent that a command is about.
#[derive(Debug, Clone, Default, Args)]
pub struct AgentArg {
    /// The agent, by its name in the config
    #[arg(long, global = true, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub agent: Option<String>,
}

/// The commands of `recto sessions`.
#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// List the sessions, newest first
    List {
        /// List those in the archive, too
        #[arg(long)]
        all: bool,
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

/// The commands of `recto models`.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// List the model entries of the config, and the models on disk
    List(JsonArg),
    /// Ask servers whether they have the models, with what window, and whether they take tools
    Check {
        /// The entry [default: all]
        name: Option<String>,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Get models that run without a server, and print where their files are
    Pull {
        /// Names that Recto knows, or the addresses or paths of files [default: smollm2 minilm]
        #[arg(value_name = "NAME|URL|PATH")]
        names: Vec<String>,
        /// The SHA-256 that the file must have
        #[arg(long, value_name = "HEX")]
        sha256: Option<Checksum>,
        /// What to call the model here [default: the name of its file]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Tell nothing but errors
        #[arg(short, long)]
        quiet: bool,
        /// How to print what was pulled
        #[command(flatten)]
        json: JsonArg,
    },
    /// Remove a model from disk
    Remove {
        /// The model's name, as `recto models list` shows it
        name: String,
    },
}

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
        /// A file with a line `{"id", "query"}` for each query
        #[arg(long, value_name = "FILE")]
        queries: PathBuf,
        /// The file to write: a line `{"id", "ranked", "picked", "tokens", "ms"}` for each query
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Search only among the items of the query's `scope`
        #[arg(long)]
        scope: bool,
    },
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
    },
    /// Take memories out, whoever they belong to, and keep them in an archive beside the others
    Forget {
        /// The memories' ids, or the beginnings of what stands behind the `#`
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// To whom they belong
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Bring back what was forgotten
    Restore {
        /// Their ids, as `recto memory list --forgotten` shows them
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// To whom they belong
        #[command(flatten)]
        scope: ScopeArgs,
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

/// The commands of `recto approvals`.
#[derive(Debug, Subcommand)]
pub enum ApprovalCommand {
    /// List the questions that wait for an answer, oldest first
    List(JsonArg),
    /// Show a question, with all that would be done, and who answered it
    Show {
        /// The question's number
        id: ApprovalId,
        /// Print as JSON: what would be done is `action`, field by field
        #[arg(long)]
        json: bool,
    },
    /// Answer a question; where no Recto runs any more that waits for it, its turn goes on here
    Answer {
        /// The question's number
        id: ApprovalId,
        /// The answer
        answer: AnswerArg,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// What can be said to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AnswerArg {
    /// Allow this call
    #[value(alias = "once")]
    Allow,
    /// Allow every call of the tool in this session
    Session,
    /// Deny the call
    Deny,
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
