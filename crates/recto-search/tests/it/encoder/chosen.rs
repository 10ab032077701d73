//! Encoders that a person has chosen: made-up ones beside the same arithmetic in plain loops, and
//! files that can't be used.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use recto_context::{ItemId, ItemKind, Text};
use recto_fakes::{FakeEncoder, FakeFamily, FakeFloats};
use recto_search::{
    CosineScale, Embedding, Encoder, EncoderError, EncoderSource, PackedVector, SearchEntry,
    SearchIndex, SearchQuery,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokenizers::Tokenizer;

use super::oracle::{add, gelu};
use crate::models::minilm;

/// A made-up encoder in plain loops.
struct PlainEncoder {
    fake: FakeEncoder,
    tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
    tokenizer: Tokenizer,
}

type Rows = Vec<Vec<f32>>;

impl PlainEncoder {
    fn new(fake: &FakeEncoder, folder: &Path) -> PlainEncoder {
        let mut tokenizer = Tokenizer::from_file(folder.join("tokenizer.json")).unwrap();
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).unwrap();
        PlainEncoder { fake: fake.clone(), tensors: fake.tensors(), tokenizer }
    }

    fn numbers(&self, name: &str) -> &[f32] {
        &self.tensors[name].1
    }

    fn linear(&self, name: &str, rows: &[Vec<f32>]) -> Rows {
        let bias = self.numbers(&format!("{name}.bias"));
        let weight = self.numbers(&format!("{name}.weight"));
        let inputs = weight.len() / bias.len();
        let output = |row: &Vec<f32>, at: usize| {
            let products = weight[at * inputs..][..inputs].iter().zip(row);
            bias[at] + products.map(|(weight, number)| weight * number).sum::<f32>()
        };
        rows.iter().map(|row| (0..bias.len()).map(|at| output(row, at)).collect()).collect()
    }

    fn norm(&self, name: &str, rows: &mut [Vec<f32>]) {
        let weight = self.numbers(&format!("{name}.LayerNorm.weight"));
        let bias = self.numbers(&format!("{name}.LayerNorm.bias"));
        for row in rows {
            let count = row.len() as f32;
            let mean = row.iter().sum::<f32>() / count;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / count;
            for (at, number) in row.iter_mut().enumerate() {
                *number = (*number - mean) / (variance + self.fake.epsilon).sqrt();
                *number = *number * weight[at] + bias[at];
            }
        }
    }

    fn activated(&self, number: f32) -> f32 {
        match &*self.fake.activation {
            "relu" => number.max(0.0),
            "gelu_new" => {
                let cubed = number + 0.044_715 * number.powi(3);
                0.5 * number * (1.0 + ((2.0 / std::f32::consts::PI).sqrt() * cubed).tanh())
            }
            _ => gelu(number),
        }
    }

    fn layer(&self, name: &str, rows: &mut [Vec<f32>]) {
        let [queries, keys, values] = ["query", "key", "value"]
            .map(|part| self.linear(&format!("{name}.attention.self.{part}"), rows));
        let head = self.fake.hidden / self.fake.heads;
        let mut taken = vec![vec![0.0; self.fake.hidden]; rows.len()];
        for start in (0..self.fake.hidden).step_by(head) {
            for (query, taken) in queries.iter().zip(&mut taken) {
                let score = |key: &Vec<f32>| {
                    let products = (start..start + head).map(|at| query[at] * key[at]);
                    (products.sum::<f32>() / (head as f32).sqrt()).exp()
                };
                let scores: Vec<f32> = keys.iter().map(score).collect();
                let all: f32 = scores.iter().sum();
                for (score, value) in scores.iter().zip(&values) {
                    let parts = taken[start..start + head].iter_mut().zip(&value[start..]);
                    parts.for_each(|(taken, value)| *taken += score / all * value);
                }
            }
        }
        add(rows, &self.linear(&format!("{name}.attention.output.dense"), &taken));
        self.norm(&format!("{name}.attention.output"), rows);
        let mut inner = self.linear(&format!("{name}.intermediate.dense"), rows);
        inner.iter_mut().flatten().for_each(|number| *number = self.activated(*number));
        add(rows, &self.linear(&format!("{name}.output.dense"), &inner));
        self.norm(&format!("{name}.output"), rows);
    }

    /// The rows of all pieces of a text, once all layers are through.
    fn rows(&self, text: &str) -> Rows {
        let mut pieces = self.tokenizer.encode(text, true).unwrap().get_ids().to_vec();
        if pieces.len() > self.fake.max_seq_length {
            let last = pieces.pop().unwrap();
            pieces.truncate(self.fake.max_seq_length - 1);
            pieces.push(last);
        }
        let first_position = if self.fake.family == FakeFamily::Bert { 0 } else { 2 };
        let hidden = self.fake.hidden;
        let embedding = |kind: &str, row: usize| {
            &self.numbers(&format!("embeddings.{kind}_embeddings.weight"))[row * hidden..][..hidden]
        };
        let row = |(place, piece): (usize, &u32)| {
            let word = embedding("word", *piece as usize).to_vec();
            let position = embedding("position", first_position + place);
            let mut row = vec![word];
            add(&mut row, &[position.to_vec()]);
            add(&mut row, &[embedding("token_type", 0).to_vec()]);
            row.remove(0)
        };
        let mut rows: Rows = pieces.iter().enumerate().map(row).collect();
        self.norm("embeddings", &mut rows);
        for layer in 0..self.fake.layers {
            self.layer(&format!("encoder.layer.{layer}"), &mut rows);
        }
        rows
    }

    fn mean(&self, text: &str) -> Embedding {
        let mut sum = vec![vec![0.0; self.fake.hidden]];
        for row in self.rows(text) {
            add(&mut sum, &[row]);
        }
        Embedding::new(sum.remove(0).into())
    }

    fn first(&self, text: &str) -> Embedding {
        Embedding::new(self.rows(text).remove(0).into())
    }
}

const TEXTS: [&str; 6] = [
    "",
    "x",
    "How do I book a day off?",
    "The quick brown fox jumps over the lazy dog, and then it sleeps all day long.",
    "naïve café 東京 42",
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen",
];

fn written(fake: &FakeEncoder) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fake.write(folder.path());
    folder
}

/// The least cosine of an encoder's vectors with those of another way to make them.
fn least_cosine(encoder: &Encoder, plain: impl Fn(&str) -> Embedding) -> f32 {
    let cosine = |text: &&str| encoder.encode_one(text).cosine(&plain(text));
    TEXTS.iter().map(cosine).fold(1.0, f32::min)
}

#[track_caller]
fn check(fake: &FakeEncoder) {
    let folder = written(fake);
    let encoder = Encoder::load_folder(folder.path()).unwrap();
    assert_eq!(encoder.dimensions(), fake.hidden);
    let plain = PlainEncoder::new(fake, folder.path());
    let (mean, first) = (
        least_cosine(&encoder, |text| plain.mean(text)),
        least_cosine(&encoder, |text| plain.first(text)),
    );
    let (right, wrong) = if fake.pooling == "cls_token" { (first, mean) } else { (mean, first) };
    assert!(right > 0.995, "{right} for {fake:?}");
    // The other way is another vector: the test could tell.
    assert!(wrong < 0.97, "{wrong} for {fake:?}");
    let together = encoder.encode(&TEXTS);
    for (text, embedding) in TEXTS.iter().zip(together) {
        assert_eq!(encoder.encode_one(text), embedding, "{text:?}");
    }
}

/// Promise: `own-encoder`
#[test]
fn vectors_of_a_chosen_encoder_are_what_its_files_say() {
    let fake = FakeEncoder::new();
    check(&fake);
    check(&FakeEncoder { pooling: "cls_token".into(), ..fake.clone() });
    for floats in [FakeFloats::F16, FakeFloats::Bf16] {
        check(&FakeEncoder { floats, ..fake.clone() });
    }
    for activation in ["relu", "gelu_new"] {
        check(&FakeEncoder { activation: activation.into(), ..fake.clone() });
    }
    check(&FakeEncoder { prefix: "bert.".into(), ..fake.clone() });
    check(&FakeEncoder { epsilon: 0.5, ..fake.clone() });
    // Widths that registers like, and heads of every width.
    for (hidden, heads, inner) in [(128, 4, 256), (128, 2, 64), (256, 2, 320), (96, 3, 96)] {
        check(&FakeEncoder { hidden, heads, inner, layers: 1, ..fake.clone() });
    }
    let multilingual = FakeEncoder { family: FakeFamily::XlmRoberta, ..fake };
    check(&multilingual);
    check(&FakeEncoder { prefix: "roberta.".into(), pooling: "cls_token".into(), ..multilingual });
}

#[test]
fn texts_are_cut_where_the_files_say() {
    for longest in [8, 20] {
        let fake = FakeEncoder { max_seq_length: longest, ..FakeEncoder::new() };
        let folder = written(&fake);
        let encoder = Encoder::load_folder(folder.path()).unwrap();
        assert_eq!((encoder.most_pieces(), encoder.count_pieces(TEXTS[5])), (longest, longest));
        check(&fake);
    }
    // No more than there are positions, of which two stand before the first word here.
    let family = FakeFamily::XlmRoberta;
    let fake = FakeEncoder { max_seq_length: 500, family, ..FakeEncoder::new() };
    assert_eq!(Encoder::load_folder(written(&fake).path()).unwrap().most_pieces(), 62);
}

#[test]
fn messages_and_documents_have_what_the_encoder_wants_before_them() {
    let prompts = ["query: ", "passage: "].map(str::to_owned);
    let folder = written(&FakeEncoder { prompts, ..FakeEncoder::new() });
    let encoder = Encoder::load_folder(folder.path()).unwrap();
    assert_eq!(encoder.encode_query("tea"), encoder.encode_one("query: tea"));
    assert_eq!(encoder.encode_documents(&["tea"]), encoder.encode(&["passage: tea"]));
    assert_ne!(encoder.encode_query("tea"), encoder.encode_one("tea"));
    // Some files name them otherwise, or only one for all.
    let path = folder.path().join("config_sentence_transformers.json");
    let prompts =
        json!({"prompts": {"passage": "p: ", "all": "a: "}, "default_prompt_name": "all"});
    fs::write(&path, prompts.to_string()).unwrap();
    let encoder = Encoder::load_folder(folder.path()).unwrap();
    assert_eq!(encoder.encode_query("tea"), encoder.encode_one("a: tea"));
    assert_eq!(encoder.encode_documents(&["tea"]), encoder.encode(&["p: tea"]));
}

#[test]
fn a_folder_of_the_built_in_encoder_is_the_built_in_encoder() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let files = minilm();
    fs::copy(&files.weights, folder.path().join("model.safetensors")).unwrap();
    fs::copy(&files.tokenizer, folder.path().join("tokenizer.json")).unwrap();
    put(
        "config.json",
        r#"{"model_type": "bert", "num_hidden_layers": 6, "hidden_size": 384,
            "num_attention_heads": 12, "intermediate_size": 1536, "vocab_size": 30522,
            "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu",
            "layer_norm_eps": 1e-12}"#,
    );
    put("sentence_bert_config.json", r#"{"max_seq_length": 256, "do_lower_case": false}"#);
    let encoder = Encoder::load_folder(folder.path()).unwrap();
    assert_eq!((&**encoder.name(), encoder.is_built_in()), (Encoder::NAME, true));
    let own = Encoder::load(&files).unwrap();
    assert_eq!(encoder.encode_query(TEXTS[3]), own.encode_query(TEXTS[3]));
    assert_eq!(encoder.space().scale(), CosineScale::BUILT_IN);
    // Read in another way, it is another one.
    put("sentence_bert_config.json", r#"{"max_seq_length": 128}"#);
    assert!(!Encoder::load_folder(folder.path()).unwrap().is_built_in());
    // So it is where its tokenizer cuts texts otherwise, be it by one word.
    put("sentence_bert_config.json", r#"{"max_seq_length": 256, "do_lower_case": false}"#);
    let tokenizer = fs::read_to_string(&files.tokenizer).unwrap();
    let swapped = tokenizer.replacen("\"tea\":", "\"tea \":", 1);
    assert_ne!(swapped, tokenizer);
    put("tokenizer.json", &swapped);
    let altered = Encoder::load_folder(folder.path()).unwrap();
    assert!(!altered.is_built_in() && **altered.name() != *Encoder::NAME);
}

/// The scale that is mapped onto is what the built-in encoder has on the same texts.
#[test]
fn the_scale_of_the_built_in_encoder_is_the_one_that_is_measured() {
    let encoder = super::encoder();
    let correction = recto_search::QueryCorrection::default();
    let queries = CosineScale::queries().map(|text| correction.apply(&encoder.encode_query(text)));
    let documents: Vec<&str> = CosineScale::documents().collect();
    let documents = encoder.encode_documents(&documents);
    let scale = CosineScale::measure(&queries.collect::<Vec<_>>(), &documents);
    let usual = CosineScale::BUILT_IN;
    assert!((scale.related - usual.related).abs() < 0.005, "{scale:?}");
    assert!((scale.unrelated - usual.unrelated).abs() < 0.005, "{scale:?}");
}

/// Promise: `encoders-never-mix`
#[test]
fn each_encoder_has_a_name_of_its_own() {
    let of = |fake: &FakeEncoder| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tiny");
        fake.write(&path);
        Encoder::load_folder(&path).unwrap().name().to_string()
    };
    let fake = FakeEncoder::new();
    let name = of(&fake);
    assert!(name.starts_with("tiny/int8-1/"), "{name}");
    assert_eq!(of(&fake), name);
    let prompts = ["query: ".to_owned(), String::new()];
    let others = [
        FakeEncoder { seed: 2, ..fake.clone() },
        FakeEncoder { pooling: "cls_token".into(), ..fake.clone() },
        FakeEncoder { max_seq_length: 20, ..fake.clone() },
        FakeEncoder { prompts, ..fake },
    ];
    for other in &others {
        assert_ne!(of(other), name, "{other:?}");
    }
}

/// A search with vectors of other dimensions, from texts to an order.
#[test]
fn a_chosen_encoder_ranks_on_the_scale_of_the_built_in_one() {
    let folder = written(&FakeEncoder::new());
    let encoder = Encoder::load_folder(folder.path()).unwrap();
    let mut index = SearchIndex::default();
    index.set_space(encoder.space().clone());
    let texts =
        [("zebra", "zebras have stripes"), ("buses", "when the bus leaves"), ("tea", "tea")];
    let entry = |(name, text): (&str, &str)| SearchEntry {
        item: ItemId::new(ItemKind::Rule, name),
        description: None,
        text: Text::new(text),
        thread: None,
        when: None,
    };
    index.update(texts.map(entry).to_vec());
    let missing = index.missing(|_| true);
    let chunks: Vec<&str> = missing.iter().map(|chunk| &*chunk.text).collect();
    let vectors = encoder.encode_documents(&chunks);
    index.supply(missing.iter().map(|chunk| chunk.key).zip(vectors.iter().map(PackedVector::from)));
    assert!(index.is_complete());
    let text = "zebras have stripes";
    let embedding = encoder.encode_query(text);
    let picks = index.rank(&SearchQuery::new(text, Some(&embedding)), |_| true);
    assert_eq!((&*picks[0].item.name, picks[0].scores.cosine.unwrap() > 0.99), ("zebra", true));
    // Texts that only have letters in common are near to each other here, and are not on the
    // scale that all weights were found on.
    let raw = embedding.cosine(&encoder.encode_query("when the bus leaves"));
    let mapped = picks.iter().find(|pick| &*pick.item.name == "buses").unwrap();
    let mapped = mapped.scores.cosine.unwrap();
    assert!(raw > 0.4 && mapped < raw - 0.1, "{raw} and {mapped}");
}

/// Loads an encoder after something was changed in its folder, and says what is wrong with it. What
/// can be done about that is told as long as the folder is there.
#[track_caller]
fn fails(change: impl FnOnce(&Path)) -> (TempDir, EncoderError) {
    let folder = written(&FakeEncoder::new());
    change(folder.path());
    let error = EncoderSource::Chosen(folder.path().to_owned()).load().unwrap_err();
    // Nothing that Recto pulls by itself would mend it.
    assert_eq!(error.remedy(), None);
    assert!(error.to_string().contains(&folder.path().display().to_string()), "{error}");
    (folder, error)
}

fn set(file: &'static str, key: &'static str, value: impl Into<Value>) -> impl FnOnce(&Path) {
    let value = value.into();
    move |folder| {
        let path = folder.join(file);
        let mut json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        json[key] = value;
        fs::write(path, json.to_string()).unwrap();
    }
}

/// Promise: `own-encoder`
#[test]
fn files_that_cannot_be_used_are_named_with_what_is_wrong() {
    let check = |change: Box<dyn FnOnce(&Path)>, problem: &str, hint: &str| {
        let (_folder, error) = fails(change);
        assert!(error.to_string().contains(problem), "{error} / {problem}");
        assert!(error.hint().contains(hint), "{} / {hint}", error.hint());
        assert!(error.hint().contains("search.encoder"), "{}", error.hint());
    };
    let remove = |file: &'static str| -> Box<dyn FnOnce(&Path)> {
        Box::new(move |folder| fs::remove_file(folder.join(file)).unwrap())
    };
    check(remove("config.json"), "config.json", "bring the file there");
    check(remove("tokenizer.json"), "tokenizer.json", "bring the file there");
    check(remove("model.safetensors"), "model.safetensors", "bring the file there");
    check(Box::new(|folder| fs::remove_dir_all(folder).unwrap()), "config.json", "no folder");
    let as_a_file = |folder: &Path| {
        fs::remove_dir_all(folder).unwrap();
        fs::write(folder, "weights").unwrap();
    };
    check(Box::new(as_a_file), "is a file, not the folder that it stands in", "name its folder");
    let only_pickled = |folder: &Path| {
        fs::rename(folder.join("model.safetensors"), folder.join("pytorch_model.bin")).unwrap();
    };
    check(Box::new(only_pickled), "model.safetensors", "not from `pytorch_model.bin`");
    let config =
        |key, value: Value| -> Box<dyn FnOnce(&Path)> { Box::new(set("config.json", key, value)) };
    let other = "name another encoder";
    check(config("model_type", "mpnet".into()), "`model_type` is `mpnet`, not one of bert", other);
    check(config("hidden_act", "swish".into()), "`hidden_act` is `swish`", other);
    check(config("position_embedding_type", "relative_key".into()), "relative_key", other);
    check(config("num_attention_heads", 7.into()), "60 is no multiple of its 7 heads", other);
    check(config("hidden_size", 0.into()), "`hidden_size` is 0", other);
    check(config("vocab_size", 100_000_000.into()), "`vocab_size` is 100000000", other);
    check(config("max_position_embeddings", 1.into()), "`max_position_embeddings` is 1", other);
    let again = "bring the file again";
    check(config("num_hidden_layers", 3.into()), "`encoder.layer.2.attention.self.query", again);
    let silent = "is of one layer more than the 1 that `config.json` tells of";
    check(config("num_hidden_layers", 1.into()), silent, again);
    check(config("hidden_size", (-6).into()), "-6 is no count: whole numbers from 0 on are", again);
    check(config("vocab_size", 1e20.into()), "1e+20 is no count", again);
    check(
        config("intermediate_size", 99.into()),
        "has the shape [100, 60] instead of [99, 60]",
        again,
    );
    check(config("vocab_size", 10.into()), "instead of [10, 60]", again);
    check(config("vocab_size", Value::Null), "config.json", again);
    let pooling = |mode: &str| FakeEncoder { pooling: mode.into(), ..FakeEncoder::new() };
    let weighted = pooling("max_tokens");
    check(Box::new(move |folder| weighted.write(folder)), "it pools by max_tokens", other);
    let dense = r#"[{"path": "", "type": "sentence_transformers.models.Transformer"},
        {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]"#;
    let put = |file: &'static str, text: &'static str| -> Box<dyn FnOnce(&Path)> {
        Box::new(move |folder| fs::write(folder.join(file), text).unwrap())
    };
    check(put("modules.json", dense), "a module `Dense` behind the layers", other);
    let outside = r#"[{"path": "../x", "type": "sentence_transformers.models.Pooling"}]"#;
    check(put("modules.json", outside), "leads out of the folder", other);
    check(put("1_Pooling/config.json", "{"), "1_Pooling/config.json` is damaged", again);
    check(put("tokenizer.json", "{}"), "it holds no tokenizer", again);
    let cut = |folder: &Path| {
        let path = folder.join("model.safetensors");
        let bytes = fs::read(&path).unwrap();
        fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
    };
    check(Box::new(cut), "it is cut short", again);
}

#[test]
fn files_that_need_not_be_there_may_be_missing() {
    let folder = written(&FakeEncoder::new());
    let expected = Encoder::load_folder(folder.path()).unwrap().encode_one("tea");
    for file in ["modules.json", "1_Pooling/config.json", "config_sentence_transformers.json"] {
        fs::remove_file(folder.path().join(file)).unwrap();
        let encoder = Encoder::load_folder(folder.path()).unwrap();
        assert_eq!(encoder.encode_one("tea"), expected, "{file}");
    }
    fs::remove_file(folder.path().join("sentence_bert_config.json")).unwrap();
    assert_eq!(Encoder::load_folder(folder.path()).unwrap().most_pieces(), 64);
}
