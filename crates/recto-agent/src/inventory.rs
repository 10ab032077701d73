//! What an agent has, as its owner looks after it: items with what says when they are included,
//! problems of files, MCP servers, and the files themselves.
//!
//! When items are included can be changed while the agent runs; whoever wrote the change down
//! hands the settings in. Nothing is written here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use recto_context::{Catalog, IncludeMode, ItemId, ItemKind, ToolSpec};
use recto_tools::{ServerIncludes, ServerStatus};
use recto_workspace::{IncludeSource, Override, WorkspaceSnapshot};

use crate::actor::Actor;
use crate::agent::Agent;
use crate::agent_catalog::CatalogPurpose;
use crate::error::AgentResult;
use crate::rights::Right;

/// All that an agent has at one moment.
#[derive(Debug, Clone)]
pub struct AgentInventory {
    /// The items as turns see them.
    pub catalog: Arc<Catalog>,
    /// The files that they come from, with what is wrong with those.
    pub snapshot: Arc<WorkspaceSnapshot>,
    /// The MCP servers, with how their tools come into a session.
    pub servers: Vec<(ServerStatus, ServerIncludes)>,
    /// The tools of which the config says by themselves when they are included.
    set_tools: BTreeSet<ItemId>,
}

impl AgentInventory {
    /// Whether the config says of the item by itself when it is included.
    pub fn is_set(&self, item: &ItemId) -> bool {
        let source = self.snapshot.include_sources.get(item);
        matches!(source, Some(IncludeSource::Config { .. })) || self.set_tools.contains(item)
    }
}

/// When items are included, as the config has it.
#[derive(Debug, Clone, Default)]
pub struct IncludeSettings {
    /// Settings of single items that win over their own files.
    pub overrides: BTreeMap<(ItemKind, String), Override>,
    /// The include modes of items of which nothing else is said.
    pub kind_includes: BTreeMap<ItemKind, IncludeMode>,
    /// The built-in tools, with their include modes.
    pub built_in: Vec<ToolSpec>,
    /// How the tools of each MCP server come into a session.
    pub servers: BTreeMap<String, ServerIncludes>,
}

/// A file of the agent as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFileView {
    /// Where it is.
    pub path: Arc<Path>,
    /// What is in it.
    pub text: String,
}

impl Agent {
    /// All that the agent has now. Nothing is started for it.
    pub async fn inventory(&self, actor: &Actor) -> AgentResult<AgentInventory> {
        actor.must_have(Right::SeeWorkspace)?;
        let parts = &self.shared.parts;
        let catalog = self.shared.catalog(CatalogPurpose::Look).await.catalog;
        let snapshot = parts.workspace.catalog().await;
        let registry = parts.tools.servers();
        let with_includes = |status: ServerStatus| {
            let includes = registry.server_includes(&status.name).unwrap_or_default();
            (status, includes)
        };
        let servers = registry.status().into_iter().map(with_includes).collect();
        let names = registry.names();
        let is_set = |tool: &ItemId| {
            let of_skill = tool.server.as_ref().is_some_and(|server| !names.contains(server));
            // A skill's tool is also meant by its plain name.
            parts.workspace.sets_include(tool.kind, &tool.key())
                || of_skill && parts.workspace.sets_include(tool.kind, &tool.name)
        };
        let tools = catalog.all_tools().map(|tool| tool.id.clone());
        let set_tools = tools.filter(is_set).collect();
        Ok(AgentInventory { catalog, snapshot, servers, set_tools })
    }

    /// Replaces when items are included, from the next turn on. Sessions that have an item keep
    /// it.
    pub fn set_includes(&self, actor: &Actor, settings: IncludeSettings) -> AgentResult {
        actor.must_have(Right::ChangeWorkspace)?;
        let IncludeSettings { overrides, kind_includes, built_in, servers } = settings;
        let parts = &self.shared.parts;
        parts.workspace.replace_overrides(overrides, kind_includes);
        parts.tools.servers().set_includes(servers);
        self.shared.catalogs.replace_built_in(built_in);
        Ok(())
    }

    /// A file that the agent's items or memories come from, as it is now; `None` for every other
    /// file of the machine.
    pub async fn source_file(
        &self,
        actor: &Actor,
        path: &Path,
    ) -> AgentResult<Option<SourceFileView>> {
        actor.must_have(Right::SeeWorkspace)?;
        let parts = &self.shared.parts;
        let text = match parts.workspace.source_text(path).await {
            Some(text) => Some(text),
            None => parts.memory.source_text(path, &self.memories().owner()).await,
        };
        Ok(text.map(|text| SourceFileView { path: path.into(), text }))
    }
}
