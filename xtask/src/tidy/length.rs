//! Files and functions that have grown too long to be read in one go.
//!
//! Functions are measured by indentation: rustfmt puts a function's last brace
//! under its first letter.

use super::TidyProblem;
use crate::code::SourceLine;
use crate::project::TextFile;

const MOST_LINES_IN_FILE: usize = 900;
const MOST_LINES_IN_FUNCTION: usize = 120;

/// Problems with the length of the file, and of its functions.
pub(super) fn check(file: &TextFile, lines: &[SourceLine]) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    if lines.len() > MOST_LINES_IN_FILE {
        let what = format!("{} lines in a file; {MOST_LINES_IN_FILE} are enough", lines.len());
        problems.push(TidyProblem::new(&file.path, 1, what));
    }
    for (start, first) in lines.iter().enumerate().filter(|(_, line)| begins_function(line)) {
        let length = function_length(&lines[start..]);
        if length > MOST_LINES_IN_FUNCTION {
            let what = format!("{length} lines in a function; {MOST_LINES_IN_FUNCTION} are enough");
            problems.push(TidyProblem::new(&file.path, first.number, what));
        }
    }
    problems
}

/// Whether the words before `fn` are only those that may stand there.
fn begins_function(line: &SourceLine) -> bool {
    let modifier = |word: &str| {
        matches!(word, "pub" | "const" | "async" | "unsafe" | "extern" | "\"\"")
            || word.starts_with("pub(")
    };
    line.code.split_whitespace().find(|word| !modifier(word)) == Some("fn")
}

/// Lines up to the first that closes the function, or ends its signature when
/// it has no body.
fn function_length(lines: &[SourceLine]) -> usize {
    let indent = lines[0].indent();
    let last = lines
        .iter()
        .position(|line| line.indent() == indent && line.code.trim_end().ends_with(['}', ';']));
    last.map_or(lines.len(), |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::outside_tests;

    fn problems(text: &str) -> Vec<String> {
        let file = TextFile { path: "a.rs".into(), text: text.into() };
        check(&file, &outside_tests(&file.text)).iter().map(ToString::to_string).collect()
    }

    fn function(lines: usize) -> String {
        format!(
            "    pub(crate) async fn a(\n    ) {{\n{}    }}\n",
            "        a();\n".repeat(lines - 3)
        )
    }

    #[test]
    fn a_long_function_is_found() {
        assert!(problems(&function(120)).is_empty());
        let text = format!("impl A {{\n{}}}\n", function(121));
        assert_eq!(problems(&text), ["a.rs:2: 121 lines in a function; 120 are enough"]);
    }

    #[test]
    fn a_signature_without_body_ends() {
        let text =
            format!("    fn a(\n        b: u8,\n    );\n{}", "    const A: u8 = 1;\n".repeat(130));
        assert!(problems(&text).is_empty());
    }

    #[test]
    fn a_long_file_is_found_but_tests_are_not_counted() {
        let code = "const A: u8 = 1;\n";
        assert!(problems(&code.repeat(900)).is_empty());
        assert_eq!(problems(&code.repeat(901)), ["a.rs:1: 901 lines in a file; 900 are enough"]);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    a!();\n".repeat(901));
        assert!(problems(&tests).is_empty());
    }
}
