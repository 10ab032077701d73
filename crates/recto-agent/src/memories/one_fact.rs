//! Whether a text is one fact, or the same words over and over.
//!
//! Small models fall into a sentence and go on with it. What comes of that is no memory: it would
//! stand on every page. Only repetition is judged here, not what a text says or how long it is.

use std::collections::HashSet;

/// How many words in a row don't come twice in one fact.
const SPAN: usize = 6;

/// The first words that a text repeats: a whole sentence of it, or a long run of words.
pub(super) fn find_repetition(text: &str) -> Option<String> {
    let sentences = text.split(['.', '!', '?', ';', '\n']).map(folded_words);
    let sentences = sentences.filter(|sentence| sentence.len() > 1);
    let words = folded_words(text);
    find_twice(sentences).or_else(|| find_twice(words.windows(SPAN).map(<[String]>::to_vec)))
}

/// Whether a text is about what a person asked to have remembered: it has half of the words
/// that say what that is, in whatever form.
pub(super) fn is_about(text: &str, wish: &str) -> bool {
    let said = folded_words(text);
    let wished: Vec<String> =
        folded_words(wish).into_iter().filter(|word| word.chars().count() >= SAYS).collect();
    let is_said = |word: &&String| said.iter().any(|other| is_form_of(word, other));
    wished.iter().filter(is_said).count() * 2 >= wished.len()
}

/// Shorter words say little by themselves.
const SAYS: usize = 3;

/// "like" and "likes", "run" and "running".
fn is_form_of(word: &str, other: &str) -> bool {
    word.starts_with(other) && other.chars().count() >= SAYS || other.starts_with(word)
}

fn folded_words(text: &str) -> Vec<String> {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect()
}

fn find_twice(mut spans: impl Iterator<Item = Vec<String>>) -> Option<String> {
    let mut seen = HashSet::new();
    let twice = spans.find(|span| !seen.insert(span.clone()))?;
    Some(twice.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{find_repetition, is_about};

    #[test]
    fn a_wish_is_told_from_a_models_own_words() {
        for (text, wish) in [
            ("I like jazz", "I like jazz"),
            ("The user likes jazz.", "I like jazz"),
            ("Name: Sam", "my name is Sam"),
            ("anything", "it"),
        ] {
            assert!(is_about(text, wish), "{text}: {wish}");
        }
        for (text, wish) in [
            ("I'm here to help with whatever you need", "I like jazz"),
            ("remember", "my name is Sam"),
            ("", "I like jazz"),
        ] {
            assert!(!is_about(text, wish), "{text}: {wish}");
        }
    }

    #[test]
    fn a_fact_is_said_once() {
        for fact in [
            "I like jazz",
            "Prefers short answers. No emoji, no headings.",
            "Dr. Smith is the doctor; Dr. Jones is the dentist",
            "Ran 3 km on Monday, ran 4 km on Tuesday, ran 5 km on Wednesday",
            "The server is atlas.example.org, the other one is borea.example.org",
            "",
        ] {
            assert_eq!(find_repetition(fact), None, "{fact}");
        }
    }

    #[test]
    fn the_same_again_is_found() {
        let found = |text: &str| find_repetition(text).unwrap();
        assert_eq!(found("I like jazz. I like jazz. I like jazz."), "i like jazz");
        assert_eq!(
            found("I moved to Lisbon last year and I know that I moved to Lisbon last year"),
            "i moved to lisbon last year"
        );
    }
}
