//! What was said to a chat: read, and done if it is a command.

use recto_agent::{
    ChatCommand, CommandReply, Conversation, EventCursor, GuestBook, Inbound, InboundReading,
    Right, SurfaceCommand, TurnContinues,
};

use super::Chat;
use super::answers::AnswerView;
use super::elsewhere::TurnsElsewhere;
use super::follow::AnswerMode;
use super::outcome::MessageOutcome;
use super::session_settings::settings_in_run;
use crate::attach::MessageAttachments;
use crate::commands::sessions::load_guests;
use crate::failure::{CliFailure, CliResult};
use crate::output::tell;

/// What was said to a chat, before anything is done.
pub(super) enum ChatInput {
    /// The person ends the chat.
    Exit,
    Command(ChatCommand, MessageAttachments),
    Message(Box<Inbound>),
}

impl ChatInput {
    /// Whether it takes back the last exchange, which must be over for that.
    pub(super) fn takes_back(&self) -> bool {
        matches!(self, ChatInput::Command(command, _) if command.right() == Right::TakeBack)
    }
}

impl Chat {
    /// Reads what was said. Nothing is done yet.
    pub(super) fn read_input(
        &self,
        text: &str,
        attached: MessageAttachments,
    ) -> CliResult<ChatInput> {
        if SurfaceCommand::read(text) == Some(SurfaceCommand::Exit) {
            return Ok(ChatInput::Exit);
        }
        match self.with_settings(Inbound::text(&self.actor, text)).read_command() {
            Ok(InboundReading::Command(command)) if attached.is_empty() || is_edit(&command) => {
                Ok(ChatInput::Command(command, attached))
            }
            Ok(InboundReading::Command(_)) => {
                let what = "a command takes no files, and something was sent along with it";
                Err(CliFailure::new(what).hint("leave the file out, or send `< /dev/null`"))
            }
            Ok(InboundReading::Message(inbound)) => {
                if let Some(command) = inbound.no_command {
                    tell(&format_args!(
                        "note: `{command}` counts only where a person types it in a chat; this \
                         came otherwise, and is sent as text"
                    ));
                }
                let content = attached.content(&inbound.visible_text())?;
                Ok(ChatInput::Message(Box::new(Inbound { content, ..inbound })))
            }
            Err(problem) => Err(CliFailure::new(problem.to_string()).hint(problem.hint())),
        }
    }

    /// Runs a command, or sends a message to the model.
    pub(super) async fn perform(&mut self, input: ChatInput) -> CliResult<MessageOutcome> {
        let outcome = match input {
            ChatInput::Exit => Ok(MessageOutcome::Exit),
            ChatInput::Command(command, attached) => self.run_command(command, attached).await,
            ChatInput::Message(inbound) => self.send_message(*inbound).await,
        };
        match (outcome, self.agent.store().session(self.session.id).await) {
            (Err(failure), Ok(None)) => {
                Err(failure.hint("this session was deleted elsewhere; /new begins another"))
            }
            (outcome, _) => outcome,
        }
    }

    /// A message with what holds for this run.
    pub(super) fn with_settings(&self, inbound: Inbound) -> Inbound {
        let (settings, client) = (self.settings.clone(), self.client.clone());
        Inbound { settings, client, source: self.source, ..inbound }
    }

    async fn run_command(
        &mut self,
        command: ChatCommand,
        attached: MessageAttachments,
    ) -> CliResult<MessageOutcome> {
        let session = self.session.id;
        let mut events = match command {
            // Their turn may go on at once.
            ChatCommand::Approve(..) | ChatCommand::Deny(_) => {
                Some(self.agent.listen(&self.actor, session, EventCursor::Now).await?)
            }
            _ => None,
        };
        let (setting, changed) = (command.setting(), command.changed_setting());
        let before = self.edited_text(&command).await?;
        // In a terminal each name is a conversation: `--session NAME` is where it goes on.
        let conversation = match &command {
            ChatCommand::New(Some(name)) => {
                Conversation { name: name.to_string(), ..self.conversation.clone() }
            }
            _ => self.conversation.clone(),
        };
        let answer = self.agent.command(&self.actor, &conversation, session, command).await?;
        if let Some(changed) = changed {
            self.drop_flag(changed);
        }
        if let CommandReply::Began(renewal) = &answer {
            self.conversation = conversation;
            self.session = renewal.began.clone();
            self.begun = Some(renewal.began.clone());
            self.elsewhere = TurnsElsewhere::new(self.session.id);
        }
        match &answer {
            // The line has it, to be changed there.
            CommandReply::Edit(message) if self.answers == AnswerMode::AtOnce => {
                self.typing.preload(&format!("/edit {}", message.text));
            }
            answer => self.show_reply(answer, setting).await?,
        }
        match (answer, &mut events) {
            (CommandReply::Resend(inbound), _) => {
                let mut inbound = self.with_settings(*inbound);
                if let Some(before) = before {
                    let text = inbound.visible_text();
                    inbound.content = attached.replace(&text, &before, inbound.content)?;
                }
                self.send_message(inbound).await
            }
            (CommandReply::Answered(answered), Some(events))
                if answered.goes_on == TurnContinues::Here =>
            {
                self.follow_all(answered.approval.turn, events).await
            }
            _ => Ok(MessageOutcome::Done),
        }
    }

    /// Lets what a person has just said of a setting hold, where a flag of this run said otherwise.
    fn drop_flag(&mut self, setting: &str) {
        let flags = &mut self.settings;
        match setting {
            "model" => flags.model = None,
            "context_mode" => flags.context_mode = None,
            "temperature" => flags.temperature = None,
            "top_p" => flags.top_p = None,
            "max_output_tokens" => flags.max_output_tokens = None,
            // No flag says it.
            _ => {}
        }
    }

    /// The message that a command changes, if it changes one.
    async fn edited_text(&self, command: &ChatCommand) -> CliResult<Option<String>> {
        if !is_edit(command) {
            return Ok(None);
        }
        let (session, shown) = (self.session.id, ChatCommand::Edit(None));
        match self.agent.command(&self.actor, &self.conversation, session, shown).await? {
            CommandReply::Edit(message) => Ok(Some(message.text)),
            _ => Ok(None),
        }
    }

    /// Shows what a command answered. Where that is about settings, those that hold now are
    /// shown, all or one of them, each with where it comes from.
    pub(super) async fn show_reply(
        &mut self,
        reply: &CommandReply,
        only: Option<&str>,
    ) -> CliResult {
        if let Some(session) = self.agent.store().session(self.session.id).await? {
            self.session = session;
        }
        let first = self.agent.models().first().map(|entry| &*entry.name);
        let mut holds = settings_in_run(&self.config, &self.session, &self.settings, first);
        if let Some(only) = only {
            holds.keep_only(only);
        }
        let guests = match reply {
            CommandReply::Sessions(list) => load_guests(self.agent.store(), list).await?,
            _ => GuestBook::default(),
        };
        self.printer.answer(reply, &AnswerView { holds, guests })
    }
}

/// Whether a command sends another message in place of the last one.
fn is_edit(command: &ChatCommand) -> bool {
    matches!(command, ChatCommand::Edit(Some(_)))
}
