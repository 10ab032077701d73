//! Puts styled text into lines, and breaks lines between words where they would
//! become longer than the terminal is wide.
//!
//! A word is held back until it ends, since only then is it known where it
//! stands. Without a width nothing is. Every line ends in the plain style, so
//! that whatever is printed between two lines looks as it should.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text in one style.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StyledSpan {
    pub(super) text: String,
    pub(super) style: Style,
}

impl StyledSpan {
    pub(super) fn new(text: String, style: Style) -> Self {
        StyledSpan { text, style }
    }

    pub(super) fn blank(columns: usize) -> Self {
        StyledSpan::new(" ".repeat(columns), Style::new())
    }

    /// The columns that it takes.
    pub(super) fn width(&self) -> usize {
        self.text.width()
    }
}

/// Writes lines, broken where they would become too long.
#[derive(Debug, Default)]
pub(super) struct LineWriter {
    width: Option<usize>,
    /// What the lines begin with that a line is broken into.
    hang: Vec<StyledSpan>,
    column: usize,
    /// Blanks that are only needed if a word follows on the same line.
    gap: Vec<StyledSpan>,
    /// The word that has not ended.
    word: Vec<StyledSpan>,
    /// Where the line may be broken before the word.
    before: WordContext,
    /// The last character, if it was no blank.
    last: Option<char>,
    /// The style that the terminal has been told to use.
    style: Style,
    out: String,
}

/// What stands before a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum WordContext {
    /// The beginning of the line: a break would gain nothing.
    #[default]
    Beginning,
    Word,
    /// The first part of this word, which is longer than a line.
    Itself,
}

impl LineWriter {
    pub(super) fn new(width: Option<usize>) -> Self {
        LineWriter { width, ..LineWriter::default() }
    }

    /// Lines are that long from now on, the present one included.
    pub(super) fn set_width(&mut self, width: Option<usize>) {
        self.width = width;
    }

    /// Begins a line with `first`. The lines that it is broken into begin with
    /// `hang`.
    pub(super) fn begin(&mut self, first: Vec<StyledSpan>, hang: Vec<StyledSpan>) {
        self.hang = hang;
        for span in first {
            // Blanks wait until something stands behind them.
            match span.text.trim().is_empty() {
                true => self.gap.push(span),
                false => self.put_span(span),
            }
        }
        self.before = WordContext::Beginning;
        self.last = None;
    }

    /// Adds text, broken into lines where needed.
    pub(super) fn write(&mut self, span: &StyledSpan) {
        for c in span.text.chars() {
            if matches!(c, ' ' | '\t') {
                self.end_word();
                self.last = None;
                add(&mut self.gap, ' ', span.style);
            } else {
                self.write_visible(c, span.style);
            }
        }
        if self.width.is_none() {
            self.place_word();
        }
    }

    fn write_visible(&mut self, c: char, style: Style) {
        if self.last.is_some_and(|last| may_break(last, c)) {
            self.end_word();
        }
        self.last = Some(c);
        add(&mut self.word, c, style);
        if self.width.is_some_and(|width| self.is_longer_than_a_line(width)) {
            self.place_word();
            self.before = WordContext::Itself;
        }
    }

    /// Whether the word would not fit into a line of its own.
    fn is_longer_than_a_line(&self, width: usize) -> bool {
        total_width(&self.hang) + total_width(&self.word) > width
    }

    /// Places the word; what follows is another.
    fn end_word(&mut self) {
        self.place_word();
        if self.before == WordContext::Itself {
            self.before = WordContext::Word;
        }
    }

    /// Puts the word where it belongs: on this line, or else on the next.
    fn place_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let end = self.column + total_width(&self.gap) + total_width(&word);
        let too_long = self.width.is_some_and(|width| end > width);
        if too_long && self.before == WordContext::Word {
            self.gap.clear();
            self.break_line();
        }
        word.into_iter().for_each(|span| self.put_span(span));
        if self.before == WordContext::Beginning {
            self.before = WordContext::Word;
        }
    }

    fn break_line(&mut self) {
        self.set_style(Style::new());
        self.out.push('\n');
        self.column = 0;
        for span in self.hang.clone() {
            self.put_span(span);
        }
    }

    /// Puts a span behind the blanks that waited for it.
    fn put_span(&mut self, span: StyledSpan) {
        for span in std::mem::take(&mut self.gap).into_iter().chain([span]) {
            self.column += span.width();
            self.set_style(span.style);
            self.out.push_str(&span.text);
        }
    }

    /// Adds text as it is, after all that was held back.
    pub(super) fn push_text(&mut self, text: &str, style: Style) {
        if !text.is_empty() {
            self.place_word();
            self.put_span(StyledSpan::new(text.to_owned(), style));
        }
    }

    /// Ends the line. Blanks at its end are left out.
    pub(super) fn end(&mut self) {
        self.place_word();
        self.gap.clear();
        self.set_style(Style::new());
        self.out.push('\n');
        self.column = 0;
        self.before = WordContext::Beginning;
        self.last = None;
    }

    /// What can be printed now.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    fn set_style(&mut self, style: Style) {
        if style != self.style {
            let codes = format!("{:#}{style}", self.style);
            self.out.push_str(&codes);
            self.style = style;
        }
    }
}

/// The columns that spans take.
pub(super) fn total_width(spans: &[StyledSpan]) -> usize {
    spans.iter().map(StyledSpan::width).sum()
}

/// Adds a character to the last span, or to a new one of another style.
fn add(spans: &mut Vec<StyledSpan>, c: char, style: Style) {
    match spans.last_mut() {
        Some(span) if span.style == style => span.text.push(c),
        _ => spans.push(StyledSpan::new(c.to_string(), style)),
    }
}

/// Marks that no line should begin with, and those that none should end with.
const CLOSING: &str = "、。，．！？：；」』）】〉》・ー…";
const OPENING: &str = "「『（【〈《";

/// Whether a line may be broken between two characters of which neither is a
/// blank: only where one of them is of a script that has no blanks.
pub(crate) fn may_break(before: char, after: char) -> bool {
    let is_held = after.is_ascii_punctuation()
        || before.is_ascii_punctuation()
        || CLOSING.contains(after)
        || OPENING.contains(before);
    (is_wide(before) || is_wide(after)) && !is_held && !are_joined(before, after)
}

/// Whether a character takes two columns, as Chinese and Japanese ones and
/// emoji do.
pub(super) fn is_wide(c: char) -> bool {
    c.width() == Some(2)
}

/// Whether two characters may be parts of one picture.
pub(crate) fn are_joined(before: char, after: char) -> bool {
    const JOINER: char = '\u{200d}';
    let is_flag = |c: char| matches!(c, '\u{1f1e6}'..='\u{1f1ff}');
    let is_skin = |c: char| matches!(c, '\u{1f3fb}'..='\u{1f3ff}');
    before == JOINER
        || after.width() == Some(0)
        || is_skin(after)
        || (is_flag(before) && is_flag(after))
}
