//! String literals that give away knowledge which belongs to one crate.

use super::TidyProblem;
use crate::code::SourceLine;
use crate::project::TextFile;

/// How statements begin that only the store may make.
const SQL: [&str; 4] = ["SELECT ", "INSERT ", "DELETE FROM ", "CREATE TABLE "];

/// Keys of vendors' requests.
const VENDOR_KEYS: [&str; 2] = ["num_ctx", "tool_choice"];

/// Problems with the literals in `lines`. The checks themselves have to name
/// what they look for, so `xtask` is left out.
pub(super) fn check(file: &TextFile, lines: &[SourceLine]) -> Vec<TidyProblem> {
    if file.crate_name() == "xtask" {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for line in lines {
        for literal in &line.strings {
            let what = misplaced(file, literal);
            problems.extend(what.map(|what| TidyProblem::new(&file.path, line.number, what)));
        }
    }
    problems
}

fn misplaced(file: &TextFile, literal: &str) -> Option<String> {
    let statement = literal.trim_start();
    if SQL.iter().any(|start| statement.starts_with(start)) && file.crate_name() != "recto-store" {
        return Some("SQL belongs in `recto-store`".into());
    }
    if VENDOR_KEYS.contains(&literal) && !may_name_vendor_keys(file) {
        return Some(format!("\"{literal}\" is vendors' JSON and belongs in `recto-llm`"));
    }
    if names_command(literal) && file.crate_name() != "recto" {
        return Some("commands are said by the surface that has them: return a `Remedy`".into());
    }
    None
}

/// Whether a text tells people to type a command of Recto.
fn names_command(literal: &str) -> bool {
    let is_command = |rest: &str| rest.starts_with([' ', '\\', '\n']);
    literal.split("`recto").skip(1).any(is_command)
}

/// Fakes speak as the vendors do. The report and the record show a request's
/// tool choice under the same name.
fn may_name_vendor_keys(file: &TextFile) -> bool {
    matches!(file.crate_name(), "recto-llm" | "recto-fakes")
        || file.path == "crates/recto-context/src/report.rs"
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
    fn commands_are_said_by_the_surface_that_has_them() {
        let text = "//! A.\nlet hint = \"run `recto init`\";\n";
        assert_eq!(problems("crates/recto-agent/src/a.rs", text), [2]);
        let broken = "//! A.\nlet hint = \"run `recto \\\n    init`\";\n";
        assert_eq!(problems("crates/recto-llm/src/a.rs", broken), [2]);
        assert!(problems("crates/recto/src/a.rs", text).is_empty());
        let name = "//! A.\n/// See `recto init`.\nlet name = \"`recto-llm`\";\n";
        assert!(problems("crates/recto-agent/src/a.rs", name).is_empty());
    }

    #[test]
    fn sql_lives_in_the_store() {
        let text = "//! A.\nlet rows = query(\"SELECT id FROM turns\");\n";
        assert_eq!(problems("crates/recto-agent/src/a.rs", text), [2]);
        assert!(problems("crates/recto-store/src/a.rs", text).is_empty());
        let raw = "let a = r#\"\n    INSERT INTO turns\n\"#;\n";
        assert_eq!(problems("crates/recto/src/a.rs", raw), [1]);
        assert!(problems("crates/recto/src/a.rs", "let a = \"SELECTED\";\n").is_empty());
    }

    #[test]
    fn vendors_keys_live_in_llm() {
        let text = "json!({ \"num_ctx\": 8192 });\n";
        assert_eq!(problems("crates/recto-agent/src/a.rs", text), [1]);
        assert!(problems("crates/recto-llm/src/a.rs", text).is_empty());
        assert!(problems("crates/recto-context/src/report.rs", text).is_empty());
        let test = "#[cfg(test)]\nmod tests {\n    const A: &str = \"num_ctx\";\n}\n";
        assert!(problems("crates/recto-agent/src/a.rs", test).is_empty());
    }
}
