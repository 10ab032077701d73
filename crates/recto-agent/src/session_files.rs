//! Sessions as Markdown files that are kept up to date (`sessions.markdown`).
//!
//! A file begins with a session's fourth message and then only grows: what is new is
//! appended, and what a person changed in it stays changed. A file that can't be
//! understood any more is left alone, and the session goes on in another beside it. The
//! store has all of it anyway, so no failure in here fails a turn.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use recto_context::{
    MarkdownHeader, MarkdownMessage, MarkdownRetraction, Message, MessageId, Text, TimedMessage,
    from_markdown, more_markdown, to_markdown,
};
use recto_fs::{Access, NewFile, create_private_folder, lock_within};
use recto_store::{
    Moment, SessionId, Store, StoreError, StoredMessage, StoredRetraction, StoredSession,
};
use serde_json::{Value, json};

/// From which message on a session has a file.
const FIRST_KEPT: usize = 4;

/// The most that is read of a file that somebody else may have changed.
const MOST_BYTES: u64 = 256 << 20;

/// How long another process is waited for that writes a file, and how often it is looked for.
const LOCK_LIMIT: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// How many files of one session are tried before giving up.
const MOST_FILES: u32 = 99;

/// The folder of sessions as Markdown.
#[derive(Debug)]
pub(crate) struct SessionFiles {
    folder: Arc<Path>,
    /// How files were left: one that is still so need not be read again.
    written: Mutex<HashMap<SessionId, WrittenFile>>,
}

/// An error that keeps a session from being kept as Markdown. The text is for people,
/// in one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionFileError {
    /// The store did not give the messages.
    #[error("session {session} can't be kept as Markdown: {error}")]
    Store { session: SessionId, error: StoreError },
    /// The file, or its folder, can't be written.
    #[error("session {session} can't be kept as Markdown in `{}`: {error}", .path.display())]
    File { session: SessionId, path: PathBuf, error: io::Error },
}

/// A file as it was left, to tell whether somebody else has written in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WrittenFile {
    path: PathBuf,
    /// The last message in it.
    last: MessageId,
    /// How much of what was taken back is marked in it.
    retractions: usize,
    length: u64,
    modified: Option<SystemTime>,
}

impl SessionFiles {
    pub(crate) fn new(folder: impl Into<PathBuf>) -> Self {
        SessionFiles { folder: folder.into().into(), written: Mutex::default() }
    }

    /// Lets go of what is known of a session's file. It is read again when need be.
    pub(crate) fn forget(&self, session: SessionId) {
        self.written.lock().remove(&session);
    }

    /// Of how many files something is known.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.written.lock().len()
    }

    /// Brings a session's file up to date; one that has few messages yet has none.
    pub(crate) async fn update(
        &self,
        store: &Store,
        session: SessionId,
    ) -> Result<(), SessionFileError> {
        let in_store = |error| SessionFileError::Store { session, error };
        let retractions = store.retractions(session).await.map_err(in_store)?;
        let retractions: Arc<[MarkdownRetraction]> =
            retractions.iter().map(StoredRetraction::to_markdown).collect();
        let known = self.written.lock().get(&session).cloned();
        if let Some(written) = known {
            let from = MessageId(written.last.0.saturating_add(1));
            let new = store.messages(session, Some(from)).await.map_err(in_store)?;
            let at = written.path.clone();
            let marks = retractions.clone();
            match run_blocking(move || append_new(&written, &new, &marks))
                .await
                .map_err(in_file(session, &at))?
            {
                Some(written) => {
                    self.written.lock().insert(session, written);
                    return Ok(());
                }
                // Somebody else was there.
                None => self.written.lock().remove(&session),
            };
        }
        let messages = store.messages(session, None).await.map_err(in_store)?;
        let found = store.session(session).await.map_err(in_store)?;
        let Some(found) = found.filter(|_| messages.len() >= FIRST_KEPT) else { return Ok(()) };
        let folder = self.folder.clone();
        let placed =
            run_blocking(move || find_or_create(&folder, &found, &messages, &retractions)).await;
        let written = placed.map_err(in_file(session, &self.folder))?;
        self.written.lock().insert(session, written);
        Ok(())
    }
}

fn in_file(session: SessionId, path: &Path) -> impl FnOnce(io::Error) -> SessionFileError {
    let path = path.to_owned();
    move |error| SessionFileError::File { session, path, error }
}

/// Work on files, where it holds up no other task. A panic of it is told as an error.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// Appends to a file that is as it was left; `None` if it is not.
fn append_new(
    written: &WrittenFile,
    new: &[StoredMessage],
    retractions: &[MarkdownRetraction],
) -> io::Result<Option<WrittenFile>> {
    let Some(mut file) = open(&written.path)? else { return Ok(None) };
    let marked = written.retractions;
    if WrittenFile::from_file(&written.path, &file, written.last, marked)? != *written {
        return Ok(None);
    }
    append(&mut file, &more_text(new, retractions.get(marked..).unwrap_or_default()))?;
    let last = new.last().map_or(written.last, |stored| stored.message.id);
    WrittenFile::from_file(&written.path, &file, last, retractions.len()).map(Some)
}

impl WrittenFile {
    fn from_file(
        path: &Path,
        file: &File,
        last: MessageId,
        retractions: usize,
    ) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let (path, modified) = (path.to_owned(), metadata.modified().ok());
        Ok(WrittenFile { path, last, retractions, length: metadata.len(), modified })
    }
}

/// Finds the session's file, or begins one.
fn find_or_create(
    folder: &Path,
    session: &StoredSession,
    messages: &[StoredMessage],
    retractions: &[MarkdownRetraction],
) -> io::Result<WrittenFile> {
    create_private_folder(folder)?;
    let name = file_name(session, messages);
    let last = messages.last().map(|stored| stored.message.id).unwrap_or_default();
    for counter in 1..=MOST_FILES {
        let end = if counter == 1 { String::new() } else { format!("-{counter}") };
        let path = folder.join(format!("{name}{end}.md"));
        match open(&path) {
            Ok(Some(mut file)) => {
                if let Some(text) = missing(&mut file, session, messages, retractions) {
                    append(&mut file, &text)?;
                    return WrittenFile::from_file(&path, &file, last, retractions.len());
                }
            }
            Ok(None) if fs::symlink_metadata(&path).is_ok() => {}
            Ok(None) => match create(&path, &whole_text(session, messages, retractions)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                begun => return WrittenFile::from_file(&path, &begun?, last, retractions.len()),
            },
            // It is there, but not for us.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many files of this session are there"))
}

/// Deletes the files of a session, and says how many there were.
pub fn delete_session_files(folder: &Path, session: &StoredSession) -> io::Result<usize> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut deleted = 0;
    for entry in entries {
        let path = entry?.path();
        let Some(mut file) = open(&path)? else { continue };
        if is_of_session(&path, &mut file, session) {
            fs::remove_file(&path)?;
            deleted += 1;
        }
    }
    Ok(deleted)
}

/// Whether a file says that it is this session's: by its header, or by its name where a person
/// took the header away.
fn is_of_session(path: &Path, file: &mut File, session: &StoredSession) -> bool {
    let mut text = String::new();
    let is_read = file.take(MOST_BYTES).read_to_string(&mut text).is_ok();
    let found = is_read.then(|| from_markdown(&text).ok()).flatten();
    match found.and_then(|found| found.session) {
        Some(header) => has_header_of(&Some(header), session),
        None => has_name_of(path, session),
    }
}

/// Whether a file has the name that a file of this session is given, whatever its topic and number.
fn has_name_of(path: &Path, session: &StoredSession) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let stem = name.and_then(|name| name.strip_prefix(FILE_PREFIX)?.strip_suffix(".md"));
    stem.is_some_and(|stem| {
        let end = name_end(session);
        let counter = stem.rsplit_once('-').filter(|(_, counter)| counter.parse::<u32>().is_ok());
        stem.ends_with(&end) || counter.is_some_and(|(rest, _)| rest.ends_with(&end))
    })
}

fn has_header_of(header: &Option<Value>, session: &StoredSession) -> bool {
    header.as_ref().is_some_and(|header| {
        header["id"] == json!(session.id) && header["created"] == json!(session.created)
    })
}

/// Opens a file under a lock that goes with it; `None` if there is no file.
fn open(path: &Path) -> io::Result<Option<File>> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let file = OpenOptions::new().read(true).append(true).open(path)?;
    match lock_within(&file, LOCK_LIMIT, LOCK_PAUSE)? {
        true => Ok(Some(file)),
        false => Err(io::Error::new(io::ErrorKind::WouldBlock, "another process holds it")),
    }
}

/// What a file lacks of the messages. `None` if it can't be understood: it is no file of
/// this session, or what is appended to it could not be read again.
fn missing(
    file: &mut File,
    session: &StoredSession,
    messages: &[StoredMessage],
    retractions: &[MarkdownRetraction],
) -> Option<String> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    let found = from_markdown(&text).ok()?;
    if !has_header_of(&found.session, session) {
        return None;
    }
    let last_written =
        |found: &[MarkdownMessage]| found.iter().filter_map(|found| found.written).max();
    let last = last_written(&found.messages);
    let behind = messages.partition_point(|stored| Some(stored.message.id) <= last);
    let new = &messages[behind..];
    let is_unmarked = |mark: &&MarkdownRetraction| !found.retractions.contains(mark);
    let unmarked: Vec<_> = retractions.iter().filter(is_unmarked).cloned().collect();
    if new.is_empty() && unmarked.is_empty() {
        return Some(String::new());
    }
    let gap = if text.ends_with('\n') { "" } else { "\n" };
    let more = format!("{gap}{}", more_text(new, &unmarked));
    let grown = from_markdown(&(text + &more)).ok()?;
    let is_whole = grown.messages.len() == found.messages.len() + new.len()
        && last_written(&grown.messages) == new.last().map(|stored| stored.message.id).max(last);
    is_whole.then_some(more)
}

/// Appends in one piece, so that no reader sees half a message.
fn append(file: &mut File, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    file.write_all(text.as_bytes())?;
    file.sync_data()
}

/// Begins a file, there as a whole or not at all, and never in place of another.
fn create(path: &Path, text: &str) -> io::Result<File> {
    let new = NewFile::beside(path, text.as_bytes(), Access::Owner)?;
    new.sync()?;
    new.take_free_name()
}

fn whole_text(
    session: &StoredSession,
    messages: &[StoredMessage],
    retractions: &[MarkdownRetraction],
) -> String {
    let title = session.label();
    let json = json!(session);
    let header = MarkdownHeader { title: &title, session: &json };
    with_times(messages, |messages| to_markdown(&header, messages, retractions))
}

fn more_text(messages: &[StoredMessage], retractions: &[MarkdownRetraction]) -> String {
    with_times(messages, |messages| more_markdown(messages, retractions))
}

/// Writes messages with their times, as they are and as people read them.
pub(crate) fn with_times(
    messages: &[StoredMessage],
    write: impl FnOnce(&[TimedMessage<'_>]) -> String,
) -> String {
    let times: Vec<(String, String)> =
        messages.iter().map(|stored| (stored.at.to_string(), local(stored.at))).collect();
    let timed: Vec<TimedMessage<'_>> = messages
        .iter()
        .zip(&times)
        .map(|(stored, (at, shown))| TimedMessage { message: &stored.message, at, shown })
        .collect();
    write(&timed)
}

/// A moment as people read it.
fn local(moment: Moment) -> String {
    let zoned = moment.timestamp().to_zoned(jiff::tz::TimeZone::system());
    zoned.strftime("%Y-%m-%d %H:%M").to_string()
}

/// The name of a session's file: `session-memory-<topic>-<session>-<timestamp>`.
fn file_name(session: &StoredSession, messages: &[StoredMessage]) -> String {
    let first = messages.iter().find(|stored| stored.message.is_user()).or(messages.first());
    let topic = first.map_or_else(String::new, |stored| topic(&message_text(&stored.message)));
    format!("{FILE_PREFIX}{topic}{}", name_end(session))
}

/// Where a session's file belongs once its topic is to be told no more; nothing for another file.
pub fn path_without_topic(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_prefix(FILE_PREFIX)?.strip_suffix(".md")?;
    let parts: Vec<&str> = name.split('-').collect();
    // Behind the moment there may be a number, where there are several files.
    let is_numbered = parts.last()?.parse::<u32>().is_ok();
    let end = parts.len().checked_sub(if is_numbered { 3 } else { 2 })?;
    let end = parts.get(end..)?.join("-");
    Some(path.with_file_name(format!("{FILE_PREFIX}redacted-{end}.md")))
}

/// What the names of all files of sessions begin with.
const FILE_PREFIX: &str = "session-memory-";

/// What the names of a session's files end with, but for a number where there are several.
fn name_end(session: &StoredSession) -> String {
    let begun = session.created.timestamp().strftime("%Y%m%dT%H%M%SZ");
    format!("-{}-{begun}", session.id)
}

fn message_text(message: &Message) -> String {
    let texts = message.content().iter().filter_map(|part| part.as_text().map(Text::as_str));
    texts.collect::<Vec<_>>().join(" ")
}

/// How many characters a topic has.
const LONGEST_TOPIC: usize = 40;

/// The first words of a text, as every file system takes them.
fn topic(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut topic = String::new();
    let mut room = LONGEST_TOPIC;
    for word in words {
        let gap = if topic.is_empty() { "" } else { "-" };
        let word: String = word.chars().flat_map(char::to_lowercase).collect();
        let length = gap.len() + word.chars().count();
        if length > room {
            if topic.is_empty() {
                topic = word.chars().take(LONGEST_TOPIC).collect();
            }
            break;
        }
        room -= length;
        topic = topic + gap + &word;
    }
    if topic.is_empty() { "talk".to_owned() } else { topic }
}
