//! What `/mode` and `/set` show: every setting of a session, the value that holds, and where
//! that comes from.

use recto_agent::SessionSettings;
use recto_store::StoredSession;
use serde_json::{Map, Value, json};

use crate::commands::sessions::effective_settings;
use crate::config::LoadedConfig;
use crate::draw::TextTable;

/// The settings that hold in a session for the messages of this run, by their names.
pub(super) fn settings_in_run(
    config: &LoadedConfig,
    session: &StoredSession,
    of_run: &SessionSettings,
    first_model: Option<&str>,
) -> Map<String, Value> {
    let mut effective = effective_settings(config, session);
    let of_run = json!(of_run);
    for (name, holds) in &mut effective {
        match &of_run[name] {
            Value::Null => {}
            value => *holds = json!({"value": value, "from": "run"}),
        }
    }
    if let (Some(model), Some(first)) = (effective.get_mut("model"), first_model)
        && model["value"].is_null()
    {
        model["value"] = first.into();
    }
    effective
}

/// Draws the settings as a table that fits 80 columns.
pub(super) fn draw(effective: &Map<String, Value>) -> String {
    let mut table = TextTable::new(["setting", "value", "from"]);
    for (name, holds) in effective {
        let value = match &holds["value"] {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        table.row([name.clone(), shortened(&value, MOST_VALUE), source_words(holds)]);
    }
    table.to_string()
}

/// How wide a value and a place can be beside the longest name in 80 columns.
const MOST_VALUE: usize = 24;
const MOST_PLACE: usize = 34;

/// Where a value comes from, in words.
fn source_words(holds: &Value) -> String {
    let words = match holds["from"].as_str().unwrap_or_default() {
        "run" => "a flag of this run",
        "session" => "this session",
        "preset" => "the search preset",
        "default" if holds["value"].is_null() => "the model's server",
        "default" => "default",
        // The config, the model's entry in it, or the older pair of settings.
        _ => {
            let origin = holds["origin"].as_str().unwrap_or("config");
            // Which file it is, most people know; in which line, they don't.
            let place = origin.rsplit('/').next().unwrap_or(origin);
            return shortened(place, MOST_PLACE);
        }
    };
    words.to_owned()
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn every_setting_is_a_row_with_its_value_and_source() {
        let effective = json!({
            "model": {"value": "a-model-with-a-name-that-is-much-too-long", "from": "run"},
            "temperature": {"value": null, "from": "default"},
            "max_output_tokens": {"value": 512, "from": "session"},
            "max_rounds": {"value": 20, "from": "default"},
            "top_k": {"value": 24, "from": "preset"},
            "approval": {
                "value": "never",
                "from": "config",
                "origin": "/home/anna/a long way down/.recto/config.toml:12",
            },
        });
        let drawn = draw(effective.as_object().unwrap());
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
