//! The binary as a bot of Telegram, against a strict fake of the Bot API and a fake model server.

mod access;
mod kill;
mod odd;
mod schedules;
mod talk;

use std::io::{Read, Write};
use std::net::TcpStream;

use recto_fakes::{FakeServer, FakeTelegram, TelegramChatMessage, TelegramPerson};

use rusqlite::Connection;

use crate::running::Running;
use crate::servers::Wire;
use crate::support::*;

/// The owner's own account.
const OWNER: i64 = 4711;

/// What the bot writes before it knows what to say.
const PLACEHOLDER: &str = "…";

/// A home with a bot, the Bot API that it talks to, and the model that answers.
struct BotHome {
    home: Home,
    telegram: FakeTelegram,
    model: FakeServer,
}

impl BotHome {
    /// A bot whose owner is known.
    fn new() -> Self {
        BotHome::with(&format!("owners = [\"{OWNER}\"]"))
    }

    /// A bot with these settings.
    fn with(settings: &str) -> Self {
        let telegram = FakeTelegram::start();
        let model = FakeServer::ollama().start();
        let entry = Wire::Ollama.entry_at(&model.url(), "window = 16384");
        let config = format!(
            "{entry}\n[channels.telegram]\nenabled = true\napi_url = \"{}\"\n{settings}\n",
            telegram.url()
        );
        let home = Home::with(&[("config.toml", &config)]);
        home.write("workspace/SOUL.md", "You are a lighthouse keeper.\n");
        BotHome { home, telegram, model }
    }

    /// Runs the server, until what is given back is dropped: then it is killed.
    fn serve(&self) -> Running {
        let variables = [("TELEGRAM_BOT_TOKEN", FakeTelegram::TOKEN)];
        let running = self.home.start_with(&["serve", "--listen", "127.0.0.1:0"], &variables);
        running.wait_for_out("Recto answers at");
        running
    }

    /// Waits until the last message of the bot in a chat says this, and nothing is under way.
    fn wait_for_reply(&self, chat: i64, text: &str) -> TelegramChatMessage {
        let says = |message: &&TelegramChatMessage| {
            message.is_from_bot && message.text.contains(text) && !message.text.ends_with(" …")
        };
        self.telegram.wait_for(chat, |messages| messages.iter().any(|it| says(&it)));
        self.telegram.chat(chat).iter().find(says).unwrap().clone()
    }

    /// Everything that the bot says in a chat, but what it has not come to say.
    fn said(&self, chat: i64) -> Vec<String> {
        let replies = self.telegram.replies(chat).into_iter().map(|message| message.text);
        replies.filter(|text| text != PLACEHOLDER).collect()
    }

    /// Nothing that a bot should not do was done.
    #[track_caller]
    fn is_clean(&self) {
        assert_eq!(self.telegram.rejections(), Vec::<String>::new());
        assert_eq!(self.model.rejections(), Vec::<String>::new());
    }
}

fn owner() -> TelegramPerson {
    TelegramPerson::new(OWNER, "Ana")
}

/// Keeps the server from ending anything that its bot was sent, until this is dropped.
struct StuckUpdates(Connection);

impl StuckUpdates {
    fn new(bot: &BotHome) -> Self {
        let database = Connection::open(bot.home.path("data/recto.db")).unwrap();
        database.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
        let sql = "CREATE TRIGGER stuck BEFORE UPDATE OF ended ON channel_updates
                   BEGIN SELECT RAISE(ABORT, 'stuck on purpose'); END";
        database.execute_batch(sql).unwrap();
        StuckUpdates(database)
    }
}

impl Drop for StuckUpdates {
    fn drop(&mut self) {
        self.0.execute_batch("DROP TRIGGER stuck").unwrap();
    }
}

/// Waits for something that must come to be.
pub(crate) fn wait_until(reached: impl Fn() -> bool) {
    for _ in 0..600 {
        if reached() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("it never came to be so");
}

/// Waits for all of something, however long it takes, as long as it goes on. `count` says how much
/// there is of it.
pub(crate) fn wait_for_all(all: usize, count: impl Fn() -> usize) {
    let patience = std::time::Duration::from_secs(60);
    let (mut seen, mut since) = (0, std::time::Instant::now());
    while seen < all {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let now = count();
        if now != seen {
            (seen, since) = (now, std::time::Instant::now());
        }
        assert!(since.elapsed() < patience, "after {seen} of {all} nothing more came");
    }
}

/// What the server answers to `GET /readyz`.
pub(crate) fn readiness(serve: &Running) -> String {
    let told = serve.wait_for_out("Recto answers at");
    let address = told.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    let request = format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
