//! `recto completions` and `recto man`: both are made from the command line itself, so that
//! they can't say anything else.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::{Cli, CompletionArgs, ManArgs};
use crate::failure::{CliFailure, CliResult};
use crate::output::{print_bytes, tame, tell};

pub(crate) fn completions(args: &CompletionArgs) -> CliResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "recto", &mut script);
    print_bytes(&script)
}

pub(crate) fn man(args: &ManArgs) -> CliResult {
    let Some(folder) = &args.out else { return print_page(Cli::command()) };
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .map_err(|error| unwritable(folder, &error))?;
    tell(&format_args!("the pages are in {}", tame(&folder.to_string_lossy())));
    Ok(())
}

fn print_page(command: Command) -> CliResult {
    let mut text = Vec::new();
    let written = Man::new(command).render(&mut text);
    written.map_err(|error| CliFailure::new("cannot make a manual page").because(&error))?;
    print_bytes(&text)
}

fn unwritable(path: &Path, error: &dyn std::error::Error) -> CliFailure {
    CliFailure::new(format!("cannot write `{}`", tame(&path.to_string_lossy()))).because(error)
}
