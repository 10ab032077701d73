//! Cuts texts into chunks that an encoder can take in as a whole.
//!
//! Paragraphs come first: one that is short enough is a chunk. Longer ones are
//! cut at the ends of sentences and filled up again to the limit; a sentence that
//! is too long in itself at its lines, then at its words, and a word that is too
//! long between characters. A heading goes with what follows it, since it says
//! little alone.
//!
//! Chunks are places in the text, in its order, and between them is nothing but
//! white space. What a text is about plays no part here, and neither do tokens.
//! Time grows with the length of the text, whatever stands in it.

mod sentences;

#[cfg(test)]
mod tests;

use std::iter;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// The most characters of a chunk.
pub(crate) const LIMIT: usize = 500;

/// The most characters of a heading that is joined with what follows.
const HEADING: usize = 80;

/// The chunks of a text; none if there is nothing but white space.
pub(crate) fn chunks(text: &str) -> Vec<Range<usize>> {
    let mut packer = Packer { text, chunks: Vec::new(), open: None };
    for section in sections(text) {
        packer.push(section, CutLevel::Sentences);
        packer.close();
    }
    packer.chunks
}

/// Paragraphs, each with the headings right before it.
fn sections(text: &str) -> Vec<Range<usize>> {
    let mut sections = Vec::new();
    let mut headings: Option<Range<usize>> = None;
    for paragraph in paragraphs(text) {
        let is_heading = is_heading(&text[paragraph.clone()]);
        let start = headings.take().map_or(paragraph.start, |headings| headings.start);
        let section = start..paragraph.end;
        if is_heading {
            headings = Some(section);
        } else {
            sections.push(section);
        }
    }
    sections.extend(headings);
    sections
}

/// Lines that no blank line parts.
fn paragraphs(text: &str) -> Vec<Range<usize>> {
    let mut paragraphs = Vec::new();
    let mut open: Option<Range<usize>> = None;
    for line in ranges(text.split_inclusive('\n')) {
        if text[line.clone()].trim().is_empty() {
            paragraphs.extend(open.take());
        } else {
            open = Some(open.map_or(line.start, |open| open.start)..line.end);
        }
    }
    paragraphs.extend(open);
    paragraphs
}

/// Whether a paragraph is a heading in Markdown, or looks like one, or is a mere line
/// of marks between two others.
fn is_heading(paragraph: &str) -> bool {
    let paragraph = paragraph.trim();
    if count(paragraph, HEADING).is_none() {
        return false;
    }
    if !paragraph.contains(char::is_alphanumeric) {
        return true;
    }
    match paragraph.split_once('\n') {
        Some((_, rule)) => {
            let rule = rule.trim();
            rule.chars().all(|c| c == '=') || (rule.len() > 1 && rule.chars().all(|c| c == '-'))
        }
        None => {
            let title = paragraph.trim_start_matches('#');
            let is_marked = title.len() < paragraph.len() && title.starts_with(char::is_whitespace);
            let is_bold =
                paragraph.len() > 4 && paragraph.starts_with("**") && paragraph.ends_with("**");
            is_marked || is_bold || paragraph.ends_with([':', '：'])
        }
    }
}

/// Where a piece of text that is too long may be cut, the best places first.
#[derive(Debug, Clone, Copy)]
enum CutLevel {
    Sentences,
    Lines,
    Words,
    /// What Unicode takes for words: scripts without spaces, and numbers in them.
    WordBounds,
    /// What people take for characters.
    Clusters,
    Characters,
}

impl CutLevel {
    /// Where to cut what is still too long.
    fn finer(self) -> CutLevel {
        match self {
            CutLevel::Sentences => CutLevel::Lines,
            CutLevel::Lines => CutLevel::Words,
            CutLevel::Words => CutLevel::WordBounds,
            CutLevel::WordBounds => CutLevel::Clusters,
            CutLevel::Clusters | CutLevel::Characters => CutLevel::Characters,
        }
    }

    /// The parts of a text, in order and without gaps.
    fn parts<'a>(self, text: &'a str) -> Box<dyn Iterator<Item = Range<usize>> + 'a> {
        match self {
            CutLevel::Sentences => Box::new(ranges(sentences::sentences(text))),
            CutLevel::Lines => Box::new(ranges(text.split_inclusive('\n'))),
            CutLevel::Words => Box::new(ranges(text.split_inclusive(char::is_whitespace))),
            CutLevel::WordBounds => Box::new(words(text)),
            CutLevel::Clusters => Box::new(ranges(text.graphemes(true))),
            CutLevel::Characters => {
                Box::new(text.char_indices().map(|(at, c)| at..at + c.len_utf8()))
            }
        }
    }
}

/// Fills chunks with pieces.
struct Packer<'a> {
    text: &'a str,
    chunks: Vec<Range<usize>>,
    /// The chunk that may still grow.
    open: Option<OpenChunk>,
}

struct OpenChunk {
    range: Range<usize>,
    characters: usize,
}

impl Packer<'_> {
    /// Adds a piece to the open chunk, or opens one with it. A piece that no chunk
    /// can hold is cut.
    fn push(&mut self, piece: Range<usize>, cut: CutLevel) {
        let piece = trimmed(self.text, piece);
        if piece.is_empty() || self.extend(&piece) {
            return;
        }
        if let Some(characters) = count(&self.text[piece.clone()], LIMIT) {
            self.close();
            self.open = Some(OpenChunk { range: piece, characters });
            return;
        }
        let text = self.text;
        for part in cut.parts(&text[piece.clone()]) {
            self.push(piece.start + part.start..piece.start + part.end, cut.finer());
        }
    }

    /// Adds a piece to the open chunk, if there is one with room for it.
    fn extend(&mut self, piece: &Range<usize>) -> bool {
        let Some(open) = &mut self.open else { return false };
        // With the white space between.
        let added = &self.text[open.range.end..piece.end];
        let Some(added) = count(added, LIMIT - open.characters) else { return false };
        open.range.end = piece.end;
        open.characters += added;
        true
    }

    fn close(&mut self) {
        self.chunks.extend(self.open.take().map(|open| open.range));
    }
}

/// How many characters a text has; nothing if they are more than `most`. Reads no
/// further than it has to.
fn count(text: &str, most: usize) -> Option<usize> {
    let count = text.chars().take(most + 1).count();
    (count <= most).then_some(count)
}

/// The range without white space around it.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let piece = &text[range.clone()];
    let start = range.start + (piece.len() - piece.trim_start().len());
    start..start + piece.trim().len()
}

/// Words as Unicode bounds them, but none that ends within a character: the two rules
/// differ on odd sequences of marks.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut clusters = text.grapheme_indices(true).map(|(at, _)| at).peekable();
    let starts = text.split_word_bound_indices().map(|(at, _)| at).filter(move |at| {
        while clusters.next_if(|start| start < at).is_some() {}
        clusters.peek() == Some(at)
    });
    let ends = starts.skip(1).chain(iter::once(text.len()));
    ends.scan(0, |start, end| {
        let range = *start..end;
        *start = end;
        Some(range)
    })
}

/// Where the parts stand that make up a whole text.
fn ranges<'a>(parts: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = Range<usize>> {
    parts.into_iter().scan(0, |at, part| {
        let start = *at;
        *at += part.len();
        Some(start..*at)
    })
}
