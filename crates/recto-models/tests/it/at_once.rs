//! Two pulls at once, and pulls that end in the middle.

use std::fs;
use std::sync::Arc;

use recto_models::{Library, PullProgress};
use tokio::sync::oneshot;

use crate::server::{Answer, Gate, Server};
use crate::support::*;

#[tokio::test]
async fn the_second_waits_for_the_first_and_finds_the_file() {
    let gate = Arc::<Gate>::default();
    let opened = Arc::clone(&gate);
    let server = Server::new(move |_, _| Answer::new(200, b"only one file").half_until(&gate));
    let room = Room::with_hub(&server.url());
    let (sender, begun) = oneshot::channel();
    let mut sender = Some(sender);
    let mut first_tells = |progress| {
        if matches!(progress, PullProgress::Bytes { done: 1.., .. })
            && let Some(sender) = sender.take()
        {
            sender.send(()).unwrap();
        }
    };
    let first = room.library.pull("solo", &room.options, &mut first_tells);
    // Another library of the same folder, as another process has it.
    let other = Library::new(room.library.folder()).with_known(table());
    let second = async {
        begun.await.unwrap();
        let mut told = Vec::new();
        let mut tells = |progress| {
            if matches!(progress, PullProgress::Waiting { .. }) {
                opened.open();
            }
            told.push(progress);
        };
        let pulled = other.pull("solo", &room.options, &mut tells).await;
        (pulled, told)
    };
    let (first, (second, told)) = tokio::join!(first, second);
    assert!(!first.unwrap().files[0].was_there);
    assert!(second.unwrap().files[0].was_there);
    assert_eq!(
        told,
        [
            PullProgress::Waiting { name: "solo".into() },
            PullProgress::AlreadyThere { path: room.path("solo/solo.gguf") }
        ]
    );
    assert_eq!(server.requests().len(), 1);
    assert_eq!(room.tree(), ["solo", "solo/solo.gguf", "solo/solo.gguf.sha256"]);
}

#[tokio::test]
async fn a_model_that_is_being_pulled_is_not_removed() {
    let gate = Arc::<Gate>::default();
    let opened = Arc::clone(&gate);
    let server = Server::new(move |_, _| Answer::new(200, b"only one file").half_until(&gate));
    let room = Room::with_hub(&server.url());
    let library = room.library.clone();
    let mut refused = Vec::new();
    let mut tells = |progress| {
        if matches!(progress, PullProgress::Bytes { done: 1.., .. }) {
            refused.push(library.remove("solo").unwrap_err().code());
            opened.open();
        }
    };
    room.library.pull("solo", &room.options, &mut tells).await.unwrap();
    assert!(refused.contains(&"busy"), "{refused:?}");
    room.library.remove("solo").unwrap();
    assert_eq!(room.tree(), [""; 0]);
}

#[tokio::test]
async fn a_pull_that_is_given_up_is_gone_on_with() {
    let server = Server::new(|request, before| match before {
        0 => Answer::part_of(&weights(), "\"w\"", request).hang_after(100_000),
        1 => Answer::part_of(&weights(), "\"w\"", request),
        _ => Answer::part_of(TOKENIZER, "\"t\"", request),
    });
    let room = Room::with_hub(&server.url());
    let (sender, begun) = oneshot::channel();
    let mut sender = Some(sender);
    let mut tell = |progress| {
        if matches!(progress, PullProgress::Bytes { done: 100_000, .. })
            && let Some(sender) = sender.take()
        {
            sender.send(()).unwrap();
        }
    };
    tokio::select! {
        pulled = room.library.pull("tiny", &room.options, &mut tell) => panic!("{pulled:?}"),
        begun = begun => begun.unwrap(),
    }
    room.pull("tiny").await.unwrap();
    assert_eq!(server.ranges()[1], "bytes=100000-");
    assert_eq!(fs::read(room.path("tiny/model.bin")).unwrap(), weights());
}
