//! A look at what a tools.json says, for the properties that fuzzing tries.

use super::json::DeclarationFlaw;
use super::read::read_tools_json;

/// How each tool is run, in the words of a debugger, or why it is not.
pub(crate) fn read_executions(text: &str) -> Vec<(String, Result<String, DeclarationFlaw>)> {
    let executions = read_tools_json(text).executions.into_iter();
    executions.map(|(tool, found)| (tool, found.map(|found| format!("{found:?}")))).collect()
}
