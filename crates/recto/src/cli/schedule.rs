//! What can be typed behind `recto schedule`.

use clap::{ArgGroup, Args, Subcommand};

use super::{AgentArg, JsonArg, ModeArg};

/// The arguments of `recto schedule`.
#[derive(Debug, Args)]
pub struct ScheduleArgs {
    /// What to do with schedules.
    #[command(subcommand)]
    pub command: ScheduleCommand,
    /// The agent whose schedules they are
    #[command(flatten)]
    pub agent: AgentArg,
}

/// The commands of `recto schedule`.
#[derive(Debug, Subcommand)]
pub enum ScheduleCommand {
    /// Have a task done at set times, or once; `recto serve` runs it while it is up
    Add(ScheduleAddArgs),
    /// List the schedules, when each runs next and how it last went
    List(JsonArg),
    /// Remove a schedule; what its runs said stays
    Remove {
        /// The schedule's name
        name: String,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// Run a schedule now and print the answer; its next time stays as it is
    Run {
        /// The schedule's name
        name: String,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
    /// List past runs, the newest first: when, how each ended, and its turn
    Log {
        /// The schedule's name [default: all]
        name: Option<String>,
        /// How many to list
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
        count: u32,
        /// How to print them
        #[command(flatten)]
        json: JsonArg,
    },
}

/// The arguments of `recto schedule add`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("when").required(true).args(["cron", "at"])))]
pub struct ScheduleAddArgs {
    /// What to call it: letters, digits, `_`, `-` and `.`
    pub name: String,
    /// The task, as a message; `-` reads it from standard input
    #[arg(required = true)]
    pub task: Vec<String>,
    /// When, again and again: minute, hour, day, month, weekday, such as "0 9 * * 1-5"
    #[arg(long, value_name = "PATTERN")]
    pub cron: Option<String>,
    /// When, once, such as "2027-01-31 09:00"
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// The time zone that both are read in, such as Europe/Berlin [default: this machine's]
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Put the answer into this session, too, by name or number, or into a chat: telegram:CHAT,
    /// discord:CHANNEL
    #[arg(long, value_name = "SESSION")]
    pub to: Option<String>,
    /// The model entry that answers [default: the agent's]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Minimal, full or decided by the task [default: the model's]
    #[arg(long, value_name = "MODE")]
    pub context_mode: Option<ModeArg>,
    /// How to print it
    #[command(flatten)]
    pub json: JsonArg,
}
