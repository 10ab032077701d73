//! Where the tests find the model. They never bring it.

use std::path::PathBuf;

use recto_search::EncoderFiles;

/// The folder into which `make test` pulls models.
fn models() -> PathBuf {
    match std::env::var_os("RECTO_TEST_MODELS") {
        Some(folder) => folder.into(),
        None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("models"),
    }
}

/// The files of all-MiniLM-L6-v2.
pub(crate) fn minilm() -> EncoderFiles {
    let folder = models().join("minilm");
    let [weights, tokenizer] = ["model.safetensors", "tokenizer.json"].map(|name| {
        let file = folder.join(name);
        assert!(
            file.is_file(),
            "{} is missing: run `make test`, which pulls it, or name the folder of models with \
             RECTO_TEST_MODELS",
            file.display()
        );
        file
    });
    EncoderFiles { weights, tokenizer, sha256: None }
}
