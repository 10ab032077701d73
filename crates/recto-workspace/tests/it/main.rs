//! Workspaces on a real disk: what is read, what is reported, what is read again.

// A test helper may fail like a test.
#![allow(clippy::unwrap_used)]

mod broken;
mod memories;
mod merge;
mod reload;
mod sub_agents;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_context::FileNotice;
use recto_workspace::{SkipReason, Workspace, WorkspaceOptions, WorkspaceSnapshot};
use tempfile::TempDir;

/// A home with `skills/` and `workspace/`, gone when the test ends.
struct WorkspaceHome {
    folder: TempDir,
}

impl WorkspaceHome {
    fn new() -> Self {
        let home = WorkspaceHome { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(home.path("workspace")).unwrap();
        home
    }

    /// A home with these files, written in this order.
    fn with(files: &[(&str, &str)]) -> Self {
        let home = WorkspaceHome::new();
        for (path, content) in files {
            home.write(path, content);
        }
        home
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn options(&self) -> WorkspaceOptions {
        WorkspaceOptions {
            workspace: self.path("workspace"),
            skills_directory: self.path("skills"),
            ..WorkspaceOptions::default()
        }
    }

    fn open(&self) -> Workspace {
        Workspace::new(self.options())
    }

    async fn read(&self) -> Arc<WorkspaceSnapshot> {
        self.open().catalog().await
    }

    /// A snapshot as text, with paths from the home on.
    fn show(&self, snapshot: &WorkspaceSnapshot) -> String {
        self.shorten(&describe(snapshot))
    }

    /// The notices for the record, one a line.
    fn show_notices(&self, snapshot: &WorkspaceSnapshot) -> String {
        let show = |notice: &FileNotice| format!("{}: {}\n", notice.source, notice.problem);
        self.shorten(&snapshot.catalog.notices.iter().map(show).collect::<String>())
    }

    fn shorten(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

fn describe(snapshot: &WorkspaceSnapshot) -> String {
    let catalog = &snapshot.catalog;
    let mut lines = Vec::new();
    let system = &catalog.system;
    let files = [
        ("soul", &system.soul),
        ("identity", &system.identity),
        ("agents", &system.agents),
        ("user", &system.user),
        ("tools", &catalog.tools_doc),
    ];
    for (name, file) in files {
        lines.extend(file.iter().map(|file| format!("{name}: {:?}", &*file.text)));
    }
    for skill in &catalog.skills {
        lines.push(format!("skill {} {}: {:?}", skill.name, skill.include, &*skill.body));
        lines.extend(skill.tools.iter().map(|tool| format!("  {} {}", tool.id, tool.include)));
    }
    for (kind, documents) in [("rule", &catalog.rules), ("reference", &catalog.references)] {
        for d in documents {
            lines.push(format!("{kind} {} {} {}: {:?}", d.name, d.priority, d.include, &*d.text));
        }
    }
    for problem in &snapshot.problems {
        lines.push(format!("{:?}, {:?}: {problem}", problem.severity, problem.effect));
    }
    for skipped in &snapshot.skipped {
        let reason = match &skipped.reason {
            SkipReason::Disabled => "disabled".to_owned(),
            SkipReason::Overwritten { by } => format!("overwritten by {}", by.display()),
            SkipReason::MissingPrograms(programs) => format!("lacks {}", programs.join(", ")),
        };
        lines.push(format!("skipped {} of {}: {reason}", skipped.item, skipped.path.display()));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Every path below `folder` with its content, to see that nothing was written.
fn tree(folder: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
            found.push((path, None));
        } else {
            let content = fs::read(&path).ok();
            found.push((path, content));
        }
    }
    found.sort();
    found
}
