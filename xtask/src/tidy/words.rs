//! Words that some crates must not use.

use super::TidyProblem;
use crate::code::SourceLine;
use crate::project::TextFile;

/// Words, where they are banned, and why.
struct WordBan {
    words: &'static [&'static str],
    in_crate: fn(&str) -> bool,
    why: &'static str,
}

const BANS: [WordBan; 3] = [
    WordBan {
        words: &["todo!", "unimplemented!", "dbg!"],
        in_crate: |_| true,
        why: "is for unfinished work",
    },
    WordBan {
        words: &["print!", "println!", "eprint!", "eprintln!"],
        in_crate: |name| !matches!(name, "recto" | "xtask"),
        why: "is for the program; a library hands its words back",
    },
    WordBan {
        // Modules by their last segment too, for `use std::{env, fs};`.
        words: &[
            "std::env",
            "env::",
            "std::fs",
            "fs::",
            "std::net",
            "net::",
            "std::process",
            "process::",
            "SystemTime",
            "Instant",
            "tokio",
            "async",
            "rand",
        ],
        in_crate: |name| name == "recto-context",
        why: "has no place in the pure core: files, time and chance come in as values",
    },
];

/// Problems with the words that stand in `lines`.
pub(super) fn check(file: &TextFile, lines: &[SourceLine]) -> Vec<TidyProblem> {
    let bans = BANS.iter().filter(|ban| (ban.in_crate)(file.crate_name()));
    bans.flat_map(|ban| lines.iter().filter_map(|line| broken(file, ban, line))).collect()
}

fn broken(file: &TextFile, ban: &WordBan, line: &SourceLine) -> Option<TidyProblem> {
    let word = ban.words.iter().find(|word| stands_in(word, &line.code))?;
    Some(TidyProblem::new(&file.path, line.number, format!("`{word}` {}", ban.why)))
}

/// Whether `word` stands in `code` as a word of its own, not as part of a name.
fn stands_in(word: &str, code: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let open_end = word.ends_with(['!', ':']);
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(part_of_name) && (open_end || !after.is_some_and(part_of_name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::outside_tests;

    fn problems(path: &str, text: &str) -> Vec<usize> {
        let file = TextFile { path: path.into(), text: text.into() };
        check(&file, &outside_tests(&file.text)).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn the_core_is_pure() {
        let path = "crates/recto-context/src/a.rs";
        assert_eq!(problems(path, "use std::fs;\n"), [1]);
        assert_eq!(problems(path, "\nlet now = std::time::Instant::now();\n"), [2]);
        assert_eq!(problems(path, "pub async fn a() {}\n"), [1]);
        assert_eq!(problems(path, "use std::{env, fs};\nlet a = env::var(\"A\");\n"), [2]);
        assert!(problems(path, "// tokio is not used\nlet operand = \"rand\";\n").is_empty());
        assert!(problems(path, "#[cfg(test)]\nuse std::fs;\n").is_empty());
        assert!(problems("crates/recto/src/a.rs", "use std::fs;\n").is_empty());
    }

    #[test]
    fn libraries_do_not_print() {
        assert_eq!(problems("crates/recto-llm/src/a.rs", "eprintln!(\"a\");\n"), [1]);
        assert!(problems("crates/recto/src/a.rs", "println!(\"a\");\n").is_empty());
        assert!(problems("xtask/src/a.rs", "println!(\"a\");\n").is_empty());
    }

    #[test]
    fn nothing_is_left_unfinished() {
        assert_eq!(problems("crates/recto/src/a.rs", "fn a() {\n    todo!()\n}\n"), [2]);
        assert_eq!(problems("xtask/src/a.rs", "dbg!(1);\n"), [1]);
    }

    #[test]
    fn a_part_of_a_name_is_no_word() {
        assert!(stands_in("rand", "use rand::Rng;"));
        assert!(!stands_in("rand", "let operand = 1;"));
        assert!(!stands_in("println!", "eprintln!();"));
    }
}
