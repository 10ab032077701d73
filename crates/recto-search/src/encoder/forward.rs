//! From word pieces to an embedding: the layers of the model, for some texts at
//! once.
//!
//! The rows of all texts stand below each other without padding, and go through
//! each linear layer in one multiplication, which is split among the threads of
//! the rayon pool that it is called in.

use rten_gemm::{GemmInputA, GemmInputB, GemmOptions};
use rten_simd::SimdOp;
use rten_tensor::NdTensorView;

use super::attention::{AttentionOp, AttentionScratch};
use super::config::Pooling;
use super::embedding::Embedding;
use super::shape::EncoderShape;
use super::simd::{ActivateOp, AddNormOp, EmbedOp, LinearSums, QuantizedRows};
use super::weights::{EncoderWeights, Gemm, LinearLayer};

/// Room for all that is between the layers, kept from one batch to the next.
pub(super) struct EncoderBuffers {
    /// A row of numbers for each word piece.
    rows: Vec<f32>,
    /// What a multiplication gave.
    sums: Vec<i32>,
    hidden: QuantizedRows,
    /// What words take from each other.
    taken: QuantizedRows,
    inner: QuantizedRows,
    /// A row of the inner width before it goes into eight bits.
    inner_row: Vec<f32>,
    scratch: AttentionScratch,
}

impl EncoderBuffers {
    pub(super) fn new(shape: &EncoderShape) -> Self {
        EncoderBuffers {
            rows: Vec::new(),
            sums: Vec::new(),
            hidden: QuantizedRows::new(shape.hidden.width()),
            taken: QuantizedRows::new(shape.heads.width()),
            inner: QuantizedRows::new(shape.inner.width()),
            inner_row: Vec::new(),
            scratch: AttentionScratch::default(),
        }
    }

    /// The embeddings of texts, each given as its word pieces. None is longer than
    /// the longest that the model knows.
    pub(super) fn encode(
        &mut self,
        weights: &EncoderWeights,
        pooling: Pooling,
        texts: &[&[u32]],
    ) -> Vec<Embedding> {
        let gemm = Gemm::new();
        self.embed(weights, texts);
        for layer in &weights.layers {
            multiply(&gemm, &self.hidden, &layer.qkv, &mut self.sums);
            self.attend(&weights.shape, &layer.qkv, texts);
            multiply(&gemm, &self.taken, &layer.attended, &mut self.sums);
            let sums = self.taken.sums(&layer.attended, &self.sums);
            let (norm, rows, output) = (&layer.attended_norm, &mut *self.rows, &mut self.hidden);
            AddNormOp { sums, norm, rows, output }.dispatch();
            multiply(&gemm, &self.hidden, &layer.inner, &mut self.sums);
            let sums = self.hidden.sums(&layer.inner, &self.sums);
            let (row, output) = (&mut self.inner_row, &mut self.inner);
            ActivateOp { sums, activation: weights.shape.activation, row, output }.dispatch();
            multiply(&gemm, &self.inner, &layer.outer, &mut self.sums);
            let sums = self.inner.sums(&layer.outer, &self.sums);
            let (norm, rows, output) = (&layer.outer_norm, &mut *self.rows, &mut self.hidden);
            AddNormOp { sums, norm, rows, output }.dispatch();
        }
        self.pool(&weights.shape, pooling, texts)
    }

    fn embed(&mut self, weights: &EncoderWeights, texts: &[&[u32]]) {
        debug_assert!(texts.iter().all(|words| words.len() <= weights.shape.longest));
        let width = self.hidden.width();
        let rows = texts.iter().map(|words| words.len()).sum();
        self.hidden.resize(rows);
        self.taken.resize(rows);
        self.inner.resize(rows);
        self.rows.resize(rows * width, 0.0);
        let mut at = 0;
        for words in texts {
            let rows = &mut self.rows[at * width..(at + words.len()) * width];
            EmbedOp { weights, words, at, rows, output: &mut self.hidden }.dispatch();
            at += words.len();
        }
    }

    /// Lets the words of each text heed each other.
    fn attend(&mut self, shape: &EncoderShape, linear: &LinearLayer, texts: &[&[u32]]) {
        let outputs = linear.bias.len();
        let mut at = 0;
        for words in texts {
            let range = at..at + words.len();
            let sums = LinearSums {
                linear,
                values: &self.sums[range.start * outputs..range.end * outputs],
                scales: &self.hidden.scales[range.clone()],
                zeros: &self.hidden.zeros[range],
            };
            let (scratch, output) = (&mut self.scratch, &mut self.taken);
            AttentionOp { heads: shape.heads, sums, scratch, output, at }.dispatch();
            at += words.len();
        }
    }

    /// The mean of each text's rows, or the first of them, as a direction.
    fn pool(&self, shape: &EncoderShape, pooling: Pooling, texts: &[&[u32]]) -> Vec<Embedding> {
        let mut rows = self.rows.chunks_exact(self.hidden.width());
        let pooled = texts.iter().map(|words| {
            let mut sum = vec![0.0; shape.hidden.count()];
            for (place, row) in rows.by_ref().take(words.len()).enumerate() {
                if place == 0 || pooling == Pooling::Mean {
                    sum.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
                }
            }
            Embedding::new(sum.into())
        });
        pooled.collect()
    }
}

/// Multiplies rows by weights. The zeros of the rows are left to what reads the
/// sums: rten-gemm 0.27 takes those of the first rows for all.
fn multiply(gemm: &Gemm, rows: &QuantizedRows, linear: &LinearLayer, sums: &mut Vec<i32>) {
    sums.resize(rows.rows() * linear.scales.len(), 0);
    let input = NdTensorView::from_data([rows.rows(), rows.width()], &rows.values[..]);
    let packed = GemmInputB::Packed(&linear.packed);
    gemm.gemm(sums, GemmInputA::Unpacked(input), packed, GemmOptions::default())
        .expect("shapes were checked when the weights were read");
}
