//! SKILL.md, per the Agent Skills specification, read leniently: a name that
//! breaks its rules or a missing description is a warning, unknown fields are
//! ignored, a file without frontmatter is all body. `license`, `compatibility`
//! and `allowed-tools` are accepted; nothing here needs them.

use std::ffi::OsStr;
use std::path::Path;

use recto_context::{ContentSource, IncludeMode, Skill, Text};

use crate::fields::{FileReport, FrontmatterFields};
use crate::frontmatter::split_or_report;
use crate::problem::WorkspaceProblem;
use crate::programs::missing_programs;

/// The longest name that the specification allows.
const NAME_LIMIT: usize = 64;

/// The fields of the specification, and ours.
const FIELDS: [&str; 7] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools", "include"];

/// What a SKILL.md amounts to.
#[derive(Debug)]
pub(crate) enum ParsedSkill {
    /// A skill, still without its tools, and the include mode that the file itself asks for.
    Skill { skill: Skill, declared: Option<IncludeMode> },
    /// A skill of this name that needs programs which are not there.
    Lacks { name: String, programs: Vec<String> },
    /// Nothing that can be used; the report says why.
    Nothing,
}

/// Reads a SKILL.md; what is wrong with it goes into the report.
pub(crate) fn read_skill(
    content: &str,
    search_path: Option<&OsStr>,
    report: &mut FileReport<'_>,
) -> ParsedSkill {
    let path = report.path();
    let Some(file) = split_or_report(content, report) else { return ParsedSkill::Nothing };
    let fields = &file.fields;
    let name = name(fields, report);
    if let Some(metadata) = fields.get("metadata") {
        let programs = missing_programs(metadata, search_path);
        if !programs.is_empty() {
            return ParsedSkill::Lacks { name, programs };
        }
    }
    let description = fields.text("description", report);
    if description.is_none() && file.body.trim().is_empty() {
        report.add(WorkspaceProblem::warning(path, "has no text").left_out());
        return ParsedSkill::Nothing;
    }
    // Where the frontmatter has no end, that is what there is to say.
    if description.is_none() && file.open_fence.is_none() {
        let hint = "say in a sentence when to use the skill";
        report.warn_with_hint(fields.line("name"), "has no description", hint);
    }
    let mut skill = Skill::new(name, description.as_deref(), Text::from(file.body));
    let declared = fields.include(report);
    fields.warn_of_slips(&FIELDS, report);
    skill.include = declared.unwrap_or(IncludeMode::Always);
    skill.source = ContentSource::File(path.clone());
    ParsedSkill::Skill { skill, declared }
}

/// The name of a skill's folder, which is also its name by default.
pub(crate) fn folder_name(path: &Path) -> String {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    folder.to_string_lossy().into_owned()
}

/// The name, with a warning for each rule that it breaks.
fn name(fields: &FrontmatterFields<'_>, report: &mut FileReport<'_>) -> String {
    let folder = folder_name(report.path());
    let name = fields.line_of_text("name", report).unwrap_or_else(|| folder.clone());
    let line = fields.line("name");
    if name != folder {
        report.warn(line, format!("the name `{name}` differs from its folder `{folder}`"));
    }
    if name.chars().count() > NAME_LIMIT {
        report.warn(line, format!("the name has more than {NAME_LIMIT} characters"));
    }
    if !has_plain_form(&name) {
        let hint = "use lower-case letters, digits and single hyphens";
        report.warn_with_hint(line, format!("the name `{name}` is not of the usual form"), hint);
    }
    name
}

fn has_plain_form(name: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    name.split('-').all(is_plain)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(content: &str, expected: &Expect) {
        let path: Arc<Path> = Arc::from(Path::new("skills/notes/SKILL.md"));
        let mut report = FileReport::new(&path);
        let mut shown = match read_skill(content, None, &mut report) {
            ParsedSkill::Skill { skill: s, .. } => {
                format!("{} {} {:?} {:?}\n", s.name, s.include, s.description, &*s.body)
            }
            ParsedSkill::Lacks { name, programs } => format!("{name} lacks {programs:?}\n"),
            ParsedSkill::Nothing => String::from("nothing\n"),
        };
        for problem in report.problems {
            shown += &format!("{problem}\n");
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn a_skill_as_the_specification_wants_it_has_no_warnings() {
        check(
            "---\nname: notes\ndescription: Keep notes.\nlicense: MIT\ncompatibility: any\n\
             metadata:\n  author: me\nallowed-tools: Bash(git:*) Read\nversion: 3\n---\n\n# Notes\n",
            &expect![[r##"
                notes always Some("Keep notes.") "# Notes"
            "##]],
        );
    }

    /// Promise: `skill-body-whole`
    #[test]
    fn without_frontmatter_the_whole_file_is_body() {
        check(
            "# Notes\n\n---\n\nrest\n",
            &expect![[r##"
            notes always None "# Notes\n\n---\n\nrest\n"
            skills/notes/SKILL.md: has no description; say in a sentence when to use the skill
        "##]],
        );
    }

    #[test]
    fn a_description_whose_frontmatter_has_no_end_is_not_asked_for() {
        check(
            "---\nname: notes\ndescription: Keep notes.\n\n# Notes\n",
            &expect![[r##"
                notes always None "---\nname: notes\ndescription: Keep notes.\n\n# Notes\n"
                skills/notes/SKILL.md:1: the frontmatter has no end, so its fields have no effect and are text; put a line `---` behind its last field
            "##]],
        );
    }

    /// Promise: `description-parses`
    /// Promise: `skill-shows-description`
    #[test]
    fn a_description_may_hold_colons_and_dashes() {
        check(
            "---\nname: notes\ndescription: Use when: notes --- or lists\n---\nbody",
            &expect![[r#"
            notes always Some("Use when: notes --- or lists") "body"
        "#]],
        );
    }

    #[test]
    fn odd_names_are_used_with_a_warning() {
        check(
            "---\nname: My Notes\ndescription: d\n---\nbody",
            &expect![[r#"
                My Notes always Some("d") "body"
                skills/notes/SKILL.md:2: the name `My Notes` differs from its folder `notes`
                skills/notes/SKILL.md:2: the name `My Notes` is not of the usual form; use lower-case letters, digits and single hyphens
            "#]],
        );
        let long = "n".repeat(65);
        check(
            &format!("---\nname: {long}\ndescription: d\n---\nbody"),
            &expect![[r#"
            nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn always Some("d") "body"
            skills/notes/SKILL.md:2: the name `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` differs from its folder `notes`
            skills/notes/SKILL.md:2: the name has more than 64 characters
        "#]],
        );
    }

    #[test]
    fn the_include_mode_is_read() {
        check(
            "---\ndescription: d\ninclude: agent\n---\nbody",
            &expect![[r#"
            notes agent Some("d") "body"
        "#]],
        );
        check(
            "---\ndescription: d\ninclude: never\n---\nbody",
            &expect![[r#"
            notes always Some("d") "body"
            skills/notes/SKILL.md:3: unknown include mode `never`; known are always, manual, agent
        "#]],
        );
    }

    #[test]
    fn a_skill_that_lacks_programs_says_which() {
        check(
            "---\ndescription: d\nmetadata: {\"openclaw\": {\"requires\": {\"bins\": [\"gone\"]}}}\n---\nb",
            &expect![[r#"
                notes lacks ["gone"]
            "#]],
        );
    }

    #[test]
    fn an_empty_file_is_no_skill() {
        check(
            "",
            &expect![[r#"
            nothing
            skills/notes/SKILL.md: has no text
        "#]],
        );
        check(
            "---\nname: notes\n---\n",
            &expect![[r#"
            nothing
            skills/notes/SKILL.md: has no text
        "#]],
        );
    }

    #[test]
    fn broken_yaml_is_no_skill() {
        check(
            "---\nname: notes\nmetadata: {a: [}\n---\nbody",
            &expect![[r#"
                nothing
                skills/notes/SKILL.md:3: the frontmatter is not YAML: mismatched bracket '[' closed by '}'
            "#]],
        );
    }
}
