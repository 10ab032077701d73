//! Files that can't be used are refused before anything is loaded.

use std::fs;

use recto_llm::{LlmError, ServerWindow};
use tempfile::TempDir;

use super::*;

async fn error_of(file: PathBuf) -> LlmError {
    let (client, call) = client_of(file);
    let mut talk = Talk::new();
    talk.call = call;
    let body = talk.body("Hello!");
    collect(client.stream(body)).await.unwrap_err()
}

#[tokio::test]
async fn a_file_that_is_cut_short() {
    let folder = TempDir::new().unwrap();
    let whole = fs::read(smollm2()).unwrap();
    for length in [3, 20, 5_000, 3_000_000, whole.len() - 1] {
        let file = folder.path().join("cut.gguf");
        fs::write(&file, &whole[..length]).unwrap();
        let error = error_of(file).await;
        assert!(matches!(error, LlmError::File { .. }), "{length}: {error:?}");
        assert!(error.to_string().contains("cut.gguf"), "{error}");
        assert!(error.hint().is_some());
    }
}

#[tokio::test]
async fn a_file_that_is_something_else_or_nothing() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("page.gguf");
    fs::write(&file, "<!doctype html><title>404</title>").unwrap();
    assert!(matches!(error_of(file).await, LlmError::File { .. }));
    let missing = error_of(folder.path().join("missing.gguf")).await;
    assert!(missing.to_string().contains("missing.gguf"), "{missing}");
}

#[tokio::test]
async fn a_window_that_the_model_was_not_trained_for() {
    let mut talk = Talk::new();
    talk.window = 16_384;
    let error = collect(talk.client.stream(talk.body("Hello!"))).await.unwrap_err();
    assert_eq!(error, LlmError::WindowTooLarge { window: 16_384, trained: 8_192 });
    assert!(error.hint().unwrap().contains("8192"), "{error:?}");
    // The engine goes on.
    talk.window = 512;
    talk.say("Hello!").await;
}

#[tokio::test]
async fn the_file_tells_the_window() {
    let (client, call) = client_of(smollm2());
    let told = client.server_window(&call.model).await.unwrap();
    assert_eq!((told.window, told.trained), (ServerWindow::Trained(8_192), Some(8_192)));
}
