//! A chat that is read line by line: from a pipe, or from a terminal that can only print.

use std::io::{self, Write};
use std::process::ExitCode;

use super::Chat;
use super::chat_input::ChatInput;
use super::outcome::{MessageOutcome, exit_code};
use super::printer::TurnPrinter;
use crate::attach::{FileMentions, MessageAttachments};
use crate::failure::CliResult;
use crate::input;
use crate::output::tell;
use crate::terminal::editor::PROMPT;

/// Where messages come from that are read line by line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineSource {
    /// A program, or a file.
    Pipe,
    /// A person at a terminal that can do no more than print, or of whose output some goes
    /// elsewhere: it has its own line to type.
    DumbTerminal,
}

impl LineSource {
    fn show_prompt(self) {
        if self == LineSource::DumbTerminal {
            // Nobody is left to be told when standard error is gone.
            let _ = write!(io::stderr(), "{PROMPT}");
        }
    }

    /// Ends the line of a prompt at which nothing was typed.
    fn leave_prompt(self) {
        if self == LineSource::DumbTerminal {
            tell(&"");
        }
    }

    fn mentions(self) -> FileMentions {
        match self {
            LineSource::Pipe => FileMentions::AsText,
            LineSource::DumbTerminal => FileMentions::Follow,
        }
    }
}

impl Chat {
    /// Handles messages from standard input, one a line. Ctrl-C between them is the end.
    pub(super) async fn run_lines(&mut self, source: LineSource) -> CliResult<ExitCode> {
        if source == LineSource::DumbTerminal {
            self.greet().await;
        }
        self.take_up_session().await?;
        let mut lines = input::lines();
        let mut worst = MessageOutcome::Done;
        let (mut waits, mut messages) = (false, 0);
        loop {
            source.show_prompt();
            let line = tokio::select! {
                biased;
                () = self.interrupt.notified() => {
                    source.leave_prompt();
                    return Ok(exit_code(MessageOutcome::Stopped));
                }
                line = lines.recv() => line,
            };
            let Some(line) = line.transpose()? else {
                source.leave_prompt();
                break;
            };
            if line.trim().is_empty() {
                continue;
            }
            let attached = MessageAttachments::mentioned(source.mentions());
            let outcome = match self.read_input(&line, attached) {
                Ok(input) => {
                    let is_message = matches!(input, ChatInput::Message(_));
                    messages += usize::from(is_message);
                    if is_message && messages == 2 && source == LineSource::Pipe {
                        self.tell_of_lines();
                    }
                    self.perform_in_order(input).await
                }
                Err(failure) => Err(failure),
            };
            waits = matches!(outcome, Ok(MessageOutcome::Waiting));
            match outcome {
                Ok(MessageOutcome::Done | MessageOutcome::Waiting) => {}
                Ok(MessageOutcome::Exit) => break,
                Ok(MessageOutcome::Abandoned) => return Ok(exit_code(MessageOutcome::Abandoned)),
                Ok(outcome) => worst = worst.max(outcome),
                // What goes wrong with one message is told, and the next can come.
                Err(failure) => {
                    self.printer.failure(&failure)?;
                    worst = worst.max(MessageOutcome::Failed);
                }
            }
        }
        if waits {
            return Ok(exit_code(MessageOutcome::Waiting));
        }
        self.finish().await;
        Ok(exit_code(worst))
    }

    /// Tells a person who piped a text in that each of its lines is a message. A program that
    /// reads events knows.
    fn tell_of_lines(&self) {
        if matches!(self.printer, TurnPrinter::People(_)) {
            tell(
                &"note: each line is a message of its own; `recto chat -m -` sends all that is \
                  piped in as one, `recto chat \"what is this?\"` sends it along with a message",
            );
        }
    }
}
