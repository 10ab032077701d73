//! What has to hold of an agent's files whatever bytes come, for fuzzing and for the tests that
//! go over its inputs. Built for these alone.

use std::path::Path;
use std::sync::Arc;

use recto_context::ToolSpec;
use serde_json::Value;

use crate::document::read_document;
use crate::fields::FileReport;
use crate::frontmatter::split_frontmatter;
use crate::problem::WorkspaceProblem;
use crate::skill::read_skill;
use crate::strip_skill_frontmatter;
use crate::tools_json::read_tools;

pub use crate::memories::fuzzing::check_memories;

/// Frontmatter: the body is a part of the file, problems are on lines that it has, and values
/// that were written in quotes come back as they were.
pub fn check_frontmatter(data: &[u8]) {
    let content = String::from_utf8_lossy(data);
    let body = strip_skill_frontmatter(&content);
    assert!(is_within(body, &content), "{body:?} is no part of {content:?}");
    match split_frontmatter(&content) {
        Ok(file) => assert_eq!(file.body, body),
        Err(broken) => check_line(broken.line, &content),
    }
    for name in ["skills/a/SKILL.md", "rules/a.mdc"] {
        let path: Arc<Path> = Path::new(name).into();
        let mut report = FileReport::new(&path);
        read_skill(&content, None, &mut report);
        read_document(&content, &mut report);
        check_problems(&report.problems, &content);
    }
    let mut texts = data.split(|byte| *byte == 0xff).map(String::from_utf8_lossy);
    let mut text = || texts.next().unwrap_or_default().into_owned();
    check_quoted(&text(), &text(), &text());
}

/// A file whose fields are strings in quotes is read as these strings.
fn check_quoted(name: &str, description: &str, body: &str) {
    // Quotes of JSON are YAML's, but for what YAML calls unprintable.
    let is_plain = |text: &str| text.chars().all(|c| !c.is_control() && c < '\u{7f}');
    if !is_plain(name) || !is_plain(description) {
        return;
    }
    let (quoted, described) = (Value::from(name), Value::from(description));
    let content = format!("---\nname: {quoted}\ndescription: {described}\n---\n{body}");
    let Ok(file) = split_frontmatter(&content) else { panic!("{content:?} is refused") };
    assert_eq!(file.fields.get("name"), Some(&quoted), "{content:?}");
    assert_eq!(file.fields.get("description"), Some(&described), "{content:?}");
    assert_eq!(file.body, body.trim(), "{content:?}");
}

/// The tools that a tools.json tells models of: no two of a name, names that servers take,
/// problems on lines that the file has, and the same whatever the blanks between.
pub fn check_tools_json(data: &[u8]) {
    let content = String::from_utf8_lossy(data);
    let tools = read(&content);
    let mut names: Vec<&str> = tools.iter().map(|tool| &*tool.id.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), tools.len(), "two tools have one name in {content:?}");
    let takes = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    assert!(names.iter().all(|name| name.len() <= 64 && name.bytes().all(takes)), "{names:?}");
    assert!(tools.iter().all(|tool| tool.parameters.is_object()));
    if let Ok(value) = serde_json::from_str::<Value>(&content) {
        let told = |text: &str| -> Vec<String> {
            read(text).iter().map(|tool| tool.schema.to_string()).collect()
        };
        let (plain, airy) = (value.to_string(), format!("{value:#}"));
        assert_eq!(told(&plain), told(&airy), "{plain}");
    }
}

fn read(content: &str) -> Vec<ToolSpec> {
    let path: Arc<Path> = Path::new("tools.json").into();
    let mut report = FileReport::new(&path);
    let tools = read_tools(content, &mut report);
    check_problems(&report.problems, content);
    let at_line = |problem: &WorkspaceProblem| problem.line.is_some();
    assert!(report.problems.iter().all(at_line), "{:?}", report.problems);
    tools
}

fn check_problems(problems: &[WorkspaceProblem], content: &str) {
    for problem in problems {
        problem.line.into_iter().for_each(|line| check_line(line, content));
        assert!(!problem.to_string().contains('\n'), "{problem:?} draws a line of its own");
    }
}

fn check_line(line: usize, content: &str) {
    let count = content.split('\n').count();
    assert!((1..=count).contains(&line), "line {line} of {count} in {content:?}");
}

fn is_within(part: &str, whole: &str) -> bool {
    let (start, end) = (whole.as_ptr().addr(), whole.as_ptr().addr() + whole.len());
    (start..=end).contains(&part.as_ptr().addr()) && part.as_ptr().addr() + part.len() <= end
}

#[cfg(test)]
mod tests {
    use recto_fakes::fuzz_inputs;

    use super::*;

    #[test]
    fn every_input_that_was_kept_holds() {
        fuzz_inputs("frontmatter").iter().for_each(|(_, input)| check_frontmatter(input));
        fuzz_inputs("tools_json").iter().for_each(|(_, input)| check_tools_json(input));
        fuzz_inputs("memories").iter().for_each(|(_, input)| check_memories(input));
    }
}
