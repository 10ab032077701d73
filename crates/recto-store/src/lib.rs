//! Sessions, turns and the record of every request, kept for good.
//!
//! Start at [`Store`]. It has what was said ([`StoredSession`], [`StoredMessage`]),
//! what is being worked on ([`StoredTurn`], [`TurnCommit`]) and what was sent and
//! came back ([`NewRequest`], [`RequestRecord`]). A turn goes through it like
//! this:
//!
//! ```text
//! load       the session's state, in one read
//! begin      the inbound, its message and the first request, in one commit
//! advance    an answer, and with it the results and the next request, or the
//!            outcome; once for each step
//! ```
//!
//! What a call has answered is on the disk. A turn that another process is at
//! work on can't be written by this one, wherever that process is; a turn whose process has ended
//! can be taken over ([`Store::take_over`]).
//!
//! Inside there are one thread that writes, with everything that waits in one
//! commit (`writer`), a few connections that read and never wait for it
//! (`readers`), and a thread that moves the log into the database
//! (`checkpoint`). Records are kept small by `documents` and `codec`.
//!
//! This crate alone knows SQL, and no type of a database leaves it. It does not know what a turn does, what a
//! request means, or what the time is.

mod approvals;
mod change_watch;
mod channel_deliveries;
mod channel_updates;
mod check;
mod codec;
mod commit;
mod compactions;
mod composition;
mod copy;
mod delegations;
mod deletion;
mod deliveries;
mod documents;
mod embeddings;
mod error;
mod feed;
mod garbage;
mod holder;
mod ids;
mod item_uses;
mod items;
mod leases;
mod line_diff;
mod names;
mod opening;
mod owner;
mod pairings;
mod postgres;
mod readers;
mod records;
mod redactions;
mod request_body;
mod retractions;
mod rows;
mod schedules;
mod search;
mod sessions;
mod source;
mod sql;
mod sqlite;
mod stops;
mod store;
mod tokens;
mod transcript;
mod trusted;
mod turn_relays;
mod turns;
mod usage;
mod writable;
mod writer;

pub use crate::postgres::url::{PostgresUrl, PostgresUrlError};
pub use approvals::{
    ApprovalAnswer, ApprovalDecision, ApprovalExtent, NewApproval, SessionApproval, StoredApproval,
};
pub use change_watch::ChangeWatch;
pub use channel_deliveries::{
    ChannelDelivery, ChannelHealth, ChannelHealthState, DeliveryEnding, NewChannelDelivery,
    OverheardMessage, PostState,
};
pub use channel_updates::{ChannelAccount, ChannelCursor, ChannelUpdate, NewChannelUpdate};
pub use commit::{NewMessage, SessionBasis, StartedTurn, TurnCommit, TurnOutcome};
pub use compactions::{NewCompaction, StoredCompaction};
pub use composition::{ContentKind, ContentSize, StoreComposition, measure_store};
pub use copy::{CopiedTable, copy_store};
pub use delegations::{NewDelegation, ParentCall, StoredDelegation};
pub use deletion::DeletedSession;
pub use deliveries::DeliveryKey;
pub use documents::{Fidelity, NewRequest};
pub use embeddings::EmbeddingKey;
pub use error::{RowId, StoreError, StoreResult};
pub use feed::MessagePosition;
pub use holder::SessionHolder;
pub use ids::{
    ApprovalId, ChannelDeliveryId, ChannelUpdateId, CompactionId, Moment, PairingId, ParseIdError,
    RequestId, RetractionId, RunId, ScheduleId, SessionId, TokenId, TurnId,
};
pub use item_uses::{UsedItems, UsedTurn, UsesRevision};
pub use items::{ItemState, ItemsRevision};
pub use leases::LeaseOutcome;
pub use names::{SessionName, SessionNameError};
pub use owner::TurnOwner;
pub use pairings::{
    NewPairing, PAIRING_ROOM_MINUTES, PairedStanding, PairingGrant, PairingRequest, PairingSubject,
    StandingChange, StoredPairing, describe_pairing_room, full_bots,
};
pub use records::{RequestAnswer, RequestRecord, RequestUsage};
pub use redactions::{RedactedSession, RedactionCounts};
pub use request_body::RequestBody;
pub use retractions::{NewRetraction, RetractionReason, StoredRetraction, TurnRetractions};
pub use schedules::{
    AnswerDelivery, AnswerPlace, AnswerPost, DueTime, NewSchedule, RunEnding, RunStart, StoredRun,
    StoredSchedule, run_post_key,
};
pub use search::{MessageHit, MessageRole};
pub use sessions::{
    BindingKey, NewSession, NewTranscript, SessionFilter, SessionSummary, SettingsMap,
    StoredSession,
};
pub use sqlite::salvage::{SalvageReport, SalvagedTable, check_store, salvage_store};
pub use sqlite::schema::VERSION as STORE_VERSION;
pub use store::{Store, StoreLocation, StoreOptions};
pub use tokens::{NewToken, StoredToken};
pub use transcript::{MessageCursor, SessionCursor, SessionState, StoredMessage};
pub use trusted::TrustUpdate;
pub use turn_relays::{RelayedSnapshot, TurnWishes};
pub use turns::{NewTurn, OpenTurns, OwnedTurn, StoredTurn, TurnAttempts, TurnEnding, TurnStatus};
pub use usage::{
    DayUsage, EndingCounts, ItemCounts, ItemPlace, ItemTally, ItemUsage, LastUse, SELECTION_BINS,
    SearchVerdict, SelectionBin, SessionUsage, TokenCounts, TurnTally, UsageSummary,
};
pub use writable::LEAST_ROOM as LEAST_STORE_ROOM;
