//! Decides when a person has to be asked before a tool runs.

use std::collections::BTreeMap;

use recto_context::{ContentSource, ToolSpec};

use crate::tool::ToolClass;

/// The rule by which a person is asked before calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApprovalMode {
    /// A person is asked before every call.
    Always,
    /// Nobody is asked; what can't be done without asking is refused.
    Never,
    /// Each tool's own setting or class decides.
    #[default]
    PerTool,
}

impl ApprovalMode {
    /// The name that the config and `/set` use.
    pub fn name(self) -> &'static str {
        match self {
            ApprovalMode::Always => "always",
            ApprovalMode::Never => "never",
            ApprovalMode::PerTool => "per_tool",
        }
    }

    /// Finds the rule that the config and `/set` call by this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [ApprovalMode::Always, ApprovalMode::Never, ApprovalMode::PerTool]
            .into_iter()
            .find(|approval| approval.name() == name)
    }
}

/// The setting for a tool, a skill or a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolPermission {
    /// A person is asked before each call.
    Ask,
    /// Calls run without asking.
    Allow,
}

/// The settings that decide whether a call needs a person.
#[derive(Debug, Clone, Default)]
pub struct ToolPolicy {
    /// The agent's own rule; a session may have another.
    pub approval: ApprovalMode,
    /// Set for a tool: `server.tool`, `skill.tool`, or the name of a built-in one.
    pub tools: BTreeMap<String, ToolPermission>,
    /// Set for all tools of a skill.
    pub skills: BTreeMap<String, ToolPermission>,
    /// Set for all tools of an MCP server.
    pub servers: BTreeMap<String, ToolPermission>,
}

impl ToolPolicy {
    /// Whether a call of this tool needs a person's word. `approval` is the
    /// session's, where it has one.
    pub fn asks(&self, spec: &ToolSpec, class: ToolClass, approval: ApprovalMode) -> bool {
        match approval {
            ApprovalMode::Always => true,
            ApprovalMode::Never => false,
            ApprovalMode::PerTool => match self.permission(spec) {
                Some(permission) => permission == ToolPermission::Ask,
                None => class.asks(),
            },
        }
    }

    /// Whether the config lets tools of a skill run without asking, by the skill's name.
    pub(crate) fn frees_skill(&self, skill: &str) -> bool {
        let allows = |permission: &ToolPermission| *permission == ToolPermission::Allow;
        let is_of_skill = |key: &str| key.strip_prefix(skill).is_some_and(|it| it.starts_with('.'));
        self.skills.get(skill).is_some_and(allows)
            || self.tools.iter().any(|(key, permission)| is_of_skill(key) && allows(permission))
    }

    /// What a person set for the tool, or for what brings it. A name without what
    /// brings the tool may mean another one, so it can hold a tool back, and not
    /// more.
    fn permission(&self, spec: &ToolSpec) -> Option<ToolPermission> {
        let own = self.tools.get(&spec.id.key());
        let plain = self.tools.get(&*spec.id.name).filter(|set| **set == ToolPermission::Ask);
        let bringers = match spec.source {
            ContentSource::Server(_) => &self.servers,
            _ => &self.skills,
        };
        let of_bringer = || spec.id.server.as_ref().and_then(|name| bringers.get(&**name));
        own.or(plain).or_else(of_bringer).copied()
    }
}
