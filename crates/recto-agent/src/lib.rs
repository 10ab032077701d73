//! The turn: from a message to its reply, kept for good.
//!
//! [`Agent`] is the door. A message goes in by [`Agent::submit`] and is stored
//! before it is acknowledged; its session's mailbox runs one turn at a time; the
//! turn gathers, assembles, records, calls and runs tools until the model has
//! said its last word. What happens next is decided by a pure function
//! ([`step::TurnState::step`]); what it decides is performed by a thin shell.
//! Events tell of all of it while it happens.
//!
//! This crate knows no surface: who typed a message, and how a reply is shown,
//! is decided above it. It knows no vendor's JSON and no SQL either.

mod agent;
mod approvals;
mod commands;
mod counts;
mod error;
mod event;
mod inbound;
mod items;
mod mailbox;
mod markdown;
mod memories;
mod options;
mod preview;
mod record;
mod recover;
mod search;
mod selection;
mod session_cache;
mod shared;
pub mod step;
mod stock;
mod stop;
mod turn;
mod why;

pub use agent::{Agent, Conversation, Submission};
pub use approvals::{Answered, GoesOn};
pub use commands::{Answer, COMMANDS, Command, CommandHelp, CommandProblem, Scope, Stopping};
pub use counts::assemble_for;
pub use error::AgentError;
pub use event::{Event, Finished, Question, Totals, Trouble, TurnEvent};
pub use inbound::Inbound;
pub use items::{ItemChange, ItemOutcome, Mentioned, join_mentioned, typed_name};
pub use memories::{
    Besides, Choosing, Chosen, Memories, Recall, Recalled, Recollection, RememberError, Remembered,
    memory_tools, runnable_tools,
};
pub use options::{
    AgentOptions, ApprovalSetting, CompactionSetting, ModelEntry, Parts, SessionSettings,
};
pub use preview::Preview;
pub use record::{Verdict, rebuild, restore, verify};
pub use recover::settle;
pub use search::{
    Groups, How, IsCandidate, Patience, Progress, Ranked, SearchParts, Searcher, WhyWords,
};
pub use selection::{Found, SearchSetting, Wanted};
pub use shared::window_of;
pub use stock::{add_tools, changed, leave_out};
pub use why::{Why, WhyReason, why};
