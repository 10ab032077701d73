//! Replies as the engine sends them, cut into pieces anywhere.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use recto_context::ContentPart;
use serde_json::Value;

use super::*;
use crate::error::LlmError;
use crate::reply::{FinishReason, ModelReply};
use crate::wire::decode::ReplyDecoder;

/// How a request was put.
#[derive(Debug, Clone, Copy, Default)]
struct Ask {
    style: Option<CallStyle>,
    must: bool,
    opens_thought: bool,
}

const PLAIN: Ask = Ask { style: None, must: false, opens_thought: false };
const PAGE: Ask = Ask { style: Some(CallStyle::Page), must: true, opens_thought: false };
const TAGGED: Ask = Ask { style: Some(CallStyle::Tagged), must: false, opens_thought: false };
const LLAMA: Ask = Ask { style: Some(CallStyle::Llama), must: false, opens_thought: false };

impl Ask {
    fn thinking(self) -> Self {
        Ask { opens_thought: true, ..self }
    }

    fn body(self) -> Vec<u8> {
        let end = if self.opens_thought { "assistant\n<think>\n" } else { "assistant\n" };
        let mut body = json!({
            "model": "small",
            "prompt": [{ "text": "hi" }, { "template": end }],
            "window": 4096,
            "max_tokens": 64,
        });
        if let Some(style) = self.style {
            body["calls"] = json!({ "style": style, "must": self.must });
        }
        body.to_string().into_bytes()
    }
}

/// A stream of `pieces`. Each character is a token, whose id is its place in the reply.
fn stream(pieces: &[&str], finish: &str) -> String {
    let mut lines = vec![json!({ "read": 64 })];
    let mut place = 0;
    for piece in pieces {
        let end = place + piece.chars().count();
        lines.push(json!({ "text": piece, "tokens": (place..end).collect::<Vec<_>>() }));
        place = end;
    }
    let done = json!({ "finish": finish, "prompt": 812, "cached": 790, "completion": place });
    lines.push(json!({ "done": done }));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn decode(ask: Ask, stream: &str) -> Result<(Vec<ReplyDelta>, ModelReply), LlmError> {
    let mut decoder = ReplyDecoder::new(Wire::Embedded, &ask.body());
    let mut deltas = Vec::new();
    decoder.push(stream.as_bytes(), &mut deltas)?;
    decoder.close(&mut deltas)?;
    Ok((deltas, decoder.finish()?))
}

/// A reply in lines: deltas, then what it came to.
fn drawn(ask: Ask, pieces: &[&str]) -> String {
    let (deltas, reply) = decode(ask, &stream(pieces, "stop")).unwrap();
    let mut lines: Vec<String> = deltas.iter().map(|delta| format!("{delta:?}")).collect();
    lines.push("reply".to_owned());
    lines.extend(reply.content.iter().map(|part| match part {
        ContentPart::Text(text) => format!("  text {text:?}"),
        ContentPart::Opaque(opaque) if opaque.kind == OpaqueKind::Echo => {
            format!("  tokens {}", echoed(&opaque.json).1)
        }
        other => format!("  {other:?}"),
    }));
    lines.extend(reply.calls.iter().map(|call| format!("  {} {}", call.name, call.arguments)));
    lines.push(format!("  {:?}\n", reply.finish));
    lines.join("\n")
}

/// The hash and the tokens of an echo.
fn echoed(json: &str) -> (Value, Value) {
    let echo: Value = serde_json::from_str(json).unwrap();
    (echo["text"].clone(), echo["tokens"].clone())
}

#[track_caller]
fn check(ask: Ask, pieces: &[&str], expected: &Expect) {
    expected.assert_eq(&drawn(ask, pieces));
}

#[test]
fn text_comes_as_it_is_generated() {
    check(
        PLAIN,
        &["Par", "is", "."],
        &expect![[r#"
        Text("Par")
        Text("is")
        Text(".")
        reply
          text "Paris."
          tokens [0,1,2,3,4,5]
          Stop
    "#]],
    );
    check(
        PLAIN,
        &[],
        &expect![[r#"
        reply
          Stop
    "#]],
    );
}

#[test]
fn what_was_counted_is_told() {
    let usage = |stream: &str| decode(PLAIN, stream).unwrap().1.usage;
    let counted = TokenUsage { prompt: Some(812), cached: Some(790), completion: Some(1) };
    assert_eq!(usage(&stream(&["a"], "stop")), counted);
    assert_eq!(usage("{\"done\":{\"prompt\":-1}}\n"), TokenUsage::default());
}

#[test]
fn reasons_to_end_are_told() {
    let finish = |reason| decode(PLAIN, &stream(&["a"], reason)).unwrap().1.finish;
    assert_eq!(finish("stop"), FinishReason::Stop);
    assert_eq!(finish("length"), FinishReason::Length);
    assert_eq!(finish("repetition"), FinishReason::Repetition);
    assert_eq!(finish("tired"), FinishReason::Other("tired".to_owned()));
}

#[test]
fn a_reply_without_an_end_is_cut() {
    let whole = stream(&["a"], "stop");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let cut = decode(PLAIN, &lines[..2].concat());
    assert!(matches!(cut, Err(LlmError::Cut { .. })), "{cut:?}");
    let garbage = decode(PLAIN, "{\"text\": 7}\n");
    assert!(matches!(garbage, Err(LlmError::Malformed { .. })), "{garbage:?}");
}

#[test]
fn thoughts_stand_apart() {
    let pieces = ["<th", "ink>\n", "So: ", "1 <", " 2.", "\n</thi", "nk>", "\n\n", "Yes", "."];
    check(
        PLAIN,
        &pieces,
        &expect![[r#"
        Thinking("So:")
        Thinking(" 1")
        Thinking(" < 2.")
        Text("Yes")
        Text(".")
        reply
          Opaque(Opaque { provider: "embedded", json: "{\"reasoning_content\":\"So: 1 < 2.\"}", kind: Thought })
          text "Yes."
          tokens [29,30,31,32]
          Stop
    "#]],
    );
    check(
        PLAIN.thinking(),
        &["Hm", ".\n</think>\n\n", "Yes."],
        &expect![[r#"
        Thinking("Hm")
        Thinking(".")
        Text("Yes.")
        reply
          Opaque(Opaque { provider: "embedded", json: "{\"reasoning_content\":\"Hm.\"}", kind: Thought })
          text "Yes."
          tokens [14,15,16,17]
          Stop
    "#]],
    );
}

/// Where a piece holds the end of a thought and the beginning of the text, its tokens belong to
/// both, and can't be repeated for one of them.
#[test]
fn tokens_are_kept_where_they_are_the_texts_alone() {
    check(
        PLAIN,
        &["<think>Hm</think>", "\n\nYes."],
        &expect![[r#"
        Thinking("Hm")
        Text("Yes.")
        reply
          Opaque(Opaque { provider: "embedded", json: "{\"reasoning_content\":\"Hm\"}", kind: Thought })
          text "Yes."
          Stop
    "#]],
    );
    check(
        PLAIN,
        &["<think>Hm</think>", "\n  \n", "  Yes."],
        &expect![[r#"
        Thinking("Hm")
        Text("  Yes.")
        reply
          Opaque(Opaque { provider: "embedded", json: "{\"reasoning_content\":\"Hm\"}", kind: Thought })
          text "  Yes."
          tokens [21,22,23,24,25,26]
          Stop
    "#]],
    );
    let lacking = "{\"text\":\"a\",\"tokens\":[1]}\n{\"text\":\"b\"}\n{\"done\":{}}\n";
    let (_, reply) = decode(PLAIN, lacking).unwrap();
    assert_eq!((reply.text(), reply.content.len()), ("ab".to_owned(), 1));
}

#[test]
fn tags_are_only_talked_about_elsewhere() {
    check(
        PLAIN,
        &["The tag <think>", " opens", " a </think>."],
        &expect![[r#"
        Text("The tag <think>")
        Text(" opens")
        Text(" a </think>.")
        reply
          text "The tag <think> opens a </think>."
          tokens [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32]
          Stop
    "#]],
    );
    check(
        PLAIN,
        &["  ", "<thin", "g>"],
        &expect![[r#"
        Text("  <thing>")
        reply
          text "  <thing>"
          tokens [0,1,2,3,4,5,6,7,8]
          Stop
    "#]],
    );
    check(
        PLAIN,
        &["<thi"],
        &expect![[r#"
        Text("<thi")
        reply
          text "<thi"
          tokens [0,1,2,3]
          Stop
    "#]],
    );
}

#[test]
fn a_thought_that_never_ends_is_no_text() {
    check(
        PLAIN,
        &["<think>", "Hm </th"],
        &expect![[r#"
        Thinking("Hm")
        Thinking(" </th")
        reply
          Opaque(Opaque { provider: "embedded", json: "{\"reasoning_content\":\"Hm </th\"}", kind: Thought })
          Stop
    "#]],
    );
    check(
        PLAIN,
        &["<think></think>", "\n"],
        &expect![[r#"
        reply
          Stop
    "#]],
    );
}

#[test]
fn the_agent_reads_what_the_page_asked_for() {
    let call = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
    check(
        PAGE,
        &[call],
        &expect![[r#"
        Text("<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>")
        reply
          text "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"
          tokens [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52]
          Stop
    "#]],
    );
    // Whoever must call can't think first, whatever the template opened.
    check(
        PAGE.thinking(),
        &[call],
        &expect![[r#"
        Text("<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>")
        reply
          text "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"
          tokens [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52]
          Stop
    "#]],
    );
}

#[test]
fn tagged_calls_are_read() {
    let pieces = [
        "Let me",
        " see.\n<tool",
        "_call>\n{\"name\": \"weather\", ",
        "\"arguments\": {\"city\": \"Os",
        "lo\"}}\n</tool_call>",
        "\n<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>",
    ];
    check(
        TAGGED,
        &pieces,
        &expect![[r#"
        Text("Let me")
        Text(" see.\n")
        reply
          text "Let me see.\n"
          weather {"city": "Oslo"}
          time {}
          ToolCalls
    "#]],
    );
    check(
        TAGGED,
        &["a <", " b", " <tool_call>no"],
        &expect![[r#"
        Text("a ")
        Text("< b")
        Text(" ")
        Text("<tool_call>no")
        reply
          text "a < b <tool_call>no"
          tokens [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]
          Stop
    "#]],
    );
    let thinking = ["<think>I could <tool_call>{\"name\":\"f\"}</tool_call></think>\n", "No."];
    check(
        TAGGED,
        &thinking,
        &expect![[r#"
        Thinking("I could <tool_call>{\"name\":\"f\"}</tool_call>")
        Text("No.")
        reply
          Opaque(Opaque { provider: "embedded", json: "{\"reasoning_content\":\"I could <tool_call>{\\\"name\\\":\\\"f\\\"}</tool_call>\"}", kind: Thought })
          text "No."
          tokens [59,60,61]
          Stop
    "#]],
    );
}

#[test]
fn llamas_calls_are_read() {
    check(
        LLAMA,
        &["{\"name\": \"weather\", ", "\"parameters\": {\"city\": \"Oslo\"}}"],
        &expect![[r#"
            reply
              weather {"city": "Oslo"}
              ToolCalls
        "#]],
    );
    let two =
        "{\"name\": \"a\", \"parameters\": {}}; {\"name\": \"b\", \"parameters\": {\"x\": 1.50}}";
    check(
        LLAMA,
        &["Look:", "<|python", "_tag|>", two],
        &expect![[r#"
        Text("Look:")
        reply
          text "Look:"
          a {}
          b {"x": 1.50}
          ToolCalls
    "#]],
    );
    let other = r#" {"type": "function", "name": "a", "arguments": {"x": "}"}} ;"#;
    check(
        LLAMA,
        &[other],
        &expect![[r#"
        reply
          a {"x": "}"}
          ToolCalls
    "#]],
    );
}

#[test]
fn json_that_is_no_call_stays_text() {
    for text in [
        "{}",
        "{\"name\": \"Ada\"}",
        "{\"name\": \"Ada\", \"parameters\": 7}",
        "{\"name\": \"Ada\", \"parameters\": []}",
        "{\"name\": 7, \"parameters\": {}}",
        "{\"name\": \" \", \"parameters\": {}}",
        "{\"name\": \"a\", \"parameters\": {}, \"arguments\": {}}",
        "{\"name\": \"a\", \"parameters\": {}} and so on",
        "{\"name\": \"a\", \"parameters\": {}}{\"name\": \"b\", \"parameters\": {}}",
        "{\"name\": \"a\", \"parameters\": {",
        "[{\"name\": \"a\", \"parameters\": {}}]",
        "<|python_tag|>print(1)",
        "So: {\"name\": \"a\", \"parameters\": {}}",
        " \n",
    ] {
        let (deltas, reply) = decode(LLAMA, &stream(&[text], "stop")).unwrap();
        assert_eq!((reply.text().as_str(), reply.calls.len()), (text, 0));
        assert_eq!(deltas, [ReplyDelta::Text(text.to_owned())]);
    }
}

#[test]
fn replies_have_an_end() {
    let long = "x".repeat(64 * 1024);
    let endless = |ask: Ask| {
        let mut decoder = ReplyDecoder::new(Wire::Embedded, &ask.body());
        let line = format!("{}\n", json!({ "text": long, "tokens": [1] }));
        let mut push = |_| decoder.push(line.as_bytes(), &mut Vec::new());
        (0..256).map(&mut push).find_map(Result::err)
    };
    for ask in [PLAIN, PLAIN.thinking(), LLAMA] {
        assert!(matches!(endless(ask), Some(LlmError::TooLarge { .. })), "{ask:?}");
    }
    let calls = "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>".repeat(129);
    let error = decode(TAGGED, &stream(&[&calls], "stop")).unwrap_err();
    assert_eq!(error.to_string(), "the reply has more than 128 calls");
}

/// A reply without what depends on the cuts: whether its tokens could be kept.
fn without_tokens(reply: &ModelReply) -> ModelReply {
    let is_echo = |part: &ContentPart| matches!(part, ContentPart::Opaque(opaque) if opaque.kind == OpaqueKind::Echo);
    let content = reply.content.iter().filter(|part| !is_echo(part)).cloned().collect();
    ModelReply { content, ..reply.clone() }
}

fn told(deltas: &[ReplyDelta]) -> (String, String) {
    let (mut text, mut thought) = (String::new(), String::new());
    for delta in deltas {
        match delta {
            ReplyDelta::Text(piece) => text.push_str(piece),
            ReplyDelta::Thinking(piece) => thought.push_str(piece),
        }
    }
    (text, thought)
}

/// What models write, and what is almost that.
fn generated() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<think>",
        "</think>",
        "<th",
        "\n",
        "\n\n",
        " ",
        "a",
        "é🙂",
        "<",
        "```\n",
        "```json\n",
        "<tool_call>",
        "</tool_call>",
        "{\"name\": \"f\", \"arguments\": {\"x\": 1}}",
        "{\"name\": \"f\", \"parameters\": {\"x\": \"é\"}}",
        "{\"name\"",
        "}",
        ";",
        "<|python_tag|>",
        "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>",
    ]);
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn cuts_change_nothing(
        generated in generated(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        opens_thought: bool,
    ) {
        let mut places: Vec<usize> = generated.char_indices().map(|(at, _)| at).collect();
        places.push(generated.len());
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| *cut.get(&places)).collect();
        cuts.extend([0, generated.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&str> = cuts.windows(2).map(|cut| &generated[cut[0]..cut[1]]).collect();
        let each: Vec<&str> = places.windows(2).map(|at| &generated[at[0]..at[1]]).collect();
        for ask in [PLAIN, PAGE, TAGGED, LLAMA] {
            let ask = Ask { opens_thought, ..ask };
            let (_, whole) = decode(ask, &stream(&[&generated], "stop")).unwrap();
            for pieces in [&pieces, &each] {
                let (deltas, reply) = decode(ask, &stream(pieces, "stop")).unwrap();
                // The ids of calls come from the request.
                prop_assert_eq!(without_tokens(&reply), without_tokens(&whole));
                let (text, thought) = told(&deltas);
                prop_assert_eq!(&text, &reply.text());
                check_thought(&reply, &thought)?;
                check_tokens(&generated, &reply)?;
            }
            let (_, reply) = decode(ask, &stream(&each, "stop")).unwrap();
            let is_echoed = reply.content.len() > without_tokens(&reply).content.len();
            prop_assert_eq!(is_echoed, !reply.text().is_empty() && reply.calls.is_empty());
        }
    }

    #[test]
    fn bytes_of_any_kind_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut decoder = ReplyDecoder::new(Wire::Embedded, &bytes);
        let _ = decoder.push(&bytes, &mut Vec::new());
        let _ = decoder.close(&mut Vec::new());
        let _ = decoder.finish();
    }
}

/// What was told of the thought is what is kept of it.
fn check_thought(reply: &ModelReply, told: &str) -> Result<(), TestCaseError> {
    let kept = reply.content.iter().find_map(|part| match part {
        ContentPart::Opaque(opaque) if opaque.kind == OpaqueKind::Thought => {
            serde_json::from_str::<Value>(&opaque.json).ok()
        }
        _ => None,
    });
    let kept = kept.map_or(String::new(), |kept| kept[THOUGHT].as_str().unwrap().to_owned());
    prop_assert_eq!(kept, told);
    Ok(())
}

/// Tokens that are kept are those of the text, to the last one.
fn check_tokens(generated: &str, reply: &ModelReply) -> Result<(), TestCaseError> {
    let text = reply.text();
    for part in &reply.content {
        match part {
            ContentPart::Opaque(opaque) if opaque.kind == OpaqueKind::Echo => {
                let (hash, tokens) = echoed(&opaque.json);
                let all = generated.chars().count();
                let expected: Vec<usize> = (all - text.chars().count()..all).collect();
                prop_assert_eq!(tokens, json!(expected));
                prop_assert_eq!(hash, json!(ContentHash::of_bytes(text.as_bytes())));
            }
            _ => {}
        }
    }
    Ok(())
}
