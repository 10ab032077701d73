//! Every source file begins by saying what it is for.

use super::TidyProblem;
use crate::project::TextFile;

/// A problem when the file does not start with `//!`.
pub(super) fn check(file: &TextFile) -> Option<TidyProblem> {
    let first = file.text.lines().next().unwrap_or_default();
    let starts = first.strip_prefix("//!").is_some_and(|rest| !rest.trim().is_empty());
    (!starts).then(|| {
        TidyProblem::new(&file.path, 1, "starts without a `//!` header that says what it is for")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(text: &str) -> bool {
        check(&TextFile { path: "crates/recto/src/a.rs".into(), text: text.into() }).is_none()
    }

    #[test]
    fn a_file_starts_with_its_purpose() {
        assert!(passes("//! Adds numbers.\nfn add() {}\n"));
        assert!(!passes("fn add() {}\n"));
        assert!(!passes("\n//! Too late.\n"));
        assert!(!passes("//!\n"));
        assert!(!passes(""));
    }
}
