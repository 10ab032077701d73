//! Whole exchanges with servers that are as strict as the real ones: what is
//! encoded is taken, what is decoded goes back, and nothing is rejected.

use std::sync::Arc;

use recto_context::{
    Body, Catalog, ContentPart, Inputs, ItemId, Message, MessageId, Mode, ModeDecision, ModeReason,
    RequestContext, ToolSpec,
};
use recto_fakes::{Answer, Call, Capability, Dialect, Fake, FakeBuilder, Model};
use recto_llm::{
    CallOptions, Client, ClientOptions, Finish, LlmError, Presence, Provider, Reply, Secret,
    ServerWindow, Support, collect, encode,
};
use serde_json::json;

use crate::server::quick;

fn client(provider: Provider, fake: &Fake) -> Client {
    let options = ClientOptions { base_url: Some(fake.url()), ..quick(provider) };
    Client::new(options).unwrap()
}

fn request(message: &str, history: &[Arc<Message>]) -> RequestContext {
    let parameters = json!({ "type": "object", "properties": { "zone": { "type": "string" } } });
    let tool = ToolSpec::new(ItemId::tool(None, "clock"), "Tells the time.", parameters);
    let catalog = Catalog { tools: vec![tool], ..Catalog::default() };
    let chosen = Mode::MinimalWithHistory;
    let mode = ModeDecision { chosen, reason: ModeReason::Configured, matched: Vec::new() };
    let request = Inputs::new(&catalog, message).history(history).mode(mode).assemble().unwrap();
    assert_eq!(request.tools.len(), 1);
    request
}

async fn send(client: &Client, request: &RequestContext) -> Result<Reply, LlmError> {
    let options = CallOptions { model: Model::DEFAULT_NAME.to_owned(), ..CallOptions::default() };
    let body = encode(client.wire(), &options, request);
    collect(client.stream(body.to_string())).await
}

/// Two calls, their results, and an answer.
async fn talk(provider: Provider, fake: FakeBuilder) {
    let calls = [
        Call::new("clock", json!({ "zone": "UTC" })),
        Call::new("clock", json!({ "zone": "CET" })),
    ];
    let fake = fake.answer(Answer::calls(calls)).answer(Answer::text("It is noon 🙂.")).start();
    let client = client(provider, &fake);

    let first = send(&client, &request("What time is it?", &[])).await.unwrap();
    assert_eq!(first.finish, Finish::ToolCalls);
    let arguments: Vec<&str> = first.calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, [r#"{"zone":"UTC"}"#, r#"{"zone":"CET"}"#]);
    assert_ne!(first.calls[0].id, first.calls[1].id);

    let second = send(&client, &request("Well?", &history(first))).await.unwrap();
    assert_eq!((second.text().as_str(), second.finish), ("It is noon 🙂.", Finish::Stop));
    assert!(second.usage.prompt.is_some_and(|tokens| tokens > 0), "{:?}", second.usage);
    assert_eq!(fake.rejections(), Vec::<String>::new());
}

/// The question, the reply as it came, and a result for each of its calls.
fn history(reply: Reply) -> Vec<Arc<Message>> {
    let results = reply.calls.clone().into_iter().map(|call| Body::Tool {
        call: call.id,
        name: call.name,
        content: vec![ContentPart::Text("12:00".into())],
    });
    let said = Body::Assistant { content: reply.content, calls: reply.calls };
    let behind = std::iter::once(said).chain(results).zip(2..);
    let behind = behind.map(|(body, id)| Message { id: MessageId(id), body });
    std::iter::once(Message::user(1, "What time is it?")).chain(behind).map(Arc::new).collect()
}

#[tokio::test]
async fn tools_are_called_on_every_wire() {
    talk(Provider::Ollama, Fake::ollama()).await;
    for dialect in [Dialect::OpenAi, Dialect::Vllm, Dialect::LlamaCpp, Dialect::LmStudio] {
        talk(Provider::OpenAi, Fake::openai_dialect(dialect)).await;
    }
}

#[tokio::test]
async fn thoughts_go_back_to_ollama() {
    let thinking = Answer::thinking("Hm.").text("Yes.");
    let model = Model::new(Model::DEFAULT_NAME).capabilities([
        Capability::Completion,
        Capability::Tools,
        Capability::Thinking,
    ]);
    let fake = Fake::ollama().model(model).answer(thinking).start();
    let client = client(Provider::Ollama, &fake);
    let reply = send(&client, &request("What time is it?", &[])).await.unwrap();
    assert_eq!(reply.text(), "Yes.");
    send(&client, &request("Sure?", &history(reply))).await.unwrap();
    let messages = fake.chats()[1]["messages"].as_array().unwrap().clone();
    let said = messages.iter().find(|message| message["role"] == "assistant").unwrap();
    assert_eq!(said["thinking"], "Hm.");
    assert_eq!(fake.rejections(), Vec::<String>::new());
}

#[tokio::test]
async fn windows_are_found_in_every_dialect() {
    let model = || Model::new(Model::DEFAULT_NAME).trained_for(65_536);
    let set = || model().window(16_384);
    let servers = [
        (Provider::Ollama, Fake::ollama().model(set()), ServerWindow::Loaded(16_384)),
        (Provider::Ollama, Fake::ollama().model(model()), ServerWindow::Trained(65_536)),
        (Provider::OpenAi, Fake::openai().model(set()), ServerWindow::Unknown),
    ];
    let dialects = [Dialect::Vllm, Dialect::LlamaCpp, Dialect::LmStudio].map(|dialect| {
        let fake = Fake::openai_dialect(dialect).model(set());
        (Provider::OpenAi, fake, ServerWindow::Loaded(16_384))
    });
    for (provider, fake, window) in servers.into_iter().chain(dialects) {
        let fake = fake.start();
        let health = client(provider, &fake).check(Model::DEFAULT_NAME).await.unwrap();
        assert_eq!((health.presence, health.window), (Presence::Listed, window));
        let tools = if provider == Provider::Ollama { Support::Yes } else { Support::Unknown };
        assert_eq!(health.tools, tools);
    }
}

#[tokio::test]
async fn refusals_have_their_types() {
    let code = async |provider, fake: FakeBuilder, message: &str| {
        let fake = fake.start();
        send(&client(provider, &fake), &request(message, &[])).await.unwrap_err().code()
    };
    let other = || Model::new("other");
    let mute = || Model::new(Model::DEFAULT_NAME).capabilities([Capability::Completion]);
    assert_eq!(code(Provider::Ollama, Fake::ollama().model(other()), "hi").await, "no_such_model");
    assert_eq!(code(Provider::OpenAi, Fake::openai().model(other()), "hi").await, "no_such_model");
    assert_eq!(
        code(Provider::Ollama, Fake::ollama().model(mute()), "hi").await,
        "tools_unsupported"
    );
    assert_eq!(code(Provider::OpenAi, Fake::openai().api_key("k"), "hi").await, "unauthorized");
    for dialect in [Dialect::OpenAi, Dialect::Vllm, Dialect::LlamaCpp] {
        let small = Model::new(Model::DEFAULT_NAME).trained_for(256).window(256);
        let fake = Fake::openai_dialect(dialect).model(small);
        assert_eq!(code(Provider::OpenAi, fake, &"long ".repeat(800)).await, "context_overflow");
    }
}

#[tokio::test]
async fn the_key_opens_the_door() {
    let fake = Fake::openai().api_key("k-1").start();
    let options = ClientOptions {
        base_url: Some(format!("{}/v1", fake.url())),
        api_key: Some(Secret::new("k-1\n")),
        ..quick(Provider::OpenAi)
    };
    let reply = send(&Client::new(options).unwrap(), &request("hi", &[])).await.unwrap();
    assert_eq!(reply.finish, Finish::Stop);
}
