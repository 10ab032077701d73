//! Who answers for a model entry, and how each of them is spoken to.

use serde::{Deserialize, Serialize};

use crate::wire::Wire;

/// The kind of server, or other source of answers, behind a model entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Provider {
    /// A server of Ollama, on this machine or another.
    Ollama,
    /// OpenAI, or a server that speaks like it: LM Studio, llama.cpp, vLLM.
    OpenAi,
    /// Anthropic, or a server that speaks like it.
    Anthropic,
    /// A model file, run in this process.
    Embedded,
    /// A file of answers, for tests and demonstrations.
    Scripted,
}

impl Provider {
    /// The name that the config uses.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// How requests and replies are written down. A script has no wire of its
    /// own: it is played through OpenAI's.
    pub fn wire(self) -> Wire {
        match self {
            Provider::Ollama => Wire::Ollama,
            Provider::OpenAi | Provider::Scripted => Wire::OpenAi,
            Provider::Anthropic => Wire::Anthropic,
            Provider::Embedded => Wire::Embedded,
        }
    }

    /// Where the provider's server listens unless the config says otherwise.
    pub fn default_base_url(self) -> Option<&'static str> {
        match self {
            Provider::Ollama => Some("http://127.0.0.1:11434"),
            Provider::OpenAi => Some("https://api.openai.com"),
            Provider::Anthropic => Some("https://api.anthropic.com"),
            Provider::Embedded | Provider::Scripted => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_config() {
        use Provider::{Anthropic, Embedded, Ollama, OpenAi, Scripted};
        for provider in [Ollama, OpenAi, Anthropic, Embedded, Scripted] {
            let json = serde_json::to_string(&provider).unwrap();
            assert_eq!(json, format!("\"{}\"", provider.name()));
        }
    }
}
