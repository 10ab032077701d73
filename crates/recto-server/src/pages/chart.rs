//! `/sessions/{session}/chart`: the size of each turn's prompt and the share that was cached, drawn
//! as SVG on the server. With `fragment=1` the chart alone, for a panel.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use recto_agent::{
    Actor, CacheSource, PromptCost, RecordReader, RequestPurpose, Right, is_allowed,
    outline_request, recorded_cause,
};
use recto_context::grouped_digits;
use recto_store::{RequestRecord, SessionFilter, SessionId, SessionSummary, StoredSession, TurnId};
use serde::Deserialize;

use super::chat::session_title;
use super::layout::{NavPage, PageChrome, PageFrame, PageVisitor};
use super::page_problem::PageResult;
use crate::extract::{PagePath, PageQuery};
use crate::gateway::{Gateway, can_reach};

/// How many turns are drawn.
const TURNS: u32 = 60;

/// The least number of turns that the width is shared by.
const LEAST: usize = 8;

/// The most turns of which each has its number below it.
const ALL_NUMBERED: usize = 24;

/// The place of the two parts, in pixels from the top.
const SHARE_TOP: f64 = 16.0;
const SHARE_BOTTOM: f64 = 46.0;
const TOKENS_TOP: f64 = 76.0;
const TOKENS_BOTTOM: f64 = 256.0;

/// The routes of this page.
pub(crate) fn routes() -> Router<Gateway> {
    Router::new().route("/sessions/{session}/chart", get(show_chart))
}

/// Whether the chart alone is wanted.
#[derive(Debug, Deserialize)]
struct ChartQuery {
    fragment: Option<String>,
}

/// What a turn's last page took, which is the one that *View context* opens.
#[derive(Debug, Clone, PartialEq)]
struct TurnSize {
    turn: TurnId,
    tokens: u64,
    /// What of it was cached, by the server or by what agrees with the request before.
    cached: Option<u64>,
    /// Why the agreement with the request before ended early, where it did in any of its pages.
    cause: Option<String>,
    /// Who said what was cached.
    source: CacheSource,
}

async fn show_chart(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PagePath(session): PagePath<SessionId>,
    PageQuery(query): PageQuery<ChartQuery>,
) -> PageResult<Markup> {
    visitor.actor.must_have(Right::Inspect)?;
    let reader = RecordReader::new(gateway.store(), &visitor.actor);
    let session = reader.session(session).await?;
    let sizes = read_sizes(&gateway, &session).await?;
    let name = session_title(&gateway, &session).await?;
    let chart = chart_section(&html! { (name) }, &sizes);
    if query.fragment.is_some() {
        return Ok(chart);
    }
    let chrome = PageChrome::load(&gateway, &visitor, &session.agent).await?;
    let title = format!("Context over {name}");
    let frame =
        PageFrame { title: &title, page: Some(NavPage::Chat), body_class: "", scripts: &[] };
    let body = html! {
        main.page id="main" {
            header.head {
                div {
                    p.crumbs { a.cut href={ "/sessions/" (session.id) } { (name) } }
                    h1 { "Context over the session" }
                }
            }
            (chart)
        }
    };
    Ok(chrome.render(frame, &body))
}

/// The chart of the session in which somebody was last with an agent, for a page beside others;
/// nothing where there is none yet, or they may not see it.
pub(crate) async fn newest_chart(
    gateway: &Gateway,
    actor: &Actor,
    agent: &str,
) -> PageResult<Option<Markup>> {
    if !is_allowed(actor.role, Right::Inspect) {
        return Ok(None);
    }
    let sessions = gateway.store().sessions(SessionFilter::Open).await?;
    let is_theirs = |summary: &&SessionSummary| {
        summary.session.agent == agent && summary.turns > 0 && can_reach(actor, &summary.session)
    };
    let newest = sessions.iter().filter(is_theirs).max_by_key(|summary| summary.last);
    let Some(SessionSummary { session, .. }) = newest else { return Ok(None) };
    let sizes = read_sizes(gateway, session).await?;
    let name = session_title(gateway, session).await?;
    Ok(Some(html! {
        section aria-labelledby="chart-title" {
            h2 id="chart-title" { "Context over the session" }
            (chart_section(&html! { a href={ "/sessions/" (session.id) "/chart" } { (name) } }, &sizes))
        }
    }))
}

async fn read_sizes(gateway: &Gateway, session: &StoredSession) -> PageResult<Vec<TurnSize>> {
    let mut sizes = Vec::new();
    for turn in gateway.store().last_turns(session.id, None, TURNS).await? {
        sizes.extend(TurnSize::from_records(&gateway.store().requests(turn.id).await?));
    }
    Ok(sizes)
}

impl TurnSize {
    /// The size of the turn that made these requests; nothing where none of them was a page.
    fn from_records(requests: &[RequestRecord]) -> Option<Self> {
        let is_page =
            |request: &&RequestRecord| RequestPurpose::from_record(request) == RequestPurpose::Page;
        let pages: Vec<&RequestRecord> = requests.iter().filter(is_page).collect();
        let last = pages.last()?;
        let cost = PromptCost::new(last, &outline_request(last).ok()?);
        let is_known = cost.source != CacheSource::Nobody;
        let cause = pages.iter().find_map(|page| recorded_cause(page).filter(|it| it.is_break()));
        Some(TurnSize {
            turn: last.turn,
            tokens: u64::from(cost.prompt.get()),
            cached: is_known.then(|| u64::from(cost.cached.get())),
            cause: cause.map(|cause| cause.describe().to_owned()),
            source: cost.source,
        })
    }

    /// The share that was cached, in percent.
    fn share(&self) -> Option<u64> {
        Some((self.cached? * 100 + self.tokens / 2) / self.tokens.max(1))
    }

    fn title(&self) -> String {
        let mut title = format!("turn {}: {} tokens", self.turn, grouped_digits(self.tokens));
        if let (Some(cached), Some(share)) = (self.cached, self.share()) {
            let word = self.source.cached_word();
            title.push_str(&format!(", {} {word} ({share} %)", grouped_digits(cached)));
        }
        if let Some(cause) = &self.cause {
            title.push_str(&format!(", {cause}"));
        }
        title
    }
}

/// What the share is of, in the words of the turns' feet: as long as no server tells what it had
/// cached, it is what the request before said as well.
fn share_words(sizes: &[TurnSize]) -> &'static str {
    let has = |source| sizes.iter().any(|size| size.source == source);
    match (has(CacheSource::Server), has(CacheSource::RequestBefore)) {
        (true, true) => "cached or as before",
        (false, true) => CacheSource::RequestBefore.cached_word(),
        (_, false) => CacheSource::Server.cached_word(),
    }
}

fn chart_section(name: &Markup, sizes: &[TurnSize]) -> Markup {
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else {
        return html! { p.empty { "No turn of this session has sent anything yet." } };
    };
    html! {
        div.size {
            p.q {
                (name)
                @if first.turn == last.turn { ", turn " (first.turn) }
                @else { ", turns " (first.turn) " to " (last.turn) }
                ": tokens of each turn's last request, and the share of it that was "
                (share_words(sizes)) "."
            }
            (chart(sizes))
            (key(share_words(sizes)))
            details.fold { summary { "As a table" } (table(sizes)) }
        }
    }
}

fn chart(sizes: &[TurnSize]) -> Markup {
    let most = round_up(sizes.iter().map(|size| size.tokens).max().unwrap_or(0));
    let step = 100.0 / sizes.len().max(LEAST) as f64;
    let middle = (TOKENS_TOP + TOKENS_BOTTOM) / 2.0;
    html! {
        svg.chart height="284" role="group" aria-label="Tokens of each turn's last request; the table below has the same numbers" {
            text x="0" y="10" { "share " (share_words(sizes)) }
            text x="100%" y="10" text-anchor="end" { "100 %" }
            @for y in [SHARE_TOP, SHARE_BOTTOM, TOKENS_BOTTOM, middle, TOKENS_TOP] {
                line.axis x1="0" x2="100%" y1=(y) y2=(y) {}
            }
            text x="0" y="70" { "tokens" }
            text x="100%" y="70" text-anchor="end" { (grouped_digits(most)) }
            @for (at, size) in sizes.iter().enumerate() {
                (turn_bar(size, at as f64 * step, step, most))
                @let number = size.turn.get();
                @if sizes.len() <= ALL_NUMBERED || number % 5 == 0 {
                    // A phone has room for fewer of them.
                    @let is_dense = sizes.len() > LEAST && number % 5 != 0;
                    text class=[is_dense.then_some("dense")] x=(percent((at as f64 + 0.5) * step)) y="282"
                        text-anchor="middle" {
                        @if sizes.len() <= LEAST { tspan.dense { "turn " } } (number)
                    }
                }
            }
        }
    }
}

fn turn_bar(size: &TurnSize, start: f64, step: f64, most: u64) -> Markup {
    let (x, width) = (start + step * 0.14, step * 0.72);
    let height = |tokens: u64| (TOKENS_BOTTOM - TOKENS_TOP) * tokens as f64 / most.max(1) as f64;
    let (tall, cached) = (height(size.tokens), height(size.cached.unwrap_or(0)));
    let share = size
        .share()
        .map(|share| SHARE_BOTTOM - (SHARE_BOTTOM - SHARE_TOP) * share.min(100) as f64 / 100.0);
    html! {
        a href={ "/turns/" (size.turn) } {
            title { (size.title()) }
            rect.solid x=(percent(x)) width=(percent(width)) y=(pixels(TOKENS_BOTTOM - tall))
                height=(pixels(tall)) {}
            rect.over x=(percent(x)) width=(percent(width)) y=(pixels(TOKENS_BOTTOM - cached))
                height=(pixels(cached)) {}
            @if let Some(y) = share {
                line.tick x1=(percent(x)) x2=(percent(x + width)) y1=(pixels(y)) y2=(pixels(y)) {}
            }
        }
        @if size.cause.is_some() { circle.cause cx=(percent(x + width / 2.0)) cy="265" r="2.5" {} }
    }
}

fn key(share: &str) -> Markup {
    html! {
        p.key {
            span {
                svg width="14" height="10" aria-hidden="true" {
                    rect.solid width="14" height="10" {}
                }
                " fresh"
            }
            span {
                svg width="14" height="10" aria-hidden="true" {
                    rect.solid width="14" height="10" {} rect.over width="14" height="10" {}
                }
                " " (share)
            }
            span title="The request did not begin as the one before it: from there on a server reads all anew" {
                svg width="14" height="10" aria-hidden="true" {
                    circle.cause cx="7" cy="5" r="2.5" {}
                }
                " the beginning had changed, and was read anew"
            }
        }
    }
}

fn table(sizes: &[TurnSize]) -> Markup {
    html! {
        table.small {
            thead {
                tr {
                    th scope="col" { "Turn" } th.n scope="col" { "Tokens" }
                    th.n scope="col" { (share_words(sizes)) } th.n scope="col" { "Share" }
                    th scope="col" { "Why it was read anew" }
                }
            }
            tbody {
                @for size in sizes {
                    tr {
                        td { a href={ "/turns/" (size.turn) } { (size.turn) } }
                        td.n { (grouped_digits(size.tokens)) }
                        td.n { @if let Some(cached) = size.cached { (grouped_digits(cached)) } }
                        td.n { @if let Some(share) = size.share() { (share) " %" } }
                        td { @if let Some(cause) = &size.cause { (cause) } }
                    }
                }
            }
        }
    }
}

/// The next number of one digit and zeros: where the scale ends.
fn round_up(tokens: u64) -> u64 {
    let mut unit = 1;
    while unit * 10 <= tokens {
        unit *= 10;
    }
    tokens.div_ceil(unit).max(1) * unit
}

fn percent(value: f64) -> String {
    format!("{value:.2}%")
}

fn pixels(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_ends_at_a_round_number() {
        let ends = [0, 1, 9, 10, 11, 999, 1_000, 4_740].map(round_up);
        assert_eq!(ends, [1, 1, 9, 10, 20, 1_000, 1_000, 5_000]);
    }

    #[test]
    fn a_bar_tells_what_is_known() {
        let size = |cached, cause: Option<&str>| TurnSize {
            turn: "7".parse().unwrap(),
            tokens: 1_450,
            cached,
            cause: cause.map(str::to_owned),
            source: CacheSource::Server,
        };
        assert_eq!(size(None, None).title(), "turn 7: 1,450 tokens");
        assert_eq!(
            size(Some(824), Some("history trimmed")).title(),
            "turn 7: 1,450 tokens, 824 cached (57 %), history trimmed"
        );
        let guessed = TurnSize { source: CacheSource::RequestBefore, ..size(Some(824), None) };
        assert_eq!(guessed.title(), "turn 7: 1,450 tokens, 824 as before (57 %)");
        let words = |sizes: &[TurnSize]| share_words(sizes);
        assert_eq!(words(std::slice::from_ref(&guessed)), "as before");
        assert_eq!(words(&[guessed, size(Some(824), None)]), "cached or as before");
    }

    #[test]
    fn on_a_phone_few_turns_have_their_numbers_alone() {
        let size = |turn: &str| TurnSize {
            turn: turn.parse().unwrap(),
            tokens: 9,
            cached: None,
            cause: None,
            source: CacheSource::Nobody,
        };
        let drawn = chart(&[size("11"), size("12")]).into_string();
        assert!(drawn.contains("<tspan class=\"dense\">turn </tspan>11"), "{drawn}");
    }
}
