//! The weights of the model, in eight bits.
//!
//! Each output of a linear layer has a scale of its own, and so has each word;
//! what is small stays in 32 bits.

use std::path::Path;

use rten_gemm::{GemmExecutor, PackedBMatrix};
use rten_tensor::NdTensorView;

use super::error::EncoderError;
use super::shape::{HEAD, HIDDEN, INNER, LAYERS, LONGEST, POSITIONS, QKV, VOCABULARY};
use super::simd;
use super::tensors::TensorFile;

/// Multiplies activations by weights.
pub(super) type Gemm = GemmExecutor<u8, i8, i32>;

/// All weights of the model.
pub(super) struct EncoderWeights {
    pub(super) words: WordEmbeddings,
    /// What a position adds to a word; the type of a text is in it.
    pub(super) positions: Vec<f32>,
    pub(super) norm: LayerNorm,
    pub(super) layers: Vec<EncoderLayer>,
}

/// What words mean by themselves.
pub(super) struct WordEmbeddings {
    values: Vec<i8>,
    scales: Vec<f32>,
}

/// The weights of one layer.
pub(super) struct EncoderLayer {
    pub(super) qkv: LinearLayer,
    pub(super) attended: LinearLayer,
    pub(super) attended_norm: LayerNorm,
    pub(super) inner: LinearLayer,
    pub(super) outer: LinearLayer,
    pub(super) outer_norm: LayerNorm,
}

/// A matrix whose columns are outputs, and what is added to them.
pub(super) struct LinearLayer {
    pub(super) packed: PackedBMatrix<i8>,
    /// What one step of each output is worth.
    pub(super) scales: Vec<f32>,
    /// What each output would be, were all inputs 1, without the bias.
    pub(super) offsets: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

/// What standardised rows are multiplied by, and what is added to them.
pub(super) struct LayerNorm {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

impl EncoderWeights {
    pub(super) fn load(path: &Path) -> Result<Self, EncoderError> {
        let tensors = &mut TensorFile::open(path)?;
        Ok(EncoderWeights {
            words: WordEmbeddings::read(tensors)?,
            positions: read_positions(tensors)?,
            norm: LayerNorm::read(tensors, "embeddings.LayerNorm")?,
            layers: (0..LAYERS)
                .map(|layer| EncoderLayer::read(tensors, layer))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl WordEmbeddings {
    fn read(tensors: &mut TensorFile) -> Result<Self, EncoderError> {
        let mut values = vec![0; VOCABULARY * HIDDEN];
        let mut scales = Vec::with_capacity(VOCABULARY);
        let mut rows = values.chunks_exact_mut(HIDDEN);
        tensors.each_row("embeddings.word_embeddings.weight", &[VOCABULARY, HIDDEN], |row| {
            if let Some(values) = rows.next() {
                scales.push(simd::quantize_weights(row, 127.0, values));
            }
        })?;
        Ok(WordEmbeddings { values, scales })
    }

    /// The numbers of a word, and what one step of them is worth.
    pub(super) fn get(&self, word: u32) -> Option<(&[i8], f32)> {
        let word = word as usize;
        let scale = *self.scales.get(word)?;
        Some((self.values.get(word * HIDDEN..(word + 1) * HIDDEN)?, scale))
    }
}

/// The positions that are used, with the type that all texts have.
fn read_positions(tensors: &mut TensorFile) -> Result<Vec<f32>, EncoderError> {
    let embeddings = "embeddings.position_embeddings.weight";
    let mut positions = tensors.read(embeddings, &[POSITIONS, HIDDEN])?;
    positions.truncate(LONGEST * HIDDEN);
    let kinds = tensors.read("embeddings.token_type_embeddings.weight", &[2, HIDDEN])?;
    for position in positions.chunks_exact_mut(HIDDEN) {
        position.iter_mut().zip(&kinds).for_each(|(value, kind)| *value += kind);
    }
    Ok(positions)
}

impl EncoderLayer {
    fn read(tensors: &mut TensorFile, layer: usize) -> Result<Self, EncoderError> {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let attention =
            ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
        let mut qkv = LinearBuilder::new(HIDDEN, QKV);
        for part in &attention {
            qkv.read(tensors, part, HIDDEN)?;
        }
        // Scores of attention are divided by this; so the queries are, once and for all.
        qkv.divide(0..HIDDEN, (HEAD as f32).sqrt());
        let mut linear = |part: &str, inputs, outputs| {
            let mut rows = LinearBuilder::new(inputs, outputs);
            rows.read(tensors, &name(part), outputs)?;
            Ok::<_, EncoderError>(rows.pack())
        };
        let attended = linear("attention.output.dense", HIDDEN, HIDDEN)?;
        let inner = linear("intermediate.dense", HIDDEN, INNER)?;
        let outer = linear("output.dense", INNER, HIDDEN)?;
        Ok(EncoderLayer {
            qkv: qkv.pack(),
            attended,
            attended_norm: LayerNorm::read(tensors, &name("attention.output.LayerNorm"))?,
            inner,
            outer,
            outer_norm: LayerNorm::read(tensors, &name("output.LayerNorm"))?,
        })
    }
}

impl LayerNorm {
    fn read(tensors: &mut TensorFile, name: &str) -> Result<Self, EncoderError> {
        Ok(LayerNorm {
            weight: tensors.read(&format!("{name}.weight"), &[HIDDEN])?,
            bias: tensors.read(&format!("{name}.bias"), &[HIDDEN])?,
        })
    }
}

/// Outputs of a linear layer as they are gathered: a row each, as in the file.
struct LinearBuilder {
    gemm: Gemm,
    inputs: usize,
    values: Vec<i8>,
    scales: Vec<f32>,
    bias: Vec<f32>,
}

impl LinearBuilder {
    fn new(inputs: usize, outputs: usize) -> Self {
        LinearBuilder {
            gemm: Gemm::new(),
            inputs,
            values: Vec::with_capacity(inputs * outputs),
            scales: Vec::with_capacity(outputs),
            bias: Vec::with_capacity(outputs),
        }
    }

    fn read(
        &mut self,
        tensors: &mut TensorFile,
        name: &str,
        outputs: usize,
    ) -> Result<(), EncoderError> {
        // Where sums of two products are kept in 16 bits, eight bits would overflow.
        let most = if self.gemm.may_saturate() { 63.0 } else { 127.0 };
        let LinearBuilder { inputs, values, scales, bias, .. } = self;
        tensors.each_row(&format!("{name}.weight"), &[outputs, *inputs], |row| {
            let start = values.len();
            values.resize(start + row.len(), 0);
            scales.push(simd::quantize_weights(row, most, &mut values[start..]));
        })?;
        bias.extend(tensors.read(&format!("{name}.bias"), &[outputs])?);
        Ok(())
    }

    fn divide(&mut self, outputs: std::ops::Range<usize>, by: f32) {
        self.scales[outputs.clone()].iter_mut().for_each(|scale| *scale /= by);
        self.bias[outputs].iter_mut().for_each(|bias| *bias /= by);
    }

    /// Lays the rows out as columns, in the order in which they are multiplied.
    fn pack(self) -> LinearLayer {
        let rows = NdTensorView::from_data([self.scales.len(), self.inputs], &self.values[..]);
        let packed = self.gemm.prepack_b(rows.transposed());
        let rows = self.values.chunks_exact(self.inputs).zip(&self.scales);
        let sum = |row: &[i8]| row.iter().map(|value| i32::from(*value)).sum::<i32>();
        let offsets = rows.map(|(row, scale)| sum(row) as f32 * scale).collect();
        LinearLayer { packed, scales: self.scales, offsets, bias: self.bias }
    }
}
