//! A path that was checked and has become another since leads nowhere.

use std::os::unix::fs::symlink;

use super::*;

/// Code that says that it is ready, waits for a word, and then does its work.
fn waiting(work: &str) -> String {
    format!(
        "open(R, '>', 'notes/ready'); close R; \
         select(undef, undef, undef, 0.005) until -e 'notes/go'; {work}"
    )
}

/// Starts it, changes something behind its back, and gives what it wrote.
fn played(place: &Place, command: &mut Command, swap: &dyn Fn(&Place)) -> String {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the program is ready", || place.path("WORKSPACE/notes/ready").exists());
    swap(place);
    fs::write(place.path("WORKSPACE/notes/go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    both(&output.stdout, &output.stderr)
}

/// A program that works on the path that it is given, as soon as that has become
/// something else.
#[track_caller]
fn is_stopped(work: &str, given: &str, usage: &str, harm: Harm, swap: &dyn Fn(&Place)) {
    let code = waiting(work);
    let args = json!([{ "kind": "literal", "flag": "-e" }, { "kind": "literal", "flag": code },
        { "param": "x", usage: true }]);
    let mut attempt =
        Attempt::of(&["perl", "-e", &code, given]).through(&args, json!({ "x": given }));
    attempt.harms.push(harm);
    let place = attempt.place();
    let before = attempt.states(&place);
    let text = played(&place, &mut attempt.control(&place), swap);
    assert_eq!(attempt.done(&place, &before, &text), [true], "no real attempt: {text}");
    let place = attempt.place();
    let before = attempt.states(&place);
    let text = played(&place, &mut attempt.tool(&place), swap);
    assert_eq!(attempt.done(&place, &before, &text), [false], "{text}");
    assert!(is_told(&text, NO_ACCESS), "{text}");
}

const READ: &str = "open(F, '<', $ARGV[0]) or die \"$!\"; print <F>;";
const WRITE: &str = "open(F, '>>', $ARGV[0]) or die \"$!\"; print F 'more';";

/// Puts a link where something was.
fn replace(place: &Place, path: &str, target: &str) {
    let path = place.path(path);
    fs::rename(&path, path.with_file_name("away")).unwrap();
    symlink(place.path(target), path).unwrap();
}

#[test]
fn a_folder_that_becomes_a_link_is_not_read_through() {
    let swap = |place: &Place| replace(place, "WORKSPACE/notes/inner", "OUTSIDE");
    let harm = Harm::Prints(SECRET.to_owned());
    is_stopped(READ, "notes/inner/secret", "readPath", harm, &swap);
}

#[test]
fn a_file_that_becomes_a_link_is_not_read_through() {
    let swap = |place: &Place| replace(place, "WORKSPACE/notes/a.txt", "OUTSIDE/secret");
    let harm = Harm::Prints(SECRET.to_owned());
    is_stopped(READ, "notes/a.txt", "readPath", harm, &swap);
}

/// Promise: `path-stays-in-its-root`
#[test]
fn a_folder_that_becomes_a_link_is_not_written_through() {
    let swap = |place: &Place| replace(place, "WORKSPACE/notes/inner", "OUTSIDE");
    let harm = Harm::Changes("OUTSIDE/secret".to_owned());
    is_stopped(WRITE, "notes/inner/secret", "writePath", harm, &swap);
}

#[test]
fn a_file_that_becomes_a_link_to_what_is_protected_is_not_written_through() {
    let swap = |place: &Place| replace(place, "WORKSPACE/notes/a.txt", "WORKSPACE/SOUL.md");
    let harm = Harm::Changes("WORKSPACE/SOUL.md".to_owned());
    is_stopped(WRITE, "notes/a.txt", "writePath", harm, &swap);
    let swap = |place: &Place| replace(place, "WORKSPACE/notes/inner", "WORKSPACE/skills/harm");
    let harm = Harm::Changes("WORKSPACE/skills/harm/secret".to_owned());
    is_stopped(WRITE, "notes/inner/secret", "writePath", harm, &swap);
}

#[test]
fn a_file_that_becomes_what_is_protected_is_not_written() {
    // Somebody else moves the file that the program may write out of the way, and
    // what is protected to its place; that keeps what it is.
    let swap = |place: &Place| {
        let soul = place.path("WORKSPACE/SOUL.md");
        fs::rename(place.path("WORKSPACE/list.txt"), place.path("WORKSPACE/away")).unwrap();
        fs::hard_link(soul, place.path("WORKSPACE/list.txt")).unwrap();
    };
    let harm = Harm::Changes("WORKSPACE/SOUL.md".to_owned());
    is_stopped(WRITE, "list.txt", "writePath", harm, &swap);
}
