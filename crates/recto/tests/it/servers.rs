//! The binary against strict fakes of model servers, over loopback.

mod budget;
mod errors;
mod models;
mod modes;
mod secrets;
mod tools;
mod turns;
mod usage;
mod windows;

use recto_fakes::{FakeBuilder, FakeCall, FakeServer};
use serde_json::{Value, json};

use crate::support::*;

/// The wires that a test is played on.
pub(crate) const WIRES: [Wire; 2] = [Wire::Ollama, Wire::OpenAi];

/// Whose protocol a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Ollama,
    OpenAi,
}

impl Wire {
    pub(crate) fn fake(self) -> FakeBuilder {
        match self {
            Wire::Ollama => FakeServer::ollama(),
            Wire::OpenAi => FakeServer::openai(),
        }
    }

    fn provider(self) -> &'static str {
        match self {
            Wire::Ollama => "ollama",
            Wire::OpenAi => "openai",
        }
    }

    /// A model entry for a server at this address.
    pub(crate) fn entry_at(self, url: &str, more: &str) -> String {
        let path = if self == Wire::OpenAi { "/v1" } else { "" };
        let provider = self.provider();
        format!(
            "[models.m]\nprovider = \"{provider}\"\nmodel = \"fake\"\nbase_url = \"{url}{path}\"\n\
             {more}\n"
        )
    }
}

/// A home whose only model is a fake.
pub(crate) struct ServedHome {
    pub(crate) home: Home,
    pub(crate) fake: FakeServer,
}

impl ServedHome {
    /// A home with a window of 16,384 tokens, set in the config.
    pub(crate) fn new(wire: Wire, fake: FakeBuilder) -> Self {
        ServedHome::with(wire, fake, "window = 16384")
    }

    /// A home with these lines in the model's entry, and what may follow it.
    pub(crate) fn with(wire: Wire, fake: FakeBuilder, more: &str) -> Self {
        let fake = fake.start();
        let home = Home::with(&[("config.toml", &wire.entry_at(&fake.url(), more))]);
        ServedHome { home, fake }
    }

    /// `recto chat -m MESSAGE`.
    pub(crate) fn chat(&self, message: &str) -> Run {
        self.home.run(&["chat", "-m", message])
    }

    /// The same, which must go well. Gives the reply.
    pub(crate) fn say(&self, message: &str) -> String {
        let run = self.chat(message);
        assert_eq!(run.code, 0, "{}", run.err);
        run.out
    }

    /// `recto chat -m MESSAGE --json`: the events.
    pub(crate) fn events(&self, message: &str) -> Vec<Value> {
        json_lines(&self.home.run(&["chat", "-m", message, "--json"]).out)
    }

    /// All that is known of the last turn.
    pub(crate) fn last_turn(&self) -> Value {
        self.home.json(&["show", "--json"])
    }

    /// What the record of a turn has of what a person was told.
    pub(crate) fn recorded_notices(&self, turn: &str) -> Vec<String> {
        let requests = self.home.json(&["show", turn, "--json"])["requests"].clone();
        let notices = requests.as_array().unwrap().iter();
        let notices = notices.flat_map(|request| request["notices"].as_array().unwrap());
        notices.map(|notice| notice["text"].as_str().unwrap().to_owned()).collect()
    }

    /// What was said in the default session.
    pub(crate) fn transcript(&self) -> Vec<Value> {
        let session = self.home.json(&["sessions", "show", "default", "--json"]);
        session["messages"].as_array().unwrap().clone()
    }

    /// The messages of the last chat that the server got.
    pub(crate) fn last_sent(&self) -> Vec<Value> {
        messages(self.fake.chats().last().unwrap())
    }

    /// What people read, with the server's address made the same for every run.
    pub(crate) fn steady(&self, text: &str) -> String {
        text.replace(&self.fake.url(), "URL")
    }
}

impl Home {
    /// A command that prints JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let run = self.run(arguments);
        serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}", run.err))
    }
}

/// Lines of JSON, parsed.
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A call of `read_file`.
pub(crate) fn read(path: &str) -> FakeCall {
    FakeCall::new("read_file", json!({ "path": path }))
}

/// The messages of a chat.
fn messages(chat: &Value) -> Vec<Value> {
    chat["messages"].as_array().unwrap().clone()
}

/// The text of a message.
fn content(message: &Value) -> &str {
    message["content"].as_str().unwrap_or_default()
}

/// The roles of messages, in order.
pub(crate) fn roles(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["role"].as_str().unwrap()).collect()
}

/// The texts of the messages of this role.
pub(crate) fn contents<'a>(messages: &'a [Value], role: &str) -> Vec<&'a str> {
    messages.iter().filter(|message| message["role"] == role).map(content).collect()
}

/// How many notices of a turn hold this text.
fn notices(events: &[Value], text: &str) -> usize {
    let notices = events.iter().filter(|event| event["event"] == "notice");
    notices.filter(|event| event["text"].as_str().unwrap().contains(text)).count()
}
