//! `recto tools`: what tools there are and what they may do, their files checked,
//! their calls tried.

mod call;
mod check;
mod list;
pub(super) mod skills;
mod trust;

use std::process::ExitCode;

use recto_context::ItemKind;

use super::items::{self, ItemView};
use crate::cli::{ItemCommand, ToolArgs, ToolCommand};
use crate::failure::CliResult;
use crate::home::RectoHome;

pub(crate) fn run(home: &RectoHome, args: &ToolArgs) -> CliResult<ExitCode> {
    let view = || ItemView::open(home, ItemKind::Tool, &args.agent);
    match &args.command {
        ToolCommand::Items(ItemCommand::List(format)) => {
            list::run(home, &view()?.with_reading_tools(), format.json)?;
        }
        ToolCommand::Items(ItemCommand::Check(format)) => return check::run(&view()?, format.json),
        ToolCommand::Items(command) => {
            return items::run_command(home, ItemKind::Tool, &args.agent, command);
        }
        ToolCommand::DryRun(args) => return call::dry_run(home, view()?, args),
        ToolCommand::Run(args) => return call::run(home, view()?, args),
        ToolCommand::Trust { name, json } => trust::run(&view()?, name, json.json)?,
    }
    Ok(ExitCode::SUCCESS)
}
