//! The process is killed at any instant, hundreds of times, and nothing that it
//! acknowledged is lost, doubled or half done.
//!
//! A run begins like one of a person who pipes messages in, and ends by SIGKILL:
//! some time after its start, or when it tells of a certain event. The next run
//! finds what was left, and may be killed while it clears that up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Home;

/// How often a process is killed.
const KILLS: u32 = 210;
/// So many kills lie between two looks at everything.
const KILLS_A_LOOK: u32 = 15;
/// Messages of one run. The last of them are never reached by most runs.
const MESSAGES: u32 = 3;
/// The lines of a file that the model writes: more than a page of the disk.
const LINES: usize = 500;

/// Promise: `killed-at-any-instant`
#[test]
fn what_was_acknowledged_survives_kills_at_any_instant() {
    let seed = 0x5eed_0003;
    let mut trial = Trial::new(seed);
    for number in 1..=KILLS {
        trial.kill_once(number);
        if number % KILLS_A_LOOK == 0 {
            trial.settle();
            trial.check();
        }
    }
    trial.check_everything_was_hit();
}

/// When a run is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Instant {
    /// So long after the start.
    Started,
    /// When an event was told; another after each of them.
    Accepted,
    Requested,
    Text,
    Call,
    Result,
    Finished,
}

impl Instant {
    /// The start stands here twice: recovery runs then.
    const ALL: [Instant; 8] = [
        Instant::Started,
        Instant::Started,
        Instant::Accepted,
        Instant::Requested,
        Instant::Text,
        Instant::Call,
        Instant::Result,
        Instant::Finished,
    ];

    fn event(self) -> Option<&'static str> {
        match self {
            Instant::Started => None,
            Instant::Accepted => Some("accepted"),
            Instant::Requested => Some("requested"),
            Instant::Text => Some("text"),
            Instant::Call => Some("call"),
            Instant::Result => Some("result"),
            Instant::Finished => Some("finished"),
        }
    }
}

struct Trial {
    home: Home,
    seed: u64,
    chance: Chance,
    kills: u32,
    /// All that was piped in.
    said: BTreeSet<String>,
    /// What the program told to have stored.
    acknowledged: BTreeSet<String>,
    /// How many runs were killed when they had told of an event of this kind last.
    last_events: BTreeMap<String, u32>,
}

impl Trial {
    fn new(seed: u64) -> Self {
        let config = "tools.approval = \"never\"\n[models.script]\nprovider = \"scripted\"\n\
             script = \"answers.jsonl\"\nwindow = 8192\n";
        Trial {
            home: Home::with(&[("config.toml", config)]),
            seed,
            chance: Chance(seed),
            kills: 0,
            said: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            last_events: BTreeMap::new(),
        }
    }

    /// Starts the program, lets it run for a while, and kills it.
    fn kill_once(&mut self, number: u32) {
        self.kills = number;
        let script = self.script();
        self.home.write("answers.jsonl", script);
        let texts: Vec<String> =
            (1..=MESSAGES).map(|message| format!("message {number}.{message}")).collect();
        self.said.extend(texts.iter().cloned());
        let mut child = self.start();
        let mut input = child.stdin.take().unwrap();
        // Input stays open, so that the program never ends by itself.
        input.write_all((texts.join("\n") + "\n").as_bytes()).unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let instant = self.chance.one_of(&Instant::ALL);
        let mut events = Vec::new();
        match instant.event() {
            None => sleep(self.chance.time(0..60_000)),
            Some(event) => {
                let times = self.chance.number(1..3);
                read_until(&mut output, &mut events, event, times);
                sleep(self.chance.time(0..3_000));
            }
        }
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert!(cfg!(windows) || status.code().is_none(), "{}: it ended by itself", self.place());
        drop(input);
        read_rest(&mut output, &mut events);
        self.take_in(&texts, &events);
        self.check_files();
    }

    fn start(&self) -> Child {
        Command::new(env!("CARGO_BIN_EXE_recto"))
            .arg("--home")
            .arg(self.home.path(""))
            .args(["chat", "--json", "--session", "k"])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// What the model says in a run: for each message it writes a file, reads
    /// another and talks.
    fn script(&mut self) -> String {
        let mut lines = String::new();
        for message in 0..MESSAGES + 1 {
            let content = format!("{}.{message}\n", self.kills).repeat(LINES);
            let write = json!({"name": "write_file", "arguments": {"path": "whole.txt", "content": content}});
            let small =
                json!({"path": "small.txt", "content": format!("{}.{message}", self.kills)});
            let both = [write, json!({"name": "write_file", "arguments": small})];
            let read = json!({"name": "read_file", "arguments": {"path": "small.txt"}});
            for line in [
                json!({"content": "I write.", "tool_calls": both, "delay_ms": self.chance.number(0..4)}),
                json!({"tool_calls": [read], "delay_ms": self.chance.number(0..4)}),
                json!({"content": "It is done, all of it.", "delay_ms": self.chance.number(0..4)}),
            ] {
                lines += &format!("{line}\n");
            }
        }
        lines
    }

    /// The program handles one line after the other, so the first message is the
    /// one that it told of first.
    fn take_in(&mut self, texts: &[String], events: &[Value]) {
        let accepted = events.iter().filter(|event| event["event"] == "accepted").count();
        self.acknowledged.extend(texts.iter().take(accepted).cloned());
        let last = events.last().map_or("nothing", |event| event["event"].as_str().unwrap());
        *self.last_events.entry(last.to_owned()).or_default() += 1;
    }

    /// Starts the program without a message: it finishes what was left, and ends.
    fn settle(&mut self) {
        let script = self.script();
        self.home.write("answers.jsonl", script);
        let run = self.home.run(&["chat", "--json", "--session", "k"]);
        assert_eq!(run.code, 0, "{}: {}{}", self.place(), run.out, run.err);
    }

    /// Where the test is, to be seen when it fails.
    fn place(&self) -> String {
        format!("seed {:#x}, after {} kills", self.seed, self.kills)
    }

    /// Looks at all that is stored.
    fn check(&self) {
        let place = self.place();
        let shown = self.home.run(&["sessions", "show", "k", "--json"]);
        assert_eq!(shown.code, 0, "{place}: {}", shown.err);
        let session: Value = serde_json::from_str(&shown.out).unwrap();
        let messages = session["messages"].as_array().unwrap();
        let ids: Vec<u64> =
            messages.iter().map(|message| message["id"].as_u64().unwrap()).collect();
        assert!(ids.iter().copied().eq(1..=ids.len() as u64), "{place}: {ids:?}");
        self.check_messages(messages);
        let mut by_turn: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
        for message in messages {
            by_turn.entry(message["turn"].as_u64().unwrap()).or_default().push(message);
        }
        let turns = session["turns"].as_array().unwrap();
        assert_eq!(turns.len(), by_turn.len(), "{place}");
        for turn in turns {
            let of_turn = &by_turn[&turn["id"].as_u64().unwrap()];
            check_turn(turn, of_turn).unwrap_or_else(|problem| {
                panic!("{place}: {problem} in {turn:#}\n{of_turn:#?}");
            });
        }
        let verified = self.home.run(&["replay", "--verify"]);
        assert_eq!(verified.code, 0, "{place}: {}{}", verified.out, verified.err);
        self.check_counts(turns.len());
    }

    /// Every turn and every request is counted once, whatever it was interrupted by.
    fn check_counts(&self, turns: usize) {
        let run = |arguments: &[&str]| -> Value {
            serde_json::from_str(&self.home.ok(arguments)).unwrap()
        };
        let requests = run(&["replay", "--verify", "--json"])["requests"].as_array().unwrap().len();
        let counted = run(&["stats", "--since", "all", "--json"]);
        assert_eq!(
            (&counted["turns"]["all"], &counted["tokens"]["requests"]),
            (&json!(turns), &json!(requests)),
            "{}",
            self.place()
        );
    }

    /// Every acknowledged message is there once, and nothing that nobody said.
    fn check_messages(&self, messages: &[Value]) {
        let place = self.place();
        let users = messages.iter().filter(|message| message["role"] == "user");
        let mut kept = BTreeSet::new();
        for text in users.map(|message| message["content"].as_str().unwrap()) {
            assert!(kept.insert(text), "{place}: {text} is there twice");
            assert!(self.said.contains(text), "{place}: nobody said {text}");
        }
        let lost: Vec<_> =
            self.acknowledged.iter().filter(|text| !kept.contains(text.as_str())).collect();
        assert!(lost.is_empty(), "{place}: {lost:?} are lost");
    }

    /// A file is as the model wrote it, once or another time.
    fn check_files(&self) {
        let place = self.place();
        let Ok(whole) = fs::read_to_string(self.home.path("workspace/whole.txt")) else { return };
        let first = whole.lines().next().unwrap_or_default();
        assert!(!first.is_empty(), "{place}: the file is empty");
        assert_eq!(whole, format!("{first}\n").repeat(LINES), "{place}: the file is half written");
    }

    /// The kills were spread over all of a turn.
    fn check_everything_was_hit(&self) {
        let hit = &self.last_events;
        for event in ["nothing", "accepted", "requested", "text", "call", "result", "finished"] {
            assert!(hit.contains_key(event), "seed {:#x}: no kill at {event}: {hit:?}", self.seed);
        }
        assert!(self.acknowledged.len() > 100, "only {}", self.acknowledged.len());
    }
}

/// What must hold of a turn and its messages.
fn check_turn(turn: &Value, messages: &[&Value]) -> Result<(), String> {
    let status = turn["status"].as_str().unwrap_or_default();
    if !["done", "failed", "stopped", "interrupted"].contains(&status) {
        return Err(format!("status {status}"));
    }
    let roles: Vec<&str> =
        messages.iter().map(|message| message["role"].as_str().unwrap_or_default()).collect();
    if roles.first() != Some(&"user") || roles[1..].contains(&"user") {
        return Err("not one user message, and that first".to_owned());
    }
    let has_calls =
        |message: &Value| message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
    let replies =
        messages.iter().filter(|message| message["role"] == "assistant" && !has_calls(message));
    let (replies, errors) =
        (replies.count(), roles.iter().filter(|role| **role == "error").count());
    if replies + errors != 1 {
        return Err(format!("{replies} replies and {errors} errors"));
    }
    if (status == "done") != (replies == 1) {
        return Err(format!("{status} with {replies} replies"));
    }
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let mut calls: Vec<&str> = calls.filter_map(|call| call["id"].as_str()).collect();
    let mut results: Vec<&str> =
        messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    calls.sort_unstable();
    results.sort_unstable();
    if calls != results {
        return Err(format!("calls {calls:?}, but results {results:?}"));
    }
    Ok(())
}

/// Reads events until one of a kind came so many times, or all turns are over.
fn read_until(
    output: &mut BufReader<ChildStdout>,
    events: &mut Vec<Value>,
    kind: &str,
    times: u64,
) {
    let (mut seen, mut own, mut over) = (0, BTreeSet::new(), 0);
    // Turns of an earlier run are finished, but not accepted again.
    while seen < times && over < MESSAGES {
        let Some(event) = next_event(output) else { return };
        let turn = event["turn"].as_u64();
        if event["event"] == "accepted" {
            own.insert(turn);
        }
        over += u32::from(event["event"] == "finished" && own.contains(&turn));
        seen += u64::from(event["event"] == kind);
        events.push(event);
    }
}

/// Reads what the program had told before it was killed. A line that was cut off
/// tells nothing.
fn read_rest(output: &mut BufReader<ChildStdout>, events: &mut Vec<Value>) {
    while let Some(event) = next_event(output) {
        events.push(event);
    }
}

fn next_event(output: &mut BufReader<ChildStdout>) -> Option<Value> {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    line.ends_with('\n').then(|| serde_json::from_str(&line).unwrap())
}

/// Numbers that look random, and are the same for the same seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn number(&mut self, range: Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }

    fn time(&mut self, microseconds: Range<u64>) -> Duration {
        Duration::from_micros(self.number(microseconds))
    }

    fn one_of<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.number(0..things.len() as u64) as usize]
    }
}
