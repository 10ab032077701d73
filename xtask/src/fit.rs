//! `cargo xtask fit`: the weights of search, from labelled messages.
//!
//! ```text
//! sets      items, messages, which fit which                  sets
//! vectors   embeddings, made once and kept beside the build    vectors
//! lists     each message with all items, and with random few   lists
//! fit       order, contrast, whether anything fits             weigh, solve
//! report    on messages that were left out of the fit          report
//! write     weights.rs and background.txt of recto-search      write
//! ```
//!
//! The public sets are read where they are and never become part of the repository;
//! the one of chats (`locomo`) is not read at all. What is written is numbers and single words.

mod background;
mod lists;
mod report;
mod sets;
mod solve;
mod vectors;
mod weigh;
mod write;

use std::path::Path;

use crate::Result;
use lists::CandidateList;

/// Fits everything and writes it into recto-search.
pub(crate) fn run(root: &Path, target: &Path) -> Result<()> {
    let sets = sets::read(root)?;
    let words = background::word_frequencies(&sets);
    let source = root.join("crates/recto-search/src");
    if write::background(&source.join("lexical/background.txt"), &words)? {
        println!("the background has changed: run `cargo xtask fit` once more to fit with it");
        return Ok(());
    }
    let mut vectors = vectors::FitVectors::open(target)?;
    let requests = weigh::requests(&sets, &mut vectors)?;
    let mut lists: Vec<CandidateList> = Vec::new();
    for (number, set) in sets.iter().enumerate() {
        lists.extend(lists::candidate_lists(number, set, &requests, &mut vectors)?);
    }
    vectors.save()?;
    let fitted = weigh::all(&sets, &lists);
    report::print(&sets, &lists);
    write::weights(&source.join("rank/weights.rs"), &fitted, &requests)
}
