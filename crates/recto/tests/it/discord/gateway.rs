//! Connections that go: whatever happens to them, each message is answered once, in order.

use std::time::Duration;

use super::*;

/// How a connection comes to its end.
type ConnectionBreak = fn(&FakeDiscord);

/// Promise: `channels-answer-once`
#[test]
fn a_session_goes_on_after_every_kind_of_break() {
    let bot = DiscordHome::new();
    let _serve = bot.serve();
    let direct = owner().direct();
    let breaks: [(&str, ConnectionBreak); 4] = [
        ("asked", FakeDiscord::ask_to_reconnect),
        ("cut", FakeDiscord::cut),
        ("closed", |discord| discord.close(4000)),
        ("timed out", |discord| discord.close(4009)),
    ];
    for (number, (name, interrupt)) in breaks.into_iter().enumerate() {
        interrupt(&bot.discord);
        bot.discord.say(&owner(), &format!("after it was {name}"));
        bot.wait_for_reply(direct, &format!("after it was {name}"));
        assert_eq!(bot.said(direct).len(), number + 1);
    }
    assert_eq!(bot.discord.identifies(), 1);
    assert!(bot.discord.resumes() >= 4, "{}", bot.discord.resumes());
    bot.is_clean();
}

/// Promise: `channels-answer-once`
#[test]
fn a_restart_goes_on_with_the_session_and_what_was_missed_is_answered() {
    let bot = DiscordHome::new();
    let serve = bot.serve();
    let direct = owner().direct();
    bot.discord.say(&owner(), "before");
    bot.wait_for_reply(direct, "before");
    drop(serve);
    bot.discord.say(&owner(), "while it was away");
    let serve = bot.serve();
    bot.wait_for_reply(direct, "while it was away");
    assert_eq!(bot.discord.identifies(), 1);
    drop(serve);
    // The next time nothing is left of the session, in private and in a channel.
    bot.discord.forget_sessions();
    bot.discord.say(&owner(), "long gone");
    bot.discord.say_in(CHANNEL, &owner(), &FakeDiscord::naming("here, too"));
    let _serve = bot.serve();
    bot.wait_for_reply(direct, "long gone");
    bot.wait_for_reply(CHANNEL, "here, too");
    // Discord takes one every five seconds.
    assert!(bot.discord.identifies() >= 2);
    assert_eq!((bot.said(direct).len(), bot.said(CHANNEL).len()), (3, 1));
    bot.is_clean();
}

#[test]
fn a_session_that_is_forgotten_while_it_runs_is_begun_anew() {
    let bot = DiscordHome::new();
    let _serve = bot.serve();
    let direct = owner().direct();
    bot.discord.say(&owner(), "before");
    bot.wait_for_reply(direct, "before");
    bot.discord.forget_sessions();
    bot.discord.say(&owner(), "after");
    bot.wait_for_reply(direct, "after");
    assert_eq!(bot.said(direct).len(), 2, "{:?}", bot.said(direct));
    bot.is_clean();
}

#[test]
fn a_gateway_that_answers_no_heartbeats_is_left_for_another_connection() {
    let bot = DiscordHome::new();
    bot.discord.set_heartbeat(Duration::from_secs(1));
    let _serve = bot.serve();
    wait_until(|| bot.discord.heartbeats() > 1);
    bot.discord.set_acknowledging(false);
    wait_until(|| bot.discord.resumes() > 0);
    bot.discord.set_acknowledging(true);
    bot.discord.say(&owner(), "still there?");
    bot.wait_for_reply(owner().direct(), "still there?");
    assert_eq!(bot.said(owner().direct()).len(), 1);
    assert_eq!(bot.discord.identifies(), 1);
}

/// Promise: `channels-answer-once`
#[test]
fn what_comes_twice_or_out_of_order_is_answered_once() {
    let bot = DiscordHome::new();
    let _serve = bot.serve();
    let direct = owner().direct();
    bot.discord.hold_events();
    let ben = DiscordPerson::new(6, "Ben");
    bot.discord.say_in(CHANNEL, &ben, &FakeDiscord::naming("in the channel"));
    bot.discord.say(&owner(), "first");
    bot.discord.say(&owner(), "second");
    bot.discord.release_reversed();
    bot.discord.deliver_again();
    bot.discord.deliver_again();
    for text in ["first", "second"] {
        bot.wait_for_reply(direct, text);
    }
    bot.wait_for_reply(CHANNEL, "in the channel");
    bot.discord.say(&owner(), "last");
    bot.wait_for_reply(direct, "last");
    assert_eq!((bot.said(direct).len(), bot.said(CHANNEL).len()), (3, 1));
    assert_eq!(bot.model.chats().len(), 4);
    bot.is_clean();
}
