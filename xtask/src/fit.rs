//! `cargo xtask fit`: the weights of search, from labelled messages.
//!
//! ```text
//! sets      items, messages, which fit which                  sets
//! vectors   embeddings, made once and kept beside the build    vectors
//! correct   moves messages towards what they need           correct
//! lists     each message with all items, and with random few,   lists
//!           and what all groups together reach for it
//! fit       the order, and what decides                       weigh, solve
//! report    on worlds that were left out of the fit            report
//! write     weights.rs, correction.bin and background.txt         write
//! ```
//!
//! The public sets are read where they are and never become part of the repository;
//! the one of chats (`locomo`) is not read at all. What is written is numbers and single words.

mod background;
mod correct;
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
use sets::SetPurpose;

/// What is found anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FitScope {
    /// The order, and what decides.
    All,
    /// What decides, and the correction of messages; the order stays as it is.
    Decision,
}

/// Fits what is asked for and writes it into recto-search.
pub(crate) fn run(root: &Path, target: &Path, scope: FitScope) -> Result<()> {
    let sets = sets::read(root)?;
    let words = background::word_frequencies(&sets);
    let source = root.join("crates/recto-search/src");
    if write::background(&source.join("lexical/background.txt"), &words)? {
        println!("the background has changed: run `cargo xtask fit` once more to fit with it");
        return Ok(());
    }
    let weights = source.join("rank/weights.rs");
    let mut vectors = vectors::FitVectors::open(target)?;
    let requests = weigh::directions(&sets, &vectors);
    let corrections = correct::corrections(&sets, &mut vectors);
    let mut lists: Vec<CandidateList> = Vec::new();
    for (number, set) in sets.iter().enumerate() {
        if scope == FitScope::All || set.purpose == SetPurpose::OrderAndDecision {
            lists.extend(lists::candidate_lists(
                number,
                set,
                &requests,
                &corrections,
                &mut vectors,
            )?);
        }
    }
    vectors.save()?;
    let orders = match scope {
        FitScope::All => weigh::orders(&sets, &lists),
        FitScope::Decision => write::read_orders(&weights)?,
    };
    lists::compare_groups(&sets, &mut lists, &orders);
    let fitted = weigh::decide(&sets, &lists, &orders, |_| true);
    report::print(&sets, &lists, &orders);
    std::fs::write(source.join("rank/correction.bin"), corrections.all.to_bytes())?;
    write::weights(&weights, &fitted, &requests)
}
