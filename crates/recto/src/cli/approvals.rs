//! What can be typed behind `recto approvals`.

use clap::{Subcommand, ValueEnum};
use recto_store::ApprovalId;

use super::JsonArg;

/// The commands of `recto approvals`.
#[derive(Debug, Subcommand)]
pub enum ApprovalCommand {
    /// List the questions that wait for an answer, oldest first
    List(JsonArg),
    /// Show a question, with all that would be done, and who answered it
    Show {
        /// The question's number
        id: ApprovalId,
        /// Print as JSON: what would be done is `action`, field by field
        #[arg(long)]
        json: bool,
    },
    /// Answer a question; where no Recto runs any more that waits for it, its turn goes on here
    Answer {
        /// The question's number
        id: ApprovalId,
        /// The answer
        answer: AnswerArg,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// What can be said to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AnswerArg {
    /// Allow this call
    #[value(alias = "once")]
    Allow,
    /// Allow every call of the tool in this session
    Session,
    /// Deny the call
    Deny,
}
