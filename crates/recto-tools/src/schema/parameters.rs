//! The parameters that a schema declares, as models are told of them.

use std::collections::HashSet;

use recto_context::nearest_name;
use serde_json::Value;

use super::measure::find_target;
use crate::clip::clip_name;

/// The parameters that a schema declares.
#[derive(Debug, Default)]
pub(super) struct SchemaParameters {
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
    pub(super) fn from_schema(schema: &Value) -> Self {
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
        let target = target.filter(|target| followed.insert(target));
        if let Some(part) = target.and_then(|target| find_target(whole, target)) {
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
    pub(super) fn undeclared(&self, name: &str) -> Option<String> {
        let fits = self.others == UndeclaredParameters::LeftToTheSchema
            || self.names().any(|it| it == name);
        (!fits).then(|| self.refusal(name))
    }

    pub(super) fn refusal(&self, name: &str) -> String {
        let hint = nearest_name(name, self.names()).filter(|near| *near != name);
        let hint = hint.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("`{}` is not a parameter{hint}", clip_name(name))
    }

    pub(super) fn describe(&self) -> String {
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
