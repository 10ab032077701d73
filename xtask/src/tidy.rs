//! The repository's own rules: what neither compiler nor linter knows.
//!
//! Each check is a function from a file's text, or from the list of crates, to
//! problems; only this file reads the disk. All problems are shown at once.

mod documents;
mod edges;
mod foreign;
mod header;
mod length;
mod literals;
mod promises;
mod type_names;
mod words;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::process::ExitCode;

use crate::Result;
use crate::code;
use crate::docs;
use crate::project::{Project, TextFile};
use crate::promises::{PROMISES_PAGE, all_references};

/// A place where a rule is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TidyProblem {
    /// The file, from the repository's folder.
    path: String,
    /// The line, from 1.
    line: usize,
    /// What is wrong with it.
    what: String,
}

impl TidyProblem {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        TidyProblem { path: path.into(), line, what: what.into() }
    }
}

impl fmt::Display for TidyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Checks everything; the exit code says whether all is well.
pub(crate) fn run(project: &Project) -> Result<ExitCode> {
    let mut problems = check_crates(project)?;
    problems.extend(check_sources(project)?);
    problems.extend(check_documents(project)?);
    problems.extend(project.files("", "")?.iter().flat_map(foreign::check));
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => println!("tidy: no problems"),
        1 => println!("tidy: 1 problem"),
        count => println!("tidy: {count} problems"),
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check_crates(project: &Project) -> Result<Vec<TidyProblem>> {
    let mut problems = Vec::new();
    for package in &project.packages {
        let text = fs::read_to_string(&package.manifest_path)?;
        let manifest = TextFile { path: project.relative(&package.manifest_path), text };
        problems.extend(edges::check(package, &manifest));
    }
    Ok(problems)
}

fn check_sources(project: &Project) -> Result<Vec<TidyProblem>> {
    let mut problems = Vec::new();
    let mut types = Vec::new();
    for file in project.sources()? {
        problems.extend(header::check(&file));
        if file.is_test() {
            continue;
        }
        let lines = code::outside_tests(&file.text);
        problems.extend(words::check(&file, &lines));
        problems.extend(literals::check(&file, &lines));
        problems.extend(length::check(&file, &lines));
        types.extend(type_names::definitions(&file, &lines));
    }
    problems.extend(type_names::check(&types));
    Ok(problems)
}

fn check_documents(project: &Project) -> Result<Vec<TidyProblem>> {
    let files = project.files("", ".md")?;
    let mut problems = documents::missing(|path| project.root.join(path).is_file());
    if let Some(architecture) = files.iter().find(|file| file.path == documents::ARCHITECTURE) {
        let crates: BTreeSet<&str> = project.packages.iter().map(|p| p.name.as_str()).collect();
        problems.extend(documents::unnamed_crates(architecture, &crates));
    }
    for file in files.iter().filter(|file| !file.is_test()) {
        problems.extend(documents::broken_links(file, |path| project.root.join(path).exists()));
    }
    for page in docs::pages(project)? {
        let present = fs::read_to_string(project.root.join(page.path)).unwrap_or_default();
        problems.extend(documents::outdated(&page, &present));
    }
    if let Some(page) = files.iter().find(|file| file.path == PROMISES_PAGE) {
        problems.extend(promises::check(page, &all_references(project)?));
    }
    Ok(problems)
}
