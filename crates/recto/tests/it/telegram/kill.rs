//! Many conversations, and a process that is killed in the middle of them.

use std::time::Duration;

use recto_fakes::TelegramPerson;

use super::*;

/// Plays `messages` in each of so many conversations, kills the server so many times in between,
/// and looks that each was answered once, in order.
fn play(conversations: i64, messages: usize, kills: usize) {
    let ids: Vec<String> = (1..=conversations).map(|id| format!("\"{id}\"")).collect();
    let bot = BotHome::with(&format!("allow = [{}]", ids.join(", ")));
    let mut serve = bot.serve();
    for number in 0..messages {
        for id in 1..=conversations {
            let text = format!("m{number}-of-{id}.");
            bot.telegram.say(&TelegramPerson::new(id, "Ada"), &text);
        }
        if number < kills {
            // Somewhere in the middle of it.
            std::thread::sleep(Duration::from_millis(150 + 130 * (number as u64 % 5)));
            drop(serve);
            serve = bot.serve();
            if number % 2 == 0 {
                bot.telegram.deliver_again();
            }
        }
    }
    let is_whole = |reply: &&String| !reply.ends_with(" …");
    wait_for_all(messages * conversations as usize, || {
        (1..=conversations).map(|id| bot.said(id).iter().filter(is_whole).count()).sum()
    });
    let mut placeholders = 0;
    for id in 1..=conversations {
        let replies = bot.said(id);
        let expected: Vec<String> =
            (0..messages).map(|number| format!("m{number}-of-{id}.")).collect();
        assert_eq!(replies.len(), messages, "{id}: {replies:?}");
        for (reply, text) in replies.iter().zip(&expected) {
            let is_reply = reply.starts_with("You said:") && reply.ends_with(text.as_str());
            // A turn that was cut twice is not begun again, and its person is told.
            assert!(is_reply || reply.contains("given up"), "{id}: {replies:?}");
        }
        placeholders += bot.telegram.replies(id).len() - replies.len();
    }
    // What a kill can leave: a message that was made, and whose id was not stored yet.
    assert!(placeholders <= kills * conversations as usize, "{placeholders}");
    bot.is_clean();
}

/// Promise: `channels-answer-once`
#[test]
fn fifty_conversations_are_answered_once_each_and_in_order_whatever_is_killed() {
    play(50, 3, 2);
}

/// Promise: `channels-answer-once`
#[test]
fn many_messages_at_once_are_answered_once_each_and_in_order() {
    play(50, 10, 0);
}

/// Promise: `channels-answer-once`
#[test]
fn a_thousand_messages_are_answered_once_each_and_in_order() {
    play(50, 20, 12);
}
