//! Which setting held when a mode was decided, and who set it. What it leads to is decided
//! elsewhere.

use serde::{Deserialize, Serialize};

use super::{ContextMode, Mode, ModeQuestion, ModeSetting};

/// A person's mark on a turn or a session: it comes before the model's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeMark {
    /// For this turn alone.
    Turn(ContextMode),
    /// For all turns of the session.
    Session(ContextMode),
}

impl ModeMark {
    /// What is asked for.
    pub fn mode(self) -> ContextMode {
        match self {
            ModeMark::Turn(mode) | ModeMark::Session(mode) => mode,
        }
    }
}

/// The setting that held when a mode was decided, by where it was set. Records keep the
/// names of the variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModeSource {
    /// Nothing is set anywhere: full.
    Default,
    /// The model's `context_mode`.
    Model(ContextMode),
    /// The model's older pair of settings.
    Pair(Mode),
    /// A mark on the session.
    Session(ContextMode),
    /// A mark on the turn.
    Turn(ContextMode),
}

impl ModeSource {
    /// Where it was set, as reports name it.
    pub fn name(self) -> &'static str {
        match self {
            ModeSource::Default => "default",
            ModeSource::Model(_) => "model",
            ModeSource::Pair(_) => "pair",
            ModeSource::Session(_) => "session",
            ModeSource::Turn(_) => "turn",
        }
    }

    /// What was set, as the config writes it; of the older pair the mode that it means.
    pub fn setting(self) -> &'static str {
        match self {
            ModeSource::Default => ContextMode::Full.name(),
            ModeSource::Model(mode) | ModeSource::Session(mode) | ModeSource::Turn(mode) => {
                mode.name()
            }
            ModeSource::Pair(mode) => mode.name(),
        }
    }

    /// The setting in words.
    pub fn describe(self) -> String {
        match self {
            ModeSource::Default => "nothing is set, so full".to_owned(),
            ModeSource::Model(mode) => format!("the model is set to {}", mode.name()),
            ModeSource::Pair(mode) => format!("the model's older settings mean {}", mode.name()),
            ModeSource::Session(mode) => format!("the session is set to {}", mode.name()),
            ModeSource::Turn(mode) => format!("the turn is set to {}", mode.name()),
        }
    }
}

impl ModeQuestion<'_> {
    /// The setting that holds: a person's mark before the model's.
    pub(super) fn source(&self) -> ModeSource {
        match (self.mark, self.setting) {
            (Some(ModeMark::Turn(mode)), _) => ModeSource::Turn(mode),
            (Some(ModeMark::Session(mode)), _) => ModeSource::Session(mode),
            (None, ModeSetting::Unset) => ModeSource::Default,
            (None, ModeSetting::Fixed(Mode::Full)) => ModeSource::Model(ContextMode::Full),
            (None, ModeSetting::Fixed(Mode::Minimal)) => ModeSource::Model(ContextMode::Minimal),
            // Only the pair can ask for the two other modes.
            (None, ModeSetting::Fixed(mode) | ModeSetting::Pair(mode)) => ModeSource::Pair(mode),
            (None, ModeSetting::Auto) => ModeSource::Model(ContextMode::Auto),
        }
    }
}
