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
const CLOSERS: [&str; 8] =
    ["too", "instead", "i mean", "i meant", "after all", "auch", "también", "aussi"];

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
    let asks = message.trim_end().ends_with('?');
    OPENERS.iter().any(opens)
        || CLOSERS.iter().any(closes)
        || (asks && (count <= TOO_SHORT || points()))
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
            Some(last)
                if different_words(piece) < WORDS_OF_A_PART
                    || different_words(last) < WORDS_OF_A_PART =>
            {
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

/// A message cut at the ends of its sentences and at the words that link two of them.
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
        } else if bare.ends_with(ends) || word.contains('\n') {
            cut(start, end);
            start = end;
        }
        at = end;
    }
    cut(start, message.len());
    pieces
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
    fn one_request_is_one() {
        for message in ["buy bread and butter", "thanks! where is the depot list?", "and then?", ""]
        {
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
    fn texts_and_embeddings_meet() {
        let message = SearchMessage::new("and for Spain?", Some("leave in Germany"));
        let query = message.query(&[]);
        assert_eq!((query.whole.text, query.whole.embedding.is_none()), ("and for Spain?", true));
        assert_eq!(query.before.map(|before| before.text), Some("leave in Germany"));
        assert!(query.parts.is_empty());
    }
}
