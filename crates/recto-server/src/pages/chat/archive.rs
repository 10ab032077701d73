//! `/archive` and `/all-sessions`: the sessions that were put away, with the way back, and all others,
//! of which the list at the side has the newest.

use std::collections::HashMap;

use axum::extract::State;
use maud::{Markup, html};
use recto_agent::{RecordReader, Right, SessionSettings, is_allowed};
use recto_store::{SessionFilter, SessionId, SessionSummary, StoredSession};
use serde::Deserialize;

use super::side_list::{count_waiting, title};
use crate::extract::PageQuery;
use crate::gateway::Gateway;
use crate::pages::layout::{NavPage, PageChrome, PageFrame, PageVisitor, waiting_mark};
use crate::pages::page_problem::PageResult;
use crate::pages::times;

/// How many sessions stand on a page.
const PER_PAGE: usize = 200;

/// Which sessions a page lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListedSessions {
    Open,
    Archived,
}

impl ListedSessions {
    fn title(self) -> &'static str {
        match self {
            ListedSessions::Open => "All sessions",
            ListedSessions::Archived => "Archive",
        }
    }

    fn none_words(self) -> &'static str {
        match self {
            ListedSessions::Open => "No session yet.",
            ListedSessions::Archived => "No session is in the archive.",
        }
    }

    fn holds(self, session: &StoredSession) -> bool {
        let is_task = SessionSettings::from_store(&session.settings).delegation.is_some();
        match self {
            ListedSessions::Open => session.archived.is_none(),
            ListedSessions::Archived => session.archived.is_some() && !is_task,
        }
    }
}

/// Which page of a list is asked for, counted from 0.
#[derive(Debug, Deserialize)]
pub(crate) struct ListQuery {
    #[serde(default)]
    page: usize,
}

/// The archived sessions that somebody can reach, the newest first.
pub(crate) async fn show_archive(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PageQuery(query): PageQuery<ListQuery>,
) -> PageResult<Markup> {
    show_list(&gateway, &visitor, ListedSessions::Archived, query.page).await
}

/// The others, the newest first.
pub(crate) async fn show_all(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PageQuery(query): PageQuery<ListQuery>,
) -> PageResult<Markup> {
    show_list(&gateway, &visitor, ListedSessions::Open, query.page).await
}

async fn show_list(
    gateway: &Gateway,
    visitor: &PageVisitor,
    listed: ListedSessions,
    page: usize,
) -> PageResult<Markup> {
    let reader = RecordReader::new(gateway.store(), &visitor.actor);
    let filter = match listed {
        ListedSessions::Open => SessionFilter::Open,
        ListedSessions::Archived => SessionFilter::All,
    };
    let mut sessions = reader.sessions(filter).await?;
    sessions.retain(|SessionSummary { session, .. }| {
        listed.holds(session) && gateway.agent(&session.agent).is_some()
    });
    sessions.sort_by_key(|summary| std::cmp::Reverse(summary.last));
    let pages = sessions.len().div_ceil(PER_PAGE);
    // One that is behind all of them is the last.
    let page = page.min(pages.saturating_sub(1));
    let shown: Vec<&SessionSummary> =
        sessions.iter().skip(page * PER_PAGE).take(PER_PAGE).collect();
    let waiting = count_waiting(&reader.open_approvals().await?);
    let chrome = PageChrome::load(gateway, visitor, gateway.default_agent()?.name()).await?;
    let may_change = is_allowed(visitor.actor.role, Right::BeginSession);
    let list = SessionList { chrome: &chrome, waiting: &waiting, may_change };
    let frame = PageFrame {
        title: listed.title(),
        page: Some(NavPage::Chat),
        body_class: "",
        scripts: &[],
    };
    let body = html! {
        main.page.narrow-page #main {
            header.head { div { p.crumbs { a href="/" { "Chat" } } h1 { (listed.title()) } } }
            @if shown.is_empty() { p.empty { (listed.none_words()) } }
            @else { ul.archived { @for summary in shown { (list.row(summary)) } } }
            (page_links(page, pages))
        }
    };
    Ok(chrome.render(frame, &body))
}

/// What the rows of a list are drawn with.
#[derive(Debug, Clone, Copy)]
struct SessionList<'a> {
    chrome: &'a PageChrome,
    /// How many questions wait in each session.
    waiting: &'a HashMap<SessionId, usize>,
    may_change: bool,
}

impl SessionList<'_> {
    fn row(self, summary: &SessionSummary) -> Markup {
        let id = summary.session.id;
        let button = html! { button.btn { "Take out of the archive" } };
        html! {
            li.row {
                a.grow.cut href={ "/sessions/" (id) } { (title(summary)) }
                @if let Some(waiting) = self.waiting.get(&id) { (waiting_mark(*waiting)) }
                (times::short(summary.last))
                @if self.may_change && summary.session.archived.is_some() {
                    (self.chrome.post_form(&format!("/sessions/{id}/unarchive"), "", &button))
                }
            }
        }
    }
}

/// The ways to the pages before and behind one.
fn page_links(page: usize, pages: usize) -> Markup {
    html! {
        @if pages > 1 {
            nav.acts aria-label="Pages of the list" {
                @if page > 0 { a.btn rel="prev" href={ "?page=" (page - 1) } { "Newer" } }
                @if page + 1 < pages { a.btn rel="next" href={ "?page=" (page + 1) } { "Older" } }
                span.q { "page " (page + 1) " of " (pages) }
            }
        }
    }
}
