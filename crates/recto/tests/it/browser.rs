//! The web pages in a real browser: `recto serve` as it is, with a model that plays a file, and
//! stories that Chromium plays through. `RECTO_TEST_BROWSER` is the folder that
//! `scripts/test-browser` fills; the stories are in `tests/browser/`.
//!
//! With `RECTO_TEST_PICTURES` set, the stories leave pictures of the pages in that folder.

mod pages;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::Home;

/// A server in a home of its own, ended with the test.
pub(crate) struct ServedPages {
    pub(crate) home: Home,
    server: Child,
    url: String,
}

impl ServedPages {
    /// Starts a server on a free port of loopback.
    pub(crate) fn start(home: Home) -> Self {
        let mut server = home
            .command(&["serve", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("Recto answers at ").unwrap_or_default().to_owned();
        assert!(url.starts_with("http://"), "{line}");
        ServedPages { home, server, url }
    }

    /// Plays a story through. It fails with all that the story says.
    pub(crate) fn play(&self, story: &str) {
        let browser = std::env::var_os("RECTO_TEST_BROWSER");
        let browser = browser.expect("RECTO_TEST_BROWSER names the folder with the browser");
        let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/run.mjs");
        let output = Command::new("node")
            .arg(run)
            .arg(story)
            .env("RECTO_TEST_BROWSER", browser)
            .env("RECTO_URL", &self.url)
            .env("RECTO_HOME", self.home.path(""))
            .env("RECTO_BIN", env!("CARGO_BIN_EXE_recto"))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{story}: {told}");
    }
}

impl Drop for ServedPages {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

const WRITE: &str = r#"{"tool_calls":[{"name":"write_file","arguments":{"path":"note.txt","content":"one\ntwo <b>lines</b>\n"}}]}"#;

#[test]
fn first_visit_to_first_answer() {
    let tea =
        r#"{"content":"1. **boil** water\n2. pour it\n","usage":{"prompt":400,"cached":100}}"#;
    ServedPages::start(Home::scripted(&[tea])).play("first_answer");
}

#[test]
fn a_tool_call_is_answered_on_the_page() {
    let done = r#"{"content":"Done."}"#;
    let call = |name: &str| {
        format!(r#"{{"name":"write_file","arguments":{{"path":"{name}","content":"x"}}}}"#)
    };
    let calls = |calls: &[String]| format!(r#"{{"tool_calls":[{}]}}"#, calls.join(","));
    let two = calls(&[call("two.txt")]);
    let three = calls(&[call("three.txt")]);
    let [four, five] = ["four.txt", "five.txt"].map(|name| calls(&[call(name)]));
    let lines = [WRITE, done, WRITE, done, &two, &three, done, &four, done, &five, done];
    let served = ServedPages::start(Home::scripted(&lines));
    served.play("approve");
    for (name, is_there) in
        [("two.txt", true), ("three.txt", true), ("four.txt", true), ("five.txt", false)]
    {
        assert_eq!(served.home.path(&format!("workspace/{name}")).exists(), is_there, "{name}");
    }
    let written = std::fs::read_to_string(served.home.path("workspace/note.txt")).unwrap();
    assert_eq!(written, "one\ntwo <b>lines</b>\n");
}

#[test]
fn a_page_loaded_in_the_middle_of_a_reply_goes_on_in_two_tabs() {
    let words = "one two **three** four five six ".to_owned() + &"more ".repeat(33) + "forty";
    let slow = format!(r#"{{"content":"{words}","pace_ms":120}}"#);
    ServedPages::start(Home::scripted(&[&slow, &slow])).play("reload");
}

#[test]
fn a_turn_begun_in_the_terminal_moves_in_the_page() {
    ServedPages::start(Home::scripted(&[])).play("terminal");
}

#[test]
fn an_edit_replaces_what_was_edited_and_nothing_else() {
    ServedPages::start(Home::scripted(&[])).play("edit_last");
}

#[test]
fn an_error_says_what_to_do_and_can_be_tried_again() {
    let refused = r#"{"error":{"status":401,"body":"bad key"}}"#;
    ServedPages::start(Home::scripted(&[refused, r#"{"content":"Here I am."}"#])).play("errors");
}

#[test]
fn each_waiting_message_and_each_question_is_answered_by_itself() {
    let slow = format!(r#"{{"content":"slow {}","pace_ms":100}}"#, "and slower ".repeat(200));
    let call = |name: &str| {
        format!(r#"{{"name":"write_file","arguments":{{"path":"{name}","content":"x"}}}}"#)
    };
    let both = format!(r#"{{"tool_calls":[{},{}]}}"#, call(r"a\u202e.txt"), call("b.txt"));
    let (second, done) = (r#"{"content":"The second reply."}"#, r#"{"content":"Done."}"#);
    ServedPages::start(Home::scripted(&[&slow, second, &both, done])).play("queue");
}

#[test]
fn what_nobody_meant_does_not_happen() {
    let slow = format!(r#"{{"content":"slow {}","pace_ms":100}}"#, "and slower ".repeat(200));
    let done = r#"{"content":"Done."}"#;
    let home = Home::scripted(&[&slow, WRITE, done, done]);
    home.write("workspace/rules/tone.md", "---\ndescription: How to sound\n---\nBe kind.\n");
    ServedPages::start(home).play("escape");
}

#[test]
fn the_keyboard_is_enough() {
    let home = Home::scripted(&[]);
    let rule = "---\ndescription: How to sound\npriority: 5\n---\nBe kind.\n";
    home.write("workspace/rules/tone.md", rule);
    ServedPages::start(home).play("keyboard");
}

/// Promise: `page-text-stays-text`
#[test]
fn what_anybody_says_stays_text() {
    let markdown = r#"{"content":"<script>alert(3)</script> [x](javascript:alert(3)) <img src=x onerror=alert(3)>"}"#;
    let read = r#"{"tool_calls":[{"name":"read_file","arguments":{"path":"bad.txt"}}]}"#;
    let home = Home::scripted(&[markdown, read, r#"{"content":"Read."}"#]);
    home.write("workspace/bad.txt", "<script>alert(4)</script>\n");
    home.write("workspace/rules/r.md", "---\nname: <i>rule</i>\ninclude: always\n---\nText.\n");
    let file_name = r#"workspace/rules/<img src=x onerror=alert(6)> "q" 'p'.md"#;
    home.write(file_name, "---\ninclude: always\n---\nText.\n");
    ServedPages::start(home).play("injection");
}

#[test]
fn dark_and_light_wide_and_narrow_with_and_without_scripts() {
    let everything = "Three steps are left:\n\n1. back-fill `entries.batch_id`,\n2. add the \
                      foreign key.\n\n| source | entries |\n|---|--:|\n| bank | 3,117 |\n\n```sql\n\
                      update entries set batch_id = $2 where id = any($1) and batch_id is null;\n```\n";
    let everything =
        serde_json::json!({"content": everything, "usage": {"prompt": 900, "cached": 300}});
    let read = r#"{"content":"I look first.","tool_calls":[{"name":"list_files","arguments":{}}]}"#;
    let home = Home::scripted(&[read, &everything.to_string(), WRITE, r#"{"content":"Done."}"#]);
    let rule = "---\ndescription: How to sound\npriority: 5\ninclude: always\n---\nBe kind.\n";
    home.write("workspace/rules/tone.md", rule);
    ServedPages::start(home).play("looks");
}
