//! What is done row by row between two multiplications: back from eight bits,
//! something in 32 bits, and into eight bits again.
//!
//! Each step is a `SimdOp`, compiled for every instruction set and chosen when it
//! runs. A row is touched by nothing but its own numbers, so that a text has the
//! same vector in whichever company it is encoded.
//!
//! All widths are multiples of 64, so that no four registers are wider than what is
//! left of a row: `shape` fills rows up with zeros.

use std::ops::Range;

use rten_simd::ops::{BitOps, FloatOps, NarrowSaturate, NumOps, ToFloat};
use rten_simd::{Isa, Simd, SimdOp, SimdUnaryOp};
use rten_vecmath::{ApproxGelu, Gelu};

use super::shape::Activation;
use super::weights::{EncoderWeights, LayerNorm, LinearLayer};

/// Rows in eight bits. A number is its step above the row's zero, times the
/// row's scale.
#[derive(Default)]
pub(super) struct QuantizedRows {
    width: usize,
    pub(super) values: Vec<u8>,
    pub(super) scales: Vec<f32>,
    pub(super) zeros: Vec<f32>,
}

impl QuantizedRows {
    pub(super) fn new(width: usize) -> Self {
        QuantizedRows { width, ..QuantizedRows::default() }
    }

    pub(super) fn rows(&self) -> usize {
        self.scales.len()
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn resize(&mut self, rows: usize) {
        self.values.resize(rows * self.width, 0);
        self.scales.resize(rows, 0.0);
        self.zeros.resize(rows, 0.0);
    }

    /// What a linear layer made of these rows.
    pub(super) fn sums<'a>(&'a self, linear: &'a LinearLayer, values: &'a [i32]) -> LinearSums<'a> {
        LinearSums { linear, values, scales: &self.scales, zeros: &self.zeros }
    }

    /// Takes a row over from 32 bits.
    #[inline(always)]
    pub(super) fn set<I: Isa>(&mut self, isa: I, at: usize, row: &[f32]) {
        let values = &mut self.values[at * self.width..(at + 1) * self.width];
        (self.scales[at], self.zeros[at]) = quantize(isa, row, values);
    }
}

#[inline(always)]
fn quantize<I: Isa>(isa: I, row: &[f32], values: &mut [u8]) -> (f32, f32) {
    let (least, most) = bounds(isa, row);
    let range = most - least;
    let scale = if range > 0.0 { range / 255.0 } else { 1.0 };
    let zero = (-least / scale).round_ties_even();

    let (f32s, i32s) = (isa.f32(), isa.i32());
    let width = f32s.len();
    let steps = f32s.splat(scale.recip());
    let offset = i32s.splat(zero as i32);
    for (row, values) in row.chunks_exact(4 * width).zip(values.chunks_exact_mut(4 * width)) {
        let mut wide = [i32s.zero(); 4];
        for (index, wide) in wide.iter_mut().enumerate() {
            let steps = f32s.mul(f32s.load(&row[index * width..]), steps);
            *wide = i32s.add(f32s.to_int_round(steps), offset);
        }
        let low = i32s.narrow_saturate(wide[0], wide[1]);
        let high = i32s.narrow_saturate(wide[2], wide[3]);
        isa.u8().store(isa.i16().narrow_saturate(low, high), values);
    }
    (scale, zero)
}

/// The least and the largest number of a row, and zero, so that zero has a step of
/// its own.
#[inline(always)]
fn bounds<I: Isa>(isa: I, row: &[f32]) -> (f32, f32) {
    let f32s = isa.f32();
    let width = f32s.len();
    let (mut least, mut most) = ([f32s.zero(); 4], [f32s.zero(); 4]);
    for row in row.chunks_exact(4 * width) {
        for index in 0..4 {
            let numbers = f32s.load(&row[index * width..]);
            least[index] = f32s.min(least[index], numbers);
            most[index] = f32s.max(most[index], numbers);
        }
    }
    let least = f32s.min(f32s.min(least[0], least[1]), f32s.min(least[2], least[3]));
    let most = f32s.max(f32s.max(most[0], most[1]), f32s.max(most[2], most[3]));
    (lowest(least), highest(most))
}

#[inline(always)]
fn lowest(numbers: impl Simd<Elem = f32>) -> f32 {
    numbers.to_array().as_ref().iter().fold(f32::INFINITY, |least, number| least.min(*number))
}

#[inline(always)]
pub(super) fn highest(numbers: impl Simd<Elem = f32>) -> f32 {
    numbers.to_array().as_ref().iter().fold(f32::NEG_INFINITY, |most, number| most.max(*number))
}

/// Adds up what words and positions mean, and standardises it.
pub(super) struct EmbedOp<'a> {
    pub(super) weights: &'a EncoderWeights,
    /// The words of a text, from its first position on.
    pub(super) words: &'a [u32],
    /// The first row of the text.
    pub(super) at: usize,
    pub(super) rows: &'a mut [f32],
    pub(super) output: &'a mut QuantizedRows,
}

impl SimdOp for EmbedOp<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let EmbedOp { weights, words, at, rows, output } = self;
        let hidden = weights.shape.hidden.width();
        let places = weights.positions.chunks_exact(hidden).zip(rows.chunks_exact_mut(hidden));
        for (index, (word, (position, row))) in words.iter().zip(places).enumerate() {
            match weights.words.get(*word) {
                Some((values, scale)) => {
                    for ((number, value), position) in row.iter_mut().zip(values).zip(position) {
                        *number = f32::from(*value) * scale + position;
                    }
                }
                None => row.copy_from_slice(position),
            }
            standardize(isa, row, &weights.norm);
            output.set(isa, at + index, row);
        }
    }
}

/// Adds what a linear layer gave to the rows that went in, and standardises them.
pub(super) struct AddNormOp<'a> {
    pub(super) sums: LinearSums<'a>,
    pub(super) norm: &'a LayerNorm,
    pub(super) rows: &'a mut [f32],
    pub(super) output: &'a mut QuantizedRows,
}

impl SimdOp for AddNormOp<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let f32s = isa.f32();
        let width = f32s.len();
        let hidden = self.output.width();
        for (index, row) in self.rows.chunks_exact_mut(hidden).enumerate() {
            let outputs = self.sums.row(index, 0..hidden);
            for (step, numbers) in row.chunks_exact_mut(width).enumerate() {
                let output = outputs.get(isa, step * width);
                f32s.store(f32s.add(f32s.load(numbers), output), numbers);
            }
            standardize(isa, row, self.norm);
            self.output.set(isa, index, row);
        }
    }
}

/// Lets through what a linear layer gave as far as it is positive.
pub(super) struct ActivateOp<'a> {
    pub(super) sums: LinearSums<'a>,
    pub(super) activation: Activation,
    /// Room for one row.
    pub(super) row: &'a mut Vec<f32>,
    pub(super) output: &'a mut QuantizedRows,
}

impl SimdOp for ActivateOp<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let f32s = isa.f32();
        match self.activation {
            Activation::Gelu => self.activate(isa, |number| Gelu {}.eval(isa, number)),
            Activation::TanhGelu => self.activate(isa, |number| ApproxGelu {}.eval(isa, number)),
            Activation::Relu => self.activate(isa, |number| f32s.max(number, f32s.zero())),
        }
    }
}

impl ActivateOp<'_> {
    #[inline(always)]
    fn activate<I: Isa>(self, isa: I, activate: impl Fn(I::F32) -> I::F32) {
        let f32s = isa.f32();
        let width = f32s.len();
        let inner = self.output.width();
        self.row.resize(inner, 0.0);
        for at in 0..self.output.rows() {
            let outputs = self.sums.row(at, 0..inner);
            for (index, numbers) in self.row.chunks_exact_mut(width).enumerate() {
                f32s.store(activate(outputs.get(isa, index * width)), numbers);
            }
            self.output.set(isa, at, self.row);
        }
    }
}

/// What a linear layer gave, as whole numbers.
#[derive(Clone, Copy)]
pub(super) struct LinearSums<'a> {
    pub(super) linear: &'a LinearLayer,
    pub(super) values: &'a [i32],
    /// The scales and zeros of the rows that went in.
    pub(super) scales: &'a [f32],
    pub(super) zeros: &'a [f32],
}

/// Some of the outputs of one row.
#[derive(Clone, Copy)]
pub(super) struct RowOutputs<'a> {
    sums: &'a [i32],
    scales: &'a [f32],
    offsets: &'a [f32],
    bias: &'a [f32],
    scale: f32,
    zero: f32,
}

impl<'a> LinearSums<'a> {
    #[inline(always)]
    pub(super) fn row(&self, at: usize, outputs: Range<usize>) -> RowOutputs<'a> {
        let row = at * self.linear.bias.len();
        RowOutputs {
            sums: &self.values[row + outputs.start..row + outputs.end],
            scales: &self.linear.scales[outputs.clone()],
            offsets: &self.linear.offsets[outputs.clone()],
            bias: &self.linear.bias[outputs],
            scale: self.scales[at],
            zero: self.zeros[at],
        }
    }
}

impl RowOutputs<'_> {
    /// As many outputs as a register holds, from `index` on.
    #[inline(always)]
    pub(super) fn get<I: Isa>(&self, isa: I, index: usize) -> I::F32 {
        let (f32s, i32s) = (isa.f32(), isa.i32());
        let sums = i32s.to_float(i32s.load(&self.sums[index..]));
        let steps = f32s.mul(sums, f32s.load(&self.scales[index..]));
        // All that was multiplied was too large by the row's zero.
        let zero = f32s.splat(-self.zero);
        let steps = f32s.mul_add(zero, f32s.load(&self.offsets[index..]), steps);
        f32s.mul_add(steps, f32s.splat(self.scale), f32s.load(&self.bias[index..]))
    }
}

#[inline(always)]
fn standardize<I: Isa>(isa: I, row: &mut [f32], norm: &LayerNorm) {
    let f32s = isa.f32();
    let width = f32s.len();
    let count = norm.count as f32;
    let mut sum = f32s.zero();
    for numbers in row.chunks_exact(width) {
        sum = f32s.add(sum, f32s.load(numbers));
    }
    let mean_of_row = f32s.sum(sum) / count;
    let mean = f32s.splat(mean_of_row);
    let mut squares = f32s.zero();
    for numbers in row.chunks_exact(width) {
        let off = f32s.sub(f32s.load(numbers), mean);
        squares = f32s.mul_add(off, off, squares);
    }
    // Zeros that fill up a row are off the mean like all else, and don't count.
    let filled = (row.len() - norm.count) as f32 * mean_of_row * mean_of_row;
    let squares = (f32s.sum(squares) - filled).max(0.0);
    let scale = f32s.splat((squares / count + norm.epsilon).sqrt().recip());
    let weights = norm.weight.chunks_exact(width).zip(norm.bias.chunks_exact(width));
    for (numbers, (weight, bias)) in row.chunks_exact_mut(width).zip(weights) {
        let off = f32s.mul(f32s.sub(f32s.load(numbers), mean), scale);
        f32s.store(f32s.mul_add(off, f32s.load(weight), f32s.load(bias)), numbers);
    }
}

/// Turns weights into steps from `-most` to `most`, and says what a step is worth.
pub(super) fn quantize_weights(row: &[f32], most: f32, values: &mut [i8]) -> f32 {
    QuantizeWeights { row, most, values }.dispatch()
}

struct QuantizeWeights<'a> {
    row: &'a [f32],
    most: f32,
    values: &'a mut [i8],
}

impl SimdOp for QuantizeWeights<'_> {
    type Output = f32;

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) -> f32 {
        /// Behind this the whole part of a number stands in its lowest bits.
        const SHIFT: f32 = 12_582_912.0;
        let (least, largest) = bounds(isa, self.row);
        let largest = largest.max(-least);
        if largest <= 0.0 {
            self.values.fill(0);
            return 1.0;
        }
        let steps = self.most / largest;
        for (value, weight) in self.values.iter_mut().zip(self.row) {
            *value = (weight * steps + SHIFT).to_bits() as i8;
        }
        largest / self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIDDEN: usize = 384;

    /// Takes a row into eight bits and back.
    struct RoundTrip<'a>(&'a [f32]);

    impl SimdOp for RoundTrip<'_> {
        type Output = Vec<f32>;

        #[inline(always)]
        fn eval<I: Isa>(self, isa: I) -> Vec<f32> {
            let mut rows = QuantizedRows::new(self.0.len());
            rows.resize(2);
            rows.set(isa, 1, self.0);
            let values = rows.values[self.0.len()..].iter();
            values.map(|value| (f32::from(*value) - rows.zeros[1]) * rows.scales[1]).collect()
        }
    }

    #[test]
    fn eight_bits_lose_no_more_than_half_a_step() {
        for (least, most) in [(-1.0, 1.0), (-0.17, 9.0), (0.0, 3.0), (2.0, 3.0), (-5.0, -4.0)] {
            let number = |at: usize| least + (most - least) * (at * 37 % HIDDEN) as f32 / 383.0;
            let row: Vec<f32> = (0..HIDDEN).map(number).collect();
            let step = (most.max(0.0) - least.min(0.0)) / 255.0;
            for (number, back) in row.iter().zip(RoundTrip(&row).dispatch()) {
                assert!((number - back).abs() <= step * 0.501, "{number} came back as {back}");
            }
        }
        assert_eq!(RoundTrip(&[0.0; HIDDEN]).dispatch(), [0.0; HIDDEN]);
        // What is no number makes no panic.
        RoundTrip(&[f32::NAN; HIDDEN]).dispatch();
        RoundTrip(&[f32::INFINITY; HIDDEN]).dispatch();
    }

    #[test]
    fn weights_keep_their_sign_and_their_size() {
        let row: Vec<f32> = (0..HIDDEN).map(|at| (at as f32 - 200.0) * 0.01).collect();
        for most in [63.0, 127.0] {
            let mut values = vec![0; HIDDEN];
            let scale = quantize_weights(&row, most, &mut values);
            assert_eq!(values[0], -most as i8);
            for (weight, value) in row.iter().zip(values) {
                assert!((weight - f32::from(value) * scale).abs() <= scale * 0.501);
            }
        }
        let mut values = vec![1; HIDDEN];
        assert_eq!(quantize_weights(&[0.0; HIDDEN], 127.0, &mut values), 1.0);
        assert_eq!(values, [0; HIDDEN]);
    }

    struct Standardize<'a>(&'a mut [f32], LayerNorm);

    impl SimdOp for Standardize<'_> {
        type Output = ();

        #[inline(always)]
        fn eval<I: Isa>(self, isa: I) {
            standardize(isa, self.0, &self.1);
        }
    }

    #[test]
    fn standardised_rows_have_mean_zero_and_variance_one() {
        let norm = || LayerNorm {
            weight: vec![2.0; HIDDEN],
            bias: vec![0.5; HIDDEN],
            count: HIDDEN,
            epsilon: 1e-12,
        };
        let mut row: Vec<f32> = (0..HIDDEN).map(|at| (at * at % 101) as f32).collect();
        Standardize(&mut row, norm()).dispatch();
        let mean = row.iter().sum::<f32>() / HIDDEN as f32;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / HIDDEN as f32;
        assert!((mean - 0.5).abs() < 1e-5 && (variance - 4.0).abs() < 1e-4, "{mean}, {variance}");
        // A row of equal numbers has no variance to divide by.
        let mut row = vec![3.0; HIDDEN];
        Standardize(&mut row, norm()).dispatch();
        assert_eq!(row, [0.5; HIDDEN]);
    }

    #[test]
    fn what_fills_up_a_row_does_not_count() {
        let numbers = |count: usize| (0..count).map(|at| 3.0 + (at * 7 % 5) as f32);
        let filled = |value: f32| {
            let mut all = vec![value; 30];
            all.resize(64, 0.0);
            all
        };
        let norm = LayerNorm { weight: filled(1.0), bias: filled(0.25), count: 30, epsilon: 1e-5 };
        let mut row: Vec<f32> = numbers(30).collect();
        let mean = row.iter().sum::<f32>() / 30.0;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / 30.0;
        row.resize(64, 0.0);
        Standardize(&mut row, norm).dispatch();
        for (found, number) in row.iter().zip(numbers(30)) {
            let expected = (number - mean) / (variance + 1e-5).sqrt() + 0.25;
            assert!((found - expected).abs() < 1e-5, "{found} for {expected}");
        }
        assert_eq!(row[30..], [0.0; 34]);
    }
}
