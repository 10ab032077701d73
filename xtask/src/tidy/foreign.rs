//! References to papers that no reader of the repository has: what counts is said in words.

use super::TidyProblem;
use crate::project::TextFile;

/// The file that has to name what it looks for.
const THIS_FILE: &str = "xtask/src/tidy/foreign.rs";

/// Problems with the lines that refer to something outside of the repository.
pub(super) fn check(file: &TextFile) -> Vec<TidyProblem> {
    if file.path == THIS_FILE {
        return Vec::new();
    }
    let lines = file.text.lines().enumerate();
    lines
        .filter(|(_, line)| line.contains("PITFALL") || names_numbered_seed(line))
        .map(|(index, _)| {
            let what = "refers to a paper outside of the repository: say it in words, or name a \
                        promise of docs/promises.md";
            TidyProblem::new(&file.path, index + 1, what)
        })
        .collect()
}

/// Whether the line has `seed 001`, `seed_001`, `Seeds 001` or the like.
fn names_numbered_seed(line: &str) -> bool {
    let line = line.to_lowercase();
    line.match_indices("seed").any(|(at, word)| {
        let behind = line[at + word.len()..].trim_start_matches('s');
        let number = behind.strip_prefix([' ', '_', '-']).unwrap_or_default();
        number.len() - number.trim_start_matches(|c: char| c.is_ascii_digit()).len() >= 3
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = TextFile { path: path.into(), text: text.into() };
        check(&file).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn numbers_of_papers_are_found() {
        assert_eq!(
            lines("a.rs", "// PITFALL 7.\n//! Seeds 001 and 003\nfn seed_002() {}\n"),
            [1, 2, 3]
        );
        assert!(lines(THIS_FILE, "// PITFALL 7.\n").is_empty());
    }

    #[test]
    fn seeds_of_chance_and_wallets_stay() {
        assert!(lines("a.rs", "let seed = 42; // a pitfall of seed 42\n").is_empty());
        assert!(lines("a.md", "A seed phrase has 12 words. Sow seeds, 100 of them.\n").is_empty());
    }
}
