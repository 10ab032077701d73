//! How lists are read in pages.

use serde::Deserialize;

/// The most rows of a page.
const MOST: u32 = 500;

/// The rows of a page where nobody says how many.
const USUAL: u32 = 50;

/// How many rows a page has, at most.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct PageLimit(Option<u32>);

impl PageLimit {
    /// The number of rows, within what is given at once.
    pub(crate) fn rows(self) -> u32 {
        self.0.unwrap_or(USUAL).clamp(1, MOST)
    }
}
