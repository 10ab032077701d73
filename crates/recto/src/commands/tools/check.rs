//! `recto tools check`: what is wrong with every tools.json, with file and line.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use recto_tools::check_declaration;

use super::skills::{folder_of, read_text};
use crate::check_report::{CheckProblem, CheckReport};
use crate::commands::items::{ItemView, concerning, in_use};
use crate::failure::CliResult;

pub(super) fn run(view: &ItemView, as_json: bool) -> CliResult<ExitCode> {
    let problems = problems(view);
    let verdict = in_use(view, problems.len());
    CheckReport::new(problems, verdict).print(as_json)
}

/// Lists what reading the skills found wrong, and then what is wrong with how their
/// tools are run. What both find on a line is told once.
fn problems(view: &ItemView) -> Vec<CheckProblem> {
    let mut seen: HashSet<(PathBuf, Option<usize>)> = HashSet::new();
    let mut found = Vec::new();
    for problem in concerning(view) {
        seen.insert((problem.path.to_path_buf(), problem.line));
        found.push(CheckProblem::of_file(problem));
    }
    for file in declarations(view) {
        for (line, what) in flaws(&file) {
            if seen.insert((file.clone(), line)) {
                found.push(CheckProblem::of_declaration(&file, line, &what));
            }
        }
    }
    found
}

/// Every tools.json of a skill that is in use.
fn declarations(view: &ItemView) -> Vec<PathBuf> {
    let folders = view.catalog.skills.iter().filter_map(folder_of);
    let files = folders.map(|folder| folder.join("tools.json"));
    files.filter(|file| file.symlink_metadata().is_ok()).collect()
}

fn flaws(file: &Path) -> Vec<(Option<usize>, String)> {
    match read_text(file) {
        Ok(text) => {
            let flaws = check_declaration(&text).into_iter();
            flaws.map(|flaw| (Some(flaw.line), flaw.what)).collect()
        }
        Err(error) => vec![(None, format!("can't be read: {error}"))],
    }
}
