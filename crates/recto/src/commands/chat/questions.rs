//! The questions of a turn whether a tool may run, of which a person sees one at a time.

use std::collections::VecDeque;
use std::time::Instant;

use recto_agent::{ApprovalQuestion, EventKind};

use crate::draw::{PageWidth, exact_line, wrap_exactly};
use crate::output::{tame_lines, tell};
use crate::terminal::choose::{KeyChoice, KeyQuestion};
use crate::terminal::keys::TimedKey;

/// A question that a person is looking at.
#[derive(Debug)]
struct ApprovalPrompt {
    question: ApprovalQuestion,
    keys: KeyQuestion,
    /// The line that is no answer, once the person was told so.
    told: LineNotice,
}

/// Whether a person knows that what they type is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineNotice {
    Told,
    Untold,
}

/// What a person who types something else at a question has to know.
const LINE_HINT: &str = "(what you type is a line for later: Enter keeps it, Ctrl-U takes it away; then a key \
     answers)";

impl ApprovalPrompt {
    /// Shows one question, so that it is clear what a key is the answer to.
    fn show(question: ApprovalQuestion, draft: &str) -> Self {
        tell(&wants(&question, PageWidth::of_stderr()));
        tell(&choices(&question));
        let told = match draft.is_empty() {
            true => LineNotice::Untold,
            false => LineNotice::Told,
        };
        if told == LineNotice::Told {
            tell(&LINE_HINT);
        }
        let keys = if question.only_once { "yn" } else { "ysn" };
        ApprovalPrompt { question, keys: KeyQuestion::new(keys, Instant::now(), draft), told }
    }

    /// The question again, once a line is typed that is no answer and will be none.
    fn remind(&mut self, line: &str) -> Option<String> {
        if line.is_empty() {
            self.told = LineNotice::Untold;
        }
        if self.keys.may_answer(line) || self.told == LineNotice::Told {
            return None;
        }
        self.told = LineNotice::Told;
        Some(format!("{}\n{LINE_HINT}", choices(&self.question)))
    }
}

/// The keys that answer a question, with what each does.
fn choices(question: &ApprovalQuestion) -> String {
    let ApprovalQuestion { approval, tool, .. } = question;
    let allow = match (question.unseen_skill(), question.only_once) {
        (Some(skill), _) => format!("   [y] allow, and trust skill {}", skill.shown_name()),
        (None, true) => "   [y] allow".to_owned(),
        (None, false) => "   [y] allow   [s] allow every call of it in this session".to_owned(),
    };
    format!("{tool} (approval {approval}):{allow}   [n] deny   [Esc, Ctrl-D] stop the turn")
}

/// The questions of a turn that nobody has answered, of which one is shown at a time.
#[derive(Debug, Default)]
pub(super) struct QuestionQueue {
    waiting: VecDeque<ApprovalQuestion>,
    shown: Option<ApprovalPrompt>,
}

impl QuestionQueue {
    /// Whether a question is there that nobody looks at yet.
    pub(super) fn has_next(&self) -> bool {
        self.shown.is_none() && !self.waiting.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_none() && self.waiting.is_empty()
    }

    /// Shows the next question, unless one is shown. `draft` is what is being typed.
    pub(super) fn show_next(&mut self, draft: &str) {
        if self.shown.is_none() {
            let next = self.waiting.pop_front();
            self.shown = next.map(|question| ApprovalPrompt::show(question, draft));
        }
    }

    /// Adds questions that are not there yet.
    pub(super) fn add(&mut self, asked: &[ApprovalQuestion]) {
        let is_shown = |question: &ApprovalQuestion| {
            self.shown.as_ref().is_some_and(|shown| shown.question.approval == question.approval)
        };
        let is_new =
            |question: &&ApprovalQuestion| !is_shown(question) && !self.waiting.contains(question);
        let new: Vec<_> = asked.iter().filter(is_new).cloned().collect();
        self.waiting.extend(new);
    }

    /// What a key means, and for which question. One that answers takes the question away.
    pub(super) fn read_key(
        &mut self,
        key: &TimedKey,
        draft: &str,
    ) -> (Option<ApprovalQuestion>, KeyChoice) {
        let choice = self.shown.as_mut().map(|prompt| prompt.keys.read(key, draft));
        self.answered(choice)
    }

    /// The question that is shown, again, where what is being typed is no answer to it.
    pub(super) fn remind(&mut self, line: &str) -> Option<String> {
        self.shown.as_mut().and_then(|prompt| prompt.remind(line))
    }

    /// What a line means that was finished with Enter, and for which question.
    pub(super) fn read_line(&mut self, line: &str) -> (Option<ApprovalQuestion>, KeyChoice) {
        let choice = self.shown.as_ref().and_then(|prompt| prompt.keys.read_line(line));
        self.answered(choice)
    }

    /// When it is clear that a key was typed alone.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.shown.as_ref().and_then(|prompt| prompt.keys.deadline())
    }

    /// What a key was that nothing had followed by that time, if there is one.
    pub(super) fn settle_key(
        &mut self,
        now: Instant,
    ) -> Option<(Option<ApprovalQuestion>, KeyChoice)> {
        let choice = self.shown.as_mut()?.keys.settle(now)?;
        Some(self.answered(Some(choice)))
    }

    /// Takes the question away, if that is an answer.
    fn answered(&mut self, choice: Option<KeyChoice>) -> (Option<ApprovalQuestion>, KeyChoice) {
        match choice.unwrap_or(KeyChoice::Typed) {
            choice @ (KeyChoice::Key(_) | KeyChoice::Interrupted) => {
                (self.shown.take().map(|prompt| prompt.question), choice)
            }
            choice => (None, choice),
        }
    }

    /// Whether a person looks at a question.
    pub(super) fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Takes back what an event has settled.
    pub(super) fn settle(&mut self, event: &EventKind) {
        match event {
            EventKind::Decided { approval, .. } => {
                self.waiting.retain(|question| question.approval != *approval);
                self.shown.take_if(|shown| shown.question.approval == *approval);
            }
            EventKind::Finished(_) => self.shown = None,
            _ => {}
        }
    }
}

/// What would be run, exactly.
pub(super) fn wants(question: &ApprovalQuestion, width: PageWidth) -> String {
    let ApprovalQuestion { approval, tool, title, detail, .. } = question;
    // A title may say no more than whose call it is.
    let asked = match title == tool {
        true => format!("{tool} wants to run (approval {approval})"),
        false => format!("{tool} wants to run (approval {approval}): {title}"),
    };
    let text = exact_line(&asked, width);
    if detail.is_empty() {
        return text;
    }
    let detail = wrap_exactly(&tame_lines(detail.trim_end()), 2, width);
    format!("{text}\n{}", detail.trim_end_matches('\n'))
}
