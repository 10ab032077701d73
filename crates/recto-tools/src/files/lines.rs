//! Takes some lines out of a file of any size: what is kept is limited, and the
//! rest is only counted. Reads nothing itself; it is fed piece by piece.

/// The lines that are wanted, and how many bytes of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineWindow {
    /// The first line, from 1.
    pub(crate) first: u64,
    /// How many at most.
    pub(crate) count: u64,
    /// How many bytes at most.
    pub(crate) room: usize,
}

impl LineWindow {
    fn contains(&self, line: u64) -> bool {
        line >= self.first && line - self.first < self.count
    }

    fn is_before(&self, line: u64) -> bool {
        line >= self.first.saturating_add(self.count)
    }
}

/// The lines taken so far.
#[derive(Debug)]
pub(crate) struct LineCollector {
    window: LineWindow,
    bytes: Vec<u8>,
    /// Where the current line begins in `bytes`.
    line_start: usize,
    /// The current line, from 1.
    line: u64,
    /// Bytes of the current line that have been seen.
    line_bytes: u64,
    /// Whole lines among those kept.
    whole: u64,
    end: CollectorEnd,
}

/// What ended the taking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CollectorEnd {
    /// Nothing has ended it yet.
    Open,
    /// The next line did not fit.
    BeforeLine,
    /// Not even the first line fitted.
    InsideLine,
}

/// The lines that were taken, and how many were seen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CollectedLines {
    /// The bytes of the lines, or of the beginning of one.
    pub(crate) bytes: Vec<u8>,
    /// How many lines these are.
    pub(crate) lines: u64,
    /// Whether only the beginning of the line was taken.
    pub(crate) extent: LineExtent,
    /// Lines that were seen, taken or not.
    pub(crate) seen: u64,
}

/// Whether lines were taken whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineExtent {
    Whole,
    Beginning,
}

impl LineCollector {
    pub(crate) fn new(window: LineWindow) -> Self {
        LineCollector {
            window,
            bytes: Vec::new(),
            line_start: 0,
            line: 1,
            line_bytes: 0,
            whole: 0,
            end: CollectorEnd::Open,
        }
    }

    /// Takes in the next bytes of the file.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.keep(piece);
            self.line_bytes += piece.len() as u64;
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    /// Whether nothing that follows could be taken.
    pub(crate) fn is_complete(&self) -> bool {
        self.end != CollectorEnd::Open || self.window.is_before(self.line)
    }

    /// Gives the lines that were taken, when no more come or no more are wanted.
    pub(crate) fn finish(mut self) -> CollectedLines {
        if self.line_bytes > 0 {
            self.end_line();
        }
        let (lines, extent) = match self.end {
            CollectorEnd::InsideLine => (1, LineExtent::Beginning),
            _ => (self.whole, LineExtent::Whole),
        };
        CollectedLines { bytes: self.bytes, lines, extent, seen: self.line - 1 }
    }

    /// Keeps a piece of the current line, if it is wanted and there is room.
    fn keep(&mut self, piece: &[u8]) {
        if self.end != CollectorEnd::Open || !self.window.contains(self.line) {
            return;
        }
        let room = self.window.room.saturating_sub(self.bytes.len());
        if piece.len() <= room {
            self.bytes.extend_from_slice(piece);
        } else if self.whole == 0 {
            self.bytes.extend_from_slice(&piece[..room]);
            self.end = CollectorEnd::InsideLine;
        } else {
            self.bytes.truncate(self.line_start);
            self.end = CollectorEnd::BeforeLine;
        }
    }

    fn end_line(&mut self) {
        if self.end == CollectorEnd::Open && self.window.contains(self.line) {
            self.whole += 1;
            self.line_start = self.bytes.len();
        }
        self.line += 1;
        self.line_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn take(text: &str, first: u64, count: u64, room: usize, chunk: usize) -> CollectedLines {
        let mut lines = LineCollector::new(LineWindow { first, count, room });
        text.as_bytes().chunks(chunk).for_each(|bytes| lines.feed(bytes));
        lines.finish()
    }

    fn taken(text: &str, first: u64, count: u64, room: usize) -> (String, u64, u64) {
        let taken = take(text, first, count, room, 3);
        (String::from_utf8(taken.bytes).unwrap(), taken.lines, taken.seen)
    }

    #[test]
    fn takes_what_is_wanted() {
        let text = "one\ntwo\nthree\nfour";
        assert_eq!(taken(text, 1, 9, 99), (text.into(), 4, 4));
        assert_eq!(taken(text, 2, 2, 99), ("two\nthree\n".into(), 2, 4));
        assert_eq!(taken(text, 4, 1, 99), ("four".into(), 1, 4));
        assert_eq!(taken(text, 5, 1, 99), (String::new(), 0, 4));
        assert_eq!(taken("", 1, 1, 99), (String::new(), 0, 0));
        assert_eq!(taken("\n\n", 1, u64::MAX, 99), ("\n\n".into(), 2, 2));
        assert_eq!(taken(text, u64::MAX, u64::MAX, 99), (String::new(), 0, 4));
    }

    #[test]
    fn keeps_to_its_room_in_whole_lines() {
        let text = "one\ntwo\nthree\nfour";
        assert_eq!(taken(text, 1, 9, 13), ("one\ntwo\n".into(), 2, 4));
        assert_eq!(taken(text, 1, 9, 14), ("one\ntwo\nthree\n".into(), 3, 4));
        // No later line slips in, even if it would fit.
        assert_eq!(taken("one\nlonger\nx\n", 1, 9, 6), ("one\n".into(), 1, 3));
    }

    #[test]
    fn the_beginning_of_a_line_is_better_than_nothing() {
        let taken = take("a very long line\nnext\n", 1, 9, 6, 4);
        assert_eq!(taken.bytes, b"a very");
        assert_eq!((taken.lines, taken.extent, taken.seen), (1, LineExtent::Beginning, 2));
    }

    #[test]
    fn says_when_nothing_more_can_come() {
        let mut lines = LineCollector::new(LineWindow { first: 1, count: 2, room: 99 });
        lines.feed(b"one\ntwo");
        assert!(!lines.is_complete());
        lines.feed(b"\n");
        assert!(lines.is_complete());
    }

    proptest! {
        #[test]
        fn is_the_same_in_any_pieces(
            text in "[ab\n]{0,60}",
            first in 1_u64..8,
            count in 1_u64..8,
            room in 0_usize..30,
            chunk in 1_usize..9,
        ) {
            prop_assert_eq!(
                take(&text, first, count, room, chunk),
                take(&text, first, count, room, 1_000)
            );
        }
    }
}
