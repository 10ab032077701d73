//! Other processes are not touched, and nothing of Recto's own reaches a program.

use super::*;

/// What a program is told that has processes of its own and sees no others.
const NOBODY: &str = "No such process";

#[test]
fn what_is_in_rectos_environment_does_not_reach_a_program() {
    let code = "print map { \"$_=$ENV{$_}\\n\" } keys %ENV; print \"PATH is $ENV{PATH}\";";
    let attempt = Attempt::perl(code).variable("OPENROUTER_API_KEY", "sk-precious");
    attempt.prints("sk-precious").told("PATH is /usr").is_stopped();
}

#[test]
fn a_variable_makes_no_program_load_something() {
    let evil = "open(F, '>', 'notes/loaded'); 1;";
    let attempt = Attempt::perl("print 'ran';")
        .variable("PERL5LIB", "WORKSPACE/notes")
        .variable("PERL5OPT", "-MEvil")
        .changes("WORKSPACE/notes/loaded");
    let place = attempt.place();
    place.home.write("workspace/notes/Evil.pm", evil);
    assert!(attempt.control(&place).status().unwrap().success());
    assert!(place.path("WORKSPACE/notes/loaded").exists(), "no real attempt");
    fs::remove_file(place.path("WORKSPACE/notes/loaded")).unwrap();
    let text = attempt.run(&place);
    assert!(text.contains("ran"), "{text}");
    assert!(!place.path("WORKSPACE/notes/loaded").exists());
}

#[test]
fn files_that_recto_inherited_are_closed() {
    // Whoever starts Recto may have the file open, and says nothing about it.
    let code = "open(F, '<&=', 9) or die \"tried: $!\"; print <F>;";
    let attempt = Attempt::perl(code);
    let place = attempt.place();
    let with_open_file = |command: &Command| {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "exec 9< \"$0\"; exec \"$@\""])
            .arg(place.path("OUTSIDE/secret"))
            .arg(command.get_program())
            .args(command.get_args())
            .current_dir(place.path("WORKSPACE"));
        let output = shell.output().unwrap();
        both(&output.stdout, &output.stderr)
    };
    let text = with_open_file(&attempt.control(&place));
    assert!(text.contains(SECRET), "no real attempt: {text}");
    let text = with_open_file(&attempt.tool(&place));
    assert!(!text.contains(SECRET) && text.contains("tried: Bad file"), "{text}");
}

#[test]
fn no_other_process_is_killed() {
    let args = json!([{ "kind": "literal", "flag": "-e" },
        { "kind": "literal", "flag": "kill('KILL', shift) or die \"$!\";" }, { "param": "x" }]);
    let mut bystander = Bystander::new();
    let id = bystander.0.id();
    let attempt = Attempt::perl("").through(&args, json!({ "x": id }));
    let place = attempt.place();
    let text = attempt.run(&place);
    assert!(bystander.is_alive(), "{text}");
    assert!(text.contains(NOBODY) || text.contains(NOT_PERMITTED), "{text}");
    let argv = ["perl", "-e", "kill('KILL', shift) or die \"$!\";", &id.to_string()];
    let control = place.direct(&argv.map(str::to_owned), &[]).status().unwrap();
    assert!(control.success());
    wait_until("no real attempt", || !bystander.is_alive());
    note_attempt();
}

#[test]
fn no_other_process_has_to_stand_back() {
    let bystander = Bystander::new();
    let id = bystander.0.id();
    let code = format!("setpriority(0, {id}, 19) or die \"$!\"; print 'it stands back';");
    // The tool comes first: nobody but root could undo what the control does.
    let attempt = Attempt::perl(&code);
    let text = attempt.run(&attempt.place());
    assert!(!text.contains("it stands back") && text.contains(NOT_PERMITTED), "{text}");
    let output = attempt.control(&attempt.place()).output().unwrap();
    let text = both(&output.stdout, &output.stderr);
    assert!(text.contains("it stands back"), "no real attempt: {text}");
}

#[test]
fn recto_itself_is_not_killed() {
    // Its number is in a file: a program that has processes of its own sees no parent.
    let code = "open(F, '<', 'notes/number') or die; kill('KILL', <F> + 0) or print \"tried: $!\";";
    let attempt = Attempt::perl(code);
    let place = attempt.place();
    let numbered = |command: &Command| {
        let mut shell = Command::new("sh");
        let script = "echo $$ > notes/number; exec \"$@\"";
        shell.args(["-c", script, "sh"]).arg(command.get_program()).args(command.get_args());
        shell.current_dir(place.path("WORKSPACE")).stdin(Stdio::null()).output().unwrap()
    };
    let output = numbered(&attempt.tool(&place));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = both(&output.stdout, b"");
    assert!(text.contains(NOBODY) || text.contains(NOT_PERMITTED), "{text}");
    let output = numbered(&attempt.control(&place));
    assert_eq!(output.status.code(), None, "no real attempt: {output:?}");
    note_attempt();
}

/// Code that calls the kernel by number, and says what it answered.
fn syscall(number: i64, arguments: &str) -> String {
    format!("$r = syscall({number}, {arguments}); print $r == -1 ? \"no: $!\" : \"it went well\";")
}

#[cfg(target_arch = "x86_64")]
mod numbers {
    pub(super) const PTRACE: i64 = 101;
    pub(super) const UNSHARE: i64 = 272;
    pub(super) const KEYCTL: i64 = 250;
    pub(super) const PRCTL_SETSID: i64 = 112;
    pub(super) const SHMGET: i64 = 29;
}

#[cfg(target_arch = "aarch64")]
mod numbers {
    pub(super) const PTRACE: i64 = 117;
    pub(super) const UNSHARE: i64 = 97;
    pub(super) const KEYCTL: i64 = 219;
    pub(super) const PRCTL_SETSID: i64 = 157;
    pub(super) const SHMGET: i64 = 194;
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn no_process_is_looked_into() {
    // Its own child: where the system lets nobody look at others, it still lets parents.
    let attach = syscall(numbers::PTRACE, "16, $child, 0, 0");
    let code =
        format!("$child = fork; if (!$child) {{ sleep 5; exit }} {attach} kill('KILL', $child);");
    Attempt::perl(&code).prints("it went well").told(NOT_PERMITTED).is_stopped();
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn the_kernels_side_doors_are_closed() {
    let fork_first = |code: String| format!("if (!fork) {{ {code} exit }} wait;");
    for code in [
        // Another session, by a process that is not the first of its group.
        fork_first(syscall(numbers::PRCTL_SETSID, "0")),
        // Another name space, of a kind that everybody may have: for names of hosts
        // as root, for users otherwise.
        syscall(numbers::UNSHARE, if is_root() { "0x04000000" } else { "0x10000000" }),
        // The keys of the session, such as those of mounted folders.
        syscall(numbers::KEYCTL, "0, -3, 1"),
        // Memory that stays when the program has ended; this piece is marked to go.
        syscall(numbers::SHMGET, "0, 4096, 01600")
            .replace("print", "syscall(SHMCTL, $r, 0, 0) if $r != -1; print"),
    ] {
        let code = code.replace("SHMCTL", if cfg!(target_arch = "x86_64") { "31" } else { "195" });
        Attempt::perl(&code).prints("it went well").told(NOT_PERMITTED).is_stopped();
    }
}
