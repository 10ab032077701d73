//! Turns that other processes left: which of them a chat takes up, and what a person is told.
//!
//! Those of the session that one talks in go first, because order rules there. Those of other
//! sessions go on in the background of a chat that is typed; one that ends with its own replies
//! leaves them, and says so.

use std::process::ExitCode;

use recto_agent::{
    ClosedTurn, EventCursor, OpenTurn, OpenTurnStanding, TakeUpScope, find_open_turn,
    find_standing, first_words, shorten_words,
};
use recto_context::MessageBody;
use recto_store::{Moment, Store, StoredApproval, StoredTurn, TurnId, TurnStatus};

use super::Chat;
use super::elsewhere::last_said;
use super::interrupts::InterruptState;
use super::outcome::{MessageOutcome, exit_code};
use crate::draw::open_turn;
use crate::failure::CliResult;
use crate::output::{counted, tame, tell};
use crate::remedy_words::with_command;

/// The most turns that are told one by one.
const MOST_TOLD: usize = 3;

impl Chat {
    /// Takes up what was left in this session, and tells what waits in others.
    pub(super) async fn take_up_session(&mut self) -> CliResult {
        let report = self.agent.take_up(TakeUpScope::Session(self.session.id)).await?;
        self.tell_closed(&report.closed).await?;
        let stop = format!("`recto sessions stop {}`", tame(&self.session.label()));
        for turn in &report.taken_up {
            tell(&self.describe_own(turn, &stop).await?);
        }
        if let Some(waiting) = self.describe_left(&report.left).await? {
            tell(&waiting);
        }
        Ok(())
    }

    /// Takes up what was left in all sessions. What was left in this one is shown to its end, as
    /// if it had been asked for now; a code says that the person would not wait for it.
    pub(super) async fn take_up_all(&mut self) -> CliResult<Option<ExitCode>> {
        let mut events = self.agent.listen(&self.actor, self.session.id, EventCursor::Now).await?;
        let own = self.agent.take_up(TakeUpScope::Session(self.session.id)).await?;
        let others = self.agent.take_up(TakeUpScope::All).await?;
        self.agent.take_up_regularly();
        self.tell_closed(&own.closed).await?;
        self.tell_background().await?;
        for turn in &own.taken_up {
            tell(&self.describe_own(turn, "Ctrl-C").await?);
            let _ = self.typing.start();
            let outcome = self.follow(turn.id, &mut events, InterruptState::None).await;
            self.typing.stop();
            self.printer.end_typing()?;
            if outcome? == MessageOutcome::Abandoned {
                return Ok(Some(exit_code(MessageOutcome::Abandoned)));
            }
        }
        // What the first look closed, the second does not find.
        self.tell_closed(&others.closed).await?;
        // Those of sessions that work in other folders.
        if let Some(waiting) = self.describe_left(&others.left).await? {
            tell(&waiting);
        }
        Ok(None)
    }

    /// Whether there is something to tell of turns in the background.
    pub(super) async fn has_background_news(&self) -> bool {
        let is_new = |id: &TurnId| !self.background.contains(id);
        if self.agent.taken_up_turns().iter().any(is_new) {
            return true;
        }
        for id in &self.background {
            // What can't be read now is looked for again.
            let turn = self.agent.store().turn(*id).await.ok().flatten();
            if turn.is_some_and(|turn| matches!(turn.status, TurnStatus::Ended(_))) {
                return true;
            }
        }
        self.background_questions().await.is_ok_and(|questions| !questions.is_empty())
    }

    /// The questions of turns in the background that were not told yet.
    async fn background_questions(&self) -> CliResult<Vec<StoredApproval>> {
        if self.background.is_empty() {
            return Ok(Vec::new());
        }
        let mut questions = self.agent.store().open_approvals(Moment::now()).await?;
        questions.retain(|question| {
            self.background.contains(&question.turn) && !self.told_questions.contains(&question.id)
        });
        Ok(questions)
    }

    /// Tells of turns that go on in the background, of what they ask, and of their ends, each
    /// once.
    pub(super) async fn tell_background(&mut self) -> CliResult {
        let store = self.agent.store().clone();
        let mut under_way = Vec::new();
        for id in std::mem::take(&mut self.background) {
            let Some(turn) = store.turn(id).await? else { continue };
            match turn.status {
                TurnStatus::Ended(_) => tell(&describe_end(&store, &turn).await?),
                _ => under_way.push(id),
            }
        }
        let now = self.agent.taken_up_turns();
        let new: Vec<TurnId> = now.into_iter().filter(|id| !under_way.contains(id)).collect();
        for id in new.iter().take(MOST_TOLD) {
            let Some(turn) = store.turn(*id).await? else { continue };
            tell(&describe_background(&store, &turn).await?);
        }
        if let Some(more) = new.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
            tell(&format_args!(
                "{} more in the background; `recto sessions list` has them",
                counted(more, "turn")
            ));
        }
        under_way.extend(new);
        self.background = under_way;
        for question in self.background_questions().await? {
            if let Some(turn) = store.turn(question.turn).await?
                && let Some(open) = find_open_turn(&store, &turn).await?
            {
                // Of several questions that a turn waits with, each is told as what it is.
                let open = OpenTurn { question: Some(question.clone()), ..open };
                let session = tame(&open.session);
                tell(&format_args!("session {session}: turn {} {}", turn.id, open_turn(&open)));
            }
            self.told_questions.insert(question.id);
        }
        Ok(())
    }

    /// Tells of turns that were closed instead of being taken up.
    async fn tell_closed(&self, closed: &[ClosedTurn]) -> CliResult {
        for ClosedTurn { turn, reason } in closed {
            let (session, words) = place(self.agent.store(), turn).await?;
            let notice = reason.notice().unwrap_or_default();
            let text = format!("session {session}: turn {} (\"{words}\"): {notice}", turn.id);
            tell(&with_command(text, reason.remedy().as_ref()));
        }
        Ok(())
    }

    /// What is told of a turn of this session before anything else, and what stops it.
    async fn describe_own(&self, turn: &StoredTurn, stop: &str) -> CliResult<String> {
        let (_, words) = place(self.agent.store(), turn).await?;
        let unasked = None;
        let what = match find_standing(turn, unasked) {
            Some(OpenTurnStanding::Left) => "was never sent and goes first",
            _ => "was cut short and is finished first",
        };
        Ok(format!("turn {} of this session {what}: \"{words}\" ({stop} stops it)", turn.id))
    }

    /// What is told of turns of other sessions that a chat leaves.
    async fn describe_left(&self, left: &[StoredTurn]) -> CliResult<Option<String>> {
        let mut sessions = Vec::new();
        for turn in left {
            let (session, _) = place(self.agent.store(), turn).await?;
            if !sessions.contains(&session) {
                sessions.push(session);
            }
        }
        let Some(first) = sessions.first() else { return Ok(None) };
        let many = if left.len() == 1 { "a turn waits" } else { "turns wait" };
        Ok(Some(format!(
            "{many} in session {}, left by a Recto that ended: `recto chat --session {first}` goes \
             on with it, `recto sessions stop {first}` stops it",
            sessions.join(", "),
        )))
    }
}

/// The session of a turn, and the first words of its message.
async fn place(store: &Store, turn: &StoredTurn) -> CliResult<(String, String)> {
    let session = store.session(turn.session).await?;
    let label = session.map_or_else(|| turn.session.to_string(), |session| session.label());
    Ok((tame(&label), tame(&first_words(store, turn).await?)))
}

async fn describe_background(store: &Store, turn: &StoredTurn) -> CliResult<String> {
    let (session, words) = place(store, turn).await?;
    let what = match turn.status {
        TurnStatus::Queued => "that was never sent waits",
        _ => "that was cut short goes on",
    };
    Ok(format!(
        "session {session}: a turn {what} in the background: \"{words}\" (/stop {session} stops it)"
    ))
}

/// How a turn in the background ended: with the first words of its reply, or what went wrong.
async fn describe_end(store: &Store, turn: &StoredTurn) -> CliResult<String> {
    let (session, _) = place(store, turn).await?;
    let messages = store.messages_of_turn(turn).await?;
    let words = match last_said(&messages) {
        Some(MessageBody::Error(text)) => text.to_string(),
        Some(reply) => shorten_words(reply.content()),
        None => turn.detail.clone().unwrap_or_default(),
    };
    let how = turn.status.to_string();
    // A turn that was stopped has no other word to say.
    let words = match words.is_empty() || words == how {
        true => String::new(),
        false => format!(": {}", tame(&words)),
    };
    Ok(format!("session {session}: turn {} is {how}{words}", turn.id))
}
