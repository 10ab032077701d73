//! Secrets with a name before them: `the password for the router is …`, `API_KEY=…`.
//!
//! A name alone is no secret, and most of what is said about passwords gives none away.
//! So the value has to look like one, the more so the vaguer the name is.

use std::ops::Range;

use super::Secret;
use super::known::is_placeholder;
use super::random::{has_digit, is_words};

/// A name that stands before secrets.
struct Name {
    word: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// People make these up, so digits alone may be one.
    Password,
    /// Machines make these.
    Key,
    /// A few digits.
    Code,
}

const NAMES: [Name; 55] = {
    const fn password(word: &'static str) -> Name {
        Name { word, kind: Kind::Password }
    }
    const fn key(word: &'static str) -> Name {
        Name { word, kind: Kind::Key }
    }
    const fn code(word: &'static str) -> Name {
        Name { word, kind: Kind::Code }
    }
    [
        password("password"),
        password("passwd"),
        password("passphrase"),
        password("passcode"),
        password("pwd"),
        password("passwort"),
        password("kennwort"),
        password("mot de passe"),
        password("contraseña"),
        password("senha"),
        password("wachtwoord"),
        password("hasło"),
        password("пароль"),
        password("密码"),
        password("密碼"),
        password("口令"),
        password("パスワード"),
        password("비밀번호"),
        key("api key"),
        key("api-key"),
        key("api_key"),
        key("apikey"),
        key("access key"),
        key("secret key"),
        key("access_key"),
        key("secret_key"),
        key("private key"),
        key("account key"),
        key("secret"),
        key("token"),
        key("bearer"),
        code("pin"),
        code("pin code"),
        code("pin-code"),
        code("pincode"),
        code("puk"),
        code("door code"),
        code("gate code"),
        code("garage code"),
        code("alarm code"),
        code("entry code"),
        code("access code"),
        code("security code"),
        code("lock code"),
        code("unlock code"),
        code("keypad code"),
        code("locker code"),
        code("safe code"),
        code("safe combination"),
        code("lock combination"),
        code("türcode"),
        code("zugangscode"),
        code("alarmcode"),
        code("geheimzahl"),
        code("digicode"),
    ]
};

/// Words that may stand between a name and its value, with what belongs to them.
const PREPOSITIONS: [&str; 24] = [
    "for", "of", "to", "on", "at", "in", "from", "with", "für", "zum", "zur", "vom", "im", "am",
    "bei", "von", "de", "del", "du", "pour", "para", "do", "da", "voor",
];

/// Words that say that a value follows.
const IS: [&str; 11] = ["is", "was", "ist", "lautet", "est", "es", "é", "è", "är", "jest", "="];

/// How far the value may be from its name.
const FILLER: usize = 48;

/// From here on, scripts write words without blanks between them.
const UNPARTED: char = '\u{2E80}';

/// How many bytes behind a name are looked at.
pub(super) const REACH: usize = 512;

/// A value behind a name of secrets that looks like one.
pub(super) fn find(text: &str) -> Option<Secret> {
    // As long as the text, byte for byte, so that places fit both.
    let lower: String = text.chars().map(lower_of_equal_length).collect();
    let mut found: Vec<(usize, &Name)> = NAMES
        .iter()
        .flat_map(|name| lower.match_indices(name.word).map(move |(at, _)| (at, name)))
        .filter(|(at, _)| begins_a_word(text, *at))
        .collect();
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().find_map(|(at, name)| {
        let end = at + name.word.len();
        match name.kind {
            Kind::Password | Kind::Key => value(text, end, name),
            Kind::Code => code(text, at..end, name),
        }
    })
}

pub(super) fn lower_of_equal_length(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) if one.len_utf8() == c.len_utf8() => one,
        _ => c,
    }
}

/// `DB_PASSWORD` and `dbPassword` have the word `password`; `nopassword` has not.
pub(super) fn begins_a_word(text: &str, at: usize) -> bool {
    let here = text[at..].chars().next();
    let before = text[..at].chars().next_back();
    before.is_none_or(|before| {
        !before.is_alphabetic()
            || here.is_some_and(|here| here >= UNPARTED)
            || (before.is_lowercase() && here.is_some_and(char::is_uppercase))
    })
}

/// The value behind a name that ends at `end`, if it looks like a secret.
fn value(text: &str, end: usize, name: &Name) -> Option<Secret> {
    // No value is further away or longer, and a long text has many names.
    let text = &text[..text.floor_char_boundary(end + REACH)];
    let tail = identifier_tail(&text[end..])?;
    let (between, is_assigned) = separator(&text[end + tail.len()..], name)?;
    let rest = &text[end + tail.len() + between..];
    let blanks = rest.len() - rest.trim_start().len();
    let word = rest.trim_start().split(char::is_whitespace).next().unwrap_or_default();
    let is_quoted = word.starts_with(['"', '\'', '`', '“', '„', '«', '「']);
    let quotes =
        |c: char| matches!(c, '"' | '\'' | '`' | '“' | '”' | '„' | '«' | '»' | '「' | '」' | '*');
    let opened = word.trim_start_matches(quotes);
    let start = end + tail.len() + between + blanks + word.len() - opened.len();
    let ends = |c: char| quotes(c) || matches!(c, ',' | ';' | '，' | '。' | '、' | '；');
    let value = &opened[..opened.find(ends).unwrap_or(opened.len())];
    let value = value.trim_end_matches(['.', '!', '?', ')', ':']);
    let is_secret = if tail.is_empty() {
        looks_secret(value, name.kind, is_quoted, is_assigned)
    } else {
        // Behind `token_limit` stands something else than behind `token`.
        is_assigned
            && value.len() >= 12
            && has_digit(value)
            && looks_secret(value, Kind::Key, is_quoted, is_assigned)
    };
    let what = match name.kind {
        Kind::Password => "a password",
        Kind::Key | Kind::Code => "a key or token",
    };
    is_secret.then(|| Secret { what, range: start..start + value.len() })
}

/// The digits behind a name of codes: `the PIN is 4711`, `door code 99812#`.
fn code(text: &str, name_at: Range<usize>, name: &Name) -> Option<Secret> {
    let text = &text[..text.floor_char_boundary(name_at.end + REACH)];
    let rest = &text[name_at.end..];
    if !identifier_tail(rest)?.is_empty() {
        return None;
    }
    // Without a word between them only where it can mean nothing else: one can `pin` things.
    let is_certain = name.word != "pin" || text[name_at.clone()].starts_with("PIN");
    let is_next = is_certain && rest.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let between = if is_next { 0 } else { separator(rest, name)?.0 };
    let mut words = rest[between..].split_whitespace();
    let word = words.next()?;
    let value = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '#' | '*'));
    let digits = value.trim_matches(['#', '*']);
    let is_code = (4..=12).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !words.next().is_some_and(is_counted);
    let start = name_at.end + between + rest[between..].find(word)? + word.find(value)?;
    is_code.then(|| Secret { what: "a PIN or code", range: start..start + value.len() })
}

/// Whether a number before this word counts or measures something.
fn is_counted(word: &str) -> bool {
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

/// The rest of an identifier that only begins with the name; none if it is another word.
fn identifier_tail(rest: &str) -> Option<&str> {
    let joins = |c: char| c.is_alphanumeric() && c.is_ascii() || matches!(c, '_' | '-');
    let tail = &rest[..rest.find(|c| !joins(c)).unwrap_or(rest.len())];
    let goes_on = tail.starts_with(|c: char| c.is_lowercase());
    (!goes_on && tail != "-").then_some(tail)
}

/// Where the value begins behind the name, and whether it is assigned as in a file
/// rather than told in a sentence.
fn separator(rest: &str, name: &Name) -> Option<(usize, bool)> {
    if name.word == "bearer" {
        return rest.starts_with(' ').then_some((1, false));
    }
    let mut words = 0;
    let mut at = 0;
    for word in rest.split_inclusive(char::is_whitespace) {
        let bare = word.trim();
        let marks = ['"', '\'', '`', '*', ')'];
        let front = bare.trim_start_matches(marks);
        if words == 0 && (front.starts_with(['=', ':', '：']) || front.starts_with("->")) {
            let mark = front.trim_start_matches(['=', ':', '：', '-', '>']);
            return Some((at + word.find(front)? + front.len() - mark.len(), true));
        }
        if words == 0 && front.starts_with(['是', '为', '為', 'は', '은', '는']) {
            return Some((at + word.find(front)? + front.chars().next()?.len_utf8(), false));
        }
        let small = bare.to_lowercase();
        at += word.len();
        if IS.contains(&small.as_str()) {
            return Some((at, false));
        }
        if !bare.is_empty() {
            words += 1;
            let may_begin = PREPOSITIONS.contains(&small.as_str()) || bare.starts_with('(');
            let ends = bare.ends_with(['.', '!', '?', ';', ',']);
            if ends || at > FILLER || (words == 1 && !may_begin) {
                return None;
            }
            if bare.ends_with(':') {
                return Some((at, true));
            }
        }
    }
    None
}

/// Whether a value looks as if nobody should read it.
fn looks_secret(value: &str, kind: Kind, is_quoted: bool, is_assigned: bool) -> bool {
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
    let is_mixed =
        (letters > 0 && (has_digit(value) || odd_marks)) || is_shouted_amid(value, turns);
    match kind {
        Kind::Password => {
            let is_number = letters == 0 && marks == 0;
            let is_phrase = is_assigned && value.matches('-').count() >= 3;
            is_mixed || is_number || is_phrase || is_quoted
        }
        Kind::Key | Kind::Code => is_mixed && length >= 8 && !is_words(value),
    }
}

/// Capitals amid small letters, as in `hUnTeR`; a name such as `KeePass` has one or two.
fn is_shouted_amid(value: &str, turns: usize) -> bool {
    turns >= 3 && value.contains(char::is_lowercase)
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
