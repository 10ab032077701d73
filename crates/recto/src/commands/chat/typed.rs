//! A chat with a person at a terminal: the prompt, and what is typed there.

use std::process::ExitCode;

use futures_util::FutureExt;
use recto_agent::{AgentError, ApprovalQuestion, SurfaceCommand};
use recto_workspace::find_secret;

use super::Chat;
use super::outcome::{MessageOutcome, exit_code};
use super::prompt::ChatPrompt;
use crate::attach::{FileMentions, MessageAttachments};
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::{tame, tell, tell_exactly};
use crate::remedy_words::with_command;
use crate::terminal::editor::EditorInput;
use crate::terminal::history::forget_entries;

impl Chat {
    /// Reads messages from a person at the terminal until they leave.
    pub(super) async fn run_typed(&mut self, home: &RectoHome) -> CliResult<ExitCode> {
        self.greet().await;
        if let Ok(Some(approval)) = self.first_question().await {
            let question = ApprovalQuestion::from_approval(&approval);
            let waits = format!(
                "turn {} waits for your word: {} wants to run {} (approval {}); /approve or /deny",
                approval.turn, question.tool, question.title, approval.id
            );
            tell_exactly(&waits);
        }
        let (history, mut prompt) = (home.history_file(), ChatPrompt::open(home)?);
        self.typing.keep_history(&history);
        // Where that can't be had, keys are echoed as they are by any program.
        let _ = self.typing.quieten();
        if let Some(code) = self.take_up_all().await? {
            return Ok(code);
        }
        self.elsewhere.begin(self.agent.store()).await?;
        loop {
            self.tell_background().await?;
            let input = match self.typing.next_line() {
                Some(line) => EditorInput::Text(prompt.show_queued(line)),
                None if self.typing.wants_to_leave() => {
                    self.tell_unsent();
                    return Ok(ExitCode::SUCCESS);
                }
                None => self.read_line(&mut prompt).await?,
            };
            match input {
                EditorInput::Text(text) if text.trim().is_empty() => {}
                EditorInput::Text(text)
                    if SurfaceCommand::read(&text) == Some(SurfaceCommand::Editor) =>
                {
                    prompt.write_in_editor(&mut self.typing, "");
                }
                EditorInput::Text(text) => match self.handle_typed(&text).await {
                    Ok(end @ (MessageOutcome::Exit | MessageOutcome::Abandoned)) => {
                        self.tell_unsent();
                        return Ok(exit_code(end));
                    }
                    Ok(_) => {}
                    // What goes wrong with one message is told, and the next can come.
                    Err(failure) => {
                        if failure.is(AgentError::SECRET) || is_secret_command(&text) {
                            // What may not be remembered is not kept as typed, either.
                            let _ = forget_entries(&history, |entry| entry == text);
                        }
                        tell(&failure);
                    }
                },
                EditorInput::Draft(text) => prompt.write_in_editor(&mut self.typing, &text),
                EditorInput::Interrupted => tell(&"(Ctrl-D or /exit ends the chat)"),
                EditorInput::End => {
                    self.tell_unsent();
                    return Ok(ExitCode::SUCCESS);
                }
                EditorInput::Broken => {}
            }
        }
    }

    /// Handles what was typed at the prompt. What is typed meanwhile is taken in, too.
    async fn handle_typed(&mut self, text: &str) -> CliResult<MessageOutcome> {
        // A Ctrl-C that came too late for the turn before is not for this one.
        let _ = self.interrupt.notified().now_or_never();
        let _ = self.typing.start();
        self.printer.begin_typing(&self.typing.describe());
        let attached = MessageAttachments::mentioned(FileMentions::Follow);
        let outcome = match self.read_input(text, attached) {
            Ok(input) => self.perform(input).await,
            Err(failure) => Err(failure),
        };
        self.typing.stop();
        self.printer.end_typing()?;
        outcome
    }

    /// Tells with whom one talks, and what of their files can't be used as it stands.
    pub(super) async fn greet(&self) {
        let first = self.agent.models().first().map_or("none", |entry| &entry.name);
        let of_session = self.session.settings.get("model").and_then(|model| model.as_str());
        let model = self.settings.model.as_deref().or(of_session).unwrap_or(first);
        // Among several, a person wants to know which one it is.
        let agent = match self.config.others.is_empty() {
            false => format!("agent {}, ", self.agent.name()),
            true => String::new(),
        };
        tell(&format_args!(
            "{agent}session {}, model {}; /help lists commands and keys",
            tame(&self.session.label()),
            tame(model)
        ));
        for notice in self.agent.take_notices().await {
            tell(&format_args!("note: {}", with_command(&notice.text, notice.remedy.as_ref())));
        }
    }
}

/// Whether a line was meant as a command, with something that nobody should keep.
fn is_secret_command(text: &str) -> bool {
    text.trim_start().starts_with('/') && find_secret(text).is_some()
}
