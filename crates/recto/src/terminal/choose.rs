//! A question that is answered by one key.
//!
//! Keys that were typed before a person could have read the question are no answer, nor are
//! those of a line that they were typing: such a line goes on.

use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::keys::TimedKey;

/// How long nobody may have typed before a key counts: whoever is still typing has not read
/// the question.
const READING: Duration = Duration::from_millis(400);

/// A question that waits for its key.
#[derive(Debug)]
pub(crate) struct KeyQuestion {
    /// The keys that answer it, in lower case.
    keys: &'static str,
    /// When the question was shown, or the last key came that was no answer.
    quiet_since: Instant,
}

/// What a key is to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyChoice {
    /// One of its keys, in lower case.
    Key(char),
    /// Ctrl-D or Escape, and Ctrl-C where that is a key and no signal.
    Interrupted,
    /// No answer, but part of a line.
    Typed,
    /// Nothing: it came too early.
    TooEarly,
}

impl KeyQuestion {
    /// A question that was shown at that time.
    pub(crate) fn new(keys: &'static str, shown: Instant) -> Self {
        KeyQuestion { keys, quiet_since: shown }
    }

    /// Says what a key means. `line` is what is being typed at that time.
    pub(crate) fn read(&mut self, key: &TimedKey, line: &str) -> KeyChoice {
        let is_early = key.at.saturating_duration_since(self.quiet_since) < READING;
        let choice = match &key.event {
            Event::Key(pressed) if line.is_empty() => self.read_alone(pressed, is_early),
            _ => KeyChoice::Typed,
        };
        if matches!(choice, KeyChoice::Typed | KeyChoice::TooEarly) {
            self.quiet_since = self.quiet_since.max(key.at);
        }
        choice
    }

    /// What a key means while no line is being typed.
    fn read_alone(&self, pressed: &KeyEvent, is_early: bool) -> KeyChoice {
        let control = pressed.modifiers.contains(KeyModifiers::CONTROL);
        match pressed.code {
            _ if pressed.kind == KeyEventKind::Release => KeyChoice::Typed,
            KeyCode::Char('d') if control => KeyChoice::Interrupted,
            KeyCode::Esc => KeyChoice::Interrupted,
            KeyCode::Char(typed) if !control && self.is_answer(typed) => match is_early {
                true => KeyChoice::TooEarly,
                false => KeyChoice::Key(typed.to_ascii_lowercase()),
            },
            _ => KeyChoice::Typed,
        }
    }

    fn is_answer(&self, typed: char) -> bool {
        self.keys.contains(typed.to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What keys mean to a question that is shown at second 10, each with its time in
    /// milliseconds after that. What is typed makes a line.
    fn read(keys: &[(i64, KeyCode)]) -> Vec<KeyChoice> {
        let start = Instant::now();
        let shown = start + Duration::from_secs(10);
        let mut question = KeyQuestion::new("yn", shown);
        let mut line = String::new();
        let read = |(after, code): &(i64, KeyCode)| {
            let at = start + Duration::from_millis((10_000 + after).unsigned_abs());
            let event = Event::Key(KeyEvent::new(*code, KeyModifiers::NONE));
            let choice = question.read(&TimedKey { at, event }, &line);
            if let (KeyChoice::Typed, KeyCode::Char(c)) = (choice, code) {
                line.push(*c);
            }
            choice
        };
        keys.iter().map(read).collect()
    }

    const Y: KeyCode = KeyCode::Char('y');

    #[test]
    fn a_key_that_was_typed_before_the_question_is_no_answer() {
        assert_eq!(read(&[(-5, Y)]), [KeyChoice::TooEarly]);
        assert_eq!(read(&[(5, Y), (300, Y)]), [KeyChoice::TooEarly, KeyChoice::TooEarly]);
        assert_eq!(read(&[(5, Y), (500, Y)]), [KeyChoice::TooEarly, KeyChoice::Key('y')]);
        assert_eq!(read(&[(500, KeyCode::Char('N'))]), [KeyChoice::Key('n')]);
    }

    /// Somebody who types on does not answer by it, however slow they are.
    #[test]
    fn a_line_that_is_being_typed_goes_on() {
        let typed = [(1_000, KeyCode::Char('w')), (2_000, Y), (9_000, KeyCode::Char('n'))];
        assert_eq!(read(&typed), [KeyChoice::Typed; 3]);
    }

    #[test]
    fn escape_interrupts_at_any_time() {
        assert_eq!(read(&[(-1, KeyCode::Esc)]), [KeyChoice::Interrupted]);
    }
}
