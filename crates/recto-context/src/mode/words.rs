//! What the words of a message say: work for tools, or talk.
//!
//! A small local model calls tools reliably only when its prompt is short and points at them, and
//! talks well only when it is not. This module reads one message and says which of the two it asks
//! for, as far as spelling and grammar can tell:
//!
//! 1. [`find_path`]: a path, file name or command line is in the message. Work.
//! 2. [`find_talk`]: greeting, thanks, question about the world, story, opinion. Talk.
//! 3. [`find_imperative`]: someone is told to do something, or asked about the state of a thing
//!    that tools can look at. Work.
//!
//! They are separate because the caller asks its search for a matching tool between the first and
//! the second. [`read_message`] is all three in a row. Each gives the words that decided, for the record.
//!
//! How it reads: the message is cut into sentences (`lex`). From each, what only opens it is peeled
//! off ("ok,", "hello,", "could you please": `request`). What is left begins with a question word, a
//! verb of doing, a verb of talking, or none of these, and is judged by that (`question`,
//! `imperative`, `statement`). A noun counts only where it is pointed at ("the file", "my calendar",
//! "ticket 4411": `thing`): a message about files in general, or about a file clerk, is not about a
//! file. One sentence that asks for work outweighs any number that talk.
//!
//! Whoever cuts messages asks what a piece is by itself (`piece`).
//!
//! Only the beginning of a long message is read, so that none costs much.
//!
//! What it deliberately does not do: it runs no search and no model, knows nothing of the tools
//! that are there, of the conversation before, or of the world, and makes no guess: where the words
//! don't decide, the verdict is [`MessageVerdict::Unsure`] and a setting of the caller decides. It reads
//! English, and knows the commonest verbs and question words of German, French, Spanish, Italian,
//! Portuguese and Dutch; other languages are recognised by paths and question marks alone.
//!
//! A web address is no path. It is a thing that only a tool can look at, so it makes a request or
//! a question work, but "thanks for https://…" is still thanks. A command line that is merely asked
//! about ("what does `git stash` do?") is not one that someone wants run.

mod command;
mod grammar;
mod imperative;
mod lex;
mod lists;
mod piece;
mod question;
mod remember;
mod reply;
mod request;
mod sentence;
mod spelling;
mod statement;
mod thing;

use serde::{Deserialize, Serialize};

use lex::{TokenKind, WordToken};

pub use piece::{is_order, is_question, only_names};
pub(crate) use remember::{MemoryWish, find_memory_wish};
pub use reply::{is_bare_reply, is_courtesy, names_nothing};

/// What a message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageVerdict {
    /// The message asks for work that tools do.
    Tools,
    /// The message wants an answer in words.
    Talk,
    /// The words don't decide.
    Unsure,
}

/// What in the message decided: a code for branching, with [`MessageSign::describe`] for people.
/// Records keep the names of the variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageSign {
    /// A file is named: `notes.txt`.
    FileName,
    /// A path is named: `/etc/hosts`, `src/`.
    Path,
    /// A command stands there to be run: `git status`.
    CommandLine,
    /// It is talk, of this kind.
    Talk(TalkKind),
    /// A question about one's own things, or about the state of files and services.
    StateQuestion,
    /// Someone is told or asked to do something: "restart the server".
    Imperative,
    /// Something is to be kept in mind: "remember that I like jazz".
    Remember,
    /// The words did not decide.
    None,
}

/// The kinds of talk, as far as they can be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TalkKind {
    /// "hello", "good night": said when people meet or part.
    Greeting,
    /// "thanks for that", and apologies.
    Thanks,
    /// "ok", "no", "hm", or nothing but emoji.
    Acknowledgement,
    /// About how the conversation goes: "be more concise", "try again".
    Conversation,
    /// About the world, or for an opinion.
    Question,
    /// "explain recursion", "list three reasons".
    Explanation,
    /// Story, poem, joke, roleplay, ideas.
    Creative,
    /// Something is told: "my dog died yesterday".
    Statement,
}

/// What one message, or one sentence of it, was read as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageReading {
    /// What the message asks for.
    pub verdict: MessageVerdict,
    /// What in the message decided that.
    pub sign: MessageSign,
    /// The words that decided, as they were typed.
    pub matched: Vec<String>,
}

/// All three steps in their order, for a caller that has no search to ask in between.
pub fn read_message(message: &str) -> MessageReading {
    find_path(message)
        .or_else(|| find_talk(message))
        .or_else(|| find_imperative(message))
        .unwrap_or_else(MessageReading::unsure)
}

/// The first path, file name or command line in the message.
pub fn find_path(message: &str) -> Option<MessageReading> {
    let message = beginning(message);
    let sentences = lex::sentences(message);
    let named = sentences.iter().flat_map(|sentence| &sentence.tokens).find_map(|token| {
        let sign = match token.kind {
            TokenKind::FileName => MessageSign::FileName,
            TokenKind::Path => MessageSign::Path,
            _ => return None,
        };
        Some(MessageReading::work(sign, &[token]))
    });
    named
        .or_else(|| command::prompt_line(message))
        .or_else(|| sentences.iter().find_map(command::command_line))
}

/// Talk, provided that no sentence of the message asks for work.
pub fn find_talk(message: &str) -> Option<MessageReading> {
    let message = beginning(message);
    let readings = sentence::read_sentences(message);
    if readings.iter().any(|reading| reading.verdict == MessageVerdict::Tools) {
        return None;
    }
    let substantial = |reading: &&MessageReading| !is_opener(reading.sign);
    let talk = || readings.iter().filter(|reading| reading.verdict == MessageVerdict::Talk);
    // "Hi! Tell me a joke." is told apart by the joke, not by the greeting.
    if let Some(reading) = talk().find(substantial).or_else(|| talk().next()) {
        let leaves_a_rest = readings.iter().any(|other| other.verdict == MessageVerdict::Unsure);
        return (!is_opener(reading.sign) || !leaves_a_rest).then(|| reading.clone());
    }
    // Nothing but emoji or punctuation: a nod, or a raised eyebrow.
    let wordless = readings.is_empty() && !message.trim().is_empty();
    wordless.then(|| MessageReading::talk(TalkKind::Acknowledgement, &[]))
}

/// The first sentence that tells someone to do something, or asks how a thing stands.
pub fn find_imperative(message: &str) -> Option<MessageReading> {
    let readings = sentence::read_sentences(beginning(message));
    readings.into_iter().find(|reading| reading.verdict == MessageVerdict::Tools)
}

/// How much of a message is read, in bytes.
///
/// Who asks for something says so at the start. What stands further behind is pasted: a log, a
/// letter, a chapter. It is no request, whatever verbs and paths are in it, and reading it would
/// cost time with every message.
const BEGINNING: usize = 8 * 1024;

fn beginning(message: &str) -> &str {
    if message.len() <= BEGINNING {
        return message;
    }
    let start = &message[..message.floor_char_boundary(BEGINNING)];
    // A fence that is cut off before it closes would no longer mark the code in it as code.
    let fences = start.match_indices("```").map(|(at, _)| at).enumerate();
    if let Some((_, open)) = fences.last().filter(|(number, _)| number % 2 == 0) {
        return &start[..open];
    }
    // Half a word can be spelled like something else: `notes.c` from `notes.com`.
    start.rfind(char::is_whitespace).map_or(start, |end| &start[..end])
}

fn is_opener(sign: MessageSign) -> bool {
    use TalkKind::{Acknowledgement, Greeting, Thanks};
    matches!(sign, MessageSign::Talk(Acknowledgement | Greeting | Thanks))
}

impl MessageSign {
    /// A phrase for the record and the person, without a full stop.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::FileName => "a file name is in the message",
            Self::Path => "a path is in the message",
            Self::CommandLine => "a command line is in the message",
            Self::Talk(TalkKind::Greeting) => "the message is a greeting",
            Self::Talk(TalkKind::Thanks) => "the message is thanks",
            Self::Talk(TalkKind::Acknowledgement) => "the message is an acknowledgement",
            Self::Talk(TalkKind::Conversation) => "the message is about the conversation",
            Self::Talk(TalkKind::Question) => "the message asks about the world or for an opinion",
            Self::Talk(TalkKind::Explanation) => "the message wants something explained",
            Self::Talk(TalkKind::Creative) => "the message wants a text or ideas made up",
            Self::Talk(TalkKind::Statement) => "the message tells something",
            Self::StateQuestion => "the message asks how things stand that tools can look at",
            Self::Imperative => "the message tells to do something",
            Self::Remember => "the message asks to remember something",
            Self::None => "the words of the message don't decide",
        }
    }
}

impl MessageReading {
    fn work(sign: MessageSign, tokens: &[&WordToken]) -> Self {
        Self { verdict: MessageVerdict::Tools, sign, matched: typed(tokens) }
    }

    fn talk(kind: TalkKind, tokens: &[&WordToken]) -> Self {
        let matched = typed(tokens);
        Self { verdict: MessageVerdict::Talk, sign: MessageSign::Talk(kind), matched }
    }

    fn unsure() -> Self {
        Self { verdict: MessageVerdict::Unsure, sign: MessageSign::None, matched: Vec::new() }
    }
}

fn typed(tokens: &[&WordToken]) -> Vec<String> {
    tokens.iter().map(|token| token.typed.to_owned()).collect()
}

#[cfg(test)]
mod tests;
