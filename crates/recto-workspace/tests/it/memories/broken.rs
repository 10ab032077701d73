//! Files that are too large, too odd, or none at all: reported, and the rest goes on.

use std::fs::File;
use std::process::Command;

use recto_workspace::FindingKind;

use super::*;

/// A home whose MEMORY.md is broken, with a note beside it that is not.
fn home_with(content: impl AsRef<[u8]>) -> WorkspaceHome {
    let home = WorkspaceHome::with(&[("workspace/memory/2026-03-02.md", "- fine\n")]);
    home.write(MEMORY, content);
    home
}

#[tokio::test]
async fn of_a_huge_file_the_end_is_read() {
    let line = format!("- {}\n", "x".repeat(97));
    let mut content = line.repeat(500_000).into_bytes();
    content.extend_from_slice(b"- last (added at 2026-03-03)\n");
    let home = home_with(&content);
    let files = home.memories();
    let view = files.read(&owner(), Horizon::All).await;
    assert_eq!(texts(&view)[..2], ["last", "fine"]);
    assert!(
        problems(&home, &view)[0]
            .starts_with("workspace/memory/MEMORY.md: is too large: only the last 4 MB are read")
    );
    files.add(new("new", MemoryScope::Global)).await.unwrap();
    let view = files.read(&owner(), Horizon::All).await;
    assert!(texts(&view).contains(&"new"));
    assert_eq!(fs::metadata(home.path(MEMORY)).unwrap().len() as usize, content.len() + 58);
    let name = view.memories.iter().find(|memory| &*memory.text == "last").unwrap().name.clone();
    files.forget(&name, &owner()).await.unwrap();
    assert_eq!(fs::metadata(home.path(MEMORY)).unwrap().len() as usize, content.len() + 58 - 29);
}

#[tokio::test]
async fn a_line_without_end_is_left_out() {
    let home = home_with(vec![b'x'; 5 << 20]);
    let view = home.recall().await;
    assert_eq!(texts(&view), ["fine"]);
    assert_eq!(
        problems(&home, &view),
        ["workspace/memory/MEMORY.md: has a line of more than 4 MB"]
    );
}

#[tokio::test]
async fn what_is_no_text_is_left_out_and_left_alone() {
    for (content, what) in [
        (&b"- a\n- \xc3\x28\n"[..], "is not UTF-8: byte 6 does not fit"),
        (b"- a\0\n", "is not a text: byte 3 is zero"),
    ] {
        let home = home_with(content);
        let view = home.recall().await;
        assert_eq!(texts(&view), ["fine"]);
        let hint = "save it as UTF-8; until then, what is in it is not used";
        assert_eq!(problems(&home, &view), [format!("workspace/memory/MEMORY.md: {what}; {hint}")]);
        let error = home.remember("new").await.unwrap_err();
        assert_eq!(home.shorten(&error.to_string()), format!("`{MEMORY}` {what}"));
        assert!(matches!(error, MemoryError::Unusable { .. }), "{error:?}");
        assert_eq!(fs::read(home.path(MEMORY)).unwrap(), content);
    }
}

#[tokio::test]
async fn ten_thousand_doubles_are_one() {
    let home = home_with("- the same\n".repeat(10_000));
    let view = home.recall().await;
    assert_eq!(texts(&view), ["fine", "the same"]);
    assert_eq!(
        problems(&home, &view),
        ["workspace/memory/MEMORY.md: has 9999 entries that repeat others word by word; \
          they count once"]
    );
}

#[tokio::test]
async fn a_folder_in_the_place_of_a_file_is_reported() {
    let home = home_with("");
    fs::remove_file(home.path(MEMORY)).unwrap();
    fs::create_dir(home.path(MEMORY)).unwrap();
    let view = home.recall().await;
    assert_eq!(texts(&view), ["fine"]);
    assert_eq!(
        problems(&home, &view),
        ["workspace/memory/MEMORY.md: is a folder where a file is expected"]
    );
    let error = home.remember("new").await.unwrap_err();
    assert!(matches!(error, MemoryError::Unusable { .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("MEMORY.md"));
}

#[tokio::test]
async fn a_file_in_the_place_of_the_folder_is_reported() {
    let home = WorkspaceHome::with(&[("workspace/memory", "a file")]);
    let view = home.recall().await;
    assert_eq!(problems(&home, &view)[0], "workspace/memory: is not a folder of memories");
    let error = home.remember("new").await.unwrap_err();
    assert!(matches!(error, MemoryError::Io { .. }), "{error:?}");
}

#[tokio::test]
async fn without_a_workspace_nothing_is_made() {
    let home = WorkspaceHome::new();
    fs::remove_dir(home.path("workspace")).unwrap();
    assert!(texts(&*home.recall().await).is_empty());
    let error = home.remember("new").await.unwrap_err();
    assert!(matches!(error, MemoryError::NoWorkspace { .. }), "{error:?}");
    assert!(!home.path("workspace").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn pipes_and_dead_links_are_reported() {
    let home = home_with("");
    for (kind, what) in [
        ("link", "is a link to nothing"),
        ("pipe", "is a pipe, socket or device where a file is expected"),
    ] {
        fs::remove_file(home.path(MEMORY)).unwrap();
        if kind == "link" {
            std::os::unix::fs::symlink("nowhere", home.path(MEMORY)).unwrap();
        } else {
            assert!(Command::new("mkfifo").arg(home.path(MEMORY)).status().unwrap().success());
        }
        let view = home.recall().await;
        assert_eq!(texts(&view), ["fine"]);
        assert_eq!(problems(&home, &view), [format!("workspace/memory/MEMORY.md: {what}")]);
        let error = home.remember("new").await.unwrap_err();
        assert!(matches!(error, MemoryError::Unusable { .. }), "{error:?}");
        assert_eq!(home.memories().check().await[0].kind, FindingKind::Unreadable);
    }
}

/// What Recto keeps beside the memories is looked at, too, before it is opened.
#[cfg(unix)]
#[tokio::test]
async fn what_is_in_the_way_of_its_own_files_stops_nobody_who_reads() {
    use std::os::unix::net::UnixListener;
    for name in [".journal", ".lock"] {
        for kind in ["pipe", "socket", "link", "folder"] {
            let home = WorkspaceHome::with(&[(MEMORY, "- a\n")]);
            let path = home.path(&format!("workspace/memory/{name}"));
            match kind {
                "pipe" => {
                    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
                }
                "socket" => drop(UnixListener::bind(&path).unwrap()),
                "link" => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
                _ => fs::create_dir(&path).unwrap(),
            }
            let what = match kind {
                "folder" => "a folder where a file",
                "link" => "a link where a file of Recto's own",
                _ => "a pipe, socket or device where a file",
            };
            let problem = format!(
                "workspace/memory/{name}: is {what} is expected; \
                 move it out of the way; until then, nothing can be remembered"
            );
            let view = home.recall().await;
            assert_eq!((texts(&view), problems(&home, &view)), (vec!["a"], vec![problem.clone()]));
            let found = &home.memories().check().await[0];
            assert_eq!(found.kind, FindingKind::Unreadable);
            assert_eq!(home.shorten(&found.problem.to_string()), problem);
            let error = home.remember("new").await.unwrap_err();
            assert!(matches!(&error, MemoryError::Unusable { path: it, .. } if *it == path));
            assert_eq!(home.content(MEMORY), "- a\n");
        }
    }
}

/// A pipe that somebody reads can be opened at once; nothing is written into it.
#[cfg(unix)]
#[tokio::test]
async fn a_pipe_that_is_read_is_no_file_either() {
    let home = WorkspaceHome::with(&[(MEMORY, "- a\n")]);
    let journal = home.path("workspace/memory/.journal");
    assert!(Command::new("mkfifo").arg(&journal).status().unwrap().success());
    let _both_ends = File::options().read(true).write(true).open(&journal).unwrap();
    let error = home.remember("new").await.unwrap_err();
    assert!(matches!(error, MemoryError::Unusable { .. }), "{error:?}");
    let name = home.recall().await.memories[0].name.clone();
    home.memories().forget(&name, &owner()).await.unwrap();
    assert_eq!(home.content(MEMORY), "");
}

#[cfg(unix)]
#[tokio::test]
async fn pipes_in_other_places_are_waited_for_by_nobody() {
    let home = WorkspaceHome::with(&[(MEMORY, "- a\n- b\n")]);
    for path in ["people/anna.md", "archive/MEMORY.md", ".journal.new"] {
        let path = home.path(&format!("workspace/memory/{path}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }
    let files = home.memories();
    let view = files.read(&owner(), Horizon::All).await;
    assert_eq!(texts(&view), ["b", "a"]);
    let theirs = files.add(new("new", MemoryScope::Person("anna".into()))).await.unwrap_err();
    assert!(matches!(theirs, MemoryError::Unusable { .. }), "{theirs:?}");
    let archived = files.forget(&view.memories[0].name, &owner()).await.unwrap_err();
    assert!(matches!(archived, MemoryError::Unusable { .. }), "{archived:?}");
    let added = files.add(new("new", MemoryScope::Global)).await.unwrap();
    let noted =
        files.edit(&added.memory.name, Some("newer"), |marks| marks, &owner()).await.unwrap_err();
    assert!(matches!(noted, MemoryError::Unusable { .. }), "{noted:?}");
}

/// A process that is killed in the middle of a change leaves a version of the file.
#[tokio::test]
async fn what_was_left_goes_with_the_next_write_unless_it_is_an_editors() {
    let home = WorkspaceHome::with(&[
        (MEMORY, "- a\n- b\n"),
        ("workspace/memory/.MEMORY.md.recto-4294967295-1", "- b\n"),
        ("workspace/memory/.MEMORY.md.recto-4294967295-2", "- b\n- the editor's\n"),
        ("workspace/memory/.MEMORY.md.recto-4294967295-3.part", "- th"),
    ]);
    let left = async || {
        let findings = home.memories().check().await.into_iter();
        let left = findings.filter(|found| found.kind == FindingKind::Leftover);
        let left = left.map(|found| found.problem.path.extension().unwrap().to_owned());
        left.map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(left().await, ["recto-4294967295-1", "recto-4294967295-2", "part"]);
    home.recall().await;
    assert_eq!(left().await.len(), 3, "reading removes nothing");
    home.remember("new").await.unwrap();
    assert_eq!(left().await, ["recto-4294967295-2"]);
    home.remember("the editor's").await.unwrap();
    assert_eq!(left().await, ["recto-4294967295-2"], "it has another time there");
}

/// Not even root may write to a file that is immutable, but few may make one so; a
/// folder without a way to lock it stands for all that cannot be written.
#[cfg(unix)]
#[tokio::test]
async fn what_cannot_be_written_is_an_error_with_a_hint() {
    use std::os::unix::fs::PermissionsExt;
    let home = home_with("- a\n");
    fs::set_permissions(home.path(MEMORY), PermissionsExt::from_mode(0o400)).unwrap();
    match home.remember("new").await {
        // As root, permissions don't count.
        Ok(_) => assert!(File::options().append(true).open(home.path(MEMORY)).is_ok()),
        Err(error) => {
            assert!(matches!(error, MemoryError::Io { what: "write", .. }), "{error:?}");
            assert!(error.hint().unwrap().starts_with("make `"), "{error:?}");
            assert_eq!(home.content(MEMORY), "- a\n");
            assert_eq!(home.content("workspace/memory/.journal"), "");
        }
    }
    assert!(texts(&*home.recall().await).contains(&"a"));
}

#[tokio::test]
async fn a_check_finds_what_a_person_should_know() {
    let key = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let home = WorkspaceHome::with(&[
        (MEMORY, &format!("- fine\n- token {key}\n- fine\n")),
        ("workspace/memory/9000-01-01.md", "- to come\n"),
        ("workspace/memory/people/a b.md", "- whose?\n"),
        ("workspace/memory/conversations/telegram-1.md", &"x".repeat(4_001)),
        ("workspace/memory/notes.md", "- lost\n"),
        ("workspace/memory/.MEMORY.md.recto-1-1", "- torn\n"),
        ("workspace/memory/.DS_Store", ""),
        ("workspace/memory/archive/MEMORY.md", "- forgotten\n"),
        ("workspace/agents/ops/memory.md", "\0"),
        ("workspace/agents/ops/SOUL.md", "calm"),
    ]);
    let findings = home.memories().check().await;
    let shown: Vec<String> = findings
        .iter()
        .map(|found| {
            let path = found.problem.path.strip_prefix(home.path("workspace")).unwrap();
            let line = found.problem.line.map_or_else(String::new, |line| format!(":{line}"));
            format!("{:?} {}{line}", found.kind, path.display())
        })
        .collect();
    assert_eq!(
        shown,
        [
            "Unreadable agents/ops/memory.md",
            "Leftover memory/.MEMORY.md.recto-1-1",
            "Future memory/9000-01-01.md:1",
            "Repeated memory/MEMORY.md",
            "Secret memory/MEMORY.md:2",
            "TooLarge memory/conversations/telegram-1.md:1",
            "Nobodys memory/notes.md",
            "Nobodys memory/people/a b.md",
        ]
    );
    assert!(findings.iter().all(|found| !found.problem.to_string().contains(&key)));
}

// A link could lead to any file of the person who runs Recto.
#[cfg(unix)]
#[tokio::test]
async fn links_in_the_place_of_recto_s_own_files_are_not_followed() {
    for name in [".journal", ".lock"] {
        let home = WorkspaceHome::with(&[(MEMORY, "- tea\n"), ("precious", "precious\n")]);
        let path = home.path(&format!("workspace/memory/{name}"));
        std::os::unix::fs::symlink(home.path("precious"), &path).unwrap();
        let refused = home.remember("rain").await.unwrap_err();
        assert!(matches!(refused, MemoryError::Unusable { .. }), "{name}: {refused:?}");
        assert_eq!(home.content("precious"), "precious\n", "{name}");
        let view = home.recall().await;
        assert_eq!(texts(&view), ["tea"], "{name}");
        assert!(view.problems.iter().any(|problem| problem.to_string().contains("is a link")));
    }
}
