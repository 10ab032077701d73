//! Headers that nobody means well with.

use proptest::prelude::*;

use super::builder::{Gguf, Value};
use super::{ModelFileProblem, damage, parse, told_of};

const NONSENSE: u64 = 1 << 60;
const NUMBERS: [u64; 8] = [0, 1, 9, 1 << 20, 1 << 31, NONSENSE, u64::MAX / 2, u64::MAX];

/// A text that claims to be longer than it is.
fn endless(length: u64) -> Value {
    Value::Raw(8, length.to_le_bytes().to_vec())
}

/// A list that claims to be longer than it is.
fn endless_list(tag: u32, count: u64) -> Value {
    let mut bytes = tag.to_le_bytes().to_vec();
    bytes.extend(count.to_le_bytes());
    Value::Raw(9, bytes)
}

#[test]
fn absurd_counts_are_refused() {
    let mut gguf = Gguf::chat();
    gguf.claimed_tensors = Some(NONSENSE);
    assert_eq!(damage(&gguf), format!("it claims to have {NONSENSE} tensors"));
    let mut gguf = Gguf::chat();
    gguf.claimed_keys = Some(u64::MAX);
    assert_eq!(damage(&gguf), format!("it claims to have {} keys", u64::MAX));
    let texts = Gguf::chat().again("x", endless_list(8, NONSENSE));
    assert_eq!(damage(&texts), format!("`x` claims to have {NONSENSE} values"));
    let numbers = Gguf::chat().again("x", endless_list(12, u64::MAX));
    assert_eq!(damage(&numbers), format!("`x` claims to have {} values", u64::MAX));
}

#[test]
fn lengths_beyond_the_file_are_refused() {
    for length in [NONSENSE, u64::MAX] {
        let key = Gguf::chat().again("tokenizer.ggml.pre", endless(length));
        assert_eq!(damage(&key), format!("there is a length of {length} bytes"));
    }
    // One that could be meant is a file that is cut off.
    let long = Gguf::chat().again("tokenizer.ggml.pre", endless(1 << 29)).bytes();
    assert!(
        matches!(parse(&long), Err(ModelFileProblem::Truncated { needs, .. }) if needs > 1 << 29)
    );
    let many = Gguf::chat().again("x", endless_list(4, 1 << 29)).bytes();
    assert!(
        matches!(parse(&many), Err(ModelFileProblem::Truncated { needs, .. }) if needs > 1 << 31)
    );
    // What is kept has a limit of its own.
    let template = Gguf::chat().with("tokenizer.chat_template", endless(1 << 21));
    assert_eq!(damage(&template), "there is a text of 2097152 bytes where 1048576 are the most");
}

#[test]
fn lists_of_lists_and_unknown_types_are_refused() {
    let lists = Value::List(vec![Value::List(vec![Value::U32(1)])]);
    assert_eq!(damage(&Gguf::chat().again("x", lists)), "`x` is a list of lists");
    let unknown = Value::Raw(13, vec![0; 8]);
    assert_eq!(damage(&Gguf::chat().again("x", unknown)), "`x` has the unknown type 13");
    let unknown = endless_list(99, 1);
    assert_eq!(damage(&Gguf::chat().again("x", unknown)), "`x` has the unknown type 99");
}

#[test]
fn names_that_stand_twice_are_refused() {
    let twice = Gguf::chat().again("llama.block_count", 2);
    assert_eq!(damage(&twice), "the key `llama.block_count` stands twice");
    let twice = Gguf::chat().tensor("output_norm.weight", &[64], 0, 256);
    assert_eq!(damage(&twice), "the tensor `output_norm.weight` stands twice");
    let twice = Gguf::chat().with("tokenizer.ggml.tokens", vec!["a", "b", "a"]);
    assert_eq!(damage(&twice), "the token `a` stands twice");
    let empty = Gguf::chat().with("tokenizer.ggml.tokens", vec!["", "b", ""]);
    assert!(parse(&empty.bytes()).is_ok());
    assert_eq!(damage(&Gguf::chat().again("", 2)), "there is a key without a name");
}

#[test]
fn values_that_are_no_numbers_are_refused() {
    let no_number = "`llama.block_count` is no whole number";
    for value in [Value::F32(f32::NAN), Value::F64(2.0), Value::I32(-2), "2".into()] {
        assert_eq!(damage(&Gguf::chat().with("llama.block_count", value)), no_number);
    }
    let large = Gguf::chat().with("llama.context_length", Value::U64(NONSENSE));
    assert_eq!(damage(&large), format!("`llama.context_length` is {NONSENSE}"));
    let number = Gguf::chat().with("general.architecture", 7);
    assert_eq!(damage(&number), "`general.architecture` is no text");
    let kv = "llama.attention.head_count_kv";
    let few = Gguf::chat().with(kv, vec![1, 2, 3]);
    assert_eq!(damage(&few), format!("`{kv}` has 3 values for 2 layers"));
    let negative = Value::List(vec![Value::I32(1), Value::I32(-1)]);
    assert_eq!(damage(&Gguf::chat().with(kv, negative)), format!("`{kv}` is no whole number"));
}

#[test]
fn what_llama_cpp_would_end_the_process_over_is_refused() {
    let layers = Gguf::chat().with("llama.block_count", 513);
    assert!(damage(&layers).contains("513 layers"));
    let ahead = Gguf::chat().with("llama.nextn_predict_layers", 3);
    assert!(damage(&ahead).contains("3 of them to look ahead"));
    let experts = |experts: u32, used: u32, groups: u32, used_groups: u32| {
        Gguf::chat()
            .with("llama.expert_count", experts)
            .with("llama.expert_used_count", used)
            .with("llama.expert_group_count", groups)
            .with("llama.expert_group_used_count", used_groups)
    };
    for (right, [count, used, groups, used_groups]) in [
        (true, [8, 2, 0, 0]),
        (true, [8, 2, 1, 1]),
        (true, [8, 2, 4, 2]),
        (true, [1024, 8, 0, 0]),
        (false, [1025, 8, 0, 0]),
        (false, [8, 9, 0, 0]),
        (false, [8, 0, 0, 0]),
        (false, [0, 1, 0, 0]),
        (false, [8, 2, 8, 2]),
        (false, [8, 2, 3, 2]),
        (false, [8, 2, 4, 4]),
        (false, [8, 2, 4, 0]),
    ] {
        let gguf = experts(count, used, groups, used_groups);
        assert_eq!(parse(&gguf.bytes()).is_ok(), right, "{count} {used} {groups} {used_groups}");
    }
    let rope = Gguf::chat().with("llama.rope.scaling.type", "spiral");
    assert_eq!(damage(&rope), "it stretches positions in the unknown way `spiral`");
    assert!(parse(&Gguf::chat().with("llama.rope.scaling.type", "yarn").bytes()).is_ok());
}

#[test]
fn what_a_model_must_say_is_missed() {
    for key in ["llama.block_count", "llama.embedding_length"] {
        let expected = format!("it does not say `{key}`");
        assert_eq!(damage(&Gguf::chat().without(key)), expected);
        assert_eq!(damage(&Gguf::chat().with(key, 0)), expected);
    }
    let nameless = Gguf::chat().without("general.architecture");
    assert_eq!(damage(&nameless), "it does not say its architecture");
}

#[test]
fn alignments_that_are_none_are_refused() {
    for alignment in [0, 24, 1 << 21] {
        let gguf = Gguf::chat().with("general.alignment", alignment);
        assert_eq!(damage(&gguf), format!("its alignment is {alignment}"));
    }
    let mut gguf = Gguf::chat().without_tensors().with("general.alignment", 64);
    gguf.alignment = 64;
    let gguf = gguf.tensor("a", &[3], 0, 12).tensor("b", &[3], 0, 12);
    assert_eq!(parse(&gguf.bytes()).unwrap().weights, 24);
    // The same file, read with the usual alignment.
    assert_eq!(
        damage(&gguf.without("general.alignment")),
        "the tensor `b` begins at 64 instead of 32"
    );
}

#[test]
fn tensors_that_cannot_be_are_refused() {
    let base = || Gguf::chat().without_tensors();
    let tensor = |sizes: &[u64], kind| damage(&base().tensor("t", sizes, kind, 0));
    assert_eq!(
        tensor(&[1 << 40, 1 << 40], 0),
        "the tensor `t` has the impossible shape [1099511627776, 1099511627776, 1, 1]"
    );
    assert!(tensor(&[u64::MAX], 28).contains("impossible shape"));
    assert_eq!(tensor(&[33], 2), "the tensor `t` has rows of 33 in blocks of 32");
    assert_eq!(tensor(&[1, 1, 1, 1, 1], 0), "the tensor `t` has 5 dimensions");
    let at = |offset| damage(&base().tensor_at(offset, "t", &[8], 0, 0).without_data());
    assert_eq!(at(8), "the tensor `t` begins at 8, which is no multiple of 32");
    assert_eq!(at(64), "the tensor `t` begins at 64 instead of 0");
    let overlap = base().tensor("a", &[64], 0, 256).tensor_at(0, "b", &[64], 0, 256);
    assert_eq!(damage(&overlap), "the tensor `b` begins at 0 instead of 256");
    let long = "n".repeat(64);
    let long = damage(&base().tensor(&long, &[8], 0, 32));
    assert_eq!(long, "there is a text of 64 bytes where 63 are the most");
}

#[test]
fn tensors_of_unknown_kinds_are_held_to_their_place() {
    let base = || Gguf::chat().without_tensors();
    let unknown = base().tensor("a", &[7, 7], 1000, 96).tensor("b", &[8], 0, 32);
    assert_eq!(parse(&unknown.bytes()).unwrap().weights, 32);
    let bytes = base().tensor_at(0, "a", &[8], 1000, 0).tensor_at(4096, "b", &[8], 1000, 0);
    let header = bytes.header();
    let needs = (header.len() as u64).next_multiple_of(32) + 4096;
    assert!(
        matches!(parse(&header), Err(ModelFileProblem::Truncated { needs: n, .. }) if n == needs)
    );
    let beyond = base().tensor("a", &[1], 1000, 0).tensor_at(u64::MAX - 31, "b", &[8], 0, 0);
    let told = told_of(&beyond.header());
    assert!(told.ends_with("the tensor `b` would end beyond any file"), "{told}");
    // Behind one of these another may begin anywhere, so the sum could be beyond any number.
    let many = (0_u64..40_000).fold(base(), |gguf, at| {
        gguf.tensor_at(at.min(1) << 50, &format!("u{at}"), &[1], 1000, 0).tensor_at(
            0,
            &format!("k{at}"),
            &[1 << 47],
            28,
            0,
        )
    });
    assert!(matches!(parse(&many.header()), Err(ModelFileProblem::Truncated { .. })));
}

#[test]
fn names_in_messages_are_short_and_harmless() {
    let key = format!("\u{1b}[2J\n{}", "k".repeat(100));
    let told = damage(&Gguf::chat().again(&key, Value::Raw(77, Vec::new())));
    assert!(told.starts_with("`\\u{1b}[2J\\nkkk") && told.contains("k…`"), "{told}");
}

proptest! {
    /// Whatever the bytes, reading them ends, with a model or with a problem that can be told.
    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..2048)) {
        holds(&bytes)?;
        let mut gguf = b"GGUF\x03\0\0\0".to_vec();
        gguf.extend(&bytes);
        holds(&gguf)?;
    }

    #[test]
    fn changed_headers_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
        header_only in any::<bool>(),
    ) {
        let gguf = Gguf::chat();
        let mut bytes = if header_only { gguf.header() } else { gguf.bytes() };
        let header = gguf.header().len();
        for (at, byte) in changes {
            bytes[at.index(header)] = byte;
        }
        let end = cut.map_or(bytes.len(), |cut| cut.index(bytes.len()));
        holds(&bytes[..end])?;
    }

    /// The same with whole numbers changed, which single bytes rarely reach.
    #[test]
    fn changed_numbers_do_no_harm(
        at in any::<prop::sample::Index>(),
        number in prop::sample::select(NUMBERS.to_vec()),
        width in prop::sample::select(vec![4, 8]),
    ) {
        let mut bytes = Gguf::chat().bytes();
        let at = at.index(Gguf::chat().header().len() - 8);
        bytes[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
        holds(&bytes)?;
    }
}

fn holds(bytes: &[u8]) -> Result<(), TestCaseError> {
    match parse(bytes) {
        Ok(model) => {
            prop_assert!(model.layers.len() <= 512);
            // Each of the three tensors lies in the file, though not always beside the others.
            prop_assert!(model.weights <= 3 * bytes.len() as u64);
        }
        Err(problem) => {
            prop_assert!(!problem.hint().is_empty());
            prop_assert!(problem.to_string().len() < 1024);
        }
    }
    Ok(())
}
