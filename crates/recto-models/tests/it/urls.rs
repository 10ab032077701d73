//! Files by their address.

use std::fs;
use std::time::Duration;

use recto_models::{Checksum, ModelsError, PullProgress, SourceError};

use crate::server::{Answer, Server};
use crate::support::*;

#[tokio::test]
async fn a_file_gets_its_name_from_its_address() {
    let server = Server::with_file(b"some model");
    let room = Room::new();
    let url = format!("{}/a/My%20Model.Q4.gguf?download=true", server.url());
    let pulled = room.pull(&url).await.unwrap();
    assert_eq!(pulled.name, "My-Model.Q4");
    assert_eq!(pulled.files[0].path, room.path("My-Model.Q4/My-Model.Q4.gguf"));
    assert_eq!(pulled.files[0].sha256, Checksum::of_bytes(b"some model"));
    assert_eq!(server.requests()[0].path, "/a/My%20Model.Q4.gguf?download=true");
    assert_eq!(fs::read(&pulled.files[0].path).unwrap(), b"some model");
    assert_eq!(room.library.find("my-model.q4").unwrap().main(), Some(&*pulled.files[0].path));
}

#[tokio::test]
async fn the_same_address_is_not_asked_twice() {
    let server = Server::with_file(b"some model");
    let room = Room::new();
    let url = format!("{}/m.gguf", server.url());
    room.pull(&url).await.unwrap();
    let (pulled, told) = room.watch(&url).await;
    assert!(pulled.unwrap().files[0].was_there);
    assert_eq!(told, [PullProgress::AlreadyThere { path: room.path("m/m.gguf") }]);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn another_file_of_the_same_name_is_not_taken_for_it() {
    let server = Server::with_file(b"some model");
    let mut room = Room::new();
    room.pull(&format!("{}/m.gguf", server.url())).await.unwrap();
    let other = format!("{}/other/m.gguf", server.url());
    let error = room.pull(&other).await.unwrap_err();
    assert!(matches!(&error, ModelsError::Taken { name } if name == "m"), "{error}");
    assert_eq!(server.requests().len(), 1);
    // Unless its checksum says that it is the same.
    room.options.sha256 = Some(Checksum::of_bytes(b"some model"));
    assert!(room.pull(&other).await.unwrap().files[0].was_there);
    assert_eq!(server.requests().len(), 1);
    // Or it gets a name of its own.
    room.options.sha256 = None;
    room.options.name = Some("second".to_owned());
    let pulled = room.pull(&other).await.unwrap();
    assert_eq!(pulled.files[0].path, room.path("second/m.gguf"));
}

#[tokio::test]
async fn a_file_that_recto_knows_goes_to_its_own_place() {
    let server = Server::with_file(b"only one file");
    let room = Room::new();
    let url = format!("{}/whatever.bin", server.url());
    let pulled = room.pull(&url).await.unwrap();
    assert_eq!(pulled.name, "solo");
    assert_eq!(pulled.files[0].path, room.path("solo/solo.gguf"));
    assert_eq!(
        room.tree(),
        ["solo", "solo/.solo.gguf.origin", "solo/solo.gguf", "solo/solo.gguf.sha256"]
    );
    assert!(room.pull("solo").await.unwrap().files[0].was_there);
    assert!(room.pull(&url).await.unwrap().files[0].was_there);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn another_file_never_gets_the_name_of_a_known_model() {
    let server = Server::with_file(b"some model");
    let mut room = Room::new();
    let pulled = room.pull(&format!("{}/tiny.gguf", server.url())).await.unwrap();
    assert_eq!(pulled.name, "tiny.gguf");
    assert!(room.library.find("tiny").is_none());
    room.options.name = Some("Tiny".to_owned());
    let error = room.pull(&format!("{}/m.gguf", server.url())).await.unwrap_err();
    assert_eq!(error.code(), "taken");
}

#[tokio::test]
async fn a_checksum_that_is_given_is_checked() {
    let server = Server::with_file(b"some model");
    let mut room = Room::new();
    room.options.sha256 = Some(Checksum::of_bytes(b"another"));
    let error = room.pull(&format!("{}/m.gguf", server.url())).await.unwrap_err();
    assert_eq!(error.code(), "mismatch");
    let (expected, actual) = (Checksum::of_bytes(b"another"), Checksum::of_bytes(b"some model"));
    assert_eq!(source_errors(&error), [SourceError::Mismatch { expected, actual }]);
    assert_eq!(room.tree(), [""; 0]);
}

#[tokio::test]
async fn redirects_are_followed_with_the_range() {
    let body = foreign();
    let server = Server::new(move |request, before| match request.path.as_str() {
        "/m.gguf" => Answer::new(302, b"").header("location", "/elsewhere?token=1"),
        _ if before == 1 => Answer::part_of(&body, "\"v\"", request).cut_after(1000),
        _ => Answer::part_of(&body, "\"v\"", request),
    });
    let room = Room::new();
    let pulled = room.pull(&format!("{}/m.gguf", server.url())).await.unwrap();
    assert_eq!(pulled.files[0].path, room.path("m/m.gguf"));
    assert_eq!(fs::read(room.path("m/m.gguf")).unwrap(), foreign());
    assert_eq!(server.ranges(), ["", "", "bytes=1000-", "bytes=1000-"]);
}

#[tokio::test]
async fn a_circle_of_redirects_ends() {
    let server = Server::new(|_, _| Answer::new(302, b"").header("location", "/m.gguf"));
    let error = Room::new().pull(&format!("{}/m.gguf", server.url())).await.unwrap_err();
    assert_eq!(source_errors(&error), [SourceError::Redirected]);
    assert!(server.requests().len() < 20);
}

#[tokio::test]
async fn a_file_that_changed_meanwhile_is_fetched_from_its_beginning() {
    let server = Server::new(|request, before| match before {
        0 => Answer::part_of(&foreign(), "\"old\"", request).cut_after(100_000),
        _ => Answer::part_of(b"the new one", "\"new\"", request),
    });
    let room = Room::new();
    room.pull(&format!("{}/m.gguf", server.url())).await.unwrap();
    assert_eq!(server.requests()[1].header("if-range"), Some("\"old\""));
    assert_eq!(fs::read(room.path("m/m.gguf")).unwrap(), b"the new one");
}

#[tokio::test]
async fn without_a_mark_or_a_checksum_nothing_is_gone_on_with() {
    for mark in [None, Some("W/\"weak\"")] {
        let server = Server::new(move |_, before| {
            let answer = Answer::new(200, &foreign());
            let answer = match mark {
                Some(mark) => answer.header("etag", mark),
                None => answer,
            };
            if before == 0 { answer.cut_after(100_000) } else { answer }
        });
        let room = Room::new();
        room.pull(&format!("{}/m.gguf", server.url())).await.unwrap();
        assert_eq!(server.ranges(), ["", ""]);
        assert_eq!(fs::read(room.path("m/m.gguf")).unwrap(), foreign());
    }
}

#[tokio::test]
async fn a_file_without_a_known_length_comes_whole() {
    let server = Server::new(|_, _| Answer::new(200, &foreign()).chunked());
    let room = Room::new();
    let (pulled, told) = room.watch(&format!("{}/m.gguf", server.url())).await;
    assert_eq!(pulled.unwrap().files[0].size, 300_000);
    assert_eq!(bytes_told(&told).last(), Some(&(300_000, None)));
}

#[tokio::test]
async fn a_date_is_a_mark_too() {
    let date = "Wed, 21 Oct 2026 07:28:00 GMT";
    let server = Server::new(move |request, before| {
        let body = foreign();
        match before {
            0 => Answer::new(200, &body).header("last-modified", date).cut_after(100_000),
            _ => Answer::part_of(&body, date, request).header("last-modified", date),
        }
    });
    let room = Room::new();
    room.pull(&format!("{}/m.gguf", server.url())).await.unwrap();
    assert_eq!(server.ranges(), ["", "bytes=100000-"]);
    assert_eq!(server.requests()[1].header("if-range"), Some(date));
}

#[tokio::test]
async fn a_server_that_falls_silent_is_left_and_asked_for_the_rest() {
    let server = Server::new(|request, before| match before {
        0 => Answer::part_of(&foreign(), "\"v\"", request).hang_after(100_000),
        _ => Answer::part_of(&foreign(), "\"v\"", request),
    });
    let mut room = Room::new();
    room.options.silence_limit = Duration::from_millis(300);
    room.pull(&format!("{}/m.gguf", server.url())).await.unwrap();
    assert_eq!(server.ranges(), ["", "bytes=100000-"]);
}

#[tokio::test]
async fn a_server_that_never_sends_anything_is_asked_once() {
    let server = Server::new(|_, _| Answer::new(200, b"xyz").hang_after(0));
    let mut room = Room::new();
    room.options.silence_limit = Duration::from_millis(300);
    let error = room.pull(&format!("{}/m.gguf", server.url())).await.unwrap_err();
    assert_eq!(error.code(), "silent");
    assert_eq!(server.requests().len(), 1);
    assert_eq!(room.tree(), [""; 0]);
}

#[tokio::test]
async fn a_server_that_always_breaks_off_is_given_up() {
    let server = Server::new(|_, _| Answer::new(200, &foreign()).cut_after(100));
    let error = Room::new().pull(&format!("{}/m.gguf", server.url())).await.unwrap_err();
    assert!(matches!(source_errors(&error)[..], [SourceError::Cut { done: 100, .. }]), "{error}");
    assert_eq!(error.hint().unwrap(), "run the command again: it goes on where it ended");
    assert!((2..10).contains(&server.requests().len()));
}

#[tokio::test]
async fn an_address_that_holds_secrets_is_used_and_never_told_or_written() {
    let server = Server::new(|_, _| Answer::new(403, b""));
    let room = Room::new();
    let host = server.url().replace("http://", "");
    let url = format!("http://me:hunter2@{host}/m.gguf?token=hunter3");
    let (pulled, told) = room.watch(&url).await;
    let error = pulled.unwrap_err();
    let all = format!("{error} {error:?} {:?} {told:?}", error.hint());
    assert!(!all.contains("hunter"), "{all}");
    let request = &server.requests()[0];
    assert!(request.header("authorization").is_some() && request.path.ends_with("token=hunter3"));

    // Not in what is written beside a file, either.
    let server = Server::new(|request, before| match before {
        0 => Answer::part_of(&foreign(), "\"v\"", request).cut_after(1000),
        _ => Answer::part_of(&foreign(), "\"v\"", request).cut_after(0),
    });
    let host = server.url().replace("http://", "");
    room.pull(&format!("http://me:hunter2@{host}/m.gguf?token=hunter3")).await.unwrap_err();
    let tag = fs::read_to_string(room.path("m/m.gguf.part.tag")).unwrap();
    assert!(!tag.contains("hunter") && tag.contains("\"v\""), "{tag}");
}

#[tokio::test]
async fn addresses_that_name_no_file_are_refused() {
    let room = Room::new();
    for url in ["http://127.0.0.1:1/", "http://127.0.0.1:1/%2e%2e%2f", "ftp://x/m.gguf", "http://"]
    {
        let error = room.pull(url).await.unwrap_err();
        assert_eq!(error.code(), "bad_address", "{url}: {error}");
    }
    assert!(room.tree().is_empty());
}

#[tokio::test]
async fn an_address_never_leads_out_of_the_library() {
    let server = Server::with_file(b"evil");
    let room = Room::new();
    let url = format!("{}/x/..%2f..%2f..%2f.ssh%2fkeys.gguf", server.url());
    let pulled = room.pull(&url).await.unwrap();
    assert!(pulled.files[0].path.starts_with(room.library.folder()));
    assert_eq!(pulled.files[0].path, room.path("ssh-keys/ssh-keys.gguf"));
    let mut room = Room::new();
    for name in ["../x", "/etc", "a/b", "..", ".hidden", ""] {
        room.options.name = Some(name.to_owned());
        let error = room.pull(&format!("{}/m.gguf", server.url())).await.unwrap_err();
        assert_eq!(error.code(), "unsafe_name", "{name}");
    }
}
