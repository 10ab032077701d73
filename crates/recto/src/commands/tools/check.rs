//! `recto tools check`: what is wrong with every tools.json, with file and line, and which
//! skills' tools are off for another reason.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use recto_context::{ContentSource, FileNotice, Skill};
use recto_tools::check_declaration;
use recto_workspace::{Severity, SkipReason};

use super::skills::{self, DeclaringSkill, folder_of, read_text};
use crate::check_report::{CheckProblem, CheckReport};
use crate::commands::items::{ItemView, concerning, in_use, why_skipped};
use crate::failure::CliResult;
use crate::setup;

pub(super) fn run(view: &ItemView, as_json: bool) -> CliResult<ExitCode> {
    let mut problems = problems(view);
    let declaring = skills::declaring(&view.settings, &view.catalog);
    let declaring = setup::runtime()?.block_on(declaring)?;
    problems.extend(skills_that_are_off(view, &declaring));
    problems.extend(renamed_tools(view, &declaring));
    let verdict = in_use(view, count_offered(view, &declaring), problems.len());
    CheckReport::new(problems, verdict).print(as_json)
}

/// How many tools turns can have: without those that can't be run, and those of skills that are
/// off.
fn count_offered(view: &ItemView, declaring: &[DeclaringSkill]) -> usize {
    let is_off = |skill: &Skill| {
        let of_skill = declaring.iter().find(|declaring| declaring.name == skill.name);
        of_skill.is_some_and(|skill| skill.why_off().is_some())
    };
    let of_skills = view.catalog.skills.iter().filter(|skill| !is_off(skill));
    let tools = view.catalog.tools.iter().chain(of_skills.flat_map(|skill| &skill.tools));
    tools.filter(|tool| view.find_flawed(&tool.id).is_none()).count()
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
                found.push(CheckProblem::of_declaration(Severity::Error, &file, line, &what));
            }
        }
    }
    found
}

/// Skills whose tools are off though their files are right: they changed since a person looked
/// at them, or need programs that are not there.
fn skills_that_are_off(view: &ItemView, declaring: &[DeclaringSkill]) -> Vec<CheckProblem> {
    let changed = declaring.iter();
    let changed = changed.filter_map(|skill| Some((skill.folder.clone(), skill.why_off()?)));
    let lacking = view.snapshot.skipped.iter().filter_map(|skipped| {
        let file = skipped.path.parent()?.join("tools.json");
        let lacks = matches!(skipped.reason, SkipReason::MissingPrograms(_)) && file.is_file();
        let why = format!("the tools of {} are off: it is {}", skipped.item, why_skipped(skipped));
        lacks.then_some((skipped.path.parent()?.to_path_buf(), why))
    });
    let off = |(folder, why): (PathBuf, String)| {
        let file = folder.join("tools.json");
        CheckProblem::of_declaration(Severity::Warning, &file, None, &why)
    };
    changed.chain(lacking).map(off).collect()
}

/// Tools that models call by another name than their own, because a trusted skill's has that.
fn renamed_tools(view: &ItemView, declaring: &[DeclaringSkill]) -> Vec<CheckProblem> {
    let (_, renamed) = skills::name_tools(&view.catalog, declaring);
    let problem = |notice: &FileNotice| {
        let ContentSource::File(file) = &notice.source else { return None };
        Some(CheckProblem::of_declaration(Severity::Warning, file, None, &notice.problem))
    };
    renamed.iter().filter_map(problem).collect()
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
