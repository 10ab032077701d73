//! An agent's files as a turn reads them: what it has, and what its owner sees of its
//! memories, in one catalog.

use std::path::Path;
use std::sync::Arc;

use jiff::Zoned;
use recto_context::{Audience, AudienceKind, Catalog};
use recto_workspace::{
    Horizon, MemoryFiles, MemoryView, Workspace, WorkspaceOptions, WorkspaceProblem,
    WorkspaceSnapshot,
};
use tokio::sync::Mutex;

/// The files of an agent.
pub(super) struct AgentFiles {
    workspace: Workspace,
    memory: MemoryFiles,
    joined: Mutex<Option<JoinedCatalog>>,
}

/// A catalog, and what it was made of.
struct JoinedCatalog {
    snapshot: Arc<WorkspaceSnapshot>,
    view: Arc<MemoryView>,
    catalog: Arc<Catalog>,
}

impl AgentFiles {
    /// The files in a folder. Nothing is read yet.
    pub(super) fn open(folder: &Path) -> Self {
        AgentFiles::from_options(options(folder))
    }

    /// The files of a workspace.
    pub(super) fn from_options(options: WorkspaceOptions) -> Self {
        AgentFiles {
            memory: MemoryFiles::new(&options.workspace),
            workspace: Workspace::new(options),
            joined: Mutex::default(),
        }
    }

    /// What the agent has now: the same as before when no file has changed.
    pub(super) async fn catalog(&self) -> Arc<Catalog> {
        let (audience, horizon) = (owner(), Horizon::Recent(Zoned::now().date()));
        let (snapshot, view) =
            tokio::join!(self.workspace.catalog(), self.memory.read(&audience, horizon));
        let mut joined = self.joined.lock().await;
        if let Some(JoinedCatalog { snapshot: of, view: with, catalog }) = &*joined
            && Arc::ptr_eq(of, &snapshot)
            && Arc::ptr_eq(with, &view)
        {
            return catalog.clone();
        }
        let catalog =
            Arc::new(Catalog { memories: view.memories.clone(), ..snapshot.catalog.clone() });
        *joined = Some(JoinedCatalog { snapshot, view, catalog: catalog.clone() });
        catalog
    }

    /// What is wrong with the files that were read last.
    pub(super) async fn problems(&self) -> Vec<WorkspaceProblem> {
        let joined = self.joined.lock().await;
        let of_both = |joined: &JoinedCatalog| {
            let all = joined.snapshot.problems.iter().chain(&joined.view.problems);
            all.cloned().collect()
        };
        joined.as_ref().map(of_both).unwrap_or_default()
    }
}

/// A workspace in a folder, with no skills but its own.
pub(super) fn options(folder: &Path) -> WorkspaceOptions {
    WorkspaceOptions {
        workspace: folder.to_owned(),
        skills_directory: folder.join("none"),
        ..WorkspaceOptions::default()
    }
}

/// The owner, in private and in no conversation.
fn owner() -> Audience {
    Audience { who: AudienceKind::Owner, ..Audience::default() }
}
