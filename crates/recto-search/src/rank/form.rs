//! The form of a message: what tells a request about one's own things from talk that shares
//! its words. "What is our policy on leave?" and "what does the word leave come from?" have
//! the same topic to an encoder, and not the same form.

use recto_context::mode::words::{MessageVerdict, read_message};

/// First persons that own something, in the languages that people write in most.
const OWNERS: [&str; 26] = [
    "my", "our", "ours", "mine", "we", "us", "mein", "meine", "meinen", "meiner", "unser",
    "unsere", "unseren", "wir", "uns", "mi", "mis", "nuestro", "nuestra", "nuestros", "mon", "ma",
    "mes", "notre", "nos", "nous",
];

/// The form of a message, each part of it 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct QueryForm {
    /// Its words are those of talk.
    pub(super) talk: f32,
    /// They are those of work.
    pub(super) work: f32,
    /// It speaks of what is one's own.
    pub(super) own: f32,
    /// Code, a long number or an identifier stands in it.
    pub(super) code: f32,
    /// It ends with a question mark.
    pub(super) question: f32,
}

impl QueryForm {
    pub(super) fn read(message: &str) -> QueryForm {
        let verdict = read_message(message).verdict;
        let number = |is: bool| if is { 1.0 } else { 0.0 };
        let mut words = message.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let owns = |word: &str| OWNERS.iter().any(|owner| word.eq_ignore_ascii_case(owner));
        QueryForm {
            talk: number(verdict == MessageVerdict::Talk),
            work: number(verdict == MessageVerdict::Tools),
            own: number(words.clone().any(owns)),
            code: number(message.contains("```") || words.any(is_reference)),
            question: number(message.trim_end().ends_with('?')),
        }
    }
}

/// Whether a word is a name that a program gave, or a long number.
fn is_reference(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    digits >= 3 || word.trim_matches('_').contains('_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_talk_have_different_forms() {
        let read = QueryForm::read;
        let ours = read("what is our policy on leave?");
        assert_eq!((ours.own, ours.question, ours.code), (1.0, 1.0, 0.0));
        let joke = read("tell me a joke about elevators");
        assert_eq!((joke.talk, joke.work, joke.own), (1.0, 0.0, 0.0));
        assert_eq!(read("why does ticket 4411 fail").code, 1.0);
        assert_eq!(read("rename get_user to fetch").code, 1.0);
        assert_eq!(read("flourish, usual").own, 0.0);
    }
}
