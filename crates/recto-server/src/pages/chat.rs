//! The chat: sessions at the side, the conversation, and beside it what is in the session.
//!
//! All of it is read from the store and rendered here. Scripts fetch the same parts alone when
//! something has happened, so there is one way in which a turn is drawn. What people do is in
//! `chat/actions.rs`.

mod actions;
mod archive;
mod call_line;
mod command_words;
mod composer;
mod key_list;
mod live;
mod question;
mod session_forms;
mod side_list;
mod talk_obstacle;
mod talk_page;
mod turn_article;
mod welcome;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use recto_agent::{
    Actor, Agent, GuestStanding, Inbound, InboundReading, ItemTokenCounts, ModelEntry,
    RequestPreview, Right, SessionSettings, is_allowed, shorten_words,
};
use recto_context::{ContextMode, MessageId, grouped_digits};
use recto_store::{RowId, SessionId, Store, StoreError, StoreResult, StoredSession, TurnId};
use serde::Deserialize;
use serde_json::Value;

use self::actions::{composed_message, edited_message, inbound_message};
use self::composer::{CompletionList, ComposerDraft, MessageComposer, preview_meter};
use self::key_list::key_list;
use self::side_list::{SideList, surface_words};
use self::talk_obstacle::TalkObstacle;
use self::talk_page::{TalkPage, TurnView};
use self::turn_article::{TurnAudience, turn_article};
use self::welcome::NewSessionPage;
use super::context::{CONTEXT_SCRIPT, draft_context};
use super::layout::{NavPage, PageChrome, PageFrame, PageVisitor};
use super::page_problem::PageResult;
use super::session_panel::{SessionPanel, effective_mode};
use super::times;
use super::visible_text::show_controls;
use crate::access::Caller;
use crate::extract::{ApiJson, PagePath, PageQuery};
use crate::gateway::{Gateway, web_conversation};
use crate::host::HostRequest;
use crate::problem::{ApiProblem, ApiResult};

/// The routes of the chat.
pub(crate) fn routes() -> axum::Router<Gateway> {
    axum::Router::new()
        .route("/", get(show_newest))
        .route("/new", get(show_welcome))
        .route("/sessions", get(show_side_list).post(actions::begin_session))
        .route("/sessions/{session}", get(show_session))
        .route("/sessions/{session}/older", get(show_older))
        .route("/sessions/{session}/turns/{turn}", get(show_turn))
        .route("/sessions/{session}/exchanges/{message}", get(show_exchange))
        .route("/sessions/{session}/panel", get(show_panel))
        .route("/sessions/{session}/states", get(live::list_turn_states))
        .route("/stream", get(live::follow_page))
        .route("/drawn", post(live::draw_reply))
        .route("/completions", get(list_completions))
        .route("/sessions/{session}/preview", post(preview_draft))
        .route("/preview", post(preview_first_draft))
        .route("/sessions/{session}/messages", post(actions::send_message))
        .route("/sessions/{session}/stop", post(actions::stop_turn))
        .route("/sessions/{session}/items", post(session_forms::change_items))
        .route("/sessions/{session}/settings", post(session_forms::change_settings))
        .route("/sessions/{session}/rename", post(session_forms::rename_session))
        .route("/sessions/{session}/archive", post(session_forms::archive_session))
        .route("/sessions/{session}/unarchive", post(session_forms::unarchive_session))
        .route("/archive", get(archive::show_archive))
        .route("/all-sessions", get(archive::show_all))
        .route("/approvals/{approval}", post(actions::answer_question))
}

/// The session in which something was last said, or a welcome where there is none.
async fn show_newest(State(gateway): State<Gateway>, visitor: PageVisitor) -> PageResult<Response> {
    let side = SideList::load(&gateway, &visitor.actor).await?;
    match side.newest() {
        Some(session) => {
            let page = ChatPage::load(&gateway, &visitor, session).await?;
            Ok(page.render(&side, &ComposerDraft::Empty, &html! {}).into_response())
        }
        None => {
            let page = NewSessionPage::default().render(&gateway, &visitor, &side).await?;
            Ok(page.into_response())
        }
    }
}

/// An empty session, which begins with its first message.
async fn show_welcome(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PageQuery(query): PageQuery<WelcomeQuery>,
) -> PageResult<Markup> {
    let side = SideList::load(&gateway, &visitor.actor).await?;
    let page = NewSessionPage { agent: query.agent, ..NewSessionPage::default() };
    page.render(&gateway, &visitor, &side).await
}

/// The agent that a session is to be with.
#[derive(Debug, Deserialize)]
struct WelcomeQuery {
    agent: Option<String>,
}

/// A session with what was last said in it.
async fn show_session(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PagePath(session): PagePath<SessionId>,
    PageQuery(query): PageQuery<SessionQuery>,
) -> PageResult<Response> {
    let side = SideList::load(&gateway, &visitor.actor).await?;
    let page = ChatPage::load(&gateway, &visitor, session).await?;
    if let Some(turn) = query.around {
        return Ok(page.lead_to(turn).await?.into_response());
    }
    Ok(page.render(&side, &ComposerDraft::Empty, &html! {}).into_response())
}

/// The turn that somebody comes to see.
#[derive(Debug, Deserialize)]
struct SessionQuery {
    around: Option<TurnId>,
}

/// All that a page of the chat shows of one session.
struct ChatPage<'a> {
    gateway: &'a Gateway,
    actor: &'a Actor,
    agent: &'a Agent,
    session: StoredSession,
    title: String,
    chrome: PageChrome,
    talk: TalkPage,
    /// How long it is, in words.
    length: String,
    catalog: std::sync::Arc<recto_context::Catalog>,
    /// The settings that hold, each with where it comes from.
    effective: Value,
    counts: ItemTokenCounts,
    /// Why nothing can be said in it from here, where that is so.
    obstacle: Option<TalkObstacle>,
}

impl<'a> ChatPage<'a> {
    async fn load(
        gateway: &'a Gateway,
        visitor: &'a PageVisitor,
        session: SessionId,
    ) -> PageResult<ChatPage<'a>> {
        let actor = &visitor.actor;
        let (agent, session) = gateway.find_session(actor, session).await?;
        let chrome = PageChrome::load(gateway, visitor, agent.name()).await?;
        let talk = TalkPage::load_newest(gateway.store(), &session).await?;
        let length = session_length(gateway.store(), session.id, talk.turn_count).await?;
        let catalog = agent.catalog().await;
        let title = session_title(gateway, &session).await?;
        let asked = Box::new(session.clone());
        let effective = gateway
            .host()
            .ask(|answer| HostRequest::SessionSettings { session: asked, answer })
            .await;
        let effective = effective.unwrap_or_default();
        let obstacle = TalkObstacle::find(actor, agent, &session);
        let counts = match session_model(agent, &session) {
            Some(model) => agent.item_counts(model, &catalog).await?,
            None => ItemTokenCounts::default(),
        };
        Ok(ChatPage {
            gateway,
            actor,
            agent,
            session,
            title,
            chrome,
            talk,
            length,
            catalog,
            effective,
            counts,
            obstacle,
        })
    }

    /// Where a turn of the session stands: among the newest ones, or with those around it.
    async fn lead_to(&self, turn: TurnId) -> PageResult<Redirect> {
        let id = self.session.id;
        let is_here = self.talk.turns.iter().any(|view| view.id() == Some(turn));
        let found = self.gateway.store().turn(turn).await?.filter(|found| found.session == id);
        let first = found.and_then(|found| found.first_message).filter(|_| !is_here);
        Ok(Redirect::to(&match first {
            Some(first) => {
                let before = TalkPage::end_around(first);
                format!("/sessions/{id}/older?before={before}#turn-{turn}")
            }
            None => format!("/sessions/{id}#turn-{turn}"),
        }))
    }

    fn audience(&self) -> TurnAudience<'_> {
        let may_talk = self.obstacle.is_none();
        TurnAudience { chrome: &self.chrome, actor: self.actor, may_talk }
    }

    /// The mode that holds where a message says none.
    fn usual_mode(&self) -> Option<ContextMode> {
        let settings = SessionSettings::from_store(&self.session.settings);
        effective_mode(&settings, session_model(self.agent, &self.session))
    }

    fn panel(&self) -> SessionPanel<'_> {
        SessionPanel {
            session: &self.session,
            agent: self.agent,
            catalog: &self.catalog,
            items: &self.talk.items,
            effective: &self.effective,
            counter: self.counts.counter(),
            role: self.actor.role,
            mode: self.usual_mode(),
            is_elsewhere: !self.agent.works_in_folder_of(&self.session),
        }
    }

    /// The page, with a draft in its composer and what a command has answered.
    fn render(&self, side: &SideList, draft: &ComposerDraft, answer: &Markup) -> Markup {
        let frame = PageFrame {
            title: &self.title,
            page: Some(NavPage::Chat),
            body_class: "chat",
            scripts: &["chat.js", CONTEXT_SCRIPT],
        };
        let action = format!("/sessions/{}/messages", self.session.id);
        let mode = self.usual_mode();
        let lead = self.reader_line();
        let is_choice = self.gateway.agents().len() > 1;
        let composer = MessageComposer { action: &action, draft, mode, lead: &lead };
        let body = html! {
            (side.render(&self.chrome, Some(self.session.id)))
            main.talk #main data-session=(self.session.id)
                data-agent=[is_choice.then_some(self.agent.name())] {
                (self.heading())
                div.scroll #scroll tabindex="-1" {
                    div.turns #turns {
                        (older_link(&self.session, &self.talk))
                        @if self.talk.turns.is_empty() && self.talk.older.is_none() {
                            p.empty.welcome { "Nothing has been said in this session yet." }
                        }
                        (turn_articles(&self.talk, self.audience()))
                        div #answers role="status" { (answer) }
                    }
                    // Replies for those who listen to the page.
                    div.vh #spoken role="status" {}
                }
                (self.archive_line())
                @match &self.obstacle {
                    Some(obstacle) => (obstacle.render(self.gateway)),
                    None => (composer.render(&self.chrome)),
                }
            }
            (self.panel().render(&self.chrome))
            (key_list())
        };
        self.chrome.render(frame, &body)
    }

    fn heading(&self) -> Markup {
        html! {
            header {
                button.btn.plain.narrow type="button" popovertarget="sessions" { "Sessions" }
                (title_heading(&self.title))
                @if let Some(guest) = self.chrome.guest_of(&self.session) {
                    span.wait.with { "with " (guest) }
                }
                (session_facts(&self.session, &self.length))
                button.btn.plain.narrow.p type="button" popovertarget="in-session" {
                    "In this session"
                }
            }
        }
    }
}

impl ChatPage<'_> {
    /// Says of a session in the archive that it is there, with the way out.
    fn archive_line(&self) -> Markup {
        if self.session.archived.is_none() {
            return html! {};
        }
        let action = format!("/sessions/{}/unarchive", self.session.id);
        let button = html! { button.btn { "Take it out again" } };
        html! {
            div.put-away role="status" {
                p.q {
                    "This session is in the archive."
                    @if self.obstacle.is_none() { " What is said here takes it out." }
                }
                @if self.chrome.may(Right::BeginSession) {
                    (self.chrome.post_form(&action, "", &button))
                }
            }
        }
    }

    /// Who else reads what the owner writes here.
    fn reader_line(&self) -> Markup {
        let Some(guest) = self.chrome.guest_of(&self.session) else { return html! {} };
        html! {
            p.q.reader {
                @match guest.standing {
                    GuestStanding::LetIn => { (guest) " reads along: what you say here is said to both." },
                    GuestStanding::Revoked => { "This is the session of " (guest) "." },
                }
            }
        }
    }
}

fn title_heading(title: &str) -> Markup {
    html! { h1.cut #session-title title=(title) { (title) } }
}

/// Where a session is held, since when, and how long it is.
fn session_facts(session: &StoredSession, length: &str) -> Markup {
    let begun = times::local(session.created).strftime("%-d %B").to_string();
    html! {
        span.q.grow.wide #session-facts {
            (surface_words(&session.surface)) " · begun " (begun) " · " (length)
            @if session.archived.is_some() { " · archived" }
        }
    }
}

/// How many turns a session has had; of one that was imported, which has had none here, how many
/// messages.
fn length_words(turns: u64, messages: u64) -> String {
    match (turns, messages) {
        (1, _) => "1 turn".to_owned(),
        (0, 1) => "1 message".to_owned(),
        (0, 2..) => format!("{} messages", grouped_digits(messages)),
        _ => format!("{} turns", grouped_digits(turns)),
    }
}

async fn session_length(store: &Store, session: SessionId, turns: u32) -> StoreResult<String> {
    let messages = match turns {
        0 => store.session_summary(session).await?.messages,
        // Nobody is told of them.
        _ => 0,
    };
    Ok(length_words(turns.into(), messages))
}

/// The model that answers in a session.
pub(crate) fn session_model<'a>(
    agent: &'a Agent,
    session: &StoredSession,
) -> Option<&'a ModelEntry> {
    let settings = SessionSettings::from_store(&session.settings);
    let own = settings.model.as_deref().and_then(|name| agent.model(name).ok());
    own.or(agent.models().first())
}

/// What a session is called: by its name, or by what was first said in it.
pub(crate) async fn session_title(
    gateway: &Gateway,
    session: &StoredSession,
) -> PageResult<String> {
    if let Some(name) = &session.name {
        return Ok(show_controls(name.as_str()));
    }
    let first = gateway.store().messages_within(session.id, MessageId(0)..=MessageId(1)).await?;
    let opening = first.first().map(|stored| shorten_words(stored.message.content()));
    let opening = opening.filter(|opening| !opening.is_empty());
    let opening = opening.map(|opening| show_controls(&opening));
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
    visitor: PageVisitor,
    PagePath(session): PagePath<SessionId>,
    PageQuery(query): PageQuery<OlderQuery>,
) -> PageResult<Markup> {
    let (agent, session) = gateway.find_session(&visitor.actor, session).await?;
    let chrome = PageChrome::load(&gateway, &visitor, agent.name()).await?;
    let before = MessageId(query.before);
    let talk = TalkPage::load_before(gateway.store(), &session, before).await?;
    let may_talk = TalkObstacle::find(&visitor.actor, agent, &session).is_none();
    let audience = TurnAudience { chrome: &chrome, actor: &visitor.actor, may_talk };
    let stretch = html! { (older_link(&session, &talk)) (turn_articles(&talk, audience)) };
    if query.fragment == 1 {
        return Ok(stretch);
    }
    let title = session_title(&gateway, &session).await?;
    let frame =
        PageFrame { title: &title, page: Some(NavPage::Chat), body_class: "", scripts: &[] };
    let body = html! {
        main.page #main {
            h1 { (title) }
            div.turns { (stretch) }
            p.acts {
                @if let Some(later) = talk.later {
                    a.btn href={ "/sessions/" (session.id) "/older?before=" (later) } { "Later messages" }
                }
                a.btn href={ "/sessions/" (session.id) } { "Newest messages" }
            }
        }
    };
    Ok(chrome.render(frame, &body))
}

/// What changes around a conversation when something happens anywhere: the sessions at the side, the
/// top line's ways with what waits, and the facts of the session that is shown.
async fn show_side_list(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PageQuery(query): PageQuery<SideQuery>,
    headers: HeaderMap,
) -> PageResult<Response> {
    if headers.get("sec-fetch-dest").is_some_and(|dest| dest == "document") {
        // Somebody who typed it wants to see the sessions, not the part of a page that has them.
        return Ok(Redirect::to("/all-sessions").into_response());
    }
    let side = SideList::load(&gateway, &visitor.actor).await?;
    let shown = query.current.and_then(|session| side.find(session));
    let agent = shown.map(|summary| &*summary.session.agent).or(query.agent.as_deref());
    let agent = gateway.agent_or_default(agent)?.name();
    let chrome = PageChrome::load(&gateway, &visitor, agent).await?;
    let parts = html! {
        (side.render(&chrome, query.current))
        (chrome.page_links(Some(NavPage::Chat)))
        @if let Some(summary) = shown {
            (title_heading(&side_list::title(summary)))
            (session_facts(&summary.session, &length_words(summary.turns, summary.messages)))
        }
    };
    Ok(parts.into_response())
}

/// The session that the list is shown beside, or the agent of one that is to begin.
#[derive(Debug, Deserialize)]
struct SideQuery {
    current: Option<SessionId>,
    agent: Option<String>,
}

/// One turn of a session, alone.
async fn show_turn(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PagePath((session, turn)): PagePath<(SessionId, TurnId)>,
) -> PageResult<Markup> {
    let (agent, session) = gateway.find_session(&visitor.actor, session).await?;
    let chrome = PageChrome::load(&gateway, &visitor, agent.name()).await?;
    let found = gateway.store().turn(turn).await?.filter(|found| found.session == session.id);
    let found = found.ok_or(StoreError::NotFound(RowId::Turn(turn)))?;
    let view = TurnView::load_turn(gateway.store(), found).await?;
    let may_talk = TalkObstacle::find(&visitor.actor, agent, &session).is_none();
    Ok(turn_article(&view, TurnAudience { chrome: &chrome, actor: &visitor.actor, may_talk }))
}

/// What was put into a session from elsewhere, alone.
async fn show_exchange(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PagePath((session, message)): PagePath<(SessionId, u64)>,
) -> PageResult<Markup> {
    let (agent, session) = gateway.find_session(&visitor.actor, session).await?;
    let chrome = PageChrome::load(&gateway, &visitor, agent.name()).await?;
    let found = TurnView::load_exchange(gateway.store(), &session, MessageId(message)).await?;
    let view = found.ok_or_else(|| {
        let title = format!("no exchange of session {} begins with message {message}", session.id);
        ApiProblem::new(StatusCode::NOT_FOUND, "no_such_exchange", title)
    })?;
    let may_talk = TalkObstacle::find(&visitor.actor, agent, &session).is_none();
    Ok(turn_article(&view, TurnAudience { chrome: &chrome, actor: &visitor.actor, may_talk }))
}

/// The panel of a session, alone.
async fn show_panel(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PagePath(session): PagePath<SessionId>,
) -> PageResult<Markup> {
    let page = ChatPage::load(&gateway, &visitor, session).await?;
    Ok(page.panel().render(&page.chrome))
}

/// The session in which a message is written; a new one has none yet, but an agent.
#[derive(Debug, Deserialize)]
struct CompletionQuery {
    session: Option<SessionId>,
    agent: Option<String>,
}

/// What can be named in a message.
async fn list_completions(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PageQuery(query): PageQuery<CompletionQuery>,
) -> ApiResult<Json<CompletionList>> {
    let agent = match query.session {
        Some(session) => gateway.find_session(&actor, session).await?.0,
        None => gateway.agent_or_default(query.agent.as_deref())?,
    };
    Ok(Json(match is_allowed(actor.role, Right::SeeWorkspace) {
        true => CompletionList::new(&*agent.catalog().await),
        false => CompletionList::commands_alone(),
    }))
}

/// A text that is being typed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DraftJson {
    text: String,
    mode: Option<ContextMode>,
    /// The agent that a new session is with.
    agent: Option<String>,
    /// The message that it is to be sent in place of, as its number; empty where it is a new one.
    #[serde(default)]
    edits: String,
    /// How much is shown of what would be sent.
    #[serde(default)]
    shows: DraftExtent,
}

/// How much is shown of what would be sent for a draft.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DraftExtent {
    /// A bar and a line, under the composer.
    #[default]
    Meter,
    /// Everything, as *View context* does.
    Page,
}

impl DraftExtent {
    fn render(
        self,
        gateway: &Gateway,
        actor: &Actor,
        agent: &Agent,
        seen: RequestPreview,
    ) -> Markup {
        match self {
            DraftExtent::Meter => preview_meter(&seen),
            DraftExtent::Page => draft_context(gateway, actor, agent.name(), seen),
        }
    }
}

/// What would be sent for the first message of a session. None begins by it.
async fn preview_first_draft(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    ApiJson(draft): ApiJson<DraftJson>,
) -> ApiResult<Markup> {
    let agent = gateway.agent_or_default(draft.agent.as_deref())?;
    let usual = effective_mode(&SessionSettings::default(), agent.models().first());
    let inbound = inbound_message(&actor, usual, (&draft.text, draft.mode));
    let Some(inbound) = meant_for_model(inbound) else { return Ok(html! {}) };
    // As one that will begin is named.
    let conversation = web_conversation(&actor, "new");
    let preview = agent.preview_first(&conversation, inbound).await?;
    Ok(draft.shows.render(&gateway, &actor, agent, preview))
}

/// What would be sent for the text that is being typed.
async fn preview_draft(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PagePath(session): PagePath<SessionId>,
    ApiJson(draft): ApiJson<DraftJson>,
) -> ApiResult<Markup> {
    let (agent, session) = gateway.find_session(&actor, session).await?;
    let typed = (draft.text.as_str(), draft.mode);
    let inbound = match draft.edits.parse().map(MessageId) {
        Ok(message) => Some(edited_message(agent, &actor, &session, message, typed).await?),
        Err(_) => meant_for_model(composed_message(agent, &actor, &session, typed)),
    };
    let Some(inbound) = inbound else { return Ok(html! {}) };
    let preview = agent.preview(session.id, inbound).await?;
    Ok(draft.shows.render(&gateway, &actor, agent, preview))
}

/// A message as it would be sent; nothing of a command, nor of one that is half typed.
fn meant_for_model(inbound: Inbound) -> Option<Inbound> {
    match inbound.read_command() {
        Ok(InboundReading::Message(inbound)) => Some(inbound),
        Ok(InboundReading::Command(_)) | Err(_) => None,
    }
}
