//! Cuts a message into sentences of tokens, and says what each token looks like.
//!
//! Together with [`super::spelling`] this is the only place that looks at single characters. It
//! knows spelling, never meaning: that `"…"` is quoted, that a comma ends a clause, that `1.4.2` is
//! one token. Every character is visited a fixed number of times, and text is only ever cut
//! where `str` methods say that a character begins, so no input makes it slow or makes it panic.

use super::spelling::{is_abbreviation, is_one_word, is_word_char, spelling, without_position};

/// One word, or one thing that is not to be read as words: a path, an address, quoted text.
#[derive(Debug)]
pub(super) struct WordToken<'m> {
    /// As the person typed it, without the punctuation around it.
    pub(super) typed: &'m str,
    /// For comparing: lower case, with a plain apostrophe.
    pub(super) lower: String,
    /// What it is spelled like.
    pub(super) kind: TokenKind,
    /// What separates this token from the one before it.
    pub(super) gap: TokenGap,
}

/// What a token is spelled like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Also numbers, versions and dates.
    Word,
    FileName,
    Path,
    /// An option of a command line: `--force`, `-la`.
    Flag,
    /// A URL, a domain, an e-mail address: never a path, whatever slashes and dots it has.
    Address,
    /// Text in quotation marks: it is what the message is about, so its words ask for nothing.
    Quoted,
    /// Text in backticks, unless it names a file.
    Code,
}

/// What stands between two tokens; where they are in different clauses, it is not a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenGap {
    Space,
    /// Also a semicolon or a dash.
    Comma,
    Colon,
}

/// Up to a full stop, a question or exclamation mark, or the end of the line.
#[derive(Debug, Default)]
pub(super) struct Sentence<'m> {
    pub(super) tokens: Vec<WordToken<'m>>,
    /// It ends in a question mark.
    pub(super) asks: bool,
    /// It has a colon: behind it may stand material rather than a request.
    pub(super) introduces: bool,
}

impl WordToken<'_> {
    /// The word without a clitic: `what's` is `what`, `I'm` is `i`, `today's` is `today`.
    pub(super) fn stem(&self) -> &str {
        self.lower.split('\'').next().unwrap_or_default()
    }

    pub(super) fn is(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.lower == word
    }

    pub(super) fn is_number(&self) -> bool {
        self.kind == TokenKind::Word && self.lower.starts_with(|c: char| c.is_ascii_digit())
    }
}

/// Cuts `message` into sentences; those without any token are left out.
pub(super) fn sentences(message: &str) -> Vec<Sentence<'_>> {
    let mut cutter =
        SentenceCutter { done: Vec::new(), current: Sentence::default(), gap: TokenGap::Space };
    for stretch in stretches(message) {
        match stretch {
            Stretch::Plain(text) => cutter.plain(text),
            Stretch::Quoted(text) => cutter.quoted(text),
            Stretch::Code(text) => cutter.code(text),
        }
    }
    cutter.end_sentence();
    cutter.done
}

enum Stretch<'m> {
    Plain(&'m str),
    Quoted(&'m str),
    Code(&'m str),
}

/// Separates quoted text and code from the rest. A mark without its partner is an ordinary
/// character.
fn stretches(message: &str) -> Vec<Stretch<'_>> {
    let mut found = Vec::new();
    let mut plain_from = 0;
    let mut resume_at = 0;
    // Once a closing mark is missing, it is missing for every later opening mark too: searching
    // again would make this quadratic.
    let mut never_closed: Vec<char> = Vec::new();
    let mut before = ' ';
    for (at, c) in message.char_indices() {
        if at < resume_at {
            continue;
        }
        let opens = closing_mark(c).filter(|_| c != '\'' || !is_word_char(before));
        before = c;
        let Some(close) = opens.filter(|close| !never_closed.contains(close)) else { continue };
        let inside_from = at + c.len_utf8();
        let Some(length) = find_close(&message[inside_from..], close) else {
            never_closed.push(close);
            continue;
        };
        let inside = &message[inside_from..inside_from + length];
        found.push(Stretch::Plain(&message[plain_from..at]));
        found.push(if c == '`' { Stretch::Code(inside) } else { Stretch::Quoted(inside) });
        resume_at = inside_from + length + close.len_utf8();
        plain_from = resume_at;
    }
    found.push(Stretch::Plain(&message[plain_from..]));
    found
}

fn closing_mark(open: char) -> Option<char> {
    match open {
        '"' | '`' | '\'' => Some(open),
        '“' | '„' => Some('”'),
        '«' => Some('»'),
        _ => None,
    }
}

/// Where the quotation ends. A single quote closes only at the end of a word, because it is also
/// the apostrophe.
fn find_close(rest: &str, close: char) -> Option<usize> {
    if close != '\'' {
        return rest.find(close);
    }
    rest.match_indices('\'').map(|(at, _)| at).find(|at| !rest[at + 1..].starts_with(is_word_char))
}

struct SentenceCutter<'m> {
    done: Vec<Sentence<'m>>,
    current: Sentence<'m>,
    gap: TokenGap,
}

impl<'m> SentenceCutter<'m> {
    fn plain(&mut self, text: &'m str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.end_sentence();
            }
            for chunk in line.split_whitespace() {
                for piece in chunk.split_inclusive(BRACKETS_AND_COMMAS) {
                    self.piece(piece);
                }
            }
        }
    }

    /// Quoted text is one token, except for the files named in it: `open "My Budget.xlsx"`.
    fn quoted(&mut self, text: &'m str) {
        let mut named = text.split_whitespace().map(|chunk| (chunk, spelling(chunk)));
        let file =
            named.find(|(_, kind)| matches!(kind, Some(TokenKind::FileName | TokenKind::Path)));
        match file {
            Some((chunk, Some(kind))) => self.push(chunk, kind),
            _ => self.push(text, TokenKind::Quoted),
        }
    }

    /// `lib.rs` in backticks names a file; code of several words may merely look like it.
    fn code(&mut self, text: &'m str) {
        let file = spelling(text).filter(|_| !text.contains(char::is_whitespace));
        self.push(text, file.unwrap_or(TokenKind::Code));
    }

    fn piece(&mut self, piece: &'m str) {
        let core = piece.trim_start_matches(OPENING).trim_end_matches(CLOSING);
        if core.is_empty() {
            return self.punctuation(piece, false);
        }
        // `…` and `(` before a word say nothing; what follows the word ends a clause or a sentence.
        let core_end = core.as_ptr() as usize - piece.as_ptr() as usize + core.len();
        match spelling(core) {
            Some(kind) => self.push(without_position(core), kind),
            None if is_one_word(core) => self.push(core, TokenKind::Word),
            None => self.words(core),
        }
        self.punctuation(&piece[core_end..], is_abbreviation(core));
    }

    fn words(&mut self, text: &'m str) {
        let mut from = None;
        let mut characters = text.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            let joins = is_apostrophe(c)
                && from.is_some()
                && characters.peek().is_some_and(|(_, next)| is_word_char(*next));
            if is_word_char(c) || joins {
                from.get_or_insert(at);
                continue;
            }
            if let Some(start) = from.take() {
                self.push(&text[start..at], TokenKind::Word);
            }
            self.punctuation(&text[at..at + c.len_utf8()], c == '.');
        }
        if let Some(start) = from {
            self.push(&text[start..], TokenKind::Word);
        }
    }

    fn push(&mut self, typed: &'m str, kind: TokenKind) {
        let lower = match kind {
            TokenKind::Quoted | TokenKind::Code => String::new(),
            _ => typed.to_lowercase().replace(is_apostrophe, "'"),
        };
        self.current.tokens.push(WordToken { typed, lower, kind, gap: self.gap });
        self.gap = TokenGap::Space;
    }

    fn punctuation(&mut self, marks: &str, dot_is_part_of_word: bool) {
        for mark in marks.chars() {
            match mark {
                '?' | '？' | '؟' => {
                    self.current.asks = true;
                    self.end_sentence();
                }
                '!' | '！' | '。' | '…' => self.end_sentence(),
                '.' if !dot_is_part_of_word => self.end_sentence(),
                ',' | ';' | '—' | '–' | '،' | '，' | '、' => self.gap = TokenGap::Comma,
                ':' | '：' => {
                    self.gap = TokenGap::Colon;
                    self.current.introduces = true;
                }
                _ => {}
            }
        }
    }

    fn end_sentence(&mut self) {
        self.gap = TokenGap::Space;
        let sentence = std::mem::take(&mut self.current);
        if !sentence.tokens.is_empty() {
            self.done.push(sentence);
        }
    }
}

const BRACKETS_AND_COMMAS: &[char] = &[',', ';', '(', ')', '[', ']', '{', '}', '<', '>', '|', '—'];
const OPENING: &[char] =
    &['(', '[', '{', '<', '"', '\'', '‘', '’', '“', '*', '¿', '¡', '#', '…', '—'];
const CLOSING: &[char] = &[
    ',', ';', ':', '.', '!', '?', ')', ']', '}', '>', '"', '\'', '‘', '’', '”', '*', '…', '|', '—',
    '。', '！', '？', '؟', '،', '，', '、', '：',
];

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’' | 'ʼ')
}
