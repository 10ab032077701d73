//! Headers are read for what they say, and refused for what is wrong with them.

pub(crate) mod builder;
mod hostile;

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use builder::{Gguf, Value};
use recto_context::Remedy;

use super::{CacheLayer, GuessedFormat, ModelFile, ModelFileProblem, read_header};

const PATH: &str = "models/tiny.gguf";

fn parse(bytes: &[u8]) -> Result<ModelFile, ModelFileProblem> {
    let path = Path::new(PATH);
    let size = bytes.len() as u64;
    read_header(path, Cursor::new(bytes), size).map_err(|fault| fault.in_file(path, size))
}

fn model(gguf: &Gguf) -> ModelFile {
    parse(&gguf.bytes()).unwrap()
}

/// What people are told.
fn message(gguf: &Gguf) -> String {
    told_of(&gguf.bytes())
}

fn told_of(bytes: &[u8]) -> String {
    parse(bytes).unwrap_err().to_string()
}

fn damage(gguf: &Gguf) -> String {
    match parse(&gguf.bytes()) {
        Err(ModelFileProblem::Damaged { what, .. }) => what,
        other => panic!("not damaged: {other:?}"),
    }
}

#[test]
fn a_header_says_what_the_model_is() {
    let gguf = Gguf::chat();
    let layer = CacheLayer { kv_heads: 2, key_length: 16, value_length: 16 };
    assert_eq!(
        model(&gguf),
        ModelFile {
            path: PATH.into(),
            bytes: gguf.bytes().len() as u64,
            name: Some("Tiny".into()),
            architecture: "llama".into(),
            trained: Some(2048),
            layers: vec![layer; 2],
            heads: 4,
            embedding_length: 64,
            feed_forward: 128,
            vocabulary: 6,
            chat_template: Some("{{ messages }}".into()),
            bos: Some("<s>".into()),
            eos: Some("</s>".into()),
            sliding_window: None,
            recurrent: false,
            state: 0,
            weights: 216 + 256 + 5120,
        }
    );
}

#[test]
fn version_2_is_the_same() {
    let mut gguf = Gguf::chat();
    gguf.version = 2;
    assert_eq!(model(&gguf), model(&Gguf::chat()));
}

#[test]
fn the_order_of_keys_does_not_matter() {
    let gguf = Gguf::chat()
        .without("general.architecture")
        .without("tokenizer.ggml.tokens")
        .with("tokenizer.ggml.tokens", vec!["<unk>", "<s>", "</s>", "a", "b", "ab"])
        .with("general.architecture", "llama");
    assert_eq!(model(&gguf), model(&Gguf::chat()));
}

#[test]
fn what_a_file_does_not_say_is_not_there() {
    let gguf = Gguf::chat()
        .without("general.name")
        .without("general.type")
        .without("llama.context_length")
        .without("tokenizer.ggml.bos_token_id")
        .with("tokenizer.ggml.eos_token_id", u32::MAX)
        .with("tokenizer.chat_template", " \n")
        .with("llama.attention.sliding_window", 0);
    let model = model(&gguf);
    assert_eq!((model.name, model.trained, model.sliding_window), (None, None, None));
    assert_eq!((model.bos, model.eos, model.chat_template), (None, None, None));
}

#[test]
fn numbers_may_have_any_width() {
    let gguf = Gguf::chat()
        .with("llama.block_count", Value::U64(2))
        .with("llama.context_length", Value::I32(2048))
        .with("llama.embedding_length", Value::U16(64))
        .with("llama.attention.head_count", Value::U8(4))
        .with("llama.attention.head_count_kv", Value::I64(2))
        .with("tokenizer.ggml.bos_token_id", Value::I8(1));
    assert_eq!(model(&gguf), model(&Gguf::chat()));
}

#[test]
fn layers_may_differ() {
    let layers = |gguf: Gguf| model(&gguf).layers;
    let layer =
        |kv_heads, key_length, value_length| CacheLayer { kv_heads, key_length, value_length };

    let each = Gguf::chat().with("llama.attention.head_count_kv", vec![4, 0]);
    assert_eq!(layers(each), [layer(4, 16, 16), layer(0, 16, 16)]);

    let all = Gguf::chat().without("llama.attention.head_count_kv");
    assert_eq!(layers(all), [layer(4, 16, 16); 2]);

    let wide = Gguf::chat()
        .with("llama.attention.key_length", 192)
        .with("llama.attention.value_length", 128);
    assert_eq!(layers(wide), [layer(2, 192, 128); 2]);

    let latent = Gguf::chat()
        .with("llama.attention.key_length", 576)
        .with("llama.attention.value_length", 512)
        .with("llama.attention.key_length_mla", 192)
        .with("llama.attention.value_length_mla", 128);
    assert_eq!(layers(latent.clone()), [layer(2, 576, 0); 2]);
    let sparse = latent.with("llama.attention.indexer.key_length", 128);
    assert_eq!(layers(sparse), [layer(2, 704, 0); 2]);

    let slides = Gguf::chat()
        .with("llama.attention.key_length", 512)
        .with("llama.attention.value_length", 512)
        .with("llama.attention.key_length_swa", 256)
        .with("llama.attention.value_length_swa", 256)
        .with("llama.attention.sliding_window", 1024);
    assert_eq!(layers(slides.clone()), [layer(2, 512, 512); 2]);
    assert_eq!(model(&slides).sliding_window, Some(1024));
    let told = Value::List(vec![Value::Bool(true), Value::Bool(false)]);
    let slides = slides.with("llama.attention.sliding_window_pattern", told);
    assert_eq!(layers(slides), [layer(2, 256, 256), layer(2, 512, 512)]);

    let shares = Gguf::chat().with("llama.attention.shared_kv_layers", 1);
    assert_eq!(layers(shares), [layer(2, 16, 16), layer(0, 16, 16)]);
}

#[test]
fn recurrent_models_are_told() {
    let mamba = Gguf::chat()
        .with("general.architecture", "mamba")
        .with("mamba.block_count", 2)
        .with("mamba.embedding_length", 64)
        .with("mamba.ssm.conv_kernel", 4)
        .with("mamba.ssm.inner_size", 128)
        .with("mamba.ssm.state_size", 16);
    let file = model(&mamba);
    assert!(file.recurrent);
    // Three rows of the convolution, the state, and two rows of room for other kinds.
    assert_eq!(file.state, 2 * 4 * (3 * 128 + 128 * 16 + 2 * 64));
    assert_eq!(file.layers, [CacheLayer { kv_heads: 0, key_length: 0, value_length: 0 }; 2]);

    let unknown = Gguf::chat().with("llama.ssm.state_size", 16);
    assert!(model(&unknown).recurrent);

    // One in two layers attends; one that looks ahead always does.
    let hybrid = Gguf::chat().with("llama.block_count", 5).with("llama.full_attention_interval", 2);
    let kv_heads =
        |gguf: &Gguf| model(gguf).layers.iter().map(|layer| layer.kv_heads).collect::<Vec<_>>();
    assert_eq!(kv_heads(&hybrid), [0, 2, 0, 2, 0]);
    let ahead = hybrid.with("llama.nextn_predict_layers", 1);
    assert_eq!(kv_heads(&ahead), [0, 2, 0, 2, 2]);
    let listed = Value::List([true, true, false, true, false].map(Value::Bool).to_vec());
    let listed = ahead.with("llama.attention.recurrent_layers", listed);
    assert_eq!(kv_heads(&listed), [0, 0, 2, 0, 2]);
}

#[test]
fn experts_widen_a_layer() {
    let gguf = Gguf::chat()
        .with("llama.expert_count", 8)
        .with("llama.expert_used_count", 4)
        .with("llama.expert_feed_forward_length", 96)
        .with("llama.expert_shared_feed_forward_length", 10);
    assert_eq!(model(&gguf).feed_forward, 394);
}

#[test]
fn other_files_are_told_apart() {
    let mut safetensors = 4096_u64.to_le_bytes().to_vec();
    safetensors.extend(b"{\"__metadata__\":{}}");
    let cases: [(&[u8], GuessedFormat); 14] = [
        (b"", GuessedFormat::Empty),
        (&[0; 600], GuessedFormat::Zeros),
        (b"<!DOCTYPE html><html>", GuessedFormat::Html),
        (b"\n  <html lang=\"en\">", GuessedFormat::Html),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", GuessedFormat::LfsPointer),
        (&safetensors, GuessedFormat::Safetensors),
        (b"PK\x03\x04\x14\0", GuessedFormat::Zip),
        (&[0x1f, 0x8b, 8], GuessedFormat::Gzip),
        (b"tjgg\x01\0\0\0", GuessedFormat::Ggml),
        (b"Entry not found", GuessedFormat::Text),
        ("Zugriff verweigert, übrigens".as_bytes(), GuessedFormat::Text),
        (&"ü".as_bytes()[..1], GuessedFormat::Unknown),
        (b"\x7fELF\x02\x01\x01", GuessedFormat::Unknown),
        (b"FUGG\x03\0\0\0", GuessedFormat::Unknown),
    ];
    for (bytes, looks) in cases {
        let expected = ModelFileProblem::NotGguf { path: PATH.into(), looks };
        assert_eq!(parse(bytes), Err(expected), "{bytes:?}");
    }
    assert_eq!(told_of(b"<html>"), "`models/tiny.gguf` is no GGUF file: it looks like a web page");
}

#[test]
fn other_versions_are_refused() {
    let version = |version| {
        let mut gguf = Gguf::chat();
        gguf.version = version;
        parse(&gguf.bytes()).unwrap_err()
    };
    for number in [0, 1, 4, 17, 0x0001_0000, u32::MAX] {
        assert_eq!(
            version(number),
            ModelFileProblem::Version { path: PATH.into(), version: number }
        );
    }
    assert_eq!(version(3_u32.swap_bytes()), ModelFileProblem::BigEndian { path: PATH.into() });
    assert_eq!(
        version(1).to_string(),
        "`models/tiny.gguf` is a GGUF file of version 1, and only 2 and 3 can be read"
    );
}

#[test]
fn a_file_that_is_cut_off_is_told_wherever_the_cut_is() {
    let bytes = Gguf::chat().bytes();
    let whole = bytes.len() as u64;
    for end in 4..bytes.len() {
        let Err(ModelFileProblem::Truncated { has, needs, .. }) = parse(&bytes[..end]) else {
            panic!("{end}: {:?}", parse(&bytes[..end]));
        };
        assert_eq!(has, end as u64);
        assert!(has < needs && needs <= whole, "{has} {needs} {whole}");
    }
    // With the header there, the size is known exactly.
    let header = Gguf::chat().header();
    assert_eq!(
        told_of(&header),
        format!(
            "the model file `models/tiny.gguf` is cut off: it has {} of at least {whole} bytes",
            header.len()
        )
    );
}

#[test]
fn bytes_behind_the_tensors_do_no_harm() {
    let mut bytes = Gguf::chat().bytes();
    bytes.extend([0; 31]);
    assert_eq!(parse(&bytes).unwrap().weights, 5592);
}

#[test]
fn parts_of_a_model_are_refused() {
    let part = Gguf::chat().without_tensors().with("split.count", Value::U16(3));
    assert_eq!(parse(&part.bytes()), Err(ModelFileProblem::Split { path: PATH.into(), parts: 3 }));
    assert_eq!(message(&part), "`models/tiny.gguf` is one of the 3 parts of a model");
    assert!(parse(&Gguf::chat().with("split.count", Value::U16(1)).bytes()).is_ok());
}

#[test]
fn what_cannot_chat_is_refused() {
    let what = |gguf: Gguf| match parse(&gguf.bytes()) {
        Err(ModelFileProblem::NotAChatModel { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    let chat = Gguf::chat;
    assert_eq!(what(chat().without_tensors()), "it has a vocabulary and no weights");
    let no_tokenizer = "it has no tokenizer (architecture `llama`)";
    assert_eq!(what(chat().without("tokenizer.ggml.tokens")), no_tokenizer);
    assert_eq!(what(chat().with("tokenizer.ggml.tokens", Vec::<&str>::new())), no_tokenizer);
    assert_eq!(what(chat().with("tokenizer.ggml.model", "no_vocab")), no_tokenizer);
    let embeds = "it turns texts into vectors";
    assert_eq!(
        what(Gguf::new().with("general.architecture", "nomic-bert")),
        format!("{embeds} (architecture `nomic-bert`)")
    );
    assert_eq!(what(chat().with("llama.pooling_type", 3)), embeds);
    assert_eq!(what(chat().with("llama.attention.causal", Value::Bool(false))), embeds);
    assert!(what(Gguf::new().with("general.type", "adapter")).contains("adapter"));
    assert!(what(Gguf::new().with("general.type", "mmproj")).contains("sees"));
    // The same of a file that is cut off too: another download would not help.
    let cut = Gguf::chat().with("general.architecture", "bert").header();
    assert!(matches!(parse(&cut), Err(ModelFileProblem::NotAChatModel { .. })));
}

#[test]
fn files_that_cannot_be_read_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.gguf");
    let problem = ModelFile::read(&missing).unwrap_err();
    assert_eq!(problem, ModelFileProblem::NotFound { path: missing });

    let problem = ModelFile::read(folder.path()).unwrap_err();
    let cause = "it is no file".to_owned();
    assert_eq!(problem, ModelFileProblem::Unreadable { path: folder.path().to_owned(), cause });
}

#[test]
fn a_file_is_read_from_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    fs::write(&path, Gguf::chat().bytes()).unwrap();
    let expected = ModelFile { path: path.clone(), ..model(&Gguf::chat()) };
    assert_eq!(ModelFile::read(&path), Ok(expected));
}

#[test]
fn every_problem_says_what_helps() {
    let path = PathBuf::from(PATH);
    let hint = |problem: ModelFileProblem| problem.hint();
    let missing = ModelFileProblem::NotFound { path: path.clone() };
    assert_eq!(missing.remedy(), Some(Remedy::PullModel));
    let looks = GuessedFormat::LfsPointer;
    assert!(hint(ModelFileProblem::NotGguf { path: path.clone(), looks }).contains("git lfs pull"));
    let old = hint(ModelFileProblem::Version { path: path.clone(), version: 1 });
    let new = hint(ModelFileProblem::Version { path, version: 4 });
    assert!(old.contains("newer file") && new.contains("update Recto"));
}

/// Runs where `RECTO_TEST_MODELS` names the folder of pulled models.
#[test]
fn a_real_model_is_read() {
    let Some(folder) = std::env::var_os("RECTO_TEST_MODELS") else { return };
    let path = Path::new(&folder).join("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
    let model = ModelFile::read(&path).unwrap();
    assert_eq!(model.bytes, 98_362_432);
    assert_eq!(model.name.as_deref(), Some("Smollm2 135M 8k Lc100K Mix1 Ep2"));
    assert_eq!(model.architecture, "llama");
    assert_eq!(model.trained, Some(8192));
    assert_eq!(model.layers, [CacheLayer { kv_heads: 3, key_length: 64, value_length: 64 }; 30]);
    assert_eq!((model.heads, model.embedding_length, model.feed_forward), (9, 576, 1536));
    assert_eq!(model.vocabulary, 49152);
    assert_eq!(model.bos.as_deref(), Some("<|im_start|>"));
    assert_eq!(model.eos.as_deref(), Some("<|im_end|>"));
    assert!(model.chat_template.unwrap().contains("<|im_start|>"));
    assert_eq!((model.sliding_window, model.recurrent, model.state), (None, false, 0));
    // llama.cpp says 92.10 MiB.
    assert_eq!(model.weights * 100 / (1 << 20), 9210);
}
