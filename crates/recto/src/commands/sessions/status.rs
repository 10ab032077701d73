//! How a session stands: what waits for an answer in it, which items it has, and
//! which settings hold, each with where it comes from.

use recto_agent::{ApprovalQuestion, SearchSetting, SessionSettings, session_setting_names};
use recto_context::ItemId;
use recto_context::mode::{ModeSetting, ModeSource, ResolvedMode};
use recto_store::{ItemState, Moment, Store, StoredApproval, StoredSession};
use serde_json::{Map, Value, json};

use crate::commands::config::{origin, value_json};
use crate::config::{LoadedConfig, ModelSettings, SettingRow, Settings};
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
        json["items"] = items.iter().map(item_json).collect();
        json["effective_settings"] = effective_settings(self.config, session).into();
        Ok(())
    }
}

fn question_json(approval: &StoredApproval) -> Value {
    let mut json = json!(ApprovalQuestion::from_approval(approval));
    json["turn"] = json!(approval.turn);
    json
}

fn item_json((item, state): &(ItemId, ItemState)) -> Value {
    let joined = match state {
        ItemState::In(origin) => json!(origin),
        ItemState::Removed => Value::Null,
    };
    json!({
        "kind": item.kind,
        "name": item.key(),
        "state": if joined.is_null() { "removed" } else { "in" },
        "joined": joined,
    })
}

/// The settings that hold in a session: each with its value and where that comes from.
pub(crate) fn effective_settings(
    config: &LoadedConfig,
    session: &StoredSession,
) -> Map<String, Value> {
    let of_session = SessionSettings::from_store(&session.settings);
    let own = json!(of_session);
    // An agent that is gone from the config leaves what holds for all.
    let settings = setup::session_settings(config, session).unwrap_or(&config.settings);
    let chosen = settings.chosen_model().map(|model| model.name.as_str());
    let model = own["model"].as_str().or(chosen).unwrap_or_default();
    let effective = session_setting_names().filter_map(|name| {
        let holds = match &own[name] {
            Value::Null => config_json(config, &session.agent, find_place(name)?, model),
            value => json!({"value": value, "from": "session"}),
        };
        Some((name.to_owned(), holds))
    });
    let mut effective: Map<String, Value> = effective.collect();
    add_preset_values(&mut effective, &of_session, settings);
    let is_search_off = !settings.search.enabled && own["search"].is_null();
    if is_search_off {
        let row = find_agent_row(config, &session.agent, "search.enabled");
        effective.insert("search".to_owned(), row_json(row, "config"));
        effective["search"]["value"] = "off".into();
    }
    let model = settings.models.iter().find(|known| known.name == model);
    if let Some(by_pair) = model.and_then(mode_by_pair).filter(|_| own["context_mode"].is_null()) {
        effective.insert("context_mode".to_owned(), by_pair);
    }
    if effective["context_mode"]["value"].is_null() {
        effective["context_mode"]["value"] = ModeSource::Default.setting().into();
    }
    effective
}

/// Adds how much search brings where only a preset says it. One that the session has chosen
/// wins over what the config sets beside its own.
fn add_preset_values(
    effective: &mut Map<String, Value>,
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
        let holds = &effective[name];
        let is_overruled = is_of_session && holds["from"] != "session";
        if holds["value"].is_null() || is_overruled {
            effective.insert(name.to_owned(), json!({"value": value, "from": "preset"}));
        }
    }
}

fn find_place(setting: &str) -> Option<ConfigPlace> {
    PLACES.iter().find(|(name, _)| *name == setting).map(|(_, place)| *place)
}

/// The mode that the older pair of settings asks for, which wins over `auto`.
fn mode_by_pair(model: &ModelSettings) -> Option<Value> {
    let places = [
        model.tool_turn_context.as_ref().map(|placed| &placed.place),
        model.minimal_system.as_ref().map(|placed| &placed.place),
    ];
    let place = places.into_iter().flatten().next()?;
    match setup::resolve_mode(model) {
        Ok(ResolvedMode { setting: ModeSetting::Pair(mode), .. }) => {
            let from = ModeSource::Pair(mode).name();
            Some(json!({"value": mode.name(), "from": from, "origin": place.to_string()}))
        }
        _ => None,
    }
}

fn config_json(config: &LoadedConfig, agent: &str, place: ConfigPlace, model: &str) -> Value {
    match place {
        ConfigPlace::Agent(key) => row_json(find_agent_row(config, agent, key), "config"),
        ConfigPlace::Model(key) => {
            // A name that needs quotes has them in the key, too.
            let quoted = toml::Value::from(model).to_string();
            let row = find_row(config, &format!("models.{model}.{key}"));
            let row = row.or_else(|| find_row(config, &format!("models.{quoted}.{key}")));
            row_json(row, "model")
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
fn row_json(row: Option<&SettingRow>, from: &str) -> Value {
    match row {
        None => json!({"value": null, "from": "default"}),
        Some(row) if row.origin.is_none() => {
            json!({"value": value_json(&row.value), "from": "default"})
        }
        Some(row) => {
            json!({"value": value_json(&row.value), "from": from, "origin": origin(row)})
        }
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
