//! A session as a file: JSON, a line for the session, one for each message and, where they are
//! asked for, one for each request; or Markdown. A message is data in either, so whatever it
//! says, headings and all, comes back as it was.

use recto_context::{MarkdownHeader, MarkdownRetraction, to_markdown};
use recto_store::{SessionId, Store, StoredMessage, StoredRetraction, StoredSession};
use serde_json::json;

use super::json::{request_json, session_json, transcript_json};
use super::reader::RecordReader;
use crate::error::AgentResult;
use crate::rights::Right;
use crate::session_files::with_times;

/// The form in which a session is written, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionExportForm {
    /// The messages as lines of JSON.
    Jsonl,
    /// The messages and the records of all requests as lines of JSON.
    JsonlWithRecords,
    /// The messages as Markdown.
    Markdown,
}

impl SessionExportForm {
    /// Says what a file of JSON is, so that a reader need not guess.
    pub const FORMAT: &str = "recto-session";

    /// The version of the form in which sessions are written.
    pub const VERSION: u32 = 1;
}

impl RecordReader<'_> {
    /// A session as the text of a file.
    pub async fn export_session(
        &self,
        id: SessionId,
        form: SessionExportForm,
    ) -> AgentResult<String> {
        self.actor.must_have(Right::Inspect)?;
        let session = self.session(id).await?;
        let messages = self.store.messages(id, None).await?;
        let retractions = self.store.retractions(id).await?;
        Ok(match form {
            SessionExportForm::Jsonl => jsonl(&session, &messages, &retractions),
            SessionExportForm::JsonlWithRecords => {
                let requests = request_lines(self.store, &session).await?;
                jsonl(&session, &messages, &retractions) + &requests
            }
            SessionExportForm::Markdown => markdown(&session, &messages, &retractions),
        })
    }
}

fn jsonl(
    session: &StoredSession,
    messages: &[StoredMessage],
    retractions: &[StoredRetraction],
) -> String {
    let (format, version) = (SessionExportForm::FORMAT, SessionExportForm::VERSION);
    let header = json!({"format": format, "version": version, "session": session_json(session)});
    let lines = std::iter::once(header).chain(transcript_json(messages, retractions));
    lines.map(|line| format!("{line}\n")).collect()
}

/// A line for each request of the session, in the order in which they were sent.
async fn request_lines(store: &Store, session: &StoredSession) -> AgentResult<String> {
    let mut lines = String::new();
    for turn in store.turns(session.id).await? {
        for request in store.requests(turn.id).await? {
            // As it was sent, byte for byte: another program may write JSON otherwise.
            let body = store.body(request.id).await?;
            let body = String::from_utf8_lossy(&body).into();
            let mut record = request_json(store, &request, body).await?;
            record["turn"] = json!(turn.id);
            record["notes"] = request.notes.clone();
            lines += &format!("{}\n", json!({"request": record}));
        }
    }
    Ok(lines)
}

fn markdown(
    session: &StoredSession,
    messages: &[StoredMessage],
    retractions: &[StoredRetraction],
) -> String {
    let (title, session) = (session.label(), session_json(session));
    let marks: Vec<MarkdownRetraction> =
        retractions.iter().map(StoredRetraction::to_markdown).collect();
    let header = MarkdownHeader { title: &title, session: &session };
    with_times(messages, |messages| to_markdown(&header, messages, &marks))
}
