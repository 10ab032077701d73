//! Folders and files that change while calls run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use serde_json::json;

use crate::{Home, call, run, tool_call};

/// Does something over and over on a thread of its own, until it is dropped.
struct Meanwhile {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Meanwhile {
    fn new(mut work: impl FnMut() + Send + 'static) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let seen = done.clone();
        let thread = thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                work();
            }
        });
        Meanwhile { done, thread: Some(thread) }
    }

    /// Ends it; a panic in it goes on here.
    fn end(mut self) {
        self.done.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// A workspace with a folder `d` that is, in turns, a real one with a file
/// `inside` and a link to a folder outside with a file `outside`.
fn home_with_a_changeling() -> (Home, Meanwhile) {
    let home = Home::with(&[("d/file", "inside")]);
    fs::create_dir(home.path("out")).unwrap();
    fs::write(home.path("out/file"), "outside").unwrap();
    symlink("../out", home.inside("link")).unwrap();
    let [d, link, real] = ["d", "link", "real"].map(|name| home.inside(name));
    let changing = Meanwhile::new(move || {
        rename(&d, &real);
        rename(&link, &d);
        rename(&d, &link);
        rename(&real, &d);
    });
    (home, changing)
}

/// Renames, also while calls make folders in the new name's place.
fn rename(from: &Path, to: &Path) {
    while fs::rename(from, to).is_err() {
        assert!(fs::symlink_metadata(from).is_ok(), "{} is gone", from.display());
        let _ = fs::remove_dir_all(to);
    }
}

/// Promise: `path-stays-in-its-root`
#[tokio::test]
async fn a_folder_that_becomes_a_link_is_never_read_through() {
    let (home, changing) = home_with_a_changeling();
    let toolbox = home.toolbox();
    for _ in 0..400 {
        let calls = [
            tool_call("read_file", &json!({"path": "d/file"})),
            tool_call("read_file", &json!({"path": "link/file"})),
            tool_call("list_files", &json!({"path": "d"})),
        ];
        for result in run(&toolbox, &calls).await {
            // The file outside is a byte longer than the one inside.
            let text = result.text;
            assert!(!text.contains("outside\n") && text != "outside", "{text}");
            assert!(!text.contains("(7 bytes)"), "{text}");
        }
    }
    changing.end();
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_is_never_written_through() {
    let (home, changing) = home_with_a_changeling();
    let toolbox = home.toolbox();
    for number in 0..400 {
        let new = format!("d/{number}/new");
        let calls = [
            tool_call("write_file", &json!({"path": "d/file", "content": "inside"})),
            tool_call("write_file", &json!({"path": "link/file", "content": "inside"})),
            tool_call("write_file", &json!({"path": new, "content": "inside"})),
        ];
        run(&toolbox, &calls).await;
    }
    changing.end();
    assert_eq!(fs::read_to_string(home.path("out/file")).unwrap(), "outside");
    assert_eq!(fs::read_dir(home.path("out")).unwrap().count(), 1, "nothing was added");
}

#[tokio::test]
async fn a_file_that_becomes_a_pipe_or_a_link_does_no_harm() {
    let home = Home::with(&[("file", "inside")]);
    fs::write(home.path("secret"), "secret").unwrap();
    symlink("../secret", home.inside("link")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(home.inside("pipe")).status();
    assert!(made.unwrap().success());
    let [file, link, pipe, real] = ["file", "link", "pipe", "real"].map(|name| home.inside(name));
    let changing = Meanwhile::new(move || {
        for other in [&link, &pipe] {
            fs::rename(&file, &real).unwrap();
            fs::rename(other, &file).unwrap();
            fs::rename(&file, other).unwrap();
            fs::rename(&real, &file).unwrap();
        }
    });
    let toolbox = home.toolbox();
    for _ in 0..400 {
        let read = call(&toolbox, "read_file", json!({"path": "file"})).await;
        assert!(read == "Done: inside" || read.starts_with("Failed: read_file failed"), "{read}");
    }
    changing.end();
}

#[tokio::test]
async fn readers_see_the_old_file_or_the_new_one() {
    let (old, new) = ("a".repeat(200_000), "b".repeat(300_000));
    let home = Home::with(&[("file", &old)]);
    let path = home.inside("file");
    let (one, other) = (old.clone(), new.clone());
    let reading = Meanwhile::new(move || {
        let seen = fs::read_to_string(&path).unwrap();
        assert!(seen == one || seen == other, "{} bytes", seen.len());
    });
    let toolbox = home.toolbox();
    for number in 0..100 {
        let content = if number % 2 == 0 { &new } else { &old };
        let write = json!({"path": "file", "content": content});
        assert!(call(&toolbox, "write_file", write).await.starts_with("Done: replaced"));
    }
    reading.end();
}
