//! Whether a call is one, and the right one.

use recto_context::{ToolCall, ToolSpec};
use serde_json::{Map, Value};

/// What is thought of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallVerdict {
    /// It calls something, and all it calls fits the schemas.
    pub(super) valid: bool,
    /// The first call is of the right tool.
    pub(super) tool: bool,
    /// All of that, and the arguments that matter are right.
    pub(super) right: bool,
}

/// Knows the tools that were offered.
pub(super) struct CallJudge<'a> {
    tools: &'a [ToolSpec],
}

impl<'a> CallJudge<'a> {
    pub(super) fn new(tools: &'a [ToolSpec]) -> Self {
        CallJudge { tools }
    }

    /// What is thought of a reply's calls, when this one would be right.
    pub(super) fn verdict(
        &self,
        calls: &[ToolCall],
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> CallVerdict {
        let read: Vec<Option<Value>> = calls.iter().map(|call| self.arguments_of(call)).collect();
        let valid = !read.is_empty() && read.iter().all(Option::is_some);
        let is_right_tool = calls.first().is_some_and(|call| *call.name == *tool);
        let given = read.first().and_then(Option::as_ref);
        let fits = given.is_some_and(|given| {
            arguments.iter().all(|(name, right)| is_same(name, right, &given[name.as_str()]))
        });
        CallVerdict { valid, tool: is_right_tool, right: valid && is_right_tool && fits }
    }

    /// The arguments of a call that a tool would take: no more than it declares,
    /// and as its schema wants them.
    fn arguments_of(&self, call: &ToolCall) -> Option<Value> {
        let tool = self.tools.iter().find(|tool| tool.id.name == call.name)?;
        let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
        let declared = tool.parameters["properties"].as_object();
        let is_declared = |name: &String| declared.is_some_and(|all| all.contains_key(name));
        let schema = jsonschema::options().offline().build(&tool.parameters).ok()?;
        let fits = arguments.as_object()?.keys().all(is_declared) && schema.is_valid(&arguments);
        fits.then_some(arguments)
    }
}

/// Whether an argument is the right one. What means the same to the tool is the
/// same: blanks around a text, `./` before a path and `/` behind it, `10.0` for 10.
fn is_same(name: &str, right: &Value, given: &Value) -> bool {
    match (right, given) {
        (Value::String(right), Value::String(given)) if name == "path" => {
            let given = given.trim();
            given.strip_prefix("./").unwrap_or(given).trim_end_matches('/') == right
        }
        (Value::String(right), Value::String(given)) => given.trim() == right,
        (Value::Number(right), Value::Number(given)) => right.as_f64() == given.as_f64(),
        _ => right == given,
    }
}
