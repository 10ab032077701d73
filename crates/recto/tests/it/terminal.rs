//! The chat on a real terminal: what is typed while it answers is neither lost nor in the way.

use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::pty::{PATIENCE, Pty};
use crate::screen::Screen;
use crate::support::*;

/// A chat at a terminal, as a person has it before them.
struct TerminalChat {
    child: Child,
    pty: Pty,
    screen: Arc<Mutex<Screen>>,
}

impl TerminalChat {
    fn start(home: &Home, arguments: &[&str]) -> Self {
        Self::start_with(home, arguments, &[])
    }

    fn start_with(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let pty = Pty::open(80, 24);
        let child = pty.spawn(home, arguments, variables);
        let screen = Arc::new(Mutex::new(Screen::new(80, 24)));
        let chat = TerminalChat { child, pty, screen };
        chat.listen();
        chat
    }

    /// Draws what the program writes, and answers what it asks its terminal.
    fn listen(&self) {
        let mut master = self.pty.master.try_clone().unwrap();
        let screen = self.screen.clone();
        thread::spawn(move || {
            let (mut bytes, mut held) = ([0; 4096], Vec::new());
            while let Ok(read @ 1..) = master.read(&mut bytes) {
                held.extend_from_slice(&bytes[..read]);
                let valid = match std::str::from_utf8(&held) {
                    Ok(text) => text.len(),
                    Err(error) => error.valid_up_to(),
                };
                let text: Vec<u8> = held.drain(..valid).collect();
                let mut screen = screen.lock();
                screen.write(std::str::from_utf8(&text).unwrap());
                let answers = std::mem::take(&mut screen.answers);
                if master.write_all(answers.as_bytes()).is_err() {
                    break;
                }
            }
        });
    }

    /// Presses these keys.
    fn press(&self, keys: &str) {
        (&self.pty.master).write_all(keys.as_bytes()).unwrap();
    }

    fn text(&self) -> String {
        self.screen.lock().text()
    }

    /// Waits until the screen shows this, and gives all of it.
    #[track_caller]
    fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |shown| shown.contains(text))
    }

    /// Waits until an empty prompt is there.
    #[track_caller]
    fn wait_for_prompt(&self) {
        self.wait_until("the prompt", |shown| shown.lines().last() == Some(">"));
    }

    #[track_caller]
    fn wait_until(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let since = Instant::now();
        loop {
            let shown = self.text();
            if is_there(&shown) {
                return shown;
            }
            assert!(since.elapsed() < PATIENCE, "`{what}` did not come:\n{shown}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the program has ended, and gives its code.
    fn wait(&mut self) -> Option<i32> {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(since.elapsed() < PATIENCE, "it did not end:\n{}", self.text());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether the terminal shows what is typed.
    fn echoes(&self) -> bool {
        let modes = tcgetattr(&self.pty.terminal).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON)
    }

    /// Sends a signal to the chat: `setsid` has become it.
    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for TerminalChat {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The texts that people sent, in order.
fn sent(home: &Home) -> Vec<String> {
    let shown = json(&home.ok(&["sessions", "show", "default", "--json"]));
    let messages = shown["messages"].as_array().unwrap();
    let of_user = messages.iter().filter(|message| message["role"] == "user");
    of_user.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

/// What was typed, as it is kept.
fn history(home: &Home) -> String {
    std::fs::read_to_string(home.path("data/history")).unwrap()
}

const SLOW: &str = r#"{"content":"The first reply.","delay_ms":1500}"#;

/// Promise: `typing-is-not-lost`
#[test]
fn lines_typed_while_it_answers_are_sent_in_order_and_the_rest_is_in_the_editor() {
    let home = Home::scripted(&[SLOW]);
    let chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("one\r");
    chat.wait_for("reading");
    chat.press("two\r");
    chat.wait_for("1 queued");
    chat.press("thx\u{7f}ree\r日本\x1b[A fo");
    chat.wait_for("2 queued │ next: 日本 fo");
    let shown = chat.wait_for("> 日本 fo");
    let order =
        ["> one", "The first reply.", "> two", "You said: two", "> three", "You said: three"];
    let places: Vec<_> = order.iter().map(|text| shown.find(text)).collect();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{places:?}:\n{shown}");
    // Each once: neither echoed by the terminal, nor left of the line at the bottom.
    assert!(!shown.contains("queued") && !shown.contains("next:"), "{shown}");
    chat.press("ur\r");
    chat.wait_for("You said: 日本 four");
    assert_eq!(sent(&home), ["one", "two", "three", "日本 four"]);
}

/// Promise: `typing-is-not-lost`
#[test]
fn several_pasted_lines_are_one_message() {
    let home = Home::scripted(&[SLOW]);
    let chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("one\r");
    chat.wait_for("reading");
    chat.press("\x1b[200~a\rb\x1b[201~");
    chat.wait_for("next: a⏎b");
    chat.press("\r");
    chat.wait_for("You said: a");
    assert_eq!(sent(&home), ["one", "a\nb"]);
}

#[test]
fn stop_acts_at_once_and_what_was_queued_is_a_draft_again() {
    let home = Home::scripted(&[r#"{"content":"never","delay_ms":50000}"#]);
    let chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("one\r");
    chat.wait_for("reading");
    chat.press("later\r");
    chat.wait_for("1 queued");
    chat.press("/stop\r");
    let shown = chat.wait_for("> later");
    assert!(shown.contains("the line that waited is in the prompt again\n"), "{shown}");
    assert_eq!(sent(&home), ["one"]);
}

/// Promise: `typing-is-not-lost`
#[test]
fn lines_that_waited_for_a_stopped_turn_come_back_each_by_itself() {
    let home = Home::scripted(&[r#"{"content":"never","delay_ms":50000}"#]);
    let mut chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("one\r");
    chat.wait_for("reading");
    chat.press("second\rthird\rfourth\rhalf a li");
    chat.wait_for("3 queued │ next: half a li");
    chat.press("\u{3}");
    let shown = chat.wait_until("the first line", |shown| shown.ends_with("\n> second"));
    assert!(shown.contains("3 lines waited; each comes back to the prompt by itself"), "{shown}");
    chat.press(" one\r");
    chat.wait_for("You said: second one");
    // One that is not wanted any more is dropped like anything that was typed.
    chat.wait_until("the next line", |shown| shown.ends_with("\n> third"));
    chat.press("\u{3}");
    chat.wait_until("the line behind it", |shown| shown.ends_with("\n> fourth"));
    chat.press("\r");
    chat.wait_for("You said: fourth");
    chat.wait_until("what was being typed", |shown| shown.ends_with("\n> half a li"));
    chat.press("\u{15}");
    chat.wait_for_prompt();
    chat.press("\u{4}");
    assert_eq!(chat.wait(), Some(0));
    assert_eq!(sent(&home), ["one", "second one", "fourth"]);
}

/// Promise: `typing-is-not-lost`
#[test]
fn what_came_back_and_is_not_sent_is_told_line_by_line() {
    let home = Home::scripted(&[r#"{"content":"never","delay_ms":50000}"#]);
    let mut chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("one\r");
    chat.wait_for("reading");
    chat.press("second\rthird\rfourth\r");
    chat.wait_for("3 queued");
    chat.press("\u{3}");
    chat.wait_until("the first line", |shown| shown.ends_with("\n> second"));
    chat.press("\u{15}\u{4}");
    assert_eq!(chat.wait(), Some(0));
    let shown = chat.text();
    assert!(shown.ends_with("not sent: third\nnot sent: fourth"), "{shown}");
}

#[test]
fn any_capitals_end_the_chat() {
    for line in ["/EXIT\r", "/Quit\r"] {
        let home = Home::scripted(&[]);
        let mut chat = TerminalChat::start(&home, &["chat"]);
        chat.wait_for_prompt();
        chat.press(line);
        assert_eq!(chat.wait(), Some(0), "{line}");
    }
}

/// Promise: `notice-once`
#[test]
fn what_is_wrong_in_the_workspace_is_told_when_the_chat_begins_and_not_again() {
    let home = Home::scripted(&[]);
    home.write("workspace/rules/tone.md", "---\ninlcude: always\n---\nBe brief.\n");
    let chat = TerminalChat::start(&home, &["chat"]);
    let shown = chat.wait_until("the prompt", |shown| shown.lines().last() == Some(">"));
    assert!(shown.contains("note: ") && shown.contains("inlcude"), "{shown}");
    chat.press("one\r");
    let shown = chat.wait_for("You said: one");
    assert_eq!(shown.matches("inlcude").count(), 1, "{shown}");
}

/// A chat in one session, while a turn of another is taken up in which the model makes this call.
fn asked_in_the_background(call: &str) -> (Home, TerminalChat) {
    let home = Home::scripted(&[r#"{"content":"never","delay_ms":50000}"#]);
    let mut killed = TerminalChat::start(&home, &["chat", "--session", "work", "-m", "write it"]);
    killed.wait_for("reading");
    killed.signal("-KILL");
    killed.wait();
    home.write("talk.jsonl", [call, r#"{"content":"Written."}"#].join("\n"));
    let chat = TerminalChat::start(&home, &["chat", "--session", "other"]);
    (home, chat)
}

/// What a screen shows, as one line.
fn flat(shown: &str) -> String {
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_question_of_a_turn_in_the_background_is_told_as_what_it_is() {
    let call = |name: &str| {
        format!(r#"{{"name":"write_file","arguments":{{"path":"{name}","content":"x"}}}}"#)
    };
    let calls = [call("a.txt"), call("b.txt")].join(",");
    let (_home, chat) =
        asked_in_the_background(&format!(r#"{{"tool_calls":[{calls}],"delay_ms":3000}}"#));
    let told = |name: &str, id: u8| {
        format!("wants to run create {name}; `recto approvals show {id}` has all of it")
    };
    chat.wait_until("both questions", |shown| {
        let shown = flat(shown);
        shown.contains(&told("a.txt", 1)) && shown.contains(&told("b.txt", 2))
    });
}

/// Promise: `shown-is-what-runs`
#[test]
fn a_title_draws_no_line_of_its_question() {
    let path = format!("x{}reads: nothing{}writes: nothing", " ".repeat(70), " ".repeat(64));
    let call = CALL.replace("a.txt", &path).replace("1000", "1");
    let home = Home::scripted(&[&call, r#"{"content":"Written."}"#]);
    let chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("write it\r");
    let shown = chat.wait_for("[y] allow");
    let list = Pty::open(80, 24).record(&home, &["approvals", "list"], &[]);
    for shown in [shown, list] {
        for words in ["reads:", "writes:"] {
            let lines: Vec<&str> = shown.lines().filter(|line| line.contains(words)).collect();
            let is_marked = |line: &&str| line.trim_start().starts_with("┊ ");
            assert!(!lines.is_empty() && lines.iter().all(is_marked), "{words}: {shown}");
        }
    }
}

/// Promise: `taken-up-makes-way`
#[test]
fn a_turn_in_the_background_that_asks_is_told_once() {
    let (home, chat) = asked_in_the_background(&CALL.replace("1000", "3000"));
    let told = "session work: turn 1 waits for your word: write_file wants to run";
    chat.wait_until("the question", |shown| flat(shown).contains(told));
    chat.press("/mode\r");
    let shown = chat.wait_for("change it with /mode full, minimal, auto or default");
    assert_eq!(flat(&shown).matches(told).count(), 1, "{shown}");
    assert!(!shown.contains("temperature"), "{shown}");
    home.ok(&["approvals", "answer", "1", "allow"]);
    chat.wait_for("session work: turn 1 is done: Written.");
}

#[test]
fn control_d_ends_after_the_turn_and_again_now() {
    let home = Home::scripted(&[SLOW]);
    let mut chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("one\r");
    chat.wait_for("reading");
    chat.press("\u{4}");
    chat.wait_for("ends after this");
    assert_eq!(chat.wait(), Some(0));
    chat.wait_for("The first reply.");
    assert!(chat.echoes());
    let home = Home::scripted(&[r#"{"content":"never","delay_ms":50000}"#]);
    let mut chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("one\r");
    chat.wait_for("reading");
    chat.press("unsent\r\u{4}");
    chat.wait_for("ends after this");
    chat.press("/exit\r");
    assert_eq!(chat.wait(), Some(130));
    chat.wait_for("not sent: unsent");
}

/// Promise: `typing-is-not-lost`
#[test]
fn a_queued_line_outlives_the_program() {
    for signal in ["-KILL", "-TERM"] {
        let home = Home::scripted(&[r#"{"content":"never","delay_ms":50000}"#]);
        let mut chat = TerminalChat::start(&home, &["chat"]);
        chat.wait_for_prompt();
        chat.press("one\r");
        chat.wait_for("reading");
        chat.press("for later\r");
        chat.wait_for("1 queued");
        chat.signal(signal);
        assert_ne!(chat.wait(), Some(0));
        assert_eq!(history(&home), "one\nfor later\n");
        if signal == "-TERM" {
            chat.wait_until("a clear screen", |shown| !shown.contains("queued"));
        }
    }
}

#[test]
fn a_queued_line_is_in_the_history_once() {
    let home = Home::scripted(&[SLOW]);
    let chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("one\r");
    chat.wait_for("reading");
    chat.press("two\r");
    chat.wait_for("You said: two");
    chat.wait_for_prompt();
    chat.press("\x1b[A");
    chat.wait_until("the line", |shown| shown.lines().last() == Some("> two"));
    assert_eq!(history(&home), "one\ntwo\n");
}

/// Promise: `terminal-is-restored`
#[test]
fn the_terminal_is_as_it_was_after_signals() {
    let home = Home::scripted(&[r#"{"content":"never","delay_ms":50000}"#]);
    for keys in ["", "one\r"] {
        let mut chat = TerminalChat::start(&home, &["chat"]);
        chat.wait_for_prompt();
        chat.press(keys);
        if !keys.is_empty() {
            chat.wait_for("reading");
        }
        assert!(!chat.echoes());
        chat.signal("-TERM");
        assert_eq!(chat.wait(), Some(143));
        assert!(chat.echoes(), "{keys:?}");
    }
}

/// Promise: `terminal-is-restored`
#[test]
fn a_chat_that_was_put_to_sleep_goes_on_as_it_was() {
    let home = Home::scripted(&[SLOW]);
    let chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("one\r");
    chat.wait_for("reading");
    chat.press("half");
    chat.wait_for("next: half");
    chat.signal("-TSTP");
    let since = Instant::now();
    while !chat.echoes() {
        assert!(since.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(10));
    }
    chat.signal("-CONT");
    chat.wait_for("The first reply.");
    chat.wait_for("> half");
    assert!(!chat.echoes());
}

const CALL: &str = r#"{"tool_calls":[{"name":"write_file","arguments":{"path":"a.txt","content":"x"}}],"delay_ms":1000}"#;

/// Promise: `early-keys-answer-nothing`
#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let home = Home::scripted(&[CALL, r#"{"content":"Written."}"#]);
    let chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("write\r");
    chat.wait_for("reading");
    chat.press("yes y");
    chat.wait_for("next: yes y");
    chat.wait_for("is a line for later");
    chat.press("y");
    chat.wait_for("next: yes yy");
    assert!(!home.path("workspace/a.txt").exists());
    chat.press("\x15");
    chat.wait_until("an empty line", |shown| !shown.contains("next:"));
    // Long enough to have read the question.
    thread::sleep(Duration::from_millis(600));
    chat.press("y");
    let shown = chat.wait_for("Written.");
    assert!(shown.contains("[y] allow "), "{shown}");
    assert!(home.path("workspace/a.txt").exists());
}

/// Promise: `early-keys-answer-nothing`
#[test]
fn a_word_at_a_question_is_not_its_first_letter() {
    let home = Home::scripted(&[CALL, CALL, r#"{"content":"Written."}"#]);
    let chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("write\r");
    chat.wait_for("[s] allow every call");
    thread::sleep(Duration::from_millis(600));
    chat.press("stop\r");
    chat.wait_for("write_file is not run");
    chat.wait_for_prompt();
    assert!(!home.path("workspace/a.txt").exists());
    assert_eq!(sent(&home), ["write"]);
    chat.press("again\r");
    chat.wait_until("a second question", |shown| shown.matches("[n] deny").count() == 2);
    thread::sleep(Duration::from_millis(600));
    chat.press("so what?\r");
    chat.wait_for("that line is kept for after this turn");
    chat.wait_for("1 queued");
    assert!(!home.path("workspace/a.txt").exists());
    thread::sleep(Duration::from_millis(600));
    chat.press("yes\r");
    chat.wait_for("Written.");
    chat.wait_for("You said: so what?");
    assert!(home.path("workspace/a.txt").exists());
    assert_eq!(sent(&home), ["write", "again", "so what?"]);
}

/// Who said no needs no words that were meant for the model.
#[test]
fn a_denied_call_is_told_once() {
    let home = Home::scripted(&[CALL, r#"{"content":"As you like."}"#]);
    let chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("write\r");
    chat.wait_for("[n] deny");
    thread::sleep(Duration::from_millis(600));
    chat.press("n");
    let shown = chat.wait_for("As you like.");
    assert!(shown.contains("denied by you: the tool was not run"), "{shown}");
    assert!(!shown.contains('✗') && !shown.contains("do not try"), "{shown}");
}

#[test]
fn escape_at_a_question_stops_the_turn_and_says_so() {
    let home = Home::scripted(&[CALL]);
    let mut chat = TerminalChat::start(&home, &["chat", "-m", "write"]);
    chat.wait_for("stop the turn");
    thread::sleep(Duration::from_millis(500));
    chat.press("\u{4}");
    chat.wait_for("write_file is not run");
    assert_eq!(chat.wait(), Some(130));
    assert!(chat.echoes());
    assert!(!home.path("workspace/a.txt").exists());
}

/// Promise: `terminal-is-restored`
#[test]
fn after_the_last_question_of_one_message_the_terminal_is_the_shells() {
    let written = r#"{"content":"Written.","delay_ms":3000}"#;
    for arguments in [&["chat", "-m", "write it"][..], &["chat", "write", "it"]] {
        let home = Home::scripted(&[CALL, written]);
        let mut chat = TerminalChat::start(&home, arguments);
        chat.wait_for("[y] allow");
        assert!(!chat.echoes());
        thread::sleep(Duration::from_millis(600));
        chat.press("y");
        let since = Instant::now();
        while !chat.echoes() {
            assert!(since.elapsed() < PATIENCE);
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!chat.text().contains("Written."), "{arguments:?}: only when all was over");
        assert_eq!(chat.wait(), Some(0));
        chat.wait_for("Written.");
    }
}

/// An editor that writes a text, and one that fails.
fn with_editor(home: &Home, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    home.write("editor.sh", format!("#!/bin/sh\n{script}\n"));
    let path = home.path("editor.sh");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_message_can_be_written_in_ones_own_editor() {
    let home = Home::scripted(&[]);
    let editor =
        with_editor(&home, "stat -c %a \"$1\" > \"$1\".mode.txt; echo 'of mine' >> \"$1\"");
    let chat = TerminalChat::start_with(&home, &["chat"], &[("EDITOR", &editor)]);
    chat.wait_for_prompt();
    chat.press("a text\u{f}");
    chat.wait_for("of mine");
    chat.press("\r");
    chat.wait_for("You said: a text");
    assert_eq!(sent(&home), ["a text\nof mine"]);
    let files = std::fs::read_dir(home.path("data")).unwrap().map(|file| file.unwrap().path());
    let files: Vec<_> = files.filter(|file| file.to_str().unwrap().contains("message")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), "600\n");
}

#[test]
fn an_editor_that_fails_leaves_the_message_as_it_was() {
    let home = Home::scripted(&[]);
    let editor = with_editor(&home, "exit 3");
    let chat = TerminalChat::start_with(&home, &["chat"], &[("VISUAL", &editor)]);
    chat.wait_for_prompt();
    chat.press("a text\u{18}\u{5}");
    chat.wait_for("the message is as it was");
    chat.press("!\r");
    chat.wait_for("You said: a text!");
}

/// Promise: `other-turns-are-shown`
#[test]
fn a_turn_of_another_process_is_shown_above_what_is_typed() {
    let home = Home::scripted(&[]);
    let chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("half a li");
    chat.wait_for("> half a li");
    home.ok(&["chat", "-m", "from afar"]);
    let shown = chat.wait_for("You said: from afar");
    assert!(shown.contains("from elsewhere"), "{shown}");
    let shown = chat.wait_until("the prompt", |shown| shown.ends_with("> half a li"));
    assert_eq!(shown.matches("> half a li").count(), 1, "{shown}");
    chat.press("ne\r");
    chat.wait_for("You said: half a line");
    assert_eq!(sent(&home), ["from afar", "half a line"]);
}

/// What a model wrote as code can be copied: only the terminal goes on in its next row.
#[test]
fn code_that_is_wider_than_the_terminal_is_not_broken() {
    let words = "word ".repeat(30);
    let code = words.trim_end();
    let reply = serde_json::json!({"content": format!("```\n{code}\n```\n\nThat is all.")});
    let home = Home::scripted(&[&reply.to_string()]);
    let mut chat = TerminalChat::start(&home, &["chat", "-m", "code, please"]);
    assert_eq!(chat.wait(), Some(0));
    let shown = chat.wait_for("That is all.");
    let joined: String = shown.lines().collect();
    assert!(joined.contains(code), "{shown}");
    let mut replay = TerminalChat::start(&home, &["replay", "1"]);
    assert_eq!(replay.wait(), Some(0));
    let shown = replay.wait_for("That is all.");
    assert!(shown.lines().collect::<String>().contains(code), "{shown}");
}

#[test]
fn help_has_the_keys_and_fits_the_terminal() {
    let home = Home::scripted(&[]);
    let chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    chat.press("/help\r");
    let shown = chat.wait_for("a slash that begins no command");
    assert!(shown.contains("Ctrl-R") && shown.contains("/context"), "{shown}");
}

/// A reply that takes several lines, and whose words are all different.
fn long_reply() -> (String, Vec<String>) {
    let words: Vec<String> = (100..140).map(|number| format!("word-{number}")).collect();
    (format!(r#"{{"content":"{}"}}"#, words.join(" ")), words)
}

#[test]
fn without_colours_the_lines_are_the_same() {
    let (reply, words) = long_reply();
    let home = Home::scripted(&[&reply]);
    let chat = TerminalChat::start_with(&home, &["chat"], &[("NO_COLOR", "1")]);
    chat.wait_for_prompt();
    chat.press("one\r");
    let shown = chat.wait_for("turn 1");
    for word in words {
        assert!(shown.contains(&word), "{word}:\n{shown}");
    }
}

#[test]
fn a_dumb_terminal_gets_plain_lines_and_no_sequences() {
    let (reply, words) = long_reply();
    let home = Home::scripted(&[&reply, CALL, r#"{"content":"Written."}"#]);
    let mut chat = TerminalChat::start_with(&home, &["chat"], &[("TERM", "dumb")]);
    chat.wait_for_prompt();
    assert!(chat.echoes());
    chat.press("one\n");
    let shown = chat.wait_for("turn 1");
    for word in words {
        assert!(shown.contains(&word), "{word}:\n{shown}");
    }
    chat.press("write\n");
    chat.wait_for("/approve or /deny");
    assert!(chat.echoes());
    chat.press("/approve\n");
    chat.wait_for("Written.");
    assert!(home.path("workspace/a.txt").exists());
    chat.press("/help\n");
    let shown = chat.wait_for("/exit ");
    assert!(!shown.contains("Ctrl-R") && !shown.contains("/editor"), "{shown}");
    chat.wait_for_prompt();
    chat.press("\u{4}");
    assert_eq!(chat.wait(), Some(0));
    // What the shell prints next begins a line.
    chat.wait_until("a new line", |_| chat.screen.lock().column() == 0);
    assert_eq!(chat.screen.lock().sequences, 0, "{}", chat.text());
}

#[test]
fn tab_completes_what_stands_behind_a_command_and_what_a_message_mentions() {
    let home = Home::scripted(&[]);
    home.write("workspace/rules/weights.md", "Use kilos.");
    let chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    for (keys, line) in [
        ("/add weig\t", "> /add weights"),
        ("/mode mi\t", "> /mode minimal"),
        ("/set appr\t", "> /set approval"),
        ("/set approval al\t", "> /set approval always"),
        ("what of @rule:weig\t", "> what of @rule:weights"),
        ("/nothing x\t", "> /nothing x"),
    ] {
        chat.press(keys);
        chat.wait_until(line, |shown| shown.lines().last() == Some(line));
        chat.press("\u{15}");
        chat.wait_for_prompt();
    }
    chat.press("/mo\t");
    chat.wait_until("both commands", |shown| shown.contains("/mode") && shown.contains("/model"));
}

#[test]
fn a_draft_outlives_another_width() {
    let home = Home::scripted(&[]);
    let chat = TerminalChat::start(&home, &["chat"]);
    chat.wait_for_prompt();
    let draft = "word ".repeat(30);
    chat.press(&draft);
    let joined = |shown: &str| shown.lines().collect::<String>();
    chat.wait_until("the draft", |shown| joined(shown).matches("word").count() == 30);
    let size = Winsize { ws_row: 24, ws_col: 60, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&chat.pty.terminal, size).unwrap();
    thread::sleep(Duration::from_millis(500));
    chat.press("end\r");
    chat.wait_for("You said:");
    assert_eq!(sent(&home), [format!("{draft}end")]);
}

/// What is drawn on a screen is nothing for a file.
#[test]
fn a_chat_whose_answers_go_to_a_file_reads_plain_lines() {
    let home = Home::scripted(&[]);
    let file = home.path("out.txt");
    let (pty, answers) = (Pty::open(80, 24), std::fs::File::create(&file).unwrap());
    let child = pty.spawn_to(&home, &["chat"], &[], answers.into());
    let mut chat = TerminalChat { child, pty, screen: Arc::new(Mutex::new(Screen::new(80, 24))) };
    chat.listen();
    chat.wait_for_prompt();
    chat.press("hello\n");
    chat.wait_until("the next prompt", |shown| {
        shown.contains("> hello") && shown.lines().last() == Some(">")
    });
    chat.press("\u{4}");
    assert_eq!(chat.wait(), Some(0));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "You said: hello\n");
}
