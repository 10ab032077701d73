//! Where sentences end, in prose and in the lists and tables of Markdown.
//!
//! Made for filling chunks: where it is in doubt it sees no end, which costs
//! nothing but a cut at another place. It knows no language's grammar.

use unicode_segmentation::GraphemeCursor;

/// Ends a sentence where it stands, without a space after it.
const WIDE: [char; 5] = ['。', '！', '？', '｡', '︒'];

/// Ends a sentence when white space follows.
const NARROW: [char; 13] = ['.', '!', '?', '…', '．', '؟', '۔', '।', '॥', '։', '።', '။', '។'];

/// What may stand between the end of a sentence and the space after it.
const CLOSING: [char; 18] = [
    ')', ']', '}', '"', '\'', '”', '’', '»', '›', '」', '』', '】', '）', '〉', '》', '*', '_', '`',
];

/// Words before a full stop that ends no sentence.
const ABBREVIATIONS: [&str; 14] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "vs", "cf", "ca", "approx", "resp", "incl", "bzw", "ggf",
];

/// Words before a full stop that ends no sentence if a number follows.
const BEFORE_NUMBERS: [&str; 11] =
    ["no", "nr", "nos", "fig", "eq", "vol", "ch", "sec", "pp", "art", "abs"];

/// The sentences of a text, each with the white space before it.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (sentence, after) = rest.split_at(first_end(rest));
        rest = after;
        (!sentence.is_empty()).then_some(sentence)
    })
}

/// The place behind the first sentence.
fn first_end(text: &str) -> usize {
    let mut word = CurrentWord { start: 0, is_first: true };
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let mut end = at + c.len_utf8();
        if c == '\n' {
            if starts_block(&text[end..]) {
                return end;
            }
            word = CurrentWord { start: end, is_first: true };
        } else if c.is_whitespace() {
            // White space before the first word leaves it the first.
            word = CurrentWord { start: end, is_first: word.is_first && word.start == at };
        } else if WIDE.contains(&c) || NARROW.contains(&c) {
            let mut is_wide = WIDE.contains(&c);
            let mut is_single = true;
            while let Some((at, c)) = chars.next_if(|(_, c)| may_follow(*c)) {
                end = at + c.len_utf8();
                is_wide |= WIDE.contains(&c);
                is_single &= !NARROW.contains(&c);
            }
            let stop = SentenceStop { at, end, is_wide, is_period: c == '.' && is_single };
            if stop.ends_sentence(text, &word) {
                return end;
            }
        }
    }
    text.len()
}

fn may_follow(c: char) -> bool {
    WIDE.contains(&c) || NARROW.contains(&c) || CLOSING.contains(&c)
}

/// The word that is being read.
struct CurrentWord {
    start: usize,
    /// Whether nothing stands before it in its line.
    is_first: bool,
}

/// Marks that may end a sentence.
struct SentenceStop {
    at: usize,
    /// Behind the last mark, and the quotes and brackets that it closes.
    end: usize,
    is_wide: bool,
    /// Whether it is a single full stop, which also marks abbreviations.
    is_period: bool,
}

impl SentenceStop {
    fn ends_sentence(&self, text: &str, word: &CurrentWord) -> bool {
        let rest = &text[self.end..];
        if self.is_wide {
            // A mark may carry others, which have to stay with it.
            let mut cursor = GraphemeCursor::new(self.end, text.len(), true);
            return cursor.is_boundary(text, 0).unwrap_or(false);
        }
        if !rest.starts_with(char::is_whitespace) {
            return rest.is_empty();
        }
        match rest.trim_start().chars().next() {
            None => true,
            Some(next) if next.is_lowercase() => false,
            Some(next) => {
                !(self.is_period && is_part_of_name(&text[word.start..self.at], word, next))
            }
        }
    }
}

/// Whether the full stop after `word` belongs to it: an abbreviation, an initial, or
/// the number of a list item.
fn is_part_of_name(text: &str, word: &CurrentWord, next: char) -> bool {
    let name = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    if name.is_empty() || name.len() > 12 {
        return false;
    }
    if word.is_first && name.chars().all(|c| c.is_ascii_digit()) {
        return true;
    }
    let is_short = |part: &str| part.len() < 3 && part.chars().all(char::is_alphabetic);
    if name.contains('.') {
        return name.split('.').all(|part| !part.is_empty() && is_short(part));
    }
    let is_initial = name.len() == 1 && name.chars().all(char::is_uppercase);
    let name = name.to_lowercase();
    is_initial
        || ABBREVIATIONS.contains(&name.as_str())
        || (next.is_numeric() && BEFORE_NUMBERS.contains(&name.as_str()))
}

/// Whether a line begins something of its own: an item of a list, a row of a table,
/// a heading, a quotation, a fence. Also if it is blank.
fn starts_block(text: &str) -> bool {
    let line = text.split('\n').next().unwrap_or_default().trim();
    let marks = ["- ", "* ", "+ ", "• ", "|", "#", "> ", "```", "~~~"];
    if line.is_empty() || marks.iter().any(|mark| line.starts_with(mark)) {
        return true;
    }
    let number = line.bytes().take_while(u8::is_ascii_digit).count();
    let after = &line[number..];
    (1..10).contains(&number) && (after.starts_with(". ") || after.starts_with(") "))
}
