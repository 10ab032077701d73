//! What goes wrong at Discord: it is said once and clearly, and the rest goes on.

use super::*;
use crate::telegram::readiness;

/// Promise: `channels-fail-alone`
#[test]
fn a_refused_token_is_told_and_the_server_goes_on() {
    let bot = DiscordHome::new();
    bot.discord.set_token_valid(false);
    let serve = bot.start();
    serve.wait_for_err("Discord refuses the bot's token");
    let ready = readiness(&serve);
    let is_ready = ready.starts_with("HTTP/1.1 200") && ready.contains("discord: not connected");
    assert!(is_ready, "{ready}");
    let variables = [("DISCORD_BOT_TOKEN", FakeDiscord::TOKEN)];
    let doctor = bot.home.run_with(&["doctor"], "", &variables);
    assert!(doctor.out.contains("Discord refuses the bot's token"), "{}", doctor.out);
    // Once it is put right, it runs by itself.
    bot.discord.set_token_valid(true);
    serve.wait_for_err("running as @recto-test");
    bot.discord.say(&owner(), "there?");
    bot.wait_for_reply(owner().direct(), "there?");
    let err = serve.wait_for_err("running as");
    assert_eq!(err.matches("Discord refuses").count(), 1, "{err}");
    // A token that is revoked while it runs.
    bot.discord.set_token_valid(false);
    bot.discord.close(4004);
    wait_until(|| readiness(&serve).contains("discord: not connected"));
    bot.discord.set_token_valid(true);
    wait_until(|| readiness(&serve).contains("discord: running"));
    bot.discord.say(&owner(), "and now?");
    bot.wait_for_reply(owner().direct(), "and now?");
    let without = bot.home.run(&["doctor"]);
    assert!(without.out.contains("`DISCORD_BOT_TOKEN` has no token"), "{}", without.out);
}

#[test]
fn an_intent_that_is_switched_off_is_named() {
    let bot = DiscordHome::with(&format!("owners = [\"{OWNER}\"]\ncontext = 5"));
    bot.discord.set_content_allowed(false);
    let serve = bot.start();
    let err = serve.wait_for_err("switch on Message Content Intent");
    assert!(err.contains("Discord does not let the bot read what people write"), "{err}");
    let variables = [("DISCORD_BOT_TOKEN", FakeDiscord::TOKEN)];
    let doctor = bot.home.run_with(&["doctor"], "", &variables);
    assert!(doctor.out.contains("switch on Message Content Intent"), "{}", doctor.out);
    bot.discord.set_content_allowed(true);
    serve.wait_for_err("running as @recto-test");
    // Where it is not needed, it is not asked for.
    let modest = DiscordHome::new();
    modest.discord.set_content_allowed(false);
    let _serve = modest.serve();
    modest.discord.say_in(CHANNEL, &owner(), &FakeDiscord::naming("hello"));
    modest.wait_for_reply(CHANNEL, "hello");
    modest.is_clean();
}

/// Promise: `channels-fail-alone`
#[test]
fn places_that_are_closed_to_the_bot_keep_nobody_else_from_it() {
    let bot = DiscordHome::with(&format!(
        "owners = [\"{OWNER}\"]\nallow = [\"5\", \"{}\"]",
        FakeDiscord::GUILD
    ));
    let serve = bot.serve();
    let eve = DiscordPerson::new(5, "Eve");
    let places = [
        (2_001, 403, 50_001, "does not see the channel"),
        (2_002, 403, 50_013, "may not write there; give it the permissions Send Messages"),
        (2_003, 404, 10_003, "the channel is gone"),
    ];
    for (channel, status, code, _) in places {
        bot.discord.refuse_in(channel, Some((status, code, "No")));
        bot.discord.say_in(channel, &eve, &FakeDiscord::naming("one"));
        bot.discord.say_in(channel, &eve, &FakeDiscord::naming("two"));
    }
    bot.discord.say(&eve, "hello");
    bot.wait_for_reply(eve.direct(), "hello");
    bot.discord.refuse_in(eve.direct(), Some((403, 50_007, "Cannot send messages to this user")));
    bot.discord.say(&eve, "one");
    bot.discord.say(&owner(), "and me?");
    bot.wait_for_reply(owner().direct(), "and me?");
    let mut err = serve.wait_for_err("takes no messages from the bot");
    for (_, _, _, words) in places {
        err = serve.wait_for_err(words);
    }
    for (_, _, _, words) in places {
        assert_eq!(err.matches(words).count(), 1, "{words}: {err}");
    }
    bot.discord.refuse_in(eve.direct(), None);
    bot.discord.say(&eve, "back");
    bot.wait_for_reply(eve.direct(), "back");
    bot.is_clean();
}

/// Promise: `channels-answer-once`
#[test]
fn limits_are_kept_to_and_servers_that_fail_are_asked_again() {
    let bot = DiscordHome::new();
    let _serve = bot.serve();
    let direct = owner().direct();
    bot.discord.say(&owner(), "first");
    bot.wait_for_reply(direct, "first");
    bot.discord.limit(direct, 2);
    bot.discord.say(&owner(), "limited");
    bot.wait_for_reply(direct, "limited");
    bot.discord.limit_everything(2);
    bot.discord.say(&owner(), "everything is limited");
    bot.wait_for_reply(direct, "everything is limited");
    bot.discord.fail("createMessage", 502, 3);
    bot.discord.fail("connect", 503, 2);
    bot.discord.cut();
    bot.discord.say(&owner(), "failing");
    bot.wait_for_reply(direct, "failing");
    assert_eq!(bot.said(direct).len(), 4, "{:?}", bot.said(direct));
    // More at once than Discord takes in a channel: they come, and none is refused.
    for number in 0..8 {
        bot.discord.say(&owner(), &format!("many {number}"));
    }
    bot.wait_for_reply(direct, "many 7");
    assert_eq!(bot.said(direct).len(), 12, "{:?}", bot.said(direct));
    bot.is_clean();
}

#[test]
fn a_message_that_is_deleted_while_it_grows_is_said_anew() {
    let bot = DiscordHome::new();
    let gate = recto_fakes::AnswerGate::new();
    bot.model.push(recto_fakes::FakeAnswer::text("late but whole").held(&gate));
    let _serve = bot.serve();
    let direct = owner().direct();
    bot.discord.say(&owner(), "slowly");
    gate.release(1);
    bot.discord.wait_for(direct, |messages| messages.iter().any(|it| it.text == "late …"));
    let growing = bot.discord.replies(direct)[0].id;
    bot.discord.delete(direct, growing);
    gate.open();
    bot.wait_for_reply(direct, "late but whole");
    assert_eq!(bot.said(direct), ["late but whole"]);
    bot.is_clean();
}
