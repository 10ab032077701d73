//! What a person types while something else has the screen.
//!
//! The line has its cursor at its end: letters, Backspace, Ctrl-U and Ctrl-W work, arrows and
//! keys that mean nothing do nothing. Nothing here reads keys, and nothing draws.

use std::collections::VecDeque;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation;

/// The line that is being typed, and those that are finished and wait.
#[derive(Debug, Default)]
pub(crate) struct TypeAhead {
    line: String,
    queued: VecDeque<String>,
    /// What comes to the prompt as a draft again, one after the other.
    drafts: VecDeque<String>,
}

/// What a key did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypedAction {
    /// Nothing.
    Ignored,
    /// It changed the line.
    Changed,
    /// It finished a line, which is no longer here.
    Finished(String),
    /// It was Ctrl-D on an empty line.
    End,
}

impl TypeAhead {
    /// Takes a key in.
    pub(crate) fn press(&mut self, event: &Event) -> TypedAction {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.press_key(key),
            Event::Paste(text) => {
                self.line += &text.replace("\r\n", "\n").replace('\r', "\n");
                TypedAction::Changed
            }
            _ => TypedAction::Ignored,
        }
    }

    fn press_key(&mut self, key: &KeyEvent) -> TypedAction {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('d') if control && self.line.is_empty() => return TypedAction::End,
            KeyCode::Char('u') if control => self.line.clear(),
            KeyCode::Char('w') if control => self.erase_word(),
            KeyCode::Char('h') if control => self.erase_character(),
            KeyCode::Backspace if alt => self.erase_word(),
            KeyCode::Backspace => self.erase_character(),
            KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => {
                self.line.push('\n');
            }
            KeyCode::Enter if self.line.ends_with('\\') => {
                self.line.pop();
                self.line.push('\n');
            }
            KeyCode::Enter => return self.finish(),
            KeyCode::Char(typed) if !control && !alt => self.line.push(typed),
            _ => return TypedAction::Ignored,
        }
        TypedAction::Changed
    }

    fn finish(&mut self) -> TypedAction {
        let line = std::mem::take(&mut self.line);
        match line.trim().is_empty() {
            true => TypedAction::Changed,
            false => TypedAction::Finished(line),
        }
    }

    fn erase_character(&mut self) {
        let last = self.line.grapheme_indices(true).next_back();
        self.line.truncate(last.map_or(0, |(start, _)| start));
    }

    fn erase_word(&mut self) {
        let kept = self.line.trim_end();
        let start = kept.rfind(char::is_whitespace);
        let end = start.map_or(0, |at| at + kept[at..].chars().next().map_or(0, char::len_utf8));
        self.line.truncate(end);
    }

    /// The line that is being typed.
    pub(crate) fn line(&self) -> &str {
        &self.line
    }

    /// Takes the line that is being typed away.
    pub(crate) fn take_line(&mut self) -> String {
        std::mem::take(&mut self.line)
    }

    /// Has a text come to the prompt as the next draft. What is being typed comes behind it.
    pub(crate) fn preload(&mut self, text: &str) {
        if !text.is_empty() {
            self.put_line_back();
            self.drafts.push_front(text.to_owned());
        }
    }

    /// Makes what is being typed a draft in front of the others.
    fn put_line_back(&mut self) {
        if !self.line.is_empty() {
            let line = self.take_line();
            self.drafts.push_front(line);
        }
    }

    /// What the next prompt begins with: what is being typed, or else the next draft. Nothing
    /// where there is none.
    pub(crate) fn next_draft(&mut self) -> String {
        self.put_line_back();
        self.drafts.pop_front().unwrap_or_default()
    }

    /// Lets a finished line wait behind the others.
    pub(crate) fn queue(&mut self, line: String) {
        self.queued.push_back(line);
    }

    /// The finished line that is next.
    pub(crate) fn next_queued(&mut self) -> Option<String> {
        self.queued.pop_front()
    }

    /// Makes drafts of the lines that wait, and of what is being typed behind them. Gives how many
    /// lines waited.
    pub(crate) fn take_back_queued(&mut self) -> usize {
        let count = self.queued.len();
        if count > 0 {
            self.put_line_back();
            let queued = self.queued.drain(..).collect::<Vec<_>>();
            queued.into_iter().rev().for_each(|line| self.drafts.push_front(line));
        }
        count
    }

    /// Takes away all that was typed and not sent, each by itself.
    pub(crate) fn take_unsent(&mut self) -> Vec<String> {
        self.take_back_queued();
        self.put_line_back();
        self.drafts.drain(..).filter(|draft| !draft.trim().is_empty()).collect()
    }

    /// The line and those that wait, for a person to see; nothing where there are none.
    pub(crate) fn describe(&self) -> String {
        let count = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let waiting =
            [count(self.queued.len(), "queued"), count(self.drafts.len(), "to come back")];
        let line = (!self.line.is_empty()).then(|| {
            let shown = self.line.replace('\n', "⏎").replace('\t', " ");
            format!("next: {shown}")
        });
        let parts: Vec<String> = waiting.into_iter().flatten().chain(line).collect();
        parts.join(" │ ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types a text: `^U` is Ctrl-U, `<` Backspace, `|` Enter, `↑` an arrow, `⌥` Alt-Enter.
    fn typed(text: &str) -> (TypeAhead, Vec<TypedAction>) {
        let mut ahead = TypeAhead::default();
        let mut actions = Vec::new();
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            let (code, modifiers) = match c {
                '^' => {
                    let letter = characters.next().unwrap().to_ascii_lowercase();
                    (KeyCode::Char(letter), KeyModifiers::CONTROL)
                }
                '<' => (KeyCode::Backspace, KeyModifiers::NONE),
                '|' => (KeyCode::Enter, KeyModifiers::NONE),
                '⌥' => (KeyCode::Enter, KeyModifiers::ALT),
                '↑' => (KeyCode::Up, KeyModifiers::NONE),
                c => (KeyCode::Char(c), KeyModifiers::NONE),
            };
            match ahead.press(&Event::Key(KeyEvent::new(code, modifiers))) {
                TypedAction::Finished(line) => {
                    ahead.queue(line.clone());
                    actions.push(TypedAction::Finished(line));
                }
                TypedAction::Changed => {}
                action => actions.push(action),
            }
        }
        (ahead, actions)
    }

    #[track_caller]
    fn check(keys: &str, described: &str) {
        assert_eq!(typed(keys).0.describe(), described, "{keys}");
    }

    #[test]
    fn a_line_can_be_typed_and_corrected() {
        check("", "");
        check("whay<t", "next: what");
        check("one two three^W", "next: one two ");
        check("one two  ^W", "next: one ");
        check("one^W^W", "");
        check("one^U", "");
        check("日本語<", "next: 日本");
        check("👩\u{200d}👩\u{200d}👧<", "");
        check("<<^W", "");
        check("a\u{3000}b^W", "next: a\u{3000}");
    }

    #[test]
    fn what_is_no_text_types_nothing() {
        let (ahead, actions) = typed("a↑^Lb");
        assert_eq!(ahead.describe(), "next: ab");
        assert_eq!(actions, [TypedAction::Ignored, TypedAction::Ignored]);
    }

    #[test]
    fn finished_lines_wait_in_order() {
        check("one|two|thr", "2 queued │ next: thr");
        check("||  |", "");
        let (mut ahead, _) = typed("one|two|thr");
        assert_eq!(ahead.next_queued().as_deref(), Some("one"));
        assert_eq!(ahead.take_back_queued(), 1);
        assert_eq!(ahead.next_queued(), None);
        assert_eq!(
            [ahead.next_draft(), ahead.next_draft(), ahead.next_draft()],
            ["two", "thr", ""]
        );
    }

    #[test]
    fn lines_that_come_back_stay_apart() {
        let (mut ahead, _) = typed("one|two|thr");
        assert_eq!(ahead.take_back_queued(), 2);
        assert_eq!((ahead.next_draft(), ahead.line()), ("one".to_owned(), ""));
        assert_eq!(ahead.describe(), "2 to come back");
        // What is typed since then is where the person's hands are.
        ahead.press(&Event::Paste("now".to_owned()));
        assert_eq!(ahead.next_draft(), "now");
        assert_eq!(ahead.take_back_queued(), 0);
        assert_eq!(ahead.take_unsent(), ["two", "thr"]);
        assert_eq!(ahead.next_draft(), "");
    }

    #[test]
    fn further_lines_are_typed_as_at_the_prompt() {
        check("a\\|b⌥c", "next: a⏎b⏎c");
        let mut ahead = TypeAhead::default();
        ahead.press(&Event::Paste("x\r\ny\rz\n".to_owned()));
        assert_eq!(ahead.line(), "x\ny\nz\n");
    }

    #[test]
    fn what_is_put_in_front_is_not_glued_to_what_is_typed() {
        let (mut ahead, _) = typed("and now");
        ahead.preload("/edit count to ten");
        assert_eq!([ahead.next_draft(), ahead.next_draft()], ["/edit count to ten", "and now"]);
    }

    #[test]
    fn control_d_ends_on_an_empty_line_alone() {
        assert_eq!(typed("a^D").1, [TypedAction::Ignored]);
        assert_eq!(typed("a<^D").1, [TypedAction::End]);
    }
}
