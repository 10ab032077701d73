//! What people do in the chat: each is a form that works by itself, and that scripts can send.
//!
//! A form that a browser sent leads back to the page. To a script it is told what came of it, so
//! that it can show that without loading the page anew. Commands are the same as in the terminal,
//! read by the same reader; what they answer is drawn by `command_words.rs`.

use axum::Form;
use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use recto_agent::{
    Actor, Agent, ChatCommand, CommandProblem, CommandReply, Inbound, InboundReading,
    SessionSettings,
};
use recto_context::ContextMode;
use recto_store::{
    ApprovalAnswer, ApprovalId, Moment, RowId, SessionId, StoreError, StoredSession,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::convert::Infallible;

use super::command_words::describe_reply;
use super::side_list::SideList;
use super::{ChatPage, session_address};
use crate::access::{Caller, FormToken};
use crate::gateway::{Gateway, web_conversation};
use crate::pages::page_problem::PageProblem;
use crate::pages::session_panel::effective_mode;
use crate::problem::ApiProblem;

/// Who sent a form: the browser itself, or a script that shows what came of it.
#[derive(Debug, Clone)]
pub(crate) enum FormSender {
    /// The browser, with the token for the forms of the page that it gets.
    Browser(FormToken),
    Script,
}

impl FromRequestParts<Gateway> for FormSender {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, Infallible> {
        match parts.headers.contains_key("x-recto-live") {
            true => Ok(FormSender::Script),
            false => Ok(FormSender::Browser(FormToken::from_request_parts(parts, gateway).await?)),
        }
    }
}

/// What came of a form.
#[derive(Debug, Default)]
struct ActionOutcome {
    /// The session that is to be shown.
    session: Option<SessionId>,
    /// Whether that is another than before.
    moves: bool,
    /// What a command has answered.
    answer: Option<Markup>,
    /// What is to stand in the composer.
    draft: Option<String>,
}

/// The same for a script.
#[derive(Debug, Serialize)]
struct ActionJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    go: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    draft: Option<String>,
}

/// The answer to a form, or the problem, in the form that its sender takes.
type ActionResult = Result<Response, Response>;

impl FormSender {
    /// Tells what went wrong.
    fn refuse(&self, problem: impl Into<ApiProblem>) -> Response {
        let problem = problem.into();
        match self {
            FormSender::Browser(_) => PageProblem(problem).into_response(),
            FormSender::Script => problem.into_response(),
        }
    }

    /// Tells what came of it.
    async fn answer(
        self,
        gateway: &Gateway,
        actor: &Actor,
        outcome: ActionOutcome,
    ) -> Result<Response, Response> {
        let ActionOutcome { session, moves, answer, draft } = outcome;
        let FormSender::Browser(form) = self else {
            let go = session.filter(|_| moves).map(|session| format!("/sessions/{session}"));
            let answer = answer.map(|answer| answer_note(&answer).into_string());
            return Ok(Json(ActionJson { go, answer, draft }).into_response());
        };
        let Some(session) = session else {
            return Ok(axum::response::Redirect::to("/").into_response());
        };
        if answer.is_none() && draft.is_none() {
            return Ok(session_address(session).into_response());
        }
        // What a command answers is kept nowhere, so it is shown at once.
        let shown = async {
            let side = SideList::load(gateway, actor).await?;
            let page = ChatPage::load(gateway, actor, &form, session).await?;
            let answer = answer.map(|answer| answer_note(&answer)).unwrap_or_default();
            Ok(page.render(&side, &draft.unwrap_or_default(), &answer))
        };
        let shown: Result<Markup, PageProblem> = shown.await;
        shown.map(IntoResponse::into_response).map_err(IntoResponse::into_response)
    }
}

fn answer_note(answer: &Markup) -> Markup {
    html! { div.notice.answer role="note" { (answer) } }
}

/// A message, as a form sends it.
#[derive(Debug, Deserialize)]
pub(crate) struct MessageForm {
    text: String,
    mode: Option<ContextMode>,
    /// The agent that a new session is with.
    agent: Option<String>,
}

/// Begins a session with its first message.
pub(crate) async fn begin_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    sender: FormSender,
    Form(form): Form<MessageForm>,
) -> ActionResult {
    let begun = async {
        let agent = match &form.agent {
            Some(name) => gateway.agent(name),
            None => gateway.agents().first(),
        };
        let agent = agent.map_or_else(|| gateway.default_agent(), Ok)?;
        // Unlike any before it, and a number: the session goes by its own.
        let name = Moment::now().timestamp().as_microsecond().to_string();
        let session = agent.find_or_begin(&actor, &web_conversation(&actor, &name)).await?;
        Ok::<_, recto_agent::AgentError>((agent, session))
    };
    let (agent, session) = begun.await.map_err(|error| sender.refuse(error))?;
    let mut outcome = say(agent, &actor, &session, &form).await.map_err(|e| sender.refuse(e))?;
    outcome.moves = true;
    sender.answer(&gateway, &actor, outcome).await
}

/// Sends a message, or performs a command.
pub(crate) async fn send_message(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(session): Path<SessionId>,
    sender: FormSender,
    Form(form): Form<MessageForm>,
) -> ActionResult {
    let found = gateway.find_session(&actor, session).await;
    let (agent, session) = found.map_err(|error| sender.refuse(error))?;
    let outcome = say(agent, &actor, &session, &form).await.map_err(|e| sender.refuse(e))?;
    sender.answer(&gateway, &actor, outcome).await
}

/// Says something in a session: to the model, or to Recto.
async fn say(
    agent: &Agent,
    actor: &Actor,
    session: &StoredSession,
    form: &MessageForm,
) -> Result<ActionOutcome, ApiProblem> {
    let settings = SessionSettings::from_store(&session.settings);
    let model = settings.model.as_deref().and_then(|name| agent.model(name).ok());
    let usual = effective_mode(&settings, model.or(agent.models().first()));
    let mut inbound = Inbound::text(actor, &normalize_lines(&form.text));
    inbound.settings.context_mode = form.mode.filter(|mode| Some(*mode) != usual);
    match inbound.read_command().map_err(|problem| command_problem(&problem))? {
        InboundReading::Message(inbound) => {
            agent.submit(session.id, inbound).await?;
            Ok(ActionOutcome { session: Some(session.id), ..ActionOutcome::default() })
        }
        InboundReading::Command(command) => perform(agent, actor, session, command).await,
    }
}

/// Browsers end the lines of forms as mails do.
fn normalize_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn command_problem(problem: &CommandProblem) -> ApiProblem {
    let status = axum::http::StatusCode::BAD_REQUEST;
    ApiProblem::new(status, "command", problem.to_string()).hint(problem.hint())
}

async fn perform(
    agent: &Agent,
    actor: &Actor,
    session: &StoredSession,
    command: ChatCommand,
) -> Result<ActionOutcome, ApiProblem> {
    let conversation = web_conversation(actor, &session.label());
    let reply = agent.command(actor, &conversation, session.id, command).await?;
    let here = ActionOutcome { session: Some(session.id), ..ActionOutcome::default() };
    Ok(match reply {
        CommandReply::Began(began) => {
            ActionOutcome { session: Some(began.began.id), moves: true, ..here }
        }
        CommandReply::Resend(inbound) => {
            agent.submit(session.id, *inbound).await?;
            here
        }
        CommandReply::Edit(text) => ActionOutcome { draft: Some(format!("/edit {text}")), ..here },
        reply => ActionOutcome { answer: describe_reply(&reply), ..here },
    })
}

/// Stops the turn that runs in a session.
pub(crate) async fn stop_turn(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(session): Path<SessionId>,
    sender: FormSender,
) -> ActionResult {
    let stopped = async {
        let (agent, session) = gateway.find_session(&actor, session).await?;
        perform(agent, &actor, &session, ChatCommand::Stop(None)).await
    };
    let outcome = stopped.await.map_err(|problem| sender.refuse(problem))?;
    // That it stops shows by itself.
    sender.answer(&gateway, &actor, ActionOutcome { answer: None, ..outcome }).await
}

/// An answer to a question, as its buttons send it.
#[derive(Debug, Deserialize)]
pub(crate) struct AnswerForm {
    answer: ApprovalAnswer,
}

/// Answers a question whether a tool may run.
pub(crate) async fn answer_question(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(approval): Path<ApprovalId>,
    sender: FormSender,
    Form(form): Form<AnswerForm>,
) -> ActionResult {
    let answered = async {
        let asked = gateway.store().approval(approval).await?;
        let asked = asked.ok_or(StoreError::NotFound(RowId::Approval(approval)))?;
        let (agent, _) = gateway.find_session(&actor, asked.session).await?;
        let answered = agent.answer(&actor, approval, form.answer).await?;
        let answer = describe_reply(&CommandReply::Answered(Box::new(answered)));
        Ok::<_, ApiProblem>(ActionOutcome {
            session: Some(asked.session),
            answer,
            ..ActionOutcome::default()
        })
    };
    let outcome = answered.await.map_err(|problem| sender.refuse(problem))?;
    sender.answer(&gateway, &actor, outcome).await
}

/// An item to be added to a session, or taken out of it.
#[derive(Debug, Deserialize)]
pub(crate) struct ItemChangeForm {
    add: Option<String>,
    remove: Option<String>,
}

/// Adds an item to a session, or takes one out, whatever its include mode.
pub(crate) async fn change_items(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(session): Path<SessionId>,
    sender: FormSender,
    Form(form): Form<ItemChangeForm>,
) -> ActionResult {
    let named = |name: Option<String>| name.filter(|name| !name.trim().is_empty());
    let command = match (named(form.remove), named(form.add)) {
        (Some(name), _) => ChatCommand::Remove(name),
        (None, Some(name)) => ChatCommand::Add(name),
        (None, None) => return sender.answer(&gateway, &actor, stay(session)).await,
    };
    let changed = async {
        let (agent, session) = gateway.find_session(&actor, session).await?;
        perform(agent, &actor, &session, command).await
    };
    let outcome = changed.await.map_err(|problem| sender.refuse(problem))?;
    // The panel shows it; without a script the page does.
    sender.answer(&gateway, &actor, ActionOutcome { answer: None, ..outcome }).await
}

fn stay(session: SessionId) -> ActionOutcome {
    ActionOutcome { session: Some(session), ..ActionOutcome::default() }
}

/// Changes settings of a session: those fields that say something else than holds.
pub(crate) async fn change_settings(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(session): Path<SessionId>,
    sender: FormSender,
    Form(fields): Form<BTreeMap<String, String>>,
) -> ActionResult {
    let changed = async {
        let (agent, session) = gateway.find_session(&actor, session).await?;
        for (name, value) in &fields {
            let set = session.settings.get(name).map(|set| match set.as_str() {
                Some(text) => text.to_owned(),
                None => set.to_string(),
            });
            let wanted =
                Some(value.trim()).filter(|value| !value.is_empty() && *value != "default");
            if wanted == set.as_deref() {
                continue;
            }
            let typed = format!("/set {name} {}", wanted.unwrap_or("default"));
            match Inbound::text(&actor, &typed)
                .read_command()
                .map_err(|problem| command_problem(&problem))?
            {
                InboundReading::Command(command) => {
                    perform(agent, &actor, &session, command).await?;
                }
                InboundReading::Message(_) => {}
            }
        }
        Ok::<_, ApiProblem>(stay(session.id))
    };
    let outcome = changed.await.map_err(|problem| sender.refuse(problem))?;
    sender.answer(&gateway, &actor, outcome).await
}

/// The new name of a session.
#[derive(Debug, Deserialize)]
pub(crate) struct RenameForm {
    name: String,
}

/// Gives a session another name.
pub(crate) async fn rename_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(session): Path<SessionId>,
    sender: FormSender,
    Form(form): Form<RenameForm>,
) -> ActionResult {
    let renamed = async {
        let (agent, session) = gateway.find_session(&actor, session).await?;
        agent.rename_session(&actor, session.id, form.name.trim()).await?;
        Ok::<_, ApiProblem>(stay(session.id))
    };
    let outcome = renamed.await.map_err(|problem| sender.refuse(problem))?;
    sender.answer(&gateway, &actor, ActionOutcome { moves: true, ..outcome }).await
}

/// Puts a session into the archive.
pub(crate) async fn archive_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(session): Path<SessionId>,
    sender: FormSender,
) -> ActionResult {
    let archived = async {
        let (agent, session) = gateway.find_session(&actor, session).await?;
        agent.archive_session(&actor, session.id).await?;
        Ok::<_, ApiProblem>(())
    };
    archived.await.map_err(|problem| sender.refuse(problem))?;
    let side = SideList::load(&gateway, &actor).await.map_err(|error| sender.refuse(error))?;
    let outcome = ActionOutcome { session: side.newest(), moves: true, ..ActionOutcome::default() };
    sender.answer(&gateway, &actor, outcome).await
}
