//! What other processes share with each other by number or name is not touched.

use super::*;

/// A piece of what perl prints without Recto.
fn perl(code: &str) -> String {
    let output = Command::new("perl").args(["-e", code]).output().unwrap();
    both(&output.stdout, &output.stderr)
}

/// Makes something that has a number, and tries to remove or empty it by that number: as a tool,
/// which must fail, and then directly.
#[track_caller]
fn is_out_of_reach(make: &str, act: &str) {
    let number = perl(&format!("print {make};"));
    assert!(number.trim().parse::<i64>().is_ok_and(|number| number >= 0), "{make}: {number}");
    let code =
        format!("({}) or die \"tried: $!\"; print 'it was done';", act.replace("ID", &number));
    let attempt = Attempt::perl(&code);
    let text = attempt.run(&attempt.place());
    let control = perl(&code);
    assert!(!text.contains("it was done") && text.contains(NOT_PERMITTED), "{act}: {text}");
    assert!(control.contains("it was done"), "no real attempt, {act}: {control}");
    note_attempt();
}

/// Promise: `others-messages-are-theirs`
#[test]
fn messages_semaphores_and_memory_of_others_are_not_reached_by_number() {
    is_out_of_reach("msgget(0, 01600)", "msgctl(ID, 0, 0)");
    is_out_of_reach("semget(0, 1, 01600)", "semctl(ID, 0, 0, 0)");
    is_out_of_reach("shmget(0, 4096, 01600)", "shmctl(ID, 0, 0)");
    let make = "do { $q = msgget(0, 01600); msgsnd($q, pack('l! a*', 1, 'words'), 0); $q }";
    is_out_of_reach(make, "do { $r = msgrcv(ID, $_, 99, 0, 0); msgctl(ID, 0, 0) if $r; $r }");
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn queues_of_others_are_not_removed_by_name() {
    let (open, unlink) = if cfg!(target_arch = "x86_64") { (240, 241) } else { (180, 181) };
    let name = format!("recto-test-{}", std::process::id());
    let make = format!("do {{ $n = '{name}'; syscall({open}, $n, 0102, 0600, 0) }}");
    is_out_of_reach(&make, &format!("do {{ $n = '{name}'; syscall({unlink}, $n) == 0 }}"));
}

#[test]
fn nobody_of_a_user_or_a_group_has_to_stand_back() {
    for which in ["2", "1"] {
        let code = format!(
            "setpriority({which}, 0, 19) or print \"tried: $!\"; \
             print getpriority(0, 0) == 19 ? ' they do' : ' they stay';"
        );
        let attempt = Attempt::perl(&code);
        let place = attempt.place();
        let text = attempt.run(&place);
        assert!(!text.contains("they do") && text.contains(NOT_PERMITTED), "{text}");
        // Directly only where nobody else is there.
        let alone = ["unshare", "--user", "--pid", "--fork", "setsid", "perl", "-e", &code];
        let output = place.direct(&alone.map(str::to_owned), &[]).output().unwrap();
        let text = both(&output.stdout, &output.stderr);
        assert!(text.contains("they do"), "no real attempt: {text}");
        note_attempt();
    }
}

/// What Recto locks while it writes memories.
const LOCK: &str = "WORKSPACE/memory/.lock";

/// Code that has a lock as soon as it is there, tells so in a folder, and keeps it.
fn locking(lock: &str, folder: &str) -> String {
    format!(
        "open(G, '>', '{folder}/begun'); close G; \
         select(undef, undef, undef, 0.005) until -e '{lock}'; \
         open(F, '<', '{lock}') or die \"$!\"; flock(F, 6) or print \"tried: $!\"; \
         open(G, '>', '{folder}/ready'); close G; \
         select(undef, undef, undef, 0.005) until -e '{folder}/go';"
    )
}

/// Whether a lock can be had while something runs that tries to keep it.
fn is_free(place: &Place, mut command: Command, lock: &str, folder: &str) -> bool {
    let folder = place.path(folder);
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the program begins", || folder.join("begun").exists());
    // As Recto would, for the first memory.
    let lock = place.path(lock);
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    let lock = fs::OpenOptions::new().append(true).create(true).open(lock).unwrap();
    wait_until("the program has tried", || folder.join("ready").exists());
    let is_free = lock.try_lock().is_ok();
    fs::write(folder.join("go"), "").unwrap();
    running.wait().unwrap();
    is_free
}

/// Promise: `a-lock-is-its-owners`
#[test]
fn what_recto_locks_is_not_locked_by_a_program() {
    let notes = "WORKSPACE/notes";
    for (lock, is_there) in [(LOCK, true), (LOCK, false), ("OUTSIDE/other/memory/.lock", false)] {
        let attempt = Attempt::perl(&locking(lock, notes)).config(
            "items.skill.harm.read = ['OUTSIDE/other']\n\
             [agents.first]\n[agents.second]\nworkspace = 'OUTSIDE/other'\n",
        );
        let place = || {
            let place = attempt.place();
            place.home.write("../outside/other/notes.md", "");
            if is_there {
                place.home.write("workspace/memory/.lock", "");
            }
            place
        };
        let direct = place();
        let control = attempt.control(&direct);
        assert!(!is_free(&direct, control, lock, notes), "no real attempt: {lock}");
        let place = place();
        let tool = attempt.tool(&place);
        assert!(is_free(&place, tool, lock, notes), "{lock}, {is_there}");
        note_attempt();
    }
}

/// Promise: `a-lock-is-its-owners`
#[test]
fn what_recto_locks_is_not_locked_by_a_server_either() {
    let code = locking(LOCK, "OUTSIDE");
    let checked = |sandbox: &str| {
        let config = format!(
            "[mcp.x]\ncommand = 'perl'\nargs = ['-e', \"\"\"{}\"\"\"]\nstart_limit = 60\n{sandbox}",
            code.replace('\\', "\\\\").replace('"', "\\\"")
        );
        let place = Attempt::of(&["true"]).config(&config).place();
        let command = place.home.command(&["mcp", "check", "x"]);
        is_free(&place, command, LOCK, "OUTSIDE")
    };
    assert!(!checked(""), "no real attempt");
    assert!(checked("sandbox = true\nread = ['WORKSPACE']\nwrite = ['OUTSIDE']\n"));
    note_attempt();
}

/// Promise: `a-lock-is-its-owners`
#[test]
fn nobody_waits_for_a_program_that_has_a_lease() {
    is_refused("open(F, '<', 'SOUL.md') && fcntl(F, 1024, 1)");
}

#[test]
fn what_others_do_in_a_folder_is_not_told() {
    is_refused("open(F, '<', '.') && fcntl(F, 1026, 1)");
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn requests_that_are_counted_for_the_whole_machine_are_not_taken() {
    let setup = if cfg!(target_arch = "x86_64") { 206 } else { 0 };
    is_refused(&format!("do {{ $c = \"\\0\" x 8; syscall({setup}, 10, $c) == 0 }}"));
}

/// Tries something as a tool, which must fail, and then directly.
#[track_caller]
fn is_refused(act: &str) {
    let attempt = Attempt::perl(&format!("({act}) or die \"tried: $!\"; print 'it was done';"));
    let place = attempt.place();
    place.home.write("workspace/SOUL.md", "Be kind.");
    let text = attempt.run(&place);
    let control = attempt.control(&place).output().unwrap();
    let control = both(&control.stdout, &control.stderr);
    assert!(!text.contains("it was done") && text.contains(NOT_PERMITTED), "{act}: {text}");
    assert!(control.contains("it was done"), "no real attempt, {act}: {control}");
    note_attempt();
}
