//! The agents in the chats that people use.
//!
//! A channel is a bot of a chat service. What it is sent is stored before the service hears that
//! it came, and what it has to say goes through an outbox, so that each message is answered once
//! whatever happens to the process. [`RunningChannels`] keeps all of them running.
//!
//! `service.rs` says what a chat service has to be able to do; `telegram.rs` and `discord.rs` do it
//! for theirs. Everything else knows no service: a bot while it runs (`chat_channel.rs`), what people
//! send it (`incoming.rs`), who somebody is (`access.rs`), what is said (`content.rs`, `reply.rs`,
//! `words.rs`), how Markdown becomes text with styles that can be cut (`rich_text.rs`, `split.rs`),
//! and work in the order of each conversation (`keyed_queue.rs`).
//!
//! Nothing here decides what somebody may do: the agent's table of rights does.

mod access;
mod chat_channel;
mod content;
mod discord;
mod election;
mod host;
mod incoming;
mod keyed_queue;
mod lines;
mod reply;
mod rich_text;
mod service;
mod split;
mod supervisor;
mod telegram;
mod words;

pub use access::{AccessLists, PAIRING_CODE_LENGTH, StrangerPolicy};
pub use chat_channel::ChannelPolicy;
pub use discord::{ChannelMode, ChannelModes, DiscordOptions, check_discord};
pub use host::ChannelHost;
pub use supervisor::{ChannelBoard, ChannelOptions, ChannelProblem, ChannelState, RunningChannels};
pub use telegram::{TelegramOptions, check_telegram};

/// The surfaces whose conversations are held in a chat service.
pub const CHAT_SURFACES: [&str; 2] = [telegram::CHANNEL, discord::CHANNEL];
