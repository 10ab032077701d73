//! Files that are not as they should be.

use std::fs;
use std::path::Path;

use recto_context::Remedy;
use recto_search::{Encoder, EncoderError, EncoderFiles};
use tempfile::TempDir;

use crate::models::minilm;

/// The real files, where they can be spoiled.
fn copied() -> (TempDir, EncoderFiles) {
    let (folder, real) = (tempfile::tempdir().unwrap(), minilm());
    let copy = |file: &Path| {
        let to = folder.path().join(file.file_name().unwrap());
        fs::copy(file, &to).unwrap();
        to
    };
    let (weights, tokenizer) = (copy(&real.weights), copy(&real.tokenizer));
    (folder, EncoderFiles { weights, tokenizer, sha256: None })
}

fn fails(files: &EncoderFiles) -> EncoderError {
    Encoder::load(files).unwrap_err()
}

/// The checksums that `recto models pull minilm` asks for.
fn known() -> [[u8; 32]; 2] {
    [
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ]
    .map(|digits| std::array::from_fn(|at| u8::from_str_radix(&digits[2 * at..][..2], 16).unwrap()))
}

#[test]
fn the_files_that_were_pulled_are_taken() {
    let files = EncoderFiles { sha256: Some(known()), ..minilm() };
    Encoder::load(&files).unwrap();
}

#[test]
fn swapped_files_are_refused() {
    let [weights, tokenizer] = known();
    let files = EncoderFiles { sha256: Some([[0; 32], tokenizer]), ..minilm() };
    let error = fails(&files);
    assert!(matches!(&error, EncoderError::Swapped { path } if *path == files.weights), "{error}");
    assert_eq!(error.remedy(), Some(Remedy::PullEncoder));

    // Another tokenizer, as sound as the real one.
    let (_folder, mut files) = copied();
    let text = fs::read_to_string(&files.tokenizer).unwrap();
    let swapped = text.replace("\"hello\"", "\"HELLO\"");
    assert_ne!(swapped, text);
    fs::write(&files.tokenizer, swapped).unwrap();
    Encoder::load(&files).unwrap();
    files.sha256 = Some([weights, tokenizer]);
    let error = fails(&files);
    assert!(matches!(&error, EncoderError::Swapped { path } if *path == files.tokenizer));
}

#[test]
fn weights_that_are_cut_short_are_refused() {
    let (_folder, mut files) = copied();
    let whole = fs::read(&files.weights).unwrap();
    for length in [0, 8, 1_000, 50_000_000, whole.len() - 1] {
        fs::write(&files.weights, &whole[..length]).unwrap();
        // Which says more than that the checksum differs.
        for sha256 in [None, Some(known())] {
            files.sha256 = sha256;
            let error = fails(&files);
            let is_named = matches!(&error, EncoderError::Damaged { path, why }
                if *path == files.weights && why.starts_with("it is cut short"));
            assert!(is_named, "{length}: {error}");
        }
    }
}

#[test]
fn weights_of_another_model_are_refused() {
    let (_folder, files) = copied();
    let whole = fs::read(&files.weights).unwrap();
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    let with = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let text = String::from_utf8(whole[8..header].to_vec()).unwrap();
        assert!(text.contains(from), "{from}");
        let mut spoiled = whole.clone();
        spoiled[8..header].copy_from_slice(text.replacen(from, to, 1).as_bytes());
        fs::write(&files.weights, spoiled).unwrap();
        fails(&files).to_string()
    };
    assert!(
        with("encoder.layer.3.output.dense.bias", "encoder.layer.9.output.dense.bias")
            .ends_with("the tensor `encoder.layer.3.output.dense.bias` is missing")
    );
    assert!(
        with("[30522,384]", "[384,30522]")
            .ends_with("has the shape [384, 30522] instead of [30522, 384]")
    );
    let name = "\"embeddings.LayerNorm.bias\":{\"dtype\":";
    assert!(
        with(&format!("{name}\"F32\""), &format!("{name}\"I32\""))
            .ends_with("of type I32: F32, F16 and BF16 are read")
    );

    let mut spoiled = whole.clone();
    let last = spoiled.len() - 2_000_000;
    spoiled[last..last + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&files.weights, spoiled).unwrap();
    assert!(fails(&files).to_string().contains("has numbers that are none"));
}

#[test]
fn a_damaged_tokenizer_is_refused() {
    let (_folder, files) = copied();
    let whole = fs::read(&files.tokenizer).unwrap();
    for spoiled in [&b""[..], b"{}", b"\xff\xfe", &whole[..whole.len() / 2]] {
        fs::write(&files.tokenizer, spoiled).unwrap();
        let error = fails(&files);
        assert!(
            matches!(&error, EncoderError::Damaged { path, .. } if *path == files.tokenizer),
            "{error}"
        );
        assert_eq!(error.remedy(), Some(Remedy::PullEncoder));
    }
}

#[test]
fn missing_files_are_named() {
    let (_folder, files) = copied();
    fs::remove_file(&files.tokenizer).unwrap();
    let error = fails(&files);
    assert!(matches!(&error, EncoderError::Missing { path } if *path == files.tokenizer));
    assert_eq!(error.hint(), "pull the embedding model");
    fs::create_dir(&files.tokenizer).unwrap();
    assert!(matches!(fails(&files), EncoderError::Read { .. }));
    fs::remove_file(&files.weights).unwrap();
    let error = fails(&files);
    assert!(matches!(&error, EncoderError::Missing { path } if *path == files.weights));
}
