//! `recto chat`: a conversation in a terminal, in a pipe, or one message long.
//!
//! The reply is data and goes to standard output; everything around it goes to
//! standard error. Messages that are piped in are read as if they were typed, one
//! a line, commands included.

mod answers;
mod voice;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use recto_agent::{
    Agent, Answer, COMMANDS, Command, Conversation, Event, Finished, Inbound, SessionSettings,
};
use recto_context::ContextMode;
use recto_store::{Ending, Session};
use tokio::sync::Notify;

use crate::cli::ChatArgs;
use crate::commands::agent_failed;
use crate::failure::Failure;
use crate::home::Home;
use crate::input;
use crate::output::{tame, tell};
use crate::setup;
use crate::terminal::editor::{Editor, Line};
use voice::Voice;

pub(crate) fn run(home: &Home, args: &ChatArgs) -> Result<ExitCode, Failure> {
    let settings = setup::load(home, Vec::new())?;
    let message = args.message.as_deref().map(input::message).transpose()?;
    let runtime = setup::runtime()?;
    let (code, agent) = runtime.block_on(async {
        let settings = setup::with_model(settings, args.model.as_deref()).await?;
        let agent = setup::agent(home, &settings).await?;
        let mut chat = Chat::open(agent, args).await?;
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
    /// Ctrl-C.
    interrupt: Arc<Notify>,
}

/// How a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Went {
    Well,
    Wrong,
    Stopped,
    /// The person is done.
    Home,
    /// The person would not wait until the turn is stopped.
    Left,
}

impl Chat {
    async fn open(agent: Agent, args: &ChatArgs) -> Result<Self, Failure> {
        let settings = SessionSettings {
            model: args.model.clone(),
            context_mode: args.context_mode.map(ContextMode::from),
            ..SessionSettings::default()
        };
        if let Some(name) = &args.model {
            agent.model(name).map_err(|error| agent_failed(&error))?;
        }
        let conversation = Conversation {
            surface: "terminal".to_owned(),
            account: "local".to_owned(),
            name: args.session.clone(),
        };
        let session =
            agent.find_named_or_begin(&conversation).await.map_err(|error| agent_failed(&error))?;
        let voice = if args.json { Voice::json() } else { Voice::for_people() };
        Ok(Chat { agent, conversation, session, settings, voice, interrupt: interrupts() })
    }

    /// One message, and the end.
    async fn once(&mut self, message: &str) -> Result<ExitCode, Failure> {
        let went = match self.hear(message).await? {
            Went::Left => Went::Left,
            went => self.finish(went).await,
        };
        Ok(exit_code(went))
    }

    /// Messages from standard input, one a line. Ctrl-C between them is the end.
    async fn piped(&mut self) -> Result<ExitCode, Failure> {
        let mut lines = input::lines();
        let mut worst = Went::Well;
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
            match self.hear(&line).await {
                Ok(Went::Well) => {}
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
        Ok(exit_code(self.finish(worst).await))
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
        let answer = self
            .agent
            .command(&self.conversation, self.session.id, command)
            .await
            .map_err(|error| agent_failed(&error))?;
        if let Answer::Began(session) = &answer {
            self.session = session.clone();
        }
        self.voice.answer(&answer)?;
        Ok(Went::Well)
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
        loop {
            let Some(event) = self.watch(&mut presses, events.recv()).await else {
                return Ok(Went::Left);
            };
            let Some(event) = event else {
                return Err(Failure::new("the turn ended unexpectedly")
                    .hint(format!("see what is stored with `recto show {turn}`")));
            };
            if presses != Presses::None {
                // What was stopped may have been an older turn before it.
                self.agent.stop(self.session.id);
            }
            if event.turn != turn {
                self.voice.other(&event)?;
                continue;
            }
            self.voice.event(&event)?;
            if let Event::Finished(finished) = &event.event {
                return Ok(went(finished));
            }
        }
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
        Went::Stopped | Went::Left => ExitCode::from(130),
    }
}
