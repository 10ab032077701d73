//! What has to hold of declarations of tools and of MCP servers whatever bytes come, for
//! fuzzing and for the tests that go over its inputs. Built for these alone.

use serde_json::Value;

use crate::declared::{check_declaration, fuzzing::read_executions};
use crate::schema::fuzzing::check_schema;

pub use crate::mcp::fuzzing::check_mcp;

/// The programs of a tools.json: flaws are on lines that the file has, a file without flaws says
/// how each of its tools is run, a mark of the byte order changes nothing, and blanks between
/// values don't either.
pub fn check_tools_json(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let text = text.trim_start_matches('\u{feff}');
    let flaws = check_declaration(text);
    let count = text.split('\n').count();
    for flaw in &flaws {
        assert!((1..=count).contains(&flaw.line), "{flaw:?} of {count} lines in {text:?}");
    }
    let marked = format!("\u{feff}{text}");
    assert_eq!(check_declaration(&marked), flaws, "{text:?}");
    let executions = read_executions(text);
    assert_eq!(read_executions(&marked), executions, "{text:?}");
    if flaws.is_empty() {
        assert!(executions.iter().all(|(_, execution)| execution.is_ok()), "{text:?}");
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        assert!(!flaws.is_empty(), "{text:?} is no JSON, and nothing is wrong with it");
        return;
    };
    let without_lines = |text: &str| -> Vec<(String, Result<String, String>)> {
        let found = read_executions(text).into_iter();
        found.map(|(tool, found)| (tool, found.map_err(|flaw| flaw.what))).collect()
    };
    let (plain, airy) = (value.to_string(), format!("{value:#}"));
    assert_eq!(without_lines(&plain), without_lines(&airy), "{plain}");
    let tools = value.get("tools").and_then(Value::as_array);
    for tool in tools.into_iter().flatten().take(4) {
        tool.get("parameters").into_iter().for_each(check_schema);
    }
}

#[cfg(test)]
mod tests {
    use recto_fakes::fuzz_inputs;

    use super::*;

    #[test]
    fn every_input_that_was_kept_holds() {
        fuzz_inputs("tools_json").iter().for_each(|(_, input)| check_tools_json(input));
        fuzz_inputs("mcp").iter().for_each(|(_, input)| check_mcp(input));
    }
}
