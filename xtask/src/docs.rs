//! The reference pages, written from the code they describe.

use std::fs;
use std::process::ExitCode;

use crate::Result;
use crate::project::Project;
use crate::promises;

/// A page that is generated.
pub(crate) struct GeneratedPage {
    /// Its path from the repository's folder.
    pub(crate) path: &'static str,
    /// What it should hold.
    pub(crate) text: String,
}

/// All pages, as the code has them now.
pub(crate) fn pages(project: &Project) -> Result<[GeneratedPage; 4]> {
    let present = fs::read_to_string(project.root.join(promises::PROMISES_PAGE))
        .map_err(|error| format!("{}: {error}", promises::PROMISES_PAGE))?;
    let with_tests = promises::with_tests(&present, &promises::all_references(project)?);
    Ok([
        GeneratedPage { path: "docs/cli.md", text: recto::reference::cli() },
        GeneratedPage { path: "docs/config.md", text: recto::reference::config() },
        GeneratedPage { path: "docs/openapi.json", text: recto::reference::openapi() },
        GeneratedPage { path: promises::PROMISES_PAGE, text: with_tests },
    ])
}

/// Writes the pages that differ, and names them.
pub(crate) fn write(project: &Project) -> Result<ExitCode> {
    for GeneratedPage { path, text } in pages(project)? {
        let file = project.root.join(path);
        if fs::read_to_string(&file).is_ok_and(|present| present == text) {
            println!("{path} is up to date");
            continue;
        }
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&file, text)?;
        println!("{path} written");
    }
    Ok(ExitCode::SUCCESS)
}
