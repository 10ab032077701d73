//! Tokens per item of each class.

use serde::{Deserialize, Serialize};

use super::{Class, Profile, Tokens};

/// The rates of one model: what an item of each [`Class`] costs it, in tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rates([f32; Class::COUNT]);

impl Rates {
    /// What a text costs, rounded up. A text of anything costs at least one token.
    pub fn estimate(&self, profile: &Profile) -> Tokens {
        if profile.is_empty() {
            return Tokens::ZERO;
        }
        // A float larger than a u32 becomes the largest u32, and NaN zero.
        Tokens::new((self.exact(profile).ceil() as u32).max(1))
    }

    /// What the model's template adds around each message.
    pub fn per_message(&self) -> Tokens {
        Tokens::new(self.rate(Class::Message).ceil() as u32)
    }

    /// What one item of a class costs.
    pub fn rate(&self, class: Class) -> f32 {
        self.0[class as usize]
    }

    pub(super) fn exact(&self, profile: &Profile) -> f64 {
        let items = self.0.iter().zip(profile.counts());
        items.map(|(&rate, &count)| f64::from(rate) * f64::from(count)).sum()
    }

    /// Whether every rate is positive and finite, as it is unless the rates come from a damaged
    /// file.
    pub(super) fn is_sound(&self) -> bool {
        self.0.iter().all(|rate| rate.is_finite() && *rate > 0.0)
    }

    pub(super) fn as_array(&self) -> &[f32; Class::COUNT] {
        &self.0
    }

    pub(super) fn from_array(rates: [f32; Class::COUNT]) -> Rates {
        Rates(rates)
    }
}

/// The rates of a model nobody has counted for yet.
///
/// Fitted so that too little weighs far more than too much, over the tokenizers of GPT-4o, Llama 3,
/// Qwen 3, Gemma 3, Mistral Nemo and Deepseek V3, with 167 texts of 28 kinds. Where these differ
/// most (digits, Indic scripts) the costly ones rule.
///
/// What templates add for tools: Qwen's explain calls in 78 tokens, Mistral's in 4, and both write
/// schemas with blanks, which takes about 20 tokens a tool more than the compact form.
impl Default for Rates {
    fn default() -> Rates {
        let mut rates = [0.0; Class::COUNT];
        for (class, rate) in DEFAULTS {
            rates[class as usize] = rate;
        }
        Rates(rates)
    }
}

const DEFAULTS: [(Class, f32); Class::COUNT] = [
    (Class::Word, 0.9),
    (Class::Glued, 0.94),
    (Class::Case, 2.1),
    (Class::Long, 0.29),
    (Class::Foreign, 0.95),
    (Class::Accent, 0.9),
    (Class::Digit, 0.93),
    (Class::Number, 0.22),
    (Class::SpacedNumber, 0.84),
    (Class::Symbol, 0.08),
    (Class::SymbolRun, 0.75),
    (Class::Repeat, 0.14),
    (Class::Newline, 1.0),
    (Class::Indent, 0.1),
    (Class::Gap, 0.8),
    (Class::Cyrillic, 0.42),
    (Class::Arabic, 0.5),
    (Class::Devanagari, 1.1),
    (Class::Thai, 0.57),
    (Class::Alphabet, 0.95),
    (Class::Script, 1.35),
    (Class::Ideographic, 0.6),
    (Class::Han, 1.03),
    (Class::Kana, 0.64),
    (Class::Hangul, 0.9),
    (Class::Emoji, 2.6),
    (Class::Sign, 1.7),
    (Class::Image, 800.0),
    (Class::Message, 4.0),
    (Class::Tool, 20.0),
];
