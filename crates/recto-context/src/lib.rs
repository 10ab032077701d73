//! What a model is sent: layer by layer, in one order, inside the window, with
//! everything that was left out and why.
//!
//! Start at [`assemble`]. It takes [`Inputs`] (the agent's [`Catalog`], the
//! session's items and history, what search picked, the model's window) and
//! gives a [`RequestContext`]: the parts of the page, the messages they make,
//! the tools offered, what was dropped, and the [`Carry`] for the next request.
//! The order of the page is the order of [`Layer`]'s variants.
//!
//! This crate is pure. It has no async, clock, randomness, file, socket or SQL;
//! time, ids, counts and scores come in as values. The same inputs give the
//! same bytes.

mod assemble;
mod budget;
mod carry;
mod catalog;
mod compact;
mod compare;
mod compose;
mod context;
mod counter;
mod exchange;
mod fit;
mod inputs;
mod item;
mod layer;
mod layout;
mod memory;
mod message;
pub mod mode;
mod nearest;
mod page;
mod plan;
mod record;
mod report;
mod room;
mod skills;
mod summary;
mod text;
mod tokens;
mod word_list;

pub use assemble::assemble;
pub use budget::{Budget, OverBudget, Window, WindowSource};
pub use carry::{Carry, MadeFor, Trimmed};
pub use catalog::{Catalog, Document, File, Notice, Skill, SystemFiles, ToolSpec};
pub use compact::{Compaction, Fact, FactKind, complete, extract, facts, lost, summary_prompt};
pub use compare::{Cause, Change, Comparison, compare};
pub use compose::{before_calls, read_calls, spoken};
pub use context::{DropReason, Dropped, OfferedTool, RequestContext, ToolChoice};
pub use counter::{CountKind, CountTable, Counter};
pub use inputs::{Bootstrap, Inputs, Limits};
pub use item::{Include, ItemId, ItemKind, Joined, Pick, Priority, Scores, SessionItem, Source};
pub use layer::Layer;
pub use layout::{
    Layout, PickMessages, PickPlacement, Preset, SkillRender, SystemMessages, ToolCalls,
};
pub use memory::{
    Audience, Marks, Memory, PinReason, Pinned, Pool, Scope, Snapshot, TypedMemory, Who,
    choose_snapshot, fingerprint, fit_whole, may_recall, may_remember, may_see, recency,
};
pub use message::{
    Body, CallId, ContentPart, Framing, HistoryProblem, Image, KeptPick, MarkdownHeader,
    MarkdownMessage, MarkdownSession, Message, MessageId, Opaque, OpaqueKind, Shown, Stamp,
    TimedMessage, ToolCall, TurnNumber, UserMessage, from_markdown, more_markdown, read_jsonl,
    to_markdown,
};
pub use mode::{ContextMode, Mode, ModeDecision, ModeReason};
pub use nearest::{folded, nearest};
pub use page::{
    ChatMessage, ChatRole, Content, ContentPiece, ItemUse, Join, Part, Reason, Span, render,
};
pub use plan::has_tools;
pub use record::{Contents, MessageRef, Record, Recorded, Referred, RestoreError};
pub use summary::{Summary, SummaryBy, summary_room};
pub use text::{ContentHash, ParseHashError, Text};
pub use tokens::{Calibration, Class, Observed, Profile, Rates, Tokens};
