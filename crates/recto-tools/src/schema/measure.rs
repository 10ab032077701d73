//! Measures a schema when it is loaded: whether it is one, and whether checking by it is work
//! of which the end can be seen.
//!
//! Taken is what can stand in one document and be followed inside it. A schema that is too
//! large or too deep, or that refers to anything but its own parts, is none of a tool's.

use std::collections::HashSet;

use jsonschema::error::ValidationError;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::MAX_PROBLEM;
use crate::shorten::shorten;

/// The longest schema, in bytes of compact JSON.
pub(crate) const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// The deepest nesting of a schema.
pub(crate) const MAX_SCHEMA_DEPTH: usize = 64;

/// Ways to refer to a schema that depend on where a check came from, or on names that other
/// documents can take.
const FOREIGN_REFERENCES: [&str; 4] = ["$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor"];

/// The version of the language that a schema is written in, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaDialect {
    Draft4,
    Draft6,
    Draft7,
    Draft2019,
    Draft2020,
}

impl SchemaDialect {
    pub(super) fn of(schema: &Value) -> Self {
        let named = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let has = |part: &str| named.contains(part);
        match () {
            () if has("draft-04") => SchemaDialect::Draft4,
            () if has("draft-06") => SchemaDialect::Draft6,
            () if has("draft-07") => SchemaDialect::Draft7,
            () if has("2019-09") => SchemaDialect::Draft2019,
            () => SchemaDialect::Draft2020,
        }
    }

    /// Whether what stands beside a reference counts for nothing.
    pub(super) fn reference_stands_alone(self) -> bool {
        matches!(self, SchemaDialect::Draft4 | SchemaDialect::Draft6 | SchemaDialect::Draft7)
    }

    fn check_form(self, schema: &Value) -> Result<(), ValidationError<'_>> {
        match self {
            SchemaDialect::Draft4 => jsonschema::draft4::meta::validate(schema),
            SchemaDialect::Draft6 => jsonschema::draft6::meta::validate(schema),
            SchemaDialect::Draft7 => jsonschema::draft7::meta::validate(schema),
            SchemaDialect::Draft2019 => jsonschema::draft201909::meta::validate(schema),
            SchemaDialect::Draft2020 => jsonschema::draft202012::meta::validate(schema),
        }
    }
}

/// Says what is wrong with a schema, if it is none by which arguments can be checked. Patterns
/// are looked at where they are compiled.
pub(super) fn measure_schema(schema: &Value) -> Result<(), String> {
    measure_extent(schema)?;
    let form = SchemaDialect::of(schema).check_form(schema);
    form.map_err(|error| {
        let place = match error.instance_path().as_str().trim_start_matches('/') {
            "" => "the object".to_owned(),
            path => format!("`{}`", shorten(path.to_owned(), MAX_PROBLEM / 3)),
        };
        shorten(format!("{place}: {}", error.masked_with("it")), MAX_PROBLEM)
    })?;
    let mut places = SchemaPlaces::default();
    places.visit(schema, true)?;
    match places.references.iter().find(|target| !places.holds(schema, target)) {
        Some(target) => Err(format!(
            "it refers to `{}`, which is no schema inside it",
            shorten((*target).to_owned(), MAX_PROBLEM / 3)
        )),
        None => Ok(()),
    }
}

/// Says whether a schema is too long or too deep to be told or used.
pub(crate) fn measure_extent(schema: &Value) -> Result<(), String> {
    // Depth first: everything that follows goes down as far as the schema does.
    if depth(schema, MAX_SCHEMA_DEPTH + 1) > MAX_SCHEMA_DEPTH {
        return Err(format!("its schema is nested more than {MAX_SCHEMA_DEPTH} deep"));
    }
    match serde_json::to_string(schema).map_or(usize::MAX, |text| text.len()) {
        0..=MAX_SCHEMA_BYTES => Ok(()),
        _ => Err(format!("its schema is over {} KB", MAX_SCHEMA_BYTES / 1024)),
    }
}

/// How deep a value goes, as far as `limit`.
fn depth(value: &Value, limit: usize) -> usize {
    if limit == 0 {
        return 0;
    }
    let below = |value: &Value| depth(value, limit - 1);
    match value {
        Value::Object(map) => 1 + map.values().map(below).max().unwrap_or(0),
        Value::Array(list) => 1 + list.iter().map(below).max().unwrap_or(0),
        _ => 0,
    }
}

/// Where schemas stand inside a schema, and what they refer to.
#[derive(Default)]
struct SchemaPlaces<'a> {
    found: HashSet<*const Value>,
    references: Vec<&'a str>,
}

impl<'a> SchemaPlaces<'a> {
    fn visit(&mut self, schema: &'a Value, is_whole: bool) -> Result<(), String> {
        self.found.insert(std::ptr::from_ref(schema));
        let Value::Object(map) = schema else { return Ok(()) };
        if let Some(key) = FOREIGN_REFERENCES.iter().find(|key| map.contains_key(**key)) {
            return Err(format!("it uses `{key}`, which tools can't"));
        }
        let is_named = |key: &str| map.get(key).is_some_and(Value::is_string);
        if !is_whole && (is_named("$id") || is_named("id")) {
            return Err("a schema inside it has a name (`$id`) of its own".to_owned());
        }
        self.references.extend(map.get("$ref").and_then(Value::as_str));
        for part in subschemas(map) {
            self.visit(part, false)?;
        }
        Ok(())
    }

    /// Whether a reference leads to one of the schemas.
    fn holds(&self, whole: &Value, target: &str) -> bool {
        find_target(whole, target)
            .is_some_and(|found| self.found.contains(&std::ptr::from_ref(found)))
    }
}

/// The value that a reference inside a schema leads to.
pub(super) fn find_target<'a>(whole: &'a Value, target: &str) -> Option<&'a Value> {
    let pointer = percent_decode_str(target.strip_prefix('#')?).decode_utf8().ok()?;
    whole.pointer(&pointer)
}

/// The schemas that a schema is made of, wherever its keywords hold some.
fn subschemas(map: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    map.iter().flat_map(|(key, value)| {
        let parts: Vec<&Value> = match (key.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies",
                Value::Object(named),
            ) => named.values().collect(),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(list)) => {
                list.iter().collect()
            }
            (
                "not"
                | "if"
                | "then"
                | "else"
                | "items"
                | "additionalItems"
                | "contains"
                | "additionalProperties"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                value,
            ) => vec![value],
            _ => Vec::new(),
        };
        parts.into_iter().filter(|part| part.is_object() || part.is_boolean())
    })
}
