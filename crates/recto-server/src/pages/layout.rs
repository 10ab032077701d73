//! The frame of every page: head, top line, icons and patterns.
//!
//! Pages give their title and their body; what stands around them is the same everywhere.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use form_urlencoded::Serializer;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use recto_agent::{
    Actor, ActorRole, GuestBook, RecordReader, Right, SessionGuest, TokenHolder, TokenRights,
    is_allowed,
};
use recto_store::{SessionId, StoredSession, TurnId};

use crate::access::{Caller, CallerCredential, FormToken};
use crate::assets::asset_path;
use crate::gateway::Gateway;
use crate::problem::{ApiProblem, ApiResult};

/// The pages that the top line leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavPage {
    /// Sessions and conversations; *View context* of a turn belongs to it, too.
    Chat,
    /// Items of the workspace.
    Workspace,
    /// What the agent remembers.
    Memories,
    /// Models, and the state of the setup.
    Models,
}

impl NavPage {
    const ALL: [NavPage; 4] =
        [NavPage::Chat, NavPage::Workspace, NavPage::Memories, NavPage::Models];

    fn path(self) -> &'static str {
        match self {
            NavPage::Chat => "/",
            NavPage::Workspace => "/workspace",
            NavPage::Memories => "/memories",
            NavPage::Models => "/models",
        }
    }

    /// Whether it is for somebody of this role.
    fn is_for(self, role: ActorRole) -> bool {
        self == NavPage::Chat || is_allowed(role, Right::SeeWorkspace)
    }

    fn label(self) -> &'static str {
        match self {
            NavPage::Chat => "Chat",
            NavPage::Workspace => "Items",
            NavPage::Memories => "Memories",
            NavPage::Models => "Models",
        }
    }
}

/// Whoever looks at a page, with how they are known and what the forms of their pages carry.
#[derive(Debug, Clone)]
pub(crate) struct PageVisitor {
    pub(crate) actor: Actor,
    credential: CallerCredential,
    form: FormToken,
}

impl FromRequestParts<Gateway> for PageVisitor {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> ApiResult<Self> {
        let Caller(actor) = Caller::from_request_parts(parts, gateway).await?;
        let Ok(credential) = CallerCredential::from_request_parts(parts, gateway).await;
        let Ok(form) = FormToken::from_request_parts(parts, gateway).await;
        Ok(PageVisitor { actor, credential, form })
    }
}

/// Somebody who is logged in, as the top line names them.
#[derive(Debug, Clone)]
struct LoggedIn {
    name: String,
    /// What they are to the agent.
    role: String,
}

impl LoggedIn {
    /// The visitor, if it was a log-in that let them in: others have nothing to log out of.
    fn find(visitor: &PageVisitor) -> Option<Self> {
        let Actor { name, role, .. } = &visitor.actor;
        let logged_in = LoggedIn { name: name.to_string(), role: role.to_string() };
        (visitor.credential == CallerCredential::Cookie).then_some(logged_in)
    }
}

/// What stands around a page, as it is for one person at one moment.
#[derive(Debug, Clone)]
pub(crate) struct PageChrome {
    /// The agent that is shown.
    pub(crate) agent: String,
    /// What says in an address which agent is meant; nothing where it need not be said.
    pub(crate) agent_query: String,
    /// How many questions wait for an answer, in all sessions that the person can reach.
    waiting: usize,
    /// Where the oldest of them is asked.
    asked_at: Option<(SessionId, TurnId)>,
    /// The hidden field by which the server knows its own forms.
    pub(crate) form_field: Markup,
    /// The id of whoever looks at the page: what they write is kept apart from what others write.
    pub(crate) person: String,
    /// How many bytes of a message the server takes.
    pub(crate) most_bytes: usize,
    logged_in: Option<LoggedIn>,
    /// What whoever looks at it is to the agents; nobody knows it of a page that was not made.
    role: Option<ActorRole>,
    /// Who is let in, for the owner; nobody else sees sessions of others.
    guests: GuestBook,
}

/// A page to be framed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageFrame<'a> {
    /// What the browser's tab says, before the name of the program.
    pub(crate) title: &'a str,
    /// The page of the top line that it belongs to, if it does to one.
    pub(crate) page: Option<NavPage>,
    /// The class of the body; empty for pages that scroll as a whole.
    pub(crate) body_class: &'static str,
    /// The modules that it begins with, by their names in `assets/`.
    pub(crate) scripts: &'a [&'static str],
}

impl PageChrome {
    /// The chrome of a page that shows this agent to somebody.
    pub(crate) async fn load(
        gateway: &Gateway,
        visitor: &PageVisitor,
        agent: &str,
    ) -> ApiResult<Self> {
        let records = RecordReader::new(gateway.store(), &visitor.actor);
        let open = records.open_approvals().await?;
        let asked_at = open.first().map(|(asked, _)| (asked.session, asked.turn));
        let agent_query = match gateway.default_agent()?.name() {
            default if default == agent => String::new(),
            _ => {
                format!("?{}", Serializer::new(String::new()).append_pair("agent", agent).finish())
            }
        };
        let (agent, form_field) = (agent.to_owned(), visitor.form.field());
        let (logged_in, role) = (LoggedIn::find(visitor), Some(visitor.actor.role));
        let guests = match visitor.actor.role {
            ActorRole::Owner | ActorRole::Token(TokenRights { holder: TokenHolder::Owner, .. }) => {
                GuestBook::load(gateway.store()).await?
            }
            _ => GuestBook::default(),
        };
        let person = visitor.actor.id.to_string();
        let most_bytes = gateway.access().max_message_bytes();
        Ok(PageChrome {
            agent,
            agent_query,
            waiting: open.len(),
            asked_at,
            form_field,
            person,
            most_bytes,
            logged_in,
            role,
            guests,
        })
    }

    /// The chrome of an error that somebody met: what of it can't be asked for is left out.
    pub(crate) async fn around_problem(gateway: &Gateway, visitor: &PageVisitor) -> Self {
        let agent = gateway.default_agent().map(|agent| agent.name().to_owned());
        let loaded = match &agent {
            Ok(agent) => PageChrome::load(gateway, visitor, agent).await,
            Err(_) => Ok(PageChrome::plain()),
        };
        PageChrome { agent: String::new(), ..loaded.unwrap_or_else(|_| PageChrome::plain()) }
    }

    /// The chrome of a page for somebody of whom nothing is known.
    pub(crate) fn plain() -> Self {
        let (agent, form_field) = (String::new(), html! {});
        PageChrome {
            agent,
            agent_query: String::new(),
            waiting: 0,
            asked_at: None,
            form_field,
            person: String::new(),
            most_bytes: 0,
            logged_in: None,
            role: None,
            guests: GuestBook::default(),
        }
    }

    /// The guest with whom a session is held, for the owner who looks at it.
    pub(crate) fn guest_of(&self, session: &StoredSession) -> Option<SessionGuest> {
        self.is_owner().then(|| self.guests.find(session)).flatten()
    }

    /// The guest who did something, for the owner who looks at it.
    pub(crate) fn guest_who(&self, actor: &Actor) -> Option<SessionGuest> {
        self.is_owner().then(|| self.guests.find_actor(actor)).flatten()
    }

    fn is_owner(&self) -> bool {
        matches!(
            self.role,
            Some(
                ActorRole::Owner | ActorRole::Token(TokenRights { holder: TokenHolder::Owner, .. })
            )
        )
    }

    /// Whether whoever looks at the page may do this: what they may not is not offered.
    pub(crate) fn may(&self, right: Right) -> bool {
        self.role.is_some_and(|role| is_allowed(role, right))
    }

    /// A whole page. Its body has everything below the top line, with a `main` whose id is `main`.
    pub(crate) fn render(&self, frame: PageFrame<'_>, body: &Markup) -> Markup {
        render_page(frame, &self.top_line(frame.page), body)
    }

    /// A form that changes something: all such forms of all pages are made here. Scripts send those
    /// that have `data-live` themselves, and show what comes back.
    pub(crate) fn post_form(&self, action: &str, class: &str, content: &Markup) -> Markup {
        html! {
            form class=[Some(class).filter(|class| !class.is_empty())] method="post" action=(action)
                data-live {
                (self.form_field)
                (content)
            }
        }
    }

    fn top_line(&self, current: Option<NavPage>) -> Markup {
        html! {
            header.top {
                a.brand href="/" aria-label="Recto" { (brand()) span { "Recto" } }
                (self.page_links(current))
                @if !self.agent.is_empty() { span.q.agent-name { "agent " b { (self.agent) } } }
                @if let Some(person) = &self.logged_in { (self.log_out(person)) }
            }
        }
    }

    fn pages(&self) -> impl Iterator<Item = NavPage> {
        let role = self.role;
        NavPage::ALL.into_iter().filter(move |page| role.is_none_or(|role| page.is_for(role)))
    }

    /// The ways to all pages, with how many questions wait.
    pub(crate) fn page_links(&self, current: Option<NavPage>) -> Markup {
        html! {
            nav #pages aria-label="Pages" {
                ul {
                    @for page in self.pages() {
                        @let is_current = Some(page) == current;
                        li {
                            a href={ (page.path()) (self.query_for(page)) }
                                aria-current=[is_current.then_some("page")] { (page.label()) }
                        }
                        @if page == NavPage::Chat { (self.way_to_questions()) }
                    }
                }
            }
        }
    }

    /// The way to the session that asks, archived ones too: to the oldest question first.
    fn way_to_questions(&self) -> Markup {
        let Some((session, turn)) = self.asked_at else { return html! {} };
        html! {
            li {
                a href={ "/sessions/" (session) "#turn-" (turn) } {
                    "Approvals " (waiting_mark(self.waiting))
                }
            }
        }
    }

    /// What a page is told of the agent that is shown; not all are about one.
    fn query_for(&self, page: NavPage) -> &str {
        match page {
            NavPage::Workspace | NavPage::Memories => &self.agent_query,
            NavPage::Chat | NavPage::Models => "",
        }
    }

    /// Who is logged in, and the way out. It leads to another page: no script sends it.
    fn log_out(&self, person: &LoggedIn) -> Markup {
        html! {
            form.log-out method="post" action="/logout" {
                (self.form_field)
                span.q.cut title=(person.role) { "logged in as " b { (person.name) } }
                button.btn { "Log out" }
            }
        }
    }
}

/// A page for those whom the server does not know: without the ways to other pages.
pub(crate) fn render_stranger_page(title: &str, body: &Markup) -> Markup {
    let frame = PageFrame { title, page: None, body_class: "", scripts: &[] };
    let top = html! { header.top { span.brand { (brand()) span { "Recto" } } } };
    render_page(frame, &top, body)
}

fn render_page(frame: PageFrame<'_>, top: &Markup, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (frame.title) " · Recto" }
                link rel="icon" type="image/svg+xml" href=(asset_path("icon.svg"));
                link rel="stylesheet" href=(asset_path("style.css"));
                @for script in frame.scripts {
                    script type="module" src=(asset_path(script)) {}
                }
            }
            body class=[Some(frame.body_class).filter(|class| !class.is_empty())] {
                a.skip href="#main" { "Skip to the content" }
                (sprites())
                (top)
                (body)
            }
        }
    }
}

/// The number of questions that wait for a person.
pub(crate) fn waiting_mark(waiting: usize) -> Markup {
    html! {
        span.mark title="waiting for an answer" { (waiting) span.vh { " waiting" } }
    }
}

/// The button that closes a drawer, where the window is too narrow for it to stand beside others.
pub(crate) fn close_drawer(drawer: &str) -> Markup {
    html! {
        button.btn.plain.x.shut-drawer type="button" popovertarget=(drawer)
            popovertargetaction="hide" aria-label="Close" { (mute_icon("x")) }
    }
}

/// An icon of the sprite sheet, which stands for these words.
pub(crate) fn icon(name: &str, words: &str) -> Markup {
    html! { svg.i role="img" aria-label=(words) { use href={ "#i-" (name) } {} } }
}

/// An icon of the sprite sheet beside words that say the same.
pub(crate) fn mute_icon(name: &str) -> Markup {
    html! { svg.i aria-hidden="true" { use href={ "#i-" (name) } {} } }
}

/// A text of Recto's own, in which what stands between backticks is what a machine reads.
pub(crate) fn with_code(text: &str) -> Markup {
    // One that is left over is a character like any other.
    let pairs = text.matches('`').count() / 2;
    html! {
        @for (at, part) in text.splitn(pairs * 2 + 1, '`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

fn brand() -> Markup {
    PreEscaped(BRAND.to_owned())
}

/// Patterns of the bars, and icons. They stand in the page, since a style sheet can't bring them.
fn sprites() -> Markup {
    PreEscaped(SPRITES.to_owned())
}

const BRAND: &str = r#"<svg width="20" height="16" viewBox="0 0 20 16" aria-hidden="true"><path d="M10 2v12M10 2H2.5A1 1 0 0 0 1.5 3v10a1 1 0 0 0 1 1H10" fill="none" stroke="currentColor" stroke-width="1.4"/><path d="M10 1.3h7.5A1.7 1.7 0 0 1 19.2 3v10a1.7 1.7 0 0 1-1.7 1.7H10Z" fill="currentColor"/></svg>"#;

const SPRITES: &str = r##"<svg class="vh" aria-hidden="true" focusable="false"><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch" width="2.5" height="5"/></pattern><pattern id="dots" width="4" height="4" patternUnits="userSpaceOnUse"><rect class="dot" x="1" y="1" width="1.2" height="1.2"/></pattern><symbol id="i-terminal" viewBox="0 0 16 16"><path d="M3 4.5 6.5 8 3 11.5M8.5 12H13"/></symbol><symbol id="i-web" viewBox="0 0 16 16"><rect x="1.75" y="2.75" width="12.5" height="10.5" rx="1.5"/><path d="M2 6h12"/></symbol><symbol id="i-telegram" viewBox="0 0 16 16"><path d="M14 2.5 1.8 7.3l4 1.6L14 2.5 7.3 10v3.4l2-2.2 2.6 2.2L14 2.5Z"/></symbol><symbol id="i-discord" viewBox="0 0 16 16"><path d="M5.2 3.6c1.9-.5 3.7-.5 5.6 0 1.6 0 3.2 5.2 2.9 8.1-.9.7-1.9 1.1-2.9 1.3l-.8-1.4c-1.3.3-2.7.3-4 0l-.8 1.4c-1-.2-2-.6-2.9-1.3-.3-2.9 1.3-8.1 2.9-8.1Z"/><path d="M6 8.4v.6M10 8.4v.6"/></symbol><symbol id="i-api" viewBox="0 0 16 16"><path d="M6 2.5c-2 0-2 1-2 2.7C4 7 3.5 8 2 8c1.5 0 2 1 2 2.8 0 1.7 0 2.7 2 2.7M10 2.5c2 0 2 1 2 2.7C12 7 12.5 8 14 8c-1.5 0-2 1-2 2.8 0 1.7 0 2.7-2 2.7"/></symbol><symbol id="i-schedule" viewBox="0 0 16 16"><circle cx="8" cy="8" r="5.75"/><path d="M8 4.8V8l2.2 1.6"/></symbol><symbol id="i-x" viewBox="0 0 16 16"><path d="m4.5 4.5 7 7m0-7-7 7"/></symbol><symbol id="i-plus" viewBox="0 0 16 16"><path d="M8 3.5v9M3.5 8h9"/></symbol></svg>"##;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_backticks_is_code() {
        let html = |text: &str| with_code(text).into_string();
        assert_eq!(html("set `a<b` or `c`"), "set <code>a&lt;b</code> or <code>c</code>");
        assert_eq!(html("a ` alone"), "a ` alone");
        assert_eq!(html("`x` and `"), "<code>x</code> and `");
    }
}
