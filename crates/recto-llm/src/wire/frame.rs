//! Bytes to frames: lines of JSON, or server-sent events. What a frame means is
//! not known here.
//!
//! Chunks arrive cut anywhere, also within a character, so nothing is looked at
//! before its frame is complete. Every byte is looked at once.

/// A server that sends more than this in one frame is not going to stop.
const LONGEST_FRAME: usize = 16 * 1024 * 1024;

/// The fields that events have. Of the last three, nothing is used: the kind of
/// an event stands in its data, too.
const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];

/// How much is kept of text that is no event.
const LONGEST_STRAY: usize = 4 * 1024;

/// A frame that never ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrameTooLong;

/// Cuts bytes into frames.
#[derive(Debug, Default)]
pub(super) struct FrameSplitter {
    format: FrameFormat,
    line: Vec<u8>,
    /// The data of the current event; `None` before its first line of data.
    data: Option<Vec<u8>>,
    /// The last byte was a carriage return. It ended its line, and a line feed
    /// behind it belongs to it.
    after_return: bool,
    stray: Vec<u8>,
}

#[derive(Debug, Default, PartialEq)]
enum FrameFormat {
    /// JSON, one value a line.
    #[default]
    Lines,
    /// Server-sent events, of which only the data is of interest.
    Events,
}

impl FrameSplitter {
    pub(super) fn lines() -> Self {
        FrameSplitter::default()
    }

    pub(super) fn events() -> Self {
        FrameSplitter { format: FrameFormat::Events, ..FrameSplitter::default() }
    }

    /// Appends the frames that `bytes` complete.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        frames: &mut Vec<Vec<u8>>,
    ) -> Result<(), FrameTooLong> {
        for &byte in bytes {
            let is_return = byte == b'\r' && self.format == FrameFormat::Events;
            let after_return = std::mem::replace(&mut self.after_return, is_return);
            match byte {
                b'\n' if after_return => {}
                _ if byte == b'\n' || is_return => frames.extend(self.end_line()),
                _ => self.line.push(byte),
            }
        }
        let held = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
        if held > LONGEST_FRAME { Err(FrameTooLong) } else { Ok(()) }
    }

    /// What stands behind the last complete frame, when nothing more comes. An event
    /// without the empty line behind it is given, too: whether it is whole, its
    /// reader has to see.
    pub(super) fn close(&mut self) -> Option<Vec<u8>> {
        let is_cut_name = FIELDS.iter().any(|name| name.starts_with(&self.line));
        if is_cut_name && self.format == FrameFormat::Events {
            self.line.clear();
        }
        self.end_line().or_else(|| self.data.take())
    }

    /// The beginning of the frame that is not complete.
    pub(super) fn begun(&self) -> &[u8] {
        let held = self.data.as_deref().filter(|data| !data.is_empty()).unwrap_or(&self.line);
        &held[..held.len().min(LONGEST_STRAY)]
    }

    /// Text that belongs to no frame: what servers send that don't stream.
    pub(super) fn stray(&self) -> &[u8] {
        &self.stray
    }

    /// The frame that the line ends: a line of JSON is one, unless it is blank, and
    /// an empty line ends an event.
    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        if self.format == FrameFormat::Lines {
            return (!line.trim_ascii().is_empty()).then_some(line);
        }
        if line.is_empty() {
            return self.data.take();
        }
        match field(&line) {
            (b"data", value) => self.add_data(value),
            // Comments have no name.
            (name, _) if name.is_empty() || FIELDS.contains(&name) => {}
            _ => self.add_stray(&line),
        }
        None
    }

    /// Lines of data make one text.
    fn add_data(&mut self, value: &[u8]) {
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend(value);
            }
            None => self.data = Some(value.to_owned()),
        }
    }

    fn add_stray(&mut self, line: &[u8]) {
        let room = LONGEST_STRAY.saturating_sub(self.stray.len());
        self.stray.extend(line.iter().chain(b"\n").take(room));
    }
}

/// A line's name and value. A byte order mark before the first is no part of it.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    match line.iter().position(|byte| *byte == b':') {
        Some(at) => {
            let value = &line[at + 1..];
            (&line[..at], value.strip_prefix(b" ").unwrap_or(value))
        }
        None => (line, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frames of `input`, also when it comes byte by byte.
    fn check(frames: fn() -> FrameSplitter, input: &str, expected: &[&str]) {
        let whole = cut(frames(), [input.as_bytes()].into_iter());
        assert_eq!(whole, expected);
        assert_eq!(cut(frames(), input.as_bytes().chunks(1)), expected);
    }

    fn cut<'a>(mut frames: FrameSplitter, chunks: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
        let mut found = Vec::new();
        for chunk in chunks {
            frames.push(chunk, &mut found).unwrap();
        }
        found.extend(frames.close());
        found.into_iter().map(|frame| String::from_utf8(frame).unwrap()).collect()
    }

    #[test]
    fn lines_end_with_the_line_or_the_stream() {
        check(
            FrameSplitter::lines,
            "{\"a\":1}\n\n \r\n{\"b\":2}\r\nü",
            &["{\"a\":1}", "{\"b\":2}\r", "ü"],
        );
        check(FrameSplitter::lines, "", &[]);
    }

    #[test]
    fn events_end_with_an_empty_line_of_any_kind() {
        check(
            FrameSplitter::events,
            "data: a\n\ndata: b\r\n\r\ndata: c\r\rdata:d",
            &["a", "b", "c", "d"],
        );
        check(FrameSplitter::events, "\u{feff}data: a\n\n", &["a"]);
    }

    #[test]
    fn data_of_several_lines_is_one_text() {
        check(FrameSplitter::events, "data: {\ndata:  1\ndata\ndata: }\n\n", &["{\n 1\n\n}"]);
    }

    #[test]
    fn comments_and_other_fields_are_no_data() {
        check(
            FrameSplitter::events,
            ": keep-alive\n\nevent: x\nid: 1\nretry: 9\n\ndata: a\n\n",
            &["a"],
        );
    }

    #[test]
    fn text_that_is_no_event_is_kept_apart() {
        let mut frames = FrameSplitter::events();
        let mut found = Vec::new();
        frames.push(b"{\n\"a\": 1}", &mut found).unwrap();
        assert_eq!((frames.close(), found), (None, vec![]));
        assert_eq!(frames.stray(), b"{\n\"a\": 1}\n");
    }

    #[test]
    fn text_that_is_no_event_is_not_kept_without_end() {
        let mut frames = FrameSplitter::events();
        frames.push(&b"x\n".repeat(LONGEST_STRAY), &mut Vec::new()).unwrap();
        assert_eq!(frames.stray().len(), LONGEST_STRAY);
    }

    #[test]
    fn a_frame_without_end_is_refused() {
        for mut frames in [FrameSplitter::lines(), FrameSplitter::events()] {
            let chunk = vec![b'x'; LONGEST_FRAME];
            assert_eq!(frames.push(&chunk, &mut Vec::new()), Ok(()));
            assert_eq!(frames.push(b"xx", &mut Vec::new()), Err(FrameTooLong));
            assert_eq!(frames.begun(), &chunk[..LONGEST_STRAY]);
        }
    }
}
