//! Sessions out of the store and into it: one line of JSON for the session, one
//! for each message. A message is data in there, so whatever it says, headings
//! and all, comes back as it was.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use recto_context::{Body, ContentPart, Message, MessageId, ToolCall, read_jsonl};
use recto_store::{BindingKey, Moment, NewMessage, NewSession, SessionName, Store};
use serde_json::{Value, json};

use super::{find, message_json, session_json, session_name};
use crate::commands::{failed, history_failure};
use crate::failure::Failure;
use crate::input;
use crate::output::{print_data, tame, tell};

/// Says what a file is, so that a reader need not guess.
const FORMAT: &str = "recto-session";

/// The version of the form in which sessions are written.
const VERSION: u32 = 1;

pub(super) async fn export(store: &Store, name: &str, out: Option<&Path>) -> Result<(), Failure> {
    let session = find(store, name).await?;
    let messages = store.messages(session.id, None).await.map_err(failed)?;
    let mut lines =
        vec![json!({"format": FORMAT, "version": VERSION, "session": session_json(&session)})];
    lines.extend(messages.iter().map(message_json));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    match out {
        None => print_data(&text),
        Some(path) => {
            write_new(path, &text).map_err(|error| {
                let what = format!("cannot write `{}`", path.display());
                let failure = Failure::new(what).because(&error);
                match error.kind() {
                    io::ErrorKind::AlreadyExists => failure.hint("name a file that is not there"),
                    _ => failure,
                }
            })?;
            tell(&format_args!("{} messages written to {}", messages.len(), path.display()));
            Ok(())
        }
    }
}

/// Never over a file that is there: it may be the only copy of something.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

pub(super) async fn import(
    store: &Store,
    agent: &str,
    file: &Path,
    name: Option<&str>,
) -> Result<(), Failure> {
    let text = read(file)?;
    let (header, lines) = split_header(&text);
    if let Some(version) = header.as_ref().map(|header| &header["version"])
        && *version != VERSION
    {
        let what = format!("cannot import `{}`: it has version {version}", file.display());
        return Err(Failure::new(what).hint("use the newer Recto that wrote it"));
    }
    let messages = read_jsonl(lines).map_err(|mut problems| {
        // Lines are counted from the first of the file.
        let before = text.lines().count() - lines.lines().count();
        problems.iter_mut().for_each(|problem| problem.line += before);
        let failure = Failure::new(format!("cannot import `{}`", file.display()));
        history_failure(failure, &problems)
    })?;
    if messages.is_empty() {
        return Err(Failure::new(format!("there is no message in `{}`", file.display())));
    }
    let name = import_name(file, name, header.as_ref())?;
    let times = lines.lines().filter(|line| !line.trim().is_empty()).map(said_at);
    let messages: Vec<NewMessage> = messages
        .into_iter()
        .zip(times)
        .map(|(message, at)| NewMessage { message, at: at.unwrap_or_else(Moment::now) })
        .collect();
    let messages = answered(messages);
    let begun = header.as_ref().and_then(|header| moment(&header["session"]["created"]));
    let settings = header.as_ref().and_then(|header| header["session"]["settings"].as_object());
    let count = messages.len();
    let key = BindingKey {
        agent: agent.to_owned(),
        surface: "terminal".to_owned(),
        account: "local".to_owned(),
        conversation: name.to_string(),
        user: None,
    };
    let new = NewSession {
        agent: agent.to_owned(),
        name: Some(name),
        surface: "terminal".to_owned(),
        at: begun.or(messages.first().map(|first| first.at)).unwrap_or_else(Moment::now),
        settings: settings.cloned().unwrap_or_default(),
    };
    let session = store.import(key, new, messages).await.map_err(failed)?;
    tell(&format_args!(
        "{count} messages imported as session {}; go on with `recto chat --session {}`",
        tame(&session.label()),
        session.id
    ));
    Ok(())
}

/// The messages, with a result for every call that has none: a model server would
/// refuse the conversation otherwise.
fn answered(messages: Vec<NewMessage>) -> Vec<NewMessage> {
    let mut all: Vec<NewMessage> = Vec::with_capacity(messages.len());
    let mut open: Vec<ToolCall> = Vec::new();
    let count = messages.len();
    for new in messages {
        match &new.message.body {
            Body::Tool { call, .. } => open.retain(|made| made.id != *call),
            // What people see and models don't may stand in between.
            _ if !new.message.is_for_models() => {}
            _ => close(&mut all, &mut open),
        }
        open.extend_from_slice(new.message.calls());
        all.push(new);
    }
    close(&mut all, &mut open);
    if all.len() > count {
        // Numbers must grow, and there may be no room between two of them.
        for (number, new) in (1..).zip(&mut all) {
            let body = new.message.body.clone();
            new.message = Arc::new(Message { id: MessageId(number), body });
        }
    }
    all
}

/// Answers the open calls, behind the results that the last of them has.
fn close(all: &mut Vec<NewMessage>, open: &mut Vec<ToolCall>) {
    let Some(at) = all.last().map(|last| last.at) else { return };
    for call in open.drain(..) {
        let content = vec![ContentPart::Text("the result is not in what was imported".into())];
        let body = Body::Tool { call: call.id, name: call.name, content };
        let message = Arc::new(Message { id: MessageId::default(), body });
        all.push(NewMessage { message, at });
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    let failure = || Failure::new(format!("cannot read `{}`", file.display()));
    if file == Path::new("-") {
        return input::all();
    }
    let opened = File::open(file).map_err(|error| failure().because(&error))?;
    input::read_text(opened).map_err(|error| failure().because(&error))
}

/// The line that says which session it was, if there is one, and the rest.
fn split_header(text: &str) -> (Option<Value>, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let header = serde_json::from_str::<Value>(first).ok();
    match header.filter(|header| header["format"] == FORMAT) {
        Some(header) => (Some(header), rest),
        None => (None, text),
    }
}

fn import_name(
    file: &Path,
    name: Option<&str>,
    header: Option<&Value>,
) -> Result<SessionName, Failure> {
    if let Some(name) = name {
        return session_name(name);
    }
    let exported = header.and_then(|header| header["session"]["name"].as_str());
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let fallback = stem.filter(|stem| stem != "-");
    let Some(name) = exported.map(str::to_owned).or(fallback) else {
        return Err(Failure::new("the session has no name").hint("give it one with --name NAME"));
    };
    session_name(&name)
}

fn said_at(line: &str) -> Option<Moment> {
    moment(&serde_json::from_str::<Value>(line).ok()?["at"])
}

fn moment(value: &Value) -> Option<Moment> {
    let timestamp: jiff::Timestamp = value.as_str()?.parse().ok()?;
    Some(Moment::new(timestamp))
}
