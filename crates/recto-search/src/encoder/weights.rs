//! The weights of the model, in eight bits.
//!
//! Each output of a linear layer has a scale of its own, and so has each word;
//! what is small stays in 32 bits.

use std::path::Path;

use rten_gemm::{GemmExecutor, PackedBMatrix};
use rten_tensor::NdTensorView;

use super::adapter::{EncoderAdapter, LayerMatrix, LowRankAddition};
use super::error::EncoderError;
use super::shape::{AxisLayout, EncoderShape};
use super::simd;
use super::tensors::TensorFile;

/// Multiplies activations by weights.
pub(super) type Gemm = GemmExecutor<u8, i8, i32>;

/// All weights of the model.
pub(super) struct EncoderWeights {
    pub(super) shape: EncoderShape,
    pub(super) words: WordEmbeddings,
    /// What a position adds to a word; the type of a text is in it.
    pub(super) positions: Vec<f32>,
    pub(super) norm: LayerNorm,
    pub(super) layers: Vec<EncoderLayer>,
}

/// What words mean by themselves.
pub(super) struct WordEmbeddings {
    width: usize,
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
    /// How many numbers of a row count: behind them are zeros.
    pub(super) count: usize,
    pub(super) epsilon: f32,
}

impl EncoderWeights {
    /// Reads the weights of an encoder of this shape, with what an adapter adds to them.
    pub(super) fn load(
        path: &Path,
        shape: EncoderShape,
        adapter: Option<&EncoderAdapter>,
    ) -> Result<Self, EncoderError> {
        let tensors = &mut TensorFile::open(path)?;
        let layers = shape.layers;
        let beyond = format!("is of one layer more than the {layers} that `config.json` tells of");
        tensors.refuse_any(&format!("encoder.layer.{layers}."), &beyond)?;
        Ok(EncoderWeights {
            words: WordEmbeddings::read(tensors, &shape)?,
            positions: read_positions(tensors, &shape)?,
            norm: LayerNorm::read(tensors, &shape, "embeddings.LayerNorm")?,
            layers: (0..shape.layers)
                .map(|layer| EncoderLayer::read(tensors, &shape, layer, adapter))
                .collect::<Result<_, _>>()?,
            shape,
        })
    }
}

impl WordEmbeddings {
    fn read(tensors: &mut TensorFile, shape: &EncoderShape) -> Result<Self, EncoderError> {
        let (hidden, width) = (shape.hidden, shape.hidden.width());
        let mut values = vec![0; shape.vocabulary * width];
        let mut scales = Vec::with_capacity(shape.vocabulary);
        let mut rows = values.chunks_exact_mut(width);
        let mut spread = SpreadRow::new(hidden);
        let name = "embeddings.word_embeddings.weight";
        tensors.each_row(name, &[shape.vocabulary, hidden.count()], |row| {
            if let Some(values) = rows.next() {
                scales.push(simd::quantize_weights(spread.lay_out(row), 127.0, values));
            }
        })?;
        Ok(WordEmbeddings { width, values, scales })
    }

    /// The numbers of a word, and what one step of them is worth.
    pub(super) fn get(&self, word: u32) -> Option<(&[i8], f32)> {
        let (word, width) = (word as usize, self.width);
        let scale = *self.scales.get(word)?;
        Some((self.values.get(word * width..(word + 1) * width)?, scale))
    }
}

/// The positions that are used, with the type that all texts have.
fn read_positions(
    tensors: &mut TensorFile,
    shape: &EncoderShape,
) -> Result<Vec<f32>, EncoderError> {
    let (hidden, width) = (shape.hidden, shape.hidden.width());
    let kinds = match shape.kinds {
        0 => vec![0.0; hidden.count()],
        kinds => {
            let name = "embeddings.token_type_embeddings.weight";
            tensors.read(name, &[kinds, hidden.count()])?
        }
    };
    let used = shape.first_position..shape.first_position + shape.longest;
    let mut positions = Vec::with_capacity(shape.longest * width);
    let mut place = 0;
    let name = "embeddings.position_embeddings.weight";
    tensors.each_row(name, &[shape.positions, hidden.count()], |row| {
        if used.contains(&place) {
            let sum = row.iter().zip(&kinds).map(|(value, kind)| value + kind).collect();
            positions.extend(hidden.spread_out(sum));
        }
        place += 1;
    })?;
    Ok(positions)
}

impl EncoderLayer {
    fn read(
        tensors: &mut TensorFile,
        shape: &EncoderShape,
        layer: usize,
        adapter: Option<&EncoderAdapter>,
    ) -> Result<Self, EncoderError> {
        let EncoderShape { hidden, heads, inner, .. } = *shape;
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let mut read = |builder: &mut LinearBuilder, matrix: LayerMatrix, outputs| {
            let addition = adapter.and_then(|adapter| adapter.addition(layer, matrix));
            builder.read(tensors, &name(matrix.name()), outputs, addition)
        };
        let mut qkv = LinearBuilder::new(hidden);
        for matrix in [LayerMatrix::Query, LayerMatrix::Key, LayerMatrix::Value] {
            read(&mut qkv, matrix, heads)?;
        }
        // Scores of attention are divided by this; so the queries are, once and for all.
        qkv.divide(0..heads.width(), (heads.group() as f32).sqrt());
        let mut linear = |matrix, inputs, outputs| {
            let mut rows = LinearBuilder::new(inputs);
            read(&mut rows, matrix, outputs)?;
            Ok::<_, EncoderError>(rows.pack())
        };
        let attended = linear(LayerMatrix::Attended, heads, hidden)?;
        let between = linear(LayerMatrix::Inner, hidden, inner)?;
        let outer = linear(LayerMatrix::Outer, inner, hidden)?;
        Ok(EncoderLayer {
            qkv: qkv.pack(),
            attended,
            attended_norm: LayerNorm::read(tensors, shape, &name("attention.output.LayerNorm"))?,
            inner: between,
            outer,
            outer_norm: LayerNorm::read(tensors, shape, &name("output.LayerNorm"))?,
        })
    }
}

impl LayerNorm {
    fn read(
        tensors: &mut TensorFile,
        shape: &EncoderShape,
        name: &str,
    ) -> Result<Self, EncoderError> {
        let count = shape.hidden.count();
        let mut numbers = |part: &str| {
            let numbers = tensors.read(&format!("{name}.{part}"), &[count])?;
            Ok::<_, EncoderError>(shape.hidden.spread_out(numbers))
        };
        let (weight, bias) = (numbers("weight")?, numbers("bias")?);
        Ok(LayerNorm { weight, bias, count, epsilon: shape.epsilon })
    }
}

/// A row of a file, laid out as it is multiplied.
struct SpreadRow {
    layout: AxisLayout,
    row: Vec<f32>,
}

impl SpreadRow {
    fn new(layout: AxisLayout) -> SpreadRow {
        SpreadRow { layout, row: vec![0.0; layout.width()] }
    }

    fn lay_out<'a>(&'a mut self, numbers: &'a [f32]) -> &'a [f32] {
        if self.layout.is_tight() {
            return numbers;
        }
        self.layout.spread(numbers, &mut self.row);
        &self.row
    }
}

/// Outputs of a linear layer as they are gathered: a row each, as in the file.
struct LinearBuilder {
    gemm: Gemm,
    inputs: AxisLayout,
    values: Vec<i8>,
    scales: Vec<f32>,
    bias: Vec<f32>,
}

impl LinearBuilder {
    fn new(inputs: AxisLayout) -> Self {
        LinearBuilder {
            gemm: Gemm::new(),
            inputs,
            values: Vec::new(),
            scales: Vec::new(),
            bias: Vec::new(),
        }
    }

    /// Reads further outputs, and makes an addition to them. Those that only fill up a row have
    /// weights of zero.
    fn read(
        &mut self,
        tensors: &mut TensorFile,
        name: &str,
        outputs: AxisLayout,
        addition: Option<&LowRankAddition>,
    ) -> Result<(), EncoderError> {
        // Where sums of two products are kept in 16 bits, eight bits would overflow.
        let most = if self.gemm.may_saturate() { 63.0 } else { 127.0 };
        let (first, width) = (self.scales.len(), self.inputs.width());
        let LinearBuilder { inputs, values, scales, bias, .. } = self;
        values.resize((first + outputs.width()) * width, 0);
        scales.resize(first + outputs.width(), 1.0);
        let mut spread = SpreadRow::new(*inputs);
        let mut places = outputs.places().enumerate();
        let mut sum = Vec::with_capacity(inputs.count());
        tensors.each_row(&format!("{name}.weight"), &[outputs.count(), inputs.count()], |row| {
            if let Some((output, place)) = places.next() {
                sum.clear();
                sum.extend_from_slice(row);
                if let Some(addition) = addition {
                    addition.add_to(output, &mut sum);
                }
                let values = &mut values[(first + place) * width..][..width];
                scales[first + place] = simd::quantize_weights(spread.lay_out(&sum), most, values);
            }
        })?;
        let numbers = tensors.read(&format!("{name}.bias"), &[outputs.count()])?;
        bias.extend(outputs.spread_out(numbers));
        Ok(())
    }

    fn divide(&mut self, outputs: std::ops::Range<usize>, by: f32) {
        self.scales[outputs.clone()].iter_mut().for_each(|scale| *scale /= by);
        self.bias[outputs].iter_mut().for_each(|bias| *bias /= by);
    }

    /// Lays the rows out as columns, in the order in which they are multiplied.
    fn pack(self) -> LinearLayer {
        let width = self.inputs.width();
        let rows = NdTensorView::from_data([self.scales.len(), width], &self.values[..]);
        let packed = self.gemm.prepack_b(rows.transposed());
        let rows = self.values.chunks_exact(width).zip(&self.scales);
        let sum = |row: &[i8]| row.iter().map(|value| i32::from(*value)).sum::<i32>();
        let offsets = rows.map(|(row, scale)| sum(row) as f32 * scale).collect();
        LinearLayer { packed, scales: self.scales, offsets, bias: self.bias }
    }
}
