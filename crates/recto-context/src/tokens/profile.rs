//! What a text is made of. Knows nothing of rates or models.
//!
//! A text is read in two steps. First every character becomes a byte of flags (letter, digit, blank
//! …); ASCII comes from a table, the rest is decoded and, since other scripts are counted by the
//! character, counted on the spot. Then the flags are compared with the flags before them: a word
//! begins where a letter follows something else. That second step has no branches and no state but
//! the last few flags, so the compiler makes vector code of it, and a long prompt costs less than
//! its copy over a socket.

use std::ops::{Add, AddAssign};

/// The kinds of things that cost tokens. The order is that of the arrays in [`TextProfile`] and
/// [`TokenRates`]; a change of it needs a new version of the stored calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum TokenClass {
    /// A run of Latin letters that begins after white space.
    Word,
    /// A run of Latin letters that begins after a digit, a symbol or another script.
    Glued,
    /// A run that begins with a capital amid letters: `camelCase`, base64.
    Case,
    /// A letter beyond the fifth of its run. Long words are split, though not as often as they are
    /// long.
    Long,
    /// A mark of a word that is likely not English and so is split: a `k` or `z`, a final `a`, `i`,
    /// `o` or `u`.
    Foreign,
    /// An accented or otherwise non-ASCII Latin letter, on top of being a letter; a combining mark.
    Accent,
    /// A digit of a number.
    Digit,
    /// A run of digits.
    Number,
    /// A run of digits after a space, which most models do not merge with it.
    SpacedNumber,
    /// A symbol or punctuation mark that differs from the one before.
    Symbol,
    /// A run of symbols.
    SymbolRun,
    /// A symbol equal to the one before: rulers such as `-----` are cheap.
    Repeat,
    /// A run of newlines.
    Newline,
    /// A space after a space, a newline after a newline: indentation, tables, empty lines.
    Indent,
    /// A run of spaces amid a line, as in a padded table. Indentation mostly goes with its newline.
    Gap,
    /// A letter of the Russian alphabet.
    Cyrillic,
    /// A letter of Arabic script.
    Arabic,
    /// A letter or sign of Devanagari.
    Devanagari,
    /// A letter or sign of Thai.
    Thai,
    /// A letter of another alphabet of two bytes: Greek, Hebrew, Armenian, Ukrainian's own letters.
    Alphabet,
    /// A letter of another script of three bytes: Bengali, Tamil, Georgian, Khmer.
    Script,
    /// Ideographic punctuation and full-width forms.
    Ideographic,
    /// A character of Chinese script.
    Han,
    /// A syllable of Japanese script.
    Kana,
    /// A syllable of Korean script.
    Hangul,
    /// Emoji with their joiners and selectors, and whatever else lies beyond the basic plane.
    Emoji,
    /// Other symbols: arrows, mathematics, box drawing, typographic quotes.
    Sign,
    /// An image sent with the text.
    Image,
    /// What the model's template adds around a message.
    Message,
    /// What the model's template adds around a tool, and to explain that there are any.
    Tool,
}

impl TokenClass {
    /// How many classes there are.
    pub const COUNT: usize = TokenClass::Tool as usize + 1;
}

/// The counts of what a text is made of, taken once when the text is created.
///
/// Profiles add up: for texts joined at a newline, the sum is the profile of the whole. Elsewhere
/// it is off by the one or two items at the joint. Counts saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TextProfile {
    counts: [u32; TokenClass::COUNT],
}

impl TextProfile {
    /// Reads a text once, in linear time.
    pub fn from_text(text: &str) -> TextProfile {
        let mut scan = ProfileScan::new();
        let mut rest = text;
        while let Some(&first) = rest.as_bytes().first() {
            rest = if first.is_ascii() { scan.ascii(rest) } else { scan.beyond_ascii(rest) };
        }
        let mut profile = scan.finish();
        // A single blank goes with the word it stands before, and alone would cost nothing.
        if profile.is_empty() && !text.is_empty() {
            profile.add_to(TokenClass::Indent, 1);
        }
        profile
    }

    /// The same text, sent with this many images.
    #[must_use]
    pub fn with_images(mut self, images: u32) -> TextProfile {
        self.counts[TokenClass::Image as usize] = images;
        self
    }

    /// The same text, spread over this many messages of a template.
    #[must_use]
    pub fn with_messages(mut self, messages: u32) -> TextProfile {
        self.counts[TokenClass::Message as usize] = messages;
        self
    }

    /// The same text, as the schemas of this many tools.
    #[must_use]
    pub fn with_tools(mut self, tools: u32) -> TextProfile {
        self.counts[TokenClass::Tool as usize] = tools;
        self
    }

    /// How many items of a class there are.
    pub fn count(&self, class: TokenClass) -> u32 {
        self.counts[class as usize]
    }

    pub(super) fn counts(&self) -> &[u32; TokenClass::COUNT] {
        &self.counts
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|&count| count == 0)
    }

    fn add_to(&mut self, class: TokenClass, more: u32) {
        let count = &mut self.counts[class as usize];
        *count = count.saturating_add(more);
    }
}

impl AddAssign for TextProfile {
    fn add_assign(&mut self, other: TextProfile) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
    }
}

impl Add for TextProfile {
    type Output = TextProfile;

    fn add(mut self, other: TextProfile) -> TextProfile {
        self += other;
        self
    }
}

impl std::iter::Sum for TextProfile {
    fn sum<I: Iterator<Item = TextProfile>>(profiles: I) -> TextProfile {
        profiles.fold(TextProfile::default(), Add::add)
    }
}

const LETTER: u8 = 1;
const UPPER: u8 = 1 << 1;
/// `k` and `z`: rare in English, frequent in German, Polish, Turkish, Japanese names and random
/// strings.
const HARD: u8 = 1 << 2;
/// `a`, `i`, `o`, `u`: few English words end in one, most Italian and Spanish ones do.
const OPEN: u8 = 1 << 3;
const DIGIT: u8 = 1 << 4;
const SPACE: u8 = 1 << 5;
const NEWLINE: u8 = 1 << 6;
const SYMBOL: u8 = 1 << 7;
/// Already counted; all that matters is that it is none of the above.
const OTHER: u8 = 0;
/// Before the first character. Ends words like a blank, but equals neither of the two, so that no
/// run begins in it.
const START: u8 = SPACE | NEWLINE;

const ASCII_FLAGS: [u8; 128] = {
    let mut flags = [SYMBOL; 128];
    let mut byte = 0;
    while byte < 128 {
        flags[byte as usize] = match byte {
            b'k' | b'z' => LETTER | HARD,
            b'K' | b'Z' => LETTER | UPPER | HARD,
            b'a' | b'i' | b'o' | b'u' => LETTER | OPEN,
            b'a'..=b'z' => LETTER,
            b'A'..=b'Z' => LETTER | UPPER,
            b'0'..=b'9' => DIGIT,
            b' ' | b'\t' | b'\r' => SPACE,
            b'\n' => NEWLINE,
            _ => SYMBOL,
        };
        byte += 1;
    }
    flags
};

/// How far back a flag's meaning reaches.
const BACK: usize = 5;
/// Flags handled at once. Below 256, so that a block's counts fit the bytes they are added up in.
const BLOCK: usize = 240;
/// The same for the end of a text, where that is short: most texts are a line.
const SHORT_BLOCK: usize = 48;

/// A scan under way: flags not yet counted, after the last few that were.
struct ProfileScan {
    flags: [u8; BACK + BLOCK],
    filled: usize,
    /// The last character, to tell a repeated symbol by.
    previous: char,
    /// ASCII symbols that follow their like. They have the flag of other symbols, so
    /// [`ProfileScan::finish`] moves them over.
    repeats: u32,
    profile: TextProfile,
}

impl ProfileScan {
    fn new() -> ProfileScan {
        ProfileScan {
            flags: [START; BACK + BLOCK],
            filled: 0,
            previous: '\n',
            repeats: 0,
            profile: TextProfile::default(),
        }
    }

    /// Takes ASCII from the front of `text`, as much as there is room for, and returns the rest.
    fn ascii<'t>(&mut self, text: &'t str) -> &'t str {
        let bytes = text.as_bytes();
        let room = bytes.len().min(BLOCK - self.filled);
        let flags = &mut self.flags[BACK + self.filled..][..room];
        let mut taken = 0;
        for (flag, &byte) in flags.iter_mut().zip(bytes) {
            let Some(&known) = ASCII_FLAGS.get(usize::from(byte)) else { break };
            *flag = known;
            taken += 1;
        }
        let (head, rest) = text.split_at(taken);
        self.count_repeats(head.as_bytes());
        self.advance(taken);
        rest
    }

    /// Counts symbols that follow their like. Needs the bytes, which the flags no longer tell
    /// apart.
    fn count_repeats(&mut self, bytes: &[u8]) {
        let flags = &self.flags[BACK + self.filled..][..bytes.len()];
        let mut repeats = 0u8;
        for ((&before, &byte), &flag) in bytes.iter().zip(&bytes[1..]).zip(&flags[1..]) {
            repeats += u8::from((before == byte) & (flag == SYMBOL));
        }
        repeats += u8::from(flags[0] == SYMBOL && self.previous == char::from(bytes[0]));
        self.previous = char::from(bytes[bytes.len() - 1]);
        self.repeats = self.repeats.saturating_add(u32::from(repeats));
    }

    /// Takes one character that is not ASCII from the front of `text`, and returns the rest.
    fn beyond_ascii<'t>(&mut self, text: &'t str) -> &'t str {
        let mut chars = text.chars();
        let Some(character) = chars.next() else { return "" };
        let class = match class_of(character) {
            TokenClass::Sign if character == self.previous => TokenClass::Repeat,
            class => class,
        };
        self.profile.add_to(class, 1);
        self.flags[BACK + self.filled] = if class == TokenClass::Accent { LETTER } else { OTHER };
        self.previous = character;
        self.advance(1);
        chars.as_str()
    }

    fn advance(&mut self, taken: usize) {
        self.filled += taken;
        if self.filled == BLOCK {
            self.flush();
        }
    }

    /// Counts the block and keeps its last flags for the next.
    fn flush(&mut self) {
        count_block(&self.flags, &mut self.profile);
        self.flags.copy_within(BLOCK.., 0);
        self.filled = 0;
    }

    /// A text ends as if something followed that is neither letter nor blank, which closes its last
    /// run.
    fn finish(mut self) -> TextProfile {
        self.flags[BACK + self.filled..].fill(OTHER);
        let short = self.flags.first_chunk::<{ BACK + SHORT_BLOCK }>();
        match short.filter(|_| self.filled < SHORT_BLOCK) {
            Some(short) => count_block(short, &mut self.profile),
            None => count_block(&self.flags, &mut self.profile),
        }
        let symbols = &mut self.profile.counts[TokenClass::Symbol as usize];
        *symbols = symbols.saturating_sub(self.repeats);
        self.profile.add_to(TokenClass::Repeat, self.repeats);
        self.profile
    }
}

/// Counts what begins, goes on or ends at each flag of a block; the first [`BACK`] flags are only
/// looked back at.
fn count_block<const ALL: usize>(block: &[u8; ALL], profile: &mut TextProfile) {
    use TokenClass::*;
    let mut add = |class, count| profile.add_to(class, count);
    let starts = |[before, here]: [u8; 2]| starts_word(before, here);
    add(Word, tally(block, |flags| starts(flags) & (flags[0] & START != 0)));
    add(Glued, tally(block, |flags| starts(flags) & (flags[0] & (START | LETTER) == 0)));
    add(Case, tally(block, |flags| starts(flags) & (flags[0] & LETTER != 0)));
    add(Long, tally(block, is_long));
    add(Foreign, tally(block, |[here]| here & HARD != 0));
    add(Foreign, tally(block, ends_open));
    add(Digit, tally(block, |[here]| here == DIGIT));
    add(Number, tally(block, |[before, here]| (here == DIGIT) & (before != DIGIT)));
    add(SpacedNumber, tally(block, |[before, here]| (here == DIGIT) & (before == SPACE)));
    add(Symbol, tally(block, |[here]| here == SYMBOL));
    add(SymbolRun, tally(block, |[before, here]| (here == SYMBOL) & (before != SYMBOL)));
    add(Newline, tally(block, |[before, here]| (before == NEWLINE) & (here != NEWLINE)));
    add(Gap, tally(block, opens_gap));
    add(Indent, tally(block, |[before, here]| (here == before) & (here & START != 0)));
}

/// At how many flags of a block the test holds; it sees the flag last, and before it those it
/// follows. Tests use `&` instead of `&&` and the block's length is fixed, because only then does
/// the compiler make vector code of this.
#[inline(always)]
fn tally<const ALL: usize, const N: usize>(
    block: &[u8; ALL],
    test: impl Fn([u8; N]) -> bool,
) -> u32 {
    let mut count = 0u8;
    for at in BACK..ALL {
        count += u8::from(test(std::array::from_fn(|shift| block[at + 1 + shift - N])));
    }
    u32::from(count)
}

/// A letter after something else, or a capital after a small letter.
#[inline(always)]
fn starts_word(before: u8, here: u8) -> bool {
    let after_other = before & LETTER == 0;
    let after_small = (here & UPPER != 0) & (before & UPPER == 0);
    (here & LETTER != 0) & (after_other | after_small)
}

/// The end of a word of three letters or more whose last is an open vowel.
#[inline(always)]
fn ends_open([third, second, last, here]: [u8; 4]) -> bool {
    (here & LETTER == 0) & (last & OPEN != 0) & (third & second & LETTER != 0)
}

/// The second space of a run that does not begin its line.
#[inline(always)]
fn opens_gap([first, second, here]: [u8; 3]) -> bool {
    (here == SPACE) & (second == SPACE) & (first & START == 0)
}

/// A letter with five of its run before it: none of the last five characters, this one included,
/// began a run.
#[inline(always)]
fn is_long([a, b, c, d, e, here]: [u8; BACK + 1]) -> bool {
    let begun = starts_word(a, b)
        | starts_word(b, c)
        | starts_word(c, d)
        | starts_word(d, e)
        | starts_word(e, here);
    (here & LETTER != 0) & !begun
}

/// The class of a character that is not ASCII. Blocks of Unicode, not their fine print: a rare
/// letter that lands in a neighbour's class costs a fraction of a token.
fn class_of(character: char) -> TokenClass {
    match u32::from(character) {
        0x80..=0xbf => TokenClass::Sign,
        0xc0..=0x24f | 0x300..=0x36f | 0x1e00..=0x1eff => TokenClass::Accent,
        0x410..=0x44f => TokenClass::Cyrillic,
        0x600..=0x6ff | 0xfb50..=0xfdff | 0xfe70..=0xfefe => TokenClass::Arabic,
        0x250..=0x7ff => TokenClass::Alphabet,
        0x900..=0x97f => TokenClass::Devanagari,
        0xe00..=0xe7f => TokenClass::Thai,
        0x1100..=0x11ff | 0x3130..=0x318f | 0xac00..=0xd7ff => TokenClass::Hangul,
        0x800..=0x1fff | 0xa000..=0xabff => TokenClass::Script,
        0x2e80..=0x303f | 0xff00..=0xffef => TokenClass::Ideographic,
        0x3040..=0x30ff => TokenClass::Kana,
        0x3100..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff => TokenClass::Han,
        0xfe00..=0xfe0f | 0x10000.. => TokenClass::Emoji,
        _ => TokenClass::Sign,
    }
}
