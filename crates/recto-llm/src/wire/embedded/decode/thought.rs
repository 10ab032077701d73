//! What a model generates, cut into what it thinks and what it says.
//!
//! Models think at the beginning of a reply, if at all, between two tags of which the template
//! may have written the first. Later in a reply the same tags are only talked about. So what is
//! said is always the rest of what was generated, from some point on.

use std::ops::Range;

use super::super::THINK;

/// Stands behind a thought.
const THOUGHT_END: &str = "</think>";

/// How a reply begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyBeginning {
    /// With a thought or with text: its first characters tell.
    Unknown,
    /// In the middle of a thought.
    Thought,
    /// With text, whatever it looks like.
    Text,
}

/// What was generated so far.
#[derive(Debug)]
pub(super) struct GeneratedText {
    all: String,
    place: ThoughtState,
    /// What is thought, without the blanks around it.
    thought: Range<usize>,
}

/// What the next characters are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ThoughtState {
    /// Perhaps the tag before a thought.
    Opening,
    /// Part of a thought. What was handed on of it ends with its range; what stands before `from` is
    /// no end of it.
    Thinking { from: usize },
    /// Blank lines behind a thought, which began at `from`.
    Blank { from: usize },
    /// Text, which began at `from`.
    Saying { from: usize },
}

impl Default for GeneratedText {
    fn default() -> Self {
        GeneratedText::new(ReplyBeginning::Unknown)
    }
}

impl GeneratedText {
    pub(super) fn new(beginning: ReplyBeginning) -> Self {
        let place = match beginning {
            ReplyBeginning::Unknown => ThoughtState::Opening,
            ReplyBeginning::Thought => ThoughtState::Thinking { from: 0 },
            ReplyBeginning::Text => ThoughtState::Saying { from: 0 },
        };
        GeneratedText { all: String::new(), place, thought: 0..0 }
    }

    /// Takes the next piece, and gives what it adds to the thought.
    pub(super) fn push(&mut self, piece: &str) -> String {
        self.all.push_str(piece);
        self.advance(MoreComes::Perhaps)
    }

    /// Tells that no more comes, and gives what was held back of the thought.
    pub(super) fn close(&mut self) -> String {
        self.advance(MoreComes::No)
    }

    /// How many bytes there are.
    pub(super) fn length(&self) -> usize {
        self.all.len()
    }

    pub(super) fn thought(&self) -> &str {
        &self.all[self.thought.clone()]
    }

    /// What is said so far.
    pub(super) fn text(&self) -> &str {
        &self.all[self.begin()..]
    }

    /// Where the text begins.
    pub(super) fn begin(&self) -> usize {
        match self.place {
            ThoughtState::Saying { from } => from,
            _ => self.all.len(),
        }
    }

    fn advance(&mut self, more: MoreComes) -> String {
        let sent = self.thought.end;
        loop {
            let place = self.next_place(more);
            if place == self.place {
                break;
            }
            self.place = place;
        }
        // A thought that began with this piece has handed on nothing before it begins.
        self.all[sent.max(self.thought.start)..self.thought.end].to_owned()
    }

    fn next_place(&mut self, more: MoreComes) -> ThoughtState {
        match self.place {
            ThoughtState::Opening => self.open(more),
            ThoughtState::Thinking { from } => self.think(from, more),
            ThoughtState::Blank { from } => self.pass_blank_lines(from, more),
            saying @ ThoughtState::Saying { .. } => saying,
        }
    }

    fn open(&mut self, more: MoreComes) -> ThoughtState {
        let begun = self.all.trim_start();
        if let Some(thought) = begun.strip_prefix(THINK) {
            let from = self.all.len() - thought.len();
            self.thought = from..from;
            return ThoughtState::Thinking { from };
        }
        match THINK.starts_with(begun) && more == MoreComes::Perhaps {
            true => ThoughtState::Opening,
            false => ThoughtState::Saying { from: 0 },
        }
    }

    fn think(&mut self, from: usize, more: MoreComes) -> ThoughtState {
        let rest = &self.all[from..];
        let end = rest.find(THOUGHT_END);
        // The end may be in the next piece, but for its beginning.
        let partly = || (1..THOUGHT_END.len()).rev().find(|n| rest.ends_with(&THOUGHT_END[..*n]));
        let held = if more == MoreComes::No { 0 } else { partly().unwrap_or(0) };
        let seen = from + end.unwrap_or(rest.len() - held);
        self.think_to(seen);
        match end {
            Some(_) => ThoughtState::Blank { from: seen + THOUGHT_END.len() },
            None => ThoughtState::Thinking { from: seen },
        }
    }

    /// Extends the thought to `end`, without the blanks around it.
    fn think_to(&mut self, end: usize) {
        if self.thought.is_empty() {
            let begun = &self.all[self.thought.start..end];
            let start = end - begun.trim_start().len();
            self.thought = start..start;
        }
        let thought = &self.all[self.thought.start..end];
        self.thought.end = self.thought.start + thought.trim_end().len();
    }

    fn pass_blank_lines(&mut self, from: usize, more: MoreComes) -> ThoughtState {
        let rest = &self.all[from..];
        let blanks = &rest[..rest.len() - rest.trim_start().len()];
        match (blanks.len() == rest.len(), more) {
            (true, MoreComes::Perhaps) => ThoughtState::Blank { from },
            (true, MoreComes::No) => ThoughtState::Saying { from: self.all.len() },
            (false, _) => {
                ThoughtState::Saying { from: from + blanks.rfind('\n').map_or(0, |line| line + 1) }
            }
        }
    }
}

/// Whether anything follows what was generated.
#[derive(Debug, Clone, Copy, PartialEq)]
enum MoreComes {
    Perhaps,
    No,
}
