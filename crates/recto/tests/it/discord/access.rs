//! Who is let in: strangers get a code, the owner says it.

use super::*;

/// The code that somebody was told.
fn code_in(bot: &DiscordHome, channel: u64) -> String {
    let told = bot.wait_for_reply(channel, "Tell this code to my owner");
    let line = told.text.lines().map(|line| line.trim_matches('`'));
    let mut line = line.filter(|line| line.len() == 8 && !line.contains(' '));
    line.next().unwrap_or_else(|| panic!("{}", told.text)).to_owned()
}

/// Promise: `strangers-wait-for-the-owner`
#[test]
fn people_and_channels_are_let_in_by_a_code() {
    let bot = DiscordHome::with("");
    let _serve = bot.serve();
    let eve = DiscordPerson::new(5, "Eve");
    bot.discord.say(&eve, "hello?");
    let code = code_in(&bot, eve.direct());
    bot.discord.say(&eve, "anybody there?");
    bot.wait_for_reply(eve.direct(), "I have not been told yet to let you in.");
    let approved = bot.home.ok(&["pair", "approve", &code]);
    assert_eq!(approved, "Eve (discord 5) is let in as person discord-5\n");
    bot.wait_for_reply(eve.direct(), "You are let in now.");
    bot.discord.say(&eve, "and now?");
    bot.wait_for_reply(eve.direct(), "and now?");
    assert_eq!(bot.model.chats().len(), 1, "what was said before is not sent");
    assert_eq!(bot.said(eve.direct()).len(), 4, "{:?}", bot.said(eve.direct()));
    // She is let in as a person, and the channel is not.
    bot.discord.say_in(CHANNEL, &eve, "not meant for it");
    bot.discord.say_in(CHANNEL, &eve, &FakeDiscord::naming("hi"));
    let code = code_in(&bot, CHANNEL);
    bot.home.ok(&["pair", "approve", &code]);
    bot.wait_for_reply(CHANNEL, "This group is let in now");
    bot.discord.say_in(CHANNEL, &DiscordPerson::new(6, "Ben"), &FakeDiscord::naming("we all?"));
    bot.wait_for_reply(CHANNEL, "we all?");
    bot.is_clean();
}

/// Promise: `allowlists-name-ids`
#[test]
fn lists_and_modes_take_ids() {
    for key in ["owners", "allow"] {
        let config = format!("[channels.discord]\nenabled = true\n{key} = [\"*\"]\n");
        let home = Home::with(&[("config.toml", &config)]);
        home.run(&["config", "check"]).fails_with("takes ids, which are numbers");
    }
    let modes = |entry: &str| format!("[channels.discord.modes]\n{entry}\n");
    let home = Home::with(&[("config.toml", &modes("general = \"off\""))]);
    home.run(&["config", "check"]).fails_with("is no id of a channel");
    let home = Home::with(&[("config.toml", &modes("123 = \"sometimes\""))]);
    home.run(&["config", "check"]).fails_with("mention_only");
    let home = Home::with(&[("config.toml", &modes("123 = \"all_messages\""))]);
    home.ok(&["config", "check"]);
}
