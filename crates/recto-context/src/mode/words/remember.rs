//! Requests to keep something in mind: "remember that I like jazz", "don't forget that my …".
//!
//! Only plain ones count, because what follows from one is a call that is forced, or a person
//! who is told that nothing was stored. A question ("do you remember that …?"), a story
//! ("remember when …"), a reminder to do something ("remember to …") and a remark ("note that the
//! file is large") are none.

use super::lex::{Sentence, TokenGap, TokenKind, WordToken};
use super::request::{self, RequestFrame};
use super::sentence::read_one;
use super::{
    MessageReading, MessageSign, TalkKind, beginning, imperative, lex, lists, question, typed,
};
use crate::word_list::WordList;

/// A plain request to remember something, in the person's own words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MemoryWish<'m> {
    /// The words that ask for it, as they were typed.
    pub matched: Vec<String>,
    /// What is to be remembered.
    pub fact: &'m str,
    /// Whether that only names it ("my token") and says nothing of it.
    pub is_name: bool,
    /// What further wishes of the message are about.
    pub more: Vec<&'m str>,
    /// What else the message says, but for greetings and thanks.
    pub beside: String,
    /// What of that tells something, and asks for nothing.
    pub told: String,
}

/// A wish of one sentence, and what else that asks for.
struct SentenceWish<'s> {
    matched: Vec<String>,
    fact: &'s [WordToken<'s>],
    request: &'s [WordToken<'s>],
}

/// Finds where a message plainly asks to have something remembered.
pub(crate) fn find_memory_wish(message: &str) -> Option<MemoryWish<'_>> {
    let message = beginning(message);
    let sentences = lex::sentences(message);
    let (mut first, mut more, mut beside, mut told) = (None, Vec::new(), Vec::new(), Vec::new());
    for sentence in &sentences {
        match read_sentence(sentence) {
            Some(wish) => {
                beside.extend(Some(span(message, wish.request)).filter(|text| !text.is_empty()));
                match &first {
                    None => first = Some(wish),
                    Some(_) => more.push(span(message, wish.fact)),
                }
            }
            // A greeting or thanks, and nothing more.
            None if request::peel(&sentence.tokens).rest.is_empty() => {}
            None => {
                let text = span(message, &sentence.tokens);
                told.extend(Some(text).filter(|_| tells(sentence)));
                beside.push(text);
            }
        }
    }
    let SentenceWish { matched, fact, .. } = first?;
    let (is_name, fact) = (is_name(fact), span(message, fact));
    let (beside, told) = (beside.join("\n"), told.join("\n"));
    Some(MemoryWish { matched, fact, is_name, more, beside, told })
}

/// Whether a sentence tells something, and neither asks nor orders.
fn tells(sentence: &Sentence<'_>) -> bool {
    let sign = read_one(sentence).sign;
    !sentence.asks && matches!(sign, MessageSign::Talk(TalkKind::Statement) | MessageSign::None)
}

/// The words of a sentence that ask to remember something, and what it is.
fn read_sentence<'s>(sentence: &'s Sentence<'_>) -> Option<SentenceWish<'s>> {
    let request = request::peel(&sentence.tokens);
    let rest = request.rest;
    let whole = lists::REMEMBER_THAT.covers(rest);
    let own = lists::REMEMBER_OWN.covers(rest);
    let covered = match (whole, own) {
        (0, 0) => return read_closing_wish(rest, sentence.asks),
        (0, own) if is_about_oneself(rest.get(own)?) => own,
        (0, own) if introduces_fact(rest.get(own)?) => own,
        (0, _) => return None,
        (whole, _) => whole,
    };
    // There has to be something to keep.
    let said = match rest.get(covered..)? {
        [] => return None,
        [link, said @ ..] if is_word_of(&lists::FACT_LINKS, link) && !said.is_empty() => said,
        said => said,
    };
    let (fact, behind) = said.split_at(find_request(said, sentence.asks).unwrap_or(said.len()));
    // "remember that time?" asks; "could you remember that I …?" only sounds like it, and in
    // "remember that I …, and what is …?" it is the rest that asks.
    if sentence.asks && behind.is_empty() && request.frame != RequestFrame::Asked {
        return None;
    }
    let is_fact = fact.len() > 1 || fact[0].kind != TokenKind::Word;
    let is_story = is_word_of(&lists::STORY_HEADS, &fact[0]);
    let matched = || typed(&rest[..covered].iter().collect::<Vec<_>>());
    (is_fact && !is_story).then(|| SentenceWish { matched: matched(), fact, request: behind })
}

/// "My door is the blue one, remember that!": the request behind a fact of the speaker's own.
fn read_closing_wish<'s>(said: &'s [WordToken<'s>], asks: bool) -> Option<SentenceWish<'s>> {
    if asks || !is_about_oneself(said.first()?) {
        return None;
    }
    let start = said.iter().rposition(|token| token.gap == TokenGap::Comma)?;
    let (fact, closing) = said.split_at(start);
    let wish = request::peel(closing).rest;
    let is_whole = !wish.is_empty() && lists::REMEMBER_BEFORE.covers(wish) == wish.len();
    // "I do, remember that" says nothing.
    (is_whole && fact.len() > 2).then(|| SentenceWish {
        matched: typed(&wish.iter().collect::<Vec<_>>()),
        fact,
        request: &[],
    })
}

/// Where something else is asked for behind a fact: "…, and tell me a joke", "… and what is 2+2?".
/// Without a question mark a comma has to stand before it: people also remember what they do.
fn find_request(said: &[WordToken<'_>], asks: bool) -> Option<usize> {
    (1..said.len()).find(|at| {
        let clause = &said[*at..];
        let is_apart = clause[0].gap != TokenGap::Space;
        let rest = request::peel(clause).rest;
        let is_question = asks && question::begins_question(rest, RequestFrame::Bare, true);
        let is_order = || {
            lists::REPORT_FRAMES.covers(rest) > 0
                || imperative::read_talking_verb(rest).is_some_and(|reading| is_made_up(&reading))
        };
        match is_apart {
            true => is_question || is_order(),
            false => is_word_of(&lists::CLAUSE_LINKS, &clause[0]) && is_question,
        }
    })
}

/// Whether words are asked for that have to be made up or explained.
fn is_made_up(reading: &MessageReading) -> bool {
    use TalkKind::{Creative, Explanation};
    matches!(reading.sign, MessageSign::Talk(Creative | Explanation))
}

/// "my token", "my door code": a thing of one's own in a few words, with nothing said of it.
fn is_name(fact: &[WordToken<'_>]) -> bool {
    const MOST_WORDS: usize = 3;
    fact.len() <= MOST_WORDS && is_word_of(&lists::OWN_POSSESSIVES, &fact[0])
}

/// The part of a message that these tokens of it stand in.
fn span<'m>(message: &'m str, tokens: &[WordToken<'_>]) -> &'m str {
    let place = |token: &WordToken<'_>| {
        (token.typed.as_ptr() as usize).wrapping_sub(message.as_ptr() as usize)
    };
    let ends = tokens.first().zip(tokens.last());
    let range = ends.map(|(first, last)| place(first)..place(last) + last.typed.len());
    range.and_then(|range| message.get(range)).unwrap_or_default()
}

/// "remember: …", "merk dir, dass …": what to keep follows.
fn introduces_fact(token: &WordToken) -> bool {
    match token.gap {
        TokenGap::Colon => true,
        TokenGap::Comma => is_word_of(&lists::FACT_LINKS, token),
        TokenGap::Space => false,
    }
}

/// "I", "my", "we": whose fact it is.
fn is_about_oneself(token: &WordToken) -> bool {
    lists::SELVES.has(token.stem()) || is_word_of(&lists::OWN_POSSESSIVES, token)
}

fn is_word_of(list: &WordList, token: &WordToken) -> bool {
    token.kind == TokenKind::Word && list.has(&token.lower)
}

#[cfg(test)]
mod tests {
    use super::find_memory_wish;

    #[track_caller]
    fn check(message: &str, expected: Option<&str>) {
        let found = find_memory_wish(message).map(|wish| wish.matched.join(" "));
        assert_eq!(found.as_deref(), expected, "{message}");
    }

    /// Promise: `a-wish-to-remember-is-met-or-told`
    #[test]
    fn plain_requests_are_found_by_their_words() {
        check("Remember that I like jazz", Some("Remember that"));
        check("please remember: the bins go out on Monday", Some("remember"));
        check("Please remember that Kim's birthday is 14 March", Some("remember that"));
        check("remember I take my coffee black", Some("remember"));
        check("remember my sister is called Ada", Some("remember"));
        check("Hi! Could you remember that I moved to Lisbon?", Some("remember that"));
        check("don't forget that I am on holiday", Some("don't forget that"));
        check("Do not forget my flight is LH 2043", Some("Do not forget"));
        check("note that my door code is on the fridge", Some("note that"));
        check("keep in mind that I don't eat meat", Some("keep in mind that"));
        check("Thanks. And remember that we use tabs in src/main.rs", Some("remember that"));
        check("Merk dir, dass ich Jazz mag", Some("Merk dir"));
        check("Merk dir bitte, dass ich Jazz mag", Some("Merk dir bitte"));
        check("Vergiss bitte nicht, dass ich Jazz mag", Some("Vergiss bitte nicht"));
        check("recuerda que me gusta el jazz", Some("recuerda que"));
        check("I am allergic to nuts, remember that!", Some("remember that"));
        check("My door is the blue one, please remember that.", Some("remember that"));
    }

    #[test]
    fn what_is_to_be_kept_stands_in_the_persons_words() {
        for (message, fact) in [
            ("Remember that I like jazz.", "I like jazz"),
            ("please remember: the bins go out on Monday!", "the bins go out on Monday"),
            (
                "Thanks. And remember that we use tabs in src/main.rs. Bye",
                "we use tabs in src/main.rs",
            ),
            ("remember my sister's name is Ada, not Eda", "my sister's name is Ada, not Eda"),
            ("Merk dir, dass ich Jazz mag", "ich Jazz mag"),
            ("Merk dir bitte, dass ich Jazz mag", "ich Jazz mag"),
            ("I am allergic to nuts, remember that!", "I am allergic to nuts"),
        ] {
            assert_eq!(find_memory_wish(message).unwrap().fact, fact, "{message}");
        }
        let is_name = |message| find_memory_wish(message).unwrap().is_name;
        assert!(is_name("Remember my token") && is_name("remember my door code"));
        assert!(!is_name("Remember that I smoke") && !is_name("remember my name is Sam"));
        let beside = |message| find_memory_wish(message).unwrap().beside;
        assert_eq!(beside("Remember that I like jazz."), "");
        assert_eq!(beside("Hi! Remember that I like jazz. Thanks."), "");
        assert_eq!(beside("Hi. Remember that I like jazz. My cat is Eda."), "My cat is Eda");
    }

    /// Promise: `a-wish-to-remember-is-met-or-told`
    #[test]
    fn what_else_is_asked_for_is_no_part_of_the_fact() {
        for (message, fact, beside, told) in [
            (
                "Remember that I am allergic to nuts, and what is 2+2?",
                "I am allergic to nuts",
                "and what is 2+2",
                "",
            ),
            (
                "Remember I like coffee and what time is it?",
                "I like coffee",
                "and what time is it",
                "",
            ),
            (
                "I want you to remember that my car is red, and tell me a joke.",
                "my car is red",
                "and tell me a joke",
                "",
            ),
            (
                "Remember that I live in Bonn. What is the capital of Italy?",
                "I live in Bonn",
                "What is the capital of Italy",
                "",
            ),
            (
                "Remember that I like jazz. My sister is called Ada.",
                "I like jazz",
                "My sister is called Ada",
                "My sister is called Ada",
            ),
            // What one does is no order.
            (
                "Remember that I get up at six, and run on Sundays",
                "I get up at six, and run on Sundays",
                "",
                "",
            ),
            (
                "remember that I know what I want and who I am",
                "I know what I want and who I am",
                "",
                "",
            ),
        ] {
            let wish = find_memory_wish(message).unwrap();
            assert_eq!((wish.fact, &*wish.beside, &*wish.told), (fact, beside, told), "{message}");
        }
        let two = "Remember that Anna is my sister. And remember that my brother is called Tom.";
        let wish = find_memory_wish(two).unwrap();
        assert_eq!((wish.fact, wish.more), ("Anna is my sister", vec!["my brother is called Tom"]));
        assert_eq!(wish.beside, "");
    }

    #[test]
    fn questions_stories_and_remarks_are_none() {
        for message in [
            "do you remember that I like jazz?",
            "Do you remember my name?",
            "remember when we went to the sea",
            "remember to call Ada",
            "remember that?",
            "remember that time in Lisbon",
            "remember that",
            "what should I remember?",
            "I remember that day",
            "note that the file is large",
            "note that this is a draft",
            "don't forget to commit",
            "don't forget the milk",
            "forget that I like jazz",
            "I like jazz, remember that?",
            "I like jazz, do you remember that",
            "my sister said, I remember that",
            "I do, remember that",
            "when you write code, remember that!",
            "explain how computers remember that",
            "keep in mind that latency matters, and refactor it",
            "",
        ] {
            check(message, None);
        }
    }
}
