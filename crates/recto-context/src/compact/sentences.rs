//! Cuts a text into sentences, and long sentences into clauses. Knows nothing of what
//! they say.

use super::lists;

/// The fewest words of each half when a sentence is cut in two.
const CLAUSE: usize = 4;

/// The fewest words of a sentence that is worth cutting.
const LONG: usize = 12;

/// The sentences of a text in their order, each on one line and without the marks that
/// begin lines in Markdown. What only encloses code is left out.
pub(super) fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = without_marks(line.trim());
        if line.starts_with("```") || !line.contains(char::is_alphanumeric) {
            continue;
        }
        let mut start = 0;
        for end in ends(line) {
            push(&line[start..end], &mut found);
            start = end;
        }
        push(&line[start..], &mut found);
    }
    found
}

fn push(sentence: &str, found: &mut Vec<String>) {
    let words = sentence.split(|c: char| c.is_whitespace() || c.is_control());
    let flat = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if flat.contains(char::is_alphanumeric) {
        found.push(flat);
    }
}

/// A line without what makes it a heading, a quotation or an entry of a list.
fn without_marks(line: &str) -> &str {
    let line = line.trim_start_matches(['#', '>', '*', '-', '•', '+', ' ']).trim_end_matches('*');
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = &line[digits..];
    let is_numbered = (1..=3).contains(&digits) && rest.starts_with([')', '.']);
    match rest.get(1..2) {
        Some(" ") if is_numbered => rest[1..].trim_start(),
        _ => line,
    }
}

/// Where the sentences of a line end.
fn ends(line: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_wide = matches!(c, '。' | '！' | '？' | '．');
        if !is_wide && !matches!(c, '.' | '!' | '?' | '…' | '।') {
            continue;
        }
        let mut end = at + c.len_utf8();
        while let Some(&(_, next)) = chars.peek()
            && matches!(
                next,
                '.' | '!' | '?' | '"' | '”' | '»' | ')' | '」' | '』' | '\'' | '！' | '？'
            )
        {
            end += next.len_utf8();
            chars.next();
        }
        let goes_on = chars.peek().is_some_and(|(_, next)| !next.is_whitespace());
        let is_within = goes_on || (c == '.' && is_abbreviated(line, at, end));
        if is_wide || !is_within {
            ends.push(end);
        }
    }
    ends
}

/// Whether the dot at `at` belongs to an abbreviation, an initial or a date in German.
fn is_abbreviated(line: &str, at: usize, end: usize) -> bool {
    let word =
        line[..at].rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let small = word.to_lowercase();
    let next = line[end..].trim_start().chars().next();
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    lists::ABBREVIATIONS.has(&small) || is_initial || next.is_some_and(char::is_lowercase)
}

/// A long sentence in its clauses, others whole. Joined by blanks they are the sentence.
pub(super) fn clauses(sentence: &str) -> Vec<String> {
    let words: Vec<&str> = sentence.split(' ').collect();
    if words.len() < LONG {
        return vec![sentence.to_owned()];
    }
    let mut clauses = Vec::new();
    let mut start = 0;
    for at in CLAUSE..words.len() {
        let before = words[at - 1];
        let is_joint = before.ends_with(',') && lists::JOINTS.has(&words[at].to_lowercase());
        let is_break = before.ends_with([';', ':', '—', '–']) || is_joint;
        if is_break && at - start >= CLAUSE && words.len() - at >= CLAUSE {
            clauses.push(words[start..at].join(" "));
            start = at;
        }
    }
    clauses.push(words[start..].join(" "));
    clauses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_people_end_them() {
        let check = |text: &str, expected: &[&str]| assert_eq!(sentences(text), expected);
        check("It costs 3.50. Really? Yes!", &["It costs 3.50.", "Really?", "Yes!"]);
        check("Ask Dr. Keller. She knows.", &["Ask Dr. Keller.", "She knows."]);
        check("Edit src/main.rs now", &["Edit src/main.rs now"]);
        check("# Plan\n\n- one\n2. two\n```\ncode\n```", &["Plan", "one", "two", "code"]);
        check("今日は行く。明日は？", &["今日は行く。", "明日は？"]);
        check("a\tb\u{7}c\r\n\n***", &["a b c"]);
        check("", &[]);
    }

    #[test]
    fn long_sentences_fall_into_clauses() {
        let long =
            "We take the early train to the coast, because the bus makes the younger one sick.";
        let cut = clauses(long);
        assert_eq!(cut.len(), 2);
        assert_eq!(cut.join(" "), long);
        assert_eq!(clauses("No, because it is late."), ["No, because it is late."]);
    }
}
