//! Signals that ask a chat to end: `kill`, or a terminal that is closed. It ends in an orderly
//! way, so that the turn that runs does not count as one that ended its process.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use recto_store::{StoredTurn, TurnOwner};
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::low_level::emulate_default_handler;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::Chat;
use super::printer::TurnPrinter;
use crate::failure::{CliFailure, CliResult};
use crate::input;
use crate::output::{tame, tell};

/// How long the chat may take to end. One that can't, because it waits for whoever reads its
/// output, is ended as if nobody had waited for the signal.
const PATIENCE: Duration = Duration::from_secs(8);

/// How long it may take to find out what the signal cuts short.
const LOOK: Duration = Duration::from_secs(1);

/// The first signal that asks the chat to end.
#[derive(Debug)]
pub(super) struct EndSignal(oneshot::Receiver<i32>);

impl EndSignal {
    /// Watches from now on. To be called in a runtime.
    pub(super) fn watch() -> CliResult<Self> {
        let unwatched = |error: io::Error| {
            CliFailure::new("cannot watch the signals that end a program").because(&error)
        };
        let mut terminate = signal(SignalKind::terminate()).map_err(unwatched)?;
        // Whoever wants to outlive the terminal, as by `nohup`, does not read from it.
        let mut hang_up = match input::is_typed() {
            true => Some(signal(SignalKind::hangup()).map_err(unwatched)?),
            false => None,
        };
        let (sender, receiver) = oneshot::channel();
        tokio::spawn(async move {
            let hung_up = async {
                match &mut hang_up {
                    Some(hang_up) => hang_up.recv().await,
                    None => std::future::pending().await,
                }
            };
            let signal = tokio::select! {
                _ = terminate.recv() => SIGTERM,
                _ = hung_up => SIGHUP,
            };
            // Nobody listens where the chat is about to end by itself.
            let _ = sender.send(signal);
            tokio::time::sleep(PATIENCE).await;
            let _ = emulate_default_handler(signal);
        });
        Ok(EndSignal(receiver))
    }

    /// Waits for it, and gives the code that shells expect of a program that it ended.
    pub(super) async fn received(&mut self) -> ExitCode {
        match (&mut self.0).await {
            Ok(signal) => ExitCode::from(128 + u8::try_from(signal).unwrap_or_default()),
            Err(_) => std::future::pending().await,
        }
    }
}

impl Chat {
    /// Says what becomes of the turn that a signal cuts short.
    pub(super) async fn tell_cut_short(&self) {
        let open = tokio::time::timeout(LOOK, self.agent.store().open_turns()).await;
        let (Ok(Ok(open)), TurnPrinter::People(_)) = (open, &self.printer) else { return };
        // One that another process works on is not cut short.
        let is_ours = |turn: &&StoredTurn| {
            turn.session == self.session.id && turn.owner != Some(TurnOwner::Elsewhere)
        };
        if let Some(turn) = open.turns.iter().find(is_ours) {
            let session = tame(&self.session.label());
            tell(&format_args!(
                "ended by a signal; `recto chat --session {session}` goes on with turn {}",
                turn.id
            ));
        }
    }
}
