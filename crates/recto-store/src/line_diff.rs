//! A text as its difference from another one, line by line.
//!
//! Documents of one session have nearly all lines in common, in the same order. So a difference is a
//! list of runs of lines that the parent has, with the new lines between them, and finding it takes
//! little more than one comparison of bytes: no table is made of either text. The new lines resemble those that stand
//! in their place; they are packed with what surrounds them in a large parent at hand ([`LineDiff::neighbours`]).
//!
//! Pure functions over texts. Where a difference is written down is `codec`'s to say.

use std::ops::Range;

/// So many lines in front of a gap are taken to resemble what is new in it.
const BEFORE_GAP: usize = 3;

/// How much of the parent is at hand for the new lines, in bytes. More would only take longer.
const MOST_NEIGHBOURS: usize = 4 << 10;

/// So far ahead a line is looked for: history that leaves takes hundreds along.
const LOOK_AHEAD: usize = 4_096;

/// A text cut into its lines, each with the break behind it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineList {
    /// Where each line ends.
    ends: Vec<usize>,
}

impl LineList {
    pub(crate) fn new(text: &str) -> Self {
        let mut ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        if ends.last().copied().unwrap_or(0) < text.len() {
            ends.push(text.len());
        }
        LineList { ends }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    fn start(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0)
    }

    /// The bytes of these lines.
    fn bytes(&self, lines: &Range<usize>) -> Range<usize> {
        let end = if lines.is_empty() { self.start(lines.start) } else { self.start(lines.end) };
        self.start(lines.start)..end
    }

    fn line<'t>(&self, text: &'t str, line: usize) -> &'t str {
        &text[self.bytes(&(line..line + 1))]
    }
}

/// What a text has in common with another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LineDiff {
    pub(crate) runs: Vec<LineRun>,
}

/// New lines, and behind them lines of the parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LineRun {
    /// How many lines are new.
    pub(crate) new: usize,
    /// The first line of the parent behind them, and how many there are.
    pub(crate) from: usize,
    pub(crate) count: usize,
}

impl LineDiff {
    /// Finds what `text` has in common with `parent`, and gives the new lines beside it.
    pub(crate) fn find(parent: (&str, &LineList), text: (&str, &LineList)) -> (Self, String) {
        let (mut diff, mut new_lines) = (LineDiff::default(), String::new());
        let (mut at, mut expected, mut new) = (0, 0, 0);
        while at < text.1.len() {
            let Some(from) = find_line(parent, text.1.line(text.0, at), expected) else {
                new_lines.push_str(text.1.line(text.0, at));
                (at, new) = (at + 1, new + 1);
                continue;
            };
            let is_same = |ahead: &usize| {
                let (ours, theirs) = (at + ahead, from + ahead);
                ours < text.1.len()
                    && theirs < parent.1.len()
                    && text.1.line(text.0, ours) == parent.1.line(parent.0, theirs)
            };
            let count = (0..).take_while(is_same).count();
            diff.runs.push(LineRun { new, from, count });
            (at, expected, new) = (at + count, from + count, 0);
        }
        if new > 0 {
            diff.runs.push(LineRun { new, from: expected, count: 0 });
        }
        (diff, new_lines)
    }

    /// What of the parent the new lines are likely to resemble: the lines that they replace, and a
    /// few in front of those.
    pub(crate) fn neighbours(&self, parent: (&str, &LineList)) -> Option<String> {
        let mut near = String::new();
        let mut end = 0;
        for run in &self.runs {
            let gap = end..run.from.max(end);
            if run.new > 0 {
                let lines = gap.start.saturating_sub(BEFORE_GAP)..gap.end;
                near.push_str(parent.0.get(parent.1.bytes(&lines))?);
            }
            end = run.from.checked_add(run.count)?;
        }
        let mut cut = near.len().saturating_sub(MOST_NEIGHBOURS);
        while !near.is_char_boundary(cut) {
            cut += 1;
        }
        near.drain(..cut);
        Some(near)
    }

    /// Puts the text together again; nothing where it does not fit the parent.
    pub(crate) fn apply(&self, parent: (&str, &LineList), new_lines: &str) -> Option<String> {
        let new = LineList::new(new_lines);
        let (mut text, mut used) = (String::new(), 0_usize);
        for run in &self.runs {
            let lines = used..used.checked_add(run.new).filter(|end| *end <= new.len())?;
            text.push_str(new_lines.get(new.bytes(&lines))?);
            used = lines.end;
            let end = run.from.checked_add(run.count).filter(|end| *end <= parent.1.len());
            let copied = run.from..end?;
            text.push_str(parent.0.get(parent.1.bytes(&copied))?);
        }
        (used == new.len()).then_some(text)
    }
}

/// Where a line stands in the parent, from where it is expected on. Most stand right there. Lines
/// that went further up are new: so nothing is taken out of its order, and what lies between two
/// runs is what has left.
fn find_line(parent: (&str, &LineList), line: &str, expected: usize) -> Option<usize> {
    let end = parent.1.len().min(expected.saturating_add(LOOK_AHEAD));
    (expected..end).find(|at| parent.1.line(parent.0, *at) == line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(parent: &str, text: &str) -> (Vec<(usize, usize, usize)>, String) {
        let (of_parent, of_text) = (LineList::new(parent), LineList::new(text));
        let (diff, new) = LineDiff::find((parent, &of_parent), (text, &of_text));
        assert_eq!(diff.apply((parent, &of_parent), &new).as_deref(), Some(text));
        assert!(diff.neighbours((parent, &of_parent)).is_some());
        (diff.runs.iter().map(|run| (run.new, run.from, run.count)).collect(), new)
    }

    #[test]
    fn what_is_appended_and_what_is_replaced_is_all_that_is_new() {
        assert_eq!(check("a\nb\nc", "a\nb\nc"), (vec![(0, 0, 3)], String::new()));
        assert_eq!(check("a\nb\n", "a\nb\nc\n"), (vec![(0, 0, 2), (1, 2, 0)], "c\n".to_owned()));
        assert_eq!(
            check("a\nb\nc\nd\n", "a\nx\nc\nd\ny"),
            (vec![(0, 0, 1), (1, 2, 2), (1, 4, 0)], "x\ny".to_owned())
        );
        // What leaves at the front, as history does.
        assert_eq!(
            check("a\nb\nc\nd\n", "a\nd\ne\n"),
            (vec![(0, 0, 1), (0, 3, 1), (1, 4, 0)], "e\n".to_owned())
        );
        assert_eq!(check("", "a"), (vec![(1, 0, 0)], "a".to_owned()));
        assert_eq!(check("a", ""), (vec![], String::new()));
    }

    #[test]
    fn the_lines_in_whose_place_something_stands_are_at_hand() {
        let (parent, text) = ("1\n2\n3\n4\nold\n5\n", "1\n2\n3\n4\nnew\n5\n");
        let lines = LineList::new(parent);
        let (diff, _) = LineDiff::find((parent, &lines), (text, &LineList::new(text)));
        assert_eq!(diff.neighbours((parent, &lines)).unwrap(), "2\n3\n4\nold\n");
    }

    proptest! {
        #[test]
        fn any_text_comes_back(
            parent in prop::collection::vec("[ab]{0,2}|\\PC{0,3}", 0..30),
            text in prop::collection::vec("[ab]{0,2}|\\PC{0,3}", 0..30),
            ends in any::<[bool; 2]>(),
        ) {
            let joined = |lines: Vec<String>, end| lines.join("\n") + if end { "\n" } else { "" };
            check(&joined(parent, ends[0]), &joined(text, ends[1]));
        }

        #[test]
        fn a_difference_of_something_else_is_refused_or_gives_some_text(
            parent in "[ab\\n]{0,20}",
            new in "[ab\\n]{0,20}",
            runs in prop::collection::vec((0..9_usize, any::<usize>(), 0..9_usize), 0..5),
        ) {
            let runs = runs.into_iter().map(|(new, from, count)| LineRun { new, from, count });
            let diff = LineDiff { runs: runs.collect() };
            let lines = LineList::new(&parent);
            let _ = (diff.apply((&parent, &lines), &new), diff.neighbours((&parent, &lines)));
        }
    }
}
