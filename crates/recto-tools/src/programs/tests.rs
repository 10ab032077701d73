//! Calls of declared programs, with something in the launcher's place that says
//! what it was given: the real one is tested with the whole of Recto.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use tempfile::TempDir;

use super::*;
use crate::declared::trust_hash;

/// A workspace with a skill that sorts, and what stands in for the launcher.
struct Place {
    folder: TempDir,
    options: ToolOptions,
    grants: Grants,
}

impl Place {
    /// `script` is what a launched program does.
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["w/notes", "skill", "granted"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let launcher = folder.path().join("launcher");
        // As the keeper it ends with whoever started it.
        let keeper = "if [ \"$1\" = __keep ]; then exec cat >/dev/null; fi";
        fs::write(&launcher, format!("#!/bin/sh\n{keeper}\n{script}\n")).unwrap();
        fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).unwrap();
        let mut options = ToolOptions::new(folder.path().join("w"));
        options.programs.launcher = Some(launcher);
        options.programs.search_path = Some("/usr/bin:/bin".into());
        let place = Place { folder, options, grants: Grants::default() };
        place.declare(
            &json!({}),
            &json!([{"param": "to", "kind": "flag", "flag": "--output=", "writePath": true}]),
        );
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn declare(&self, keys: &Value, args: &Value) {
        let mut execution = json!({"tool": "sort", "binary": "sort", "args": args});
        for (key, value) in keys.as_object().unwrap() {
            execution[key] = value.clone();
        }
        let parameters = json!({"type": "object", "properties": {"to": {"type": "string"}}});
        let tool = json!({"name": "sort", "description": "Sorts.", "parameters": parameters});
        let allowlist = json!({"sort": [], "echo": []});
        let all = json!({"tools": [tool], "allowlist": allowlist, "execution": [execution]});
        fs::write(self.path("skill/tools.json"), all.to_string()).unwrap();
    }

    fn program_run(&self) -> ProgramRun {
        let launcher = Launcher::new(self.options.programs.launcher.clone());
        let folder = self.path("skill");
        let skill = TrustedSkill {
            name: "skill".into(),
            files: trust_hash(&folder).unwrap(),
            look: SkillLook::LookedAt,
        };
        let trusted = BTreeMap::from([(folder.clone(), skill)]);
        ProgramRun {
            host: SkillPrograms::new(launcher, &self.options).0,
            id: ItemId::tool(Some("skill".into()), "sort"),
            folder,
            class: ToolClass::Program,
            grants: self.grants.clone(),
            unseen: None,
            context: CallContext { trusted: Arc::new(trusted), ..CallContext::default() },
        }
    }

    fn describe(&self, to: &str) -> ToolAction {
        self.program_run().describe(&arguments(to)).unwrap()
    }

    async fn run(&self, to: &str, consent: Consent) -> String {
        match self.program_run().run(arguments(to), consent).await {
            Ok(text) => format!("ok: {text}"),
            Err(error) => format!("failed: {error}"),
        }
    }
}

fn arguments(to: &str) -> CallArguments {
    CallArguments::parse(&json!({ "to": to }).to_string()).unwrap()
}

const CHANGED: &str = "failed: what it would do, or could read or write, changed since a person \
                       allowed it; called again, it is asked about as it is now";

/// Promise: `shown-is-what-runs`
#[tokio::test]
async fn what_was_shown_is_what_runs() {
    let mut place = Place::new("echo ran");
    let shown = Consent::To(place.describe("a.txt").hash);
    assert_eq!(place.run("a.txt", shown).await, "ok: ran");
    assert_eq!(place.run("b.txt", shown).await, CHANGED);
    assert_eq!(place.run("b.txt", Consent::ToTool).await, "ok: ran");
    place.grants.network = NetworkAccess::Granted;
    // The skill does not ask for the network, so nothing changes by the grant.
    assert_eq!(place.run("a.txt", shown).await, "ok: ran");
    place.grants.write.push(place.path("granted"));
    assert_eq!(place.run("a.txt", shown).await, CHANGED);
}

/// Promise: `shown-is-what-runs`
#[tokio::test]
async fn what_was_not_there_when_a_person_was_asked_is_not_reached() {
    let place = Place::new("echo ran");
    let shown = Consent::To(place.describe("a.txt").hash);
    fs::create_dir(place.path("w/plans")).unwrap();
    assert_eq!(place.run("a.txt", shown).await, CHANGED);
    let again = Consent::To(place.describe("a.txt").hash);
    fs::write(place.path("w/plans/x"), "").unwrap();
    assert_eq!(place.run("a.txt", again).await, "ok: ran");
}

/// Promise: `read-only-tools-write-nothing`
#[tokio::test]
async fn what_was_not_asked_because_it_reads_does_nothing_else() {
    let place = Place::new("echo ran");
    let run = async |consent| {
        let run = ProgramRun { class: ToolClass::ReadingProgram, ..place.program_run() };
        run.run(arguments("a.txt"), consent).await.map_err(|error| error.to_string())
    };
    let refused = run(Consent::Unasked).await.unwrap_err();
    assert!(refused.contains("declared to read only"), "{refused}");
    assert_eq!(run(Consent::ToTool).await.as_deref(), Ok("ran"));
    let given = json!([{"param": "to"}]);
    place.declare(&json!({"readOnly": true, "network": true}), &given);
    assert_eq!(run(Consent::Unasked).await, Err(refused));
    place.declare(&json!({"readOnly": true}), &given);
    assert_eq!(run(Consent::Unasked).await.as_deref(), Ok("ran"));
}

#[test]
fn the_hash_changes_with_all_that_decides() {
    type Change = fn(&mut Place);
    let args = || json!([{"param": "to", "kind": "flag", "flag": "--output=", "writePath": true}]);
    let changes: [(&str, Change); 8] = [
        ("read", |place| place.grants.read.push("/a".into())),
        ("write", |place| place.grants.write.push("/a".into())),
        ("variable", |place| place.grants.environment.push(("A".to_owned(), None))),
        ("time", |place| place.options.limits.time_limit += Duration::from_millis(1)),
        ("output", |place| place.options.limits.max_output_bytes += 1),
        ("sandbox", |place| place.options.programs.sandbox = SandboxPolicy::Required),
        ("network", |place| place.grants.network = NetworkAccess::Granted),
        ("program", |place| {
            fs::create_dir(place.path("bin")).unwrap();
            symlink("/usr/bin/sort", place.path("bin/sort")).unwrap();
            place.options.programs.search_path = Some(place.path("bin").into());
        }),
    ];
    for (what, change) in changes {
        let mut place = Place::new("");
        place.declare(&json!({"network": true}), &args());
        let before = place.describe("a.txt").hash;
        assert_eq!(place.describe("a.txt").hash, before);
        change(&mut place);
        assert_ne!(place.describe("a.txt").hash, before, "{what}");
    }
    let place = Place::new("");
    let shown = place.describe("a.txt").hash;
    fs::write(place.path("w/notes/new"), "").unwrap();
    assert_eq!(place.describe("a.txt").hash, shown, "what was shown may change meanwhile");
    for keys in [json!({"successExitCodes": [0, 1]}), json!({"timeoutSeconds": 9})] {
        place.declare(&keys, &args());
        assert_ne!(place.describe("a.txt").hash, shown, "{keys}");
    }
}

/// Promise: `shown-is-what-runs`
#[tokio::test]
async fn a_file_that_would_be_written_is_named_first_and_as_new_or_replaced() {
    let place = Place::new("echo ran");
    fs::remove_dir(place.path("w/notes")).unwrap();
    let writes = |place: &Place, to: &str| match place.describe(to).fields {
        ActionFields::Program(fields) => (fields.describe_writes(), fields.reach.writes),
        other => panic!("{other:?}"),
    };
    let end = if guards().all_hold() { "; nothing else" } else { "" };
    let out = place.path("w/out.txt").to_string_lossy().into_owned();
    let (words, paths) = writes(&place, "out.txt");
    assert_eq!((words, paths), (format!("{out} (created){end}"), vec![out.clone()]));
    let created = Consent::To(place.describe("out.txt").hash);
    for name in ["a.txt", "out.txt"] {
        fs::write(place.path("w").join(name), "mine").unwrap();
    }
    let (words, paths) = writes(&place, "out.txt");
    let other = place.path("w/a.txt").to_string_lossy().into_owned();
    assert_eq!(words, format!("{out} (replaced); may also change {other}{end}"));
    assert_eq!(paths, [out, other]);
    // Who allowed that a file is made has not allowed that one is replaced.
    assert_eq!(place.run("out.txt", created).await, CHANGED);
    // Where another command says which file it is, that is told.
    let resolve = json!({"binary": "echo", "args": ["$param"]});
    let to = json!({"param": "to", "writePath": true, "resolveCommand": resolve});
    place.declare(&json!({}), &json!([to]));
    let (words, _) = writes(&place, "out.txt");
    assert!(words.starts_with("the file that comes of ‹resolved from out.txt›; may"), "{words}");
    // Only a declaration that it reads, which is held to, is told as that.
    place.declare(&json!({"readOnly": true}), &json!([{"param": "to", "readPath": true}]));
    let (words, paths) = writes(&place, "out.txt");
    assert_eq!((words.contains("only reads"), paths.len()), (guards().all_hold(), 0), "{words}");
}

#[test]
fn the_values_of_variables_are_no_part_of_what_is_shown() {
    let mut place = Place::new("");
    place.grants.environment = vec![("TOKEN".to_owned(), Some("hunter22".to_owned()))];
    let action = place.describe("a.txt");
    assert!(action.detail.contains("TOKEN=…"), "{}", action.detail);
    assert!(!format!("{action:?}").contains("hunter22"));
}

#[tokio::test]
async fn a_granted_value_does_not_come_back() {
    let mut place = Place::new("echo \"is $TOKEN\"; echo \"not $TOKEN\" >&2; exit \"${CODE:-0}\"");
    place.grants.environment = vec![("TOKEN".to_owned(), Some("hunter22".to_owned()))];
    assert_eq!(place.run("a.txt", Consent::ToTool).await, "ok: is …\n[stderr]\nnot …");
    place.grants.environment.push(("CODE".to_owned(), Some("3".to_owned())));
    let failed = "failed: exit code 3\n[stdout]\nis …\n[stderr]\nnot …";
    assert_eq!(place.run("a.txt", Consent::ToTool).await, failed);
    // What resolves a value may write it, and an error may repeat what was written.
    let place = Place { grants: place.grants.clone(), ..Place::new("echo \"../$TOKEN\"") };
    let resolve = json!({"binary": "echo", "args": ["$param"]});
    place.declare(
        &json!({}),
        &json!([{"param": "to", "readPath": true, "resolveCommand": resolve}]),
    );
    let refused = place.run("a.txt", Consent::ToTool).await;
    assert!(refused.contains("`../…`"), "{refused}");
}

#[test]
fn people_are_told_that_a_value_is_still_to_come() {
    let place = Place::new("");
    assert!(!place.describe("a.txt").detail.contains("not final"));
    let resolve = json!({"binary": "echo", "args": ["$param"]});
    place.declare(&json!({}), &json!([{"param": "to", "resolveCommand": resolve}]));
    let detail = place.describe("a.txt").detail;
    let lines: Vec<&str> = detail.lines().take(3).collect();
    assert!(lines[0].starts_with("first: ") && lines[0].contains("echo"), "{detail}");
    assert!(lines[1].starts_with("argv: ") && lines[1].contains("‹resolved from a.txt›"));
    assert!(lines[2].ends_with("is resolved by the command above when it runs"), "{detail}");
}

/// Promise: `trust-follows-content`
#[tokio::test]
async fn what_changed_while_a_value_was_resolved_does_not_run() {
    let here = "here=$(dirname \"$0\"); echo ran >> \"$here/runs\"; echo a.txt";
    let resolve = json!({"binary": "echo", "args": ["$param"]});
    let args = json!([{"param": "to", "resolveCommand": resolve}]);
    let place = Place::new(here);
    place.declare(&json!({}), &args);
    assert_eq!(place.run("a.txt", Consent::ToTool).await, "ok: a.txt");
    let runs = |place: &Place| fs::read_to_string(place.path("runs")).unwrap().lines().count();
    assert_eq!(runs(&place), 2);
    let place = Place::new(&format!(
        "{here}; mkdir -p \"$here/skill/scripts\"; echo >\"$here/skill/scripts/x\""
    ));
    place.declare(&json!({}), &args);
    let refused = place.run("a.txt", Consent::ToTool).await;
    assert!(refused.contains("is not the one that was approved"), "{refused}");
    assert_eq!(runs(&place), 1);
}

#[test]
fn names_that_are_no_text_can_be_shown() {
    let place = Place::new("");
    fs::write(place.path("w").join(OsStr::from_bytes(b"\xff")), "").unwrap();
    let action = place.describe("a.txt");
    let ActionFields::Program(fields) = action.fields else { panic!("{:?}", action.fields) };
    assert!(fields.reach.writes.iter().any(|path| path.contains('\u{fffd}')));
}

#[test]
fn folders_of_skills_are_out_of_reach() {
    let mut place = Place::new("");
    place.options.programs.skill_folders = vec![place.path("w/more")];
    fs::create_dir(place.path("w/more")).unwrap();
    let work = place.program_run();
    let (_, prepared) = work.prepare(&arguments("notes/a.txt")).unwrap();
    let write = work.confinement(prepared.preview(), Path::new("")).write;
    assert_eq!(write, [place.path("w/notes")]);
    for path in ["more/x/SKILL.txt", "memory/MEMORY.md", "more/a"] {
        let folder = place.path("w").join(path).parent().unwrap().to_owned();
        fs::create_dir_all(folder).unwrap();
        let refused = work.prepare(&arguments(path)).unwrap_err().to_string();
        assert!(refused.contains("out of reach"), "{path}: {refused}");
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_call_that_nobody_waits_for() {
    // It says where its own folder is, and then takes its time.
    let place = Place::new("echo \"$HOME\" > \"$(dirname \"$0\")/home\"; exec sleep 600");
    let call = place.program_run().run(arguments("notes/a.txt"), Consent::ToTool);
    let running = tokio::spawn(call);
    let own = loop {
        match fs::read_to_string(place.path("home")) {
            Ok(text) if text.ends_with('\n') => break PathBuf::from(text.trim_end()),
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    assert!(own.is_dir() && place.path("w/notes/a.txt").is_file());
    running.abort();
    while own.exists() || place.path("w/notes/a.txt").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
