//! What a single word is by its shape.

/// What a word looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordShape {
    /// Digits, perhaps with marks, a currency or a unit.
    Number,
    /// Only machines write like this.
    Reference,
    /// With a capital at its beginning.
    Capital,
    /// A word in small letters, or in a script that has no capitals.
    Plain,
}

impl WordShape {
    /// The shape of a word without the marks around it.
    pub(super) fn from_word(word: &str) -> Self {
        if is_address(word) || is_path(word) || is_identifier(word) {
            WordShape::Reference
        } else if word.contains(|c: char| c.is_ascii_digit()) {
            digits(word)
        } else if word.starts_with(char::is_uppercase) {
            WordShape::Capital
        } else {
            WordShape::Plain
        }
    }
}

fn is_address(word: &str) -> bool {
    let mail = word.split_once('@').is_some_and(|(name, host)| {
        name.contains(char::is_alphanumeric) && host.contains('.') && !host.contains('@')
    });
    mail || word.contains("://") || word.starts_with("www.")
}

fn is_path(word: &str) -> bool {
    let begins = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '.');
    let roots = ["/", "~/", "./", "../"];
    let is_rooted = roots.iter().any(|root| word.strip_prefix(root).is_some_and(begins));
    let slashes = word.matches(['/', '\\']).count();
    // `and/or`, `km/h` and `24/7` are no paths, `src/main.rs` is one.
    let is_inner = slashes > 0
        && word.contains(char::is_alphabetic)
        && (slashes > 1 || word.contains(['.', '_', '-']) || word.ends_with('/'));
    is_rooted || is_inner || is_file(word)
}

/// A name with an ending: `main.rs`, `example.org`.
fn is_file(word: &str) -> bool {
    let Some((stem, ending)) = word.rsplit_once('.') else { return false };
    let is_one_case = ending.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        || ending.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    stem.chars().count() >= 2
        && stem.contains(|c: char| c.is_ascii_alphabetic())
        && !stem.ends_with('.')
        && (1..=7).contains(&ending.len())
        && ending.contains(|c: char| c.is_ascii_alphabetic())
        && is_one_case
}

fn is_identifier(word: &str) -> bool {
    let inner = word.trim_matches(['_', ':', '=']);
    let joined = ["_", "::", "=", "()", "->", "&&"].iter().any(|mark| inner.contains(mark));
    let is_flag = word.strip_prefix("--").is_some_and(|flag| flag.starts_with(char::is_alphabetic));
    (joined && word.contains(|c: char| c.is_ascii_alphabetic())) || is_flag || is_camel(inner)
}

/// `camelCase`, `OsString`; not `Anna` and not `GB`.
fn is_camel(word: &str) -> bool {
    let turns = |pair: &&[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    let humps = word.as_bytes().windows(2).filter(turns).count();
    word.len() >= 5 && word.chars().all(|c| c.is_ascii_alphanumeric()) && humps >= 1
}

/// A word with digits in it: a number, a number with its unit, or a code.
fn digits(word: &str) -> WordShape {
    let marks = |c: char| "€$£¥+-#~<>≥≤§±≈−".contains(c);
    let start = word.trim_start_matches(marks);
    if !start.starts_with(|c: char| c.is_ascii_digit()) {
        return WordShape::Reference;
    }
    let letters = start.trim_start_matches(|c: char| !c.is_alphabetic());
    // `20kg`, `8am`, `2nd`, `16-bit`; `8c1f0e2` has digits behind its letters.
    let count = letters.chars().count();
    let is_unit = !letters.contains(|c: char| c.is_ascii_digit())
        && (count <= 3 || (count <= 6 && !letters.contains(char::is_uppercase)));
    // `4471-902-66` is a code, `2027-07-18` and `20-30` are numbers.
    let dashes = start.matches('-').count();
    let is_date = start.len() == 10 && start.as_bytes().get(4) == Some(&b'-');
    if !is_unit || (dashes >= 2 && !is_date) { WordShape::Reference } else { WordShape::Number }
}
