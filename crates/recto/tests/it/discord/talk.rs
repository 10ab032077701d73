//! Conversations: replies, commands, questions, files, channels, threads.

use recto_fakes::{FakeAnswer, FakeCall};
use serde_json::{Value, json};

use super::*;

/// The texts of the messages that a request has, behind the system text.
fn sent_texts(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter().skip(1);
    messages.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

/// Promise: `channels-answer-once`
#[test]
fn a_channel_remembers_over_turns_and_a_restart_and_the_terminal_does_not_mix() {
    let bot = DiscordHome::new();
    let serve = bot.serve();
    let ada = DiscordPerson::new(5, "Ada");
    bot.discord.say_in(CHANNEL, &ada, &FakeDiscord::naming("The lamp is green."));
    bot.wait_for_reply(CHANNEL, "The lamp is green.");
    bot.discord.say_in(CHANNEL, &ada, &FakeDiscord::naming("Which colour?"));
    bot.wait_for_reply(CHANNEL, "Which colour?");
    let second = sent_texts(&bot.model.chats()[1]);
    assert_eq!(second.len(), 3, "{second:?}");
    assert!(second[0].contains("Ada: The lamp is green."), "{second:?}");
    drop(serve);
    // What is said in the terminal is another conversation.
    let terminal = bot.home.ok(&["chat", "-m", "hello from the terminal"]);
    assert!(!terminal.contains("lamp"), "{terminal}");
    assert_eq!(sent_texts(bot.model.chats().last().unwrap()).len(), 1);
    let _serve = bot.serve();
    bot.discord.deliver_again();
    bot.discord.say_in(CHANNEL, &ada, &FakeDiscord::naming("And now?"));
    bot.wait_for_reply(CHANNEL, "And now?");
    let last = sent_texts(bot.model.chats().last().unwrap());
    assert_eq!(last.len(), 5, "{last:?}");
    assert!(last[0].contains("The lamp is green.") && last[2].contains("Which colour?"));
    assert!(!last.join("\n").contains("terminal"), "{last:?}");
    // Another channel knows nothing of it, and neither does the owner in private.
    bot.discord.say(&owner(), "Which colour was it?");
    bot.wait_for_reply(owner().direct(), "Which colour was it?");
    assert_eq!(sent_texts(bot.model.chats().last().unwrap()).len(), 1);
    assert_eq!(bot.said(CHANNEL).len(), 3, "{:?}", bot.said(CHANNEL));
    assert_eq!(bot.model.chats().len(), 5);
    bot.is_clean();
}

/// Promise: `sub-agents-see-their-task-alone`
#[test]
fn a_sub_agent_that_is_asked_in_a_channel_sees_its_task_alone() {
    let bot = DiscordHome::new();
    bot.home.write("workspace/agents/pilot/soul.md", "You are the pilot.\n");
    bot.home.write("workspace/agents/pilot/skill.md", "Read the tide table.\n");
    let _serve = bot.serve();
    let ada = DiscordPerson::new(5, "Ada");
    bot.discord.say_in(CHANNEL, &ada, &FakeDiscord::naming("The lamp is green."));
    bot.wait_for_reply(CHANNEL, "The lamp is green.");
    let task = json!({"agent": "pilot", "task": "When is high water?"});
    bot.model.push(FakeAnswer::calls([FakeCall::new("delegate", task)]));
    bot.model.push(FakeAnswer::text("High water is at noon."));
    bot.model.push(FakeAnswer::text("We sail at noon."));
    bot.discord.say_in(CHANNEL, &ada, &FakeDiscord::naming("When can we sail?"));
    bot.wait_for_reply(CHANNEL, "We sail at noon.");
    let chats = bot.model.chats();
    let [_, asked, task, answered] = &chats[..] else { panic!("{chats:#?}") };
    assert!(asked.to_string().contains("The lamp is green."), "{asked}");
    let expected = json!([
        {"role": "system", "content": "You are the pilot.\n\nRead the tide table."},
        {"role": "user", "content": "When is high water?"},
    ]);
    assert_eq!(task["messages"], expected, "{task}");
    assert!(task.get("tools").is_none_or(|tools| tools == &json!([])), "{task}");
    // What it answers is a result in the channel, and nothing of it stands anywhere else.
    assert!(answered.to_string().contains("High water is at noon."), "{answered}");
    assert_eq!(bot.said(CHANNEL).len(), 2, "{:?}", bot.said(CHANNEL));
    bot.is_clean();
}

/// Promise: `new-archives`
#[test]
fn commands_are_those_of_the_terminal_typed_or_chosen() {
    let bot = DiscordHome::new();
    let _serve = bot.serve();
    let direct = owner().direct();
    assert!(bot.discord.commands().contains(&"new".to_owned()), "{:?}", bot.discord.commands());
    bot.discord.say(&owner(), "Remember the tide tables.");
    bot.wait_for_reply(direct, "Remember the tide tables.");
    bot.discord.command(&owner(), direct, "new", "");
    bot.wait_for_reply(direct, "A new session began");
    bot.discord.say(&owner(), "How do I reset my router? /new");
    bot.wait_for_reply(direct, "How do I reset my router?");
    assert_eq!(sent_texts(bot.model.chats().last().unwrap()).len(), 1);
    bot.discord.command(&owner(), direct, "remember", "the tide is *high*");
    bot.wait_for_reply(direct, r"Remembered: the tide is \*high\*");
    let shown: Vec<String> =
        bot.discord.interaction_answers().into_iter().map(|answer| answer.text).collect();
    assert_eq!(shown, ["/new", r"/remember the tide is \*high\*"]);
    bot.discord.say(&owner(), "/remeber milk");
    bot.wait_for_reply(direct, "did you mean `/remember`?");
    assert_eq!(bot.model.chats().len(), 2);
    // In a channel, whoever is not the owner begins no sessions.
    let ada = DiscordPerson::new(5, "Ada");
    bot.discord.command(&ada, CHANNEL, "new", "");
    bot.wait_for_reply(CHANNEL, "may not begin new sessions");
    bot.is_clean();
}

/// Promise: `private-memory-stays-private`
#[test]
fn a_command_among_others_is_refused_and_tells_nothing() {
    let bot = DiscordHome::new();
    let _serve = bot.serve();
    bot.discord.say(&owner(), "Remember the tide tables.");
    bot.wait_for_reply(owner().direct(), "Remember the tide tables.");
    bot.discord.command_among_others(&owner(), "context");
    wait_until(|| !bot.discord.interaction_answers().is_empty());
    let answers = bot.discord.interaction_answers();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].is_ephemeral, "{answers:?}");
    assert!(answers[0].text.contains("in direct messages with me alone"), "{answers:?}");
    // Had it been taken in, its answer would come before this one.
    bot.discord.say(&owner(), "and here?");
    bot.wait_for_reply(owner().direct(), "and here?");
    assert_eq!(bot.said(owner().direct() + 1), Vec::<String>::new());
    bot.is_clean();
}

/// Promise: `replies-never-broken`
#[test]
fn long_replies_come_in_pieces_that_are_whole() {
    let bot = DiscordHome::new();
    let code: String = (0..160).map(|line| format!("let x{line} = `{line}`;\n")).collect();
    let text = "A **bold** word, a stray * and <@5>, @everyone. ".repeat(45);
    let reply = format!("{text}\n\n```rust\n{code}```\n\nThe _end_ *of it");
    bot.model.push(FakeAnswer::text(reply));
    let _serve = bot.serve();
    bot.discord.say(&owner(), "Go on");
    bot.wait_for_reply(owner().direct(), "The _end_ \\*of it");
    let replies = bot.said(owner().direct());
    assert!(replies.len() >= 3, "{replies:#?}");
    for reply in &replies {
        assert!(reply.chars().count() <= 2_000);
        assert_eq!(reply.matches("```").count() % 2, 0, "{reply}");
        assert_eq!(reply.contains("let x"), reply.contains("```rust\n"), "{reply}");
    }
    assert!(replies[0].contains("**bold** word, a stray \\* and \\<@5>"), "{}", replies[0]);
    bot.is_clean();
}

#[test]
fn a_reply_grows_while_it_streams() {
    let bot = DiscordHome::new();
    let words = "word ".repeat(40);
    bot.model.push(FakeAnswer::text(words).delay(std::time::Duration::from_millis(100)));
    let _serve = bot.serve();
    let direct = owner().direct();
    bot.discord.say(&owner(), "Tell me");
    bot.discord.wait_for(direct, |messages| {
        messages.iter().any(|it| it.is_from_bot && it.text.ends_with(" …"))
    });
    bot.discord.wait_for(direct, |messages| {
        messages.iter().any(|it| it.text.ends_with("word word") && it.before.len() > 1)
    });
    assert!(bot.discord.calls("typing") >= 1);
    assert_eq!(bot.discord.replies(direct).len(), 1);
    bot.is_clean();
}

/// Promise: `approvals-by-those-who-may`
#[test]
fn a_question_has_buttons_and_only_those_who_may_answer_it() {
    let bot = DiscordHome::new();
    let arguments = json!({"path": "notes.txt", "content": "tide"});
    bot.model.push(FakeAnswer::calls([FakeCall::new("write_file", arguments)]));
    bot.model.push(FakeAnswer::text("It is written."));
    let _serve = bot.serve();
    let eve = DiscordPerson::new(5, "Eve");
    bot.discord.say_in(CHANNEL, &eve, &FakeDiscord::naming("write it down"));
    let question = bot.wait_for_reply(CHANNEL, r"May write\_file run?");
    assert_eq!(question.buttons, ["Allow once", "Allow for this session", "Deny"]);
    bot.discord.press(&eve, CHANNEL, question.id, "Allow once");
    let answers = || bot.discord.interaction_answers();
    wait_until(|| answers().iter().any(|answer| answer.text.contains("may not approve tools")));
    assert!(answers().iter().all(|answer| answer.is_ephemeral), "{:?}", answers());
    assert!(!bot.home.path("workspace/notes.txt").exists());
    bot.discord.press(&owner(), CHANNEL, question.id, "Allow once");
    bot.wait_for_reply(CHANNEL, "It is written.");
    let decided = bot.wait_for_reply(CHANNEL, "allowed by Ana");
    assert_eq!((decided.id, decided.buttons.len()), (question.id, 0));
    assert!(bot.home.path("workspace/notes.txt").exists());
    assert_eq!(answers().len(), 2);
    bot.is_clean();
}

/// Promise: `shown-is-what-runs`
#[test]
fn a_question_is_shown_to_its_end_or_cannot_be_allowed_there() {
    let bot = DiscordHome::new();
    let ask = |lines: usize, last: &str| {
        let content =
            (0..lines).map(|line| format!("the tide of day {line}\n")).collect::<String>();
        let arguments = json!({"path": "notes.txt", "content": format!("{content}{last}\n")});
        bot.model.push(FakeAnswer::calls([FakeCall::new("write_file", arguments)]));
    };
    ask(200, "and it stands last");
    bot.model.push(FakeAnswer::text("It is written."));
    let _serve = bot.serve();
    bot.discord.say(&owner(), "write it down");
    let question = bot.wait_for_reply(owner().direct(), "and it stands last");
    let asked = bot.discord.replies(owner().direct());
    assert!(asked.len() >= 2, "{asked:#?}");
    let (last, before) = asked.split_last().unwrap();
    assert_eq!(last.id, question.id);
    assert_eq!(last.buttons, ["Allow once", "Allow for this session", "Deny"]);
    assert!(before.iter().all(|it| it.buttons.is_empty()), "{before:#?}");
    let all: String = asked.iter().map(|it| format!("{}\n", it.text)).collect();
    assert!((0..200).all(|line| all.contains(&format!("the tide of day {line}\n"))), "{all}");
    bot.discord.press(&owner(), owner().direct(), question.id, "Allow once");
    bot.wait_for_reply(owner().direct(), "It is written.");
    wait_until(|| bot.discord.replies(owner().direct()).len() == 2);
    // What is longer can be refused there, and no more.
    ask(800, "and it is never seen");
    bot.model.push(FakeAnswer::text("Then not."));
    bot.discord.say(&owner(), "write more");
    let question = bot.wait_for_reply(owner().direct(), "This is only its beginning");
    assert!(question.text.contains("at the terminal"), "{}", question.text);
    assert_eq!(question.buttons, ["Deny"]);
    bot.discord.press(&owner(), owner().direct(), question.id, "Deny");
    bot.wait_for_reply(owner().direct(), "Then not.");
    bot.is_clean();
}

/// Promise: `channels-answer-once`
#[test]
fn what_has_to_wait_for_a_turn_is_refused_and_holds_back_neither_answers_nor_stops() {
    let bot = DiscordHome::new();
    let arguments = json!({"path": "notes.txt", "content": "tide"});
    bot.model.push(FakeAnswer::calls([FakeCall::new("write_file", arguments)]));
    bot.model.push(FakeAnswer::text("It is written."));
    let _serve = bot.serve();
    let direct = owner().direct();
    bot.discord.say(&owner(), "write it down");
    let question = bot.wait_for_reply(direct, r"May write\_file run?");
    let refusals = || bot.said(direct).iter().filter(|it| it.contains("has to end first")).count();
    bot.discord.command(&owner(), direct, "undo", "");
    bot.discord.say(&owner(), "/retry");
    wait_until(|| refusals() == 2);
    bot.discord.press(&owner(), direct, question.id, "Allow once");
    bot.wait_for_reply(direct, "It is written.");
    bot.discord.command(&owner(), direct, "undo", "");
    bot.wait_for_reply(direct, "Taken back: write it down");
    bot.is_clean();
}

#[test]
fn files_are_read_within_their_limit_and_named_else() {
    let bot = DiscordHome::with(&format!("owners = [\"{OWNER}\"]\nmax_file_bytes = 100"));
    let _serve = bot.serve();
    let direct = owner().direct();
    let tides = ("tides.txt", "text/plain; charset=utf-8", b"The tide is high at noon.".as_slice());
    bot.discord.send_file(&owner(), "What is this?", tides);
    bot.wait_for_reply(direct, "What is this?");
    let first = bot.model.chats().last().unwrap().to_string();
    assert!(first.contains("File tides.txt:") && first.contains("high at noon"), "{first}");
    let large = b"x".repeat(101);
    bot.discord.send_file(&owner(), "And this?", ("big.txt", "text/plain", &large));
    bot.wait_for_reply(direct, "And this?");
    let sent = bot.model.chats()[1].to_string();
    assert!(sent.contains("larger than 100 bytes and was not read"), "{sent}");
    bot.discord.send_file(&owner(), "Look", ("photo.png", "image/png", b"12345"));
    bot.wait_for_reply(direct, "which this model can't look at");
    bot.is_clean();
}

/// Promise: `private-memory-stays-private`
#[test]
fn in_channels_the_bot_answers_when_it_is_named_and_hears_the_rest_if_it_may() {
    let bot = DiscordHome::with(&format!(
        "owners = [\"{OWNER}\"]\nallow = [\"{}\"]\ncontext = 2",
        FakeDiscord::GUILD
    ));
    bot.home.ok(&["memory", "add", "The safe opens with 4-8-15."]);
    let _serve = bot.serve();
    let (ada, ben) = (DiscordPerson::new(5, "Ada"), DiscordPerson::new(6, "Ben"));
    for said in ["one", "Shall we meet at noon?", "Rather at two."] {
        bot.discord.say_in(CHANNEL, &ada, said);
    }
    let question = bot.discord.say_in(CHANNEL, &ben, &FakeDiscord::naming("when do we meet?"));
    let reply = bot.wait_for_reply(CHANNEL, "when do we meet?");
    assert_eq!(reply.answers, Some(question));
    assert_eq!(bot.model.chats().len(), 1);
    let sent = bot.model.chats()[0].to_string();
    assert!(sent.contains("Ben: "), "{sent}");
    assert!(sent.contains("> Ada: Rather at two.") && !sent.contains("> Ada: one"), "{sent}");
    assert!(!sent.contains("4-8-15"), "{sent}");
    // An answer to one of its messages is meant for it, and what it refers to comes along.
    bot.discord.answer_in(CHANNEL, &ada, reply.id, "and where?");
    bot.wait_for_reply(CHANNEL, "and where?");
    bot.discord.answer_in(CHANNEL, &ada, question, &FakeDiscord::naming("what of this?"));
    bot.wait_for_reply(CHANNEL, "what of this?");
    let sent = bot.model.chats()[2].to_string();
    assert!(sent.contains("This refers to what Ben said"), "{sent}");
    bot.is_clean();
}

#[test]
fn who_names_the_bots_own_role_names_the_bot() {
    let settings = format!("allow = [\"{CHANNEL}\"]\ncontext = 1");
    let bot = DiscordHome::with(&settings);
    let serve = bot.serve();
    let ada = DiscordPerson::new(5, "Ada");
    let named = |role: u64, text: &str| FakeDiscord::naming_role(role, text);
    bot.discord.say_in(CHANNEL, &ada, &named(FakeDiscord::ROLE + 1, "all helpers?"));
    bot.discord.say_in(CHANNEL, &ada, &named(FakeDiscord::ROLE, "by my role"));
    bot.wait_for_reply(CHANNEL, "by my role");
    let sent = sent_texts(&bot.model.chats()[0]).join("\n");
    assert!(sent.contains("Ada: by my role") || sent.ends_with("by my role"), "{sent}");
    assert!(!sent.contains(&FakeDiscord::ROLE.to_string()), "{sent}");
    // Whoever goes on with the session is not told again which roles there are.
    drop(serve);
    let again = bot.serve();
    bot.discord.say_in(CHANNEL, &ada, &named(FakeDiscord::ROLE, "and again"));
    bot.wait_for_reply(CHANNEL, "and again");
    assert_eq!((bot.discord.identifies(), bot.discord.calls("roles")), (1, 1));
    assert_eq!(bot.model.chats().len(), 2);
    bot.is_clean();
    // Where Discord does not tell now, it is asked again.
    drop(again);
    let _again = bot.serve();
    bot.discord.fail("roles", 500, 3);
    bot.discord.say_in(CHANNEL, &ada, &named(FakeDiscord::ROLE, "not known"));
    wait_until(|| bot.discord.calls("roles") == 4);
    bot.discord.say_in(CHANNEL, &ada, &named(FakeDiscord::ROLE, "known"));
    bot.wait_for_reply(CHANNEL, "known");
    // Without the intent for it, Discord does not show what was said.
    let modest = DiscordHome::new();
    let _modest = modest.serve();
    modest.discord.say_in(CHANNEL, &ada, &named(FakeDiscord::ROLE, "unseen"));
    modest.wait_for_reply(CHANNEL, "You have named my role");
    assert_eq!(modest.model.chats().len(), 0);
    modest.is_clean();
}

#[test]
fn channels_have_modes_and_threads_have_sessions() {
    let (all, off, thread) = (2_000, 3_000, 4_000);
    let bot = DiscordHome::with(&format!(
        "owners = [\"{OWNER}\"]\nallow = [\"{}\"]\n[channels.discord.modes]\n{all} = \
         \"all_messages\"\n{off} = \"off\"",
        FakeDiscord::GUILD
    ));
    bot.discord.add_thread(thread, CHANNEL);
    let _serve = bot.serve();
    let ada = DiscordPerson::new(5, "Ada");
    bot.discord.say_in(off, &ada, &FakeDiscord::naming("nobody hears this"));
    bot.discord.command(&ada, off, "help", "");
    wait_until(|| !bot.discord.interaction_answers().is_empty());
    let answer = &bot.discord.interaction_answers()[0];
    assert!(answer.is_ephemeral && answer.text.contains("switched off"), "{answer:?}");
    bot.discord.say_in(CHANNEL, &ada, "not meant for it");
    bot.discord.say_in(all, &ada, "said to everybody");
    bot.wait_for_reply(all, "said to everybody");
    bot.discord.say_in(CHANNEL, &ada, &FakeDiscord::naming("in the channel"));
    bot.wait_for_reply(CHANNEL, "in the channel");
    bot.discord.say_in(thread, &ada, &FakeDiscord::naming("in the thread"));
    bot.wait_for_reply(thread, "in the thread");
    let last = sent_texts(bot.model.chats().last().unwrap());
    assert_eq!(last.len(), 1, "{last:?}");
    assert!(bot.said(off).is_empty());
    assert_eq!(bot.model.chats().len(), 3);
    bot.is_clean();
}

#[test]
fn each_user_has_a_session_where_that_is_set() {
    let bot = DiscordHome::with(&format!("allow = [\"{CHANNEL}\"]\nper_user = true"));
    let _serve = bot.serve();
    let (ada, ben) = (DiscordPerson::new(5, "Ada"), DiscordPerson::new(6, "Ben"));
    bot.discord.say_in(CHANNEL, &ada, &FakeDiscord::naming("I am Ada."));
    bot.wait_for_reply(CHANNEL, "I am Ada.");
    bot.discord.say_in(CHANNEL, &ben, &FakeDiscord::naming("I am Ben."));
    bot.wait_for_reply(CHANNEL, "I am Ben.");
    bot.discord.say_in(CHANNEL, &ada, &FakeDiscord::naming("Who am I?"));
    bot.wait_for_reply(CHANNEL, "Who am I?");
    let last = sent_texts(bot.model.chats().last().unwrap()).join("\n");
    assert!(last.contains("I am Ada.") && !last.contains("I am Ben."), "{last}");
    // Whose each is can be seen by their owner.
    for list in [&["sessions", "list"][..], &["chat", "--session", "own", "-m", "/sessions"]] {
        let listed = bot.home.ok(list);
        assert!(listed.contains("(discord, Ada in group "), "{listed}");
        assert!(listed.contains("(discord, Ben in group "), "{listed}");
    }
    bot.is_clean();
}
