//! A request's `options`: which there are, and of what type each has to be.
//! Unknown ones are let pass, as the real server does with a line in its log.

use serde_json::{Map, Value};

use super::error;
use crate::reaction::Rejection;

const INTEGERS: &str = "main_gpu num_batch num_ctx num_gpu num_keep num_predict num_thread \
                        repeat_last_n seed top_k";

const DECIMALS: &str = "frequency_penalty min_p presence_penalty repeat_penalty temperature top_p \
                        typical_p";

/// What the fake heeds of them.
#[derive(Debug)]
pub(super) struct FakeOptions {
    pub(super) window: Option<u32>,
}

impl FakeOptions {
    pub(super) fn read(options: &Map<String, Value>) -> Result<Self, Rejection> {
        for (name, value) in options.iter().filter(|(_, value)| !value.is_null()) {
            check(name, value)?;
        }
        let window = options.get("num_ctx").and_then(Value::as_f64);
        // The real server cuts digits behind the point off, too.
        Ok(FakeOptions { window: window.map(|tokens| tokens as u32) })
    }
}

/// The real server answers 500 here, not 400.
fn check(name: &str, value: &Value) -> Result<(), Rejection> {
    let wants = |kind: &str| Err(error(500, format!("option {name:?} must be of type {kind}")));
    let is_among = |names: &str| names.split(' ').any(|known| known == name);
    if is_among(INTEGERS) && !value.is_number() {
        return wants("integer");
    }
    if is_among(DECIMALS) && !value.is_number() {
        return wants("float32");
    }
    if name == "use_mmap" && !value.is_boolean() {
        return wants("boolean");
    }
    if name == "stop" {
        let Some(items) = value.as_array() else { return wants("array") };
        if !items.iter().all(Value::is_string) {
            return Err(error(500, "option \"stop\" must be of an array of strings"));
        }
    }
    Ok(())
}
