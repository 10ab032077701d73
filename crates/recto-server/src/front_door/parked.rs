//! Turns that wait for a person's word. In a client nobody can be asked whether a tool may run,
//! and no client waits for ever: after a while its reply ends with a notice that names the
//! question, and the turn stays as it is. It goes on, in its session, when somebody answers.
//!
//! Clients send the notice back as part of their history. There it is known by how it begins,
//! and stands for what the turn said in the end.

use std::time::{Duration, Instant};

use recto_agent::{EventKind, TurnEvent};
use recto_context::{ClientMessage, ContentPart, MessageBody, Remedy, visible_text};
use recto_store::{ApprovalId, Moment, SessionId, Store, StoreResult, StoredApproval, TurnId};

/// What a notice begins with; the number of the turn follows.
const NOTICE_LEAD: &str = "Recto waits for a person's word in turn ";

/// The questions that keep a client's turn from going on: its own, or those of a turn before it
/// in the same session.
#[derive(Debug)]
pub(super) struct PendingQuestions {
    store: Store,
    session: SessionId,
    /// How long the client waits for an answer.
    wait: Duration,
    open: Vec<(TurnId, ApprovalId)>,
    /// Since when the client waits, while there is a question.
    since: Option<Instant>,
}

impl PendingQuestions {
    pub(super) fn new(store: &Store, session: SessionId, wait: Duration) -> Self {
        PendingQuestions { store: store.clone(), session, wait, open: Vec::new(), since: None }
    }

    /// Takes in what an event of the session says of questions.
    pub(super) fn follow(&mut self, event: &TurnEvent) {
        let Some(turn) = event.turn else { return };
        match &event.event {
            EventKind::Asked(question) => self.open.push((turn, question.approval)),
            EventKind::Decided { approval, .. } => self.open.retain(|(_, id)| id != approval),
            EventKind::Snapshot(snapshot) => {
                self.open = snapshot.questions.iter().map(|it| (turn, it.approval)).collect();
            }
            EventKind::Finished(_) => self.open.retain(|(of, _)| *of != turn),
            _ => return,
        }
        self.keep_time();
    }

    /// Reads the questions from the store: those of a turn before this one were asked before
    /// anybody listened here, or in another process.
    pub(super) async fn refresh(&mut self) -> StoreResult<Vec<StoredApproval>> {
        let mut open = self.store.open_approvals(Moment::now()).await?;
        open.retain(|approval| approval.session == self.session);
        self.open = open.iter().map(|approval| (approval.turn, approval.id)).collect();
        self.keep_time();
        Ok(open)
    }

    fn keep_time(&mut self) {
        let began = self.since.unwrap_or_else(Instant::now);
        self.since = (!self.open.is_empty()).then_some(began);
    }

    /// How much longer the client waits, while there is a question.
    pub(super) fn time_left(&self) -> Option<Duration> {
        self.since.map(|since| self.wait.saturating_sub(since.elapsed()))
    }
}

/// Where and how a question can be answered, for the notice that names it.
#[derive(Debug, Clone)]
pub(crate) struct AnswerPlaces {
    /// The address of the server, as the client has it.
    pub(crate) origin: String,
    /// How people are told what can be done about a problem.
    pub(crate) remedy_words: fn(&Remedy) -> String,
}

impl AnswerPlaces {
    /// The notice that a reply ends with while the turn waits.
    pub(super) fn write_notice(&self, turn: TurnId, open: &[StoredApproval]) -> String {
        let question = |approval: &StoredApproval| {
            let of = match approval.turn == turn {
                true => String::new(),
                false => format!(" of turn {}", approval.turn),
            };
            let (tool, title) = (approval.question.tool.key(), &approval.question.title);
            format!("approval {}{of}, {tool}: {title}", approval.id)
        };
        let questions: Vec<String> = open.iter().map(question).collect();
        let (remedy, when) = match open {
            [one] => (Remedy::AnswerApproval { approval: one.id.get() }, "that is"),
            _ => (Remedy::ListApprovals, "these are"),
        };
        let words = (self.remedy_words)(&remedy);
        let page = open.first().map(|one| format!("{}/sessions/{}", self.origin, one.session));
        format!(
            "{NOTICE_LEAD}{turn}: {}. It goes on by itself when {when} answered: on the page {}, \
             or with {words}.",
            questions.join("; "),
            page.unwrap_or_default(),
        )
    }
}

/// A text that ends with a notice: what stands before it, and the turn that it names.
fn split_notice(text: &str) -> Option<(&str, TurnId)> {
    let (before, notice) = text.rsplit_once(NOTICE_LEAD)?;
    let is_paragraph = before.is_empty() || before.ends_with('\n');
    let number: String = notice.chars().take_while(char::is_ascii_digit).collect();
    let turn = number.parse().ok()?;
    is_paragraph.then_some((before.trim_end(), turn))
}

/// The reply in a client's message that ends with a notice.
fn noticed_reply(message: &ClientMessage) -> Option<(String, TurnId)> {
    let ClientMessage::Said(MessageBody::Assistant { content, calls }) = message else {
        return None;
    };
    let text = visible_text(content);
    let (before, turn) = split_notice(&text).filter(|_| calls.is_empty())?;
    Some((before.to_owned(), turn))
}

/// The last turn that a client's list has a notice of.
pub(super) fn last_noticed_turn(list: &[ClientMessage]) -> Option<TurnId> {
    list.iter().rev().find_map(noticed_reply).map(|(_, turn)| turn)
}

/// A client's list in which replies with a notice are what they are: unfinished.
pub(super) fn without_notices(list: Vec<ClientMessage>) -> Vec<ClientMessage> {
    let plain = |message: ClientMessage| match noticed_reply(&message) {
        Some((heard, _)) => ClientMessage::Unfinished(MessageBody::Assistant {
            content: vec![ContentPart::Text(heard.into())],
            calls: Vec::new(),
        }),
        None => message,
    };
    list.into_iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_known_by_its_beginning_and_names_its_turn() {
        let split = |text| split_notice(text).map(|(before, turn)| (before, turn.to_string()));
        let notice = "Recto waits for a person's word in turn 12: approval 3, write_file: a.";
        assert_eq!(split(notice), Some(("", "12".to_owned())));
        let both = format!("One moment.\n\n{notice}");
        assert_eq!(split(&both), Some(("One moment.", "12".to_owned())));
        assert_eq!(split("Recto waits for a person's word in turn one"), None);
        let quoted = format!("It said: {notice}");
        assert_eq!(split(&quoted), None);
        assert_eq!(split("All is well."), None);
    }
}
