//! Files of memories that can't be used as they are: a person is told, and the agent
//! answers all the same.

use std::fs;

use crate::support::*;

/// A home whose model answers, with something in place of MEMORY.md, and one note of
/// today beside it.
fn with_memory(make: impl FnOnce(&Home)) -> Home {
    let home = Home::scripted(&[r#"{"content":"Hello!"}"#]);
    let today = jiff::Zoned::now().date();
    home.write(&format!("workspace/memory/{today}.md"), "- The lake was cold.\n");
    make(&home);
    home
}

/// The agent answers, knows what it can, and the problem is told.
fn answers(home: &Home, problem: &str) {
    let run = home.run(&["chat", "-m", "hello"]);
    assert_eq!((run.code, run.out.as_str()), (0, "Hello!\n"), "{}", run.err);
    assert!(!run.err.contains("panicked"), "{}", run.err);
    let page = home.ok(&["show", "--body"]);
    assert!(page.contains("The lake was cold."), "the rest goes on");
    let list = home.run(&["memory", "list"]);
    assert_eq!(list.code, 0, "{}", list.err);
    let checked = home.run(&["memory", "check"]);
    let told = format!("{}{}{}", run.err, list.err, checked.out);
    assert!(told.contains("MEMORY.md") && told.contains(problem), "{told}");
}

#[test]
fn a_directory_in_its_place() {
    let home = with_memory(|home| home.write("workspace/memory/MEMORY.md/x", ""));
    answers(&home, "is a folder where a file is expected");
    home.run(&["memory", "add", "Bo likes tea."]).fails_with("hint: ");
}

#[test]
fn bytes_that_are_no_text() {
    let bytes: Vec<u8> = (0..200_000_u32).map(|at| (at * 7 % 256) as u8).collect();
    let home = with_memory(|home| home.write("workspace/memory/MEMORY.md", &bytes));
    answers(&home, "UTF-8");
    // What nobody could read again is not written there.
    let run = home.run(&["memory", "add", "Bo likes tea."]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("is not UTF-8") && run.err.contains("hint:"), "{}", run.err);
    assert_eq!(fs::read(home.path("workspace/memory/MEMORY.md")).unwrap(), bytes);
}

#[test]
fn fifty_megabytes() {
    let line = "- The lighthouse keeper wrote about the weather once more.\n";
    let text = line.repeat((50 << 20) / line.len()) + "- The last line is read.\n";
    let home = with_memory(|home| home.write("workspace/memory/MEMORY.md", &text));
    answers(&home, "MB");
    assert!(home.remembered(&[]).contains(&"The last line is read.".to_owned()));
    home.ok(&["memory", "add", "Bo likes tea."]);
    assert!(home.remembered(&[]).contains(&"Bo likes tea.".to_owned()));
}

#[test]
fn no_dates_at_all() {
    let home = with_memory(|home| home.write("workspace/memory/MEMORY.md", super::many(30)));
    let undated = "Bo likes tea.\n\n* Anna likes gin\n1. Carl likes rum\n";
    home.write("workspace/memory/MEMORY.md", undated);
    let run = home.run(&["chat", "-m", "hello"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let page = home.ok(&["show", "--body"]);
    for text in ["Bo likes tea.", "Anna likes gin", "Carl likes rum", "The lake was cold."] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn ten_thousand_times_the_same() {
    let text = "- The cat is called Minka.\n".repeat(10_000);
    let home = with_memory(|home| home.write("workspace/memory/MEMORY.md", &text));
    answers(&home, "repeat");
    let cats = home.remembered(&[]).into_iter().filter(|text| text.contains("Minka")).count();
    assert_eq!(cats, 1);
}

#[cfg(unix)]
#[test]
fn read_only_files_are_read_and_not_written() {
    use std::os::unix::fs::PermissionsExt;

    let home = with_memory(|home| home.write("workspace/memory/MEMORY.md", "- Bo likes tea.\n"));
    let (file, folder) = (home.path("workspace/memory/MEMORY.md"), home.path("workspace/memory"));
    let allow = |mode: u32, folder_mode: u32| {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(folder_mode)).unwrap();
    };
    allow(0o400, 0o500);
    let run = home.run(&["chat", "-m", "hello"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(home.ok(&["show", "--body"]).contains("Bo likes tea."));
    let add = home.run(&["memory", "add", "Bo likes gin."]);
    let unchanged = fs::read_to_string(&file).unwrap() == "- Bo likes tea.\n";
    allow(0o600, 0o700);
    // Root may write whatever the permissions say.
    if add.code == 0 {
        assert!(!unchanged);
    } else {
        add.fails_with("hint: ");
        assert!(unchanged);
    }
}

#[cfg(unix)]
#[test]
fn links_to_nothing_and_pipes() {
    let home = with_memory(|home| {
        let link = home.path("workspace/memory/MEMORY.md");
        std::os::unix::fs::symlink("nowhere/x.md", link).unwrap();
    });
    answers(&home, "is a link to nothing");
    fs::remove_file(home.path("workspace/memory/MEMORY.md")).unwrap();
    let made =
        std::process::Command::new("mkfifo").arg(home.path("workspace/memory/MEMORY.md")).status();
    if made.is_ok_and(|status| status.success()) {
        answers(&home, "is a pipe, socket or device");
    }
}
