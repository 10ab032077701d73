//! The pages for people: that they are there, that their links lead somewhere,
//! and that those written from the code say what the code says.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::TidyProblem;
use crate::docs::GeneratedPage;
use crate::project::TextFile;
use crate::promises::PROMISES_PAGE;

/// The page that draws the house.
pub(super) const ARCHITECTURE: &str = "ARCHITECTURE.md";

const REQUIRED: [&str; 6] =
    ["README.md", ARCHITECTURE, "CHANGELOG.md", PROMISES_PAGE, "LICENSE-APACHE", "LICENSE-MIT"];

/// Pages that must be there and aren't.
pub(super) fn missing(exists: impl Fn(&str) -> bool) -> Vec<TidyProblem> {
    let absent = REQUIRED.into_iter().filter(|path| !exists(path));
    absent.map(|path| TidyProblem::new(path, 1, "is missing")).collect()
}

/// Crates that the page on the architecture does not speak of.
pub(super) fn unnamed_crates(page: &TextFile, crates: &BTreeSet<&str>) -> Vec<TidyProblem> {
    let part_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let words: BTreeSet<&str> = page.text.split(|c| !part_of_name(c)).collect();
    crates
        .difference(&words)
        .map(|name| TidyProblem::new(&page.path, 1, format!("does not name the crate `{name}`")))
        .collect()
}

/// Links to files that `exists` does not find.
pub(super) fn broken_links(page: &TextFile, exists: impl Fn(&Path) -> bool) -> Vec<TidyProblem> {
    let folder = Path::new(&page.path).parent().unwrap_or(Path::new(""));
    let mut problems = Vec::new();
    for (number, line) in prose(&page.text) {
        for target in link_targets(&line) {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || is_address(file) || exists(&resolve(folder, file)) {
                continue;
            }
            let what = format!("links to `{target}`, which is not there");
            problems.push(TidyProblem::new(&page.path, number, what));
        }
    }
    problems
}

/// The first line in which a generated page differs from what is there.
pub(super) fn outdated(page: &GeneratedPage, present: &str) -> Option<TidyProblem> {
    if present == page.text {
        return None;
    }
    let same = present.lines().zip(page.text.lines()).take_while(|(a, b)| a == b).count();
    Some(TidyProblem::new(page.path, same + 1, "is not what the code says: run `cargo xtask docs`"))
}

/// Numbered lines without what stands in code blocks and code spans.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // Every second piece between backticks is code.
            let outside: Vec<&str> = line.split('`').step_by(2).collect();
            lines.push((index + 1, outside.join("`")));
        }
    }
    lines
}

/// The targets of `[text](target "title")` in a line.
fn link_targets(line: &str) -> Vec<&str> {
    let after_bracket = line.split("](").skip(1);
    after_bracket
        .filter_map(|rest| rest.split_once(')'))
        .filter_map(|(target, _)| target.split_whitespace().next())
        .map(|target| target.trim_start_matches('<').trim_end_matches('>'))
        .collect()
}

/// `https:`, `mailto:` and the like.
fn is_address(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// `target` as seen from the repository's folder. A leading `/` means that folder.
fn resolve(folder: &Path, target: &str) -> PathBuf {
    let path = match target.strip_prefix('/') {
        Some(from_root) => PathBuf::from(from_root),
        None => folder.join(target),
    };
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            // `a/..` is the folder itself, even if `a` is not there.
            Component::ParentDir if resolved.file_name().is_some() => {
                resolved.pop();
            }
            Component::CurDir => {}
            other => resolved.push(other),
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> TextFile {
        TextFile { path: path.into(), text: text.into() }
    }

    fn links(path: &str, text: &str) -> Vec<String> {
        let there = ["README.md", "docs/cli.md", "docs"];
        broken_links(&page(path, text), |path| there.iter().any(|known| Path::new(known) == path))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn pages_must_be_there() {
        assert!(missing(|_| true).is_empty());
        assert_eq!(missing(|path| path != "CHANGELOG.md").len(), 1);
    }

    #[test]
    fn the_architecture_names_every_crate() {
        let page = page(ARCHITECTURE, "`recto-context` is the core.");
        assert!(unnamed_crates(&page, &BTreeSet::from(["recto-context"])).is_empty());
        // `recto` is not named by naming `recto-context`.
        assert_eq!(unnamed_crates(&page, &BTreeSet::from(["recto", "recto-context"])).len(), 1);
    }

    #[test]
    fn links_lead_somewhere() {
        assert!(links("README.md", "[a](docs/cli.md#top) [b](./docs \"c\") [d](#e)").is_empty());
        assert!(links("docs/cli.md", "[a](../README.md) [b](https://example.org/x)").is_empty());
        assert_eq!(
            links("docs/cli.md", "\n[a](README.md)"),
            ["docs/cli.md:2: links to `README.md`, which is not there"]
        );
    }

    #[test]
    fn code_is_no_link() {
        assert!(links("README.md", "```md\n[a](b.md)\n```\nand `[a](b.md)`").is_empty());
        assert_eq!(links("README.md", "`a` [a](b.md)").len(), 1);
    }

    #[test]
    fn generated_pages_are_compared() {
        let page = GeneratedPage { path: "docs/cli.md", text: "a\nb\n".into() };
        assert_eq!(outdated(&page, "a\nb\n"), None);
        assert_eq!(outdated(&page, "a\nc\n").map(|problem| problem.line), Some(2));
        assert!(outdated(&page, "").is_some());
    }
}
