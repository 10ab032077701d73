//! How much each word of a text heeds each other one, and what it takes from it.

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, Simd, SimdOp, SimdUnaryOp};
use rten_vecmath::Exp;

use super::shape::{AxisLayout, HEAD_WIDTHS};
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
    /// How the heads stand side by side.
    pub(super) heads: AxisLayout,
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
        // Compiled for each width of a head, so that loops over one have a known length.
        const NARROW: usize = HEAD_WIDTHS[0];
        const USUAL: usize = HEAD_WIDTHS[1];
        const WIDE: usize = HEAD_WIDTHS[2];
        match self.heads.group_width() {
            NARROW => self.attend_all::<I, NARROW>(isa),
            USUAL => self.attend_all::<I, USUAL>(isa),
            _ => self.attend_all::<I, WIDE>(isa),
        }
    }
}

impl AttentionOp<'_> {
    #[inline(always)]
    fn attend_all<I: Isa, const HEAD: usize>(self, isa: I) {
        let AttentionOp { heads, sums, scratch, output, at } = self;
        let words = sums.scales.len();
        let width = heads.width();
        let stride = words.next_multiple_of(isa.f32().len());
        scratch.queries.resize(words * HEAD, 0.0);
        scratch.values.resize(words * HEAD, 0.0);
        scratch.scores.resize(AT_ONCE * stride, 0.0);
        // What fills up a row is never written to, and stays zero.
        scratch.taken.resize(words * width, 0.0);
        // The padding behind the last key stays zero.
        scratch.keys.clear();
        scratch.keys.resize(HEAD * stride, 0.0);

        for head in 0..heads.groups() {
            let [queries, keys, values] = [0, width, 2 * width].map(|part| part + head * HEAD);
            for word in 0..words {
                let part = |at: usize| sums.row(word, at..at + HEAD);
                copy(isa, part(queries), &mut scratch.queries[word * HEAD..][..HEAD]);
                copy_across::<I, HEAD>(isa, part(keys), &mut scratch.keys[word..], stride);
                copy(isa, part(values), &mut scratch.values[word * HEAD..][..HEAD]);
            }
            let mut word = 0;
            while word + AT_ONCE <= words {
                attend::<I, AT_ONCE, HEAD>(isa, scratch, words, word, head * HEAD, width);
                word += AT_ONCE;
            }
            while word < words {
                attend::<I, 1, HEAD>(isa, scratch, words, word, head * HEAD, width);
                word += 1;
            }
        }
        for (word, taken) in scratch.taken.chunks_exact(width).enumerate() {
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
fn copy_across<I: Isa, const HEAD: usize>(
    isa: I,
    from: RowOutputs<'_>,
    to: &mut [f32],
    stride: usize,
) {
    let width = isa.f32().len();
    for index in (0..HEAD).step_by(width) {
        let numbers = from.get(isa, index).to_array();
        for (offset, number) in numbers.as_ref().iter().enumerate() {
            to[(index + offset) * stride] = *number;
        }
    }
}

/// Attention of one head, of so many words from `word` on. What they take stands from `start` on
/// in rows of `row` numbers.
#[inline(always)]
fn attend<I: Isa, const WORDS: usize, const HEAD: usize>(
    isa: I,
    scratch: &mut AttentionScratch,
    words: usize,
    word: usize,
    start: usize,
    row: usize,
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
    let taken = &mut scratch.taken[word * row + start..];
    let mut column = 0;
    while column + 2 * width <= HEAD {
        multiply::<I, WORDS, 2>(isa, scores, values, words, column, taken, row);
        column += 2 * width;
    }
    if column < HEAD {
        multiply::<I, WORDS, 1>(isa, scores, values, words, column, taken, row);
    }
    for (part, taken) in parts.iter().zip(taken.chunks_mut(row)) {
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
    use crate::encoder::weights::{Gemm, LinearLayer};

    /// Numbers between -1 and 1 that look like chance.
    fn numbers(seed: u32) -> impl FnMut() -> f32 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        }
    }

    /// The `at`-th number that a word takes from the others, by the formula.
    fn plainly(heads: AxisLayout, rows: &[Vec<f32>], word: usize, at: usize) -> f32 {
        let (head, width) = (heads.group_width(), heads.width());
        let start = at / head * head;
        let score = |other: &Vec<f32>| {
            let products = (start..start + head).map(|at| rows[word][at] * other[width + at]);
            products.sum::<f32>().exp()
        };
        let scores: Vec<f32> = rows.iter().map(score).collect();
        let all: f32 = scores.iter().sum();
        rows.iter().zip(scores).map(|(row, score)| score / all * row[2 * width + at]).sum()
    }

    #[test]
    fn attention_is_what_the_formula_says() {
        for heads in [(12, 32), (3, 64), (2, 128), (3, 32)] {
            check_heads(AxisLayout::in_groups(heads.0, heads.1, heads.1));
        }
    }

    fn check_heads(heads: AxisLayout) {
        let mut next = numbers(7);
        let (width, used) = (heads.width(), heads.count());
        let outputs = 3 * width;
        let linear = LinearLayer {
            packed: Gemm::new()
                .prepack_b(rten_tensor::NdTensorView::from_data([1, 1], &[0_i8][..])),
            scales: (0..outputs).map(|_| 0.001 + 0.0005 * next()).collect(),
            offsets: (0..outputs).map(|_| next()).collect(),
            bias: (0..outputs).map(|_| next()).collect(),
        };
        let mut scratch = AttentionScratch::default();
        for words in [1, 3, 4, 16, 17, 33, 70, 2] {
            let sums: Vec<i32> = (0..words * outputs).map(|_| (next() * 1e3) as i32).collect();
            let scales: Vec<f32> = (0..words).map(|_| 0.5 + 0.2 * next()).collect();
            let zeros: Vec<f32> = (0..words).map(|_| next()).collect();
            let mut output = QuantizedRows::new(width);
            output.resize(words);
            let given =
                LinearSums { linear: &linear, values: &sums, scales: &scales, zeros: &zeros };
            AttentionOp { heads, sums: given, scratch: &mut scratch, output: &mut output, at: 0 }
                .dispatch();
            let row = |word: usize| {
                let number = |at: usize| {
                    let sum = sums[word * outputs + at] as f32 * linear.scales[at];
                    (sum - zeros[word] * linear.offsets[at]) * scales[word] + linear.bias[at]
                };
                (0..outputs).map(number).collect()
            };
            let rows: Vec<Vec<f32>> = (0..words).map(row).collect();
            for (index, found) in scratch.taken.iter().enumerate() {
                let (word, at) = (index / width, index % width);
                let expected = if at < used { plainly(heads, &rows, word, at) } else { 0.0 };
                assert!((found - expected).abs() < 2e-3, "{words}: {found} for {expected}");
            }
        }
    }
}
