//! A session in a file, in either form: what it is, is told by its content.

#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use recto_agent::{SessionExportForm, read_setting_value, session_setting_names};
use recto_context::{
    ContentPart, HistoryProblem, MarkdownRetraction, MarkdownSession, Message, MessageBody,
    MessageId, ToolCall, first_chars, from_markdown, read_jsonl,
};
use recto_store::{
    Moment, NewMessage, NewRetraction, RetractionReason, SessionName, SettingsMap, StoredMessage,
};
use serde_json::Value;

use super::super::session_name;
use crate::commands::history_failure;
use crate::failure::{CliFailure, CliResult};
use crate::input;
use crate::output::tell;
use crate::setup;

/// What a session has besides the settings that a person can change.
const SET_AT_THE_BEGINNING: [&str; 5] = ["audience", "folder", "reply", "unattended", "delegation"];

/// As much as is shown of a setting that is not taken, in characters.
const MAX_SHOWN_SETTING: usize = 80;

/// A session as its file holds it, not yet in the store.
pub(super) struct ImportedSession {
    /// The name that it had where it was exported.
    exported: Option<String>,
    pub(super) begun: Option<Moment>,
    /// The settings that hold for this session alone.
    pub(super) settings: SettingsMap,
    /// The messages, with a result for every call.
    pub(super) messages: Vec<ImportedMessage>,
    /// Says of each thing in the file that is not taken why that is.
    warnings: Vec<String>,
}

/// A message, and when it was said, where the file tells.
pub(super) struct ImportedMessage {
    message: Arc<Message>,
    at: Option<Moment>,
    /// What took it back, where something did.
    taken_back: Option<ImportedRetraction>,
}

/// Why and when an exchange was taken back where it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ImportedRetraction {
    reason: RetractionReason,
    at: Moment,
    /// The number that its first message had there.
    first: u64,
}

impl ImportedRetraction {
    fn read(reason: Option<&str>, at: Option<&str>, first: Option<u64>) -> Option<Self> {
        let reason = RetractionReason::from_name(reason?)?;
        Some(ImportedRetraction { reason, at: moment(at?)?, first: first? })
    }
}

impl ImportedSession {
    pub(super) fn read(file: &Path) -> CliResult<Self> {
        Self::parse(file, &read(file)?)
    }

    /// Takes a session out of the text of a file.
    fn parse(file: &Path, text: &str) -> CliResult<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut incoming = match text.trim_start().starts_with('{') {
            true => parse_jsonl(file, text)?,
            false => parse_markdown(file, text)?,
        };
        if incoming.messages.is_empty() {
            return Err(CliFailure::new(format!("there is no message in `{}`", file.display())));
        }
        incoming.messages = answer_open_calls(incoming.messages);
        incoming.begun = incoming.begun.or(incoming.messages[0].at);
        Ok(incoming)
    }

    /// Takes the name, the beginning and the settings from what the file says of the session.
    fn new(session: &Value, messages: Vec<ImportedMessage>, notices: &[HistoryProblem]) -> Self {
        let mut settings = session["settings"].as_object().cloned().unwrap_or_default();
        let mut warnings: Vec<String> = notices.iter().map(ToString::to_string).collect();
        // A file may ask for more caution, but gives no rights: it can be anybody's.
        if settings.get("approval").is_some_and(|approval| approval != "always") {
            settings.retain(|key, _| key != "approval");
            warnings.push(
                "when tools may run unasked is not taken from a file; `/set approval` says it anew"
                    .to_owned(),
            );
        }
        drop_senseless(&mut settings, &mut warnings);
        ImportedSession {
            exported: session["name"].as_str().map(str::to_owned),
            begun: session["created"].as_str().and_then(moment),
            settings,
            messages,
            warnings,
        }
    }

    /// The session's name, here as there, or else that of its file.
    pub(super) fn name(&self, file: &Path) -> CliResult<SessionName> {
        let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let fallback = stem.filter(|stem| stem != "-");
        // A session without a name is called by its number, which is another's here.
        let exported = self.exported.clone().filter(|name| name.parse::<u64>().is_err());
        match exported.or(fallback) {
            Some(name) => session_name(&name),
            None => {
                Err(CliFailure::new("the session has no name").hint("give it one with --name NAME"))
            }
        }
    }

    /// The messages, each with a time: its own, that of the one before it, or now.
    pub(super) fn timed(&self) -> Vec<NewMessage> {
        let mut last = self.begun;
        let timed = self.messages.iter().map(|imported| {
            last = imported.at.or(last);
            let at = last.unwrap_or_else(Moment::now);
            NewMessage { message: imported.message.clone(), at }
        });
        timed.collect()
    }

    /// What was taken back of them, by the numbers that they have now.
    pub(super) fn retractions(&self) -> Vec<NewRetraction> {
        let is_same = |a: &ImportedMessage, b: &ImportedMessage| a.taken_back == b.taken_back;
        let new = |exchange: &[ImportedMessage]| {
            let taken_back = exchange.first()?.taken_back?;
            Some(NewRetraction {
                first: exchange.first()?.message.id,
                last: exchange.last()?.message.id,
                reason: taken_back.reason,
                actor: setup::actor().to_store(),
                at: taken_back.at,
            })
        };
        self.messages.chunk_by(is_same).filter_map(new).collect()
    }

    /// Whether a session begins with all of it.
    pub(super) fn is_in(&self, stored: &[StoredMessage]) -> bool {
        let same = |(imported, stored): (&ImportedMessage, &StoredMessage)| {
            imported.message.body == stored.message.body
                && imported.at.is_none_or(|at| at == stored.at)
        };
        stored.len() >= self.messages.len() && self.messages.iter().zip(stored).all(same)
    }

    /// Tells what is not taken.
    pub(super) fn tell_warnings(&self) {
        self.warnings.iter().for_each(|warning| tell(&format_args!("warning: {warning}")));
    }
}

/// Leaves out what no setting takes, as `/set` would refuse it, and says so.
fn drop_senseless(settings: &mut SettingsMap, warnings: &mut Vec<String>) {
    settings.retain(|key, value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let read = match session_setting_names().any(|name| name == key) {
            true => read_setting_value(key, &text),
            false if SET_AT_THE_BEGINNING.contains(&&**key) => Ok(value.clone()),
            false => Err("there is no such setting of a session".to_owned()),
        };
        match read {
            Ok(read) => *value = read,
            Err(problem) => {
                let setting = first_chars(&format!("{key} = {text}"), MAX_SHOWN_SETTING);
                warnings.push(format!("`{setting}` is not taken from the file: {problem}"));
                return false;
            }
        }
        true
    });
}

fn read(file: &Path) -> CliResult<String> {
    if file == Path::new("-") {
        return input::all();
    }
    File::open(file).and_then(input::read_text).map_err(|error| {
        CliFailure::new(format!("cannot read `{}`", file.display())).because(&error)
    })
}

fn cannot_import(file: &Path) -> CliFailure {
    CliFailure::new(format!("cannot import `{}`", file.display()))
}

fn parse_jsonl(file: &Path, text: &str) -> CliResult<ImportedSession> {
    let (header, lines) = split_header(text);
    // Behind the messages stand the records of requests, if they were exported.
    let end = lines.find("\n{\"request\":").map_or(lines.len(), |end| end + 1);
    let lines = &lines[..end];
    if let Some(version) = header.as_ref().map(|header| &header["version"])
        && *version != SessionExportForm::VERSION
    {
        let what = format!("cannot import `{}`: it has version {version}", file.display());
        return Err(CliFailure::new(what).hint("use the newer Recto that wrote it"));
    }
    let messages = read_jsonl(lines).map_err(|mut problems| {
        // Lines are counted from the first of the file.
        let before = usize::from(header.is_some());
        problems.iter_mut().for_each(|problem| problem.line += before);
        history_failure(cannot_import(file), &problems)
    })?;
    let marks = lines.lines().filter(|line| !line.trim().is_empty()).map(marks_of_line);
    let imported = messages
        .into_iter()
        .zip(marks)
        .map(|(message, (at, taken_back))| ImportedMessage { message, at, taken_back })
        .collect();
    let session = header.map(|header| header["session"].clone()).unwrap_or_default();
    Ok(ImportedSession::new(&session, imported, &[]))
}

/// The line that says which session it was, if there is one, and the rest.
fn split_header(text: &str) -> (Option<Value>, &str) {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let header = serde_json::from_str::<Value>(first).ok();
    match header.filter(|header| header["format"] == SessionExportForm::FORMAT) {
        Some(header) => (Some(header), rest),
        None => (None, text),
    }
}

/// When the message of a line was said, and what took it back.
fn marks_of_line(line: &str) -> (Option<Moment>, Option<ImportedRetraction>) {
    let line = serde_json::from_str::<Value>(line).unwrap_or_default();
    let mark = &line["taken_back"];
    let taken_back = ImportedRetraction::read(
        mark["reason"].as_str(),
        mark["at"].as_str(),
        mark["first"].as_u64(),
    );
    (line["at"].as_str().and_then(moment), taken_back)
}

/// The most problems of a file that are told one by one.
const SHOWN_PROBLEMS: usize = 20;

fn parse_markdown(file: &Path, text: &str) -> CliResult<ImportedSession> {
    let MarkdownSession { session, messages, retractions, notices } =
        from_markdown(text).map_err(|problems| {
            let shown = problems.iter().take(SHOWN_PROBLEMS);
            let failure =
                shown.fold(cannot_import(file), |failure, problem| failure.because(problem));
            failure.hint(
                "a session is Markdown with a heading for each message (`## User`, \
                 `## Assistant`), or JSON with a message a line",
            )
        })?;
    let imported = messages.into_iter().map(|found| {
        let at = found.at.as_deref().and_then(moment);
        let is_in = |mark: &&MarkdownRetraction| {
            found.written.is_some_and(|written| (mark.first..=mark.last).contains(&written))
        };
        let taken_back = retractions.iter().find(is_in).and_then(|mark| {
            ImportedRetraction::read(Some(&mark.reason), Some(&mark.at), Some(mark.first.0))
        });
        ImportedMessage { message: found.message, at, taken_back }
    });
    Ok(ImportedSession::new(&session.unwrap_or_default(), imported.collect(), &notices))
}

/// An exact time, or one that a person wrote and means where they are.
fn moment(text: &str) -> Option<Moment> {
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        return Some(Moment::new(timestamp));
    }
    let civil: jiff::civil::DateTime = text.parse().ok()?;
    let zoned = civil.to_zoned(jiff::tz::TimeZone::system()).ok()?;
    Some(Moment::new(zoned.timestamp()))
}

/// The messages, with a result for every call that has none: a model server would
/// refuse the conversation otherwise.
fn answer_open_calls(messages: Vec<ImportedMessage>) -> Vec<ImportedMessage> {
    let mut all: Vec<ImportedMessage> = Vec::with_capacity(messages.len());
    let mut open: Vec<ToolCall> = Vec::new();
    let count = messages.len();
    for imported in messages {
        match &imported.message.body {
            MessageBody::Tool { call, .. } => open.retain(|made| made.id != *call),
            // What people see and models don't may stand in between.
            _ if !imported.message.is_for_models() => {}
            _ => close_open_calls(&mut all, &mut open),
        }
        open.extend_from_slice(imported.message.calls());
        all.push(imported);
    }
    close_open_calls(&mut all, &mut open);
    let begins_with_none =
        all.first().is_some_and(|first| first.message.id == MessageId::default());
    if all.len() > count || begins_with_none {
        // Numbers begin with 1 and grow, and there may be no room between two of them.
        for (number, imported) in (1..).zip(&mut all) {
            let body = imported.message.body.clone();
            imported.message = Arc::new(Message { id: MessageId(number), body });
        }
    }
    all
}

/// Answers the open calls, behind the results that the last of them has.
fn close_open_calls(all: &mut Vec<ImportedMessage>, open: &mut Vec<ToolCall>) {
    let Some((at, taken_back)) = all.last().map(|last| (last.at, last.taken_back)) else {
        return;
    };
    for call in open.drain(..) {
        let content = vec![ContentPart::Text("the result is not in what was imported".into())];
        let body = MessageBody::Tool { call: call.id, name: call.name, content };
        let message = Arc::new(Message { id: MessageId::default(), body });
        all.push(ImportedMessage { message, at, taken_back });
    }
}
