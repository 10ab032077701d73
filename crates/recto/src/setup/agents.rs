//! Which agent a command is about: the one that is named, the one whose session it is,
//! or the one that the config binds to the terminal.

use recto_agent::{AgentBinding, BindingQuery, NamePattern, SOLE_ACCOUNT, find_bound_agent};
use recto_store::StoredSession;

use crate::cli::AgentArg;
use crate::config::{BindingSettings, ConfigFlag, LoadedConfig, Settings};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{tame, tell};

/// The surface of those who sit at a terminal.
pub(crate) const TERMINAL: &str = "terminal";

/// Loads the config for all agents, and tells of what a person should know about it.
pub(crate) fn load_config(home: &RectoHome, flags: Vec<ConfigFlag>) -> CliResult<LoadedConfig> {
    let loaded = super::load_all(home, flags)?;
    for warning in &loaded.warnings {
        tell(&format_args!("warning: {warning}"));
    }
    Ok(loaded)
}

/// Loads the config as it holds for the agent that is asked for, or else the default.
pub(crate) fn load_agent(
    home: &RectoHome,
    flags: Vec<ConfigFlag>,
    asked: &AgentArg,
) -> CliResult<Settings> {
    asked_settings(&load_config(home, flags)?, asked).cloned()
}

/// The settings of the agent that is asked for, or else the default's.
pub(crate) fn asked_settings<'c>(
    config: &'c LoadedConfig,
    asked: &AgentArg,
) -> CliResult<&'c Settings> {
    match &asked.agent {
        Some(name) => named_settings(config, name),
        None => Ok(&config.settings),
    }
}

/// The settings of the agent of that name.
pub(crate) fn named_settings<'c>(config: &'c LoadedConfig, name: &str) -> CliResult<&'c Settings> {
    find(config, name).ok_or_else(|| {
        let failure = CliFailure::no_such("agent", name);
        let names = config.agents().map(|settings| settings.agent.name.as_str());
        failure.hint_nearest(name, names, "`recto agents list` lists those of the config")
    })
}

/// The settings of the agent that a session belongs to.
pub(crate) fn session_settings<'c>(
    config: &'c LoadedConfig,
    session: &StoredSession,
) -> CliResult<&'c Settings> {
    find(config, &session.agent).ok_or_else(|| {
        let agent = tame(&session.agent);
        let label = tame(&session.label());
        let what = format!("session {label} belongs to the agent `{agent}`, which is not there");
        CliFailure::new(what).hint(format!("add `[agents.{agent}]` to the config"))
    })
}

fn find<'c>(config: &'c LoadedConfig, name: &str) -> Option<&'c Settings> {
    config.agents().find(|settings| settings.agent.name == name)
}

/// The name of the agent whose session of this name is meant: the one that is asked for, or
/// the one that answers there in the terminal.
pub(crate) fn meant_agent(config: &LoadedConfig, asked: &AgentArg, session: &str) -> String {
    asked.agent.clone().unwrap_or_else(|| terminal_agent(config, session))
}

/// The name of the agent that answers in the terminal, in a session of this name.
pub(crate) fn terminal_agent(config: &LoadedConfig, session: &str) -> String {
    let place =
        BindingQuery { surface: TERMINAL, account: SOLE_ACCOUNT, conversation: session.trim() };
    let bindings = bindings(config);
    find_bound_agent(&bindings, &config.settings.agent.name, place).agent.to_owned()
}

/// The bindings of the config, in its order.
pub(crate) fn bindings(config: &LoadedConfig) -> Vec<AgentBinding> {
    let binding = |binding: &BindingSettings| AgentBinding {
        surface: NamePattern::new(&binding.surface),
        account: NamePattern::new(&binding.account),
        conversation: NamePattern::new(&binding.conversation),
        agent: binding.agent.value.clone(),
    };
    config.bindings.iter().map(binding).collect()
}
