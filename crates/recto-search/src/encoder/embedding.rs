//! What an encoder makes of a text: a direction.

/// How many numbers an embedding of the built-in encoder has. Another encoder has as many as its
/// own files say.
pub const DIMENSIONS: usize = 384;

/// A text as a direction: a vector of length 1. Texts of like meaning point the
/// same way.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding(Box<[f32]>);

impl Embedding {
    /// The direction of these numbers. Where they have none, because all are zero
    /// or one is no number, the embedding is zero and like nothing.
    pub fn new(mut values: Box<[f32]>) -> Self {
        // In double precision, in which no square of a single one overflows.
        let squares: f64 = values.iter().map(|value| f64::from(*value).powi(2)).sum();
        let scale = if squares > 0.0 && squares.is_finite() { squares.sqrt().recip() } else { 0.0 };
        for value in &mut *values {
            *value = if scale > 0.0 { (f64::from(*value) * scale) as f32 } else { 0.0 };
        }
        Embedding(values)
    }

    /// The numbers of the vector.
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// How alike two texts are: 1 when they are the same, 0 when they have nothing
    /// in common. Embeddings of two encoders have nothing in common.
    pub fn cosine(&self, other: &Embedding) -> f32 {
        if self.0.len() != other.0.len() {
            return 0.0;
        }
        // Eight sums side by side, so that the compiler can use wide registers.
        let mut sums = [0.0_f32; 8];
        for (own, others) in self.0.chunks(8).zip(other.0.chunks(8)) {
            for (sum, (a, b)) in sums.iter_mut().zip(own.iter().zip(others)) {
                *sum += a * b;
            }
        }
        sums.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(with: impl Fn(usize) -> f32) -> Box<[f32; DIMENSIONS]> {
        let mut values = Box::new([0.0; DIMENSIONS]);
        values.iter_mut().enumerate().for_each(|(index, value)| *value = with(index));
        values
    }

    #[test]
    fn an_embedding_has_length_one() {
        for size in [1e-30, 1.0, 1e30] {
            let embedding = Embedding::new(filled(|index| (index as f32 - 100.0) * size));
            assert!((embedding.cosine(&embedding) - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn every_number_counts_whatever_the_length() {
        for length in [1, 7, 8, 312, 768] {
            let mut values = vec![0.0; length];
            values[length - 1] = 2.0;
            let last = Embedding::new(values.into());
            assert_eq!(last.cosine(&last), 1.0, "{length}");
        }
        let other = Embedding::new(vec![1.0; 768].into());
        assert_eq!(Embedding::new(filled(|_| 1.0)).cosine(&other), 0.0);
    }

    #[test]
    fn what_points_nowhere_is_like_nothing() {
        let some = Embedding::new(filled(|index| index as f32));
        for none in [0.0, f32::NAN, f32::INFINITY] {
            let nowhere = Embedding::new(filled(|index| if index == 7 { none } else { 0.0 }));
            assert_eq!(nowhere.as_slice(), [0.0; DIMENSIONS]);
            assert_eq!(some.cosine(&nowhere), 0.0);
        }
    }
}
