//! What a description says an item is not for.
//!
//! "Not for single pages", "For pricing, see pricing-strategy": such a sentence names
//! just those messages that the item should not come for. Taken as words like any
//! others it would bring them.
//!
//! English only, and only sentences that begin with it: a "not" inside a sentence can
//! mean anything.

/// How sentences begin that say what something is not for.
const DENIALS: [&str; 10] = [
    "not for ",
    "not when ",
    "do not use ",
    "don't use ",
    "don’t use ",
    "does not ",
    "doesn't ",
    "never use ",
    "not to be used ",
    "skip ",
];

/// Words behind the comma of a sentence that begins with "for" and sends elsewhere.
const ELSEWHERE: [&str; 3] = [", see ", ", use ", " → "];

/// The sentences of a description, each with whether it says what the item is for.
pub(super) fn sentences(description: &str) -> impl Iterator<Item = (&str, bool)> {
    let ends = |c: char| matches!(c, '.' | ';' | '!' | '?' | '\n' | '(' | ')' | '—');
    let sentences = description.split_inclusive(ends);
    // A full stop inside a name or number ends nothing, but parts of one sentence are
    // judged alike only if it begins anew; that is what the space behind it tells.
    sentences.map(|sentence| (sentence, !is_denial(sentence)))
}

fn is_denial(sentence: &str) -> bool {
    let sentence = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins = |with: &&str| {
        sentence.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    if DENIALS.iter().any(begins) {
        return true;
    }
    begins(&"for ") && ELSEWHERE.iter().any(|elsewhere| sentence.contains(elsewhere))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(description: &str) -> Vec<&str> {
        sentences(description).filter(|(_, is_for)| !is_for).map(|(text, _)| text.trim()).collect()
    }

    #[test]
    fn a_description_says_what_it_is_not_for() {
        let text = "Shoots whole sites. Not for single pages; don't use for Figma. For copy, see copywriting.";
        let not_for =
            ["Not for single pages;", "don't use for Figma.", "For copy, see copywriting."];
        assert_eq!(denied(text), not_for);
    }

    #[test]
    fn other_negations_say_what_it_is_for() {
        let text = "Finds links that do not work. For teams that don't use Git. Notes, not emails.";
        assert_eq!(denied(text), [""; 0]);
        assert_eq!(denied("日本語 (not for you"), ["not for you"]);
    }
}
