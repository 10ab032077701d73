//! What a test can let a fake answer, on both wires.

use std::time::Duration;

use expect_test::{Expect, expect};
use recto_fakes::{
    AnswerEnding, AnswerGate, FakeAnswer, FakeBuilder, FakeCall, FakeDialect, FakeReply,
    FakeServer, FakeUsage,
};
use serde_json::{Value, json};

use crate::support::{AnswerReader, NextChunk, post};

#[derive(Clone, Copy)]
enum FakeWire {
    Ollama,
    OpenAi,
}

const WIRES: [FakeWire; 2] = [FakeWire::Ollama, FakeWire::OpenAi];

impl FakeWire {
    fn fake(self) -> FakeBuilder {
        match self {
            FakeWire::Ollama => FakeServer::ollama(),
            FakeWire::OpenAi => FakeServer::openai(),
        }
    }

    fn ask(self, fake: &FakeServer) -> AnswerReader {
        let mut body = json!({
            "model": "fake",
            "messages": [{ "role": "user", "content": "hi" }],
            "stream": true,
        });
        match self {
            FakeWire::Ollama => post(fake, "/api/chat", &body),
            FakeWire::OpenAi => {
                body["stream_options"] = json!({ "include_usage": true });
                post(fake, "/v1/chat/completions", &body)
            }
        }
    }
}

fn play(wire: FakeWire, reply: FakeReply) -> (Vec<String>, NextChunk) {
    let fake = wire.fake().answer(reply).start();
    let mut answering = wire.ask(&fake);
    assert_eq!(answering.status, 200);
    assert!(fake.rejections().is_empty());
    answering.rest()
}

fn check(wire: FakeWire, reply: FakeReply, expected: &Expect) {
    let (pieces, ending) = play(wire, reply);
    assert_eq!(ending, NextChunk::End);
    let marked: Vec<String> = pieces.iter().map(|piece| format!("--\n{piece}")).collect();
    expected.assert_eq(&marked.concat());
}

#[test]
fn text_is_streamed_word_by_word() {
    check(
        FakeWire::Ollama,
        FakeAnswer::text("Good day"),
        &expect![[r#"
        --
        {"model":"fake","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"Good "},"done":false}
        --
        {"model":"fake","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"day"},"done":false}
        --
        {"model":"fake","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":3000000,"load_duration":1000000,"prompt_eval_count":5,"prompt_eval_duration":1000000,"eval_count":2,"eval_duration":1000000}
    "#]],
    );
    check(
        FakeWire::OpenAi,
        FakeAnswer::text("Good day"),
        &expect![[r#"
        --
        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}

        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[{"index":0,"delta":{"content":"Good "},"logprobs":null,"finish_reason":null}],"usage":null}

        --
        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[{"index":0,"delta":{"content":"day"},"logprobs":null,"finish_reason":null}],"usage":null}

        --
        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}

        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":0}}}

        data: [DONE]

    "#]],
    );
}

#[test]
fn calls_come_as_the_wire_has_them() {
    let reply = || {
        let calls = [
            FakeCall::new("clock", json!({})),
            FakeCall::new("read_file", json!({ "path": "é.txt" })),
        ];
        FakeAnswer::thinking("Hm.").piece("I look.").calls(calls)
    };
    check(
        FakeWire::Ollama,
        reply(),
        &expect![[r#"
        --
        {"model":"fake","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"","thinking":"Hm."},"done":false}
        --
        {"model":"fake","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"I look."},"done":false}
        --
        {"model":"fake","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_00000001","function":{"index":0,"name":"clock","arguments":{}}}]},"done":false}
        --
        {"model":"fake","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_00000002","function":{"index":1,"name":"read_file","arguments":{"path":"é.txt"}}}]},"done":false}
        --
        {"model":"fake","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":3000000,"load_duration":1000000,"prompt_eval_count":5,"prompt_eval_duration":1000000,"eval_count":11,"eval_duration":1000000}
    "#]],
    );
    check(
        FakeWire::OpenAi,
        reply(),
        &expect![[r#"
        --
        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}

        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[{"index":0,"delta":{"reasoning_content":"Hm."},"logprobs":null,"finish_reason":null}],"usage":null}

        --
        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[{"index":0,"delta":{"content":"I look."},"logprobs":null,"finish_reason":null}],"usage":null}

        --
        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_00000001","type":"function","function":{"name":"clock","arguments":""}}]},"logprobs":null,"finish_reason":null}],"usage":null}

        --
        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"logprobs":null,"finish_reason":null}],"usage":null}

        --
        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_00000002","type":"function","function":{"name":"read_file","arguments":""}}]},"logprobs":null,"finish_reason":null}],"usage":null}

        --
        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{\"path\":"}}]},"logprobs":null,"finish_reason":null}],"usage":null}

        --
        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"\"é.txt\"}"}}]},"logprobs":null,"finish_reason":null}],"usage":null}

        --
        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}],"usage":null}

        data: {"id":"chatcmpl-00000001","object":"chat.completion.chunk","created":1767225600,"model":"fake","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":11,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":0}}}

        data: [DONE]

    "#]],
    );
}

/// The counts that a reply ends with: of the prompt, of the reply, and cached.
fn usage(wire: FakeWire, reply: FakeReply) -> Value {
    let (pieces, _) = play(wire, reply);
    let text = pieces.concat();
    let objects = text.lines().map(|line| line.trim_start_matches("data: "));
    let last: Value = objects.rev().find_map(|line| serde_json::from_str(line).ok()).unwrap();
    match wire {
        FakeWire::Ollama => json!([last["prompt_eval_count"], last["eval_count"]]),
        FakeWire::OpenAi => {
            let usage = &last["usage"];
            let cached = &usage["prompt_tokens_details"]["cached_tokens"];
            json!([usage["prompt_tokens"], usage["completion_tokens"], cached])
        }
    }
}

#[test]
fn usage_is_counted_given_or_wrong() {
    let given =
        || FakeAnswer::text("hi").usage(FakeUsage { prompt: 900, cached: 700, completion: 30 });
    // The message has 17 bytes with the names of its fields.
    assert_eq!(usage(FakeWire::Ollama, FakeAnswer::text("12345")), json!([5, 2]));
    assert_eq!(usage(FakeWire::OpenAi, FakeAnswer::text("12345")), json!([5, 2, 0]));
    assert_eq!(usage(FakeWire::Ollama, given()), json!([900, 30]));
    assert_eq!(usage(FakeWire::OpenAi, given()), json!([900, 30, 700]));
    assert_eq!(usage(FakeWire::Ollama, FakeAnswer::text("12345").prompt_tokens(1)), json!([1, 2]));
}

#[test]
fn a_reply_can_run_out_of_tokens() {
    let (ollama, _) = play(FakeWire::Ollama, FakeAnswer::text("One and").out_of_tokens());
    assert!(ollama.last().unwrap().contains("\"done_reason\":\"length\""));
    let (openai, _) = play(FakeWire::OpenAi, FakeAnswer::text("One and").out_of_tokens());
    assert!(openai.last().unwrap().contains("\"finish_reason\":\"length\""));
}

#[test]
fn a_refusal_is_sent_as_it_is() {
    for wire in WIRES {
        let refusal = FakeAnswer::refusal(429, "{\"error\":\"slow\"}").header("Retry-After", "7");
        let fake = wire.fake().answer(refusal).answer(FakeAnswer::text("now")).start();
        let mut answering = wire.ask(&fake);
        assert_eq!(answering.status, 429);
        assert!(answering.headers.contains(&"retry-after: 7".to_owned()));
        assert_eq!(answering.body(), "{\"error\":\"slow\"}");
        assert_eq!(wire.ask(&fake).status, 200);
        // What the test asked for is no fault of the client's.
        assert!(fake.rejections().is_empty());
        assert_eq!(fake.log()[0].status, Some(429));
    }
}

#[test]
fn a_refusal_need_not_be_json() {
    let refusal =
        FakeAnswer::refusal(502, "<h1>Bad gateway</h1>").header("Content-Type", "text/html");
    let fake = FakeServer::ollama().answer(refusal).start();
    let mut answering = FakeWire::Ollama.ask(&fake);
    assert_eq!((answering.status, answering.body().as_str()), (502, "<h1>Bad gateway</h1>"));
    let types = answering.headers.iter().filter(|line| line.starts_with("content-type"));
    assert_eq!(types.collect::<Vec<_>>(), ["content-type: text/html"]);
}

#[test]
fn a_cut_cuts_after_the_pieces_before_it() {
    for wire in WIRES {
        let (pieces, ending) = play(wire, FakeAnswer::text("one two three").cut_after(2));
        assert_eq!(ending, NextChunk::BrokenOff);
        assert_eq!(pieces.len(), 2);
        assert!(pieces[1].contains("two "));
        // A cut that comes too late still comes before the end.
        let (pieces, ending) = play(wire, FakeAnswer::text("one two three").cut_after(99));
        assert_eq!((pieces.len(), ending), (3, NextChunk::BrokenOff));
    }
}

#[test]
fn a_cut_can_come_before_the_first_piece() {
    for wire in WIRES {
        let fake = wire.fake().answer(FakeAnswer::text("one").cut_after(0)).start();
        assert_eq!(wire.ask(&fake).next(), NextChunk::BrokenOff);
    }
}

#[test]
fn an_error_can_come_in_the_middle() {
    let reply = || FakeAnswer::text("one two").error_after(1, "out of memory");
    for (wire, error) in [
        (FakeWire::Ollama, "{\"error\":\"out of memory\"}\n"),
        (
            FakeWire::OpenAi,
            "data: {\"error\":{\"message\":\"out of memory\",\"type\":\"server_error\",\
             \"param\":null,\"code\":null}}\n\n",
        ),
    ] {
        let (pieces, ending) = play(wire, reply());
        assert_eq!(ending, NextChunk::End);
        assert_eq!(pieces.len(), 2);
        assert!(pieces[0].contains("one "));
        assert_eq!(pieces[1], error);
    }
}

#[test]
fn invalid_json_can_come_in_the_middle() {
    for wire in WIRES {
        let (pieces, ending) = play(wire, FakeAnswer::text("one two").invalid_json_after(1));
        assert_eq!((pieces.len(), ending), (4, NextChunk::End));
        let line = pieces[1].trim().trim_start_matches("data: ");
        assert!(serde_json::from_str::<Value>(line).is_err());
        assert!(pieces[2].contains("two"));
    }
}

#[test]
fn a_stalled_answer_keeps_the_connection() {
    for wire in WIRES {
        let fake = wire.fake().answer(FakeAnswer::text("one two").stall_after(1)).start();
        let mut answering = wire.ask(&fake);
        assert!(matches!(answering.next(), NextChunk::Piece(_)));
        // Only the end of the fake ends it.
        drop(fake);
        assert_eq!(answering.next(), NextChunk::BrokenOff);
    }
}

#[test]
fn a_gate_holds_each_piece() {
    for wire in WIRES {
        let gate = AnswerGate::new();
        let fake = wire.fake().answer(FakeAnswer::text("one two").held(&gate)).start();
        let mut answering = wire.ask(&fake);
        gate.wait_for(1);
        gate.release(1);
        assert!(matches!(answering.next(), NextChunk::Piece(piece) if piece.contains("one ")));
        // The answer stands before its second piece, which was not sent.
        gate.wait_for(2);
        assert_eq!(fake.log()[0].ending, AnswerEnding::Open);
        gate.release(2);
        let (pieces, ending) = answering.rest();
        assert_eq!((pieces.len(), ending), (2, NextChunk::End));
    }
}

#[test]
fn a_delay_changes_nothing_but_the_time() {
    for wire in WIRES {
        let delayed = FakeAnswer::text("one two").delay(Duration::from_millis(1));
        assert_eq!(play(wire, delayed), play(wire, FakeAnswer::text("one two")));
    }
}

#[test]
fn a_model_may_write_broken_arguments() {
    let (pieces, _) =
        play(FakeWire::OpenAi, FakeAnswer::calls([FakeCall::new("clock", "{\"zone\"")]));
    assert!(pieces.concat().contains(r#""arguments":"{\"zone\"""#));
}

#[test]
fn llama_cpp_counts_cached_tokens_among_its_timings() {
    let usage = FakeUsage { prompt: 50, cached: 40, completion: 3 };
    let fake = FakeServer::openai_dialect(FakeDialect::LlamaCpp)
        .answer(FakeAnswer::text("hi").usage(usage))
        .start();
    let body = FakeWire::OpenAi.ask(&fake).body();
    assert!(body.contains(r#""timings":{"cache_n":40,"prompt_n":10,"predicted_n":3}"#));
    assert!(!body.contains("cached_tokens"));
}

#[test]
fn an_answer_can_come_whole() {
    let reply =
        || FakeAnswer::thinking("Hm.").text("Good day").calls([FakeCall::new("clock", json!({}))]);
    let mut body = json!({
        "model": "fake",
        "messages": [{ "role": "user", "content": "hi" }],
        "stream": false,
    });
    let whole = |fake: FakeBuilder, path, body: &Value| {
        let fake = fake.answer(reply()).start();
        let answer: Value = serde_json::from_str(&post(&fake, path, body).body()).unwrap();
        serde_json::to_string_pretty(&answer).unwrap()
    };
    expect![[r#"
        {
          "model": "fake",
          "created_at": "2026-01-01T00:00:00Z",
          "message": {
            "role": "assistant",
            "content": "Good day",
            "thinking": "Hm.",
            "tool_calls": [
              {
                "id": "call_00000001",
                "function": {
                  "index": 0,
                  "name": "clock",
                  "arguments": {}
                }
              }
            ]
          },
          "done": true,
          "done_reason": "stop",
          "total_duration": 3000000,
          "load_duration": 1000000,
          "prompt_eval_count": 5,
          "prompt_eval_duration": 1000000,
          "eval_count": 5,
          "eval_duration": 1000000
        }"#]]
    .assert_eq(&whole(FakeServer::ollama(), "/api/chat", &body));
    body["stream"] = Value::Null;
    expect![[r#"
        {
          "id": "chatcmpl-00000001",
          "object": "chat.completion",
          "created": 1767225600,
          "model": "fake",
          "choices": [
            {
              "index": 0,
              "message": {
                "role": "assistant",
                "content": "Good day",
                "reasoning_content": "Hm.",
                "tool_calls": [
                  {
                    "id": "call_00000001",
                    "type": "function",
                    "function": {
                      "name": "clock",
                      "arguments": "{}"
                    }
                  }
                ]
              },
              "finish_reason": "tool_calls"
            }
          ],
          "usage": {
            "prompt_tokens": 5,
            "completion_tokens": 5,
            "total_tokens": 10,
            "prompt_tokens_details": {
              "cached_tokens": 0
            }
          }
        }"#]]
    .assert_eq(&whole(FakeServer::openai(), "/v1/chat/completions", &body));
}

#[test]
fn usage_is_told_only_when_asked_for() {
    let fake = FakeServer::openai().start();
    let body = json!({
        "model": "fake",
        "messages": [{ "role": "user", "content": "hi" }],
        "stream": true,
    });
    assert!(!post(&fake, "/v1/chat/completions", &body).body().contains("usage"));
}
