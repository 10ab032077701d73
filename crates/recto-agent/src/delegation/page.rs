//! The page of a sub-agent: its texts, the task, its tools, and nothing else.

use std::sync::Arc;

use recto_context::{
    Catalog, IncludeMode, LayoutPreset, PageLayout, Skill, SkillRender, SystemFiles, ToolSpec,
};
use recto_workspace::SubAgent;

use super::{DELEGATE_TOOL, Delegation, complete_delegate_tool};
use crate::agent_catalog::{AgentCatalog, other_agents};

impl AgentCatalog {
    /// The catalog of the agent of that name as the sub-agent of a task sees it. One that is not
    /// there any more has no texts.
    pub(crate) fn for_sub_agent(mut self, delegation: &Delegation, own: &str) -> Self {
        let agent = self.sub_agents.iter().find(|agent| *agent.id == *delegation.agent);
        let may_call = |tool: &ToolSpec| delegation.tools.contains(&tool.id.key());
        // What names the program of a skill's tool is the skill, which is not shown.
        let skills = self.catalog.skills.iter().map(|skill| Skill {
            include: IncludeMode::Manual,
            tools: skill.tools.iter().filter(|tool| may_call(tool)).map(unshown).collect(),
            ..skill.clone()
        });
        let skills: Vec<Skill> = skills.filter(|skill| !skill.tools.is_empty()).collect();
        let tools = self.catalog.all_tools().filter(|tool| may_call(tool));
        let tools = tools.filter_map(|tool| match &*tool.id.name {
            DELEGATE_TOOL => self.hand_on_tool(tool, delegation, own),
            _ => Some(tool.clone()),
        });
        let tools = tools.map(|tool| ToolSpec { include: IncludeMode::Always, ..tool });
        let catalog = Catalog {
            system: agent.map(|agent| system_files(agent, delegation)).unwrap_or_default(),
            withheld: agent
                .and_then(|agent| agent.memory.clone())
                .filter(|_| !delegation.is_owners())
                .into_iter()
                .collect(),
            tools: tools.collect(),
            skills,
            ..Catalog::default()
        };
        self.catalog = Arc::new(catalog);
        self.notices = Arc::default();
        self
    }

    /// The tool to hand a task on, with those that it has not come through.
    fn hand_on_tool(
        &self,
        tool: &ToolSpec,
        delegation: &Delegation,
        own: &str,
    ) -> Option<ToolSpec> {
        let others = other_agents(&self.sub_agents, own).into_iter();
        complete_delegate_tool(tool, others.filter(|agent| delegation.may_go_to(&agent.id)))
    }
}

/// A tool that its skill only has for its program to be found.
fn unshown(tool: &ToolSpec) -> ToolSpec {
    ToolSpec { include: IncludeMode::Manual, ..tool.clone() }
}

/// The texts of a sub-agent, in the order in which a model reads them. What it remembers is from
/// the owner's tasks, and for those alone.
fn system_files(agent: &SubAgent, delegation: &Delegation) -> SystemFiles {
    SystemFiles {
        soul: agent.soul.clone(),
        identity: agent.mood.clone(),
        agents: agent.memory.clone().filter(|_| delegation.is_owners()),
        project: None,
        user: agent.skill.clone(),
    }
}

/// The form of a sub-agent's page: texts of files alone, in one system message, and the task as
/// it was given.
pub(crate) fn sub_agent_layout(of_model: PageLayout) -> PageLayout {
    let PageLayout { tool_calls, images, .. } = of_model;
    PageLayout {
        tool_calls,
        images,
        skills: SkillRender::Hidden,
        ..LayoutPreset::Attached.layout()
    }
}
