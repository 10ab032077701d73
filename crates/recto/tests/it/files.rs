//! What people send along with a message: files, images, what they pipe in.

mod projects;

use std::process::Stdio;

use recto_fakes::{Capability, FakeAnswer, FakeModel, FakeServer};
use serde_json::Value;

use crate::support::*;

/// The smallest beginning of a PNG that everybody takes for one.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// The last user message of the last turn, as its model was sent it.
fn sent(home: &Home) -> Value {
    let body = json(&home.ok(&["show", "--body"]));
    body["messages"].as_array().unwrap().last().unwrap()["content"].clone()
}

impl Home {
    /// A command that runs in the home's own folder.
    fn run_inside(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut command = self.command(arguments);
        command.current_dir(self.path(""));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input);
        let output = child.wait_with_output().unwrap();
        Run {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Promise: `piped-text-comes-along`
#[test]
fn what_is_piped_in_comes_along_with_the_message() {
    let home = Home::scripted(&[]);
    let said = home.run_with(&["chat", "-m", "summarise:"], "one\n```\ntwo\n", &[]);
    assert_eq!(said.code, 0, "{}", said.err);
    let sent = sent(&home);
    let sent = sent.as_str().unwrap();
    let expected = "summarise:\n\nstandard input:\n````\none\n```\ntwo\n````";
    assert!(sent.ends_with(expected), "{sent}");
    // What was typed is kept as it was typed, and what came along byte for byte.
    let shown = json(&home.ok(&["sessions", "show", "default", "--json"]));
    let content = &shown["messages"][0]["content"];
    assert_eq!(content[0]["text"], "summarise:");
    assert_eq!(content[1]["text"], "one\n```\ntwo\n");
    assert_eq!(home.run(&["replay", "--verify"]).code, 0);
}

#[test]
fn an_empty_pipe_changes_nothing() {
    let home = Home::scripted(&[]);
    for input in ["", " \n"] {
        assert_eq!(home.run_with(&["chat", "-m", "hi"], input, &[]).code, 0);
        assert!(!sent(&home).as_str().unwrap().contains("standard input"));
    }
}

#[test]
fn a_pipe_that_stays_open_and_empty_holds_nothing_up() {
    let home = Home::scripted(&[]);
    let mut command = home.command(&["chat", "-m", "hi"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let open = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(open);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    assert!(told.contains("nothing came in through the pipe"), "{told}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "You said: hi\n");
}

#[test]
fn a_message_can_be_typed_without_a_flag() {
    let home = Home::scripted(&[]);
    assert_eq!(home.ok(&["chat", "hello", "there"]), "You said: hello there\n");
    let both = home.run(&["chat", "-m", "a", "b"]);
    assert_eq!(both.code, 2);
    assert!(both.err.contains("cannot be used with"), "{}", both.err);
}

/// Promise: `files-come-along-whole`
#[test]
fn files_come_along_by_flag_and_by_mention() {
    let home = Home::scripted(&[]);
    home.write("a.txt", "alpha");
    home.write("b c.txt", "beta\n");
    let text = "compare @file:\"b c.txt\", not `@file:none`";
    let said = home.run_inside(&["chat", "-f", "a.txt", "-m", text], b"");
    assert_eq!(said.code, 0, "{}", said.err);
    let sent = sent(&home);
    let sent = sent.as_str().unwrap();
    let files = "\n\nFile a.txt:\n```\nalpha\n```\n\nFile b c.txt:\n```\nbeta\n```";
    assert!(sent.ends_with(&format!("{text}{files}")), "{sent}");
    let shown = json(&home.ok(&["show", "--json"]));
    let rows = layer(&shown["requests"][0]["context"], "message")["items"].clone();
    assert_eq!(rows[1]["kind"], "attachment");
    assert_eq!((&rows[1]["name"], &rows[2]["source"]), (&"a.txt".into(), &"b c.txt".into()));
    assert!(rows[1]["reason"].as_str().unwrap().starts_with("sent along: 5 bytes, hash "));
    // They stay with their message, and the prefix agrees.
    home.write("a.txt", "changed");
    assert_eq!(home.run_inside(&["chat", "-m", "again"], b"").code, 0);
    let diff = json(&home.ok(&["diff", "--json"]));
    assert_eq!(diff["comparison"]["change"], Value::Null, "{diff}");
    assert_eq!(home.run(&["replay", "--verify"]).code, 0);
}

#[test]
fn a_message_that_is_changed_takes_its_own_files_along() {
    let home = Home::scripted(&[r#"{"content": "Seen."}"#]);
    for (name, text) in [("a.txt", "alpha"), ("b.txt", "beta"), ("c.txt", "gamma")] {
        home.write(name, text);
    }
    let first = ["chat", "-f", "c.txt", "-m", "look at @file:a.txt."];
    assert_eq!(home.run_inside(&first, b"").code, 0);
    let missing = home.run_inside(&["chat", "-m", "/edit @file:missing.txt"], b"");
    missing.fails_with("cannot send the file `missing.txt` along");
    let edit = home.run_inside(&["chat", "-m", "/edit look at @file:b.txt"], b"");
    assert_eq!(edit.code, 0, "{}", edit.err);
    let last = sent(&home).to_string();
    assert!(last.contains("beta") && last.contains("gamma"), "{last}");
    assert!(!last.contains("alpha"), "{last}");
    // More can come along, too.
    let more = home.run_inside(&["chat", "-f", "a.txt", "-m", "/edit look at both"], b"");
    assert_eq!(more.code, 0, "{}", more.err);
    let last = sent(&home).to_string();
    assert!(last.contains("alpha") && last.contains("gamma"), "{last}");
    assert!(!last.contains("beta"), "{last}");
}

#[test]
fn what_cannot_be_sent_whole_is_an_error_that_names_it() {
    let home = Home::scripted(&[]);
    home.write("x.bin", b"a\0b");
    home.write("large.txt", "word ".repeat(40_000));
    let fails = |arguments: &[&str], text: &str| {
        home.run_inside(&[&["chat"], arguments].concat(), b"").fails_with(text);
    };
    fails(&["-m", "see @file:gone.txt."], "it was looked for at ");
    fails(&["-f", "x.bin", "look"], "`x.bin` is neither a text in UTF-8 nor an image");
    fails(&["-f", ".", "look"], "it is a folder");
    fails(&["-f", "x.bin"], "there is none");
    assert!(!home.path("data/recto.db").exists() || home.run(&["show"]).code == 1);
    let over = home.run_inside(&["chat", "-f", "large.txt", "look"], b"");
    assert!(over.err.contains("of which large.txt: "), "{}", over.err);
    assert!(over.err.contains("send less of the files along"), "{}", over.err);
}

#[test]
fn what_is_piped_in_line_by_line_fetches_no_files() {
    let home = Home::scripted(&[]);
    home.write("a.txt", "secret");
    let run = home.run_inside(&["chat"], b"see @file:a.txt\n");
    assert_eq!(run.out, "You said: see @file:a.txt\n");
    let run = home.run_inside(&["chat", "-m", "-"], b"see @file:a.txt");
    assert_eq!(run.out, "You said: see @file:a.txt\n");
}

/// Promise: `images-only-for-models-that-look`
#[test]
fn images_go_to_models_that_look_at_them_and_to_no_others() {
    let model = |name: &str, can: &[Capability]| {
        FakeModel::new(name).window(8_192).capabilities(can.iter().copied())
    };
    let sees = [Capability::Completion, Capability::Tools, Capability::Vision];
    let ollama = FakeServer::ollama()
        .model(model("eyes", &sees))
        .model(model("blind", &sees[..2]))
        .answer(FakeAnswer::text("A dot."))
        .start();
    let entry = |name: &str| {
        format!(
            "[models.{name}]\nprovider = \"ollama\"\nmodel = \"{name}\"\nbase_url = \"{}\"\n",
            ollama.url()
        )
    };
    let home = Home::with(&[("config.toml", &(entry("eyes") + &entry("blind")))]);
    home.write("dot", PNG);
    let blind = home.run_inside(&["chat", "--model", "blind", "-f", "dot", "what?"], b"");
    blind.fails_with("model `blind` takes no images, and `dot` is one; nothing was sent");
    assert!(ollama.log().iter().all(|received| received.path != "/api/chat"));
    let seen = home.run_inside(&["chat", "--model", "eyes", "-f", "dot", "what?"], b"");
    assert_eq!((seen.code, &*seen.out), (0, "A dot.\n"), "{}", seen.err);
    let shown = home.ok(&["show"]);
    assert!(shown.contains("image dot"), "{shown}");
    assert!(shown.contains("image/png, 16 bytes"), "{shown}");
    assert_eq!(home.run(&["replay", "--verify"]).code, 0);
    // Whoever goes on with the other model goes on without the image, and is told once.
    let go_on = |model: &str| {
        home.run(&["chat", "--model", model, "--context-mode", "full", "-m", "and now?"])
    };
    let later = go_on("blind");
    assert_eq!(later.code, 0, "{}", later.err);
    let note = "note: model `blind` takes no images: in place of 1 image sent earlier, it reads a \
                line that says so";
    assert!(later.err.contains(note), "{}", later.err);
    let shown = home.ok(&["show"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(&note.replacen("note:", "notice", 1)), "{shown}");
    let body = home.ok(&["show", "--body"]);
    assert!(body.contains("[image dot (image/png) is left out: you can't see images]"), "{body}");
    assert!(!body.contains("\"images\""), "{body}");
    let shown = home.ok(&["show"]);
    assert!(shown.contains("the model takes no images"), "{shown}");
    assert_eq!(home.run(&["replay", "--verify"]).code, 0);
    let again = go_on("blind");
    assert!(!again.err.contains("takes no images"), "{}", again.err);
    let seen = go_on("eyes");
    assert!(!seen.err.contains("takes no images"), "{}", seen.err);
    assert!(home.ok(&["show", "--body"]).contains("\"images\""));
    assert_eq!(ollama.rejections(), [""; 0]);
}

#[test]
fn only_regular_files_and_what_the_shell_opened_are_read() {
    let home = Home::scripted(&[]);
    let fifo = home.path("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in [fifo.to_str().unwrap(), "/dev/zero", "/dev/tty"] {
        let run = home.run_inside(&["chat", "-f", path, "what?"], b"");
        assert_eq!(run.code, 1, "{path}");
        assert!(run.err.contains("along"), "{path}: {}", run.err);
    }
    let run = home.run_inside(&["chat", "-f", "-", "what?"], b"");
    run.fails_with("nothing is piped in that could be sent along");
    let run = home.run_inside(&["chat", "-f", "-", "what?"], b"a log");
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(home.ok(&["show", "--body"]).matches("a log").count(), 1);
    let plain = home.command(&["chat", "what?", "-f"]);
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", "\"$0\" \"$@\" <(echo from a pipe) < /dev/null"]);
    shell.arg(plain.get_program()).args(plain.get_args());
    let set = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let run = shell.env_clear().envs(set).env("PATH", "/usr/bin:/bin").output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(home.ok(&["show", "--body"]).contains("from a pipe"));
}
