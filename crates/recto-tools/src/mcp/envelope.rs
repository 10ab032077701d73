//! What can be told of a message that can't be read: which question it was to answer, and what is
//! wrong with it.
//!
//! Nothing here recurses or needs the text to be UTF-8, so that any line can be looked at.

use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage, ServerResult, Tool};
use serde_json::{Value, json};

use crate::arguments::kind_of;
use crate::json_text::text_length;

/// The deepest nesting that is read.
const DEEPEST: usize = 127;

/// The nesting that is left of a list of tools which goes deeper. What was in a schema is still
/// more than a schema may be, so that such a tool is left out, and no other.
const KEPT_DEPTH: usize = 100;

/// The outermost fields of a line that looks like a message, or like a list of some.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Envelope {
    /// The numbers that stand as ids.
    pub(super) ids: Vec<i64>,
    /// Whether it says that it is JSON-RPC.
    pub(super) claims: bool,
    asks: bool,
    results: usize,
    errors: usize,
    depth: usize,
}

impl Envelope {
    /// Looks at a line, whatever it is.
    pub(super) fn scan(line: &[u8]) -> Self {
        let mut envelope = Envelope::default();
        // Messages stand in a list, or alone.
        let top = if line.trim_ascii_start().starts_with(b"[") { 2 } else { 1 };
        let mut depth = 0_usize;
        for JsonToken { kind, text, rest } in tokens(line) {
            match kind {
                JsonTokenKind::Open => depth += 1,
                JsonTokenKind::Close => depth = depth.saturating_sub(1),
                JsonTokenKind::Text if depth == top => envelope.note_field(text, rest),
                JsonTokenKind::Text | JsonTokenKind::Other => {}
            }
            envelope.depth = envelope.depth.max(depth);
        }
        envelope
    }

    fn note_field(&mut self, name: &[u8], rest: &[u8]) {
        let Some(value) = rest.trim_ascii_start().strip_prefix(b":") else { return };
        match name {
            br#""jsonrpc""# => self.claims = true,
            br#""method""# => self.asks = true,
            br#""result""# => self.results += 1,
            br#""error""# => self.errors += 1,
            br#""id""# => self.ids.extend(number(value)),
            _ => {}
        }
    }

    /// Whether it is meant as an answer.
    pub(super) fn is_answer(&self) -> bool {
        self.results + self.errors > 0 || (self.claims && !self.asks)
    }
}

/// The note, in what a tool says of itself to programs (`_meta`), of why it can't be used. It stands
/// in the place of a tool that can't be read.
pub(super) const UNUSABLE: &str = "recto/unusable";

/// Reads what could not be read at once: of a list of tools those that can be. Otherwise says what
/// is wrong with it.
pub(super) fn read_message(
    line: &[u8],
    envelope: &Envelope,
    is_tool_list: bool,
) -> Result<ServerJsonRpcMessage, String> {
    let is_one_answer = (envelope.results, envelope.errors) == (1, 0);
    if is_tool_list
        && is_one_answer
        && let Some(message) = mend_tool_list(line)
    {
        return Ok(message);
    }
    match envelope.depth <= DEEPEST {
        true => Err(problem(line, envelope)),
        false => Err(format!("it is nested more than {DEEPEST} deep")),
    }
}

/// The answer to the question for tools, as it was read: where it is no list of tools as a whole,
/// those of its tools are kept that can be read.
pub(super) fn with_readable_tools(
    message: ServerJsonRpcMessage,
    line: &[u8],
) -> ServerJsonRpcMessage {
    match is_other_answer(&message) {
        true => mend_tool_list(line).unwrap_or(message),
        false => message,
    }
}

/// Whether a message is an answer, and no list of tools.
pub(super) fn is_other_answer(message: &ServerJsonRpcMessage) -> bool {
    let JsonRpcMessage::Response(answer) = message else { return false };
    !matches!(answer.result, ServerResult::ListToolsResult(_))
}

/// The list of tools of an answer that can't be read as a whole. No tool takes the others along:
/// what is nested too deep is cut off, numbers that are too large are the largest, and in the place
/// of a tool that is none stands why.
fn mend_tool_list(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    let line = within_range(&without_deeper(line, KEPT_DEPTH));
    let mut message: Value = serde_json::from_slice(&line).ok()?;
    for tool in message.pointer_mut("/result/tools")?.as_array_mut()? {
        if serde_json::from_value::<Tool>(tool.clone()).is_err() {
            *tool = readable_tool(tool);
        }
    }
    serde_json::from_value(message).ok().filter(|message| !is_other_answer(message))
}

/// A tool without what can't be read of it, or with a note of why it can't be used.
fn readable_tool(tool: &Value) -> Value {
    let name = tool["name"].as_str();
    let why = match (tool, name, &tool["inputSchema"]) {
        (Value::Object(_), Some(name), schema @ Value::Object(_)) => {
            let texts = ["title", "description"].map(|key| tool[key].as_str());
            let [title, description] = texts;
            return json!({
                "name": name, "title": title, "description": description, "inputSchema": schema,
            });
        }
        (Value::Object(_), Some(_), Value::Null) => "it has no `inputSchema`".to_owned(),
        (Value::Object(_), Some(_), other) => {
            format!("its `inputSchema` is {}, not an object", kind_of(other))
        }
        (Value::Object(_), None, _) => "it has no name".to_owned(),
        (other, _, _) => format!("in its place in the list stands {}", kind_of(other)),
    };
    json!({"name": name.unwrap_or_default(), "inputSchema": {}, "_meta": {UNUSABLE: why}})
}

/// What is wrong with a line that is not nested too deep.
fn problem(line: &[u8], envelope: &Envelope) -> String {
    if let Err(error) = str::from_utf8(line) {
        return format!("byte {} is not UTF-8", error.valid_up_to() + 1);
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return error.to_string().replace(" at line 1 column ", " at byte "),
    };
    let is_code = |code: &Value| code.as_i64().is_some_and(|code| i32::try_from(code).is_ok());
    let problem = match (envelope.results, envelope.errors) {
        _ if value.is_array() => "a list, where each message has a line of its own",
        (2.., _) => "it has `result` twice",
        (_, 2..) => "it has `error` twice",
        (1, 1) => "it has a `result` and an `error`",
        _ if value.pointer("/error/code").is_some_and(|code| !is_code(code)) => {
            "the code of its error is no whole number of 32 bits"
        }
        _ => "it is no message of JSON-RPC",
    };
    problem.to_owned()
}

/// The line with `null` in the place of all that is nested deeper than that.
fn without_deeper(line: &[u8], deepest: usize) -> Vec<u8> {
    let (mut kept, mut depth) = (Vec::with_capacity(line.len()), 0_usize);
    for JsonToken { kind, text, .. } in tokens(line) {
        if kind == JsonTokenKind::Open {
            depth += 1;
            if depth == deepest + 1 {
                kept.extend_from_slice(b"null");
            }
        }
        if depth <= deepest {
            kept.extend_from_slice(text);
        }
        if kind == JsonTokenKind::Close {
            depth = depth.saturating_sub(1);
        }
    }
    kept
}

/// The line with the largest number there is in the place of each that is larger.
fn within_range(line: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(line.len());
    let mut number = Vec::new();
    for JsonToken { kind, text, .. } in tokens(line) {
        let is_of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        if kind == JsonTokenKind::Other && text.iter().all(is_of_number) {
            number.extend_from_slice(text);
        } else {
            push_number(&mut kept, &mut number);
            kept.extend_from_slice(text);
        }
    }
    push_number(&mut kept, &mut number);
    kept
}

/// Adds a number, if there is one, as it is or as the largest.
fn push_number(kept: &mut Vec<u8>, number: &mut Vec<u8>) {
    let value = str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok());
    match value.filter(|value| value.is_infinite()) {
        Some(value) => kept.extend(format!("{:e}", f64::MAX.copysign(value)).bytes()),
        None => kept.extend_from_slice(number),
    }
    number.clear();
}

/// A number, also one in quotes.
fn number(value: &[u8]) -> Option<i64> {
    let value = value.trim_ascii_start();
    let value = value.strip_prefix(b"\"").unwrap_or(value);
    let end = value.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'-');
    str::from_utf8(&value[..end.unwrap_or(value.len())]).ok()?.parse().ok()
}

/// A piece of JSON, as far as nesting and texts go.
struct JsonToken<'a> {
    kind: JsonTokenKind,
    text: &'a [u8],
    /// What follows it.
    rest: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonTokenKind {
    Open,
    Close,
    /// A text with its quotes, or what is there of it.
    Text,
    Other,
}

fn tokens(line: &[u8]) -> impl Iterator<Item = JsonToken<'_>> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let (kind, length) = match rest.first()? {
            b'{' | b'[' => (JsonTokenKind::Open, 1),
            b'}' | b']' => (JsonTokenKind::Close, 1),
            b'"' => (JsonTokenKind::Text, text_length(rest)),
            _ => (JsonTokenKind::Other, 1),
        };
        let (text, behind) = rest.split_at(length);
        rest = behind;
        Some(JsonToken { kind, text, rest })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scan(line: &str) -> Envelope {
        Envelope::scan(line.as_bytes())
    }

    #[test]
    fn an_answer_is_known_by_its_outermost_fields() {
        for (line, ids, is_answer) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"id":8}}"#, &[7][..], true),
            (r#"{"id" : -7 , "error":{}}"#, &[-7], true),
            (r#"{"jsonrpc":"2.0","result":{},"id":"7"}"#, &[7], true),
            (r#"{"jsonrpc":"2.0","id":1,"result":{"text":"\"}{\\"},"error":1}"#, &[1], true),
            (r#"{"jsonrpc":"2.0","id":1"#, &[1], true),
            (r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"method":"x"},{"id":2}]"#, &[1, 2], true),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, &[1], false),
            (r#"{"level":"info","id":3}"#, &[3], false),
            ("calling {", &[], false),
            (r#"["id", "result"]"#, &[], false),
            ("", &[], false),
        ] {
            let envelope = scan(line);
            assert_eq!((&*envelope.ids, envelope.is_answer()), (ids, is_answer), "{line}");
        }
    }

    #[test]
    fn it_is_said_what_is_wrong() {
        let whys = [
            (r#"{"id":1,"result":{"a":"\ud800 x"}}"#, "unexpected end of hex escape at byte 30"),
            (r#"{"id":1,"result":{},"result":{}}"#, "it has `result` twice"),
            (r#"{"id":1,"result":{},"error":{}}"#, "it has a `result` and an `error`"),
            (
                r#"{"id":1,"error":{"code":1e30,"message":""}}"#,
                "the code of its error is no whole number of 32 bits",
            ),
            ("[]", "a list, where each message has a line of its own"),
            ("{}", "it is no message of JSON-RPC"),
            ("hello", "expected value at byte 1"),
        ];
        for (line, why) in whys {
            let read = read_message(line.as_bytes(), &scan(line), false);
            assert_eq!(read.unwrap_err(), why, "{line}");
        }
        let line = b"{\"id\":1,\"result\":\"\xff\"}";
        let read = read_message(line, &Envelope::scan(line), false);
        assert_eq!(read.unwrap_err(), "byte 19 is not UTF-8");
    }

    #[test]
    fn no_number_is_larger_than_the_largest() {
        let huge = format!("1{}", "0".repeat(400));
        let line =
            format!(r#"{{"a":[{huge},-1e400 ,1.5e3,7],"b{huge}":"{huge}\" 1e400","c":true}}"#);
        let kept = String::from_utf8(within_range(line.as_bytes())).unwrap();
        let most = format!("{:e}", f64::MAX);
        let expected =
            format!(r#"{{"a":[{most},-{most} ,1.5e3,7],"b{huge}":"{huge}\" 1e400","c":true}}"#);
        assert_eq!(kept, expected);
        assert!(serde_json::from_str::<Value>(&kept).is_ok());
    }

    #[test]
    fn of_a_list_of_tools_what_is_nested_too_deep_is_cut_off() {
        let deep = (0..70).fold(json!("x"), |inner, _| json!({"properties": {"]}": inner}}));
        let tools = json!([{"name": "a", "inputSchema": deep}, {"name": "b", "inputSchema": {}}]);
        let line = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}).to_string();
        let read = |is_list| read_message(line.as_bytes(), &scan(&line), is_list);
        assert_eq!(read(false).unwrap_err(), "it is nested more than 127 deep");
        let ServerJsonRpcMessage::Response(answer) = read(true).unwrap() else { panic!() };
        let read = serde_json::to_value(answer.result).unwrap();
        assert_eq!(read["tools"][1]["name"], "b");
        let schema = &read["tools"][0]["inputSchema"];
        assert!(crate::schema::measure_extent(schema).is_err(), "{schema}");
        let twice = line.replace("\"result\":", "\"result\":{},\"result\":");
        assert!(read_message(twice.as_bytes(), &scan(&twice), true).is_err());
        // Any depth is looked at, also one that nobody closes.
        let open = format!(r#"{{"id":1,"result":{}"#, "[".repeat(1_000_000));
        let envelope = scan(&open);
        assert_eq!((&*envelope.ids, envelope.depth), (&[1][..], 1_000_001));
        assert!(read_message(open.as_bytes(), &envelope, true).is_err());
    }
}
