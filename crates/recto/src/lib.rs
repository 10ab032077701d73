//! Recto's command line, config and composition: the place where the crates
//! meet. `main.rs` only calls [`run`].

pub mod cli;
mod commands;
pub mod config;
mod draw;
mod failure;
mod home;
mod input;
mod output;
pub mod reference;
mod setup;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use failure::Failure;
use home::Home;
use recto_context::ItemKind;

/// Parses the command line, does what it says, and tells of failures.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(&cli) {
        Ok(code) => code,
        Err(failure) => {
            output::tell(&failure);
            ExitCode::FAILURE
        }
    }
}

fn dispatch(cli: &Cli) -> Result<ExitCode, Failure> {
    let home = Home::find(cli.home.as_deref())?;
    match &cli.command {
        // These fail with a code of their own, or without a word.
        Command::Chat(args) => return commands::chat::run(&home, args),
        Command::Replay(args) => return commands::turns::replay::run(&home, args),
        Command::Models(command) => return commands::models::run(&home, command),
        Command::Context(args) => return commands::context::run(&home, args),
        Command::Skills(command) => return commands::items::run(&home, ItemKind::Skill, command),
        Command::Rules(command) => return commands::items::run(&home, ItemKind::Rule, command),
        Command::References(command) => {
            return commands::items::run(&home, ItemKind::Reference, command);
        }
        Command::Tools(command) => return commands::tools::run(&home, command),
        Command::Mcp(command) => return commands::mcp::run(&home, command),
        Command::Memory(command) => return commands::memory::run(&home, command),
        Command::Approvals(command) => return commands::approvals::run(&home, command),
        Command::Config(command) => return commands::config::run(&home, command),
        Command::Doctor(format) => return commands::doctor::run(&home, format.json),
        Command::Init => commands::init::run(&home)?,
        Command::Show(args) => commands::turns::show::run(&home, args)?,
        Command::Diff(args) => commands::turns::diff::run(&home, args)?,
        Command::Sessions(command) => commands::sessions::run(&home, command)?,
        Command::Search(args) => commands::search::run(&home, args)?,
        Command::Why(args) => commands::turns::why::run(&home, args)?,
        Command::Bench(command) => commands::bench::run(&home, command)?,
    }
    Ok(ExitCode::SUCCESS)
}
