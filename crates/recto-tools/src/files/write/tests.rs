//! Writes that are stopped, that a person allowed, or that make room for a program.

use std::fs;
use std::os::unix::fs::symlink;

use recto_context::AudienceKind;

use crate::options::ToolOptions;

use super::*;

fn write_with(stop: &Stop) -> Vec<(OsString, String)> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "old").unwrap();
    let files = FileAccess::new(ToolOptions::new(folder.path()));
    let arguments = CallArguments::parse(r#"{"path": "a", "content": "new"}"#).unwrap();
    let context = FileContext {
        catalog: &Catalog::default(),
        consent: Consent::Unasked,
        who: AudienceKind::Owner,
    };
    write(&files, &arguments, &context, stop).unwrap();
    let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    let read = |path| fs::read_to_string(path).unwrap();
    entries.map(|entry| (entry.file_name(), read(entry.path()))).collect()
}

#[test]
fn a_call_that_was_stopped_changes_nothing() {
    assert_eq!(write_with(&Stop::raised()), [("a".into(), "old".to_owned())]);
    assert_eq!(write_with(&Stop::default()), [("a".into(), "new".to_owned())]);
}

#[test]
fn new_content_does_not_run_as_the_owner_of_the_old() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Written::with(&[("tool", "old")]);
    fs::set_permissions(home.path("tool"), fs::Permissions::from_mode(0o6755)).unwrap();
    let told = home.write("tool", "new", Consent::Unasked);
    let mode = fs::metadata(home.path("tool")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755, "{told}");
}

/// What a call comes to with this consent, in a workspace with these files.
struct Written(tempfile::TempDir);

impl Written {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Written(folder)
    }

    fn arguments(path: &str, content: &str) -> CallArguments {
        CallArguments::parse(&json!({"path": path, "content": content}).to_string()).unwrap()
    }

    fn action(&self, path: &str, content: &str) -> ToolAction {
        let files = FileAccess::new(ToolOptions::new(self.0.path()));
        describe(&files, &Self::arguments(path, content), &Catalog::default()).unwrap()
    }

    fn hash(&self, path: &str, content: &str) -> ContentHash {
        self.action(path, content).hash
    }

    fn write(&self, path: &str, content: &str, consent: Consent) -> String {
        let files = FileAccess::new(ToolOptions::new(self.0.path()));
        let context =
            FileContext { catalog: &Catalog::default(), consent, who: AudienceKind::Owner };
        match write(&files, &Self::arguments(path, content), &context, &Stop::default()) {
            Ok(text) => text,
            Err(problem) => problem.to_string(),
        }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }
}

#[test]
fn what_was_shown_is_what_is_written() {
    let changed = "what it would do changed since a person allowed it";
    let home = Written::with(&[("SOUL.md", "kind\n"), ("a.txt", "old\n")]);
    for path in ["SOUL.md", "a.txt"] {
        let shown = home.hash(path, "new\n");
        let before = fs::read_to_string(home.path(path)).unwrap();
        // Another content, another file, and other old text are all not what was shown.
        let other = home.write(path, "other\n", Consent::To(shown));
        assert!(other.ends_with(changed), "{other}");
        let other = home.write("b.txt", "new\n", Consent::To(shown));
        assert!(other.ends_with(changed), "{other}");
        fs::write(home.path(path), "meanwhile\n").unwrap();
        let other = home.write(path, "new\n", Consent::To(shown));
        assert!(other.ends_with(changed), "{other}");
        assert_eq!(fs::read_to_string(home.path(path)).unwrap(), "meanwhile\n");
        fs::remove_file(home.path(path)).unwrap();
        let other = home.write(path, "new\n", Consent::To(shown));
        assert!(other.ends_with(changed), "{other}");
        fs::write(home.path(path), before).unwrap();
        let done = home.write(path, "new\n", Consent::To(shown));
        assert!(done.starts_with("replaced"), "{done}");
    }
    assert!(!home.path("b.txt").exists());
}

#[test]
fn old_text_counts_as_it_is_and_not_as_it_is_shown() {
    let home = Written::with(&[("a", "")]);
    fs::write(home.path("a"), [0xff]).unwrap();
    let shown = home.hash("a", "new");
    fs::write(home.path("a"), "\u{fffd}").unwrap();
    assert_ne!(home.hash("a", "new"), shown);
    // Beyond what is compared, the length still counts.
    let most = usize::try_from(MOST_COMPARED).unwrap();
    fs::write(home.path("a"), "x".repeat(most + 1)).unwrap();
    let shown = home.hash("a", "new");
    fs::write(home.path("a"), "x".repeat(most + 2)).unwrap();
    assert_ne!(home.hash("a", "new"), shown);
}

#[test]
fn whether_anything_would_change_is_told_of_the_bytes() {
    let home = Written::with(&[("latin", ""), ("text", "same\n"), ("long", "")]);
    let most = usize::try_from(MOST_COMPARED).unwrap();
    fs::write(home.path("latin"), b"caf\xe9\n").unwrap();
    fs::write(home.path("long"), "x\n".repeat(most)).unwrap();
    let told = |path: &str, content: &str| {
        let action = home.action(path, content);
        let ActionFields::File(file) = action.fields else { panic!("{:?}", action.fields) };
        let note = file.describe_note().map(|note| note + "\n").unwrap_or_default();
        assert_eq!(action.detail, note + &file.diff);
        (file.diff_note, file.diff.lines().skip(3).take(2).collect::<Vec<_>>().join("\n"))
    };
    assert_eq!(told("none", ""), (Some(DiffNote::Empty), String::new()));
    assert_eq!(told("none", "a\n"), (None, "+a".to_owned()));
    assert_eq!(told("text", "same\n"), (Some(DiffNote::Unchanged), String::new()));
    assert_eq!(told("text", "other\n"), (None, "-same\n+other".to_owned()));
    // The same as it is shown, and not the same.
    let replaced = (Some(DiffNote::NotUtf8), "+caf\u{fffd}".to_owned());
    assert_eq!(told("latin", "caf\u{fffd}\n"), replaced);
    // All that is compared is the same, and not all that is there.
    let long = |lines| told("long", &"x\n".repeat(lines));
    assert_eq!(long(most / 2), (Some(DiffNote::TooLong), "+x\n+x".to_owned()));
    assert_eq!(long(most), (Some(DiffNote::Unchanged), String::new()));
    fs::write(home.path("long"), "x\n".repeat(most - 1) + "y\n").unwrap();
    assert_eq!(long(most).0, Some(DiffNote::TooLong));
}

#[test]
fn a_new_file_is_allowed_as_a_new_file() {
    let home = Written::with(&[]);
    let shown = home.hash("rules/deep/a.md", "new");
    let other = home.write("rules/deep/a.md", "other", Consent::To(shown));
    assert!(other.contains("changed since"), "{other}");
    assert!(!home.path("rules").exists(), "what is refused leaves nothing behind");
    // An empty file is not the same as none.
    fs::create_dir_all(home.path("rules/deep")).unwrap();
    fs::write(home.path("rules/deep/a.md"), "").unwrap();
    let other = home.write("rules/deep/a.md", "new", Consent::To(shown));
    assert!(other.contains("changed since"), "{other}");
    fs::remove_dir_all(home.path("rules")).unwrap();
    let done = home.write("rules/deep/a.md", "new", Consent::To(shown));
    assert!(done.starts_with("created"), "{done}");
}

#[test]
fn an_empty_file_is_removed_where_it_was_made() {
    for (workspace, file) in [("w", "w/notes/out"), ("w", "granted/notes/out")] {
        let home = Written::with(&[("w/a", ""), ("granted/a", ""), ("victim/out", "")]);
        let folder = home.path(file).parent().unwrap().to_owned();
        fs::create_dir_all(&folder).unwrap();
        let made = create_empty(&home.path(workspace), &home.path(file)).unwrap().unwrap();
        assert!(create_empty(&home.path(workspace), &home.path(file)).unwrap().is_none());
        // The folder is moved away, and a link to another takes its place.
        let moved = folder.with_file_name("moved");
        fs::rename(&folder, &moved).unwrap();
        symlink(home.path("victim"), &folder).unwrap();
        made.remove_if_empty();
        assert!(home.path("victim/out").exists(), "{file}");
        assert!(!moved.join("out").exists(), "{file}");
        // Nor is anything made behind the link.
        let new = folder.join("new");
        assert!(create_empty(&home.path(workspace), &new).is_err(), "{file}");
        assert!(!home.path("victim/new").exists(), "{file}");
    }
}

#[test]
fn what_was_written_or_is_no_file_stays() {
    let home = Written::with(&[("kept", "")]);
    let make = |name: &str| create_empty(&home.path(""), &home.path(name)).unwrap().unwrap();
    let (full, link) = (make("full"), make("link"));
    fs::write(home.path("full"), "x").unwrap();
    fs::remove_file(home.path("link")).unwrap();
    symlink("kept", home.path("link")).unwrap();
    full.remove_if_empty();
    link.remove_if_empty();
    for name in ["full", "link", "kept"] {
        assert!(fs::symlink_metadata(home.path(name)).is_ok(), "{name}");
    }
}

/// Many short lines, each one of a few, in an order of their own.
fn scattered(lines: usize, seed: u64) -> String {
    let step = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        Some(format!("{:x}\n", (*state >> 33) % 200))
    };
    std::iter::repeat_n((), lines).scan(seed, |state, ()| step(state)).collect()
}

#[test]
fn a_change_of_many_lines_is_shown_without_being_compared() {
    let text = |mark, lines, seed| format!("head\n{mark}\n{}{mark}\ntail", scattered(lines, seed));
    let (old, new) = (text("old", 330_000, 1), text("new", 340_000, 2));
    let shown = diff("a", &old, &new);
    let words = shown.lines().next().unwrap();
    assert!(words.contains("too large to be compared line by line: 330004 lines ("), "{words}");
    assert!(words.contains("would become 340004 lines ("), "{words}");
    // All of it can be read, as lines that go and lines that come.
    let count = |mark: char| shown.lines().filter(|line| line.starts_with(mark)).count();
    assert_eq!((count('-') - 1, count('+') - 1), (330_002, 340_002));
    assert!(shown.contains("@@ -1,330004 +1,340004 @@\n head\n-old\n"), "{}", &shown[..300]);
    assert!(shown.ends_with("\n tail\n\\ No newline at end of file\n"));
    // What only comes is no comparison, and what stays is none either.
    assert!(diff("a", "", &new).starts_with("--- a"));
    assert!(diff("a", &old, &format!("{old}\nmore\n")).lines().count() < 20);
}

#[test]
fn a_carriage_return_ends_no_line_of_a_diff() {
    let shown = diff("a", "x\nold\n", "x\nover\rwritten\n");
    assert!(shown.ends_with("\n x\n-old\n+over\rwritten\n"), "{shown:?}");
}
