//! Two gateways on one server: each message is answered once, whichever of them has the bot, and
//! each schedule runs once.

use recto_fakes::{FakeAnswer, FakeCall, FakeServer, FakeTelegram, TelegramPerson};
use serde_json::json;

use super::on_postgres::new_schema;
use crate::running::Running;
use crate::servers::Wire;
use crate::support::*;
use crate::telegram::{readiness, wait_until};

/// The owner's own account.
const OWNER: i64 = 4711;

/// Two homes with the same database, bot and model.
struct TwoGateways {
    homes: [Home; 2],
    telegram: FakeTelegram,
    model: FakeServer,
}

impl TwoGateways {
    fn new() -> Self {
        let (telegram, model) = (FakeTelegram::start(), FakeServer::ollama().start());
        let entry = Wire::Ollama.entry_at(&model.url(), "window = 16384");
        let config = format!(
            "{entry}\n[store]\nurl = '{}'\n[channels.telegram]\nenabled = true\napi_url = \"{}\"\n\
             owners = [\"{OWNER}\"]\n",
            new_schema("gateways"),
            telegram.url()
        );
        let homes = [(); 2].map(|()| Home::with(&[("config.toml", &config)]));
        TwoGateways { homes, telegram, model }
    }

    fn serve(&self, gateway: usize) -> Running {
        let variables = [("TELEGRAM_BOT_TOKEN", FakeTelegram::TOKEN)];
        let arguments = ["serve", "--listen", "127.0.0.1:0"];
        let running = self.homes[gateway].start_with(&arguments, &variables);
        running.wait_for_out("Recto answers at");
        running
    }

    fn say(&self, text: &str) {
        self.telegram.say(&TelegramPerson::new(OWNER, "Ana"), text);
    }

    fn wait_for_reply(&self, text: &str) {
        self.telegram.wait_for(OWNER, |messages| {
            messages.iter().any(|it| it.is_from_bot && it.text.contains(text))
        });
    }

    /// How many messages of the bot say this.
    fn count(&self, text: &str) -> usize {
        self.telegram.replies(OWNER).iter().filter(|it| it.text.contains(text)).count()
    }
}

/// Promise: `channels-answer-once`
/// Promise: `schedules-run-once`
#[test]
fn two_gateways_share_a_bot_its_questions_and_its_schedules() {
    let both = TwoGateways::new();
    let first = both.serve(0);
    wait_until(|| readiness(&first).contains("telegram: running"));
    let second = both.serve(1);
    second.wait_for_err("standing by: another process answers as @recto_test_bot");
    both.say("hello");
    both.wait_for_reply("hello");

    // A question of the one can be answered at the other, and the turn goes on where it runs.
    let write = json!({"path": "notes.txt", "content": "tide"});
    both.model.push(FakeAnswer::calls([FakeCall::new("write_file", write)]));
    both.model.push(FakeAnswer::text("It is written."));
    both.say("write it down");
    both.wait_for_reply("May write_file run?");
    both.homes[1].ok(&["approvals", "answer", "1", "allow"]);
    both.wait_for_reply("It is written.");
    assert!(both.homes[0].path("workspace/notes.txt").exists());

    // A time that comes while both look is run by one of them, and said once.
    let at = jiff::Timestamp::now() + std::time::Duration::from_secs(4);
    let arguments = ["schedule", "add", "tide", "report the tide", "--to", "telegram:4711"];
    both.homes[0].ok(&[&arguments[..], &["--at", &at.to_string()]].concat());
    both.wait_for_reply("report the tide");

    // Whoever stands by takes the bot over when the other is killed.
    drop(first);
    both.say("still there?");
    both.wait_for_reply("still there?");
    second.wait_for_err("running as @recto_test_bot");
    let first = both.serve(0);
    first.wait_for_err("standing by: another process answers as @recto_test_bot");
    both.say("once more");
    both.wait_for_reply("once more");

    let log = both.homes[1].json(&["schedule", "log", "--json"]);
    assert_eq!(log["runs"].as_array().map(Vec::len), Some(1), "{log}");
    for said in ["hello", "It is written.", "report the tide", "still there?", "once more"] {
        assert_eq!(both.count(said), 1, "{said}: {:#?}", both.telegram.replies(OWNER));
    }
    assert_eq!(both.telegram.rejections(), Vec::<String>::new());
    assert_eq!(both.model.rejections(), Vec::<String>::new());
}
