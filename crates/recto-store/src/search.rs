//! Finds words in what was said.
//!
//! A scan over all messages, newest first, that holds one of them at a time.
//! Slower than an index of words, but right for every script and for parts of
//! words, and no second copy of every conversation is kept.

use std::collections::HashSet;
use std::ops::Range;

use crate::sql::{SqlConnection, SqlRow};
use recto_context::{Message, MessageBody, MessageId};
use serde::Serialize;

use crate::codec::Unpacker;
use crate::error::StoreResult;
use crate::ids::{Moment, SessionId};
use crate::names::SessionName;
use crate::retractions::{self, RetractionReason};
use crate::rows::{self, DbResult};
use crate::store::Store;
use crate::transcript;

/// How many characters a snippet shows on each side of what was found.
const AROUND: usize = 60;

/// So many messages are asked for with one query.
const SCANNED_AT_ONCE: i64 = 64;

/// A message that has every word of the query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessageHit {
    /// The session that it was said in.
    pub session: SessionId,
    /// The name of that session, if it has one.
    pub name: Option<SessionName>,
    /// The message's number within the session.
    pub message: MessageId,
    /// Who said the message.
    pub role: MessageRole,
    /// When it was said.
    pub at: Moment,
    /// Some of its text around the first word that was found, on one line.
    pub snippet: String,
    /// Where in the snippet that word is, in bytes.
    pub found: Range<usize>,
    /// Why it was taken back, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_back: Option<RetractionReason>,
}

/// Who said a message: a person, a model, a tool or Recto itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// A person who wrote to the agent.
    User,
    /// The model, with or without calls.
    Assistant,
    /// A tool, with the result of a call.
    Tool,
    /// Recto, about a turn that failed.
    Error,
    /// Recto, about a question whether a tool may run.
    Approval,
}

impl MessageRole {
    /// Who said a message.
    pub fn from_message(message: &Message) -> Self {
        match message.body {
            MessageBody::User(_) => MessageRole::User,
            MessageBody::Assistant { .. } => MessageRole::Assistant,
            MessageBody::Tool { .. } => MessageRole::Tool,
            MessageBody::Error(_) => MessageRole::Error,
            MessageBody::Approval(_) => MessageRole::Approval,
        }
    }

    /// The name that messages have it by.
    pub fn name(self) -> &'static str {
        match self {
            MessageRole::User => "user",
            MessageRole::Assistant => "assistant",
            MessageRole::Tool => "tool",
            MessageRole::Error => "error",
            MessageRole::Approval => "approval",
        }
    }
}

impl Store {
    /// Messages that have all words of `query`, in any case and also as parts
    /// of longer words; those stored last come first.
    pub async fn search(&self, query: &str, limit: usize) -> StoreResult<Vec<MessageHit>> {
        let words: Vec<String> = query.split_whitespace().map(fold).collect();
        let sieve = Sieve::new(&words)?;
        self.read(move |db| search(db, &words, sieve, limit, |_| true)).await
    }

    /// The same in these sessions alone.
    pub async fn search_within(
        &self,
        sessions: HashSet<SessionId>,
        query: &str,
        limit: usize,
    ) -> StoreResult<Vec<MessageHit>> {
        let words: Vec<String> = query.split_whitespace().map(fold).collect();
        let sieve = Sieve::new(&words)?;
        let is_meant = move |session| sessions.contains(&session);
        self.read(move |db| search(db, &words, sieve, limit, is_meant)).await
    }
}

fn search(
    db: &SqlConnection,
    words: &[String],
    mut sieve: Sieve,
    limit: usize,
    is_meant: impl Fn(SessionId) -> bool,
) -> DbResult<Vec<MessageHit>> {
    let mut hits = Vec::new();
    if words.is_empty() || limit == 0 {
        return Ok(hits);
    }
    let sql = "SELECT position, session, id, at, body FROM messages
               WHERE position < ?1 ORDER BY position DESC LIMIT ?2";
    let mut end = i64::MAX;
    loop {
        let positions = db.all(sql, [end, SCANNED_AT_ONCE], |row| {
            let session = SessionId(row.get("session")?);
            if hits.len() < limit && is_meant(session) {
                hits.extend(look_at(db, row, session, words, &mut sieve)?);
            }
            row.get::<_, i64>("position")
        })?;
        match positions.last() {
            Some(last) if hits.len() < limit => end = *last,
            _ => return Ok(hits),
        }
    }
}

/// The message of a row, if it has every word.
fn look_at(
    db: &SqlConnection,
    row: &SqlRow<'_>,
    session: SessionId,
    words: &[String],
    sieve: &mut Sieve,
) -> DbResult<Option<MessageHit>> {
    if !sieve.keeps(row.value("body")?.as_blob().unwrap_or_default()) {
        return Ok(None);
    }
    let message = transcript::read_message(row, &mut sieve.unpacker)?;
    let Some((snippet, found)) = find(&texts(&message), words) else { return Ok(None) };
    Ok(Some(MessageHit {
        session,
        name: session_name(db, session)?,
        message: message.id,
        role: MessageRole::from_message(&message),
        at: rows::moment(row, "at")?,
        snippet,
        found,
        taken_back: retractions::reason_of(db, session, message.id)?,
    }))
}

/// Passes over most messages without taking them apart.
struct Sieve {
    /// The words as JSON has them: escapes have no capitals, so that a folded word
    /// with its escapes stands in the folded JSON of every text that has the word.
    words: Vec<String>,
    unpacker: Unpacker,
    folded: String,
}

impl Sieve {
    /// For words that are folded.
    fn new(words: &[String]) -> StoreResult<Self> {
        let as_json = |word: &String| {
            let json = rows::to_json(word)?;
            Ok(json[1..json.len() - 1].to_owned())
        };
        let words = words.iter().map(as_json).collect::<StoreResult<_>>()?;
        Ok(Sieve { words, unpacker: Unpacker::default(), folded: String::new() })
    }

    /// Whether a message may have all words. What can't be unpacked is kept, to be
    /// reported.
    fn keeps(&mut self, packed: &[u8]) -> bool {
        let Ok(json) = self.unpacker.unpack(packed) else { return true };
        fold_into(&mut self.folded, json);
        self.words.iter().all(|word| self.folded.contains(word.as_str()))
    }
}

/// What a person could look for in a message.
fn texts(message: &Message) -> Vec<&str> {
    match &message.body {
        MessageBody::Error(text) | MessageBody::Approval(text) => vec![text.as_str()],
        _ => message.content().iter().filter_map(|part| Some(part.as_text()?.as_str())).collect(),
    }
}

fn session_name(db: &SqlConnection, session: SessionId) -> DbResult<Option<SessionName>> {
    let sql = "SELECT name FROM sessions WHERE id = ?1";
    let name: Option<Option<String>> = db.first(sql, [session.0], |row| row.get(0))?;
    Ok(name.flatten().and_then(|name| SessionName::try_from(name).ok()))
}

/// The snippet around the word that comes first, if all words are there.
fn find(texts: &[&str], words: &[String]) -> Option<(String, Range<usize>)> {
    let folded: Vec<FoldedText> = texts.iter().map(|text| FoldedText::new(text)).collect();
    let mut first: Option<(usize, Range<usize>)> = None;
    for word in words {
        let place =
            folded.iter().enumerate().find_map(|(at, text)| Some((at, text.find(word)?)))?;
        let comes_first =
            first.as_ref().is_none_or(|(at, found)| (place.0, place.1.start) < (*at, found.start));
        if comes_first {
            first = Some(place);
        }
    }
    first.map(|(at, found)| snippet(texts[at], found))
}

/// The text around `found`, and where that is in it.
fn snippet(text: &str, found: Range<usize>) -> (String, Range<usize>) {
    let before = &text[..found.start];
    let start = before.char_indices().rev().take(AROUND).last().map_or(found.start, |(at, _)| at);
    let behind = text[found.end..].char_indices().nth(AROUND);
    let end = behind.map_or(text.len(), |(at, _)| found.end + at);
    // One byte for one byte, so that places stay.
    let line = text[start..end].replace(|c: char| c.is_ascii_control(), " ");
    (line, found.start - start..found.end - start)
}

/// A text without the difference between capitals and small letters.
fn fold(text: &str) -> String {
    let mut folded = String::new();
    fold_into(&mut folded, text);
    folded
}

/// Replaces what is in `folded` by the folded text. Most of most texts is ASCII,
/// where that is a matter of bytes.
fn fold_into(folded: &mut String, text: &str) {
    folded.clear();
    folded.reserve(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        let start = folded.len();
        folded.push_str(&rest[..plain]);
        folded[start..].make_ascii_lowercase();
        rest = &rest[plain..];
        let other = rest.find(|c: char| c.is_ascii()).unwrap_or(rest.len());
        folded.extend(rest[..other].chars().flat_map(fold_char));
        rest = &rest[other..];
    }
}

/// The final form of sigma is the same letter; Unicode's small letters keep it.
fn fold_char(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().map(|small| if small == 'ς' { 'σ' } else { small })
}

/// A folded text that knows where its letters came from.
struct FoldedText {
    text: String,
    /// For each byte of the folded text the character of the original that it
    /// came from.
    origins: Vec<Range<usize>>,
}

impl FoldedText {
    fn new(original: &str) -> Self {
        let mut folded = FoldedText { text: String::new(), origins: Vec::new() };
        for (at, c) in original.char_indices() {
            folded.text.extend(fold_char(c));
            folded.origins.resize(folded.text.len(), at..at + c.len_utf8());
        }
        folded
    }

    /// Where a folded word first stands in the original.
    fn find(&self, word: &str) -> Option<Range<usize>> {
        let at = self.text.find(word)?;
        let last = (at + word.len()).checked_sub(1)?;
        Some(self.origins.get(at)?.start..self.origins.get(last)?.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, query: &str, expected: Option<&str>) {
        let words: Vec<String> = query.split_whitespace().map(fold).collect();
        let found = find(&[text], &words);
        assert_eq!(found.as_ref().map(|(line, found)| &line[found.clone()]), expected);
    }

    #[test]
    fn the_word_that_stands_first_is_shown() {
        check("Reset the ROUTER now", "router reset", Some("Reset"));
        check("Reset the ROUTER now", "router cable", None);
        check("a_b 100%", "%", Some("%"));
        check("a-b 100", "_", None);
        check("start", "art", Some("art"));
    }

    #[test]
    fn letters_are_the_same_in_every_case_and_script() {
        check("在北京的天气", "北京", Some("北京"));
        check("STRASSE Äpfel ΟΔΟΣ", "äpfel", Some("Äpfel"));
        check("STRASSE Äpfel ΟΔΟΣ", "οδος", Some("ΟΔΟΣ"));
        // This capital becomes two characters when it is made small.
        check("xİy", "Y", Some("y"));
        check("xİy", "i", Some("İ"));
    }

    #[test]
    fn a_snippet_is_one_line_of_what_stands_around() {
        let text = format!("{}\nthe\tneedle\n{}", "é".repeat(100), "日".repeat(100));
        let (line, found) = find(&[&text], &["needle".into()]).unwrap();
        assert_eq!(&line[found.clone()], "needle");
        assert_eq!(line[..found.start].chars().count(), AROUND);
        assert_eq!(line[found.end..].chars().count(), AROUND);
        assert!(!line.contains(['\n', '\t']));
    }

    #[test]
    fn folding_goes_on_behind_what_is_not_ascii() {
        assert_eq!(fold("ABC ÄÖ\u{212a} XYZ ΟΔΟΣ日Q"), "abc äök xyz οδοσ日q");
        let mut folded = "left over".to_owned();
        fold_into(&mut folded, "ß");
        assert_eq!(folded, "ß");
    }

    proptest! {
        #[test]
        fn no_message_that_has_the_words_falls_through_the_sieve(
            text in "[ -~äÄßİςΣ\u{212a}\u{0}-\u{1f}]{0,40}|(?s).{0,40}",
            query in "[ -~äÄßİςΣ\u{212a}\u{0}-\u{1f}]{1,2}",
        ) {
            let words: Vec<String> = query.split_whitespace().map(fold).collect();
            let message = Message::user(1, text.as_str());
            let packed = crate::codec::pack(&rows::to_json(&message).unwrap());
            if find(&[&text], &words).is_some() {
                prop_assert!(Sieve::new(&words).unwrap().keeps(&packed));
            }
        }

        #[test]
        fn whatever_is_found_is_what_was_looked_for(text in "\\PC{0,40}", query in "\\PC{1,3}") {
            let words: Vec<String> = query.split_whitespace().map(fold).collect();
            if let Some((line, found)) = find(&[&text], &words) {
                let shown = fold(&line[found]);
                prop_assert!(words.iter().any(|word| shown.contains(word.as_str())));
            }
        }
    }
}
