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

/// The most characters of a question's title and detail together that are asked about in a chat:
/// some messages that a person reads to their end.
const MOST_ASKED: usize = 8_000;

/// What stands below a question that is too long for a chat.
const TOO_LONG_TO_ALLOW: &str = "\n\nThis is only its beginning: the whole is too long for a chat. \
     The agent's owner can allow it where all of it can be read: on the web page or at the terminal.";

/// Whether a question shows all that its answer allows. What is out of sight can be the very thing
/// that nobody would allow, and a model can put it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuestionExtent {
    Whole,
    Cut,
}

impl QuestionExtent {
    /// What is shown of what a question is about, and whether that is all.
    fn cut(question: &ApprovalQuestion) -> (String, Self) {
        let ApprovalQuestion { title, detail, .. } = question;
        let title_length = title.chars().count();
        let shown_title: String = title.chars().take(MOST_ASKED).collect();
        let left = MOST_ASKED.saturating_sub(title_length);
        let shown_detail: String = detail.chars().take(left).collect();
        let mut shown = String::new();
        if !shown_title.trim().is_empty() {
            shown.push_str(&format!("\n{}", plain(&shown_title)));
        }
        if !shown_detail.trim().is_empty() {
            shown.push_str(&format!("\n\n{}", fenced(&shown_detail)));
        }
        let is_whole = shown_title.len() == title.len() && shown_detail.len() == detail.len();
        (shown, if is_whole { QuestionExtent::Whole } else { QuestionExtent::Cut })
    }
}

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
        let ApprovalQuestion { approval, tool, only_once, .. } = question;
        let (shown, extent) = QuestionExtent::cut(question);
        let markdown = format!("**May {} run?** (question {approval}){shown}", plain(tool));
        let answers = [ApprovalAnswer::Once, ApprovalAnswer::Session, ApprovalAnswer::Denied];
        let is_offered = |answer: &ApprovalAnswer| {
            let is_seen = extent == QuestionExtent::Whole || *answer == ApprovalAnswer::Denied;
            is_seen && may_answer(*answer) && !(*only_once && *answer == ApprovalAnswer::Session)
        };
        let trusts_skill = question.unseen_skill().is_some();
        let button = |answer| AnswerButton { approval: *approval, turn, answer, trusts_skill };
        let buttons = answers.into_iter().filter(is_offered).map(button).collect();
        let who_else = match (extent, may_answer(ApprovalAnswer::Once)) {
            (QuestionExtent::Whole, true) => "",
            (QuestionExtent::Whole, false) => "\n\nThe agent's owner can allow it.",
            (QuestionExtent::Cut, _) => TOO_LONG_TO_ALLOW,
        };
        DeliveryContent { markdown: markdown + who_else, buttons }
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

    fn asked(title: String, detail: String) -> DeliveryContent {
        let question = ApprovalQuestion {
            approval: "3".parse().unwrap(),
            tool: "write_file".into(),
            title,
            detail,
            action: None,
            only_once: false,
            expires: recto_store::Moment::now(),
        };
        DeliveryContent::question(&question, "1".parse().unwrap(), |_| true)
    }

    /// Promise: `shown-is-what-runs`
    #[test]
    fn what_is_allowed_by_a_press_was_shown_to_its_end() {
        let answers = |content: &DeliveryContent| -> Vec<ApprovalAnswer> {
            content.buttons.iter().map(|button| button.answer).collect()
        };
        let all = [ApprovalAnswer::Once, ApprovalAnswer::Session, ApprovalAnswer::Denied];
        let line = "writes: /home/ana";
        let longest = "x".repeat(MOST_ASKED - line.len() - 2) + "\n" + line;
        for (title, detail) in [("t", longest.as_str()), (longest.as_str(), "t")] {
            let whole = asked(title.to_owned(), detail.to_owned());
            assert!(whole.markdown.contains(line), "{}", whole.markdown);
            assert!(!whole.markdown.contains("beginning"), "{}", whole.markdown);
            assert_eq!(answers(&whole), all);
            let long = asked(format!("{title}x"), detail.to_owned());
            assert!(long.markdown.contains("only its beginning"), "{}", long.markdown);
            assert_eq!(answers(&long), [ApprovalAnswer::Denied]);
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
