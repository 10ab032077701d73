//! `recto token`, and a server that asks for one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::support::*;

fn scripted() -> Home {
    Home::scripted(&[r#"{"content":"Noon."}"#])
}

/// A server that ends with the test.
struct ServeProcess {
    child: Child,
    port: u16,
}

impl ServeProcess {
    fn start(home: &Home, listen: &str) -> Self {
        let mut serve = home.command(&["serve", "--listen", listen]);
        let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim_end().trim_end_matches('/').rsplit(':').next().unwrap().parse();
        ServeProcess { child, port: port.unwrap_or_else(|_| panic!("{line}")) }
    }

    /// The first line of the answer to a request.
    fn status(&self, path: &str, more: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let host = format!("host: 127.0.0.1:{}\r\nconnection: close\r\n", self.port);
        write!(stream, "GET {path} HTTP/1.1\r\n{host}{more}\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.lines().next().unwrap_or_default().to_owned()
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Promise: `tokens-stay-secret`
#[test]
fn a_token_is_shown_once_and_kept_nowhere() {
    let home = scripted();
    let made = home.run(&["token", "create", "my phone", "--guest", "--expires", "30d"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let secret = made.out.trim_end();
    assert!(secret.starts_with("recto_") && !secret.contains(char::is_whitespace), "{secret}");
    assert!(made.err.contains("token `my phone`: a guest's token, until "), "{}", made.err);
    assert!(!made.err.contains(secret));
    for (path, content) in home.tree() {
        let is_in = content.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!is_in, "{}", path.display());
    }
    for list in [home.ok(&["token", "list"]), home.ok(&["token", "list", "--json"])] {
        assert!(list.contains("my phone") && !list.contains("recto_"), "{list}");
    }
}

#[test]
fn tokens_are_listed_and_revoked_by_name_or_number() {
    let home = scripted();
    let none = home.run(&["token", "list"]);
    assert!(none.err.contains("`recto token create NAME` makes one"), "{}", none.err);
    home.ok(&["token", "create", "one", "--read"]);
    home.run(&["token", "create", "one"]).fails_with("a token is named `one` already");
    for reserved in ["local", "owner", " Owner "] {
        home.run(&["token", "create", reserved, "--guest"]).fails_with("a token can't be named");
    }
    home.ok(&["token", "create", "two"]);
    home.run(&["token", "revoke", "tow"]).fails_with("did you mean `two`?");
    home.ok(&["token", "revoke", "one"]);
    home.ok(&["token", "revoke", "2"]);
    assert_eq!(json(&home.ok(&["token", "list", "--json"]))["tokens"], serde_json::json!([]));
    let all = json(&home.ok(&["token", "list", "--all", "--json"]));
    let valid: Vec<bool> =
        all["tokens"].as_array().unwrap().iter().map(|token| token["valid"] == true).collect();
    assert_eq!(valid, [false, false]);
    let bad = home.run(&["token", "create", "x", "--expires", "soon"]);
    assert!(bad.err.contains("such as 45m, 12h, 30d or 8w"), "{}", bad.err);
}

/// Promise: `no-token-no-entry`
#[test]
fn a_server_that_others_can_reach_needs_a_token_to_begin_and_to_come_in() {
    let home = scripted();
    let refused = home.run(&["serve", "--listen", "0.0.0.0:0"]);
    refused.fails_with("can be reached from other machines, and there is no token");
    assert!(refused.err.contains("`recto token create NAME`"), "{}", refused.err);
    home.ok(&["token", "create", "old"]);
    home.ok(&["token", "revoke", "old"]);
    home.run(&["serve", "--listen", "0.0.0.0:0"]).fails_with("there is no token");

    let secret = home.ok(&["token", "create", "new"]);
    let server = ServeProcess::start(&home, "0.0.0.0:0");
    assert_eq!(server.status("/api/nothing", ""), "HTTP/1.1 401 Unauthorized");
    let shown = format!("authorization: Bearer {}\r\n", secret.trim_end());
    assert_eq!(server.status("/api/nothing", &shown), "HTTP/1.1 404 Not Found");
    // Another process revokes it, and it holds at once.
    home.ok(&["token", "revoke", "new"]);
    assert_eq!(server.status("/api/nothing", &shown), "HTTP/1.1 401 Unauthorized");
}

/// Promise: `no-token-no-entry`
#[test]
fn a_machine_of_many_can_ask_everybody() {
    let home = scripted();
    let server = ServeProcess::start(&home, "127.0.0.1:0");
    assert_eq!(server.status("/api/nothing", ""), "HTTP/1.1 404 Not Found");
    drop(server);
    let config = std::fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("{config}[server]\nrequire_token = true\n"));
    home.run(&["serve", "--listen", "127.0.0.1:0"]).fails_with("`server.require_token` is set");
    home.ok(&["token", "create", "me"]);
    let server = ServeProcess::start(&home, "127.0.0.1:0");
    assert_eq!(server.status("/api/nothing", ""), "HTTP/1.1 401 Unauthorized");
    drop(server);
    home.write("config.toml", format!("{config}[server]\nhosts = [\"http://x\"]\n"));
    home.run(&["serve", "--listen", "127.0.0.1:0"]).fails_with("`http://x` is no name of a host");
}
