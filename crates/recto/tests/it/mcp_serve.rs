//! `recto mcp serve`, as a client talks to it: a line of JSON for each message.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::support::*;

/// Longer than anything here takes: a server that does not answer fails the test.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client of the real binary.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: u64,
}

#[expect(clippy::needless_pass_by_value, reason = "what is sent is written where it is sent")]
impl Client {
    /// A server that was only started.
    fn start(home: &Home) -> Self {
        let mut child = home
            .command(&["mcp", "serve"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        Client { child, input, lines, last_id: 0 }
    }

    /// A server that is ready for calls.
    fn ready(home: &Home) -> Self {
        let mut client = Client::start(home);
        client.initialize();
        client
    }

    fn initialize(&mut self) -> Value {
        let answer = self.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        self.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer["result"].clone()
    }

    fn write(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Sends a request, and gives its id.
    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&request.to_string());
        id
    }

    /// The next message; nothing but messages may come.
    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("an answer");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// The answer to a request that is sent alone.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// What a tool says, and whether that is an error.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        said(&answer)
    }

    /// What a tool answers.
    fn json(&mut self, tool: &str, arguments: Value) -> Value {
        let (text, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// What a tool says that can't do what it was asked to.
    fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(is_error, "{text}");
        text
    }

    /// Closes the server's input. Gives what it wrote to standard error; the
    /// server must have ended well, and said no more.
    fn end(mut self) -> String {
        drop(self.input.take());
        let rest: Vec<String> = self.lines.iter().collect();
        assert!(rest.is_empty(), "{rest:?}");
        let output = self.child.wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{told}");
        assert!(!told.contains("panicked"), "{told}");
        told
    }
}

fn said(answer: &Value) -> (String, bool) {
    let result = &answer["result"];
    let content = result["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")), "{answer}");
    let is_error = result["isError"].as_bool().unwrap();
    (content[0]["text"].as_str().unwrap().to_owned(), is_error)
}

/// A home with items, and a session of two turns.
fn talked() -> Home {
    let home = Home::scripted(&[
        r#"{"tool_calls":[{"name":"list_files","arguments":{}}]}"#,
        r#"{"content":"The router is in the cellar."}"#,
        r#"{"content":"You are welcome."}"#,
    ]);
    home.write(
        "workspace/rules/commits.md",
        "---\ndescription: How commit messages are written\ninclude: agent\n---\n\
         Commit messages begin with a verb in the imperative.",
    );
    home.write("workspace/rules/units.md", "Use metric units: metres, grams.");
    home.write("workspace/memory/MEMORY.md", "## 2026-01-02\n- The cat is called Minka.\n");
    let said = "Where is the router?\nThanks a lot!\n";
    assert_eq!(home.run_with(&["chat", "--session", "house"], said, &[]).code, 0);
    home
}

/// Every row of every table of the store.
fn rows(home: &Home) -> Vec<(String, Vec<Vec<Cell>>)> {
    let path = home.path("data/recto.db");
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut select = db.prepare(names).unwrap();
    let names = select.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap);
    let all = |name: &String| {
        let mut select = db.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let width = select.column_count();
        let rows = select.query_map([], |row| (0..width).map(|at| row.get(at)).collect()).unwrap();
        rows.map(Result::unwrap).collect()
    };
    names.map(|name| (name.clone(), all(&name))).collect()
}

/// The names of what was found, the best first.
fn found(answer: &Value) -> Vec<&str> {
    let results = answer["results"].as_array().unwrap();
    results.iter().map(|result| result["name"].as_str().unwrap()).collect()
}

#[test]
fn it_says_what_it_is_and_what_it_offers() {
    let home = Home::with(&[]);
    let mut client = Client::start(&home);
    let begun = client.initialize();
    assert_eq!(begun["protocolVersion"], "2025-06-18");
    assert_eq!(begun["serverInfo"]["name"], "recto");
    assert_eq!(begun["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(begun["instructions"].as_str().unwrap().contains("`search`"), "{begun}");
    assert_eq!(begun["capabilities"], json!({"tools": {}}));
    let list = client.ask("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    let parameters = |tool: &Value| -> Vec<String> {
        tool["inputSchema"]["properties"].as_object().unwrap().keys().cloned().collect()
    };
    let shown: Vec<(&str, Vec<String>)> =
        tools.iter().map(|tool| (tool["name"].as_str().unwrap(), parameters(tool))).collect();
    let strings = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let expected = [
        ("search", strings(&["query", "kind", "limit", "text"])),
        ("recall", strings(&["query", "limit"])),
        ("context", strings(&["message", "session", "model", "raw"])),
        ("show", strings(&["turn", "request", "body"])),
    ];
    assert_eq!(shown, expected);
    for tool in tools {
        assert_eq!(tool["annotations"], json!({"readOnlyHint": true, "openWorldHint": false}));
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        assert!(tool["description"].as_str().unwrap().len() > 40, "{tool}");
    }
    client.end();
}

#[test]
fn clients_of_the_newest_protocol_need_no_handshake() {
    let home = Home::with(&[("workspace/rules/units.md", "Use metric units.")]);
    let mut client = Client::start(&home);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discovered = client.ask("server/discover", json!({"_meta": meta}));
    assert!(discovered["result"]["supportedVersions"].is_array(), "{discovered}");
    let arguments = json!({"query": "metric units"});
    let call = json!({"name": "search", "arguments": arguments, "_meta": meta});
    let (text, is_error) = said(&client.ask("tools/call", call));
    assert!(!is_error && text.contains("\"units\""), "{text}");
    client.end();
}

#[test]
fn search_answers_as_the_command_does() {
    let home = talked();
    let mut client = Client::ready(&home);
    let query = "how do I write a commit message?";
    let of_command = home.json(&["search", query, "--json"]);
    assert_eq!(client.json("search", json!({"query": query})), of_command);
    assert_eq!(found(&of_command)[0], "commits");
    let narrow = json!({"query": query, "kind": "rule", "limit": 1, "text": true});
    let answer = client.json("search", narrow);
    assert_eq!(found(&answer), ["commits"]);
    let text = answer["results"][0]["text"].as_str().unwrap();
    assert_eq!(text, "Commit messages begin with a verb in the imperative.");
    for (kind, text) in [("memory", "Minka"), ("tool", "\"path\""), ("skill", "")] {
        let asked = json!({"query": "the cat reads a file", "kind": kind, "text": true});
        let answer = client.json("search", asked);
        let results = answer["results"].as_array().unwrap();
        assert!(results.iter().all(|result| result["kind"] == kind), "{answer}");
        let has = |result: &Value| result["text"].as_str().unwrap().contains(text);
        assert_eq!(results.iter().any(has), !text.is_empty(), "{answer}");
    }
    client.end();
}

#[test]
fn a_running_server_follows_files_and_config() {
    let home = Home::with(&[("workspace/rules/units.md", "Use metric units.")]);
    let mut client = Client::ready(&home);
    let asked = json!({"query": "pasta on tuesday", "kind": "rule"});
    assert_eq!(found(&client.json("search", asked.clone())), ["units"]);
    home.write("workspace/rules/menu.md", "Tuesday is pasta.");
    assert_eq!(found(&client.json("search", asked.clone())), ["menu", "units"]);
    home.write("config.toml", "search.top_k = 1\n");
    assert_eq!(found(&client.json("search", asked.clone())), ["menu"]);
    home.write("config.toml", "search.top_k = \"many\"\n");
    let problem = client.refusal("search", asked.clone());
    assert!(problem.contains("config.toml") && problem.contains("top_k"), "{problem}");
    home.write("config.toml", "");
    assert_eq!(found(&client.json("search", asked)).len(), 2);
    client.end();
}

#[test]
fn recall_finds_messages_and_memories_with_their_sources() {
    let home = talked();
    let mut client = Client::ready(&home);
    let answer = client.json("recall", json!({"query": "where is the ROUTER"}));
    assert_eq!(answer["how"], json!({"words": "no_model"}));
    let messages = answer["messages"].as_array().unwrap();
    let mut told: Vec<[&Value; 4]> = messages
        .iter()
        .map(|found| [&found["role"], &found["text"], &found["name"], &found["turn"]])
        .collect();
    told.sort_by_key(|[role, ..]| role.to_string());
    let (house, turn) = (json!("house"), json!(1));
    let (reply, question) = (json!("The router is in the cellar."), json!("Where is the router?"));
    let roles = (json!("assistant"), json!("user"));
    let expected = [[&roles.0, &reply, &house, &turn], [&roles.1, &question, &house, &turn]];
    assert_eq!(told, expected);
    assert!(messages.iter().all(|found| found["at"].is_string()), "{answer}");
    let one = client.json("recall", json!({"query": "where is the router", "limit": 1}));
    assert_eq!(one["messages"].as_array().unwrap().len(), 1);
    let cat = client.json("recall", json!({"query": "what is the cat called"}));
    assert_eq!(cat["messages"], json!([]));
    let memory = &cat["memories"][0];
    assert_eq!((&memory["kind"], &memory["day"]), (&json!("memory"), &json!("2026-01-02")));
    assert_eq!(memory["text"], "The cat is called Minka.");
    assert!(memory["name"].as_str().unwrap().starts_with("MEMORY.md#"), "{memory}");
    assert!(memory["source"].as_str().unwrap().contains("MEMORY.md"), "{memory}");
    assert!(memory["probability"].is_number(), "{memory}");
    client.end();
}

#[test]
fn context_shows_what_would_be_sent() {
    let home = talked();
    let mut client = Client::ready(&home);
    let message = "How are commit messages written?";
    let report = client.json("context", json!({"message": message}));
    let of_command = home.context(message, &[]);
    // The moment may be another.
    assert_eq!(report["prompt_tokens"], of_command["prompt_tokens"], "{report}");
    for name in ["tools", "items"] {
        assert_eq!(layer(&report, name), layer(&of_command, name));
    }
    let raw = client.json("context", json!({"message": message, "raw": true}));
    assert!(raw["messages"].to_string().contains(message), "{raw}");
    let next = json!({"message": message, "session": "house", "raw": true});
    let in_session = client.json("context", next)["messages"].to_string();
    for text in [message, "The router is in the cellar.", "Thanks a lot!"] {
        assert!(in_session.contains(text), "{in_session}");
    }
    assert_eq!(client.json("context", json!({"message": "a", "model": "m"}))["model"], "m");
    let unknown = client.refusal("context", json!({"message": "a", "session": "hous"}));
    assert!(unknown.contains("no session `hous`") && unknown.contains("`house`"), "{unknown}");
    for session in [json!(null), json!("house")] {
        let asked = json!({"message": "a", "session": session, "model": "n"});
        let unknown = client.refusal("context", asked);
        assert!(unknown.contains("no model `n`") && unknown.contains("`m`"), "{unknown}");
    }
    client.end();
}

#[test]
fn show_gives_the_record() {
    let home = talked();
    let mut client = Client::ready(&home);
    assert_eq!(client.json("show", json!({})), home.json(&["show", "--json"]));
    let mut first = home.json(&["show", "1", "--json"]);
    assert_eq!(client.json("show", json!({"turn": 1})), first);
    let requests = first["requests"].as_array().unwrap().clone();
    assert_eq!(requests.len(), 2);
    first["requests"] = json!([requests[0]]);
    assert_eq!(client.json("show", json!({"turn": 1, "request": 1})), first);
    for request in ["1", "2"] {
        let number: u32 = request.parse().unwrap();
        let sent = home.ok(&["show", "1", "--request", request, "--body"]);
        let asked = json!({"turn": 1, "request": number, "body": true});
        assert_eq!(client.call("show", asked), (sent.clone(), false));
        let last = client.call("show", json!({"turn": 1, "body": true}));
        assert_eq!(last.0 == sent, request == "2");
    }
    let unknown = client.refusal("show", json!({"turn": 99}));
    assert!(unknown.contains("there is no turn `99`\nhint: "), "{unknown}");
    let unknown = client.refusal("show", json!({"turn": 1, "request": 3}));
    assert!(unknown.contains("numbered from 1 to 2"), "{unknown}");
    client.end();
}

#[test]
fn looking_stores_nothing() {
    let home = talked();
    let before = rows(&home);
    assert!(before.iter().any(|(name, rows)| name == "messages" && rows.len() == 6));
    let files = |home: &Home| {
        let mut tree = home.tree();
        tree.retain(|path, _| !path.starts_with(home.path("data")));
        tree
    };
    let files_before = files(&home);
    let mut client = Client::ready(&home);
    client.json("search", json!({"query": "router", "text": true}));
    client.json("recall", json!({"query": "router"}));
    client.json("context", json!({"message": "hello @rule:units"}));
    client.json("context", json!({"message": "hello @rule:units", "session": "house"}));
    client.json("show", json!({}));
    client.end();
    for (before, after) in before.iter().zip(rows(&home)) {
        assert!(*before == after, "table {} has changed", before.0);
    }
    assert_eq!(files(&home), files_before);
}

#[test]
fn a_home_without_a_store_is_searched_and_gets_none() {
    let home = Home::with(&[("workspace/rules/units.md", "Use metric units.")]);
    let before = home.tree();
    let mut client = Client::ready(&home);
    let rules = client.json("search", json!({"query": "metric", "kind": "rule"}));
    assert_eq!(found(&rules), ["units"]);
    let recalled = client.json("recall", json!({"query": "metric"}));
    assert_eq!((&recalled["messages"], &recalled["memories"]), (&json!([]), &json!([])));
    assert!(client.json("context", json!({"message": "hello"}))["layers"].is_array());
    for (tool, arguments) in
        [("show", json!({})), ("context", json!({"message": "a", "session": "b", "model": null}))]
    {
        let problem = client.refusal(tool, arguments);
        assert!(problem.contains("hint: "), "{problem}");
    }
    client.end();
    assert_eq!(home.tree(), before);
}

#[test]
fn a_home_that_is_not_there_is_told_by_every_tool() {
    let home = Home::new();
    let mut client = Client::ready(&home);
    for (tool, arguments) in [
        ("search", json!({"query": "a"})),
        ("recall", json!({"query": "a"})),
        ("context", json!({"message": "a"})),
        ("show", json!({})),
    ] {
        let problem = client.refusal(tool, arguments);
        assert!(problem.contains("no Recto at") && problem.contains("recto init"), "{problem}");
    }
    client.end();
    assert!(!home.path("").exists());
}

#[test]
fn wrong_calls_are_answered_and_the_server_goes_on() {
    let home = Home::with(&[]);
    let mut client = Client::start(&home);
    client.write("this is no JSON");
    client.write("");
    client.initialize();
    for (tool, arguments, expected) in [
        ("search", json!({}), "`query` is missing"),
        ("search", json!({"query": ["a"]}), "`query` must be a string, not a list"),
        ("search", json!({"query": "a", "kind": "rules"}), "one of rule, reference, skill"),
        ("search", json!({"query": "a", "limit": 1000}), "from 1 to 100"),
        ("recall", json!({"query": "a", "lmit": 2}), "Did you mean `limit`?"),
        ("context", json!({"message": "  "}), "`message` is empty"),
        ("show", json!({"turn": "last"}), "`turn` must be a whole number"),
    ] {
        let problem = client.refusal(tool, arguments);
        assert!(problem.contains(expected), "{problem}");
    }
    client.write("{\"jsonrpc\": \"2.0\", \"id\": ");
    client.write(&"[".repeat(10_000));
    let unknown = client.ask("tools/call", json!({"name": "write", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let told = unknown["error"]["message"].as_str().unwrap();
    assert!(told.contains("no tool `write`") && told.contains("search, recall"), "{unknown}");
    let unknown = client.ask("files/delete", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    client.end();
}

#[test]
fn many_calls_at_once_are_all_answered_also_when_the_client_leaves() {
    let home = talked();
    let mut client = Client::ready(&home);
    let mut open: Vec<u64> = Vec::new();
    for number in 0..40 {
        let (tool, arguments) = match number % 4 {
            0 => ("search", json!({"query": "commit messages"})),
            1 => ("recall", json!({"query": "router"})),
            2 => ("context", json!({"message": "hello", "session": "house"})),
            _ => ("show", json!({})),
        };
        open.push(client.send("tools/call", json!({"name": tool, "arguments": arguments})));
    }
    drop(client.input.take());
    while !open.is_empty() {
        let answer = client.next();
        assert!(!said(&answer).1, "{answer}");
        open.retain(|id| answer["id"] != *id);
    }
    client.end();
}

#[test]
fn a_client_that_leaves_at_once_leaves_no_error() {
    assert_eq!(Client::start(&Home::with(&[])).end(), "");
    assert_eq!(Client::ready(&Home::with(&[])).end(), "");
}

#[test]
fn long_answers_are_shortened_in_the_middle() {
    let home = Home::scripted(&[r#"{"content":"Noted."}"#]);
    home.write("workspace/references/long.md", "All work and no play. ".repeat(20_000));
    let long = format!("BEGIN {} END", "x".repeat(400_000));
    let config = "[models.m]\nprovider = \"scripted\"\nscript = \"talk.jsonl\"\nwindow = 900000\n";
    home.write("config.toml", config);
    assert_eq!(home.run_with(&["chat", "-m", "-"], &long, &[]).code, 0);
    let mut client = Client::ready(&home);
    for (tool, arguments) in [
        ("show", json!({})),
        ("show", json!({"body": true})),
        ("context", json!({"message": long, "raw": true})),
    ] {
        let (text, is_error) = client.call(tool, arguments);
        assert!(!is_error && text.len() <= 256 << 10, "{} bytes", text.len());
        assert!(text.starts_with('{') && text.ends_with('}'), "{tool}");
        assert!(text.contains(" bytes left out …]"), "{tool}");
    }
    let asked = json!({"query": "no play", "kind": "reference", "text": true});
    let text = client.json("search", asked)["results"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.len() <= 32 << 10 && text.contains(" bytes left out …]"), "{}", text.len());
    let recalled = client.json("recall", json!({"query": "BEGIN"}));
    assert!(recalled["messages"][0]["text"].as_str().unwrap().len() <= 4 << 10);
    client.end();
}

#[test]
fn warnings_go_to_standard_error_once() {
    let home = Home::with(&[("workspace/rules/bad.md", "---\ninclude: sometimes\n---\nText.")]);
    let mut client = Client::ready(&home);
    client.json("search", json!({"query": "text"}));
    client.json("search", json!({"query": "text"}));
    let told = client.end();
    assert_eq!(told.matches("sometimes").count(), 1, "{told}");
}

/// With the real encoder.
#[test]
fn meaning_finds_what_words_do_not() {
    let home = talked();
    with_encoder(&home);
    let mut client = Client::ready(&home);
    let answer = client.json("recall", json!({"query": "how do we name our kitten"}));
    assert_eq!(answer["memories"][0]["text"], "The cat is called Minka.");
    assert!(answer["memories"][0]["cosine"].as_f64().unwrap() > 0.2, "{answer}");
    let found = client.json("search", json!({"query": "describe my change for git"}));
    assert_eq!(found["how"], "dense");
    client.end();
}
