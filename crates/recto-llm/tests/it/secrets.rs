//! The key goes to its server, and nowhere else.

use recto_llm::{
    ApiKey, ClientOptions, FinishReason, LlmError, ModelClient, Provider, StreamEvent,
};

use crate::server::{Server, Step, answer, events, open, quick, shown};

const KEY: &str = "sk-hunter2";

fn with_key(options: ClientOptions) -> ClientOptions {
    ClientOptions { api_key: Some(ApiKey::new(KEY)), ..options }
}

/// Promise: `secrets-for-owner-only`
#[tokio::test]
async fn the_key_is_never_shown() {
    let told = format!("{{\"error\":{{\"message\":\"wrong key {KEY}\"}}}}");
    let streams = [
        vec![Step::Send(answer(401, "", &told))],
        vec![Step::Send(answer(503, "", &format!("busy with {KEY}")))],
        vec![open(&format!("data: {told}\n\n"))],
        vec![open(&format!("data: {{{KEY}\n\n"))],
        vec![Step::Send(answer(302, &format!("Location: http://h/{KEY}\r\n"), ""))],
    ];
    for steps in streams {
        let server = Server::play(vec![steps]).await;
        let options = with_key(server.options(Provider::OpenAi));
        let client = ModelClient::new(options.clone()).unwrap();
        let events = events(client.stream("{}")).await;
        assert!(server.requests()[0].contains(KEY));
        let mut shown = format!("{options:?} {client:?} {} {events:?}", client.url());
        for error in events.iter().filter_map(|event| event.as_ref().err()) {
            shown += &format!("{error} {:?}", error.hint());
        }
        assert!(shown.contains("[secret]") && !shown.contains("hunter2"), "{shown}");
    }
}

/// Some gateways echo what they were sent, and then it is no error.
/// Promise: `secrets-for-owner-only`
#[tokio::test]
async fn the_key_is_in_no_reply_either() {
    const KEY: &str = "sk-hunter2-and-longer";
    let begun = "{\"message\":{\"thinking\":\"is sk-hunter2-and-longer it\",\"content\":\"It is sk-hun\"}}\n";
    let rest = "{\"message\":{\"content\":\"ter2-and-longer. sk\",\"tool_calls\":[{\"function\":\
                {\"name\":\"f\",\"arguments\":{\"key\":\"sk-hunter2-and-longer\"}}}]},\"done\":true}\n";
    let server = Server::play(vec![vec![open(&format!("{begun}{rest}"))]]).await;
    let options =
        ClientOptions { api_key: Some(ApiKey::new(KEY)), ..server.options(Provider::Ollama) };
    let events = events(ModelClient::new(options).unwrap().stream("{}")).await;
    assert_eq!(
        shown(&events),
        [
            "thinking: is [secret] it",
            "text: It is ",
            "text: [secret]. ",
            "text: sk",
            "done: It is [secret]. sk"
        ]
    );
    assert!(!format!("{events:?}").contains("hunter2"), "{events:?}");
}

/// Promise: `secrets-for-owner-only`
#[tokio::test]
async fn the_key_is_in_no_id_of_a_call() {
    const KEY: &str = "sk-hunter2-and-longer";
    let call = |index: u32, id: &str| {
        format!(
            "{{\"index\":{index},\"id\":\"{id}\",\"function\":{{\"name\":\"f\",\"arguments\":\"{{}}\"}}}}"
        )
    };
    let calls = [call(0, KEY), call(1, "[secret]"), call(2, &format!("call-{KEY}"))].join(",");
    let choice =
        format!("{{\"delta\":{{\"tool_calls\":[{calls}]}},\"finish_reason\":\"tool_calls\"}}");
    let reply = format!("data: {{\"choices\":[{choice}]}}\n\ndata: [DONE]\n\n");
    let server = Server::play(vec![vec![open(&reply)]]).await;
    let options =
        ClientOptions { api_key: Some(ApiKey::new(KEY)), ..server.options(Provider::OpenAi) };
    let events = events(ModelClient::new(options).unwrap().stream("{}")).await;
    let Some(Ok(StreamEvent::Done(reply))) = events.last() else { panic!("{events:?}") };
    let ids: Vec<&str> = reply.calls.iter().map(|call| &*call.id.0).collect();
    // Without the key two are the same, and one of them gets another.
    assert!(ids[0] == "[secret]" && ids[1].starts_with("call_") && ids[2] == "call-[secret]");
    assert!(!format!("{events:?}").contains("hunter2"), "{events:?}");
}

/// Promise: `secrets-for-owner-only`
#[tokio::test]
async fn the_key_is_in_no_arguments_and_no_reason_for_the_end() {
    const KEY: &str = "sk-hunter2-and-longer";
    let escaped: String = KEY.chars().map(|c| format!("\\\\u{:04x}", u32::from(c))).collect();
    let call = format!(
        "{{\"index\":0,\"id\":\"1\",\"function\":{{\"name\":\"f\",\"arguments\":\"{{\\\"a\\\":\\\"{escaped}\\\"}}\"}}}}"
    );
    let choice =
        format!("{{\"delta\":{{\"tool_calls\":[{call}]}},\"finish_reason\":\"stop_{KEY}\"}}");
    let reply = format!("data: {{\"choices\":[{choice}]}}\n\ndata: [DONE]\n\n");
    let server = Server::play(vec![vec![open(&reply)]]).await;
    let options =
        ClientOptions { api_key: Some(ApiKey::new(KEY)), ..server.options(Provider::OpenAi) };
    let events = events(ModelClient::new(options).unwrap().stream("{}")).await;
    let Some(Ok(StreamEvent::Done(reply))) = events.last() else { panic!("{events:?}") };
    assert_eq!(&*reply.calls[0].arguments, "{\"a\":\"[secret]\"}");
    assert_eq!(reply.finish, FinishReason::Other("stop_[secret]".to_owned()));
}

#[tokio::test]
async fn no_model_is_named_by_the_key() {
    const KEY: &str = "sk-hunter2-and-longer";
    let list = format!("{{\"data\":[{{\"id\":\"m\"}},{{\"id\":\"for-{KEY}\"}}]}}");
    let server = Server::play(vec![vec![Step::Send(answer(200, "", &list))]]).await;
    let options =
        ClientOptions { api_key: Some(ApiKey::new(KEY)), ..server.options(Provider::OpenAi) };
    assert_eq!(ModelClient::new(options).unwrap().served_models().await.unwrap(), ["m"]);
}

/// Texts are cut, and the cut may fall into the key.
#[tokio::test]
async fn no_part_of_the_key_is_shown_where_a_text_is_cut() {
    let long = |end: &str| format!("{}{KEY}{end}", "x".repeat(495));
    let escaped = KEY.replace('u', "\\u0075");
    let streams = [
        vec![Step::Send(answer(500, "", &long("")))],
        vec![Step::Send(answer(500, "", &format!("{{\"error\":\"{}\"}}", long("y"))))],
        // Only what is read out of the JSON shows the key.
        vec![Step::Send(answer(
            500,
            "",
            &format!("{{\"error\":\"{}{escaped}\"}}", "x".repeat(495)),
        ))],
        vec![Step::Send(answer(302, &format!("Location: http://h/{}\r\n", long("")), ""))],
        vec![open(&format!("data: {}\n\n", long("")))],
        vec![open(&long(""))],
        vec![open(&format!("data: {{\"error\":{{\"message\":\"{}\"}}}}\n\n", long("")))],
        // The parser quotes what it did not expect.
        vec![open(&format!("data: {{\"choices\":\"{}\"}}\n\n", long("")))],
    ];
    for steps in streams {
        let server = Server::play(vec![steps]).await;
        let client = ModelClient::new(with_key(server.options(Provider::OpenAi))).unwrap();
        let events = events(client.stream("{}")).await;
        let Some(Err(error)) = events.last() else { panic!("an error") };
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("xxx") && !shown.contains("sk-"), "{shown}");
    }
}

#[tokio::test]
async fn probes_show_no_part_of_the_key_either() {
    let long = |_: &str| {
        let body = format!("{}{KEY}", "x".repeat(495));
        answer(401, "", &body)
    };
    let server = Server::answer(long).await;
    for provider in [Provider::OpenAi, Provider::Ollama] {
        let client = ModelClient::new(with_key(server.options(provider))).unwrap();
        for error in [
            client.server_window("m").await.unwrap_err(),
            client.served_models().await.unwrap_err(),
        ] {
            let shown = format!("{error} {error:?}");
            assert!(shown.contains("xxx") && !shown.contains("sk-"), "{shown}");
        }
    }
}

#[tokio::test]
async fn a_key_that_is_none_is_refused_without_being_shown() {
    let options = quick(Provider::Anthropic);
    let options = ClientOptions { api_key: Some(ApiKey::new("hun\nter2")), ..options };
    let error = ModelClient::new(options).unwrap_err();
    assert!(matches!(error, LlmError::Options { .. }));
    assert!(!format!("{error} {error:?}").contains("ter2"));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Server::play(vec![vec![open("")]]).await;
    let location = format!("Location: {}/v1\r\n", elsewhere.url);
    let server = Server::play(vec![vec![Step::Send(answer(307, &location, ""))]]).await;
    let client = ModelClient::new(with_key(server.options(Provider::OpenAi))).unwrap();
    let events = events(client.stream("{}")).await;
    assert_eq!(shown(&events), ["error: redirected"]);
    let Some(Err(error)) = events.last() else { panic!("an error") };
    assert!(error.to_string().contains(&elsewhere.url), "{error}");
    assert!(elsewhere.requests().is_empty());
}
