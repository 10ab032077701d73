//! A message as it is searched for: as a whole, in its parts where it asks for several
//! things, and with what was said before where it can't stand by itself.
//!
//! "Book the van and tell Piet that I'm late" is two requests, and what each needs would
//! be far from the mean of both. "And for Spain?" names nothing that it is about; the
//! message before does. Both are told by the form of the sentence: nothing here knows
//! what there is to find.
//!
//! English, with the commonest words of German, Spanish, French and Italian.

use std::collections::HashSet;
use std::sync::Arc;

use recto_context::RespelledWord;
use recto_context::mode::words::{is_order, is_question, names_nothing, only_names};

use crate::encoder::Embedding;
use crate::index::SearchQuery;
use crate::lexical;
use crate::spelling::RespelledText;
use crate::variants::{self, NameWords};

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

/// Words that ask kindly, and name nothing.
const PLEASE: [&str; 4] = ["please", "pls", "plz", "bitte"];

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
    /// What was said before, if it counts.
    said: Option<SaidBefore>,
    /// The misspelt words that were put right.
    put_right: Arc<[RespelledWord]>,
}

/// What the same person said before a message that can't stand by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaidBefore {
    /// What it says.
    pub text: String,
    /// The last fragment since then that names something.
    pub since: Option<String>,
    /// Where it stands among what that person said before: 1 is the last message.
    pub place: u32,
}

impl SaidBefore {
    /// What a message leans on, of what the same person said before it, the last first: the last
    /// message that stood by itself. Thanks and nods on the way say nothing.
    pub fn find(message: &str, said: impl IntoIterator<Item = String>) -> Option<SaidBefore> {
        if !leans_back(message) {
            return None;
        }
        let mut named: Option<SaidBefore> = None;
        for (text, place) in said.into_iter().zip(1..) {
            if stands_by_itself(&text) {
                return Some(SaidBefore { text, since: named.map(|named| named.text), place });
            }
            if named.is_none() && names_any(&text) {
                named = Some(SaidBefore { text, since: None, place });
            }
        }
        // What it went on from is not known: then what was named last has to do.
        named
    }

    /// What of it a message leans on that names nothing itself, or something else: "is it the same
    /// there?" is about the place that was named since.
    fn for_message(&self, message: &str) -> String {
        match self.since.as_deref().filter(|_| !names_any(message)) {
            Some(since) => format!("{} {since}", self.text),
            None => self.text.clone(),
        }
    }
}

fn names_any(text: &str) -> bool {
    naming_words(text).next().is_some()
}

/// Whether a message says by itself what it is about. What goes on from another doesn't, nor do
/// thanks and nods.
fn stands_by_itself(message: &str) -> bool {
    !leans_back(message) && !names_nothing(message)
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
        let before = before.map(|text| SaidBefore { text: text.to_owned(), since: None, place: 1 });
        SearchMessage::with_before(message, before.as_ref())
    }

    /// Reads a message, with what it leans on of what the same person said.
    pub fn with_before(message: &str, before: Option<&SaidBefore>) -> SearchMessage {
        let said = before.filter(|before| !before.text.trim().is_empty() && leans_back(message));
        let before = said.map(|said| said.for_message(message));
        let texts = [message.to_owned()].into_iter().chain(before).chain(parts(message)).collect();
        SearchMessage { texts, said: said.cloned(), put_right: Arc::default() }
    }

    /// The same message with each of its texts read in another way; nothing if none is.
    pub(crate) fn respell(
        &self,
        read: impl Fn(&str) -> Option<RespelledText>,
    ) -> Option<SearchMessage> {
        let mut put_right: Vec<RespelledWord> = Vec::new();
        let respell = |text: &String| {
            let Some(respelled) = read(text) else { return text.clone() };
            let new = respelled.words.into_iter().filter(|word| !put_right.contains(word));
            let new: Vec<RespelledWord> = new.collect();
            put_right.extend(new);
            respelled.text
        };
        let texts = self.texts.iter().map(respell).collect();
        let is_respelled = !put_right.is_empty();
        let (said, put_right) = (self.said.clone(), put_right.into());
        is_respelled.then_some(SearchMessage { texts, said, put_right })
    }

    /// The same message where what was said before is read with names of items in place of those
    /// that they replace: those that were named since, and its own.
    pub(crate) fn replace_names(&self, items: &[NameWords]) -> Option<SearchMessage> {
        let said = self.said.as_ref()?;
        let since = said.since.as_deref();
        let since = since.and_then(|since| variants::replace_names(since, &said.text, items));
        let before = since.as_deref().or(self.texts.get(1).map(String::as_str))?;
        let read = variants::replace_names(self.whole(), before, items).or(since)?;
        let mut message = self.clone();
        message.texts[1] = read;
        Some(message)
    }

    /// All that is said in it and was said before.
    pub(crate) fn said(&self) -> impl Iterator<Item = &str> {
        let since = self.said.as_ref().and_then(|said| said.since.as_deref());
        self.texts().chain(since)
    }

    /// The message as a whole.
    pub fn whole(&self) -> &str {
        self.texts.first().map_or("", String::as_str)
    }

    /// Whether what was said before counts.
    pub fn leans_on_before(&self) -> bool {
        self.said.is_some()
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
        let before = self.said.as_ref().and_then(|said| Some((texts.next()?, said.place)));
        let (before, before_place) = before.unzip();
        let (parts, put_right) = (texts.collect(), self.put_right.clone());
        SearchQuery { whole, before, before_place, parts, put_right }
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
    let asks = message.ends_with('?');
    OPENERS.iter().any(opens)
        || CLOSERS.iter().any(closes)
        || (asks && (count <= TOO_SHORT || points_back(&folded)))
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
    let is_kind = |word: &&str| PLEASE.contains(&word.to_lowercase().as_str());
    let mut words = telling_words(message).filter(|word| !is_kind(word));
    let (Some(word), None) = (words.next(), words.next()) else { return false };
    let is_written_as_name = word.starts_with(|c: char| c.is_uppercase() || c.is_numeric());
    let is_rare = names_something(word);
    let is_led = begins_with_one_of(&PREPOSITIONS, &message.to_lowercase());
    let is_name =
        if is_led { is_rare || is_written_as_name } else { is_rare && is_written_as_name };
    let count = each_word(message).filter(|word| !is_kind(word)).count();
    is_name && count <= 1 + usize::from(is_led) && is_name_alone(message)
}

fn is_name_alone(text: &str) -> bool {
    only_names(text) && !names_nothing(text)
}

/// The requests of a message, where there are several.
fn parts(message: &str) -> Vec<String> {
    if message.len() > LONGEST_IN_PARTS || message.contains("```") {
        return Vec::new();
    }
    let pieces = pieces(message);
    // Among other questions, one of a single word is no more than it seems: beside an order it may
    // as well ask about that.
    let only_asks = pieces.iter().all(|piece| is_whole_question(piece));
    let is_request = |piece: &str| only_asks || is_request(piece);
    let mut parts: Vec<String> = Vec::new();
    for piece in pieces {
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

/// Whether a piece is a question that says what it is about: "who delivers tyres".
fn is_whole_question(piece: &str) -> bool {
    different_words(piece) > 0 && is_question(piece) && !points_back(piece)
}

fn points_back(text: &str) -> bool {
    each_word(&text.to_lowercase()).any(|word| POINTERS.contains(&word))
}

fn is_letting_know(piece: &str) -> bool {
    let small = piece.to_lowercase();
    let mut words = each_word(&small).filter(|word| *word != "please");
    words.next() == Some("let") && words.any(|word| word == "know")
}

/// A message cut at the ends of its sentences, at the words that link two of them, and at commas
/// between two orders or two questions: those of a list of things are neither.
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
            || (bare.ends_with(',') && are_requests(&message[start..end], &message[end..]))
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

/// Whether what stands in front of a comma and what stands behind it are two orders or two
/// questions, which no other word parts.
fn are_requests(front: &str, behind: &str) -> bool {
    let is_linked = begins_with_one_of(&LINKS, &behind.to_lowercase());
    let are_both = |is_one: fn(&str) -> bool| is_one(front) && is_one(behind);
    !is_linked && (are_both(is_order) || are_both(is_question))
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
    fn each_of_several_questions_is_a_part() {
        let message = "What is our deposit? Who delivers tyres? When do we answer customers?";
        let parts = ["What is our deposit?", "Who delivers tyres?", "When do we answer customers?"];
        assert_eq!(texts(message, None)[1..], parts);
        let message = "What is our deposit, who delivers tyres and when do we answer customers?";
        let parts = ["What is our deposit", "who delivers tyres", "when do we answer customers?"];
        assert_eq!(texts(message, None)[1..], parts);
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
            "I need a van. What's the procedure?",
            "what is this, where is the depot list?",
            "is it open? where is the depot list?",
            "when it rains, what do we tell customers?",
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
            "Cork please",
            "for Cork, please",
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

    /// What the last of these leans on, and where that stands.
    fn leans_on(said: &[&str]) -> Option<(String, u32)> {
        let (message, earlier) = said.split_last().unwrap();
        let earlier = earlier.iter().rev().map(|text| (*text).to_owned());
        let before = SaidBefore::find(message, earlier)?;
        Some((before.for_message(message), before.place))
    }

    /// Promise: `fragments-are-understood`
    #[test]
    fn what_a_message_leans_on_stood_by_itself() {
        let question = "What VAT do we charge in Germany?";
        for (said, place) in [
            (&[question, "and for Spain?"][..], 1),
            (&[question, "Spain?", "France?", "Portugal?"], 3),
            (&[question, "thanks!", "and for Spain?"], 2),
            (&[question, "thanks a lot!", "ok", "no, Portugal"], 3),
            (&["Who delivers the tyres to us?", question, "Spain please"], 1),
        ] {
            assert_eq!(leans_on(said), Some((question.to_owned(), place)), "{said:?}");
        }
        // What names nothing itself is about what was named last.
        let said = [question, "and for Spain?", "thanks!", "is it the same there?"];
        assert_eq!(leans_on(&said), Some((format!("{question} and for Spain?"), 3)));
        // Where the beginning is not known, what was named last has to do.
        let said = ["Spain?", "ok", "and Portugal?"];
        assert_eq!(leans_on(&said), Some(("Spain?".to_owned(), 2)));
        assert_eq!(leans_on(&["thanks!", "and Portugal?"]), None);
        assert_eq!(leans_on(&[question, "Who delivers the tyres to us?"]), None);
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
