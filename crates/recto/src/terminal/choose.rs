//! A question that is answered by one key, or by a word and Enter.
//!
//! A key answers only when nothing follows it: else it begins a line. Keys that were typed
//! before a person could have read the question are no answer, nor are those of a line that
//! they were typing: such a line goes on.

use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::keys::TimedKey;

/// How long nobody may have typed before a key counts: whoever is still typing has not read
/// the question.
const READING: Duration = Duration::from_millis(400);

/// How long nothing may follow a key that is to be the whole answer: whoever types a word is
/// faster.
const ALONE: Duration = Duration::from_millis(300);

/// The words that answer a question.
const ANSWERS: [&str; 9] = ["y", "yes", "allow", "s", "session", "n", "no", "deny", "stop"];

/// A question that waits for its answer.
#[derive(Debug)]
pub(crate) struct KeyQuestion {
    /// The keys that answer it, in lower case.
    keys: &'static str,
    /// When the question was shown, or the last key came that was no answer.
    quiet_since: Instant,
    /// Whether the line that is being typed was begun for this question.
    line: LinePurpose,
    /// The key that is all of the line so far.
    lone: Option<LoneKey>,
}

/// What a line is for that is being typed at a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinePurpose {
    /// It may answer: it was begun when the question could have been read.
    Answer,
    /// Something else.
    Message,
}

/// A key that answers, unless more is typed.
#[derive(Debug, Clone, Copy)]
struct LoneKey {
    /// In lower case.
    key: char,
    until: Instant,
}

/// What something typed is to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyChoice {
    /// One of its keys, in lower case.
    Key(char),
    /// Ctrl-D, Escape or the word `stop`.
    Interrupted,
    /// No answer yet, but part of a line.
    Typed,
    /// Nothing: it came too early.
    TooEarly,
}

impl KeyQuestion {
    /// A question that was shown at that time, while that line was being typed.
    pub(crate) fn new(keys: &'static str, shown: Instant, line: &str) -> Self {
        let purpose = match line.is_empty() {
            true => LinePurpose::Answer,
            false => LinePurpose::Message,
        };
        KeyQuestion { keys, quiet_since: shown, line: purpose, lone: None }
    }

    /// Says what a key means: that it interrupts, or that it belongs to a line. `line` is what
    /// is being typed at that time.
    pub(crate) fn read(&mut self, key: &TimedKey, line: &str) -> KeyChoice {
        let pressed = match &key.event {
            Event::Key(pressed) if pressed.kind == KeyEventKind::Release => {
                return KeyChoice::Typed;
            }
            Event::Key(pressed) => Some(pressed),
            _ => None,
        };
        if (line.is_empty() || self.lone.is_some()) && pressed.is_some_and(interrupts) {
            return KeyChoice::Interrupted;
        }
        if line.is_empty() {
            let is_early = key.at.saturating_duration_since(self.quiet_since) < READING;
            self.line = match is_early || pressed.is_none() {
                true => LinePurpose::Message,
                false => LinePurpose::Answer,
            };
        }
        self.lone = pressed.and_then(|pressed| self.answer_of(pressed)).and_then(|answer| {
            // A key that is held down, or bounces, is still that key.
            let is_same = self.lone.is_some_and(|lone| lone.key == answer);
            (line.is_empty() || is_same).then(|| LoneKey { key: answer, until: key.at + ALONE })
        });
        self.quiet_since = self.quiet_since.max(key.at);
        KeyChoice::Typed
    }

    /// When it is clear that a key was typed alone.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.lone.map(|lone| lone.until)
    }

    /// What a key was that nothing had followed by that time; it is no part of a line then.
    pub(crate) fn settle(&mut self, now: Instant) -> Option<KeyChoice> {
        let lone = self.lone.take_if(|lone| lone.until <= now)?;
        Some(match self.line {
            LinePurpose::Answer => KeyChoice::Key(lone.key),
            LinePurpose::Message => KeyChoice::TooEarly,
        })
    }

    /// What a line means that was finished with Enter; `None` where it is no answer.
    pub(crate) fn read_line(&self, line: &str) -> Option<KeyChoice> {
        if self.line == LinePurpose::Message {
            return None;
        }
        let line = line.trim().to_lowercase();
        let key = match ANSWERS.iter().find(|word| **word == line).copied()? {
            "y" | "yes" | "allow" => 'y',
            "s" | "session" => 's',
            "stop" => return Some(KeyChoice::Interrupted),
            _ => 'n',
        };
        self.keys.contains(key).then_some(KeyChoice::Key(key))
    }

    /// Whether a line may still become an answer.
    pub(crate) fn may_answer(&self, line: &str) -> bool {
        let line = line.trim().to_lowercase();
        self.line == LinePurpose::Answer && ANSWERS.iter().any(|word| word.starts_with(&*line))
    }

    /// The answer that a key would be, were it alone.
    fn answer_of(&self, pressed: &KeyEvent) -> Option<char> {
        let KeyCode::Char(typed) = pressed.code else { return None };
        let key = typed.to_ascii_lowercase();
        let is_plain = !pressed.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        (is_plain && self.keys.contains(key)).then_some(key)
    }
}

fn interrupts(pressed: &KeyEvent) -> bool {
    match pressed.code {
        KeyCode::Char('d') => pressed.modifiers.contains(KeyModifiers::CONTROL),
        code => code == KeyCode::Esc,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::type_ahead::{TypeAhead, TypedAction};

    /// What becomes of keys at a question that is shown at second 10 while a line is typed,
    /// each with its time in milliseconds after that: the answer, if there is one, and the
    /// lines that were finished or begun.
    fn answer(draft: &str, keys: &[(i64, KeyCode)]) -> (Option<KeyChoice>, Vec<String>) {
        let start = Instant::now();
        let mut question = KeyQuestion::new("ysn", start + Duration::from_secs(10), draft);
        let (mut ahead, mut lines) = (TypeAhead::default(), Vec::new());
        ahead.press(&Event::Paste(draft.to_owned()));
        let far = start + Duration::from_secs(100);
        for (after, code) in keys {
            let at = start + Duration::from_millis((10_000 + after).unsigned_abs());
            match question.settle(at) {
                Some(KeyChoice::TooEarly) => drop(ahead.take_line()),
                Some(choice) => return (Some(choice), lines),
                None => {}
            }
            let event = Event::Key(KeyEvent::new(*code, KeyModifiers::NONE));
            let key = TimedKey { at, event };
            if question.read(&key, ahead.line()) == KeyChoice::Interrupted {
                return (Some(KeyChoice::Interrupted), lines);
            }
            if let TypedAction::Finished(line) = ahead.press(&key.event) {
                match question.read_line(&line) {
                    Some(choice) => return (Some(choice), lines),
                    None => lines.push(line),
                }
            }
        }
        match question.settle(far) {
            Some(KeyChoice::TooEarly) => return (None, lines),
            Some(choice) => return (Some(choice), lines),
            None => {}
        }
        lines.extend(Some(ahead.take_line()).filter(|line| !line.is_empty()));
        (None, lines)
    }

    const Y: KeyCode = KeyCode::Char('y');

    /// Types a text, a key every 100 milliseconds from that time on; `|` is Enter.
    fn typed(from: i64, text: &str) -> Vec<(i64, KeyCode)> {
        let code = |c| if c == '|' { KeyCode::Enter } else { KeyCode::Char(c) };
        (0..).zip(text.chars()).map(|(at, c)| (from + 100 * at, code(c))).collect()
    }

    #[track_caller]
    fn check(keys: &[(i64, KeyCode)], choice: Option<KeyChoice>, lines: &[&str]) {
        let (answered, left) = answer("", keys);
        assert_eq!(answered, choice);
        assert_eq!(left, lines);
    }

    #[test]
    fn a_key_that_was_typed_before_the_question_is_no_answer() {
        check(&[(-5, Y)], None, &[]);
        check(&[(5, Y), (300, Y)], None, &[]);
        check(&[(5, Y), (500, Y)], Some(KeyChoice::Key('y')), &[]);
        check(&[(500, KeyCode::Char('N'))], Some(KeyChoice::Key('n')), &[]);
    }

    /// Somebody who types on does not answer by it, however slow they are.
    #[test]
    fn a_line_that_is_being_typed_goes_on() {
        let keys = [(1_000, KeyCode::Char('w')), (2_000, Y), (9_000, KeyCode::Char('n'))];
        check(&keys, None, &["wyn"]);
    }

    #[test]
    fn a_word_is_not_its_first_letter() {
        check(&typed(1_000, "stop|"), Some(KeyChoice::Interrupted), &[]);
        check(&typed(1_000, "Yes|"), Some(KeyChoice::Key('y')), &[]);
        check(&typed(1_000, "session|"), Some(KeyChoice::Key('s')), &[]);
        check(&typed(1_000, "no|"), Some(KeyChoice::Key('n')), &[]);
        check(&typed(1_000, "ssh is down|"), None, &["ssh is down"]);
        check(&typed(1_000, "yes, but|"), None, &["yes, but"]);
        check(&typed(1_000, "st"), None, &["st"]);
    }

    #[test]
    fn it_is_clear_at_once_which_line_is_no_answer() {
        let question = KeyQuestion::new("ysn", Instant::now(), "");
        for line in ["", "y", "Ye", "sto", "den"] {
            assert!(question.may_answer(line), "{line}");
        }
        for line in ["x", "xn", "yn", "yes, but"] {
            assert!(!question.may_answer(line), "{line}");
        }
        let typed_before = KeyQuestion::new("ysn", Instant::now(), "ye");
        assert!(!typed_before.may_answer("yes"));
    }

    #[test]
    fn enter_confirms_a_key_and_erasing_takes_it_back() {
        check(&typed(1_000, "y|"), Some(KeyChoice::Key('y')), &[]);
        check(&[(1_000, Y), (1_100, KeyCode::Backspace)], None, &[]);
        let corrected = [(1_000, Y), (1_100, Y), (1_200, KeyCode::Backspace)];
        check(&corrected, None, &["y"]);
    }

    /// Whoever was typing when the question came has not answered it.
    #[test]
    fn a_line_that_was_begun_before_is_no_answer_and_stays_whole() {
        check(&typed(-100, "yes|"), None, &["yes"]);
        let (choice, lines) = answer("ye", &typed(1_000, "s|"));
        assert_eq!((choice, lines), (None, vec!["yes".to_owned()]));
    }

    #[test]
    fn escape_interrupts_at_any_time() {
        check(&[(-1, KeyCode::Esc)], Some(KeyChoice::Interrupted), &[]);
        check(&[(1_000, Y), (1_100, KeyCode::Esc)], Some(KeyChoice::Interrupted), &[]);
    }
}
