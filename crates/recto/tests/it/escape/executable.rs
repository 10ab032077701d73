//! Nothing that a tool may write is executed outside the sandbox: not Recto itself, nor what an
//! MCP server is made of.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::*;

/// What a person would not want to have run: it leaves a trace.
fn plant(path: &Path, trace: &Path) {
    let beside = path.with_extension("new");
    fs::write(&beside, format!("#!/bin/sh\necho planted > '{}'\n", trace.display())).unwrap();
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(beside, path).unwrap();
}

/// Recto in another place, as a person may have it.
fn copy_of_recto(place: &Place, path: &str) -> PathBuf {
    let path = place.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let own = env!("CARGO_BIN_EXE_recto");
    fs::hard_link(own, &path).or_else(|_| fs::copy(own, &path).map(drop)).unwrap();
    path
}

/// The same call of the tool by another file of Recto.
fn tool_by(executable: &Path, attempt: &Attempt, place: &Place) -> Command {
    let tool = attempt.tool(place);
    let mut command = Command::new(executable);
    command.args(tool.get_args()).stdin(Stdio::null()).env_clear();
    command.envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// Promise: `what-is-written-never-runs-free`
#[test]
fn recto_itself_is_not_replaced_where_it_lies_in_the_workspace() {
    let code = "open(F, '>', 'notes/inner/new') or die; print F \"#!/bin/sh\\n\"; close F; \
                rename('notes/inner/new', 'notes/bin/recto') or die \"tried: $!\";";
    let attempt = Attempt::perl(code);
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    let place = attempt.place();
    let own = copy_of_recto(&place, "WORKSPACE/notes/bin/recto");
    let before = inode(&own);
    attempt.control(&place).status().unwrap();
    assert_ne!(inode(&own), before, "no real attempt");

    let place = attempt.place();
    let own = copy_of_recto(&place, "WORKSPACE/notes/bin/recto");
    let before = inode(&own);
    let output = tool_by(&own, &attempt, &place).output().unwrap();
    let text = both(&output.stdout, &output.stderr);
    assert_eq!(inode(&own), before, "{text}");
    assert!(text.contains("tried: "), "{text}");
    note_attempt();
    // A person is told where it lies.
    let output = Command::new(&own).arg("--home").arg(place.path("RECTO")).arg("doctor").output();
    let text = both(&output.unwrap().stdout, b"");
    assert!(text.contains("Recto itself") && text.contains("lies where tools can write"), "{text}");
}

/// Promise: `what-is-written-never-runs-free`
#[test]
fn what_was_started_is_run_again_whatever_has_come_to_its_place() {
    // The first of two programs waits until Recto was replaced; the second is started by it.
    let wait = "open(F, '>', 'notes/ready'); close F; \
                select(undef, undef, undef, 0.005) until -e 'notes/go'; print 'x'";
    let args = json!([{ "kind": "literal", "flag": "-e" }, { "kind": "literal", "flag": "print 'done'" },
        { "param": "x", "resolveCommand": { "binary": "perl", "args": ["-e", wait] } }]);
    let attempt = Attempt::perl("").through(&args, json!({ "x": "a" }));
    let place = attempt.place();
    let own = copy_of_recto(&place, "OUTSIDE/bin/recto");
    let mut command = tool_by(&own, &attempt, &place);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the first program", || place.path("WORKSPACE/notes/ready").exists());
    let trace = place.path("OUTSIDE/trace");
    plant(&own, &trace);
    assert!(Command::new(&own).status().unwrap().success());
    assert!(trace.exists(), "no real attempt");
    fs::remove_file(&trace).unwrap();
    fs::write(place.path("WORKSPACE/notes/go"), "").unwrap();
    let output = running.wait_with_output().unwrap();
    let text = both(&output.stdout, &output.stderr);
    assert!(!trace.exists(), "{text}");
    assert!(text.contains("done"), "{text}");
    note_attempt();
}

#[test]
fn what_a_server_is_started_with_is_not_written() {
    // Programs load what lies beside them, and what is in the folder they start in.
    let config = "mcp.x = { command = 'true', working_dir = 'WORKSPACE/notes/inner' }\n";
    let write = "(open(F, '>>', $path) and print F 'more' and close F) or die \"tried: $!\";";
    for path in ["notes/inner/secret", "notes/inner/new.py"] {
        let code = format!("$path = '{path}'; {write}");
        let attempt = Attempt::perl(&code).config(config).changes(&format!("WORKSPACE/{path}"));
        attempt.told(NO_ACCESS).is_stopped();
    }
    let attempt = Attempt::perl("").config(config);
    let place = attempt.place();
    let text = place.home.run(&["doctor"]).out;
    assert!(text.contains("the folder that MCP server x starts in"), "{text}");
    let text = place.home.ok(&["tools", "list"]);
    assert!(text.contains("lies where tools can write"), "{text}");
}
