//! Keeps the beginning and the end of what a program writes.

use std::collections::VecDeque;

use crate::shorten::{NOTE_ROOM, cut_note};

/// The beginning and the end of a program's output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CapturedOutput {
    /// The first bytes; all of them, if nothing was left out.
    pub(crate) head: Vec<u8>,
    /// The last bytes, where something was left out.
    pub(crate) tail: Vec<u8>,
    /// How many bytes between the two are missing.
    pub(crate) left_out: u64,
}

impl CapturedOutput {
    /// The output as text. Bytes that are not UTF-8 are replaced; where something was
    /// left out, a note says how much.
    pub(crate) fn text(&self) -> String {
        let head = String::from_utf8_lossy(&self.head);
        match self.left_out {
            0 => head.into_owned(),
            bytes => {
                format!("{head}{}{}", cut_note(bytes), String::from_utf8_lossy(&self.tail))
            }
        }
    }
}

/// Collects output of any length within a limit.
#[derive(Debug)]
pub(super) struct OutputCapture {
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl OutputCapture {
    /// Keeps up to this many bytes, the note included.
    pub(super) fn new(limit: usize) -> Self {
        OutputCapture { limit, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (for_head, bytes) = bytes.split_at(bytes.len().min(self.head_room() - self.head.len()));
        self.head.extend_from_slice(for_head);
        let room = self.limit - self.head_room();
        let bytes = &bytes[bytes.len().saturating_sub(room)..];
        let over = (self.tail.len() + bytes.len()).saturating_sub(room);
        self.tail.drain(..over);
        self.tail.extend(bytes);
    }

    pub(super) fn finish(self) -> CapturedOutput {
        let (limit, total) = (self.limit, self.total);
        let (mut head, mut tail) = (self.head, Vec::from(self.tail));
        if total <= limit as u64 {
            head.append(&mut tail);
            return CapturedOutput { head, tail, left_out: 0 };
        }
        let kept = limit.saturating_sub(NOTE_ROOM);
        head.truncate(kept.div_ceil(2));
        head.truncate(whole_characters(&head));
        tail.drain(..tail.len() - kept / 2);
        let torn = tail.iter().take(3).take_while(|byte| is_inside(**byte)).count();
        tail.drain(..torn);
        let left_out = total - (head.len() + tail.len()) as u64;
        CapturedOutput { head, tail, left_out }
    }

    fn head_room(&self) -> usize {
        self.limit.div_ceil(2)
    }
}

/// Whether this byte goes on with a character of UTF-8.
fn is_inside(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// How much there is without a character that was cut off at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let inside = bytes.iter().rev().take(3).take_while(|byte| is_inside(**byte)).count();
    let Some(start) = bytes.len().checked_sub(inside + 1) else { return bytes.len() };
    let length = match bytes[start] {
        0b1100_0000..=0b1101_1111 => 2,
        0b1110_0000..=0b1110_1111 => 3,
        0b1111_0000..=0b1111_0111 => 4,
        _ => return bytes.len(),
    };
    if inside + 1 < length { start } else { bytes.len() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn captured(text: &[u8], limit: usize, step: usize) -> CapturedOutput {
        let mut capture = OutputCapture::new(limit);
        text.chunks(step).for_each(|chunk| capture.add(chunk));
        capture.finish()
    }

    #[test]
    fn short_output_is_whole() {
        assert_eq!(captured(b"0123456789", 10, 3).text(), "0123456789");
        assert_eq!(captured(b"", 0, 1).text(), "");
        assert_eq!(captured(b"a\xff", 10, 1).text(), "a\u{fffd}");
    }

    #[test]
    fn long_output_keeps_both_ends() {
        let text = format!("first {} last", "x".repeat(1000));
        let expected = "first\n[… 1001 bytes left out …]\n last";
        assert_eq!(captured(text.as_bytes(), 74, 7).text(), expected);
    }

    proptest! {
        #[test]
        fn nothing_is_torn_or_lost(
            text in "[a-zäß語🦀\n]{0,400}",
            limit in 0_usize..600,
            step in 1_usize..300,
        ) {
            let captured = captured(text.as_bytes(), limit, step);
            let CapturedOutput { head, tail, left_out } = &captured;
            prop_assert_eq!(head.len() as u64 + tail.len() as u64 + left_out, text.len() as u64);
            prop_assert!(text.as_bytes().starts_with(head) && text.as_bytes().ends_with(tail));
            prop_assert!(str::from_utf8(head).is_ok() && str::from_utf8(tail).is_ok());
            prop_assert_eq!(*left_out == 0, text.len() <= limit);
            prop_assert!(captured.text().len() <= limit.max(NOTE_ROOM));
        }
    }
}
