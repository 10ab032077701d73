//! Rust source, reduced to what the checks look at: code without comments, and
//! string literals apart from it.
//!
//! This is no parser. It knows strings, characters and comments, and relies on
//! rustfmt's indentation for the rest.

/// A line of source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SourceLine {
    /// Its number in the file, from 1.
    pub(crate) number: usize,
    /// Its code, without comments; `""` stands for every string literal.
    pub(crate) code: String,
    /// The string literals that begin on it, as they stand in the source.
    pub(crate) strings: Vec<String>,
}

impl SourceLine {
    /// How far it is indented; `None` when it is blank.
    pub(crate) fn indent(&self) -> Option<usize> {
        self.code.find(|c: char| !c.is_whitespace())
    }
}

/// The lines of `text` without the items under `#[cfg(test)]`.
pub(crate) fn outside_tests(text: &str) -> Vec<SourceLine> {
    let lines = lines(text);
    let mut outside = Vec::with_capacity(lines.len());
    let mut rest = lines.as_slice();
    while let Some((first, after)) = rest.split_first() {
        if first.code.trim() == "#[cfg(test)]" {
            rest = &rest[item_length(rest)..];
        } else {
            outside.push(first.clone());
            rest = after;
        }
    }
    outside
}

/// Lines of the item that begins with the attribute on the first line.
fn item_length(lines: &[SourceLine]) -> usize {
    let indent = lines[0].indent();
    let last = lines.iter().position(|line| {
        line.indent() == indent && line.code.trim_end().ends_with([';', '}', ','])
    });
    last.map_or(lines.len(), |index| index + 1)
}

/// All lines of `text`.
pub(crate) fn lines(text: &str) -> Vec<SourceLine> {
    let mut reader =
        SourceReader { rest: text, lines: vec![SourceLine { number: 1, ..SourceLine::default() }] };
    while !reader.rest.is_empty() {
        reader.step();
    }
    // What follows the last line's end is no line.
    if text.is_empty() || text.ends_with('\n') {
        reader.lines.pop();
    }
    reader.lines
}

struct SourceReader<'a> {
    rest: &'a str,
    lines: Vec<SourceLine>,
}

impl<'a> SourceReader<'a> {
    fn step(&mut self) {
        if let Some(length) = comment_length(self.rest) {
            self.skip(length);
        } else if let Some(literal) = StringLiteral::parse(self.rest) {
            let line = self.line();
            line.code.push_str("\"\"");
            line.strings.push(literal.content.into());
            self.skip(literal.length);
        } else if let Some(length) = character_length(self.rest) {
            self.line().code.push_str("' '");
            self.skip(length);
        } else {
            let next = self.skip(self.rest.chars().next().map_or(0, char::len_utf8));
            if next != "\n" {
                self.line().code.push_str(next);
            }
        }
    }

    /// Goes on behind `length` bytes, counting the lines among them.
    fn skip(&mut self, length: usize) -> &'a str {
        let (skipped, rest) = self.rest.split_at(length);
        self.rest = rest;
        for _ in skipped.matches('\n') {
            let number = self.lines.len() + 1;
            self.lines.push(SourceLine { number, ..SourceLine::default() });
        }
        skipped
    }

    fn line(&mut self) -> &mut SourceLine {
        self.lines.last_mut().expect("there is a first line from the start")
    }
}

/// The length of a comment that `rest` begins with.
fn comment_length(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if !rest.starts_with("/*") {
        return None;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        match rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    Some(rest.len())
}

/// A string literal in the source.
struct StringLiteral<'a> {
    /// What stands between its quotes.
    content: &'a str,
    /// Its length with quotes, hashes and prefix.
    length: usize,
}

impl<'a> StringLiteral<'a> {
    /// The literal that `rest` begins with.
    fn parse(rest: &'a str) -> Option<Self> {
        let unprefixed = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
        let (body, end) = match unprefixed.strip_prefix('r') {
            Some(raw) => {
                let body = raw.trim_start_matches('#');
                let end = format!("\"{}", "#".repeat(raw.len() - body.len()));
                let body = body.strip_prefix('"')?;
                (body, body.find(&end).map(|at| (at, end.len())))
            }
            None => {
                let body = unprefixed.strip_prefix('"')?;
                (body, closing_quote(body).map(|at| (at, 1)))
            }
        };
        let (content, closing) = end.unwrap_or((body.len(), 0));
        let length = rest.len() - body.len() + content + closing;
        Some(StringLiteral { content: &body[..content], length })
    }
}

fn closing_quote(body: &str) -> Option<usize> {
    let mut escaped = false;
    body.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

/// The length of a character literal that `rest` begins with; a lifetime is none.
fn character_length(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix('\'')?;
    let mut characters = body.chars();
    let first = characters.next()?;
    let after = characters.as_str();
    let closing = match first {
        // Behind the escaped character, which may be the quote itself.
        '\\' => 2 + body.get(2..)?.find('\'')?,
        _ if after.starts_with('\'') => first.len_utf8(),
        _ => return None,
    };
    Some(1 + closing + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code of each line, joined by `|`, and all literals.
    fn read(text: &str) -> (String, Vec<String>) {
        let lines = lines(text);
        let code: Vec<&str> = lines.iter().map(|line| line.code.as_str()).collect();
        (code.join("|"), lines.iter().flat_map(|line| line.strings.clone()).collect())
    }

    #[test]
    fn comments_leave_their_lines() {
        assert_eq!(read("a // b\n/* c /* d */\n */ e\n").0, "a || e");
        assert_eq!(read("/// doc\nfn a() {}").0, "|fn a() {}");
    }

    #[test]
    fn literals_are_taken_out() {
        let (code, strings) = read("f(\"// \\\" no comment\", r#\"a \"b\"\nc\"#, b\"d\");\n");
        assert_eq!(code, "f(\"\", \"\"|, \"\");");
        assert_eq!(strings, ["// \\\" no comment", "a \"b\"\nc", "d"]);
    }

    #[test]
    fn characters_are_no_strings_and_lifetimes_no_characters() {
        assert_eq!(read("'\"' '\\'' '\\u{2f}' &'a str").0, "' ' ' ' ' ' &'a str");
        assert_eq!(read("r#fn 'b: loop").0, "r#fn 'b: loop");
    }

    #[test]
    fn what_never_ends_ends_with_the_file() {
        assert_eq!(read("a \"b").1, ["b"]);
        assert_eq!(read("a /* b").0, "a ");
        assert_eq!(read("'").0, "'");
    }

    #[test]
    fn test_items_are_left_out() {
        let text = "a();\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nc();\n\
                    #[cfg(test)]\nmod more;\nd();\n";
        let outside = outside_tests(text);
        let numbers: Vec<usize> = outside.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [1, 6, 9]);
    }
}
