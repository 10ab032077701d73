//! The stderr of a server: a file of limited size for people, and the last of it for
//! errors. Keys that Recto gave to the server are taken out, here and, by the same
//! [`Redactor`], of all else that it says to calls.

use std::cmp::Reverse;
use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::iter;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use recto_context::{Reveal, reveal};
use recto_fs::{create_private_folder, private_options};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::task::spawn_blocking;

/// The longest log of a server; the one before is kept beside it.
const MAX_LOG: u64 = 1024 * 1024;

/// As much of the end as errors have.
const MAX_TAIL: usize = 4 * 1024;

/// The longest line; a longer one is written in pieces.
const MAX_LINE: usize = 16 * 1024;

/// The shortest value that is taken for a secret.
const SHORTEST_SECRET: usize = 8;

/// Takes secrets out of a text.
#[derive(Clone, Default)]
pub(super) struct Redactor(Arc<[String]>);

impl Redactor {
    /// Makes one that takes these values of variables out. What is short or a path is no
    /// secret.
    pub(super) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Redactor::from_secrets(values.into_iter().filter(|value| !is_path(value)))
    }

    /// Makes one that takes a key out, which is no path, whatever it looks like.
    pub(super) fn for_key(key: &str) -> Self {
        Redactor::from_secrets([key])
    }

    fn from_secrets<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut forms: Vec<_> = secrets.into_iter().flat_map(forms).collect();
        // One may be a part of another, of which nothing must be left.
        forms.sort_by_key(|form| Reverse(form.len()));
        Redactor(forms.into())
    }

    pub(super) fn apply(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(&**secret, "…"))
    }

    /// Takes them out of all texts within a value, and out of the names of its fields.
    pub(super) fn apply_within(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.apply(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.apply_within(value)),
            Value::Object(fields) => {
                let redacted = mem::take(fields).into_iter().map(|(name, mut value)| {
                    self.apply_within(&mut value);
                    (self.apply(&name), value)
                });
                *fields = redacted.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// How a secret may stand in a text: as a whole or line by line, as it is or as
/// JSON writes it.
fn forms(secret: &str) -> impl Iterator<Item = String> {
    let lines = secret.lines().filter(move |line| *line != secret);
    let parts = iter::once(secret).chain(lines).map(str::trim);
    parts.filter(|part| part.len() >= SHORTEST_SECRET).flat_map(|part| {
        let quoted = Value::from(part).to_string();
        let escaped = quoted[1..quoted.len() - 1].to_owned();
        let escaped = Some(escaped).filter(|escaped| escaped != part);
        iter::once(part.to_owned()).chain(escaped)
    })
}

/// Whether a value leads to places in the file system, as a path or a list of
/// them does. Keys in base64 may begin like one.
fn is_path(value: &str) -> bool {
    let is_place = |path: &Path| {
        // What is not there yet has a folder at least.
        let folder = path.parent().filter(|folder| folder.parent().is_some());
        path.exists() || folder.is_some_and(Path::exists)
    };
    value.starts_with('/') && env::split_paths(value).all(|path| is_place(&path))
}

/// The last lines that a server wrote to stderr.
#[derive(Debug, Clone, Default)]
pub(super) struct StderrTail(Arc<Mutex<String>>);

impl StderrTail {
    /// The last of what the server wrote to stderr.
    pub(super) fn text(&self) -> String {
        self.0.lock().clone()
    }

    fn push(&self, line: &str) {
        let mut text = self.0.lock();
        text.push_str(line);
        if text.len() > MAX_TAIL {
            let start = text.ceil_char_boundary(text.len() - MAX_TAIL);
            text.drain(..start);
        }
    }
}

/// Reads what a server writes until its end, into the tail and the log. A log
/// that can't be written is left; the server must not wait for it.
pub(super) async fn follow_stderr(
    stderr: impl AsyncRead + Unpin,
    tail: StderrTail,
    mut log: Option<Log>,
    redact: Redactor,
) {
    let mut stderr = BufReader::new(stderr);
    while let Ok(Some(line)) = piece(&mut stderr).await {
        // People read logs at a terminal, too.
        let line = reveal(&redact.apply(&String::from_utf8_lossy(&line)), Reveal::Lines);
        tail.push(&line);
        if let Some(mut open) = log.take() {
            let written = spawn_blocking(move || open.write(line.as_bytes()).map(|()| open)).await;
            log = written.ok().and_then(Result::ok);
        }
    }
}

/// The next line with its end, or a piece of one that is very long; `None` at the end.
async fn piece(from: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    while line.len() < MAX_LINE {
        let ready = from.fill_buf().await?;
        if ready.is_empty() {
            break;
        }
        let end = ready.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(ready.len(), |end| end + 1);
        line.extend_from_slice(&ready[..taken]);
        from.consume(taken);
        if end.is_some() {
            break;
        }
    }
    Ok((!line.is_empty()).then_some(line))
}

/// The log file of a server; one that grows too long is set aside.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Log {
    /// The log of a server in this folder; `None` where there can't be one.
    pub(super) fn open(folder: &Path, stem: &str) -> Option<Self> {
        create_private_folder(folder).ok()?;
        Log::append_to(folder.join(format!("mcp-{stem}.log"))).ok()
    }

    fn append_to(path: PathBuf) -> io::Result<Self> {
        let file = private_options().append(true).create(true).open(&path)?;
        let length = file.metadata()?.len();
        Ok(Log { path, file, length })
    }

    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let added = line.len() as u64;
        if self.length + added > MAX_LOG {
            // Whoever else has it open may have set it aside already.
            if fs::metadata(&self.path).is_ok_and(|found| found.len() + added > MAX_LOG) {
                let mut old = self.path.clone().into_os_string();
                old.push(".1");
                fs::rename(&self.path, old)?;
            }
            *self = Log::append_to(self.path.clone())?;
        }
        self.file.write_all(line)?;
        self.length += added;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_folder_of_logs_is_its_owners() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let logs = folder.path().join("logs");
        assert!(Log::open(&logs, "a").is_some());
        assert_eq!(fs::metadata(&logs).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn only_what_looks_like_a_secret_is_taken_out() {
        let redact = Redactor::new(["s3cr3t-token", "true", "/bin/../bin/sh", ""]);
        let text = "true: /bin/../bin/sh --key=s3cr3t-token";
        assert_eq!(redact.apply(text), "true: /bin/../bin/sh --key=…");
    }

    #[test]
    fn what_begins_like_a_path_may_be_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().to_str().unwrap();
        let later = format!("{there}/not-yet");
        let list = format!("{there}:{later}");
        let keys = ["/9j4AAQSkZJRg==", "//9j4AAQ+ZJRg=", "/9j/4AAQSkZJRg=="];
        for path in [there, &*later, &*list] {
            assert_eq!(Redactor::new([path]).apply(path), path);
            // What is known to be a key is one.
            assert_eq!(Redactor::for_key(path).apply(path), "…");
        }
        for key in keys {
            assert_eq!(Redactor::new([key]).apply(key), "…", "{key}");
        }
        let mixed = format!("{there}:s3cr3t-token");
        assert_eq!(Redactor::new([&*mixed]).apply(&mixed), "…");
    }

    #[test]
    fn nothing_is_left_of_a_secret() {
        // One that is the beginning of another.
        let redact = Redactor::new(["s3cr3t-to", "s3cr3t-token"]);
        assert_eq!(redact.apply("s3cr3t-token, s3cr3t-to"), "…, …");
        // One of several lines, as a whole, in JSON, and line by line.
        let key = "-- begin --\nMIIEvQIBADAN\nab=\n";
        let redact = Redactor::new([key]);
        assert_eq!(redact.apply(&format!("<{key}>")), "<…\n>");
        assert_eq!(redact.apply(&Value::from(key).to_string()), r#""…\n""#);
        assert_eq!(redact.apply("MIIEvQIBADAN\n"), "…\n");
    }

    #[tokio::test]
    async fn the_end_is_kept_and_the_log_has_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let logs = folder.path().join("logs");
        let line = format!("{}\n", "0123456789abcdef".repeat(64));
        let text = format!("key s3cr3t-token\n{}last ä", line.repeat(1_600));
        let tail = StderrTail::default();
        let log = Log::open(&logs, "a");
        follow_stderr(text.as_bytes(), tail.clone(), log, Redactor::new(["s3cr3t-token"])).await;

        let end = tail.text();
        assert!(end.ends_with("abcdef\nlast ä") && end.len() <= MAX_TAIL, "{end}");
        let log = |name: &str| fs::read_to_string(logs.join(name)).unwrap();
        let (new, old) = (log("mcp-a.log"), log("mcp-a.log.1"));
        assert!(new.len() as u64 <= MAX_LOG && old.len() as u64 <= MAX_LOG);
        assert!(old.starts_with("key …\n"));
        assert_eq!(format!("{old}{new}"), text.replace("s3cr3t-token", "…"));
    }

    #[test]
    fn a_log_that_several_write_is_set_aside_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let full = "x".repeat(usize::try_from(MAX_LOG).unwrap());
        fs::write(file("mcp-a.log"), &full).unwrap();
        let open = || Log::open(folder.path(), "a").unwrap();
        for mut log in [open(), open()] {
            log.write(b"more\n").unwrap();
        }
        assert!(fs::read_to_string(file("mcp-a.log.1")).unwrap() == full);
        assert_eq!(fs::read_to_string(file("mcp-a.log")).unwrap(), "more\nmore\n");
    }

    #[tokio::test]
    async fn what_a_terminal_would_act_on_is_written_out() {
        let folder = tempfile::tempdir().unwrap();
        let tail = StderrTail::default();
        let text = "a\u{1b}[2J\u{9b}2J\u{202e}b\nc\n";
        let log = Log::open(folder.path(), "a");
        follow_stderr(text.as_bytes(), tail.clone(), log, Redactor::default()).await;
        let told = "a\\u{1b}[2J\\u{9b}2J\\u{202e}b\nc\n";
        assert_eq!(fs::read_to_string(folder.path().join("mcp-a.log")).unwrap(), told);
        assert_eq!(tail.text(), told);
    }

    #[cfg(unix)]
    #[test]
    fn a_log_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        Log::open(folder.path(), "a").unwrap();
        let mode = fs::metadata(folder.path().join("mcp-a.log")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_line_without_end_comes_in_pieces() {
        let text = vec![b'x'; 100_000];
        let mut from = BufReader::new(&*text);
        let mut lengths = Vec::new();
        while let Some(piece) = piece(&mut from).await.unwrap() {
            lengths.push(piece.len());
        }
        assert_eq!(lengths.iter().sum::<usize>(), 100_000);
        assert!(lengths.iter().all(|length| *length <= MAX_LINE + 8 * 1024), "{lengths:?}");
    }
}
