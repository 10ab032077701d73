//! How lists are read in pages.

use serde::Deserialize;

/// The most rows of a page.
const MOST: u32 = 500;

/// The rows of a page where nobody says how many.
const USUAL: u32 = 50;

/// How many rows a page has, at most.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "Option<u32>")]
pub(crate) struct PageLimit(u32);

impl Default for PageLimit {
    fn default() -> Self {
        PageLimit(USUAL)
    }
}

impl TryFrom<Option<u32>> for PageLimit {
    type Error = String;

    fn try_from(rows: Option<u32>) -> Result<Self, String> {
        match rows.unwrap_or(USUAL) {
            rows @ 1..=MOST => Ok(PageLimit(rows)),
            _ => Err(format!("a page has 1 to {MOST} rows")),
        }
    }
}

impl PageLimit {
    /// The number of rows.
    pub(crate) fn rows(self) -> u32 {
        self.0
    }
}
