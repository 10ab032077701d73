//! Calls that come to nothing, and say why.

use recto_context::Remedy;
use recto_llm::{ClientOptions, LlmError, ModelClient, Provider, WaitingFor};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::server::{
    Server, Step, answer, events, impatient, impatient_later, nobody, open, open_chunked, quick,
    shown,
};

const PIECE: &str = "{\"message\":{\"content\":\"Hel\"}}\n";

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable_in_the_end() {
    let (_socket, url) = nobody();
    let options = ClientOptions { base_url: Some(url.clone()), ..quick(Provider::Ollama) };
    let events = events(ModelClient::new(options).unwrap().stream("{}")).await;
    let retrying = "retrying: unreachable";
    assert_eq!(shown(&events), [retrying, retrying, retrying, "error: unreachable"]);
    let Some(Err(error)) = events.last() else { panic!("an error") };
    assert!(error.to_string().contains(&url), "{error}");
    assert_eq!(error.remedy(), Some(Remedy::CheckModels));
}

#[tokio::test]
async fn patience_ends_after_three_retries() {
    let busy = || vec![Step::Send(answer(503, "", "busy"))];
    let server = Server::play((0..9).map(|_| busy()).collect()).await;
    let events = events(server.client(Provider::OpenAi).stream("{}")).await;
    assert_eq!(shown(&events).last().unwrap(), "error: unavailable");
    assert_eq!((events.len(), server.requests().len()), (4, 4));
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_not_tried_again() {
    for (status, code) in [(400, "refused"), (401, "unauthorized"), (500, "server")] {
        let server = Server::play(vec![vec![Step::Send(answer(status, "", "no"))]]).await;
        let events = events(server.client(Provider::OpenAi).stream("{}")).await;
        assert_eq!(shown(&events), [format!("error: {code}")]);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_model_that_is_not_there_is_named() {
    let body = "{\"error\":\"model 'qwen9' not found\"}";
    let server = Server::play(vec![vec![Step::Send(answer(404, "", body))]]).await;
    let events = events(server.client(Provider::Ollama).stream("{\"model\":\"qwen9\"}")).await;
    let Some(Err(error)) = events.last() else { panic!("an error") };
    assert_eq!(error.to_string(), "the model server has no model `qwen9`");
    assert!(error.hint().unwrap().starts_with("run `ollama pull qwen9`"));
}

/// The text so far was told, and nothing is tried again after it.
#[tokio::test]
async fn failures_after_the_first_bytes_end_the_call() {
    let failing = [
        ("{\"error\":\"runner crashed\"}\n", "error: server"),
        ("{\"message\":{\"content\":\n", "error: malformed"),
        ("{\"message\":{\"content\":\"lo", "error: cut"),
        ("", "error: cut"),
    ];
    for (rest, error) in failing {
        for open in [open, open_chunked] {
            let server = Server::play(vec![vec![open(&format!("{PIECE}{rest}"))]]).await;
            let events = events(server.client(Provider::Ollama).stream("{}")).await;
            assert_eq!(shown(&events), ["text: Hel", error]);
            assert_eq!(server.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_connection_that_closes_without_an_answer_is_not_tried_again() {
    for steps in [vec![], vec![open("")]] {
        let server = Server::play(vec![steps]).await;
        let events = events(server.client(Provider::Ollama).stream("{}")).await;
        assert_eq!(shown(&events), ["error: cut"]);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_server_that_never_answers_runs_out_of_time() {
    // Without a word, and with nothing behind the first line.
    for steps in [vec![Step::WaitForEnd], vec![open(""), Step::WaitForEnd]] {
        let server = Server::play(vec![steps]).await;
        let client = ModelClient::new(impatient(server.options(Provider::Ollama))).unwrap();
        let events = events(client.stream("{}")).await;
        let [Err(LlmError::TimedOut { waiting_for, .. })] = events.as_slice() else {
            panic!("{events:?}");
        };
        assert_eq!(*waiting_for, WaitingFor::FirstByte);
    }
}

#[tokio::test]
async fn a_server_that_stops_in_the_middle_runs_out_of_time() {
    let server = Server::play(vec![vec![open(PIECE), Step::WaitForEnd]]).await;
    let client = ModelClient::new(impatient_later(server.options(Provider::Ollama))).unwrap();
    let events = events(client.stream("{}")).await;
    assert_eq!(shown(&events), ["text: Hel", "error: timed_out"]);
    let Some(Err(error)) = events.last() else { panic!("an error") };
    assert!(error.to_string().contains("did not go on with its answer within 100ms"), "{error}");
}

/// What keeps a connection open is no reply, as often as it comes.
#[tokio::test]
async fn comments_win_no_time() {
    let silent = [
        (Provider::OpenAi, ": still here\n\n"),
        (Provider::Anthropic, "event: x\n\n"),
        (Provider::Ollama, "\n"),
    ];
    for (provider, nothing) in silent {
        let server = Server::play(vec![vec![open(""), Step::Repeat(nothing)]]).await;
        let client = ModelClient::new(impatient(server.options(provider))).unwrap();
        let events = events(client.stream("{}")).await;
        let [Err(LlmError::TimedOut { waiting_for, .. })] = events.as_slice() else {
            panic!("{events:?}");
        };
        assert_eq!(*waiting_for, WaitingFor::FirstByte);
    }
    let server = Server::play(vec![vec![open(PIECE), Step::Repeat("\n")]]).await;
    let client = ModelClient::new(impatient_later(server.options(Provider::Ollama))).unwrap();
    let events = events(client.stream("{}")).await;
    assert_eq!(shown(&events), ["text: Hel", "error: timed_out"]);
}

/// A stream that goes on without saying anything meets the same limits as one that is silent.
#[tokio::test]
async fn empty_pieces_win_no_time() {
    let call = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\
                \"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n";
    let empty = [
        (Provider::Ollama, PIECE, "{\"message\":{\"role\":\"assistant\",\"content\":\"\"}}\n"),
        (
            Provider::OpenAi,
            "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n",
            "data: {\"id\":\"x\",\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
        ),
        (Provider::OpenAi, call, call),
        (
            Provider::Anthropic,
            "data: {\"type\":\"content_block_start\",\"index\":0,\
             \"content_block\":{\"type\":\"text\",\"text\":\"Hel\"}}\n\n",
            "data: {\"type\":\"ping\"}\n\n",
        ),
    ];
    for (provider, begun, nothing) in empty {
        let server = Server::play(vec![vec![open(begun), Step::Repeat(nothing)]]).await;
        let client = ModelClient::new(impatient_later(server.options(provider))).unwrap();
        let events = events(client.stream("{}")).await;
        let Some(Err(LlmError::TimedOut { waiting_for, .. })) = events.last() else {
            panic!("{events:?}");
        };
        assert_eq!(*waiting_for, WaitingFor::NextBytes, "{provider:?}");
    }
    let nothing = "{\"message\":{\"content\":\"\"}}\n";
    let server = Server::play(vec![vec![open(""), Step::Repeat(nothing)]]).await;
    let client = ModelClient::new(impatient(server.options(Provider::Ollama))).unwrap();
    let events = events(client.stream("{}")).await;
    let [Err(LlmError::TimedOut { waiting_for, .. })] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert_eq!(*waiting_for, WaitingFor::FirstByte);
}

#[tokio::test]
async fn a_server_that_wants_to_be_left_alone_for_long_is() {
    for (status, code) in [(429, "rate_limited"), (503, "unavailable")] {
        let busy = || vec![Step::Send(answer(status, "Retry-After: 3600\r\n", "later"))];
        let server = Server::play((0..4).map(|_| busy()).collect()).await;
        let events = events(server.client(Provider::OpenAi).stream("{}")).await;
        assert_eq!(shown(&events), [format!("error: {code}")]);
        assert_eq!(server.requests().len(), 1);
        let Some(Err(error)) = events.last() else { panic!("an error") };
        assert!(error.to_string().contains("for 3600 s"), "{error}");
        assert_eq!(error.hint().unwrap(), "send the message again after 3600 s");
    }
}

/// Asking again would bring the same answer.
#[tokio::test]
async fn a_failed_handshake_is_not_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            let _ = socket.read_to_end(&mut Vec::new()).await;
        }
    });
    let options = ClientOptions { base_url: Some(url), ..quick(Provider::OpenAi) };
    // A machine without certificates encrypts nothing.
    let Ok(client) = ModelClient::new(options) else { return };
    let events = events(client.stream("{}")).await;
    assert_eq!(shown(&events), ["error: handshake"]);
    let Some(Err(error)) = events.last() else { panic!("an error") };
    assert!(error.hint().unwrap().contains("`http://` in `base_url`"), "{error}");
}

/// A reply that says why it ended is whole, even if the server then dies.
#[tokio::test]
async fn a_reply_without_its_last_formality_is_one() {
    let whole =
        "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\n";
    for steps in
        [vec![open(whole)], vec![open_chunked(whole)], vec![open_chunked(whole), Step::WaitForEnd]]
    {
        let server = Server::play(vec![steps]).await;
        let client = ModelClient::new(impatient_later(server.options(Provider::OpenAi))).unwrap();
        assert_eq!(shown(&events(client.stream("{}")).await), ["text: Hello", "done: Hello"]);
    }
}
