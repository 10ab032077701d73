//! A sentence encoder of a few hundred made-up numbers, in the files in which sentence-transformers
//! saves one. It knows every letter and no word, so any text can be read; what it makes of a text
//! means nothing, but is the same each time.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// How the numbers of a made-up encoder are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FakeFloats {
    /// In 32 bits.
    F32,
    /// In IEEE's 16 bits.
    F16,
    /// As the upper halves of 32 bits.
    Bf16,
}

/// The family that a made-up encoder is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FakeFamily {
    /// BERT, with a tokenizer of word pieces.
    Bert,
    /// XLM-RoBERTa, with a tokenizer of unigrams. Positions are counted from 2 on.
    XlmRoberta,
}

/// A made-up encoder. Fields can be set before it is written.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the fields are those of its files")]
pub struct FakeEncoder {
    pub family: FakeFamily,
    pub floats: FakeFloats,
    pub layers: usize,
    pub hidden: usize,
    pub heads: usize,
    pub inner: usize,
    pub positions: usize,
    pub activation: String,
    pub epsilon: f32,
    /// `mean_tokens` or `cls_token`, or what is no such thing.
    pub pooling: String,
    pub max_seq_length: usize,
    /// What is put before messages, and before documents.
    pub prompts: [String; 2],
    /// What stands before the names of tensors.
    pub prefix: String,
    /// Which numbers are made up.
    pub seed: u64,
}

impl FakeEncoder {
    /// An encoder of two layers, with no width that registers would like.
    pub fn new() -> FakeEncoder {
        FakeEncoder {
            family: FakeFamily::Bert,
            floats: FakeFloats::F32,
            layers: 2,
            hidden: 60,
            heads: 5,
            inner: 100,
            positions: 64,
            activation: "gelu".into(),
            epsilon: 1e-12,
            pooling: "mean_tokens".into(),
            max_seq_length: 48,
            prompts: [String::new(), String::new()],
            prefix: String::new(),
            seed: 1,
        }
    }

    /// Its tensors with their shapes, as they are read back from the file.
    pub fn tensors(&self) -> BTreeMap<String, (Vec<usize>, Vec<f32>)> {
        let mut numbers = MadeUpNumbers(self.seed);
        let mut tensors = BTreeMap::new();
        let mut add = |name: String, shape: Vec<usize>, middle: f32, spread: f32| {
            let count = shape.iter().product();
            let made = (0..count).map(|_| self.rounded(middle + spread * numbers.next()));
            tensors.insert(name, (shape, made.collect()));
        };
        let (hidden, inner) = (self.hidden, self.inner);
        let embeddings = |name: &str| format!("embeddings.{name}_embeddings.weight");
        add(embeddings("word"), vec![self.pieces().len() + 3, hidden], 0.0, 1.0);
        add(embeddings("position"), vec![self.positions, hidden], 0.0, 0.3);
        add(embeddings("token_type"), vec![self.kinds(), hidden], 0.0, 0.3);
        let mut norm = |name: &str| {
            add(format!("{name}.LayerNorm.weight"), vec![hidden], 1.0, 0.3);
            add(format!("{name}.LayerNorm.bias"), vec![hidden], 0.0, 0.1);
        };
        norm("embeddings");
        for layer in 0..self.layers {
            norm(&format!("encoder.layer.{layer}.attention.output"));
            norm(&format!("encoder.layer.{layer}.output"));
        }
        for layer in 0..self.layers {
            let parts = [
                ("attention.self.query", hidden, hidden),
                ("attention.self.key", hidden, hidden),
                ("attention.self.value", hidden, hidden),
                ("attention.output.dense", hidden, hidden),
                ("intermediate.dense", inner, hidden),
                ("output.dense", hidden, inner),
            ];
            for (part, outputs, inputs) in parts {
                let name = format!("encoder.layer.{layer}.{part}");
                add(format!("{name}.weight"), vec![outputs, inputs], 0.0, 0.35);
                add(format!("{name}.bias"), vec![outputs], 0.0, 0.2);
            }
        }
        tensors
    }

    /// Writes all files into a folder, which is made.
    ///
    /// # Panics
    ///
    /// When a file can't be written.
    pub fn write(&self, folder: &Path) {
        let write = |name: &str, bytes: Vec<u8>| {
            let path = folder.join(name);
            let parent = path.parent().expect("a file stands in a folder");
            fs::create_dir_all(parent).expect("the folder can be made");
            fs::write(&path, bytes).expect("the file can be written");
        };
        let write_json = |name: &str, value: &Value| write(name, value.to_string().into_bytes());
        write("model.safetensors", self.weights());
        write_json("tokenizer.json", &self.tokenizer());
        write_json("config.json", &self.config());
        let module = |name: &str, path: &str| json!({"path": path, "type": format!("sentence_transformers.models.{name}")});
        write_json(
            "modules.json",
            &json!([
                module("Transformer", ""),
                module("Pooling", "1_Pooling"),
                module("Normalize", "2_Normalize")
            ]),
        );
        let mut pooling = json!({
            "word_embedding_dimension": self.hidden,
            "pooling_mode_cls_token": false,
            "pooling_mode_mean_tokens": false,
        });
        pooling[format!("pooling_mode_{}", self.pooling)] = true.into();
        write_json("1_Pooling/config.json", &pooling);
        let sentences = json!({"max_seq_length": self.max_seq_length, "do_lower_case": false});
        write_json("sentence_bert_config.json", &sentences);
        let [query, document] = &self.prompts;
        let prompts = json!({"prompts": {"query": query, "document": document}});
        write_json("config_sentence_transformers.json", &prompts);
    }

    /// `config.json`.
    pub fn config(&self) -> Value {
        let model_type = match self.family {
            FakeFamily::Bert => "bert",
            FakeFamily::XlmRoberta => "xlm-roberta",
        };
        json!({
            "model_type": model_type,
            "num_hidden_layers": self.layers,
            "hidden_size": self.hidden,
            "num_attention_heads": self.heads,
            "intermediate_size": self.inner,
            "vocab_size": self.pieces().len() + 3,
            "max_position_embeddings": self.positions,
            "type_vocab_size": self.kinds(),
            "hidden_act": self.activation,
            "layer_norm_eps": self.epsilon,
            "pad_token_id": match self.family { FakeFamily::Bert => 0, FakeFamily::XlmRoberta => 1 },
            "position_embedding_type": "absolute",
        })
    }

    /// `model.safetensors`.
    fn weights(&self) -> Vec<u8> {
        let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
        let dtype = match self.floats {
            FakeFloats::F32 => "F32",
            FakeFloats::F16 => "F16",
            FakeFloats::Bf16 => "BF16",
        };
        for (name, (shape, numbers)) in self.tensors() {
            let from = data.len();
            for number in numbers {
                match self.floats {
                    FakeFloats::F32 => data.extend(number.to_le_bytes()),
                    FakeFloats::F16 => data.extend(half_bits(number).to_le_bytes()),
                    FakeFloats::Bf16 => {
                        data.extend(((number.to_bits() >> 16) as u16).to_le_bytes());
                    }
                }
            }
            let place = json!({"dtype": dtype, "shape": shape, "data_offsets": [from, data.len()]});
            header.insert(format!("{}{name}", self.prefix), place);
        }
        let header = Value::Object(header).to_string();
        let length = (header.len() as u64).to_le_bytes();
        [&length[..], header.as_bytes(), &data].concat()
    }

    /// A number as it is once it has been written.
    fn rounded(&self, number: f32) -> f32 {
        match self.floats {
            FakeFloats::F32 => number,
            FakeFloats::F16 => half_value(half_bits(number)),
            FakeFloats::Bf16 => f32::from_bits(number.to_bits() & 0xffff_0000),
        }
    }

    fn kinds(&self) -> usize {
        match self.family {
            FakeFamily::Bert => 2,
            FakeFamily::XlmRoberta => 1,
        }
    }

    /// The pieces of its vocabulary: letters, at the beginning of a word and within it.
    fn pieces(&self) -> Vec<String> {
        let letters = || ('a'..='z').chain('0'..='9').map(String::from);
        let marks = ".,:;!?'-".chars().map(String::from);
        match self.family {
            FakeFamily::Bert => {
                let inside = letters().map(|letter| format!("##{letter}"));
                ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
                    .map(String::from)
                    .into_iter()
                    .chain(letters())
                    .chain(inside)
                    .chain(marks)
                    .collect::<Vec<String>>()
            }
            FakeFamily::XlmRoberta => ["<s>", "<pad>", "</s>", "<unk>", "\u{2581}"]
                .map(String::from)
                .into_iter()
                .chain(letters())
                .chain(marks)
                .collect(),
        }
    }

    /// `tokenizer.json`, which cuts and fills up texts like those of real encoders.
    fn tokenizer(&self) -> Value {
        let pieces = self.pieces();
        let (normalizer, before, model, ends) = match self.family {
            FakeFamily::Bert => {
                let vocabulary: serde_json::Map<String, Value> = pieces
                    .iter()
                    .enumerate()
                    .map(|(id, piece)| (piece.clone(), id.into()))
                    .collect();
                (
                    json!({"type": "BertNormalizer", "clean_text": true,
                        "handle_chinese_chars": true, "strip_accents": null, "lowercase": true}),
                    json!({"type": "BertPreTokenizer"}),
                    json!({"type": "WordPiece", "unk_token": "[UNK]",
                        "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                        "vocab": vocabulary}),
                    [("[CLS]", 2), ("[SEP]", 3)],
                )
            }
            FakeFamily::XlmRoberta => {
                let vocabulary: Vec<Value> = pieces
                    .iter()
                    .enumerate()
                    .map(|(id, piece)| json!([piece, -(id as f64)]))
                    .collect();
                (
                    json!({"type": "Lowercase"}),
                    json!({"type": "Metaspace", "replacement": "\u{2581}",
                        "prepend_scheme": "always", "split": true}),
                    json!({"type": "Unigram", "unk_id": 3, "vocab": vocabulary,
                        "byte_fallback": false}),
                    [("<s>", 0), ("</s>", 2)],
                )
            }
        };
        let [(first, first_id), (last, last_id)] = ends;
        let special = |name: &str| json!({"SpecialToken": {"id": name, "type_id": 0}});
        let token = |name: &str, id: u32| json!({"id": name, "ids": [id], "tokens": [name]});
        json!({
            "version": "1.0",
            "truncation": {"direction": "Right", "max_length": 16, "strategy": "LongestFirst",
                "stride": 0},
            "padding": {"strategy": {"Fixed": 16}, "direction": "Right", "pad_to_multiple_of": null,
                "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
            "added_tokens": [],
            "normalizer": normalizer,
            "pre_tokenizer": before,
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [special(first), {"Sequence": {"id": "A", "type_id": 0}}, special(last)],
                "pair": [special(first), {"Sequence": {"id": "A", "type_id": 0}}, special(last),
                    {"Sequence": {"id": "B", "type_id": 0}}, special(last)],
                "special_tokens": {first: token(first, first_id), last: token(last, last_id)},
            },
            "decoder": null,
            "model": model,
        })
    }
}

impl Default for FakeEncoder {
    fn default() -> Self {
        FakeEncoder::new()
    }
}

/// Numbers between -1 and 1 that look like chance.
struct MadeUpNumbers(u64);

impl MadeUpNumbers {
    fn next(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    }
}

/// The bits of a number of 16 bits that is near; none here is too small or too large for its
/// exponent, but for what becomes 0.
fn half_bits(number: f32) -> u16 {
    let bits = number.to_bits();
    let (sign, exponent) = ((bits >> 16) as u16 & 0x8000, (bits >> 23) as i32 & 0xff);
    match exponent - 127 + 15 {
        exponent if exponent > 0 => {
            sign | ((exponent as u16) << 10) | ((bits >> 13) as u16 & 0x3ff)
        }
        _ => sign,
    }
}

fn half_value(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    match bits >> 10 & 0x1f {
        0 => sign * 0.0,
        exponent => {
            let fraction = 1.0 + f32::from(bits & 0x3ff) / 1_024.0;
            sign * fraction * 2.0_f32.powi(i32::from(exponent) - 15)
        }
    }
}
