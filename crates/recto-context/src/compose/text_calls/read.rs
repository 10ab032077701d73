//! Reads the calls that a model wrote into its text.
//!
//! Small models don't keep to a form to the letter, so the reader is lenient in
//! what models get wrong most: blanks, a Markdown fence, a closing tag that never
//! comes, `parameters` for `arguments`, arguments within a string. It never
//! guesses, though: what is no call without doubt stays text, and a person sees it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{CLOSE, OPEN};
use crate::message::{CallId, ToolCall};

/// A fence of Markdown.
const FENCE: &str = "```";

/// The calls in a text, and the text without them.
///
/// For replies to requests whose tools stood on the page as text, which is to say
/// when [`RequestContext::tool_calls`] is [`ToolCalls::Text`]; any other model
/// that writes such a thing only talks about it.
///
/// Nobody gives these calls an identity, so `id` makes one from the place of a
/// call among the calls, from 0. Arguments are kept as the model wrote them. A
/// text of nothing but calls and blanks leaves an empty text; otherwise what is
/// left is left byte for byte.
///
/// [`RequestContext::tool_calls`]: crate::RequestContext::tool_calls
/// [`ToolCalls::Text`]: crate::ToolCalls::Text
///
/// ```
/// use recto_context::{CallId, read_calls};
///
/// let text = r#"Let me look. <tool_call>{"name": "time", "arguments": {}}</tool_call>"#;
/// let (calls, rest) = read_calls(text, |place| CallId(format!("call_{place}").into()));
/// assert_eq!((&*calls[0].name, calls[0].arguments.as_str()), ("time", "{}"));
/// assert_eq!(rest, "Let me look. ");
/// ```
pub fn read_calls(text: &str, mut id: impl FnMut(usize) -> CallId) -> (Vec<ToolCall>, String) {
    let mut calls = Vec::new();
    let mut rest = String::with_capacity(text.len());
    let mut read = 0;
    for run in find_call_runs(text) {
        let place = with_fence(text, read, &run.place);
        rest.push_str(&text[read..place.start]);
        read = place.end;
        for (name, arguments) in run.calls {
            calls.push(ToolCall { id: id(calls.len()), name, arguments: arguments.into() });
        }
    }
    rest.push_str(&text[read..]);
    if !calls.is_empty() && rest.trim().is_empty() {
        rest.clear();
    }
    (calls, rest)
}

/// What can be shown of a text while the rest is still being written: all that
/// stands before a call, or before what may become one. Calls are for Recto, and
/// a person should not have to read them.
///
/// ```
/// use recto_context::text_before_calls;
///
/// assert_eq!(text_before_calls("1 <"), "1 ");
/// assert_eq!(text_before_calls("1 < 2"), "1 < 2");
/// assert_eq!(text_before_calls(r#"Look: <tool_call>{"name": "#), "Look: ");
/// ```
pub fn text_before_calls(text: &str) -> &str {
    let partly = || (1..OPEN.len()).rev().find(|length| text.ends_with(&OPEN[..*length]));
    let end = text.find(OPEN).unwrap_or_else(|| text.len() - partly().unwrap_or(0));
    let before = text[..end].trim_end();
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let last = before[line..].trim();
    // The fence that a call may stand in leaves with the call.
    match opens_fence(last) || before.is_empty() || (last.len() < 3 && FENCE.starts_with(last)) {
        true => &text[..line],
        false => &text[..end],
    }
}

/// The name and the arguments of a call, as they were written.
type WrittenCall = (Arc<str>, String);

/// Calls with nothing but blanks between them.
struct CallRun {
    place: Range<usize>,
    calls: Vec<WrittenCall>,
}

fn find_call_runs(text: &str) -> Vec<CallRun> {
    let mut runs: Vec<CallRun> = Vec::new();
    let mut from = 0;
    while let Some(found) = text[from..].find(OPEN) {
        let start = from + found;
        from = start + OPEN.len();
        let Some((call, length)) = call_at(&text[from..]) else { continue };
        from += length;
        match runs.last_mut().filter(|run| text[run.place.end..start].trim().is_empty()) {
            Some(run) => {
                run.place.end = from;
                run.calls.push(call);
            }
            None => runs.push(CallRun { place: start..from, calls: vec![call] }),
        }
    }
    runs
}

/// The call that `text` begins with, behind its opening tag, and its length with
/// the closing tag. The end of the call is where its JSON ends: an argument may
/// hold the tag, too.
fn call_at(text: &str) -> Option<(WrittenCall, usize)> {
    let (json, fenced) = match text.trim_start().strip_prefix(FENCE) {
        Some(behind) => (behind.trim_start_matches(char::is_alphanumeric).trim_start(), true),
        None => (text.trim_start(), false),
    };
    // Serde would read a list as well.
    if !json.starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<RawTextCall<'_>>();
    let call = values.next()?.ok()?.written()?;
    let mut after = json[values.byte_offset()..].trim_start();
    if fenced {
        after = after.strip_prefix(FENCE).unwrap_or(after).trim_start();
    }
    let end = match after.strip_prefix(CLOSE) {
        Some(end) => end,
        // Models that stop at the closing tag don't write it.
        None if after.is_empty() || after.starts_with(OPEN) => after,
        None => return None,
    };
    Some((call, text.len() - end.len()))
}

/// A call in the forms that are read.
#[derive(Deserialize)]
struct RawTextCall<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parameters: Option<&'a RawValue>,
}

impl RawTextCall<'_> {
    fn written(self) -> Option<WrittenCall> {
        let name = self.name.trim();
        let arguments = self.arguments.or(self.parameters).map_or("", RawValue::get);
        (!name.is_empty()).then(|| (name.into(), unquoted(arguments)))
    }
}

/// Arguments are an object. Some models put it into a string, as one wire does;
/// what is no JSON at all was put into one by Recto.
fn unquoted(arguments: &str) -> String {
    let arguments = serde_json::from_str::<String>(arguments).unwrap_or(arguments.to_owned());
    match arguments.trim() {
        "" | "null" => "{}".to_owned(),
        _ => arguments,
    }
}

/// A run with the fence around it, if there is one and nothing else is in it.
/// What stands before `from` is taken already.
fn with_fence(text: &str, from: usize, run: &Range<usize>) -> Range<usize> {
    let before = text[from..run.start].trim_end();
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let behind = text[run.end..].trim_start();
    match behind.strip_prefix(FENCE) {
        Some(behind) if opens_fence(before[line..].trim()) => {
            from + line..text.len() - behind.len()
        }
        _ => run.clone(),
    }
}

/// Whether a line begins a fence, with a name behind it or without.
fn opens_fence(line: &str) -> bool {
    line.strip_prefix(FENCE).is_some_and(|name| name.chars().all(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::calls_as_text;
    use super::*;
    use crate::message::{ContentPart, Message, MessageBody, MessageId};

    fn read(text: &str) -> (Vec<ToolCall>, String) {
        read_calls(text, |place| CallId(place.to_string().into()))
    }

    /// The calls as `name arguments`, one after the other.
    #[track_caller]
    fn check(text: &str, calls: &[&str], rest: &str) {
        let (read, left) = read(text);
        let shown = read.iter().map(|call| format!("{} {}", call.name, call.arguments));
        assert_eq!(shown.collect::<Vec<_>>(), calls, "{text}");
        assert_eq!(left, rest, "{text}");
        assert!(read.iter().enumerate().all(|(place, call)| *call.id.0 == *place.to_string()));
    }

    #[test]
    fn calls_are_read_as_models_write_them() {
        let call = r#"<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>"#;
        check(call, &[r#"f {"a": 1}"#], "");
        check(&format!(" \n{call}\n"), &[r#"f {"a": 1}"#], "");
        check(&format!("Look:\n{call}\nDone."), &[r#"f {"a": 1}"#], "Look:\n\nDone.");
        check(&format!("{call}\n{call}{call}"), &[r#"f {"a": 1}"#; 3], "");
        check(&format!("a{call}b{call}c"), &[r#"f {"a": 1}"#; 2], "abc");
        let pretty =
            "<tool_call>\n{\n  \"name\": \"f\",\n  \"arguments\": {\"a\":  1.50}\n}\n</tool_call>";
        check(pretty, &[r#"f {"a":  1.50}"#], "");
    }

    #[test]
    fn what_may_become_a_call_is_not_shown() {
        for (text, shown) in [
            ("", ""),
            (" \n", ""),
            ("Look: ", "Look: "),
            ("Look: <tool_c", "Look: "),
            ("Look: <tool_cat>", "Look: <tool_cat>"),
            ("Look: <tool_call>{", "Look: "),
            ("So:\n```xml\n<tool_call>{", "So:\n"),
            ("So:\n``", "So:\n"),
            ("So:\n```json\n", "So:\n"),
            ("So:\n```json\n{", "So:\n```json\n{"),
            ("```\nx\n```\nDone", "```\nx\n```\nDone"),
        ] {
            assert_eq!(text_before_calls(text), shown, "{text:?}");
        }
    }

    #[test]
    fn other_forms_are_read_too() {
        check(r#"<tool_call>{"arguments":{},"name":"f"}</tool_call>"#, &["f {}"], "");
        check(r#"<tool_call>{"name":"f","parameters":{"a":1}}</tool_call>"#, &[r#"f {"a":1}"#], "");
        check(r#"<tool_call>{"name":"f","arguments":"{\"a\":1}"}"#, &[r#"f {"a":1}"#], "");
        check(r#"<tool_call>{"name":"f"}</tool_call>"#, &["f {}"], "");
        check(r#"<tool_call>{"name":"f","arguments":null}</tool_call>"#, &["f {}"], "");
        check(r#"<tool_call>{"name":"f","arguments":""}</tool_call>"#, &["f {}"], "");
        check(r#"<tool_call>{"id":7,"type":"function","name":"f"}</tool_call>"#, &["f {}"], "");
        check(r#"<tool_call>{"name":"f"}"#, &["f {}"], "");
        check("x <tool_call>{\"name\":\"f\"}\n", &["f {}"], "x ");
        check(r#"<tool_call>{"name":"f"}<tool_call>{"name":"g"}"#, &["f {}", "g {}"], "");
        check(r#"<tool_call>{"name":"na\u006de"}</tool_call>"#, &["name {}"], "");
    }

    #[test]
    fn fences_leave_with_their_calls() {
        let call = r#"<tool_call>{"name":"f"}</tool_call>"#;
        check(&format!("```\n{call}\n```"), &["f {}"], "");
        check(&format!("```json\n{call}\n{call}\n```"), &["f {}"; 2], "");
        check(&format!("So:\n\n```xml\n{call}\n```\nthen."), &["f {}"], "So:\n\n\nthen.");
        let two = format!("a\n```\n{call}\n```\nb\n```\n{call}\n```\nc");
        check(&two, &["f {}"; 2], "a\n\nb\n\nc");
        check("<tool_call>\n```json\n{\"name\":\"f\"}\n```\n</tool_call>", &["f {}"], "");
        check("<tool_call>```{\"name\":\"f\"}```", &["f {}"], "");
        let kept = format!("```\nlet x = 1;\n{call}\n```");
        check(&kept, &["f {}"], "```\nlet x = 1;\n\n```");
        check(&format!("```\nlet x = 1;\n```\n{call}"), &["f {}"], "```\nlet x = 1;\n```\n");
    }

    #[test]
    fn the_end_of_a_call_is_the_end_of_its_json() {
        let text = r#"<tool_call>{"name":"f","arguments":{"a":"</tool_call>{\"}"}}</tool_call>."#;
        check(text, &[r#"f {"a":"</tool_call>{\"}"}"#], ".");
        let nested = r#"<tool_call>{"name":"f","arguments":{"a":"<tool_call>{}</tool_call>"}}"#;
        check(nested, &[r#"f {"a":"<tool_call>{}</tool_call>"}"#], "");
    }

    #[test]
    fn what_is_no_call_stays_text() {
        for text in [
            "",
            " \n ",
            "no call",
            "<tool_call>",
            "<tool_call></tool_call>",
            "<tool_call>f(1)</tool_call>",
            "<tool_call>[\"f\", {}]</tool_call>",
            "<tool_call>\"f\"</tool_call>",
            "<tool_call>{\"name\":\"f\"</tool_call>",
            "<tool_call>{\"name\":\"f\",\"arguments\":{</tool_call>",
            "<tool_call>{\"name\":7}</tool_call>",
            "<tool_call>{\"name\":\" \"}</tool_call>",
            "<tool_call>{\"arguments\":{}}</tool_call>",
            "<tool_call>{\"name\":\"f\"} and so on</tool_call>",
            "{\"name\":\"f\",\"arguments\":{}}",
            "```json\n{\"name\":\"f\",\"arguments\":{}}\n```",
            "<TOOL_CALL>{\"name\":\"f\"}</TOOL_CALL>",
        ] {
            check(text, &[], text);
        }
        let second = r#"<tool_call>oops</tool_call> <tool_call>{"name":"f"}</tool_call>"#;
        check(second, &["f {}"], "<tool_call>oops</tool_call> ");
    }

    #[test]
    fn nesting_without_end_is_no_call() {
        let deep = format!("<tool_call>{{\"name\":\"f\",\"arguments\":{}", "[".repeat(100_000));
        check(&deep, &[], &deep);
    }

    /// A message with its calls written out, as the model would read it.
    fn written(content: &str, calls: Vec<ToolCall>) -> String {
        let content = vec![ContentPart::Text(content.into())];
        let body = MessageBody::Assistant { content, calls };
        let message = calls_as_text(Arc::new(Message { id: MessageId(1), body }));
        let texts = message.content().iter().filter_map(ContentPart::as_text);
        texts.map(|text| text.as_str()).collect()
    }

    /// Arguments that come back as they were: objects, and what is no JSON.
    fn arguments() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("{}".to_owned()),
            "\\{ \"a\": \"[a-z<>/_]{0,20}\", \"b\": \\[1, 2.50\\]\\}",
            r#"\{"path":"(</tool_call>|<tool_call>|\\"|\\\\|é|日){0,6}"\}"#,
            "not json [a-z\"\\\\\\n{}<>]{0,20}",
        ]
    }

    proptest! {
        #[test]
        fn calls_written_as_text_are_read_again(
            // A fence or a tag would be part of the next call.
            content in "[a-zA-Z .,:\\n]{0,40}",
            calls in prop::collection::vec(("[a-z_]{1,12}", arguments()), 1..4),
        ) {
            let call = |(place, (name, arguments)): (usize, (String, String))| ToolCall {
                id: CallId(place.to_string().into()),
                name: name.into(),
                arguments: arguments.into(),
            };
            let calls: Vec<ToolCall> = calls.into_iter().enumerate().map(call).collect();
            let (again, rest) = read(&written(&content, calls.clone()));
            prop_assert_eq!(again, calls);
            prop_assert_eq!(rest.trim(), content.trim());
        }

        #[test]
        fn any_text_is_read_without_losing_a_byte(
            text in "(<tool_call>|</tool_call>|```|json|\\{\"name\":\"f\"|\\}|\\{|,|\"arguments\":|\"|é|\\n| |x){0,40}",
            other in "\\PC{0,60}",
        ) {
            for text in [&text, &other] {
                let (calls, rest) = read(text);
                if calls.is_empty() {
                    prop_assert_eq!(&rest, text);
                }
            }
        }
    }
}
