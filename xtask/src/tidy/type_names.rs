//! One name, one type: whoever looks for a type by its name should find one place.
//!
//! A type that can be seen outside of its file shares its name with no other type of the
//! repository. Two that nobody else sees may have the same name.

use std::collections::BTreeMap;

use super::TidyProblem;
use crate::code::SourceLine;
use crate::project::TextFile;

/// A definition that may have the name of another one, because only one of them is built.
struct AlternativeTypes {
    path: &'static str,
    names: &'static [&'static str],
}

const ALTERNATIVES: [AlternativeTypes; 1] = [
    // In place of `embedded/engine.rs` where the feature `embedded` is off.
    AlternativeTypes {
        path: "crates/recto-llm/src/embedded/absent.rs",
        names: &["EmbeddedEngine", "ModelTokenizer"],
    },
];

/// Where a type is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypeDefinition {
    name: String,
    path: String,
    line: usize,
    is_public: bool,
}

/// The types that the lines define.
pub(super) fn definitions(file: &TextFile, lines: &[SourceLine]) -> Vec<TypeDefinition> {
    let defined = lines.iter().filter_map(|line| {
        let (name, is_public) = defined_type(line)?;
        let (name, path) = (name.to_owned(), file.path.clone());
        Some(TypeDefinition { name, path, line: line.number, is_public })
    });
    defined.filter(|definition| !is_alternative(definition)).collect()
}

/// Problems with names that more than one type has.
pub(super) fn check(definitions: &[TypeDefinition]) -> Vec<TidyProblem> {
    let mut by_name: BTreeMap<&str, Vec<&TypeDefinition>> = BTreeMap::new();
    for definition in definitions {
        by_name.entry(&definition.name).or_default().push(definition);
    }
    by_name.values().flat_map(|same| shared_name(same)).collect()
}

/// A problem for each type that has the name of a public one.
fn shared_name(same: &[&TypeDefinition]) -> Vec<TidyProblem> {
    let Some(first) = same.iter().find(|definition| definition.is_public) else {
        return Vec::new();
    };
    let others = same.iter().filter(|definition| *definition != first);
    others
        .map(|other| {
            let what = format!(
                "`{}` is also the name of a type at {}:{}: name each after what it belongs to",
                other.name, first.path, first.line
            );
            TidyProblem::new(&other.path, other.line, what)
        })
        .collect()
}

fn is_alternative(definition: &TypeDefinition) -> bool {
    ALTERNATIVES.iter().any(|alternative| {
        alternative.path == definition.path && alternative.names.contains(&&*definition.name)
    })
}

/// The name of the type that begins on this line, and whether others can see it.
fn defined_type(line: &SourceLine) -> Option<(&str, bool)> {
    let code = line.code.trim_start();
    let (is_public, code) = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => (true, rest.split_once(") ")?.1),
        Some(rest) if rest.starts_with(' ') => (true, rest.trim_start()),
        _ => (false, code),
    };
    let (keyword, rest) = code.strip_prefix("unsafe ").unwrap_or(code).split_once(' ')?;
    let is_type = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        // Those of traits and their implementations are indented, and never `pub`.
        "type" => is_public || line.indent() == Some(0),
        _ => false,
    };
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (is_type && !name.is_empty()).then_some((name, is_public))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::outside_tests;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let defined = files.iter().flat_map(|(path, text)| {
            let file = TextFile { path: (*path).into(), text: (*text).into() };
            definitions(&file, &outside_tests(&file.text))
        });
        let defined: Vec<_> = defined.collect();
        check(&defined).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_public_type_has_a_name_of_its_own() {
        assert_eq!(
            problems(&[("a.rs", "struct Place;\n"), ("b.rs", "\npub enum Place {}\n")]),
            [
                "a.rs:1: `Place` is also the name of a type at b.rs:2: name each after what it belongs to"
            ]
        );
        for second in [
            "pub(crate) struct A(u8);",
            "pub(super) union A {",
            "pub unsafe trait A: B {",
            "    pub(in crate::a) type A<T> = B<T>;",
            "struct A<'a> {",
            "type A = B;",
        ] {
            assert_eq!(
                problems(&[("a.rs", "pub struct A;\n"), ("b.rs", second)]).len(),
                1,
                "{second}"
            );
        }
    }

    #[test]
    fn private_types_may_share_a_name() {
        assert!(problems(&[("a.rs", "struct A;\n"), ("b.rs", "enum A {}\n")]).is_empty());
    }

    #[test]
    fn what_defines_no_type_is_left_alone() {
        for other in [
            "    type A = u8;",
            "pub fn a() -> A {}",
            "// pub struct A;",
            "#[cfg(test)]\npub struct A;",
            "pub struct $name;",
            "pub use b::A;",
            "let structA = 1;",
        ] {
            assert!(
                problems(&[("a.rs", "pub struct A;\n"), ("b.rs", other)]).is_empty(),
                "{other}"
            );
        }
    }

    #[test]
    fn only_one_of_two_alternatives_is_built() {
        let code = format!("pub struct {};\n", ALTERNATIVES[0].names[0]);
        let built = ("crates/recto-llm/src/embedded/engine.rs", &*code);
        assert!(problems(&[(ALTERNATIVES[0].path, &code), built]).is_empty());
        assert_eq!(problems(&[("crates/recto/src/a.rs", &code), built]).len(), 1);
    }
}
