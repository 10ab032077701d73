//! `/archive`: the sessions that were put away, with the way back.

use axum::extract::State;
use maud::{Markup, html};
use recto_agent::{RecordReader, Right, SessionSettings, is_allowed};
use recto_store::{SessionFilter, SessionSummary};

use super::side_list::title;
use crate::gateway::Gateway;
use crate::pages::layout::{NavPage, PageChrome, PageFrame, PageVisitor};
use crate::pages::page_problem::PageResult;
use crate::pages::times;

/// The most sessions that are listed; the others can be reached by their address.
const MOST_LISTED: usize = 500;

/// The archived sessions that somebody can reach, the newest first.
pub(crate) async fn show_archive(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
) -> PageResult<Markup> {
    let reader = RecordReader::new(gateway.store(), &visitor.actor);
    let mut archived = reader.sessions(SessionFilter::All).await?;
    archived.retain(|SessionSummary { session, .. }| {
        let is_task = SessionSettings::from_store(&session.settings).delegation.is_some();
        session.archived.is_some() && !is_task && gateway.agent(&session.agent).is_some()
    });
    archived.sort_by_key(|summary| std::cmp::Reverse(summary.last));
    archived.truncate(MOST_LISTED);
    let chrome = PageChrome::load(&gateway, &visitor, gateway.default_agent()?.name()).await?;
    let may_change = is_allowed(visitor.actor.role, Right::BeginSession);
    let frame =
        PageFrame { title: "Archive", page: Some(NavPage::Chat), body_class: "", scripts: &[] };
    let body = html! {
        main.page.narrow-page #main {
            header.head { div { p.crumbs { a href="/" { "Chat" } } h1 { "Archive" } } }
            @if archived.is_empty() { p.empty { "No session is in the archive." } }
            @else {
                ul.archived {
                    @for summary in &archived { (archived_row(&chrome, summary, may_change)) }
                }
            }
        }
    };
    Ok(chrome.render(frame, &body))
}

fn archived_row(chrome: &PageChrome, summary: &SessionSummary, may_change: bool) -> Markup {
    let id = summary.session.id;
    let button = html! { button.btn { "Take out of the archive" } };
    html! {
        li.row {
            a.grow.cut href={ "/sessions/" (id) } { (title(summary)) }
            (times::short(summary.last))
            @if may_change {
                (chrome.post_form(&format!("/sessions/{id}/unarchive"), "", &button))
            }
        }
    }
}
