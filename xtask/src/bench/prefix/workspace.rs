//! The workspace that sessions are played in: the files of a small bookshop's
//! assistant, with Recto's own tools.

use std::fs;
use std::path::Path;

use recto_context::Catalog;
use recto_tools::{ToolOptions, Toolbox};
use tempfile::TempDir;

use crate::Result;
use crate::bench::files;

/// The files, by their paths.
const FILES: [(&str, &str); 27] = [
    ("SOUL.md", include_str!("workspace/SOUL.md")),
    ("IDENTITY.md", include_str!("workspace/IDENTITY.md")),
    ("AGENTS.md", include_str!("workspace/AGENTS.md")),
    ("USER.md", include_str!("workspace/USER.md")),
    ("TOOLS.md", include_str!("workspace/TOOLS.md")),
    ("memory/MEMORY.md", include_str!("workspace/memory/MEMORY.md")),
    ("skills/accounts/SKILL.md", include_str!("workspace/skills/accounts/SKILL.md")),
    ("skills/events/SKILL.md", include_str!("workspace/skills/events/SKILL.md")),
    ("skills/forecast/SKILL.md", include_str!("workspace/skills/forecast/SKILL.md")),
    ("skills/forecast/tools.json", include_str!("workspace/skills/forecast/tools.json")),
    ("skills/newsletter/SKILL.md", include_str!("workspace/skills/newsletter/SKILL.md")),
    ("skills/orders/SKILL.md", include_str!("workspace/skills/orders/SKILL.md")),
    ("rules/children.md", include_str!("workspace/rules/children.md")),
    ("rules/dates.md", include_str!("workspace/rules/dates.md")),
    ("rules/gift-cards.md", include_str!("workspace/rules/gift-cards.md")),
    ("rules/money.md", include_str!("workspace/rules/money.md")),
    ("rules/press.md", include_str!("workspace/rules/press.md")),
    ("rules/privacy.md", include_str!("workspace/rules/privacy.md")),
    ("rules/returns.md", include_str!("workspace/rules/returns.md")),
    ("rules/tone.md", include_str!("workspace/rules/tone.md")),
    ("references/market-stall.md", include_str!("workspace/references/market-stall.md")),
    ("references/opening-hours.md", include_str!("workspace/references/opening-hours.md")),
    ("references/reading-club.md", include_str!("workspace/references/reading-club.md")),
    ("references/shipping.md", include_str!("workspace/references/shipping.md")),
    ("references/suppliers.md", include_str!("workspace/references/suppliers.md")),
    ("references/used-books.md", include_str!("workspace/references/used-books.md")),
    (EDITED, include_str!("workspace/rules/letters.md")),
];

/// The file that a person edits in the middle of a session.
const EDITED: &str = "rules/letters.md";

/// What is added to it.
const ADDED: &str = "Letters to schools go through Amira first.\n";

/// The workspace on disk.
pub(super) struct PrefixWorkspace {
    folder: TempDir,
    files: files::AgentFiles,
}

impl PrefixWorkspace {
    /// Writes all files into a temporary folder.
    pub(super) fn write() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for (path, text) in FILES {
            let path = folder.path().join(path);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, text)?;
        }
        let files = files::AgentFiles::open(folder.path());
        Ok(PrefixWorkspace { folder, files })
    }

    /// Edits a rule, as a person would.
    pub(super) fn edit(&self) -> Result<()> {
        let path = self.folder.path().join(EDITED);
        let text = fs::read_to_string(&path)? + ADDED;
        Ok(fs::write(path, text)?)
    }

    /// What the agent has now. A file that can't be used would make the page
    /// smaller than it is said to be, and so is an error.
    pub(super) async fn catalog(&self) -> Result<Catalog> {
        let catalog = self.files.catalog().await;
        if let Some(problem) = self.files.problems().await.first() {
            return Err(format!("a file of the workspace can't be used: {problem}").into());
        }
        Ok(Catalog { tools: tools(self.folder.path()), ..Catalog::clone(&catalog) })
    }
}

fn tools(workspace: &Path) -> Vec<recto_context::ToolSpec> {
    let options = ToolOptions::new(workspace);
    Toolbox::new(options).specs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_file_is_used_and_an_edit_shows() {
        let files = PrefixWorkspace::write().unwrap();
        let before = files.catalog().await.unwrap();
        assert_eq!((before.skills.len(), before.rules.len()), (5, 9));
        assert_eq!((before.references.len(), before.memories.len()), (6, 10));
        assert_eq!(before.all_tools().count(), 4);
        files.edit().unwrap();
        let after = files.catalog().await.unwrap();
        let changed = before.rules.iter().zip(&after.rules).filter(|(a, b)| a != b);
        let changed: Vec<_> = changed.map(|(rule, _)| &*rule.name).collect();
        assert_eq!(changed, ["letters"]);
    }
}
