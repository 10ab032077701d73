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

/// The number of what a list or a stream goes on from: no larger than any that is given out.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "u64")]
pub(crate) struct PageCursor(u64);

impl TryFrom<u64> for PageCursor {
    type Error = String;

    fn try_from(number: u64) -> Result<Self, String> {
        match i64::try_from(number) {
            Ok(_) => Ok(PageCursor(number)),
            Err(_) => Err(format!("`{number}` is larger than any number, which is {}", i64::MAX)),
        }
    }
}

impl PageCursor {
    /// The number.
    pub(crate) fn get(self) -> u64 {
        self.0
    }
}

impl PageLimit {
    /// The number of rows.
    pub(crate) fn rows(self) -> u32 {
        self.0
    }
}
