//! A schema taken apart once: its parts in one list, each with the checks that it asks for, and
//! its references as places in that list. Nothing is checked here.
//!
//! Patterns are matched by an engine whose time is bound by the length of the text. What it
//! can't match (a look around, a reference back) can't be checked.

use std::collections::HashMap;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Number, Value};

use super::measure::{SchemaDialect, find_target, measure_schema};
use super::values::JsonKind;
use crate::clip::clip_name;

/// The longest pattern, in bytes.
const MAX_PATTERN_TEXT: usize = 2 * 1024;

/// What a pattern may take when it is compiled, in bytes, each with the steps that it then costs to
/// match it against a few bytes of text: at worst, each of its states is looked at for each byte.
const PATTERN_SIZES: [(usize, u64); 3] = [(16 * 1024, 4), (64 * 1024, 32), (512 * 1024, 512)];

/// What an engine may keep of a pattern to match it faster, in bytes.
const MAX_CACHE: usize = 512 * 1024;

/// The most patterns of a schema.
const MAX_PATTERNS: usize = 100;

/// What becomes of a pattern that can't be matched in linear time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HardPatterns {
    /// The schema is refused: nobody else checks what its tool is given.
    Refused,
    /// It is passed over: whoever brings the tool checks it as well.
    PassedOver,
}

/// The place of a part in its schema.
pub(super) type PartId = usize;

/// A schema, taken apart.
#[derive(Debug, Default)]
pub(super) struct SchemaTree {
    pub(super) parts: Vec<SchemaPart>,
    /// Whether some part asks what others have looked at.
    pub(super) asks_for_rest: bool,
}

/// One schema of a schema.
#[derive(Debug, Default)]
pub(super) struct SchemaPart {
    pub(super) checks: Vec<SchemaCheck>,
    /// What looking at a value once costs, by the length of what stands here.
    pub(super) weight: u64,
}

/// Something that a schema asks of a value.
#[derive(Debug)]
pub(super) enum SchemaCheck {
    Never,
    Kind(Vec<JsonKind>),
    Enum(Vec<Value>),
    Const(Value),
    Bound(NumberBound, Number),
    MultipleOf(Number),
    Size(SizeBound, u64),
    Pattern(Arc<SchemaPattern>),
    UniqueItems,
    Required(Vec<String>),
    /// Where the first is there, the others must be.
    Together(Vec<(String, Vec<String>)>),
    AllOf(Vec<PartId>),
    AnyOf(Vec<PartId>),
    OneOf(Vec<PartId>),
    Not(PartId),
    If {
        condition: PartId,
        then: Option<PartId>,
        otherwise: Option<PartId>,
    },
    Reference(PartId),
    WherePresent(Vec<(String, PartId)>),
    Properties(ObjectParts),
    PropertyNames(PartId),
    Items {
        first: Vec<PartId>,
        rest: Option<PartId>,
    },
    Contains {
        part: PartId,
        least: u64,
        most: Option<u64>,
    },
    RestOfProperties(PartId),
    RestOfItems(PartId),
}

/// A limit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberBound {
    Minimum,
    Maximum,
    Above,
    Below,
}

/// A limit of how large something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SizeBound {
    MinLength,
    MaxLength,
    MinItems,
    MaxItems,
    MinProperties,
    MaxProperties,
}

/// The schemas of an object's members.
#[derive(Debug, Default)]
pub(super) struct ObjectParts {
    pub(super) named: HashMap<String, PartId>,
    pub(super) patterns: Vec<(Arc<SchemaPattern>, PartId)>,
    pub(super) others: Option<PartId>,
    /// Whether patterns were passed over, so that nobody knows which the others are.
    pub(super) others_unknown: bool,
}

/// A pattern, ready to be matched.
#[derive(Debug)]
pub(super) struct SchemaPattern {
    pub(super) text: String,
    pub(super) regex: Regex,
    /// The steps that it costs to match it against a few bytes of text.
    pub(super) weight: u64,
}

impl SchemaTree {
    /// Takes a schema apart, if it is one by which arguments can be checked.
    pub(super) fn new(schema: &Value, hard: HardPatterns) -> Result<Self, String> {
        measure_schema(schema)?;
        let mut builder = TreeBuilder {
            whole: schema,
            dialect: SchemaDialect::of(schema),
            hard,
            tree: SchemaTree::default(),
            known: HashMap::new(),
            patterns: HashMap::new(),
            pending: Vec::new(),
        };
        builder.part(schema);
        builder.build()?;
        Ok(builder.tree)
    }
}

struct TreeBuilder<'a> {
    whole: &'a Value,
    dialect: SchemaDialect,
    hard: HardPatterns,
    tree: SchemaTree,
    known: HashMap<*const Value, PartId>,
    patterns: HashMap<String, Option<Arc<SchemaPattern>>>,
    /// Parts that have a place and no checks yet.
    pending: Vec<(PartId, &'a Value)>,
}

impl<'a> TreeBuilder<'a> {
    /// Takes apart what is pending, one after the other: a chain of references may be longer
    /// than a stack.
    fn build(&mut self) -> Result<(), String> {
        while let Some((id, schema)) = self.pending.pop() {
            let checks = match schema {
                Value::Object(map) => self.checks(map)?,
                Value::Bool(false) => vec![SchemaCheck::Never],
                _ => Vec::new(),
            };
            self.tree.parts[id] = SchemaPart { checks, weight: own_weight(schema) };
        }
        Ok(())
    }

    /// The place of a schema, which is taken apart once.
    fn part(&mut self, schema: &'a Value) -> PartId {
        let next = self.tree.parts.len();
        let id = *self.known.entry(std::ptr::from_ref(schema)).or_insert(next);
        if id == next {
            self.tree.parts.push(SchemaPart::default());
            self.pending.push((id, schema));
        }
        id
    }

    fn checks(&mut self, map: &'a Map<String, Value>) -> Result<Vec<SchemaCheck>, String> {
        let mut checks = Vec::new();
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            let found = find_target(self.whole, target).ok_or_else(|| {
                format!("it refers to `{}`, which is not there", clip_name(target))
            })?;
            checks.push(SchemaCheck::Reference(self.part(found)));
            if self.dialect.reference_stands_alone() {
                return Ok(checks);
            }
        }
        for (key, value) in map {
            checks.extend(plain_check(key, value, map));
            if key == "pattern"
                && let Some(text) = value.as_str()
            {
                checks.extend(self.pattern(text)?.map(SchemaCheck::Pattern));
            }
        }
        self.add_combinations(map, &mut checks);
        self.add_members(map, &mut checks)?;
        self.add_items(map, &mut checks);
        // Last: they ask what all others have looked at.
        for (key, check) in [
            ("unevaluatedProperties", SchemaCheck::RestOfProperties as fn(PartId) -> SchemaCheck),
            ("unevaluatedItems", SchemaCheck::RestOfItems),
        ] {
            if let Some(part) = map.get(key) {
                self.tree.asks_for_rest = true;
                checks.push(check(self.part(part)));
            }
        }
        Ok(checks)
    }

    /// Schemas that look at the same value.
    fn add_combinations(&mut self, map: &'a Map<String, Value>, checks: &mut Vec<SchemaCheck>) {
        for (key, check) in [
            ("allOf", SchemaCheck::AllOf as fn(Vec<PartId>) -> SchemaCheck),
            ("anyOf", SchemaCheck::AnyOf),
            ("oneOf", SchemaCheck::OneOf),
        ] {
            if let Some(Value::Array(list)) = map.get(key) {
                checks.push(check(self.parts(list)));
            }
        }
        if let Some(part) = map.get("not") {
            checks.push(SchemaCheck::Not(self.part(part)));
        }
        if let Some(condition) = map.get("if") {
            let condition = self.part(condition);
            let then = self.part_at(map, "then");
            let otherwise = self.part_at(map, "else");
            checks.push(SchemaCheck::If { condition, then, otherwise });
        }
        let mut present = Vec::new();
        for key in ["dependentSchemas", "dependencies"] {
            let named = map.get(key).and_then(Value::as_object).into_iter().flatten();
            for (name, part) in named.filter(|(_, part)| !part.is_array()) {
                present.push((name.clone(), self.part(part)));
            }
        }
        checks.extend((!present.is_empty()).then_some(SchemaCheck::WherePresent(present)));
    }

    fn add_members(
        &mut self,
        map: &'a Map<String, Value>,
        checks: &mut Vec<SchemaCheck>,
    ) -> Result<(), String> {
        let mut parts = ObjectParts {
            others: self.part_at(map, "additionalProperties"),
            ..ObjectParts::default()
        };
        for (name, part) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            parts.named.insert(name.clone(), self.part(part));
        }
        let patterns = map.get("patternProperties").and_then(Value::as_object);
        for (text, part) in patterns.into_iter().flatten() {
            match self.pattern(text)? {
                Some(pattern) => parts.patterns.push((pattern, self.part(part))),
                None => parts.others_unknown = true,
            }
        }
        if ["properties", "patternProperties", "additionalProperties"]
            .iter()
            .any(|key| map.contains_key(*key))
        {
            checks.push(SchemaCheck::Properties(parts));
        }
        if let Some(names) = self.part_at(map, "propertyNames") {
            checks.push(SchemaCheck::PropertyNames(names));
        }
        Ok(())
    }

    fn add_items(&mut self, map: &'a Map<String, Value>, checks: &mut Vec<SchemaCheck>) {
        // A list of schemas stands in `prefixItems`, or in older drafts in `items`.
        let (first, rest) = match (map.get("prefixItems"), map.get("items")) {
            (Some(Value::Array(first)), rest) => (&first[..], rest),
            (_, Some(Value::Array(first))) => (&first[..], map.get("additionalItems")),
            (_, rest) => (&[][..], rest),
        };
        let first = self.parts(first);
        let rest = rest.map(|rest| self.part(rest));
        if !first.is_empty() || rest.is_some() {
            checks.push(SchemaCheck::Items { first, rest });
        }
        if let Some(part) = self.part_at(map, "contains") {
            let least = map.get("minContains").and_then(whole_number).unwrap_or(1);
            let most = map.get("maxContains").and_then(whole_number);
            checks.push(SchemaCheck::Contains { part, least, most });
        }
    }

    fn parts(&mut self, list: &'a [Value]) -> Vec<PartId> {
        list.iter().map(|part| self.part(part)).collect()
    }

    fn part_at(&mut self, map: &'a Map<String, Value>, key: &str) -> Option<PartId> {
        map.get(key).map(|part| self.part(part))
    }

    /// A pattern made ready; nothing for one that is passed over.
    fn pattern(&mut self, text: &str) -> Result<Option<Arc<SchemaPattern>>, String> {
        if let Some(known) = self.patterns.get(text) {
            return Ok(known.clone());
        }
        if self.patterns.len() == MAX_PATTERNS {
            return Err(format!("it has more than {MAX_PATTERNS} patterns"));
        }
        let pattern = match (compile_pattern(text), self.hard) {
            (Some((regex, weight)), _) => {
                Some(Arc::new(SchemaPattern { text: text.to_owned(), regex, weight }))
            }
            (None, _) if !jsonschema_regex::is_valid_ecma_regex(text) => {
                return Err(format!("`{}` is no pattern", clip_name(text)));
            }
            (None, HardPatterns::PassedOver) => None,
            (None, HardPatterns::Refused) => {
                let shown = clip_name(text);
                return Err(format!(
                    "the pattern `{shown}` can't be matched in bounded time: it is too large, or \
                     looks around (`(?=`, `(?!`) or back (`\\1`)"
                ));
            }
        };
        self.patterns.insert(text.to_owned(), pattern.clone());
        Ok(pattern)
    }
}

/// A pattern for an engine whose time is linear in the text, where that can match it, and what a
/// match costs.
fn compile_pattern(text: &str) -> Option<(Regex, u64)> {
    if text.len() > MAX_PATTERN_TEXT {
        return None;
    }
    let translated = jsonschema_regex::to_rust_regex(text).ok()?;
    PATTERN_SIZES.into_iter().find_map(|(size, weight)| {
        let mut builder = RegexBuilder::new(&translated);
        let regex = builder.size_limit(size).dfa_size_limit(MAX_CACHE).build().ok()?;
        Some((regex, weight))
    })
}

/// A check that a keyword asks for by itself.
fn plain_check(key: &str, value: &Value, beside: &Map<String, Value>) -> Option<SchemaCheck> {
    let size = |bound| whole_number(value).map(|limit| SchemaCheck::Size(bound, limit));
    // In the fourth draft, `exclusiveMinimum` is a flag beside `minimum`.
    let strict = |flag: &str| beside.get(flag) == Some(&Value::Bool(true));
    let bound = |bound| value.as_number().map(|limit| SchemaCheck::Bound(bound, limit.clone()));
    match key {
        "type" => Some(SchemaCheck::Kind(JsonKind::read_list(value))),
        "enum" => Some(SchemaCheck::Enum(value.as_array()?.clone())),
        "const" => Some(SchemaCheck::Const(value.clone())),
        "minimum" if strict("exclusiveMinimum") => bound(NumberBound::Above),
        "maximum" if strict("exclusiveMaximum") => bound(NumberBound::Below),
        "minimum" => bound(NumberBound::Minimum),
        "maximum" => bound(NumberBound::Maximum),
        "exclusiveMinimum" => bound(NumberBound::Above),
        "exclusiveMaximum" => bound(NumberBound::Below),
        "multipleOf" => Some(SchemaCheck::MultipleOf(value.as_number()?.clone())),
        "minLength" => size(SizeBound::MinLength),
        "maxLength" => size(SizeBound::MaxLength),
        "minItems" => size(SizeBound::MinItems),
        "maxItems" => size(SizeBound::MaxItems),
        "minProperties" => size(SizeBound::MinProperties),
        "maxProperties" => size(SizeBound::MaxProperties),
        "uniqueItems" => (*value == Value::Bool(true)).then_some(SchemaCheck::UniqueItems),
        "required" => Some(SchemaCheck::Required(names(value)?)),
        "dependentRequired" | "dependencies" => {
            let named = value.as_object()?.iter();
            let needed = named.filter_map(|(name, list)| Some((name.clone(), names(list)?)));
            let needed: Vec<_> = needed.collect();
            (!needed.is_empty()).then_some(SchemaCheck::Together(needed))
        }
        _ => None,
    }
}

fn names(list: &Value) -> Option<Vec<String>> {
    Some(list.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().filter(|number| *number >= 0.0).map(|it| it as u64))
}

/// What looking at a value by this schema alone costs.
fn own_weight(schema: &Value) -> u64 {
    const BYTES_A_STEP: usize = 128;
    let Value::Object(map) = schema else { return 1 };
    let length = |(key, value): (&String, &Value)| {
        key.len()
            + match (key.as_str(), value) {
                ("enum" | "const" | "required" | "dependentRequired" | "dependencies", value) => {
                    value.to_string().len()
                }
                (_, Value::Object(named)) => named.keys().map(String::len).sum(),
                (_, Value::Array(list)) => list.len(),
                _ => 1,
            }
    };
    1 + (map.iter().map(length).sum::<usize>() / BYTES_A_STEP) as u64
}
