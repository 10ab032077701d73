//! What `/mode` and `/set` show: every setting of a session, the value that holds, and where
//! that comes from.

use recto_agent::SessionSettings;
use recto_store::StoredSession;
use serde_json::{Value, json};

use crate::commands::sessions::{
    EffectiveSetting, EffectiveSettings, SettingSource, effective_settings,
};
use crate::config::LoadedConfig;
use crate::draw::{PageWidth, TextTable, cut_to};

/// The settings that hold in a session for the messages of this run.
pub(super) fn settings_in_run(
    config: &LoadedConfig,
    session: &StoredSession,
    of_run: &SessionSettings,
    first_model: Option<&str>,
) -> EffectiveSettings {
    let mut effective = effective_settings(config, session);
    let of_run = json!(of_run);
    for (name, holds) in &mut effective.0 {
        match &of_run[*name] {
            Value::Null => {}
            value => *holds = EffectiveSetting::new(value.clone(), SettingSource::Run),
        }
    }
    if let (Some(model), Some(first)) = (effective.get_mut("model"), first_model) {
        model.value.get_or_insert_with(|| first.into());
    }
    effective
}

/// Draws the settings as a table that fits 80 columns.
pub(super) fn draw(effective: &EffectiveSettings) -> String {
    let mut table = TextTable::new(["setting", "value", "from"]);
    for (name, holds) in &effective.0 {
        let value = match &holds.value {
            None => "-".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        table.row([(*name).to_owned(), cut_to(&value, MOST_VALUE), source_words(holds)]);
    }
    let mut out = table.draw(PageWidth::of_stdout());
    if let [("context_mode", _)] = &effective.0[..] {
        out.push_str("change it with /mode full, minimal, auto or default\n");
    }
    out
}

/// How wide a value and a place can be beside the longest name in 80 columns.
const MOST_VALUE: usize = 24;
const MOST_PLACE: usize = 34;

/// Where a value comes from, in words.
fn source_words(holds: &EffectiveSetting) -> String {
    let words = match holds.source {
        SettingSource::Run => "a flag of this run",
        SettingSource::Session => "this session",
        SettingSource::Preset => "the search preset",
        SettingSource::Default if holds.value.is_none() => "the model's server",
        SettingSource::Default => "default",
        SettingSource::Config | SettingSource::Model | SettingSource::Pair => {
            let origin = holds.origin.as_deref().unwrap_or("config");
            // Which file it is, most people know; in which line, they don't.
            let place = origin.rsplit('/').next().unwrap_or(origin);
            return cut_to(place, MOST_PLACE);
        }
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn of(value: impl Into<Value>, source: SettingSource) -> EffectiveSetting {
        EffectiveSetting::new(value, source)
    }

    #[test]
    fn every_setting_is_a_row_with_its_value_and_source() {
        let unset = EffectiveSetting { value: None, source: SettingSource::Default, origin: None };
        let place = "/home/anna/a long way down/.recto/config.toml:12".to_owned();
        let never = of("never", SettingSource::Config);
        let effective = EffectiveSettings(vec![
            ("model", of("a-model-with-a-name-that-is-much-too-long", SettingSource::Run)),
            ("temperature", unset),
            ("max_output_tokens", of(512, SettingSource::Session)),
            ("max_rounds", of(20, SettingSource::Default)),
            ("top_k", of(24, SettingSource::Preset)),
            ("approval", EffectiveSetting { origin: Some(place), ..never }),
        ]);
        let drawn = draw(&effective);
        let drawn = anstream::adapter::strip_str(&drawn).to_string();
        expect![[r#"
            setting            value                     from
            model              a-model-with-a-name-tha…  a flag of this run
            temperature        -                         the model's server
            max_output_tokens  512                       this session
            max_rounds         20                        default
            top_k              24                        the search preset
            approval           never                     config.toml:12
        "#]]
        .assert_eq(&drawn);
        assert!(drawn.lines().all(|line| line.width() <= 80));
    }
}
