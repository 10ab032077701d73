//! A message as it is searched for: as a whole, in its parts where it asks for several
//! things, and with what was said before where it can't stand by itself.
//!
//! "Book the van and tell Piet that I'm late" is two requests, and what each needs would
//! be far from the mean of both. "And for Spain?" names nothing that it is about; the
//! message before does. Both are told by the form of the sentence: nothing here knows
//! what there is to find.
//!
//! English, with the commonest words of German, Spanish, French and Italian.

use std::borrow::Cow;
use std::collections::HashSet;

use recto_context::mode::words::{is_order, names_nothing, only_names};

use crate::encoder::Embedding;
use crate::index::SearchQuery;
use crate::lexical;

/// The most parts that are looked at by themselves.
const MOST_PARTS: usize = 4;

/// How many different words a part needs to ask for anything.
const WORDS_OF_A_PART: usize = 2;

/// The longest message that is looked at in its parts, in bytes. What is longer is pasted
/// for the most part, and its sentences are no requests.
const LONGEST_IN_PARTS: usize = 300;

/// Up to how many different words a question is too short to stand by itself.
const TOO_SHORT: usize = 1;

/// Up to how many a message can't stand by itself if it points back.
const SHORT: usize = 7;

/// Words between two requests in one sentence.
const LINKS: [&str; 16] = [
    "and",
    "then",
    "also",
    "plus",
    "und",
    "dann",
    "sowie",
    "außerdem",
    "y",
    "luego",
    "además",
    "et",
    "puis",
    "aussi",
    "e",
    "poi",
];

/// Words with which a message goes on from another, where it begins with them.
const OPENERS: [&str; 26] = [
    "and",
    "ok and",
    "now",
    "what if",
    "but",
    "or",
    "what about",
    "how about",
    "same",
    "also",
    "then",
    "und",
    "aber",
    "oder",
    "dann",
    "y",
    "pero",
    "o",
    "entonces",
    "et",
    "mais",
    "ou",
    "alors",
    "e",
    "ma",
    "was ist mit",
];

/// Words with which a message goes on from another, where it ends with them.
const CLOSERS: [&str; 14] = [
    "too",
    "instead",
    "i mean",
    "i meant",
    "after all",
    "auch",
    "meine ich",
    "meinte ich",
    "también",
    "quería decir",
    "aussi",
    "je voulais dire",
    "anche",
    "volevo dire",
];

/// Words that take back what was said before, where they are set off by a comma, or an article
/// follows: "no, in Lyon", "no the trailer". "No idea" and "sorry for that" take nothing back.
const REFUSALS: [&str; 25] = [
    "no",
    "nope",
    "nah",
    "sorry",
    "oops",
    "wait",
    "nein",
    "nee",
    "quatsch",
    "moment",
    "verzeihung",
    "entschuldigung",
    "non",
    "pardon",
    "désolé",
    "désolée",
    "attends",
    "attendez",
    "perdón",
    "perdona",
    "espera",
    "scusa",
    "scusi",
    "scusami",
    "aspetta",
];

/// Words in front of what was meant in place of something else.
const CORRECTIONS: [&str; 34] = [
    "i mean",
    "i meant",
    "actually",
    "rather",
    "or rather",
    "ich meine",
    "ich meinte",
    "eigentlich",
    "lieber",
    "doch lieber",
    "besser",
    "besser gesagt",
    "vielmehr",
    "je veux dire",
    "je voulais dire",
    "en fait",
    "plutôt",
    "ou plutôt",
    "quiero decir",
    "quería decir",
    "quise decir",
    "digo",
    "mejor",
    "mejor dicho",
    "más bien",
    "en realidad",
    "volevo dire",
    "intendevo",
    "anzi",
    "meglio",
    "piuttosto",
    "cioè",
    "in realtà",
    "intendo",
];

/// Words that stand between such words and what was meant: "wait, it's Porto".
const COPULAS: [&str; 10] =
    ["it's", "its", "it is", "make it", "make that", "es ist", "das ist", "c'est", "es", "è"];

/// Words in front of what is named.
const ARTICLES: [&str; 24] = [
    "the", "a", "an", "my", "our", "der", "die", "das", "den", "dem", "ein", "eine", "einen", "le",
    "la", "les", "un", "une", "el", "los", "las", "una", "il", "lo",
];

/// Words that say how what is named has to do with what was said before.
const PREPOSITIONS: [&str; 34] = [
    "for", "in", "to", "on", "at", "from", "with", "by", "about", "für", "nach", "zu", "zum",
    "zur", "bei", "am", "im", "aus", "mit", "pour", "à", "en", "chez", "au", "avec", "para", "por",
    "con", "per", "da", "di", "al", "alla", "nel",
];

/// How many telling words may stand behind an article or a preposition, where a message only
/// names something.
const NAMED_BEHIND: usize = 3;
/// The same without one, where one of the words is a name.
const NAMED_BARE: usize = 2;

/// Words that stand for something that was named before.
const POINTERS: [&str; 38] = [
    "it", "its", "it's", "that", "that's", "those", "these", "them", "this", "there", "same",
    "one", "ones", "instead", "too", "again", "other", "he", "she", "they", "him", "her", "his",
    "their", "das", "dort", "dafür", "davon", "damit", "eso", "ese", "esa", "allí", "lo", "ça",
    "cela", "celui", "lui",
];

/// A message as it is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchMessage {
    /// The whole message, then what was said before (if that counts), then its parts.
    texts: Vec<String>,
    has_before: bool,
    /// Whether misspelt words were put right.
    is_respelled: bool,
}

/// A text that is searched for, with its embedding where there is an encoder.
#[derive(Debug, Clone, Copy)]
pub struct QueryText<'a> {
    /// The text as it was typed.
    pub text: &'a str,
    /// What the encoder makes of it.
    pub embedding: Option<&'a Embedding>,
}

impl SearchMessage {
    /// Reads a message, with the one that the same person sent before it.
    pub fn new(message: &str, before: Option<&str>) -> SearchMessage {
        let before = before.filter(|before| !before.trim().is_empty() && leans_back(message));
        let parts = parts(message);
        let texts = [message].into_iter().chain(before).chain(parts.iter().map(String::as_str));
        let texts = texts.map(str::to_owned).collect();
        SearchMessage { texts, has_before: before.is_some(), is_respelled: false }
    }

    /// The same message with each of its texts read in another way; nothing if none is.
    pub(crate) fn respell(&self, read: impl Fn(&str) -> Cow<'_, str>) -> Option<SearchMessage> {
        let texts: Vec<Cow<'_, str>> = self.texts.iter().map(|text| read(text)).collect();
        let is_respelled = texts.iter().any(|text| matches!(text, Cow::Owned(_)));
        is_respelled.then(|| SearchMessage {
            texts: texts.into_iter().map(Cow::into_owned).collect(),
            has_before: self.has_before,
            is_respelled,
        })
    }

    /// The message as a whole.
    pub fn whole(&self) -> &str {
        self.texts.first().map_or("", String::as_str)
    }

    /// Whether what was said before counts.
    pub fn leans_on_before(&self) -> bool {
        self.has_before
    }

    /// All texts that are searched for, the whole message first.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// The query, with the embeddings of the texts in their order; by words alone where
    /// there are none.
    pub fn query<'a>(&'a self, embeddings: &'a [Embedding]) -> SearchQuery<'a> {
        let mut texts = self
            .texts
            .iter()
            .enumerate()
            .map(|(place, text)| QueryText { text, embedding: embeddings.get(place) });
        let whole = texts.next().unwrap_or(QueryText { text: "", embedding: None });
        let before = if self.has_before { texts.next() } else { None };
        SearchQuery { whole, before, parts: texts.collect(), is_respelled: self.is_respelled }
    }
}

/// Whether a message can't stand by itself: it goes on from another, or asks about what was named
/// before. Thanks and nods point back as well, and want nothing.
fn leans_back(message: &str) -> bool {
    let message = message.trim();
    let count = different_words(message);
    if count > SHORT {
        return false;
    }
    let folded = message.to_lowercase();
    let words: Vec<&str> = each_word(&folded).collect();
    let text = words.join(" ");
    let opens = |opener: &&str| {
        text.strip_prefix(*opener).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let closes = |closer: &&str| {
        text.strip_suffix(*closer).is_some_and(|rest| rest.ends_with(' ')) && count > 0
    };
    let points = || words.iter().any(|word| POINTERS.contains(word));
    let asks = message.ends_with('?');
    OPENERS.iter().any(opens)
        || CLOSERS.iter().any(closes)
        || (asks && (count <= TOO_SHORT || points()))
        || corrected_part(&folded.replace('’', "'")).is_some_and(names_in_few_words)
        || is_bare_name(message)
}

/// What is left of a message behind words with which it takes back what was said before; nothing
/// where it does not begin with such words.
fn corrected_part(folded: &str) -> Option<&str> {
    let mut rest = folded;
    let mut is_correction = false;
    loop {
        let refused = behind_longest(&REFUSALS, rest);
        let copula = behind_longest(&COPULAS, rest).filter(|_| is_correction);
        let meant = behind_longest(&CORRECTIONS, rest).or(copula);
        let Some(behind) = meant.or(refused) else {
            return is_correction.then_some(rest);
        };
        rest = behind.trim_start_matches(|c: char| !c.is_alphanumeric());
        let is_set_off = behind.trim_start().len() > rest.len();
        let goes_on =
            behind_longest(&REFUSALS, rest).or(behind_longest(&CORRECTIONS, rest)).is_some();
        if meant.is_none() && !is_set_off && !goes_on && !begins_with_one_of(&ARTICLES, rest) {
            return None;
        }
        is_correction = true;
    }
}

/// What stands behind the longest of some phrases, where the text begins with one.
fn behind_longest<'a>(phrases: &[&str], text: &'a str) -> Option<&'a str> {
    let ends = |rest: &&str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '\'');
    let behind = phrases.iter().filter_map(|phrase| text.strip_prefix(*phrase)).filter(ends);
    behind.min_by_key(|rest| rest.len())
}

fn begins_with_one_of(words: &[&str], text: &str) -> bool {
    each_word(text).next().is_some_and(|first| words.contains(&first))
}

/// Whether what is left of a correction only names something. What asks for something of its own
/// stands by itself: "no, cancel the order for Huber".
fn names_in_few_words(part: &str) -> bool {
    let is_led = begins_with_one_of(&ARTICLES, part) || begins_with_one_of(&PREPOSITIONS, part);
    let most = match naming_words(part).next() {
        _ if is_led => NAMED_BEHIND,
        Some(_) => NAMED_BARE,
        None => 1,
    };
    (1..=most).contains(&telling_words(part).count()) && is_name_alone(part)
}

/// Whether a message is one name and nothing else ("Lyon"), or a preposition with one ("for
/// lyon").
fn is_bare_name(message: &str) -> bool {
    let mut words = telling_words(message);
    let (Some(word), None) = (words.next(), words.next()) else { return false };
    let is_written_as_name = word.starts_with(|c: char| c.is_uppercase() || c.is_numeric());
    let is_rare = names_something(word);
    let is_led = begins_with_one_of(&PREPOSITIONS, &message.to_lowercase());
    let is_name =
        if is_led { is_rare || is_written_as_name } else { is_rare && is_written_as_name };
    is_name && each_word(message).count() <= 1 + usize::from(is_led) && is_name_alone(message)
}

fn is_name_alone(text: &str) -> bool {
    only_names(text) && !names_nothing(text)
}

/// The requests of a message, where there are several.
fn parts(message: &str) -> Vec<String> {
    if message.len() > LONGEST_IN_PARTS || message.contains("```") {
        return Vec::new();
    }
    let mut parts: Vec<String> = Vec::new();
    for piece in pieces(message) {
        match parts.last_mut() {
            // What asks for nothing by itself belongs to what stands before it.
            Some(last) if !is_request(piece) || !is_request(last) => {
                last.push(' ');
                last.push_str(piece);
            }
            _ => parts.push(piece.to_owned()),
        }
    }
    if parts.len() < 2 {
        return Vec::new();
    }
    parts.truncate(MOST_PARTS);
    parts
}

/// Whether a piece can ask for something by itself. "Let Anna know" has one word only that is not
/// in every sentence.
fn is_request(piece: &str) -> bool {
    let count = different_words(piece);
    count >= WORDS_OF_A_PART || (count > 0 && is_letting_know(piece))
}

fn is_letting_know(piece: &str) -> bool {
    let small = piece.to_lowercase();
    let mut words = each_word(&small).filter(|word| *word != "please");
    words.next() == Some("let") && words.any(|word| word == "know")
}

/// A message cut at the ends of its sentences, at the words that link two of them, and at commas
/// between two orders: those of a list of things are none.
fn pieces(message: &str) -> Vec<&str> {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | ';' | '\n');
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut cut = |from: usize, to: usize| {
        let piece = message[from..to].trim_matches(|c: char| c.is_whitespace() || c == ',');
        if !piece.is_empty() {
            pieces.push(piece);
        }
    };
    let mut at = 0;
    for word in message.split_inclusive(char::is_whitespace) {
        let end = at + word.len();
        let bare = word.trim();
        if LINKS.contains(&bare.to_lowercase().as_str()) && start < at {
            cut(start, at);
            start = end;
        } else if bare.ends_with(ends)
            || word.contains('\n')
            || (bare.ends_with(',') && are_orders(&message[start..end], &message[end..]))
        {
            cut(start, end);
            start = end;
        }
        at = end;
    }
    cut(start, message.len());
    pieces
}

/// The words of a text that name something, as they are typed: those with a digit, and those that
/// are not common. People write "france" as well as "France".
pub(crate) fn naming_words(text: &str) -> impl Iterator<Item = &str> {
    each_word(text).filter(|word| names_something(word))
}

fn names_something(word: &str) -> bool {
    word.contains(|c: char| c.is_numeric()) || !lexical::is_common(word)
}

/// The words of a text that not every sentence has, as they are typed.
fn telling_words(text: &str) -> impl Iterator<Item = &str> {
    each_word(text).filter(|word| !lexical::words(word).is_empty())
}

/// Whether what stands in front of a comma and what stands behind it are two orders, which no
/// other word parts.
fn are_orders(front: &str, behind: &str) -> bool {
    let is_linked = begins_with_one_of(&LINKS, &behind.to_lowercase());
    !is_linked && is_order(front) && is_order(behind)
}

fn different_words(text: &str) -> usize {
    lexical::words(text).into_iter().collect::<HashSet<_>>().len()
}

/// Words as they are typed, with their apostrophes.
fn each_word(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’'))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(message: &str, before: Option<&str>) -> Vec<String> {
        SearchMessage::new(message, before).texts().map(str::to_owned).collect()
    }

    #[test]
    fn several_requests_are_looked_at_one_by_one() {
        let message = "book the van for Friday and tell Piet that I'm late";
        assert_eq!(
            texts(message, None),
            [message, "book the van for Friday", "tell Piet that I'm late"]
        );
        let message = "Send the invoice to Marta. Archive her old contract!";
        assert_eq!(
            texts(message, None),
            [message, "Send the invoice to Marta.", "Archive her old contract!"]
        );
    }

    #[test]
    fn orders_are_parted_at_commas() {
        let message = "book the Vito for Friday, order wire 15, and mail Heller";
        assert_eq!(
            texts(message, None),
            [message, "book the Vito for Friday", "order wire 15", "mail Heller"]
        );
        let message = "cancel the van, delete the visit at Huber's and let Arbogast know";
        assert_eq!(
            texts(message, None),
            [message, "cancel the van", "delete the visit at Huber's", "let Arbogast know"]
        );
    }

    #[test]
    fn one_request_is_one() {
        for message in [
            "buy bread and butter",
            "buy eggs, milk and flour",
            "order wire, water and oil",
            "if it rains, book the van",
            "Hi Anna, book the van for Friday",
            "open the file and read it",
            "thanks! where is the depot list?",
            "and then?",
            "",
        ] {
            assert_eq!(texts(message, None), [message], "{message}");
        }
        let code = "fix this and format it\n```\nlet a = 1;\nlet b = 2;\n```";
        assert_eq!(texts(code, None), [code]);
    }

    #[test]
    fn what_was_said_before_counts_where_the_message_leans_on_it() {
        let before = Some("how many days of leave do we have in Germany?");
        for message in [
            "and for Spain?",
            "Spain?",
            "what about the office in Cork",
            "is it the same there?",
            "now one for Portugal",
            "Cork too",
            "in the new office i meant",
        ] {
            assert!(SearchMessage::new(message, before).leans_on_before(), "{message}");
        }
        for message in [
            "how do I hand a shift over to the night crew at the north station?",
            "What's the error handling?",
            "thanks, that was kind",
            "me too",
            "see you then",
            "zyzzyva",
        ] {
            assert!(!SearchMessage::new(message, before).leans_on_before(), "{message}");
        }
        assert!(!SearchMessage::new("and for Spain?", None).leans_on_before());
        assert!(!SearchMessage::new("and for Spain?", Some(" ")).leans_on_before());
    }

    #[test]
    fn a_correction_leans_on_what_it_corrects() {
        let before = Some("which crane firm do we call in Graz?");
        for message in [
            "no, in Lyon",
            "No, the trailer",
            "no the public one",
            "no wait, millrace",
            "no, make it 12",
            "sorry, Lyon",
            "I meant Lyon",
            "sorry, I meant the blue trailer",
            "for Lyon",
            "for lyon",
            "for Monday",
            "Lyon",
            "K17",
            "wait, it's Porto",
            "actually Porto",
            "actually, in Porto",
            "rather Lyon",
            "nein, in Lyon",
            "ich meinte Lyon",
            "Lyon, meinte ich",
            "nein, am Montag",
            "non, à Lyon",
            "plutôt Lyon",
            "no, en Lyon",
            "quería decir Lyon",
            "no, a Lione",
            "scusa, volevo dire Lione",
        ] {
            assert!(SearchMessage::new(message, before).leans_on_before(), "{message}");
        }
        for message in [
            "no, cancel the order for Huber and refund him",
            "no, cancel the order",
            "no, the trailer is broken",
            "actually, how do I book a crane in Porto?",
            "sorry, where is the depot list?",
            "sorry, wrong window",
            "sorry for the late reply",
            "wait for the report",
            "no idea",
            "no worries",
            "no, thanks",
            "no",
            "lol no",
            "actually great",
            "never mind",
            "perfect",
            "Thanks!",
            "Wow",
            "weather",
            "show contract-dunmore-roofing",
        ] {
            assert!(!SearchMessage::new(message, before).leans_on_before(), "{message}");
        }
    }

    #[test]
    fn texts_and_embeddings_meet() {
        let message = SearchMessage::new("and for Spain?", Some("leave in Germany"));
        let query = message.query(&[]);
        assert_eq!((query.whole.text, query.whole.embedding.is_none()), ("and for Spain?", true));
        assert_eq!(query.before.map(|before| before.text), Some("leave in Germany"));
        assert!(query.parts.is_empty());
    }
}
