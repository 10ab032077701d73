//! Strict fakes of model servers and of chat services, for tests only.
//!
//! A [`FakeServer`] is a server on loopback, in the test's own process, that speaks
//! the protocol of Ollama or of an OpenAI-compatible server. It is written from
//! what the vendors publish, not from what Recto sends: it refuses what the
//! real servers refuse, with their status and their words, and keeps why. So a
//! test that passes against it says something about the real thing.
//!
//! What it answers is up to the test: each chat that passes the checks takes
//! the next [`FakeAnswer`] of a queue, and when the queue is empty, the fake repeats
//! the last user message. An answer can go wrong in every way a server can.
//!
//! ```
//! use recto_fakes::{FakeAnswer, FakeCall, FakeServer};
//! use serde_json::json;
//!
//! let fake = FakeServer::ollama()
//!     .answer(FakeAnswer::calls([FakeCall::new("clock", json!({ "zone": "UTC" }))]))
//!     .answer(FakeAnswer::text("It is noon."))
//!     .answer(FakeAnswer::refusal(429, "slow down").header("retry-after", "1"))
//!     .start();
//! assert!(fake.url().starts_with("http://127.0.0.1:"));
//! assert!(fake.rejections().is_empty());
//! ```
//!
//! A [`FakeTelegram`] is the Bot API of Telegram, with people who write to a bot; a [`FakeDiscord`]
//! is the gateway and the REST API of Discord. Beside the servers stand [`FakeEncoder`], a sentence
//! encoder of made-up numbers, and [`fuzz_inputs`]: what fuzzing began with, and what it found.
//!
//! The model servers have limits of their own:
//!
//! - It runs no model and knows no template; tokens are counted by a simple
//!   rule, a token for every four bytes.
//! - It has no clock of its own: times in its answers are fixed, and nothing
//!   waits unless the test asks for it.
//! - Where a real server lets something pass that no client can mean, it is
//!   stricter, and says so where it is.

mod answer;
mod base64;
mod count;
mod discord;
mod encoder;
mod fake_server;
mod fuzz_inputs;
mod gate;
mod log;
mod model;
mod ollama;
mod openai;
mod reaction;
mod server;
mod telegram;

pub use answer::{FakeAnswer, FakeCall, FakeRefusal, FakeReply, FakeUsage};
pub use discord::{DiscordChatMessage, DiscordInteractionAnswer, DiscordPerson, FakeDiscord};
pub use encoder::{FakeEncoder, FakeFamily, FakeFloats};
pub use fake_server::{FakeBuilder, FakeServer};
pub use fuzz_inputs::fuzz_inputs;
pub use gate::AnswerGate;
pub use log::{AnswerEnding, ReceivedRequest};
pub use model::{Capability, FakeModel};
pub use openai::FakeDialect;
pub use telegram::{FakeTelegram, TelegramChatMessage, TelegramPerson};
