//! Composition: from the settings to what each crate is given. No crate gets
//! the whole config.

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;

use recto_context::mode::{self, ModeSetting, OlderPair, Resolved, Uncertain};
use recto_context::{Layout, Limits, Priority, Tokens, Window};
use recto_llm::{CallOptions, Wire};
use recto_workspace::{Options, Override, Snapshot, Workspace};

use crate::commands::items::severity;
use crate::config::{
    self, Flag, ItemSettings, Loaded, ModelSettings, Place, Settings, Sources, Verdict,
};
use crate::failure::Failure;
use crate::home::Home;
use crate::output::tell;

/// Loads the config, and tells of what a person should know about it.
pub(crate) fn load(home: &Home, flags: Vec<Flag>) -> Result<Settings, Failure> {
    let Loaded { settings, warnings, .. } = load_all(home, flags)?;
    for warning in &warnings {
        tell(&format_args!("warning: {warning}"));
    }
    Ok(settings)
}

/// Loads the config with its warnings and origins.
pub(crate) fn load_all(home: &Home, flags: Vec<Flag>) -> Result<Loaded, Failure> {
    config::load(&sources(home, flags)).map_err(|problems| {
        let failure = Failure::new(format!("the config can't be used\n\n{problems}"));
        let in_file = problems.iter().any(|problem| matches!(problem.place, Place::File { .. }));
        match in_file {
            true => failure.hint(format!("edit {}", home.path().join("config.toml").display())),
            false => failure,
        }
    })
}

/// All that the config is made of.
pub(crate) fn sources(home: &Home, flags: Vec<Flag>) -> Sources {
    Sources {
        user_home: home.user().map(Into::into),
        environment: env::vars_os().collect(),
        flags,
        check_model,
        ..Sources::new(home.path())
    }
}

/// Whether a model's mode settings agree with each other.
fn check_model(model: &ModelSettings) -> Verdict {
    match resolve_mode(model) {
        Err(contradiction) => Verdict::Refuse(contradiction.to_string()),
        Ok(Resolved { pair_wins_over_auto: true, .. }) => Verdict::Warn(
            "`context_mode = \"auto\"` has no effect beside the older settings, which win".into(),
        ),
        Ok(_) => Verdict::Fine,
    }
}

fn resolve_mode(model: &ModelSettings) -> Result<Resolved, mode::Contradiction> {
    let settings = &model.mode;
    let pair = OlderPair {
        tool_turn_context: settings.tool_turn_context.as_ref().map(|placed| placed.value),
        minimal_system: settings.minimal_system.as_ref().map(|placed| placed.value),
    };
    let context_mode = settings.context_mode.as_ref().map(|placed| placed.value);
    mode::resolve(context_mode, pair)
}

/// The agent's files as they are now.
pub(crate) fn read_workspace(settings: &Settings) -> Result<Arc<Snapshot>, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().build().map_err(|error| {
        Failure::new("cannot start the threads that read files").because(&error)
    })?;
    let workspace = Workspace::new(workspace_options(settings));
    Ok(runtime.block_on(workspace.catalog()))
}

/// Tells a person what is wrong with files of the workspace.
pub(crate) fn tell_problems(snapshot: &Snapshot) {
    for problem in &snapshot.problems {
        tell(&format_args!("{}: {problem}", severity(problem)));
    }
}

fn workspace_options(settings: &Settings) -> Options {
    Options {
        workspace: settings.agent.workspace.clone(),
        skills_directory: settings.skills.directory.clone(),
        extra_skill_dirs: settings.skills.extra_dirs.clone(),
        disabled_skills: settings.skills.disabled.iter().cloned().collect(),
        overrides: overrides(&settings.items),
        reload: settings.reload,
        search_path: env::var_os("PATH"),
    }
}

fn overrides(items: &[ItemSettings]) -> BTreeMap<(recto_context::ItemKind, String), Override> {
    let settings = |item: &ItemSettings| Override {
        include: item.include,
        priority: item.priority.and_then(|value| Priority::new(value.try_into().ok()?)),
    };
    items.iter().map(|item| ((item.kind, item.name.clone()), settings(item))).collect()
}

/// The model that a request is assembled for.
pub(crate) struct Model {
    pub(crate) name: Arc<str>,
    pub(crate) wire: Wire,
    pub(crate) options: CallOptions,
    pub(crate) window: Window,
    pub(crate) mode: ModeSetting,
    pub(crate) uncertain: Uncertain,
    pub(crate) layout: Layout,
    pub(crate) limits: Limits,
}

impl Model {
    /// The chosen entry, or a stand-in of which nothing is known.
    pub(crate) fn chosen(settings: &Settings) -> Self {
        let chosen = settings.chosen_model();
        Model {
            name: chosen.map_or("none", |model| &model.name).into(),
            wire: chosen.map_or(Wire::OpenAi, |model| model.provider),
            options: CallOptions {
                model: chosen.map_or("none", |model| &model.model).to_owned(),
                temperature: chosen.and_then(|model| model.temperature),
                top_p: chosen.and_then(|model| model.top_p),
            },
            window: chosen
                .and_then(|model| model.window)
                .map_or(Window::ASSUMED, |tokens| Window::from_config(Tokens::new(tokens))),
            // The config was checked: what contradicts itself has been refused.
            mode: chosen
                .and_then(|model| resolve_mode(model).ok())
                .map_or_else(ModeSetting::default, |resolved| resolved.setting),
            uncertain: chosen.map_or_else(Uncertain::default, |model| model.mode.auto_uncertain),
            layout: layout(settings, chosen),
            limits: limits(settings, chosen),
        }
    }
}

/// The preset's layout, with what the config says otherwise.
fn layout(settings: &Settings, model: Option<&ModelSettings>) -> Layout {
    let preset = settings.context.preset.layout();
    Layout {
        preset: settings.context.preset,
        picks: settings.context.picks.unwrap_or(preset.picks),
        skills: settings.skills.render.unwrap_or(preset.skills),
        system_messages: model
            .and_then(|model| model.system_messages)
            .unwrap_or(preset.system_messages),
        pick_messages: model.and_then(|model| model.pick_messages).unwrap_or(preset.pick_messages),
        tool_calls: model.map_or(preset.tool_calls, |model| model.tool_calls),
    }
}

fn limits(settings: &Settings, model: Option<&ModelSettings>) -> Limits {
    let defaults = Limits::default();
    Limits {
        history_messages: settings.history.max_messages as usize,
        history_tokens: Tokens::new(settings.history.max_tokens),
        minimal_history: model
            .map_or(defaults.minimal_history, |model| model.minimal_history as usize),
        memory_entries: settings.memory.max_entries as usize,
        memory_tokens: Tokens::new(settings.memory.max_tokens),
        reply: model.map_or(defaults.reply, |model| Tokens::new(model.max_output_tokens)),
        target: settings.context.target_tokens.map(Tokens::new),
        margin: Tokens::ZERO,
    }
}
