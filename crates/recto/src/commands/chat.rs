//! `recto chat`: a conversation in a terminal, in a pipe, or one message long.
//!
//! The reply is data and goes to standard output; everything around it goes to
//! standard error. Messages that are piped in are read as if they were typed, one
//! a line, commands included.

mod answers;
mod follow;
mod voice;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use recto_agent::{
    Agent, Answer, Answered, COMMANDS, Command, Conversation, Finished, GoesOn, Inbound, Question,
    SessionSettings, TurnEvent,
};
use recto_context::ContextMode;
use recto_store::{ApprovalId, Ending, Session, TurnId};
use tokio::sync::{Notify, mpsc};

use crate::cli::ChatArgs;
use crate::commands::agent_failed;
use crate::commands::sessions::take_in;
use crate::failure::Failure;
use crate::home::Home;
use crate::input;
use crate::output::{tame, tell};
use crate::setup;
use crate::terminal::editor::{Editor, Line};
use follow::Asks;
use voice::Voice;

pub(crate) fn run(home: &Home, args: &ChatArgs) -> Result<ExitCode, Failure> {
    let settings = setup::load(home, Vec::new())?;
    let message = args.message.as_deref().map(input::message).transpose()?;
    let runtime = setup::runtime()?;
    let (code, agent) = runtime.block_on(async {
        let settings = setup::with_model(settings, args.model.as_deref()).await?;
        let session = match &args.from {
            Some(file) => take_in(&settings, file).await?.id.to_string(),
            None => args.session.clone(),
        };
        let agent = setup::agent(home, &settings).await?;
        let mut chat = Chat::open(agent, args, &session).await?;
        let code = match message {
            Some(message) => chat.once(&message).await,
            None if input::is_typed() && !args.json => chat.typed(home).await,
            None => chat.piped().await,
        };
        Ok::<_, Failure>((code, chat.agent))
    })?;
    if agent.is_at_work() {
        // What still runs ends with the process, as if it were killed, and is
        // finished at the next start. Taken apart in an orderly way, a turn could
        // take its broken connection for a failure of the model.
        std::mem::forget((runtime, agent));
    }
    code
}

/// A conversation under way.
struct Chat {
    agent: Agent,
    conversation: Conversation,
    session: Session,
    /// What holds for this run, over the session's own settings.
    settings: SessionSettings,
    voice: Voice,
    /// Who answers when a tool may not run unasked.
    asks: Asks,
    /// Turns that wait behind a question, oldest first.
    queued: Vec<TurnId>,
    /// Ctrl-C.
    interrupt: Arc<Notify>,
}

/// How a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Went {
    Well,
    Wrong,
    Stopped,
    /// The turn waits for somebody's word.
    Waits,
    /// The person is done.
    Home,
    /// The person would not wait until the turn is stopped.
    Left,
}

impl Chat {
    async fn open(agent: Agent, args: &ChatArgs, session: &str) -> Result<Self, Failure> {
        let settings = SessionSettings {
            model: args.model.clone(),
            context_mode: args.context_mode.map(ContextMode::from),
            unattended: args.unattended,
            ..SessionSettings::default()
        };
        if let Some(name) = &args.model {
            agent.model(name).map_err(|error| agent_failed(&error))?;
        }
        let conversation = Conversation::with_owner("terminal", "local", session);
        let session =
            agent.find_named_or_begin(&conversation).await.map_err(|error| agent_failed(&error))?;
        let voice = if args.json { Voice::json() } else { Voice::for_people() };
        // Whoever answers with a key must have seen the question.
        let asks = match input::is_typed() && io::stderr().is_terminal() && !args.json {
            true => Asks::AtOnce,
            false => Asks::Later,
        };
        let (queued, interrupt) = (Vec::new(), interrupts());
        Ok(Chat { agent, conversation, session, settings, voice, asks, queued, interrupt })
    }

    /// One message, and the end.
    async fn once(&mut self, message: &str) -> Result<ExitCode, Failure> {
        let went = match self.hear(message).await? {
            left @ (Went::Left | Went::Waits) => left,
            went => self.finish(went).await,
        };
        Ok(exit_code(went))
    }

    /// Messages from standard input, one a line. Ctrl-C between them is the end.
    async fn piped(&mut self) -> Result<ExitCode, Failure> {
        let mut lines = input::lines();
        let mut worst = Went::Well;
        let mut waits = false;
        loop {
            let line = tokio::select! {
                biased;
                () = self.interrupt.notified() => return Ok(exit_code(Went::Stopped)),
                line = lines.recv() => line,
            };
            let Some(line) = line.transpose()? else { break };
            if line.trim().is_empty() {
                continue;
            }
            let went = self.hear(&line).await;
            waits = matches!(went, Ok(Went::Waits));
            match went {
                Ok(Went::Well | Went::Waits) => {}
                Ok(Went::Home) => break,
                Ok(Went::Left) => return Ok(exit_code(Went::Left)),
                Ok(went) => worst = worst.max(went),
                // What goes wrong with one message is told, and the next can come.
                Err(failure) => {
                    self.voice.failure(&failure)?;
                    worst = worst.max(Went::Wrong);
                }
            }
        }
        match waits {
            true => Ok(exit_code(Went::Waits)),
            false => Ok(exit_code(self.finish(worst).await)),
        }
    }

    /// Waits for what was taken up of other sessions, unless the person does not.
    async fn finish(&self, went: Went) -> Went {
        let finished = self.agent.finished();
        tokio::pin!(finished);
        tokio::select! {
            biased;
            () = &mut finished => return went,
            () = tokio::time::sleep(A_MOMENT) => {
                tell(&"finishing turns that were cut short (Ctrl-C leaves them for later)");
            }
        }
        tokio::select! {
            () = finished => went,
            // What was asked for has its answer.
            () = self.interrupt.notified() => went,
        }
    }

    /// A person types.
    async fn typed(&mut self, home: &Home) -> Result<ExitCode, Failure> {
        self.greet();
        if let Some(approval) = self
            .agent
            .open_approvals(Some(self.session.id))
            .await
            .ok()
            .and_then(|open| open.into_iter().next())
        {
            let question = Question::of(&approval);
            tell(&format_args!(
                "turn {} waits for your word: {} wants to run {} (approval {}); /approve or /deny",
                approval.turn, question.tool, question.title, approval.id
            ));
        }
        let commands = COMMANDS.iter().map(|help| help.name.to_owned()).chain(["/exit".to_owned()]);
        let mut editor = Editor::open(&home.path().join("data/history"), commands.collect())
            .map_err(|error| Failure::new("cannot read from the terminal").because(&error))?;
        loop {
            let reading = tokio::task::spawn_blocking(move || {
                let line = editor.read_line();
                (editor, line)
            });
            let line;
            (editor, line) = reading
                .await
                .map_err(|error| Failure::new("cannot read from the terminal").because(&error))?;
            match line {
                Ok(Line::Text(text)) if text.trim().is_empty() => {}
                Ok(Line::Text(text)) => {
                    // A Ctrl-C that came too late for the turn before is not for this one.
                    let _ = self.interrupt.notified().now_or_never();
                    // What goes wrong with one message is told, and the next can come.
                    match self.hear(&text).await {
                        Ok(Went::Home) => return Ok(ExitCode::SUCCESS),
                        Ok(Went::Left) => return Ok(exit_code(Went::Left)),
                        Ok(_) => {}
                        Err(failure) => tell(&failure),
                    }
                }
                Ok(Line::Interrupted) => tell(&"(Ctrl-D or /exit ends the chat)"),
                Ok(Line::End) => return Ok(ExitCode::SUCCESS),
                Err(error) => {
                    return Err(Failure::new("cannot read from the terminal").because(&error));
                }
            }
        }
    }

    fn greet(&self) {
        let first = self.agent.models().first().map_or("none", |entry| &entry.name);
        let of_session = self.session.settings.get("model").and_then(|model| model.as_str());
        let model = self.settings.model.as_deref().or(of_session).unwrap_or(first);
        tell(&format_args!(
            "session {}, model {}; /help lists the commands",
            tame(&self.session.label()),
            tame(model)
        ));
    }

    /// A command or a message.
    async fn hear(&mut self, text: &str) -> Result<Went, Failure> {
        if matches!(text.trim_end(), "/exit" | "/quit") {
            return Ok(Went::Home);
        }
        match Command::parse(text) {
            Ok(Some(command)) => self.perform(command).await,
            Ok(None) => self.say(text).await,
            Err(problem) => Err(Failure::new(problem.to_string()).hint(problem.hint())),
        }
    }

    async fn perform(&mut self, command: Command) -> Result<Went, Failure> {
        let mut events = self.agent.listen(self.session.id);
        let answer = self
            .agent
            .command(&self.conversation, self.session.id, command)
            .await
            .map_err(|error| agent_failed(&error))?;
        if let Answer::Began(session) = &answer {
            self.session = session.clone();
        }
        self.voice.answer(&answer)?;
        match answer {
            Answer::Answered(Answered { approval, goes_on: GoesOn::Here }) => {
                self.follow_all(approval.turn, &mut events).await
            }
            _ => Ok(Went::Well),
        }
    }

    /// Sends a message and shows what happens until its turn is over.
    async fn say(&mut self, text: &str) -> Result<Went, Failure> {
        let inbound = Inbound { settings: self.settings.clone(), ..Inbound::text(text) };
        let mut presses = Presses::None;
        let mut events = self.agent.listen(self.session.id);
        let submitting = self.agent.submit(self.session.id, inbound);
        let Some(submitted) = self.watch(&mut presses, submitting).await else {
            return Ok(Went::Left);
        };
        let turn = submitted.map_err(|error| agent_failed(&error))?.turn;
        if let (Asks::Later, Some(approval)) = (self.asks, self.first_question().await?) {
            tell(&format_args!(
                "the message waits behind approval {approval}: /approve or /deny, or `recto \
                 approvals answer {approval} allow`"
            ));
            self.queued.push(turn);
            return Ok(Went::Waits);
        }
        self.follow(turn, &mut events, presses).await
    }

    /// The oldest question that waits in the session.
    async fn first_question(&self) -> Result<Option<ApprovalId>, Failure> {
        let open = self.agent.open_approvals(Some(self.session.id)).await;
        let open = open.map_err(|error| agent_failed(&error))?;
        Ok(open.first().map(|approval| approval.id))
    }

    /// Follows a turn that goes on, and then those that waited behind it.
    async fn follow_all(
        &mut self,
        turn: TurnId,
        events: &mut mpsc::UnboundedReceiver<TurnEvent>,
    ) -> Result<Went, Failure> {
        let mut went = self.follow(turn, events, Presses::None).await?;
        while went != Went::Waits && went != Went::Left && !self.queued.is_empty() {
            let next = self.queued.remove(0);
            went = went.max(self.follow(next, events, Presses::None).await?);
        }
        Ok(went)
    }

    /// Waits for something. The first Ctrl-C stops the turn; the second does not
    /// wait for that, and gives `None`.
    async fn watch<T>(&self, presses: &mut Presses, work: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Some(done),
                () = self.interrupt.notified() => match presses {
                    Presses::None => {
                        *presses = Presses::Once(Instant::now());
                        self.agent.stop(self.session.id);
                    }
                    // A key that bounces, or is held down.
                    Presses::Once(first) if first.elapsed() < PATIENCE => {}
                    Presses::Once(_) => return None,
                },
            }
        }
    }
}

/// How often Ctrl-C was pressed in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presses {
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
    let told = interrupt.clone();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            told.notify_one();
        }
    });
    interrupt
}

fn went(finished: &Finished) -> Went {
    match finished.status {
        Ending::Done => Went::Well,
        Ending::Stopped => Went::Stopped,
        _ => Went::Wrong,
    }
}

/// A stopped program ends with what shells expect of one that Ctrl-C ended.
fn exit_code(went: Went) -> ExitCode {
    match went {
        Went::Well | Went::Home => ExitCode::SUCCESS,
        Went::Wrong => ExitCode::FAILURE,
        Went::Waits => ExitCode::from(3),
        Went::Stopped | Went::Left => ExitCode::from(130),
    }
}
