//! `recto mcp list|check|tools`, with Recto itself as the server, and with
//! servers that are none.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::*;

/// A home whose server `me` is `recto mcp serve` in the same home.
fn home() -> Home {
    let home = Home::with(&[]);
    let program = env!("CARGO_BIN_EXE_recto");
    let folder = home.path("").display().to_string();
    home.write(
        "config.toml",
        format!(
            "[mcp.me]\ncommand = '{program}'\nargs = ['--home', '{folder}', 'mcp', 'serve']\n\
             include = 'agent'\n[items.tool.\"me.show\"]\npermission = 'allow'\n\
             [mcp.off]\nurl = 'http://127.0.0.1:1'\nenabled = false\n"
        ),
    );
    home
}

#[test]
fn servers_are_listed_without_being_started() {
    let home = home();
    let before = home.tree();
    let list = json(&home.ok(&["mcp", "list", "--json"]))["servers"].clone();
    let [me, off] = list.as_array().unwrap().as_slice() else { panic!("{list}") };
    assert_eq!((&me["name"], &me["tools"]), (&"me".into(), &Value::Null));
    assert_eq!((&me["transport"], &me["permission"]), (&"stdio".into(), &"ask".into()));
    assert_eq!((&off["enabled"], &off["transport"]), (&false.into(), &"http".into()));
    assert_eq!(home.tree(), before);
    let drawn = home.ok(&["mcp", "list"]);
    assert!(drawn.contains("unknown") && drawn.contains("off"), "{drawn}");
    let none = Home::with(&[]).run(&["mcp", "list"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert!(none.err.contains("[mcp.NAME]"), "{}", none.err);
}

#[test]
fn a_server_is_asked_once_and_its_tools_are_known_from_then_on() {
    let home = home();
    let check = home.run(&["mcp", "check", "me"]);
    assert_eq!(check.code, 0, "{}{}", check.out, check.err);
    assert!(check.out.starts_with("me: recto "), "{}", check.out);
    let report = json(&home.ok(&["mcp", "check", "--json"]))["servers"].clone();
    assert_eq!((&report[0]["name"], &report[0]["ok"]), (&"me".into(), &true.into()));
    let names = report[0]["tools"].as_array().unwrap();
    assert!(names.contains(&"show".into()) && names.contains(&"search".into()), "{names:?}");
    let list = json(&home.ok(&["mcp", "list", "--json"]))["servers"].clone();
    assert_eq!(list[0]["tools"].as_u64(), Some(names.len() as u64));
    let tools = json(&home.ok(&["mcp", "tools", "me", "--json"]))["tools"].clone();
    let show = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "show").unwrap();
    assert_eq!((&show["server"], &show["include"]), (&"me".into(), &"agent".into()));
    assert_eq!((&show["called"], &show["permission"]), (&"me_show".into(), &"allow".into()));
    assert!(show["description"].as_str().unwrap().starts_with("[server me] "), "{show}");
    // People see them among all tools, by both names.
    let all = home.ok(&["tools", "list"]);
    assert!(all.lines().any(|line| line.starts_with("show ") && line.contains(" me ")), "{all}");
    home.write("config.toml", "tools.disabled = ['me.show']\n".to_owned() + &config(&home));
    let tools = home.ok(&["mcp", "tools"]);
    assert!(!tools.contains("me.show") && tools.contains("me.search"), "{tools}");
}

#[test]
fn a_tool_of_a_server_is_called_by_hand() {
    let home = home();
    let run = home.run(&["tools", "run", "me.search", "--args", r#"{"query": "x"}"#]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let dry = home.run(&["tools", "dry-run", "me.search", "--args", r#"{"query": "x"}"#]);
    assert_eq!(dry.code, 0, "{}{}", dry.out, dry.err);
    assert!(dry.out.contains("me.search"), "{}", dry.out);
    let run = home.run(&["tools", "run", "me.search"]);
    assert_eq!(run.code, 2, "{}{}", run.out, run.err);
}

#[test]
fn a_server_that_cannot_be_used_is_told_with_what_to_do() {
    let home = Home::with(&[(
        "config.toml",
        "[mcp.none]\ncommand = 'no-such-program-here'\n\
         [mcp.dies]\ncommand = 'sh'\nargs = ['-c', 'echo because of this >&2; exit 3']\n\
         [mcp.nowhere]\nurl = 'http://127.0.0.1:1/mcp'\nstart_limit = 5\n",
    )]);
    for (name, told, code) in [
        ("none", "there is no program `no-such-program-here`", "no_program"),
        ("dies", "because of this", "ended"),
        ("nowhere", "can't be reached", "unreachable"),
    ] {
        home.run(&["mcp", "check", name]).fails_with(told);
        let report = home.run(&["mcp", "check", name, "--json"]);
        let server = &json(&report.out)["servers"][0];
        assert_eq!((report.code, &server["ok"]), (1, &false.into()), "{name}");
        assert_eq!(server["error"]["code"], code, "{server:#}");
        assert!(server["error"]["causes"].is_array(), "{server:#}");
    }
    home.run(&["mcp", "tools"]).fails_with("no-such-program-here");
    home.run(&["mcp", "check", "non"]).fails_with("did you mean `none`?");
    home.run(&["mcp", "tools", "x"]).fails_with("`recto mcp list`");
    let mut off = config(&home);
    off.push_str("enabled = false\n");
    home.write("config.toml", off);
    home.run(&["mcp", "check", "nowhere"]).fails_with("is off");
}

#[test]
fn a_server_that_closes_its_output_is_at_its_end_though_it_lives() {
    let home = Home::with(&[(
        "config.toml",
        "[mcp.shut]\ncommand = 'sh'\nargs = ['-c', 'exec >&-; exec sleep 100']\nstart_limit = 90\n",
    )]);
    let begun = Instant::now();
    let report = home.run(&["mcp", "check", "shut", "--json"]);
    let server = &json(&report.out)["servers"][0];
    assert_eq!((report.code, &server["error"]["code"]), (1, &"ended".into()), "{server:#}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

/// Promise: `last-failure-is-kept`
#[test]
fn the_doctor_tells_how_the_last_try_of_a_server_ended() {
    let (lost, locked) = (refusing("404 Not Found"), refusing("401 Unauthorized"));
    let home = Home::with(&[(
        "config.toml",
        &format!(
            "[mcp.nope]\ncommand = 'no-such-program-here'\n[mcp.web]\nurl = '{lost}'\n\
             [mcp.locked]\nurl = '{locked}'\n[mcp.never]\ncommand = 'true'\n"
        ),
    )]);
    let finding = |name: &str| {
        let doctor = json(&home.run(&["doctor", "--json"]).out);
        let findings = doctor["findings"].as_array().unwrap();
        let subject = format!("server {name}");
        findings.iter().find(|found| found["subject"] == subject.as_str()).unwrap().clone()
    };
    home.run(&["mcp", "check", "nope"]).fails_with("there is no program");
    let web = home.run(&["mcp", "check", "web"]);
    assert!(web.err.contains("HTTP status 404"), "{}", web.err);
    assert!(web.err.contains("`mcp.web.url`"), "{}", web.err);
    assert!(!web.err.contains("recto mcp check web"), "the hint goes in a circle: {}", web.err);
    home.run(&["mcp", "check", "locked"]).fails_with("refuses the key, or wants one");
    for (name, code, why, hint) in [
        ("nope", "no_program", "there is no program `no-such-program-here`", "install it"),
        ("web", "status", "answered with HTTP status 404", "is `mcp.web.url` the whole address"),
        (
            "locked",
            "unauthorized",
            "refuses the key, or wants one",
            "let `mcp.locked.api_key_env` name",
        ),
    ] {
        let found = finding(name);
        let text = found["message"].as_str().unwrap();
        assert_eq!(found["state"], "warning", "{found:#}");
        assert!(text.contains("when it was last asked, at 2") && text.contains(why), "{text}");
        assert!(found["hint"].as_str().unwrap().starts_with(hint), "{found:#}");
        assert_eq!(found["data"]["last_failure"]["code"], code, "{found:#}");
        assert!(found["data"]["last_failure"]["at"].is_string(), "{found:#}");
    }
    let never = finding("never");
    assert!(never["message"].as_str().unwrap().contains("never asked"), "{never:#}");
    assert_eq!(never["data"]["last_failure"], Value::Null);
    // Another set-up is another server, of which nothing is known.
    let config = config(&home).replace("no-such-program-here", env!("CARGO_BIN_EXE_recto"));
    let folder = home.path("").display().to_string();
    let args = format!("args = ['--home', '{folder}', 'mcp', 'serve']\n[mcp.web]");
    home.write("config.toml", config.replacen("[mcp.web]", &args, 1));
    let nope = finding("nope");
    assert!(nope["message"].as_str().unwrap().contains("never asked"), "{nope:#}");
    home.ok(&["mcp", "check", "nope"]);
    assert_eq!(finding("nope")["state"], "ok");
}

/// The address of a web server that refuses whatever it is asked.
fn refusing(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 65_536]);
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

fn config(home: &Home) -> String {
    std::fs::read_to_string(home.path("config.toml")).unwrap()
}

#[test]
fn a_call_by_hand_says_why_the_server_failed() {
    let home = Home::with(&[]);
    let failing = "[mcp.bad]\ncommand = 'sh'\nargs = ['-c', 'echo no berth >&2; exit 3']\n";
    home.write("config.toml", failing);
    let run = home.run(&["tools", "run", "bad.look"]);
    assert_ne!(run.code, 0);
    assert!(run.err.contains("the MCP server `bad`"), "{}", run.err);
    assert!(run.err.contains("no berth"), "{}", run.err);
    assert!(!run.err.contains("there is no tool"), "{}", run.err);
}
