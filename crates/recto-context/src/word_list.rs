//! Lists of words and phrases, kept as text files beside the modules that read by them.
//!
//! A file has a block for each list and a blank line between two blocks. A block begins with a
//! comment, `# NAME: what its entries have in common`, and goes on with its entries in order. Words
//! are parted by white space, phrases by commas or the end of a line.
//!
//! The files are part of the program: nothing is read from disk when it runs. A list is made when
//! it is first asked for something, so that a program which reads no message pays for none.

use std::collections::HashSet;
use std::sync::OnceLock;

/// A set of single words.
pub(crate) struct WordList {
    block: ListBlock,
    words: OnceLock<HashSet<&'static str>>,
}

impl WordList {
    pub(crate) const fn new(block: ListBlock) -> Self {
        Self { block, words: OnceLock::new() }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &'static str> {
        self.block.lines().flat_map(str::split_whitespace)
    }

    /// Whether the list has this very word, in lower case.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.get_or_init(|| self.entries().collect()).contains(word)
    }

    /// As [`WordList::has`], for an English noun that may be a plural or a possessive.
    pub(crate) fn has_noun(&self, word: &str) -> bool {
        let word = word.strip_suffix("'s").unwrap_or(word);
        let singular = word.strip_suffix('s').filter(|stem| stem.len() > 1);
        self.has(word)
            || singular.is_some_and(|stem| self.has(stem))
            || word.strip_suffix("es").is_some_and(|stem| self.has(stem))
            || word.strip_suffix("ies").is_some_and(|stem| self.has(&format!("{stem}y")))
    }
}

/// A list within a file of lists.
#[derive(Clone, Copy)]
pub(crate) struct ListBlock {
    pub(crate) file: &'static str,
    pub(crate) name: &'static str,
}

impl ListBlock {
    /// The phrases of the block, in its order.
    pub(crate) fn phrases(self) -> impl Iterator<Item = &'static str> {
        let phrases = self.lines().flat_map(|line| line.split(',')).map(str::trim);
        phrases.filter(|phrase| !phrase.is_empty())
    }

    fn lines(self) -> impl Iterator<Item = &'static str> {
        let from = self.file.lines().skip_while(move |line| heading(line) != Some(self.name));
        from.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with('#'))
    }
}

/// The name of the list that begins with this line, if one does.
fn heading(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("# ")?.split_once(':')?;
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_').then_some(name)
}

/// Declares the lists of text files as statics, each named like its block, and a test of all of
/// them.
macro_rules! declare_lists {
    ($($path:literal as $file:ident { $($kind:ident: $($name:ident)+;)+ })+) => {
        $(
            static $file: &str = include_str!($path);
            $($(
                pub(super) static $name: $kind =
                    $kind::new($crate::word_list::ListBlock { file: $file, name: stringify!($name) });
            )+)+
        )+

        #[cfg(test)]
        #[test]
        fn lists_are_sorted() {
            $($crate::word_list::check_file(
                $file,
                &[$($((stringify!($name), $name.entries().collect())),+),+],
            );)+
        }
    };
}

pub(crate) use declare_lists;

/// A sorted list is one in which a missing or doubled word is seen at a glance.
#[cfg(test)]
pub(crate) fn check_file(file: &str, declared: &[(&str, Vec<&str>)]) {
    for (name, entries) in declared {
        assert!(!entries.is_empty(), "no such list: {name}");
        assert!(entries.is_sorted_by(|a, b| a < b), "not sorted: {name}: {entries:?}");
    }
    let mut names: Vec<_> = declared.iter().map(|(name, _)| *name).collect();
    let mut headings: Vec<_> = file.lines().filter_map(heading).collect();
    names.sort_unstable();
    headings.sort_unstable();
    assert_eq!(headings, names);
}
