//! JSON with a line for each field of an object, and for each element of its lists.

use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;

/// Writes plain data, which can't fail. `expected` is about how many bytes that takes.
pub(super) fn to_lines(value: &impl Serialize, expected: usize) -> String {
    let mut written = Vec::with_capacity(expected);
    let mut serializer =
        serde_json::Serializer::with_formatter(&mut written, LineFormatter::default());
    let done = value.serialize(&mut serializer);
    done.ok().and_then(|()| String::from_utf8(written).ok()).unwrap_or_default()
}

/// Compact but for the breaks in front of lines.
#[derive(Default)]
struct LineFormatter {
    depth: usize,
}

impl LineFormatter {
    fn begin(&mut self, first: bool, line_depth: usize) -> &'static [u8] {
        match (first, self.depth == line_depth) {
            (true, true) => b"\n",
            (true, false) => b"",
            (false, true) => b",\n",
            (false, false) => b",",
        }
    }
}

impl Formatter for LineFormatter {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        // A list within the object.
        writer.write_all(self.begin(first, 2))
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(self.begin(first, 1))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn fields_and_rows_have_lines_of_their_own() {
        let value =
            json!({"a": 1, "rows": [{"b": [1, 2]}, "c\n", [3]], "empty": [], "d": {"e": 2}});
        let written = to_lines(&value, 0);
        let expected = "{\n\"a\":1,\n\"rows\":[\n{\"b\":[1,2]},\n\"c\\n\",\n[3]],\n\"empty\":[],\n\"d\":{\"e\":2}}";
        assert_eq!(written, expected);
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
    }
}
