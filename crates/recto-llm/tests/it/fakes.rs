//! Whole exchanges with servers that are as strict as the real ones: what is
//! encoded is taken, what is decoded goes back, and nothing is rejected.

use std::sync::Arc;

use recto_context::{
    AssemblyInputs, Catalog, ContentPart, ItemId, Message, MessageBody, MessageId, Mode,
    ModeDecision, ModeReason, RequestContext, ToolSpec,
};
use recto_fakes::{
    Capability, FakeAnswer, FakeBuilder, FakeCall, FakeDialect, FakeModel, FakeServer,
};
use recto_llm::{
    ApiKey, CallOptions, ClientOptions, FeatureSupport, FinishReason, LlmError, ModelClient,
    ModelPresence, ModelReply, Provider, ServerWindow, collect, encode,
};
use serde_json::json;

use crate::server::quick;

fn client(provider: Provider, fake: &FakeServer) -> ModelClient {
    let options = ClientOptions { base_url: Some(fake.url()), ..quick(provider) };
    ModelClient::new(options).unwrap()
}

fn request(message: &str, history: &[Arc<Message>]) -> RequestContext {
    let parameters = json!({ "type": "object", "properties": { "zone": { "type": "string" } } });
    let tool = ToolSpec::new(ItemId::tool(None, "clock"), "Tells the time.", parameters);
    let catalog = Catalog { tools: vec![tool], ..Catalog::default() };
    let chosen = Mode::MinimalWithHistory;
    let mode = ModeDecision::new(chosen, ModeReason::Configured);
    let request =
        AssemblyInputs::new(&catalog, message).history(history).mode(mode).assemble().unwrap();
    assert_eq!(request.tools.len(), 1);
    request
}

async fn send(client: &ModelClient, request: &RequestContext) -> Result<ModelReply, LlmError> {
    let options =
        CallOptions { model: FakeModel::DEFAULT_NAME.to_owned(), ..CallOptions::default() };
    let body = encode(client.wire(), &options, request);
    collect(client.stream(body.to_string())).await
}

/// Two calls, their results, and an answer.
async fn talk(provider: Provider, fake: FakeBuilder) {
    let calls = [
        FakeCall::new("clock", json!({ "zone": "UTC" })),
        FakeCall::new("clock", json!({ "zone": "CET" })),
    ];
    let fake =
        fake.answer(FakeAnswer::calls(calls)).answer(FakeAnswer::text("It is noon 🙂.")).start();
    let client = client(provider, &fake);

    let first = send(&client, &request("What time is it?", &[])).await.unwrap();
    assert_eq!(first.finish, FinishReason::ToolCalls);
    let arguments: Vec<&str> = first.calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, [r#"{"zone":"UTC"}"#, r#"{"zone":"CET"}"#]);
    assert_ne!(first.calls[0].id, first.calls[1].id);

    let second = send(&client, &request("Well?", &history(first))).await.unwrap();
    assert_eq!((second.text().as_str(), second.finish), ("It is noon 🙂.", FinishReason::Stop));
    assert!(second.usage.prompt.is_some_and(|tokens| tokens > 0), "{:?}", second.usage);
    assert_eq!(fake.rejections(), Vec::<String>::new());
}

/// The question, the reply as it came, and a result for each of its calls.
fn history(reply: ModelReply) -> Vec<Arc<Message>> {
    let results = reply.calls.clone().into_iter().map(|call| MessageBody::Tool {
        call: call.id,
        name: call.name,
        content: vec![ContentPart::Text("12:00".into())],
    });
    let said = MessageBody::Assistant { content: reply.content, calls: reply.calls };
    let behind = std::iter::once(said).chain(results).zip(2..);
    let behind = behind.map(|(body, id)| Message { id: MessageId(id), body });
    std::iter::once(Message::user(1, "What time is it?")).chain(behind).map(Arc::new).collect()
}

#[tokio::test]
async fn tools_are_called_on_every_wire() {
    talk(Provider::Ollama, FakeServer::ollama()).await;
    for dialect in
        [FakeDialect::OpenAi, FakeDialect::Vllm, FakeDialect::LlamaCpp, FakeDialect::LmStudio]
    {
        talk(Provider::OpenAi, FakeServer::openai_dialect(dialect)).await;
    }
}

#[tokio::test]
async fn thoughts_go_back_to_ollama() {
    let thinking = FakeAnswer::thinking("Hm.").text("Yes.");
    let model = FakeModel::new(FakeModel::DEFAULT_NAME).capabilities([
        Capability::Completion,
        Capability::Tools,
        Capability::Thinking,
    ]);
    let fake = FakeServer::ollama().model(model).answer(thinking).start();
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
    let model = || FakeModel::new(FakeModel::DEFAULT_NAME).trained_for(65_536);
    let set = || model().window(16_384);
    let servers = [
        (Provider::Ollama, FakeServer::ollama().model(set()), ServerWindow::Loaded(16_384)),
        (Provider::Ollama, FakeServer::ollama().model(model()), ServerWindow::Trained(65_536)),
        (Provider::OpenAi, FakeServer::openai().model(set()), ServerWindow::Unknown),
    ];
    let dialects =
        [FakeDialect::Vllm, FakeDialect::LlamaCpp, FakeDialect::LmStudio].map(|dialect| {
            let fake = FakeServer::openai_dialect(dialect).model(set());
            (Provider::OpenAi, fake, ServerWindow::Loaded(16_384))
        });
    for (provider, fake, window) in servers.into_iter().chain(dialects) {
        let fake = fake.start();
        let health = client(provider, &fake).check(FakeModel::DEFAULT_NAME).await.unwrap();
        assert_eq!((health.presence, health.window), (ModelPresence::Listed, window));
        let tools = if provider == Provider::Ollama {
            FeatureSupport::Yes
        } else {
            FeatureSupport::Unknown
        };
        assert_eq!(health.tools, tools);
    }
}

#[tokio::test]
async fn refusals_have_their_types() {
    let code = async |provider, fake: FakeBuilder, message: &str| {
        let fake = fake.start();
        send(&client(provider, &fake), &request(message, &[])).await.unwrap_err().code()
    };
    let other = || FakeModel::new("other");
    let mute = || FakeModel::new(FakeModel::DEFAULT_NAME).capabilities([Capability::Completion]);
    assert_eq!(
        code(Provider::Ollama, FakeServer::ollama().model(other()), "hi").await,
        "no_such_model"
    );
    assert_eq!(
        code(Provider::OpenAi, FakeServer::openai().model(other()), "hi").await,
        "no_such_model"
    );
    assert_eq!(
        code(Provider::Ollama, FakeServer::ollama().model(mute()), "hi").await,
        "tools_unsupported"
    );
    assert_eq!(
        code(Provider::OpenAi, FakeServer::openai().api_key("k"), "hi").await,
        "unauthorized"
    );
    for dialect in [FakeDialect::OpenAi, FakeDialect::Vllm, FakeDialect::LlamaCpp] {
        let small = FakeModel::new(FakeModel::DEFAULT_NAME).trained_for(256).window(256);
        let fake = FakeServer::openai_dialect(dialect).model(small);
        assert_eq!(code(Provider::OpenAi, fake, &"long ".repeat(800)).await, "context_overflow");
    }
}

#[tokio::test]
async fn the_key_opens_the_door() {
    let fake = FakeServer::openai().api_key("k-1").start();
    let options = ClientOptions {
        base_url: Some(format!("{}/v1", fake.url())),
        api_key: Some(ApiKey::new("k-1\n")),
        ..quick(Provider::OpenAi)
    };
    let reply = send(&ModelClient::new(options).unwrap(), &request("hi", &[])).await.unwrap();
    assert_eq!(reply.finish, FinishReason::Stop);
}
