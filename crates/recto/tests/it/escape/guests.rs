//! What others than the owner can't have the programs of tools do.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::turns::calling;
use super::*;
use crate::real_clients::ServeProcess;

/// What a program that is declared to read prints of a file, in a turn of the owner or a guest.
fn printed(path: &str, who: Caller) -> String {
    let home = calling("act", &json!({}), "tools.sandbox = 'required'\n");
    home.write("workspace/memory/MEMORY.md", format!("- {SECRET}\n"));
    home.write("workspace/agents/helper/AGENTS.md", SECRET);
    let literal = json!([{ "kind": "literal", "flag": path }]);
    let reading = json!({ "args": literal, "readOnly": true });
    home.write("workspace/skills/harm/tools.json", declared("cat", &reading).to_string());
    match who {
        Caller::Owner => drop(home.ok(&["chat", "-m", "do it"])),
        Caller::Guest => {
            let token = home.ok(&["token", "create", "somebody", "--guest"]);
            let served = ServeProcess::start(&home);
            let reply = ask(&served.url, token.trim_end());
            assert!(reply.contains("Done."), "nobody has to be asked: {reply}");
        }
    }
    let shown = crate::support::json(&home.ok(&["sessions", "show", "1", "--json"]));
    let messages = shown["messages"].as_array().unwrap().clone();
    let result = messages.into_iter().find(|message| message["role"] == "tool").unwrap();
    result["content"].as_str().unwrap().to_owned()
}

#[derive(Clone, Copy)]
enum Caller {
    Owner,
    Guest,
}

/// The answer to a message of whoever shows this token.
fn ask(url: &str, token: &str) -> String {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let message = json!({ "role": "user", "content": "do it" });
    let body = json!({ "model": "main", "messages": [message] }).to_string();
    let mut stream = TcpStream::connect(host).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Authorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

/// Promise: `private-memory-stays-private`
#[test]
fn no_program_of_a_guest_reads_what_is_remembered() {
    for path in ["memory/MEMORY.md", "agents/helper/AGENTS.md"] {
        note_attempt();
        let text = printed(path, Caller::Owner);
        assert!(text.contains(SECRET), "no real attempt: {text}");
        let text = printed(path, Caller::Guest);
        assert!(!text.contains(SECRET) && text.contains(NO_ACCESS), "{path}: {text}");
    }
    // All else can be read in their turns as well.
    assert!(printed("notes/a.txt", Caller::Guest).contains("a note"));
}
