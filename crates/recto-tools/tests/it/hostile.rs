//! Files that are no files, links that lead out, and other traps.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

use serde_json::json;

use crate::Home;

impl Home {
    async fn read_file(&self, path: &str) -> String {
        self.call("read_file", json!({"path": path})).await
    }

    async fn write_file(&self, path: &str) -> String {
        self.call("write_file", json!({"path": path, "content": "new"})).await
    }
}

fn succeeds(program: &str, arguments: &[&OsStr]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

#[tokio::test]
async fn what_is_no_regular_file_is_neither_read_nor_written() {
    let home = Home::new();
    let _socket = UnixListener::bind(home.inside("socket")).unwrap();
    assert!(succeeds("mkfifo", &[home.inside("pipe").as_os_str()]));
    let mut names = vec!["socket", "pipe"];
    let endless = home.inside("endless");
    // Only the system's administrator may make a device.
    if succeeds("mknod", &[endless.as_os_str(), "c".as_ref(), "1".as_ref(), "5".as_ref()]) {
        names.push("endless");
    }
    for name in names {
        let problem = format!("failed: `{name}` is not a regular file");
        assert_eq!(home.read_file(name).await, format!("Failed: read_file {problem}"));
        assert_eq!(home.write_file(name).await, format!("Failed: write_file {problem}"));
    }
    let listed = home.call("list_files", json!({})).await;
    assert!(listed.contains("pipe (not a regular file)\nsocket (not a regular file)"), "{listed}");
}

#[tokio::test]
async fn no_link_leads_out() {
    let home = Home::new();
    fs::create_dir(home.path("out")).unwrap();
    fs::write(home.path("out/secret"), "secret").unwrap();
    symlink("../out", home.inside("relative")).unwrap();
    symlink(home.path("out"), home.inside("absolute")).unwrap();
    symlink("../out/secret", home.inside("file")).unwrap();
    symlink("/dev/zero", home.inside("zero")).unwrap();
    for path in ["relative/secret", "absolute/secret", "file", "zero"] {
        let read = home.read_file(path).await;
        assert!(read.starts_with("Failed: ") && read.contains("outside the workspace"), "{read}");
        assert!(home.write_file(path).await.starts_with("Failed: "), "{path}");
    }
    for path in ["relative", "absolute/"] {
        let listed = home.call("list_files", json!({"path": path})).await;
        assert!(listed.contains("outside the workspace"), "{listed}");
        assert!(home.write_file(&format!("{path}/new")).await.contains("outside the workspace"));
    }
    assert_eq!(fs::read_to_string(home.path("out/secret")).unwrap(), "secret");
    assert_eq!(fs::read_dir(home.path("out")).unwrap().count(), 1);
    let listed = home.call("list_files", json!({"depth": 9})).await;
    assert!(listed.contains("relative -> ../out\n") && !listed.contains("relative/"), "{listed}");
}

#[tokio::test]
async fn a_link_is_no_way_around_the_guard() {
    let home = Home::with(&[("SOUL.md", "soul"), ("skills/a/scripts/run.sh", "run")]);
    symlink("SOUL.md", home.inside("notes.md")).unwrap();
    symlink("nowhere.md", home.inside("dangling.md")).unwrap();
    symlink("skills/a/scripts", home.inside("drafts")).unwrap();
    symlink(".", home.inside("here")).unwrap();
    for (path, expected) in [
        ("notes.md", "`notes.md` is a link; write to what it points to"),
        ("dangling.md", "`dangling.md` is a link; write to what it points to"),
        ("drafts/run.sh", "`skills/a/scripts/run.sh` is out of reach: no tool may write it"),
        ("here/SOUL.md", "`SOUL.md` needs a person's approval"),
    ] {
        assert_eq!(home.write_file(path).await, format!("Failed: write_file failed: {expected}"));
    }
    assert_eq!(home.read("SOUL.md"), "soul");
    assert_eq!(home.read("skills/a/scripts/run.sh"), "run");
    assert!(!home.inside("nowhere.md").exists());
    // Reading through links is fine.
    assert_eq!(home.read_file("notes.md").await, "Done: soul");
}

#[tokio::test]
async fn a_second_name_of_a_file_keeps_the_old_content() {
    let home = Home::with(&[("SOUL.md", "soul")]);
    fs::write(home.path("secret"), "secret").unwrap();
    fs::hard_link(home.path("secret"), home.inside("a")).unwrap();
    fs::hard_link(home.inside("SOUL.md"), home.inside("b")).unwrap();
    for name in ["a", "b"] {
        assert!(home.write_file(name).await.starts_with("Done: replaced"));
        assert_eq!(home.read(name), "new");
    }
    assert_eq!(fs::read_to_string(home.path("secret")).unwrap(), "secret");
    assert_eq!(home.read("SOUL.md"), "soul");
}

#[tokio::test]
async fn a_replaced_file_keeps_its_mode() {
    let home = Home::with(&[("run", "old")]);
    fs::set_permissions(home.inside("run"), fs::Permissions::from_mode(0o750)).unwrap();
    home.write_file("run").await;
    assert_eq!(home.read("run"), "new");
    assert_eq!(fs::metadata(home.inside("run")).unwrap().mode() & 0o7777, 0o750);
}

#[tokio::test]
async fn circles_of_links_end() {
    let home = Home::new();
    symlink("b", home.inside("a")).unwrap();
    symlink("a", home.inside("b")).unwrap();
    symlink(".", home.inside("self")).unwrap();
    for told in [home.read_file("a").await, home.write_file("a/x").await] {
        assert!(told.contains("leads through more than 256 folders and links"), "{told}");
    }
    let listed = home.call("list_files", json!({"depth": 1_000_000})).await;
    assert_eq!(listed, "Done: a -> b\nb -> a\nself -> .");
}

#[tokio::test]
async fn deep_paths_work_until_they_are_refused() {
    let home = Home::new();
    let deep = format!("{}file", "d/".repeat(200));
    assert!(home.write_file(&deep).await.starts_with("Done: created"));
    assert_eq!(home.read_file(&deep).await, "Done: new");
    let listed = home.call("list_files", json!({"depth": 500})).await;
    assert!(listed.ends_with("/d/file (3 bytes)"), "{listed}");
    for too_deep in ["d/".repeat(1_000), "d/".repeat(100_000), "x".repeat(5_000_000)] {
        let told = home.write_file(&format!("{too_deep}file")).await;
        assert!(told.starts_with("Failed: ") && told.len() < 5_000, "{}", told.len());
    }
}

#[tokio::test]
async fn only_text_is_read() {
    let home = Home::new();
    let not_text =
        |name: &str| format!("Failed: read_file failed: `{name}` is not a text file in UTF-8");
    home.write("latin", b"caf\xe9\n");
    home.write("cut", b"caf\xc3");
    home.write("wide", b"\xff\xfea\0b\0");
    home.write("zeros", b"abc\0\0\0");
    for name in ["latin", "cut", "wide", "zeros"] {
        assert_eq!(home.read_file(name).await, not_text(name));
    }
    // What is not shown does not matter.
    home.write("mixed", b"fine\nna\xefve\n");
    let first = home.call("read_file", json!({"path": "mixed", "limit": 1})).await;
    assert_eq!(first, "Done: fine\n[lines 1 to 1; the file has 2 lines; go on with offset 2]");
}

#[tokio::test]
async fn names_that_are_no_text_are_listed() {
    let home = Home::new();
    fs::write(home.inside("").join(OsStr::from_bytes(b"caf\xe9")), "").unwrap();
    fs::write(home.inside("two\nlines"), "").unwrap();
    let listed = home.call("list_files", json!({})).await;
    assert_eq!(listed, "Done: caf\u{fffd} (0 bytes)\ntwo\\nlines (0 bytes)");
}

#[tokio::test]
async fn a_huge_file_is_read_where_asked() {
    let home = Home::new();
    let mut file = fs::File::create(home.inside("huge")).unwrap();
    file.write_all(b"first\nsecond\n").unwrap();
    // A hole of a terabyte, which nobody could read to its end in time.
    file.set_len(1 << 40).unwrap();
    let read = home.call("read_file", json!({"path": "huge", "limit": 2})).await;
    assert_eq!(
        read,
        "Done: first\nsecond\n\
         [lines 1 to 2; the file has 1099511627776 bytes; go on with offset 3]"
    );
}

#[tokio::test]
async fn the_end_of_a_large_file_can_be_read() {
    let home = Home::new();
    let lines: String = (1..=700_000).map(|number| format!("{number:>9}\n")).collect();
    home.write("large", &lines);
    let read = home.call("read_file", json!({"path": "large", "offset": 700_000})).await;
    assert_eq!(read, "Done:    700000\n[lines 700000 to 700000, the end of the file]");
    let read = home.read_file("large").await;
    assert!(read.len() < 65_600, "{}", read.len());
    assert!(read.ends_with("the file has 7000000 bytes; go on with offset 6503]"), "{read}");
}
