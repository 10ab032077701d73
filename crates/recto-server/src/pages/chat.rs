//! The chat: sessions at the side, the conversation, and beside it what is in the session.
//!
//! All of it is read from the store and rendered here. Scripts fetch the same parts alone when
//! something has happened, so there is one way in which a turn is drawn. What people do is in
//! `chat/actions.rs`.

mod actions;
mod command_words;
mod composer;
mod question;
mod side_list;
mod talk_page;
mod turn_article;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use recto_agent::{
    Actor, Agent, EventCursor, EventNumber, Inbound, SessionSettings, shorten_words,
};
use recto_context::{ContextMode, MessageId};
use recto_store::{RowId, SessionId, StoreError, StoredSession, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::composer::{CompletionList, MessageComposer, preview_meter};
use self::side_list::{SideList, surface_words};
use self::talk_page::{TalkPage, TurnView};
use self::turn_article::{TurnAudience, state_name, turn_article};
use super::context::CONTEXT_SCRIPT;
use super::layout::{NavPage, PageChrome, PageFrame};
use super::page_problem::PageResult;
use super::session_panel::{SessionPanel, effective_mode};
use super::times;
use crate::access::{Caller, FormToken};
use crate::events;
use crate::gateway::Gateway;
use crate::host::HostRequest;
use crate::problem::ApiResult;

/// The routes of the chat.
pub(crate) fn routes() -> axum::Router<Gateway> {
    axum::Router::new()
        .route("/", get(show_newest))
        .route("/new", get(show_welcome))
        .route("/sessions", get(show_side_list).post(actions::begin_session))
        .route("/sessions/{session}", get(show_session))
        .route("/sessions/{session}/older", get(show_older))
        .route("/sessions/{session}/turns/{turn}", get(show_turn))
        .route("/sessions/{session}/panel", get(show_panel))
        .route("/sessions/{session}/pulse", get(tell_pulse))
        .route("/sessions/{session}/stream", get(follow_session))
        .route("/completions", get(list_completions))
        .route("/sessions/{session}/preview", post(preview_draft))
        .route("/sessions/{session}/messages", post(actions::send_message))
        .route("/sessions/{session}/stop", post(actions::stop_turn))
        .route("/sessions/{session}/items", post(actions::change_items))
        .route("/sessions/{session}/settings", post(actions::change_settings))
        .route("/sessions/{session}/rename", post(actions::rename_session))
        .route("/sessions/{session}/archive", post(actions::archive_session))
        .route("/approvals/{approval}", post(actions::answer_question))
}

/// The session in which something was last said, or a welcome where there is none.
async fn show_newest(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    form: FormToken,
) -> PageResult<Response> {
    let side = SideList::load(&gateway, &actor).await?;
    match side.newest() {
        Some(session) => {
            let nothing = String::new();
            let page = ChatPage::load(&gateway, &actor, &form, session).await?;
            Ok(page.render(&side, &nothing, &html! {}).into_response())
        }
        None => Ok(welcome(&gateway, &actor, &form, &side).await?.into_response()),
    }
}

/// An empty session, which begins with its first message.
async fn show_welcome(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    form: FormToken,
) -> PageResult<Markup> {
    let side = SideList::load(&gateway, &actor).await?;
    welcome(&gateway, &actor, &form, &side).await
}

async fn welcome(
    gateway: &Gateway,
    actor: &Actor,
    form: &FormToken,
    side: &SideList,
) -> PageResult<Markup> {
    let agent = gateway.default_agent()?;
    let chrome = PageChrome::load(gateway, actor, form, agent.name()).await?;
    let frame = PageFrame {
        title: "New session",
        page: NavPage::Chat,
        body_class: "chat alone",
        scripts: &["chat.js", CONTEXT_SCRIPT],
    };
    let lead = agent_choice(gateway);
    let mode = effective_mode(&SessionSettings::default(), agent.models().first());
    let composer = MessageComposer { action: "/sessions", draft: "", mode, lead: &lead };
    let body = html! {
        (side.render(&chrome, None))
        main.talk #main {
            header {
                button.btn.plain.narrow type="button" popovertarget="sessions" { "Sessions" }
                h1.cut { "New session" }
            }
            div.scroll { div.turns { div #answers role="status" {} (welcome_words(agent)) } }
            (composer.render(&chrome))
        }
    };
    Ok(chrome.render(frame, &body))
}

fn welcome_words(agent: &Agent) -> Markup {
    html! {
        div.empty.welcome {
            h2 { "Talk to " (agent.name()) }
            @match agent.models().first() {
                Some(model) => p {
                    b { (model.name) } " answers. Under every reply stands "
                    b { "View context" } ": all that the model saw, and why."
                },
                None => p {
                    "No model answers yet. " a href="/models" { "Models" } " shows what is there."
                },
            }
        }
    }
}

/// The agent that a new session is with, where there are several.
fn agent_choice(gateway: &Gateway) -> Markup {
    if gateway.agents().len() < 2 {
        return html! {};
    }
    html! {
        label.agents { "Agent "
            select name="agent" {
                @for agent in gateway.agents() { option value=(agent.name()) { (agent.name()) } }
            }
        }
    }
}

/// A session with what was last said in it.
async fn show_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    form: FormToken,
    Path(session): Path<SessionId>,
) -> PageResult<Markup> {
    let side = SideList::load(&gateway, &actor).await?;
    let page = ChatPage::load(&gateway, &actor, &form, session).await?;
    let nothing = String::new();
    Ok(page.render(&side, &nothing, &html! {}))
}

/// All that a page of the chat shows of one session.
struct ChatPage<'a> {
    actor: &'a Actor,
    agent: &'a Agent,
    session: StoredSession,
    title: String,
    chrome: PageChrome,
    talk: TalkPage,
    catalog: std::sync::Arc<recto_context::Catalog>,
    /// The settings that hold, each with where it comes from.
    effective: Value,
}

impl<'a> ChatPage<'a> {
    async fn load(
        gateway: &'a Gateway,
        actor: &'a Actor,
        form: &FormToken,
        session: SessionId,
    ) -> PageResult<ChatPage<'a>> {
        let (agent, session) = gateway.find_session(actor, session).await?;
        let chrome = PageChrome::load(gateway, actor, form, agent.name()).await?;
        let talk = TalkPage::load_newest(gateway.store(), &session).await?;
        let catalog = agent.catalog().await;
        let title = session_title(gateway, &session).await?;
        let asked = Box::new(session.clone());
        let effective = gateway
            .host()
            .ask(|answer| HostRequest::SessionSettings { session: asked, answer })
            .await;
        let effective = effective.unwrap_or_default();
        Ok(ChatPage { actor, agent, session, title, chrome, talk, catalog, effective })
    }

    fn panel(&self) -> SessionPanel<'_> {
        SessionPanel {
            session: &self.session,
            agent: self.agent,
            catalog: &self.catalog,
            items: &self.talk.items,
            effective: &self.effective,
        }
    }

    /// The page, with a draft in its composer and what a command has answered.
    fn render(&self, side: &SideList, draft: &str, answer: &Markup) -> Markup {
        let frame = PageFrame {
            title: &self.title,
            page: NavPage::Chat,
            body_class: "chat",
            scripts: &["chat.js", CONTEXT_SCRIPT],
        };
        let settings = SessionSettings::from_store(&self.session.settings);
        let model = settings.model.as_deref().and_then(|name| self.agent.model(name).ok());
        let model = model.or(self.agent.models().first());
        let action = format!("/sessions/{}/messages", self.session.id);
        let mode = effective_mode(&settings, model);
        let composer = MessageComposer { action: &action, draft, mode, lead: &html! {} };
        let body = html! {
            (side.render(&self.chrome, Some(self.session.id)))
            main.talk #main data-session=(self.session.id) {
                (self.heading())
                div.scroll #scroll tabindex="-1" {
                    div.turns #turns {
                        (older_link(&self.session, &self.talk))
                        (turn_articles(&self.talk, TurnAudience { chrome: &self.chrome, actor: self.actor }))
                        div #answers role="status" { (answer) }
                    }
                    // Replies for those who listen to the page.
                    div.vh #spoken role="status" {}
                }
                (composer.render(&self.chrome))
            }
            (self.panel().render(&self.chrome))
        };
        self.chrome.render(frame, &body)
    }

    fn heading(&self) -> Markup {
        let begun = times::local(self.session.created).strftime("%-d %B").to_string();
        let turns = self.talk.turn_count;
        html! {
            header {
                button.btn.plain.narrow type="button" popovertarget="sessions" { "Sessions" }
                h1.cut { (self.title) }
                span.q.grow.wide {
                    (surface_words(&self.session.surface)) " · begun " (begun) " · " (turns)
                    @if turns == 1 { " turn" } @else { " turns" }
                    @if self.session.archived.is_some() { " · archived" }
                }
                button.btn.plain.narrow.p type="button" popovertarget="in-session" {
                    "In this session"
                }
            }
        }
    }
}

/// What a session is called: by its name, or by what was first said in it.
async fn session_title(gateway: &Gateway, session: &StoredSession) -> PageResult<String> {
    if let Some(name) = &session.name {
        return Ok(name.to_string());
    }
    let first = gateway.store().messages_within(session.id, MessageId(0)..=MessageId(1)).await?;
    let opening = first.first().map(|stored| shorten_words(stored.message.content()));
    let opening = opening.filter(|opening| !opening.is_empty());
    Ok(opening.unwrap_or_else(|| format!("Session {}", session.id)))
}

fn older_link(session: &StoredSession, talk: &TalkPage) -> Markup {
    html! {
        @if let Some(MessageId(before)) = talk.older {
            p.older {
                a.btn href={ "/sessions/" (session.id) "/older?before=" (before) } { "Earlier messages" }
            }
        }
    }
}

fn turn_articles(talk: &TalkPage, audience: TurnAudience<'_>) -> Markup {
    html! { @for view in &talk.turns { (turn_article(view, audience)) } }
}

/// Where a stretch of messages ends.
#[derive(Debug, Deserialize)]
struct OlderQuery {
    before: u64,
    /// Whether the messages are wanted without the page around them.
    #[serde(default)]
    fragment: u8,
}

/// The messages before one of a session: as a page of their own, or as a part of the chat.
async fn show_older(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    form: FormToken,
    Path(session): Path<SessionId>,
    Query(query): Query<OlderQuery>,
) -> PageResult<Markup> {
    let (agent, session) = gateway.find_session(&actor, session).await?;
    let chrome = PageChrome::load(&gateway, &actor, &form, agent.name()).await?;
    let before = MessageId(query.before);
    let talk = TalkPage::load_before(gateway.store(), &session, before).await?;
    let audience = TurnAudience { chrome: &chrome, actor: &actor };
    let stretch = html! { (older_link(&session, &talk)) (turn_articles(&talk, audience)) };
    if query.fragment == 1 {
        return Ok(stretch);
    }
    let title = session_title(&gateway, &session).await?;
    let frame = PageFrame { title: &title, page: NavPage::Chat, body_class: "", scripts: &[] };
    let body = html! {
        main.page #main {
            h1 { (title) }
            div.turns { (stretch) }
            p { a.btn href={ "/sessions/" (session.id) } { "Newest messages" } }
        }
    };
    Ok(chrome.render(frame, &body))
}

/// The sessions at the side, alone.
async fn show_side_list(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    form: FormToken,
    Query(query): Query<SideQuery>,
) -> PageResult<Markup> {
    let agent = gateway.default_agent()?.name();
    let chrome = PageChrome::load(&gateway, &actor, &form, agent).await?;
    Ok(SideList::load(&gateway, &actor).await?.render(&chrome, query.current))
}

/// The session that the list is shown beside.
#[derive(Debug, Deserialize)]
struct SideQuery {
    current: Option<SessionId>,
}

/// One turn of a session, alone.
async fn show_turn(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    form: FormToken,
    Path((session, turn)): Path<(SessionId, TurnId)>,
) -> PageResult<Markup> {
    let (agent, session) = gateway.find_session(&actor, session).await?;
    let chrome = PageChrome::load(&gateway, &actor, &form, agent.name()).await?;
    let found = gateway.store().turn(turn).await?.filter(|found| found.session == session.id);
    let found = found.ok_or(StoreError::NotFound(RowId::Turn(turn)))?;
    let view = TurnView::load_turn(gateway.store(), found).await?;
    Ok(turn_article(&view, TurnAudience { chrome: &chrome, actor: &actor }))
}

/// The panel of a session, alone.
async fn show_panel(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    form: FormToken,
    Path(session): Path<SessionId>,
) -> PageResult<Markup> {
    let page = ChatPage::load(&gateway, &actor, &form, session).await?;
    Ok(page.panel().render(&page.chrome))
}

/// What tells a page whether it is up to date.
#[derive(Debug, Serialize)]
struct SessionPulse {
    /// The newest turns, with how they stand.
    turns: Vec<(TurnId, &'static str)>,
}

/// Tells how the newest turns stand, also those of other processes: for a page that has heard of a
/// change, or comes back.
async fn tell_pulse(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(session): Path<SessionId>,
) -> ApiResult<Json<SessionPulse>> {
    let (_, session) = gateway.find_session(&actor, session).await?;
    let store = gateway.store();
    let mut turns = Vec::new();
    let mut newest: Vec<_> = store.open_turns().await?.turns;
    newest.retain(|turn| turn.session == session.id);
    let last = store.last_turn(Some(session.id)).await?;
    newest.extend(last.filter(|last| newest.iter().all(|turn| turn.id != last.id)));
    for turn in newest {
        let view = TurnView::load_state(store, turn).await?;
        turns.extend(view.id().map(|id| (id, state_name(&view))));
    }
    Ok(Json(SessionPulse { turns }))
}

/// The place at which a page that has just been made begins to listen.
#[derive(Debug, Deserialize)]
struct StreamQuery {
    #[serde(default)]
    after: u64,
}

/// Follows a session, from where the browser was, or else with all that is kept of the turn that
/// runs: a page that was opened in the middle of a reply shows all of it.
async fn follow_session(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(session): Path<SessionId>,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
) -> ApiResult<impl IntoResponse> {
    let (agent, _) = gateway.find_session(&actor, session).await?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let cursor = match last {
        Some(last) => events::cursor_after(Some(last)),
        None => EventCursor::After(EventNumber(query.after)),
    };
    let listener = agent.listen(&actor, session, cursor).await?;
    Ok(events::stream_events(listener, gateway.metrics().open_stream()))
}

/// The session in which a message is written; a new one has none yet.
#[derive(Debug, Deserialize)]
struct CompletionQuery {
    session: Option<SessionId>,
}

/// What can be named in a message.
async fn list_completions(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Query(query): Query<CompletionQuery>,
) -> ApiResult<Json<CompletionList>> {
    let agent = match query.session {
        Some(session) => gateway.find_session(&actor, session).await?.0,
        None => gateway.default_agent()?,
    };
    Ok(Json(CompletionList::new(&*agent.catalog().await)))
}

/// A text that is being typed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DraftJson {
    text: String,
    mode: Option<ContextMode>,
}

/// What would be sent for the text that is being typed.
async fn preview_draft(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    Path(session): Path<SessionId>,
    Json(draft): Json<DraftJson>,
) -> ApiResult<Markup> {
    let (agent, _) = gateway.find_session(&actor, session).await?;
    let mut inbound = Inbound::text(&actor, &draft.text);
    inbound.settings.context_mode = draft.mode;
    let preview = agent.preview(session, inbound).await?;
    Ok(preview_meter(&preview))
}

/// The address of a session.
fn session_address(session: SessionId) -> Redirect {
    Redirect::to(&format!("/sessions/{session}"))
}
