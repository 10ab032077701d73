//! What is wrong with a request, in OpenAI's words.

use serde_json::{Value, json};

use crate::reaction::Rejection;

/// The result of a check of a request.
pub(super) type CheckResult<T> = Result<T, OpenAiProblem>;

/// Something wrong with a request.
#[derive(Debug)]
pub(super) struct OpenAiProblem {
    message: String,
    param: Option<String>,
    code: Option<&'static str>,
}

impl OpenAiProblem {
    pub(super) fn new(message: impl Into<String>) -> Self {
        OpenAiProblem { message: message.into(), param: None, code: None }
    }

    /// Names the parameter that is at fault.
    pub(super) fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// Gives it a code that programs can read.
    pub(super) fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// A parameter that has to be there and is not.
    pub(super) fn missing(param: &str) -> Self {
        OpenAiProblem::new(format!("Missing required parameter: '{param}'."))
            .param(param)
            .code("missing_required_parameter")
    }

    /// A parameter of the wrong type.
    pub(super) fn wrong_type(param: &str, expected: &str, given: &Value) -> Self {
        let given = kind(given);
        let message =
            format!("Invalid type for '{param}': expected {expected}, but got {given} instead.");
        OpenAiProblem::new(message).param(param).code("invalid_type")
    }

    /// A word that is none of those a parameter can be.
    pub(super) fn unsupported(param: &str, given: &str, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|word| format!("'{word}'")).collect();
        let supported = supported.join(", ");
        let message = format!("Invalid value: '{given}'. Supported values are: {supported}.");
        OpenAiProblem::new(message).param(param).code("invalid_value")
    }

    /// A list that needs an entry.
    pub(super) fn empty_list(param: &str) -> Self {
        let message = format!(
            "Invalid '{param}': empty array. Expected an array with minimum length 1, but got an \
             empty array instead."
        );
        OpenAiProblem::new(message).param(param).code("empty_array")
    }

    /// A text with too many characters.
    pub(super) fn too_long(param: &str, most: usize, length: usize) -> Self {
        let message = format!(
            "Invalid '{param}': string too long. Expected a string with maximum length {most}, \
             but got a string with length {length} instead."
        );
        OpenAiProblem::new(message).param(param).code("string_above_max_length")
    }

    /// A number outside of what a parameter can be.
    pub(super) fn out_of_range(param: &str, bounds: &str, given: &Value) -> Self {
        let message =
            format!("Invalid '{param}': expected a value {bounds}, but got {given} instead.");
        OpenAiProblem::new(message).param(param).code("invalid_value")
    }

    pub(super) fn rejection(self, status: u16) -> Rejection {
        let problem = json!({
            "message": self.message,
            "type": "invalid_request_error",
            "param": self.param,
            "code": self.code,
        });
        error(status, &self.message, &problem)
    }
}

/// The envelope of all errors.
pub(super) fn error(status: u16, why: &str, problem: &Value) -> Rejection {
    Rejection::json(status, why, &json!({ "error": problem }))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a decimal",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
