//! The model in plain 32-bit loops, as an oracle: it shows that the reference
//! vectors belong to these weights, and that what the encoder loses, it loses to
//! eight bits and nothing else.

use std::fs;

use recto_search::{DIMENSIONS, Embedding, Encoder};
use serde_json::{Map, Value};
use tokenizers::Tokenizer;

use super::Reference;
use crate::models::minilm;

const HEAD: usize = 32;

/// The longest text that is tried, in word pieces: loops like these take their
/// time.
const LONGEST: usize = 40;

struct Oracle {
    bytes: Vec<u8>,
    header: Map<String, Value>,
    tokenizer: Tokenizer,
}

impl Oracle {
    fn load() -> Self {
        let files = minilm();
        let mut bytes = fs::read(&files.weights).unwrap();
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        bytes.drain(..8 + length);
        let mut tokenizer = Tokenizer::from_file(&files.tokenizer).unwrap();
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).unwrap();
        Oracle { bytes, header, tokenizer }
    }

    fn tensor(&self, name: &str) -> Vec<f32> {
        let offset = |at: usize| self.header[name]["data_offsets"][at].as_u64().unwrap() as usize;
        let bytes = self.bytes[offset(0)..offset(1)].chunks_exact(4);
        bytes.map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
    }

    /// Each row times the matrix `name.weight`, and `name.bias` added.
    fn linear(&self, name: &str, rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
        let bias = self.tensor(&format!("{name}.bias"));
        let weight = self.tensor(&format!("{name}.weight"));
        let inputs = weight.len() / bias.len();
        let mut columns = vec![0.0; weight.len()];
        for (output, row) in weight.chunks_exact(inputs).enumerate() {
            for (input, value) in row.iter().enumerate() {
                columns[input * bias.len() + output] = *value;
            }
        }
        let of = |row: &Vec<f32>| {
            let mut outputs = bias.clone();
            for (input, column) in row.iter().zip(columns.chunks_exact(bias.len())) {
                outputs
                    .iter_mut()
                    .zip(column)
                    .for_each(|(output, weight)| *output += input * weight);
            }
            outputs
        };
        rows.iter().map(of).collect()
    }

    fn norm(&self, name: &str, rows: &mut [Vec<f32>]) {
        let weight = self.tensor(&format!("{name}.weight"));
        let bias = self.tensor(&format!("{name}.bias"));
        for row in rows {
            let count = row.len() as f32;
            let mean = row.iter().sum::<f32>() / count;
            let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count;
            let scale = (variance + 1e-12).sqrt().recip();
            for (index, value) in row.iter_mut().enumerate() {
                *value = (*value - mean) * scale * weight[index] + bias[index];
            }
        }
    }

    fn encode(&self, pieces: &[u32]) -> Embedding {
        let words = self.tensor("embeddings.word_embeddings.weight");
        let positions = self.tensor("embeddings.position_embeddings.weight");
        let kinds = self.tensor("embeddings.token_type_embeddings.weight");
        let row = |(position, piece): (usize, &u32)| {
            let number = |at: usize| {
                let word = words[*piece as usize * DIMENSIONS + at];
                word + positions[position * DIMENSIONS + at] + kinds[at]
            };
            (0..DIMENSIONS).map(number).collect()
        };
        let mut rows: Vec<Vec<f32>> = pieces.iter().enumerate().map(row).collect();
        self.norm("embeddings.LayerNorm", &mut rows);
        for layer in 0..6 {
            self.layer(&format!("encoder.layer.{layer}"), &mut rows);
        }
        let mut sum = Box::new([0.0; DIMENSIONS]);
        for row in rows {
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        Embedding::new(sum)
    }

    fn layer(&self, name: &str, rows: &mut [Vec<f32>]) {
        let [queries, keys, values] = ["query", "key", "value"]
            .map(|part| self.linear(&format!("{name}.attention.self.{part}"), rows));
        let mut taken = vec![vec![0.0; DIMENSIONS]; rows.len()];
        for head in (0..DIMENSIONS).step_by(HEAD).map(|start| start..start + HEAD) {
            for (query, taken) in queries.iter().zip(&mut taken) {
                let score = |key: &Vec<f32>| {
                    let products = query[head.clone()].iter().zip(&key[head.clone()]);
                    let sum: f32 = products.map(|(a, b)| a * b).sum();
                    (sum / (HEAD as f32).sqrt()).exp()
                };
                let scores: Vec<f32> = keys.iter().map(score).collect();
                let all: f32 = scores.iter().sum();
                for (score, value) in scores.iter().zip(&values) {
                    let parts = taken[head.clone()].iter_mut().zip(&value[head.clone()]);
                    parts.for_each(|(taken, value)| *taken += score / all * value);
                }
            }
        }
        let attended = self.linear(&format!("{name}.attention.output.dense"), &taken);
        add(rows, &attended);
        self.norm(&format!("{name}.attention.output.LayerNorm"), rows);
        let mut inner = self.linear(&format!("{name}.intermediate.dense"), rows);
        inner.iter_mut().flatten().for_each(|value| *value = gelu(*value));
        add(rows, &self.linear(&format!("{name}.output.dense"), &inner));
        self.norm(&format!("{name}.output.LayerNorm"), rows);
    }
}

pub(super) fn add(rows: &mut [Vec<f32>], others: &[Vec<f32>]) {
    let both = rows.iter_mut().flatten().zip(others.iter().flatten());
    both.for_each(|(value, other)| *value += other);
}

pub(super) fn gelu(x: f32) -> f32 {
    (0.5 * f64::from(x) * (1.0 + erf(f64::from(x) / std::f64::consts::SQRT_2))) as f32
}

/// The error function by its series, which converges everywhere; far out it is 1.
fn erf(x: f64) -> f64 {
    if x.abs() > 4.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..100 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

#[test]
fn the_arithmetic_is_that_of_the_model() {
    let (oracle, published) = (Oracle::load(), Encoder::load_published(&minilm()).unwrap());
    let mut tried = 0;
    for reference in Reference::all() {
        let text = reference.text();
        let pieces = oracle.tokenizer.encode(&*text, true).unwrap().get_ids().to_vec();
        if pieces.len() > LONGEST || tried == 12 {
            continue;
        }
        tried += 1;
        let exact = oracle.encode(&pieces);
        let cosine = exact.cosine(&reference.embedding());
        assert!(cosine >= 0.9999, "{cosine} in 32 bits for {text:?}");
        let cosine = exact.cosine(&published.encode_one(&text));
        assert!(cosine >= 0.99, "{cosine} in 8 bits for {text:?}");
    }
    assert_eq!(tried, 12);
}
