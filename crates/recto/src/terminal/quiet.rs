//! A terminal that does not echo what is typed, so that typing can't corrupt what is shown.
//!
//! Keys come one by one; line breaks are still made into new lines, and Ctrl-C and Ctrl-Z are
//! still signals. However the program ends or is stopped, the terminal is as it was before.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::stdio::stdin;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use signal_hook::consts::{SIGQUIT, SIGTSTP};
use signal_hook::low_level::emulate_default_handler;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::status::StatusHandle;

/// What tells a terminal to mark what is pasted, and not to.
const MARK_PASTE: &str = "\x1b[?2004h";
const LEAVE_PASTE: &str = "\x1b[?2004l";

/// The terminal's echo, which can be taken away and is given back with the value.
#[derive(Debug)]
pub(crate) struct QuietTerminal {
    /// The modes that it had before, while it is quiet.
    before: Arc<Mutex<Option<Termios>>>,
}

impl QuietTerminal {
    /// A terminal that is not quiet yet. To be called in a runtime, which is to live as long as
    /// the program: it watches the signals that end or stop that, and clears the status line
    /// before the end.
    pub(crate) fn new(status: Option<StatusHandle>) -> io::Result<Self> {
        let before = Arc::new(Mutex::new(None));
        tokio::spawn(SignalWatch::new(before.clone(), status)?.run());
        Ok(QuietTerminal { before })
    }

    /// Takes the echo away.
    pub(crate) fn enter(&self) -> io::Result<()> {
        let mut before = self.before.lock();
        if before.is_none() {
            let modes = tcgetattr(stdin())?;
            set(&quiet(modes.clone()))?;
            *before = Some(modes);
        }
        Ok(())
    }

    /// Makes the terminal as it was.
    pub(crate) fn leave(&self) {
        if let Some(modes) = self.before.lock().take() {
            // There is nobody to tell, and nothing else to do about it.
            let _ = set(&modes);
        }
    }
}

impl Drop for QuietTerminal {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Has what is pasted marked, where the terminal understands that.
pub(crate) fn mark_pastes() {
    write_sequence(MARK_PASTE);
}

pub(crate) fn leave_pastes() {
    write_sequence(LEAVE_PASTE);
}

/// Whether a screen is there to be drawn on: all that is printed goes to a terminal, which can do
/// more than print.
pub(crate) fn has_screen() -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal() && !is_dumb()
}

/// Whether the terminal can do no more than print.
pub(crate) fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}

fn write_sequence(sequence: &str) {
    if !is_dumb() {
        let mut terminal = io::stderr();
        let _ = terminal.write_all(sequence.as_bytes());
    }
}

fn set(modes: &Termios) -> io::Result<()> {
    Ok(tcsetattr(stdin(), OptionalActions::Now, modes)?)
}

fn quiet(mut modes: Termios) -> Termios {
    modes.local_modes -=
        LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::IEXTEN;
    // Enter stays what it is, also for the line editor, should that read it.
    modes.input_modes -= InputModes::ICRNL;
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    modes
}

/// The signals that end or stop a program at once. Those that ask it to end are its owner's.
struct SignalWatch {
    before: Arc<Mutex<Option<Termios>>>,
    status: Option<StatusHandle>,
    quit: Signal,
    stop: Signal,
}

impl SignalWatch {
    fn new(before: Arc<Mutex<Option<Termios>>>, status: Option<StatusHandle>) -> io::Result<Self> {
        Ok(SignalWatch {
            before,
            status,
            quit: signal(SignalKind::quit())?,
            stop: signal(SignalKind::from_raw(SIGTSTP))?,
        })
    }

    async fn run(mut self) {
        loop {
            let signal = tokio::select! {
                _ = self.quit.recv() => SIGQUIT,
                _ = self.stop.recv() => SIGTSTP,
            };
            if signal != SIGTSTP
                && let Some(status) = &self.status
            {
                status.clear();
            }
            let before = self.before.lock();
            // The line editor has modes of its own, to which it comes back.
            let now = tcgetattr(stdin());
            if let Some(before) = &*before {
                leave_pastes();
                let _ = set(before);
            }
            // Does what would have been done without us; returns when the program goes on.
            let _ = emulate_default_handler(signal);
            if let (Some(_), Ok(now)) = (&*before, now) {
                let _ = set(&now);
                mark_pastes();
            }
        }
    }
}
