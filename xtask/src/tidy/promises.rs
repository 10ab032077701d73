//! Every promise of `docs/promises.md` is held by a test, and every test that names a promise
//! names one of the page.

use std::collections::BTreeSet;

use super::TidyProblem;
use crate::project::TextFile;
use crate::promises::{self, PromiseReference};

/// Problems of the page, and of the code that refers to it.
pub(super) fn check(page: &TextFile, references: &[PromiseReference]) -> Vec<TidyProblem> {
    let promises = promises::promises(&page.text);
    let held: BTreeSet<&str> = references.iter().map(|it| it.promise.as_str()).collect();
    let mut known = BTreeSet::new();
    let mut problems = Vec::new();
    for (line, promise) in promises {
        if !known.insert(promise) {
            let what = format!("the promise `{promise}` is on the page already");
            problems.push(TidyProblem::new(&page.path, line, what));
        } else if !held.contains(promise) {
            let what = format!(
                "no test holds `{promise}`: write ``/// Promise: `{promise}` `` above one that does"
            );
            problems.push(TidyProblem::new(&page.path, line, what));
        }
    }
    let wrong = |it: &PromiseReference| {
        let what = wrong_reference(it, &known)?;
        Some(TidyProblem::new(&it.path, it.line, what))
    };
    problems.extend(references.iter().filter_map(wrong));
    problems
}

fn wrong_reference(reference: &PromiseReference, known: &BTreeSet<&str>) -> Option<String> {
    let promise = reference.promise.as_str();
    if !known.contains(promise) {
        return Some(format!("`{promise}` is no promise of {}", promises::PROMISES_PAGE));
    }
    let what = format!("`{promise}` is named in front of what is no test");
    reference.test.is_none().then_some(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(page: &str, source: &str) -> Vec<String> {
        let page = TextFile { path: promises::PROMISES_PAGE.into(), text: page.into() };
        let source = TextFile { path: "xtask/src/a.rs".into(), text: source.into() };
        let found = check(&page, &promises::references(&source));
        found.iter().map(ToString::to_string).collect()
    }

    const TEST: &str = "/// Promise: `a`\n#[test]\nfn it_holds() {}\n";

    #[test]
    fn a_promise_needs_a_test() {
        assert!(problems("### `a`\n", TEST).is_empty());
        assert_eq!(
            problems("### `a`\n\n### `b`\n", TEST),
            [
                "docs/promises.md:3: no test holds `b`: write ``/// Promise: `b` `` above one that does"
            ]
        );
    }

    #[test]
    fn a_promise_stands_on_the_page_once() {
        assert_eq!(
            problems("### `a`\n### `a`\n", TEST),
            ["docs/promises.md:2: the promise `a` is on the page already"]
        );
    }

    #[test]
    fn a_test_names_what_is_on_the_page() {
        assert_eq!(problems("", TEST), ["xtask/src/a.rs:1: `a` is no promise of docs/promises.md"]);
        let helper = format!("{TEST}/// Promise: `a`\nfn helper() {{}}\n");
        assert_eq!(
            problems("### `a`\n", &helper),
            ["xtask/src/a.rs:4: `a` is named in front of what is no test"]
        );
    }
}
