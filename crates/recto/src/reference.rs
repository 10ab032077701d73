//! The reference pages in `docs/`, made from the code, so that they can't drift.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};

use crate::cli::Cli;

/// The page of the config.
pub fn config() -> String {
    crate::config::reference::markdown()
}

/// The description of the HTTP API.
pub fn openapi() -> String {
    recto_server::write_openapi()
}

/// What the status says with which a command ends.
const EXIT_CODES: &str = "
## Exit status

| status | meaning |
|---|---|
| 0 | it went well |
| 1 | it failed; standard error says what happened and what to do |
| 2 | it was mistyped, or the arguments of `recto tools run` don't fit the tool |
| 3 | the turn waits for an answer to a question (`recto approvals list`) |
| 130 | it was interrupted with Ctrl-C |
| 129, 143 | a chat was asked to end: its terminal was closed, or `kill` |
";

/// The page of the command line: every command with its arguments.
pub fn cli() -> String {
    let mut page = String::from(
        "# Command line\n\n\
         Data goes to standard output, everything else to standard error; colours only to a \
         terminal, which also gets its lines broken between words. What is read by programs or \
         goes into a file is never cut or broken.\n",
    );
    page.push_str(EXIT_CODES);
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
    let value = value.filter(|_| takes_value).map(|value| format!(" {value}")).unwrap_or_default();
    let spelled = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}{value}"),
        (Some(short), None) => format!("-{short}{value}"),
        (None, Some(long)) => format!("--{long}{value}"),
        (None, None) => arg.get_id().as_str().to_uppercase(),
    };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let quoted = |names: Vec<String>| names.join(", ");
    let choices = arg.get_possible_values().into_iter().filter(|_| takes_value);
    let choices = quoted(choices.map(|value| format!("`{}`", value.get_name())).collect());
    let defaults = arg.get_default_values().iter().filter(|_| takes_value);
    let defaults = quoted(defaults.map(|value| format!("`{}`", value.display())).collect());
    let notes = [(choices, ""), (defaults, "default: ")].map(|(values, label)| {
        if values.is_empty() { String::new() } else { format!(" ({label}{values})") }
    });
    let _ = writeln!(page, "- `{spelled}`: {help}{}", notes.concat());
}
