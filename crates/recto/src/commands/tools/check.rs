//! `recto tools check`: what is wrong with every tools.json, with file and line, and which
//! skills' tools are off for another reason.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use recto_tools::check_declaration;
use recto_workspace::{Severity, SkipReason};
use serde_json::{Value, json};

use super::skills::{self, folder_of, read_text};
use crate::commands::items::{
    ItemView, concerning, problem_json, severity, tell_in_use, why_skipped,
};
use crate::failure::CliResult;
use crate::output::{print, print_json, tame};
use crate::setup;

pub(super) fn run(view: &ItemView, as_json: bool) -> CliResult<ExitCode> {
    let mut problems = problems(view);
    problems.extend(skills_that_are_off(view)?);
    if as_json {
        let problems: Vec<&Value> = problems.iter().map(|problem| &problem.json).collect();
        print_json(&json!({"problems": problems}))?;
    } else {
        for problem in &problems {
            print(&format!("{}\n", problem.text))?;
        }
        tell_in_use(view, problems.len());
    }
    let broken = problems.iter().any(|problem| problem.is_error);
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A problem with a file, in both forms in which it is printed.
struct ToolProblem {
    text: String,
    json: Value,
    is_error: bool,
}

/// Lists what reading the skills found wrong, and then what is wrong with how their
/// tools are run. What both find on a line is told once.
fn problems(view: &ItemView) -> Vec<ToolProblem> {
    let mut seen: HashSet<(PathBuf, Option<usize>)> = HashSet::new();
    let mut found = Vec::new();
    for problem in concerning(view) {
        seen.insert((problem.path.to_path_buf(), problem.line));
        found.push(ToolProblem {
            text: format!("{}: {problem}", severity(problem)),
            json: problem_json(problem),
            is_error: problem.severity == Severity::Error,
        });
    }
    for file in declarations(view) {
        for (line, what) in flaws(&file) {
            if seen.insert((file.clone(), line)) {
                found.push(flaw(&file, line, &what));
            }
        }
    }
    found
}

/// Skills whose tools are off though their files are right: they changed since a person looked
/// at them, or need programs that are not there.
fn skills_that_are_off(view: &ItemView) -> CliResult<Vec<ToolProblem>> {
    let declaring = skills::declaring(&view.settings, &view.catalog);
    let changed = setup::runtime()?.block_on(declaring)?;
    let changed = changed.iter().filter_map(|skill| Some((skill.folder.clone(), skill.why_off()?)));
    let lacking = view.snapshot.skipped.iter().filter_map(|skipped| {
        let file = skipped.path.parent()?.join("tools.json");
        let lacks = matches!(skipped.reason, SkipReason::MissingPrograms(_)) && file.is_file();
        let why = format!("the tools of {} are off: it is {}", skipped.item, why_skipped(skipped));
        lacks.then_some((skipped.path.parent()?.to_path_buf(), why))
    });
    Ok(changed.chain(lacking).map(|(folder, why)| off(&folder, &why)).collect())
}

fn off(folder: &Path, why: &str) -> ToolProblem {
    let shown = folder.join("tools.json");
    let shown = shown.to_string_lossy();
    ToolProblem {
        text: format!("warning: {}: {}", tame(&shown), tame(why)),
        json: json!({
            "path": shown,
            "line": null,
            "what": why,
            "hint": null,
            "severity": "warning",
        }),
        is_error: false,
    }
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

fn flaw(file: &Path, line: Option<usize>, what: &str) -> ToolProblem {
    let at = line.map(|line| format!(":{line}")).unwrap_or_default();
    let shown = tame(&file.to_string_lossy());
    ToolProblem {
        text: format!("error: {shown}{at}: {}", tame(what)),
        json: json!({
            "path": file.to_string_lossy(),
            "line": line,
            "what": what,
            "hint": null,
            "severity": "error",
        }),
        is_error: true,
    }
}
