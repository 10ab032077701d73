//! How a message went, and how the program ends after it.

use std::process::ExitCode;

use recto_store::TurnEnding;

/// How a message went, the worse the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MessageOutcome {
    Done,
    Failed,
    Stopped,
    /// The turn waits for somebody's word.
    Waiting,
    /// The person ends the chat.
    Exit,
    /// The person would not wait until the turn is stopped.
    Abandoned,
}

impl From<TurnEnding> for MessageOutcome {
    fn from(ending: TurnEnding) -> Self {
        match ending {
            TurnEnding::Done | TurnEnding::HandedOut => MessageOutcome::Done,
            TurnEnding::Stopped => MessageOutcome::Stopped,
            TurnEnding::Failed | TurnEnding::Interrupted => MessageOutcome::Failed,
        }
    }
}

/// A stopped program ends with what shells expect of one that Ctrl-C ended.
pub(super) fn exit_code(outcome: MessageOutcome) -> ExitCode {
    match outcome {
        MessageOutcome::Done | MessageOutcome::Exit => ExitCode::SUCCESS,
        MessageOutcome::Failed => ExitCode::FAILURE,
        MessageOutcome::Waiting => ExitCode::from(3),
        MessageOutcome::Stopped | MessageOutcome::Abandoned => ExitCode::from(130),
    }
}
