//! Conversations that Recto did not write: by hand, or by other programs. Who speaks is
//! told by a heading (`## User`), by bold words (`**User:** hi`) or by plain ones
//! (`User: hi`). A file keeps to one of these, and the others then are text.

use serde_json::json;

use super::lines::{Heading, heading, is_time, name_field};
use super::read::{ParsedMessage, TranscriptReader};

/// What begins a message.
struct SpeakerMarker<'a> {
    index: usize,
    style: MarkerStyle,
    /// `None` for the system.
    role: Option<&'static str>,
    /// The tool whose result it is, or the person who speaks.
    name: Option<&'a str>,
    at: Option<&'a str>,
    /// What stands behind it on its line.
    rest: &'a str,
}

/// How speakers are marked. The first is believed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MarkerStyle {
    /// A heading, of this level.
    Heading(usize),
    Bold,
    Plain,
}

pub(super) fn read_foreign(reader: &mut TranscriptReader<'_>) {
    let lines = reader.lines;
    let mut markers: Vec<_> =
        lines.outside().filter_map(|(index, line)| marker(index, line)).collect();
    let Some(style) = prevailing(&markers) else {
        if !lines.trimmed(&(0..lines.len())).is_empty() {
            reader.problem(0, "no message begins with a line such as `## User` or `## Assistant`");
        }
        return;
    };
    markers.retain(|marker| marker.style == style);
    let before = lines.trimmed(&(0..markers[0].index));
    if before.clone().any(|index| !is_ornament(lines.get(index))) {
        reader.notice(before.start, "what stands before the first message is left out");
    }
    let ends = markers.iter().skip(1).map(|marker| marker.index).chain([lines.len()]);
    markers.iter().zip(ends).for_each(|(marker, end)| finish(reader, marker, end));
}

fn finish(reader: &mut TranscriptReader<'_>, marker: &SpeakerMarker<'_>, end: usize) {
    let mut range = reader.lines.trimmed(&(marker.index + 1..end));
    // Many programs draw a line between messages.
    if !range.is_empty() && is_rule(reader.lines.get(range.end - 1)) {
        range.end -= 1;
    }
    let below = reader.text(reader.lines.slice(range));
    let text = match (marker.rest.trim(), below.as_str()) {
        (rest, "") => rest.to_owned(),
        ("", _) => below,
        (rest, _) => {
            let gap = reader.lines.get(marker.index + 1).trim().is_empty();
            format!("{rest}{}{below}", if gap { "\n\n" } else { "\n" })
        }
    };
    let Some(role) = marker.role else {
        return reader.notice(marker.index, "a system message is left out: Recto makes its own");
    };
    if text.is_empty() {
        return reader.notice(marker.index, "a message without a text is left out");
    }
    let mut json = json!({"role": role, "content": text});
    if let (Some(field), Some(name)) = (name_field(role), marker.name) {
        json[field] = name.into();
    }
    let at = marker.at.map(str::to_owned);
    reader.messages.push(ParsedMessage { line: marker.index, json, at, untouched: false });
}

/// The style that marks the most messages.
fn prevailing(markers: &[SpeakerMarker<'_>]) -> Option<MarkerStyle> {
    let count = |style| markers.iter().filter(|marker| marker.style == style).count();
    let mut styles: Vec<MarkerStyle> = markers.iter().map(|marker| marker.style).collect();
    styles.sort_unstable();
    styles.dedup();
    // Of those that mark as many, the first.
    styles.into_iter().rev().max_by_key(|style| count(*style))
}

fn marker(index: usize, line: &str) -> Option<SpeakerMarker<'_>> {
    if let Some(Heading { role, name, at }) = heading(line) {
        let (style, role) = (MarkerStyle::Heading(2), Some(role));
        return Some(SpeakerMarker { index, style, role, name, at, rest: "" });
    }
    let (line, name) = (line.trim_end(), None);
    let level = line.len() - line.trim_start_matches('#').len();
    if level > 0 {
        let title = line[level..].strip_prefix(' ').filter(|_| level <= 6)?;
        let (role, rest) = speaker(title)?;
        let at = time(rest)?;
        return Some(SpeakerMarker {
            index,
            style: MarkerStyle::Heading(level),
            role,
            name,
            at,
            rest: "",
        });
    }
    let undecorated = line.trim_start_matches(['*', '_']);
    let decoration = line.len() - undecorated.len();
    if decoration >= 2 {
        let (inside, rest) = closed(undecorated, &line[..decoration])?;
        let (role, behind) = speaker(inside)?;
        let at = time(behind)?;
        let (has_colon, rest) = match rest.strip_prefix(':') {
            Some(rest) => (true, rest),
            None => (inside.trim_end().ends_with(':'), rest),
        };
        let fits = has_colon || rest.trim().is_empty();
        let style = MarkerStyle::Bold;
        return fits.then_some(SpeakerMarker { index, style, role, name, at, rest });
    }
    let (title, rest) = line.split_once(':')?;
    let is_name = title.starts_with(|c: char| c.is_ascii_uppercase());
    let (role, behind) = speaker(title).filter(|_| is_name)?;
    let at = time(behind)?;
    Some(SpeakerMarker { index, style: MarkerStyle::Plain, role, name, at, rest })
}

/// What stands between stars or underscores, and what behind them.
fn closed<'a>(text: &'a str, decoration: &str) -> Option<(&'a str, &'a str)> {
    let closing: String = decoration.chars().rev().collect();
    text.split_once(closing.as_str())
}

/// Who is named at the start of a title, and what stands behind the name. The role is
/// `None` for the system.
fn speaker(title: &str) -> Option<(Option<&'static str>, &str)> {
    /// The words for each role. Where one begins with another, the longer stands first.
    const SPEAKERS: [(Option<&str>, &str); 6] = [
        (Some("user"), "you said,user,human,you,me,prompt"),
        (
            Some("assistant"),
            "chatgpt said,assistant,ai,bot,agent,model,llm,response,chatgpt,gpt,claude,gemini,\
             copilot,cursor",
        ),
        (Some("tool"), "tool"),
        (Some("error"), "error"),
        (Some("approval"), "approval"),
        (None, "system"),
    ];
    // Programs put pictures and stars around names.
    let title = title.trim_start_matches(|c: char| !c.is_alphanumeric());
    let behind = |name: &str| {
        let (start, rest) = title.split_at_checked(name.len())?;
        let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' && rest.len() > 1);
        (ends && start.eq_ignore_ascii_case(name)).then_some(rest)
    };
    SPEAKERS.into_iter().find_map(|(role, names)| Some((role, names.split(',').find_map(behind)?)))
}

/// The time behind a name; `None` where something else stands there, so that the name
/// does not name a speaker.
fn time(rest: &str) -> Option<Option<&str>> {
    let rest = rest.trim_matches(|c: char| !c.is_alphanumeric());
    match rest {
        "" => Some(None),
        rest => is_time(rest).then_some(Some(rest)),
    }
}

/// A line between messages.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let only = |mark: char| line.len() >= 3 && line.chars().all(|c| c == mark);
    only('-') || only('*') || only('_')
}

/// What no one misses: blank lines, rules and the title.
fn is_ornament(line: &str) -> bool {
    line.trim().is_empty() || is_rule(line) || line.starts_with("# ")
}
