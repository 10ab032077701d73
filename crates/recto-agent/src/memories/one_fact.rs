//! Whether a text is one fact, or the same words over and over, and whose words it is in.
//!
//! Small models fall into a sentence and go on with it. What comes of that is no memory: it would
//! stand on every page. What a text says and how long it is are not judged here.

use std::collections::HashSet;

use recto_context::WantedCall;

/// How many words in a row don't come twice in one fact.
const SPAN: usize = 6;

/// The first words that a text repeats: a whole sentence of it, or a long run of words.
pub(super) fn find_repetition(text: &str) -> Option<String> {
    let sentences = text.split(['.', '!', '?', ';', '\n']).map(folded_words);
    let sentences = sentences.filter(|sentence| sentence.len() > 1);
    let words = folded_words(text);
    find_twice(sentences).or_else(|| find_twice(words.windows(SPAN).map(<[String]>::to_vec)))
}

/// Whether a call is to keep what the person plainly asked for, and not what the model wrote: a
/// memory is for the person who asked, and models write other things down, small ones what they
/// would answer. What else was told in the same message can be kept, too: a text that is mostly of
/// that is the model's to write. So is one about what was only named: "my token" says nothing that
/// could be kept.
pub(crate) fn keeps_wish(text: &str, wish: &WantedCall) -> bool {
    let is_about_name = !wish.is_dictated && is_mostly_of(&wish.fact, text);
    !is_about_name && !is_mostly_of(text, &wish.told)
}

/// Whether at least half of the words of a text that say something are in another, in whatever
/// form.
fn is_mostly_of(text: &str, other: &str) -> bool {
    let said = folded_words(other);
    let words: Vec<String> =
        folded_words(text).into_iter().filter(|word| word.chars().count() >= SAYS).collect();
    let is_said = |word: &&String| said.iter().any(|other| is_form_of(word, other));
    !words.is_empty() && words.iter().filter(is_said).count() * 2 >= words.len()
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
    use recto_context::WantedCall;

    use super::{find_repetition, keeps_wish};

    /// Promise: `a-wish-to-remember-is-met-or-told`
    #[test]
    fn a_wish_is_kept_in_the_persons_words() {
        let kept = |message: &str, text: &str| {
            let wish = WantedCall::from_message(message).unwrap();
            if keeps_wish(text, &wish) { wish.fact.to_string() } else { text.to_owned() }
        };
        let jazz = "Remember that I like jazz.";
        for text in [
            "I like jazz",
            "The user likes jazz.",
            "I like jazz and rock",
            "I like to be of help",
            "remember",
            "",
        ] {
            assert_eq!(kept(jazz, text), "I like jazz", "{text}");
        }
        let token = "The token is in the safe";
        assert_eq!(kept("Remember my token", token), token);
        assert_eq!(kept("Remember my token", "I am here to help"), "my token");
        let meat = "Hi there! Merk dir, dass ich kein Fleisch esse.";
        assert_eq!(kept(meat, "Hi, I am here to help"), "ich kein Fleisch esse");
        let bonn = "Remember that I live in Bonn. What is the capital of Italy?";
        assert_eq!(kept(bonn, "What is the capital of Italy?"), "I live in Bonn");
        let two = "Remember that I like jazz. And my sister is called Ada.";
        assert_eq!(kept(two, "User enjoys jazz"), "I like jazz");
        let sister = "The user's sister is called Ada";
        assert_eq!(kept(two, sister), sister);
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
