//! Files of this machine, by their path.

use std::fs;
use std::path::Path;
use std::process::Command;

use recto_models::{Checksum, ModelPurpose, ModelsError, PullProgress};

use crate::support::*;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn a_file_is_copied_and_stays() {
    let room = Room::new();
    let path = room.write("../../My Model.gguf", &foreign());
    let (pulled, told) = room.watch(text(&path)).await;
    let pulled = pulled.unwrap();
    assert_eq!(pulled.name, "My-Model");
    assert_eq!(pulled.files[0].sha256, Checksum::of_bytes(&foreign()));
    assert_eq!(fs::read(room.path("My-Model/My-Model.gguf")).unwrap(), foreign());
    assert!(path.exists());
    let size = foreign().len() as u64;
    assert_eq!(bytes_told(&told).last(), Some(&(size, Some(size))));
    // Once more: it is there.
    let (pulled, told) = room.watch(text(&path)).await;
    assert!(pulled.unwrap().files[0].was_there);
    assert_eq!(told, [PullProgress::AlreadyThere { path: room.path("My-Model/My-Model.gguf") }]);
    // Also by the path of the copy itself.
    let copy = room.path("My-Model/My-Model.gguf");
    assert!(room.pull(text(&copy)).await.unwrap().files[0].was_there);
}

#[tokio::test]
async fn a_known_model_brought_from_another_machine_is_recognised() {
    let room = Room::new();
    let model = room.write("../../downloads/renamed.bin", &weights());
    let tokenizer = room.write("../../downloads/tokenizer (1).json", TOKENIZER);
    assert_eq!(room.pull(text(&model)).await.unwrap().name, "tiny");
    assert!(room.library.find("tiny").is_none(), "its tokenizer is missing");
    let listed = &room.library.list().unwrap()[0];
    assert_eq!((&*listed.name, &listed.missing[..]), ("tiny", &["tokenizer.json".to_owned()][..]));
    assert_eq!(room.pull(text(&tokenizer)).await.unwrap().name, "tiny");
    assert!(room.library.find("Tiny-Model-v1").is_some());
    assert!(room.pull("tiny").await.unwrap().files.iter().all(|file| file.was_there));
}

#[tokio::test]
async fn a_damaged_known_file_is_replaced_by_a_sound_one() {
    let room = Room::new();
    room.write("solo/solo.gguf", b"only one fil_");
    let sound = room.write("../../sound.gguf", b"only one file");
    let pulled = room.pull(text(&sound)).await.unwrap();
    assert!(!pulled.files[0].was_there);
    assert_eq!(fs::read(room.path("solo/solo.gguf")).unwrap(), b"only one file");
}

#[tokio::test]
async fn another_file_of_the_same_name_is_not_overwritten() {
    let room = Room::new();
    let first = room.write("../../m.gguf", b"first");
    let second = room.write("../../other/m.gguf", b"second");
    room.pull(text(&first)).await.unwrap();
    let error = room.pull(text(&second)).await.unwrap_err();
    assert!(matches!(&error, ModelsError::Taken { name } if name == "m"), "{error}");
    assert_eq!(fs::read(room.path("m/m.gguf")).unwrap(), b"first");
}

#[tokio::test]
async fn a_checksum_that_is_given_is_checked() {
    let mut room = Room::new();
    let path = room.write("../../m.gguf", b"some model");
    room.options.sha256 = Some(Checksum::of_bytes(b"another"));
    assert_eq!(room.pull(text(&path)).await.unwrap_err().code(), "mismatch");
    assert_eq!(room.tree(), [""; 0]);
    room.options.sha256 = Some(Checksum::of_bytes(b"some model"));
    let (pulled, told) = room.watch(text(&path)).await;
    pulled.unwrap();
    let sha256 = Checksum::of_bytes(b"some model");
    assert!(told.contains(&PullProgress::Verified { file: "m.gguf".into(), sha256 }));
}

#[tokio::test]
async fn what_is_no_file_is_refused() {
    let room = Room::new();
    fs::create_dir_all(room.beside("folder")).unwrap();
    let pipe = room.beside("pipe.gguf");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [room.beside("folder"), pipe, room.beside("not-there.gguf")] {
        let error = room.pull(text(&path)).await.unwrap_err();
        assert_eq!(error.code(), "bad_file", "{error}");
    }
    let error = room.pull(text(&room.write("../../.gguf", b"x"))).await.unwrap();
    assert_eq!(error.name, "gguf");
    let error = room.pull(text(&room.write("../../日本", b"x"))).await.unwrap_err();
    assert_eq!(error.code(), "bad_file");
}

fn write_encoder(room: &Room, folder: &str) -> std::path::PathBuf {
    for file in ["tokenizer.json", "config.json", "modules.json", "1_Pooling/config.json"] {
        room.write(&format!("../../{folder}/{file}"), file.as_bytes());
    }
    room.write(&format!("../../{folder}/pytorch_model.bin"), b"the same once more");
    room.write(&format!("../../{folder}/model.safetensors"), &foreign());
    room.beside(folder)
}

#[tokio::test]
async fn the_folder_of_an_encoder_is_copied_as_far_as_it_is_read() {
    let room = Room::new();
    let folder = write_encoder(&room, "small-en v1.5");
    let pulled = room.pull(text(&folder)).await.unwrap();
    assert_eq!((&*pulled.name, pulled.files.len()), ("small-en-v1.5", 5));
    assert!(pulled.files.iter().all(|file| !file.was_there));
    let there = |file: &str| room.path(&format!("small-en-v1.5/{file}"));
    assert_eq!(fs::read(there("model.safetensors")).unwrap(), foreign());
    assert_eq!(fs::read(there("1_Pooling/config.json")).unwrap(), b"1_Pooling/config.json");
    assert!(!there("pytorch_model.bin").exists());
    let listed = room.library.find("small-en-v1.5").unwrap();
    assert_eq!(listed.purpose, ModelPurpose::Embedding);
    assert_eq!(listed.main().unwrap(), there("model.safetensors"));
    // Once more: it is there. Another one may not take its name.
    assert!(room.pull(text(&folder)).await.unwrap().files.iter().all(|file| file.was_there));
    room.write("../../small-en v1.5/config.json", b"other");
    assert_eq!(room.pull(text(&folder)).await.unwrap_err().code(), "taken");
    room.library.remove("small-en-v1.5").unwrap();
    assert!(!room.path("small-en-v1.5").exists());
}

#[tokio::test]
async fn a_folder_of_known_weights_goes_to_their_place_and_half_a_folder_nowhere() {
    let room = Room::new();
    let folder = write_encoder(&room, "downloads");
    room.write("../../downloads/model.safetensors", &weights());
    room.write("../../downloads/tokenizer.json", TOKENIZER);
    let pulled = room.pull(text(&folder)).await.unwrap();
    assert_eq!((&*pulled.name, pulled.files.len()), ("tiny", 2));
    assert!(room.library.find("tiny").is_some());
    fs::remove_file(folder.join("config.json")).unwrap();
    let error = room.pull(text(&folder)).await.unwrap_err();
    assert_eq!(error.code(), "bad_file");
    assert!(error.to_string().contains("no `config.json`"), "{error}");
}
