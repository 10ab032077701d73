//! Details of texts in scripts that don't part words by blanks: numbers with their
//! counters, words in Latin letters, names in katakana. Other names can't be told from
//! words there, and stay with their sentences.

use super::shape::WordShape;
use super::{Fact, FactKind};

/// What these scripts count with.
const COUNTERS: &str =
    "年月日号時时点分秒円元圆人个個名泊晚週周岁歳本枚台度间間階楼米回次万千百년월일시분원명개";

/// Han, kana and Hangul.
pub(super) fn is_unparted(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}')
}

/// The details of a text without blanks.
pub(super) fn scan(text: &str, found: &mut Vec<Fact>) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = |belongs: fn(char) -> bool| rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let digits = counted(rest);
        let taken = if digits > 0 {
            found.push(Fact::new(FactKind::Number, &rest[..digits]));
            digits
        } else if first.is_ascii() {
            let end = run(|c| c.is_ascii());
            latin(&rest[..end], found);
            end
        } else if is_katakana(first) {
            let end = run(is_katakana);
            if rest[..end].chars().count() >= 3 {
                found.push(Fact::new(FactKind::Name, &rest[..end]));
            }
            end
        } else {
            first.len_utf8()
        };
        rest = &rest[taken..];
    }
}

fn latin(run: &str, found: &mut Vec<Fact>) {
    let word = run.trim_matches(|c: char| c.is_ascii_punctuation() && c != '/');
    if word.len() >= 2 {
        let is_reference = WordShape::from_word(word) == WordShape::Reference;
        let kind = if is_reference { FactKind::Reference } else { FactKind::Name };
        found.push(Fact::new(kind, word));
    }
}

fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30A1}'..='\u{30FA}' | 'ー' | '・')
}

/// How many bytes a number with its counters takes: `2027年7月18日`.
fn counted(text: &str) -> usize {
    let mut end = 0;
    loop {
        let rest = &text[end..];
        if !rest.starts_with(|c: char| c.is_ascii_digit()) {
            return end;
        }
        let digits = rest.find(|c: char| !c.is_ascii_digit() && !".:,".contains(c));
        end += digits.unwrap_or(rest.len());
        match text[end..].chars().next() {
            Some(counter) if COUNTERS.contains(counter) => end += counter.len_utf8(),
            _ => return end,
        }
    }
}
