//! Nothing is executed that a tool could have put there.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

/// A program of the test's own, which leaves a trace.
const PLANTED: &str = "#!/bin/sh\necho it is planted\n";

fn plant(place: &Place, path: &str) {
    let path = place.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, PLANTED).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn search_path(first: &str) -> String {
    format!("{first}:{}", std::env::var("PATH").unwrap())
}

/// A program is planted and the search path begins there; directly it is run.
#[track_caller]
fn is_passed_over(folder: &str, first: &str, config: &str) {
    let attempt = Attempt::of(&["ls", "notes"]).config(config);
    let place = attempt.place();
    plant(&place, &format!("{folder}/ls"));
    // Among the skill's own scripts it was even looked at.
    place.trust();
    let path = search_path(&place.fill(first));
    let argv = ["sh", "-c", "ls notes"].map(str::to_owned);
    let output = place.direct(&argv, &[("PATH", path.clone())]).output().unwrap();
    let text = both(&output.stdout, &output.stderr);
    assert!(text.contains("planted"), "no real attempt: {text}");
    let output = place.tool("{}", &[("PATH", path)]).output().unwrap();
    let text = both(&output.stdout, &output.stderr);
    assert!(!text.contains("planted") && text.contains("a.txt"), "{text}");
}

#[test]
fn a_program_in_the_workspace_under_an_allowed_name_is_passed_over() {
    is_passed_over("WORKSPACE/bin", "WORKSPACE/bin", "");
    is_passed_over("WORKSPACE/bin", "WORKSPACE/notes/../bin", "");
}

#[test]
fn a_program_in_the_folder_that_recto_was_started_in_is_passed_over() {
    // All of these mean that folder, for a shell.
    is_passed_over("WORKSPACE", ".", "");
    is_passed_over("WORKSPACE", "", "");
    is_passed_over("WORKSPACE/bin", "bin", "");
}

#[test]
fn a_program_in_a_folder_of_the_skill_is_passed_over() {
    is_passed_over("WORKSPACE/skills/harm/scripts", "WORKSPACE/skills/harm/scripts", "");
}

/// Promise: `planted-programs-never-run`
#[test]
fn a_program_in_a_folder_that_tools_may_write_is_passed_over() {
    is_passed_over("OUTSIDE/bin", "OUTSIDE/bin", "items.skill.harm.write = ['OUTSIDE/bin']\n");
}

#[test]
fn a_program_in_a_folder_that_a_server_may_write_is_passed_over() {
    let server = "[mcp.x]\ncommand = 'true'\nsandbox = true\nwrite = ['OUTSIDE/bin']\n";
    is_passed_over("OUTSIDE/bin", "OUTSIDE/bin", server);
}

#[test]
fn a_program_that_is_a_link_into_the_workspace_is_passed_over() {
    let attempt = Attempt::of(&["ls", "notes"]);
    let place = attempt.place();
    plant(&place, "WORKSPACE/notes/program");
    fs::create_dir(place.path("OUTSIDE/bin")).unwrap();
    symlink(place.path("WORKSPACE/notes/program"), place.path("OUTSIDE/bin/ls")).unwrap();
    let path = search_path(&place.fill("OUTSIDE/bin"));
    let argv = ["sh", "-c", "ls notes"].map(str::to_owned);
    let output = place.direct(&argv, &[("PATH", path.clone())]).output().unwrap();
    assert!(both(&output.stdout, b"").contains("planted"), "no real attempt");
    let output = place.tool("{}", &[("PATH", path)]).output().unwrap();
    let text = both(&output.stdout, &output.stderr);
    assert!(!text.contains("planted") && text.contains("a.txt"), "{text}");
}

/// Promise: `no-shell-between`
#[test]
fn a_shell_under_another_name_is_not_run() {
    let attempt = Attempt::of(&["lister", "-c", "echo it is a shell"]);
    let place = attempt.place();
    fs::create_dir(place.path("OUTSIDE/bin")).unwrap();
    symlink("/bin/sh", place.path("OUTSIDE/bin/lister")).unwrap();
    let path = search_path(&place.fill("OUTSIDE/bin"));
    let lister = place.fill("OUTSIDE/bin/lister");
    let argv = [lister.as_str(), "-c", "echo it is a shell"].map(str::to_owned);
    let output = place.direct(&argv, &[]).output().unwrap();
    assert!(both(&output.stdout, b"").contains("it is a shell"), "no real attempt");
    let output = place.tool("{}", &[("PATH", path)]).output().unwrap();
    let text = both(&output.stdout, &output.stderr);
    assert!(
        !text.contains("it is a shell\n") && text.contains("which runs other programs"),
        "{text}"
    );
}

#[test]
fn what_is_in_the_workspace_is_not_executed() {
    for path in ["WORKSPACE/notes/program", "WORKSPACE/program"] {
        let attempt = Attempt::perl("exec($ARGV[0]) or die \"$!\";");
        let place = attempt.place();
        plant(&place, path);
        let code = format!("exec('{}') or die \"$!\";", place.fill(path));
        let argv = ["perl", "-e", &code].map(str::to_owned);
        let output = place.direct(&argv, &[]).output().unwrap();
        assert!(both(&output.stdout, b"").contains("planted"), "no real attempt");
        let literals =
            json!([{ "kind": "literal", "flag": "-e" }, { "kind": "literal", "flag": code }]);
        place.declare(&declared("perl", &json!({ "args": literals })));
        place.trust();
        let text = attempt.run(&place);
        assert!(!text.contains("planted") && text.contains(NO_ACCESS), "{text}");
    }
}

/// Promise: `planted-programs-never-run`
#[test]
fn what_a_program_wrote_is_not_executed() {
    for folder in ["notes", "$ENV{TMPDIR}", "$ENV{HOME}"] {
        let code = format!(
            "use Fcntl; sysopen(F, \"{folder}/program\", O_CREAT | O_WRONLY, 0755) or die \"$!\"; \
             print F \"#!/bin/sh\\necho it is planted\\n\"; close F; \
             exec(\"{folder}/program\") or die \"$!\";"
        );
        Attempt::perl(&code).prints("it is planted\n").told(NO_ACCESS).is_stopped();
    }
}

#[test]
fn what_is_only_in_memory_is_not_executed() {
    let number = if cfg!(target_arch = "x86_64") { 319 } else { 279 };
    let code = format!(
        "$name = 'x'; $fd = syscall({number}, $name, 0); $fd != -1 or die \"tried: $!\"; \
         open(F, '>&=', $fd); open(E, '<', '/bin/echo'); local $/; syswrite(F, <E>); \
         exec {{ \"/proc/self/fd/$fd\" }} 'echo', 'it is planted' or die \"$!\";"
    );
    Attempt::perl(&code).prints("it is planted\n").told("tried: Function not").is_stopped();
}

#[test]
fn the_folder_of_a_call_goes_with_it() {
    let code = "open(F, '>', \"$ENV{TMPDIR}/left\") or die; print \"in $ENV{TMPDIR}.\";";
    let attempt = Attempt::perl(code);
    let place = attempt.place();
    let text = attempt.run(&place);
    let folder = text.split("in ").nth(1).and_then(|rest| rest.split('.').next()).unwrap();
    assert!(folder.starts_with('/'), "{text}");
    wait_until("the folder goes", || !std::path::Path::new(folder).exists());
}
