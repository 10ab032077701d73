//! `recto mcp`: the MCP servers whose tools the agent uses, and Recto as one.

pub(super) mod client;
pub(crate) mod serve;

use std::process::ExitCode;

use crate::cli::McpCommand;
use crate::failure::CliResult;
use crate::home::RectoHome;

pub(crate) fn run(home: &RectoHome, command: &McpCommand) -> CliResult<ExitCode> {
    match command {
        McpCommand::Check { name, json } => return client::check(home, name.as_deref(), json.json),
        McpCommand::Tools { name, json } => return client::tools(home, name.as_deref(), json.json),
        McpCommand::List(format) => client::list(home, format.json)?,
        McpCommand::Serve(agent) => serve::run(home, agent)?,
    }
    Ok(ExitCode::SUCCESS)
}
