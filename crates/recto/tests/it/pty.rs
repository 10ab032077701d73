//! Programs at a terminal of their own, as a person has one before them.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::*;

/// How long a test may wait for something that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal that a test holds the other end of.
pub(crate) struct Pty {
    /// The test's end: what is written here is typed.
    pub(crate) master: File,
    /// The program's end.
    pub(crate) terminal: OwnedFd,
}

impl Pty {
    pub(crate) fn open(columns: u16, rows: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let terminal = open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).unwrap();
        Pty { master: File::from(master), terminal }
    }

    /// Starts the binary at the terminal.
    pub(crate) fn spawn(
        &self,
        home: &Home,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Child {
        self.spawn_to(home, arguments, variables, self.side())
    }

    /// The program's end, for a stream of it.
    fn side(&self) -> Stdio {
        Stdio::from(self.terminal.try_clone().unwrap())
    }

    /// Starts the binary at the terminal, with its answers going elsewhere.
    pub(crate) fn spawn_to(
        &self,
        home: &Home,
        arguments: &[&str],
        variables: &[(&str, &str)],
        answers: Stdio,
    ) -> Child {
        let plain = home.command(arguments);
        // It makes the terminal the program's own, so that keys can be signals.
        let mut command = Command::new("setsid");
        command.args(["--ctty"]).arg(plain.get_program()).args(plain.get_args());
        let set = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.env_clear().envs(set).env("TERM", "xterm-256color").envs(variables.iter().copied());
        command.stdin(self.side()).stdout(answers).stderr(self.side()).spawn().unwrap()
    }

    /// Runs the binary at the terminal, and gives the lines that it prints there.
    pub(crate) fn run(self, home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> String {
        self.record(home, arguments, variables).replace('\r', "")
    }

    /// Runs the binary at the terminal, and gives all that the terminal gets, to be drawn.
    pub(crate) fn record(
        self,
        home: &Home,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> String {
        let mut child = self.spawn(home, arguments, variables);
        // The last to hold the program's end is the program: what comes ends with it.
        let Pty { mut master, terminal } = self;
        drop(terminal);
        let (sender, printed) = mpsc::channel();
        thread::spawn(move || {
            let (mut all, mut bytes) = (Vec::new(), [0; 4096]);
            while let Ok(read @ 1..) = master.read(&mut bytes) {
                all.extend_from_slice(&bytes[..read]);
            }
            let _ = sender.send(all);
        });
        let printed = printed.recv_timeout(PATIENCE);
        let _ = child.kill();
        let _ = child.wait();
        String::from_utf8(printed.expect("it did not end")).unwrap()
    }
}
