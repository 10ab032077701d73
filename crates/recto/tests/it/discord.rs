//! The binary as a bot of Discord, against a strict fake of its gateway and its REST API, and a
//! fake model server.

mod access;
mod gateway;
mod kill;
mod odd;
mod talk;

use recto_fakes::{DiscordChatMessage, DiscordPerson, FakeDiscord, FakeServer};

use crate::running::Running;
use crate::servers::Wire;
use crate::support::*;

/// The owner's own account.
const OWNER: u64 = 4711;

/// A channel of a server.
const CHANNEL: u64 = 1_000;

/// A home with a bot, the Discord that it talks to, and the model that answers.
struct DiscordHome {
    home: Home,
    discord: FakeDiscord,
    model: FakeServer,
}

impl DiscordHome {
    /// A bot whose owner is known, and a channel that is let in.
    fn new() -> Self {
        DiscordHome::with(&format!("owners = [\"{OWNER}\"]\nallow = [\"{CHANNEL}\"]"))
    }

    /// A bot with these settings.
    fn with(settings: &str) -> Self {
        let discord = FakeDiscord::start();
        let model = FakeServer::ollama().start();
        let entry = Wire::Ollama.entry_at(&model.url(), "window = 16384");
        let config = format!(
            "{entry}\n[channels.discord]\nenabled = true\napi_url = \"{}\"\n{settings}\n",
            discord.url()
        );
        let home = Home::with(&[("config.toml", &config)]);
        home.write("workspace/SOUL.md", "You are a lighthouse keeper.\n");
        DiscordHome { home, discord, model }
    }

    /// Runs the server, until what is given back is dropped: then it is killed. Gives it once the
    /// bot is connected.
    fn serve(&self) -> Running {
        let running = self.start();
        running.wait_for_err("running as @recto-test");
        running
    }

    /// Runs the server, whatever the bot does.
    fn start(&self) -> Running {
        let variables = [("DISCORD_BOT_TOKEN", FakeDiscord::TOKEN)];
        let running = self.home.start_with(&["serve", "--listen", "127.0.0.1:0"], &variables);
        running.wait_for_out("Recto answers at");
        running
    }

    /// Waits until a message of the bot in a channel says this, and is not growing.
    fn wait_for_reply(&self, channel: u64, text: &str) -> DiscordChatMessage {
        let says = |message: &&DiscordChatMessage| {
            let is_reply = message.is_from_bot && !message.is_echo;
            is_reply && message.text.contains(text) && !message.text.ends_with(" …")
        };
        self.discord.wait_for(channel, |messages| messages.iter().any(|it| says(&it)));
        self.discord.chat(channel).iter().find(says).unwrap().clone()
    }

    /// Everything that the bot says in a channel.
    fn said(&self, channel: u64) -> Vec<String> {
        self.discord.replies(channel).into_iter().map(|message| message.text).collect()
    }

    /// Nothing that a bot should not do was done.
    #[track_caller]
    fn is_clean(&self) {
        assert_eq!(self.discord.rejections(), Vec::<String>::new());
        assert_eq!(self.model.rejections(), Vec::<String>::new());
    }
}

fn owner() -> DiscordPerson {
    DiscordPerson::new(OWNER, "Ana")
}

/// Waits for something that must come to be.
#[track_caller]
fn wait_until(reached: impl Fn() -> bool) {
    for _ in 0..600 {
        if reached() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("it never came to be so");
}
