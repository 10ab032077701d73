//! What a model is sent: layer by layer, in one order, inside the window, with
//! everything that was left out and why.
//!
//! Start at [`assemble`]. It takes [`AssemblyInputs`] (the agent's [`Catalog`], the
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
mod cached;
mod carry;
mod catalog;
mod client;
mod compact;
mod compare;
mod compose;
mod context;
mod counter;
mod description;
mod earlier_use;
mod exchange;
mod fit;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod inputs;
mod item;
mod item_list;
mod item_reading;
mod layer;
mod layout;
mod memory;
mod message;
pub mod mode;
mod nearest;
mod page;
mod plan;
mod record;
mod redaction;
mod remedy;
mod report;
mod reveal;
mod room;
mod skill_texts;
mod standing;
mod summary;
mod text;
mod tokens;
mod word_list;

pub use assemble::assemble;
pub use budget::{Budget, OverBudget, Window, WindowSource};
pub use cached::{CachedPrefix, CachedShare, CachedShares, ServedTokens};
pub use carry::{Carry, FinderOfTool, FoundTool, TargetModel, TooLongPick, TrimTotals};
pub use catalog::{
    Catalog, CatalogDocument, FileNotice, OffReason, OffTool, Skill, SystemFiles, ToolSpec,
    WorkspaceFile,
};
pub use client::{
    CLIENT, ClientContext, ClientMessage, ClientResult, ClientTool, ClientToolChoice,
    ReconciledHistory, reconcile_history,
};
pub use compact::{
    CompactionInput, Fact, FactKind, complete_summary, extract_summary, find_facts, lost_facts,
    summary_prompt,
};
pub use compare::{ChangeCause, ChangeExcerpt, Comparison, PromptChange, compare_requests};
pub use compose::{read_calls, spoken_text, text_before_calls};
pub use context::{CallDemand, DropReason, DroppedEntry, OfferedTool, RequestContext, ToolChoice};
pub use counter::{CountKind, CountTable, TokenCounter};
pub use description::ItemDescription;
pub use earlier_use::{CivilDay, EarlierUse, NotADay};
pub use inputs::{AssemblyInputs, Bootstrap, ContextLimits, HistoryOwner};
pub use item::{
    ContentSource, IncludeMode, ItemId, ItemKind, ItemOrigin, Pick, Priority, RespelledWord,
    Scores, SessionItem,
};
pub use item_list::{ListEntry, ListLimits, listed_name, own_words, write_list};
pub use item_reading::{
    LoadedKey, ReadRefusal, ReadableItem, ReadableItems, bare_skill_name, item_label, loaded_item,
};
pub use layer::Layer;
pub use layout::{
    ImageRender, LayoutPreset, PageLayout, PickMessages, PickPlacement, SkillRender,
    SystemMessages, ToolCalls,
};
pub use memory::{
    Audience, AudienceKind, Memory, MemoryMarks, MemoryPool, MemoryScope, MemorySnapshot,
    PinReason, PinnedMemory, TypedMemory, choose_snapshot, may_recall, may_remember, may_see,
    memories_fit, memory_fingerprint, recency_weight,
};
pub use message::{
    AttachedFile, CallId, ContentPart, Framing, HistoryProblem, Image, KeptPick, LeadingStamp,
    MarkdownHeader, MarkdownMessage, MarkdownRetraction, MarkdownSession, Message, MessageBody,
    MessageId, MessageStamp, Opaque, OpaqueKind, PickDisplay, SpeakerName, TimedMessage, ToolCall,
    TurnNumber, UserMessage, add_overheard, from_markdown, more_markdown, read_jsonl, sender_words,
    to_markdown, visible_text,
};
pub use mode::{ContextMode, Mode, ModeDecision, ModeReason, ModeSource, WantedCall};
pub use nearest::{fold_name, nearest_name, nearest_slip, nearest_within};
pub use page::{
    ChatMessage, ChatRole, ContentPiece, ItemUse, Part, PartContent, PartJoin, PartPlace,
    PartReason, PartSpan, render_messages,
};
pub use plan::has_tools;
pub use record::{
    ContentRef, ContextRecord, MessageHash, MessageRef, RecordBundle, RecordContents,
    RecordOutline, RestoreError,
};
pub use redaction::{Redaction, RedactionError};
pub use remedy::Remedy;
pub use reveal::{Reveal, is_all_seen, is_unseen, reveal, reveal_char, reveal_json};
pub use skill_texts::{POSSIBLE_HEADING, reading_tools};
pub use standing::{AlikeItem, ItemForm, ItemPlacement, ItemReading, ItemStanding, ItemStatus};
pub use summary::{HistorySummary, SummaryBy, summary_room};
pub use text::{ContentHash, ParseHashError, Text, first_chars, one_line};
pub use tokens::{
    Calibration, ObservationOutcome, TextProfile, TokenClass, TokenRates, Tokens, byte_words,
    counted_noun, grouped_digits,
};
