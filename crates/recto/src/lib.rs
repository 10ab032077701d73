//! Recto's command line, config and composition: the place where the crates
//! meet. `main.rs` only calls [`run`].

mod attach;
mod check_report;
pub mod cli;
mod commands;
pub mod config;
mod draw;
mod failure;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod home;
mod input;
mod output;
mod project;
pub mod reference;
mod remedy_words;
mod resident_memory;
mod search_path;
mod setup;
mod signals;
mod telemetry;
mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use cli::{Cli, CliCommand};
use failure::{CliFailure, CliResult};
use home::RectoHome;
use output::ErrorReader;
use recto_context::ItemKind;

/// Parses the command line, does what it says, and tells of failures.
pub fn run() -> ExitCode {
    resident_memory::purge_freed_at_once();
    let reader = find_error_reader(std::env::args_os());
    output::set_error_reader(reader);
    let cli = match parse() {
        Ok(cli) => cli,
        // Help and the version are no failures, whatever they are printed for.
        Err(usage) if reader == ErrorReader::Program && usage.use_stderr() => {
            return refuse_usage(&usage);
        }
        // It names what was typed, which may hold what a terminal would act on.
        Err(usage) if usage.use_stderr() && hides_something(&usage.render().to_string()) => {
            output::tell(&usage.render());
            return ExitCode::from(2);
        }
        Err(usage) => usage.exit(),
    };
    match dispatch(&cli) {
        Ok(code) => code,
        Err(failure) => {
            output::tell_failure(&failure);
            ExitCode::FAILURE
        }
    }
}

fn parse() -> Result<Cli, clap::Error> {
    let mut matches = with_negative_numbers(Cli::command()).try_get_matches()?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut Cli::command()))
}

/// Has a number below zero stand wherever a value can: whoever gets it says what is wrong with it,
/// and it is a message as any other.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let allow = |arg: clap::Arg| match arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    command.mut_args(allow).mut_subcommands(with_negative_numbers)
}

/// Who reads standard error: a program where the command line asks for JSON, also one that is
/// wrong otherwise.
fn find_error_reader(arguments: impl Iterator<Item = OsString>) -> ErrorReader {
    let mut options = arguments.take_while(|argument| argument != "--");
    match options.any(|argument| argument == "--json") {
        true => ErrorReader::Program,
        false => ErrorReader::Person,
    }
}

/// Whether a text has characters that nobody would see.
fn hides_something(text: &str) -> bool {
    output::tame_lines(text) != text
}

/// Tells a program that its command line is wrong.
fn refuse_usage(usage: &clap::Error) -> ExitCode {
    let text = usage.render().to_string();
    let (message, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
    let message = message.strip_prefix("error: ").unwrap_or(message);
    output::tell_failure(&CliFailure::new(message).hint(rest.trim()).code("usage"));
    ExitCode::from(2)
}

fn dispatch(cli: &Cli) -> CliResult<ExitCode> {
    let home = RectoHome::find(cli.home.as_deref(), cli.workspace.as_deref())?;
    match &cli.command {
        // These fail with a code of their own, or without a word.
        CliCommand::Chat(args) => return commands::chat::run(&home, args),
        CliCommand::Serve(args) => return commands::serve::run(&home, args),
        CliCommand::Replay(args) => return commands::turns::replay::run(&home, args),
        CliCommand::Models(command) => return commands::models::run(&home, command),
        CliCommand::Context(args) => return commands::context::run(&home, args),
        CliCommand::Skills(args) => return commands::items::run(&home, ItemKind::Skill, args),
        CliCommand::Rules(args) => return commands::items::run(&home, ItemKind::Rule, args),
        CliCommand::References(args) => {
            return commands::items::run(&home, ItemKind::Reference, args);
        }
        CliCommand::Tools(args) => return commands::tools::run(&home, args),
        CliCommand::Agents(command) => return commands::agents::run(&home, command),
        CliCommand::Mcp(command) => return commands::mcp::run(&home, command),
        CliCommand::Memory(args) => return commands::memory::run(&home, args),
        CliCommand::Approvals(command) => return commands::approvals::run(&home, command),
        CliCommand::Store(command) => return commands::store::run(&home, command),
        CliCommand::Config(command) => return commands::config::run(&home, command),
        CliCommand::Doctor(format) => return commands::doctor::run(&home, format.json),
        CliCommand::Init => commands::init::run(&home)?,
        CliCommand::Show(args) => commands::turns::show::run(&home, args)?,
        CliCommand::Diff(args) => commands::turns::diff::run(&home, args)?,
        CliCommand::Sessions(args) => commands::sessions::run(&home, args)?,
        CliCommand::Search(args) => commands::search::run(&home, args)?,
        CliCommand::Pair(command) => commands::pair::run(&home, command)?,
        CliCommand::Schedule(args) => return commands::schedule::run(&home, args),
        CliCommand::Token(command) => commands::token::run(&home, command)?,
        CliCommand::Why(args) => commands::turns::why::run(&home, args)?,
        CliCommand::Stats(args) => commands::stats::run(&home, args)?,
        CliCommand::Completions(args) => commands::shell::completions(args)?,
        CliCommand::Man(args) => commands::shell::man(args)?,
        CliCommand::Bench(command) => commands::bench::run(&home, command)?,
    }
    Ok(ExitCode::SUCCESS)
}
