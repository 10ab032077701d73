//! The sessions at the side of the chat, with where each is held and what waits in it.

use std::collections::HashMap;

use jiff::Zoned;
use maud::{Markup, html};
use recto_agent::{Actor, AgentResult, RecordReader, Right};
use recto_store::{
    SessionFilter, SessionId, SessionSummary, StoredApproval, StoredSession, TurnStatus,
};

use crate::gateway::{Gateway, can_reach};
use crate::pages::layout::{PageChrome, close_drawer, icon, mute_icon, waiting_mark};
use crate::pages::times;
use crate::pages::visible_text::show_controls;

/// The most sessions that are listed; a page of its own has all.
const MOST_SESSIONS: usize = 200;

/// The sessions that somebody can reach, newest first.
#[derive(Debug)]
pub(crate) struct SideList {
    /// All of them, also those that are not listed.
    sessions: Vec<SessionSummary>,
    /// How many questions wait in each.
    waiting: HashMap<SessionId, usize>,
    /// How many wait in sessions of the archive.
    waiting_in_archive: usize,
    /// Those in which a turn runs.
    running: Vec<SessionId>,
}

impl SideList {
    /// Reads the list for somebody.
    pub(crate) async fn load(gateway: &Gateway, actor: &Actor) -> AgentResult<Self> {
        let store = gateway.store();
        let mut sessions = store.sessions(SessionFilter::Open).await?;
        sessions.retain(|summary| {
            can_reach(actor, &summary.session) && gateway.agent(&summary.session.agent).is_some()
        });
        sessions.sort_by_key(|summary| std::cmp::Reverse(summary.last));
        let asked = RecordReader::new(store, actor).open_approvals().await?;
        let waiting = count_waiting(&asked);
        let waiting_in_archive =
            asked.iter().filter(|(_, session)| session.archived.is_some()).count();
        let open = store.open_turns().await?.turns;
        let running = open.iter().filter(|turn| turn.status == TurnStatus::Running);
        let running = running.map(|turn| turn.session).collect();
        Ok(SideList { sessions, waiting, waiting_in_archive, running })
    }

    /// The session in which something was last said.
    pub(crate) fn newest(&self) -> Option<SessionId> {
        self.sessions.first().map(|summary| summary.session.id)
    }

    /// A session that is not in the archive, whether it is listed or not.
    pub(crate) fn find(&self, session: SessionId) -> Option<&SessionSummary> {
        self.sessions.iter().find(|summary| summary.session.id == session)
    }

    /// The list as the page shows it, with one of them current.
    pub(crate) fn render(&self, chrome: &PageChrome, current: Option<SessionId>) -> Markup {
        let now = Zoned::now();
        let day = |summary: &SessionSummary| DayGroup::find(&times::local(summary.last), &now);
        let listed = self.listed(current);
        html! {
            nav.side.sessions #sessions popover aria-label="Sessions" {
                div.row {
                    h2.grow { "Sessions" }
                    @if chrome.may(Right::Talk) {
                        a.btn.plain.x href="/new" aria-label="New session" title="New session" {
                            (mute_icon("plus"))
                        }
                    }
                    (close_drawer("sessions"))
                }
                @for group in listed.chunk_by(|a, b| day(a) == day(b)) {
                    @if let Some(first) = group.first() { h3 { (day(first).name()) } }
                    ul {
                        @for summary in group { (self.row(chrome, summary, current)) }
                    }
                }
                @if self.sessions.is_empty() { p.q.none { "No session yet." } }
                p.q.none {
                    @if self.sessions.len() > MOST_SESSIONS {
                        a.plain-link href="/all-sessions" { "All sessions" } " · "
                    }
                    a.plain-link href="/archive" { "Archive" }
                    @if self.waiting_in_archive > 0 { " " (waiting_mark(self.waiting_in_archive)) }
                }
            }
        }
    }

    /// The newest sessions, and the one that is open, however old it is.
    fn listed(&self, current: Option<SessionId>) -> Vec<&SessionSummary> {
        let is_open = |summary: &SessionSummary| current == Some(summary.session.id);
        let all = self.sessions.iter().enumerate();
        all.filter(|(at, summary)| *at < MOST_SESSIONS || is_open(summary))
            .map(|(_, summary)| summary)
            .collect()
    }

    fn row(
        &self,
        chrome: &PageChrome,
        summary: &SessionSummary,
        current: Option<SessionId>,
    ) -> Markup {
        let session = &summary.session;
        let waiting = self.waiting.get(&session.id).copied().unwrap_or_default();
        let is_current = current == Some(session.id);
        html! {
            li {
                a href={ "/sessions/" (session.id) } aria-current=[is_current.then_some("page")] {
                    (surface_icon(&session.surface))
                    span.cut title=(title(summary)) {
                        (title(summary))
                        @if session.agent != chrome.agent { " " span.q { (session.agent) } }
                        @if let Some(guest) = chrome.guest_of(session) {
                            " " span.q.with { "with " (guest) }
                        }
                    }
                    @if waiting > 0 {
                        (waiting_mark(waiting))
                    } @else if self.running.contains(&session.id) {
                        span.runs title="a turn runs" { span.vh { "a turn runs" } }
                    } @else {
                        (times::short(summary.last))
                    }
                }
            }
        }
    }
}

/// How many questions wait in each session.
pub(crate) fn count_waiting(
    asked: &[(StoredApproval, StoredSession)],
) -> HashMap<SessionId, usize> {
    let mut waiting = HashMap::new();
    for (approval, _) in asked {
        *waiting.entry(approval.session).or_default() += 1;
    }
    waiting
}

/// What a session is called: by its name, or by what was first said in it.
pub(crate) fn title(summary: &SessionSummary) -> String {
    match (&summary.session.name, &summary.opening) {
        (Some(name), _) => show_controls(name.as_str()),
        (None, Some(opening)) if !opening.trim().is_empty() => show_controls(opening),
        _ => format!("Session {}", summary.session.id),
    }
}

/// Where a session is held, in words.
pub(crate) fn surface_words(surface: &str) -> &str {
    match surface {
        "web" => "web page",
        "telegram" => "Telegram",
        "discord" => "Discord",
        "openai" | "ollama" | "api" => "API",
        other => other,
    }
}

fn surface_icon(surface: &str) -> Markup {
    let name = match surface {
        "terminal" => "terminal",
        "telegram" => "telegram",
        "discord" => "discord",
        "schedule" => "schedule",
        "web" => "web",
        _ => "api",
    };
    icon(name, surface_words(surface))
}

/// The headings under which sessions stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DayGroup {
    Today,
    LastWeek,
    Earlier,
}

impl DayGroup {
    fn find(last: &Zoned, now: &Zoned) -> Self {
        match times::days_between(last, now) {
            ..=0 => DayGroup::Today,
            1..=7 => DayGroup::LastWeek,
            _ => DayGroup::Earlier,
        }
    }

    fn name(self) -> &'static str {
        match self {
            DayGroup::Today => "Today",
            DayGroup::LastWeek => "Last week",
            DayGroup::Earlier => "Earlier",
        }
    }
}
