//! Sessions out of the store into files, and back. How they are written is `recto-agent`'s to say.
//! Requests are not taken in: what another Recto sent was not sent by this one.

mod incoming;

#[cfg(any(test, fuzzing))]
pub(crate) use incoming::fuzzing;

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use recto_agent::{Conversation, RecordReader, SOLE_ACCOUNT, SessionExportForm};
use recto_context::Audience;
use recto_store::{
    BindingKey, Moment, NewSession, NewTranscript, SessionFilter, SessionHolder, SessionName,
    SessionSummary, Store, StoreError, StoreResult, StoredSession,
};
use serde_json::json;

use super::session_name;
use crate::cli::SessionFormat;
use crate::config::Settings;
use crate::failure::{CliFailure, CliResult};
use crate::output::{counted, print_text, tame, tell};
use crate::setup::{self, TERMINAL};
use incoming::ImportedSession;

/// What of a session is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExportContent {
    /// The messages.
    Talk,
    /// The messages, and the records of all requests.
    Records,
}

pub(super) async fn export(
    store: &Store,
    session: StoredSession,
    out: Option<&Path>,
    format: Option<SessionFormat>,
    content: ExportContent,
) -> CliResult {
    let form = match (format.unwrap_or_else(|| format_of(out)), content) {
        (SessionFormat::Jsonl, ExportContent::Talk) => SessionExportForm::Jsonl,
        (SessionFormat::Jsonl, ExportContent::Records) => SessionExportForm::JsonlWithRecords,
        (SessionFormat::Markdown, ExportContent::Talk) => SessionExportForm::Markdown,
        (SessionFormat::Markdown, ExportContent::Records) => {
            return Err(CliFailure::new("records can't be written as Markdown")
                .hint("write them with `--format jsonl`"));
        }
    };
    let actor = setup::actor();
    let text = RecordReader::new(store, &actor).export_session(session.id, form).await?;
    match out {
        None => print_text(&text),
        Some(path) => {
            write_new(path, &text).map_err(|error| {
                let what = format!("cannot write `{}`", path.display());
                let failure = CliFailure::new(what).because(&error);
                match error.kind() {
                    io::ErrorKind::AlreadyExists => failure.hint("name a file that is not there"),
                    _ => failure,
                }
            })?;
            let count = store.messages(session.id, None).await?.len();
            tell(&format_args!("{} written to {}", counted(count, "message"), path.display()));
            Ok(())
        }
    }
}

/// The form that a file's name asks for.
fn format_of(path: Option<&Path>) -> SessionFormat {
    let extension = path.and_then(Path::extension).unwrap_or_default().to_ascii_lowercase();
    match extension == "md" || extension == "markdown" {
        true => SessionFormat::Markdown,
        false => SessionFormat::Jsonl,
    }
}

/// Writes a new file, never over one that is there: it may be the only copy of something.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

pub(super) async fn import(
    store: &Store,
    settings: &Settings,
    file: &Path,
    name: Option<&str>,
) -> CliResult {
    let incoming = ImportedSession::read(file)?;
    let name = match name {
        Some(name) => session_name(name)?,
        None => incoming.name(file)?,
    };
    let session = import_session(store, settings, &incoming, name).await?;
    incoming.tell_warnings();
    tell(&format_args!(
        "{} imported as session {}; go on with `recto chat --session {}`",
        counted(incoming.messages.len(), "message"),
        tame(&session.label()),
        session.id
    ));
    Ok(())
}

/// The session that a file holds, to be gone on with: the one that it became before, as
/// long as nothing in the file is missing there, or else a new one.
pub(crate) async fn resume_from_file(
    store: &Store,
    settings: &Settings,
    file: &Path,
) -> CliResult<StoredSession> {
    if file == Path::new("-") {
        return Err(CliFailure::new("a session to go on with can't come from standard input")
            .hint("name a file: what is typed or piped in are messages"));
    }
    let incoming = ImportedSession::read(file)?;
    let name = incoming.name(file)?;
    let shown = file.display();
    if let Some(session) = find_imported(store, &settings.agent.name, &incoming, &name).await? {
        tell(&format_args!(
            "session {} has all {} of {shown}, and goes on",
            tame(&session.label()),
            counted(incoming.messages.len(), "message")
        ));
        return Ok(session);
    }
    incoming.tell_warnings();
    let mut free = name.clone();
    for number in 2.. {
        match import_session(store, settings, &incoming, free).await {
            Ok(session) => {
                tell(&format_args!(
                    "session {1} has {0} of {shown} now, and goes on",
                    counted(incoming.messages.len(), "message"),
                    tame(&session.label())
                ));
                return Ok(session);
            }
            Err(StoreError::NameTaken { .. }) => free = numbered(&name, number)?,
            Err(error) => return Err(error.into()),
        }
    }
    Err(CliFailure::new("no name is free for the session"))
}

/// The name with a number behind it.
fn numbered(name: &SessionName, number: u32) -> CliResult<SessionName> {
    let end = format!("-{number}");
    let room = SessionName::LONGEST - end.len();
    session_name(&(name.as_str().chars().take(room).collect::<String>() + &end))
}

async fn import_session(
    store: &Store,
    settings: &Settings,
    incoming: &ImportedSession,
    name: SessionName,
) -> StoreResult<StoredSession> {
    let agent = &settings.agent.name;
    let (messages, retractions) = (incoming.timed(), incoming.retractions());
    let place = Conversation::with_owner(TERMINAL, SOLE_ACCOUNT, name.as_str());
    // Who reads along, and where it works, is decided by where it goes on, whatever the file
    // says.
    let conversation = Some(place.scope().into());
    let audience = Audience { conversation, ..setup::owner(settings) };
    let key = BindingKey {
        agent: agent.clone(),
        surface: place.surface,
        account: place.account,
        conversation: place.name,
        user: place.user,
        holder: SessionHolder::owner(),
    };
    let mut of_session = incoming.settings.clone();
    of_session.insert("audience".to_owned(), json!(audience));
    of_session.remove("folder");
    if let Some(folder) = setup::session_folder(settings) {
        of_session.insert("folder".to_owned(), json!(folder));
    }
    let new = NewSession {
        agent: agent.clone(),
        name: Some(name),
        surface: TERMINAL.to_owned(),
        at: incoming.begun.or(messages.first().map(|first| first.at)).unwrap_or_else(Moment::now),
        settings: of_session,
    };
    store.import(key, new, NewTranscript { messages, retractions }).await
}

/// The session that a file became: it began when the file says, or else has the name
/// that it got, and holds everything in the file.
async fn find_imported(
    store: &Store,
    agent: &str,
    incoming: &ImportedSession,
    name: &SessionName,
) -> CliResult<Option<StoredSession>> {
    let fits = |summary: &SessionSummary| {
        let session = &summary.session;
        let is_it = match incoming.begun {
            Some(begun) => session.created == begun,
            None => session.name.as_ref().is_some_and(|found| is_numbered(found, name)),
        };
        // What is typed here is not for those who read along elsewhere.
        let is_owners = session.settings.get("audience").is_some_and(|it| it["who"] == "owner");
        let has_all = summary.messages >= incoming.messages.len() as u64;
        is_it && is_owners && session.agent == agent && has_all
    };
    let mut sessions = store.sessions(SessionFilter::All).await?;
    sessions.retain(fits);
    // Those that are not in the archive first.
    sessions.sort_by_key(|summary| summary.session.archived.is_some());
    for SessionSummary { session, .. } in sessions {
        let messages = store.messages(session.id, None).await?;
        if incoming.is_in(&messages) {
            return Ok(Some(session));
        }
    }
    Ok(None)
}

/// Whether a name is another one, or that with a number behind it.
fn is_numbered(found: &SessionName, name: &SessionName) -> bool {
    let rest = found.as_str().strip_prefix(name.as_str());
    rest.is_some_and(|rest| {
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        rest.is_empty() || digits != rest && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}
