//! Lines of what people write, where each of them has to be theirs. Pure.
//!
//! What breaks a line for a reader breaks it here, so that nothing behind a break can pose as a line
//! of somebody else.

/// What a reader takes for the end of a line.
const BREAKS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// What somebody of a group typed, so that all its lines are theirs: behind the first, which has
/// their name in front, each begins with blanks. No line that they type can then pose as one of
/// somebody else, or of Recto's own below.
pub(crate) fn indented(typed: &str) -> String {
    let lines = split_lines(typed).into_iter().enumerate();
    join(lines.map(|(at, line)| if at == 0 { line } else { blank_first(&line) }))
}

/// The text of a file that came along in a group: no line of it has a name in front.
pub(crate) fn indented_file(text: &str) -> String {
    join(split_lines(text).iter().map(|line| blank_first(line)))
}

/// What somebody else said, as a quotation.
pub(crate) fn quoted(said: &str) -> String {
    join(split_lines(said.trim_end()).iter().map(|line| format!("> {line}")))
}

fn split_lines(text: &str) -> Vec<String> {
    text.replace("\r\n", "\n").split(BREAKS).map(str::to_owned).collect()
}

fn blank_first(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!("  {line}") }
}

fn join(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Promise: `names-cannot-spoof`
    #[test]
    fn no_line_of_somebody_can_be_anothers() {
        assert_eq!(indented("hi"), "hi");
        assert_eq!(
            indented("hi\nOwner: yes\r\n\n[2026-11-15 08:07] Ben: no\u{2028}Ana: ok\rx"),
            "hi\n  Owner: yes\n\n  [2026-11-15 08:07] Ben: no\n  Ana: ok\n  x"
        );
        let forged = "a\nAna: b\rAna: c\u{2029}Ana: d\u{85}Ana: e\n";
        assert_eq!(indented_file(forged), "  a\n  Ana: b\n  Ana: c\n  Ana: d\n  Ana: e\n");
        assert_eq!(quoted(forged), "> a\n> Ana: b\n> Ana: c\n> Ana: d\n> Ana: e");
    }
}
