//! What a call would do, as fields; and the one way in which they are put into words.
//!
//! Nothing here decides what is run. The hash that a person's word is held against
//! is made where the call is prepared, of more than can be shown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use recto_context::{Reveal, byte_words, reveal};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::sandbox::{ProgramReach, escape_path, join_paths};

/// The fields of an action, by what would do it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ActionFields {
    /// A program of a skill would run.
    Program(Box<ProgramFields>),
    /// A file would be written.
    File(FileFields),
    /// An MCP server would be called.
    Server(ServerFields),
    /// A tool of Recto's own would do something that its arguments say.
    Call(CallFields),
}

/// A program that would run, and all that it could reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct ProgramFields {
    pub program: String,
    /// The program with its arguments.
    pub argv: Vec<String>,
    /// Commands that run before it and whose output becomes a part of its arguments.
    pub first: Vec<Vec<String>>,
    pub stdin: Option<String>,
    /// The folder that it runs in.
    pub folder: String,
    /// Its variables. Of those that a person granted only the names are told, because
    /// keys are among them.
    pub environment: BTreeMap<String, String>,
    #[serde(flatten)]
    pub reach: ProgramReach,
    /// The files that its arguments name as those to write. They stand first in `reach.writes`, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named_files: Vec<NamedFile>,
    /// Whether it is declared to change nothing, and held to that by the guards.
    #[serde(default)]
    pub only_reads: bool,
    pub time_limit_seconds: u64,
    /// The skill that brings it, where the person who is asked sees it for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen_skill: Option<UnseenSkill>,
    /// The guards that hold it to this, in words.
    pub guards: String,
    pub all_guards_hold: bool,
}

/// A file that an argument of a program names as one to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedFile {
    /// Its absolute path; or the mark of a value that another command turns into a path.
    pub path: String,
    /// What becomes of it; `None` where that command has to run first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<FileChange>,
}

/// A skill that nobody has looked at, and to which the config gives rights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct UnseenSkill {
    pub name: String,
    pub folder: String,
    /// What the config gives it, each in a few words.
    pub rights: Vec<String>,
}

/// A file that would be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct FileFields {
    /// From the workspace's folder.
    pub path: String,
    pub change: FileChange,
    /// The lines that would change, with a few around them. Where those that are there can't be
    /// shown, the new ones.
    pub diff: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_note: Option<DiffNote>,
    pub bytes_before: Option<u64>,
    pub bytes_after: u64,
}

/// What the lines of a file that would be written don't tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffNote {
    /// The file would be new, and empty.
    Empty,
    /// The file is there with these very bytes.
    Unchanged,
    /// What is there is not UTF-8, so its lines can't be shown.
    NotUtf8,
    /// What is there is more than is compared.
    TooLong,
}

/// Whether a file is there before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// It would be new.
    Create,
    /// Another text would take the place of its own.
    Replace,
}

/// A call of an MCP server's tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct ServerFields {
    pub server: String,
    pub tool: String,
    /// The command or the address of the server.
    pub place: String,
    /// What its program may do in its sandbox, beside what all may; nothing where it is in none.
    #[serde(default)]
    pub sandbox: Option<Vec<String>>,
    pub arguments: Value,
}

/// A call of which the arguments say everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields that say it have no text of their own")]
pub struct CallFields {
    /// What it does, in a few words.
    pub what: String,
    pub arguments: Value,
}

impl ActionFields {
    /// The action in one line.
    pub fn title(&self) -> String {
        match self {
            ActionFields::Program(program) => {
                program.argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
            }
            ActionFields::File(FileFields { change, path, .. }) => match change {
                FileChange::Create => format!("create {path}"),
                FileChange::Replace => format!("replace {path}"),
            },
            ActionFields::Server(ServerFields { server, tool, .. }) => format!("{server}.{tool}"),
            ActionFields::Call(call) => call.what.clone(),
        }
    }

    /// The whole action.
    pub fn detail(&self) -> String {
        match self {
            ActionFields::Program(program) => program.describe(),
            ActionFields::File(file) => file.describe(),
            ActionFields::Server(server) => server.describe(),
            ActionFields::Call(call) => format!("{:#}", call.arguments),
        }
    }

    /// The skill that gets its rights with the first word for it, if this is its first call.
    pub fn unseen_skill(&self) -> Option<&UnseenSkill> {
        match self {
            ActionFields::Program(program) => program.unseen_skill.as_ref(),
            _ => None,
        }
    }
}

impl ServerFields {
    fn describe(&self) -> String {
        let ServerFields { server, tool, place, sandbox, arguments } = self;
        let rights = match sandbox.as_deref() {
            None => String::new(),
            Some([]) => ", in its sandbox without further rights".to_owned(),
            Some(rights) => {
                format!(", in its sandbox ({})", reveal(&rights.join(", "), Reveal::Line))
            }
        };
        format!("{server}.{tool}, by the MCP server at {place}{rights}, with\n{arguments:#}")
    }
}

impl UnseenSkill {
    /// What a person has to know before they allow its first call.
    pub fn describe(&self) -> String {
        let UnseenSkill { name, folder, rights } = self;
        let (name, place) = (json!(name), json!(format!("{folder}/tools.json")));
        let rights = reveal(&rights.join(", "), Reveal::Line);
        format!(
            "first call of skill {name}, at which nobody has looked yet: see {place}\n\
             who allows it gives this skill its rights, for this and all later calls: {rights}\n"
        )
    }

    /// The name as it can stand in a line.
    pub fn shown_name(&self) -> String {
        reveal(&self.name, Reveal::Line)
    }
}

impl FileFields {
    /// What the lines don't tell, in words.
    pub fn describe_note(&self) -> Option<String> {
        let replaced = |why: &str| {
            let before = byte_words(self.bytes_before.unwrap_or_default());
            format!("All of it would be replaced, {before} that are not shown: {why}.")
        };
        Some(match self.diff_note? {
            DiffNote::Empty => "The file would be empty.".to_owned(),
            DiffNote::Unchanged => "Nothing in it would change.".to_owned(),
            DiffNote::NotUtf8 => replaced("they are not UTF-8"),
            DiffNote::TooLong => replaced("they are too many to be compared"),
        })
    }

    fn describe(&self) -> String {
        let note = self.describe_note().map(|note| note + "\n").unwrap_or_default();
        note + &self.diff
    }
}

impl ProgramFields {
    /// What it would write, in a line: first the files that its arguments name.
    pub fn describe_writes(&self) -> String {
        let is_named = |path: &&String| self.named_files.iter().any(|file| file.path == **path);
        let others: Vec<String> =
            self.reach.writes.iter().filter(|path| !is_named(path)).cloned().collect();
        let mut said: Vec<String> = self.named_files.iter().map(NamedFile::describe).collect();
        if !others.is_empty() {
            let also = if said.is_empty() { "may change" } else { "may also change" };
            said.push(format!("{also} {}", join_paths(&others, "")));
        }
        match (said.is_empty(), self.only_reads) {
            (true, true) => "nothing: it only reads".to_owned(),
            (true, false) => {
                "no file that is there now; it is not declared to read only".to_owned()
            }
            (false, _) if self.all_guards_hold => format!("{}; nothing else", said.join("; ")),
            (false, _) => said.join("; "),
        }
    }

    fn describe(&self) -> String {
        let mut text = self.unseen_skill.as_ref().map(UnseenSkill::describe).unwrap_or_default();
        for step in &self.first {
            let _ = writeln!(text, "first: {}", json!(step));
        }
        let _ = writeln!(text, "argv: {}", json!(self.argv));
        if !self.first.is_empty() {
            text += "not final: what is marked `‹resolved from …›` is resolved by the command \
                     above when it runs\n";
        }
        if let Some(stdin) = &self.stdin {
            let _ = writeln!(text, "stdin: {}", json!(stdin));
        }
        let variables: Vec<String> =
            self.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        // Names can have line breaks, which must not begin a line of ours.
        let _ = writeln!(text, "in: {}", reveal(&self.folder, Reveal::Line));
        let variables = reveal(&variables.join(" "), Reveal::Line);
        let _ = writeln!(text, "environment: {variables}");
        text += &self.reach.describe(&self.describe_writes());
        let _ = writeln!(text, "time limit: {} s", self.time_limit_seconds);
        if !self.all_guards_hold {
            let _ = writeln!(text, "warning: not all guards hold here: {}", self.guards);
        }
        text
    }
}

impl NamedFile {
    fn describe(&self) -> String {
        let path = escape_path(&self.path);
        match self.change {
            Some(FileChange::Create) => format!("{path} (created)"),
            Some(FileChange::Replace) => format!("{path} (replaced)"),
            None => format!("the file that comes of {path}"),
        }
    }
}

/// A word as a shell would have to be given it, so that people see where it ends.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn program() -> ActionFields {
        ActionFields::Program(Box::new(ProgramFields {
            program: "/usr/bin/git".to_owned(),
            argv: ["/usr/bin/git", "commit", "-m", "it's done"].map(str::to_owned).to_vec(),
            first: Vec::new(),
            stdin: Some("a\nb".to_owned()),
            folder: "/w".to_owned(),
            environment: [("TOKEN".to_owned(), "…".to_owned())].into(),
            reach: ProgramReach {
                reads: vec!["/w".to_owned()],
                writes: Vec::new(),
                executes: Vec::new(),
                executes_written: false,
                omits_writable: false,
                network: false,
                processes: 64,
                memory_bytes: 2 << 30,
                file_bytes: 1 << 30,
            },
            named_files: Vec::new(),
            only_reads: false,
            time_limit_seconds: 30,
            unseen_skill: None,
            guards: "none".to_owned(),
            all_guards_hold: false,
        }))
    }

    #[test]
    fn fields_are_put_into_words() {
        let program = program();
        expect![[r#"/usr/bin/git commit -m 'it'\''s done'"#]].assert_eq(&program.title());
        expect![[r#"
            argv: ["/usr/bin/git","commit","-m","it's done"]
            stdin: "a\nb"
            in: /w
            environment: TOKEN=…
            reads: the system's programs and libraries, /w
            writes: no file that is there now; it is not declared to read only
            executes: the system's programs
            network: none
            limits: 64 processes, 2048 MiB of memory, 1024 MiB a file
            time limit: 30 s
            warning: not all guards hold here: none
        "#]]
        .assert_eq(&program.detail());
    }

    #[test]
    fn what_is_written_is_said_with_the_named_files_first() {
        let ActionFields::Program(mut program) = program() else { panic!("no program") };
        program.only_reads = true;
        assert_eq!(program.describe_writes(), "nothing: it only reads");
        program.only_reads = false;
        let file = |path: &str, change| NamedFile { path: path.to_owned(), change };
        program.named_files = vec![
            file("/w/out.txt", Some(FileChange::Create)),
            file("/w/a, b", Some(FileChange::Replace)),
            file("‹resolved from x›", None),
        ];
        program.reach.writes = ["/w/out.txt", "/w/a, b", "/w/notes"].map(str::to_owned).to_vec();
        let said = "/w/out.txt (created); \"/w/a, b\" (replaced); the file that comes of ‹resolved \
                    from x›; may also change /w/notes";
        assert_eq!(program.describe_writes(), said);
        program.all_guards_hold = true;
        assert_eq!(program.describe_writes(), format!("{said}; nothing else"));
        program.named_files.clear();
        program.reach.writes = vec!["/w/notes".to_owned()];
        assert_eq!(program.describe_writes(), "may change /w/notes; nothing else");
    }

    #[test]
    fn a_question_for_a_server_says_what_its_sandbox_lets_it_do() {
        let said = |sandbox: Option<&[&str]>| {
            let sandbox = sandbox.map(|it| it.iter().map(|&right| right.to_owned()).collect());
            let (server, tool) = ("time".to_owned(), "now".to_owned());
            let place = "uvx time".to_owned();
            ServerFields { server, tool, place, sandbox, arguments: json!({}) }.describe()
        };
        let (before, after) = ("time.now, by the MCP server at uvx time", ", with\n{}");
        assert_eq!(said(None), format!("{before}{after}"));
        let words = ", in its sandbox without further rights";
        assert_eq!(said(Some(&[])), format!("{before}{words}{after}"));
        let said = said(Some(&["reads /a\nx", "the network"]));
        assert!(said.contains(", in its sandbox (reads /a") && said.contains("the network), with"));
        assert_eq!(said.lines().count(), 2, "{said}");
    }

    #[test]
    fn fields_can_be_read_back() {
        let server = ActionFields::Server(ServerFields {
            server: "time".to_owned(),
            tool: "now".to_owned(),
            place: "uvx time".to_owned(),
            sandbox: Some(vec!["reads /a".to_owned()]),
            arguments: json!({"zone": "UTC"}),
        });
        for fields in [program(), server] {
            let written = serde_json::to_string(&fields).unwrap();
            assert_eq!(serde_json::from_str::<ActionFields>(&written).unwrap(), fields);
        }
        let written = serde_json::to_value(program()).unwrap();
        assert_eq!((&written["kind"], &written["network"]), (&json!("program"), &json!(false)));
        assert_eq!(written["argv"][1], "commit");
    }
}
