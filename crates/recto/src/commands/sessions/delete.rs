//! `recto sessions delete`: a session goes for good, with everything that was kept of it.
//! Its files go with it, and its messages from the history of what was typed. Commands stay there:
//! which session they were typed in is not known.

use std::collections::HashSet;
use std::io::{self, Write};

use recto_agent::{ChatCommand, Inbound, InboundReading, delete_session_files};
use recto_context::Text;
use recto_store::{DeletedSession, Moment, Store, StoreError, StoredSession};

use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::input;
use crate::output::{counted, tame, tell};
use crate::setup;
use crate::terminal::history::forget_entries;

/// Whether a person has said already that they mean it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confirmation {
    /// `--yes` was typed.
    Given,
    /// The person is asked, twice.
    Asked,
}

pub(super) async fn run(
    home: &RectoHome,
    store: &Store,
    session: StoredSession,
    confirmation: Confirmation,
) -> CliResult {
    let messages = store.messages(session.id, None).await?;
    if confirmation == Confirmation::Asked && !ask_twice(&session, messages.len())? {
        tell(&"nothing was deleted");
        return Ok(());
    }
    let sent: Vec<String> = messages
        .iter()
        .filter(|stored| stored.message.is_user())
        .flat_map(|stored| stored.message.content())
        .filter_map(|part| part.as_text().map(Text::as_str).map(str::to_owned))
        .collect();
    store.must_be_deletable(session.id).await.map_err(|error| {
        let is_busy = matches!(error, StoreError::Busy { .. });
        let failure = CliFailure::from(error);
        let name = tame(&session.label());
        let stop = format!("stop it first: `recto sessions stop {name}`");
        if is_busy { failure.hint(stop) } else { failure }
    })?;
    // The session itself goes last: whoever is cut short before that can delete it again.
    let files = forget_elsewhere(home, &session, &sent)
        .map_err(|failure| failure.add_words("; the session is still there"))?;
    let deleted = store.delete_session(session.id, Moment::now()).await?;
    tell_deleted(store, &session, deleted, files);
    Ok(())
}

/// Takes away what stands of a session outside of the store: what was typed, and its files. Says
/// how many files there were.
pub(crate) fn forget_elsewhere(
    home: &RectoHome,
    session: &StoredSession,
    said: &[String],
) -> CliResult<usize> {
    let said: HashSet<&str> = said.iter().map(String::as_str).collect();
    let is_gone = |entry: &str| sent_text(entry).is_some_and(|text| said.contains(text.as_str()));
    forget_entries(&home.history_file(), is_gone).map_err(|error| {
        CliFailure::new("cannot take what was typed out of `data/history`").because(&error)
    })?;
    delete_session_files(&home.path().join("sessions"), session)
        .map_err(|error| CliFailure::new("cannot delete its file in `sessions/`").because(&error))
}

/// The message that was sent for what was typed: as it is, without a slash that says that it is
/// no command, or in another's place.
fn sent_text(typed: &str) -> Option<String> {
    match Inbound::text(&setup::actor(), typed).read_command() {
        Ok(InboundReading::Message(inbound)) => Some(inbound.visible_text()),
        Ok(InboundReading::Command(ChatCommand::Edit(text))) => text,
        Ok(InboundReading::Command(_)) | Err(_) => None,
    }
}

/// Asks for the session's name, and then once more.
fn ask_twice(session: &StoredSession, messages: usize) -> CliResult<bool> {
    let label = session.label();
    if !input::can_ask() {
        return Err(CliFailure::new(format!("session {} was not deleted", tame(&label)))
            .hint("nobody can be asked here; `--yes` says that you mean it"));
    }
    let (messages, shown) = (counted(messages, "message"), tame(&label));
    tell(&format_args!(
        "Session {shown} has {messages}. Deleting takes them away for good, with every record."
    ));
    if ask("Type its name to go on: ")? != label {
        tell(&"that is not its name");
        return Ok(false);
    }
    Ok(ask("It can't be brought back. Type yes to delete it: ")? == "yes")
}

pub(super) fn ask(question: &str) -> CliResult<String> {
    let unreadable = |error: io::Error| CliFailure::new("cannot ask").because(&error);
    let mut err = io::stderr();
    write!(err, "{question}").and_then(|()| err.flush()).map_err(unreadable)?;
    let mut line = String::new();
    io::stdin().read_line(&mut line).map_err(unreadable)?;
    Ok(line.trim().to_owned())
}

fn tell_deleted(store: &Store, session: &StoredSession, deleted: DeletedSession, files: usize) {
    let DeletedSession { messages, turns, is_wiped } = deleted;
    let count = |count: u64, what| counted(usize::try_from(count).unwrap_or(usize::MAX), what);
    let files = match files {
        0 => String::new(),
        files => format!(" and {}", counted(files, "file")),
    };
    tell(&format_args!(
        "session {} is deleted: {}, {}{files}",
        tame(&session.label()),
        count(messages, "message"),
        count(turns, "turn"),
    ));
    if !is_wiped && store.is_on_server() {
        tell(
            &"when its bytes are gone from the files, logs and backups of the database's server is \
              for the server to say",
        );
    } else if !is_wiped {
        tell(
            &"its bytes are still in the database's file, because another Recto reads it or the \
              disk is full\n\nhint: end the others, or make room; whatever session is deleted next \
              takes these bytes along",
        );
    }
}
