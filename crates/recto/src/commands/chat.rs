//! `recto chat`: a conversation in a terminal, in a pipe, or one message long.
//!
//! The reply is data and goes to standard output; everything around it goes to
//! standard error. Messages that are piped in are read as if they were typed, one
//! a line, commands included.

mod answers;
mod chat_input;
mod completions;
mod elsewhere;
mod end_signal;
mod follow;
mod help;
mod interrupts;
mod lines;
mod outcome;
mod place;
mod printer;
mod prompt;
mod questions;
mod session_settings;
mod taken_up;
mod typed;
mod typing;

use std::collections::HashSet;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use recto_agent::{
    Actor, Agent, Conversation, EventCursor, EventListener, Inbound, InputSource, SOLE_ACCOUNT,
    SessionSettings,
};
use recto_context::{ClientContext, ContextMode};
use recto_store::{ApprovalId, Moment, StoredApproval, StoredSession, TurnId};
use tokio::sync::Notify;

use crate::attach::{FileMentions, MessageAttachments};
use crate::cli::ChatArgs;
use crate::commands::context::existing_store;
use crate::commands::sessions::resume_from_file;
use crate::config::LoadedConfig;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::input;
use crate::output::tell;
use crate::setup::{self, TERMINAL};
use crate::telemetry::{Telemetry, UsualLog};
use crate::terminal::quiet::{has_screen, is_dumb};
use chat_input::ChatInput;
use elsewhere::TurnsElsewhere;
use end_signal::EndSignal;
use follow::AnswerMode;
use interrupts::{InterruptState, interrupts};
use lines::LineSource;
use outcome::{MessageOutcome, exit_code};
use printer::TurnPrinter;
use questions::QuestionQueue;
use typing::{TurnTyping, TypingPurpose};

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
                chat.tell_cut_short().await;
                Ok(code)
            }
        };
        chat.discard_unused().await;
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
    /// The session as it was begun, where this chat has begun it.
    begun: Option<StoredSession>,
    /// What holds for this run, over the session's own settings.
    settings: SessionSettings,
    /// What follows the agent's own system text in this run.
    client: Option<Box<ClientContext>>,
    printer: TurnPrinter,
    /// Who answers when a tool may not run unasked.
    answers: AnswerMode,
    /// Where its messages come from.
    source: InputSource,
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
        let (actor, opened) = (setup::actor(), Moment::now());
        let session = agent.find_named_or_begin(&actor, &conversation).await?;
        let begun = (session.created >= opened).then(|| session.clone());
        if let Some(notice) = place::audience_notice(&session) {
            tell(&notice);
        }
        let printer = if args.json { TurnPrinter::Json } else { TurnPrinter::for_people() };
        // Whoever answers with a key must have seen the question.
        let reads_keys = purpose == TypingPurpose::Questions && !is_dumb() || has_screen();
        let answers = match input::can_ask() && reads_keys && !args.json {
            true => AnswerMode::AtOnce,
            false => AnswerMode::Later,
        };
        let source = match purpose == TypingPurpose::Conversation && input::is_typed() {
            true => InputSource::Typed,
            false => InputSource::HandedOver,
        };
        let (queued, interrupt) = (Vec::new(), interrupts());
        Ok(Chat {
            agent,
            actor,
            config,
            conversation,
            elsewhere: TurnsElsewhere::new(session.id),
            session,
            begun,
            settings,
            client: args.sampling.client(),
            typing: TurnTyping::new(purpose, printer.status_handle()),
            printer,
            answers,
            source,
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
            None if !has_screen() => self.run_lines(LineSource::DumbTerminal).await,
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

    /// Takes the session away that this chat has begun, where nothing was said or set in it.
    async fn discard_unused(&self) {
        if let Some(begun) = &self.begun {
            // One that stays is in nobody's way.
            let _ = self.agent.store().discard_unused(begun.clone()).await;
        }
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
                "the message waits behind approval {id}: /approve or /deny in a chat, or `recto \
                 approvals answer {id} allow`",
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
}

/// Waiting that is longer than this is told.
const A_MOMENT: Duration = Duration::from_millis(500);

fn unreadable_terminal(error: &dyn Error) -> CliFailure {
    CliFailure::new("cannot read from the terminal")
        .because(error)
        .hint("`TERM=dumb recto chat` reads plain lines, and asks nothing of the terminal")
}
