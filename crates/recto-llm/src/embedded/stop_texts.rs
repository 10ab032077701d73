//! Ends a reply where one of its client's texts stands, which is then no part of it.
//!
//! A text may come in several pieces, so what could be the beginning of one is held back until
//! the next piece says whether it is.

use std::collections::VecDeque;

/// A piece of text, and exactly the tokens that it was made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TokenizedText {
    pub(super) text: String,
    pub(super) tokens: Vec<i32>,
}

/// Looks for the texts at which a reply ends.
#[derive(Debug, Default)]
pub(super) struct StopWatch {
    stops: Vec<String>,
    /// What is held back.
    held: VecDeque<TokenizedText>,
}

/// What may be sent, and whether more may follow.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StopVerdict {
    /// No text was found so far.
    GoOn(Vec<TokenizedText>),
    /// One was found; this is the last that stands before it.
    Stopped(Vec<TokenizedText>),
}

impl StopWatch {
    /// Looks for these texts. An empty one would end every reply at once, and is none.
    pub(super) fn new(stops: &[String]) -> Self {
        let stops = stops.iter().filter(|stop| !stop.is_empty()).cloned().collect();
        StopWatch { stops, held: VecDeque::new() }
    }

    /// Takes the next piece.
    pub(super) fn push(&mut self, piece: TokenizedText) -> StopVerdict {
        self.held.push_back(piece);
        if self.stops.is_empty() {
            return StopVerdict::GoOn(self.flush());
        }
        let text: String = self.held.iter().map(|piece| piece.text.as_str()).collect();
        match self.stops.iter().filter_map(|stop| text.find(stop)).min() {
            Some(at) => StopVerdict::Stopped(self.release(at, CutPiece::Sent)),
            None => {
                let free = text.len() - self.longest_beginning(&text);
                StopVerdict::GoOn(self.release(free, CutPiece::Held))
            }
        }
    }

    /// What is still held back, when no more pieces come.
    pub(super) fn flush(&mut self) -> Vec<TokenizedText> {
        self.held.drain(..).collect()
    }

    /// How long the longest end of a text is that one of the texts begins with.
    fn longest_beginning(&self, text: &str) -> usize {
        let begins = |at: &usize| {
            let end = &text[*at..];
            !end.is_empty() && self.stops.iter().any(|stop| stop.starts_with(end))
        };
        let mut places = text.char_indices().map(|(at, _)| at);
        places.find(begins).map_or(0, |at| text.len() - at)
    }

    /// The held pieces up to a place in their text. A piece that the place is in the middle of
    /// has no tokens that say its first part alone.
    fn release(&mut self, mut length: usize, cut: CutPiece) -> Vec<TokenizedText> {
        let mut released = Vec::new();
        while self.held.front().is_some_and(|piece| piece.text.len() <= length) {
            let Some(piece) = self.held.pop_front() else { break };
            length -= piece.text.len();
            released.push(piece);
        }
        if let (CutPiece::Sent, Some(piece), 1..) = (cut, self.held.front(), length) {
            let text = piece.text[..length].to_owned();
            released.push(TokenizedText { text, tokens: Vec::new() });
        }
        released
    }
}

/// What becomes of the first part of a piece that is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CutPiece {
    Held,
    Sent,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is sent of a reply in these pieces, and whether it was ended.
    fn play(stops: &[&str], pieces: &[&str]) -> (String, bool) {
        let stops: Vec<String> = stops.iter().map(|stop| (*stop).to_owned()).collect();
        let mut watch = StopWatch::new(&stops);
        let mut sent = String::new();
        for (token, text) in (0..).zip(pieces) {
            let piece = TokenizedText { text: (*text).to_owned(), tokens: vec![token] };
            let (ready, is_over) = match watch.push(piece) {
                StopVerdict::GoOn(ready) => (ready, false),
                StopVerdict::Stopped(ready) => (ready, true),
            };
            ready.iter().for_each(|piece| sent.push_str(&piece.text));
            if is_over {
                return (sent, true);
            }
        }
        watch.flush().iter().for_each(|piece| sent.push_str(&piece.text));
        (sent, false)
    }

    #[test]
    fn a_reply_ends_before_the_first_text_however_it_is_cut() {
        let reply = "one two END three";
        for at in (1..reply.len()).flat_map(|first| (first..reply.len()).map(move |b| (first, b))) {
            let pieces = [&reply[..at.0], &reply[at.0..at.1], &reply[at.1..]];
            assert_eq!(play(&["END", "three"], &pieces), ("one two ".to_owned(), true), "{at:?}");
            assert_eq!(play(&["NONE", "ends"], &pieces), (reply.to_owned(), false), "{at:?}");
        }
    }

    #[test]
    fn the_earliest_of_several_counts_and_beginnings_are_given_back() {
        assert_eq!(play(&["b", "ab"], &["xa", "b"]), ("x".to_owned(), true));
        assert_eq!(play(&["aab"], &["aa", "aab", "c"]), ("aa".to_owned(), true));
        assert_eq!(play(&["###"], &["a #", "#", " b #"]), ("a ## b #".to_owned(), false));
        assert_eq!(play(&["", "ü!"], &["für ", "ü"]), ("für ü".to_owned(), false));
        assert_eq!(play(&["\n"], &["\nall"]), (String::new(), true));
    }

    #[test]
    fn whole_pieces_keep_their_tokens_and_half_ones_have_none() {
        let mut watch = StopWatch::new(&["stop".to_owned()]);
        let piece =
            |text: &str, token| TokenizedText { text: text.to_owned(), tokens: vec![token] };
        assert_eq!(watch.push(piece("a ", 1)), StopVerdict::GoOn(vec![piece("a ", 1)]));
        assert_eq!(watch.push(piece("b st", 2)), StopVerdict::GoOn(vec![]));
        let half = TokenizedText { text: "b ".to_owned(), tokens: Vec::new() };
        assert_eq!(watch.push(piece("op c", 3)), StopVerdict::Stopped(vec![half]));
    }
}
