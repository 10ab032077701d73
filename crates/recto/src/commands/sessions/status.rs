//! How a session stands: what waits for an answer in it, which items it has, and
//! which settings hold, each with where it comes from.

use recto_agent::{
    SearchSetting, SessionSettings, question_json, session_item_json, session_setting_names,
};
use recto_context::mode::{ModeSetting, ModeSource, ResolvedMode};
use recto_llm::Provider;
use recto_store::{Moment, Store, StoredApproval, StoredSession};
use serde_json::{Value, json};

use super::effective::{EffectiveSetting, EffectiveSettings, SettingSource};
use crate::commands::config::value_json;
use crate::config::{LoadedConfig, ModelSettings, SettingRow, Settings, plain_model};
use crate::failure::CliResult;
use crate::setup;

/// What sessions of a store have in common when they are described.
pub(super) struct SessionDescriber<'a> {
    store: &'a Store,
    config: &'a LoadedConfig,
    open: Vec<StoredApproval>,
}

/// The place in the config that holds for a setting where a session sets none.
const PLACES: [(&str, ConfigPlace); 13] = [
    ("model", ConfigPlace::Agent("model")),
    ("temperature", ConfigPlace::Model("temperature")),
    ("top_p", ConfigPlace::Model("top_p")),
    ("max_output_tokens", ConfigPlace::Model("max_output_tokens")),
    ("max_rounds", ConfigPlace::Agent("tools.max_rounds")),
    ("context_mode", ConfigPlace::Model("context_mode")),
    ("search", ConfigPlace::Agent("search.preset")),
    ("top_k", ConfigPlace::Agent("search.top_k")),
    ("top_n", ConfigPlace::Agent("search.top_n")),
    ("include_score", ConfigPlace::Agent("search.include_score")),
    ("floor", ConfigPlace::Agent("search.floor")),
    ("approval", ConfigPlace::Agent("tools.approval")),
    ("compaction", ConfigPlace::Agent("history.compaction")),
];

/// Where in the config a setting stands.
#[derive(Clone, Copy)]
enum ConfigPlace {
    /// By its own key.
    Agent(&'static str),
    /// In the table of the model entry that answers.
    Model(&'static str),
}

impl<'a> SessionDescriber<'a> {
    pub(super) async fn new(store: &'a Store, config: &'a LoadedConfig) -> CliResult<Self> {
        let open = store.open_approvals(Moment::now()).await?;
        Ok(SessionDescriber { store, config, open })
    }

    /// Adds to a session's JSON how it stands.
    pub(super) async fn describe(&self, session: &StoredSession, json: &mut Value) -> CliResult {
        let items = self.store.items(session.id).await?;
        let waiting = self.open.iter().filter(|approval| approval.session == session.id);
        json["waiting"] = waiting.map(question_json).collect();
        json["items"] = items.iter().map(session_item_json).collect();
        json["effective_settings"] = effective_settings(self.config, session).json();
        Ok(())
    }
}

/// The settings that hold in a session: each with its value and where that comes from.
pub(crate) fn effective_settings(
    config: &LoadedConfig,
    session: &StoredSession,
) -> EffectiveSettings {
    let of_session = SessionSettings::from_store(&session.settings);
    let own = json!(of_session);
    // An agent that is gone from the config leaves what holds for all.
    let settings = setup::session_settings(config, session).unwrap_or(&config.settings);
    let chosen = settings.chosen_model().map(|model| model.name.as_str());
    let model = own["model"].as_str().or(chosen).unwrap_or_default();
    let effective = session_setting_names().filter_map(|name| {
        let holds = match &own[name] {
            Value::Null => find_in_config(config, &session.agent, find_place(name)?, model),
            value => EffectiveSetting::new(value.clone(), SettingSource::Session),
        };
        Some((name, holds))
    });
    let mut effective = EffectiveSettings(effective.collect());
    add_preset_values(&mut effective, &of_session, settings);
    let is_search_off = !settings.search.enabled && own["search"].is_null();
    if let Some(search) = effective.get_mut("search").filter(|_| is_search_off) {
        let row = find_agent_row(config, &session.agent, "search.enabled");
        let value = Some("off".into());
        *search = EffectiveSetting { value, ..read_row(row, SettingSource::Config) };
    }
    if let Some(mode) = effective.get_mut("context_mode") {
        let model = settings.models.iter().find(|known| known.name == model);
        if let Some(by_pair) =
            model.and_then(mode_by_pair).filter(|_| own["context_mode"].is_null())
        {
            *mode = by_pair;
        }
        mode.value.get_or_insert_with(|| ModeSource::Default.setting().into());
    }
    // A model that was found has no place in the config, and Recto's own limit all the same.
    let found = plain_model("found", Provider::Scripted, "found");
    if let (Some(most), Some(found)) = (effective.get_mut("max_output_tokens"), found) {
        most.value.get_or_insert_with(|| found.max_output_tokens.into());
    }
    effective
}

/// Adds how much search brings where only a preset says it. One that the session has chosen
/// wins over what the config sets beside its own.
fn add_preset_values(
    effective: &mut EffectiveSettings,
    of_session: &SessionSettings,
    settings: &Settings,
) {
    let (preset, is_of_session) = match of_session.search {
        Some(SearchSetting::Preset(preset)) => (preset.options(), true),
        _ => (settings.search.preset.options(), false),
    };
    // As people write it, not as the nearest number of half the size is printed.
    let decimal = |value: f32| (f64::from(value) * 1e6).round() / 1e6;
    for (name, value) in [
        ("top_k", json!(preset.top_k)),
        ("top_n", json!(preset.top_n)),
        ("include_score", json!(decimal(preset.include_score))),
        ("floor", json!(decimal(preset.floor))),
    ] {
        let Some(holds) = effective.get_mut(name) else { continue };
        let is_overruled = is_of_session && holds.source != SettingSource::Session;
        if holds.value.is_none() || is_overruled {
            *holds = EffectiveSetting::new(value, SettingSource::Preset);
        }
    }
}

fn find_place(setting: &str) -> Option<ConfigPlace> {
    PLACES.iter().find(|(name, _)| *name == setting).map(|(_, place)| *place)
}

/// The mode that the older pair of settings asks for, which wins over `auto`.
fn mode_by_pair(model: &ModelSettings) -> Option<EffectiveSetting> {
    let places = [
        model.tool_turn_context.as_ref().map(|placed| &placed.place),
        model.minimal_system.as_ref().map(|placed| &placed.place),
    ];
    let place = places.into_iter().flatten().next()?;
    match setup::resolve_mode(model) {
        Ok(ResolvedMode { setting: ModeSetting::Pair(mode), .. }) => {
            let set = EffectiveSetting::new(mode.name(), SettingSource::Pair);
            Some(EffectiveSetting { origin: Some(place.to_string()), ..set })
        }
        _ => None,
    }
}

fn find_in_config(
    config: &LoadedConfig,
    agent: &str,
    place: ConfigPlace,
    model: &str,
) -> EffectiveSetting {
    match place {
        ConfigPlace::Agent(key) => {
            read_row(find_agent_row(config, agent, key), SettingSource::Config)
        }
        ConfigPlace::Model(key) => {
            // A name that needs quotes has them in the key, too.
            let quoted = toml::Value::from(model).to_string();
            let row = find_row(config, &format!("models.{model}.{key}"));
            let row = row.or_else(|| find_row(config, &format!("models.{quoted}.{key}")));
            read_row(row, SettingSource::Model)
        }
    }
}

/// What the config says for an agent: in the agent's own table, or else for all.
fn find_agent_row<'a>(config: &'a LoadedConfig, agent: &str, key: &str) -> Option<&'a SettingRow> {
    let own = find_row(config, &format!("agents.{agent}.{key}"));
    own.filter(|row| row.origin.is_some()).or_else(|| find_row(config, key))
}

fn find_row<'a>(config: &'a LoadedConfig, key: &str) -> Option<&'a SettingRow> {
    config.rows().iter().find(|row| row.key == key)
}

/// What a row of the config says; without one, others decide, such as the server.
fn read_row(row: Option<&SettingRow>, source: SettingSource) -> EffectiveSetting {
    let Some(row) = row else {
        return EffectiveSetting { value: None, source: SettingSource::Default, origin: None };
    };
    let value = Some(value_json(&row.value)).filter(|value| !value.is_null());
    match &row.origin {
        None => EffectiveSetting { value, source: SettingSource::Default, origin: None },
        Some(origin) => EffectiveSetting { value, source, origin: Some(origin.to_string()) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_of_a_session_has_its_place_in_the_config() {
        let names: Vec<&str> = session_setting_names().collect();
        assert_eq!(names, PLACES.map(|(name, _)| name));
    }
}
