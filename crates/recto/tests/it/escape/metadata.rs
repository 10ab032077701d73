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
