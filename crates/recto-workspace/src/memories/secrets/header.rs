//! Secrets as programs send them: `Authorization: Basic …` and `Authorization: Bearer …`.

use super::known::is_placeholder;
use super::named::begins_a_word;
use super::random::{has_digit, is_words};
use super::{Secret, runs};

/// The first secret of a header.
pub(super) fn find(text: &str) -> Option<Secret> {
    // As long as the text, so that places fit both.
    let lower = text.to_ascii_lowercase();
    basic(text, &lower).or_else(|| authorized(text, &lower))
}

/// A name and a password in base64. They are read, so the word before them is enough.
fn basic(text: &str, lower: &str) -> Option<Secret> {
    lower.match_indices("basic ").filter(|(at, _)| begins_a_word(text, *at)).find_map(|(at, it)| {
        let rest = &text[at + it.len()..];
        let start = at + it.len() + rest.len() - rest.trim_start().len();
        let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_');
        let (0, value) = runs(&text[start..], belongs).next()? else { return None };
        let is_pair = |bytes: &[u8]| {
            let is_text = |byte: &u8| (b' '..0x7f).contains(byte);
            bytes.contains(&b':') && bytes.iter().all(is_text)
        };
        let is_secret = value.len() >= 6 && is_pair(&decoded(value));
        let range = start..start + value.len();
        is_secret.then_some(Secret { what: "a password", range })
    })
}

/// The bytes of a text in base64, of either alphabet; what is left of the last four
/// characters is not looked at.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    };
    let mut bytes = Vec::with_capacity(text.len());
    for part in text.as_bytes().chunks(4) {
        let bits = part.iter().fold(0u32, |bits, byte| (bits << 6) | u32::from(digit(*byte)));
        let bits = bits << (6 * (4 - part.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..part.len()]);
    }
    bytes
}

/// What stands behind the name of the header and that of a way to prove who one is.
fn authorized(text: &str, lower: &str) -> Option<Secret> {
    const WAYS: [&str; 5] = ["bearer ", "token ", "apikey ", "api-key ", "key "];
    const NAME: &str = "authorization";
    lower.match_indices(NAME).find_map(|(at, _)| {
        let marks = |c: char| c.is_whitespace() || matches!(c, ':' | '=' | '"' | '\'' | '`');
        let behind = &lower[at + NAME.len()..];
        let rest = behind.trim_start_matches(marks);
        if !behind[..behind.len() - rest.len()].contains([':', '=']) {
            return None;
        }
        let rest = WAYS.iter().find_map(|way| rest.strip_prefix(way))?.trim_start();
        let start = text.len() - rest.len();
        let belongs = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
        let (0, value) = runs(&text[start..], belongs).next()? else { return None };
        let value = value.trim_end_matches('.');
        let is_secret = value.len() >= 8
            && (has_digit(value) || !is_words(value))
            && !is_placeholder(value)
            && value.contains(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        let range = start..start + value.len();
        is_secret.then_some(Secret { what: "a key or token", range })
    })
}
