//! `recto chat`: a conversation in a terminal, in a pipe, or one message long.
//!
//! The reply is data and goes to standard output; everything around it goes to
//! standard error. Messages that are piped in are read as if they were typed, one
//! a line, commands included.

mod answers;
mod follow;
mod place;
mod printer;

use std::error::Error;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use recto_agent::{
    Actor, Agent, ApprovalQuestion, COMMANDS, ChatCommand, CommandReply, Conversation, EventCursor,
    EventListener, Inbound, SOLE_ACCOUNT, SessionSettings, TurnContinues,
};
use recto_context::ContextMode;
use recto_store::{StoredApproval, StoredSession, TurnEnding, TurnId};
use tokio::sync::Notify;

use crate::cli::ChatArgs;
use crate::commands::context::existing_store;
use crate::commands::sessions::resume_from_file;
use crate::config::LoadedConfig;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::input;
use crate::output::{tame, tell};
use crate::setup::{self, TERMINAL};
use crate::terminal::editor::{EditorInput, LineEditor};
use crate::terminal::history::{forget_entries, history_file};
use follow::AnswerMode;
use printer::TurnPrinter;

pub(crate) fn run(home: &RectoHome, args: &ChatArgs) -> CliResult<ExitCode> {
    let config = setup::load_config(home, Vec::new())?;
    let message = args.message.as_deref().map(input::message).transpose()?;
    let runtime = setup::runtime()?;
    let (code, agent) = runtime.block_on(async {
        // Whoever has no model yet begins no store, either.
        let existing = existing_store(&config.settings);
        let settings = place::choose_agent(&config, existing.as_ref(), args).await?.clone();
        let settings = setup::with_model(settings, args.model.as_deref()).await?;
        let store = existing.map_or_else(|| setup::store(&settings), Ok)?;
        let session = match &args.from {
            Some(file) => resume_from_file(&store, &settings, file).await?.id.to_string(),
            None => place::session_name(args).to_owned(),
        };
        let agent = setup::agent(home, &settings, store).await?;
        let mut chat = Chat::open(&config, agent, args, &session).await?;
        let code = match message {
            Some(message) => chat.run_once(&message).await,
            None if input::is_typed() && !args.json => chat.run_typed(home).await,
            None => chat.run_piped().await,
        };
        Ok::<_, CliFailure>((code, chat.agent))
    })?;
    setup::shut_down(runtime, agent);
    code
}

/// A conversation under way.
struct Chat {
    agent: Agent,
    /// Whoever sits at the terminal.
    actor: Actor,
    /// Whether the config has other agents, so that a person wants to know which one it is.
    is_one_of_several: bool,
    conversation: Conversation,
    session: StoredSession,
    /// What holds for this run, over the session's own settings.
    settings: SessionSettings,
    printer: TurnPrinter,
    /// Who answers when a tool may not run unasked.
    answers: AnswerMode,
    /// Turns that wait behind a question, oldest first.
    queued: Vec<TurnId>,
    /// Told of every Ctrl-C.
    interrupt: Arc<Notify>,
}

/// How a message went, the worse the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MessageOutcome {
    Done,
    Failed,
    Stopped,
    /// The turn waits for somebody's word.
    Waiting,
    /// The person ends the chat.
    Exit,
    /// The person would not wait until the turn is stopped.
    Abandoned,
}

impl From<TurnEnding> for MessageOutcome {
    fn from(ending: TurnEnding) -> Self {
        match ending {
            TurnEnding::Done | TurnEnding::HandedOut => MessageOutcome::Done,
            TurnEnding::Stopped => MessageOutcome::Stopped,
            TurnEnding::Failed | TurnEnding::Interrupted => MessageOutcome::Failed,
        }
    }
}

impl Chat {
    async fn open(
        config: &LoadedConfig,
        agent: Agent,
        args: &ChatArgs,
        session: &str,
    ) -> CliResult<Self> {
        let settings = SessionSettings {
            model: args.model.clone(),
            context_mode: args.context_mode.map(ContextMode::from),
            unattended: args.unattended,
            ..SessionSettings::default()
        };
        if let Some(name) = &args.model {
            agent.model(name)?;
        }
        let conversation = Conversation::with_owner(TERMINAL, SOLE_ACCOUNT, session);
        let actor = setup::actor();
        let session = agent.find_named_or_begin(&actor, &conversation).await?;
        let printer = if args.json { TurnPrinter::Json } else { TurnPrinter::for_people() };
        // Whoever answers with a key must have seen the question.
        let answers = match input::is_typed() && io::stderr().is_terminal() && !args.json {
            true => AnswerMode::AtOnce,
            false => AnswerMode::Later,
        };
        let (queued, interrupt) = (Vec::new(), interrupts());
        Ok(Chat {
            agent,
            actor,
            is_one_of_several: !config.others.is_empty(),
            conversation,
            session,
            settings,
            printer,
            answers,
            queued,
            interrupt,
        })
    }

    /// Handles one message, and ends.
    async fn run_once(&mut self, message: &str) -> CliResult<ExitCode> {
        let outcome = match self.handle_input(message).await? {
            left @ (MessageOutcome::Abandoned | MessageOutcome::Waiting) => left,
            outcome => self.finish(outcome).await,
        };
        Ok(exit_code(outcome))
    }

    /// Handles messages from standard input, one a line. Ctrl-C between them is the end.
    async fn run_piped(&mut self) -> CliResult<ExitCode> {
        let mut lines = input::lines();
        let mut worst = MessageOutcome::Done;
        let mut waits = false;
        loop {
            let line = tokio::select! {
                biased;
                () = self.interrupt.notified() => return Ok(exit_code(MessageOutcome::Stopped)),
                line = lines.recv() => line,
            };
            let Some(line) = line.transpose()? else { break };
            if line.trim().is_empty() {
                continue;
            }
            let outcome = self.handle_input(&line).await;
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
        match waits {
            true => Ok(exit_code(MessageOutcome::Waiting)),
            false => Ok(exit_code(self.finish(worst).await)),
        }
    }

    /// Waits for what was taken up of other sessions, unless the person does not.
    async fn finish(&self, outcome: MessageOutcome) -> MessageOutcome {
        let finished = self.agent.finished();
        tokio::pin!(finished);
        tokio::select! {
            biased;
            () = &mut finished => return outcome,
            () = tokio::time::sleep(A_MOMENT) => {
                tell(&"finishing turns that were cut short (Ctrl-C leaves them for later)");
            }
        }
        tokio::select! {
            () = finished => outcome,
            // What was asked for has its answer.
            () = self.interrupt.notified() => outcome,
        }
    }

    /// Reads messages from a person at the terminal until they leave.
    async fn run_typed(&mut self, home: &RectoHome) -> CliResult<ExitCode> {
        self.greet();
        if let Ok(Some(approval)) = self.first_question().await {
            let question = ApprovalQuestion::from_approval(&approval);
            tell(&format_args!(
                "turn {} waits for your word: {} wants to run {} (approval {}); /approve or /deny",
                approval.turn, question.tool, question.title, approval.id
            ));
        }
        let history = history_file(home);
        let commands = COMMANDS.iter().map(|help| help.name.to_owned()).chain(["/exit".to_owned()]);
        let mut editor = LineEditor::open(&history, commands.collect())
            .map_err(|error| unreadable_terminal(&error))?;
        loop {
            let reading = tokio::task::spawn_blocking(move || {
                let line = editor.read_line();
                (editor, line)
            });
            let line;
            (editor, line) = reading.await.map_err(|error| unreadable_terminal(&error))?;
            match line.map_err(|error| unreadable_terminal(&error))? {
                EditorInput::Text(text) if text.trim().is_empty() => {}
                EditorInput::Text(text) => {
                    // A Ctrl-C that came too late for the turn before is not for this one.
                    let _ = self.interrupt.notified().now_or_never();
                    // What goes wrong with one message is told, and the next can come.
                    match self.handle_input(&text).await {
                        Ok(end @ (MessageOutcome::Exit | MessageOutcome::Abandoned)) => {
                            return Ok(exit_code(end));
                        }
                        Ok(_) => {}
                        Err(failure) => {
                            if failure.is("secret") {
                                // What may not be remembered is not kept as typed, either.
                                let _ = forget_entries(&history, |entry| entry == text);
                            }
                            tell(&failure);
                        }
                    }
                }
                EditorInput::Interrupted => tell(&"(Ctrl-D or /exit ends the chat)"),
                EditorInput::End => return Ok(ExitCode::SUCCESS),
            }
        }
    }

    fn greet(&self) {
        let first = self.agent.models().first().map_or("none", |entry| &entry.name);
        let of_session = self.session.settings.get("model").and_then(|model| model.as_str());
        let model = self.settings.model.as_deref().or(of_session).unwrap_or(first);
        let agent = match self.is_one_of_several {
            true => format!("agent {}, ", self.agent.name()),
            false => String::new(),
        };
        tell(&format_args!(
            "{agent}session {}, model {}; /help lists the commands",
            tame(&self.session.label()),
            tame(model)
        ));
    }

    /// Runs a command, or sends a message to the model.
    async fn handle_input(&mut self, text: &str) -> CliResult<MessageOutcome> {
        if matches!(text.trim_end(), "/exit" | "/quit") {
            return Ok(MessageOutcome::Exit);
        }
        let inbound =
            Inbound { settings: self.settings.clone(), ..Inbound::text(&self.actor, text) };
        match inbound.read_command() {
            Ok(Some(command)) => self.run_command(command).await,
            Ok(None) => self.send_message(inbound).await,
            Err(problem) => Err(CliFailure::new(problem.to_string()).hint(problem.hint())),
        }
    }

    async fn run_command(&mut self, command: ChatCommand) -> CliResult<MessageOutcome> {
        let mut events = self.agent.listen(&self.actor, self.session.id, EventCursor::Now).await?;
        let session = self.session.id;
        let answer = self.agent.command(&self.actor, &self.conversation, session, command).await?;
        if let CommandReply::Began(session) = &answer {
            self.session = session.clone();
        }
        self.printer.answer(&answer)?;
        match answer {
            CommandReply::Answered(answered) if answered.goes_on == TurnContinues::Here => {
                self.follow_all(answered.approval.turn, &mut events).await
            }
            _ => Ok(MessageOutcome::Done),
        }
    }

    /// Sends a message and shows what happens until its turn is over.
    async fn send_message(&mut self, inbound: Inbound) -> CliResult<MessageOutcome> {
        let mut interrupts = InterruptState::None;
        let mut events = self.agent.listen(&self.actor, self.session.id, EventCursor::Now).await?;
        let submitting = self.agent.submit(self.session.id, inbound);
        let Some(submitted) = self.watch(&mut interrupts, submitting).await else {
            return Ok(MessageOutcome::Abandoned);
        };
        let turn = submitted?.turn;
        if let (AnswerMode::Later, Some(approval)) = (self.answers, self.first_question().await?) {
            tell(&format_args!(
                "the message waits behind approval {id}: /approve or /deny, or `recto approvals \
                 answer {id} allow`",
                id = approval.id
            ));
            self.queued.push(turn);
            return Ok(MessageOutcome::Waiting);
        }
        self.follow(turn, &mut events, interrupts).await
    }

    /// The oldest question that waits in the session.
    async fn first_question(&self) -> CliResult<Option<StoredApproval>> {
        let open = self.agent.open_approvals(&self.actor, self.session.id).await;
        Ok(open?.into_iter().next())
    }

    /// Follows a turn that goes on, and then those that waited behind it.
    async fn follow_all(
        &mut self,
        turn: TurnId,
        events: &mut EventListener,
    ) -> CliResult<MessageOutcome> {
        let mut outcome = self.follow(turn, events, InterruptState::None).await?;
        while !matches!(outcome, MessageOutcome::Waiting | MessageOutcome::Abandoned)
            && !self.queued.is_empty()
        {
            let next = self.queued.remove(0);
            outcome = outcome.max(self.follow(next, events, InterruptState::None).await?);
        }
        Ok(outcome)
    }

    /// Waits for something. The first Ctrl-C stops the turn; the second does not
    /// wait for that, and gives `None`.
    async fn watch<T>(
        &self,
        interrupts: &mut InterruptState,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Some(done),
                () = self.interrupt.notified() => match interrupts {
                    InterruptState::None => {
                        *interrupts = InterruptState::Once(Instant::now());
                        // Nobody but the owner sits here, who may.
                        let _ = self.agent.stop(&self.actor, self.session.id).await;
                    }
                    // A key that bounces, or is held down.
                    InterruptState::Once(first) if first.elapsed() < PATIENCE => {}
                    InterruptState::Once(_) => return None,
                },
            }
        }
    }
}

/// Whether Ctrl-C was pressed in a turn, and when first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InterruptState {
    None,
    Once(Instant),
}

/// How long the first Ctrl-C has to take effect before a second one counts.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waiting that is longer than this is told.
const A_MOMENT: Duration = Duration::from_millis(500);

/// Tells of every Ctrl-C from now on, also of one that comes while nobody waits
/// for it because something is being printed.
fn interrupts() -> Arc<Notify> {
    let interrupt = Arc::new(Notify::new());
    let notify = interrupt.clone();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            notify.notify_one();
        }
    });
    interrupt
}

fn unreadable_terminal(error: &dyn Error) -> CliFailure {
    CliFailure::new("cannot read from the terminal").because(error)
}

/// A stopped program ends with what shells expect of one that Ctrl-C ended.
fn exit_code(outcome: MessageOutcome) -> ExitCode {
    match outcome {
        MessageOutcome::Done | MessageOutcome::Exit => ExitCode::SUCCESS,
        MessageOutcome::Failed => ExitCode::FAILURE,
        MessageOutcome::Waiting => ExitCode::from(3),
        MessageOutcome::Stopped | MessageOutcome::Abandoned => ExitCode::from(130),
    }
}
