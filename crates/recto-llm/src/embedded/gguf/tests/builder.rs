//! Writes GGUF files, right ones and wrong ones.

/// A value, with its type in the file.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    I8(i8),
    I32(i32),
    I64(i64),
    F32(f32),
    F64(f64),
    Bool(bool),
    Text(String),
    /// All of one type, that of the first.
    List(Vec<Value>),
    /// A type, and bytes as they come.
    Raw(u32, Vec<u8>),
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Value::U32(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(list: Vec<T>) -> Self {
        Value::List(list.into_iter().map(Into::into).collect())
    }
}

impl Value {
    fn tag(&self) -> u32 {
        match self {
            Value::U8(_) => 0,
            Value::I8(_) => 1,
            Value::U16(_) => 2,
            Value::U32(_) => 4,
            Value::I32(_) => 5,
            Value::F32(_) => 6,
            Value::Bool(_) => 7,
            Value::Text(_) => 8,
            Value::List(_) => 9,
            Value::U64(_) => 10,
            Value::I64(_) => 11,
            Value::F64(_) => 12,
            Value::Raw(tag, _) => *tag,
        }
    }

    fn write(&self, to: &mut Vec<u8>) {
        match self {
            Value::U8(number) => to.push(*number),
            Value::I8(number) => to.extend(number.to_le_bytes()),
            Value::U16(number) => to.extend(number.to_le_bytes()),
            Value::U32(number) => to.extend(number.to_le_bytes()),
            Value::I32(number) => to.extend(number.to_le_bytes()),
            Value::F32(number) => to.extend(number.to_le_bytes()),
            Value::Bool(truth) => to.push(u8::from(*truth)),
            Value::Text(text) => write_text(text, to),
            Value::List(list) => {
                to.extend(list.first().map_or(4, Value::tag).to_le_bytes());
                to.extend((list.len() as u64).to_le_bytes());
                list.iter().for_each(|value| value.write(to));
            }
            Value::U64(number) => to.extend(number.to_le_bytes()),
            Value::I64(number) => to.extend(number.to_le_bytes()),
            Value::F64(number) => to.extend(number.to_le_bytes()),
            Value::Raw(_, bytes) => to.extend(bytes),
        }
    }
}

#[derive(Debug, Clone)]
struct Tensor {
    name: String,
    sizes: Vec<u64>,
    kind: u32,
    offset: u64,
}

/// A file that is being written.
#[derive(Debug, Clone)]
pub(crate) struct Gguf {
    pub(crate) version: u32,
    /// What the header claims, where it is not what is there.
    pub(crate) claimed_tensors: Option<u64>,
    pub(crate) claimed_keys: Option<u64>,
    pub(crate) alignment: u64,
    keys: Vec<(String, Value)>,
    tensors: Vec<Tensor>,
    data: u64,
}

impl Gguf {
    /// A file with nothing in it.
    pub(crate) fn new() -> Self {
        Gguf {
            version: 3,
            claimed_tensors: None,
            claimed_keys: None,
            alignment: 32,
            keys: Vec::new(),
            tensors: Vec::new(),
            data: 0,
        }
    }

    /// A small model that can chat: two layers, four heads, two of them with keys and values.
    pub(crate) fn chat() -> Self {
        Gguf::new()
            .with("general.architecture", "llama")
            .with("general.type", "model")
            .with("general.name", "Tiny")
            .with("llama.block_count", 2)
            .with("llama.context_length", 2048)
            .with("llama.embedding_length", 64)
            .with("llama.feed_forward_length", 128)
            .with("llama.attention.head_count", 4)
            .with("llama.attention.head_count_kv", 2)
            .with("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5))
            .with("tokenizer.ggml.model", "gpt2")
            .with("tokenizer.ggml.tokens", vec!["<unk>", "<s>", "</s>", "a", "b", "ab"])
            .with("tokenizer.ggml.scores", Value::List(vec![Value::F32(f32::NAN); 6]))
            .with("tokenizer.ggml.merges", vec!["a b"])
            .with("tokenizer.ggml.bos_token_id", 1)
            .with("tokenizer.ggml.eos_token_id", 2)
            .with("tokenizer.chat_template", "{{ messages }}")
            .tensor("token_embd.weight", &[64, 6], 2, 64 * 6 / 32 * 18)
            .tensor("output_norm.weight", &[64], 0, 64 * 4)
            .tensor("blk.0.ffn_up.weight", &[64, 128], 3, 64 * 128 / 32 * 20)
    }

    /// Sets a key, in its place if it is there.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        match self.keys.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.keys.push((key.to_owned(), value)),
        }
        self
    }

    /// Adds a key at the end, whether it is there or not.
    pub(crate) fn again(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.keys.push((key.to_owned(), value.into()));
        self
    }

    pub(crate) fn without(mut self, key: &str) -> Self {
        self.keys.retain(|(name, _)| name != key);
        self
    }

    pub(crate) fn without_tensors(mut self) -> Self {
        self.tensors.clear();
        self.data = 0;
        self
    }

    /// Leaves the tensors in the list, and their data out.
    pub(crate) fn without_data(mut self) -> Self {
        self.data = 0;
        self
    }

    /// Adds a tensor behind the others.
    pub(crate) fn tensor(self, name: &str, sizes: &[u64], kind: u32, bytes: u64) -> Self {
        let offset = self.data.next_multiple_of(self.alignment);
        self.tensor_at(offset, name, sizes, kind, bytes)
    }

    /// Adds a tensor anywhere.
    pub(crate) fn tensor_at(
        mut self,
        offset: u64,
        name: &str,
        sizes: &[u64],
        kind: u32,
        bytes: u64,
    ) -> Self {
        self.tensors.push(Tensor { name: name.to_owned(), sizes: sizes.to_vec(), kind, offset });
        self.data = offset.saturating_add(bytes);
        self
    }

    /// The bytes before the tensors' data.
    pub(crate) fn header(&self) -> Vec<u8> {
        let mut to = b"GGUF".to_vec();
        to.extend(self.version.to_le_bytes());
        to.extend(self.claimed_tensors.unwrap_or(self.tensors.len() as u64).to_le_bytes());
        to.extend(self.claimed_keys.unwrap_or(self.keys.len() as u64).to_le_bytes());
        for (key, value) in &self.keys {
            write_text(key, &mut to);
            to.extend(value.tag().to_le_bytes());
            value.write(&mut to);
        }
        for tensor in &self.tensors {
            write_text(&tensor.name, &mut to);
            to.extend((tensor.sizes.len() as u32).to_le_bytes());
            tensor.sizes.iter().for_each(|size| to.extend(size.to_le_bytes()));
            to.extend(tensor.kind.to_le_bytes());
            to.extend(tensor.offset.to_le_bytes());
        }
        to
    }

    /// The whole file; the tensors are all zeros.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut to = self.header();
        if !self.tensors.is_empty() {
            let start = (to.len() as u64).next_multiple_of(self.alignment);
            to.resize((start + self.data) as usize, 0);
        }
        to
    }
}

fn write_text(text: &str, to: &mut Vec<u8>) {
    to.extend((text.len() as u64).to_le_bytes());
    to.extend(text.as_bytes());
}
