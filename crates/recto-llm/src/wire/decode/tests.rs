//! Streams as servers send them, in `streams/`, cut at every position; then the
//! edges one by one.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

const REQUEST: &[u8] = br#"{"model":"some-model"}"#;

const OLLAMA: &[u8] = include_bytes!("../streams/ollama_thinks_and_calls.ndjson");
const OLLAMA_FAILS: &[u8] = include_bytes!("../streams/ollama_fails.ndjson");
const OPENAI: &[u8] = include_bytes!("../streams/openai_calls.sse");
const LLAMA_CPP: &[u8] = include_bytes!("../streams/llama_cpp_thinks.sse");
const LM_STUDIO: &[u8] = include_bytes!("../streams/lm_studio_calls.sse");
const VLLM_FAILS: &[u8] = include_bytes!("../streams/vllm_fails.sse");
const ANTHROPIC: &[u8] = include_bytes!("../streams/anthropic_thinks_and_calls.sse");
const ANTHROPIC_FAILS: &[u8] = include_bytes!("../streams/anthropic_fails.sse");

/// What a stream comes to.
#[derive(Debug, Clone, PartialEq)]
struct Outcome {
    deltas: Vec<ReplyDelta>,
    reply: Result<ModelReply, LlmError>,
}

/// Decodes as the client does: up to an error, or what the server calls the end.
fn decode<'a>(wire: Wire, chunks: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut decoder = ReplyDecoder::new(wire, REQUEST);
    let mut deltas = Vec::new();
    for chunk in chunks {
        if let Err(error) = decoder.push(chunk, &mut deltas) {
            return Outcome { deltas, reply: Err(error) };
        }
    }
    let closed = decoder.close(&mut deltas);
    Outcome { deltas, reply: closed.and_then(|()| decoder.finish()) }
}

/// The outcome in lines, which no cut may change.
fn check(wire: Wire, stream: &[u8], expected: &Expect) {
    let whole = decode(wire, [stream]);
    expected.assert_eq(&lines(&whole));
    for at in 0..=stream.len() {
        let (head, tail) = stream.split_at(at);
        assert_eq!(decode(wire, [head, tail]), whole, "cut at {at}");
    }
    assert_eq!(decode(wire, stream.chunks(1)), whole, "byte by byte");
}

fn lines(outcome: &Outcome) -> String {
    let mut lines: Vec<String> = outcome.deltas.iter().map(|delta| format!("{delta:?}")).collect();
    match &outcome.reply {
        Err(error) => lines.push(format!("error {}: {error}", error.code())),
        Ok(reply) => lines.extend(reply_lines(reply)),
    }
    lines.join("\n") + "\n"
}

fn reply_lines(reply: &ModelReply) -> Vec<String> {
    let part = |part: &ContentPart| match part {
        ContentPart::Text(text) => format!("  text {text:?}"),
        ContentPart::Opaque(opaque) => format!("  {} {}", opaque.provider, opaque.json),
        ContentPart::Image(_) => "  image".to_owned(),
        ContentPart::File(file) => format!("  file {}", file.name()),
    };
    let call = |call: &ToolCall| format!("  {} {} {}", call.id.0, call.name, call.arguments);
    let usage = &reply.usage;
    let mut lines = vec!["reply".to_owned()];
    lines.extend(reply.content.iter().map(part));
    lines.extend(reply.calls.iter().map(call));
    lines.push(format!("  {:?}", reply.finish));
    lines.push(format!(
        "  prompt {:?}, cached {:?}, completion {:?}",
        usage.prompt, usage.cached, usage.completion
    ));
    lines
}

#[test]
fn ollama_thinks_speaks_and_calls() {
    check(
        Wire::Ollama,
        OLLAMA,
        &expect![[r#"
        Thinking("Oslo und")
        Thinking(" Köln 🙂.")
        Text("Ich sehe")
        Text(" nach …")
        reply
          ollama {"thinking":"Oslo und Köln 🙂."}
          text "Ich sehe nach …"
          call_b545a691f76d22b3_1 weather {"city":"Oslo","days":1.5,"at":[]}
          call_b545a691f76d22b3_2 weather {"city":"Köln"}
          call_9x2 time {}
          ToolCalls
          prompt Some(412), cached None, completion Some(88)
    "#]],
    );
}

#[test]
fn openai_calls_in_pieces() {
    check(
        Wire::OpenAi,
        OPENAI,
        &expect![[r#"
        Text("Grüße")
        Text(" 🙂!")
        reply
          text "Grüße 🙂!"
          call_a1 weather {"city": "Köln"}
          call_b2 time {}
          ToolCalls
          prompt Some(1200), cached Some(1024), completion Some(33)
    "#]],
    );
}

#[test]
fn llama_cpp_thinks_and_counts_what_was_cached() {
    check(
        Wire::OpenAi,
        LLAMA_CPP,
        &expect![[r#"
        Thinking("Einfach: ")
        Thinking("42 — ja.")
        Text("Zweiund")
        Text("vierzig")
        reply
          openai {"reasoning_content":"Einfach: 42 — ja."}
          text "Zweiundvierzig"
          Stop
          prompt Some(301), cached Some(236), completion Some(17)
    "#]],
    );
}

#[test]
fn lm_studio_sends_whole_calls_and_no_last_word() {
    check(
        Wire::OpenAi,
        LM_STUDIO,
        &expect![[r#"
        reply
          358 weather {"city":"Oslo"}
          call_b545a691f76d22b3_1 weather {"city":"Rome"}
          ToolCalls
          prompt Some(90), cached None, completion Some(12)
    "#]],
    );
}

#[test]
fn anthropic_signs_its_thoughts() {
    check(
        Wire::Anthropic,
        ANTHROPIC,
        &expect![[r#"
        Thinking("Erst Oslo, ")
        Thinking("dann Köln 🙂")
        Text("Ich sehe")
        Text(" nach …")
        reply
          anthropic {"type":"thinking","thinking":"Erst Oslo, dann Köln 🙂","signature":"EqQBCgIYAhIM1gbcDa9GJwZA"}
          anthropic {"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix"}
          text "Ich sehe nach …"
          toolu_01A weather {"city": "Köln"}
          toolu_01B time {}
          ToolCalls
          prompt Some(2125), cached Some(2000), completion Some(89)
    "#]],
    );
}

#[test]
fn errors_in_the_middle_come_after_the_text_so_far() {
    check(
        Wire::Ollama,
        OLLAMA_FAILS,
        &expect![[r#"
        Text("Es war")
        error server: the model server failed: an error was encountered while running the model: CUDA error
    "#]],
    );
    check(
        Wire::OpenAi,
        VLLM_FAILS,
        &expect![[r#"
        Text("Es war")
        error server: the model server failed (status 500): the model runner crashed
    "#]],
    );
    check(
        Wire::Anthropic,
        ANTHROPIC_FAILS,
        &expect![[r#"
        Text("Ich sehe")
        error unavailable: the model server is not ready (status 529): Overloaded
    "#]],
    );
}

#[test]
fn line_ends_of_every_kind_mean_the_same() {
    for (wire, stream) in
        [(Wire::OpenAi, OPENAI), (Wire::OpenAi, LLAMA_CPP), (Wire::Anthropic, ANTHROPIC)]
    {
        let expected = decode(wire, [stream]);
        for end in ["\r\n", "\r"] {
            let text = String::from_utf8(stream.to_vec()).unwrap().replace('\n', end);
            assert_eq!(decode(wire, [text.as_bytes()]), expected);
            assert_eq!(decode(wire, text.as_bytes().chunks(1)), expected);
        }
    }
}

/// A stream that ends early is never taken for a reply, nor for nonsense.
#[test]
fn a_stream_that_ends_early_is_cut() {
    let ends = [
        (Wire::Ollama, OLLAMA, "\"done\":true"),
        (Wire::OpenAi, OPENAI, "\"finish_reason\":\"tool_calls\""),
        (Wire::OpenAi, LM_STUDIO, "\"finish_reason\":\"stop\""),
        (Wire::Anthropic, ANTHROPIC, "\"stop_reason\": \"tool_use\""),
    ];
    for (wire, stream, end) in ends {
        let text = String::from_utf8_lossy(stream);
        let last = text[..text.find(end).unwrap()].len();
        for at in 0..last {
            let reply = decode(wire, [&stream[..at]]).reply;
            assert!(matches!(reply, Err(LlmError::Cut { .. })), "{wire:?} at {at}: {reply:?}");
        }
        for at in last..stream.len() {
            let reply = decode(wire, [&stream[..at]]).reply;
            let cut = matches!(reply, Err(LlmError::Cut { .. }));
            assert!(cut || reply.is_ok(), "{wire:?} at {at}: {reply:?}");
        }
    }
}

#[test]
fn the_last_line_needs_no_end() {
    check(
        Wire::Ollama,
        br#"{"message":{"content":"a"},"done":true,"done_reason":"length"}"#,
        &expect![[r#"
            Text("a")
            reply
              text "a"
              Length
              prompt None, cached None, completion None
        "#]],
    );
    check(
        Wire::OpenAi,
        br#"data: {"choices":[{"delta":{"content":"a"},"finish_reason":"content_filter"}]}"#,
        &expect![[r#"
            Text("a")
            reply
              text "a"
              Filtered
              prompt None, cached None, completion None
        "#]],
    );
}

#[test]
fn what_follows_the_end_is_not_looked_at() {
    let stream =
        b"{\"message\":{\"content\":\"a\"},\"done\":true}\nnonsense\n{\"error\":\"late\"}\n";
    check(
        Wire::Ollama,
        stream,
        &expect![[r#"
        Text("a")
        reply
          text "a"
          Stop
          prompt None, cached None, completion None
    "#]],
    );
}

#[test]
fn nonsense_is_shown() {
    check(
        Wire::Ollama,
        b"{\"message\":{\"content\":\"a\"}}\n{\"message\":\n",
        &expect![[r#"
        Text("a")
        error malformed: the model server sent what cannot be read (EOF while parsing a value at line 1 column 11): `{"message":`
    "#]],
    );
    check(
        Wire::Ollama,
        b"<html>Welcome</html>",
        &expect![[r#"
        error malformed: the model server sent what cannot be read (expected value at line 1 column 1): `<html>Welcome</html>`
    "#]],
    );
    check(
        Wire::OpenAi,
        b"data: {\"choices\":[{\"delta\":{\"content\":7}}]}\n\n",
        &expect![[r#"
        error malformed: the model server sent what cannot be read (invalid type: integer `7`, expected a string at line 1 column 33): `{"choices":[{"delta":{"content":7}}]}`
    "#]],
    );
    check(
        Wire::Anthropic,
        b"data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"\"}}\n\n",
        &expect![[r#"
            error malformed: the model server sent a piece of a block that never began: `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":""}}`
        "#]],
    );
}

#[test]
fn an_answer_that_is_no_stream() {
    check(
        Wire::OpenAi,
        b"{\"choices\": []}\n",
        &expect![[r#"
        error malformed: the model server sent something else than a stream of events: `{"choices": []}`
    "#]],
    );
    check(
        Wire::OpenAi,
        b"{\n  \"error\": {\"message\": \"No models loaded\", \"code\": \"model_not_found\", \"type\": \"invalid_request_error\"}\n}",
        &expect![[r#"
            error no_such_model: the model server has no model `some-model`
        "#]],
    );
    check(
        Wire::OpenAi,
        b"",
        &expect![[r#"
        error cut: the reply broke off: the server stopped in the middle of it
    "#]],
    );
}

#[test]
fn a_server_may_count_on_with_every_chunk() {
    check(
        Wire::OpenAi,
        b"data: {\"choices\":[{\"delta\":{\"reasoning\":\"x\",\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}\n\n\
          data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"eos\"}],\"usage\":{\"prompt_tokens\":-1,\"completion_tokens\":2}}\n\n",
        &expect![[r#"
            Thinking("x")
            Text("a")
            reply
              openai {"reasoning":"x"}
              text "a"
              Other("eos")
              prompt Some(5), cached None, completion Some(2)
        "#]],
    );
}

#[test]
fn ids_are_unique_and_come_from_the_request() {
    let stream = br#"{"message":{"tool_calls":[{"id":"a","function":{"name":"f"}},{"id":"a","function":{"name":"f"}},{"function":{"name":"g"}}]},"done":true}"#;
    let ids = |request: &[u8]| -> Vec<String> {
        let mut decoder = ReplyDecoder::new(Wire::Ollama, request);
        decoder.push(stream, &mut Vec::new()).unwrap();
        decoder.close(&mut Vec::new()).unwrap();
        let reply = decoder.finish().unwrap();
        assert_eq!(reply.finish, FinishReason::ToolCalls);
        reply.calls.iter().map(|call| call.id.0.to_string()).collect()
    };
    let (one, two) = (ids(b"one"), ids(b"two"));
    assert_eq!(one, ids(b"one"));
    assert_eq!(one[0], "a");
    assert!(one[1].starts_with("call_") && one[1] != one[2], "{one:?}");
    assert!(one[1..].iter().all(|id| !two.contains(id)), "{one:?} {two:?}");
}

/// What a stream of `head`, then `piece` without end, then comes to. It must come
/// to something soon.
fn endless(wire: Wire, head: &str, piece: impl Fn(usize) -> String) -> LlmError {
    let mut decoder = ReplyDecoder::new(wire, REQUEST);
    decoder.push(head.as_bytes(), &mut Vec::new()).unwrap();
    let pieces = (0..10_000).map(piece);
    let mut errors =
        pieces.filter_map(|piece| decoder.push(piece.as_bytes(), &mut Vec::new()).err());
    errors.next().expect("an end")
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn openai(delta: &Value) -> String {
    event(&json!({ "choices": [{ "delta": delta }] }))
}

fn begin(index: usize, block: &Value) -> String {
    event(&json!({ "type": "content_block_start", "index": index, "content_block": block }))
}

fn fill(delta: &Value) -> String {
    event(&json!({ "type": "content_block_delta", "index": 0, "delta": delta }))
}

#[test]
fn text_and_thoughts_have_an_end() {
    let text = "x".repeat(64 * 1024);
    let text_block = begin(0, &json!({ "type": "text", "text": "" }));
    let unknown_block = begin(0, &json!({ "type": "server_tool_use", "input": {} }));
    let both =
        |place: usize, one: Value, other: Value| if place.is_multiple_of(2) { one } else { other };
    let errors = [
        endless(Wire::Ollama, "", |place| {
            let message = both(place, json!({ "content": text }), json!({ "thinking": text }));
            line(&json!({ "message": message }))
        }),
        endless(Wire::OpenAi, "", |place| {
            let thought = json!({ "reasoning_content": text });
            openai(&both(place, json!({ "content": text }), thought))
        }),
        endless(Wire::Anthropic, &text_block, |place| {
            let thought = json!({ "type": "thinking_delta", "thinking": text });
            fill(&both(place, json!({ "type": "text_delta", "text": text }), thought))
        }),
        endless(Wire::Anthropic, &text_block, |_| {
            fill(&json!({ "type": "signature_delta", "signature": text }))
        }),
        endless(Wire::Anthropic, &unknown_block, |_| {
            fill(&json!({ "type": "input_json_delta", "partial_json": text }))
        }),
        endless(Wire::Anthropic, "", |index| {
            begin(index, &json!({ "type": "redacted_thinking", "data": text }))
        }),
    ];
    for error in errors {
        assert_eq!(error, LlmError::TooLarge { what: "bytes of text", limit: MOST_TEXT });
    }
}

#[test]
fn as_much_text_as_there_may_be_is_taken() {
    let half = "x".repeat(MOST_TEXT / 2);
    let message = json!({ "content": half, "thinking": half });
    let mut stream = line(&json!({ "message": message, "done": true }));
    assert_eq!(decode(Wire::Ollama, [stream.as_bytes()]).reply.unwrap().text(), half);
    stream = stream.replacen("xx", "xxx", 1);
    assert_eq!(decode(Wire::Ollama, [stream.as_bytes()]).reply.unwrap_err().code(), "too_large");
}

#[test]
fn calls_have_an_end() {
    let call = json!({ "function": { "name": "f", "arguments": {} } });
    let tool_use = json!({ "type": "tool_use", "id": "a", "name": "f", "input": {} });
    let errors = [
        endless(Wire::Ollama, "", |_| line(&json!({ "message": { "tool_calls": [call] } }))),
        endless(Wire::OpenAi, "", |index| {
            openai(&json!({ "tool_calls": [{ "index": index, "function": { "name": "f" } }] }))
        }),
        endless(Wire::Anthropic, "", |index| begin(index, &tool_use)),
    ];
    for error in errors {
        assert_eq!(error.to_string(), "the reply has more than 128 calls");
    }
    let blocks = endless(Wire::Anthropic, "", |index| begin(index, &json!({ "type": "text" })));
    assert_eq!(blocks.to_string(), "the reply has more than 1024 blocks");

    let calls = vec![call; MOST_CALLS];
    let stream = line(&json!({ "message": { "tool_calls": calls }, "done": true }));
    assert_eq!(decode(Wire::Ollama, [stream.as_bytes()]).reply.unwrap().calls.len(), MOST_CALLS);
}

#[test]
fn arguments_have_an_end() {
    let text = "x".repeat(64 * 1024);
    let tool_use = json!({ "type": "tool_use", "id": "a", "name": "f", "input": {} });
    let large = |size: usize| json!({ "x": text.repeat(size) });
    let errors = [
        endless(Wire::OpenAi, "", |_| {
            openai(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": text } }] }))
        }),
        endless(Wire::Anthropic, &begin(0, &tool_use), |_| {
            fill(&json!({ "type": "input_json_delta", "partial_json": text }))
        }),
        endless(Wire::Ollama, "", |size| {
            let call = json!({ "function": { "name": "f", "arguments": large(8 * size) } });
            line(&json!({ "message": { "tool_calls": [call] } }))
        }),
        endless(Wire::Anthropic, "", |size| {
            begin(0, &json!({ "type": "tool_use", "name": "f", "input": large(8 * size) }))
        }),
    ];
    for error in errors {
        assert_eq!(error, LlmError::TooLarge { what: "bytes in a call", limit: LARGEST_CALL });
    }
}

#[test]
fn all_calls_together_have_an_end() {
    let arguments = json!({ "x": "x".repeat(1024 * 1024) });
    let errors = [
        endless(Wire::OpenAi, "", |index| {
            let function = json!({ "name": "f", "arguments": arguments.to_string() });
            openai(&json!({ "tool_calls": [{ "index": index, "function": function }] }))
        }),
        endless(Wire::Anthropic, "", |index| {
            begin(index, &json!({ "type": "tool_use", "name": "f", "input": arguments }))
        }),
        endless(Wire::Ollama, "", |_| {
            let call = json!({ "function": { "name": "f", "arguments": arguments } });
            line(&json!({ "message": { "tool_calls": [call] } }))
        }),
    ];
    for error in errors {
        assert_eq!(error, LlmError::TooLarge { what: "bytes in calls", limit: MOST_CALL_BYTES });
    }
}

/// A person is told exactly the text that is kept.
#[test]
fn text_in_a_block_of_another_kind_is_not_told() {
    let stream = b"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"web\",\"text\":\"a\"}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"b\"}}\n\n\
        data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n";
    let Outcome { deltas, reply } = decode(Wire::Anthropic, [&stream[..]]);
    assert_eq!((deltas, reply.unwrap().text()), (Vec::new(), String::new()));
}

/// Whatever brings nothing of the reply is no progress, so that no limit of time begins anew.
#[test]
fn only_what_belongs_to_the_reply_is_progress() {
    let progress = |wire, stream: &[u8]| {
        let mut decoder = ReplyDecoder::new(wire, REQUEST);
        decoder.push(stream, &mut Vec::new()).unwrap();
        decoder.progress()
    };
    let nothing: [(Wire, &[u8]); 6] = [
        (Wire::OpenAi, b": a\n\n\n\nevent: x\n\ndata: {\"choi"),
        (Wire::OpenAi, b"data: {\"id\":\"x\",\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n"),
        (Wire::OpenAi, b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3}}\n\n"),
        (Wire::Ollama, b"\n \r\n{\"message\""),
        (Wire::Ollama, b"\n{}\n\n{\"message\":{\"content\":\"\",\"thinking\":\"\"}}\n"),
        (
            Wire::Anthropic,
            b"data: {\"type\":\"ping\"}\n\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n",
        ),
    ];
    for (wire, stream) in nothing {
        assert_eq!(progress(wire, stream), 0, "{}", String::from_utf8_lossy(stream));
    }
    for (wire, stream) in
        [(Wire::Ollama, OLLAMA), (Wire::OpenAi, OPENAI), (Wire::Anthropic, ANTHROPIC)]
    {
        assert!(progress(wire, stream) > 10);
    }
    // The engine tells with its first line that it has begun.
    assert_eq!(progress(Wire::Embedded, b"{}\n{}\n"), 2);
}

proptest! {
    #[test]
    fn bytes_of_any_kind_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for wire in [Wire::Ollama, Wire::OpenAi, Wire::Anthropic] {
            let whole = decode(wire, [bytes.as_slice()]);
            prop_assert_eq!(&decode(wire, bytes.chunks(1)), &whole);
        }
    }

    /// Streams with a few bytes altered reach further than noise.
    #[test]
    fn altered_streams_agree_however_they_are_cut(
        which in 0..8_usize,
        altered in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        size in 1..80_usize,
    ) {
        let (wire, stream) = [
            (Wire::Ollama, OLLAMA),
            (Wire::Ollama, OLLAMA_FAILS),
            (Wire::OpenAi, OPENAI),
            (Wire::OpenAi, LLAMA_CPP),
            (Wire::OpenAi, LM_STUDIO),
            (Wire::OpenAi, VLLM_FAILS),
            (Wire::Anthropic, ANTHROPIC),
            (Wire::Anthropic, ANTHROPIC_FAILS),
        ][which];
        let mut stream = stream.to_vec();
        for (at, byte) in altered {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        let whole = decode(wire, [stream.as_slice()]);
        prop_assert_eq!(&decode(wire, stream.chunks(size)), &whole);
        prop_assert_eq!(&decode(wire, stream.chunks(1)), &whole);
    }
}
