//! Whether a string looks random: made by a machine, and not to be read.
//!
//! Hashes in hexadecimal, UUIDs, paths, addresses and words that are joined don't
//! count, however long they are.

use super::{Secret, runs};

/// The fewest characters of a secret that has neither a known form nor a name.
const LEAST: usize = 32;

/// What is public though it looks random, when it stands right before.
const PUBLIC: [&str; 8] =
    ["public", "pubkey", "fingerprint", "sha256", "sha384", "sha512", "ssh-", "ecdsa-"];

/// A long string with digits and both cases, and no order in it.
pub(super) fn find(text: &str) -> Option<Secret> {
    let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/' | '=');
    runs(text, belongs).find_map(|(start, run)| {
        let trimmed = run.trim_start_matches(['-', '=', '/', '_', '+']);
        let start = start + run.len() - trimmed.len();
        let run = trimmed.trim_end_matches(['-', '/', '_', '+']);
        let is_secret = run.len() >= LEAST
            && is_random(run)
            && !is_address(text, start)
            && !is_public(text, start, run);
        is_secret.then(|| Secret { what: "a long random string", range: start..start + run.len() })
    })
}

/// Whether the order of the characters tells nothing: random strings change between
/// capitals, small letters and digits at every other character, words and paths seldom.
fn is_random(run: &str) -> bool {
    let kinds: Vec<Kind> = run.chars().map(Kind::of).collect();
    let has = |kind| kinds.contains(&kind);
    let changes = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
    has(Kind::Upper)
        && has(Kind::Lower)
        && has(Kind::Digit)
        && changes * 10 >= run.len() * 3
        && entropy(run) >= 4.0
        && !is_hex(run)
        && !is_path(run)
        && !is_words(run)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Upper,
    Lower,
    Digit,
    Other,
}

impl Kind {
    fn of(c: char) -> Kind {
        match c {
            _ if c.is_uppercase() => Kind::Upper,
            _ if c.is_lowercase() => Kind::Lower,
            _ if c.is_ascii_digit() => Kind::Digit,
            _ => Kind::Other,
        }
    }
}

/// Bits for each character.
fn entropy(run: &str) -> f64 {
    let mut counts = [0u32; 128];
    for byte in run.bytes() {
        counts[usize::from(byte & 127)] += 1;
    }
    let all = run.len() as f64;
    let share = |count: &u32| f64::from(*count) / all;
    counts.iter().filter(|count| **count > 0).map(share).map(|p| -p * p.log2()).sum()
}

fn is_hex(run: &str) -> bool {
    run.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// Whether most of its folders and names can be read.
fn is_path(run: &str) -> bool {
    let parts: Vec<&str> = run.split('/').filter(|part| !part.is_empty()).collect();
    let read = parts.iter().filter(|part| part.len() >= 2 && is_words(part)).count();
    parts.len() >= 3 && read * 2 >= parts.len()
}

/// Whether it is an address or stands in one; documents have such names there.
fn is_address(text: &str, start: usize) -> bool {
    let before = &text[..start];
    let word = before.rfind(char::is_whitespace).map_or(before, |at| &before[at..]);
    word.contains("://") || word.contains("www.")
}

fn is_public(text: &str, start: usize, run: &str) -> bool {
    let from = text[..start].char_indices().rev().nth(23).map_or(0, |(at, _)| at);
    let near = text[from..start].to_ascii_lowercase();
    PUBLIC.iter().any(|word| near.contains(word) || run.starts_with(word))
}

/// Whether a string is made of words and numbers that are joined by marks:
/// `correct-horse-2`, `My_File_v2`.
pub(super) fn is_words(text: &str) -> bool {
    let mut parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.all(|part| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = part.len() - letters.len();
        let tail = letters.chars().skip(1);
        let is_plain = tail.clone().all(char::is_lowercase) || tail.clone().all(char::is_uppercase);
        // The more letters change their case, the less it is a name like `camelCase`.
        let turns = letters.chars().filter(|c| c.is_uppercase()).count();
        let is_camel =
            letters.chars().all(char::is_alphabetic) && turns * 4 <= letters.chars().count();
        letters.is_empty()
            || (digits <= 4 && letters.chars().all(char::is_alphabetic) && (is_plain || is_camel))
    })
}

/// Whether it has enough different characters to be a secret and not `xxxxxxxx`.
pub(super) fn is_varied(text: &str) -> bool {
    let mut seen: Vec<char> = text.chars().collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len() >= 8
}

pub(super) fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}
