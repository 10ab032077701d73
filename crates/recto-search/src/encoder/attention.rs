//! How much each word of a text heeds each other one, and what it takes from it.

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, Simd, SimdOp, SimdUnaryOp};
use rten_vecmath::Exp;

use super::shape::{HEAD, HEADS, HIDDEN};
use super::simd::{LinearSums, QuantizedRows, RowOutputs, highest};

/// How many words are done at once, so that what is loaded serves for all of them.
const AT_ONCE: usize = 4;

/// The score of what gets no share.
const NEVER: f32 = -1e9;

/// Room for one text, mostly for one head of it.
#[derive(Default)]
pub(super) struct AttentionScratch {
    queries: Vec<f32>,
    /// A row for each number of a key, so that scores of neighbours stand side by
    /// side.
    keys: Vec<f32>,
    values: Vec<f32>,
    scores: Vec<f32>,
    /// What each word takes from the others, all heads side by side.
    taken: Vec<f32>,
}

/// Attention of one text, all heads.
pub(super) struct AttentionOp<'a> {
    /// Queries, keys and values of each word.
    pub(super) sums: LinearSums<'a>,
    pub(super) scratch: &'a mut AttentionScratch,
    /// Where what each word takes from the others goes.
    pub(super) output: &'a mut QuantizedRows,
    /// The first row of the text there.
    pub(super) at: usize,
}

impl SimdOp for AttentionOp<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let AttentionOp { sums, scratch, output, at } = self;
        let words = sums.scales.len();
        let stride = words.next_multiple_of(isa.f32().len());
        scratch.queries.resize(words * HEAD, 0.0);
        scratch.values.resize(words * HEAD, 0.0);
        scratch.scores.resize(AT_ONCE * stride, 0.0);
        scratch.taken.resize(words * HIDDEN, 0.0);
        // The padding behind the last key stays zero.
        scratch.keys.clear();
        scratch.keys.resize(HEAD * stride, 0.0);

        for head in 0..HEADS {
            let [queries, keys, values] = [0, HIDDEN, 2 * HIDDEN].map(|part| part + head * HEAD);
            for word in 0..words {
                let part = |at: usize| sums.row(word, at..at + HEAD);
                copy(isa, part(queries), &mut scratch.queries[word * HEAD..][..HEAD]);
                copy_across(isa, part(keys), &mut scratch.keys[word..], stride);
                copy(isa, part(values), &mut scratch.values[word * HEAD..][..HEAD]);
            }
            let mut word = 0;
            while word + AT_ONCE <= words {
                attend::<I, AT_ONCE>(isa, scratch, words, head, word);
                word += AT_ONCE;
            }
            while word < words {
                attend::<I, 1>(isa, scratch, words, head, word);
                word += 1;
            }
        }
        for (word, taken) in scratch.taken.chunks_exact(HIDDEN).enumerate() {
            output.set(isa, at + word, taken);
        }
    }
}

#[inline(always)]
fn copy<I: Isa>(isa: I, from: RowOutputs<'_>, to: &mut [f32]) {
    let f32s = isa.f32();
    let width = f32s.len();
    for (index, numbers) in to.chunks_exact_mut(width).enumerate() {
        f32s.store(from.get(isa, index * width), numbers);
    }
}

/// Copies a row into a column.
#[inline(always)]
fn copy_across<I: Isa>(isa: I, from: RowOutputs<'_>, to: &mut [f32], stride: usize) {
    let width = isa.f32().len();
    for index in (0..HEAD).step_by(width) {
        let numbers = from.get(isa, index).to_array();
        for (offset, number) in numbers.as_ref().iter().enumerate() {
            to[(index + offset) * stride] = *number;
        }
    }
}

/// Attention of one head, of so many words from `word` on.
#[inline(always)]
fn attend<I: Isa, const WORDS: usize>(
    isa: I,
    scratch: &mut AttentionScratch,
    words: usize,
    head: usize,
    word: usize,
) {
    let width = isa.f32().len();
    let stride = words.next_multiple_of(width);
    let queries = MatrixRows { numbers: &scratch.queries[word * HEAD..], stride: HEAD };
    let keys = MatrixRows { numbers: &scratch.keys, stride };
    let mut column = 0;
    while column + 2 * width <= stride {
        multiply::<I, WORDS, 2>(isa, queries, keys, HEAD, column, &mut scratch.scores, stride);
        column += 2 * width;
    }
    if column < stride {
        multiply::<I, WORDS, 1>(isa, queries, keys, HEAD, column, &mut scratch.scores, stride);
    }
    let mut parts = [0.0; WORDS];
    for (part, scores) in parts.iter_mut().zip(scratch.scores.chunks_exact_mut(stride)) {
        scores[words..].fill(NEVER);
        *part = weigh(isa, scores);
    }
    let scores = MatrixRows { numbers: &scratch.scores, stride };
    let values = MatrixRows { numbers: &scratch.values, stride: HEAD };
    let taken = &mut scratch.taken[word * HIDDEN + head * HEAD..];
    let mut column = 0;
    while column + 2 * width <= HEAD {
        multiply::<I, WORDS, 2>(isa, scores, values, words, column, taken, HIDDEN);
        column += 2 * width;
    }
    if column < HEAD {
        multiply::<I, WORDS, 1>(isa, scores, values, words, column, taken, HIDDEN);
    }
    for (part, taken) in parts.iter().zip(taken.chunks_mut(HIDDEN)) {
        taken[..HEAD].iter_mut().for_each(|number| *number *= part);
    }
}

/// Turns scores into weights, and says what a weight of one is as a part of all.
#[inline(always)]
fn weigh<I: Isa>(isa: I, scores: &mut [f32]) -> f32 {
    let f32s = isa.f32();
    let width = f32s.len();
    let mut most = f32s.splat(NEVER);
    for scores in scores.chunks_exact(width) {
        most = f32s.max(most, f32s.load(scores));
    }
    let most = f32s.splat(highest(most));
    let mut sum = f32s.zero();
    for scores in scores.chunks_exact_mut(width) {
        let weights = Exp {}.eval(isa, f32s.sub(f32s.load(scores), most));
        sum = f32s.add(sum, weights);
        f32s.store(weights, scores);
    }
    f32s.sum(sum).recip()
}

#[derive(Clone, Copy)]
struct MatrixRows<'a> {
    numbers: &'a [f32],
    stride: usize,
}

/// A part of a product of matrices: so many rows, and so many registers of
/// columns from `column` on.
#[inline(always)]
fn multiply<I: Isa, const ROWS: usize, const REGISTERS: usize>(
    isa: I,
    a: MatrixRows<'_>,
    b: MatrixRows<'_>,
    depth: usize,
    column: usize,
    output: &mut [f32],
    stride: usize,
) {
    let f32s = isa.f32();
    let width = f32s.len();
    let mut sums = [[f32s.zero(); REGISTERS]; ROWS];
    let mut rows = [a.numbers; ROWS];
    for (index, row) in rows.iter_mut().enumerate() {
        *row = &a.numbers[index * a.stride..][..depth];
    }
    let across = b.numbers[column..].chunks(b.stride).take(depth);
    for (index, numbers) in across.enumerate() {
        let mut loaded = [f32s.zero(); REGISTERS];
        for (register, loaded) in loaded.iter_mut().enumerate() {
            *loaded = f32s.load(&numbers[register * width..]);
        }
        for (sums, row) in sums.iter_mut().zip(&rows) {
            let factor = f32s.splat(row[index]);
            for (sum, loaded) in sums.iter_mut().zip(&loaded) {
                *sum = f32s.mul_add(factor, *loaded, *sum);
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        let output = &mut output[row * stride + column..][..REGISTERS * width];
        for (output, sum) in output.chunks_exact_mut(width).zip(sums) {
            f32s.store(*sum, output);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::shape::QKV;
    use crate::encoder::weights::{Gemm, LinearLayer};

    /// Numbers between -1 and 1 that look like chance.
    fn numbers(seed: u32) -> impl FnMut() -> f32 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        }
    }

    fn plainly(rows: &[Vec<f32>], word: usize, at: usize) -> f32 {
        let head = at / HEAD * HEAD;
        let score = |other: &Vec<f32>| {
            let products = (0..HEAD).map(|i| rows[word][head + i] * other[HIDDEN + head + i]);
            products.sum::<f32>().exp()
        };
        let scores: Vec<f32> = rows.iter().map(score).collect();
        let all: f32 = scores.iter().sum();
        rows.iter().zip(scores).map(|(row, score)| score / all * row[2 * HIDDEN + at]).sum()
    }

    #[test]
    fn attention_is_what_the_formula_says() {
        let mut next = numbers(7);
        let linear = LinearLayer {
            packed: Gemm::new()
                .prepack_b(rten_tensor::NdTensorView::from_data([1, 1], &[0_i8][..])),
            scales: (0..QKV).map(|_| 0.001 + 0.0005 * next()).collect(),
            offsets: (0..QKV).map(|_| next()).collect(),
            bias: (0..QKV).map(|_| next()).collect(),
        };
        let mut scratch = AttentionScratch::default();
        for words in [1, 3, 4, 16, 17, 33, 70, 2] {
            let sums: Vec<i32> = (0..words * QKV).map(|_| (next() * 1e3) as i32).collect();
            let scales: Vec<f32> = (0..words).map(|_| 0.5 + 0.2 * next()).collect();
            let zeros: Vec<f32> = (0..words).map(|_| next()).collect();
            let mut output = QuantizedRows::new(HIDDEN);
            output.resize(words);
            let given =
                LinearSums { linear: &linear, values: &sums, scales: &scales, zeros: &zeros };
            AttentionOp { sums: given, scratch: &mut scratch, output: &mut output, at: 0 }
                .dispatch();
            let row = |word: usize| {
                let number = |at: usize| {
                    let sum = sums[word * QKV + at] as f32 * linear.scales[at];
                    (sum - zeros[word] * linear.offsets[at]) * scales[word] + linear.bias[at]
                };
                (0..QKV).map(number).collect()
            };
            let rows: Vec<Vec<f32>> = (0..words).map(row).collect();
            for (index, found) in scratch.taken.iter().enumerate() {
                let expected = plainly(&rows, index / HIDDEN, index % HIDDEN);
                assert!((found - expected).abs() < 1e-3, "{words}: {found} for {expected}");
            }
        }
    }
}
