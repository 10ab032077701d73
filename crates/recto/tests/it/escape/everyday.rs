//! What people use every day does its work inside the sandbox, without a line of complaint.
//! Otherwise all the other tests would hold for a sandbox in which nothing runs.

use super::*;

/// Where the system's own programs are; a person may have others before them.
const SYSTEM: &str = "/usr/bin:/bin";

/// Whether a program is there. One that is missing is told, and a machine that vouches for a change
/// must have them all.
fn is_installed(program: &str) -> bool {
    let is_there =
        SYSTEM.split(':').any(|folder| std::path::Path::new(folder).join(program).exists());
    if !is_there {
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!is_ci, "CI=true, and `{program}` is in none of {SYSTEM}; install it");
        note("escape-missing", program);
    }
    is_there
}

/// Runs a program as a tool, in the folder `notes`. It must succeed and complain of nothing.
#[track_caller]
fn runs(place: &Place, argv: &[&str], more: &Value) -> String {
    runs_from(SYSTEM, place, argv, more)
}

/// The same, with the program that is found in these folders.
#[track_caller]
fn runs_from(path: &str, place: &Place, argv: &[&str], more: &Value) -> String {
    let literals: Vec<Value> =
        argv[1..].iter().map(|text| json!({ "kind": "literal", "flag": text })).collect();
    let mut execution = json!({ "args": literals, "workingDir": "notes" });
    for (key, value) in more.as_object().unwrap() {
        execution[key] = value.clone();
    }
    place.declare(&declared(argv[0], &execution));
    place.trust();
    let output = place.tool("{}", &[("PATH", path.to_owned())]).output().unwrap();
    let text = both(&output.stdout, &output.stderr);
    assert_eq!(output.status.code(), Some(0), "{argv:?}: {text}");
    let complaints = ["[stderr]", NOT_PERMITTED, NO_ACCESS, "Read-only", "not supported", "error"];
    assert!(!complaints.iter().any(|words| text.contains(words)), "{argv:?}: {text}");
    text
}

fn place() -> Place {
    Place::new("true", &json!({}), "")
}

/// Promise: `everyday-programs-work`
#[test]
fn git_works() {
    git_works_from(SYSTEM);
    // A newer one than the system's tidies up in another way.
    git_works_from(&std::env::var("PATH").unwrap());
}

fn git_works_from(path: &str) {
    let place = place();
    let git = |words: &[&str]| {
        runs_from(path, &place, &[&["git"], words].concat(), &json!({}));
    };
    git(&["init", "-q", "-b", "main", "repo"]);
    git(&["-C", "repo", "config", "user.name", "Tess"]);
    git(&["-C", "repo", "config", "user.email", "tess@example.org"]);
    place.home.write("workspace/notes/repo/file.txt", "one\n");
    git(&["-C", "repo", "add", "file.txt"]);
    git(&["-C", "repo", "commit", "-q", "-m", "first"]);
    git(&["clone", "-q", "repo", "copy"]);
    assert_eq!(place.read("WORKSPACE/notes/copy/file.txt"), "one\n");
    git(&["-C", "copy", "mv", "file.txt", "other.txt"]);
    git(&["-C", "copy", "status", "--short"]);
    git(&["-C", "copy", "gc", "-q"]);
}

/// Promise: `everyday-programs-work`
#[test]
fn files_are_copied_with_their_modes_and_times() {
    let place = place();
    let path = place.path("WORKSPACE/notes/a.txt");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let marks = |name: &str| {
        let found = fs::metadata(place.path(&format!("WORKSPACE/notes/{name}"))).unwrap();
        (found.mode() & 0o777, found.mtime())
    };
    let none = json!({});
    runs(&place, &["touch", "-d", "2001-02-03 04:05:06 UTC", "a.txt"], &none);
    runs(&place, &["cp", "-p", "a.txt", "b.txt"], &none);
    assert_eq!(marks("b.txt"), (0o640, 981_173_106));
    runs(&place, &["cp", "-a", "inner", "outer"], &none);
    runs(&place, &["install", "-m", "0750", "a.txt", "c.sh"], &none);
    assert_eq!(marks("c.sh").0, 0o750);
    runs(&place, &["sed", "-i", "s/note/word/", "a.txt"], &none);
    assert_eq!(place.read("WORKSPACE/notes/a.txt"), "a word");
    assert_eq!(marks("a.txt").0, 0o640);
    runs(&place, &["mv", "b.txt", "inner/b.txt"], &none);
    runs(&place, &["chmod", "700", "c.sh"], &none);
    runs(&place, &["tar", "-cf", "all.tar", "inner"], &none);
    runs(&place, &["tar", "-xf", "all.tar", "-C", "outer"], &none);
    if is_installed("python3") {
        let code = "import shutil; shutil.copy('a.txt', 'd.txt'); shutil.copy2('a.txt', 'e.txt')";
        runs(&place, &["python3", "-c", code], &none);
        assert_eq!(marks("d.txt").0, 0o640);
    }
}

/// Promise: `everyday-programs-work`
#[test]
fn what_the_kernel_does_not_copy_is_copied_all_the_same() {
    let place = place();
    let none = json!({});
    let text = "a line of a file that is not short\n".repeat(100_000);
    place.home.write("workspace/notes/long.txt", &text);
    let copied = |program: &str, argv: &[&str]| {
        runs(&place, argv, &none);
        assert!(place.read("WORKSPACE/notes/copy.txt") == text, "{program}");
        fs::remove_file(place.path("WORKSPACE/notes/copy.txt")).unwrap();
    };
    copied("cp", &["cp", "--reflink=never", "long.txt", "copy.txt"]);
    copied("dd", &["dd", "if=long.txt", "of=copy.txt", "status=none"]);
    let output = runs(&place, &["cat", "a.txt"], &none);
    assert!(output.contains("a note"), "{output}");
    if is_installed("python3") {
        let code = "import shutil, socket, threading; shutil.copyfile('long.txt', 'copy.txt'); \
                    a, b = socket.socketpair(); sent = open('long.txt', 'rb'); \
                    t = threading.Thread(target=lambda: (a.sendfile(sent), a.close())); \
                    t.start(); got = b.makefile('rb').read(); t.join(); \
                    assert got == open('long.txt', 'rb').read()";
        copied("python3", &["python3", "-c", code]);
    }
    if is_installed("node") {
        let code = "require('fs').copyFileSync('long.txt', 'copy.txt')";
        copied("node", &["node", "-e", code]);
    }
}

/// Promise: `everyday-programs-work`
#[test]
fn patches_and_archives_are_applied() {
    let place = place();
    let none = json!({});
    if is_installed("patch") {
        let diff = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-a note\n+a better note\n";
        place.home.write("workspace/notes/a.txt", "a note\n");
        place.home.write("workspace/notes/a.diff", diff);
        runs(&place, &["patch", "-i", "a.diff"], &none);
        assert_eq!(place.read("WORKSPACE/notes/a.txt"), "a better note\n");
    }
    if is_installed("unzip") && is_installed("python3") {
        let code = "import zipfile; z = zipfile.ZipFile('a.zip', 'w'); z.write('a.txt'); z.close()";
        runs(&place, &["python3", "-c", code], &none);
        runs(&place, &["unzip", "-q", "a.zip", "-d", "unpacked"], &none);
        assert!(place.read("WORKSPACE/notes/unpacked/a.txt").contains("note"));
    }
}

/// Promise: `everyday-programs-work`
#[test]
fn a_program_sees_its_own_processes_and_no_others() {
    let place = place();
    let bystander = Bystander::new();
    if is_installed("ps") {
        let text = runs(&place, &["ps", "-e", "-o", "args"], &json!({}));
        assert!(text.contains("ps -e") && !text.contains("sleep 120"), "{text}");
        assert!(text.lines().count() < 6, "{text}");
    }
    if is_installed("free") {
        assert!(runs(&place, &["free"], &json!({})).contains("Mem:"));
    }
    let id = bystander.0.id();
    let code = format!(
        "opendir(D, '/proc') or die; print grep({{ $_ == {id} }} readdir D) ? 'seen' : 'alone';"
    );
    let attempt = Attempt::perl(&code).prints("seen");
    attempt.told("alone").is_stopped();
}

/// Promise: `everyday-programs-work`
#[test]
fn what_was_compiled_is_run_where_the_skill_asks_for_it() {
    let place = place();
    let rules = "all:\n\tcp /bin/echo ./built\n\t./built it runs\n";
    place.home.write("workspace/notes/Makefile", rules);
    if !is_installed("make") {
        return;
    }
    let text = runs(&place, &["make", "-s"], &json!({ "executeWorkspace": true }));
    assert!(text.contains("it runs"), "{text}");
    // And nowhere else.
    fs::remove_file(place.path("WORKSPACE/notes/built")).unwrap();
    let attempt = Attempt::of(&["make", "-s", "-C", "notes"]).prints("it runs").told(NO_ACCESS);
    let fresh = attempt.place();
    fresh.home.write("workspace/notes/Makefile", rules);
    let text = attempt.run(&fresh);
    assert!(!text.contains("it runs") && text.contains(NO_ACCESS), "{text}");
    note_attempt();
}

/// Promise: `read-only-tools-write-nothing`
#[test]
fn a_tool_that_is_declared_to_read_writes_nothing_and_is_not_asked_for() {
    let write = "open(F, '>', 'notes/a.txt') or die \"tried: $!\";";
    let attempt = Attempt::perl(write).declaring("readOnly", json!(true));
    attempt.changes("WORKSPACE/notes/a.txt").told(NO_ACCESS).is_stopped();
    let place = place();
    let list = |read_only: bool| {
        place.declare(&declared("cat", &json!({ "readOnly": read_only })));
        place.trust();
        let listed = crate::support::json(&place.home.ok(&["tools", "list", "--json"]));
        let tools = listed["tools"].as_array().unwrap().clone();
        let act = tools.into_iter().find(|tool| tool["called"] == "act").unwrap();
        act["permission"].clone()
    };
    assert_eq!(list(true), "allow");
    assert_eq!(list(false), "ask");
    // What goes out is asked about, whatever is only read.
    place.declare(&declared("cat", &json!({ "readOnly": true, "network": true })));
    place.trust();
    assert!(place.home.ok(&["tools", "list"]).contains("ask"));
}
