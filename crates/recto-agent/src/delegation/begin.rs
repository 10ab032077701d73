//! How a task is begun: who may be given it, and the session that it is done in.

use recto_context::{
    Audience, AudienceKind, Catalog, IncludeMode, ItemId, ItemKind, Skill, ToolSpec, nearest_name,
};
use recto_store::{
    ItemState, Moment, NewDelegation, NewSession, ParentCall, SessionHolder, StoredSession,
};
use recto_workspace::SubAgent;

use super::{DELEGATE_TOOL, Delegation, DelegationLimits};
use crate::agent::Agent;
use crate::agent_catalog::CatalogPurpose;
use crate::error::{AgentError, AgentResult};
use crate::memories::memory_tools;
use crate::options::{CompactionSetting, SessionSettings};
use crate::selection::SearchSetting;

/// The surface of sessions in which sub-agents work.
pub(crate) const TASK_SURFACE: &str = "delegate";

/// Everything that a task for a sub-agent is begun with.
pub(crate) struct DelegationParts<'a> {
    /// The sub-agent, by its id.
    pub(crate) agent: &'a str,
    /// The call that gives the task; none where a person does.
    pub(crate) parent: Option<ParentCall>,
    /// The settings of whoever gives it.
    pub(crate) caller: &'a SessionSettings,
    /// Those for whom the caller's own session is held.
    pub(crate) on_behalf_of: Audience,
    /// The tools that the caller could call.
    pub(crate) tools: Vec<ToolSpec>,
}

impl Agent {
    /// Begins the session in which a sub-agent does a task, or says why it can't.
    pub(crate) async fn begin_delegation(
        &self,
        parts: DelegationParts<'_>,
    ) -> AgentResult<StoredSession> {
        let sub_agent = self.find_sub_agent(parts.agent).await?;
        let limits = &self.shared.parts.options.delegation;
        let delegation = plan_delegation(limits, &sub_agent, &parts)?;
        let model = sub_agent.config.model.clone().or_else(|| parts.caller.model.clone());
        self.shared.model(model.as_deref())?;
        let settings = SessionSettings {
            model,
            search: Some(SearchSetting::Off),
            approval: parts.caller.approval,
            compaction: Some(CompactionSetting::Off),
            audience: Some(Audience {
                who: AudienceKind::SubAgent,
                agent: Some(sub_agent.id.clone()),
                ..Audience::default()
            }),
            folder: self.shared.parts.options.folder.clone(),
            unattended: true,
            delegation: Some(delegation),
            ..SessionSettings::default()
        };
        let holder = SessionHolder::of_audience(&settings.audience());
        let session = NewSession {
            agent: self.name().to_owned(),
            name: None,
            surface: TASK_SURFACE.to_owned(),
            at: Moment::now(),
            settings: settings.to_store(),
        };
        let most = limits.max_tasks;
        let new = NewDelegation { agent: sub_agent.id.to_string(), parent: parts.parent, most };
        let began = self.store().begin_delegation(new, session, holder).await?;
        began.ok_or(AgentError::TooManyTasks { most })
    }

    /// The sub-agent of that id, if it can be given a task.
    pub(crate) async fn find_sub_agent(&self, id: &str) -> AgentResult<SubAgent> {
        let all = self.shared.catalog(CatalogPurpose::Look).await.sub_agents;
        let takes = |agent: &&SubAgent| agent.takes_tasks() && *agent.id != *self.name();
        let Some(found) = all.iter().find(|agent| *agent.id == *id) else {
            let known: Vec<&str> = all.iter().filter(takes).map(|agent| &*agent.id).collect();
            let nearest = nearest_name(id, known.iter().copied()).map(str::to_owned);
            let known = known.into_iter().map(str::to_owned).collect();
            return Err(AgentError::NoSuchSubAgent { id: id.to_owned(), nearest, known });
        };
        let problem = match (&found.fault, found.config.enabled) {
            (Some(fault), _) => fault.clone(),
            (None, false) => "its agent.toml says `enabled = false`".to_owned(),
            (None, true) if *found.id == *self.name() => {
                "it has the name of the agent itself, and so what that remembers".to_owned()
            }
            (None, true) => return Ok(found.clone()),
        };
        Err(AgentError::SubAgentOff { id: id.to_owned(), problem })
    }
}

/// Decides whether the task may be handed on, and with which tools. Pure.
fn plan_delegation(
    limits: &DelegationLimits,
    sub_agent: &SubAgent,
    parts: &DelegationParts<'_>,
) -> AgentResult<Delegation> {
    let above = parts.caller.delegation.as_ref();
    let chain = above.map(Delegation::whole_chain).unwrap_or_default();
    if above.is_some_and(|above| !above.may_go_to(&sub_agent.id)) {
        let chain = chain.into_iter().chain([sub_agent.id.to_string()]).collect();
        return Err(AgentError::DelegationCycle { chain });
    }
    let on_behalf_of = match &parts.caller.delegation {
        Some(above) => above.on_behalf_of.clone(),
        None => parts.on_behalf_of.clone(),
    };
    let mut delegation = Delegation {
        agent: sub_agent.id.to_string(),
        parent: parts.parent.as_ref().map(|parent| parent.turn),
        chain,
        tools: Vec::new(),
        on_behalf_of,
    };
    let depth = delegation.depth();
    if depth > limits.max_depth {
        return Err(AgentError::TooDeep { most: limits.max_depth });
    }
    let may_hand_on = depth < limits.max_depth;
    let named = |tool: &ToolSpec| sub_agent.config.tools.contains(&tool.id.key());
    let tools = parts.tools.iter().filter(|tool| named(tool));
    let tools = tools.filter(|tool| may_hand_on || *tool.id.name != *DELEGATE_TOOL);
    let is_memory = |tool: &ToolSpec| memory_tools().iter().any(|memory| memory.id == tool.id);
    let tools = tools.filter(|tool| delegation.is_owners() || !is_memory(tool));
    delegation.tools = tools.map(|tool| tool.id.key()).collect();
    Ok(delegation)
}

/// The tools of a catalog that can be called in a session with these items: none that a person
/// took out, and of those that only a person brings (`manual`) no more than a person has brought.
pub fn callable_tools(catalog: &Catalog, items: &[(ItemId, ItemState)]) -> Vec<ToolSpec> {
    let own = catalog.tools.iter().map(|tool| (tool, None));
    let of_skills = catalog.skills.iter();
    let of_skills = of_skills.flat_map(|skill| skill.tools.iter().map(move |it| (it, Some(skill))));
    let callable = own.chain(of_skills).filter(|(tool, skill)| is_callable(tool, *skill, items));
    callable.map(|(tool, _)| tool.clone()).collect()
}

fn is_callable(tool: &ToolSpec, skill: Option<&Skill>, items: &[(ItemId, ItemState)]) -> bool {
    let state_of = |id: &ItemId| items.iter().find(|(item, _)| item == id).map(|(_, state)| *state);
    match (state_of(&tool.id), skill) {
        (Some(ItemState::Removed), _) => false,
        (Some(ItemState::In(origin)), _) if origin.is_manual() => true,
        (_, None) => tool.include != IncludeMode::Manual,
        (_, Some(skill)) => {
            let comes = match state_of(&ItemId::new(ItemKind::Skill, skill.name.clone())) {
                Some(ItemState::Removed) => false,
                Some(ItemState::In(_)) => true,
                None => skill.include != IncludeMode::Manual,
            };
            comes && tool.include != IncludeMode::Manual
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::expect;
    use recto_workspace::SubAgentConfig;

    use super::*;
    use crate::delegation::delegate_tool;

    fn sub_agent(id: &str) -> SubAgent {
        SubAgent {
            id: id.into(),
            folder: Path::new(id).into(),
            config: SubAgentConfig {
                tools: vec![delegate_tool().id.key()],
                ..SubAgentConfig::default()
            },
            soul: None,
            mood: None,
            memory: None,
            skill: None,
            fault: None,
        }
    }

    /// Hands a task on from one sub-agent to the next, with these limits.
    fn hand_on(chain: &[&str], max_depth: u32) -> AgentResult<Delegation> {
        let limits = DelegationLimits { max_depth, ..DelegationLimits::default() };
        let mut caller = SessionSettings::default();
        let mut last = Err(AgentError::EmptyMessage);
        for id in chain {
            let parts = DelegationParts {
                agent: id,
                parent: None,
                caller: &caller,
                on_behalf_of: Audience::owner("main"),
                tools: vec![delegate_tool()],
            };
            let planned = plan_delegation(&limits, &sub_agent(id), &parts)?;
            caller.delegation = Some(planned.clone());
            last = Ok(planned);
        }
        last
    }

    #[test]
    fn a_task_never_comes_back_to_who_had_it() {
        let told = |chain: &[&str]| hand_on(chain, 9).unwrap_err().to_string();
        expect!["the task would go round in a circle: mate → mate"]
            .assert_eq(&told(&["mate", "mate"]));
        expect!["the task would go round in a circle: mate → pilot → mate"]
            .assert_eq(&told(&["mate", "pilot", "mate"]));
        assert_eq!(hand_on(&["mate", "pilot"], 9).unwrap().chain, ["mate"]);
    }

    #[test]
    fn a_task_goes_no_deeper_than_the_limit_and_who_is_last_has_no_means_to_hand_it_on() {
        let delegate = [delegate_tool().id.key()];
        assert_eq!(hand_on(&["mate"], 2).unwrap().tools, delegate);
        assert_eq!(hand_on(&["mate", "pilot"], 2).unwrap().tools, [""; 0]);
        let deeper = hand_on(&["mate", "pilot", "cook"], 2);
        assert!(matches!(deeper, Err(AgentError::TooDeep { most: 2 })), "{deeper:?}");
    }
}
