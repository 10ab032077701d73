//! `recto tools`: what tools there are and what they may do, their files checked,
//! their calls tried.

mod call;
mod check;
mod list;
pub(super) mod skills;
mod trust;

use std::process::ExitCode;

use super::items::{self, Shelf};
use crate::cli::{ItemCommand, ToolCommand};
use crate::failure::Failure;
use crate::home::Home;

pub(crate) fn run(home: &Home, command: &ToolCommand) -> Result<ExitCode, Failure> {
    match command {
        ToolCommand::Items(ItemCommand::List(format)) => list::run(home, format.json),
        ToolCommand::Items(ItemCommand::Check(format)) => check::run(home, format.json),
        ToolCommand::Items(command) => items::run(home, Shelf::Tools, command),
        ToolCommand::DryRun(args) => call::dry_run(home, args),
        ToolCommand::Run(args) => call::run(home, args),
        ToolCommand::Trust { name, json } => trust::run(home, name, json.json),
    }
}
