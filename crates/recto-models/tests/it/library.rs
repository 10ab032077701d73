//! What is on disk, and how it leaves.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use recto_models::{Library, ModelPurpose};

use crate::support::*;

#[test]
fn an_absent_or_empty_library_has_no_models() {
    let room = Room::new();
    assert!(room.library.list().unwrap().is_empty());
    assert!(room.library.find("tiny").is_none());
    assert_eq!(room.library.remove("tiny").unwrap_err().code(), "not_installed");
    fs::create_dir_all(room.library.folder()).unwrap();
    assert!(room.library.list().unwrap().is_empty());
}

#[test]
fn models_are_listed_with_their_files() {
    let room = Room::new();
    room.write("tiny/tokenizer.json", TOKENIZER);
    room.write("tiny/model.bin", &weights());
    room.write("Other.Q4/readme.md", b"text");
    room.write("Other.Q4/zz.gguf", b"model");
    room.write("Other.Q4/zz.gguf.sha256", b"note");
    room.write("empty/x.gguf.part", b"part");
    room.write(".hidden/x.gguf", b"x");
    room.write("loose.gguf", b"x");
    let models = room.library.list().unwrap();
    let names: Vec<&str> = models.iter().map(|model| &*model.name).collect();
    assert_eq!(names, ["Other.Q4", "tiny"]);
    let [other, tiny] = &models[..] else { unreachable!() };
    assert_eq!((&*tiny.title, tiny.purpose), ("Tiny-Model-v1", ModelPurpose::Embedding));
    assert_eq!(tiny.main(), Some(&*room.path("tiny/model.bin")));
    assert_eq!(tiny.file("tokenizer.json"), Some(&*room.path("tiny/tokenizer.json")));
    assert_eq!(tiny.size(), 300_000 + TOKENIZER.len() as u64);
    assert_eq!((&*other.title, other.purpose), ("Other.Q4", ModelPurpose::Unknown));
    assert_eq!(other.main(), Some(&*room.path("Other.Q4/zz.gguf")));
    assert_eq!(other.files.len(), 2);
    for name in ["tiny", "TINY", "tiny-model_v1", "org/repo"] {
        assert_eq!(room.library.find(name).as_ref(), Some(tiny), "{name}");
    }
    assert_eq!(room.library.find("other.q4").as_ref(), Some(other));
    for name in ["", ".", "..", "../home", ".hidden", "loose.gguf", "empty", "solo"] {
        assert_eq!(room.library.find(name), None, "{name}");
    }
}

#[test]
fn a_file_of_the_wrong_size_counts_as_missing() {
    let room = Room::new();
    room.write("tiny/tokenizer.json", TOKENIZER);
    room.write("tiny/model.bin", b"half of it");
    let tiny = &room.library.list().unwrap()[0];
    assert_eq!(tiny.missing, ["model.bin"]);
    assert!(room.library.find("tiny").is_none());
}

#[test]
fn a_model_leaves_with_all_that_lies_beside_it() {
    let room = Room::new();
    room.write("tiny/model.bin", &weights());
    room.write("tiny/model.bin.part", b"x");
    room.write("Other.Q4/zz.gguf", b"model");
    room.library.remove("Tiny-Model-v1").unwrap();
    assert_eq!(room.tree(), ["Other.Q4", "Other.Q4/zz.gguf"]);
    let error = room.library.remove("Othr.Q4").unwrap_err();
    assert_eq!(error.hint().unwrap(), "did you mean `Other.Q4`? there are Other.Q4");
    room.library.remove("Other.Q4").unwrap();
    assert_eq!(room.tree(), [""; 0]);
}

#[test]
fn nothing_outside_of_the_library_is_removed() {
    let room = Room::new();
    let outside = room.write("../../precious/file", b"x");
    room.write("tiny/model.bin", b"x");
    let folder = outside.parent().unwrap();
    let absolute = folder.to_str().unwrap();
    for name in ["..", "../../precious", "../models/tiny", ".", "", "/", absolute, "tiny/../.."] {
        assert_eq!(room.library.remove(name).unwrap_err().code(), "unsafe_name", "{name}");
    }
    // A link is removed, and not what it leads to.
    symlink(folder, room.path("linked")).unwrap();
    symlink(folder, room.path("tiny/sub")).unwrap();
    room.library.remove("linked").unwrap();
    room.library.remove("tiny").unwrap();
    assert!(outside.exists());
    assert_eq!(room.tree(), [""; 0]);
}

#[tokio::test]
async fn folders_are_for_their_owner_only() {
    let room = Room::new();
    let path = room.beside("m.gguf");
    fs::write(&path, b"x").unwrap();
    room.pull(path.to_str().unwrap()).await.unwrap();
    for folder in ["home", "home/models", "home/models/m"] {
        let mode = fs::metadata(room.beside(folder)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{folder}");
    }
}

#[test]
fn a_library_that_is_no_folder_is_told() {
    let room = Room::new();
    let file = room.write("../../file", b"x");
    let error = Library::new(&file).list().unwrap_err();
    assert_eq!(error.code(), "io");
}
