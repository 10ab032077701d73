//! Many conversations, and a process that is killed in the middle of them.

use std::time::Duration;

use super::*;
use crate::telegram::wait_for_all;

/// Plays `messages` in each of so many conversations, kills the server so many times in between,
/// and looks that each was answered once, in order.
fn play(conversations: u64, messages: usize, kills: usize) {
    let ids: Vec<String> = (1..=conversations).map(|id| format!("\"{id}\"")).collect();
    let bot = DiscordHome::with(&format!("allow = [{}]", ids.join(", ")));
    let people: Vec<DiscordPerson> =
        (1..=conversations).map(|id| DiscordPerson::new(id, "Ada")).collect();
    let mut serve = bot.serve();
    for number in 0..messages {
        for person in &people {
            bot.discord.say(person, &format!("m{number}-of-{}.", person.id));
        }
        if number < kills {
            // Somewhere in the middle of it.
            std::thread::sleep(Duration::from_millis(150 + 130 * (number as u64 % 5)));
            drop(serve);
            if number % 3 == 2 {
                bot.discord.forget_sessions();
            }
            serve = bot.serve();
            if number % 2 == 0 {
                bot.discord.deliver_again();
            }
        }
    }
    let is_whole = |reply: &&String| !reply.ends_with(" …");
    wait_for_all(messages * people.len(), || {
        let said = people.iter().map(|person| bot.said(person.direct()));
        said.map(|said| said.iter().filter(is_whole).count()).sum()
    });
    for person in &people {
        let replies = bot.said(person.direct());
        assert_eq!(replies.len(), messages, "{}: {replies:?}", person.id);
        for (number, reply) in replies.iter().enumerate() {
            let text = format!("m{number}-of-{}.", person.id);
            let is_reply = reply.starts_with("You said:") && reply.ends_with(&text);
            // A turn that was cut twice is not begun again, and its person is told.
            assert!(is_reply || reply.contains("given up"), "{}: {replies:?}", person.id);
        }
    }
    bot.is_clean();
    drop(serve);
}

/// Promise: `channels-answer-once`
#[test]
fn fifty_conversations_are_answered_once_each_and_in_order_whatever_is_killed() {
    play(50, 3, 2);
}

/// Promise: `channels-answer-once`
#[test]
#[ignore = "takes more than a minute: Discord takes five messages of a channel in five seconds"]
fn a_thousand_messages_are_answered_once_each_and_in_order() {
    play(50, 20, 12);
}
