//! What is stored, as every surface tells of it: the terminal, MCP clients, the API and the web
//! pages show the same from here.
//!
//! [`RecordReader`] is the door, and it belongs to one actor: what they may not see is not there.
//! Nothing in here draws, and nothing is changed by looking.

mod comparison;
mod export;
mod item_reasons;
mod json;
mod memory;
mod page_text;
mod prompt_cost;
mod reader;
mod replay;
mod sampling;
mod turn_record;

pub use comparison::{RequestPair, TurnComparison};
pub use export::SessionExportForm;
pub use item_reasons::TurnExplanation;
pub use json::{
    approval_json, cached_prefix, compaction_json, message_hit_json, message_json, preview_json,
    question_json, recorded_cause, request_json, session_item_json, session_json, summary_json,
    transcript_json, turn_json,
};
pub use memory::{memory_day, memory_json, memory_scope_parts};
pub use page_text::page_text_json;
pub use prompt_cost::{CacheSource, PromptCost};
pub use reader::RecordReader;
pub use replay::{ReplayCheck, ReplayPlan, ReplayTarget};
pub use sampling::sampling_words;
pub use turn_record::TurnRecord;
