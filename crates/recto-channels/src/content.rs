//! What stands in a conversation for a delivery, whichever service it is: text, and buttons where
//! a question is asked.

use recto_agent::ApprovalQuestion;
use recto_context::{Reveal, reveal};
use recto_store::{ApprovalAnswer, ApprovalId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is to be read in a conversation, as the outbox keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DeliveryContent {
    /// The text, in Markdown.
    pub(crate) markdown: String,
    /// The answers that can be given to a question by a press.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) buttons: Vec<AnswerButton>,
}

/// An answer to a question that can be given by a press.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AnswerButton {
    pub(crate) approval: ApprovalId,
    /// The turn that asks: a question of another is not answered, whatever its number.
    pub(crate) turn: TurnId,
    pub(crate) answer: ApprovalAnswer,
    /// Whether whoever allows it trusts a skill for good.
    #[serde(default)]
    pub(crate) trusts_skill: bool,
}

/// The most characters of what a question shows.
const MOST_DETAIL: usize = 2_000;

impl DeliveryContent {
    pub(crate) fn text(markdown: impl Into<String>) -> Self {
        DeliveryContent { markdown: markdown.into(), buttons: Vec::new() }
    }

    /// What is said of a turn whose session is gone.
    pub(crate) fn deleted_conversation() -> Self {
        DeliveryContent::text("This conversation was deleted.")
    }

    /// A question whether a tool may run, with the answers that some of its readers may give.
    pub(crate) fn question(
        question: &ApprovalQuestion,
        turn: TurnId,
        may_answer: impl Fn(ApprovalAnswer) -> bool,
    ) -> Self {
        let ApprovalQuestion { approval, tool, title, detail, only_once, .. } = question;
        let mut markdown = format!("**May {} run?** (question {approval})", plain(tool));
        if !title.trim().is_empty() {
            markdown.push_str(&format!("\n{}", plain(title)));
        }
        let short: String = detail.chars().take(MOST_DETAIL).collect();
        if !short.trim().is_empty() {
            markdown.push_str(&format!("\n\n{}", fenced(&short)));
        }
        if short.len() < detail.len() {
            markdown.push_str("\n\n(shortened; the terminal and the web page show all of it)");
        }
        let answers = [ApprovalAnswer::Once, ApprovalAnswer::Session, ApprovalAnswer::Denied];
        let is_offered = |answer: &ApprovalAnswer| {
            may_answer(*answer) && !(*only_once && *answer == ApprovalAnswer::Session)
        };
        let trusts_skill = question.unseen_skill().is_some();
        let button = |answer| AnswerButton { approval: *approval, turn, answer, trusts_skill };
        let buttons: Vec<AnswerButton> =
            answers.into_iter().filter(is_offered).map(button).collect();
        if !buttons.iter().any(|button| button.answer == ApprovalAnswer::Once) {
            markdown.push_str("\n\nThe agent's owner can allow it.");
        }
        DeliveryContent { markdown, buttons }
    }

    /// The same question for somebody who is not in the conversation: it says whose it is.
    /// Names are chosen by those who have them, so the id stands with it.
    pub(crate) fn asked_for(self, name: &str, id: &str) -> Self {
        let name = name.replace(['“', '”', '„', '"', '«', '»'], "'");
        let who = format!("“{}” ({})", plain(&name), plain(id));
        let markdown = format!("{who} waits for your answer.\n\n{}", self.markdown);
        DeliveryContent { markdown, ..self }
    }

    /// The same question once it has its answer.
    pub(crate) fn decided(
        tool: &str,
        title: &str,
        answer: ApprovalAnswer,
        by: Option<&str>,
    ) -> Self {
        let by = by.map(|name| format!(" by {}", plain(name))).unwrap_or_default();
        let (tool, title) = (plain(tool), plain(title));
        DeliveryContent::text(format!("**{tool}**: {}{by}\n{title}", answer.describe()))
    }

    pub(crate) fn to_store(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    pub(crate) fn from_store(stored: &Value) -> Option<Self> {
        DeliveryContent::deserialize(stored).ok()
    }
}

impl AnswerButton {
    /// What is written on it.
    pub(crate) fn label(self) -> &'static str {
        match self.answer {
            ApprovalAnswer::Once if self.trusts_skill => "Allow, and trust the skill",
            ApprovalAnswer::Once => "Allow once",
            ApprovalAnswer::Session => "Allow for this session",
            _ => "Deny",
        }
    }

    /// What comes back when it is pressed.
    pub(crate) fn data(self) -> String {
        let answer = match self.answer {
            ApprovalAnswer::Once => "once",
            ApprovalAnswer::Session => "session",
            _ => "deny",
        };
        format!("approval:{}:{}:{answer}", self.approval, self.turn)
    }

    /// The button that was pressed, if it is one of ours.
    pub(crate) fn from_data(data: &str) -> Option<Self> {
        let (approval, rest) = data.strip_prefix("approval:")?.split_once(':')?;
        let (turn, answer) = rest.split_once(':')?;
        let answer = match answer {
            "once" => ApprovalAnswer::Once,
            "session" => ApprovalAnswer::Session,
            "deny" => ApprovalAnswer::Denied,
            _ => return None,
        };
        let (approval, turn) = (approval.parse().ok()?, turn.parse().ok()?);
        Some(AnswerButton { approval, turn, answer, trusts_skill: false })
    }
}

/// A text that Markdown reads as it stands: on one line, without marks that mean something. Nor
/// does it call anybody: a name may be `@somebody`.
pub(crate) fn plain(text: &str) -> String {
    let line = reveal(text, Reveal::Line);
    let mut plain = String::with_capacity(line.len());
    let mut before = ' ';
    for c in line.chars() {
        if "\\`*_[]<>~#|!".contains(c) {
            plain.push('\\');
        }
        plain.push(c);
        // Services look for such names by themselves. In an address it stands within a word.
        if c == '@' && !before.is_alphanumeric() {
            plain.push(WORD_JOINER);
        }
        before = c;
    }
    plain
}

/// Parts what stands around it, and can't be seen.
const WORD_JOINER: char = '\u{2060}';

/// A text of Recto's own in which names and commands stand between backticks: those are code, and
/// nothing else in it is a style.
pub(crate) fn with_code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.lines().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let pieces: Vec<&str> = line.split('`').collect();
        let is_paired = pieces.len() % 2 == 1;
        for (at, piece) in pieces.iter().enumerate() {
            match at % 2 == 1 && is_paired && !piece.is_empty() {
                true => out.push_str(&format!("`{piece}`")),
                false => out.push_str(&plain_keeping_ends(piece)),
            }
        }
    }
    out
}

/// [`plain`] for a piece of a line, with the blanks at its ends.
fn plain_keeping_ends(piece: &str) -> String {
    let (start, end) = (piece.trim_start(), piece.trim_end());
    if start.is_empty() {
        return piece.to_owned();
    }
    let lead = &piece[..piece.len() - start.len()];
    format!("{lead}{}{}", plain(piece.trim()), &piece[end.len()..])
}

/// A text as a block of code that nothing in it can end.
pub(crate) fn fenced(text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buttons_come_back_as_they_were() {
        let (approval, turn) = (i64::MAX.to_string(), i64::MAX.to_string());
        let (approval, turn) = (approval.parse().unwrap(), turn.parse().unwrap());
        for answer in [ApprovalAnswer::Once, ApprovalAnswer::Session, ApprovalAnswer::Denied] {
            let button = AnswerButton { approval, turn, answer, trusts_skill: false };
            assert!(button.data().len() <= 64, "a service takes no more");
            assert_eq!(AnswerButton::from_data(&button.data()), Some(button));
        }
        for foreign in [
            "",
            "approval:",
            "approval:3:once",
            "approval:0:1:once",
            "approval:3:1:always",
            "x:3:1:once",
        ] {
            assert_eq!(AnswerButton::from_data(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn who_waits_for_an_answer_is_quoted_and_has_an_id() {
        let asked = DeliveryContent::text("May it run?");
        let name =
            recto_context::SpeakerName::new("Owner” (owner)\n\nAll is fine, **press** Allow");
        let asked = asked.asked_for(name.as_str(), "telegram-5");
        assert_eq!(
            asked.markdown,
            "“Owner' (owner) All is fine, \\*\\*press\\*\\* Allow” (telegram-5) waits for your \
             answer.\n\nMay it run?"
        );
    }

    #[test]
    fn nothing_ends_a_block_or_marks_a_line() {
        assert_eq!(fenced("a\n````\nb\n"), "`````\na\n````\nb\n`````");
        let rich =
            crate::rich_text::RichText::from_markdown(&plain("*a* _b_ `c` [d](e) <f> #g\nh"));
        assert!(rich.spans.is_empty());
        assert_eq!(plain("@ana (a@b.c) @"), "@\u{2060}ana (a@b.c) @\u{2060}");
        let told = with_code("*Eve* [x](tg://user?id=1) may not `/set a_b`:\nask @ana");
        assert_eq!(told, "\\*Eve\\* \\[x\\](tg://user?id=1) may not `/set a_b`:\nask @\u{2060}ana");
        assert!(rich.text.starts_with("*a* _b_ `c` [d](e) <f> #g"), "{}", rich.text);
    }
}
