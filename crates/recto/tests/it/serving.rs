//! `recto serve` itself: one server for a home, the browser that it opens, and many connections that
//! ask for nothing.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;

use crate::running::Running;
use crate::support::*;

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

/// The program that opens a browser, by its name.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

fn scripted() -> Home {
    Home::scripted(&[r#"{"content":"Noon."}"#])
}

/// The address at which a server says that it answers.
fn address_of(server: &Running) -> String {
    let told = server.wait_for_out("/\n");
    told.trim_end().strip_prefix("Recto answers at ").unwrap_or_else(|| panic!("{told}")).to_owned()
}

/// Asks a server for a path, and gives the first line of what it answers.
fn status(address: &str, path: &str) -> String {
    send(address, "GET", path, "")
}

/// Sends JSON to a server, or nothing, and gives the first line of what it answers.
fn send(address: &str, method: &str, path: &str, body: &str) -> String {
    let host = address.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

/// Promise: `one-server-for-a-home`
#[test]
fn a_second_server_of_a_home_says_where_the_first_one_is() {
    let home = scripted();
    let first = home.start(&SERVE);
    let address = address_of(&first);
    let second = home.run(&SERVE);
    second.fails_with(&format!("a server already answers at {address} for this home"));
    assert!(second.err.contains("hint: use that one, or end it first"), "{}", second.err);
    assert_eq!(second.out, "");
    assert_eq!(status(&address, "/healthz"), "HTTP/1.1 200 OK");
    // Another home has a server of its own; and once the first one has ended, there is room.
    let other_home = scripted();
    assert_ne!(address_of(&other_home.start(&SERVE)), address);
    first.interrupt();
    assert_eq!(first.wait().code, 0);
    let third = home.start(&SERVE);
    assert_eq!(status(&address_of(&third), "/healthz"), "HTTP/1.1 200 OK");
}

/// Promise: `one-server-for-a-home`
#[test]
fn a_server_that_was_killed_keeps_nobody_out() {
    let home = scripted();
    let first = home.start(&SERVE);
    address_of(&first);
    // Without a word, as a crash would.
    drop(first);
    let second = home.start(&SERVE);
    assert_eq!(status(&address_of(&second), "/healthz"), "HTTP/1.1 200 OK");
}

/// Promise: `shutdown-loses-nothing`
#[test]
fn a_server_that_ends_takes_nothing_new_and_leaves_what_runs_to_the_next() {
    let home = Home::scripted(&[r#"{"content": "late", "delay_ms": 600000}"#]);
    let config = fs::read_to_string(home.path("config.toml")).unwrap();
    home.write("config.toml", format!("{config}[server]\ngrace = 5\n"));
    let server = home.start(&SERVE);
    let address = address_of(&server);
    let begun = send(&address, "POST", "/api/sessions", r#"{"name": "harbour"}"#);
    assert_eq!(begun, "HTTP/1.1 201 Created");
    let say = || send(&address, "POST", "/api/sessions/1/messages", r#"{"text": "hello"}"#);
    assert_eq!(say(), "HTTP/1.1 202 Accepted");
    let shown = || json(&home.ok(&["sessions", "show", "1", "--json"]));
    wait_until("the turn runs", || shown()["turns"][0]["status"] == "running");
    server.terminate();
    let refused = "HTTP/1.1 503 Service Unavailable";
    wait_until("it says that it ends", || status(&address, "/readyz") == refused);
    assert_eq!(say(), refused);
    assert_eq!(status(&address, "/api/sessions/1"), "HTTP/1.1 200 OK");
    assert_eq!(server.wait().code, 0);
    assert_eq!(shown()["turns"][0]["status"], "running", "it is parked");
    home.write("talk.jsonl", r#"{"content": "Noon."}"#);
    let next = home.start(&SERVE);
    address_of(&next);
    wait_until("it goes on", || shown()["turns"][0]["status"] == "done");
    assert_eq!(shown()["turns"].as_array().unwrap().len(), 1);
    assert_eq!(shown()["messages"][1]["content"], "Noon.");
}

#[test]
fn a_browser_is_opened_at_the_address() {
    let (home, other_home) = (scripted(), scripted());
    let programs = TempDir::new().unwrap();
    let opened = programs.path().join("opened");
    let opener = programs.path().join(OPENER);
    // It is there in one go: whoever waits for it sees all of it.
    let script =
        format!("#!/bin/sh\necho \"$#: $1\" > '{0}.new'\nmv '{0}.new' '{0}'\n", opened.display());
    fs::write(&opener, script).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let usual = std::env::var("PATH").unwrap();
    let path = format!("{}:{usual}", programs.path().display());
    let server = home.start_with(&[&SERVE[..], &["--open"]].concat(), &[("PATH", &path)]);
    let address = address_of(&server);
    wait_until("the browser is opened", || opened.exists());
    assert_eq!(fs::read_to_string(&opened).unwrap(), format!("1: {address}\n"));
    // Without the word nothing is opened.
    fs::remove_file(&opened).unwrap();
    let quiet = other_home.start_with(&SERVE, &[("PATH", &path)]);
    assert_eq!(status(&address_of(&quiet), "/healthz"), "HTTP/1.1 200 OK");
    assert!(!opened.exists());
}

#[test]
fn without_a_program_that_opens_it_the_server_runs_all_the_same() {
    let home = scripted();
    let nothing = TempDir::new().unwrap();
    let path = nothing.path().to_str().unwrap();
    let server = home.start_with(&[&SERVE[..], &["--open"]].concat(), &[("PATH", path)]);
    let address = address_of(&server);
    let told = server.wait_for_err(&address);
    assert!(told.contains("warning: ") && told.contains(OPENER), "{told}");
    assert_eq!(status(&address, "/healthz"), "HTTP/1.1 200 OK");
}

/// How many idle connections are opened, where there may be as many open files.
const IDLE: u64 = 10_000;

/// Files that the test has open beside these connections, and more.
const OTHER_FILES: u64 = 500;

/// Raises the limit of open files as far as it goes and is needed. Gives how many connections there
/// is room for.
fn room_for_connections() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = IDLE + OTHER_FILES;
    let most = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raised = current.map_or(wanted, |current| current.max(most));
    setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).unwrap();
    raised.saturating_sub(OTHER_FILES).min(IDLE)
}

/// Promise: `no-request-holds-the-server`
#[test]
fn thousands_of_idle_connections_keep_nobody_out() {
    let room = room_for_connections();
    if room < IDLE {
        eprintln!("opening {room} connections and not {IDLE}: the limit of open files is low");
    }
    let home = scripted();
    let server = home.start(&SERVE);
    let address = address_of(&server);
    let host = address.trim_start_matches("http://").trim_end_matches('/');
    let idle: Vec<TcpStream> = (0..room).map(|_| TcpStream::connect(host).unwrap()).collect();
    for path in ["/healthz", "/", "/api/sessions"] {
        assert_eq!(status(&address, path), "HTTP/1.1 200 OK", "{path}");
    }
    assert_eq!(idle.len() as u64, room);
    #[cfg(target_os = "linux")]
    {
        // The server itself holds as many as its limit says, and not what it is offered.
        let held = fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count();
        assert!(held < 512 + 100, "{held} files are open");
    }
}
