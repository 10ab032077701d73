//! What an encoder's own files say of it, as sentence-transformers saves them.
//!
//! | file | what is read of it |
//! |---|---|
//! | `config.json` | layers, widths, heads, vocabulary, positions, activation |
//! | `modules.json` | that nothing but pooling and a change of length comes behind the layers |
//! | `1_Pooling/config.json` | whether the mean of all words or the first one stands for a text |
//! | `sentence_bert_config.json` | how long a text may be, and whether capitals tell |
//! | `config_sentence_transformers.json` | what is put before messages and before documents |
//!
//! All but the first may be missing: then the mean stands for a text, and nothing is put before
//! it. What is there and can't be done is an error: vectors of half of an encoder would look like
//! vectors, and find nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

use super::error::EncoderError;
use super::shape::{Activation, AxisLayout, EncoderShape, HEAD_WIDTHS};
use super::tokenizer::LetterCase;

/// The kinds of models that are BERT but for their names: those in the second row count positions
/// from behind the one that stands for nothing.
const BERT: [&str; 1] = ["bert"];
const ROBERTA: [&str; 3] = ["roberta", "xlm-roberta", "camembert"];

/// The widest that a row can be, so that no sum overflows.
const MOST_NUMBERS: usize = 16_384;

/// More layers, words or positions no sentence encoder has.
const MOST_LAYERS: usize = 128;
const MOST_WORDS: usize = 2_000_000;
const MOST_POSITIONS: usize = 65_536;

/// The prompts that are meant for messages, and for what is searched.
const QUERY_PROMPTS: [&str; 1] = ["query"];
const DOCUMENT_PROMPTS: [&str; 3] = ["document", "passage", "corpus"];

/// Which of the words stand for a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    /// All of them, by their mean.
    Mean,
    /// The one before the first.
    First,
}

/// What an encoder's own files say of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EncoderConfig {
    pub(super) shape: EncoderShape,
    pub(super) pooling: Pooling,
    pub(super) case: LetterCase,
    pub(super) prefixes: TextPrefixes,
}

/// What is put before texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TextPrefixes {
    pub(super) query: String,
    pub(super) document: String,
}

impl EncoderConfig {
    /// All-MiniLM-L6-v2, whose files are known and need not be asked.
    pub(super) fn minilm() -> EncoderConfig {
        EncoderConfig {
            shape: EncoderShape::minilm(),
            pooling: Pooling::Mean,
            case: LetterCase::AsTyped,
            prefixes: TextPrefixes::default(),
        }
    }

    /// Reads the files in an encoder's folder.
    pub(super) fn read(folder: &Path) -> Result<EncoderConfig, EncoderError> {
        let path = folder.join("config.json");
        let Some(config) = read_json::<ModelConfig>(&path)? else {
            return Err(EncoderError::Missing { path });
        };
        let mut shape = config.shape().map_err(|why| EncoderError::unsupported(&path, why))?;
        let sentences: SentenceConfig =
            read_json(&folder.join("sentence_bert_config.json"))?.unwrap_or_default();
        shape.longest = shape.longest_of(sentences.max_seq_length);
        if shape.longest < 3 {
            let why = "it has no room for a word: check `max_position_embeddings`";
            return Err(EncoderError::unsupported(&path, why));
        }
        let prefixes = read_prefixes(&folder.join("config_sentence_transformers.json"))?;
        let case = if sentences.do_lower_case { LetterCase::Small } else { LetterCase::AsTyped };
        let pooling = read_pooling(folder, &prefixes)?;
        Ok(EncoderConfig { shape, pooling, case, prefixes })
    }
}

/// `config.json`, as far as it is needed.
#[derive(Deserialize)]
struct ModelConfig {
    model_type: String,
    #[serde(deserialize_with = "count")]
    num_hidden_layers: usize,
    #[serde(deserialize_with = "count")]
    hidden_size: usize,
    #[serde(deserialize_with = "count")]
    num_attention_heads: usize,
    #[serde(deserialize_with = "count")]
    intermediate_size: usize,
    #[serde(deserialize_with = "count")]
    vocab_size: usize,
    #[serde(deserialize_with = "count")]
    max_position_embeddings: usize,
    #[serde(default = "usual_kinds", deserialize_with = "count")]
    type_vocab_size: usize,
    #[serde(default)]
    hidden_act: Option<String>,
    #[serde(default)]
    layer_norm_eps: Option<f32>,
    #[serde(default)]
    pad_token_id: Option<usize>,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

/// Reads how many of something there are.
fn count<'de, D: Deserializer<'de>>(value: D) -> Result<usize, D::Error> {
    let number = Number::deserialize(value)?;
    let count = number.as_u64().and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| {
        D::Error::custom(format!("{number} is no count: whole numbers from 0 on are"))
    })
}

fn usual_kinds() -> usize {
    2
}

impl ModelConfig {
    fn shape(&self) -> Result<EncoderShape, String> {
        let counts_behind_nothing = ROBERTA.contains(&self.model_type.as_str());
        if !counts_behind_nothing && !BERT.contains(&self.model_type.as_str()) {
            let known = [&BERT[..], &ROBERTA].concat().join(", ");
            return Err(format!("its `model_type` is `{}`, not one of {known}", self.model_type));
        }
        if let Some(kind) = self.position_embedding_type.as_deref().filter(|is| *is != "absolute") {
            return Err(format!("its `position_embedding_type` is `{kind}`, not `absolute`"));
        }
        let first_position = match counts_behind_nothing {
            true => self.pad_token_id.unwrap_or(1) + 1,
            false => 0,
        };
        let ranges = [
            ("num_hidden_layers", self.num_hidden_layers, 1, MOST_LAYERS),
            ("hidden_size", self.hidden_size, 1, MOST_NUMBERS),
            ("num_attention_heads", self.num_attention_heads, 1, self.hidden_size),
            ("intermediate_size", self.intermediate_size, 1, MOST_NUMBERS),
            ("vocab_size", self.vocab_size, 3, MOST_WORDS),
            ("max_position_embeddings", self.max_position_embeddings, 3, MOST_POSITIONS),
            ("type_vocab_size", self.type_vocab_size, 0, MOST_WORDS),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(format!("its `{name}` is {value}, not {least} to {most}"));
            }
        }
        let activation = self.hidden_act.as_deref().unwrap_or("gelu");
        Ok(EncoderShape {
            layers: self.num_hidden_layers,
            hidden: AxisLayout::plain(self.hidden_size),
            heads: self.heads()?,
            inner: AxisLayout::plain(self.intermediate_size),
            vocabulary: self.vocab_size,
            positions: self.max_position_embeddings,
            first_position,
            kinds: self.type_vocab_size,
            longest: 0,
            activation: activation_of(activation)?,
            epsilon: self.layer_norm_eps.unwrap_or(1e-12),
        })
    }

    fn heads(&self) -> Result<AxisLayout, String> {
        let (numbers, heads) = (self.hidden_size, self.num_attention_heads);
        let [.., widest] = HEAD_WIDTHS;
        if !numbers.is_multiple_of(heads) {
            return Err(format!("its `hidden_size` {numbers} is no multiple of its {heads} heads"));
        }
        let head = numbers / heads;
        let Some(width) = HEAD_WIDTHS.into_iter().find(|width| *width >= head) else {
            return Err(format!("its heads have {head} numbers each, and {widest} are the most"));
        };
        Ok(AxisLayout::in_groups(heads, head, width))
    }
}

fn activation_of(name: &str) -> Result<Activation, String> {
    match name {
        "gelu" => Ok(Activation::Gelu),
        "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => Ok(Activation::TanhGelu),
        "relu" => Ok(Activation::Relu),
        _ => Err(format!("its `hidden_act` is `{name}`, not gelu, gelu_new or relu")),
    }
}

/// `sentence_bert_config.json`.
#[derive(Deserialize, Default)]
struct SentenceConfig {
    #[serde(default)]
    max_seq_length: Option<usize>,
    #[serde(default)]
    do_lower_case: bool,
}

/// A line of `modules.json`.
#[derive(Deserialize)]
struct ModuleLine {
    #[serde(default)]
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

/// Reads how the words of a text become one vector.
fn read_pooling(folder: &Path, prefixes: &TextPrefixes) -> Result<Pooling, EncoderError> {
    let path = folder.join("modules.json");
    let modules: Option<Vec<ModuleLine>> = read_json(&path)?;
    let (mut pooling, mut is_named) = (folder.join("1_Pooling"), false);
    for module in modules.unwrap_or_default() {
        match module.kind.rsplit('.').next().unwrap_or_default() {
            "Pooling" => {
                pooling = folder.join(inside(&path, &module.path)?);
                is_named = true;
            }
            // A cosine asks for no length.
            "Transformer" | "Normalize" => {}
            other => {
                let why = format!(
                    "it has a module `{other}` behind the layers; only Pooling and Normalize are \
                     known"
                );
                return Err(EncoderError::unsupported(&path, why));
            }
        }
    }
    let path = pooling.join("config.json");
    let Some(config) = read_json::<PoolingConfig>(&path)? else {
        return if is_named { Err(EncoderError::Missing { path }) } else { Ok(Pooling::Mean) };
    };
    config.pooling(prefixes).map_err(|why| EncoderError::unsupported(&path, why))
}

/// A path of `modules.json`, which stays in the folder.
fn inside(path: &Path, module: &str) -> Result<PathBuf, EncoderError> {
    let is_plain = |part| matches!(part, std::path::Component::Normal(_));
    match Path::new(module).components().all(is_plain) {
        true => Ok(PathBuf::from(module)),
        false => {
            let why = format!("the path `{module}` leads out of the folder");
            Err(EncoderError::unsupported(path, why))
        }
    }
}

/// `1_Pooling/config.json`.
#[derive(Deserialize)]
struct PoolingConfig {
    #[serde(default)]
    include_prompt: Option<bool>,
    #[serde(flatten)]
    modes: Map<String, Value>,
}

impl PoolingConfig {
    fn pooling(&self, prefixes: &TextPrefixes) -> Result<Pooling, String> {
        let is_set = |(name, value): (&String, &Value)| match value {
            Value::Bool(true) => Some(name.strip_prefix("pooling_mode_")?.to_owned()),
            // So newer versions write it.
            Value::String(mode) if name == "pooling_mode" => Some(mode.clone()),
            _ => None,
        };
        let set: Vec<String> = self.modes.iter().filter_map(is_set).collect();
        if self.include_prompt == Some(false) && *prefixes != TextPrefixes::default() {
            return Err(
                "it leaves what is put before a text out of the mean (`include_prompt`)".into()
            );
        }
        match &set.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            // Of another length, but the same direction.
            [] | ["mean_tokens" | "mean" | "mean_sqrt_len_tokens"] => Ok(Pooling::Mean),
            ["cls_token" | "cls"] => Ok(Pooling::First),
            others => Err(format!(
                "it pools by {}; the mean of all words and the first one (`mean_tokens`, \
                 `cls_token`) are known",
                others.join(" and ")
            )),
        }
    }
}

/// `config_sentence_transformers.json`.
#[derive(Deserialize, Default)]
struct PromptConfig {
    #[serde(default)]
    prompts: Map<String, Value>,
    #[serde(default)]
    default_prompt_name: Option<String>,
}

fn read_prefixes(path: &Path) -> Result<TextPrefixes, EncoderError> {
    let config: PromptConfig = read_json(path)?.unwrap_or_default();
    let prompt = |name: &str| config.prompts.get(name).and_then(Value::as_str);
    let usual = config.default_prompt_name.as_deref().and_then(prompt).unwrap_or_default();
    let first = |names: &[&str]| names.iter().find_map(|name| prompt(name)).unwrap_or(usual);
    Ok(TextPrefixes {
        query: first(&QUERY_PROMPTS).to_owned(),
        document: first(&DOCUMENT_PROMPTS).to_owned(),
    })
}

/// Reads a file of JSON; nothing where there is none.
fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, EncoderError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(EncoderError::unreadable(path, why)),
    };
    let parsed = serde_json::from_slice(&bytes);
    parsed.map(Some).map_err(|why| EncoderError::damaged(path, why.to_string()))
}
