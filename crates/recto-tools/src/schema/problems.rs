//! What is wrong with arguments, in words that a model can act on.

use serde_json::Value;

use super::MAX_PROBLEM;
use super::tree::{NumberBound, SchemaCheck, SizeBound};
use crate::arguments::kind_of;
use crate::clip::clip_name;
use crate::shorten::shorten;

/// More problems than are ever told; further ones are only counted.
const MAX_NOTED: usize = 100;

/// The problems of a value, and where one is just looking.
#[derive(Debug, Default)]
pub(super) struct ProblemLog {
    pub(super) problems: Vec<SchemaProblem>,
    pub(super) path: Vec<PointerStep>,
}

/// A step from a value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PointerStep {
    Name(String),
    Item(usize),
}

/// Something wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SchemaProblem {
    /// A parameter that nobody declares.
    Undeclared(String),
    /// All else, in words.
    Words(String),
}

impl ProblemLog {
    pub(super) fn add(&mut self, problem: SchemaProblem) {
        // One more, so that whoever counts sees that there are more.
        if self.problems.len() <= MAX_NOTED {
            self.problems.push(problem);
        }
    }
}

impl SchemaProblem {
    /// A value that does not pass a check.
    pub(super) fn of_check(check: &SchemaCheck, value: &Value, path: &[PointerStep]) -> Self {
        let place = place_of(path);
        let words = match check {
            SchemaCheck::Kind(kinds) => {
                let wanted: Vec<String> = kinds.iter().map(ToString::to_string).collect();
                format!("{place} must be of type {}, not {}", wanted.join(" or "), kind_of(value))
            }
            SchemaCheck::Enum(options) => {
                let options: Vec<String> = options.iter().map(Value::to_string).collect();
                format!("{place} must be one of {}", options.join(", "))
            }
            other => format!("{place}: {}", complaint(other)),
        };
        SchemaProblem::Words(words)
    }

    /// A value that fits none, or more than one, of the schemas of which it must fit one.
    pub(super) fn of_one_of(fitting: usize, path: &[PointerStep]) -> Self {
        let how = if fitting == 0 { "none" } else { "more than one" };
        let place = place_of(path);
        SchemaProblem::Words(format!(
            "{place}: it fits {how} of the schemas of which it must fit one"
        ))
    }

    pub(super) fn missing(name: &str, path: &[PointerStep]) -> Self {
        let name = clip_name(name);
        SchemaProblem::Words(match path {
            [] => format!("`{name}` is missing"),
            path => format!("{} lacks `{name}`", place_of(path)),
        })
    }

    pub(super) fn unexpected(name: &str, path: &[PointerStep]) -> Self {
        match path {
            [] => SchemaProblem::Undeclared(name.to_owned()),
            path => {
                let place = place_of(path);
                SchemaProblem::Words(format!("{place} must not have `{}`", clip_name(name)))
            }
        }
    }
}

/// What a check has to say of a value, without the value itself, which may be very long.
fn complaint(check: &SchemaCheck) -> String {
    match check {
        SchemaCheck::Const(only) => format!("it must be {only}"),
        SchemaCheck::Bound(bound, limit) => match bound {
            NumberBound::Minimum => format!("it is less than the minimum of {limit}"),
            NumberBound::Maximum => format!("it is greater than the maximum of {limit}"),
            NumberBound::Above => format!("it is not greater than {limit}"),
            NumberBound::Below => format!("it is not less than {limit}"),
        },
        SchemaCheck::MultipleOf(of) => format!("it is not a multiple of {of}"),
        SchemaCheck::Size(bound, limit) => {
            let (how, one, many) = match bound {
                SizeBound::MinLength => ("is shorter than", "character", "characters"),
                SizeBound::MaxLength => ("is longer than", "character", "characters"),
                SizeBound::MinItems => ("has less than", "item", "items"),
                SizeBound::MaxItems => ("has more than", "item", "items"),
                SizeBound::MinProperties => ("has less than", "property", "properties"),
                SizeBound::MaxProperties => ("has more than", "property", "properties"),
            };
            format!("it {how} {limit} {}", if *limit == 1 { one } else { many })
        }
        SchemaCheck::Pattern(pattern) => format!("it does not match `{}`", pattern.text),
        SchemaCheck::AnyOf(_) => "it fits none of the schemas of which it must fit one".to_owned(),
        SchemaCheck::Contains { .. } => "it does not hold the items that it must".to_owned(),
        SchemaCheck::UniqueItems => "it has an item twice".to_owned(),
        SchemaCheck::Not(_) => "it fits a schema that it must not fit".to_owned(),
        _ => "it is not allowed".to_owned(),
    }
}

/// Where a value is, as the model would name it: `items/0/name`.
fn place_of(path: &[PointerStep]) -> String {
    let step = |step: &PointerStep| match step {
        PointerStep::Name(name) => clip_name(name).to_owned(),
        PointerStep::Item(at) => at.to_string(),
    };
    match path {
        [] => "the object".to_owned(),
        path => {
            let path: Vec<String> = path.iter().map(step).collect();
            format!("`{}`", shorten(path.join("/"), MAX_PROBLEM / 3))
        }
    }
}
