//! What goes wrong at Telegram: it is said once and clearly, and the rest goes on.

use recto_fakes::TelegramPerson;
use serde_json::json;

use super::*;

/// Promise: `channels-fail-alone`
#[test]
fn a_refused_token_is_told_and_the_server_goes_on() {
    let bot = BotHome::new();
    bot.telegram.set_token_valid(false);
    let serve = bot.serve();
    serve.wait_for_err("Telegram refuses the bot's token");
    let ready = readiness(&serve);
    assert!(
        ready.starts_with("HTTP/1.1 200") && ready.contains("telegram: not connected"),
        "{ready}"
    );
    let variables = [("TELEGRAM_BOT_TOKEN", FakeTelegram::TOKEN)];
    let doctor = bot.home.run_with(&["doctor"], "", &variables);
    assert!(doctor.out.contains("Telegram refuses the bot's token"), "{}", doctor.out);
    // Once it is put right, it runs by itself.
    bot.telegram.set_token_valid(true);
    bot.telegram.say(&owner(), "there?");
    bot.wait_for_reply(OWNER, "there?");
    assert!(readiness(&serve).contains("telegram: running"));
    let err = serve.wait_for_err("running as");
    assert_eq!(err.matches("Telegram refuses").count(), 1, "{err}");
    // A bot that is revoked while it runs, and given back.
    bot.telegram.set_token_valid(false);
    bot.telegram.say(&owner(), "and now?");
    wait_until(|| readiness(&serve).contains("telegram: not connected"));
    bot.telegram.set_token_valid(true);
    bot.wait_for_reply(OWNER, "and now?");
    assert_eq!(bot.said(OWNER).len(), 2, "{:?}", bot.said(OWNER));
    let without = bot.home.run(&["doctor"]);
    assert!(without.out.contains("`TELEGRAM_BOT_TOKEN` has no token"), "{}", without.out);
}

#[test]
fn who_blocks_the_bot_keeps_nobody_else_from_it() {
    let bot = BotHome::with("allow = [\"5\", \"6\"]");
    let (eve, nobody) = (TelegramPerson::new(5, "Eve"), TelegramPerson::new(6, ""));
    let serve = bot.serve();
    bot.telegram.say(&eve, "hello");
    bot.wait_for_reply(5, "hello");
    bot.telegram.set_blocked(5, true);
    bot.telegram.say(&eve, "one");
    bot.telegram.say(&eve, "two");
    bot.telegram.say(&nobody, "I have no name");
    bot.wait_for_reply(6, "I have no name");
    let err = serve.wait_for_err("nothing can be said there: bot was blocked by the user");
    bot.telegram.set_blocked(5, false);
    bot.telegram.say(&eve, "back");
    bot.wait_for_reply(5, "back");
    assert_eq!(err.matches("nothing can be said there").count(), 1, "{err}");
    bot.is_clean();
}

#[test]
fn a_message_that_cannot_be_changed_any_more_is_said_anew() {
    let bot = BotHome::new();
    let gate = recto_fakes::AnswerGate::new();
    bot.model.push(recto_fakes::FakeAnswer::text("late but whole").held(&gate));
    let _serve = bot.serve();
    bot.telegram.say(&owner(), "slowly");
    gate.release(1);
    bot.telegram.wait_for(OWNER, |messages| messages.iter().any(|it| it.text == "late …"));
    bot.telegram.freeze(OWNER);
    gate.open();
    bot.wait_for_reply(OWNER, "late but whole");
    assert_eq!(bot.said(OWNER), ["late …", "late but whole"]);
    bot.is_clean();
}

#[test]
fn a_group_that_became_a_supergroup_keeps_its_session() {
    let bot = BotHome::with("allow = [\"-77\"]");
    let ada = TelegramPerson::new(5, "Ada");
    let name = |text: &str| format!("@{} {text}", FakeTelegram::USERNAME);
    let serve = bot.serve();
    bot.telegram.say_in(-77, &ada, &name("we meet at noon"));
    bot.wait_for_reply(-77, "we meet at noon");
    let before = bot.telegram.say_in(-77, &ada, &name("or at two"));
    bot.wait_for_reply(-77, "or at two");
    bot.telegram.migrate(-77, -1_000_000_000_077);
    bot.telegram.say_in(-1_000_000_000_077, &ada, "hello everybody");
    // Messages are counted anew there.
    let after = bot.telegram.say_in(-1_000_000_000_077, &ada, &name("when?"));
    assert_eq!(before, after);
    bot.wait_for_reply(-1_000_000_000_077, "when?");
    drop(serve);
    let _serve = bot.serve();
    bot.telegram.say_in(-1_000_000_000_077, &ada, &name("again?"));
    bot.wait_for_reply(-1_000_000_000_077, "again?");
    let last = bot.model.chats().last().unwrap().to_string();
    assert!(last.contains("we meet at noon") && last.contains("when?"), "{last}");
    bot.is_clean();
}

#[test]
fn a_supergroup_is_let_in_by_its_new_id_and_known_before_it_is_listened_to() {
    let bot = BotHome::with("allow = [\"-1000000000077\"]\nstrangers = \"ignore\"");
    let ada = TelegramPerson::new(5, "Ada");
    let name = |text: &str| format!("@{} {text}", FakeTelegram::USERNAME);
    // What is said there comes before the word that it moved.
    bot.telegram.say_in(-1_000_000_000_077, &ada, &name("first"));
    bot.telegram.migrate(-77, -1_000_000_000_077);
    bot.telegram.say_in(-1_000_000_000_077, &ada, &name("second"));
    let _serve = bot.serve();
    bot.wait_for_reply(-1_000_000_000_077, "first");
    bot.wait_for_reply(-1_000_000_000_077, "second");
    let listed = bot.home.json(&["sessions", "list", "--json"]);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
    // A group's session is nobody's by name, and it is said how it is called.
    bot.home.run(&["sessions", "show", "-77"]).fails_with("has that name: say `1`");
    let shown = bot.home.ok(&["sessions", "show", "1"]);
    assert!(shown.contains("first") && shown.contains("second"), "{shown}");
    bot.is_clean();
}

#[test]
fn what_cannot_be_understood_is_told_once_and_keeps_nothing_else_back() {
    let bot = BotHome::with(&format!("owners = [\"{OWNER}\"]\nallow = [\"-77\"]"));
    bot.telegram.send_update("message", &json!({"message_id": "secret words"}));
    bot.telegram.send(&owner(), &json!({"hologram": {"depth": 3}}));
    bot.telegram.say(&owner(), "and this?");
    let serve = bot.serve();
    bot.wait_for_reply(OWNER, "I can't read this kind of message yet.");
    bot.wait_for_reply(OWNER, "and this?");
    let err = serve.wait_for_err("can't be understood here (hologram, message)");
    assert!(!err.contains("secret words"), "{err}");
    // What is known but for a detail is named to the model.
    let voice = json!({"voice": {"file_id": "v", "file_unique_id": "v", "duration": 3}});
    bot.telegram.send(&owner(), &voice);
    bot.wait_for_reply(OWNER, "[a voice message came along]");
    let round = json!({"video_note": {"file_id": "r", "file_unique_id": "r", "duration": 3}});
    bot.telegram.send(&owner(), &round);
    bot.wait_for_reply(OWNER, "[a video message came along]");
    bot.telegram.send(&owner(), &json!({"dice": {"emoji": "🎲", "value": 4}}));
    bot.wait_for_reply(OWNER, "[a throw of 🎲 that gave 4 came along]");
    bot.telegram.send(&owner(), &json!({"hologram": {"depth": 4}}));
    bot.telegram.say(&owner(), "and now?");
    bot.wait_for_reply(OWNER, "and now?");
    let variables = [("TELEGRAM_BOT_TOKEN", FakeTelegram::TOKEN)];
    let doctor = bot.home.run_with(&["doctor"], "", &variables);
    let doctor = doctor.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        doctor.contains("can't be understood here (hologram, message, video_note)"),
        "{doctor}"
    );
    let err = serve.wait_for_err("video_note");
    assert_eq!(err.matches("can't be understood here").count(), 2, "{err}");
    // Nothing is asked for again.
    drop(serve);
    let _serve = bot.serve();
    bot.telegram.say(&owner(), "after a restart");
    bot.wait_for_reply(OWNER, "after a restart");
    assert_eq!(bot.said(OWNER).len(), 8, "{:?}", bot.said(OWNER));
    bot.is_clean();
}

#[test]
fn a_reply_to_something_unknown_is_made_once() {
    let bot = BotHome::with("allow = [\"-77\"]");
    let _serve = bot.serve();
    let caption = format!("@{} what is this?", FakeTelegram::USERNAME);
    let entities =
        json!([{"type": "mention", "offset": 0, "length": FakeTelegram::USERNAME.len() + 1}]);
    let odd = json!({"hologram": {}, "caption": caption, "caption_entities": entities});
    bot.telegram.send_in(-77, &TelegramPerson::new(5, "Ada"), &odd);
    bot.wait_for_reply(-77, "what is this?");
    assert_eq!(bot.telegram.replies(-77).len(), 1, "{:?}", bot.telegram.replies(-77));
    bot.is_clean();
}

/// Promise: `channels-fail-alone`
#[test]
fn a_webhook_is_told_with_what_to_do_about_it() {
    let bot = BotHome::new();
    bot.telegram.set_webhook("https://other.example/secret-path");
    let serve = bot.serve();
    let err = serve.wait_for_err("the bot has a webhook: Telegram sends its messages to");
    assert!(err.contains("other.example") && !err.contains("secret-path"), "{err}");
    let variables = [("TELEGRAM_BOT_TOKEN", FakeTelegram::TOKEN)];
    let doctor = bot.home.run_with(&["doctor"], "", &variables);
    assert!(doctor.out.contains("the bot has a webhook"), "{}", doctor.out);
    assert!(doctor.out.contains("/bot$TELEGRAM_BOT_TOKEN/deleteWebhook"), "{}", doctor.out);
    // Once it is deleted, the bot runs by itself; and one that is set meanwhile is told.
    bot.telegram.set_webhook("");
    bot.telegram.say(&owner(), "there?");
    bot.wait_for_reply(OWNER, "there?");
    bot.telegram.set_webhook("https://other.example/secret-path");
    wait_until(|| readiness(&serve).contains("telegram: not connected"));
    let doctor = bot.home.run_with(&["doctor"], "", &variables);
    assert!(doctor.out.contains("not connected: the bot has a webhook"), "{}", doctor.out);
    bot.telegram.set_webhook("");
    bot.telegram.say(&owner(), "and now?");
    bot.wait_for_reply(OWNER, "and now?");
    bot.is_clean();
}

/// Promise: `channels-answer-once`
#[test]
fn a_command_is_done_once_even_where_its_end_cannot_be_stored() {
    let bot = BotHome::new();
    let serve = bot.serve();
    bot.telegram.say(&owner(), "hello");
    bot.wait_for_reply(OWNER, "hello");
    let stuck = StuckUpdates::new(&bot);
    bot.telegram.say(&owner(), "/new");
    serve.wait_for_err("a message waits");
    std::thread::sleep(std::time::Duration::from_secs(1));
    drop(stuck);
    bot.wait_for_reply(OWNER, "A new session began");
    let all = bot.home.json(&["sessions", "list", "--all", "--json"]);
    assert_eq!(all["sessions"].as_array().unwrap().len(), 2, "{all}");
    bot.is_clean();
}

#[test]
fn how_the_bot_is_does_not_flap_and_is_not_said_of_a_process_that_is_gone() {
    let bot = BotHome::new();
    let serve = bot.serve();
    serve.wait_for_err("running as");
    let before = bot.telegram.calls("getUpdates");
    // What is over at once is not worth a word.
    bot.telegram.fail("getUpdates", 500, 1);
    bot.telegram.say(&owner(), "still there?");
    bot.wait_for_reply(OWNER, "still there?");
    wait_until(|| bot.telegram.calls("getUpdates") >= before + 3);
    let err = serve.wait_for_err("running as");
    assert!(!err.contains("not connected"), "{err}");
    let variables = [("TELEGRAM_BOT_TOKEN", FakeTelegram::TOKEN)];
    let doctor = bot.home.run_with(&["doctor"], "", &variables);
    assert!(doctor.out.contains("in the server since"), "{}", doctor.out);
    drop(serve);
    let doctor = bot.home.run_with(&["doctor"], "", &variables);
    assert!(doctor.out.contains("no server runs it"), "{}", doctor.out);
}

#[test]
fn a_bot_runs_once_telegram_has_answered() {
    let bot = BotHome::new();
    bot.telegram.fail("getUpdates", 500, usize::MAX);
    let serve = bot.serve();
    wait_until(|| bot.telegram.calls("getUpdates") >= 2);
    assert!(!readiness(&serve).contains("telegram: running"));
    // What lasts is told, with what Telegram answers.
    serve.wait_for_err("Telegram has trouble of its own (status 500)");
    assert!(readiness(&serve).contains("telegram: not connected"));
    bot.telegram.heal("getUpdates");
    wait_until(|| readiness(&serve).contains("telegram: running"));
}

/// Promise: `channels-answer-once`
#[test]
fn limits_are_kept_to_and_servers_that_fail_are_asked_again() {
    let bot = BotHome::new();
    let _serve = bot.serve();
    bot.telegram.say(&owner(), "first");
    bot.wait_for_reply(OWNER, "first");
    bot.telegram.limit(OWNER, 2);
    bot.telegram.say(&owner(), "limited");
    bot.wait_for_reply(OWNER, "limited");
    bot.telegram.fail("editMessageText", 502, 1);
    bot.telegram.fail("getUpdates", 500, 1);
    bot.telegram.say(&owner(), "failing");
    bot.wait_for_reply(OWNER, "failing");
    assert_eq!(bot.said(OWNER).len(), 3, "{:?}", bot.said(OWNER));
    bot.is_clean();
}
