//! The turn: from a message to its reply, kept for good.
//!
//! [`Agent`] is the door. A message goes in by [`Agent::submit`] and is stored
//! before it is acknowledged; its session's mailbox runs one turn at a time; the
//! turn gathers, assembles, records, calls and runs tools until the model has
//! said its last word. What happens next is decided by a pure function
//! ([`step::TurnState::step`]); what it decides is performed by a thin shell.
//! Events tell of all of it while it happens: [`Agent::listen`] gives a session's,
//! from now on or from where a listener left off.
//!
//! This crate knows no surface: who typed a message, and how a reply is shown,
//! is decided above it. It knows no vendor's JSON and no SQL either.

mod access;
mod actor;
mod agent;
mod agent_catalog;
mod approvals;
mod bindings;
mod calling_turn;
mod commands;
mod conversation;
mod delegation;
mod elsewhere;
mod embedding;
mod error;
mod event;
mod event_log;
mod event_stream;
mod exact_counts;
mod file_mentions;
mod guests;
mod inbound;
mod inventory;
mod item_search;
mod items;
mod listed_items;
mod mailbox;
mod mailboxes;
mod memories;
mod message_ranges;
mod notice;
mod open_turns;
mod options;
mod own_use;
mod preview;
mod record;
mod recover;
mod redact;
mod rights;
mod schedules;
mod search;
mod selection;
mod session_cache;
mod session_changes;
mod session_files;
mod shared;
mod shutdown;
mod skill_trust;
mod stats;
pub mod step;
mod stop;
mod stop_requests;
mod take_back;
mod tally;
mod trace;
mod turn;
mod turn_counters;
mod turn_gate;
mod turn_relay;
mod turn_usage;
mod unknown_items;
mod views;
mod why;

pub use actor::{Actor, ActorRole, TokenAccess, TokenHolder, TokenRights};
pub use agent::{Agent, Conversation, InboundIntake, SessionRenewal, Submission};
pub use agent_catalog::{
    FlawedTool, add_tools, find_flawed_tools, keep_names_of_looked_at, other_agents,
    remove_disabled, remove_flawed,
};
pub use approvals::{AnsweredApproval, TurnContinues, describe_answered, stored_answer_text};
pub use bindings::{
    AgentBinding, BindingQuery, BoundAgent, NamePattern, find_bound_agent, find_shadowing,
};
pub use commands::{
    ApprovalScope, COMMANDS, ChatCommand, CommandHelp, CommandProblem, CommandReply,
    SURFACE_COMMANDS, SurfaceCommand, SurfaceCommandHelp, read_setting_value,
    session_setting_names, session_setting_words,
};
pub use conversation::{SOLE_ACCOUNT, name_in_scope};
pub use delegation::{
    DELEGATE_TOOL, Delegation, DelegationContext, DelegationLimits, TaskOutcome, callable_tools,
    delegate_tool,
};
pub use embedding::EmbeddedText;
pub use error::{AgentError, AgentResult};
pub use event::{
    ApprovalQuestion, ClientCall, EventKind, EventNumber, FinishedTurn, RunningCall, TurnError,
    TurnEvent, TurnSnapshot,
};
pub use event_stream::{EventCursor, EventListener};
pub use exact_counts::{ItemCounts, assemble_for};
pub use file_mentions::{FILE_MENTION, mentioned_files};
pub use guests::{GuestBook, GuestStanding, SessionGuest};
pub use inbound::{Inbound, InboundReading, InputSource, SurfaceMessage};
pub use inventory::{AgentInventory, IncludeSettings, SourceFileView};
pub use item_search::{
    ItemSearch, ItemSearchReport, ItemSearchRow, MemoryShelf, PageForm, TurnFate, by_probability,
    search_items, search_items_with,
};
pub use items::{
    ItemChange, ItemOutcome, MentionedItems, bare_item_name, join_mentioned, name_means_item,
    typed_name, without_mentions,
};
pub use listed_items::{ListedItem, list_items, tool_text};
pub use memories::{
    AgentMemories, ChosenMemories, KnownMessages, MemoryCriteria, MemoryEdit, MemoryRanking,
    RecallOutcome, RecallQuery, RecalledContent, Recollection, RememberError, asks_for_memories,
    memory_tools, runnable_tools,
};
pub use notice::{DroppedFact, NoticeFacts, TurnNotice};
pub use open_turns::{
    OpenTurn, OpenTurnStanding, find_open_turn, find_standing, first_words, list_open_turns,
    shorten_words,
};
pub use options::{
    AgentOptions, AgentParts, ApprovalSetting, CompactionSetting, ModelEntry, SessionFolder,
    SessionSettings,
};
pub use own_use::UseRecord;
pub use preview::RequestPreview;
pub use record::{
    ReplayVerdict, RequestPurpose, outline_request, rebuild_body, recorded_notices,
    restore_request, verify_body,
};
pub use recover::{ClosedTurn, SettledTurns, settle_open_turns};
pub use redact::{RedactionReport, count_redaction, redact_store};
pub use rights::{Right, is_allowed, may_reach};
pub use schedules::{
    DeliveryTarget, PlanError, RequestedRun, RunView, SCHEDULE_TOOL, ScheduleDraft, ScheduleHealth,
    SchedulePlan, ScheduleRequest, ScheduleSettings, ScheduleView, StandingReport, change_standing,
    is_typed_in, put_out, schedule_tool,
};
pub use search::{
    EmbeddingProgress, IsCandidate, LazyEncoder, RankedItems, RankingBasis, SearchParts,
    SearchPatience, Searcher, WordsOnlyReason, search_message,
};
pub use selection::{ItemQuery, SearchOutcome, SearchSetting};
pub use session_files::{delete_session_files, path_without_topic};
pub use shared::model_window;
pub use shutdown::{TakeUpReport, TakeUpScope};
pub use skill_trust::{SkillIdentity, SkillOrigin, SkillStanding, TrustRecords, TrustRows};
pub use stats::{
    ParseSpanError, ReportedItem, UsageQuery, UsageReport, UsageSpan, report_usage, seen_uses,
    session_usage_json, usage_json,
};
pub use stop_requests::{StopOutcome, StopReport, stop_session};
pub use take_back::{
    EditableMessage, ReplacedExchange, StandingCall, TakenBackEvent, UndoneExchange,
    describe_arguments,
};
pub use trace::CONTENTS;
pub use turn::{HandedResult, said_before};
pub use turn_counters::{ModelTokens, TurnCounters};
pub use turn_usage::{PromptUsage, UsageTotals};
pub use unknown_items::{ConfiguredItem, ConfiguredItems, ItemSetting, UnknownItem};
pub use views::{
    CacheSource, PromptCost, RecordReader, ReplayCheck, ReplayPlan, ReplayTarget, RequestPair,
    SessionExportForm, TurnComparison, TurnExplanation, TurnRecord, approval_json, cached_prefix,
    compaction_json, memory_day, memory_json, memory_scope_parts, message_hit_json, message_json,
    page_text_json, preview_json, question_json, recorded_cause, request_json, sampling_words,
    session_item_json, session_json, summary_json, transcript_json, turn_json,
};
pub use why::{ItemChangeSince, ItemExplanation, ItemReason, explain_item};
