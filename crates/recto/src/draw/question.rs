//! How the words of a model about what it wants to do are drawn, alike at every place of the
//! terminal.
//!
//! The title of a question is one line, but no terminal is as wide as a title may be. Broken as
//! prose is, it would lose the blanks at each break, and what comes behind them would stand as
//! Recto's own lines do: a title could draw further lines of its question. So it is drawn exactly,
//! with all its blanks and a mark before each piece that goes on with it. Where a question is only
//! mentioned, in the middle of a sentence, a few words of its title stand for it.

use super::wrap::{PageWidth, wrap_exactly};
use crate::output::{one_line, tame};

/// The most columns that the title of a question takes in a sentence.
const MOST_MENTIONED: usize = 48;

/// A line with words of a model in it, such as the title of a question, without a line break at
/// its end.
pub(crate) fn exact_line(line: &str, width: PageWidth) -> String {
    let mut drawn = wrap_exactly(&tame(line), 0, width);
    drawn.truncate(drawn.trim_end_matches('\n').len());
    drawn
}

/// A few words of a question's title, for a sentence that names the question.
pub(crate) fn mentioned_title(title: &str) -> String {
    one_line(&tame(title), MOST_MENTIONED)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Promise: `shown-is-what-runs`
    #[test]
    fn a_title_draws_no_line_of_its_own() {
        let pad = |text: &str| format!("{text:<98}");
        let title = ["grep TODO", "reads: the system's programs", "  writes: nothing"].map(pad);
        let title = format!("{}rm", title.concat());
        let line = format!("grepr wants to run (approval 1): {title}");
        for columns in 20..140 {
            let drawn = exact_line(&line, PageWidth::Columns(columns));
            let mut lines = drawn.split('\n');
            assert!(lines.next().unwrap().starts_with("grepr wants"), "{drawn}");
            let rest: Vec<&str> = lines.map(|line| line.strip_prefix("┊ ").unwrap()).collect();
            let first = drawn.split('\n').next().unwrap();
            assert_eq!(format!("{first}{}", rest.concat()), line, "{columns}");
            // What is told is laid out once more, which changes nothing.
            let again = crate::draw::wrap_words(&drawn, 2, PageWidth::Columns(columns));
            assert_eq!(again, drawn, "{columns}");
        }
        assert_eq!(exact_line("a  b\n", PageWidth::Unlimited), r"a  b\n");
    }

    #[test]
    fn a_mention_is_short_and_has_no_room_in_it() {
        let title = format!("create notes/x{}writes: nothing", " ".repeat(90));
        assert_eq!(mentioned_title(&title), "create notes/x writes: nothing");
        assert_eq!(mentioned_title(&"a".repeat(100)), format!("{}…", "a".repeat(47)));
    }
}
