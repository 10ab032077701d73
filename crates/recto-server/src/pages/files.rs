//! `/files`: a file that items or memories come from, as it is now, with the lines of one part of a
//! turn marked. Only files that the agent itself has read can be looked at.

use std::ops::Range;
use std::path::{Path, PathBuf};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use form_urlencoded::Serializer;
use maud::{Markup, html};
use recto_agent::{Actor, RecordReader, Right, SourceFileView, is_allowed, restore_request};
use recto_store::TurnId;
use serde::Deserialize;

use super::layout::{NavPage, PageChrome, PageFrame, PageVisitor};
use super::page_problem::PageResult;
use crate::extract::PageQuery;
use crate::gateway::Gateway;
use crate::problem::{ApiProblem, ApiResult};

/// The routes of this page.
pub(crate) fn routes() -> Router<Gateway> {
    Router::new().route("/files", get(show_file))
}

/// The way to the files that parts of a request come from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileLink<'a> {
    agent: &'a str,
    /// The turn and the number of the request; none where it was only looked at.
    recorded: Option<(TurnId, u32)>,
}

impl<'a> FileLink<'a> {
    /// The way for somebody; none for those who may not see files.
    pub(crate) fn for_actor(
        actor: &Actor,
        agent: &'a str,
        recorded: Option<(TurnId, u32)>,
    ) -> Option<Self> {
        is_allowed(actor.role, Right::SeeWorkspace).then_some(FileLink { agent, recorded })
    }

    /// The address of a file.
    pub(crate) fn to_file(self, path: &Path) -> String {
        file_address(self.agent, path)
    }

    /// The address of the place in a file at which a part of the request stands.
    pub(crate) fn to_part(self, path: &Path, part: usize) -> String {
        let numbers = self
            .recorded
            .map(|(turn, request)| format!("&turn={turn}&request={request}&part={part}#part"));
        self.to_file(path) + &numbers.unwrap_or_default()
    }
}

/// The address of a file of an agent.
pub(crate) fn file_address(agent: &str, path: &Path) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("agent", agent).append_pair("path", &path.to_string_lossy());
    format!("/files?{}", query.finish())
}

/// Which file is asked for, and which part of a turn is to be marked in it.
#[derive(Debug, Deserialize)]
struct FileQuery {
    agent: String,
    path: PathBuf,
    turn: Option<TurnId>,
    request: Option<u32>,
    part: Option<usize>,
}

async fn show_file(
    State(gateway): State<Gateway>,
    visitor: PageVisitor,
    PageQuery(query): PageQuery<FileQuery>,
) -> PageResult<Markup> {
    visitor.actor.must_have(Right::SeeWorkspace)?;
    let agent = gateway.agent(&query.agent).ok_or_else(not_there)?;
    let file = agent.source_file(&visitor.actor, &query.path).await?.ok_or_else(not_there)?;
    let sent = sent_part(&gateway, &visitor.actor, &query).await?;
    let chrome = PageChrome::load(&gateway, &visitor, agent.name()).await?;
    let title = file.path.to_string_lossy();
    let frame =
        PageFrame { title: &title, page: Some(NavPage::Workspace), body_class: "", scripts: &[] };
    Ok(chrome.render(frame, &file_page(&file, sent.as_ref())))
}

/// What a turn had of a file.
struct SentPart {
    turn: TurnId,
    /// Its text as it was sent; nothing where only the name of an item stood there.
    text: Option<String>,
}

/// The part that is to be marked.
async fn sent_part(
    gateway: &Gateway,
    actor: &Actor,
    query: &FileQuery,
) -> ApiResult<Option<SentPart>> {
    let (Some(turn), Some(request), Some(part)) = (query.turn, query.request, query.part) else {
        return Ok(None);
    };
    let reader = RecordReader::new(gateway.store(), actor);
    let record = reader.turn(turn).await?.request(request).await?;
    let context = restore_request(gateway.store(), &record).await?;
    Ok(context.parts.get(part).map(|part| {
        let text = (!part.is_list_entry()).then(|| part.text().to_owned());
        SentPart { turn, text }
    }))
}

/// The same answer for a file that is not there and for one that is none of the agent's.
fn not_there() -> ApiProblem {
    ApiProblem::new(StatusCode::NOT_FOUND, "no_such_file", "the agent has no such file")
        .hint("files of items and memories can be looked at; the page of items lists them")
}

fn file_page(file: &SourceFileView, sent: Option<&SentPart>) -> Markup {
    let lines = sent.and_then(|sent| find_lines(&file.text, sent.text.as_deref()?));
    html! {
        main.page id="main" {
            header.head {
                div {
                    h1.path { (file.path.display()) }
                    p.q { (sent_words(sent, lines.as_ref())) }
                }
            }
            ol.file {
                @for (at, line) in file.text.lines().enumerate() {
                    @let number = at + 1;
                    @let is_marked = lines.as_ref().is_some_and(|lines| lines.contains(&number));
                    @let is_first = lines.as_ref().is_some_and(|lines| lines.start == number);
                    li id=[is_first.then_some("part")] class=[is_marked.then_some("hit")] {
                        code { (line) "\n" }
                    }
                }
            }
        }
    }
}

/// What the marked lines are, or why none are.
fn sent_words(sent: Option<&SentPart>, lines: Option<&Range<usize>>) -> Markup {
    let Some(SentPart { turn, text }) = sent else { return html! { "As it is now." } };
    let turn = html! { a href={ "/turns/" (turn) } { "turn " (turn) } };
    match (text, lines) {
        (_, Some(lines)) => html! {
            "Marked: lines " (lines.start) " to " (lines.end - 1) ", as " (turn) " had them."
        },
        (None, None) => html! {
            "As it is now; " (turn) " had its name and what it says of itself, and no more."
        },
        (Some(_), None) => html! {
            "What " (turn) " had of it is not in the file any more: it has changed since."
        },
    }
}

/// The lines of a file at which a part stands, counted from 1. Words are compared: the lines of a
/// memory are sent as one. The description of an item may say the same as its text, so what stands
/// behind the frontmatter comes first.
fn find_lines(file: &str, part: &str) -> Option<Range<usize>> {
    let sought: Vec<&str> = words(part).collect();
    let body = first_line_of_body(file);
    let numbered = file
        .lines()
        .zip(1..)
        .flat_map(|(line, number)| words(line).map(move |word| (number, word)));
    let numbered: Vec<(usize, &str)> = numbered.collect();
    let (front, body) = numbered.split_at(numbered.partition_point(|(number, _)| *number < body));
    let find = |words: &[(usize, &str)]| {
        let is_same = |window: &&[(usize, &str)]| window.iter().map(|(_, word)| word).eq(&sought);
        let found = words.windows(sought.len().max(1)).find(is_same)?;
        Some(found.first()?.0..found.last()?.0 + 1)
    };
    find(body).or_else(|| find(front))
}

/// The words of a text, without the backslashes that keep its line breaks.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace().map(|word| word.trim_end_matches('\\'));
    words.filter(|word| !word.is_empty())
}

/// The first line behind the frontmatter of a file, if it has one.
fn first_line_of_body(file: &str) -> usize {
    let is_fence = |line: &str| line.trim_start_matches('\u{feff}').trim_end() == "---";
    let mut lines = file.lines().zip(1..);
    let begins = lines.next().is_some_and(|(line, _)| is_fence(line));
    let end = lines.find(|(line, _)| begins && is_fence(line));
    end.map_or(1, |(_, number)| number + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_by_its_lines() {
        let file = "---\nname: a\n---\n\nBe brief.\nBe kind.\n";
        assert_eq!(find_lines(file, "Be brief.\nBe kind."), Some(5..7));
        assert_eq!(find_lines(file, "Be kind."), Some(6..7));
        assert_eq!(find_lines(file, "Be loud."), None);
        assert_eq!(find_lines(file, " \n"), None);
        let described = "---\ndescription: Be brief.\n---\nBe brief.\n";
        assert_eq!(find_lines(described, "Be brief."), Some(4..5), "not what describes it");
        assert_eq!(find_lines("---\nBe brief.\n", "Be brief."), Some(2..3));
    }

    #[test]
    fn a_memory_of_several_lines_is_found() {
        let file = "## 2026-11-19\n- one\n- Multi line\n  that goes\\\n  \\\n  on (added at x)\n\nloose\nends\n";
        assert_eq!(find_lines(file, "Multi line that goes\n\non"), Some(3..7));
        assert_eq!(find_lines(file, "loose ends"), Some(8..10));
    }

    #[test]
    fn addresses_of_files_are_written_safely() {
        let link = |recorded| FileLink { agent: "a&b", recorded };
        let path = Path::new("/w/rules/<x>.md");
        let file = "/files?agent=a%26b&path=%2Fw%2Frules%2F%3Cx%3E.md";
        let recorded = link(Some(("7".parse().unwrap(), 2))).to_part(path, 3);
        assert_eq!(recorded, format!("{file}&turn=7&request=2&part=3#part"));
        assert_eq!(link(None).to_part(path, 3), file);
    }
}
