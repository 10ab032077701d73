//! What Recto promises: the names on the page that people write, and the tests that hold them.
//!
//! A test refers to a promise by a line of its doc comment, ``/// Promise: `name` ``. The page
//! says in words what is meant; only the list of tests under each promise is generated.

use crate::Result;
use crate::code::{self, SourceLine};
use crate::project::{Project, TextFile};

/// The page that says what each promise means.
pub(crate) const PROMISES_PAGE: &str = "docs/promises.md";

/// A line of code that refers to a promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PromiseReference {
    pub(crate) promise: String,
    /// The file it stands in, from the repository's folder.
    pub(crate) path: String,
    /// The line it stands on, from 1.
    pub(crate) line: usize,
    /// The test behind it, as `crate::path::name`; `None` where no test follows.
    pub(crate) test: Option<String>,
}

/// All references in the repository's code, in order of path and line.
pub(crate) fn all_references(project: &Project) -> Result<Vec<PromiseReference>> {
    Ok(project.sources()?.iter().flat_map(references).collect())
}

/// The references in one file.
pub(crate) fn references(file: &TextFile) -> Vec<PromiseReference> {
    let mut modules = ModuleStack::from_path(&file.path);
    let (mut found, mut waiting, mut is_test) = (Vec::new(), Vec::new(), false);
    for (raw, line) in file.text.lines().zip(code::lines(&file.text)) {
        modules.follow(&line);
        let code = line.code.trim();
        if code.is_empty() {
            let reference = |promise: &str| PromiseReference {
                promise: promise.to_owned(),
                path: file.path.clone(),
                line: line.number,
                test: None,
            };
            waiting.extend(referred_promise(raw).map(reference));
        } else if code.starts_with("#[") {
            is_test |= ["#[test]", "#[tokio::test"].iter().any(|test| code.starts_with(test));
        } else {
            let name = function_name(code).filter(|_| is_test);
            let test = name.map(|name| modules.path_of(name));
            found.extend(waiting.drain(..).map(|it| PromiseReference { test: test.clone(), ..it }));
            is_test = false;
        }
    }
    found.extend(waiting);
    found
}

/// The promises of the page with their lines, from 1.
pub(crate) fn promises(page: &str) -> Vec<(usize, &str)> {
    let lines = page.lines().enumerate();
    lines.filter_map(|(index, line)| Some((index + 1, promise_of_heading(line)?))).collect()
}

/// The page with the tests of each promise written anew behind its words.
pub(crate) fn with_tests(page: &str, references: &[PromiseReference]) -> String {
    let mut lines = Vec::new();
    let mut promise = None;
    for line in page.lines().filter(|line| !is_generated(line)) {
        if line.starts_with('#') {
            push_tests(&mut lines, promise, references);
            promise = promise_of_heading(line);
        }
        lines.push(line.to_owned());
    }
    push_tests(&mut lines, promise, references);
    lines.join("\n")
}

fn promise_of_heading(line: &str) -> Option<&str> {
    line.strip_prefix("### `")?.strip_suffix('`')
}

fn is_generated(line: &str) -> bool {
    line == "Tests:" || (line.starts_with("- [`") && line.ends_with(".rs)"))
}

/// Ends the part of a promise with the list of its tests.
fn push_tests(lines: &mut Vec<String>, promise: Option<&str>, references: &[PromiseReference]) {
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let of_promise = references.iter().filter(|it| Some(it.promise.as_str()) == promise);
    let mut tests: Vec<String> = of_promise
        .filter_map(|it| Some(format!("- [`{}`](../{})", it.test.as_ref()?, it.path)))
        .collect();
    tests.sort();
    if !tests.is_empty() {
        lines.extend([String::new(), "Tests:".into(), String::new()]);
        lines.extend(tests);
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
}

/// The promise that a comment refers to, also where it is no doc comment or lacks its quotes.
fn referred_promise(raw: &str) -> Option<&str> {
    let comment = raw.trim().strip_prefix("//")?;
    let promise = comment.trim_start_matches(['/', '!']).trim_start().strip_prefix("Promise:")?;
    Some(promise.trim().trim_matches('`'))
}

/// The name of the function that begins on this line.
fn function_name(code: &str) -> Option<&str> {
    let (before, rest) = code.split_once("fn ")?;
    let is_modifier = |word: &str| matches!(word, "pub" | "async" | "const" | "unsafe");
    let name = rest.split(['(', '<']).next()?;
    before.split_whitespace().all(is_modifier).then_some(name)
}

/// The modules around a line: those of its file, and those that were opened within it.
struct ModuleStack {
    file: String,
    /// Indentation and name of each `mod name {` that is still open.
    open: Vec<(Option<usize>, String)>,
}

impl ModuleStack {
    /// The modules of a file: `crates/recto-llm/src/wire/frame.rs` is `recto_llm::wire::frame`, and
    /// `crates/recto/tests/it/chat.rs` is `recto::it::chat`.
    fn from_path(path: &str) -> Self {
        let path = path.strip_prefix("crates/").unwrap_or(path);
        let mut parts = path.trim_end_matches(".rs").split('/');
        let name = parts.next().unwrap_or_default().replace('-', "_");
        let is_module = |part: &&str| !matches!(*part, "src" | "tests" | "lib" | "main" | "mod");
        // The first folder says only which kind of target it is.
        let target = parts.next().into_iter().filter(is_module);
        let modules = target.chain(parts.filter(|part| !matches!(*part, "lib" | "main" | "mod")));
        let file = [name.as_str()].into_iter().chain(modules).collect::<Vec<_>>().join("::");
        ModuleStack { file, open: Vec::new() }
    }

    fn follow(&mut self, line: &SourceLine) {
        let code = line.code.trim();
        let words: Vec<&str> = code.split_whitespace().collect();
        if let [.., "mod", name, "{"] = words[..] {
            self.open.push((line.indent(), name.to_owned()));
        } else if code == "}" && self.open.last().is_some_and(|(at, _)| *at == line.indent()) {
            self.open.pop();
        }
    }

    fn path_of(&self, name: &str) -> String {
        let open = self.open.iter().map(|(_, module)| module.as_str());
        [self.file.as_str()].into_iter().chain(open).chain([name]).collect::<Vec<_>>().join("::")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, text: &str) -> Vec<PromiseReference> {
        references(&TextFile { path: path.into(), text: text.into() })
    }

    /// Promise, line and test of each reference.
    fn shown(path: &str, text: &str) -> Vec<String> {
        let test = |it: &PromiseReference| it.test.clone().unwrap_or_else(|| "no test".into());
        let references = read(path, text);
        references.iter().map(|it| format!("{} {} {}", it.promise, it.line, test(it))).collect()
    }

    #[test]
    fn tests_are_named_with_their_modules() {
        let text = "#[cfg(test)]\nmod tests {\n    mod inner {\n    }\n    /// Promise: `a-b`\n    \
                    /// Promise: `c`\n    #[test]\n    fn it_holds() {}\n}\n";
        let test = "recto_llm::wire::frame::tests::it_holds";
        assert_eq!(
            shown("crates/recto-llm/src/wire/frame.rs", text),
            [format!("a-b 5 {test}"), format!("c 6 {test}")]
        );
        let text = "/// Words.\n/// Promise: `a`\n#[cfg(unix)]\n#[tokio::test(flavor = \"x\")]\n\
                    async fn it_holds() {\n}\n";
        assert_eq!(shown("crates/recto/tests/it/main.rs", text), ["a 2 recto::it::it_holds"]);
        assert_eq!(shown("xtask/src/docs.rs", text), ["a 2 xtask::docs::it_holds"]);
    }

    #[test]
    fn what_is_no_test_holds_nothing() {
        let text = "/// Promise: `a`\nfn helper() {}\n\n#[test]\nfn it_holds() {}\n// Promise: b\n";
        assert_eq!(shown("xtask/src/docs.rs", text), ["a 1 no test", "b 6 no test"]);
        assert!(
            shown("xtask/src/docs.rs", "//! A promise: none.\nlet a = \"Promise: `a`\";\n")
                .is_empty()
        );
    }

    #[test]
    fn the_page_lists_the_tests_behind_the_words() {
        let page =
            "# Promises\n\nWords.\n\n## Group\n\n### `a`\n\nText of a.\n\n### `b`\n\nText.\n";
        assert_eq!(promises(page), [(7, "a"), (11, "b")]);
        let text = "/// Promise: `a`\n#[test]\nfn second() {}\n\
                    /// Promise: `a`\n#[test]\nfn first() {}\n";
        let references = read("xtask/src/docs.rs", text);
        let written = with_tests(page, &references);
        let list = "\nText of a.\n\nTests:\n\n\
                    - [`xtask::docs::first`](../xtask/src/docs.rs)\n\
                    - [`xtask::docs::second`](../xtask/src/docs.rs)\n\n### `b`\n\nText.\n";
        assert!(written.ends_with(list), "{written}");
        assert_eq!(with_tests(&written, &references), written);
        assert_eq!(with_tests(&written, &[]), page);
    }
}
