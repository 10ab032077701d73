//! Makes characters visible that people would not see, or that change how others are seen:
//! before a text reaches a terminal, a page or a log, whoever wrote it.
//!
//! Control characters move a terminal's cursor. Characters of direction turn the text around
//! them, so that what is read is not what is done. Tags and characters without width hide words
//! that a model reads and a person does not. All of them are written out as escapes.

/// What a text is shown as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reveal {
    /// One line, such as a name, a path or a title: line breaks are written out as well.
    Line,
    /// Lines that people read, such as a reply. Characters that join others (in emoji, and in
    /// scripts that need them) may stand behind one that can be seen.
    Lines,
    /// Lines that a person is asked about: nothing in them is left unseen, nor a blank that looks
    /// like another or like none.
    EveryCharacter,
    /// One line that a person is asked about, such as what would be run.
    EveryCharacterOfLine,
}

/// Writes a text so that everything in it can be seen.
///
/// ```
/// use recto_context::{Reveal, reveal};
///
/// assert_eq!(reveal("rm\u{202e}fdp\n", Reveal::Line), r"rm\u{202e}fdp\n");
/// assert_eq!(reveal("a\n\u{1b}[2J\u{e0041}", Reveal::Lines), "a\n\\u{1b}[2J\\u{e0041}");
/// ```
pub fn reveal(text: &str, form: Reveal) -> String {
    let mut shown = String::with_capacity(text.len());
    let is_asked = matches!(form, Reveal::EveryCharacter | Reveal::EveryCharacterOfLine);
    let (mut previous, mut marks) = (None, LetterMarks::default());
    for c in text.chars() {
        match is_asked && !marks.may_carry(c) {
            true => shown.extend(c.escape_unicode()),
            false => reveal_char(c, previous, form, &mut shown),
        }
        previous = Some(c);
    }
    shown
}

/// The most marks that one letter carries in what is asked about. Scripts need no more, and
/// terminals drop what is beyond.
const MOST_MARKS: usize = 4;

/// What marks may stand where a text has come to: those that are drawn over the character before
/// them (`U+0336` strikes it through).
#[derive(Default)]
struct LetterMarks {
    /// How many the last letter may still carry; none where what came last is no letter of the
    /// text's own.
    left: usize,
}

impl LetterMarks {
    /// Takes in the next character: whether it is no mark, or one that a letter carries.
    fn may_carry(&mut self, c: char) -> bool {
        if !is_mark(c) {
            self.left = if c.is_alphanumeric() { MOST_MARKS } else { 0 };
            return true;
        }
        let may = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may
    }
}

/// Whether a character is drawn over the one before it. The standard library knows such
/// characters by writing them out where it shows a character by itself.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && !is_unseen(c) && !is_odd_blank(c) && c.escape_debug().nth(1).is_some()
}

/// Writes one character of a text that comes piece by piece, behind the one before it.
pub fn reveal_char(c: char, previous: Option<char>, form: Reveal, shown: &mut String) {
    let stays = match c {
        '\n' | '\t' => matches!(form, Reveal::Lines | Reveal::EveryCharacter),
        c if joins(c) => form == Reveal::Lines && previous.is_some_and(|base| can_join(base, c)),
        c if is_odd_blank(c) => matches!(form, Reveal::Line | Reveal::Lines),
        c => !is_unseen(c),
    };
    match c {
        c if stays => shown.push(c),
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        c => shown.extend(c.escape_unicode()),
    }
}

/// Whether people see all of a text as it is, on one line.
pub fn is_all_seen(text: &str) -> bool {
    !text.contains(['\n', '\t']) && reveal(text, Reveal::Lines) == text
}

/// Whether people would not see a character, or it acts on those around it.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || joins(c)
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffc}'
            | '\u{13430}'..='\u{1343f}' | '\u{16fe4}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
        // The last two of each plane are no characters.
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Blanks that look like the one that is typed, or, where they are narrow, like nothing.
fn is_odd_blank(c: char) -> bool {
    c.is_whitespace() && !c.is_ascii() && !is_unseen(c)
}

/// A JSON text in which everything can be seen. It says the same as before.
///
/// ```
/// let text = "{\"a\": \"x\u{202e}\u{e0041}\u{a0}\"}";
/// let shown = recto_context::reveal_json(text);
/// assert_eq!(shown, r#"{"a": "x\u202e\udb40\udc41\u00a0"}"#);
/// ```
pub fn reveal_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        // Between the values there is white space, and inside texts JSON has no other controls.
        if c == '\n' || !is_unseen(c) && !is_odd_blank(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            shown.push_str(&format!("\\u{unit:04x}"));
        }
    }
    shown
}

/// Characters that join or vary the one before them: in emoji, and in scripts that need them.
fn joins(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Whether a character may be joined to the one before it. Behind another that can't be seen, it
/// would hide something; but an emoji's form and what it is joined to may both be said.
fn can_join(base: char, joint: char) -> bool {
    let is_key = matches!(base, '0'..='9' | '#' | '*');
    let is_formed = base == '\u{fe0f}' && joint == '\u{200d}';
    is_key || is_formed || !base.is_ascii() && !is_unseen(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Promise: `shown-is-what-runs`
    #[test]
    fn nothing_that_misleads_is_left() {
        let tricks = [
            '\u{0}',
            '\u{7}',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\u{ad}',
            '\u{200b}',
            '\u{200e}',
            '\u{2028}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{206f}',
            '\u{feff}',
            '\u{fff9}',
            '\u{e0041}',
            '\u{e007f}',
            '\u{e0100}',
            '\u{3164}',
            '\u{34f}',
            '\u{2800}',
            '\u{16fe4}',
            '\u{1d159}',
            '\u{13430}',
            '\u{1343f}',
            '\u{fffc}',
            '\u{fffe}',
            '\u{ffff}',
            '\u{fdd0}',
            '\u{fdef}',
            '\u{1fffe}',
            '\u{10ffff}',
        ];
        let asked = [Reveal::EveryCharacter, Reveal::EveryCharacterOfLine];
        for form in [Reveal::Line, Reveal::Lines].into_iter().chain(asked) {
            for trick in tricks {
                let shown = reveal(&format!("é{trick}b"), form);
                assert_eq!(shown, format!("é{}b", trick.escape_unicode()), "{form:?}");
            }
        }
        assert_eq!(reveal("a\r\nb\tc", Reveal::Line), r"a\r\nb\tc");
        assert_eq!(reveal("a\r\nb\tc", Reveal::EveryCharacter), "a\\r\nb\tc");
        assert_eq!(reveal("a\r\nb\tc", Reveal::EveryCharacterOfLine), r"a\r\nb\tc");
    }

    /// Promise: `shown-is-what-runs`
    #[test]
    fn a_blank_that_is_asked_about_is_the_one_that_is_typed() {
        for blank in
            ['\u{a0}', '\u{2000}', '\u{2009}', '\u{200a}', '\u{202f}', '\u{205f}', '\u{3000}']
        {
            let text = format!("rm a{blank}b c");
            for form in [Reveal::EveryCharacter, Reveal::EveryCharacterOfLine] {
                assert_eq!(reveal(&text, form), format!("rm a{}b c", blank.escape_unicode()));
            }
            for form in [Reveal::Line, Reveal::Lines] {
                assert_eq!(reveal(&text, form), text);
            }
        }
    }

    /// Promise: `shown-is-what-runs`
    #[test]
    fn marks_are_drawn_over_letters_alone_and_not_without_end() {
        let asked = |text: &str| reveal(text, Reveal::EveryCharacter);
        // What strikes through the sign of a diff's line, a blank or a quote is no mark of a letter.
        for (text, shown) in [
            ("+\u{336}x", r"+\u{336}x"),
            ("a\n\u{336}b", "a\n\\u{336}b"),
            ("\u{301}", r"\u{301}"),
            (" \u{338}=\u{338}", r" \u{338}=\u{338}"),
            ("Z\u{301}\u{301}\u{301}\u{301}\u{301}y", "Z\u{301}\u{301}\u{301}\u{301}\\u{301}y"),
        ] {
            assert_eq!(asked(text), shown);
        }
        assert_eq!(reveal("x\u{336}\n", Reveal::EveryCharacterOfLine), "x\u{336}\\n");
        let written = "e\u{301} Vie\u{302}\u{323}t नमस्ते क्षत्रिय ภาษาไทยที่นี่ שָׁלוֹם العَرَبِيَّة \u{1112}\u{1161}\u{11ab} 日本語 🦀 ½";
        assert_eq!(asked(written), written);
        let stack = format!("Z{}", "\u{301}".repeat(600));
        assert_eq!(reveal(&stack, Reveal::Lines), stack);
    }

    #[test]
    fn what_people_write_stays() {
        let written = "größe ✓ 日本語 नमस्ते 👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} می\u{200c}خواهم";
        assert_eq!(reveal(written, Reveal::Lines), written);
        let shown = reveal(written, Reveal::EveryCharacter);
        assert!(!shown.contains(['\u{200d}', '\u{200c}', '\u{fe0f}']), "{shown}");
        // Behind nothing, or behind each other, they join nothing.
        assert_eq!(reveal("a\u{200d}", Reveal::Lines), r"a\u{200d}");
        assert_eq!(reveal("é\u{200d}\u{200d}", Reveal::Lines), "é\u{200d}\\u{200d}");
        for (twice, shown) in [
            ("❤\u{fe0f}\u{fe0f}\u{fe0f}", "❤\u{fe0f}\\u{fe0f}\\u{fe0f}"),
            ("❤\u{fe0f}\u{fe0e}", "❤\u{fe0f}\\u{fe0e}"),
            ("❤\u{fe0f}\u{200d}\u{fe0f}", "❤\u{fe0f}\u{200d}\\u{fe0f}"),
        ] {
            assert_eq!(reveal(twice, Reveal::Lines), shown);
        }
    }

    #[test]
    fn json_says_the_same() {
        let blanks = "\u{a0}\u{2003}\u{3000}\u{202f}\u{205f}";
        let value = serde_json::json!({"a\u{202e}": "x\u{9b}\u{e0041}\u{200d}\n\tß", "b": blanks});
        for text in [value.to_string(), format!("{value:#}")] {
            let shown = reveal_json(&text);
            let is_raw = |c: char| c != '\n' && (is_unseen(c) || blanks.contains(c));
            assert!(!shown.chars().any(is_raw), "{shown}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
