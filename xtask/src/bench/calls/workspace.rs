//! The workspace that `recto init` writes, from the same templates, and the tools
//! that Recto brings along.

use std::fs;
use std::path::Path;

use recto_context::{Catalog, ToolSpec};
use recto_tools::{ToolOptions, Toolbox};
use recto_workspace::WorkspaceOptions;
use tempfile::TempDir;

use crate::Result;
use crate::bench::files::{self, AgentFiles};
use crate::project::Project;

/// Where the templates are, from the repository's folder.
const TEMPLATES: &str = "crates/recto/templates/workspace";

/// Writes the workspace into a temporary folder.
pub(in crate::bench) fn write(project: &Project) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    copy(&project.root.join(TEMPLATES), folder.path())?;
    Ok(folder)
}

/// Copies a folder of templates, with a day in place of their blanks.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            let text = fs::read_to_string(entry.path())?;
            let text = text.replace("{day}", "2026-11-15");
            fs::write(target, text.replace("{time}", "2026-11-15T09:00:00+00:00"))?;
        }
    }
    Ok(())
}

/// What the agent has.
pub(in crate::bench) async fn catalog(folder: &Path) -> Result<Catalog> {
    let search_path = std::env::var_os("PATH");
    let files =
        AgentFiles::from_options(WorkspaceOptions { search_path, ..files::options(folder) });
    let catalog = files.catalog().await;
    match files.problems().await.first() {
        Some(problem) => Err(format!("a template can't be used: {problem}").into()),
        None => Ok(Catalog::clone(&catalog)),
    }
}

/// The three tools for files.
pub(in crate::bench) fn file_tools(folder: &Path) -> Vec<ToolSpec> {
    let options = ToolOptions::new(folder);
    let mut tools = Toolbox::new(options).specs();
    tools.retain(|tool| ["read_file", "list_files", "write_file"].contains(&&*tool.id.name));
    tools
}
