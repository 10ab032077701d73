//! Which items fit a message, how well, and why.
//!
//! ```text
//! SearchEntry  what can be found: name, description, whole text    entry
//!   ├─ chunks of at most 500 characters ─► vectors                 chunk, encoder, vectors
//!   └─ stemmed words ─► BM25                                       lexical
//! SearchMessage  the whole message, its parts, what it leans on    message
//! QueryCorrection  moves a message towards what it needs           correction
//! NameWords  items that differ in one word of their names          variants
//! VectorSpace  what the cosines of an encoder mean                 space
//! SearchIndex  both, kept up to date item by item                  index
//!   rank     signals, standardised and added; a probability        rank
//! UseEvidence  what the person used in messages like this one      own_use
//!   choose   the few that a turn takes, or none                    choose
//! ```
//!
//! The crate reads model files and nothing else. It keeps no vectors on disk,
//! starts no task and knows no clock: who calls it decides when to embed, and
//! where vectors are kept between runs.

mod choose;
mod chunk;
mod correction;
mod encoder;
mod entry;
mod index;
mod lexical;
mod likeness;
mod message;
mod own_use;
mod rank;
mod space;
mod spelling;
mod variants;
mod vectors;

pub use choose::{
    ChoiceOptions, GroupChoice, ItemGroup, ListOptions, SearchOptions, SearchPreset,
    best_probability, choose_listed,
};
pub use correction::QueryCorrection;
pub use encoder::{
    DIMENSIONS, Embedding, Encoder, EncoderError, EncoderFiles, EncoderSource, WordKnowledge,
};
pub use entry::SearchEntry;
pub use index::{
    DuplicatePick, IndexUpdate, MissingVector, RankedGroups, SearchIndex, SearchQuery,
    VectorCoverage,
};
pub use lexical::words;
pub use message::{QueryText, SaidBefore, SearchMessage};
pub use own_use::{MessageLikeness, MessageWords, PastUse, UseEvidence, asks_by_itself};
pub use rank::{
    DENSE_EVIDENCE, DENSE_MESSAGE, EVIDENCE, ITEM, MESSAGE, NEED_PLACE, REQUEST_PLACE, RankSignals,
    RivalEvidence,
};
pub use space::{CosineScale, VectorSpace};
pub use vectors::{PackedVector, VectorBlock};
