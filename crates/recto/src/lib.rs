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
use commands::items::Shelf;
use failure::Failure;
use home::Home;

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
        Command::Init => commands::init::run(&home),
        Command::Chat(args) => commands::chat::run(&home, args),
        Command::Show(args) => commands::turns::show::run(&home, args),
        Command::Diff(args) => commands::turns::diff::run(&home, args),
        Command::Replay(args) => commands::turns::replay::run(&home, args),
        Command::Sessions(command) => commands::sessions::run(&home, command),
        Command::Models(command) => commands::models::run(&home, command),
        Command::Context(args) => commands::context::run(&home, args),
        Command::Skills(command) => commands::items::run(&home, Shelf::Skills, command),
        Command::Rules(command) => commands::items::run(&home, Shelf::Rules, command),
        Command::References(command) => commands::items::run(&home, Shelf::References, command),
        Command::Tools(command) => commands::tools::run(&home, command),
        Command::Mcp(command) => commands::mcp::run(&home, command),
        Command::Memory(command) => commands::memory::run(&home, command),
        Command::Approvals(command) => commands::approvals::run(&home, command),
        Command::Search(args) => commands::search::run(&home, args),
        Command::Why(args) => commands::turns::why::run(&home, args),
        Command::Config(command) => commands::config::run(&home, command),
        Command::Doctor(format) => commands::doctor::run(&home, format.json),
        Command::Bench(command) => commands::bench::run(&home, command),
    }
}
