//! Checks the arguments of a call against the schema of its tool, and says in a
//! few words what a model has to mend.
//!
//! Stricter than the schema itself in one thing: a parameter that the schema
//! does not declare is refused, unless the schema says that any will do. Nothing
//! is converted (`"3"` is no number), and no remote schema is ever fetched.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use parking_lot::Mutex;
use recto_context::{ContentHash, ToolSpec, nearest_name};
use serde_json::Value;

use crate::arguments::{CallArguments, kind_of};
use crate::clip::clip_name;
use crate::shorten::shorten;

/// More schemas than an agent ever has at once.
const MAX_KEPT: usize = 1_000;
/// Problems that are told at once. A model that made more has to start over anyway.
const MAX_TOLD: usize = 5;
/// Bytes that a problem may take, because some repeat what stands in the schema.
const MAX_PROBLEM: usize = 300;

/// Schemas made ready for checking, each once.
#[derive(Debug, Default)]
pub(crate) struct SchemaCache {
    ready: Mutex<HashMap<ContentHash, Arc<CompiledSchema>>>,
}

impl SchemaCache {
    /// Whether the arguments fit. An error is written for the model.
    pub(crate) fn check(&self, spec: &ToolSpec, arguments: &CallArguments) -> Result<(), String> {
        self.schema_of(spec).check(arguments)
    }

    fn schema_of(&self, spec: &ToolSpec) -> Arc<CompiledSchema> {
        let key = spec.schema.hash();
        if let Some(schema) = self.ready.lock().get(&key) {
            return schema.clone();
        }
        // Outside the lock: other calls need not wait for a large schema.
        let schema = Arc::new(CompiledSchema::new(&spec.parameters));
        let mut ready = self.ready.lock();
        if ready.len() >= MAX_KEPT {
            ready.clear();
        }
        ready.insert(key, schema.clone());
        schema
    }
}

/// A schema made ready for checking.
#[derive(Debug)]
struct CompiledSchema {
    /// The problem with the schema, if it is not valid.
    validator: Result<Validator, String>,
    parameters: SchemaParameters,
}

impl CompiledSchema {
    fn new(schema: &Value) -> Self {
        let validator = jsonschema::options().offline().build(schema);
        let problem = |error: ValidationError<'_>| {
            let text = format!("{}: {}", place_of(&error), error.masked_with("it"));
            shorten(text, MAX_PROBLEM)
        };
        CompiledSchema {
            validator: validator.map_err(problem),
            parameters: SchemaParameters::from_schema(schema),
        }
    }

    fn check(&self, arguments: &CallArguments) -> Result<(), String> {
        let validator = self.validator.as_ref().map_err(|problem| {
            let who = "only a person can mend that";
            format!("the schema of its parameters is not valid; {who}.\n- {problem}")
        })?;
        let mut problems: Vec<String> =
            arguments.names().filter_map(|name| self.parameters.undeclared(name)).collect();
        let errors = validator.iter_errors(arguments.as_value());
        problems.extend(errors.flat_map(|error| self.describe(&error)));
        if problems.is_empty() { Ok(()) } else { Err(self.advise(problems)) }
    }

    /// What is wrong, a sentence for each thing.
    fn describe(&self, error: &ValidationError<'_>) -> Vec<String> {
        let at_top = error.instance_path().as_str().is_empty();
        let place = place_of(error);
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let describe = |name: &String| match at_top {
                    true => self.parameters.refusal(name),
                    false => format!("{place} must not have `{}`", clip_name(name)),
                };
                unexpected.iter().map(describe).collect()
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                vec![match at_top {
                    true => format!("`{name}` is missing"),
                    false => format!("{place} lacks `{name}`"),
                }]
            }
            ValidationErrorKind::Type { kind } => {
                let (wanted, is) = (types_of(kind), kind_of(error.instance()));
                vec![format!("{place} must be of type {wanted}, not {is}")]
            }
            ValidationErrorKind::Enum { options } => {
                vec![format!("{place} must be one of {}", values_of(options))]
            }
            // Without the value itself, which may be very long.
            _ => vec![format!("{place}: {}", error.masked_with("it"))],
        }
    }

    fn advise(&self, mut problems: Vec<String>) -> String {
        // The order in which keywords are checked is the library's own affair.
        problems.sort();
        problems.dedup();
        let more = problems.len().saturating_sub(MAX_TOLD);
        problems.truncate(MAX_TOLD);
        let mut lines = vec!["the arguments don't fit.".to_owned()];
        lines.extend(problems.into_iter().map(|what| format!("- {}", shorten(what, MAX_PROBLEM))));
        lines.extend((more > 0).then(|| format!("- and {more} more")));
        lines.push(self.parameters.describe());
        lines.join("\n")
    }
}

/// The types that would do.
fn types_of(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(single) => single.to_string(),
        TypeKind::Multiple(types) => {
            types.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or ")
        }
    }
}

/// The values that would do.
fn values_of(options: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    options.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

/// Where the error is, as the model would name it: `items/0/name`.
fn place_of(error: &ValidationError<'_>) -> String {
    match error.instance_path().as_str().trim_start_matches('/') {
        "" => "the object".to_owned(),
        path => format!("`{}`", shorten(path.to_owned(), MAX_PROBLEM / 3)),
    }
}

/// The parameters that a schema declares.
#[derive(Debug, Default)]
struct SchemaParameters {
    declared: Vec<SchemaParameter>,
    others: UndeclaredParameters,
}

#[derive(Debug)]
struct SchemaParameter {
    name: String,
    /// `string, required` and the like.
    remark: String,
}

/// What a schema says of parameters that it does not name.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum UndeclaredParameters {
    #[default]
    Refused,
    LeftToTheSchema,
}

impl SchemaParameters {
    fn from_schema(schema: &Value) -> Self {
        let mut parameters = SchemaParameters::default();
        parameters.gather(schema, schema, &mut HashSet::new());
        parameters
    }

    /// Takes in what `schema` declares, also through the schemas it is made of.
    /// Each reference is followed once, so that circles come to an end.
    fn gather<'a>(&mut self, schema: &'a Value, whole: &'a Value, followed: &mut HashSet<&'a str>) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            for (name, property) in properties {
                self.declare(name, property, schema);
            }
        }
        if leaves_others_open(schema) {
            self.others = UndeclaredParameters::LeftToTheSchema;
        }
        let lists = ["allOf", "anyOf", "oneOf"].map(|key| schema.get(key)?.as_array());
        let parts = ["if", "then", "else"].map(|key| schema.get(key)).into_iter().flatten();
        for part in lists.into_iter().flatten().flatten().chain(parts) {
            self.gather(part, whole, followed);
        }
        let target = schema.get("$ref").and_then(Value::as_str);
        let pointer = target.and_then(|target| target.strip_prefix('#'));
        let pointer = pointer.filter(|pointer| followed.insert(pointer));
        if let Some(part) = pointer.and_then(|pointer| whole.pointer(pointer)) {
            self.gather(part, whole, followed);
        }
    }

    fn declare(&mut self, name: &str, property: &Value, schema: &Value) {
        if self.declared.iter().any(|parameter| parameter.name == name) {
            return;
        }
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.is_some_and(|names| names.iter().any(|other| other == name));
        let kind = property.get("type").and_then(Value::as_str);
        let remarks = [kind, required.then_some("required")];
        let remark = remarks.into_iter().flatten().collect::<Vec<_>>().join(", ");
        self.declared.push(SchemaParameter { name: name.to_owned(), remark });
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.declared.iter().map(|parameter| parameter.name.as_str())
    }

    /// What to say of a parameter, if it was not declared.
    fn undeclared(&self, name: &str) -> Option<String> {
        let fits = self.others == UndeclaredParameters::LeftToTheSchema
            || self.names().any(|it| it == name);
        (!fits).then(|| self.refusal(name))
    }

    fn refusal(&self, name: &str) -> String {
        let hint = nearest_name(name, self.names()).filter(|near| *near != name);
        let hint = hint.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("`{}` is not a parameter{hint}", clip_name(name))
    }

    fn describe(&self) -> String {
        if self.declared.is_empty() {
            return "It takes no parameters.".to_owned();
        }
        let describe = |parameter: &SchemaParameter| match parameter.remark.as_str() {
            "" => parameter.name.clone(),
            remark => format!("{} ({remark})", parameter.name),
        };
        let parameters: Vec<String> = self.declared.iter().map(describe).collect();
        format!("Parameters: {}", parameters.join(", "))
    }
}

/// Whether the schema itself says that parameters may come which it does not name.
fn leaves_others_open(schema: &Value) -> bool {
    let says = ["additionalProperties", "unevaluatedProperties"];
    schema.get("patternProperties").is_some()
        || says.iter().filter_map(|key| schema.get(key)).any(|said| *said != Value::Bool(false))
}

#[cfg(test)]
mod tests;
