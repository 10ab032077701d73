//! Commands: what people can say to Recto rather than to the model.
//!
//! Commands stand at the start of a message: `/new` is one, "How do I start a /new
//! one?" is a message. What is near a command is neither: it is told, and nothing is
//! sent. What a command answers is data; each surface draws it in its own way.

mod parse;
mod slash;

use recto_context::{Audience, AudienceKind, MemoryMarks, RequestContext, may_recall};
use recto_store::{
    ApprovalAnswer, ApprovalId, SessionFilter, SessionId, SessionName, SessionSummary, SessionUsage,
};
use recto_workspace::{AddedMemory, TextMarks, shares_itself};
use serde_json::Value;

use crate::access::can_reach;
use crate::actor::Actor;
use crate::agent::{Agent, Conversation, SessionRenewal};
use crate::approvals::AnsweredApproval;
use crate::error::{AgentError, AgentResult};
use crate::inbound::Inbound;
use crate::items::ItemChange;
use crate::memories::RememberRequest;
use crate::options::SessionSettings;
use crate::record;
use crate::rights::{Right, is_allowed};
use crate::stats::{UsageQuery, UsageReport, UsageSpan};
use crate::stop_requests::StopReport;
use crate::take_back::{EditableMessage, UndoneExchange};
use crate::why::ItemExplanation;

pub use parse::{CommandProblem, read_setting_value, session_setting_names, session_setting_words};
pub(crate) use parse::{ParsedInput, read_setting};
pub use slash::{SURFACE_COMMANDS, SurfaceCommand, SurfaceCommandHelp};

/// A command, as it can be typed.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "a command without arguments is typed as its name")]
pub enum ChatCommand {
    /// `/new`, or `/new NAME` to give the new session a name.
    New(Option<SessionName>),
    Help,
    Context,
    /// `/model`, or `/model NAME` to answer with another one.
    Model(Option<SettingChange>),
    /// `/mode`, or `/mode full` to set it.
    Mode(Option<SettingChange>),
    /// `/set`, or `/set KEY VALUE` to change a setting.
    Set(Option<SettingChange>),
    /// `/add` with the name of an item.
    Add(String),
    /// `/remove` with the name of an item.
    Remove(String),
    /// `/why` with the name of an item.
    Why(String),
    /// `/stats`, or `/stats 7d` for another span of time.
    Stats(UsageSpan),
    /// `/approve`, `/approve session`, `/approve 3`.
    Approve(Option<ApprovalId>, ApprovalScope),
    /// `/deny`, or `/deny 3` for one of several questions.
    Deny(Option<ApprovalId>),
    /// `/remember` with what is to be kept.
    Remember(String),
    Undo,
    Retry,
    /// `/edit`, or `/edit TEXT` to send another message in place of the last one.
    Edit(Option<String>),
    Sessions,
    /// `/stop`, or `/stop NAME` for all that is open in another session.
    Stop(Option<String>),
}

/// For how long a tool is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalScope {
    /// For the call that was asked about.
    Once,
    /// For every call of it in this session.
    Session,
}

impl ApprovalScope {
    fn answer(self) -> ApprovalAnswer {
        match self {
            ApprovalScope::Once => ApprovalAnswer::Once,
            ApprovalScope::Session => ApprovalAnswer::Session,
        }
    }
}

/// A change of one of the session's settings.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingChange {
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

impl CommandHelp {
    /// The whole of what can be typed, such as `/model [NAME | default]`.
    pub fn usage(&self) -> String {
        format!("{} {}", self.name, self.arguments).trim_end().to_owned()
    }

    /// Whether a text follows it, which may have several lines.
    fn takes_text(&self) -> bool {
        matches!(self.name, "/remember" | "/edit" | "/help")
    }
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
    help("/stats", "[30d | DATE | all]", "show how the context was used"),
    help("/approve", "[NUMBER] [session]", "let the tool run that was asked about"),
    help("/deny", "[NUMBER]", "don't let it run"),
    help("/remember", "TEXT", "keep something for later conversations"),
    help("/undo", "", "take back the last message with its reply"),
    help("/retry", "", "send the last message again, in place of its reply"),
    help("/edit", "[TEXT]", "change the last message and send it instead"),
    help("/new", "[NAME]", "put this session into the archive and begin a new one"),
    help("/model", "[NAME | default]", "show the models, or answer with another one"),
    help("/mode", "[full | minimal | auto | default]", "show or set the context mode"),
    help("/set", "[KEY VALUE | KEY default]", "show or change the settings of this session"),
    help("/sessions", "", "list the sessions"),
    help("/stop", "[SESSION]", "stop the turn that runs, or all in another session"),
];

/// The data that a command answers with.
#[derive(Debug)]
pub enum CommandReply {
    /// [`COMMANDS`] is to be shown.
    Help,
    /// A new session began in place of this one.
    Began(SessionRenewal),
    /// The last request, if there is one.
    Context(Option<Box<RequestContext>>),
    /// What became of an item.
    Item(ItemChange),
    /// Why an item was on the last page or was not; nothing where nothing was asked yet.
    Why(Vec<ItemExplanation>),
    /// How the agent's context was used, and by this session.
    Usage(Box<UsageReport>),
    /// What this session has used, for those who may see no other.
    SessionUsage(SessionUsage),
    /// What is remembered, and whether it was before.
    Remembered(AddedMemory),
    /// A question was answered.
    Answered(Box<AnsweredApproval>),
    /// The model entries, and which one answers.
    #[allow(missing_docs, reason = "the fields say it")]
    Models { names: Vec<String>, current: Option<String> },
    /// The session's settings as they are now.
    Settings(SessionSettings),
    /// The sessions, newest first.
    Sessions(Vec<SessionSummary>),
    /// The last exchange is taken back.
    Undone(UndoneExchange),
    /// The surface is to send this, as it sends a message: it takes the place of the last one.
    Resend(Box<Inbound>),
    /// The last message, to be changed and sent with `/edit TEXT`.
    Edit(EditableMessage),
    /// What became of the wish to stop.
    Stopped(StopReport),
}

impl ChatCommand {
    /// The right that it needs.
    pub fn right(&self) -> Right {
        match self {
            ChatCommand::Help => Right::Talk,
            ChatCommand::Context
            | ChatCommand::Why(_)
            | ChatCommand::Sessions
            | ChatCommand::Stats(_)
            | ChatCommand::Model(None)
            | ChatCommand::Mode(None)
            | ChatCommand::Set(None) => Right::Inspect,
            ChatCommand::Model(Some(change))
            | ChatCommand::Mode(Some(change))
            | ChatCommand::Set(Some(change)) => change.right(),
            ChatCommand::Add(_) | ChatCommand::Remove(_) => Right::ChangeItems,
            ChatCommand::Approve(..) => Right::Approve,
            ChatCommand::Remember(_) => Right::Remember,
            ChatCommand::New(_) => Right::BeginSession,
            ChatCommand::Undo | ChatCommand::Retry | ChatCommand::Edit(_) => Right::TakeBack,
            ChatCommand::Deny(_) | ChatCommand::Stop(_) => Right::Stop,
        }
    }
}

impl ChatCommand {
    /// Whether it widens what tools may do, or who may see something.
    pub fn widens_rights(&self) -> bool {
        match self {
            ChatCommand::Remember(text) => shares_itself(text),
            command => command.right().widens(),
        }
    }

    /// The name that it is typed by.
    pub fn name(&self) -> &'static str {
        match self {
            ChatCommand::Help => "/help",
            ChatCommand::Context => "/context",
            ChatCommand::Add(_) => "/add",
            ChatCommand::Remove(_) => "/remove",
            ChatCommand::Why(_) => "/why",
            ChatCommand::Stats(_) => "/stats",
            ChatCommand::Approve(..) => "/approve",
            ChatCommand::Deny(_) => "/deny",
            ChatCommand::Remember(_) => "/remember",
            ChatCommand::Undo => "/undo",
            ChatCommand::Retry => "/retry",
            ChatCommand::Edit(_) => "/edit",
            ChatCommand::New(_) => "/new",
            ChatCommand::Model(_) => "/model",
            ChatCommand::Mode(_) => "/mode",
            ChatCommand::Set(_) => "/set",
            ChatCommand::Sessions => "/sessions",
            ChatCommand::Stop(_) => "/stop",
        }
    }

    /// The setting that it shows or changes, where that is one alone.
    pub fn setting(&self) -> Option<&'static str> {
        match self {
            ChatCommand::Mode(None) => Some("context_mode"),
            ChatCommand::Mode(Some(change)) | ChatCommand::Set(Some(change)) => Some(change.key),
            _ => None,
        }
    }

    /// The setting that it changes.
    pub fn changed_setting(&self) -> Option<&'static str> {
        match self {
            ChatCommand::Model(change) | ChatCommand::Mode(change) | ChatCommand::Set(change) => {
                change.as_ref().map(|change| change.key)
            }
            _ => None,
        }
    }
}

impl SettingChange {
    pub(crate) fn right(&self) -> Right {
        match self.key {
            // Whoever says when people are asked says what tools may do.
            "approval" => Right::ChangeRights,
            _ => Right::ChangeSettings,
        }
    }
}

impl Agent {
    /// Performs a command in a conversation's session, which must be this agent's.
    pub async fn command(
        &self,
        actor: &Actor,
        conversation: &Conversation,
        session: SessionId,
        command: ChatCommand,
    ) -> AgentResult<CommandReply> {
        if !matches!(command, ChatCommand::New(_)) {
            // That one asks by itself: it is allowed also where the session is gone.
            self.must_be_allowed(actor, command.right(), session).await?;
        }
        Ok(match command {
            ChatCommand::Help => CommandReply::Help,
            ChatCommand::Stop(name) => {
                CommandReply::Stopped(self.stop_by_command(actor, session, name.as_deref()).await?)
            }
            ChatCommand::New(None) => {
                CommandReply::Began(self.renew(actor, conversation, session).await?)
            }
            ChatCommand::New(Some(name)) => {
                CommandReply::Began(self.renew_as(actor, conversation, session, &name).await?)
            }
            ChatCommand::Undo => CommandReply::Undone(self.undo(actor, session).await?),
            ChatCommand::Retry => CommandReply::Resend(Box::new(self.retry(actor, session).await?)),
            ChatCommand::Edit(Some(text)) => {
                CommandReply::Resend(Box::new(self.edit(actor, session, &text).await?))
            }
            ChatCommand::Edit(None) => CommandReply::Edit(self.editable_message(session).await?),
            ChatCommand::Sessions => {
                CommandReply::Sessions(self.visible_sessions(actor, session).await?)
            }
            ChatCommand::Context => {
                let last = record::restore_last(self.store(), session).await?;
                CommandReply::Context(last.map(Box::new))
            }
            ChatCommand::Add(name) => CommandReply::Item(self.add_item(session, &name).await?),
            ChatCommand::Remove(name) => {
                CommandReply::Item(self.remove_item(session, &name).await?)
            }
            ChatCommand::Why(name) => CommandReply::Why(self.explain(session, &name).await?),
            ChatCommand::Stats(span) => self.usage(actor, UsageQuery::now(span), session).await?,
            ChatCommand::Approve(id, scope) => {
                self.decide(actor, session, id, scope.answer()).await?
            }
            ChatCommand::Deny(id) => {
                self.decide(actor, session, id, ApprovalAnswer::Denied).await?
            }
            ChatCommand::Remember(text) => {
                CommandReply::Remembered(self.remember(actor, session, &text).await?)
            }
            ChatCommand::Model(change) => self.choose_model(session, change).await?,
            ChatCommand::Mode(Some(change)) | ChatCommand::Set(Some(change)) => {
                self.change(session, change).await?
            }
            ChatCommand::Mode(None) | ChatCommand::Set(None) => {
                CommandReply::Settings(self.settings(session).await?)
            }
        })
    }

    /// Chooses the model of a session, if one is to be chosen, and lists them all.
    async fn choose_model(
        &self,
        session: SessionId,
        change: Option<SettingChange>,
    ) -> AgentResult<CommandReply> {
        if let Some(change) = change {
            self.change(session, change).await?;
        }
        self.models_of(session).await
    }

    async fn decide(
        &self,
        actor: &Actor,
        session: SessionId,
        approval: Option<ApprovalId>,
        answer: ApprovalAnswer,
    ) -> AgentResult<CommandReply> {
        let answered = self.answer_in(actor, session, approval, answer).await?;
        Ok(CommandReply::Answered(Box::new(answered)))
    }

    /// The sessions that an actor can be told of in this one. What only the owner may see
    /// is not told before others.
    async fn visible_sessions(
        &self,
        actor: &Actor,
        session: SessionId,
    ) -> AgentResult<Vec<SessionSummary>> {
        let here = self.settings(session).await?.audience();
        let is_visible = |listed: &SessionSummary| {
            let of = SessionSettings::from_store(&listed.session.settings).audience();
            listed.session.agent == self.name()
                && can_reach(actor, &listed.session)
                && may_be_told(&here, &of)
        };
        let mut sessions = self.store().sessions(SessionFilter::default()).await?;
        sessions.retain(is_visible);
        Ok(sessions)
    }

    async fn explain(&self, session: SessionId, name: &str) -> AgentResult<Vec<ItemExplanation>> {
        let Some(last) = record::last_page(self.store(), session).await? else {
            return Ok(Vec::new());
        };
        let request = record::restore_request(self.store(), &last).await?;
        // What the session may not see is not there for those who talk in it.
        let others = &[];
        let mut told = self.memories().explain(self.store(), &last, &request, name, others).await?;
        let items = self.store().items(session).await?;
        for explanation in &mut told {
            if let Some((_, now)) = items.iter().find(|(item, _)| *item == explanation.item) {
                explanation.note_change(now);
            }
        }
        match told.is_empty() {
            true => Err(AgentError::unknown_to_request(&request, name)),
            false => Ok(told),
        }
    }

    async fn remember(
        &self,
        actor: &Actor,
        session: SessionId,
        text: &str,
    ) -> AgentResult<AddedMemory> {
        let audience = self.settings(session).await?.audience();
        let marks_in_text = match is_allowed(actor.role, Right::ShareMemories) {
            true => TextMarks::Taken,
            false => TextMarks::Ignored,
        };
        let request =
            RememberRequest { text, scope: None, marks: MemoryMarks::default(), marks_in_text };
        Ok(self.memories().remember(&request, &audience).await?)
    }

    /// Stops the turn that runs in this session, or all that is open in another.
    async fn stop_by_command(
        &self,
        actor: &Actor,
        session: SessionId,
        name: Option<&str>,
    ) -> AgentResult<StopReport> {
        if let Some(name) = name {
            return self.stop_named(actor, name).await;
        }
        let outcome = self.stop_running(actor, session).await?;
        let stored = self.store().session(session).await?;
        Ok(StopReport { session: stored.map(|stored| stored.label()).unwrap_or_default(), outcome })
    }

    pub(crate) async fn settings(&self, session: SessionId) -> AgentResult<SessionSettings> {
        let session = self.store().session(session).await?;
        Ok(session.map_or_else(SessionSettings::default, |session| {
            SessionSettings::from_store(&session.settings)
        }))
    }

    async fn models_of(&self, session: SessionId) -> AgentResult<CommandReply> {
        let names: Vec<String> = self.models().iter().map(|entry| entry.name.to_string()).collect();
        let current = self.settings(session).await?.model.or_else(|| names.first().cloned());
        Ok(CommandReply::Models { names, current })
    }

    async fn change(&self, session: SessionId, change: SettingChange) -> AgentResult<CommandReply> {
        Ok(CommandReply::Settings(self.apply_changes(session, vec![change]).await?))
    }

    /// Changes settings of a session, all or none of them.
    pub(crate) async fn apply_changes(
        &self,
        session: SessionId,
        changes: Vec<SettingChange>,
    ) -> AgentResult<SessionSettings> {
        let mut settings = self.settings(session).await?;
        for change in changes {
            if let ("model", Some(Value::String(name))) = (change.key, &change.value) {
                self.model(name)?;
            }
            settings = settings.changed(change);
        }
        self.store().set_settings(session, settings.to_store()).await?;
        Ok(settings)
    }
}

impl SessionSettings {
    /// These settings with one of them changed.
    pub(crate) fn changed(&self, change: SettingChange) -> Self {
        let mut settings = self.to_store();
        match change.value {
            Some(value) => settings.insert(change.key.to_owned(), value),
            None => settings.remove(change.key),
        };
        Self::from_store(&settings)
    }
}

/// Whether those who read here may be told of a session that is held before others.
fn may_be_told(here: &Audience, of: &Audience) -> bool {
    here.who != AudienceKind::Group || may_recall(here, of)
}
