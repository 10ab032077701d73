//! Attempts to get out of the sandbox, or to be allowed more than a person did.
//!
//! Every attempt is made twice. First directly, without Recto: there it has to do
//! its harm, which shows that it is a real one. Then by a tool that a skill
//! declares: there the harm must not be done, and the program must be told what
//! its guard says, which shows that it was run and what stopped it.
//!
//! All harm is done inside a folder that goes away with the test, and what takes
//! much of the machine is bounded by itself. Besides what every Linux has, this
//! needs perl and git.
//!
//! How many attempts were made is counted in the folder `escape-attempts` of cargo's own folder
//! for temporary files, a line for each; `make escape` makes them all and says how many, and which
//! everyday programs were missing.

mod arguments;
mod everyday;
mod executable;
mod files;
mod flags;
mod guests;
mod limits;
mod linked;
mod messages;
mod metadata;
mod network;
mod outliving;
mod own;
mod planted;
mod private;
mod processes;
mod schema;
mod servers;
mod swaps;
mod trust;
mod turns;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Home, Run, wait_until};

/// What a program is told by Landlock.
const NO_ACCESS: &str = "Permission denied";

/// What it is told first where it has a view of its own, in which all else is read-only.
const READ_ONLY: &str = "Read-only file system";

/// What a program is told by seccomp, and by a capability that it lacks.
const NOT_PERMITTED: &str = "Operation not permitted";

/// What is in the file that nobody may see.
const SECRET: &str = "the family silver";

/// A home with a workspace that has something of everything, and beside it what
/// belongs to the person.
struct Place {
    home: Home,
    /// The folder of the test, without links.
    folder: String,
}

impl Place {
    /// With a skill `harm` whose tool runs this program so, and these lines of config.
    fn new(binary: &str, execution: &Value, config: &str) -> Self {
        let skill = "---\nname: harm\ndescription: Does harm.\n---\nDo not use it.";
        let home = Home::with(&[
            ("workspace/skills/harm/SKILL.md", skill),
            ("workspace/skills/harm/scripts/run.sh", "#!/bin/sh\n"),
            ("workspace/agents/helper/agent.toml", "description = 'Helps.'\n"),
            ("workspace/rules/polite.md", "Be polite."),
            ("workspace/references/map.md", "A map."),
            ("workspace/memory/MEMORY.md", "They like tea."),
            ("workspace/memory/2026-01-02.md", "It rained."),
            ("workspace/memory/notes/tea.md", "Green tea."),
            ("workspace/.recto/notes.md", "Recto's own."),
            ("workspace/SOUL.md", "I am kind."),
            ("workspace/USER.md", "A person."),
            ("workspace/notes/a.txt", "a note"),
            ("workspace/notes/inner/secret", "no secret"),
            ("workspace/list.txt", "a list"),
            ("../outside/secret", SECRET),
            ("../outside/person/.ssh/id", SECRET),
        ]);
        let folder = home.path("..").canonicalize().unwrap().display().to_string();
        let place = Place { home, folder };
        let link = place.path("WORKSPACE/link");
        std::os::unix::fs::symlink(place.path("OUTSIDE/secret"), link).unwrap();
        let config = place.fill(&format!("tools.sandbox = 'required'\n{config}"));
        place.home.write("config.toml", config);
        place.declare(&declared(binary, execution));
        place.trust();
        place
    }

    /// Gives the skill another tools.json.
    fn declare(&self, declared: &Value) {
        let text = self.fill(&declared.to_string());
        self.home.write("workspace/skills/harm/tools.json", text);
    }

    /// A person has looked at the skill. With this the store is there as well.
    fn trust(&self) {
        self.home.ok(&["tools", "trust", "harm"]);
    }

    /// A text with the names of the folders replaced by their paths.
    fn fill(&self, text: &str) -> String {
        let folder = &self.folder;
        text.replace("WORKSPACE", &format!("{folder}/home/workspace"))
            .replace("OUTSIDE", &format!("{folder}/outside"))
            .replace("RECTO", &format!("{folder}/home"))
    }

    fn path(&self, text: &str) -> PathBuf {
        PathBuf::from(self.fill(text))
    }

    /// What is at a path: its mode and its content, if it is a file.
    fn state(&self, path: &str) -> Option<(u32, Vec<u8>)> {
        let path = self.path(path);
        let found = fs::symlink_metadata(&path).ok()?;
        Some((found.mode(), fs::read(path).unwrap_or_default()))
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    /// Whether a process is left that works in the workspace. By their numbers, programs that
    /// have processes of their own can't be found.
    fn is_anyone_left(&self) -> bool {
        let workspace = self.path("WORKSPACE");
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let mut folders = entries.filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok());
        folders.any(|folder| folder.starts_with(&workspace))
    }

    /// The program itself, with nobody around it.
    fn direct(&self, argv: &[String], variables: &[(&str, String)]) -> Command {
        let mut command = Command::new(&argv[0]);
        command
            .args(&argv[1..])
            .current_dir(self.path("WORKSPACE"))
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            .env("HOME", self.path("OUTSIDE/person"))
            .env("TMPDIR", self.path("OUTSIDE"))
            .envs(variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The tool `act` of the skill, called by hand with these arguments.
    fn tool(&self, arguments: &str, variables: &[(&str, String)]) -> Command {
        let mut command = self.home.command(&["tools", "run", "act", "--args", arguments]);
        command
            .current_dir(self.path("WORKSPACE"))
            .stdin(Stdio::null())
            .env("HOME", self.path("OUTSIDE/person"))
            .envs(variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// A tools.json with one tool `act`, which takes any `x` and `y` and is run so.
fn declared(binary: &str, execution: &Value) -> Value {
    let mut whole = json!({ "tool": "act", "binary": binary });
    for (key, value) in execution.as_object().unwrap() {
        whole[key] = value.clone();
    }
    let used = |name: &str| execution.to_string().contains(&format!("\"{name}\""));
    let mut properties = json!({});
    for name in ["x", "y"].into_iter().filter(|name| used(name)) {
        properties[name] = json!({});
    }
    json!({
        "tools": [{
            "name": "act",
            "description": "Acts.",
            "parameters": { "type": "object", "properties": properties }
        }],
        "allowlist": { binary: [""], "echo": [""] },
        "execution": [whole],
    })
}

/// Something that must not come to pass.
struct Attempt {
    argv: Vec<String>,
    execution: Value,
    arguments: Value,
    config: String,
    variables: Vec<(&'static str, String)>,
    harms: Vec<Harm>,
    told: Vec<String>,
}

/// How harm is recognized.
enum Harm {
    /// Something else is at this path, or nothing, or it has another mode.
    Changes(String),
    /// This is in what the program wrote.
    Prints(String),
}

impl Attempt {
    /// This program with these arguments.
    fn of(argv: &[&str]) -> Self {
        let literals: Vec<Value> =
            argv[1..].iter().map(|text| json!({ "kind": "literal", "flag": text })).collect();
        Attempt {
            argv: argv.iter().map(|&text| text.to_owned()).collect(),
            execution: json!({ "args": literals }),
            arguments: json!({}),
            config: String::new(),
            variables: Vec::new(),
            harms: Vec::new(),
            told: Vec::new(),
        }
    }

    /// A program in perl, which can do all that a program can.
    fn perl(code: &str) -> Self {
        Attempt::of(&["perl", "-e", code])
    }

    /// The tool has these arguments declared, and a model calls it with those.
    fn through(mut self, args: &Value, arguments: Value) -> Self {
        self.execution["args"] = args.clone();
        self.arguments = arguments;
        self
    }

    /// What else the skill declares for it.
    fn declaring(mut self, key: &str, value: Value) -> Self {
        self.execution[key] = value;
        self
    }

    fn config(mut self, lines: &str) -> Self {
        lines.clone_into(&mut self.config);
        self
    }

    /// A variable of Recto's own environment.
    fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    fn changes(mut self, path: &str) -> Self {
        self.harms.push(Harm::Changes(path.to_owned()));
        self
    }

    fn prints(mut self, text: &str) -> Self {
        self.harms.push(Harm::Prints(text.to_owned()));
        self
    }

    /// What the program or the model must be told.
    fn told(mut self, text: &str) -> Self {
        self.told.push(text.to_owned());
        self
    }

    /// Tries it, and counts it: directly it does harm, and as a tool it does not.
    #[track_caller]
    fn is_stopped(&self) {
        note_attempt();
        let place = self.place();
        let before = self.states(&place);
        let output = self.control(&place).output().unwrap();
        let text = both(&output.stdout, &output.stderr);
        let harms = self.done(&place, &before, &text);
        assert!(harms.iter().all(|done| *done), "no real attempt, {harms:?}: {text}");

        let place = self.place();
        let before = self.states(&place);
        let run = self.run(&place);
        let harms = self.done(&place, &before, &run);
        assert!(!harms.contains(&true), "harm was done, {harms:?}: {run}");
        for told in &self.told {
            assert!(is_told(&run, &place.fill(told)), "not told {told:?}: {run}");
        }
        assert!(!run.contains("panicked"), "{run}");
    }

    fn place(&self) -> Place {
        Place::new(&self.argv[0], &self.execution, &self.config)
    }

    fn control(&self, place: &Place) -> Command {
        let argv: Vec<String> = self.argv.iter().map(|text| place.fill(text)).collect();
        place.direct(&argv, &self.variables(place))
    }

    fn tool(&self, place: &Place) -> Command {
        place.tool(&place.fill(&self.arguments.to_string()), &self.variables(place))
    }

    fn run(&self, place: &Place) -> String {
        let output = self.tool(place).output().unwrap();
        both(&output.stdout, &output.stderr)
    }

    fn variables(&self, place: &Place) -> Vec<(&'static str, String)> {
        self.variables.iter().map(|(name, value)| (*name, place.fill(value))).collect()
    }

    fn states(&self, place: &Place) -> Vec<Option<(u32, Vec<u8>)>> {
        let state = |harm: &Harm| match harm {
            Harm::Changes(path) => place.state(path),
            Harm::Prints(_) => None,
        };
        self.harms.iter().map(state).collect()
    }

    fn done(&self, place: &Place, before: &[Option<(u32, Vec<u8>)>], text: &str) -> Vec<bool> {
        assert!(!self.harms.is_empty(), "it says no harm that could be done");
        let done = |(harm, before): (&Harm, &Option<(u32, Vec<u8>)>)| match harm {
            Harm::Changes(path) => place.state(path) != *before,
            Harm::Prints(words) => text.contains(words.as_str()),
        };
        self.harms.iter().zip(before).map(done).collect()
    }
}

/// Whether a program was told so, by one guard or the other.
fn is_told(text: &str, told: &str) -> bool {
    text.contains(told) || text.contains(&told.replace(NO_ACCESS, READ_ONLY))
}

/// Counts an attempt, for whoever wants to know how many there are.
fn note_attempt() {
    note("escape-attempts", std::thread::current().name().unwrap_or_default());
}

/// Writes a line for whoever runs all of these tests, into a folder of that name.
fn note(folder: &str, line: &str) {
    use std::io::Write as _;
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(std::process::id().to_string());
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    writeln!(file, "{line}").unwrap();
}

fn both(stdout: &[u8], stderr: &[u8]) -> String {
    format!("{}{}", String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr))
}

/// All that a run of Recto said.
fn said(run: &Run) -> String {
    format!("{}{}", run.out, run.err)
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Whether a process is there and has not ended.
fn is_alive(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Ends processes that a control left, and a test started.
fn end(ids: &[u32]) {
    for id in ids {
        _ = Command::new("kill").args(["-9", &id.to_string()]).stderr(Stdio::null()).status();
    }
}

/// A process that has nothing to do with Recto, and ends with the test.
struct Bystander(Child);

impl Bystander {
    fn new() -> Self {
        Bystander(Command::new("sleep").arg("120").stdin(Stdio::null()).spawn().unwrap())
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}
