//! `recto chat`: a conversation in a terminal, in a pipe, or one message long.
//!
//! The reply is data and goes to standard output; everything around it goes to
//! standard error. Messages that are piped in are read as if they were typed, one
//! a line, commands included.

mod answers;
mod elsewhere;
mod end_signal;
mod follow;
mod help;
mod place;
mod printer;
mod prompt;
mod questions;
mod session_settings;
mod taken_up;
mod typing;

use std::collections::HashSet;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use recto_agent::{
    Actor, Agent, AgentError, ApprovalQuestion, ChatCommand, CommandReply, Conversation,
    EventCursor, EventListener, Inbound, InboundReading, Right, SOLE_ACCOUNT, SessionSettings,
    SurfaceCommand, TurnContinues,
};
use recto_context::{ClientContext, ContextMode};
use recto_store::{ApprovalId, StoredApproval, StoredSession, TurnEnding, TurnId};
use tokio::sync::Notify;

use crate::attach::{FileMentions, MessageAttachments};
use crate::cli::ChatArgs;
use crate::commands::context::existing_store;
use crate::commands::sessions::resume_from_file;
use crate::config::LoadedConfig;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::input;
use crate::output::{tame, tell};
use crate::remedy_words::with_command;
use crate::setup::{self, TERMINAL};
use crate::telemetry::{Telemetry, UsualLog};
use crate::terminal::editor::{EditorInput, PROMPT};
use crate::terminal::history::forget_entries;
use crate::terminal::quiet::is_dumb;
use elsewhere::TurnsElsewhere;
use end_signal::EndSignal;
use follow::AnswerMode;
use printer::TurnPrinter;
use prompt::ChatPrompt;
use questions::QuestionQueue;
use session_settings::settings_in_run;
use typing::{KeyEffect, TurnTyping, TypingPurpose};

pub(crate) fn run(home: &RectoHome, args: &ChatArgs) -> CliResult<ExitCode> {
    let mut config = setup::load_config(home, Vec::new())?;
    let message = read_single_message(args)?;
    let runtime = setup::runtime()?;
    let (code, agent, telemetry) = runtime.block_on(async {
        let telemetry = Telemetry::start(&config.settings, UsualLog::Nowhere)?;
        // Whoever has no model yet begins no store, either.
        let existing = existing_store(&config.settings);
        let project = place::choose_project(home, &mut config, existing.as_ref(), args).await?;
        let session = place::session_name(home, existing.as_ref(), args, project.as_ref()).await?;
        let settings =
            place::choose_agent(&config, existing.as_ref(), args, &session).await?.clone();
        let mut settings = setup::with_model(settings, args.model.as_deref()).await?;
        let store = existing.map_or_else(|| setup::store(&settings), Ok)?;
        let session = match &args.from {
            Some(file) => resume_from_file(&store, &settings, file).await?.id.to_string(),
            None => session,
        };
        if let Some(session) = place::find_begun(&store, &settings, &session).await? {
            setup::enter_folder(home, &mut settings, &session)?;
        }
        let agent = setup::idle_agent(home, &settings, store)?;
        let purpose = match &message {
            Some(_) => TypingPurpose::Questions,
            None => TypingPurpose::Conversation,
        };
        let mut chat = Chat::open(config, agent, args, &session, purpose).await?;
        let mut end = EndSignal::watch()?;
        let code = tokio::select! {
            code = chat.run(home, args, message) => code,
            code = end.received() => {
                chat.close();
                Ok(code)
            }
        };
        Ok::<_, CliFailure>((code, chat.agent, telemetry))
    })?;
    drop(telemetry);
    setup::shut_down(runtime, agent);
    code
}

/// The message of a chat of one message, with what comes along.
fn read_single_message(args: &ChatArgs) -> CliResult<Option<(String, MessageAttachments)>> {
    let words = (!args.words.is_empty()).then(|| args.words.join(" "));
    let Some(typed) = args.message.clone().or(words) else {
        return match args.attach.files[..] {
            [] => Ok(None),
            _ => Err(CliFailure::new("files come along with a message, and there is none").hint(
                "add one: recto chat -f notes.txt \"what does it say?\"; in a chat, \
                     @file:notes.txt does the same",
            )),
        };
    };
    // Nobody looks at what an unattended run is told.
    let mentions = match args.unattended {
        true => FileMentions::AsText,
        false => FileMentions::Follow,
    };
    MessageAttachments::read_message(&typed, &args.attach.files, mentions).map(Some)
}

/// A conversation under way.
struct Chat {
    agent: Agent,
    /// Whoever sits at the terminal.
    actor: Actor,
    /// What holds where the session sets nothing.
    config: LoadedConfig,
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
    /// Turns of other sessions that are told to go on in the background.
    background: Vec<TurnId>,
    /// The questions of those turns that were told.
    told_questions: HashSet<ApprovalId>,
    /// The questions of the turn that runs, for the person at the terminal.
    questions: QuestionQueue,
    /// What is typed while it runs.
    typing: TurnTyping,
    /// What happens in the session by other hands.
    elsewhere: TurnsElsewhere,
    /// Told of every Ctrl-C.
    interrupt: Arc<Notify>,
}

/// What was said to a chat, before anything is done.
enum ChatInput {
    /// The person ends the chat.
    Exit,
    Command(ChatCommand, MessageAttachments),
    Message(Box<Inbound>),
}

impl ChatInput {
    /// Whether it takes back the last exchange, which must be over for that.
    fn takes_back(&self) -> bool {
        matches!(self, ChatInput::Command(command, _) if command.right() == Right::TakeBack)
    }
}

/// Where messages come from that are read line by line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineSource {
    /// A program, or a file.
    Pipe,
    /// A person at a terminal that can do no more than print: it has its own line to type.
    DumbTerminal,
}

impl LineSource {
    fn show_prompt(self) {
        if self == LineSource::DumbTerminal {
            // Nobody is left to be told when standard error is gone.
            let _ = write!(io::stderr(), "{PROMPT}");
        }
    }

    fn mentions(self) -> FileMentions {
        match self {
            LineSource::Pipe => FileMentions::AsText,
            LineSource::DumbTerminal => FileMentions::Follow,
        }
    }
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
        config: LoadedConfig,
        agent: Agent,
        args: &ChatArgs,
        session: &str,
        purpose: TypingPurpose,
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
        let answers = match input::can_ask() && !is_dumb() && !args.json {
            true => AnswerMode::AtOnce,
            false => AnswerMode::Later,
        };
        let (queued, interrupt) = (Vec::new(), interrupts());
        Ok(Chat {
            agent,
            actor,
            config,
            conversation,
            elsewhere: TurnsElsewhere::new(session.id),
            session,
            settings,
            client: args.sampling.client(),
            typing: TurnTyping::new(purpose, printer.status_handle()),
            printer,
            answers,
            queued,
            background: Vec::new(),
            told_questions: HashSet::new(),
            questions: QuestionQueue::default(),
            interrupt,
        })
    }

    /// Talks until there is nothing more to say.
    async fn run(
        &mut self,
        home: &RectoHome,
        args: &ChatArgs,
        message: Option<(String, MessageAttachments)>,
    ) -> CliResult<ExitCode> {
        match message {
            Some((message, attached)) => self.run_once(&message, attached).await,
            None if !input::is_typed() || args.json => self.run_lines(LineSource::Pipe).await,
            None if is_dumb() => self.run_lines(LineSource::DumbTerminal).await,
            None => self.run_typed(home).await,
        }
    }

    /// Leaves the terminal as it was, wherever the chat was ended. What runs goes on with the
    /// next start.
    fn close(&mut self) {
        self.typing.close();
        // Nobody may be left to be told.
        let _ = self.printer.end_typing();
        self.tell_unsent();
    }

    /// Handles one message, and ends.
    async fn run_once(
        &mut self,
        message: &str,
        attached: MessageAttachments,
    ) -> CliResult<ExitCode> {
        // What can't be read begins no turn that would end with this process.
        let input = self.read_input(message, attached)?;
        self.take_up_session().await?;
        let outcome = self.perform_in_order(input).await;
        // What the shell reads next is typed at a terminal as it was.
        self.typing.stop();
        if !matches!(outcome, Ok(MessageOutcome::Abandoned | MessageOutcome::Waiting)) {
            self.finish().await;
        }
        Ok(exit_code(outcome?))
    }

    /// Handles messages from standard input, one a line. Ctrl-C between them is the end.
    async fn run_lines(&mut self, source: LineSource) -> CliResult<ExitCode> {
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
                () = self.interrupt.notified() => return Ok(exit_code(MessageOutcome::Stopped)),
                line = lines.recv() => line,
            };
            let Some(line) = line.transpose()? else { break };
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

    /// Does what was said, where nobody waited for what was left in the session. That comes
    /// before whatever takes back the last exchange.
    async fn perform_in_order(&mut self, input: ChatInput) -> CliResult<MessageOutcome> {
        if input.takes_back() && self.queued.is_empty() {
            self.finish().await;
        }
        self.perform(input).await
    }

    /// Waits for what was left in this session and nothing was said behind, unless the person
    /// does not.
    async fn finish(&self) {
        let finished = self.agent.finished();
        tokio::pin!(finished);
        tokio::select! {
            biased;
            () = &mut finished => return,
            () = tokio::time::sleep(A_MOMENT) => {
                tell(&"finishing what was left in this session (Ctrl-C leaves it for later)");
            }
        }
        tokio::select! {
            () = finished => {}
            () = self.interrupt.notified() => {}
        }
    }

    /// Reads messages from a person at the terminal until they leave.
    async fn run_typed(&mut self, home: &RectoHome) -> CliResult<ExitCode> {
        self.greet().await;
        if let Ok(Some(approval)) = self.first_question().await {
            let question = ApprovalQuestion::from_approval(&approval);
            let waits = format!(
                "turn {} waits for your word: {} wants to run {} (approval {}); /approve or /deny",
                approval.turn, question.tool, question.title, approval.id
            );
            tell(&waits);
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
                        if failure.is(AgentError::SECRET) {
                            // What may not be remembered is not kept as typed, either.
                            let _ = forget_entries(&history, |entry| entry == text);
                        }
                        tell(&failure);
                    }
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
    async fn greet(&self) {
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

    /// Reads what was said. Nothing is done yet.
    fn read_input(&self, text: &str, attached: MessageAttachments) -> CliResult<ChatInput> {
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
                let content = attached.content(&inbound.visible_text())?;
                Ok(ChatInput::Message(Box::new(Inbound { content, ..inbound })))
            }
            Err(problem) => Err(CliFailure::new(problem.to_string()).hint(problem.hint())),
        }
    }

    /// Runs a command, or sends a message to the model.
    async fn perform(&mut self, input: ChatInput) -> CliResult<MessageOutcome> {
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
    fn with_settings(&self, inbound: Inbound) -> Inbound {
        Inbound { settings: self.settings.clone(), client: self.client.clone(), ..inbound }
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
        let setting = command.setting();
        let before = self.edited_text(&command).await?;
        let answer = self.agent.command(&self.actor, &self.conversation, session, command).await?;
        if let CommandReply::Began(renewal) = &answer {
            self.session = renewal.began.clone();
            self.elsewhere = TurnsElsewhere::new(self.session.id);
        }
        match &answer {
            CommandReply::Settings(_) => self.show_settings(setting).await?,
            // The line has it, to be changed there.
            CommandReply::Edit(text) if self.answers == AnswerMode::AtOnce => {
                self.typing.preload(&format!("/edit {text}"));
            }
            answer => self.printer.answer(answer)?,
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

    /// The message that a command changes, if it changes one.
    async fn edited_text(&self, command: &ChatCommand) -> CliResult<Option<String>> {
        if !is_edit(command) {
            return Ok(None);
        }
        let (session, shown) = (self.session.id, ChatCommand::Edit(None));
        match self.agent.command(&self.actor, &self.conversation, session, shown).await? {
            CommandReply::Edit(text) => Ok(Some(text)),
            _ => Ok(None),
        }
    }

    /// Shows the settings that hold now, all or one of them, each with where it comes from.
    async fn show_settings(&mut self, only: Option<&str>) -> CliResult {
        if let Some(session) = self.agent.store().session(self.session.id).await? {
            self.session = session;
        }
        let first = self.agent.models().first().map(|entry| &*entry.name);
        let mut holds = settings_in_run(&self.config, &self.session, &self.settings, first);
        if let Some(only) = only {
            holds.keep_only(only);
        }
        self.printer.settings(&holds)
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
                now = reached(self.questions.deadline()) => {
                    self.settle_key(now).await?;
                    continue;
                }
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

/// Whether a command sends another message in place of the last one.
fn is_edit(command: &ChatCommand) -> bool {
    matches!(command, ChatCommand::Edit(Some(_)))
}

/// Waits for a time, which it gives; forever without one.
async fn reached(time: Option<Instant>) -> Instant {
    match time {
        Some(time) => {
            tokio::time::sleep_until(time.into()).await;
            time
        }
        None => std::future::pending().await,
    }
}

fn unreadable_terminal(error: &dyn Error) -> CliFailure {
    CliFailure::new("cannot read from the terminal")
        .because(error)
        .hint("`TERM=dumb recto chat` reads plain lines, and asks nothing of the terminal")
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
