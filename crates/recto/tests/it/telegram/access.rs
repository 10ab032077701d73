//! Who is let in: strangers get a code, the owner says it, and can take it back.

use recto_fakes::{FakeAnswer, FakeCall, TelegramPerson};
use serde_json::json;

use super::*;
use crate::json_shapes::check;

/// The code that somebody was told.
fn code_in(bot: &BotHome, chat: i64) -> String {
    let told = bot.wait_for_reply(chat, "Tell this code to my owner");
    let line = told.text.lines().find(|line| line.len() == 8 && !line.contains(' '));
    line.unwrap_or_else(|| panic!("{}", told.text)).to_owned()
}

/// Promise: `strangers-wait-for-the-owner`
#[test]
fn a_stranger_is_let_in_by_a_code_and_put_out_again() {
    let bot = BotHome::with("");
    let _serve = bot.serve();
    let eve = TelegramPerson::new(5, "Eve");
    bot.telegram.say(&eve, "hello?");
    let code = code_in(&bot, 5);
    for again in ["anybody there?", "hello?", "please?"] {
        bot.telegram.say(&eve, again);
    }
    bot.wait_for_reply(5, "I have not been told yet to let you in.");
    let listed = bot.home.ok(&["pair", "list"]);
    assert!(listed.contains("Eve") && listed.contains("a person who waits"), "{listed}");
    assert!(!listed.contains(&code), "{listed}");
    let wrong = bot.home.run(&["pair", "approve", "AAAAAAAA"]);
    wrong.fails_with("no request to be let in has the code `AAAAAAAA`");
    let approved = bot.home.ok(&["pair", "approve", &code.to_lowercase()]);
    assert_eq!(approved, "Eve (telegram 5) is let in as person telegram-5\n");
    bot.wait_for_reply(5, "You are let in now.");
    bot.telegram.say(&eve, "and now?");
    bot.wait_for_reply(5, "and now?");
    assert_eq!(bot.model.chats().len(), 1, "what was said before is not sent");
    // One code, one word that it has to be waited for, one welcome.
    assert_eq!(bot.said(5).len(), 4, "{:?}", bot.said(5));
    bot.home.ok(&["pair", "revoke", "1"]);
    bot.telegram.say(&eve, "still?");
    bot.telegram.wait_for(5, |messages| {
        messages.iter().filter(|it| it.text.contains("Tell this code")).count() == 2
    });
    assert_eq!(bot.model.chats().len(), 1);
    bot.is_clean();
}

#[test]
fn questions_of_somebody_who_is_put_out_are_closed() {
    let bot = BotHome::with("");
    let _serve = bot.serve();
    let eve = TelegramPerson::new(5, "Eve");
    bot.telegram.say(&eve, "hello?");
    bot.home.ok(&["pair", "approve", &code_in(&bot, 5)]);
    let arguments = json!({"path": "notes.txt", "content": "tide"});
    bot.model.push(FakeAnswer::calls([FakeCall::new("write_file", arguments)]));
    bot.telegram.say(&eve, "write it down");
    bot.wait_for_reply(5, "May write_file run?");
    assert!(bot.home.ok(&["approvals", "list"]).contains("write_file"));
    bot.home.ok(&["pair", "revoke", "1"]);
    wait_until(|| !bot.home.ok(&["approvals", "list"]).contains("write_file"));
    assert!(!bot.home.path("workspace/notes.txt").exists());
    // Nothing is said for it: the next that they hear is what every stranger does.
    wait_until(|| !bot.home.ok(&["sessions", "list"]).contains(": turn "));
    bot.telegram.say(&eve, "still there?");
    bot.telegram.wait_for(5, |messages| {
        messages.iter().filter(|it| it.text.contains("Tell this code")).count() == 2
    });
    std::thread::sleep(std::time::Duration::from_secs(3));
    let said = bot.said(5);
    assert!(!said.iter().any(|it| it.contains("⚠️")), "{said:?}");
    bot.is_clean();
}

#[test]
fn who_is_put_out_hears_nothing_of_what_was_under_way() {
    let bot = BotHome::with("");
    let _serve = bot.serve();
    let (eve, ben) = (TelegramPerson::new(5, "Eve"), TelegramPerson::new(6, "Ben"));
    for person in [&eve, &ben] {
        bot.telegram.say(person, "hello?");
        bot.home.ok(&["pair", "approve", &code_in(&bot, person.id)]);
        bot.wait_for_reply(person.id, "You are let in now.");
    }
    bot.telegram.say(&ben, "good day");
    bot.wait_for_reply(6, "good day");
    // While a reply is written.
    let gate = recto_fakes::AnswerGate::new();
    bot.model.push(FakeAnswer::text("secret words at last").held(&gate));
    bot.telegram.say(&eve, "tell me");
    gate.release(1);
    bot.telegram.wait_for(5, |messages| messages.iter().any(|it| it.text.contains("secret …")));
    bot.home.ok(&["pair", "revoke", "1"]);
    let is_idle = || bot.home.ok(&["sessions", "list"]).lines().all(|it| !it.contains(": turn "));
    wait_until(is_idle);
    gate.open();
    // While a schedule runs whose answer is for them.
    let task = ["schedule", "add", "tide", "report the tide", "--cron", "0 8 * * *"];
    bot.home.ok(&[&task[..], &["--to", "telegram:6"]].concat());
    let gate = recto_fakes::AnswerGate::new();
    bot.model.push(FakeAnswer::text("High at noon.").held(&gate));
    let chats = bot.model.chats().len();
    let run = bot.home.start(&["schedule", "run", "tide"]);
    wait_until(|| bot.model.chats().len() > chats);
    let revoked = bot.home.run(&["pair", "revoke", "2"]);
    assert!(revoked.err.contains("schedule `tide` was answered there"), "{}", revoked.err);
    gate.open();
    wait_until(|| bot.home.ok(&["schedule", "log"]).contains("tide"));
    drop(run);
    // Both are strangers now, and hear no more than those.
    for (person, unheard) in [(&eve, "at last"), (&ben, "High at noon")] {
        bot.telegram.say(person, "still there?");
        bot.telegram.wait_for(person.id, |messages| {
            messages.iter().filter(|it| it.text.contains("Tell this code")).count() == 2
        });
        let said = bot.said(person.id);
        assert!(!said.iter().any(|it| it.contains(unheard)), "{said:?}");
    }
    bot.home.run(&[&task[..], &["--to", "telegram:6"]].concat()).fails_with("were put out");
    bot.is_clean();
}

#[test]
fn the_owner_pairs_themself_and_groups_are_paired_too() {
    let bot = BotHome::with("");
    let _serve = bot.serve();
    bot.telegram.say(&owner(), "it's me");
    let approved = bot.home.ok(&["pair", "approve", "--owner", &code_in(&bot, OWNER)]);
    assert_eq!(approved, "Ana (telegram 4711) is let in as the owner\n");
    bot.telegram.say(&owner(), "/set approval never");
    bot.wait_for_reply(OWNER, "approval = \"never\"");
    let name = format!("@{} hi", FakeTelegram::USERNAME);
    bot.telegram.say_in(-77, &owner(), &name);
    let code = code_in(&bot, -77);
    let told = bot.said(-77).join("\n");
    assert!(told.contains(&format!("recto pair approve {code}.")), "{told}");
    for as_person in [&["--owner"][..], &["--person", "ben"]] {
        let refused = bot.home.run(&[&["pair", "approve", code.as_str()][..], as_person].concat());
        refused.fails_with("is a group, and no person");
        assert!(refused.err.contains(as_person[0]), "{}", refused.err);
    }
    check("pair approve", &bot.home.json(&["pair", "approve", "--json", &code]));
    bot.telegram.say_in(-77, &TelegramPerson::new(6, "Ben"), &name);
    bot.wait_for_reply(-77, "You said:");
    check("pair revoke", &bot.home.json(&["pair", "revoke", "2", "--json"]));
    bot.is_clean();
}

#[test]
fn strangers_are_few_at_once_and_guesses_are_counted() {
    let bot = BotHome::with("");
    let serve = bot.serve();
    for id in 1..=7 {
        bot.telegram.say(&TelegramPerson::new(id, "Eve"), "hello?");
        if id <= 5 {
            code_in(&bot, id);
        }
    }
    // Others are told what is so, and the owner sees it.
    for id in [6, 7] {
        bot.wait_for_reply(id, "Too many people wait to be let in right now");
        bot.telegram.say(&TelegramPerson::new(id, "Eve"), "hello??");
    }
    serve.wait_for_err("as many wait to be let in as may at once");
    let listed = bot.home.run(&["pair", "list"]);
    assert!(
        listed.err.contains("as many wait at telegram @recto_test_bot as may"),
        "{}",
        listed.err
    );
    let variables = [("TELEGRAM_BOT_TOKEN", FakeTelegram::TOKEN)];
    let doctor = bot.home.run_with(&["doctor"], "", &variables);
    assert!(doctor.out.contains("nobody else gets a code until"), "{}", doctor.out);
    let waiting = bot.home.json(&["pair", "list", "--json"]);
    check("pair list", &waiting);
    assert_eq!(waiting["pairings"].as_array().unwrap().len(), 5);
    for _ in 0..10 {
        bot.home.run(&["pair", "approve", "WRONGONE"]).fails_with("no request");
    }
    let code = code_in(&bot, 1);
    bot.home.run(&["pair", "approve", &code]).fails_with("too many wrong codes were tried");
    // The owner at the terminal sees who it is, and is not locked out.
    bot.home.ok(&["pair", "approve", "2"]);
    bot.wait_for_reply(2, "You are let in now.");
    bot.home.run(&["pair", "approve", "2"]).fails_with("does not wait to be let in");
    bot.home.run(&["pair", "revoke", "99"]).fails_with("`recto pair list` has their numbers");
    // What is said in a chat can be told apart in a list.
    bot.telegram.say(&TelegramPerson::new(2, "Eve"), "hello!");
    bot.wait_for_reply(2, "hello!");
    let listed = bot.home.ok(&["sessions", "list"]);
    assert!(listed.contains("(telegram) with Eve (guest)"), "{listed}");
    // Who is let in can be made the owner, who then has a session of their own.
    let raised = bot.home.ok(&["pair", "approve", "2", "--owner"]);
    assert_eq!(raised, "Eve (telegram 2) is let in as the owner\n");
    bot.telegram.say(&TelegramPerson::new(2, "Eve"), "/set approval never");
    bot.wait_for_reply(2, "approval = \"never\"");
    let listed = bot.home.ok(&["sessions", "list"]);
    assert!(listed.contains("(telegram, the owner)"), "{listed}");
    assert_eq!(bot.said(2).iter().filter(|it| it.contains("You are let in now")).count(), 1);
    // Who is refused gets no other code at once.
    let refused = bot.home.ok(&["pair", "revoke", "3"]);
    assert_eq!(refused, "Eve (telegram 3) is refused, and gets no other code for a day\n");
    bot.telegram.say(&TelegramPerson::new(3, "Eve"), "again?");
    bot.telegram.say(&TelegramPerson::new(2, "Eve"), "me!");
    bot.wait_for_reply(2, "me!");
    assert_eq!(bot.said(3).len(), 1, "{:?}", bot.said(3));
    assert_eq!((bot.said(6).len(), bot.said(7).len()), (1, 1));
    drop(serve);
    bot.is_clean();
}

/// Promise: `strangers-wait-for-the-owner`
#[test]
fn a_code_is_said_also_by_the_process_after_the_one_that_made_it() {
    let bot = BotHome::with("");
    let serve = bot.serve();
    let stuck = StuckUpdates::new(&bot);
    bot.telegram.say(&TelegramPerson::new(5, "Eve"), "hello?");
    serve.wait_for_err("a message waits");
    drop(serve);
    drop(stuck);
    assert_eq!(bot.said(5), Vec::<String>::new());
    let _serve = bot.serve();
    let code = code_in(&bot, 5);
    bot.home.ok(&["pair", "approve", &code]);
    bot.wait_for_reply(5, "You are let in now.");
    bot.is_clean();
}

/// Promise: `allowlists-name-ids`
#[test]
fn lists_take_ids_and_no_word_for_everybody() {
    for key in ["owners", "allow"] {
        let home = Home::with(&[(
            "config.toml",
            &format!("[channels.telegram]\nenabled = true\n{key} = [\"*\"]\n"),
        )]);
        home.run(&["config", "check"]).fails_with("takes ids, which are numbers");
    }
    let home = Home::with(&[("config.toml", "[channels.telegram]\nstrangers = \"ignore\"\n")]);
    home.ok(&["config", "check"]);
}
