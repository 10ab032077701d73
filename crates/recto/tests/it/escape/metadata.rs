//! Modes, owners and times stay as they are, by path and through files that are open for reading,
//! but for what may be written.

use super::*;

/// Lets the file be read, so that it can be opened.
const READ: &str = "items.skill.harm.read = ['OUTSIDE']\n";

/// What may be read and not written: a person's file and folder, what the agent is, a folder that
/// holds such things.
const KEPT: [&str; 4] =
    ["OUTSIDE/secret", "OUTSIDE/person", "WORKSPACE/SOUL.md", "WORKSPACE/skills"];

/// What is done to `$_[0]`: an open file, or a path.
const ACTS: [&str; 2] = ["chmod(0751, $_[0])", "utime(1000, 1000, $_[0])"];

/// Does something to each of these, by path and through an open file, and stops at nothing.
#[track_caller]
fn stays(act: &str) {
    for path in KEPT {
        for (how, target) in [("by path", "$path"), ("open for reading", "*F")] {
            let code = format!(
                "$path = '{path}'; open(F, '<', $path) or die \"$!\"; $act = sub {{ {act} }}; \
                 $act->({target}) or die \"tried: $!\"; print 'it was done';"
            );
            let attempt = Attempt::perl(&code).config(READ);
            let place = attempt.place();
            let before = place.marks(path);
            let text = attempt.run(&place);
            assert_eq!(place.marks(path), before, "{how}, {path}: {text}");
            assert!(text.contains("tried: ") && !text.contains("it was done"), "{how}: {text}");
            let output = attempt.control(&place).output().unwrap();
            let text = both(&output.stdout, &output.stderr);
            assert!(text.contains("it was done"), "no real attempt, {how}: {text}");
            assert_ne!(place.marks(path), before, "no real attempt, {how}, {path}");
            note_attempt();
        }
    }
}

impl Place {
    /// Mode, owner, group and time of a file or folder.
    fn marks(&self, path: &str) -> (u32, u32, u32, i64) {
        let found = fs::metadata(self.path(path)).unwrap();
        (found.mode(), found.uid(), found.gid(), found.mtime())
    }
}

/// Promise: `read-only-stays-as-it-is`
#[test]
fn modes_and_times_of_what_is_only_read_stay() {
    ACTS.into_iter().for_each(stays);
}

/// Promise: `read-only-stays-as-it-is`
#[test]
fn owners_of_what_is_only_read_stay() {
    if !is_root() {
        return; // Others may give a file to a group of theirs; there need not be a second one.
    }
    stays("chown(-1, 1, $_[0])");
}

#[test]
fn the_folder_that_holds_what_is_protected_keeps_its_mode() {
    let code = "open(F, '<', '.') or die; chmod(0777, *F) or die \"tried: $!\";";
    Attempt::perl(code).changes("WORKSPACE").told("tried: ").is_stopped();
}

/// Promise: `no-file-for-everybody`
#[test]
fn no_file_becomes_one_that_everybody_writes_or_that_runs_as_its_owner() {
    for mode in ["0666", "04755", "02755"] {
        for target in ["'notes/a.txt'", "*F"] {
            let code = format!(
                "open(F, '<', 'notes/a.txt') or die; chmod({mode}, {target}) or die \"tried: $!\";"
            );
            let attempt = Attempt::perl(&code).changes("WORKSPACE/notes/a.txt");
            attempt.told(NOT_PERMITTED).is_stopped();
        }
    }
}

/// Makes `notes/new` as a file or folder that everybody writes, or that runs as its owner.
#[track_caller]
fn is_not_made(make: &str) {
    let code = format!("use Fcntl; umask(0); $n = 'notes/new'; ({make}) or print \"tried: $!\";");
    let attempt = Attempt::perl(&code);
    let is_open = |place: &Place| {
        let mode = place.state("WORKSPACE/notes/new").map(|(mode, _)| mode);
        mode.is_some_and(|mode| mode & 0o6002 != 0)
    };
    let place = attempt.place();
    let text = attempt.run(&place);
    assert!(!is_open(&place), "harm was done, {make}: {text}");
    let place = attempt.place();
    attempt.control(&place).output().unwrap();
    assert!(is_open(&place), "no real attempt, {make}");
    note_attempt();
}

/// Promise: `no-file-for-everybody`
#[test]
fn no_file_is_made_that_everybody_writes_or_that_runs_as_its_owner() {
    for mode in ["0666", "04755", "02755", "06777"] {
        is_not_made(&format!("sysopen(F, $n, O_CREAT | O_WRONLY, {mode})"));
    }
    for mode in ["0777", "07777"] {
        is_not_made(&format!("mkdir($n, {mode})"));
    }
}

/// Promise: `no-file-for-everybody`
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn no_rare_call_makes_such_a_file_either() {
    let mknodat = if cfg!(target_arch = "x86_64") { 259 } else { 33 };
    for mode in ["0100666", "0104777", "0106777"] {
        is_not_made(&format!("syscall({mknodat}, -100, $n, {mode}, 0) == 0"));
        is_not_made(&format!(
            "$h = pack('Q3', 0101, {mode} & 07777, 0), syscall(437, -100, $n, $h, 24) != -1"
        ));
    }
    if cfg!(target_arch = "x86_64") {
        is_not_made("syscall(133, $n, 0106777, 0) == 0");
        is_not_made("syscall(83, $n, 07777) == 0");
        is_not_made("syscall(85, $n, 04777) != -1");
        is_not_made("syscall(2, $n, 0101, 04777) != -1");
    }
}

#[test]
fn nothing_of_a_file_that_is_only_read_is_set_by_a_request() {
    // Its version (twice), its seal, its attributes on FAT, and of a volume of Btrfs its flags, its
    // origin, and what is made and removed in it.
    for request in [
        "0x40087602",
        "0x40086604",
        "0x40806685",
        "0x40047211",
        "0x4008941a",
        "0xc0c89425",
        "0x5000940e",
        "0x50009418",
        "0x50009401",
        "0x50009417",
        "0x5000940f",
        "0x5000943f",
    ] {
        let attempt = Attempt::perl(&format!(
            "open(F, '<', 'SOUL.md') or die; $v = pack('Q', 7); \
             ioctl(F, {request}, $v) or die \"tried: $!\"; print 'it was set';"
        ));
        // Not every file system knows these; whether this one does is not asked any more.
        let text = attempt.run(&attempt.place());
        assert!(text.contains(NOT_PERMITTED) && !text.contains("it was set"), "{request}: {text}");
        note_attempt();
    }
}
