//! Rules and references: Markdown files with a little frontmatter, also in
//! Cursor's `.mdc` form. Its `globs` are accepted and ignored: nothing here
//! knows which files a conversation is about.

use std::path::Path;

use recto_context::{CatalogDocument, ContentSource, IncludeMode, Text};

use crate::fields::{FileReport, FrontmatterFields};
use crate::frontmatter::split_or_report;
use crate::problem::WorkspaceProblem;

/// The fields that mean something here, or to Cursor.
const FIELDS: [&str; 6] = ["name", "description", "priority", "include", "alwaysApply", "globs"];

/// A rule or a reference, as its file has it.
#[derive(Debug)]
pub(crate) struct ParsedDocument {
    /// Its include mode is the usual one for its kind where the file has none.
    pub document: CatalogDocument,
    /// The include mode that the file itself asks for.
    pub declared: Option<IncludeMode>,
}

/// Reads a rule or a reference. `None` when it cannot be used; the report says why.
pub(crate) fn read_document(content: &str, report: &mut FileReport<'_>) -> Option<ParsedDocument> {
    let path = report.path();
    let file = split_or_report(content, report)?;
    let body = file.body.trim();
    if body.is_empty() {
        report.add(WorkspaceProblem::warning(path, "has no text").left_out());
        return None;
    }
    let fields = &file.fields;
    let name = fields.line_of_text("name", report).unwrap_or_else(|| stem(path));
    let description = fields.text("description", report);
    let declared =
        fields.include(report).or_else(|| cursor_include(path, fields, description.as_deref()));
    fields.warn_of_slips(&FIELDS, report);
    let document = CatalogDocument {
        name: name.into(),
        description: description.map(Into::into),
        priority: fields.priority(report).unwrap_or_default(),
        include: declared.unwrap_or(IncludeMode::Manual),
        text: Text::from(body),
        source: ContentSource::File(path.clone()),
    };
    Some(ParsedDocument { document, declared })
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// What Cursor would do with a `.mdc` file.
fn cursor_include(
    path: &Path,
    fields: &FrontmatterFields<'_>,
    description: Option<&str>,
) -> Option<IncludeMode> {
    let is_cursors = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("mdc"));
    is_cursors.then_some(if fields.is_true("alwaysApply") {
        IncludeMode::Always
    } else if description.is_some() {
        IncludeMode::Agent
    } else {
        IncludeMode::Manual
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(file: &str, content: &str, expected: &Expect) {
        let path: Arc<Path> = Arc::from(Path::new(file));
        let mut report = FileReport::new(&path);
        let mut shown = match read_document(content, &mut report) {
            Some(ParsedDocument { document: d, .. }) => format!(
                "{} {} {} {:?} {:?}\n",
                d.name, d.priority, d.include, d.description, &*d.text
            ),
            None => String::from("left out\n"),
        };
        for problem in report.problems {
            shown += &format!("{problem}\n");
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn a_plain_file_is_manual_and_named_after_itself() {
        check(
            "rules/tone.md",
            "\nBe kind.\n",
            &expect![[r#"
            tone 500 manual None "Be kind."
        "#]],
        );
    }

    #[test]
    fn its_fields_are_read() {
        check(
            "rules/tone.md",
            "---\nname: Tone\ndescription: how to talk\npriority: 7\ninclude: agent\n---\nBe kind.\n",
            &expect![[r#"
                Tone 007 agent Some("how to talk") "Be kind."
            "#]],
        );
    }

    #[test]
    fn cursor_fields_decide_only_in_mdc_files_and_only_without_include() {
        let always = "---\ndescription: d\nglobs: *.ts\nalwaysApply: true\n---\nx";
        check(
            "r/a.mdc",
            always,
            &expect![[r#"
            a 500 always Some("d") "x"
        "#]],
        );
        check(
            "r/a.md",
            always,
            &expect![[r#"
            a 500 manual Some("d") "x"
        "#]],
        );
        check(
            "r/b.mdc",
            "---\ndescription: d\nglobs:\nalwaysApply: false\n---\nx",
            &expect![[r#"
            b 500 agent Some("d") "x"
        "#]],
        );
        check(
            "r/c.mdc",
            "---\ndescription:\nglobs: src/**\n---\nx",
            &expect![[r#"
            c 500 manual None "x"
        "#]],
        );
        check(
            "r/d.mdc",
            "---\ninclude: manual\nalwaysApply: true\n---\nx",
            &expect![[r#"
            d 500 manual None "x"
        "#]],
        );
    }

    #[test]
    fn bad_values_are_warnings_and_defaults_are_used() {
        check(
            "r/a.md",
            "---\npriority: 1000\ninclude: often\n---\nx",
            &expect![[r#"
            a 500 manual None "x"
            r/a.md:3: unknown include mode `often`; known are always, manual, agent
            r/a.md:2: `1000` is not a priority; a whole number from 0 to 999 is
        "#]],
        );
    }

    #[test]
    fn a_slip_in_a_field_is_told() {
        check(
            "r/a.md",
            "---\ninlcude: always\ntags: [x]\n---\nx",
            &expect![[r#"
            a 500 manual None "x"
            r/a.md:2: unknown field `inlcude`, which has no effect; did you mean `include`?
        "#]],
        );
    }

    #[test]
    fn an_empty_body_leaves_the_file_out() {
        check(
            "r/a.md",
            "",
            &expect![[r#"
            left out
            r/a.md: has no text
        "#]],
        );
        check(
            "r/a.md",
            "---\nname: a\n---\n \n",
            &expect![[r#"
            left out
            r/a.md: has no text
        "#]],
        );
    }

    #[test]
    fn broken_yaml_leaves_the_file_out() {
        check(
            "r/a.md",
            "---\nname: a\nlist: [1\n---\nx",
            &expect![[r#"
                left out
                r/a.md:3: the frontmatter is not YAML: unclosed bracket '['
            "#]],
        );
    }
}
