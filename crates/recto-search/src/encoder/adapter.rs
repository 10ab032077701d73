//! What the built-in encoder has learnt of requests.
//!
//! All-MiniLM-L6-v2 puts texts side by side that mean the same. A message and what it needs
//! often don't mean the same: "somebody pasted the key into the chat", and the rule on secrets.
//! The adapter adds to each matrix of the model's layers what brings such texts together: a few
//! products of a column and a row. `scripts/fit-adapter` finds them on sketches of the workspaces
//! of invented people, and holds all texts near to where they were.
//!
//! The additions are made once, when the weights are read, and before these become eight bits: a
//! text takes as long as without them.

use super::shape::EncoderShape;

/// The matrices of a layer, in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LayerMatrix {
    Query,
    Key,
    Value,
    Attended,
    Inner,
    Outer,
}

impl LayerMatrix {
    const ALL: [LayerMatrix; 6] = [
        LayerMatrix::Query,
        LayerMatrix::Key,
        LayerMatrix::Value,
        LayerMatrix::Attended,
        LayerMatrix::Inner,
        LayerMatrix::Outer,
    ];

    /// The name of its tensor, within its layer.
    pub(super) fn name(self) -> &'static str {
        match self {
            LayerMatrix::Query => "attention.self.query",
            LayerMatrix::Key => "attention.self.key",
            LayerMatrix::Value => "attention.self.value",
            LayerMatrix::Attended => "attention.output.dense",
            LayerMatrix::Inner => "intermediate.dense",
            LayerMatrix::Outer => "output.dense",
        }
    }

    /// How many inputs and outputs it has.
    fn size(self, shape: &EncoderShape) -> (usize, usize) {
        let (hidden, inner) = (shape.hidden.count(), shape.inner.count());
        match self {
            LayerMatrix::Inner => (hidden, inner),
            LayerMatrix::Outer => (inner, hidden),
            _ => (hidden, hidden),
        }
    }
}

/// What is added to the matrices of an encoder.
pub(super) struct EncoderAdapter {
    /// Layer by layer, in the order of [`LayerMatrix::ALL`].
    additions: Vec<LowRankAddition>,
}

/// What is added to one matrix: a sum of products of a column and a row.
pub(super) struct LowRankAddition {
    products: Vec<ColumnTimesRow>,
}

struct ColumnTimesRow {
    /// A number for each output.
    column: Vec<f32>,
    /// A number for each input.
    row: Vec<f32>,
}

impl EncoderAdapter {
    /// The adapter of the built-in encoder.
    pub(super) fn built_in() -> EncoderAdapter {
        const BYTES: &[u8] = include_bytes!("adapter.bin");
        let read = EncoderAdapter::from_bytes(BYTES, &EncoderShape::minilm());
        read.unwrap_or_else(|| EncoderAdapter { additions: Vec::new() })
    }

    /// Reads an adapter for models of a shape; nothing if it has another length than the number
    /// of products in its first four bytes says. Of each product there is a factor, then
    /// the row, then the column, in whole numbers from -127 to 127.
    fn from_bytes(bytes: &[u8], shape: &EncoderShape) -> Option<EncoderAdapter> {
        let (rank, mut rest) = bytes.split_first_chunk()?;
        let rank = u32::from_le_bytes(*rank);
        let mut additions = Vec::new();
        for matrix in (0..shape.layers).flat_map(|_| LayerMatrix::ALL) {
            let (inputs, outputs) = matrix.size(shape);
            let mut products = Vec::new();
            for _ in 0..rank {
                let (factor, numbers) = rest.split_first_chunk()?;
                let (row, numbers) = numbers.split_at_checked(inputs)?;
                let (column, numbers) = numbers.split_at_checked(outputs)?;
                let factor = f32::from_le_bytes(*factor);
                products
                    .push(ColumnTimesRow { row: floats(row, factor), column: floats(column, 1.0) });
                rest = numbers;
            }
            additions.push(LowRankAddition { products });
        }
        rest.is_empty().then_some(EncoderAdapter { additions })
    }

    /// What is added to a matrix.
    pub(super) fn addition(&self, layer: usize, matrix: LayerMatrix) -> Option<&LowRankAddition> {
        self.additions.get(layer * LayerMatrix::ALL.len() + matrix as usize)
    }
}

fn floats(bytes: &[u8], factor: f32) -> Vec<f32> {
    bytes.iter().map(|byte| factor * f32::from(i8::from_le_bytes([*byte]))).collect()
}

impl LowRankAddition {
    /// Adds what belongs to the weights of one output.
    pub(super) fn add_to(&self, output: usize, weights: &mut [f32]) {
        for ColumnTimesRow { column, row } in &self.products {
            let factor = column.get(output).copied().unwrap_or_default();
            weights.iter_mut().zip(row).for_each(|(weight, value)| *weight += factor * value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(rank: u32) -> Vec<u8> {
        let shape = EncoderShape::minilm();
        let mut bytes = rank.to_le_bytes().to_vec();
        for matrix in (0..shape.layers).flat_map(|_| LayerMatrix::ALL) {
            let (inputs, outputs) = matrix.size(&shape);
            for product in 0..rank {
                bytes.extend(0.5_f32.to_le_bytes());
                bytes.extend((0..inputs).map(|input| (input + product as usize) as u8 % 100));
                bytes.extend((0..outputs).map(|output| output as u8 % 100));
            }
        }
        bytes
    }

    #[test]
    fn products_are_added_to_the_rows_that_they_belong_to() {
        let adapter = EncoderAdapter::from_bytes(&bytes(2), &EncoderShape::minilm()).unwrap();
        let mut weights = vec![1.0; 384];
        adapter.addition(5, LayerMatrix::Inner).unwrap().add_to(3, &mut weights);
        // Half of 3 times 7, and of 3 times 8.
        assert_eq!(weights[7], 1.0 + 0.5 * 3.0 * 7.0 + 0.5 * 3.0 * 8.0);
        let mut weights = vec![0.0; 1536];
        adapter.addition(0, LayerMatrix::Outer).unwrap().add_to(0, &mut weights);
        assert_eq!(weights, vec![0.0; 1536]);
        assert!(adapter.addition(6, LayerMatrix::Query).is_none());
    }

    #[test]
    fn a_file_of_another_length_is_none() {
        let shape = EncoderShape::minilm();
        let whole = bytes(1);
        assert!(EncoderAdapter::from_bytes(&whole, &shape).is_some());
        assert!(EncoderAdapter::from_bytes(&whole[..whole.len() - 1], &shape).is_none());
        assert!(EncoderAdapter::from_bytes(&[whole, vec![0]].concat(), &shape).is_none());
        assert!(EncoderAdapter::from_bytes(&[], &shape).is_none());
    }

    /// Vectors are kept by the encoder's name: with another adapter it has to be another one.
    ///
    /// Promise: `encoders-never-mix`
    #[test]
    fn the_name_of_the_encoder_is_that_of_its_adapter() {
        use sha2::{Digest, Sha256};
        let sum = Sha256::digest(include_bytes!("adapter.bin"));
        let sum: String = sum.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        // Every adapter that was ever in use, with the name under which its vectors are kept. A new
        // one gets a row behind the others, and a name that none of them has.
        let all = [("all-MiniLM-L6-v2/recto-1", "78fd768e")];
        assert_eq!(all.last(), Some(&(crate::Encoder::NAME, &*sum)));
        let names: std::collections::HashSet<&str> = all.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), all.len(), "two adapters have the same name");
    }

    #[test]
    fn the_built_in_one_adds_to_every_matrix() {
        let adapter = EncoderAdapter::built_in();
        for (layer, matrix) in (0..6).flat_map(|layer| LayerMatrix::ALL.map(|of| (layer, of))) {
            let (inputs, _) = matrix.size(&EncoderShape::minilm());
            let mut weights = vec![0.0; inputs];
            adapter.addition(layer, matrix).unwrap().add_to(0, &mut weights);
            assert!(weights.iter().any(|weight| *weight != 0.0), "{layer} {matrix:?}");
        }
    }
}
