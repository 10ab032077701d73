//! A scripted model, through the client.

use std::io::Write;

use recto_llm::{ClientOptions, FinishReason, LlmError, ModelClient, Provider, Wire, collect};
use tempfile::NamedTempFile;

use crate::server::{events, impatient, quick, shown};

/// A client for a script, which is read here and then not needed any more.
fn client(text: &str, options: ClientOptions) -> Result<ModelClient, LlmError> {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    ModelClient::new(ClientOptions { script: Some(file.path().to_owned()), ..options })
}

fn options() -> ClientOptions {
    quick(Provider::Scripted)
}

#[tokio::test]
async fn errors_are_tried_again_with_the_next_line() {
    let busy = "{\"error\":{\"status\":503,\"body\":\"busy\"}}\n";
    let script = format!("{busy}{{\"content\":\"now then\"}}\n{{\"error\":{{\"status\":400}}}}\n");
    let client = client(&script, options()).unwrap();
    assert_eq!(
        shown(&events(client.stream("{}")).await),
        ["retrying: unavailable", "text: now ", "text: then", "done: now then"]
    );
    assert_eq!(shown(&events(client.stream("{}")).await), ["error: refused"]);
}

#[tokio::test]
async fn clones_share_the_place_and_the_end_repeats_the_user() {
    let client = client("{\"content\":\"one\"}\n{\"content\":\"two\"}", options()).unwrap();
    let clone = client.clone();
    let body = "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
    assert_eq!(collect(client.stream(body)).await.unwrap().text(), "one");
    assert_eq!(collect(clone.stream(body)).await.unwrap().text(), "two");
    let reply = collect(client.stream(body)).await.unwrap();
    assert_eq!((reply.text().as_str(), reply.finish), ("You said: hi", FinishReason::Stop));
    assert_eq!((reply.usage.prompt, reply.usage.completion), (None, None));
}

#[tokio::test]
async fn without_a_script_the_user_is_repeated() {
    let client = ModelClient::new(options()).unwrap();
    assert_eq!((client.url(), client.wire()), ("scripted", Wire::OpenAi));
    let body = "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
    assert_eq!(collect(client.stream(body)).await.unwrap().text(), "You said: hi");
}

#[tokio::test]
async fn a_slow_answer_runs_out_of_time_like_a_servers() {
    let client =
        client("{\"content\":\"late\",\"delay_ms\":3600000}", impatient(options())).unwrap();
    assert_eq!(shown(&events(client.stream("{}")).await), ["error: timed_out"]);
}

#[test]
fn what_is_wrong_with_a_script_is_told_when_it_is_asked() {
    let client = client("{\"content\":\"a\"}\n[]", options()).unwrap();
    let error = client.check_script().unwrap_err();
    assert!(matches!(error, LlmError::Script { line: Some(2), .. }), "{error:?}");
}
