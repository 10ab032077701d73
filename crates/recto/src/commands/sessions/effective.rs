//! The settings that hold in a session: each with its value, and where that comes from.

use serde::Serialize;
use serde_json::{Value, json};

/// Where the value of a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SettingSource {
    /// A flag of this run.
    Run,
    Session,
    /// The search preset that holds.
    Preset,
    Config,
    /// The entry of the model in the config.
    Model,
    /// The older pair of settings of a model's entry.
    Pair,
    Default,
}

/// The value of one setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct EffectiveSetting {
    /// Nothing where others decide, such as the model's server.
    pub(crate) value: Option<Value>,
    #[serde(rename = "from")]
    pub(crate) source: SettingSource,
    /// The place in the config, where it is set there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<String>,
}

impl EffectiveSetting {
    /// A value that the config does not set.
    pub(crate) fn new(value: impl Into<Value>, source: SettingSource) -> Self {
        EffectiveSetting { value: Some(value.into()), source, origin: None }
    }
}

/// All settings that hold, by their names, in the order of `/set`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EffectiveSettings(pub(crate) Vec<(&'static str, EffectiveSetting)>);

impl EffectiveSettings {
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut EffectiveSetting> {
        self.0.iter_mut().find(|(known, _)| *known == name).map(|(_, holds)| holds)
    }

    /// Leaves one of them alone.
    pub(crate) fn keep_only(&mut self, name: &str) {
        self.0.retain(|(known, _)| *known == name);
    }

    /// The settings as data for programs.
    pub(crate) fn json(&self) -> Value {
        let field = |(name, holds): &(&str, EffectiveSetting)| ((*name).to_owned(), json!(holds));
        Value::Object(self.0.iter().map(field).collect())
    }
}
