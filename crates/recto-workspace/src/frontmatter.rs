//! Frontmatter: the YAML block between two `---` lines at the top of a file.
//!
//! A fence is a whole line. So a `---` inside a value ends nothing, a rule
//! further down in a file without frontmatter starts nothing, and prose
//! between two rules stays prose. Blank lines may stand before the first fence;
//! behind them only what surely is a block of fields counts as frontmatter.
//! What the fields mean is not decided here.

use serde_json::{Map, Value};
use serde_saphyr::{DuplicateKeyPolicy, MessageFormatter, UserMessageFormatter};

use crate::fields::{FileReport, FrontmatterFields};
use crate::lenient::{looks_like_fields, quote_plain_values};

/// A file in two parts: the fields of its frontmatter, and its body.
#[derive(Debug)]
pub(crate) struct FrontmatterFile<'a> {
    pub fields: FrontmatterFields<'a>,
    /// What follows the frontmatter, trimmed; the whole content, as it is,
    /// when there is no frontmatter.
    pub body: &'a str,
    /// The line of a fence behind which fields stand that no second fence ends: they are text.
    pub open_fence: Option<usize>,
}

/// Frontmatter that is no YAML, even when read leniently.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BrokenYaml {
    /// The line of the file, from 1.
    pub line: usize,
    pub what: String,
}

/// SKILL.md without its frontmatter: what follows the block, trimmed, or the
/// content unchanged when it has none.
///
/// ```
/// use recto_workspace::strip_skill_frontmatter;
///
/// assert_eq!(strip_skill_frontmatter("---\nname: a\n---\n\n# A\n"), "# A");
/// assert_eq!(strip_skill_frontmatter("# A\n\n---\n\nmore\n"), "# A\n\n---\n\nmore\n");
/// ```
pub fn strip_skill_frontmatter(content: &str) -> &str {
    match (split_frontmatter(content), fenced(content)) {
        (Ok(file), _) => file.body,
        (Err(_), Some(fenced)) => fenced.rest.trim(),
        (Err(_), None) => content,
    }
}

/// Parts a file into frontmatter and body; `None` when that is broken, and the report
/// says so. It says, too, where fields are text because nothing ends them.
pub(crate) fn split_or_report<'a>(
    content: &'a str,
    report: &mut FileReport<'_>,
) -> Option<FrontmatterFile<'a>> {
    let file = split_frontmatter(content)
        .map_err(|broken| report.refuse(broken.line, broken.what))
        .ok()?;
    warn_of_text_that_looks_like_fields(content, &file, report);
    file.fields.warn_of_repeats(report);
    if file.open_fence.is_some() {
        let what = "the frontmatter has no end, so its fields have no effect and are text";
        report.ignore(file.open_fence, what, "put a line `---` behind its last field");
    }
    Some(file)
}

/// Fields that a person writes into files of the workspace, whatever their kind.
const USUAL_FIELDS: [&str; 6] =
    ["name", "description", "priority", "include", "alwaysApply", "allowed-tools"];

/// Warns where a block between two fences at the top of a file is text, because it is no YAML of
/// fields, and one of its lines looks like a field that has an effect elsewhere.
fn warn_of_text_that_looks_like_fields(
    content: &str,
    file: &FrontmatterFile<'_>,
    report: &mut FileReport<'_>,
) {
    // Only the whole content is a body that nothing was taken off.
    if file.body.len() < content.len() {
        return;
    }
    let Some(FencedBlock { block, first_line, .. }) = fenced(content) else { return };
    if let Some(at) = block.lines().position(looks_like_usual_field) {
        let what = "the lines between the two `---` are no fields, so they have no effect and are \
                    text";
        let hint = "a field is `name: value` at the beginning of a line, with a blank behind the \
                    colon";
        report.ignore(Some(first_line + at), what, hint);
    }
}

fn looks_like_usual_field(line: &str) -> bool {
    let key =
        line.trim_start_matches(['-', ' ', '\t']).split_once(':').map(|(key, _)| key.trim_end());
    key.is_some_and(|key| USUAL_FIELDS.contains(&key))
}

/// Parts a file into frontmatter and body.
pub(crate) fn split_frontmatter(content: &str) -> Result<FrontmatterFile<'_>, BrokenYaml> {
    let bare =
        FrontmatterFile { fields: FrontmatterFields::default(), body: content, open_fence: None };
    let Some(FencedBlock { block, first_line, rest }) = fenced(content) else {
        return Ok(FrontmatterFile { open_fence: find_open_fence(content), ..bare });
    };
    let is_at_top = first_line == FIRST_LINE;
    let values = match parse_block(block) {
        Ok(values) => values.filter(|values| is_at_top || !values.is_empty()),
        Err(broken) if is_at_top => return Err(broken),
        Err(_) => None,
    };
    Ok(values.map_or(bare, |values| FrontmatterFile {
        fields: FrontmatterFields::new(block, first_line, values),
        body: rest.trim(),
        open_fence: None,
    }))
}

/// The line of the fence at the top of a file without a second one, if what follows it was meant
/// as fields. A rule at the top, with a heading or prose behind it, is no such fence.
fn find_open_fence(content: &str) -> Option<usize> {
    let content = content.strip_prefix('\u{feff}').unwrap_or(content);
    let is_blank = |line: &&str| line.trim().is_empty();
    let (at, _) = content
        .lines()
        .enumerate()
        .find(|(_, line)| !is_blank(line))
        .filter(|(_, line)| is_fence(line))?;
    // Up to the next blank line: further down, `Note: this` is prose under a heading.
    let behind = content.lines().skip(at + 1).skip_while(is_blank);
    let first: Vec<&str> = behind.take_while(|line| !is_blank(line)).collect();
    looks_like_fields(&first.join("\n")).then_some(at + 1)
}

/// Where a block begins when its fence is at the top of the file.
const FIRST_LINE: usize = 2;

/// A file whose first lines with content are between two fences.
struct FencedBlock<'a> {
    block: &'a str,
    /// The line of the file, from 1, on which the block begins.
    first_line: usize,
    /// The text behind the second fence.
    rest: &'a str,
}

fn fenced(content: &str) -> Option<FencedBlock<'_>> {
    let content = content.strip_prefix('\u{feff}').unwrap_or(content);
    let mut end = 0;
    let mut lines = content.split_inclusive('\n').map(|line| {
        end += line.len();
        (line, end)
    });
    let (blank_lines, (first, start)) =
        lines.by_ref().enumerate().find(|(_, (line, _))| !line.trim().is_empty())?;
    if !is_fence(first) {
        return None;
    }
    let (last, end) = lines.find(|(line, _)| is_fence(line))?;
    Some(FencedBlock {
        block: &content[start..end - last.len()],
        first_line: blank_lines + FIRST_LINE,
        rest: &content[end..],
    })
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

/// The fields of a block; `None` when it is prose.
fn parse_block(block: &str) -> Result<Option<Map<String, Value>>, BrokenYaml> {
    let error = match parse_yaml(block) {
        Ok(Value::Object(values)) => return Ok(Some(values)),
        Ok(Value::Null) => return Ok(Some(Map::new())),
        Ok(_) => return Ok(None),
        Err(_) if !looks_like_fields(block) => return Ok(None),
        Err(error) => error,
    };
    match parse_yaml(&quote_plain_values(block)) {
        Ok(Value::Object(values)) => Ok(Some(values)),
        // The first error is about the text as the person wrote it.
        _ => Err(BrokenYaml::new(&error, block)),
    }
}

/// Limits far beyond any frontmatter stop aliases that unfold without end.
/// A key given twice is no reason to refuse a file: the last one counts.
fn parse_yaml(block: &str) -> Result<Value, serde_saphyr::Error> {
    let block = block.replace("\r\n", "\n");
    if block.lines().all(is_blank_or_comment) {
        return Ok(Value::Null);
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 32,
            max_events: 20_000,
            max_nodes: 10_000,
            max_aliases: 100,
            max_anchors: 100,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000 },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(&block, options)
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

impl BrokenYaml {
    /// Only a block at the top of its file is ever called broken.
    fn new(error: &serde_saphyr::Error, block: &str) -> Self {
        let in_block = error.location().map_or(1, |location| location.line());
        let in_block = line_in_block(block, usize::try_from(in_block).unwrap_or(usize::MAX));
        let message = UserMessageFormatter.format_message(error);
        BrokenYaml {
            line: in_block + FIRST_LINE - 1,
            what: format!("the frontmatter is not YAML: {message}"),
        }
    }
}

/// The line of a block, from 1, in which a line of YAML begins: to YAML a carriage return by itself
/// ends a line, and to people and editors it does not.
fn line_in_block(block: &str, yaml_line: usize) -> usize {
    let block = block.replace("\r\n", "\n");
    let begins = block.match_indices(['\n', '\r']).map(|(at, _)| at + 1);
    let begin = begins.take(yaml_line.saturating_sub(1)).last().unwrap_or_default();
    1 + block[..begin].matches('\n').count()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use expect_test::{Expect, expect};

    use super::*;

    /// Shows the fields as JSON and the body as a Rust string.
    #[track_caller]
    fn check(content: &str, expected: &Expect) {
        let shown = match split_frontmatter(content) {
            Ok(file) => format!("{}\n{:?}", file.fields.to_json(), file.body),
            Err(broken) => format!("line {}: {}", broken.line, broken.what),
        };
        expected.assert_eq(&shown);
    }

    /// A rule in the body starts no frontmatter.
    /// Promise: `skill-body-whole`
    #[test]
    fn a_file_without_frontmatter_keeps_its_whole_body() {
        check(
            "# Title\n\n---\n\nmore\n\n---\n",
            &expect![[r##"
            {}
            "# Title\n\n---\n\nmore\n\n---\n""##]],
        );
        check(
            " ---\nname: a\n---\n",
            &expect![[r#"
            {}
            " ---\nname: a\n---\n""#]],
        );
    }

    #[test]
    fn lines_are_those_that_people_count() {
        let lines = |block| [1, 2, 3, 9].map(|line| line_in_block(block, line));
        assert_eq!(lines("a\nb\nc"), [1, 2, 3, 3]);
        assert_eq!(lines("a\r\nb\r\nc"), [1, 2, 3, 3]);
        assert_eq!(lines("a\rb\nc\r\r"), [1, 1, 2, 2]);
    }

    #[test]
    fn a_fence_that_is_never_closed_is_text() {
        check(
            "---\nname: a\n\nbody\n",
            &expect![[r#"
            {}
            "---\nname: a\n\nbody\n""#]],
        );
        check(
            "---",
            &expect![[r#"
            {}
            "---""#]],
        );
        assert_eq!(strip_skill_frontmatter("---\nname: a\n"), "---\nname: a\n");
    }

    /// Promise: `typos-are-told`
    #[test]
    fn fields_that_nothing_ends_are_told_with_the_line_of_their_fence() {
        let told = |content: &str| {
            let path: Arc<Path> = Arc::from(Path::new("a.md"));
            let mut report = FileReport::new(&path);
            assert_eq!(split_or_report(content, &mut report).unwrap().body, content);
            report.problems.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        for (content, line) in [
            ("---\ndescription: x\ninclude: always\nNo end.\n", 1),
            ("---\r\ninclude: always\r\n\r\nNo end.\r\n", 1),
            ("\u{feff}---\n# a comment\ninclude: always\n", 1),
            ("\n\n---\n\nname:\n", 3),
            ("---\ninclude: always\n ---\nIndented.\n", 1),
        ] {
            let words = "the frontmatter has no end, so its fields have no effect and are text; \
                         put a line `---` behind its last field";
            assert_eq!(told(content), [format!("a.md:{line}: {words}")], "{content:?}");
        }
        for content in [
            "---",
            "---\n\nJust words.\n",
            "---\n# A title\n\nNote: a word.\n",
            "---\n- a: list\n",
            "---\nSee https://example.org\n",
            " ---\nname: a\n",
            "Text.\n---\nname: a\n",
        ] {
            assert_eq!(told(content), [""; 0], "{content:?}");
        }
    }

    /// Promise: `typos-are-told`
    #[test]
    fn fields_that_are_text_are_told_with_their_line() {
        let told = |content: &str| {
            let path: Arc<Path> = Arc::from(Path::new("a.md"));
            let mut report = FileReport::new(&path);
            let file = split_or_report(content, &mut report).unwrap();
            (file.body.to_owned(), report.problems.iter().map(ToString::to_string).collect())
        };
        for (block, line) in [
            ("include:always", 2),
            ("<<: *x\ninclude: always", 3),
            ("- include: always", 2),
            ("%YAML 9.9\ninclude: always", 3),
            ("Some words.\n  name : x", 3),
        ] {
            let content = format!("---\n{block}\n---\nBody.\n");
            let (body, problems): (_, Vec<String>) = told(&content);
            assert_eq!(body, content);
            let [problem] = &problems[..] else { panic!("{content:?}: {problems:?}") };
            assert!(problem.starts_with(&format!("a.md:{line}: the lines between")), "{problem}");
        }
        for content in [
            "---\nJust words: all.\n---\nmore\n",
            "---\n- a list\n---\nname: a\n",
            "---\n---\ninclude:always\n",
            "# Title\n---\ninclude:always\n---\n",
            "---\nname: a\n---\ninclude:always\n",
        ] {
            assert_eq!(told(content).1, [""; 0], "{content:?}");
        }
    }

    /// Promise: `typos-are-told`
    #[test]
    fn a_field_that_stands_twice_is_told() {
        let path: Arc<Path> = Arc::from(Path::new("a.md"));
        let mut report = FileReport::new(&path);
        let content = "---\ninclude: always\nname: a\ninclude: manual\n---\ninclude: x\n";
        split_or_report(content, &mut report).unwrap();
        let problems: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
        let told = "a.md:4: `include` stands there twice, and this one counts; take one out";
        assert_eq!(problems, [told]);
    }

    #[test]
    fn prose_between_two_rules_is_text() {
        check(
            "---\nJust some words.\n---\nmore\n",
            &expect![[r#"
            {}
            "---\nJust some words.\n---\nmore\n""#]],
        );
        check(
            "---\n- a list\n- of things\n---\nmore\n",
            &expect![[r#"
            {}
            "---\n- a list\n- of things\n---\nmore\n""#]],
        );
        check(
            "---\n*bold: claim* and `tick`\n---\nmore\n",
            &expect![[r#"
            {}
            "---\n*bold: claim* and `tick`\n---\nmore\n""#]],
        );
    }

    #[test]
    fn the_body_is_what_follows_the_closing_fence() {
        check(
            "---\nname: a\n---\n\n# A\n\n---\n\nb\n",
            &expect![[r##"
            {"name":"a"}
            "# A\n\n---\n\nb""##]],
        );
        check(
            "---  \nname: a\n---\t\nbody",
            &expect![[r#"
            {"name":"a"}
            "body""#]],
        );
        check(
            "---\nname: a\n---",
            &expect![[r#"
            {"name":"a"}
            """#]],
        );
        check(
            "---\n---\nbody",
            &expect![[r#"
            {}
            "body""#]],
        );
        check(
            "---\n# only a comment\n---\nbody",
            &expect![[r#"
            {}
            "body""#]],
        );
    }

    #[test]
    fn blank_lines_may_stand_before_the_first_fence() {
        for blank in ["\n", "\r\n \t\r\n", "\u{feff}\n\n"] {
            let content = format!("{blank}---\nname: a\nuse: when: b\n---\n\nbody\n");
            check(
                &content,
                &expect![[r#"
                    {"name":"a","use":"when: b"}
                    "body""#]],
            );
            assert_eq!(strip_skill_frontmatter(&content), "body");
        }
    }

    /// What is no mapping is text, whole.
    /// Promise: `skill-body-whole`
    #[test]
    fn behind_blank_lines_only_a_mapping_is_frontmatter() {
        for block in ["Just some words.", "- a list", "# A title", "", "a: [1", "*a: b*", "5"] {
            let content = format!("\n\n---\n{block}\n---\nmore\n");
            let file = split_frontmatter(&content).unwrap();
            assert_eq!((&*file.fields.to_json(), file.body), ("{}", &*content));
            assert_eq!(strip_skill_frontmatter(&content), content);
        }
        for content in ["\n---\nname: a\n", "\n ---\nname: a\n---\n", "\nx\n---\na: b\n---\n", "\n"]
        {
            assert_eq!(split_frontmatter(content).unwrap().body, content);
        }
    }

    #[test]
    fn windows_line_ends_are_line_ends() {
        check(
            "---\r\nname: a\r\ndescription: b\r\n---\r\n\r\nbody\r\n",
            &expect![[r#"
            {"name":"a","description":"b"}
            "body""#]],
        );
        check(
            "---\r\ndescription: Use when: b\r\nname: a\r\n---\r\nbody\r\n",
            &expect![[r#"
            {"description":"Use when: b","name":"a"}
            "body""#]],
        );
    }

    /// Promise: `description-parses`
    #[test]
    fn dashes_and_colons_in_a_description_parse() {
        check(
            "---\ndescription: one --- two\n---\nbody",
            &expect![[r#"
            {"description":"one --- two"}
            "body""#]],
        );
        check(
            "---\ndescription: Use when: x --- y # z\nname: a\n---\nbody",
            &expect![[r#"
            {"description":"Use when: x --- y # z","name":"a"}
            "body""#]],
        );
        check(
            "---\nglobs: *.ts, *.tsx\nalwaysApply: true # yes\n---\nbody",
            &expect![[r#"
            {"globs":"*.ts, *.tsx","alwaysApply":"true"}
            "body""#]],
        );
        check(
            "---\ndescription: Use when: x,\n  or when: y\npriority: 7\n---\nbody",
            &expect![[r#"
            {"description":"Use when: x, or when: y","priority":7}
            "body""#]],
        );
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        check(
            "---\nname: a\nname: b\n---\n",
            &expect![[r#"
            {"name":"b"}
            """#]],
        );
    }

    #[test]
    fn broken_yaml_is_reported_at_its_line_in_the_file() {
        check(
            "---\nname: a\nmetadata:\n  x: [1, 2\n---\nbody",
            &expect!["line 4: the frontmatter is not YAML: unclosed bracket '['"],
        );
        check(
            "---\nname: \"a\n---\nbody",
            &expect![
                "line 3: the frontmatter is not YAML: invalid indentation in multiline quoted scalar"
            ],
        );
        check(
            "---\nname: a\n\tbad: tab\n---\nbody",
            &expect![
                "line 2: the frontmatter is not YAML: while scanning a plain scalar, found a tab"
            ],
        );
    }

    #[test]
    fn words_that_mean_yes_in_old_yaml_stay_words() {
        check(
            "---\nname: yes\ndescription: 12\nflag: true\n---\n",
            &expect![[r#"
            {"name":"yes","description":12,"flag":true}
            """#]],
        );
    }

    /// Promise: `input-never-runs-on`
    #[test]
    fn aliases_that_unfold_without_end_are_refused() {
        let mut block = String::from("metadata:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let below = level - 1;
            let aliases = vec![format!("*a{below}"); 10].join(", ");
            block += &format!("  a{level}: &a{level} [{aliases}]\n");
        }
        let content = format!("---\n{block}---\nbody");
        assert!(split_frontmatter(&content).is_err());
        assert_eq!(strip_skill_frontmatter(&content), "body");
    }

    proptest::proptest! {
        /// Promise: `cuts-keep-characters`
        #[test]
        fn no_text_makes_the_parser_panic(content in "\n{0,2}(---\n)?[-a-c: #\"'\\[\\]{}|>&*!\n\r\té€😀]{0,60}(\n---\n)?.{0,10}") {
            let _ = split_frontmatter(&content);
            let body = strip_skill_frontmatter(&content);
            proptest::prop_assert!(content.contains(body));
        }
    }
}
