//! Nothing that a call started is there after it, however it ended.

use super::*;

/// Code that starts a child in some way, which writes down its number and sleeps.
/// The program itself waits until the child has done so.
fn leaving(start: &str) -> String {
    let child = "open(F, '>', 'notes/id.new'); print F $$; close F; \
                 rename('notes/id.new', 'notes/id'); sleep 100; exit;";
    format!(
        "$SIG{{HUP}} = 'IGNORE'; use POSIX (); $child = sub {{ {child} }}; {start} \
         select(undef, undef, undef, 0.005) until -e 'notes/id';"
    )
}

fn child_of(place: &Place) -> u32 {
    wait_until("the child says who it is", || place.path("WORKSPACE/notes/id").exists());
    place.read("WORKSPACE/notes/id").trim().parse().unwrap()
}

/// What the control left is ended.
fn end_left(place: &Place) {
    end(&[child_of(place)]);
    wait_until("the end of the control", || !place.is_anyone_left());
}

/// Directly the child lives on after its parent; as a tool it does not.
#[track_caller]
fn ends_with_the_call(code: &str, told: &str) {
    note_attempt();
    let attempt = Attempt::perl(code);
    let place = attempt.place();
    // Its output goes nowhere, since the child holds it open.
    let status =
        attempt.control(&place).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    let lives = is_alive(child_of(&place)) && place.is_anyone_left();
    end_left(&place);
    assert!(status.success() && lives, "no real attempt");

    let place = attempt.place();
    let text = attempt.run(&place);
    child_of(&place);
    assert!(text.contains(told), "{text}");
    // It was killed before the call was over; the system takes it away any moment.
    wait_until("the end of the child", || !place.is_anyone_left());
}

#[test]
fn a_child_that_is_left_behind_ends_with_the_call() {
    ends_with_the_call(&leaving("$child->() if !fork;"), "[no output]");
}

#[test]
fn a_child_whose_parent_has_ended_ends_with_the_call() {
    ends_with_the_call(&leaving("if (!fork) { $child->() if !fork; exit }"), "[no output]");
}

#[test]
fn a_child_that_closed_its_streams_ends_with_the_call() {
    let start = "if (!fork) { close $_ for *STDIN, *STDOUT, *STDERR; $child->() }";
    ends_with_the_call(&leaving(start), "[no output]");
}

#[test]
fn a_child_in_a_session_of_its_own_ends_with_the_call() {
    let start =
        "if (!fork) { POSIX::setsid() > 0 or print STDERR \"$!\"; $child->() if !fork; exit }";
    ends_with_the_call(&leaving(start), NOT_PERMITTED);
}

#[test]
fn a_child_in_a_group_of_its_own_ends_with_the_call() {
    let start = "if (!fork) { setpgrp(0, 0) or print STDERR \"$!\"; $child->() }";
    ends_with_the_call(&leaving(start), NOT_PERMITTED);
}

#[test]
fn a_child_that_others_helped_to_leave_ends_with_the_call() {
    let child = "echo $$ > notes/id.new; mv notes/id.new notes/id; exec sleep 100";
    for helper in ["setsid", "nohup", "setsid --fork"] {
        let start = format!("system(\"{helper} sh -c '{child}' > /dev/null 2> notes/err &\");");
        let start = start.replace("$$", "\\$\\$");
        ends_with_the_call(
            &format!(
                "{start} select(undef, undef, undef, 0.005) until -e 'notes/id' || -s 'notes/err'; \
                      if (!-e 'notes/id') {{ print 'helper refused'; open(F, '>', 'notes/id'); print F '4194305'; close F }}"
            ),
            if helper == "nohup" { "[no output]" } else { "helper refused" },
        );
    }
}

/// Promise: `hung-tool-ends`
#[test]
fn a_call_whose_time_is_up_ends_with_all_its_children() {
    let code = leaving("$child->() if !fork;") + "print 'waiting'; $| = 1; print ''; sleep 100;";
    let attempt = Attempt::perl(&code).declaring("timeoutSeconds", json!(1));
    let place = attempt.place();
    let mut control =
        attempt.control(&place).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let child = child_of(&place);
    control.kill().unwrap();
    control.wait().unwrap();
    let lives = is_alive(child);
    end(&[child]);
    assert!(lives, "no real attempt: the child ends with its parent anyway");

    let place = attempt.place();
    let text = attempt.run(&place);
    child_of(&place);
    assert!(text.contains("time limit of 1 s") && text.contains("waiting"), "{text}");
    wait_until("the end of the child", || !place.is_anyone_left());
    note_attempt();
}

#[test]
fn a_program_that_will_not_end_is_ended() {
    let code = leaving("$SIG{$_} = 'IGNORE' for qw(TERM INT QUIT XCPU ALRM); $child->() if !fork;");
    let attempt = Attempt::perl(&(code + "1 while 1;")).declaring("timeoutSeconds", json!(1));
    let place = attempt.place();
    let text = attempt.run(&place);
    assert!(text.contains("time limit of 1 s"), "{text}");
    child_of(&place);
    wait_until("the end of the child", || !place.is_anyone_left());
    note_attempt();
}

#[test]
fn a_program_ends_when_recto_is_killed() {
    let code = leaving("$child->() if !fork;")
        + "open(F, '>', 'notes/own.new'); print F $$; close F; \
           rename('notes/own.new', 'notes/own'); sleep 100;";
    let attempt = Attempt::perl(&code);
    let ids = |place: &Place| {
        wait_until("the program says who it is", || place.path("WORKSPACE/notes/own").exists());
        [child_of(place), place.read("WORKSPACE/notes/own").parse().unwrap()]
    };
    // A shell stands for whoever starts a program and is killed.
    let place = attempt.place();
    let shell = ["sh", "-c", "perl -e \"$0\"; true", &code].map(str::to_owned);
    let mut control = place.direct(&shell, &[]).spawn().unwrap();
    let started = ids(&place);
    control.kill().unwrap();
    control.wait().unwrap();
    let lives = started.map(is_alive);
    end(&started);
    assert_eq!(lives, [true, true], "no real attempt");

    let place = attempt.place();
    let mut recto = attempt.tool(&place).stdout(Stdio::null()).spawn().unwrap();
    ids(&place);
    assert!(place.is_anyone_left());
    recto.kill().unwrap();
    recto.wait().unwrap();
    wait_until("the end of both", || !place.is_anyone_left());
    note_attempt();
}

/// A server that starts a child in a session of its own, and says nothing.
const LEAVING_SERVER: &str = "setsid sh -c 'echo $$ > OUTSIDE/id.new; mv OUTSIDE/id.new OUTSIDE/id; \
                              exec sleep 100' & while read line; do :; done; sleep 100";

/// Promise: `what-a-server-starts-ends`
#[test]
fn what_a_server_leaves_behind_ends_with_recto() {
    let config = format!(
        "[mcp.x]\ncommand = 'sh'\nargs = ['-c', \"\"\"{LEAVING_SERVER}\"\"\"]\nstart_limit = 3\n"
    );
    let id_of = |place: &Place| {
        wait_until("the server's child", || place.path("OUTSIDE/id").exists());
        place.read("OUTSIDE/id").trim().parse::<u32>().unwrap()
    };
    let attempt = Attempt::of(&["true"]).config(&config);
    // Directly it lives on.
    let place = attempt.place();
    let server = ["sh", "-c", &place.fill(LEAVING_SERVER)].map(str::to_owned);
    let mut control = place.direct(&server, &[]).stdout(Stdio::null()).spawn().unwrap();
    let id = id_of(&place);
    control.kill().unwrap();
    control.wait().unwrap();
    let lives = is_alive(id);
    end(&[id]);
    assert!(lives, "no real attempt");
    // Recto gives the server up, or is killed itself.
    for is_killed in [false, true] {
        let place = attempt.place();
        let mut command = place.home.command(&["mcp", "check", "x"]);
        let mut recto = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let id = id_of(&place);
        if is_killed {
            recto.kill().unwrap();
        }
        recto.wait().unwrap();
        wait_until("the end of the server's child", || !is_alive(id));
        note_attempt();
    }
}

/// The folder around the home of a program, which it wrote into the workspace.
fn own_folder_of(place: &Place) -> PathBuf {
    wait_until("the program says where it is", || place.path("WORKSPACE/notes/home").exists());
    let home = PathBuf::from(place.read("WORKSPACE/notes/home"));
    home.parent().unwrap().to_owned()
}

const SAY_WHERE: &str = "open(F, '>', 'notes/home.new'); print F $ENV{HOME}; close F; \
                         rename('notes/home.new', 'notes/home');";

#[test]
fn what_a_program_wrote_for_itself_goes_however_recto_ends() {
    let code = format!(
        "mkdir \"$ENV{{HOME}}/$_\" for ('a', 'a/b'); open(F, '>', \"$ENV{{HOME}}/a/b/private\"); \
         close F; {SAY_WHERE} sleep 100;"
    );
    for signal in ["INT", "TERM", "HUP", "KILL"] {
        let attempt = Attempt::perl(&code);
        let place = attempt.place();
        let mut tool = attempt.tool(&place);
        let mut run = tool.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let folder = own_folder_of(&place);
        let was_there = folder.join("home/a/b/private").exists();
        let id = run.id().to_string();
        Command::new("kill").args(["-s", signal, &id]).status().unwrap();
        run.wait().unwrap();
        assert!(was_there, "{signal}: {folder:?}");
        wait_until("the end of its folder", || !folder.exists());
        note_attempt();
    }
}

#[test]
fn folders_of_any_depth_go_with_the_call_and_do_not_end_recto() {
    let code = format!(
        "{SAY_WHERE} chdir $ENV{{HOME}}; for (1..12000) {{ mkdir 'd' and chdir 'd' or die $! }} \
         print 'made them';"
    );
    let attempt = Attempt::perl(&code);
    let place = attempt.place();
    // As many open files as services have, so that their number does not end it first.
    let mut shell = Command::new("sh");
    let tool = attempt.tool(&place);
    let raise = "ulimit -n $(ulimit -Hn); exec \"$@\"";
    shell.args(["-c", raise, "sh"]).arg(tool.get_program()).args(tool.get_args());
    shell.current_dir(place.path("WORKSPACE")).stdin(Stdio::null());
    shell.envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = shell.output().unwrap();
    let text = both(&output.stdout, &output.stderr);
    assert!(output.status.success() && text.contains("made them"), "{text}");
    let folder = own_folder_of(&place);
    wait_until("the end of its folder", || !folder.exists());
    note_attempt();
}
