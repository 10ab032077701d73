//! How a model is asked in one run, whatever the session says.

use clap::Args;
use recto_agent::{ModelEntry, SessionSettings, read_setting_value};
use recto_context::{ClientContext, Tokens};

/// The arguments that say how a model is asked in one run.
#[derive(Debug, Clone, Default, Args)]
pub struct SamplingArgs {
    /// A text that follows the agent's own at the end of System, in this run alone
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// How freely the model chooses its words, from 0 to 2 [default: the session's, or the model's]
    #[arg(long, value_name = "N", value_parser = read_temperature)]
    pub temperature: Option<f64>,
    /// How much of the probable words it chooses from, from 0 to 1 [default: the session's, or the model's]
    #[arg(long, value_name = "N", value_parser = read_top_p)]
    pub top_p: Option<f64>,
    /// The most tokens of a reply [default: the session's, or the model's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_tokens: Option<u32>,
}

impl SamplingArgs {
    /// What of it is a setting.
    pub(crate) fn settings(&self) -> SessionSettings {
        SessionSettings {
            temperature: self.temperature,
            top_p: self.top_p,
            max_output_tokens: self.max_tokens,
            ..SessionSettings::default()
        }
    }

    /// Has a model asked in this way, outside of all sessions.
    pub(crate) fn apply(&self, model: &mut ModelEntry) {
        model.call.temperature = self.temperature.or(model.call.temperature);
        model.call.top_p = self.top_p.or(model.call.top_p);
        if let Some(tokens) = self.max_tokens {
            model.limits.reply = Tokens::new(tokens);
        }
    }

    /// The text for System, as it goes in with a message.
    pub(crate) fn client(&self) -> Option<Box<ClientContext>> {
        let system = self.system.as_deref().filter(|text| !text.trim().is_empty())?;
        Some(Box::new(ClientContext { system: vec![system.into()], ..ClientContext::default() }))
    }
}

fn read_temperature(text: &str) -> Result<f64, String> {
    read_number("temperature", text)
}

fn read_top_p(text: &str) -> Result<f64, String> {
    read_number("top_p", text)
}

/// Reads the value of a setting as `/set` does.
fn read_number(setting: &str, text: &str) -> Result<f64, String> {
    let value = read_setting_value(setting, text)?;
    value.as_f64().ok_or_else(|| "it takes a number".to_owned())
}
