//! Files outside the workspace are neither read nor written, whatever a program
//! does to get there.

use super::*;

/// Code that prints a file, or says why it can't.
fn reading(path: &str) -> String {
    format!("open(F, '<', \"{path}\") or die \"tried: $!\\n\"; print while <F>;")
}

#[test]
fn a_file_outside_is_not_read_by_its_path() {
    Attempt::of(&["cat", "OUTSIDE/secret"]).prints(SECRET).told(NO_ACCESS).is_stopped();
}

#[test]
fn a_file_outside_is_not_read_by_going_up() {
    Attempt::of(&["cat", "../../outside/secret"]).prints(SECRET).told(NO_ACCESS).is_stopped();
}

#[test]
fn a_file_outside_is_not_read_through_a_link_that_was_there() {
    Attempt::of(&["cat", "link"]).prints(SECRET).told(NO_ACCESS).is_stopped();
}

#[test]
fn a_file_outside_is_not_read_through_a_link_that_the_program_makes() {
    let code = format!("symlink('OUTSIDE', 'notes/out') or die; {}", reading("notes/out/secret"));
    Attempt::perl(&code).prints(SECRET).told(NO_ACCESS).is_stopped();
}

#[test]
fn a_file_outside_is_not_read_from_a_folder_that_the_program_went_to() {
    let code = format!("chdir('OUTSIDE') or print \"$!\\n\"; {}", reading("secret"));
    Attempt::perl(&code).prints(SECRET).is_stopped();
}

#[test]
fn a_file_outside_gets_no_second_name_inside() {
    let code = "link('OUTSIDE/secret', 'notes/mine') or die \"tried: $!\"; \
                open(F, '<', 'notes/mine') or die; print <F>;";
    let attempt = Attempt::perl(code).prints(SECRET).changes("WORKSPACE/notes/mine");
    attempt.told("tried: ").is_stopped();
}

#[test]
fn a_file_outside_is_not_moved_inside() {
    let code = "rename('OUTSIDE/secret', 'notes/mine') or die \"tried: $!\";";
    let attempt = Attempt::perl(code).changes("OUTSIDE/secret").changes("WORKSPACE/notes/mine");
    attempt.told("tried: ").is_stopped();
}

#[test]
fn the_keys_of_the_person_are_not_read() {
    Attempt::of(&["cat", "OUTSIDE/person/.ssh/id"]).prints(SECRET).told(NO_ACCESS).is_stopped();
    // By the variable that says where the home is, and by a shell's shorthand.
    for path in ["$ENV{HOME}/.ssh/id", "@{[glob '~/.ssh/id']}"] {
        Attempt::perl(&reading(path)).prints(SECRET).told("tried: ").is_stopped();
    }
}

#[test]
fn the_home_that_the_system_knows_of_is_not_listed() {
    // Accounts of services have none; then all homes together will do.
    let code = "for ((getpwuid($<))[7], '/home') { \
                opendir(D, $_) ? print 'it has ', scalar(@{[readdir D]}) : print \"$!\\n\" }";
    Attempt::perl(code).prints("it has ").told(NO_ACCESS).is_stopped();
}

#[test]
fn settings_of_the_system_that_no_program_needs_are_not_read() {
    // Which of them a person may read, and which are there, differs.
    let code = "for (qw(/etc/shadow /etc/fstab /etc/hostname /etc/crontab /etc/machine-id)) { \
                open(F, '<', $_) ? print \"read $_\\n\" : print \"$!\\n\" }";
    Attempt::perl(code).prints("read /etc/").told(NO_ACCESS).is_stopped();
}

#[test]
fn what_recto_keeps_is_not_read() {
    let config = "# the config itself\n";
    for (path, words) in
        [("RECTO/config.toml", "the config itself"), ("RECTO/data/recto.db", "SQLite format")]
    {
        Attempt::of(&["cat", path]).config(config).prints(words).told(NO_ACCESS).is_stopped();
    }
    Attempt::of(&["ls", "RECTO"]).prints("config.toml").told(NO_ACCESS).is_stopped();
}

#[test]
fn other_folders_for_temporary_files_are_not_listed() {
    let code = "opendir(D, '/tmp') or die \"tried: $!\"; print 'listed';";
    Attempt::perl(code).prints("listed").told(NO_ACCESS).is_stopped();
}

#[test]
fn what_the_kernel_tells_of_other_processes_is_not_read() {
    // Where it has processes of its own it sees no parent, and the first of them is Recto's.
    let path = "/proc/@{[getppid || 1]}/environ";
    let code = format!("print 'read' if open(F, '<', \"{path}\") && <F>; print \"tried $!\";");
    Attempt::perl(&code).variable("A", "b").prints("read").told("tried ").is_stopped();
}

#[test]
fn nothing_outside_is_made_changed_or_removed() {
    let secret = "OUTSIDE/secret";
    for (code, path) in [
        ("open(F, '>', 'OUTSIDE/new')", "OUTSIDE/new"),
        ("open(F, '>>', 'OUTSIDE/secret') and print F 'more'", secret),
        ("open(F, '+<', 'OUTSIDE/secret') and print F 'other'", secret),
        ("truncate('OUTSIDE/secret', 0)", secret),
        ("unlink('OUTSIDE/secret')", secret),
        ("rename('OUTSIDE/secret', 'OUTSIDE/other')", secret),
        ("mkdir('OUTSIDE/folder')", "OUTSIDE/folder"),
        ("symlink('/', 'OUTSIDE/root')", "OUTSIDE/root"),
        ("open(F, '>>', 'link') and print F 'more'", secret),
    ] {
        Attempt::perl(&format!("{code} or die \"$!\";")).changes(path).told(NO_ACCESS).is_stopped();
    }
    Attempt::of(&["touch", "../../outside/new"])
        .changes("OUTSIDE/new")
        .told(NO_ACCESS)
        .is_stopped();
    let copy = Attempt::of(&["cp", "list.txt", "OUTSIDE/copy"]);
    copy.changes("OUTSIDE/copy").told(NO_ACCESS).is_stopped();
}

#[test]
fn modes_outside_stay_and_no_file_runs_as_its_owner() {
    let secret = "OUTSIDE/secret";
    let code = "chmod(0640, 'OUTSIDE/secret') or die \"$!\";";
    Attempt::perl(code).changes(secret).told(READ_ONLY).is_stopped();
    let code = "open(F, '<', 'notes/a.txt') && chmod(04755, *F) or die \"$!\";";
    Attempt::perl(code).changes("WORKSPACE/notes/a.txt").told(NOT_PERMITTED).is_stopped();
}

#[test]
fn times_outside_stay() {
    let code = "utime(1000, 1000, 'OUTSIDE/secret') or die \"$!\"; print 'its time is ', \
                (stat 'OUTSIDE/secret')[9];";
    Attempt::perl(code).prints("its time is 1000").told(READ_ONLY).is_stopped();
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn what_others_do_with_files_outside_is_not_watched() {
    let (begin, add) = if cfg!(target_arch = "x86_64") { (294, 254) } else { (26, 27) };
    let code = format!(
        "$watch = syscall({begin}, 0); $path = 'OUTSIDE'; \
         syscall({add}, $watch, $path, 0xfff) != -1 or die \"$!\"; print 'it is watched';"
    );
    Attempt::perl(&code).prints("it is watched").told(NOT_PERMITTED).is_stopped();
}

#[test]
fn what_a_person_granted_for_reading_is_not_written() {
    let grant = "items.skill.harm.read = ['OUTSIDE']\n";
    // It is there to be read, so a path to it is taken.
    let read = Attempt::of(&["cat", "OUTSIDE/secret"]).config(grant);
    let place = read.place();
    assert!(read.run(&place).contains(SECRET));
    let code = "open(F, '>>', 'OUTSIDE/secret') and print F 'more' or die \"$!\";";
    Attempt::perl(code).config(grant).changes("OUTSIDE/secret").told(NO_ACCESS).is_stopped();
    let write = Attempt::of(&["tee", "OUTSIDE/secret"]).config(grant).changes("OUTSIDE/secret");
    let write = write
        .through(&json!([{ "param": "x", "writePath": true }]), json!({ "x": "OUTSIDE/secret" }));
    write.told("is read-only").is_stopped();
}

#[test]
fn no_device_is_made() {
    if !is_root() {
        return; // Nobody else may, with or without Recto.
    }
    let code = "system('mknod', 'notes/null', 'c', '1', '3');";
    let path = "WORKSPACE/notes/null";
    Attempt::perl(code).changes(path).told("mknod: ").is_stopped();
}

#[test]
fn nothing_is_mounted() {
    if !is_root() {
        return; // Nobody else may, with or without Recto.
    }
    // Directly it is done where no other process sees it.
    let code = "system('mount', '-t', 'tmpfs', 'none', 'notes') and die 'tried'; print 'mounted';";
    let attempt = Attempt::perl(code);
    let place = attempt.place();
    let control = ["unshare", "--mount", "perl", "-e", code].map(str::to_owned);
    let output = place.direct(&control, &[]).output().unwrap();
    let text = both(&output.stdout, &output.stderr);
    assert!(text.contains("mounted"), "no real attempt: {text}");
    let text = attempt.run(&place);
    assert!(text.contains("tried") && !text.contains("mounted"), "{text}");
    let code = "system('unshare', '--mount', 'echo', 'another', 'view') and die 'tried';";
    Attempt::perl(code).prints("another view").told(NOT_PERMITTED).is_stopped();
}
