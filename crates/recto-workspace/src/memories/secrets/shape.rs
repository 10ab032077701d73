//! What a string looks like: made by a machine, made up by a person, or made of words.
//!
//! Hashes in hexadecimal, UUIDs, paths, addresses and words that are joined are no
//! secrets, however long they are.

use std::collections::BTreeSet;

/// Who makes a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    /// People make passwords up, so digits alone may be one.
    Person,
    /// Machines make keys.
    Machine,
}

/// What stands behind the name of a secret.
pub(super) struct NamedValue<'a> {
    pub(super) text: &'a str,
    pub(super) is_quoted: bool,
    /// As in a file, rather than told in a sentence.
    pub(super) is_assigned: bool,
}

impl NamedValue<'_> {
    /// Whether it looks as if nobody should read it.
    pub(super) fn looks_secret(&self, maker: Maker) -> bool {
        let value = self.text;
        let length = value.chars().count();
        let is_place = value.starts_with(['/', '~', '.', '@', '(']) || value.contains("://");
        let is_told = is_place || is_variable(value) || is_described(value);
        if length < 6 || is_told || is_placeholder(value) {
            return false;
        }
        let letters = value.chars().filter(|c| c.is_alphabetic()).count();
        let marks = value.chars().filter(|c| !c.is_alphanumeric()).count();
        let odd_marks = value.chars().any(|c| c.is_ascii_punctuation() && !"-'_./,:%".contains(c));
        let turns = value.chars().skip(1).filter(|c| c.is_uppercase()).count();
        // Capitals amid small letters, as in `hUnTeR`; a name such as `KeePass` has one or two.
        let is_shouted = turns >= 3 && value.contains(char::is_lowercase);
        let is_mixed = (letters > 0 && (has_digit(value) || odd_marks)) || is_shouted;
        match maker {
            Maker::Person => {
                let is_number = letters == 0 && marks == 0;
                let is_phrase = self.is_assigned && value.matches('-').count() >= 3;
                is_mixed || is_number || is_phrase || self.is_quoted
            }
            Maker::Machine => is_mixed && length >= 8 && !is_words(value),
        }
    }
}

/// The name of a variable of the environment: `OPENAI_API_KEY`.
fn is_variable(value: &str) -> bool {
    let all = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    value.contains('_') && value.chars().all(all)
}

/// What a secret is like rather than what it is: `20-character`, `SHA-256`, a date.
fn is_described(value: &str) -> bool {
    const METHODS: [&str; 7] = ["sha", "aes", "rsa", "md5", "argon2", "bcrypt", "scrypt"];
    let small = value.to_lowercase();
    let is_method = METHODS.iter().any(|method| {
        let rest = small.strip_prefix(method);
        rest.is_some_and(|rest| rest.trim_start_matches(['-', '2', 'i', 'd']).len() <= 4)
    });
    let is_compound = value
        .split_once('-')
        .is_some_and(|(_, last)| last.len() >= 6 && last.chars().all(|c| c.is_ascii_lowercase()));
    let is_time = value.chars().all(|c| c.is_ascii_digit() || "-:.+TZ".contains(c))
        && value.contains(['-', ':', '.']);
    is_method || is_compound || is_time
}

/// Whether a value only stands for a secret: `<password>`, `$PASSWORD`, `****`.
pub(super) fn is_placeholder(value: &str) -> bool {
    const WORDS: [&str; 9] = [
        "password", "passwort", "passwd", "pass", "pwd", "secret", "token", "redacted", "changeme",
    ];
    let bare = value.trim_matches(|c: char| !c.is_alphanumeric());
    bare.is_empty()
        || value.starts_with(['<', '$', '{', '[', '%'])
        || WORDS.iter().any(|word| bare.eq_ignore_ascii_case(word))
        || bare.chars().all(|c| bare.starts_with(c))
}

/// Whether a number before this word counts or measures something.
pub(super) fn is_unit(word: &str) -> bool {
    const UNITS: [&str; 14] = [
        "digit",
        "digits",
        "characters",
        "chars",
        "letters",
        "times",
        "days",
        "hours",
        "minutes",
        "seconds",
        "mm",
        "cm",
        "people",
        "users",
    ];
    UNITS.contains(&word.trim_matches(|c: char| !c.is_alphanumeric()))
}

/// Whether a text is `name:password` in base64, of either alphabet. What is left of the last
/// four characters is not looked at.
pub(super) fn is_credentials(text: &str) -> bool {
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
    bytes.contains(&b':') && bytes.iter().all(|byte| (b' '..0x7f).contains(byte))
}

/// Whether the order of the characters tells nothing: random strings change between
/// capitals, small letters and digits at every other character, words and paths seldom.
pub(super) fn is_random(run: &str) -> bool {
    let kind = |c: char| (c.is_uppercase(), c.is_lowercase(), c.is_ascii_digit());
    let kinds: Vec<_> = run.chars().map(kind).collect();
    let changes = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
    kinds.contains(&(true, false, false))
        && kinds.contains(&(false, true, false))
        && kinds.contains(&(false, false, true))
        && changes * 10 >= run.len() * 3
        && entropy(run) >= 4.0
        && !run.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
        && !is_path(run)
        && !is_words(run)
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

/// Whether most of its folders and names can be read.
fn is_path(run: &str) -> bool {
    let parts: Vec<&str> = run.split('/').filter(|part| !part.is_empty()).collect();
    let read = parts.iter().filter(|part| part.len() >= 2 && is_words(part)).count();
    parts.len() >= 3 && read * 2 >= parts.len()
}

/// Whether a run that looks random is meant for all to see, going by what stands before it:
/// an address, in which documents have such names, or the word "public" and its like.
pub(super) fn is_public(before: &str, run: &str) -> bool {
    const PUBLIC: [&str; 8] =
        ["public", "pubkey", "fingerprint", "sha256", "sha384", "sha512", "ssh-", "ecdsa-"];
    let word = before.rfind(char::is_whitespace).map_or(before, |at| &before[at..]);
    let from = before.char_indices().rev().nth(23).map_or(0, |(at, _)| at);
    let near = before[from..].to_ascii_lowercase();
    word.contains("://")
        || word.contains("www.")
        || PUBLIC.iter().any(|word| near.contains(word) || run.starts_with(word))
}

/// Whether a string is made of words and numbers that are joined by marks:
/// `correct-horse-2`, `My_File_v2`.
pub(super) fn is_words(text: &str) -> bool {
    let mut parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.all(|part| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = part.len() - letters.len();
        let mut tail = letters.chars().skip(1);
        let is_plain = tail.clone().all(char::is_lowercase) || tail.all(char::is_uppercase);
        // The more letters change their case, the less it is a name like `camelCase`.
        let turns = letters.chars().filter(|c| c.is_uppercase()).count();
        let is_camel = turns * 4 <= letters.chars().count();
        letters.is_empty()
            || (digits <= 4 && letters.chars().all(char::is_alphabetic) && (is_plain || is_camel))
    })
}

/// Whether it has enough different characters to be a secret and not `xxxxxxxx`.
pub(super) fn is_varied(text: &str) -> bool {
    count_distinct(text) >= 8
}

/// How many different characters there are.
pub(super) fn count_distinct(text: &str) -> usize {
    text.chars().collect::<BTreeSet<char>>().len()
}

pub(super) fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}
