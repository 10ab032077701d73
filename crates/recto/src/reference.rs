//! The reference pages in `docs/`, made from the code, so that they can't drift.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};

use crate::cli::Cli;

/// The page of the config.
pub fn config() -> String {
    crate::config::reference::markdown()
}

/// The page of the command line: every command with its arguments.
pub fn cli() -> String {
    let mut page = String::from(
        "# Command line\n\n\
         Data goes to standard output, everything else to standard error; colours only to a \
         terminal. A command that fails ends with status 1 and says what to do, one that was \
         mistyped with status 2.\n",
    );
    let mut root = Cli::command();
    root.build();
    let globals: Vec<&Arg> = root.get_arguments().filter(|arg| arg.is_global_set()).collect();
    page.push_str("\n## Everywhere\n\n");
    globals.iter().for_each(|arg| push_argument(&mut page, arg));
    for command in root.get_subcommands() {
        push_command(&mut page, command, "recto", &globals);
    }
    page
}

/// Writes a command and those below it. What holds everywhere below a command is told
/// there, and not again.
fn push_command(page: &mut String, command: &Command, parent: &str, told: &[&Arg]) {
    if command.get_name() == "help" {
        return;
    }
    let path = format!("{parent} {}", command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let subcommands = || command.get_subcommands().filter(|sub| sub.get_name() != "help");
    let usage = usage(command, &path);
    let level = "#".repeat(path.split(' ').count());
    let _ = write!(page, "\n{level} `{usage}`\n\n{about}.\n");
    let is_told = |arg: &Arg| told.iter().any(|known| known.get_id() == arg.get_id());
    let own = command.get_arguments().filter(|arg| !is_told(arg) && !is_help(arg));
    let own: Vec<&Arg> = own.collect();
    if !own.is_empty() {
        page.push('\n');
        own.iter().for_each(|arg| push_argument(page, arg));
    }
    let global = own.iter().copied().filter(|arg| arg.is_global_set());
    let told: Vec<&Arg> = told.iter().copied().chain(global).collect();
    subcommands().for_each(|sub| push_command(page, sub, &path, &told));
}

fn usage(command: &Command, path: &str) -> String {
    let positionals = command.get_positionals().map(|arg| {
        let name = arg.get_id().as_str().to_uppercase();
        if arg.is_required_set() { format!(" {name}") } else { format!(" [{name}]") }
    });
    path.to_owned() + &positionals.collect::<String>()
}

fn is_help(arg: &Arg) -> bool {
    matches!(arg.get_id().as_str(), "help" | "version")
}

fn push_argument(page: &mut String, arg: &Arg) {
    let value = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let takes_value = arg.get_action().takes_values();
    let spelled = match (arg.get_long(), value.filter(|_| takes_value)) {
        (Some(long), Some(value)) => format!("--{long} {value}"),
        (Some(long), None) => format!("--{long}"),
        (None, _) => arg.get_id().as_str().to_uppercase(),
    };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let choices: Vec<String> =
        arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    let choices = match &choices[..] {
        [] => String::new(),
        _ if !takes_value => String::new(),
        choices => format!(" ({})", choices.join(", ")),
    };
    let _ = writeln!(page, "- `{spelled}`: {help}{choices}");
}
