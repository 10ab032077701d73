//! Marks that stand for texts while a chat template is rendered.
//!
//! A template is a program that works on strings. Were it given what people, files and tools
//! wrote, it could alter that, and nobody could tell afterwards which part of its output is its
//! own: a message that holds `<|im_end|>` looks like the end of one. So it is given marks instead,
//! numbers between two characters that Unicode has set aside for no use at all. Where they come
//! out again, the texts go in, and everything else is the template's.
//!
//! A text may hold such characters itself. Nothing looks for marks in texts, only in what a
//! template wrote.

use std::fmt;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::PromptSegment;
use super::refusal::{OmittedPart, TemplateRefusal};

/// The characters before and behind a mark's number.
const OPEN: char = '\u{fdd0}';
const CLOSE: char = '\u{fdd1}';

/// The most bytes of a prompt, and of all JSON that is written for it. A template may repeat a
/// text as often as it likes.
pub(super) const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The mark that stands for a text while a template is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextMark(usize);

impl fmt::Display for TextMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OPEN}{}{CLOSE}", self.0)
    }
}

/// The texts that marks stand for.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct MarkedTexts {
    texts: Vec<PromptSegment>,
    /// JSON that was made of it for the template.
    #[serde(skip)]
    written: Mutex<Vec<WrittenJson>>,
}

/// JSON, and the texts that are in it.
#[derive(Debug)]
struct WrittenJson {
    json: String,
    holds: Vec<TextMark>,
}

/// What must come out of a template again, or else the model would not know of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RequiredMarks {
    pub(super) system: Vec<TextMark>,
    pub(super) last: Vec<TextMark>,
}

impl MarkedTexts {
    /// A mark for `segment`.
    pub(super) fn keep(&mut self, segment: PromptSegment) -> TextMark {
        self.texts.push(segment);
        TextMark(self.texts.len() - 1)
    }

    /// A mark for `text`.
    pub(super) fn keep_text(&mut self, text: impl Into<String>) -> TextMark {
        self.keep(PromptSegment::Text { text: text.into() })
    }

    /// A mark for JSON that holds the texts `holds`.
    pub(super) fn write(
        &self,
        json: String,
        holds: Vec<TextMark>,
    ) -> Result<TextMark, TemplateRefusal> {
        let mut written = self.written.lock();
        let before: usize = written.iter().map(|written| written.json.len()).sum();
        if before + json.len() > MOST_BYTES {
            return Err(TemplateRefusal::TooLong);
        }
        written.push(WrittenJson { json, holds });
        Ok(TextMark(self.texts.len() + written.len() - 1))
    }

    /// Forgets the JSON that was written. Its marks mean nothing any more.
    pub(super) fn forget_written(&self) {
        self.written.lock().clear();
    }

    /// A string of the template with the texts in it, and the marks that stood for them. What is
    /// no whole mark stays as it is.
    pub(super) fn resolve(&self, marked: &str) -> (String, Vec<TextMark>) {
        let (mut text, mut marks) = (String::new(), Vec::new());
        let written = self.written.lock();
        for piece in pieces(marked) {
            match piece {
                MarkedPiece::Own(own) => text.push_str(own),
                MarkedPiece::Broken(c) => text.push(c),
                MarkedPiece::Mark(mark) => match self.find(&written, mark) {
                    Some(MarkTarget::Said(segment)) => {
                        text.push_str(segment.text());
                        marks.push(mark);
                    }
                    Some(MarkTarget::Written(written)) => {
                        text.push_str(&written.json);
                        marks.extend_from_slice(&written.holds);
                    }
                    None => text.push_str(&mark.to_string()),
                },
            }
        }
        (text, marks)
    }

    /// What a template wrote, cut into its own words and those of others.
    pub(super) fn cut(
        &self,
        output: &str,
        musts: &RequiredMarks,
    ) -> Result<Vec<PromptSegment>, TemplateRefusal> {
        let mut cut = SegmentBuilder::default();
        let mut is_shown = vec![false; self.texts.len()];
        let written = self.written.lock();
        for piece in pieces(output) {
            match piece {
                MarkedPiece::Own(own) => {
                    cut.push(PromptSegment::Template { template: own.to_owned() })?;
                }
                MarkedPiece::Broken(_) => return Err(TemplateRefusal::TakenApart),
                MarkedPiece::Mark(mark) => match self.find(&written, mark) {
                    Some(MarkTarget::Said(segment)) => {
                        is_shown[mark.0] = true;
                        cut.push(segment.clone())?;
                    }
                    Some(MarkTarget::Written(written)) => {
                        written.holds.iter().for_each(|mark| is_shown[mark.0] = true);
                        cut.push(PromptSegment::Text { text: written.json.clone() })?;
                    }
                    None => return Err(TemplateRefusal::TakenApart),
                },
            }
        }
        let lacks = |marks: &[TextMark]| marks.iter().any(|mark| !is_shown[mark.0]);
        if lacks(&musts.system) {
            return Err(TemplateRefusal::LeftOut(OmittedPart::System));
        }
        if lacks(&musts.last) {
            return Err(TemplateRefusal::LeftOut(OmittedPart::LastMessage));
        }
        Ok(cut.segments)
    }

    fn find<'a>(&'a self, written: &'a [WrittenJson], mark: TextMark) -> Option<MarkTarget<'a>> {
        match mark.0.checked_sub(self.texts.len()) {
            None => self.texts.get(mark.0).map(MarkTarget::Said),
            Some(place) => written.get(place).map(MarkTarget::Written),
        }
    }
}

/// What a mark stands for.
enum MarkTarget<'a> {
    Said(&'a PromptSegment),
    Written(&'a WrittenJson),
}

/// The segments of a prompt under construction.
#[derive(Default)]
struct SegmentBuilder {
    segments: Vec<PromptSegment>,
    bytes: usize,
}

impl SegmentBuilder {
    /// Neighbours of the same kind become one, so that a text is one text whatever it was put
    /// together from. A reply stays by itself: it has tokens of its own.
    fn push(&mut self, segment: PromptSegment) -> Result<(), TemplateRefusal> {
        self.bytes += segment.text().len();
        if self.bytes > MOST_BYTES {
            return Err(TemplateRefusal::TooLong);
        }
        if segment.text().is_empty() {
            return Ok(());
        }
        match (self.segments.last_mut(), segment) {
            (
                Some(PromptSegment::Template { template: last }),
                PromptSegment::Template { template: next },
            )
            | (Some(PromptSegment::Text { text: last }), PromptSegment::Text { text: next }) => {
                last.push_str(&next);
            }
            (_, segment) => self.segments.push(segment),
        }
        Ok(())
    }
}

/// A piece of a string that a template made.
enum MarkedPiece<'a> {
    Own(&'a str),
    Mark(TextMark),
    /// Half of a mark.
    Broken(char),
}

fn pieces(output: &str) -> impl Iterator<Item = MarkedPiece<'_>> {
    let mut rest = output;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (piece, length) = match first {
            OPEN => whole_mark(rest).unwrap_or((MarkedPiece::Broken(first), first.len_utf8())),
            CLOSE => (MarkedPiece::Broken(first), first.len_utf8()),
            _ => {
                let end = rest.find([OPEN, CLOSE]).unwrap_or(rest.len());
                (MarkedPiece::Own(&rest[..end]), end)
            }
        };
        rest = &rest[length..];
        Some(piece)
    })
}

/// The mark that `text` begins with, and its length.
fn whole_mark(text: &str) -> Option<(MarkedPiece<'static>, usize)> {
    let (number, _) = text.strip_prefix(OPEN)?.split_once(CLOSE)?;
    let mark = TextMark(number.parse().ok()?);
    // Not every form of a number is one that was handed out.
    let length = mark.to_string().len();
    text.starts_with(&mark.to_string()).then_some((MarkedPiece::Mark(mark), length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn template(template: &str) -> PromptSegment {
        PromptSegment::Template { template: template.to_owned() }
    }

    fn text(text: &str) -> PromptSegment {
        PromptSegment::Text { text: text.to_owned() }
    }

    #[test]
    fn texts_go_where_their_marks_are() {
        let mut texts = MarkedTexts::default();
        let (a, b) = (texts.keep_text("A\u{fdd0}1\u{fdd1}"), texts.keep_text("B"));
        let reply = texts.keep(PromptSegment::Reply { text: "C".to_owned(), tokens: vec![7] });
        let output = format!("<1>{a}{b}<2>{reply}{reply}{b}<3>");
        let cut = texts.cut(&output, &RequiredMarks::default()).unwrap();
        let reply = PromptSegment::Reply { text: "C".to_owned(), tokens: vec![7] };
        let expected = [
            template("<1>"),
            text("A\u{fdd0}1\u{fdd1}B"),
            template("<2>"),
            reply.clone(),
            reply,
            text("B"),
            template("<3>"),
        ];
        assert_eq!(cut, expected);
    }

    #[test]
    fn marks_that_were_taken_apart_are_told() {
        let mut texts = MarkedTexts::default();
        let mark = texts.keep_text("A").to_string();
        for output in [
            &mark[1.max(OPEN.len_utf8())..],
            &mark[..mark.len() - CLOSE.len_utf8()],
            "\u{fdd0}\u{fdd1}",
            "\u{fdd0}1\u{fdd1}",
            "\u{fdd0}00\u{fdd1}",
            "\u{fdd0}+0\u{fdd1}",
            "\u{fdd0}99999999999999999999999\u{fdd1}",
            "\u{fdd1}0\u{fdd0}",
        ] {
            let cut = texts.cut(output, &RequiredMarks::default());
            assert_eq!(cut, Err(TemplateRefusal::TakenApart), "{output:?}");
        }
    }

    #[test]
    fn what_must_be_there_may_be_in_json() {
        let mut texts = MarkedTexts::default();
        let mark = texts.keep_text("A");
        let json = texts.write("[\"A\"]".to_owned(), vec![mark]).unwrap();
        let musts = |system, last| RequiredMarks { system, last };
        let cut = |output: &str, musts| texts.cut(output, &musts);
        assert_eq!(cut(&json.to_string(), musts(vec![mark], vec![])), Ok(vec![text("[\"A\"]")]));
        assert_eq!(
            cut("x", musts(vec![mark], vec![])),
            Err(TemplateRefusal::LeftOut(OmittedPart::System))
        );
        let last = TemplateRefusal::LeftOut(OmittedPart::LastMessage);
        assert_eq!(cut("x", musts(vec![], vec![mark])), Err(last));
        texts.forget_written();
        assert_eq!(
            cut(&json.to_string(), RequiredMarks::default()),
            Err(TemplateRefusal::TakenApart)
        );
    }

    #[test]
    fn a_prompt_has_an_end() {
        let mut texts = MarkedTexts::default();
        let mark = texts.keep_text("x".repeat(MOST_BYTES / 2)).to_string();
        assert!(texts.cut(&mark.repeat(2), &RequiredMarks::default()).is_ok());
        assert_eq!(
            texts.cut(&mark.repeat(3), &RequiredMarks::default()),
            Err(TemplateRefusal::TooLong)
        );
        let half = "x".repeat(MOST_BYTES / 2);
        assert!(texts.write(half.clone(), vec![]).is_ok());
        assert!(texts.write(half.clone(), vec![]).is_ok());
        assert_eq!(texts.write(half, vec![]), Err(TemplateRefusal::TooLong));
    }

    proptest! {
        #[test]
        fn any_output_is_cut_or_refused(output in "[\u{fdd0}\u{fdd1}0-9a<]{0,40}") {
            let mut texts = MarkedTexts::default();
            let (_, _) = (texts.keep_text("A"), texts.keep_text("B"));
            if let Ok(cut) = texts.cut(&output, &RequiredMarks::default()) {
                let whole: String = cut.iter().map(PromptSegment::text).collect();
                prop_assert_eq!(whole, texts.resolve(&output).0);
            }
        }
    }
}
