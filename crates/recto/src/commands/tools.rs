//! `recto tools`: what tools there are and what they may do, their files checked,
//! their calls tried.

mod call;
mod check;
mod list;
pub(super) mod skills;
mod trust;

use std::process::ExitCode;

use recto_context::ItemKind;

use super::items;
use crate::cli::{ItemCommand, ToolCommand};
use crate::failure::CliResult;
use crate::home::RectoHome;

pub(crate) fn run(home: &RectoHome, command: &ToolCommand) -> CliResult<ExitCode> {
    match command {
        ToolCommand::Items(ItemCommand::List(format)) => list::run(home, format.json)?,
        ToolCommand::Items(ItemCommand::Check(format)) => return check::run(home, format.json),
        ToolCommand::Items(command) => return items::run(home, ItemKind::Tool, command),
        ToolCommand::DryRun(args) => return call::dry_run(home, args),
        ToolCommand::Run(args) => return call::run(home, args),
        ToolCommand::Trust { name, json } => trust::run(home, name, json.json)?,
    }
    Ok(ExitCode::SUCCESS)
}
