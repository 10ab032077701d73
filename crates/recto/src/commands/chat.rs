//! `recto chat`: a conversation in a terminal, in a pipe, or one message long.
//!
//! The reply is data and goes to standard output; everything around it goes to
//! standard error. Messages that are piped in are read as if they were typed, one
//! a line, commands included.

mod answers;
mod elsewhere;
mod follow;
mod help;
mod place;
mod printer;
mod prompt;
mod questions;
mod typing;
mod wrapping;

use std::error::Error;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use recto_agent::{
    Actor, Agent, ApprovalQuestion, ChatCommand, CommandReply, Conversation, EventCursor,
    EventListener, Inbound, SOLE_ACCOUNT, SessionSettings, TurnContinues,
};
use recto_context::{ClientContext, ContextMode};
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
use crate::terminal::editor::EditorInput;
use crate::terminal::width;
use elsewhere::TurnsElsewhere;
use follow::AnswerMode;
use printer::TurnPrinter;
use prompt::ChatPrompt;
use questions::QuestionQueue;
use typing::{KeyEffect, TurnTyping, TypingPurpose};
use wrapping::wrap_words;

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
    /// What follows the agent's own system text in this run.
    client: Option<Box<ClientContext>>,
    printer: TurnPrinter,
    /// Who answers when a tool may not run unasked.
    answers: AnswerMode,
    /// Turns that wait behind a question, oldest first.
    queued: Vec<TurnId>,
    /// The questions of the turn that runs, for the person at the terminal.
    questions: QuestionQueue,
    /// What is typed while it runs.
    typing: TurnTyping,
    /// What happens in the session by other hands.
    elsewhere: TurnsElsewhere,
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
            ..args.sampling.settings()
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
        let purpose = match args.message {
            Some(_) => TypingPurpose::Questions,
            None => TypingPurpose::Conversation,
        };
        let (queued, interrupt) = (Vec::new(), interrupts());
        Ok(Chat {
            agent,
            actor,
            is_one_of_several: !config.others.is_empty(),
            conversation,
            elsewhere: TurnsElsewhere::new(session.id),
            session,
            settings,
            client: args.sampling.client(),
            printer,
            answers,
            queued,
            questions: QuestionQueue::default(),
            typing: TurnTyping::new(purpose),
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
            let waits = format!(
                "turn {} waits for your word: {} wants to run {} (approval {}); /approve or /deny",
                approval.turn, question.tool, question.title, approval.id
            );
            tell(&wrap_words(&waits, width(), 2));
        }
        let mut prompt = ChatPrompt::open(home)?;
        // Where that can't be had, keys are echoed as they are by any program.
        let _ = self.typing.quieten();
        self.elsewhere.begin(self.agent.store()).await?;
        loop {
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
                EditorInput::Text(text) => match self.handle_typed(&text).await {
                    Ok(end @ (MessageOutcome::Exit | MessageOutcome::Abandoned)) => {
                        self.tell_unsent();
                        return Ok(exit_code(end));
                    }
                    Ok(_) => {}
                    // What goes wrong with one message is told, and the next can come.
                    Err(failure) => tell(&failure),
                },
                EditorInput::Draft(text) => prompt.write_in_editor(&mut self.typing, &text),
                EditorInput::Interrupted => tell(&"(Ctrl-D or /exit ends the chat)"),
                EditorInput::End => return Ok(ExitCode::SUCCESS),
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
        let outcome = self.handle_input(text).await;
        self.typing.stop();
        self.printer.end_typing()?;
        outcome
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
            "{agent}session {}, model {}; /help lists commands and keys",
            tame(&self.session.label()),
            tame(model)
        ));
    }

    /// Runs a command, or sends a message to the model.
    async fn handle_input(&mut self, text: &str) -> CliResult<MessageOutcome> {
        if is_exit(text) {
            return Ok(MessageOutcome::Exit);
        }
        let inbound = self.inbound(text);
        match inbound.read_command() {
            Ok(Some(command)) => self.run_command(command).await,
            Ok(None) => self.send_message(inbound).await,
            Err(problem) => Err(CliFailure::new(problem.to_string()).hint(problem.hint())),
        }
    }

    /// A message as it goes in, with what holds for this run.
    fn inbound(&self, text: &str) -> Inbound {
        let (settings, client) = (self.settings.clone(), self.client.clone());
        Inbound { settings, client, ..Inbound::text(&self.actor, text) }
    }

    async fn run_command(&mut self, command: ChatCommand) -> CliResult<MessageOutcome> {
        let mut events = self.agent.listen(&self.actor, self.session.id, EventCursor::Now).await?;
        let session = self.session.id;
        let answer = self.agent.command(&self.actor, &self.conversation, session, command).await?;
        if let CommandReply::Began(session) = &answer {
            self.session = session.clone();
            self.elsewhere = TurnsElsewhere::new(session.id);
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
        let (agent, session) = (self.agent.clone(), self.session.id);
        let submitting = agent.submit(session, inbound);
        let Some(submitted) = self.watch(&mut interrupts, submitting).await? else {
            return Ok(MessageOutcome::Abandoned);
        };
        let turn = submitted?.turn;
        self.elsewhere.add_own(turn);
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

    /// Waits for something, and does meanwhile what keys mean. The first Ctrl-C stops the turn;
    /// the second does not wait for that, and gives `None`.
    async fn watch<T>(
        &mut self,
        interrupts: &mut InterruptState,
        work: impl Future<Output = T>,
    ) -> CliResult<Option<T>> {
        tokio::pin!(work);
        loop {
            let key = tokio::select! {
                done = &mut work => return Ok(Some(done)),
                key = self.typing.next() => key,
                () = self.interrupt.notified() => {
                    match interrupts {
                        InterruptState::None => {
                            *interrupts = InterruptState::Once(Instant::now());
                            self.stop_turn().await?;
                        }
                        // A key that bounces, or is held down.
                        InterruptState::Once(first) if first.elapsed() < PATIENCE => {}
                        InterruptState::Once(_) => return Ok(None),
                    }
                    continue;
                }
            };
            if self.handle_key(&key).await? == KeyEffect::LeavesNow {
                return Ok(None);
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

/// Whether a line ends the chat.
fn is_exit(line: &str) -> bool {
    matches!(line.trim_end(), "/exit" | "/quit")
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
