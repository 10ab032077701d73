//! The prompt of a chat: the line that a person types, with what comes to it from elsewhere.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use super::typing::TurnTyping;
use super::{Chat, unreadable_terminal};
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::{tame_lines, tell};
use crate::terminal::draft::DraftKind;
use crate::terminal::editor::{EditorInput, LineEditor, PROMPT};

/// How often it is looked for what happened elsewhere.
const LOOK: Duration = Duration::from_secs(1);

/// The prompt, with its history.
pub(super) struct ChatPrompt {
    /// Absent while a thread reads from it.
    editor: Option<LineEditor>,
    /// Where messages lie while a person's own editor has them.
    drafts: PathBuf,
}

impl ChatPrompt {
    pub(super) fn open(home: &RectoHome) -> CliResult<Self> {
        let drafts = home.path().join("data");
        let editor = LineEditor::open(&home.history_file());
        let editor = editor.map_err(|error| unreadable_terminal(&error))?;
        Ok(ChatPrompt { editor: Some(editor), drafts })
    }

    /// Shows a line that was typed while a turn ran, where it would stand had it been typed
    /// now.
    pub(super) fn show_queued(&self, line: String) -> String {
        // Nobody is left to be told when standard error is gone.
        let shown = tame_lines(&line).replace('\n', "\n  ");
        let _ = writeln!(io::stderr(), "{PROMPT}{shown}");
        line
    }

    /// Lets a person write the message in their own editor. It comes back into the line, for
    /// Enter to send.
    pub(super) fn write_in_editor(&self, typing: &mut TurnTyping, text: &str) {
        let kind = DraftKind {
            name: "message",
            folder: &self.drafts,
            instead: "go on typing here: Alt-Enter begins a new line",
            unchanged: "the message is as it was",
        };
        typing.give_back();
        let written = kind.edit(text);
        // Where that fails, keys are echoed as they are by any program.
        let _ = typing.quieten();
        match written {
            Ok(written) => typing.preload(written.as_deref().unwrap_or(text)),
            Err(failure) => {
                tell(&failure);
                typing.preload(text);
            }
        }
    }
}

impl Chat {
    /// Waits for a line. What happens in the session by other hands meanwhile is shown above it.
    pub(super) async fn read_line(&mut self, prompt: &mut ChatPrompt) -> CliResult<EditorInput> {
        let Some(editor) = prompt.editor.take() else { return Ok(EditorInput::End) };
        let mut editor = editor.with_words(self.completion_words().await);
        if editor.is_empty() {
            editor.preload(&self.typing.next_draft());
        }
        let breaker = editor.breaker();
        let mut reading = tokio::task::spawn_blocking(move || {
            let line = editor.read_line();
            (editor, line)
        });
        let (mut news, mut is_broken) = (Vec::new(), false);
        let (editor, line) = loop {
            tokio::select! {
                read = &mut reading => break read.map_err(|error| unreadable_terminal(&error))?,
                () = tokio::time::sleep(LOOK), if !is_broken => {
                    // What can't be read now is looked for again.
                    news = self.elsewhere.look(self.agent.store()).await.unwrap_or_default();
                    is_broken = !news.is_empty() || self.has_background_news().await;
                    if is_broken {
                        breaker.interrupt();
                    }
                }
            }
        };
        prompt.editor = Some(editor);
        let line = line.map_err(|error| unreadable_terminal(&error))?;
        for turn in news {
            self.show_past(&turn).await?;
        }
        Ok(line)
    }
}
