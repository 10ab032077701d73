//! What an encoder does not know of requests.
//!
//! An encoder puts texts side by side that mean the same. A message and what it needs often don't:
//! "somebody pasted the key into the chat" and the rule on secrets. The correction is a matrix
//! that moves a message towards what messages like it need. `cargo xtask fit` finds it on the
//! workspaces of invented people, and holds it so short that it carries over to workspaces which
//! it was not found on.
//!
//! It moves messages only. The vectors of items are what the encoder made of them, so nothing has
//! to be embedded anew when the correction changes.

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::encoder::{DIMENSIONS, Embedding};

/// A matrix that moves messages towards what they need.
#[derive(Clone)]
pub struct QueryCorrection {
    /// What each dimension of a message adds to all of them, one row after the other.
    rows: Arc<[f32]>,
}

/// The correction that `cargo xtask fit` has found.
static FITTED: LazyLock<QueryCorrection> = LazyLock::new(|| {
    let found = QueryCorrection::from_bytes(include_bytes!("rank/correction.bin"));
    found.unwrap_or_else(QueryCorrection::none)
});

impl QueryCorrection {
    /// How many bytes it takes in a file.
    pub const BYTES: usize = size_of::<f32>() + DIMENSIONS * DIMENSIONS;

    /// The correction that leaves every message where it is.
    pub fn none() -> QueryCorrection {
        QueryCorrection { rows: Arc::new([]) }
    }

    /// The correction with these rows.
    pub fn from_rows(rows: &[[f32; DIMENSIONS]; DIMENSIONS]) -> QueryCorrection {
        QueryCorrection { rows: rows.as_flattened().into() }
    }

    /// Reads what `to_bytes` wrote; nothing if it can't have been written by it.
    pub fn from_bytes(bytes: &[u8]) -> Option<QueryCorrection> {
        let (scale, values) = bytes.split_first_chunk().filter(|_| bytes.len() == Self::BYTES)?;
        let scale = f32::from_le_bytes(*scale);
        let value = |byte: &u8| scale * f32::from(i8::from_le_bytes([*byte]));
        scale.is_finite().then(|| QueryCorrection { rows: values.iter().map(value).collect() })
    }

    /// The correction as bytes: a factor, and a whole number from -127 to 127 for each value.
    pub fn to_bytes(&self) -> Vec<u8> {
        let most = self.rows.iter().fold(0.0, |most: f32, value| most.max(value.abs()));
        let scale = (most / 127.0).max(f32::MIN_POSITIVE);
        let byte = |value: &f32| ((value / scale).round() as i8).to_le_bytes()[0];
        scale.to_le_bytes().into_iter().chain(self.rows.iter().map(byte)).collect()
    }

    /// A message's embedding, moved towards what the message needs.
    pub fn apply(&self, embedding: &Embedding) -> Embedding {
        let own = embedding.as_slice();
        let mut moved: Box<[f32]> = own.into();
        for (value, row) in own.iter().zip(self.rows.chunks_exact(DIMENSIONS)) {
            for (sum, weight) in moved.iter_mut().zip(row) {
                *sum += value * weight;
            }
        }
        Embedding::new(moved)
    }
}

impl Default for QueryCorrection {
    /// The correction that was fitted.
    fn default() -> Self {
        FITTED.clone()
    }
}

impl fmt::Debug for QueryCorrection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryCorrection({} values)", self.rows.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embedding(of: impl Fn(usize) -> f32) -> Embedding {
        let mut values = Box::new([0.0; DIMENSIONS]);
        values.iter_mut().enumerate().for_each(|(at, value)| *value = of(at));
        Embedding::new(values)
    }

    /// Half of the first dimension goes into the second as well.
    fn half_to_the_second() -> QueryCorrection {
        let mut rows = vec![[0.0; DIMENSIONS]; DIMENSIONS];
        rows[0][1] = 0.5;
        let rows: Box<[[f32; DIMENSIONS]; DIMENSIONS]> =
            rows.into_boxed_slice().try_into().expect("as many rows as dimensions");
        QueryCorrection::from_rows(&rows)
    }

    #[test]
    fn a_message_is_moved_and_keeps_its_length() {
        let first = embedding(|at| if at == 0 { 1.0 } else { 0.0 });
        let moved = half_to_the_second().apply(&first);
        let expected = embedding(|at| [1.0, 0.5].get(at).copied().unwrap_or(0.0));
        assert!((moved.cosine(&expected) - 1.0).abs() < 1e-6);
        assert_eq!(QueryCorrection::none().apply(&first), first);
    }

    #[test]
    fn what_is_like_nothing_stays_so() {
        let nothing = embedding(|_| 0.0);
        assert_eq!(half_to_the_second().apply(&nothing), nothing);
    }

    #[test]
    fn a_correction_is_read_as_it_was_written() {
        let bytes = half_to_the_second().to_bytes();
        let read = QueryCorrection::from_bytes(&bytes).expect("what was written");
        assert!((read.rows[1] - 0.5).abs() < 1e-6 && read.rows[0] == 0.0);
        assert!(QueryCorrection::from_bytes(&bytes[1..]).is_none());
        assert!(QueryCorrection::from_bytes(&[]).is_none());
    }

    #[test]
    fn the_fitted_one_moves_messages_a_little() {
        let message = embedding(|at| (at as f32).sin());
        let cosine = QueryCorrection::default().apply(&message).cosine(&message);
        assert!(cosine < 0.999_9 && cosine > 0.7, "{cosine}");
    }
}
