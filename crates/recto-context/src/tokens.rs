//! Counts tokens where no tokenizer of the model is at hand.
//!
//! A text is read once and reduced to a [`TextProfile`]: how many words, digits, Han characters and so
//! on it holds. A model's [`TokenRates`] turn a profile into [`Tokens`]. The default rates were fitted
//! on six tokenizers in use today and lean to the safe side; a [`Calibration`] then moves them to
//! what one model's server really counts.
//!
//! Everything here is linear, and that is the point: profiles add up like the texts they describe,
//! a prompt's estimate is the sum of its parts, and the correction is a small linear regression
//! instead of a guess.
//!
//! Never tokenizes, never reads a vocabulary, never does I/O.

mod calibration;
mod profile;
mod rates;

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

pub use calibration::{Calibration, ObservationOutcome};
pub use profile::{TextProfile, TokenClass};
pub use rates::TokenRates;

/// A number of tokens. Arithmetic saturates: a budget that wraps around is worse than one that is
/// pinned.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tokens(u32);

impl Tokens {
    /// No tokens at all.
    pub const ZERO: Tokens = Tokens(0);

    /// Makes a number of tokens.
    pub const fn new(count: u32) -> Tokens {
        Tokens(count)
    }

    /// The number as an integer.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// With thousands separators: `4,096`.
impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&grouped_digits(self.0.into()))
    }
}

/// A number as people read it, its thousands apart: `12,345`.
pub fn grouped_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A noun as it is said of so many: `1 byte`, `2 entries`, `0 days`.
pub fn counted_noun(count: u64, noun: &str) -> String {
    let stem = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match (count, stem) {
        (1, _) => noun.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) => format!("{noun}s"),
    }
}

/// A number of bytes in words, its digits as they are: `1 byte`, `12345 bytes`.
pub fn byte_words(bytes: u64) -> String {
    format!("{bytes} {}", counted_noun(bytes, "byte"))
}

impl Add for Tokens {
    type Output = Tokens;

    fn add(self, other: Tokens) -> Tokens {
        Tokens(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Tokens) {
        *self = *self + other;
    }
}

impl Sub for Tokens {
    type Output = Tokens;

    fn sub(self, other: Tokens) -> Tokens {
        Tokens(self.0.saturating_sub(other.0))
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Tokens>>(tokens: I) -> Tokens {
        tokens.fold(Tokens::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests;
