//! What a person types while a turn runs: a line for later, a command that acts at once, the
//! key that answers a question, or the wish to end.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crossterm::event::Event;
use recto_agent::{ApprovalQuestion, ChatCommand, Inbound, InboundReading, Right, SurfaceCommand};

use super::Chat;
use crate::failure::{CliFailure, CliResult};
use crate::output::{tame, tell};
use crate::terminal::choose::KeyChoice;
use crate::terminal::history::add_entry;
use crate::terminal::keys::{KeyReader, TimedKey};
use crate::terminal::quiet::{self, QuietTerminal};
use crate::terminal::status::StatusHandle;
use crate::terminal::type_ahead::{TypeAhead, TypedAction};

/// What is typed beside a turn, and the terminal that it is typed at.
#[derive(Debug)]
pub(super) struct TurnTyping {
    /// The terminal without its echo, once that was needed.
    terminal: Option<QuietTerminal>,
    reader: Option<KeyReader>,
    ahead: TypeAhead,
    leaving: LeaveWish,
    purpose: TypingPurpose,
    /// Where finished lines are kept, so that they outlive the program.
    history: Option<PathBuf>,
    /// What must leave the screen when the program ends.
    status: Option<StatusHandle>,
}

/// Whether the person wants to end the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeaveWish {
    None,
    AfterTurn,
}

/// What is typed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypingPurpose {
    /// For the conversation: what is typed goes on with it.
    Conversation,
    /// To answer questions alone, in a chat of one message.
    Questions,
}

/// What becomes of the chat by a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyEffect {
    GoesOn,
    LeavesNow,
}

impl TurnTyping {
    pub(super) fn new(purpose: TypingPurpose, status: Option<StatusHandle>) -> Self {
        TurnTyping {
            terminal: None,
            reader: None,
            ahead: TypeAhead::default(),
            leaving: LeaveWish::None,
            purpose,
            history: None,
            status,
        }
    }

    /// Keeps finished lines in that file from now on.
    pub(super) fn keep_history(&mut self, file: &Path) {
        self.history = Some(file.to_owned());
    }

    /// Lets a finished line wait for the turn's end.
    fn queue(&mut self, line: String) {
        if let Some(history) = &self.history {
            // A history that can't be written is no reason to lose the message.
            let _ = add_entry(history, &line);
        }
        self.ahead.queue(line);
    }

    /// Begins to take in what is typed; the terminal does not echo it any more.
    pub(super) fn start(&mut self) -> io::Result<()> {
        if self.reader.is_none() {
            self.quieten()?;
            quiet::mark_pastes();
            self.reader = Some(KeyReader::start());
        }
        Ok(())
    }

    /// Takes the terminal's echo away, so that it is given back however the program ends.
    pub(super) fn quieten(&mut self) -> io::Result<()> {
        let terminal = match self.terminal.take() {
            Some(terminal) => terminal,
            None => QuietTerminal::new(self.status.clone())?,
        };
        self.terminal.insert(terminal).enter()
    }

    /// Ends it. What was typed by then stays.
    pub(super) fn stop(&mut self) {
        let Some(reader) = self.reader.take() else { return };
        for key in reader.stop() {
            match self.ahead.press(&key.event) {
                TypedAction::Finished(line) => self.queue(line),
                TypedAction::End => self.leaving = LeaveWish::AfterTurn,
                TypedAction::Changed | TypedAction::Ignored => {}
            }
        }
        quiet::leave_pastes();
        if self.purpose == TypingPurpose::Questions {
            self.give_back();
        }
    }

    /// Ends it where it was for questions alone, and there are no more.
    pub(super) fn stop_for_questions(&mut self) {
        if self.purpose == TypingPurpose::Questions {
            self.stop();
        }
    }

    /// Ends it wherever it is, as when the program ends. What was being typed can be called back
    /// by the arrow keys in the next chat.
    pub(super) fn close(&mut self) {
        self.stop();
        let draft = self.draft();
        if let Some(history) = self.history.as_ref().filter(|_| !draft.trim().is_empty()) {
            let _ = add_entry(history, draft);
        }
        if self.terminal.is_some() {
            // The line editor may have been at it.
            quiet::leave_pastes();
        }
        self.give_back();
    }

    /// Gives the terminal its echo back, for another program or for good.
    pub(super) fn give_back(&self) {
        if let Some(terminal) = &self.terminal {
            terminal.leave();
        }
    }

    /// The next key; never, while nothing is taken in.
    pub(super) async fn next(&mut self) -> TimedKey {
        match &mut self.reader {
            Some(reader) => reader.next().await,
            None => std::future::pending().await,
        }
    }

    /// The finished line that is to be sent next.
    pub(super) fn next_line(&mut self) -> Option<String> {
        self.ahead.next_queued()
    }

    /// Takes away what is being typed.
    pub(super) fn take_draft(&mut self) -> String {
        self.ahead.take_line()
    }

    /// What the next prompt begins with.
    pub(super) fn next_draft(&mut self) -> String {
        self.ahead.next_draft()
    }

    /// Puts a text into the line of the next prompt. What is typed by then comes behind it.
    pub(super) fn preload(&mut self, text: &str) {
        self.ahead.preload(text);
    }

    /// What is being typed at the moment.
    pub(super) fn draft(&self) -> &str {
        self.ahead.line()
    }

    /// Makes drafts of what waits to be sent: it was meant for a turn that was stopped. Gives how
    /// many lines those are.
    pub(super) fn take_back(&mut self) -> usize {
        self.ahead.take_back_queued()
    }

    /// Whether the person wanted to leave after the turn.
    pub(super) fn wants_to_leave(&self) -> bool {
        self.leaving == LeaveWish::AfterTurn
    }

    /// What is typed and what is to happen with it, for the person to see.
    pub(super) fn describe(&self) -> String {
        let leaving = match self.leaving {
            LeaveWish::None => "",
            LeaveWish::AfterTurn => "ends after this (Ctrl-D again: now)",
        };
        let parts = [leaving.to_owned(), self.ahead.describe()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" │ ")
    }
}

impl Chat {
    /// Does what a key means that was pressed while a turn runs.
    pub(super) async fn handle_key(&mut self, key: &TimedKey) -> CliResult<KeyEffect> {
        if let Event::Resize(columns, _) = key.event {
            self.printer.resize(columns.into());
            return Ok(KeyEffect::GoesOn);
        }
        self.settle_key(key.at).await?;
        let effect = match self.questions.read_key(key, self.typing.draft()) {
            (Some(question), KeyChoice::Interrupted) => {
                // No more than a key that would have answered.
                self.typing.take_draft();
                self.handle_answer(&question, KeyChoice::Interrupted).await?;
                KeyEffect::GoesOn
            }
            _ if self.typing.purpose == TypingPurpose::Questions && !self.questions.is_shown() => {
                KeyEffect::GoesOn
            }
            _ => match self.typing.ahead.press(&key.event) {
                TypedAction::Finished(line) => self.handle_line(line).await?,
                TypedAction::End => self.leave(),
                TypedAction::Changed | TypedAction::Ignored => {
                    if let Some(question) = self.questions.remind(self.typing.draft()) {
                        self.printer.pause()?;
                        tell(&question);
                    }
                    KeyEffect::GoesOn
                }
            },
        };
        self.printer.typed(&self.typing.describe());
        Ok(effect)
    }

    /// Answers a question with a key that nothing had followed by that time.
    pub(super) async fn settle_key(&mut self, now: Instant) -> CliResult {
        let Some((question, choice)) = self.questions.settle_key(now) else { return Ok(()) };
        self.typing.take_draft();
        if let Some(question) = question {
            self.handle_answer(&question, choice).await?;
        }
        self.printer.typed(&self.typing.describe());
        Ok(())
    }

    /// Does what a person chose at a question.
    async fn handle_answer(&mut self, question: &ApprovalQuestion, choice: KeyChoice) -> CliResult {
        match choice {
            KeyChoice::Key(key) => self.decide(question, key).await,
            KeyChoice::Interrupted => {
                self.printer.pause()?;
                tell(&format_args!("the turn is stopped; {} is not run", question.tool));
                self.stop_turn().await
            }
            KeyChoice::Typed | KeyChoice::TooEarly => Ok(()),
        }
    }

    /// A line that was finished while a turn runs.
    async fn handle_line(&mut self, line: String) -> CliResult<KeyEffect> {
        if let (Some(question), choice) = self.questions.read_line(&line) {
            self.handle_answer(&question, choice).await?;
            return Ok(KeyEffect::GoesOn);
        }
        if self.typing.purpose == TypingPurpose::Questions {
            self.printer.pause()?;
            tell(&format_args!("no answer: {}", tame(&line)));
            return Ok(KeyEffect::GoesOn);
        }
        if SurfaceCommand::read(&line) == Some(SurfaceCommand::Exit) {
            return Ok(self.leave());
        }
        match self.with_settings(Inbound::text(&self.actor, &line)).read_command() {
            Ok(InboundReading::Command(command)) if self.acts_at_once(&command) => {
                self.run_beside(command).await?;
            }
            _ => self.keep_line(line)?,
        }
        Ok(KeyEffect::GoesOn)
    }

    /// Lets a line wait for the turn's end. At a question it may have been meant as an answer.
    fn keep_line(&mut self, line: String) -> CliResult {
        self.typing.queue(line);
        if self.questions.is_shown() {
            self.printer.pause()?;
            tell(&"that line is kept for after this turn; the question waits for one of its keys");
        }
        Ok(())
    }

    /// Whether a command is for the turn that runs, or only shows something and no reply is in
    /// the way.
    fn acts_at_once(&self, command: &ChatCommand) -> bool {
        match command.right() {
            Right::Stop | Right::Approve => true,
            Right::Inspect => !self.printer.is_writing(),
            _ => *command == ChatCommand::Help && !self.printer.is_writing(),
        }
    }

    /// Performs a command while a turn goes on. What goes wrong with it is told.
    async fn run_beside(&mut self, command: ChatCommand) -> CliResult {
        let (session, setting) = (self.session.id, command.setting());
        let stops_turn = command == ChatCommand::Stop(None);
        self.printer.pause()?;
        match self.agent.command(&self.actor, &self.conversation, session, command).await {
            Ok(reply) => {
                self.show_reply(&reply, setting).await?;
                if stops_turn {
                    self.take_back_queued()?;
                }
            }
            Err(error) => self.printer.failure(&CliFailure::from(error))?,
        }
        Ok(())
    }

    /// Ends the chat after the turn that runs; now, if that was said before.
    fn leave(&mut self) -> KeyEffect {
        match std::mem::replace(&mut self.typing.leaving, LeaveWish::AfterTurn) {
            LeaveWish::None => KeyEffect::GoesOn,
            LeaveWish::AfterTurn => KeyEffect::LeavesNow,
        }
    }

    /// Stops the turn. What was typed for after it is a draft again.
    pub(super) async fn stop_turn(&mut self) -> CliResult {
        self.take_back_queued()?;
        // Nobody but the owner sits here, who may.
        self.agent.stop(&self.actor, self.session.id).await?;
        Ok(())
    }

    /// Makes drafts of what waits to be sent, and says so.
    fn take_back_queued(&mut self) -> CliResult {
        let what = match self.typing.take_back() {
            0 => return Ok(()),
            // What is not sent is told when the chat ends.
            _ if self.typing.wants_to_leave() => return Ok(()),
            1 => "the line that waited is in the prompt again".to_owned(),
            count => format!(
                "{count} lines waited; each comes back to the prompt by itself: Enter sends it, \
                 Ctrl-C drops it"
            ),
        };
        self.printer.pause()?;
        tell(&what);
        Ok(())
    }

    /// Says what was typed and is not sent, now that the chat ends.
    pub(super) fn tell_unsent(&mut self) {
        for unsent in self.typing.ahead.take_unsent() {
            tell(&format_args!("not sent: {unsent}"));
        }
    }
}
