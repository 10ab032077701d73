//! Rules for a reply, which the engine keeps to word by word.

use std::sync::Arc;

use futures_util::StreamExt;
use recto_llm::{FinishReason, LlmError, ReplyFormat, ReplyRules, ReplySchema, StreamEvent};
use serde_json::{Value, json};

use super::Talk;

fn schema(schema: Value) -> ReplyFormat {
    let schema = Arc::new(schema);
    ReplyFormat::Schema(ReplySchema { name: "a".into(), description: None, schema, strict: None })
}

fn person() -> ReplyFormat {
    schema(json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": false,
    }))
}

/// Promise: `replies-keep-to-rules`
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_ends_before_a_text_and_no_piece_shows_it() {
    let mut talk = Talk::new();
    talk.reply = 60;
    let free = talk.say("Count from one to nine in words.").await;
    let said = free.text();
    // A text from the middle of what it says, across several tokens.
    let words: Vec<&str> = said.split(' ').collect();
    let stop = format!("{} {}", words[words.len() / 2], words[words.len() / 2 + 1]);
    let mut talk = talk.beside(2);
    talk.reply = 60;
    talk.call.reply =
        ReplyRules { stop: vec!["not there".into(), stop.clone()], ..Default::default() };
    let body = talk.body("Count from one to nine in words.");
    let mut stream = talk.client.stream(body);
    let mut shown = String::new();
    let reply = loop {
        match stream.next().await.unwrap().unwrap() {
            StreamEvent::Text(text) => shown.push_str(&text),
            StreamEvent::Done(reply) => break reply,
            _ => {}
        }
    };
    assert_eq!(shown, said[..said.find(&stop).unwrap()], "{said}");
    assert_eq!((reply.text(), reply.finish), (shown, FinishReason::Stop));
}

/// Promise: `replies-keep-to-rules`
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_json_that_its_schema_allows_also_where_there_is_little_room() {
    let mut talk = Talk::new();
    for (format, room) in [(person(), 80), (person(), 20), (ReplyFormat::Json, 60)] {
        talk.reply = room;
        talk.call.reply = ReplyRules { format: Some(format.clone()), ..Default::default() };
        let reply = talk.beside(u64::from(room)).say("Ann is three years old. Who is she?").await;
        let value: Value =
            serde_json::from_str(&reply.text()).unwrap_or_else(|_| panic!("{reply:?}"));
        assert!(value.is_object(), "{value}");
        if format == person() {
            assert!(value["name"].is_string() && value["age"].is_i64(), "{value}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_no_grammar_can_hold_is_refused_before_anything_is_asked() {
    let talk = Talk::new();
    let names = (0..1_500).map(|index| (format!("p{index}"), json!({"type": "string"})));
    let large = json!({"type": "object", "properties": Value::Object(names.collect())});
    for format in [schema(json!([])), schema(large), schema(json!({"$ref": "#/nowhere"}))] {
        let rules = ReplyRules { format: Some(format), ..Default::default() };
        let refused = talk.client.check_rules(&rules);
        assert!(matches!(refused, Err(LlmError::ReplyFormat { .. })), "{refused:?}");
    }
    let rules = ReplyRules { format: Some(person()), ..Default::default() };
    assert_eq!(talk.client.check_rules(&rules), Ok(()));
}
