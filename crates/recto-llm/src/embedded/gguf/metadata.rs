//! The keys and values at the head of a GGUF file.
//!
//! Numbers, short lists of numbers and a few named texts are kept; of the vocabulary only where
//! it stands. The rest (merges, scores, texts about the model) is passed over. What the values
//! mean is decided in [`super::shape`] and beside it.

use std::collections::HashMap;
use std::io::{Read, Seek};

use super::problem::{GgufFault, GgufResult, damaged};
use super::reader::{GgufReader, SeenNames, shown};

pub(super) const ARCHITECTURE: &str = "general.architecture";
pub(super) const NAME: &str = "general.name";
pub(super) const KIND: &str = "general.type";
pub(super) const CHAT_TEMPLATE: &str = "tokenizer.chat_template";
pub(super) const TOKENIZER: &str = "tokenizer.ggml.model";
const ALIGNMENT: &str = "general.alignment";
const TOKENS: &str = "tokenizer.ggml.tokens";
const ROPE_SCALING: &str = ".rope.scaling.type";

/// Real files have fewer than a hundred keys.
const MOST_KEYS: u64 = 1 << 14;
/// What the format allows.
const LONGEST_KEY: u64 = (1 << 16) - 1;
/// The length of a key from which on it is not kept: none that is looked for is longer.
const LONGEST_KEPT_KEY: usize = 128;
/// Chat templates have some ten thousands of bytes at most.
const LONGEST_KEPT_TEXT: u64 = 1 << 20;
/// The most values of a list that is kept: as many as a model may have layers.
const LONGEST_KEPT_LIST: u64 = 512;
/// The longest list that llama.cpp reads.
const LONGEST_LIST: u64 = 1 << 30;
/// Lists of texts are read one by one. The largest vocabularies have a quarter of a million, and
/// as many merges.
const MOST_TEXTS: u64 = 1 << 22;

const DEFAULT_ALIGNMENT: u64 = 32;
const LARGEST_ALIGNMENT: u64 = 1 << 20;

/// The keys and values of a file that were kept.
#[derive(Debug, Default)]
pub(super) struct GgufMetadata {
    values: HashMap<String, MetadataValue>,
    /// Where the tokens stand, if there are any.
    pub(super) tokens: Option<TokenList>,
}

/// Where the texts of the tokens begin, and how many there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenList {
    pub(super) at: u64,
    pub(super) count: u32,
}

#[derive(Debug)]
enum MetadataValue {
    Number(u64),
    Text(String),
    List(Vec<u64>),
    /// A fraction, a negative number, or what was not kept.
    Other,
}

impl GgufMetadata {
    /// Reads `count` keys and their values.
    pub(super) fn read<R: Read + Seek>(reader: &mut GgufReader<R>, count: u64) -> GgufResult<Self> {
        if count > MOST_KEYS {
            return damaged(format!("it claims to have {count} keys"));
        }
        let mut metadata = GgufMetadata::default();
        let mut seen = SeenNames::default();
        let mut key = Vec::new();
        for _ in 0..count {
            reader.text(LONGEST_KEY, &mut key)?;
            if key.is_empty() {
                return damaged("there is a key without a name");
            }
            if !seen.add(&key) {
                return damaged(format!("the key `{}` stands twice", shown(&key)));
            }
            let key = String::from_utf8_lossy(&key);
            let value = metadata.value(reader, &key)?;
            if key.len() <= LONGEST_KEPT_KEY {
                metadata.values.insert(key.into_owned(), value);
            }
        }
        Ok(metadata)
    }

    /// The number at `key`, if there is one.
    pub(super) fn number(&self, key: &str) -> GgufResult<Option<u32>> {
        match self.values.get(key) {
            None => Ok(None),
            Some(MetadataValue::Number(number)) => small(key, *number).map(Some),
            Some(_) => Err(unfit(key)),
        }
    }

    /// The number at `key`, and nothing if it is something else: ids of tokens are negative or
    /// all ones where there is no such token.
    pub(super) fn id(&self, key: &str) -> Option<u64> {
        match self.values.get(key) {
            Some(MetadataValue::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The text at `key`, if there is one.
    pub(super) fn text(&self, key: &str) -> GgufResult<Option<&str>> {
        match self.values.get(key) {
            None => Ok(None),
            Some(MetadataValue::Text(text)) => Ok(Some(text)),
            Some(_) => damaged(format!("`{}` is no text", shown(key.as_bytes()))),
        }
    }

    /// The numbers at `key` for each of `layers` layers; one number is for all of them.
    pub(super) fn for_layers(&self, key: &str, layers: usize) -> GgufResult<Option<Vec<u32>>> {
        match self.values.get(key) {
            None => Ok(None),
            Some(MetadataValue::Number(number)) => Ok(Some(vec![small(key, *number)?; layers])),
            Some(MetadataValue::List(list)) if list.len() == layers => {
                list.iter().map(|number| small(key, *number)).collect::<Result<_, _>>().map(Some)
            }
            Some(MetadataValue::List(list)) => damaged(format!(
                "`{}` has {} values for {layers} layers",
                shown(key.as_bytes()),
                list.len()
            )),
            Some(_) => Err(unfit(key)),
        }
    }

    /// The yes or no at `key` for each of `layers` layers, if it is such a list.
    pub(super) fn flags(&self, key: &str, layers: usize) -> Option<Vec<bool>> {
        match self.values.get(key) {
            Some(MetadataValue::List(list)) if list.len() == layers => {
                Some(list.iter().map(|flag| *flag != 0).collect())
            }
            _ => None,
        }
    }

    /// Whether any key begins with `start`.
    pub(super) fn any(&self, start: &str) -> bool {
        self.values.keys().any(|key| key.starts_with(start))
    }

    /// What the tensors begin at multiples of.
    pub(super) fn alignment(&self) -> GgufResult<u64> {
        let Some(alignment) = self.number(ALIGNMENT)? else { return Ok(DEFAULT_ALIGNMENT) };
        let alignment = u64::from(alignment);
        if !alignment.is_power_of_two() || alignment > LARGEST_ALIGNMENT {
            return damaged(format!("its alignment is {alignment}"));
        }
        Ok(alignment)
    }

    fn value<R: Read + Seek>(
        &mut self,
        reader: &mut GgufReader<R>,
        key: &str,
    ) -> GgufResult<MetadataValue> {
        let tag = reader.u32()?;
        match MetadataType::from_tag(tag) {
            Some(MetadataType::Text) if is_kept_text(key) => {
                let mut text = Vec::new();
                reader.text(LONGEST_KEPT_TEXT, &mut text)?;
                Ok(MetadataValue::Text(String::from_utf8_lossy(&text).into_owned()))
            }
            Some(MetadataType::Text) => reader.skip_text().map(|()| MetadataValue::Other),
            Some(MetadataType::List) => self.list(reader, key),
            Some(kind) => {
                Ok(kind.number(reader)?.map_or(MetadataValue::Other, MetadataValue::Number))
            }
            None => Err(unknown_kind(key, tag)),
        }
    }

    fn list<R: Read + Seek>(
        &mut self,
        reader: &mut GgufReader<R>,
        key: &str,
    ) -> GgufResult<MetadataValue> {
        let tag = reader.u32()?;
        let count = reader.u64()?;
        match MetadataType::from_tag(tag) {
            Some(MetadataType::Text) => {
                if count > MOST_TEXTS {
                    return Err(too_long(key, count));
                }
                if key == TOKENS {
                    let count = u32::try_from(count).map_err(|_| too_long(key, count))?;
                    self.tokens = Some(TokenList { at: reader.at(), count });
                }
                for _ in 0..count {
                    reader.skip_text()?;
                }
                Ok(MetadataValue::Other)
            }
            // The format allows lists of lists; llama.cpp does not, and nobody writes them.
            Some(MetadataType::List) => {
                damaged(format!("`{}` is a list of lists", shown(key.as_bytes())))
            }
            Some(_) if count > LONGEST_LIST => Err(too_long(key, count)),
            Some(kind) if count > LONGEST_KEPT_LIST => {
                reader.skip(count.saturating_mul(kind.size())).map(|()| MetadataValue::Other)
            }
            Some(kind) => {
                // All of them are read, also behind one that is no number.
                let numbers: Vec<_> =
                    (0..count).map(|_| kind.number(reader)).collect::<Result<_, _>>()?;
                let list: Option<Vec<u64>> = numbers.into_iter().collect();
                Ok(list.map_or(MetadataValue::Other, MetadataValue::List))
            }
            None => Err(unknown_kind(key, tag)),
        }
    }
}

/// The types of values, as far as their bytes differ.
#[derive(Debug, Clone, Copy)]
enum MetadataType {
    Unsigned(u64),
    Signed(u64),
    Fraction(u64),
    Truth,
    Text,
    List,
}

impl MetadataType {
    fn from_tag(tag: u32) -> Option<Self> {
        Some(match tag {
            0 => MetadataType::Unsigned(1),
            1 => MetadataType::Signed(1),
            2 => MetadataType::Unsigned(2),
            3 => MetadataType::Signed(2),
            4 => MetadataType::Unsigned(4),
            5 => MetadataType::Signed(4),
            6 => MetadataType::Fraction(4),
            7 => MetadataType::Truth,
            8 => MetadataType::Text,
            9 => MetadataType::List,
            10 => MetadataType::Unsigned(8),
            11 => MetadataType::Signed(8),
            12 => MetadataType::Fraction(8),
            _ => return None,
        })
    }

    /// The bytes of one value; texts and lists say it themselves.
    fn size(self) -> u64 {
        match self {
            MetadataType::Unsigned(size)
            | MetadataType::Signed(size)
            | MetadataType::Fraction(size) => size,
            MetadataType::Truth => 1,
            MetadataType::Text | MetadataType::List => 0,
        }
    }

    /// Reads one value: a number from nought upwards, or nothing that is wanted.
    fn number<R: Read + Seek>(self, reader: &mut GgufReader<R>) -> GgufResult<Option<u64>> {
        let bits = match self.size() {
            1 => u64::from(u8::from_le_bytes(reader.array()?)),
            2 => u64::from(u16::from_le_bytes(reader.array()?)),
            4 => u64::from(reader.u32()?),
            _ => reader.u64()?,
        };
        Ok(match self {
            MetadataType::Unsigned(_) => Some(bits),
            MetadataType::Truth => Some(u64::from(bits != 0)),
            MetadataType::Signed(size) => Some(bits).filter(|bits| bits >> (8 * size - 1) == 0),
            MetadataType::Fraction(_) | MetadataType::Text | MetadataType::List => None,
        })
    }
}

fn is_kept_text(key: &str) -> bool {
    [ARCHITECTURE, NAME, KIND, CHAT_TEMPLATE, TOKENIZER].contains(&key)
        || key.ends_with(ROPE_SCALING)
}

fn small(key: &str, number: u64) -> GgufResult<u32> {
    u32::try_from(number)
        .map_err(|_| GgufFault::damaged(format!("`{}` is {number}", shown(key.as_bytes()))))
}

fn unfit(key: &str) -> GgufFault {
    GgufFault::damaged(format!("`{}` is no whole number", shown(key.as_bytes())))
}

fn too_long(key: &str, count: u64) -> GgufFault {
    GgufFault::damaged(format!("`{}` claims to have {count} values", shown(key.as_bytes())))
}

fn unknown_kind(key: &str, tag: u32) -> GgufFault {
    GgufFault::damaged(format!("`{}` has the unknown type {tag}", shown(key.as_bytes())))
}
