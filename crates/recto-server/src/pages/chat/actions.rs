//! What people say and answer in the chat: each is a form that works by itself, and that scripts can send.
//!
//! A form that a browser sent leads back to the page. To a script it is told what came of it, so
//! that it can show that without loading the page anew. Commands are the same as in the terminal,
//! read by the same reader; what they answer is drawn by `command_words.rs`. What is changed about a
//! session as a whole is in `session_forms.rs`.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use recto_agent::{
    Actor, Agent, AgentError, ChatCommand, CommandProblem, CommandReply, EditableMessage, Inbound,
    InboundReading, RecordReader, SessionSettings, SurfaceMessage, TakeUpScope,
};
use recto_context::{ContextMode, MessageId};
use recto_store::{ApprovalId, Moment, SessionId, StoredSession, TurnId, TurnOwner};
use serde::{Deserialize, Serialize};

use super::command_words::describe_reply;
use super::composer::ComposerDraft;
use super::side_list::SideList;
use super::welcome::NewSessionPage;
use super::{ChatPage, session_model};
use crate::access::Caller;
use crate::api::{ApprovalWord, resend};
use crate::extract::{PageFields, PagePath};
use crate::gateway::{Gateway, web_conversation};
use crate::pages::layout::PageVisitor;
use crate::pages::page_problem::{PageProblem, problem_block};
use crate::pages::session_panel::effective_mode;
use crate::pages::visible_text::reveal_html;
use crate::problem::{ApiProblem, ApiResult};

/// Who sent a form: the browser itself, or a script that shows what came of it.
#[derive(Debug, Clone)]
pub(crate) enum FormSender {
    /// The browser, which gets a page.
    Browser(Box<PageVisitor>),
    Script,
}

impl FromRequestParts<Gateway> for FormSender {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> ApiResult<Self> {
        if parts.headers.contains_key("x-recto-live") {
            return Ok(FormSender::Script);
        }
        let visitor = PageVisitor::from_request_parts(parts, gateway).await?;
        Ok(FormSender::Browser(Box::new(visitor)))
    }
}

/// What came of a form.
#[derive(Debug, Default)]
pub(super) struct ActionOutcome {
    /// The session that is to be shown.
    pub(super) session: Option<SessionId>,
    /// Whether that is another than before.
    pub(super) moves: bool,
    /// What a command has answered.
    pub(super) answer: Option<Markup>,
    /// The last message, which is to stand in the composer and be sent anew.
    pub(super) edited: Option<EditableMessage>,
    /// A message that was never sent, which is to stand in the composer.
    pub(super) draft: Option<String>,
}

/// The same for a script.
#[derive(Debug, Serialize)]
struct ActionJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    go: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edited: Option<EditedJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    draft: Option<String>,
}

/// A message that is to be sent anew, for a script: numbers in JSON have no room for all ids.
#[derive(Debug, Serialize)]
struct EditedJson {
    text: String,
    message: String,
}

/// The answer to a form, or the problem, in the form that its sender takes.
pub(super) type ActionResult = Result<Response, Response>;

impl FormSender {
    /// Tells what went wrong.
    pub(super) fn refuse(&self, problem: impl Into<ApiProblem>) -> Response {
        let problem = problem.into();
        match self {
            FormSender::Browser(_) => PageProblem(problem).into_response(),
            FormSender::Script => problem.into_response(),
        }
    }

    /// Tells what came of it.
    pub(super) async fn answer(
        self,
        gateway: &Gateway,
        actor: &Actor,
        outcome: ActionOutcome,
    ) -> Result<Response, Response> {
        let ActionOutcome { session, moves, answer, edited, draft } = outcome;
        let address = match session {
            Some(session) => format!("/sessions/{session}"),
            None => "/".to_owned(),
        };
        let FormSender::Browser(visitor) = self else {
            let go = moves.then_some(address);
            // No page, so that nobody else writes out what hides in it.
            let answer = answer.map(|answer| answer_note(&answer).into_string());
            let answer = answer.map(|answer| reveal_html(&answer).into_owned());
            let edited = edited.map(|EditableMessage { text, id }| {
                let message = id.0.to_string();
                EditedJson { text, message }
            });
            return Ok(Json(ActionJson { go, answer, edited, draft }).into_response());
        };
        if answer.is_none() && edited.is_none() && draft.is_none() {
            return Ok(Redirect::to(&address).into_response());
        }
        // What a command answers is kept nowhere, so it is shown at once.
        let shown = async {
            let side = SideList::load(gateway, actor).await?;
            let answer = answer.map(|answer| answer_note(&answer)).unwrap_or_default();
            let Some(session) = session else {
                let page = NewSessionPage { answer, ..NewSessionPage::default() };
                return page.render(gateway, &visitor, &side).await;
            };
            let page = ChatPage::load(gateway, &visitor, session).await?;
            let draft = edited.map(ComposerDraft::Edited).or(draft.map(ComposerDraft::New));
            let draft = draft.unwrap_or_default();
            Ok(page.render(&side, &draft, &answer))
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
    /// The message that it is to be sent in place of, as its number; empty where it is a new one.
    #[serde(default)]
    edits: String,
    /// The page's own number of the message: one that is sent again begins no other turn.
    delivery: Option<u64>,
    /// Not empty where it is only to be put into the composer.
    #[serde(default)]
    only: String,
}

impl MessageForm {
    /// The message as the page knows it.
    fn surface_message(&self, actor: &Actor, session: SessionId) -> Option<SurfaceMessage> {
        let conversation = web_conversation(actor, &format!("session-{session}"));
        let id = format!("page-{}", self.delivery?);
        Some(SurfaceMessage { conversation, id })
    }
}

/// Begins a session with its first message.
pub(crate) async fn begin_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    sender: FormSender,
    PageFields(form): PageFields<MessageForm>,
) -> ActionResult {
    let read = Inbound::text(&actor, &normalize_lines(&form.text)).read_command();
    let begun = async {
        if let InboundReading::Command(command) = read.map_err(|it| command_problem(&it))? {
            return answer_without_session(&command, form.text.trim());
        }
        let agent = gateway.agent_or_default(form.agent.as_deref())?;
        if agent.models().is_empty() {
            // Before a session is made, which nobody could answer in.
            return Err(AgentError::NoModel.into());
        }
        // Unlike any before it, unless the message was sent before; and a number: the session goes
        // by its own.
        let now = || Moment::now().timestamp().as_microsecond().to_string();
        let name = form.delivery.map_or_else(now, |delivery| delivery.to_string());
        let session = agent.find_or_begin(&actor, &web_conversation(&actor, &name)).await?;
        let outcome = submit_text(agent, &actor, &session, &form).await?;
        Ok(ActionOutcome { moves: true, ..outcome })
    };
    let outcome = begun.await.map_err(|error: ApiProblem| sender.refuse(error))?;
    sender.answer(&gateway, &actor, outcome).await
}

/// What a command answers where no session has begun: none begins by it.
fn answer_without_session(command: &ChatCommand, typed: &str) -> ApiResult<ActionOutcome> {
    match command {
        ChatCommand::Help => {
            let answer = describe_reply(&CommandReply::Help);
            Ok(ActionOutcome { answer, ..ActionOutcome::default() })
        }
        ChatCommand::New(None) => Ok(ActionOutcome::default()),
        _ => {
            let name = typed.split_whitespace().next().unwrap_or(typed);
            let title = format!("`{name}` is about a session, and none has begun yet");
            let status = axum::http::StatusCode::BAD_REQUEST;
            Err(ApiProblem::new(status, "no_session_yet", title)
                .hint("say something first, or choose a session at the side"))
        }
    }
}

/// Sends a message, or performs a command.
pub(crate) async fn send_message(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PagePath(session): PagePath<SessionId>,
    sender: FormSender,
    PageFields(form): PageFields<MessageForm>,
) -> ActionResult {
    let found = gateway.find_session(&actor, session).await;
    let (agent, session) = found.map_err(|error| sender.refuse(error))?;
    if !form.only.is_empty() {
        let outcome = ActionOutcome { draft: Some(form.text), ..stay(session.id) };
        return sender.answer(&gateway, &actor, outcome).await;
    }
    let sent = match form.edits.is_empty() {
        true => submit_text(agent, &actor, &session, &form).await,
        false => submit_edited(agent, &actor, &session, &form).await,
    };
    match (sent, sender) {
        // A script keeps what was typed; a browser alone would have lost it with its page.
        (Err(problem), sender @ FormSender::Browser(_)) if *problem.code == *NOT_LAST => {
            let answer = Some(problem_block(&problem));
            let outcome = ActionOutcome { answer, draft: Some(form.text), ..stay(session.id) };
            let mut page = sender.answer(&gateway, &actor, outcome).await?;
            *page.status_mut() = problem.status();
            Ok(page)
        }
        (sent, sender) => {
            let outcome = sent.map_err(|problem| sender.refuse(problem))?;
            sender.answer(&gateway, &actor, outcome).await
        }
    }
}

/// The code of the problem that another message is the last one by now.
const NOT_LAST: &str = "not_last";

/// A message as the composer sends it. What would be sent is asked with the same one, so that both
/// are made for the same reasons: the mode counts as chosen where it is not the one that holds.
pub(crate) fn composed_message(
    agent: &Agent,
    actor: &Actor,
    session: &StoredSession,
    (text, mode): (&str, Option<ContextMode>),
) -> Inbound {
    let settings = SessionSettings::from_store(&session.settings);
    let usual = effective_mode(&settings, session_model(agent, session));
    inbound_message(actor, usual, (text, mode))
}

/// The same where this mode holds.
pub(crate) fn inbound_message(
    actor: &Actor,
    usual: Option<ContextMode>,
    (text, mode): (&str, Option<ContextMode>),
) -> Inbound {
    let mut inbound = Inbound::text(actor, &normalize_lines(text));
    inbound.settings.context_mode = mode.filter(|mode| Some(*mode) != usual);
    inbound
}

/// A message that is to stand in place of the last one, which this must be, as the composer sends
/// it.
pub(crate) async fn edited_message(
    agent: &Agent,
    actor: &Actor,
    session: &StoredSession,
    message: MessageId,
    (text, mode): (&str, Option<ContextMode>),
) -> ApiResult<Inbound> {
    let command = ChatCommand::Edit(Some(normalize_lines(text)));
    let mut inbound = resend(agent, actor, session.id, command).await?;
    if let Some(replaced) = &inbound.replaces {
        replaced.must_begin_with(message)?;
    }
    // The composer shows the mode that it is sent in.
    let composed = composed_message(agent, actor, session, (text, mode));
    inbound.settings.context_mode = composed.settings.context_mode;
    Ok(inbound)
}

/// Sends another message in place of the last one.
async fn submit_edited(
    agent: &Agent,
    actor: &Actor,
    session: &StoredSession,
    form: &MessageForm,
) -> Result<ActionOutcome, ApiProblem> {
    let delivery = form.surface_message(actor, session.id);
    if let Some(message) = &delivery {
        // Where it has arrived, it is itself the last one by now.
        if agent.find_submission(actor, message).await?.is_some() {
            return Ok(stay(session.id));
        }
    }
    // What is no number is no message's: none is the last.
    let message = form.edits.parse().map(MessageId).map_err(|_| AgentError::NotLast)?;
    let edited = edited_message(agent, actor, session, message, (&form.text, form.mode)).await?;
    agent.submit(session.id, Inbound { delivery, ..edited }).await?;
    Ok(stay(session.id))
}

/// Sends what was typed to the model, or has Recto do what it says.
async fn submit_text(
    agent: &Agent,
    actor: &Actor,
    session: &StoredSession,
    form: &MessageForm,
) -> Result<ActionOutcome, ApiProblem> {
    let inbound = composed_message(agent, actor, session, (&form.text, form.mode));
    match inbound.read_command().map_err(|problem| command_problem(&problem))? {
        InboundReading::Message(inbound) => {
            let delivery = form.surface_message(actor, session.id);
            agent.submit(session.id, Inbound { delivery, ..inbound }).await?;
            Ok(stay(session.id))
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

/// Performs a command in a session.
pub(super) async fn perform(
    agent: &Agent,
    actor: &Actor,
    session: &StoredSession,
    command: ChatCommand,
) -> Result<ActionOutcome, ApiProblem> {
    let conversation = web_conversation(actor, &session.label());
    let reply = agent.command(actor, &conversation, session.id, command).await?;
    follow_reply(agent, session, reply).await
}

/// Does what a command leads to, and says what came of it.
async fn follow_reply(
    agent: &Agent,
    session: &StoredSession,
    reply: CommandReply,
) -> Result<ActionOutcome, ApiProblem> {
    let here = ActionOutcome { session: Some(session.id), ..ActionOutcome::default() };
    Ok(match reply {
        CommandReply::Began(began) => {
            ActionOutcome { session: Some(began.began.id), moves: true, ..here }
        }
        CommandReply::Resend(inbound) => {
            agent.submit(session.id, *inbound).await?;
            here
        }
        CommandReply::Edit(message) => ActionOutcome { edited: Some(message), ..here },
        reply => ActionOutcome { answer: describe_reply(&reply), ..here },
    })
}

/// The turn whose Stop was pressed.
#[derive(Debug, Deserialize)]
pub(crate) struct StopForm {
    turn: TurnId,
}

/// Stops one turn of a session, wherever it runs, or takes it out of the queue. Those before and
/// behind it go on.
pub(crate) async fn stop_turn(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PagePath(session): PagePath<SessionId>,
    sender: FormSender,
    PageFields(form): PageFields<StopForm>,
) -> ActionResult {
    let stopped = async {
        let (agent, session) = gateway.find_session(&actor, session).await?;
        let owner = gateway.store().turn(form.turn).await?.and_then(|turn| turn.owner);
        let was_open = agent.stop_turn(&actor, session.id, form.turn).await?;
        if was_open && owner == Some(TurnOwner::Gone) {
            // Nobody has it any more, so it is closed here.
            agent.take_up(TakeUpScope::Session(session.id)).await?;
        }
        Ok::<_, ApiProblem>(stay(session.id))
    };
    let outcome = stopped.await.map_err(|problem| sender.refuse(problem))?;
    // That it stops shows by itself.
    sender.answer(&gateway, &actor, outcome).await
}

/// An answer to a question, as its buttons send it.
#[derive(Debug, Deserialize)]
pub(crate) struct AnswerForm {
    answer: ApprovalWord,
}

/// Answers a question whether a tool may run.
pub(crate) async fn answer_question(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PagePath(approval): PagePath<ApprovalId>,
    sender: FormSender,
    PageFields(form): PageFields<AnswerForm>,
) -> ActionResult {
    let answered = async {
        let reader = RecordReader::new(gateway.store(), &actor);
        let (asked, _) = reader.approval(approval).await?;
        let (agent, _) = gateway.find_session(&actor, asked.session).await?;
        let answered = agent.answer(&actor, approval, form.answer.into()).await?;
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

/// Stays with the session.
pub(super) fn stay(session: SessionId) -> ActionOutcome {
    ActionOutcome { session: Some(session), ..ActionOutcome::default() }
}
