//! A server in a few lines of shell, which counts its starts and can misbehave.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::program;
use crate::options::{ServerOptions, ServerTransport};

/// The usual answers. A fake runs its own lines before these: they may define
/// `tools` and `called`, or do something else altogether.
const USUAL: &str = r#"
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%,*}
    echo "$line" >> "$FOLDER/heard"
    case $line in
        *'"server/discover"'*)
            echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"unknown"}}' ;;
        *'"initialize"'*)
            answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1.2"}}' ;;
        *'"tools/list"'*) tools ;;
        *'"tools/call"'*) called ;;
    esac
done
"#;

const BEFORE: &str = r#"
echo started >> "$FOLDER/starts"
echo $$ > "$FOLDER/pid"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
say() { answer '{"content":[{"type":"text","text":"'"$1"'"}]}'; }
tool() { printf '{"name":"%s","description":"Does %s.","inputSchema":{"type":"object"}}' "$1" "$1"; }
tools() { answer '{"tools":['"$(tool hello)"']}'; }
called() { say hello; }
"#;

/// A fake server's script and what it writes down.
pub(super) struct Fake {
    folder: TempDir,
}

impl Fake {
    /// A server that does these lines first.
    pub(super) fn new(lines: &str) -> Self {
        let fake = Fake { folder: tempfile::tempdir().unwrap() };
        fake.set(lines);
        fake
    }

    /// Does these lines from its next start on.
    pub(super) fn set(&self, lines: &str) {
        fs::write(self.path("server.sh"), format!("{BEFORE}{lines}\n{USUAL}")).unwrap();
    }

    pub(super) fn options(&self, name: &str) -> ServerOptions {
        let script = self.path("server.sh");
        let mut options = program(name, "/bin/sh", &[script.to_str().unwrap()]);
        if let ServerTransport::Stdio { environment, .. } = &mut options.transport {
            let folder = self.folder.path().to_str().unwrap();
            environment.push(("FOLDER".to_owned(), folder.to_owned()));
        }
        options
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// How often it was started.
    pub(super) fn starts(&self) -> usize {
        self.read("starts").lines().count()
    }

    /// The process that runs it.
    pub(super) fn pid(&self) -> i32 {
        self.read("pid").trim().parse().unwrap()
    }
}

/// Whether a process is there, and no zombie.
pub(super) fn lives(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

pub(super) fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
