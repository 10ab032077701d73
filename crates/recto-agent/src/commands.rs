//! Commands: what people can say to Recto rather than to the model.
//!
//! Commands are exact and stand at the start of a message: `/new` is one, "How do
//! I start a /new one?" and "/new york" are messages. What a command answers is
//! data; each surface draws it in its own way.

mod parse;

use recto_context::{Marks, RequestContext, Who};
use recto_store::{ApprovalId, Owner, Session, SessionFilter, SessionId, SessionSummary, Turn};
use recto_workspace::{Added, TextMarks};
use serde::Serialize;
use serde_json::Value;

use crate::agent::{Agent, Conversation};
use crate::approvals::Answered;
use crate::error::AgentError;
use crate::items::ItemChange;
use crate::memories::Wish;
use crate::options::SessionSettings;
use crate::record;
use crate::why::Why;

pub use parse::CommandProblem;

/// A command, as it can be typed.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "a command without arguments is typed as its name")]
pub enum Command {
    New,
    Help,
    Context,
    /// `/model`, or `/model NAME` to answer with another one.
    Model(Option<Change>),
    /// `/mode`, or `/mode full` to set it.
    Mode(Option<Change>),
    /// `/set`, or `/set KEY VALUE` to change a setting.
    Set(Option<Change>),
    /// `/add` with the name of an item.
    Add(String),
    /// `/remove` with the name of an item.
    Remove(String),
    /// `/why` with the name of an item.
    Why(String),
    /// `/approve`, `/approve session`, `/approve 3`.
    Approve(Option<ApprovalId>, Scope),
    /// `/deny`, or `/deny 3` for one of several questions.
    Deny(Option<ApprovalId>),
    /// `/remember` with what is to be kept.
    Remember(String),
    Sessions,
    Stop,
}

/// For how long a tool is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// For the call that was asked about.
    Once,
    /// For every call of it in this session.
    Session,
}

/// A change of one of the session's settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The name of the setting, as the store keeps it.
    key: &'static str,
    /// Its new value in the form of the store; `None` for what the agent has.
    value: Option<Value>,
}

/// How a command is typed, and what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandHelp {
    /// The command itself, such as `/model`.
    pub name: &'static str,
    /// The arguments that can follow it, such as `[NAME | default]`.
    pub arguments: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
}

const fn help(name: &'static str, arguments: &'static str, about: &'static str) -> CommandHelp {
    CommandHelp { name, arguments, about }
}

/// All commands, in the order in which `/help` lists them.
pub const COMMANDS: &[CommandHelp] = &[
    help("/help", "", "list the commands"),
    help("/context", "", "show what the last request sent, by layer"),
    help("/add", "NAME", "add a rule, reference, skill or tool to this session"),
    help("/remove", "NAME", "take one out of this session; it does not come back by itself"),
    help("/why", "NAME", "say why an item was or was not on the last request's page"),
    help("/approve", "[NUMBER] [session]", "let the tool run that was asked about"),
    help("/deny", "[NUMBER]", "don't let it run"),
    help("/remember", "TEXT", "keep something for later conversations"),
    help("/new", "", "put this session into the archive and begin a new one"),
    help("/model", "[NAME | default]", "show the models, or answer with another one"),
    help("/mode", "[full | minimal | auto | default]", "show or set the context mode"),
    help("/set", "[KEY VALUE | KEY default]", "show or change the settings of this session"),
    help("/sessions", "", "list the sessions"),
    help("/stop", "", "stop the turn that runs"),
];

/// The data that a command answers with.
#[derive(Debug)]
pub enum Answer {
    /// [`COMMANDS`] is to be shown.
    Help,
    /// A new session began.
    Began(Session),
    /// The last request, if there is one.
    Context(Option<Box<RequestContext>>),
    /// What became of an item.
    Item(ItemChange),
    /// Why an item was on the last page or was not; nothing where no item has
    /// the name, or nothing was asked yet.
    Why(Vec<Why>),
    /// What is remembered, and whether it was before.
    Remembered(Added),
    /// A question was answered.
    Answered(Answered),
    /// The model entries, and which one answers.
    #[allow(missing_docs, reason = "the fields say it")]
    Models { names: Vec<String>, current: Option<String> },
    /// The session's settings as they are now.
    Settings(SessionSettings),
    /// The sessions, newest first.
    Sessions(Vec<SessionSummary>),
    /// What became of the wish to stop.
    Stopped(Stopping),
}

/// What became of the wish to stop a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopping {
    /// It is being stopped.
    Now,
    /// It runs in another process, which alone can stop it.
    Elsewhere,
    /// It waited for a person's word, and has it: no.
    Denied,
    /// Nothing runs in the session.
    NothingRuns,
}

impl Agent {
    /// Performs a command in a conversation's session.
    pub async fn command(
        &self,
        conversation: &Conversation,
        session: SessionId,
        command: Command,
    ) -> Result<Answer, AgentError> {
        Ok(match command {
            Command::Help => Answer::Help,
            Command::Stop => Answer::Stopped(self.try_to_stop(session).await?),
            Command::New => Answer::Began(self.renew(conversation, session).await?),
            Command::Sessions => {
                Answer::Sessions(self.store().sessions(SessionFilter::default()).await?)
            }
            Command::Context => {
                let last = record::last_of_session(self.store(), session).await?;
                Answer::Context(last.map(Box::new))
            }
            Command::Add(name) => Answer::Item(self.add_item(session, &name).await?),
            Command::Remove(name) => Answer::Item(self.remove_item(session, &name).await?),
            Command::Why(name) => {
                let Some(last) = self.store().last_request(session).await? else {
                    return Ok(Answer::Why(Vec::new()));
                };
                let request = record::restore(self.store(), &last).await?;
                // What the session may not see is not there for those who talk in it.
                let others = &[];
                Answer::Why(
                    self.memories().why(self.store(), &last, &request, &name, others).await?,
                )
            }
            Command::Approve(id, scope) => {
                let answer = match scope {
                    Scope::Once => recto_store::Answer::Once,
                    Scope::Session => recto_store::Answer::Session,
                };
                Answer::Answered(self.answer_in(session, id, answer).await?)
            }
            Command::Deny(id) => {
                let answer = recto_store::Answer::Denied;
                Answer::Answered(self.answer_in(session, id, answer).await?)
            }
            Command::Remember(text) => Answer::Remembered(self.remember(session, &text).await?),
            Command::Model(None) => self.models_of(session).await?,
            Command::Model(Some(change)) => {
                self.change(session, change).await?;
                self.models_of(session).await?
            }
            Command::Mode(Some(change)) | Command::Set(Some(change)) => {
                self.change(session, change).await?
            }
            Command::Mode(None) | Command::Set(None) => {
                Answer::Settings(self.settings(session).await?)
            }
        })
    }

    async fn remember(&self, session: SessionId, text: &str) -> Result<Added, AgentError> {
        let audience = self.settings(session).await?.audience();
        let marks_in_text = match audience.who {
            Who::Owner => TextMarks::Taken,
            // What is shared is for the owner to say.
            Who::Guest | Who::Group | Who::SubAgent => TextMarks::Ignored,
        };
        let wish = Wish { text, scope: None, marks: Marks::default(), marks_in_text };
        Ok(self.memories().remember(&wish, &audience).await?)
    }

    async fn try_to_stop(&self, session: SessionId) -> Result<Stopping, AgentError> {
        if self.stop(session) {
            return Ok(Stopping::Now);
        }
        let asked = self.open_approvals(Some(session)).await?;
        for approval in &asked {
            self.answer(approval.id, recto_store::Answer::Denied).await?;
        }
        if !asked.is_empty() {
            return Ok(Stopping::Denied);
        }
        let open = self.store().open_turns().await?.turns;
        let elsewhere =
            |turn: &Turn| turn.session == session && turn.owner == Some(Owner::Elsewhere);
        let found = open.iter().any(elsewhere);
        Ok(if found { Stopping::Elsewhere } else { Stopping::NothingRuns })
    }

    pub(crate) async fn settings(&self, session: SessionId) -> Result<SessionSettings, AgentError> {
        let session = self.store().session(session).await?;
        Ok(session.map_or_else(SessionSettings::default, |session| {
            SessionSettings::from_store(&session.settings)
        }))
    }

    async fn models_of(&self, session: SessionId) -> Result<Answer, AgentError> {
        let names: Vec<String> = self.models().iter().map(|entry| entry.name.to_string()).collect();
        let current = self.settings(session).await?.model.or_else(|| names.first().cloned());
        Ok(Answer::Models { names, current })
    }

    async fn change(&self, session: SessionId, change: Change) -> Result<Answer, AgentError> {
        if let ("model", Some(Value::String(name))) = (change.key, &change.value) {
            self.model(name)?;
        }
        let settings = self.settings(session).await?.changed(change);
        self.store().set_settings(session, settings.to_store()).await?;
        Ok(Answer::Settings(settings))
    }
}

impl SessionSettings {
    /// These settings with one of them changed.
    fn changed(&self, change: Change) -> Self {
        let mut settings = self.to_store();
        match change.value {
            Some(value) => settings.insert(change.key.to_owned(), value),
            None => settings.remove(change.key),
        };
        Self::from_store(&settings)
    }
}
