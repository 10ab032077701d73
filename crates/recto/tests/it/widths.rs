//! What people see in terminals of several widths: no line is wider than the terminal, no word is
//! split, and what is shown of a page is what was sent.

use std::collections::HashSet;

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::pty::Pty;
use crate::support::*;

const CALL: &str = r#"{"tool_calls":[{"name":"read_file","arguments":{"path":"SOUL.md"}}]}"#;
const ASK: &str =
    r#"{"tool_calls":[{"name":"write_file","arguments":{"path":"a.txt","content":"x"}}]}"#;

/// All commands whose drawings people read in a terminal.
const COMMANDS: [&[&str]; 26] = [
    &["show", "1"],
    &["show", "2"],
    &["why", "units"],
    &["why", "cooking-with-a-rather-long-name"],
    &["diff", "1", "2"],
    &["replay", "--verify"],
    &["doctor"],
    &["context", "hello"],
    &["agents", "list"],
    &["agents", "show", "main"],
    &["agents", "check"],
    &["approvals", "list"],
    &["approvals", "show", "1"],
    &["tools", "list"],
    &["rules", "list"],
    &["rules", "check"],
    &["references", "list"],
    &["skills", "list"],
    &["mcp", "list"],
    &["mcp", "tools"],
    &["models", "list"],
    &["sessions", "list"],
    &["sessions", "show", "default"],
    &["stats"],
    &["memory", "list"],
    &["search", "units of numbers"],
];

/// A home with long names and descriptions, wide characters, an MCP server, and turns of which one
/// waits.
fn home() -> Home {
    let home = Home::scripted(&[CALL, r#"{"content":"I am Ada, and 日本語 is spoken here."}"#]);
    let program = env!("CARGO_BIN_EXE_recto");
    let folder = home.path("").display().to_string();
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    home.write(
        "config.toml",
        format!(
            "{config}[models.a-model-entry-with-a-long-name]\nprovider = 'openai'\n\
             model = 'some-model-2026-11-16'\nbase_url = 'http://127.0.0.1:1/v1'\nwindow = 4096\n\
             [agents.main]\n[mcp.me]\ncommand = '{program}'\n\
             args = ['--home', '{folder}', 'mcp', 'serve']\n"
        ),
    );
    let long = "How numbers, units and 単位 are to be written in every answer, with examples, so \
                that this does not fit into any terminal of eighty columns";
    home.write("workspace/SOUL.md", "You are Ada.\n\n\tYou never split a word.\n");
    home.write(
        "workspace/rules/units.md",
        format!("---\ninclude: always\ndescription: {long}\n---\n{long}.\n\n日本語の長い文章が途切れなく続いていきます。日本語の長い文章が途切れなく続いていきます。\n"),
    );
    let rule = format!("---\ninclude: agent\ndescription: {long}\n---\nWeigh the flour.\n");
    home.write("workspace/rules/cooking-with-a-rather-long-name.md", rule);
    home.write("workspace/references/map.md", format!("---\ndescription: {long}\n---\nHere.\n"));
    let skill = format!("---\nname: notes\ndescription: {long}\n---\nWrite {long}.\n");
    home.write("workspace/skills/notes/SKILL.md", skill);
    home.write("workspace/memory/MEMORY.md", format!("- {long}\n"));
    home.ok(&["mcp", "tools"]);
    home.ok(&["chat", "-m", "Who are you, and which units do you write when nobody says which?"]);
    home.write("talk.jsonl", ASK);
    assert_eq!(home.run(&["chat", "-m", "Write a file for me, please"]).code, 3);
    home
}

/// What a command prints in a terminal of so many columns, without colours.
fn in_terminal(home: &Home, arguments: &[&str], columns: usize) -> String {
    in_terminal_with(home, arguments, columns, "cat")
}

/// The same, with this pager.
fn in_terminal_with(home: &Home, arguments: &[&str], columns: usize, pager: &str) -> String {
    let columns = u16::try_from(columns).unwrap();
    let variables = [("NO_COLOR", "1"), ("TERM", "xterm"), ("PAGER", pager)];
    Pty::open(columns, 24).run(home, arguments, &variables)
}

/// Checks that no line is wider than the terminal, unless it is one word that fits no line.
fn check_widths(drawn: &str, columns: usize, arguments: &[&str]) {
    for line in drawn.lines() {
        let is_one_word = !line.trim().contains(' ') && line.trim().width() > columns;
        assert!(
            line.width() <= columns || is_one_word,
            "{arguments:?} {columns}: {line:?}\n{drawn}"
        );
    }
}

/// Checks that every word is one of those that stand in what a pipe gets. Numbers may be others a
/// moment later.
fn check_words(drawn: &str, piped: &str, columns: usize, arguments: &[&str]) {
    let known: HashSet<&str> = piped.split_whitespace().collect();
    let is_bar = |word: &str| word.chars().all(|c| c.is_ascii_uppercase());
    let is_steady = |word: &&str| word.is_ascii() && !word.contains(|c: char| c.is_ascii_digit());
    for word in drawn.split_whitespace().filter(is_steady).filter(|word| !is_bar(word)) {
        // What stands below its row has its heading in front.
        let is_known = known.contains(word) || known.contains(word.trim_end_matches(':'));
        assert!(is_known, "{arguments:?} {columns}: {word:?} is split\n{drawn}");
    }
}

/// Promise: `lines-fit-the-terminal`
#[test]
fn no_line_is_wider_than_the_terminal_and_no_word_is_split() {
    let home = home();
    for arguments in COMMANDS {
        let run = home.run(arguments);
        let piped = run.out + &run.err;
        for columns in [40, 80, 120] {
            let drawn = in_terminal(&home, arguments, columns);
            assert!(!drawn.trim().is_empty(), "{arguments:?}");
            check_widths(&drawn, columns, arguments);
            check_words(&drawn, &piped, columns, arguments);
        }
    }
}

/// The texts of the messages in what `show --text` draws, with its margin taken off.
fn texts(drawn: &str) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut is_message = false;
    for line in drawn.lines() {
        if line.starts_with("message ") && line.contains(": ") && !line.contains('│') {
            texts.push(String::new());
            is_message = true;
            continue;
        }
        if line.starts_with("tools, as schemas") {
            is_message = false;
        }
        let Some(text) = texts.last_mut().filter(|_| is_message) else { continue };
        if let Some((_, more)) = line.split_once("│ ") {
            *text += more;
            *text += "\n";
        } else if let Some((_, more)) = line.split_once("┊ ") {
            text.pop();
            *text += more;
            *text += "\n";
        }
    }
    texts.into_iter().map(|text| text.strip_suffix('\n').unwrap_or(&text).to_owned()).collect()
}

/// The texts of the messages that a request had, by its record.
fn recorded(request: &Value) -> Vec<String> {
    let messages = request["context"]["messages"].as_array().unwrap().iter();
    messages.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Promise: `page-as-the-model-reads-it`
#[test]
fn the_page_is_shown_exactly_with_its_sources_in_the_margin() {
    let home = home();
    let shown = home.json(&["show", "1", "--json"]);
    let requests = shown["requests"].as_array().unwrap();
    let sent = recorded(requests.last().unwrap());
    let piped = home.ok(&["show", "1", "--text"]);
    assert_eq!(texts(&piped), sent, "{piped}");
    for source in ["system · SOUL.md", "items · rule units", "skills · notes", "tools · read_file"]
    {
        assert!(piped.contains(source), "{source}: {piped}");
    }
    assert!(piped.contains("request 2 adds to the one before"), "{piped}");
    assert!(piped.contains(r#"+ calls read_file {"path":"SOUL.md"}"#), "{piped}");
    assert!(piped.contains(r#"{"type":"function","function":{"name":"read_file""#), "{piped}");
    for columns in [40, 80, 120] {
        let arguments = ["show", "1", "--text", "--no-pager"];
        let drawn = in_terminal(&home, &arguments, columns);
        assert_eq!(texts(&drawn), sent, "{drawn}");
        assert!(drawn.lines().all(|line| line.width() <= columns), "{drawn}");
    }
    let first = home.ok(&["show", "1", "--text", "--request", "1"]);
    assert_eq!(texts(&first), recorded(&requests[0]), "{first}");
    home.run(&["show", "1", "--text", "--request", "9"]).fails_with("numbered from 1 to 2");
}

/// A text that could move the cursor is made visible, and the pager is a person's own.
#[test]
fn a_page_can_t_move_the_cursor_and_goes_through_the_pager() {
    let home = Home::scripted(&[r#"{"content":"ok"}"#]);
    home.write("workspace/SOUL.md", "You are \u{1b}[2J Ada.\n\nLine.\n".repeat(40));
    home.ok(&["chat", "-m", "hello"]);
    let shown = home.ok(&["show", "--text"]);
    assert!(shown.contains("\\u{1b}[2J Ada.") && !shown.contains('\u{1b}'), "{shown}");
    let paged = |arguments: &[&str], pager| in_terminal_with(&home, arguments, 80, pager);
    let by_sed = paged(&["show", "--text"], "sed s/^/>/");
    assert!(by_sed.lines().all(|line| line.starts_with('>')), "{by_sed}");
    let plain = paged(&["show", "--text", "--no-pager"], "sed s/^/>/");
    assert_eq!(by_sed.replace('>', ""), plain.replace('>', ""));
    // One that is not there is no reason to show nothing.
    assert_eq!(paged(&["show", "--text"], "no-such-pager"), plain);
    // The list of parts goes the same way.
    home.write("workspace/rules/long.md", "---\ninclude: always\n---\nBe exact.\n");
    let listed = paged(&["show"], "sed s/^/>/");
    let plain = paged(&["show", "--no-pager"], "sed s/^/>/");
    assert_eq!(listed.replace('>', ""), plain.replace('>', ""));
    assert_eq!(listed.lines().all(|line| line.starts_with('>')), plain.lines().count() >= 24);
}
