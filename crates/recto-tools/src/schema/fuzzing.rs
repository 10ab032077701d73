//! What has to hold of schemas of tools, whatever they are.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::CompiledSchema;
use super::tree::HardPatterns;
use crate::arguments::CallArguments;
use crate::blocking::Stop;

/// Far more than a check takes that uses all of its steps.
const LONGEST: Duration = Duration::from_secs(20);

/// Schemas: a check comes to an end, twice to the same one, and what it tells a model is short.
pub(crate) fn check_schema(schema: &Value) {
    let begun = Instant::now();
    let arguments =
        [json!({}), json!({"a": [1, "b", {"c": null}]}), json!({"schema": schema}), schema.clone()];
    for hard in [HardPatterns::Refused, HardPatterns::PassedOver] {
        let compiled = CompiledSchema::new(schema, hard);
        for value in &arguments {
            let Ok(arguments) = CallArguments::parse(&value.to_string()) else { continue };
            let told = compiled.check(&arguments, &Stop::default());
            assert_eq!(told, compiled.check(&arguments, &Stop::default()), "{schema}");
            let length = told.err().map_or(0, |told| told.len());
            assert!(length < 8_000, "{length} bytes for {schema}");
        }
    }
    assert!(begun.elapsed() < LONGEST, "{schema} took {:?}", begun.elapsed());
}
