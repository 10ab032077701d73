//! The embedded model, for real: `SmolLM2` runs in the process of the tests.
//!
//! `make test` pulls its file once. Whoever runs these tests by hand names the
//! folder with `RECTO_TEST_MODELS`.

mod calls;
mod cancel;
mod files;
mod memory;
mod prefix;
mod rules;
mod tokens;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::StreamExt;
use recto_context::{
    AssemblyInputs, Catalog, ContextLimits, LayoutPreset, Message, MessageBody, MessageId,
    PageLayout, RequestContext, Tokens, ToolCalls, Window,
};
use recto_llm::{
    CallOptions, ClientOptions, ModelClient, ModelReply, PromptCacheKey, Provider, StreamEvent,
    collect, encode,
};

/// The folder into which `make test` pulls models.
fn models() -> PathBuf {
    match std::env::var_os("RECTO_TEST_MODELS") {
        Some(folder) => folder.into(),
        None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("models"),
    }
}

fn smollm2() -> PathBuf {
    let file = models().join("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
    assert!(file.is_file(), "{} is missing: run `make test`, which pulls it", file.display());
    file
}

/// A client for the file, and how it is called: always with the most probable
/// words.
fn client_of(file: PathBuf) -> (ModelClient, CallOptions) {
    let options = ClientOptions { file: Some(file), ..ClientOptions::new(Provider::Embedded) };
    let client = ModelClient::new(options).unwrap();
    let call = CallOptions {
        model: "smollm2".to_owned(),
        temperature: Some(0.0),
        template: client.template(),
        ..CallOptions::default()
    };
    (client, call)
}

/// A model, and a conversation with it.
struct Talk {
    client: ModelClient,
    call: CallOptions,
    lane: PromptCacheKey,
    history: Vec<Arc<Message>>,
    window: u32,
    reply: u32,
}

impl Talk {
    fn new() -> Self {
        let (client, call) = client_of(smollm2());
        Talk {
            client,
            call,
            lane: PromptCacheKey(1),
            history: Vec::new(),
            window: 2_048,
            reply: 24,
        }
    }

    /// Another conversation with the same model.
    fn beside(&self, lane: u64) -> Self {
        Talk {
            client: self.client.clone(),
            call: self.call.clone(),
            lane: PromptCacheKey(lane),
            history: Vec::new(),
            window: self.window,
            reply: self.reply,
        }
    }

    fn request(&self, message: &str) -> RequestContext {
        let catalog = Catalog::default();
        // Short prompts: what is tested is the engine, and reading takes time.
        let layout = PageLayout { tool_calls: ToolCalls::Text, ..LayoutPreset::Plain.layout() };
        AssemblyInputs::new(&catalog, message)
            .message_id(MessageId(self.history.len() as u64 + 1))
            .history(&self.history)
            .layout(layout)
            .limits(ContextLimits { reply: Tokens::new(self.reply), ..ContextLimits::default() })
            .window(Window::from_config(Tokens::new(self.window)))
            .assemble()
            .unwrap()
    }

    fn body(&self, message: &str) -> String {
        encode(self.client.wire(), &self.call, &self.request(message)).to_string()
    }

    /// Says something, and keeps what comes back as an agent would.
    async fn say(&mut self, message: &str) -> ModelReply {
        let request = self.request(message);
        let body = encode(self.client.wire(), &self.call, &request).to_string();
        let reply = collect(self.client.stream_cached(self.lane, body)).await.unwrap();
        self.history.push(request.sent);
        let content = reply.content.clone();
        let id = MessageId(self.history.len() as u64 + 1);
        let body = MessageBody::Assistant { content, calls: Vec::new() };
        self.history.push(Arc::new(Message { id, body }));
        reply
    }
}

#[tokio::test]
async fn it_answers_and_streams() {
    let talk = Talk::new();
    let body = talk.body("What is the capital of France? Answer in one word.");
    let mut stream = talk.client.stream(body);
    let (mut pieces, mut reply) = (Vec::new(), None);
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            StreamEvent::Text(text) => pieces.push(text),
            StreamEvent::Done(done) => reply = Some(done),
            other => panic!("{other:?}"),
        }
    }
    let reply = reply.unwrap();
    assert!(pieces.len() > 1, "{pieces:?}");
    assert_eq!(pieces.concat(), reply.text());
    assert!(reply.text().contains("Paris"), "{}", reply.text());
    assert_eq!(reply.usage.cached, Some(0));
    assert!(reply.usage.prompt.unwrap() > 20);
    assert!(reply.usage.completion.unwrap() > 0);
}

#[tokio::test]
async fn the_same_prompt_gives_the_same_reply() {
    let mut talk = Talk::new();
    let body = talk.body("Tell me about the sea.");
    let first = collect(talk.client.stream(body.clone())).await.unwrap();
    let again = collect(talk.client.stream(body.clone())).await.unwrap();
    assert_eq!(first.text(), again.text());
    // Also when words are drawn by lot: the lot is drawn by the prompt.
    talk.call.temperature = Some(0.9);
    let body = talk.body("Tell me about the sea.");
    let first = collect(Talk::new().client.stream(body.clone())).await.unwrap();
    let again = collect(Talk::new().client.stream(body)).await.unwrap();
    assert_eq!(first.text(), again.text());
}
