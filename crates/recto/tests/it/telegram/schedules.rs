//! Answers of schedules in a chat.

use recto_fakes::{FakeAnswer, FakeCall, TelegramPerson};
use serde_json::json;

use super::*;

#[test]
fn the_answer_of_a_schedule_is_said_in_its_chat_once_whichever_process_ran_it() {
    let bot = BotHome::new();
    let serve = bot.serve();
    bot.telegram.say(&owner(), "hello");
    bot.wait_for_reply(OWNER, "hello");
    let arguments = ["schedule", "add", "tide", "report the tide", "--cron", "0 8 * * *"];
    let nobody = bot.home.run(&[&arguments[..], &["--to", "telegram:99"]].concat());
    assert_eq!(nobody.code, 1);
    assert!(nobody.err.contains("it talks in telegram:4711"), "{}", nobody.err);
    bot.home.ok(&[&arguments[..], &["--to", "telegram:4711"]].concat());
    bot.home.ok(&["schedule", "run", "tide"]);
    bot.wait_for_reply(OWNER, "schedule tide");
    let log = || bot.home.ok(&["schedule", "log"]);
    wait_until(|| log().contains("delivered to telegram:4711"));
    // What is in the outbox while nobody brings it there is brought by the next one, once.
    drop(serve);
    let run = bot.home.run(&["schedule", "run", "tide"]);
    assert!(run.err.contains("waits for the bot that posts it to telegram:4711"), "{}", run.err);
    let _serve = bot.serve();
    let is_said = |said: &[String]| said.iter().filter(|it| it.contains("schedule tide")).count();
    bot.telegram.wait_for(OWNER, |messages| {
        let texts: Vec<String> = messages.iter().map(|it| it.text.clone()).collect();
        is_said(&texts) == 2
    });
    // The conversation knows of it.
    bot.telegram.say(&owner(), "and now?");
    bot.wait_for_reply(OWNER, "and now?");
    let last = bot.model.chats().pop().unwrap();
    assert!(last["messages"].to_string().contains("[schedule tide] report the tide"), "{last}");
    assert_eq!(is_said(&bot.said(OWNER)), 2, "{:?}", bot.said(OWNER));
    // One who takes no more messages is told of in the log, and not as if they had it.
    bot.telegram.set_blocked(OWNER, true);
    bot.home.ok(&["schedule", "run", "tide"]);
    wait_until(|| log().contains("not delivered to telegram:4711: "));
    bot.is_clean();
}

#[test]
fn a_group_that_became_a_supergroup_is_answered_by_either_of_its_ids() {
    let bot = BotHome::with("allow = [\"-77\"]");
    let _serve = bot.serve();
    let ada = TelegramPerson::new(5, "Ada");
    let named = |text: &str| format!("@{} {text}", FakeTelegram::USERNAME);
    bot.telegram.say_in(-77, &ada, &named("hello"));
    bot.wait_for_reply(-77, "hello");
    bot.telegram.migrate(-77, -1_000_000_000_077);
    bot.telegram.say_in(-1_000_000_000_077, &ada, &named("here now"));
    bot.wait_for_reply(-1_000_000_000_077, "here now");
    for (name, to) in [("old", "telegram:-77"), ("new", "telegram:-1000000000077")] {
        let task = format!("report by the {name} id");
        bot.home.ok(&["schedule", "add", name, &task, "--cron", "0 8 * * *", "--to", to]);
        bot.home.ok(&["schedule", "run", name]);
        bot.wait_for_reply(-1_000_000_000_077, &task);
    }
    bot.is_clean();
}

#[test]
fn what_is_scheduled_in_a_chat_is_answered_there() {
    let telegram = FakeTelegram::start();
    let call =
        json!({"action": "add", "name": "tide", "task": "report the tide", "cron": "0 8 * * *"});
    let model = FakeServer::ollama()
        .answer(FakeAnswer::calls([FakeCall::new("schedule", call)]))
        .answer(FakeAnswer::text("It is set."))
        .answer(FakeAnswer::text("High at noon."))
        .start();
    let entry = Wire::Ollama.entry_at(&model.url(), "window = 16384");
    let config = format!(
        "{entry}\n[tools]\nschedule = true\napproval = \"never\"\n[channels.telegram]\n\
         enabled = true\napi_url = \"{}\"\nowners = [\"{OWNER}\"]\n",
        telegram.url()
    );
    let bot = BotHome { home: Home::with(&[("config.toml", &config)]), telegram, model };
    let _serve = bot.serve();
    bot.telegram.say(&owner(), "report the tide each day");
    bot.wait_for_reply(OWNER, "It is set.");
    let listed = bot.home.ok(&["schedule", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["schedules"][0]["answer_to"], "telegram:4711", "{listed}");
    bot.home.ok(&["schedule", "run", "tide"]);
    bot.wait_for_reply(OWNER, "High at noon.");
}
